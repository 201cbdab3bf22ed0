"""Every export is recognised by exactly its own reader, and no reader hurts itself on another's."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import module, read, triples
from samples import SAMPLES, lay

from manyvoices import inputs
from manyvoices.core import registry
from manyvoices.core.errors import BadCall, ManyVoicesError

READERS = registry.names("read")


@pytest.mark.parametrize("sample", SAMPLES)
def test_its_own_reader_and_no_other(sample, tmp_path):
    format, files = SAMPLES[sample]
    path = lay(tmp_path, files)
    scores = {name: score for name in READERS if (score := module(name).recognise(path)) > 0}
    assert all(score <= 1 for score in scores.values())
    best = [name for name in scores if scores[name] == max(scores.values())]
    assert best == [format], scores
    assert inputs.recognised(path, {}) == format


def test_every_format_has_a_sample():
    assert {format for format, _ in SAMPLES.values()} == set(READERS)


@pytest.mark.parametrize("sample", SAMPLES)
def test_it_is_read_question_by_question(sample, tmp_path):
    format, files = SAMPLES[sample]
    path = lay(tmp_path, files)
    asked = module(format).questions(path) if hasattr(module(format), "questions") else []
    if len(asked) > 1 and format != "lewidi2023":
        with pytest.raises(BadCall, match="several questions"):
            read(format, path)
    for question in asked or [None]:
        raw = read(format, path, **({} if question is None else {"question": question}))
        assert raw.format == format and raw.rows.height
        assert raw.where(raw.rows.height - 1)[0].name


@pytest.mark.parametrize("sample", SAMPLES)
def test_other_readers_read_it_or_say_why_not(sample, tmp_path):
    path = lay(tmp_path, SAMPLES[sample][1])
    for name in READERS:
        try:
            raw = read(name, path)
        except ManyVoicesError as error:
            assert "\n" not in str(error) and len(str(error)) < 800
            continue
        assert raw.rows is None or raw.rows["task"].null_count() == 0


@pytest.mark.parametrize("sample", SAMPLES)
def test_nothing_about_people_is_kept(sample, tmp_path):
    """Names, mails, addresses and places that stand in the samples."""
    format, files = SAMPLES[sample]
    path = lay(tmp_path, files)
    asked = module(format).questions(path) if hasattr(module(format), "questions") else []
    for question in asked or [None]:
        raw = read(format, path, **({} if question is None else {"question": question}))
        tables = [table for table in (raw.rows, raw.items, raw.workers, raw.truth) if table is not None]
        text = " ".join([*(table.write_json() for table in tables), str(raw.about), *raw.notes])
        for secret in ("@x.org", "Lace", "10.0.0", "ada_lace", "I am Ben", "51.5", "Mozilla", "Ada"):
            assert secret not in text, secret


def test_order_of_rows_stays(tmp_path):
    path = lay(tmp_path, SAMPLES["mturk"][1])
    assert triples(read("mturk", path, question="q1").rows) == [("007", "W1", "yes"), ("8", "W1", "no")]


# Damaged exports -----------------------------------------------------------------------------------------------------

ODD = [None, True, 1, -0.5, "", "x", "a@b.co", [], {}, [None], [[1]], ["a", "b"], {"a": 1}, 10**30]
BITS = [b'"', b",", b"\n", b"\xff\xfe", b"}", b"NaN", b"[[", b"null", b'"\\ud800"', b"\t", b"\0", b"@", b'""']


def odd(value, rng):
    """JSON with some values exchanged, some keys lost."""
    if rng.random() < 0.04:
        return rng.choice(ODD)
    if isinstance(value, dict):
        return {key: odd(part, rng) for key, part in value.items() if rng.random() > 0.02}
    return [odd(part, rng) for part in value if rng.random() > 0.03] if isinstance(value, list) else value


def damaged(content, rng):
    if rng.random() < 0.3:
        return content
    if not isinstance(content, str | bytes):
        return odd(content, rng)
    if isinstance(content, str) and content[:1] == "{" and rng.random() < 0.6:
        return "".join(json.dumps(odd(json.loads(line), rng)) + "\n" for line in content.splitlines())
    data = bytearray(content.encode() if isinstance(content, str) else content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(3):
            case 0:
                data[at:at] = rng.choice(BITS)
            case 1:
                del data[at : at + rng.randint(1, 9)]
            case 2:
                data[at:at] = data[max(0, at - 20) : at]
    return bytes(data)


CALLS: dict[str, list[dict]] = {
    "labelstudio": [{"predictions": True}, {"worker": "email"}, {"question": "mood"}],
    "qualtrics": [{"columns": "Q.*"}],
}


@settings(deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 2**32))
def test_damaged_exports_are_read_or_refused(sample, seed):
    format, files = SAMPLES[sample]
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = lay(Path(folder), {name: content and damaged(content, rng) for name, content in files.items()})
        for name in {format, rng.choice(READERS)}:
            assert 0 <= module(name).recognise(path) <= 1
            asked = module(name).questions if name == format and hasattr(module(name), "questions") else lambda path: []
            for options in [{}, *CALLS.get(name, []), {"question": None}]:
                try:
                    if "question" in options and options["question"] is None:
                        found = asked(path)
                        options = {"question": found[0]} if found else {}
                    raw = read(name, path, **options)
                except ManyVoicesError as error:
                    assert "\n" not in str(error)
                    continue
                if raw.rows is not None:
                    assert raw.rows["task"].null_count() == 0
                    assert raw.rows.height == 0 or raw.where is None or raw.where(raw.rows.height - 1)


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["x.zip", "x.jsonl", "user_state.json", "all.csv", "x.parquet"]))
def test_random_bytes(data, name):
    with tempfile.TemporaryDirectory() as folder:
        for content in (data, b"PK\x03\x04" + data, b"PAR1" + data, b'{"id": 1}\n' + data):
            path = Path(folder) / name
            path.write_bytes(content)
            for reader in READERS:
                assert 0 <= module(reader).recognise(path) <= 1
                try:
                    read(reader, path)
                except ManyVoicesError as error:
                    assert "\n" not in str(error)


# The same export in other dress --------------------------------------------------------------------------------------

DRESSES = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "line ends of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "gzipped": lambda text: gzip.compress(text.encode()),
    "UTF-16": lambda text: text.encode("utf-16"),
    "Latin-1": lambda text: text.replace("good", "g\xf6od").replace("hello", "h\xebllo").encode("latin-1"),
    "empty lines": lambda text: f"\n\n{text}\n\n\n".encode(),
    "no line end": lambda text: text.rstrip("\n").encode(),
}


def everything(format, path):
    asked = module(format).questions(path) if hasattr(module(format), "questions") else []
    raws = [read(format, path, **({} if question is None else {"question": question})) for question in asked or [None]]
    return [(raw.about.get("question"), raw.scale, raw.rows.rows(), None if raw.truth is None else raw.truth.rows()) for raw in raws]


@pytest.mark.parametrize("sample", [name for name in SAMPLES if "parquet" not in name and "zip" not in name])
def test_in_other_dress(sample, tmp_path):
    format, files = SAMPLES[sample]
    plain = everything(format, lay(tmp_path / "plain", files))
    for dress, put_on in DRESSES.items():
        texts = {n: c if isinstance(c, str | bytes | None) else json.dumps(c, indent=1) for n, c in files.items()}
        path = lay(tmp_path / dress, {n: put_on(c) if isinstance(c, str) and n else c for n, c in texts.items()})
        assert inputs.recognised(path, {}) == format, dress
        assert everything(format, path) == plain, dress
