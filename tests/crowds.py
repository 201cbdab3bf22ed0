"""Small crowds to try methods on, and how to run any method of a job by name with what it wants handed over."""

from dataclasses import dataclass, replace

import numpy as np

from manyvoices.core import registry
from manyvoices.core.answers import Answers
from manyvoices.core.channels import arrays
from manyvoices.core.names import Names

NAMES = registry.names("aggregate")
VARIANTS = [(name, scale) for name in NAMES
            for scale in (("ordinal", "interval") if "ordered" in registry.about("aggregate", name).needs else ("nominal",))]
CLASSES = [v for v in VARIANTS if v[1] != "interval"]                   # those that believe in classes


@dataclass(frozen=True)
class Crowd:
    """Rows in codes, what is true, and side inputs in task order."""

    task: np.ndarray
    worker: np.ndarray
    label: np.ndarray
    sizes: tuple[int, int, int]
    truth: np.ndarray
    gold: np.ndarray                    # [T], -1 = unknown
    guess: np.ndarray                   # [T, K] of a classifier
    value: np.ndarray                   # [n] the same answers as numbers, with a bias of each worker

    def answers(self, scale: str = "nominal", **more) -> Answers:
        tasks, workers, classes = self.sizes
        given = {"tasks": Names.numbered(tasks), "workers": Names.numbered(workers), "scale": scale,
                 "classes": Names([] if scale == "interval" else list(Names.numbered(classes)))} | more
        return Answers.from_codes(self.task, self.worker, self.value if scale == "interval" else self.label, **given)

    def rows(self) -> list[tuple[int, int, int]]:
        return list(zip(self.task.tolist(), self.worker.tolist(), self.label.tolist(), strict=True))

    def only(self, mask: np.ndarray) -> "Crowd":
        return replace(self, task=self.task[mask], worker=self.worker[mask], label=self.label[mask], value=self.value[mask])

    def shuffled(self, seed: int) -> "Crowd":
        return self.only(np.random.default_rng(seed).permutation(len(self.task)))


def crowd(seed: int = 0, tasks: int = 40, workers: int = 8, classes: int = 3, share: float = .6, skill=(.5, .95), repeats: bool = False) -> Crowd:
    """Every worker answers a share of the tasks, every task has an answer; errors prefer the next class."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(classes), rng.integers(classes, size=max(tasks - classes, 0))])[:tasks]
    right = rng.uniform(*skill, workers)
    asked = rng.random((tasks, workers)) < share
    asked[np.arange(tasks), rng.integers(workers, size=tasks)] = True
    task, worker = (codes.astype(np.int32) for codes in np.nonzero(asked))
    if repeats:
        task, worker = np.concatenate([task, task[::7]]), np.concatenate([worker, worker[::7]])
    n = len(task)
    wrong = np.where(rng.random(n) < .6, truth[task] + 1, rng.integers(classes, size=n)) % classes
    label = np.where(rng.random(n) < right[worker], truth[task], wrong)
    gold = np.where(np.arange(tasks) % 4 == 0, truth, -1)
    guess = rng.dirichlet(np.ones(classes), tasks) + .7 * np.eye(classes)[truth]
    value = label + np.linspace(-.4, .4, workers)[worker] + rng.normal(0, .2, n)
    return Crowd(task, worker, label, (tasks, workers, classes), truth, gold, guess / guess.sum(axis=1, keepdims=True), value)


def sides(name: str, given: Crowd) -> dict:
    """What a method cannot do without."""
    required = registry.about("aggregate", name).required
    return {side: array for side, array in (("gold", given.gold), ("probs", given.guess)) if side in required}


def fit(name: str, answers: Answers, given: Crowd, /, **options):
    return registry.find("aggregate", name)(answers, **sides(name, given), **options)


def run(name: str, given: Crowd, on: str = "nominal", /, **options):
    return fit(name, given.answers(on), given, **options)


def options_of(name: str) -> dict:
    return {option.name: option for option in registry.about("aggregate", name).options}


def steps(name: str, n: int, **more) -> dict:
    """Options for so many steps and no fewer, ties shared, as far as the method has them."""
    wanted = {"iterations": n, "rounds": n, "tol": 0.0, "ties": "all"} | more
    return {key: value for key, value in wanted.items() if key in options_of(name)}


def found_in(result) -> dict:
    """Every array and number of a result under a name."""
    held = {name: getattr(result, name) for name in ("n", "probs", "chosen", "value", "low", "high", "prior")}
    held |= {f"channel.{name}": array for name, array in arrays(result.channel).items()}
    for name in ("skill", "difficulty"):
        if (scores := getattr(result, name)) is not None:
            held |= {f"{name}.{column}": getattr(scores, column) for column in ("value", "low", "high", "n")}
    if result.trace is not None:
        held["trace"] = np.array(result.trace.values)
    return {name: array for name, array in held.items() if array is not None}


def same_bits(one, other) -> None:
    a, b = found_in(one), found_in(other)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape, name
        assert np.ascontiguousarray(a[name]).tobytes() == np.ascontiguousarray(b[name]).tobytes(), name
    assert one.converged == other.converged and one.note == other.note


def near(one, other, atol: float = 1e-9, skip: tuple[str, ...] = ()) -> None:
    a, b = found_in(one), found_in(other)
    assert a.keys() == b.keys()
    for name in a.keys() - set(skip):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=atol, err_msg=name)


def another(option, known):
    """A value that is not the option's default: the one known to suit it, else one made from its signature."""
    if option.name in known:
        return known[option.name]
    if option.choices:
        return next(choice for choice in option.choices if choice != option.default)
    if option.type == "bool":
        return not option.default
    return {"int": (option.default or 0) + 1, "float": (option.default or 1.0) / 2}.get(option.type, "other")
