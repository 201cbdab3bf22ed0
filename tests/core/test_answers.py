"""Answers and shards: sorting, checking, cutting, counting."""

import pickle

import numpy as np
import pytest
from crowds import crowd
from hypothesis import given, settings
from hypothesis import strategies as st

from manyvoices import api
from manyvoices.core import answers as core
from manyvoices.core.answers import Answers, narrow
from manyvoices.core.errors import BadCall, BadInput, ManyVoicesError
from manyvoices.core.names import Names
from manyvoices.engines.memory import cores

ROWS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 2)), max_size=40)


def made(rows, **more):
    task, worker, label = (np.array([r[i] for r in rows], np.int64) for i in range(3))
    return Answers.from_codes(task, worker, label, **{"tasks": Names.numbered(8), "workers": Names.numbered(5), "classes": Names.numbered(3)} | more)


@settings(deadline=None)
@given(ROWS, st.randoms(), st.integers(1, 4), st.integers(1, 9))
def test_rows_are_sorted_and_shards_never_cut_a_task(rows, random, tasks, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "SHARD_TASKS", tasks)
        patch.setattr(core, "SHARD_ANSWERS", size)
        answers = made(random.sample(rows, len(rows)))
    assert list(zip(*(column.tolist() for column in answers.rows()), strict=True)) == sorted(rows) and answers.n == len(rows)
    shards = answers.shards()
    assert [s.tasks.start for s in shards] == [0, *(s.tasks.stop for s in shards[:-1])] and shards[-1].tasks.stop == 8
    for shard in shards:
        assert 1 <= shard.size <= tasks and (len(shard.worker) <= size or shard.size == 1)
        assert (np.diff(shard.workers) > 0).all() and set(shard.worker.tolist()) == set(range(len(shard.workers)))
        again = pickle.loads(pickle.dumps(shard))
        assert again.tasks == shard.tasks and (again.said.toarray() == shard.said.toarray()).all()
    table = np.zeros((8, 5, 3))
    for row in rows:
        table[row] += 1
    assert (answers.counts() == table.sum(axis=1)).all()
    assert (answers.per_task() == table.sum(axis=(1, 2))).all() and (answers.per_worker() == table.sum(axis=(0, 2))).all()


@settings(deadline=None)
@given(ROWS.filter(len), st.data())
def test_what_a_shard_can_count(rows, data):
    count = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows))))
    shard, = made(rows, count=count).shards()
    many = sorted((*row, c) for row, c in zip(rows, count.tolist(), strict=True))
    x = np.random.default_rng(0).random(len(rows))
    assert shard.count.tolist() == [c for *_, c in many] and made(rows, count=count).n == count.sum()
    by_class, by_worker, by_habit = np.zeros((8, 3)), np.zeros(5), np.zeros((5, 3))
    for (t, w, k, c), v in zip(many, x, strict=True):
        by_class[t, k] += c * v
        by_worker[w] += c * v
        by_habit[w, k] += c * v
    np.testing.assert_allclose(shard.tally(x), by_class)
    np.testing.assert_allclose(shard.per_task(x), by_class.sum(axis=1))
    np.testing.assert_allclose(shard.per_worker(x), by_worker[shard.workers])
    np.testing.assert_allclose(shard.per_habit(x), by_habit[shard.workers])
    np.testing.assert_allclose(shard.said.toarray().reshape(8, -1, 3).sum(axis=0), shard.per_habit())
    assert shard.tally().sum() == shard.per_task().sum() == shard.per_worker().sum() == count.sum()
    assert shard.at(np.arange(24.0).reshape(8, 3)).tolist() == [3 * t + k for t, _, k, _ in many]


def test_wrong_codes_are_named():
    with pytest.raises(ValueError, match=r"answer 1: worker code 5 is outside the 5 known"):
        made([(0, 0, 0), (0, 5, 0)])
    with pytest.raises(ValueError, match=r"answer 0: label code -1 is outside the 3 known"):
        made([(0, 0, -1)])
    with pytest.raises(ValueError, match=r"answer 2: task code 8 is outside the 8 known"):
        made([(0, 0, 0), (1, 0, 0), (8, 0, 0)])
    with pytest.raises(ValueError, match=r"scale 'ratio' is not one of nominal, ordinal"):
        made([(0, 0, 0)], scale="ratio")
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"answer 1: value (nan|inf) is not a finite number"):
            Answers.from_codes(np.zeros(2, int), np.zeros(2, int), np.array([1.0, value]), tasks=Names.numbered(1), workers=Names.numbered(1),
                               classes=Names([]), scale="interval")


def test_from_rows():
    answers = Answers.from_rows([("b", "w", "yes"), ("a", "w", "no"), ("a", "v", "yes")], tasks=["c"], workers=["u"])
    assert answers.tasks.to_list() == ["a", "b", "c"] and answers.workers.to_list() == ["u", "v", "w"] and answers.classes.to_list() == ["no", "yes"]
    assert answers.counts().tolist() == [[1, 1], [0, 1], [0, 0]]
    with pytest.raises(BadInput, match="label 'maybe'; expected one of no, yes"):
        Answers.from_rows([("a", "w", "maybe")], classes=["no", "yes"])
    numbers = Answers.from_rows([("a", "w", 2), ("a", "v", 3.5)], scale="interval")
    assert numbers.rows()[2].tolist() == [3.5, 2.0] and len(numbers.classes) == 0
    empty = Answers.from_rows([])
    assert empty.n == 0 and empty.counts().shape == (0, 0)


def test_codes_are_narrow_and_frozen():
    shard, = crowd(0).answers().shards()
    assert shard.label.dtype == np.uint8 and shard.worker.dtype == np.uint8 and shard.start.dtype == np.int32
    assert [narrow(n) for n in (1, 256, 257, 65536, 65537)] == [np.uint8, np.uint8, np.uint16, np.uint16, np.uint32]
    for array in (shard.label, shard.worker, shard.workers, shard.start):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        shard.label = None


def test_many_codes_do_not_wrap():
    """More tasks, workers and classes than a packed 63-bit key holds, and each at the edge of a type."""
    for tasks, workers, classes in ((300, 257, 257), (2, 65537, 65537), (2**31 + 5, 2**20, 2**20)):
        if tasks > 10**6:
            rows = np.array([[5, 1, 9], [0, workers - 1, classes - 1], [5, 0, 7]])
            task, worker, label, _ = core._sorted(rows[:, 0], rows[:, 1], rows[:, 2], None, tasks, workers, classes)
            assert task.tolist() == [0, 5, 5] and worker.tolist() == [workers - 1, 0, 1] and label.tolist() == [classes - 1, 7, 9]
            continue
        answers = Answers.from_codes(np.array([tasks - 1, 0]), np.array([workers - 1, 0]), np.array([classes - 1, 1]), tasks=Names.numbered(tasks),
                                     workers=Names.numbered(workers), classes=Names.numbered(classes))
        task, worker, label = answers.rows()
        assert (task.tolist(), worker.tolist(), label.tolist()) == ([0, tasks - 1], [0, workers - 1], [1, classes - 1])
        assert answers.per_worker().sum() == 2


def test_take():
    answers = crowd(1, repeats=True).answers()
    mask = answers.rows()[1] == 2
    part = answers.take(mask)
    assert part.n == mask.sum() and part.tasks == answers.tasks and part.workers == answers.workers
    assert set(part.rows()[1].tolist()) == {2} and part.per_worker()[2] == answers.per_worker()[2]
    counted = made([(0, 0, 0), (1, 1, 1)], count=np.array([2, 3]))
    assert counted.take(np.array([False, True])).n == 3


def test_rows_need_memory():
    from dataclasses import replace

    class Elsewhere:
        def map(self, work):
            return iter(())

    with pytest.raises(ManyVoicesError, match="not in memory"):
        replace(crowd(0).answers(), store=Elsewhere()).rows()


@pytest.mark.parametrize("what", ["whole numbers", "lengths", "empty label", "same class twice"])
def test_not_caught_yet(what):
    one = {"tasks": Names.numbered(3), "workers": Names.numbered(2)}
    if what == "whole numbers":                                             # interval values of an integer type
        answers = Answers.from_codes(np.array([0, 1, 2]), np.array([0, 1, 0]), np.array([7, 9, 4]), classes=Names([]), scale="interval", **one)
        assert answers.rows()[2].tolist() == [7, 9, 4]
    elif what == "lengths":
        with pytest.raises(ValueError):
            Answers.from_codes(np.array([0, 1, 2]), np.array([1]), np.array([0, 1, 0]), classes=Names.numbered(2), **one)
    elif what == "empty label":
        with pytest.raises(BadInput):
            Answers.from_rows([("t", "w", "")], classes=["a"])
    else:
        with pytest.raises(ValueError):
            Answers.from_rows([("t", "w", "a")], classes=["a", "a"])


def test_answers_stay_where_they_were_placed():
    """`aggregate` once put answers placed on one thread back on all cores."""
    answers = Answers.from_rows([("a", "w", "x"), ("b", "v", "y")])
    assert api.place(answers, None).store.threads == cores()
    one = api.place(answers, "threads:1")
    assert api.place(one, None).store is one.store and api.place(one, "threads:2").store.threads == 2
    stored = api.place(answers, "disk")
    assert api.place(stored, None) is stored and api.place(stored, "threads:3") is stored
    for wrong in ("threads:0", "threads:x", "cloud", "dask://host:1"):
        with pytest.raises(BadCall):
            api.place(answers, wrong)
