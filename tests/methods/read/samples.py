"""One small valid export of every format, as names of files and what is in them; the first is the path to read."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import polars as pl


def lines(*records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def parquet(columns) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def zipped(**files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return out.getvalue()


def choice(name, *labels):
    return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}


def rating(name, number):
    return {"from_name": name, "to_name": "text", "type": "rating", "value": {"rating": number}}


def person(id):
    return {"id": id, "email": f"u{id}@x.org", "first_name": "Ada", "last_name": "Lace"}


LABELSTUDIO = [
    {
        "id": 11,
        "data": {"text": "good", "image": "/data/1.png"},
        "annotations": [
            {
                "id": 2,
                "completed_by": person(1),
                "result": [choice("mood", "glad"), rating("stars", 3)],
                "was_cancelled": False,
                "ground_truth": False,
                "lead_time": 4.25,
                "created_at": "2024-01-02T00:00:00Z",
            },
            {
                "id": 3,
                "completed_by": person(2),
                "result": [choice("mood", "sad"), rating("stars", 1)],
                "was_cancelled": True,
                "created_at": "2024-01-02T01:00:00Z",
            },
            {
                "id": 4,
                "completed_by": person(3),
                "result": [choice("mood", "glad")],
                "ground_truth": True,
                "created_at": "2024-01-02T02:00:00Z",
            },
            {
                "id": 1,
                "completed_by": person(2),
                "result": [choice("mood", "sad"), rating("stars", 5)],
                "created_at": "2024-01-01T00:00:00Z",
            },
        ],
        "predictions": [
            {
                "model_version": "v1",
                "score": 0.9,
                "result": [choice("mood", "sad")],
                "created_at": "2024-01-03T00:00:00Z",
            }
        ],
    },
    {
        "id": 12,
        "data": {"text": "bad"},
        "annotations": [
            {"id": 5, "completed_by": person(1), "result": [rating("stars", 2)], "created_at": "2024-01-04T00:00:00Z"}
        ],
        "predictions": [],
    },
]
MIN = [
    {
        "text": text,
        "id": task,
        "mood": mood,
        "annotator": who,
        "annotation_id": n,
        "created_at": f"2024-01-0{9 - n}",
        "updated_at": "",
        "lead_time": 1.5,
    }
    for n, (text, task, mood, who) in enumerate(
        [("good", 1, "glad", 7), ("good", 1, "sad", 8), ("bad", 2, {"choices": ["sad", "angry"]}, 7)], 1
    )
]
MIN_CSV = (
    "annotation_id,annotator,created_at,id,lead_time,mood,text,updated_at\n"
    "1,a@x.org,2024,1,1.5,glad,good,\n2,b@x.org,2024,1,2.5,sad,good,\n3,a@x.org,2024,2,1,sad,bad,\n"
)
DOCCANO = {
    "anna": lines(
        {"id": 1, "text": "x", "label": ["pos"], "Comments": []}, {"id": 2, "text": "y", "label": [], "Comments": []}
    ),
    "ben": lines(
        {"id": 1, "text": "x", "label": ["pos", "odd"], "Comments": ["I am Ben"]},
        {"id": 2, "text": "y", "label": ["neg"], "Comments": []},
    ),
}


def prodigy(hash, who, answer, **more):
    return {
        "text": f"t{hash}",
        "_input_hash": hash,
        "_task_hash": -hash,
        "_view_id": "classification",
        "answer": answer,
        "_timestamp": 1690294790 + hash,
        "_annotator_id": f"set-{who}",
        "_session_id": f"set-{who}",
    } | more


PRODIGY = lines(
    prodigy(1, "alex", "accept", label="SPAM"),
    prodigy(1, "bo", "reject", label="SPAM"),
    prodigy(2, "alex", "ignore", label="SPAM"),
)
ARGILLA = [
    {
        "id": "r1",
        "fields": {"text": "hello"},
        "metadata": {},
        "suggestions": {},
        "vectors": {},
        "status": "completed",
        "_server_id": "s1",
        "responses": {
            "mood": [{"value": "glad", "user_id": "uuid-1"}, {"value": "sad", "user_id": "uuid-2"}],
            "stars": [{"value": 4, "user_id": "uuid-1"}],
        },
    },
    {
        "id": "r2",
        "fields": {"text": "bye"},
        "responses": {"mood": [], "stars": [{"value": 1, "user_id": "uuid-1"}, {"value": 2, "user_id": "uuid-2"}]},
    },
]
ARGILLA_FLAT = [
    {
        "id": "r1",
        "_server_id": "s1",
        "text": "hello",
        "mood.responses": ["glad", "sad", "glad"],
        "mood.responses.users": ["u1", "u2", "u3"],
        "mood.responses.status": ["submitted", "draft", "discarded"],
        "mood.suggestion": "sad",
        "mood.suggestion.score": 0.5,
    },
    {"id": "r2", "text": "bye", "mood.responses": None, "mood.responses.users": None, "mood.responses.status": None},
]
MTURK = (
    "HITId,HITTypeId,Title,AssignmentId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,"
    "Input.id,Input.text,Answer.q1,Answer.q2,Approve,Reject\n"
    "h1,t,x,a1,W1,Approved,Mon,12,007,hello,yes,3,,\n"
    "h1,t,x,a2,W2,Rejected,Mon,2,007,hello,no,1,,spam\n"
    "h2,t,x,a3,W1,Submitted,Mon,9,8,bye,no,,,\n"
)
TOLOKA = (
    "INPUT:image\tINPUT:n\tOUTPUT:result\tOUTPUT:sure\tGOLDEN:result\tHINT:text\tASSIGNMENT:worker_id\t"
    "ASSIGNMENT:status\tASSIGNMENT:started\tASSIGNMENT:submitted\n"
    "a.png\t1\tcat\tyes\tcat\t\tw1\tAPPROVED\t2024-01-01T00:00:00.000\t2024-01-01T00:00:07.500\n\n"
    "b.png\t1\tdog\tno\t\t\tw1\tAPPROVED\t\t\n\t\t\t\t\t\t\t\t\t\n"
    "b.png\t1\tcat\tno\t\t\tw2\tREJECTED\t\t\n"
)
HF_PARALLEL = lines(
    {"id": "x", "annotator_ids": [3, 7], "human_labels": [0, 1], "reaction_times": [1200.5, 900]},
    {"id": "y", "annotator_ids": [7], "human_labels": [1], "reaction_times": [3]},
)
HF_ANONYMOUS = lines(
    {"pairID": "x", "premise": "p", "hypothesis": "h", "annotator_labels": ["neutral", "neutral", "entailment"]},
    {"pairID": "y", "premise": "p", "hypothesis": "g", "annotator_labels": ["neutral"]},
)
HF_COUNTS = lines({"id": "x", "label_counts": {"yes": 3, "no": 1}}, {"id": "y", "label_counts": {"yes": 0, "no": 4}})
POTATO = {
    "instance_id": ["i1", "i1", "i2"],
    "user_id": ["u1", "u2", "u1"],
    "mood": ["glad", "sad", None],
    "scale": [1.0, 3.0, 2.0],
    "topics": [["a", "b"], ["a"], []],
}
POTATO_CSV = (
    "user,instance_id,displayed_text,mood.glad,mood.sad,note.text_box\n"
    "u1,i1,hello,true,,fine\nu2,i1,hello,,true,\nu1,i2,bye,,true,odd\n"
)
STATE = {
    "user_id": "u1",
    "instance_id_ordering": ["i1"],
    "instance_id_to_label_to_value": {
        "i1": [[{"schema": "mood", "name": "glad"}, True], [{"schema": "note", "name": "text_box"}, "fine"]],
        "i2": {"mood": {"sad": "true"}},
    },
}


def zoo(*said):
    return json.dumps([{"task": task, "task_label": f"What {task}?", "value": value} for task, value in said])


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def zoo_row(id, name, user, version, said, gold="", times=("2024-01-01T00:00:00Z", "2024-01-01T00:00:30Z")):
    about = json.dumps({"started_at": times[0], "finished_at": times[1], "user_agent": "Mozilla"})
    data = json.dumps({"s1": {"retired": None, "file": "a.jpg", "#secret": "x"}})
    cells = (about, said, data)
    return f"{id},{name},{user},10.0.0.1,55,Flow,{version},2024-01-01,{gold},," + ",".join(map(quoted, cells)) + ",s1\n"


ZOO_HEAD = (
    "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,created_at,"
    "gold_standard,expert,metadata,annotations,subject_data,subject_ids\n"
)
ZOONIVERSE = (
    ZOO_HEAD
    + zoo_row(1, "ada_lace", 9, "1.1", zoo(("T0", "Yes"), ("T1", ["Cat", "Dog"])))
    + zoo_row(2, "not-logged-in-ab12", "", "1.1", zoo(("T0", "No"), ("T1", []), ("T2", [{"x": 1, "y": 2}])))
    + zoo_row(3, "expert", 1, "2.3", zoo(("T0", "Yes")), "true")
)


def survey(names, texts, ids, *rows):
    head = [
        ",".join(names),
        ",".join(map(quoted, texts)),
        ",".join(quoted(json.dumps({"ImportId": id}, separators=(",", ":"))) for id in ids),
    ]
    return "\n".join([*head, *rows]) + "\n"


QUALTRICS = survey(
    [
        "StartDate", "Status", "IPAddress", "Duration (in seconds)", "ResponseId", "RecipientLastName",
        "RecipientEmail", "LocationLatitude", "Q1", "Q2", "PROLIFIC_PID",
    ],
    [
        "Start Date", "Response Type", "IP Address", "Duration", "Response ID", "Last", "Email", "Lat",
        'Is "go away"\nrude?', "Is this, too?", "PROLIFIC_PID",
    ],
    [
        "startDate", "status", "ipAddress", "duration", "_recordId", "recipientLastName", "recipientEmail",
        "locationLatitude", "QID1", "QID2_TEXT", "PROLIFIC_PID",
    ],
    "2024,IP Address,10.0.0.1,61,R_1,Lace,a@x.org,51.5,yes,no,P1",
    "2024,IP Address,10.0.0.2,75,R_2,Hop,b@x.org,51.5,no,,P2",
    "2024,Survey Preview,10.0.0.3,1,R_3,Me,c@x.org,51.5,no,no,P3",
)  # fmt: skip
PROLIFIC = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Time taken,Completion code,"
    "Total approvals,Age,Sex,Country of residence,Student status\n"
    "s1,P1,APPROVED,Not Applicable,2024,99,C1,12,31,Female,Ireland,DATA_EXPIRED\n"
    "s2,P2,APPROVED,Not Applicable,2024,50,C1,4,DATA_EXPIRED,Male,Spain,No\n"
    "s9,P9,RETURNED,Not Applicable,2024,50,C1,4,22,Male,Spain,No\n"
)
LEWIDI = {
    "1": {
        "text": "hi",
        "annotation task": "hate",
        "annotators": "Ann1,Ann2",
        "annotations": "0,1",
        "number of annotations": 2,
        "hard_label": "0",
        "soft_label": {"0": 0.5, "1": 0.5},
        "split": "train",
        "lang": "en",
        "other_info": {},
    }
}
LEWIDI_5 = {"1": LEWIDI["1"] | {"annotations": {"Ann1": "0", "Ann2": "1"}, "text": {"context": "a", "response": "b"}}}

SAMPLES: dict[str, tuple[str, dict]] = {
    "long": ("long", {"a.csv": "task,worker,label\n1,a,x\n1,b,y\n"}),
    "long with counts": ("long", {"a.csv": "task,label,n\n1,x,4\n1,y,5\n"}),
    "wide": ("wide", {"a.csv": "task,w1,w2,w3\n1,x,y,\n2,x,,x\n3,y,y,x\n"}),
    "native": ("native", {"": None, "answers.csv": "task,worker,label\n1,a,x\n", "truth.csv": "task,label\n1,x\n"}),
    "crowdkit": (
        "crowdkit",
        {"": None, "crowd_labels.csv": "task,worker,label\n1,a,x\n", "gt.csv": "task,label\n1,x\n"},
    ),
    "crowdkit, old": ("crowdkit", {"a.csv": "task,performer,label\n1,a,x\n"}),
    "peerannot": (
        "peerannot",
        {"": None, "answers.json": {"0": {"0": 1}, "1": {"1": 0}}, "metadata.json": {"name": "x", "n_classes": 2}},
    ),
    "peerannot, one file": ("peerannot", {"answers.json": {"0": {"0": 1}, "1": {"1": 0}}}),
    "lewidi2023": ("lewidi2023", {"HS_train.json": LEWIDI}),
    "lewidi2025": ("lewidi2025", {"MP_train.json": LEWIDI_5}),
    "labelstudio": ("labelstudio", {"a.json": LABELSTUDIO}),
    "labelstudio, min": ("labelstudio", {"a.json": MIN}),
    "labelstudio, csv": ("labelstudio", {"a.csv": MIN_CSV}),
    "doccano, zip": ("doccano", {"a.zip": zipped(anna__jsonl=DOCCANO["anna"], ben__jsonl=DOCCANO["ben"])}),
    "doccano, folder": ("doccano", {"": None, "anna.jsonl": DOCCANO["anna"], "ben.jsonl": DOCCANO["ben"]}),
    "doccano, shared": ("doccano", {"all.jsonl": DOCCANO["ben"]}),
    "prodigy": ("prodigy", {"a.jsonl": PRODIGY}),
    "argilla": ("argilla", {"a.json": ARGILLA}),
    "argilla, flat": ("argilla", {"a.json": ARGILLA_FLAT}),
    "argilla, parquet": ("argilla", {"a.parquet": parquet(ARGILLA_FLAT)}),
    "mturk": ("mturk", {"Batch_1_batch_results.csv": MTURK}),
    "toloka": ("toloka", {"assignments.tsv": TOLOKA}),
    "hf, parallel": ("hf", {"a.jsonl": HF_PARALLEL}),
    "hf, anonymous": ("hf", {"a.jsonl": HF_ANONYMOUS}),
    "hf, counts": ("hf", {"a.jsonl": HF_COUNTS}),
    "hf, parquet": (
        "hf",
        {"a.parquet": parquet({"id": ["x", "y"], "annotator_ids": [[1, 2], [2]], "human_labels": [[0, 1], [1]]})},
    ),
    "potato": ("potato", {"annotations.parquet": parquet(POTATO)}),
    "potato, csv": ("potato", {"annotated_instances.csv": POTATO_CSV}),
    "potato, folder": (
        "potato",
        {
            "": None,
            "annotations.parquet": parquet(POTATO),
            "items.parquet": parquet({"instance_id": ["i1", "i2"], "text": ["hello", "bye"]}),
        },
    ),
    "potato, states": (
        "potato",
        {"": None, "u1/user_state.json": STATE, "u2/user_state.json": STATE | {"user_id": "u2"}},
    ),
    "zooniverse": ("zooniverse", {"classifications.csv": ZOONIVERSE}),
    "qualtrics": ("qualtrics", {"survey.csv": QUALTRICS}),
}


def lay(folder: Path, files: dict) -> Path:
    """Write the files of a sample; the path that is read."""
    first = next(iter(files))
    for name, content in files.items():
        if not name:
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / first
