"""What a report says, against counts made here with plain loops."""

import hashlib
import json
import logging
import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from manyvoices import api
from manyvoices.core.words import ends, listed, name, share, value
from manyvoices.methods.report.html import html
from manyvoices.methods.report.json import json as as_json
from manyvoices.methods.report.text import text
from manyvoices.reporting import advice, people
from manyvoices.reporting.runs import folders
from manyvoices.reporting.summary import more_steps, summarised

from .awkward import crowd, dataset


@pytest.fixture(scope="module")
def rows():
    return crowd(seed=3, right=0.55)


@pytest.fixture(scope="module")
def data(rows):
    said, truth = rows
    known = {t: k for t, k in truth.items() if t != "t5"}
    return dataset(said, truth=known, items={t: f"the text of {t}" for t in truth}, dropped={"no label": 40},
                   about={"label_names": {"c0": "cat", "c1": "dog"}})


@pytest.fixture(scope="module")
def facts(data):
    return summarised(data, {})


@pytest.fixture(scope="module")
def labels(data):
    """The consensus the report is about."""
    found = api.aggregate(data, "bcc")
    return dict(zip(found.tasks, found.labels(), strict=True)), dict(zip(found.tasks, found.probs.max(axis=1), strict=True)), found


def test_data(facts, rows):
    said, _ = rows
    data = facts["data"]
    assert (data["answers"], data["tasks"], data["workers"], data["known"]) == (len(said), 100, 20, 99)
    each = Counter(w for _, w, _ in said)
    assert facts["data"]["rows"][2]["says"].startswith(f"People who answered, {min(each.values())} to {max(each.values())} answers")
    by_task = {}
    for t, _, k in said:
        by_task.setdefault(t, []).append(k)
    unanimous = next(row for row in data["rows"] if row["name"] == "Unanimous tasks")
    assert unanimous["value"] == sum(len(set(labels)) == 1 for labels in by_task.values())


def alpha(said) -> float:
    """Krippendorff's, by its pairs."""
    by_task = {}
    for t, _, k in said:
        by_task.setdefault(t, []).append(k)
    units = [labels for labels in by_task.values() if len(labels) > 1]
    n = sum(map(len, units))
    observed = sum(sum(a != b for a in u for b in u) / (len(u) - 1) for u in units) / n
    total = Counter(k for u in units for k in u)
    expected = sum(total[a] * total[b] for a in total for b in total if a != b) / (n * (n - 1))
    return 1 - observed / expected


def test_agreement(facts, rows):
    said, _ = rows
    first = facts["agreement"]["rows"][0]
    assert first["score"] == "alpha" and first["value"] == pytest.approx(alpha(said), abs=1e-6)
    assert first["low"] < first["value"] < first["high"]
    assert f"alpha is {first['value']:.2f} (95 % interval {first['low']:.2f} to {first['high']:.2f})" in facts["agreement"]["says"][0]
    shown = next(f for f in facts["figures"] if f["name"] == "agreement beyond chance")
    assert shown["shown"] == f"{first['value']:.2f}"


def test_pairs_of_workers(facts, rows):
    """Cohen's kappa of two people, from their common tasks."""
    said, _ = rows
    told = {(t, w): k for t, w, k in said}
    assert facts["agreement"]["pairs"]
    for row in facts["agreement"]["pairs"][:30]:
        a, b = row["name"], row["other"]
        common = [(told[t, a], told[t, b]) for t in {t for t, _, _ in said} if (t, a) in told and (t, b) in told]
        assert row["n"] == len(common)
        equal = np.mean([x == y for x, y in common])
        left, right = Counter(x for x, _ in common), Counter(y for _, y in common)
        chance = sum(left[k] * right[k] for k in left) / len(common) ** 2
        assert row["value"] == pytest.approx((equal - chance) / (1 - chance), abs=1e-5)


def test_workers(facts, rows, labels):
    said, truth = rows
    held, _, found = labels
    section = facts["workers"]
    skill = dict(zip(found.skill.column("name"), found.skill.value, strict=True))
    assert {row["worker"] for row in section["rows"]} == {w for _, w, _ in said}
    for row in section["rows"]:
        own = [(t, k) for t, w, k in said if w == row["worker"]]
        assert row["n"] == len(own)
        assert row["skill"]["value"] == pytest.approx(skill[row["worker"]], abs=1e-5)
        assert row["skill"]["low"] < row["skill"]["value"] < row["skill"]["high"]
        known = [k == truth[t] for t, k in own if t != "t5"]
        assert row["accuracy"]["value"] == pytest.approx(np.mean(known), abs=1e-5)
        cells = Counter((held[t], k) for t, k in own)
        classes = section["classes"]
        assert {(classes[k], classes[m]): n for k, m, n in row["confusion"]} == dict(cells)
        wrong = {pair: n for pair, n in cells.items() if pair[0] != pair[1] and n > 1}
        if row["mixes"] is None:
            assert not wrong
        else:
            assert wrong[row["mixes"]["held"], row["mixes"]["said"]] == row["mixes"]["n"] == max(wrong.values())


def test_below_the_average_beside_chance(facts, labels):
    """How many lie below the mean with their whole interval, of those with ten answers or more."""
    _, _, found = labels
    low = int((found.skill.high < found.skill.value.mean()).sum())
    [line] = [line for line in facts["workers"]["says"] if "average skill" in line]
    assert f"{value(float(found.skill.value.mean()))}; {low or 'none'} of 20 workers" in line and "(by chance alone it would be fewer than one of as many equal workers)" in line


def test_hardest_tasks(facts, rows, labels):
    said, truth = rows
    held, prob, found = labels
    bits = -(found.probs * np.log2(np.where(found.probs > 0, found.probs, 1))).sum(axis=1)
    order = dict(zip(found.tasks, bits, strict=True))
    shown = facts["tasks"]["rows"]
    assert len(shown) == 40
    left = min(round(order[row["task"]], 2) for row in shown)
    assert all(round(order[t], 2) <= left for t in order if t not in {row["task"] for row in shown})
    for row in shown:
        assert row["label"] == held[row["task"]] and row["prob"] == pytest.approx(min(prob[row["task"]], .999999), abs=1e-5)
        assert dict(map(tuple, row["votes"])) == Counter(k for t, _, k in said if t == row["task"])
        assert [n for _, n in row["votes"]] == sorted((n for _, n in row["votes"]), reverse=True)
        assert row["content"] == [{"kind": "text", "name": "text", "text": f"the text of {row['task']}"}]
        assert row["truth"] == (None if row["task"] == "t5" else truth[row["task"]])


def test_classes(facts, rows, labels):
    said, _ = rows
    held, _, _ = labels
    for row in facts["classes"]["rows"]:
        k = row["class"]
        about = [answer for t, _, answer in said if held[t] == k]
        assert row["answers"] == sum(answer == k for _, _, answer in said)
        assert row["labels"] == sum(label == k for label in held.values())
        assert row["found"] == pytest.approx(np.mean([a == k for a in about]), abs=1e-5)
        assert row["means"] == {"c0": "cat", "c1": "dog"}.get(k, "")
    by_task = {}
    for t, _, k in said:
        by_task.setdefault(t, []).append(k)
    clashes = Counter(tuple(sorted(pair)) for some in by_task.values() for pair in combinations(some, 2) if pair[0] != pair[1])
    assert {(row["class"], row["other"]): row["n"] for row in facts["classes"]["pairs"]} == dict(clashes)
    first = facts["classes"]["pairs"][0]
    assert first["n"] == max(clashes.values()) and first["share"] == pytest.approx(first["n"] / sum(clashes.values()), abs=1e-5)
    assert "c0 (cat)" in facts["classes"]["says"][0] or "c1 (dog)" in facts["classes"]["says"][0]


def test_confidence(facts, rows, labels):
    _, truth = rows
    held, prob, _ = labels
    section = facts["confidence"]
    assert section["below_90"] == sum(p < .9 for p in prob.values())
    assert section["expected_wrong"] == pytest.approx(sum(1 - p for p in prob.values()), rel=1e-4)
    right = {t: held[t] == truth[t] for t in held if t != "t5"}
    assert (section["known"], section["right"]) == (99, sum(right.values()))
    low, high = ([right[t] for t in right if (prob[t] < .9) == side] for side in (True, False))
    assert len(low) < 10 and section["low_right"] is None and section["high_right"] == pytest.approx(np.mean(high), abs=1e-5)   # too few to say
    [step] = [s for s in facts["next"] if s["do"].startswith("Spend")]
    assert step["because"].startswith(f"Where the truth is known, {share(np.mean(high))} of the other {sum(p >= .9 for p in prob.values())} are right.")
    assert section["claimed"] == pytest.approx(np.mean([prob[t] for t in right]), abs=1e-5)
    assert sum(row["tasks"] for row in section["rows"]) == 100
    for row in section["rows"]:
        here = [t for t, p in prob.items() if row["from"] <= p < row["to"] or p == row["to"] == 1]
        assert row["tasks"] == len(here)
        known = [right[t] for t in here if t in right]
        assert row["right"] == (pytest.approx(np.mean(known), abs=1e-5) if known else None)


def test_labels_below_and_above_90():
    rows, truth = crowd(seed=5, right=.5, per_task=4, tasks=200)
    facts, found = summarised(dataset(rows, truth=truth), {}), api.aggregate(dataset(rows), "bcc")
    right = np.array([k == truth[t] for t, k in zip(found.tasks, found.labels(), strict=True)])
    low = found.probs.max(axis=1) < .9
    said = f"Below 90 % {share(right[low].mean())} of the labels are right, from 90 % on {share(right[~low].mean())}."
    assert low.sum() >= 10 and said in facts["confidence"]["says"]
    assert any(f"{share(right[low].mean())} of these labels are right and {share(right[~low].mean())} of the other {(~low).sum()}." in s["because"] for s in facts["next"])


def test_methods(facts, data):
    scores = api.compare(data, seed=0)
    told = {(s, n): x for s, of, n, other, x in zip(*(scores.column(c) for c in ("score", "of", "name", "other", "value")), strict=True)
            if of == "method" and not other}
    section = facts["methods"]
    assert section["rows"][0]["recommended"] and section["rows"][0]["method"] == section["recommended"]
    for row in section["rows"]:
        for column in section["columns"]:
            assert row[column]["value"] == pytest.approx(told[column, row["method"]], rel=1e-4)
    for column in section["columns"]:
        first = [row for row in section["rows"] if row[column]["rank"] == min(row[column]["rank"] for row in section["rows"])]
        assert all(row[column]["first"] for row in first[:1])
    assert {"accuracy", "ece", "predicts_tempered"} <= set(section["columns"])


def test_what_became_the_truth_is_nothing_to_check():
    data = {"answers": 100, "alone": 0, "tasks": 50}
    truth = {"ground truth (now the truth)": 40}
    assert advice.hygiene({"data": data, "dropped": {"reasons": truth}}) is None
    step = advice.hygiene({"data": data, "dropped": {"reasons": truth | {"cancelled annotations": 25}}})
    assert step["do"] == "Check the 25 rows that were left out." and "20 % of all (25: cancelled annotations)" in step["because"]


def test_left_out_and_made(facts, data, tmp_path):
    assert facts["dropped"]["reasons"] == {"no label": 40} and facts["dropped"]["says"] == ["40 rows of the files are not in this report."]
    assert facts["next"][0]["do"] == "Check the 40 rows that were left out."
    rows, _ = crowd(tasks=10, workers=4)
    api.write(dataset(rows), tmp_path / "crowd")
    made = summarised(api.read(tmp_path / "crowd"), {}, source=tmp_path / "crowd", method="mv", seed=4)["manifest"]
    assert made["command"] == "manyvoices report crowd -s mv --seed 4" and made["method"] == "mv"
    digest = hashlib.sha256((tmp_path / "crowd/answers.csv").read_bytes()).hexdigest()
    assert made["inputs"]["crowd/answers.csv"] == digest


def test_what_to_do_next():
    """Guessers are pointed at, never called names; a minority with one view is to be asked, not removed."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=160)
    rows = []
    for t, k in enumerate(truth):
        for w in range(12):
            said = rng.integers(3) if w < 3 else (k + 1) % 3 if w < 6 and t % 2 else k if rng.random() < .85 else rng.integers(3)
            rows.append((f"t{t}", f"w{w}", f"c{said}"))
    facts = summarised(dataset(rows), {})
    kinds = {row["worker"]: row["kind"] for row in facts["workers"]["rows"]}
    assert {w for w, kind in kinds.items() if kind == "nothing"} == {"w0", "w1", "w2"}
    step = next(s for s in facts["next"] if s["do"].startswith("Look at the answers of"))
    assert all(f"“{w}”" in step["do"] for w in ("w0", "w1", "w2")) and "little weight" in step["because"] and step["where"] == "workers"
    assert all(kinds[w] in ("own", "partly") for w in ("w3", "w4", "w5"))
    told = as_json(facts) + text(facts) + html(facts).split("<script")[0]
    assert "spammer" not in told.lower()
    alike = advice.people(facts | {"manifest": {"method": "mv"}})
    assert "take a method that weighs workers" in alike["because"]


NUMBERS = [(f"t{i}", f"w{j}", round(50 + 10 * np.sin(i) + j, 1)) for i in range(20) for j in range(4)]
ODD = {
    "one answer": {"rows": [("t", "w", "k")]},
    "one worker": {"rows": [(f"t{i}", "w", f"c{i % 3}") for i in range(12)]},
    "one task": {"rows": [("t", f"w{i}", f"c{i % 3}") for i in range(9)]},
    "one class": {"rows": [(f"t{i % 9}", f"w{i}", "yes") for i in range(36)]},
    "all ties": {"rows": [(f"t{i // 2}", f"w{i % 2}", "yn"[i % 2]) for i in range(30)]},
    "no common tasks": {"rows": [(f"t{i}", f"w{i % 2}", "yn"[i % 3 % 2]) for i in range(20)]},
    "a class nobody used": {"rows": [(f"t{i % 9}", f"w{i}", "ab"[i % 2]) for i in range(36)], "classes": ["a", "b", "never"]},
    "truth for one task": {"rows": [(f"t{i % 9}", f"w{i % 5}", "ab"[i % 2]) for i in range(27)], "truth": {"t0": "a", "other": "b"}},
    "truth nobody said": {"rows": [(f"t{i % 9}", f"w{i % 5}", "ab"[i % 2]) for i in range(27)], "truth": {"t0": "z"}},
    "tasks without answers": {"rows": [("t", "w", "k"), ("t", "v", "l")], "tasks": ["t", "u"], "workers": ["v", "w", "x"]},
    "numbers": {"rows": NUMBERS, "scale": "interval"},
    "equal numbers": {"rows": [(t, w, 3.0) for t, w, _ in NUMBERS], "scale": "interval"},
    "ordered": {"rows": [(t, w, str(int(x // 10))) for t, w, x in NUMBERS], "scale": "ordinal"},
}


@pytest.mark.parametrize("case", ODD)
def test_odd_data(case):
    """Everything is said in words or is a number; where there is no number a sentence says why."""
    given = dict(ODD[case])
    facts = summarised(dataset(given.pop("rows"), **given), {})
    json.loads(as_json(facts))                            # NaN would be refused
    for shown in (html(facts).split("<script")[0], text(facts)):
        assert not re.search(r"\bnan\b|\bNone\b|\binf\b|[Nn]ot defined because [Nn]ot", shown)
    for row in facts["agreement"]["rows"]:
        assert row["value"] is not None or "not defined" in row["note"] or "because" in row["note"]
    assert facts["next"] and all(step["where"] in facts and facts[step["where"]] for step in facts["next"])


def test_nobody_named(tmp_path):
    lines = [json.dumps({"id": f"t{i}", "label_counts": {"a": 3 + i % 4, "b": 5 - i % 3, "c": i % 2}}) for i in range(12)]
    (tmp_path / "counts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    facts = summarised(api.read(tmp_path / "counts.jsonl"), {})
    assert facts["workers"] is None and facts["data"]["workers"] is None
    assert facts["manifest"]["method"] == "mv" and "these labels are by mv" in facts["manifest"]["says"][1]
    assert facts["next"][-1] == {"do": "Keep the labels of mv.", "because": "Nothing else could be fitted.", "where": "methods"}
    assert "Workers" not in html(facts).split("<nav")[1].split("</nav>")[0]
    assert facts["tasks"]["rows"][0]["n"] == sum(n for _, n in facts["tasks"]["rows"][0]["votes"])


def test_runs(data, facts, labels, tmp_path):
    """How runs differ, from their labels."""
    api_labels = {}
    for method in ("bcc", "mv"):
        found = api.aggregate(data, method)
        (tmp_path / method).mkdir()
        found.table().write_csv(tmp_path / method / "labels.csv")
        api_labels[method] = dict(zip(found.tasks, found.labels(), strict=True))
    whole = summarised(data, folders([tmp_path / "bcc", tmp_path / "mv"]))
    section = whole["runs"]
    bcc, mv = section["rows"]
    differ = [t for t in api_labels["mv"] if api_labels["mv"][t] != api_labels["bcc"][t]]
    assert (bcc["run"], bcc["same"], mv["run"]) == ("bcc", 1, "mv")
    assert mv["same"] == pytest.approx(1 - len(differ) / 100) and section["different"] == len(differ) > 0
    assert {d["task"] for d in section["differences"]} == set(differ[:30])
    assert bcc["accuracy"] == pytest.approx(facts["confidence"]["accuracy"]) and bcc["known"] == 99
    assert f"| bcc | mv | 100 | {share(mv['same'])} |" in text(whole) and json.loads(as_json(whole))["runs"] == section


def test_many_workers_are_sampled_and_it_is_said(monkeypatch):
    """Those with most answers stay, and every place with a table says how many there are."""
    monkeypatch.setattr(people, "MOST", 10)
    rows = [(f"t{i // 2}", f"w{i % 40 if i % 3 else i % 5}", "ab"[i % 7 > 3]) for i in range(200)]
    facts = summarised(dataset(rows), {})
    answers = Counter(w for _, w, _ in rows)
    most = {w for w, _ in sorted(answers.items(), key=lambda item: -item[1])[:5]}
    assert len(facts["workers"]["rows"]) == 10 and facts["workers"]["of"] == 40 and most <= {r["worker"] for r in facts["workers"]["rows"]}
    assert facts["workers"]["sample"].startswith("The table has 10 of 40 workers")
    assert facts["tasks"]["of"] == 100 and len(facts["tasks"]["rows"]) == 40 and "40 tasks of 100" in facts["tasks"]["says"][0]
    for shown in (html(facts), text(facts)):
        assert "The table has 10 of 40 workers" in shown and "40 tasks of 100" in shown


def test_compare_is_quiet(data, caplog):
    """What compare says on the terminal stands in the section."""
    log = logging.getLogger("manyvoices")
    before = log.level
    log.setLevel(logging.INFO)
    try:
        summarised(dataset([("t", "w", "k"), ("t", "v", "k"), ("u", "w", "l"), ("u", "v", "k")]), {})
        assert log.level == logging.INFO
    finally:
        log.setLevel(before)
    assert not [r for r in caplog.records if "recommended" in r.getMessage()]


@pytest.mark.parametrize(("pair", "style", "shown"), [
    ((.22, .26), value, "0.22 to 0.26"), ((-.5, -.001), value, "-0.50 to 0.00"), ((.91, .94), share, "91 to 94 %"),
    ((.982, .9964), share, "98 to 99.6 %"), ((.0, .15), share, "0 to 15 %"), ((.9999, 1), share, "99.9 to 100 %"),
    ((.0001, .2), share, "0.1 to 20 %"), ((None, 1), share, ""), ((float("nan"), 1), value, ""), ((12.34, 123.4), value, "12.3 to 123"),
])
def test_intervals_in_words(pair, style, shown):
    assert ends(*pair, style) == shown


def test_names_in_sentences_keep_their_direction():
    assert name("a\u202eb\u2066  c\n d") == "ab c d"
    assert listed(["abc"]) == "“abc”"
    assert listed(["سؤال"]) == "“\u2068سؤال\u2069”"


def test_same_bytes_whatever_the_order_of_rows():
    rows, truth = crowd(tasks=20, workers=6)
    once, again = (html(summarised(dataset(some, truth=truth), {}, seed=1)) for some in (rows, rows[::-1]))
    assert once == again


def test_workers_far_below_the_others():
    """Too few answers for a verdict, and yet so many wrong ones that chance alone does not explain them; nobody among equal workers."""
    rng = np.random.default_rng(0)
    rows = [(f"t{t}", f"w{w}", f"c{t % 4 if rng.random() < .9 else rng.integers(4)}") for t in range(240) for w in rng.permutation(80)[:5]]
    assert summarised(dataset(rows), {})["workers"]["below"] == []
    odd = [*rows, *((f"t{t}", "odd", f"c{(t + 1) % 4}") for t in range(14)), *((f"t{t}", "few", f"c{(t + 1) % 4}") for t in range(3))]
    facts = summarised(dataset(odd), {})
    assert facts["workers"]["below"] == ["odd"] and facts["workers"]["rows"][0]["worker"] == "odd"
    row = facts["workers"]["rows"][0]
    assert row["kind"] == "undecided" and "chance alone does not explain it" in row["verdict_says"]
    step = next(s for s in facts["next"] if "“odd”" in s["do"])
    assert step["do"] == "Look at the answers of “odd”." and f"only {share(row['skill']['value'])} of them are right" in step["because"]


def test_somebody_who_looks_and_is_often_wrong():
    """Enough answers to see that they go with the others', and wrong far more often than those."""
    rng = np.random.default_rng(1)
    rows = [(f"t{t}", f"w{w}", f"c{t % 4 if rng.random() < .9 else rng.integers(4)}") for t in range(240) for w in range(5)]
    weak = [(f"t{t}", "weak", f"c{t % 4 if rng.random() < .35 else rng.integers(4)}") for t in range(120)]
    assert summarised(dataset(rows), {})["workers"]["below"] == []
    facts = summarised(dataset(rows + weak), {})
    assert facts["workers"]["below"] == ["weak"] and facts["workers"]["rows"][0]["kind"] == "agrees"
    step = next(s for s in facts["next"] if "“weak”" in s["do"])
    assert "too few" not in step["because"] and "too few" not in " ".join(facts["workers"]["says"])


def test_workers_far_below_are_in_a_table_that_is_a_sample(monkeypatch):
    monkeypatch.setattr(people, "MOST", 10)
    rows = [(f"t{t}", f"w{w}", f"c{t % 4}") for t in range(60) for w in range(20)] + [(f"t{t}", "odd", f"c{(t + 1) % 4}") for t in range(14)]
    facts = summarised(dataset(rows), {})
    assert "odd" in {row["worker"] for row in facts["workers"]["rows"]} and len(facts["workers"]["rows"]) == 10


def test_what_the_labels_get_wrong():
    """All people take two thirds of c2 for c1: their labels are sure, and wrong where the truth is known."""
    rng = np.random.default_rng(0)
    truth = {f"t{t}": f"c{t % 3}" for t in range(150)}
    rows = [(t, f"w{w}", ("c1" if k == "c2" and int(t[1:]) % 9 else k) if rng.random() < .9 else f"c{rng.integers(3)}") for t, k in truth.items() for w in range(6)]
    facts = summarised(dataset(rows, truth=truth), {})
    found = api.aggregate(dataset(rows), "bcc")
    wrong = Counter((truth[t], k) for t, k in zip(found.tasks, found.labels(), strict=True) if k != truth[t])
    assert {(r["truth"], r["label"]): r["n"] for r in facts["classes"]["missed"]} == wrong and all(r["of"] == 50 for r in facts["classes"]["missed"])
    n = sum(count for (k, _), count in wrong.items() if k == "c2")
    assert n > 20 and f"the labels miss “c2” most: {n} of 50 such tasks" in " ".join(facts["classes"]["says"])
    assert any(s["do"] == "Show people what “c2” is." for s in facts["next"])
    assert facts["classes"]["missed"][0]["label"] in html(facts).split("Wrong labels, where the truth is known")[1]


def test_pairs_of_classes_beside_their_frequency(facts, rows):
    """A pair is only called confused where it is mixed up more often than two answers drawn at random would be."""
    said, _ = rows
    n = Counter(k for *_, k in said)
    differ = 1 - sum((x / len(said)) ** 2 for x in n.values())
    for row in facts["classes"]["pairs"]:
        assert row["chance"] == pytest.approx(2 * n[row["class"]] * n[row["other"]] / len(said) ** 2 / differ, abs=1e-5)
    rng = np.random.default_rng(0)
    guess = [(f"t{t}", f"w{w}", "abc"[rng.choice(3, p=[.45, .45, .1])]) for t in range(200) for w in range(6)]
    found = summarised(dataset(guess), {})
    assert found["classes"]["pairs"][0]["share"] > .4 and "about what it would be by how often each is said" in found["classes"]["says"][0]
    assert not any("Make the line" in s["do"] for s in found["next"])
    mixed = [(f"t{t}", f"w{w}", {0: "a", 1: "b", 2: "ab"[rng.integers(2)], 3: "c"}[t % 4]) for t in range(200) for w in range(6)]
    found = summarised(dataset(mixed), {})
    assert any(s["do"].startswith("Make the line between “a” and “b”") for s in found["next"])


def test_habits(tmp_path):
    """Who answers higher or lower than the others by half a step, and who takes surely too little time."""
    rng = np.random.default_rng(0)
    rows = [(f"t{t}", f"w{w}", str(int(np.clip(3 + t % 3 + (w == 1) - (w == 2) + rng.normal() / 3, 1, 7))), float(np.exp(rng.normal(2 - 3 * (w == 3), .2))))
            for t in range(80) for w in rng.permutation(12)[:5]]
    (tmp_path / "answers.csv").write_text("task,worker,label,seconds\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    facts = summarised(api.read(tmp_path / "answers.csv", scale="ordinal"), {})
    said = " ".join(facts["workers"]["says"])
    assert "“w1” answers higher than the others" in said and "“w2” answers lower" in said and "“w3” takes much less time" in said
    step = next(s for s in facts["next"] if s["do"] == "Tell “w1” and “w2” how the scale is meant.")
    bias = {row["worker"]: row["bias"]["value"] for row in facts["workers"]["rows"]}
    assert f"“w1” higher ({bias['w1']:+.2f}), “w2” lower ({bias['w2']:+.2f})" in step["because"] and bias["w1"] > .5 and bias["w2"] < -.5
    calm = summarised(dataset([row[:3] for row in rows if row[1] not in ("w1", "w2")], scale="ordinal"), {})
    assert "than the others on the same tasks" not in " ".join(calm["workers"]["says"]) and not any(s["do"].startswith("Tell") for s in calm["next"])


def test_labels_that_say_nothing_and_several_answers():
    rows = [(f"t{t}", f"w{w}", "idk" if (t + w) % 9 == 0 else f"c{t % 3}") for t in range(40) for w in range(4)]
    rows += [(f"t{t}", "w0", f"c{(t + 1) % 3}") for t in range(10)]
    do = {s["do"]: s["because"] for s in summarised(dataset(rows), {})["next"]}
    said = sum(k == "idk" for *_, k in rows)
    assert f"{said} answers (" in do["Decide whether “idk” is a label or no answer."]
    assert "10 of 170 answers" in do["Decide what several answers of one worker to one task mean."]
    clean = {s["do"] for s in summarised(dataset([row for row in rows[:160] if row[2] != "idk"]), {})["next"]}
    assert not clean & set(do)


def test_two_groups_and_whose_side_the_labels_take():
    rng = np.random.default_rng(0)
    side = rng.integers(2, size=(2, 200))
    rows = [(f"t{t}", f"w{w}", f"c{side[w // 3, t] if rng.random() < .92 else rng.integers(2)}") for t in range(200) for w in range(6)]
    facts = summarised(dataset(rows), {})
    label = dict(zip((c := api.aggregate(dataset(rows), "bcc")).tasks, c.labels(), strict=True))
    equal = sorted((np.mean([label[t] == k for t, w, k in rows if int(w[1:]) // 3 == g]) for g in (0, 1)), reverse=True)
    step = facts["next"][0]
    assert step["do"].startswith("Decide whether you want one label") and step["where"] == "agreement"
    assert f"equal {share(equal[0])} of the answers of" in step["because"] and f"and {share(equal[1])} of the others'" in step["because"]
    assert not any(s["do"].startswith("Keep the labels") for s in facts["next"])


def step(facts, start):
    return next((s["because"] for s in facts["next"] if s["do"].startswith(start)), None)


def test_a_method_goes_by_its_own_name(rows):
    """What is said of a method does not depend on how it was spelled, nor on its options."""
    said, _ = rows
    facts = summarised(dataset(said), {}, method="MajorityVote")
    assert facts["manifest"]["method"] == "mv" and "-s MajorityVote" in facts["manifest"]["command"]
    assert "that equal the labels" in facts["workers"]["columns"]["skill"]["says"]
    short = summarised(dataset(said), {}, method="BCC[n_iter=1]")
    assert short["manifest"]["method"] == "bcc[iterations=1]"
    assert "give it more steps, as in -s 'bcc[iterations=1000]'" in short["manifest"]["says"][1]
    assert more_steps("mmsr[iterations=20_000]") == "mmsr[iterations=200000]" and more_steps("iwmv") == "iwmv[rounds=100]"


def test_labels_that_are_not_what_they_are_taken_for():
    """Several labels an answer, or numbers as classes: that comes first, and nothing that rests on a wrong reading."""
    several = [(f"t{t}", f"w{w}", k) for t in range(40) for w in range(4) for k in "ab"[: 1 + (t + w) % 2]]
    facts = summarised(dataset(several, scale="multilabel"), {})
    assert [s["do"] for s in facts["next"]] == ["Make a report about each label."] and not facts["classes"]["pairs"]
    assert not any("disagreements" in line for line in facts["classes"]["says"])
    numbers = [(t, w, f"{x + i / 100:.2f}") for i, (t, w, x) in enumerate(NUMBERS)]
    facts = summarised(dataset(numbers), {})
    assert [s["do"] for s in facts["next"]] == ["Say that the labels are numbers: --scale interval."]
    assert any("--scale interval" in line for line in facts["dropped"]["messages"])
    codes = [(t, w, f"{1 + i % 3}.{i % 5}") for i, (t, w, _) in enumerate(NUMBERS)]
    assert step(summarised(dataset(codes), {}), "Say that the labels") is None


def test_agreement_that_may_be_chance():
    """Nobody is sent to the least sure labels where all of them may be chance."""
    rng = np.random.default_rng(4)
    noise = [(f"t{t}", f"w{w}", "ab"[rng.integers(2)]) for t in range(40) for w in range(5)]
    facts = summarised(dataset(noise), {})
    assert facts["agreement"]["rows"][0]["low"] <= 0 and facts["confidence"]["below_90"]
    assert "probabilities are chance too" in step(facts, "Look at the instructions") and step(facts, "Spend the next") is None
    assert step(summarised(dataset(noise, truth={f"t{t}": "a" for t in range(40)}), {}), "Spend the next") is not None


def test_a_view_beside_the_truth():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=160)
    rows = [(f"t{t}", f"w{w}", f"c{(k + (w < 3)) % 3 if rng.random() < .9 else rng.integers(3)}") for t, k in enumerate(truth) for w in range(12)]
    facts = summarised(dataset(rows, truth={f"t{t}": f"c{k}" for t, k in enumerate(truth)}), {})
    right = [row["accuracy"]["value"] for row in facts["workers"]["rows"] if row["kind"] == "own"]
    assert len(right) == 3
    assert f"Where the truth is known, {ends(min(right), max(right), share)} of their answers are right: a misread" in step(facts, "Do not remove")
    assert step(summarised(dataset(rows), {}), "Do not remove").endswith("or views differ.")


def test_numbers_are_not_sent_elsewhere_without_evidence():
    """What stands in for the default of `compare` is no advice to leave the method of the report."""
    rng = np.random.default_rng(0)
    rows = [(f"t{t}", f"w{w}", round(float(10 * np.sin(t) + rng.normal()), 2)) for t in range(40) for w in range(4)]
    facts = summarised(dataset(rows, scale="interval"), {})
    assert facts["manifest"]["method"] == "ordinal" and "stands in" in facts["methods"]["says"][0] and step(facts, "Try") is None
    assert step(summarised(dataset(rows, scale="interval"), {}, method="mean"), "Keep").startswith("It stands in for bcc")


def test_the_question_is_named(rows):
    facts = summarised(dataset(rows[0], about={"question": "Is it | a <b>cat</b>?"}), {})
    assert "Question: <bdi>Is it | a &lt;b&gt;cat&lt;/b&gt;?</bdi>" in html(facts)
    assert "\nQuestion: Is it \\| a &lt;b&gt;cat&lt;/b&gt;?\n" in text(facts)
    assert "Question:" not in html(summarised(dataset(rows[0]), {})).split("<nav")[0]


def test_a_method_that_does_not_suit_says_so_once(tmp_path):
    (tmp_path / "counts.jsonl").write_text("".join(json.dumps({"id": f"t{i}", "label_counts": {"a": 3 + i % 4, "b": 5 - i % 3}}) + "\n" for i in range(12)))
    facts = summarised(api.read(tmp_path / "counts.jsonl"), {})
    table = html(facts).split('id="methods"')[1].split("</section>")[0]
    assert table.count("these answers name nobody") == len(facts["methods"]["rows"]) - 1 and 'colspan="3"' in table


def test_sentences_begin_with_a_capital():
    """Also where a share is said in words."""
    rows = [(f"t{i}", f"w{w}", "ab"[(i + w) % 2] if i else "bc"[w % 2]) for i in range(600) for w in range(2)]
    facts = summarised(dataset(rows), {})
    assert facts["classes"]["pairs"][0]["says"].startswith("More than 99 %") and facts["classes"]["says"][0].startswith("More than 99 %")
