"""What every score of workers and tasks keeps to: runs for each file of the folder, on every scale it is for."""

import ast
import inspect
from dataclasses import replace

import numpy as np
import pytest
from crowds import crowd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ENGINES, close  # noqa: F401 (a fixture)

from manyvoices.core import answers as core
from manyvoices.core import registry
from manyvoices.core.answers import Answers
from manyvoices.core.errors import Unknown
from manyvoices.core.names import Names
from manyvoices.core.scores import COLUMNS

from .cases import NAMES, SCALES, VARIANTS, dataset, fit, of_rows, run, same_bits


def each(variants=VARIANTS):
    return pytest.mark.parametrize("name, scale", variants, ids=["-".join(v) for v in variants])


def rows_of(found, score, of):
    return found.where(np.array([(s, o) == (score, of) for s, o in zip(found.score, found.of, strict=True)]))


def valid(found, answers) -> None:
    """A row for each worker or each task, in order; a value inside its interval, or a note that says what is missing."""
    table = found.to_polars()
    assert tuple(table.columns) == COLUMNS and len(table) == len(found)
    rows = table.to_dicts()
    if {row["of"] for row in rows} != {"dataset"}:
        for of, names in (("worker", answers.workers), ("task", answers.tasks)):
            for score in {row["score"] for row in rows if row["of"] == of}:
                assert [row["name"] for row in rows if row["of"] == of and row["score"] == score] == names.to_list()
    for row in rows:
        assert row["of"] in ("worker", "task", "dataset") and row["n"] >= 0
        if row["value"] is None:
            assert row["note"].startswith(("not defined because", "undecided")) and row["low"] is None and row["high"] is None, row
            continue
        assert np.isfinite(row["value"]) and row["of"] != "dataset", row
        if row["low"] is None or row["high"] is None:
            assert "no interval" in row["note"] or row["note"].startswith("undecided"), row
        else:
            assert row["low"] <= row["value"] <= row["high"], row
        assert "spammer" not in row["note"]


# ------------------------------------------------------------------------------------------------------------- results

@each()
@pytest.mark.parametrize("seed, repeats", [(0, False), (1, True)])
def test_results_are_valid(name, scale, seed, repeats):
    base = crowd(seed, tasks=60, repeats=repeats)
    found = run(name, base, scale)
    valid(found, base.answers(scale))
    assert found.of[0] in ("worker", "task") and np.isfinite(found.value).any()
    for column in ("value", "low", "high"):
        assert not getattr(found, column).flags.writeable


@each()
def test_the_same_call_gives_the_same_bits(name, scale):
    base = crowd(8, tasks=60)
    same_bits(run(name, base, scale), run(name, base, scale))


# ------------------------------------------------------------------------------------------- what must change nothing

@each()
def test_order_of_rows(name, scale):
    base = crowd(5, repeats=True, tasks=60)
    found = run(name, base, scale)
    for seed in range(3):
        same_bits(found, run(name, base.shuffled(seed), scale))


@each()
@pytest.mark.parametrize("what", ["tasks", "workers"])
def test_names(name, scale, what):
    """Under other names the values follow; a fit of many steps follows to its tolerance."""
    base = crowd(7, tasks=60, workers=9)
    rng = np.random.default_rng(1)
    order = rng.permutation(60 if what == "tasks" else 9)
    column = {"task": order[base.task]} if what == "tasks" else {"worker": order[base.worker]}
    data = dataset(base, scale)
    notes = dict(zip(zip(*(x.tolist() for x in data.answers.rows()), strict=True), data.notes.rows(), strict=True))
    other = replace(base, **column, guess=base.guess[np.argsort(order)] if what == "tasks" else base.guess)
    two = other.answers(scale)
    back = np.argsort(order)
    task, worker, label = two.rows()
    old = (back[task], worker, label) if what == "tasks" else (task, back[worker], label)
    rows = [notes[row] for row in zip(*(x.tolist() for x in old), strict=True)]
    moved = replace(data, answers=two, notes=type(data.notes)(rows, schema=data.notes.schema, orient="row"))
    one, two = fit(name, data, base), fit(name, moved, other)
    for score, of in dict.fromkeys(zip(one.score, one.of, strict=True)):
        a, b = (rows_of(found, score, of) for found in (one, two))
        at = order if of == what[:-1] else np.arange(len(a))
        for key in ("value", "low", "high"):
            np.testing.assert_allclose(b.column(key)[at], a.column(key), atol=.02 if name == "difficulty" else 2e-3, err_msg=f"{score} {key}")
        assert b.n[at].tolist() == a.n.tolist()


# ------------------------------------------------------------------------------------------------------------- engines

@each()
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree_bit_for_bit(name, scale, engine, monkeypatch):
    monkeypatch.setattr(core, "SHARD_TASKS", 7)
    monkeypatch.setattr(core, "SHARD_ANSWERS", 25)
    base = crowd(9, classes=4, repeats=True, tasks=50)
    here = dataset(base, scale)
    assert len(here.answers.store.shards) > 5
    same_bits(fit(name, here, base), fit(name, replace(here, answers=ENGINES[engine](here.answers)), base))


@each()
def test_shards_do_not_matter(name, scale, monkeypatch):
    base = crowd(10, repeats=True, tasks=50)
    overall = run(name, base, scale)
    for tasks, size in ((1, 10**6), (7, 25)):
        monkeypatch.setattr(core, "SHARD_TASKS", tasks)
        monkeypatch.setattr(core, "SHARD_ANSWERS", size)
        found = run(name, base, scale)
        np.testing.assert_allclose(found.value, overall.value, atol=1e-4)
        assert found.n.tolist() == overall.n.tolist()


# -------------------------------------------------------------------------------------------------------------- corners

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25)


@each()
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(rows=ROWS, data=st.data())
def test_any_small_table(name, scale, rows, data):
    made, source = of_rows(rows, scale, tasks=6, workers=4, classes=3)
    found = fit(name, source, made)
    valid(found, source.answers)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    same_bits(found, fit(name, dataset(made.only(order), scale), made))


CORNERS = {
    "one worker": [(t, 0, t % 2) for t in range(3)],
    "one task": [(0, w, w % 2) for w in range(3)],
    "one answer": [(0, 0, 0)],
    "one answer a task": [(0, 0, 0), (1, 1, 1), (2, 2, 0)],
    "one class said": [(t, w, 1) for t in range(3) for w in range(3)],
    "constant workers": [(t, w, w % 2) for t in range(3) for w in range(3)],
    "constant tasks": [(t, w, t % 2) for t in range(3) for w in range(3)],
    "no common tasks": [(0, 0, 0), (0, 0, 1), (1, 1, 1), (2, 2, 0)],
    "a worker with one answer": [(t, w, (t + w) % 2) for t in range(3) for w in range(2)] + [(0, 2, 0)],
    "all ties": [(t, w, w % 2) for t in range(3) for w in range(2)],
}


@each()
@pytest.mark.parametrize("corner", CORNERS)
def test_corners(name, scale, corner):
    made, source = of_rows(CORNERS[corner], scale)
    valid(fit(name, source, made), source.answers)


@each()
@pytest.mark.parametrize("consensus", ["mv", "wawa", "glad", "ordinal", "mean", "twothird", "mace"])
def test_whatever_the_consensus(name, scale, consensus):
    """Votes, weights, abilities, latent values: a value, or a word why not."""
    ordered = "ordered" in registry.about("aggregate", consensus).needs
    if ordered != (scale != "nominal") or (scale == "interval" and not ordered):
        pytest.skip("not for this scale")
    base = crowd(3, tasks=50, repeats=True)
    valid(run(name, base, scale, consensus=consensus), base.answers(scale))


@each()
def test_no_answers_and_one_class(name, scale):
    made, source = of_rows([], scale)
    found = fit(name, source, made)
    assert found.value.tolist() != [] and np.isnan(found.value).all() and found.note[0] == "not defined because there are no answers"
    if scale != "interval":
        made, source = of_rows([(t, w, 0) for t in range(3) for w in range(3)], scale, classes=1)
        valid(fit(name, source, made), source.answers)


@each()
def test_idle_tasks_workers_and_classes(name, scale):
    """Tasks and workers without answers are there, without a value (or what is believed beforehand), and move no other."""
    base = crowd(11, tasks=60)
    tasks, workers, classes = base.sizes
    one = run(name, base, scale)
    more = replace(base, sizes=(tasks + 7, workers + 3, classes), guess=np.concatenate([base.guess, base.guess[:7]]))
    two = run(name, more, scale)
    valid(two, more.answers(scale))
    for score, of in dict.fromkeys(zip(one.score, one.of, strict=True)):
        a, b = (rows_of(found, score, of) for found in (one, two))
        known, extra = {"worker": (workers, 3), "task": (tasks, 7)}[of]
        np.testing.assert_allclose(b.value[:known], a.value, atol=1e-9)
        blank = np.isnan(b.value[known:])
        assert len(blank) == extra and (blank.all() or name in ("margin", "another_vote"))
        assert all(b.note[i].startswith(("not defined because", "undecided")) for i in known + np.flatnonzero(blank))
    if scale == "nominal":
        valid(run(name, replace(base, sizes=(tasks, workers, classes + 1), guess=np.pad(base.guess, ((0, 0), (0, 1)))), scale), base.answers())


@each()
def test_counts_only(name, scale):
    """Nobody is named: scores of tasks stay, those of workers say why they are not there."""
    base = crowd(12)
    label = base.value if scale == "interval" else base.label
    answers = Answers.from_codes(base.task, None, label, tasks=Names.numbered(40), workers=None, classes=base.answers(scale).classes, scale=scale)
    found = fit(name, answers, base)
    if "workers" in registry.about("identify", name).needs:
        assert list(found.note) == ["not defined because these answers name nobody"] and list(found.of) == ["dataset"]
    else:
        assert set(found.of) == {"task"} and np.isfinite(found.value).all()


@pytest.mark.parametrize("name", NAMES)
def test_scales_it_is_not_for(name):
    for scale in SCALES:
        if (name, scale) not in VARIANTS:
            found = run(name, crowd(0), scale)
            assert len(found) == 1 and np.isnan(found.value[0]) and found.note[0].startswith("not defined because")
    found = run(name, crowd(0), "multilabel")
    assert len(found) == 1 and "several labels" in found.note[0]


@each()
def test_one_task_with_many_answers(name, scale):
    rng = np.random.default_rng(0)
    task = np.concatenate([np.zeros(3000, int), np.arange(1, 41).repeat(2)])
    worker = np.concatenate([np.arange(3000), np.tile([0, 1], 40)])
    label = rng.integers(3, size=len(task))
    made = replace(crowd(0, tasks=41), task=task, worker=worker, label=label, value=label.astype(float), sizes=(41, 3000, 3))
    valid(run(name, made, scale), made.answers(scale))


# -------------------------------------------------------------------------------------------------------------- options

OTHER = {"empty_row": "zero", "against": "gold", "measure": "gain", "fast": .9, "seed": 3}
OPTIONS = [(name, scale, option.name) for name, scale in VARIANTS for option in registry.about("identify", name).options
           if option.name in OTHER]


@pytest.mark.parametrize("name, scale, option", [v for v in OPTIONS if v != ("drift", "interval", "against")])
def test_every_option_does_something(name, scale, option):
    base = crowd(13, tasks=90, share=.5, workers=6)
    if option == "empty_row":
        base = replace(base, sizes=(90, 6, 4))                         # nobody meets the last class
    more = {"gold": base.gold} if option == "against" else {}
    plain = run(name, base, scale, consensus="mv" if option == "empty_row" else None)
    found = run(name, base, scale, **more, **{option: OTHER[option]}, consensus="mv" if option == "empty_row" else None)
    valid(found, base.answers(scale))
    if option != "seed" and (name, scale) != ("another_vote", "interval"):
        assert found.to_polars().to_dicts() != plain.to_polars().to_dicts()


SPELLINGS = [(name, spelling, preset) for name in NAMES for spelling, preset in registry.about("identify", name).also.items()]


@pytest.mark.parametrize("name, spelling, preset", SPELLINGS, ids=[s for _, s, _ in SPELLINGS])
def test_every_spelling(name, spelling, preset):
    for text in (spelling, spelling.upper(), spelling.replace("_", "-")):
        (method, options), = registry.parse("identify", text)
        assert method.name == name and options == method.settle(preset)
    with pytest.raises(Unknown):
        registry.parse("identify", "skil")


def test_spellings_mean_one_method_each():
    said = [registry.plain(s) for name in NAMES for s in {registry.plain(name), *map(registry.plain, registry.about("identify", name).also)}]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_and_the_signature_name_the_same(name):
    about, function = registry.about("identify", name), registry.find("identify", name)
    taken = set(inspect.signature(function).parameters) - {"folder"}                                     # of check points: no option
    assert {*(o.name for o in about.options), *about.data} == taken
    assert ast.get_docstring(ast.parse(inspect.getsource(inspect.getmodule(function))))


