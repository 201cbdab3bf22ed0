"""A large CSV prepared on disk piece by piece: the same answers and the same complaints as when it is read as a whole."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manyvoices import api, preparation
from manyvoices.core.errors import ManyVoicesError


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(preparation, "LARGE", 0)
    monkeypatch.setattr(preparation, "PIECE", 7)                             # pieces that end within lines, letters and line ends
    monkeypatch.setattr(preparation, "BATCH", 4)
    monkeypatch.setattr(preparation, "BUCKET", 3)


def both(path, content: bytes, **options):
    """What reading it whole gives, and what preparing it gives; and whether it was prepared in pieces."""
    path.write_bytes(content)
    found, taken = [], []
    for on in (None, "disk"):
        with pytest.MonkeyPatch.context() as patch:
            real = preparation.streamed
            patch.setattr(preparation, "streamed", lambda *args, real=real: taken.append(1) or real(*args))
            try:
                data = api.read(path, on=on, **options)
                votes = data.answers.counts()
                found.append((data.answers.tasks.to_list(), data.answers.workers.to_list(), data.answers.classes.to_list(), votes.tolist(),
                              data.answers.per_worker().tolist(), data.dropped))
            except ManyVoicesError as error:
                found.append(str(error))
    return *found, bool(taken)


HEAD = b"task,worker,label\n"
ROWS = b"".join(b"t%d,w%d,%s\n" % (i // 3, i % 3, [b"yes", b"no"][i % 2]) for i in range(20))
FIRST, REST = ROWS[:ROWS.index(b"t3")], ROWS[ROWS.index(b"t3"):]
PLAIN = {"plain": HEAD + ROWS, "other order": b"label,item,rater\n" + b"".join(b"%d,t%d,w%d\n" % (i % 3, i // 4, i % 4) for i in range(20)),
         "crlf": (HEAD + ROWS).replace(b"\n", b"\r\n"), "no end": (HEAD + ROWS)[:-1], "empty lines": HEAD + FIRST + b"\n\n" + REST + b"\n",
         "letters": HEAD + ROWS + "tä,ö,写真\n".encode() * 5, "gaps": HEAD + ROWS + b",w1,no\nt9,,no\nt9,w1,\n,,\n",
         "quoted names": b'"task","worker","label"\n' + ROWS, "quotes": HEAD + ROWS + b'"t,9",w1,no\n"t""9","w\n1",""\n"",w1,no\n'}
CAREFUL = {"latin": HEAD + ROWS + b"t9,w1,caf\xe9\n", "half a letter": HEAD + ROWS + b"t9,w1,caf\xc3", "old mac": (HEAD + ROWS).replace(b"\n", b"\r"),
           "spaces": b"task, worker,label\n" + ROWS, "mark": b"\xef\xbb\xbf" + HEAD + ROWS, "return at the end": HEAD + ROWS + b"t9,w1,no\r",
           "more columns": b"task,worker,label,x\n" + ROWS.replace(b"\n", b",1\n")}
WRONG = {"short": ROWS + b"t9,w1\n" + ROWS, "long": ROWS + b"t9,w1,no,x\n", "one of each": ROWS + b"t9,w1\nt9,w1,no,x\n", "open quote": ROWS + b't9,w1,"no\n',
         "zero": ROWS + b"t9,w\0,no\n", "odd quote": ROWS + b'"t9"x,w1,no\n', "a lone return": ROWS + b"t9,w1,a\rb\n", "nobody": b",w,a\nt,,a\n", "nothing": b""}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_files(tmp_path, name):
    whole, pieces, streamed = both(tmp_path / "a.csv", PLAIN[name])
    assert streamed and not isinstance(whole, str) and pieces == whole


@pytest.mark.parametrize("name", CAREFUL)
def test_files_for_the_careful_reader(tmp_path, name):
    whole, pieces, streamed = both(tmp_path / "a.csv", CAREFUL[name])
    assert not streamed and not isinstance(whole, str) and pieces == whole


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_wrong(tmp_path, name):
    """Once a short row was a missing label, a zero byte a letter, and the rest defects of ours."""
    whole, pieces, _ = both(tmp_path / "a.csv", HEAD + WRONG[name])
    assert "a.csv" in whole and pieces.split(";")[0] == whole.split(";")[0]


@pytest.mark.parametrize("rule", [{"classes": ["yes"]}, {"strict": True}, {"classes": ["yes"], "missing": ["no"]}, {"map_labels": {"no": "yes"}},
                                  {"map_labels": {"no": None}}, {"exclude_workers": ["w1"]}, {"classes_limit": 1}, {"hash_workers": True, "hash_key": "k"}])
def test_rules(tmp_path, rule):
    content = HEAD + FIRST + b'"t\n8",w1,yes\n\n,w1,no\nt8,w2,\n' + REST
    whole, pieces, streamed = both(tmp_path / "a.csv", content, **rule)
    assert streamed and pieces == whole


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["a", "b", "7", "07", ",", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', " ", "é", "写", "\0", "NA"]), max_size=40).map("".join))
@example("a,b,7\n" * 9)
@example('a,b,"é\n')
def test_whatever_is_in_it(tmp_path_factory, text):
    """The two never differ: in the answers, or in the complaint up to where it says what was expected."""
    path = tmp_path_factory.mktemp("any") / "a.csv"
    whole, pieces, _ = both(path, HEAD + text.encode())
    assert (pieces.split(";")[0] == whole.split(";")[0]) if isinstance(whole, str) and isinstance(pieces, str) else pieces == whole, text


def test_beliefs_are_the_same(tmp_path):
    path = tmp_path / "a.csv"
    rng = np.random.default_rng(0)
    rows = {"task": rng.integers(0, 60, 500).astype(str), "worker": rng.integers(0, 9, 500).astype(str), "label": rng.integers(0, 3, 500).astype(str)}
    pl.DataFrame(rows).write_csv(path)
    here, there = (api.aggregate(api.read(path, on=on).answers, "ds") for on in (None, "disk"))
    assert here.probs.tobytes() == there.probs.tobytes()


def test_what_is_asked_for_besides(tmp_path):
    """A format or a question that is named is not left out of account."""
    assert both(tmp_path / "a.csv", HEAD + ROWS, format="wide")[2] is False
    whole, pieces, streamed = both(tmp_path / "a.csv", HEAD + ROWS, question="q")
    assert not streamed and pieces == whole and isinstance(whole, str)
    swapped = HEAD.replace(b"task", b"w").replace(b"worker", b"t").replace(b"label", b"l") + ROWS
    whole, pieces, streamed = both(tmp_path / "a.csv", swapped, task="t", worker="w", label="l")
    assert streamed and pieces == whole and whole[0] == ["w0", "w1", "w2"]
