"""Skills people could be paid by: their intervals hold the truth, and a fit that goes on from another stays one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from manyvoices import api
from manyvoices.core.answers import Answers
from manyvoices.core.errors import BadInput
from manyvoices.core.names import Names


def planted(seed: int, tasks: int, workers: int, per_task: int, classes: int, skill: tuple[float, float]):
    """Answers of workers who are right with a probability of their own, and these probabilities."""
    rng = np.random.default_rng(seed)
    right = rng.uniform(*skill, workers)
    truth = rng.integers(classes, size=tasks)
    worker = np.stack([rng.choice(workers, per_task, replace=False) for _ in range(tasks)])
    wrong = (truth[:, None] + rng.integers(1, classes, worker.shape)) % classes
    label = np.where(rng.random(worker.shape) < right[worker], truth[:, None], wrong)
    answers = Answers.from_codes(np.repeat(np.arange(tasks), per_task), worker.ravel(), label.ravel(), tasks=Names.numbered(tasks),
                                 workers=Names.numbered(workers), classes=Names.numbered(classes))
    return answers, right


def coverage(name: str, **crowd) -> float:
    """Share of workers whose 95 % interval holds the probability they were planted with."""
    held = []
    for seed in range(8):
        answers, right = planted(seed, **crowd)
        skill = api.aggregate(answers, name).skill
        held += ((skill.low <= right) & (right <= skill.high)).tolist()
    return float(np.mean(held))


@pytest.mark.parametrize("name", ["bcc", "ds", "onecoin", "classcond", "wawa"])
@pytest.mark.parametrize("crowd", [
    {"tasks": 300, "workers": 30, "per_task": 10, "classes": 4, "skill": (.5, .95)},
    {"tasks": 160, "workers": 40, "per_task": 5, "classes": 4, "skill": (.9, .99)},
], ids=["mixed", "good, 20 answers each"])
def test_intervals_hold_what_was_planted(name, crowd):
    """Once those of `bcc` held 5 % of good workers: their middle was the prior's, not the answers'."""
    assert coverage(name, **crowd) >= .9


@pytest.mark.parametrize("sizes", [(300, 30, 10, 4), (300, 30, 5, 2), (300, 60, 3, 3)])
def test_intervals_of_abilities_and_difficulties(sizes):
    """GLAD from its own priors: with eases held at their best values 80 % of the intervals of abilities held the truth."""
    able, hard, (tasks, workers, per_task, classes) = [], [], sizes
    for seed in range(6):
        rng = np.random.default_rng(seed)
        ability, ease, truth = rng.normal(1, 1, workers), rng.normal(1, 1, tasks), rng.integers(classes, size=(tasks, 1))
        worker = np.stack([rng.choice(workers, per_task, replace=False) for _ in range(tasks)])
        knows = rng.random(worker.shape) < 1 / (1 + np.exp(-ability[worker] * np.exp(ease)[:, None]))
        label = np.where(knows, truth, (truth + rng.integers(1, classes, worker.shape)) % classes)
        found = api.aggregate(Answers.from_codes(np.repeat(np.arange(tasks), per_task), worker.ravel(), label.ravel(), tasks=Names.numbered(tasks),
                                                 workers=Names.numbered(workers), classes=Names.numbered(classes)), "glad")
        able += ((found.skill.low <= ability) & (ability <= found.skill.high)).tolist()
        hard += ((found.difficulty.low <= -ease) & (-ease <= found.difficulty.high)).tolist()
    assert np.mean(able) >= .9 and np.mean(hard) >= .88


def seen(seed: int, classes: int = 0, tasks: int = 200, workers: int = 20, per_task: int = 5):
    """Answers with a bias and a noise of each worker, as numbers or in ordered classes, and each worker's true correlation."""
    rng = np.random.default_rng(seed)
    bias, noise = rng.normal(0, .4, workers), np.exp(rng.normal(-.3, .4, workers))
    worker = np.stack([rng.choice(workers, per_task, replace=False) for _ in range(tasks)])
    value = rng.normal(0, 1, (tasks, 1)) + bias[worker] + noise[worker] * rng.normal(size=worker.shape)
    label = np.searchsorted(np.linspace(-1, 1, classes - 1), value) if classes else value
    answers = Answers.from_codes(np.repeat(np.arange(tasks), per_task), worker.ravel(), label.ravel(), tasks=Names.numbered(tasks),
                                 workers=Names.numbered(workers), classes=Names.numbered(classes), scale="ordinal" if classes else "interval")
    return answers, 1 / np.sqrt(1 + noise**2)


@pytest.mark.parametrize("classes", [0, 2, 5])
def test_intervals_of_correlations(classes):
    """Ordinal: with the interval of a plain correlation 40 to 84 % of them held the truth."""
    held = []
    for seed in range(5):
        answers, right = seen(seed, classes)
        skill = api.aggregate(answers, "ordinal").skill
        held += ((skill.low <= right) & (right <= skill.high)).tolist()
    assert np.mean(held) >= .87


@pytest.mark.parametrize("classes", [0, 4])
def test_intervals_of_correlations_narrow_with_answers(classes):
    wide, narrow = (api.aggregate(seen(0, classes, tasks=n)[0], "ordinal").skill for n in (80, 800))
    assert np.mean(narrow.high - narrow.low) < .6 * np.mean(wide.high - wide.low)


def test_the_interval_of_a_competence():
    """MACE: a worker who guesses is right by luck, and competence leaves the luck out."""
    held = []
    for seed in range(6):
        answers, right = planted(seed, tasks=400, workers=20, per_task=8, classes=4, skill=(.3, .95))
        skill = api.aggregate(answers, "mace", restarts=2).skill
        held += ((skill.low <= (right - .25) / .75) & ((right - .25) / .75 <= skill.high)).tolist()
    assert np.mean(held) >= .85


@pytest.mark.parametrize("name", ["ds", "bcc", "onecoin", "glad"])
def test_a_resumed_fit_never_falls_and_ends_where_a_fresh_one_does(name):
    for seed in range(6):
        answers, _ = planted(seed, tasks=80, workers=12, per_task=5, classes=3, skill=(.4, .95))
        task, _, _ = answers.rows()
        before = api.aggregate(answers.take(task < 50), name, tol=1e-9, iterations=1000)
        again = api.aggregate(answers, name, start=before, tol=1e-9, iterations=1000)
        values = again.trace.values
        assert all(b >= a - 1e-8 * abs(a) for a, b in pairwise(values))
        fresh = api.aggregate(answers, name, tol=1e-9, iterations=1000)
        assert values[-1] >= fresh.trace.values[-1] - 5.0  # perhaps another optimum, never a broken objective


def test_a_start_of_another_kind_is_refused():
    answers, _ = planted(0, tasks=40, workers=8, per_task=4, classes=3, skill=(.5, .9))
    for start in ("glad", "mace", "ds"):
        with pytest.raises(BadInput, match="onecoin made"):
            api.aggregate(answers, "onecoin", start=api.aggregate(answers, start))
