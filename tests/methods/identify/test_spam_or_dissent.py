"""Spam or dissent: loops that say the same, a null that holds, crowds in which dissent and answers at random are told apart."""

import sys
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import manyvoices as mv
from manyvoices.core.answers import Answers
from manyvoices.core.names import Names
from manyvoices.engines.disk import stored
from manyvoices.methods.identify import _views
from manyvoices.methods.identify import spam_or_dissent as function

from .cases import same_bits

sod = sys.modules["manyvoices.methods.identify.spam_or_dissent"]
KINDS = {"looks": 0, "dissents": 1, "does not look": 2}


def people(seed, *, workers=40, each=50, classes=3, per_task=10, dissent="opinion", spam="uniform", right=(.75, .95)):
    """A fifth dissent, a fifth answer without looking: answers and the role of each."""
    rng = np.random.default_rng(seed)
    W, K = workers, classes
    worker = np.concatenate([rng.permutation(W) for _ in range(each)])
    task = np.arange(len(worker)) // per_task
    T, N = task[-1] + 1, len(task)
    role = np.repeat([1, 2, 0], [W // 5, W // 5, W - 2 * (W // 5)])
    truth = rng.integers(K, size=T)
    view = {"opinion": rng.integers(K, size=T), "swap": (truth + 1) % K, "against": truth,
            "part": np.where(rng.random(T) < .4, (truth + rng.integers(1, K, T)) % K, truth)}[dissent]
    seen = np.where(role[worker] == 1, view[task], truth[task])
    label = np.where(rng.random(N) < rng.uniform(*right, W)[worker], seen, (seen + rng.integers(1, K, N)) % K)
    if dissent == "against":
        label = np.where(role[worker] == 1, (truth[task] + rng.integers(1, K, N)) % K, label)
    habit = {"uniform": np.full((W, K), 1 / K), "biased": rng.dirichlet(np.ones(K), W), "constant": np.eye(K)[rng.integers(K, size=W)]}[spam]
    without = (rng.random(N)[:, None] >= habit.cumsum(axis=1)[worker][:, :-1]).sum(axis=1)
    label = np.where(role[worker] == 2, without, label)
    return coded(task, worker, label, T, W, K), role


def coded(task, worker, label, T, W, K, scale="nominal") -> Answers:
    classes = Names([]) if scale == "interval" else Names.numbered(K)
    label = label.astype(float) if scale == "interval" else label.astype(np.uint8)
    return Answers.from_codes(task.astype(np.int32), worker.astype(np.int32), label, tasks=Names.numbered(T),
                              workers=Names.numbered(W), classes=classes, scale=scale)


def score(answers, name="spam_or_dissent", **options):
    found = function(answers, **options)
    return found.where(np.array([row == name for row in found.score]))


def auroc(of, over):
    return np.mean((of[:, None] > over) + .5 * (of[:, None] == over))


# ------------------------------------------------------------------------------------------------------- slow references

SCALES = [("nominal", None), ("interval", (1.1, .8))]


class Loops:
    """The model of `_views.py`, one answer at a time; points[task][worker] is what a worker said as coordinates."""

    def __init__(self, answers, scaling):
        self.points, self.T, self.W = {}, len(answers.tasks), len(answers.workers)
        self.D = len(answers.classes) if scaling is None else 1
        said = {}
        for t, w, x in zip(*(column.tolist() for column in answers.rows()), strict=True):
            said.setdefault((t, w), []).append(np.eye(self.D)[x] if scaling is None else np.array([(x - scaling[0]) / scaling[1]]))
        for (t, w), many in said.items():
            self.points.setdefault(t, {})[w] = np.mean(many, axis=0)

    def consensus(self, t, w, weight):
        """Weighted mean of the others' points, or None."""
        others = {v: y for v, y in self.points[t].items() if v != w}
        total = sum(weight[v] for v in others)
        return None if total < 1e-9 else sum(weight[v] * y for v, y in others.items()) / total

    def pairs(self, w):
        return [(t, of[w]) for t, of in sorted(self.points.items()) if w in of]

    def residual(self, t, w, weight, slope, offset):
        heard = self.consensus(t, w, weight)
        return np.zeros(self.D) if heard is None else self.points[t][w] - offset[w] - slope[w] * heard

    def residuals(self, weight, slope, offset):
        found = np.zeros((self.W, self.T, self.D))
        for t, of in self.points.items():
            for w in of:
                found[w, t] = self.residual(t, w, weight, slope, offset)
        return found


def small(scale, seed=0, repeats=True):
    rng = np.random.default_rng(seed)
    asked = rng.random((60, 7)) < .6
    asked[:, 0] |= asked.sum(axis=1) < 2
    task, worker = np.nonzero(asked)
    label = np.where(rng.random(len(task)) < .7, task % 3, rng.integers(3, size=len(task)))
    if repeats:                                                        # some say something else the second time
        task, worker = np.append(task, task[::9]), np.append(worker, worker[::9])
        label = np.append(label, (label[::9] + 1) % 3)
    return coded(task, worker, label, 60, 7, 3, scale)


@pytest.mark.parametrize("scale, scaling", SCALES)
def test_slopes_are_those_of_loops(scale, scaling):
    answers = small(scale)
    loops = Loops(answers, scaling)
    rng = np.random.default_rng(1)
    inside = (np.arange(7)[:, None] % 3 != np.arange(3)).astype(float)
    weight = rng.uniform(.1, 1, (7, 3)) * inside
    found = _views.habits(answers.fold(_views.follow, _views.Asked(weight, scaling)), inside)
    for f in range(3):
        both, square, n, means = np.zeros(7), np.zeros(7), np.zeros(7), {}
        for w in range(7):
            two = [(y, heard) for t, y in loops.pairs(w) if (heard := loops.consensus(t, w, weight[:, f])) is not None]
            y, heard = (np.array(column) for column in zip(*two, strict=True))
            n[w], means[w] = len(two), (y.mean(axis=0), heard.mean(axis=0))
            both[w], square[w] = ((y - y.mean(axis=0)) * (heard - heard.mean(axis=0))).sum(), ((heard - heard.mean(axis=0)) ** 2).sum()
        held = inside[:, f] > 0
        usual, per = both[held].sum() / square[held].sum(), square.sum() / n.sum()
        slope = (both + 5 * per * usual) / (square + 5 * per)
        np.testing.assert_allclose(found.slope[:, f], slope, atol=1e-12)
        for w in range(7):
            np.testing.assert_allclose(found.offset[w, f], means[w][0] - slope[w] * means[w][1], atol=1e-12)


@pytest.mark.parametrize("scale, scaling", SCALES)
def test_products_with_the_correlations_are_those_of_a_dense_table(scale, scaling):
    answers = small(scale, 2)
    loops, rng = Loops(answers, scaling), np.random.default_rng(3)
    weight, slope = rng.uniform(.1, 1, (7, 2)), rng.normal(.5, .3, (7, 2))
    weight[:2, 0] = 0
    offset, x = rng.normal(0, .3, (7, 2, loops.D)), rng.normal(size=(7, 3))
    looked = _views.Looked(weight, scaling, slope, offset, x, np.array([0, 1, 1]))
    found, norms = answers.fold(_views.along, looked), answers.fold(_views.norms, looked).square
    for c, f in enumerate(looked.fold):
        r = loops.residuals(weight[:, f], slope[:, f], offset[:, f]).reshape(7, -1)
        np.testing.assert_allclose(found.y[:, c], r @ r.T @ x[:, c], atol=1e-10)
        np.testing.assert_allclose(norms[:, f], (r**2).sum(axis=1), atol=1e-10)
        view = np.einsum("wtd,w->td", r.reshape(7, 60, -1), x[:, c])
        for w in range(7):
            met = [t for t, _ in loops.pairs(w) if loops.consensus(t, w, weight[:, f]) is not None]
            assert found.square[w, c] == pytest.approx((view[met] ** 2).sum())


def test_the_view_begins_with_the_leading_eigenvectors():
    answers, _ = people(4, workers=12, each=60)
    inside = np.ones((12, 1))
    asked = _views.Asked(inside.copy())
    habit = _views.habits(answers.fold(_views.follow, asked), inside)
    looked = _views.Looked(asked.weight, None, habit.slope, habit.offset, np.zeros((12, 0)), np.zeros(0, np.int64))
    r = Loops(answers, None).residuals(inside[:, 0], habit.slope[:, 0], habit.offset[:, 0]).reshape(12, -1)
    size = np.sqrt((r**2).sum(axis=1))
    values, vectors = np.linalg.eigh(r @ r.T / np.outer(size, size))
    found = _views.leading(answers, looked, 1 / size[:, None], np.random.default_rng(0).standard_normal(12))[:, 0]
    for j in range(2):
        assert abs(found[:, j] @ vectors[:, -1 - j]) == pytest.approx(1, abs=1e-6)
    assert values[-1] > values[-2] + .05                               # else the test would say nothing


@pytest.mark.parametrize("scale", ["nominal", "interval"])
def test_both_scores_are_those_of_loops(scale):
    """Consensus and views without the worker, answer by answer, against the mean and spread over permutations."""
    answers = small(scale, 5, repeats=False)
    scaling = None if scale == "nominal" else sod.middle(answers)
    found, heard, loops = sod.compared(answers, 0), _views.heard(answers, scaling, 0), Loops(answers, scaling)
    near, rng = heard.looked, np.random.default_rng(6)
    for w in range(7):
        f = heard.fold[w]
        outside = near.weight[:, f]
        assert outside[w] == 0 and (heard.weight > 0).all()
        said = np.array([y for _, y in loops.pairs(w)])
        columns = np.flatnonzero(near.fold == f)
        compared = [np.array([loops.consensus(t, w, heard.weight[:, f]) for t, _ in loops.pairs(w)])]
        for c in columns:
            compared.append(np.array([
                sum(near.x[v, c] * loops.residual(t, v, outside, near.slope[:, f], near.offset[:, f]) for v in loops.points[t] if v != w)
                for t, _ in loops.pairs(w)]))
        for j, z in enumerate(compared):
            z = z.reshape(len(said), -1)
            drawn = np.array([(said[rng.permutation(len(said))] * z).sum() for _ in range(4000)])
            n, y, zc = len(said), said - said.mean(axis=0), z - z.mean(axis=0)
            sd = np.sqrt(np.einsum("ab,ab->", y.T @ y, zc.T @ zc) / (n - 1))
            if sd < 1e-9:
                assert found.z[w, j] == 0
                continue
            assert drawn.std() == pytest.approx(sd, rel=.06)           # the closed form is that of permutations
            assert found.z[w, j] == pytest.approx((y * zc).sum() / sd, abs=1e-8)
        if scale == "nominal":
            table = np.zeros((3, 3))
            for heard_, y in zip(compared[0], said, strict=True):
                table[heard_.argmax()] += y
            np.testing.assert_allclose(found.table[w], table)


def test_what_a_worker_is_compared_with_does_not_know_the_worker():
    """Other answers of one worker leave everything that this worker is compared with as it was."""
    answers, _ = people(7, workers=15, each=40)
    task, worker, label = answers.rows()
    label = label.copy()
    mine = worker == 3
    label[mine] = np.random.default_rng(0).permutation(label[mine])
    one, two = _views.heard(answers, None, 0), _views.heard(coded(task, worker, label, 60, 15, 3), None, 0)
    f, others = one.fold[3], np.arange(15) != 3
    assert not np.array_equal(answers.rows()[2], label)
    for a, b in ((one.weight, two.weight), (one.looked.slope, two.looked.slope), (one.looked.offset, two.looked.offset)):
        np.testing.assert_allclose(a[others, f], b[others, f], atol=1e-12)
    columns = one.looked.fold == f
    np.testing.assert_allclose(one.looked.x[others][:, columns], two.looked.x[others][:, columns], atol=1e-9)
    assert not np.allclose(one.looked.x[:, ~columns], two.looked.x[:, ~columns], atol=1e-4)


@pytest.mark.parametrize("rows, columns", [([0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 1, 2, 2]), ([0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1])])
def test_moments_of_the_table_are_those_of_all_permutations(rows, columns):
    drawn = []
    for order in permutations(columns):
        table = np.zeros((1, 3, 3))
        np.add.at(table[0], (rows, list(order)), 1)
        drawn.append(sod.chi_square(table))
    values = np.array([value[0] for value, _, _ in drawn])
    assert values.mean() == pytest.approx(drawn[0][1][0]) and values.var() == pytest.approx(drawn[0][2][0])
    kept = table[0][np.ix_(table[0].any(axis=1), table[0].any(axis=0))]
    assert drawn[-1][0][0] == pytest.approx(stats.chi2_contingency(kept, correction=False).statistic)


def test_tails_far_out():
    shape, x = np.array([2.5, 8, 30]), np.array([40., 90, 200])
    np.testing.assert_allclose(sod.log_gamma_above(shape, x), stats.gamma.logsf(x, shape), rtol=1e-10)
    far = sod.log_gamma_above(np.full(3, 8.), np.array([595., 640, 5000]))
    assert np.isfinite(far).all() and far[0] == pytest.approx(-595 + 7 * np.log(595) - 8.5251614, rel=1e-3)
    tests = np.array([[-700., 0, 0], [-1e-3, -1e-3, 0], [np.log(.01), -2, -2]])
    z = sod.surprise(tests)
    assert z[0] == pytest.approx(-stats.norm.ppf(np.exp(-690)) * np.sqrt((700 - np.log(3)) / 690), rel=2e-3)
    assert z[2] == pytest.approx(stats.norm.isf(1 - .99**3)) and z[1] < 0


# ------------------------------------------------------------------------------------------------------------- promises

@pytest.mark.parametrize("classes, spam", [(2, "uniform"), (2, "biased"), (4, "uniform"), (4, "biased")])
def test_the_null_holds(classes, spam):
    """Of those who do not look few show information, and their deviates spread no more than a standard normal."""
    z, seen = [], 0
    for seed in range(12):
        answers, role = people(100 + seed, classes=classes, spam=spam)
        found = sod.compared(answers, seed)
        z += found.z_all[(role == 2) & found.varied].tolist()
        seen += (score(answers, seed=seed).low[role == 2] > 0).sum()
    assert -.6 < np.mean(z) < .25 and .7 < np.std(z) < 1.25, (np.mean(z), np.std(z))
    assert seen <= stats.binom.ppf(.999, 12 * 8, .025)


@pytest.mark.parametrize("classes, dissent, least", [
    (2, "against", .99), (2, "opinion", .95), (2, "part", .95),
    (4, "against", .97), (4, "opinion", .99), (4, "part", .99), (4, "swap", .99)])
def test_dissent_is_told_from_not_looking(classes, dissent, least):
    """The first promise: from 50 answers a worker, groups of a fifth, 10 answers a task."""
    found = []
    for seed, spam in enumerate(("uniform", "biased", "constant") * 2):
        answers, role = people(seed, workers=50, classes=classes, dissent=dissent, spam=spam)
        value = score(answers).value
        found.append(auroc(value[role == 1], value[role == 2]))
    assert np.mean(found) >= least, found


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_interval_lies_above_0_where_chance_is_ruled_out_and_nowhere_else(classes):
    """The verdict is read from the interval."""
    n, sure = np.repeat([10, 51, 1000], 2), np.tile([-1e-3, 1e-3], 3)
    found = SimpleNamespace(n=n, freedom=classes - 1, varied=n > 0, table=np.zeros((6, classes, classes)))
    low, high = sod.around(found, sod.deviate(found, sod.REACH + sure))
    assert ((low > 0) == (sure > 0)).all() and (high <= 1).all() and (high > 0).all()


@pytest.mark.parametrize("classes", [2, 5])
def test_intervals_of_two_halves_of_the_tasks_hold_their_difference(classes):
    """Also where values are large, whose spread is that of right and wrong answers."""
    held = []
    for seed in range(3):
        answers, role = people(seed, each=200, classes=classes)
        half = np.random.default_rng(seed).integers(2, size=len(answers.tasks))[answers.rows()[0]]
        first, second = (score(answers.take(half == h)) for h in (0, 1))
        gap = second.value - first.value
        reach = np.hypot(np.where(gap > 0, first.high, first.low) - first.value, np.where(gap > 0, second.low, second.high) - second.value)
        held += (np.abs(gap) < reach)[role == 0].tolist()
    assert np.mean(held) > .9


def test_verdicts():
    answers, role = people(1, each=100, classes=3, dissent="opinion")
    found, beside = score(answers), score(answers, "spam_or_dissent.agreement")
    note = np.array(found.note)
    assert (note[role == 0] == sod.AGREES).mean() > .9
    assert (note[role == 1] == sod.OWN).mean() > .9
    assert (note[role == 2] == "no information seen in 100 answers").mean() >= 7 / 8
    assert (beside.low[role == 0] > .3).all() and (np.abs(beside.value[role != 0]) < .3).all()
    assert (np.array(found.n) == 100).all()


def test_a_view_on_some_tasks():
    answers, role = people(3, each=200, classes=3, dissent="part")
    note = np.array(score(answers).note)
    assert (note[role == 1] == sod.PARTLY).mean() > .8 and (note[role == 0] == sod.AGREES).mean() > .9


@pytest.mark.parametrize("classes", [2, 5])
def test_who_is_always_right_has_no_view_of_their_own(classes):
    """Where some guess the consensus is blurred; that the others share what it misses is not a view."""
    for seed in (1, 4, 7):
        crowd = mv.simulate("hammer_spammer", workers=30, tasks=200, classes=classes, per_task=8, ratio=.4, seed=seed)
        found = score(crowd.answers)
        assert not {sod.PARTLY, sod.OWN} & {note for note, value in zip(found.note, found.value, strict=True) if value > .6}, seed


def test_adversaries_are_informative_and_disagree():
    answers, role = people(2, classes=2, dissent="against")
    found, beside = score(answers), score(answers, "spam_or_dissent.agreement")
    assert (found.low[role == 1] > 0).all() and (beside.high[role == 1] < 0).all()
    assert set(np.array(found.note)[role == 1]) == {sod.OWN}


@pytest.mark.parametrize("each, word", [(49, "undecided (49 answers; 50 are needed)"), (50, None)])
def test_below_fifty_answers_the_verdict_is_open(each, word):
    answers, _ = people(4, each=each)
    found = score(answers)
    assert all((note == word) if word else not note.startswith("undecided") for note in found.note)
    assert np.isfinite(found.value).all() and (found.low <= found.value).all() and (found.value <= found.high).all()


def test_answers_that_nobody_can_be_compared_with_do_not_count():
    task = np.concatenate([np.arange(40).repeat(3), np.arange(40, 90)])
    worker = np.concatenate([np.tile([0, 1, 2], 40), np.zeros(50, int)])
    found = score(coded(task, worker, task % 2, 90, 3, 2))
    assert found.n.tolist() == [40, 40, 40] and found.note[0] == "undecided (40 answers; 50 are needed)"


def test_constant_answers_carry_nothing():
    answers, role = people(5, spam="constant", classes=2)
    found = score(answers)
    assert (found.value[role == 2] == 0).all() and np.isnan(found.low[role == 2]).all()
    assert set(np.array(found.note)[role == 2]) == {"no information seen in 50 answers, all the same"}
    beside = score(answers, "spam_or_dissent.agreement")
    assert np.isnan(beside.low[role == 2]).all() and all(note.endswith(sod.SAME) for note in np.array(beside.note)[role == 2])


def test_nothing_is_said_of_anybody_where_all_say_the_same():
    found = function(coded(np.arange(60).repeat(3), np.tile(np.arange(3), 60), np.zeros(180, int), 60, 3, 2))
    assert np.isnan(found.value).all() and {*found.note} == {sod.STILL}


@pytest.mark.parametrize("scale", ["ordinal", "interval"])
def test_ordered_answers_and_numbers(scale):
    """Who shifts, stretches or turns the scale around looks; who draws numbers does not."""
    rng = np.random.default_rng(0)
    task, worker = np.arange(150).repeat(6), np.tile(np.arange(6), 150)
    truth = rng.integers(5, size=150)
    said = np.clip(truth[task] + rng.integers(-1, 2, 900), 0, 4)
    said = np.where(worker == 4, 4 - said, np.where(worker == 5, rng.integers(5, size=900), said))
    answers = coded(task, worker, said + (.5 if scale == "interval" else 0), 150, 6, 5, scale)
    found, beside = score(answers), score(answers, "spam_or_dissent.agreement")
    assert list(found.note) == [sod.AGREES] * 4 + [sod.OWN, "no information seen in 150 answers"]
    assert beside.high[4] < 0 < beside.low[:4].min()
    if scale == "interval":                                            # other units change nothing
        other = score(coded(task, worker, 1e4 + 1e-3 * said, 150, 6, 5, scale))
        np.testing.assert_allclose(other.value, found.value, atol=1e-6)


def test_the_word_is_never_used_of_anybody():
    for dissent in ("opinion", "against"):
        for spam in ("uniform", "constant"):
            answers, _ = people(6, dissent=dissent, spam=spam)
            found = function(answers, parts=True)
            assert not any("spammer" in str(cell).lower() for row in found.to_polars().rows() for cell in row)


def test_parts_and_what_they_are_for():
    answers, role = people(8, dissent="opinion", each=80)
    found = function(answers, parts=True)
    assert list(dict.fromkeys(found.score)) == ["spam_or_dissent", *(f"spam_or_dissent.{x}" for x in ("agreement", "consensus", "view"))]
    with_consensus, view = (score(answers, f"spam_or_dissent.{x}", parts=True).value for x in ("consensus", "view"))
    assert np.median(with_consensus[role == 0]) > .5 > .15 > np.median(with_consensus[role == 1])
    assert np.median(view[role == 1]) > .3 > .15 > np.median(view[role == 0])


def test_engines_seeds_and_verbs():
    answers, _ = people(9, each=60)
    same_bits(function(answers), function(stored(answers)))
    same_bits(function(answers), mv.identify(answers, "dissent"))
    one, two = score(answers, seed=0), score(answers, seed=1)
    assert np.abs(one.value - two.value).max() < .3 and np.corrcoef(one.value, two.value)[0, 1] > .95


def test_kappa_and_its_error():
    """Against Fleiss, Cohen and Everitt's formula written out."""
    table = np.array([[[20., 5, 1], [3, 15, 4], [0, 2, 10]]])
    value, error, same, chance = sod.kappa(table)
    p = table[0] / 60
    r, c = p.sum(axis=1), p.sum(axis=0)
    po, pe = np.trace(p), (r * c).sum()
    k = (po - pe) / (1 - pe)
    a = sum(p[i, i] * (1 - (r[i] + c[i]) * (1 - k)) ** 2 for i in range(3))
    b = (1 - k) ** 2 * sum(p[i, j] * (c[i] + r[j]) ** 2 for i in range(3) for j in range(3) if i != j)
    assert value[0] == pytest.approx(.615056, abs=1e-6) and (same[0], chance[0]) == (pytest.approx(po), pytest.approx(pe))
    assert error[0] == pytest.approx(np.sqrt((a + b - (k - pe * (1 - k)) ** 2) / (1 - pe) ** 2 / 60))
