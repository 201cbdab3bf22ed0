"""KOS: messages between workers and tasks on the graph of answers, class by class.

    L[t, w] = +1 where w says the class, -1 where another
    x[t to w] = sum over the others w' on t of L[t, w'] y[w' to t]
    y[w to t] = sum over the others t' of w of L[t', w] x[t' to w]
    score[t]  = sum over w of L[t, w] y[w to t];  the sign decides, or with several classes the largest

Starting from y = 1 a message is x[t to w] = A[t] - L[t, w] C[w], so a round needs one number a task and one a worker and none an
answer. Scores are not probabilities: `prob` is sigma(score in units of its root mean square), good for ordering only.
Two classes are what the method is made for; more are taken one against the rest.

Family: message passing
Needs: workers
Reference: Karger, Oh and Shah (2011), Iterative learning for reliable crowdsourcing systems, NIPS.
Also: KOS; iterations=n_iter, max_iter
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Coins
from ...core.consensus import Consensus, first_best
from ...core.fold import by_task, by_worker, whole
from ...kernels import skills, votes
from ...kernels.em import check, tell
from ...kernels.rows import normalise, softmax_logsum


@dataclass
class Messages:
    task: np.ndarray = by_task()  # A [T, C], of which x = A - L B
    worker: np.ndarray = by_worker()  # C [W, C], of which y = C - L A
    last: bool = whole(default=False)


@dataclass
class Round:
    task: np.ndarray = by_task()  # the next A, or the scores
    worker: np.ndarray | None = by_worker(default=None)  # sum over tasks of L A


def step(shard: Shard, params: Messages) -> Round:
    """A'[t] = sum over w of L C[w] - (d[t] - 1) A[t], or without the -1 the score; then each worker's sum of L A'."""
    columns = params.worker.shape[1]
    sign = 2 * np.eye(shard.classes)[:, -columns:] - 1  # [K, C]: two classes need one column only
    said = (params.worker[:, None, :] * sign).reshape(-1, columns)  # [w * K, C]
    degree = shard.per_task()[:, None]
    if params.last:
        return Round(shard.said @ said - degree * params.task)
    task = shard.said @ said - (degree - 1) * params.task
    back = (shard.said.T @ task).reshape(len(shard.workers), shard.classes, columns)
    return Round(task, (back * sign).sum(axis=1))


def kos(answers: Answers, *, iterations: int = 100) -> Consensus:
    """Pass messages for a number of rounds, then take the sign.

    Parameters
    ----------
    iterations
        Rounds of messages.
    """
    check(iterations=iterations)
    tasks, workers, classes = len(answers.tasks), len(answers.workers), len(answers.classes)
    columns = classes - 1 if classes == 2 else classes
    n, answered = answers.per_worker()[:, None], max(int((answers.per_task() > 0).sum()), 1)
    # before the first round every message y is 1 whatever the task: A = 0, C = 1
    task, worker = np.zeros((tasks, columns)), np.ones((workers, columns))
    for turn in range(iterations):
        found = answers.fold(step, Messages(task, worker))
        task, worker = found.task, found.worker - (n - 1) * worker
        size = root_mean_square(task, answered)
        task /= size
        worker /= size
        tell("root mean square of the messages", turn + 1, iterations, float(size.mean()))
    counts = answers.counts()
    agree = 2 * counts[:, classes - columns :]
    agree -= counts.sum(axis=1, keepdims=True)  # sum over the workers of a task of L
    mean = (worker * n).sum(axis=0) - np.einsum(
        "tc,tc->c", task, agree
    )  # of the messages y: workers are right on the whole
    del agree
    score = answers.fold(step, Messages(task, worker, last=True)).task
    del task
    score *= np.where(mean < -1e-9 * answers.n, -1, 1) / root_mean_square(score, answered)
    if classes == 2:
        score = np.concatenate([-score / 2, score / 2], axis=1)
    undecided = np.flatnonzero(np.ptp(score, axis=1) < 1e-9) if classes else np.zeros(0, np.int64)
    probs = softmax_logsum(score)[0] if classes else score
    probs[undecided] = normalise(counts[undecided])
    chosen = first_best(probs)
    right = answers.fold(votes.agreement, votes.Outcome(chosen)).right / np.maximum(n[:, 0], 1)
    return Consensus.of(
        answers,
        probs=probs,
        channel=Coins(right),
        skill=skills.of_shares(answers, right, note="share of answers that equal the outcome"),
    )


def root_mean_square(rows: np.ndarray, answered: int) -> np.ndarray:
    """Of each column over the answered tasks (the others hold zeros); 1 where there is nothing to measure."""
    size = np.sqrt(np.einsum("tc,tc->c", rows, rows) / answered)
    return np.where(size > 0, size, 1)
