"""The fold: parameters are cut for a shard, sums are put back where they belong."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from crowds import crowd

from manyvoices.core import answers as core
from manyvoices.core.answers import Here
from manyvoices.core.fold import Work, by_task, by_worker, local, total, whole
from manyvoices.engines.memory import Threads, in_order


@dataclass
class Params:
    skill: np.ndarray = by_worker()
    ease: np.ndarray | None = by_task(default=None)
    shift: float = whole(default=0.0)


@dataclass
class Sums:
    heard: np.ndarray = by_worker()
    height: np.ndarray = by_task()
    all: float = whole()
    nothing: np.ndarray | None = by_worker(default=None)


def step(shard, params):
    x = shard.of_worker(params.skill) + shard.of_task(params.ease) + params.shift
    return Sums(shard.per_worker(x), shard.per_task(x), float(x.sum()))


def empty_handed(shard, params):
    assert params is None
    return Sums(shard.per_worker(), shard.per_task(), 1)


def failing(shard, params):
    if shard.tasks.start > 10:
        raise ZeroDivisionError("in a shard")
    return empty_handed(shard, params)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(core, "SHARD_TASKS", 3)
    crowd_ = crowd(0, tasks=20, workers=6)
    return crowd_, crowd_.answers()


def test_like_one_loop(small):
    crowd_, answers = small
    rng = np.random.default_rng(0)
    params = Params(rng.random(6), rng.random(20), .5)
    x = params.skill[crowd_.task * 0 + crowd_.worker] + params.ease[crowd_.task] + .5
    for store in (answers.store, Threads(answers.store.shards, 1), Threads(answers.store.shards, 3)):
        found = replace(answers, store=store).fold(step, params)
        np.testing.assert_allclose(found.heard, np.bincount(crowd_.worker, x, 6))
        np.testing.assert_allclose(found.height, np.bincount(crowd_.task, x, 20))
        assert found.all == pytest.approx(x.sum()) and found.nothing is None
    assert answers.fold(empty_handed).all == len(answers.store.shards) == 7


def test_a_step_sees_its_own_rows_only(small):
    _, answers = small
    params = Params(np.arange(6.0), np.arange(20.0))
    for shard in answers.store.shards:
        seen = local(params, shard)
        assert seen.skill.tolist() == shard.workers.tolist() and seen.ease.tolist() == list(range(20))[shard.tasks] and seen.shift == 0
        assert local(Params(params.skill), shard).ease is None
    assert local(None, shard) is None


def test_work_travels(small):
    _, answers = small
    work, shard = Work(step, Params(np.arange(6.0), np.arange(20.0), .1)), answers.store.shards[2]
    tasks, workers, sums = pickle.loads(pickle.dumps(work))(pickle.loads(pickle.dumps(shard)))
    assert tasks == shard.tasks and (workers == shard.workers).all()
    assert sums.heard.tobytes() == work(shard)[2].heard.tobytes()


def test_results_in_shard_order_and_few_waiting():
    from concurrent.futures import ThreadPoolExecutor
    from time import sleep

    running, most = [], []

    def work(n):
        running.append(n)
        most.append(len(running))
        sleep(.004 if n % 3 == 0 else 0)
        running.remove(n)
        return n

    with ThreadPoolExecutor(3) as pool:
        assert list(in_order(pool, work, range(40), ahead=4)) == list(range(40))
    assert max(most) <= 3


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_shard_comes_out(small, threads):
    _, answers = small
    with pytest.raises(ZeroDivisionError, match="in a shard"):
        replace(answers, store=Threads(answers.store.shards, threads)).fold(failing)


def test_sums_add_in_the_order_they_come():
    """Floating sums depend on the order: it is that of the shards and no other."""
    @dataclass
    class One:
        value: float = whole()

    parts = [1e16, 1.0, -1e16, 1.0]
    assert total(((slice(0, 0), np.zeros(0, int), One(v)) for v in parts), 0, 0).value == 1.0
    assert total(((slice(0, 0), np.zeros(0, int), One(v)) for v in sorted(parts)), 0, 0).value != 1.0


def test_a_step_cannot_spoil_the_answers(small):
    _, answers = small
    for shard in answers.store.shards:
        assert not any(getattr(shard, name).flags.writeable for name in ("start", "worker", "workers", "label"))
    assert Here(list(answers.store.shards)).shards == answers.store.shards
