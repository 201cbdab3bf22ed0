"""What every agreement coefficient keeps to: runs for each file of the folder, on every scale it is for."""

import ast
import inspect
from dataclasses import replace

import numpy as np
import pytest
from crowds import another, crowd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ENGINES, close  # noqa: F401 (a fixture)

from manyvoices import agreement
from manyvoices.core import answers as core
from manyvoices.core import registry
from manyvoices.core.answers import Answers
from manyvoices.core.errors import BadCall, Unknown
from manyvoices.core.names import Names
from manyvoices.kernels import resample
from manyvoices.methods.agree import _pairs

NAMES = registry.names("agree")
SCALES = ("nominal", "ordinal", "interval")
VARIANTS = [(name, scale) for name in NAMES for scale in SCALES if agreement.suits(registry.about("agree", name), scale)]
PAIRED = {"cohen", "scott"}                                             # a mean over pairs of workers


def each(variants=VARIANTS):
    return pytest.mark.parametrize("name, scale", variants, ids=["-".join(v) for v in variants])


def fit(name, answers, **options):
    return registry.find("agree", name)(answers, **options)


def same_bits(one, other) -> None:
    for column in ("value", "low", "high", "n"):
        a, b = getattr(one, column), getattr(other, column)
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), column
    for column in ("score", "of", "name", "other", "note"):
        assert list(getattr(one, column)) == list(getattr(other, column)), column


def valid(found, answers) -> None:
    """Every row has a value inside its interval, or a note that says what is missing."""
    table = found.to_polars()
    assert table.columns == list(core_columns()) and len(table) == len(found)
    assert found.of[0] == "dataset" and list(found.of).count("dataset") == 1
    for row in table.to_dicts():
        assert row["of"] in ("dataset", "class", "pair")
        if row["value"] is None:
            assert row["note"].startswith("not defined because") and row["low"] is None and row["high"] is None, row
            continue
        assert np.isfinite(row["value"]) and row["value"] <= 1 + 1e-9, row
        if row["low"] is None or row["high"] is None:
            assert "no interval" in row["note"], row
        else:
            assert row["low"] <= row["value"] <= row["high"] <= 1 + 1e-9, row
            assert row["of"] == "pair" or "interval: " in row["note"], row
        assert row["n"] > 0, row
    classes = [name for of, name in zip(found.of, found.name, strict=True) if of == "class"]
    assert classes in ([], answers.classes.to_list())


def core_columns():
    from manyvoices.core.scores import COLUMNS

    return COLUMNS


# ------------------------------------------------------------------------------------------------------------- results

@each()
@pytest.mark.parametrize("seed, repeats", [(0, False), (1, True)])
def test_results_are_valid(name, scale, seed, repeats):
    answers = crowd(seed, repeats=repeats).answers(scale)
    found = fit(name, answers, pairs=True)
    valid(found, answers)
    assert found.value[0] > .1 and "pair" in found.of and np.isfinite(found.low[0])
    for column in ("value", "low", "high"):
        assert not getattr(found, column).flags.writeable


@each()
def test_agreement_of_nothing_but_chance_is_zero_and_of_everything_is_one(name, scale):
    rng = np.random.default_rng(0)
    task, worker = (codes.ravel() for codes in np.meshgrid(np.arange(300), np.arange(4), indexing="ij"))
    base = replace(crowd(0), task=task, worker=worker, sizes=(300, 4, 3))
    noise = rng.integers(3, size=1200)
    answers = replace(base, label=noise, value=noise.astype(float)).answers(scale)
    found = fit(name, answers)
    assert found.value[0] == pytest.approx(1 / 3 if name == "percent" else 0, abs=.06)
    same = np.repeat(rng.integers(3, size=300), 4)
    found = fit(name, replace(base, label=same, value=same.astype(float)).answers(scale))
    assert found.value[0] == pytest.approx(1) and np.isnan(found.low[0]) and "no interval" in found.note[0]


@each()
def test_the_interval_holds_what_the_crowd_would_give(name, scale):
    """Of samples of 150 tasks from one crowd, nearly all have intervals that hold the value of 20,000 tasks."""
    big = crowd(3, tasks=20_000, workers=6, share=.7)
    truth = fit(name, big.answers(scale), bootstrap=0).value[0]
    hits = []
    for k in range(60):
        kept = (big.task >= 150 * k) & (big.task < 150 * (k + 1))
        found = fit(name, replace(big.only(kept), task=big.task[kept] - 150 * k, sizes=(150, 6, 3)).answers(scale), bootstrap=200)
        hits.append(found.low[0] <= truth <= found.high[0])
    assert np.mean(hits) > .85


@each()
def test_many_tasks_give_the_interval_of_few_shrunk(name, scale, monkeypatch):
    """Above a thousand tasks the spread comes from groups of tasks (or first-order effects): as wide as the bootstrap proper."""
    answers = crowd(4, tasks=900, workers=5).answers(scale)
    plain = fit(name, answers)
    monkeypatch.setattr(resample, "GROUPS", 400)
    monkeypatch.setattr(_pairs, "FEW", 0)
    dealt = fit(name, answers)
    assert "400 random groups" in dealt.note[0] or "jackknife" in dealt.note[0] or name == "icc"
    np.testing.assert_allclose(dealt.value, plain.value, rtol=1e-12)
    held = plain.n > 20
    np.testing.assert_allclose((dealt.high - dealt.low)[held], (plain.high - plain.low)[held], rtol=.2)


@each()
def test_seed_and_bootstrap(name, scale):
    answers = crowd(8).answers(scale)
    one = fit(name, answers)
    same_bits(one, fit(name, answers))
    same_bits(fit(name, answers, seed=5), fit(name, answers, seed=5))
    assert fit(name, answers, seed=5).value.tobytes() == one.value.tobytes()
    none = fit(name, answers, bootstrap=0)
    assert none.value.tobytes() == one.value.tobytes()
    assert np.isnan(none.low[0]) and "no interval asked for" in none.note[0]
    if "bootstrap" in one.note[0]:
        assert fit(name, answers, seed=5).low[0] != one.low[0]
        assert fit(name, answers, bootstrap=50).low[0] != one.low[0]


# ------------------------------------------------------------------------------------------- what must change nothing

@each()
def test_order_of_rows(name, scale):
    base = crowd(5, repeats=True)
    found = fit(name, base.answers(scale), pairs=True)
    for seed in range(3):
        same_bits(found, fit(name, base.shuffled(seed).answers(scale), pairs=True))


@each()
@pytest.mark.parametrize("what", ["tasks", "workers", "classes"])
def test_names(name, scale, what):
    """Under other names the values follow; those of tasks do not even move the draws."""
    if what == "classes" and scale != "nominal":
        pytest.skip("the order of the classes is what the scale means")
    base = crowd(7, tasks=45, workers=9)
    rng = np.random.default_rng(1)
    tasks, workers, classes = rng.permutation(45), rng.permutation(9), np.array([1, 2, 0])
    column = {"tasks": {"task": tasks[base.task]}, "workers": {"worker": workers[base.worker]}, "classes": {"label": classes[base.label]}}
    one = fit(name, base.answers(scale), pairs=True)
    two = fit(name, replace(base, **column[what]).answers(scale), pairs=True)

    def rows(found, rename):
        return {(of, *sorted(rename(of, x) for x in (a, b) if x)): at
                for at, (of, a, b) in enumerate(zip(found.of, found.name, found.other, strict=True))}

    def new(of, text):
        order = {"class": classes if what == "classes" else None, "pair": workers if what == "workers" else None}.get(of)
        return text if order is None else str(order[int(text)])

    before, after = rows(one, new), rows(two, lambda of, text: text)
    assert before.keys() == after.keys()
    for key, at in before.items():
        assert two.value[after[key]] == pytest.approx(one.value[at], abs=1e-9) and two.n[after[key]] == one.n[at]
        if what == "tasks" or key[0] == "pair":
            assert two.low[after[key]] == pytest.approx(one.low[at], abs=1e-9)


# ------------------------------------------------------------------------------------------------------------- engines

@each()
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("few", [True, False])
def test_engines_agree_bit_for_bit(name, scale, engine, few, monkeypatch):
    monkeypatch.setattr(core, "SHARD_TASKS", 7)
    monkeypatch.setattr(core, "SHARD_ANSWERS", 25)
    if not few:
        agree = {"cohen": (_pairs, "FEW"), "scott": (_pairs, "FEW"), "conger": (inspect.getmodule(registry.find("agree", "conger")), "CELLS")}
        if name not in agree:
            pytest.skip("one way only")
        monkeypatch.setattr(*agree[name], 0)
    here = crowd(9, classes=9, repeats=True).answers(scale)
    assert len(here.store.shards) > 5
    same_bits(fit(name, here, pairs=True), fit(name, ENGINES[engine](here), pairs=True))


@each()
def test_shards_do_not_matter(name, scale, monkeypatch):
    base = crowd(10, repeats=True)
    overall = fit(name, base.answers(scale), pairs=True)
    for tasks, size in ((1, 10**6), (10**6, 1), (7, 25)):
        monkeypatch.setattr(core, "SHARD_TASKS", tasks)
        monkeypatch.setattr(core, "SHARD_ANSWERS", size)
        found = fit(name, base.answers(scale), pairs=True)
        np.testing.assert_allclose(found.value, overall.value, atol=1e-12)
        assert found.n.tolist() == overall.n.tolist()


@each()
def test_pairs_in_pieces(name, scale, monkeypatch):
    base = crowd(10, repeats=True)
    overall = fit(name, base.answers(scale), pairs=True)
    monkeypatch.setattr(_pairs, "CHUNK", 5)
    found = fit(name, base.answers(scale), pairs=True)
    np.testing.assert_allclose(found.value, overall.value, atol=1e-12)
    np.testing.assert_allclose(found.low, overall.low, atol=1e-9)


# -------------------------------------------------------------------------------------------------------------- corners

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25)


@each()
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(rows=ROWS, data=st.data())
def test_any_small_table(name, scale, rows, data):
    task, worker, label = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    small = replace(crowd(6, tasks=6, workers=4), task=task, worker=worker, label=label, value=label.astype(float))
    options = {"pairs": True, "min_common": data.draw(st.integers(1, 3)), "bootstrap": 30}
    if name == "icc":
        options |= {"form": data.draw(st.sampled_from("123")), "unit": data.draw(st.sampled_from(["single", "average"]))}
    if name == "alpha" and data.draw(st.booleans()):
        options |= {"metric": data.draw(st.sampled_from(["ordinal", "interval", "ratio", "circular"])), "steps": 5.0}
    if name in ("cohen", "scott", "conger", "gwet", "bennett"):
        options |= {"weights": data.draw(st.sampled_from(["none", "linear", "quadratic"]))}
    answers = small.answers(scale)
    found = fit(name, answers, **options)
    valid(found, answers)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    same_bits(found, fit(name, small.only(order).answers(scale), **options))


def of_rows(rows, scale, **more):
    task, worker, label = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0, int),) * 3
    sizes = {"tasks": 3, "workers": 3, "classes": 2} | more
    base = replace(crowd(0), task=task, worker=worker, label=label, value=label.astype(float), sizes=tuple(sizes.values()))
    return base.answers(scale)


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
    answers = of_rows(CORNERS[corner], scale)
    found = fit(name, answers, pairs=True, min_common=1)
    valid(found, answers)
    if corner in ("one answer", "one answer a task"):
        assert found.note[0].startswith("not defined because")


@each()
def test_no_answers_and_one_class(name, scale):
    found = fit(name, of_rows([], scale), pairs=True)
    assert np.isnan(found.value[0]) and found.note[0] == "not defined because there are no answers"
    if scale != "interval":
        answers = of_rows([(t, w, 0) for t in range(3) for w in range(3)], scale, classes=1)
        valid(fit(name, answers, pairs=True, min_common=1), answers)


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio", "circular", "bipolar"])
@pytest.mark.parametrize("classes", [["yes"], ["0"], ["0", "1"], ["7"], ["1e-90", "1e90"]])
def test_every_metric_of_one_class_or_two(metric, classes):
    for worker in ([0, 1], [0, 0]):
        said = Answers.from_codes(np.repeat(np.arange(12), 2), np.array(worker * 12), np.repeat(np.arange(12) % len(classes), 2), tasks=Names.numbered(12),
                                  workers=Names.numbered(2), classes=Names(classes))
        found = fit("alpha", said, metric=metric, steps=10.0, bootstrap=20, pairs=True)
        assert found.value[0] == pytest.approx(1)
        for v, note in zip(found.value, found.note, strict=True):
            assert np.isfinite(v) or "not defined" in note


@each()
def test_idle_tasks_workers_and_classes(name, scale):
    """Tasks and workers without answers change nothing; a class nobody says is not defined and moves no other."""
    base = crowd(11)
    tasks, workers, classes = base.sizes
    one = fit(name, base.answers(scale), pairs=True)
    same_bits(one, fit(name, replace(base, sizes=(tasks + 7, workers + 3, classes)).answers(scale), pairs=True))
    if scale == "nominal":
        more = fit(name, replace(base, sizes=(tasks, workers, classes + 1)).answers(scale))
        assert np.isnan(more.value[4]) and more.note[4] == "not defined because nobody said it"
        np.testing.assert_allclose(more.value[1:4], one.value[1:4], atol=1e-12)
        assert (more.value[0] == pytest.approx(one.value[0])) == (name not in ("gwet", "bennett"))


@each()
def test_counts_only(name, scale):
    """Nobody is named: the same value where workers do not matter, else a reason."""
    base = crowd(12)
    label = base.value if scale == "interval" else base.label
    answers = Answers.from_codes(base.task, None, label, tasks=Names.numbered(40), workers=None, classes=base.answers(scale).classes, scale=scale)
    found = fit(name, answers, pairs=True)
    if "workers" in registry.about("agree", name).needs:
        assert found.note == ["not defined because these answers name nobody"]
    else:
        named = fit(name, base.answers(scale))
        np.testing.assert_allclose(found.value[:-1], named.value, atol=1e-12)
        assert found.of[-1] == "pair" and found.note[-1] == "not defined because these answers name nobody"


@pytest.mark.parametrize("name", NAMES)
def test_scales_it_is_not_for(name):
    for scale in SCALES:
        if (name, scale) not in VARIANTS:
            found = fit(name, crowd(0).answers(scale))
            assert len(found) == 1 and np.isnan(found.value[0]) and found.note[0].startswith("not defined because")
    found = fit(name, crowd(0).answers("multilabel"))
    assert len(found) == 1 and "several labels" in found.note[0]


@each()
def test_one_task_with_many_answers(name, scale):
    """10,000 answers to a task: nothing overflows, and pairs are looked at in pieces."""
    rng = np.random.default_rng(0)
    task = np.concatenate([np.zeros(3000, int), np.arange(1, 41).repeat(2)])
    worker = np.concatenate([np.arange(3000), np.tile([0, 1], 40)])
    label = rng.integers(3, size=len(task))
    base = replace(crowd(0), task=task, worker=worker, label=label, value=label.astype(float), sizes=(41, 3000, 3))
    answers = base.answers(scale)
    valid(fit(name, answers, pairs=True), answers)


# -------------------------------------------------------------------------------------------------------------- options

OTHER = {"weights": "quadratic", "pairs": True, "min_common": 12, "bootstrap": 40, "seed": 3, "metric": "interval", "form": "2",
         "unit": "average", "steps": 7.0}
OPTIONS = [(name, scale, option) for name, scale in VARIANTS for option in registry.about("agree", name).options]


@pytest.mark.parametrize("name, scale, option", OPTIONS, ids=[f"{n}-{s}-{o.name}" for n, s, o in OPTIONS])
def test_every_option_does_something(name, scale, option):
    value, option = another(option, OTHER), option.name
    answers = crowd(13, share=.5).answers(scale)
    some = fit(name, replace(crowd(13), sizes=(60, 8, 3)).answers(scale)) if option == "form" else None
    more = {"min_common": {"pairs": True}, "steps": {"metric": "circular"}, "seed": {}}.get(option, {})
    plain = fit(name, answers, **more, **({"steps": 9.0} if option == "steps" else {}))
    found = fit(name, answers, **more, **{option: value})
    valid(found, answers)
    if (name, option) not in (("icc", "seed"), ("icc", "bootstrap")) and (name, scale, option) != ("alpha", "interval", "metric"):
        assert found.to_polars().to_dicts() != plain.to_polars().to_dicts()
    assert some is None or len(some)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option, value", [("bootstrap", -1), ("min_common", 0), ("seed", -1)])
def test_senseless_values_are_refused(name, option, value):
    with pytest.raises(BadCall, match=f"{option} is {value}"):
        fit(name, crowd(0).answers(), **{option: value})


SPELLINGS = [(name, spelling, preset) for name in NAMES for spelling, preset in registry.about("agree", name).also.items()]


@pytest.mark.parametrize("name, spelling, preset", SPELLINGS, ids=[s for _, s, _ in SPELLINGS])
def test_every_spelling(name, spelling, preset):
    for text in (spelling, spelling.upper(), spelling.replace("_", "-")):
        (method, options), = registry.parse("agree", text)
        assert method.name == name and options == method.settle(preset)
    with pytest.raises(Unknown):
        registry.parse("agree", "kapa")


def test_spellings_mean_one_method_each():
    said = [registry.plain(s) for name in NAMES for s in {registry.plain(name), *map(registry.plain, registry.about("agree", name).also)}]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_and_the_signature_name_the_same_options(name):
    function = registry.find("agree", name)
    assert sorted(o.name for o in registry.about("agree", name).options) == sorted(list(inspect.signature(function).parameters)[1:])
    assert ast.get_docstring(ast.parse(inspect.getsource(inspect.getmodule(function))))
