"""What the others say about a task: their consensus, and what is left of their answers when it is taken away.

    consensus[t]      = weighted mean of the answers, a worker's weight being the slope b of the answers on it
    residual[w, t]    = y - c[w] - b[w] consensus[t]       y the answer in coordinates, the consensus without w
    view[t]           = sum over workers of x[w] residual[w, t]
    x                 = a leading eigenvector of the residuals' correlations; then, some rounds long, the standard
                        deviations by which a worker's residuals go with the view of the others, none below 0; 0 for all
                        where they who share it follow the consensus like the rest: it is the consensus, less blurred

Workers are dealt into folds; what is compared with a worker is made without any answer of the worker's fold, so that
answers given without looking stand to it as permuted ones do. No table of pairs of workers is made: products with the
correlations go by the sums of each task.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from ...core.answers import Answers, Shard, spread
from ...core.fold import by_worker, whole
from ...kernels.em import tell

CELLS = 4_000_000  # numbers in one table of a block
VIEWS, FOLDS, ROUNDS, TRUST = 2, 20, 8, 4
KRYLOV = 12
LEAST = 0.02  # what a worker's answer weighs at least
FEW = 5.0  # answers' worth of the usual slope that everybody starts with
LESS = 0.9  # of the usual slope: a view is of people who follow the consensus less
SHY = 20.0  # answers' worth by which the residuals of those who said little are held back


# answers as points ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Some tasks of a shard. A unit is what one worker says of one task: the share of each class, or a number."""

    tasks: int
    workers: int
    width: int  # D: classes, or one for numbers
    start: np.ndarray  # [t + 1] first unit of each task
    worker: np.ndarray  # [u]
    task: np.ndarray  # [u]
    row: np.ndarray | None  # [r] unit of each row; None = a row a unit
    rows: np.ndarray  # [u + 1] first row of each unit
    column: np.ndarray  # [r]
    y: np.ndarray  # [r]

    def of_rows(self, x: np.ndarray) -> np.ndarray:
        return x if self.row is None else x[self.row]

    def tally(self, x: np.ndarray) -> np.ndarray:
        """Sum of x[u] y by task: [t, D]."""
        return spread(self.y * self.of_rows(x), self.column, self.rows[self.start], self.width)

    def own(self, x: np.ndarray) -> np.ndarray:
        """x[u] y as a table [u, D]."""
        return spread(self.y * self.of_rows(x), self.column, self.rows, self.width)

    def at(self, table: np.ndarray, of: np.ndarray | None = None) -> np.ndarray:
        """Inner product of y with the unit's row of a table [u, D], or with row of[u] of another: [u]."""
        unit = np.arange(len(self.worker), dtype=np.int32) if of is None else of
        found = self.y * table.ravel().take(self.of_rows(unit).astype(np.int64) * self.width + self.column)
        return found if self.row is None else np.add.reduceat(found, self.rows[:-1]) if len(found) else found

    def by_worker(self, x: np.ndarray) -> np.ndarray:
        return spread(x, self.worker, None, self.workers)[0]

    def by_task(self, x: np.ndarray) -> np.ndarray:
        return spread(x, np.zeros(len(x), np.int32), self.start, 1)[:, 0]

    def met(self, x: np.ndarray) -> csr_array:
        """[t, w] sparse with x[u] where a worker answers a task."""
        return csr_array((x, self.worker, self.start), shape=(self.tasks, self.workers))

    def sums(self, table: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Sum of x[u] table[u] by worker: [w, D]."""
        units = np.arange(len(x) + 1, dtype=self.worker.dtype)
        return csr_array((x, self.worker, units), shape=(len(x), self.workers)).T @ table


def blocks(shard: Shard, scaling: tuple[float, float] | None) -> Iterator[Block]:
    """Pieces of a shard small enough for a table of units; `scaling` (middle, spread) makes numbers of labels."""
    width = shard.classes if scaling is None else 1
    most = max(CELLS // max(width, 1), 1)
    a = 0
    while a < shard.size:
        b = max(a + 1, int(np.searchsorted(shard.start, shard.start[a] + most, side="right")) - 1)
        yield block(shard, a, min(b, shard.size), scaling, width)
        a = min(b, shard.size)


def block(shard: Shard, a: int, b: int, scaling: tuple[float, float] | None, width: int) -> Block:
    cut = slice(int(shard.start[a]), int(shard.start[b]))
    worker, start = shard.worker[cut].astype(np.int32), (shard.start[a : b + 1] - shard.start[a]).astype(np.int32)
    n = len(worker)
    task = np.repeat(np.arange(b - a, dtype=np.int32), np.diff(start))
    if scaling is None:
        column, y = shard.label[cut].astype(np.int32), np.ones(n)
    else:
        said = shard.label[cut].astype(float) if shard.value is None else shard.value[cut]
        column, y = np.zeros(n, np.int32), (said - scaling[0]) / scaling[1]
    new = np.concatenate([[True], (task[1:] != task[:-1]) | (worker[1:] != worker[:-1])])[:n]
    if new.all():
        rows = np.arange(n + 1, dtype=np.int32)
        return Block(b - a, len(shard.workers), width, start, worker, task, None, rows, column, y)
    first = np.flatnonzero(new)  # a worker's repeats count as one answer, its shares those of what was said
    row = (np.cumsum(new) - 1).astype(np.int32)
    count = np.ones(n) if shard.count is None else shard.count[cut].astype(float)
    y = y * count / np.add.reduceat(count, first)[row]
    rows = np.append(first, n).astype(np.int32)
    start = np.searchsorted(first, start).astype(np.int32)
    return Block(b - a, len(shard.workers), width, start, worker[first], task[first], row, rows, column, y)


# the consensus --------------------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """What every pass is told: the weight of each worker where somebody of a fold is compared (0 = of that fold)."""

    weight: np.ndarray = by_worker()  # [W, F]
    scaling: tuple[float, float] | None = whole(default=None)


@dataclass
class Followed:
    """Sums over the answers that can be compared with others, for the slope of each worker on the consensus."""

    n: np.ndarray = by_worker()  # [W, F]
    said: np.ndarray = by_worker()  # [W, F, D]
    heard: np.ndarray = by_worker()  # [W, F, D]
    both: np.ndarray = by_worker()  # [W, F]
    square: np.ndarray = by_worker()  # [W, F]


@dataclass(frozen=True)
class Voice:
    """The consensus of one block for one fold."""

    votes: np.ndarray  # [t, D] weighted sums
    weight: np.ndarray  # [u] of the unit's worker
    held: np.ndarray  # [u] 1 where somebody else has weight
    over: np.ndarray  # [u] 1 / weight of all others, 0 where there is none

    def without(self, b: Block) -> np.ndarray:
        """The consensus each unit is compared with: [u, D]."""
        found = self.votes.take(b.task, axis=0)
        found -= b.own(self.weight)
        found *= self.over[:, None]
        return found


def voice(b: Block, weight: np.ndarray) -> Voice:
    own = weight.take(b.worker)
    left = b.by_task(own).take(b.task) - own
    held = left > 1e-9
    return Voice(b.tally(own), own, held.astype(float), np.where(held, 1 / np.where(held, left, 1.0), 0.0))


def follow(shard: Shard, params: Asked) -> Followed:
    W, F = params.weight.shape
    D = shard.classes if params.scaling is None else 1
    found = Followed(np.zeros((W, F)), np.zeros((W, F, D)), np.zeros((W, F, D)), np.zeros((W, F)), np.zeros((W, F)))
    for b in blocks(shard, params.scaling):
        ones = np.ones(len(b.worker))
        own = b.own(ones)
        for f in range(F):
            v = voice(b, params.weight[:, f])
            heard = v.without(b)
            found.n[:, f] += b.by_worker(v.held)
            found.said[:, f] += b.sums(own, v.held)
            found.heard[:, f] += b.sums(heard, ones)
            found.both[:, f] += b.by_worker(b.at(heard))
            found.square[:, f] += b.by_worker(np.einsum("uk,uk->u", heard, heard))
    return found


@dataclass(frozen=True)
class Habits:
    """How workers follow the consensus made without a fold: y is about c + b consensus."""

    slope: np.ndarray  # [W, F]
    offset: np.ndarray  # [W, F, D]


def habits(found: Followed, inside: np.ndarray) -> Habits:
    """Slopes, those of workers with few answers near the usual one of the workers outside the fold."""
    n = np.maximum(found.n, 1)
    both = found.both - (found.said * found.heard).sum(axis=2) / n
    square = np.maximum(found.square - (found.heard**2).sum(axis=2) / n, 0)
    per = square.sum(axis=0) / np.maximum(found.n.sum(axis=0), 1)
    usual = (both * inside).sum(axis=0) / np.maximum((square * inside).sum(axis=0), 1e-12)
    slope = (both + FEW * per * usual) / np.maximum(square + FEW * per, 1e-12)
    return Habits(slope, (found.said - slope[:, :, None] * found.heard) / n[:, :, None])


def weights(slope: np.ndarray) -> np.ndarray:
    return np.clip(slope, LEAST, 1.2)


# residuals and views --------------------------------------------------------------------------------------------------


@dataclass
class Looked(Asked):
    slope: np.ndarray = by_worker(default=None)  # [W, F]
    offset: np.ndarray = by_worker(default=None)  # [W, F, D]
    x: np.ndarray = by_worker(default=None)  # [W, C] how much each worker's residual counts
    fold: np.ndarray = whole(default=None)  # [C] which fold a column is for


@dataclass
class Norms:
    square: np.ndarray = by_worker()  # [W, F] of the residuals


@dataclass
class Along:
    y: np.ndarray = by_worker()  # [W, C] residuals times view
    square: np.ndarray = by_worker()  # [W, C] of the view at the worker's tasks


def residuals(b: Block, v: Voice, slope: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """[u, D]; 0 where there is nobody to compare with."""
    found = v.without(b)
    found *= -slope.take(b.worker)[:, None]
    found += b.own(v.held)
    found -= offset.take(b.worker, axis=0) * v.held[:, None]
    return found


def norms(shard: Shard, params: Looked) -> Norms:
    W, F = params.weight.shape
    found = np.zeros((W, F))
    for b in blocks(shard, params.scaling):
        for f in range(F):
            r = residuals(b, voice(b, params.weight[:, f]), params.slope[:, f], params.offset[:, f])
            found[:, f] += b.by_worker(np.einsum("uk,uk->u", r, r))
    return Norms(found)


def view(b: Block, v: Voice, x: np.ndarray, slope: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Sum over workers of x times residual, without making the residuals: [t, D]."""
    own = x.take(b.worker) * v.held
    led = own * slope.take(b.worker) * v.over
    found = b.tally(own + led * v.weight)
    found -= b.met(own) @ offset
    found -= v.votes * b.by_task(led)[:, None]
    return found


def along(shard: Shard, params: Looked) -> Along:
    """Every worker's residuals times the views, the worker's own part still in them."""
    W, C = params.x.shape
    found = Along(np.zeros((W, C)), np.zeros((W, C)))
    for b in blocks(shard, params.scaling):
        for f in np.unique(params.fold):
            v = voice(b, params.weight[:, f])
            slope, offset = params.slope[:, f], params.offset[:, f]
            led, met = slope.take(b.worker) * v.over, b.met(v.held).T
            for c in np.flatnonzero(params.fold == f):
                s = view(b, v, params.x[:, c], slope, offset)
                said = b.at(s, b.task) * v.held
                led_to = np.einsum("tk,tk->t", v.votes, s).take(b.task)
                found.y[:, c] += b.by_worker(said * (1 + led * v.weight) - led * led_to)
                found.y[:, c] -= np.einsum("wk,wk->w", offset, met @ s)
                found.square[:, c] += met @ np.einsum("tk,tk->t", s, s)
    return found


# how the views are found ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heard:
    """All that is compared with the workers of each fold."""

    fold: np.ndarray  # [W]
    inside: np.ndarray  # [W, F] 1 = not of the fold
    looked: Looked  # weights of those outside the fold, habits of all, and x of all, [W, F * VIEWS]
    weight: np.ndarray  # [W, F] of all


def heard(answers: Answers, scaling: tuple[float, float] | None, seed: int) -> Heard:
    """Deal the workers into folds, then find the consensus and the views for each."""
    W, width = len(answers.workers), len(answers.classes) if scaling is None else 1
    active = np.flatnonzero(answers.per_worker() > 0)
    F = max(2, min(len(active), FOLDS, max(5, 1000 // max(len(active), 1))))
    rng = np.random.default_rng([seed, 3])
    fold, start = np.zeros(W, np.int64), np.zeros(W)
    fold[active] = rng.permutation(len(active)) % F
    start[active] = rng.standard_normal(len(active))
    inside = (fold[:, None] != np.arange(F)).astype(float)
    asked = Asked(inside.copy(), scaling)
    for turn in range(TRUST):
        found = answers.fold(follow, asked)
        habit = habits(found, inside)
        tell("consensus", turn + 1, TRUST, 0.0)
        if turn < TRUST - 1:
            asked = Asked(weights(habit.slope) * inside, scaling)
    looked = Looked(asked.weight, scaling, habit.slope, habit.offset, np.zeros((W, 0)), np.zeros(0, np.int64))
    square = answers.fold(norms, looked).square
    shared = found.n > 0
    per = (square * inside).sum(axis=0) / np.maximum((found.n * inside).sum(axis=0), 1)
    scale = np.where(shared & (square > 1e-12), 1 / np.sqrt(square + SHY * per + 1e-300), 0.0)
    first = leading(answers, looked, scale * inside, start)  # [W, F, VIEWS]
    first = first * minority(first, habit.slope, inside)[None]
    x = refined(answers, looked, first, scale, square, found.n, inside, max(width - 1, 1))
    return Heard(fold, inside, of_their_own(x, inside), weights(habit.slope))


def leading(answers: Answers, looked: Looked, scale: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Eigenvectors of the largest eigenvalues of the correlations of residuals, for each fold: [W, F, VIEWS]. Lanczos."""
    W, F = scale.shape
    steps = int(np.clip(40_000_000 // max(W * F, 1), 6, min(KRYLOV, W)))
    q = [unit(np.where(scale > 0, start[:, None], 0.0))]
    diagonal, beside = [], []
    for j in range(steps):
        y = answers.fold(along, replace(looked, x=q[j] * scale, fold=np.arange(F))).y * scale
        diagonal.append((q[j] * y).sum(axis=0))
        for _ in range(2):
            for past in q:
                y = y - past * (past * y).sum(axis=0)
        beside.append(np.sqrt((y**2).sum(axis=0)))
        q.append(unit(y))
        tell("views", j + 1, steps, float(diagonal[-1].max(initial=0.0)))
    found = np.zeros((W, F, VIEWS))
    basis = np.stack(q[:steps], axis=2)  # [W, F, steps]
    for f in range(F):
        off = np.array([b[f] for b in beside[: steps - 1]])
        _, vectors = np.linalg.eigh(np.diag([d[f] for d in diagonal]) + np.diag(off, 1) + np.diag(off, -1))
        for j in range(min(VIEWS, steps)):
            found[:, f, j] = np.einsum("ws,s->w", basis[:, f], vectors[:, -1 - j])
    return found


def unit(x: np.ndarray) -> np.ndarray:
    """Columns of length one; what is next to nothing becomes nothing."""
    size = np.sqrt((x**2).sum(axis=0))
    return np.where(size > 1e-9, x / np.where(size > 1e-9, size, 1.0), 0.0)


def minority(x: np.ndarray, slope: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """[F, VIEWS] signs that turn each view to the side of those who follow the consensus less."""
    n = np.maximum(inside.sum(axis=0), 1)
    apart = (slope - (slope * inside).sum(axis=0) / n) * inside
    return np.where(np.einsum("wf,wfv->fv", apart, x) > 0, -1.0, 1.0)


def of_their_own(looked: Looked, inside: np.ndarray) -> Looked:
    """Without the views of people who follow the consensus like those who make it."""
    held, slope = inside[:, looked.fold], looked.slope[:, looked.fold].clip(0)
    usual, mine = mean(slope, slope * held), mean(slope, looked.x * held)
    return replace(looked, x=looked.x * (mine < LESS * usual))


def mean(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    total = weight.sum(axis=0)
    return (x * weight).sum(axis=0) / np.where(total > 0, total, 1.0)


def refined(
    answers: Answers,
    looked: Looked,
    x: np.ndarray,
    scale: np.ndarray,
    square: np.ndarray,
    n: np.ndarray,
    inside: np.ndarray,
    freedom: int,
) -> Looked:
    """Let only those count whose residuals go with the view; at last also workers of the fold, seen from outside."""
    W, F, V = x.shape
    fold = np.repeat(np.arange(F), V)
    held, scale, size, often = inside[:, fold], scale[:, fold], square[:, fold], np.maximum(n[:, fold], 1)
    x = x.reshape(W, F * V) * held * scale
    for turn in range(ROUNDS + 1):
        found = answers.fold(along, replace(looked, x=x, fold=fold))
        gained = found.y - x * size
        around = found.square - 2 * x * found.y + x**2 * size  # of the view without the worker
        sd = np.sqrt(np.maximum(around, 0) * size / often / freedom)
        known = sd > 1e-12
        z = np.where(known, gained / np.where(known, sd, 1.0), 0.0)
        tell("views", turn + 1, ROUNDS + 1, float(z.max(initial=0.0)))
        new = np.maximum(z, 0)
        length = np.sqrt(((new * held) ** 2).sum(axis=0))
        new = new * scale / np.where(length > 1e-9, length, np.inf)
        x = np.where(held > 0, x, new) if turn == ROUNDS else new * held
    return replace(looked, x=x, fold=fold)


# a worker beside the others -------------------------------------------------------------------------------------------


@dataclass
class Judged(Looked):
    everybody: np.ndarray = by_worker(default=None)  # [W, F] weights of all
    own: np.ndarray = by_worker(default=None)  # [W] fold of each worker
    shares: np.ndarray = by_worker(default=None)  # [W, D] mean of what the worker says where others answer too


@dataclass
class Company:
    n: np.ndarray = by_worker()  # [W] answers about tasks that others answer too
    said: np.ndarray = by_worker()  # [W, D]
    square: np.ndarray = by_worker()  # [W] of what is said


@dataclass
class Beside:
    """Sums for the worker's answers beside the consensus (column 0) and the views."""

    together: np.ndarray = by_worker()  # [W, 1 + V]
    heard: np.ndarray = by_worker()  # [W, 1 + V, D]
    square: np.ndarray = by_worker()  # [W, 1 + V, D]
    expected: np.ndarray = by_worker()  # [W, 1 + V] squares of what the worker's shares would give
    table: np.ndarray | None = by_worker()  # [W, K, K] the consensus' class and the worker's


def company(shard: Shard, params: Asked) -> Company:
    W = len(params.weight)
    found = Company(np.zeros(W), np.zeros((W, shard.classes if params.scaling is None else 1)), np.zeros(W))
    for b in blocks(shard, params.scaling):
        shared = (np.diff(b.start).take(b.task) > 1).astype(float)
        own = b.own(shared)
        found.n += b.by_worker(shared)
        found.said += b.sums(own, shared)
        found.square += b.by_worker(np.einsum("uk,uk->u", own, own))
    return found


def beside(shard: Shard, params: Judged) -> Beside:
    W, K = len(params.own), shard.classes if params.scaling is None else 0
    D = K or 1
    V = 1 + VIEWS
    found = Beside(np.zeros((W, V)), np.zeros((W, V, D)), np.zeros((W, V, D)), np.zeros((W, V)), None)
    table = np.zeros(W * K * K)
    for b in blocks(shard, params.scaling):
        mine = params.own[b.worker]
        for f in np.unique(mine):
            units = np.flatnonzero(mine == f)
            everybody = voice(b, params.everybody[:, f])
            consensus = everybody.without(b)
            outside = voice(b, params.weight[:, f])
            r = residuals(b, outside, params.slope[:, f], params.offset[:, f])
            tables = [consensus]
            for c in np.flatnonzero(params.fold == f):
                s = view(b, outside, params.x[:, c], params.slope[:, f], params.offset[:, f])
                tables.append(s.take(b.task, axis=0) - params.x[b.worker, c][:, None] * r)
            chosen = (mine == f) * (np.diff(b.start).take(b.task) > 1).astype(float)
            shares = params.shares[b.worker]
            for j, z in enumerate(tables):
                found.together[:, j] += b.by_worker(b.at(z) * chosen)
                found.heard[:, j] += b.sums(z, chosen)
                found.square[:, j] += b.sums(z**2, chosen)
                found.expected[:, j] += b.by_worker(np.einsum("uk,uk->u", shares, z) ** 2 * chosen)
            if K:
                best = consensus[units].argmax(axis=1)
                full = np.zeros(len(mine), np.int64)
                full[units] = best
                y = b.y * b.of_rows(chosen)
                key = (b.of_rows(b.worker * np.int64(K) + full)) * K + b.column
                table += spread(y, key, None, W * K * K)[0]
    return replace(found, table=table.reshape(W, K, K) if K else None)


def judged(heard: Heard, shares: np.ndarray) -> Judged:
    near = heard.looked
    return Judged(
        near.weight, near.scaling, near.slope, near.offset, near.x, near.fold, heard.weight, heard.fold, shares
    )
