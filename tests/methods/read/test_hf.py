from __future__ import annotations

import io

import numpy as np
import pytest
from reading import read, scores, surest, triples
from samples import HF_ANONYMOUS, HF_COUNTS, HF_PARALLEL, lines, parquet

import manyvoices as mv
from manyvoices import inputs
from manyvoices.core.errors import BadCall, BadInput
from manyvoices.methods.read.hf import questions

EMOTIONS = (
    "text,id,rater_id,rater_age,rater_country,joy,fear\nhi,c1,7,31,Peru,1,1\nhi,c1,8,40,Chad,0,0\nyo,c2,7,31,Peru,0,1\n"
)
SPEECH = "comment_id,annotator_id,respect,insult,created\n1,a,0,3,x\n1,b,4,1,x\n2,a,2,,x\n"


def test_parallel_lists(put):
    path = put("a.jsonl", HF_PARALLEL)
    raw = read("hf", path)
    assert triples(raw.rows) == [("x", "3", "0"), ("x", "7", "1"), ("y", "7", "1")]
    assert raw.rows["reaction_times"].to_list() == ["1200.5", "900", "3"] and raw.where(2) == (path, 2)
    python = "id,annotators,labels\nx,\"['ann', 'ben']\",\"['yes', 'no']\"\n"
    assert triples(read("hf", put("b.csv", python)).rows) == [("x", "ann", "yes"), ("x", "ben", "no")]


def test_lists_and_counts_of_nobody(put):
    raw = read("hf", put("a.jsonl", HF_ANONYMOUS))
    assert raw.rows.columns == ["task", "label"] and raw.rows.height == 4
    assert raw.notes == ["annotator_labels lists labels of people who are not named"]
    counts = read("hf", put("b.jsonl", HF_COUNTS))
    assert counts.rows.rows() == [("x", "yes", 3), ("x", "no", 1), ("y", "yes", 0), ("y", "no", 4)]
    bare = read("hf", put("c.jsonl", lines({"label_counts": {"a": 1}}, {"label_counts": {"a": 2}})))
    assert bare.rows["task"].to_list() == ["1", "2"] and bare.notes == [
        "no column for the task: rows are tasks 1, 2, ..."
    ]


def test_a_list_beside_is_as_long_in_every_row(put):
    first = {"id": "x", "annotator_ids": [3, 7], "human_labels": [0, 1], "times": [4, 5], "soft_label": [0.5, 0.5]}
    second = {"id": "y", "annotator_ids": [7], "human_labels": [1], "times": None, "soft_label": [0, 1]}
    raw = read("hf", put("a.jsonl", lines(first, second)))
    assert raw.rows.columns == ["task", "worker", "label", "times"]
    assert raw.rows["times"].to_list() == ["4", "5", None]


def array(values, **more) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values, **more), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32])
def test_a_matrix_of_counts(put, kind):
    path = put("cifar10h-counts.npy", array([[3, 0, 1], [0, 4, 0]], dtype=kind))
    assert surest(path) == "hf" and questions(path) == []
    data = mv.read(path)
    assert data.answers.n == 8 and data.answers.workers is None and data.answers.classes.to_list() == ["0", "1", "2"]
    assert data.answers.counts().tolist() == [[3, 0, 1], [0, 4, 0]] and data.answers.tasks.to_list() == ["0", "1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (array([[0.25, 0.75]]), r"the count of class 0 for task 0 is 0.25.*soft labels are shares, not votes"),
        (array([[1, 0], [2, -1]]), r"the count of class 1 for task 1 is -1"),
        (array([[1.0, np.nan]]), r"the count of class 1 for task 0 is nan"),
        (array([1, 2]), r"int64 \[2\]; expected counts \[tasks, classes\]"),
        (array([["a", "b"]]), r"<U1 \[1, 2\]"),
        (array([[{}, {}]]), r"not a readable npy file"),
        (array([[1, 2]])[:40], r"not a readable npy file"),
        (array([[1, 2]]).replace(b"(1, 2), }", b"(9**9, 2), }"), r"not a readable npy file"),
        (array([[1, 2]]).replace(b"(1, 2), }          ", b"(9000000000000, 2)}"), r"not a readable npy file"),
    ],
)
def test_an_array_that_is_none_of_counts(put, content, message):
    with pytest.raises(BadInput, match=message):
        mv.read(put("a.npy", content))


def test_shares_are_no_counts(put):
    with pytest.raises(BadInput, match=r"line 1: the count of 'a' is '0.3'; .*soft labels are shares, not votes"):
        mv.read(put("a.jsonl", lines({"id": 1, "label": {"a": 0.3, "b": 0.7}})))


def test_a_map_with_columns_of_zero_and_one(put):
    map = str(put("map.toml", 'task = "id"\nworker = "rater_id"\nlabel = ["joy", "fear"]\n'))
    raw = read("hf", put("a.csv", EMOTIONS), map=map)
    assert triples(raw.rows) == [("c1", "7", "joy"), ("c1", "7", "fear"), ("c1", "8", None), ("c2", "7", "fear")]
    assert raw.scale == "multilabel" and raw.items.rows() == [("c1", "hi"), ("c2", "yo")]
    assert raw.workers.rows() == [("7", "31"), ("8", "40")]  # no country
    with pytest.raises(BadInput, match=r"a.csv, line 3: fear is '2'; expected 0 or 1"):
        read("hf", put("a.csv", EMOTIONS.replace("0,0", "0,2")), map=map)


GOEMOTIONS = """text,id,author,subreddit,created_utc,rater_id,example_very_unclear,admiration,anger,neutral
hi,a1,redditor,s,1.5e9,1,False,1,0,0
hi,a1,redditor,s,1.5e9,2,False,0,1,1
yo,a2,redditor,s,1.5e9,1,True,0,0,0
"""
MEASURING = """comment_id,annotator_id,platform,sentiment,respect,hatespeech,hate_speech_score,text,annotator_gender
47777,10873,3,0.0,0.0,0.0,-3.9,hey,male
47777,2790,3,1.0,2.0,0.0,-3.9,hey,female
"""
DICES = """id,item_id,rater_id,rater_gender,rater_locale,rater_race,context,response,degree_of_harm,Q_overall,Q2_harmful_content_overall
1,10,296,Woman,US,White,c,r,x,No,Yes
2,10,297,Man,IN,Asian,c,r,x,Yes,No
"""


def test_well_known_long_sets_need_no_map(put):
    raw = read("hf", path := put("go.csv", GOEMOTIONS))
    assert surest(path) == "hf" and raw.scale == "multilabel"
    assert triples(raw.rows) == [("a1", "1", "admiration"), ("a1", "2", "anger"), ("a1", "2", "neutral"), ("a2", "1", None)]
    assert "redditor" not in raw.rows.write_csv() + raw.items.write_csv()
    path = put("hate.csv", MEASURING)
    assert surest(path) == "hf" and questions(path) == ["sentiment", "respect", "hatespeech"]
    raw = read("hf", path, question="respect")
    assert triples(raw.rows) == [("47777", "10873", "0.0"), ("47777", "2790", "2.0")] and raw.workers["gender"].to_list() == ["male", "female"]
    path = put("dices.csv", DICES)
    assert surest(path) == "hf" and questions(path) == ["Q_overall", "Q2_harmful_content_overall"]
    raw = read("hf", path, question="Q_overall")
    assert triples(raw.rows) == [("10", "296", "No"), ("10", "297", "Yes")] and "US" not in raw.workers.write_csv()


@pytest.mark.parametrize("table", [GOEMOTIONS, MEASURING, DICES, "id,rater,task,answer\n1,r,t,yes\n"])
def test_a_map_is_followed_whatever_the_table_looks_like(put, table):
    """Also where it holds columns another reader would take for the label."""
    column = table.split("\n", 1)[0].split(",")
    path, map = put("x.csv", table), put("map.toml", f'task = "{column[0]}"\nworker = "{column[2]}"\nlabel = "{column[1]}"\n')
    assert inputs.recognised(path, {"map": str(map)}) == "hf"
    row = table.split("\n")[1].split(",")
    assert triples(read("hf", path, map=str(map)).rows)[0] == (row[0], row[2], row[1])


def test_a_map_with_several_questions(put):
    map = str(put("map.toml", 'task = "comment_id"\nworker = "annotator_id"\nquestion = ["respect", "insult"]\n'))
    path = put("a.csv", SPEECH)
    assert questions(path, map=map) == ["respect", "insult"]
    assert triples(read("hf", path, map=map, question="insult").rows) == [
        ("1", "a", "3"),
        ("1", "b", "1"),
        ("2", "a", None),
    ]
    with pytest.raises(BadCall, match=r"several questions"):
        read("hf", path, map=map)
    assert scores(path) == {} and inputs.recognised(path, {"map": map}) == "hf"


def test_a_map_with_a_column_that_names_the_question(put):
    map = str(put("map.toml", 'task = "t"\nworker = "w"\nlabel = "said"\nquestion = "about"\n'))
    raw = read("hf", put("a.csv", "t,w,said,about\n1,a,x,q1\n1,a,y,q2\n"), map=map, question="q2")
    assert triples(raw.rows) == [("1", "a", "y")] and raw.where(0)[1] == 3


def test_a_map_with_columns_of_counts(put):
    map = str(put("map.toml", 'task = "t"\nlabel = ["no", "yes"]\n'))
    assert read("hf", put("a.csv", "t,no,yes\nx,4,1\ny,0,5\n"), map=map).rows.rows()[:2] == [
        ("x", "no", 4),
        ("x", "yes", 1),
    ]


@pytest.mark.parametrize(
    ("map", "message"),
    [
        ("task = ", "map.toml: cannot be read"),
        ('colour = "t"', "colour = 't'; expected task, worker, label and question"),
        ('label = "zz"', "no column 'zz'"),
        ('task = "t"', "map.toml: no label"),
        ('task = "t"\nlabel = "t"', "a column has two roles"),
        ("task = 3", "task = 3"),
    ],
)
def test_bad_maps(put, map, message):
    with pytest.raises(BadInput, match=message):
        read("hf", put("a.csv", "t,w,said\n1,a,x\n"), map=str(put("map.toml", map)))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": 1, "annotator_ids": [1], "human_labels": [1, 2]}, "2 in human_labels and 1 in annotator_ids"),
        (
            {"id": 1, "label_counts": {"a": 0.5, "b": 0.5}},
            "the count of 'a' is '0.5'; expected whole numbers; soft labels",
        ),
        ({"id": 1, "label_counts": {"a": "x"}}, "the count of 'a' is 'x'"),
        ({"id": 1, "annotator_labels": [{"a": 1}]}, "annotator_labels holds"),
    ],
)
def test_bad_records(put, record, message):
    with pytest.raises(BadInput, match=message):
        read("hf", put("a.jsonl", lines(record)))


def test_a_plain_table_is_left_to_others(put):
    path = put("a.csv", "task,worker,label\n1,a,x\n")
    assert surest(path) == "long" and triples(read("hf", path).rows) == [("1", "a", "x")]
    assert triples(read("hf", put("a.parquet", parquet({"id": [1], "workers": [["a"]], "labels": [[0.5]]}))).rows) == [
        ("1", "a", "0.5")
    ]


def test_lists_by_any_name_are_notes(put):
    record = {"id": 1, "annotator_ids": [7], "human_labels": ["a"], "labels": ["b"], "question": ["c"], "self": ["d"], "at": [3]}
    raw = read("hf", put("a.jsonl", lines(record)))
    assert triples(raw.rows) == [("1", "7", "a")] and {"labels", "question", "self", "at_"} <= set(raw.rows.columns)


def test_the_one_column_that_tells_rows_apart_is_the_task(put):
    counts = [{"sentence_pair_id": n, "batch_id": 5, "label": {"yes": n, "no": 2}} for n in (7, 9)]
    raw = read("hf", put("a.jsonl", lines(*counts)))
    assert raw.rows["task"].to_list() == ["7", "7", "9", "9"] and raw.notes == []
    two = [{"left_id": n, "rightId": n, "label": {"yes": n}} for n in (7, 9)]
    assert read("hf", put("b.jsonl", lines(*two))).rows["task"].to_list() == ["1", "2"]
