"""Slow, obvious versions of the methods: plain loops, one equation at a time, to hold the fast ones against.

Every function takes `answers`, a list of (task, worker, label) in codes from 0 (a worker may answer a task more than
once), then the numbers of tasks, workers and classes, and returns a dict. `probs[t][k]` and `labels[t]` are what it
believes of the tasks, `confusions[w][k][l]` is P(worker w says l | truth is k), `trace` the objective after each round,
`rounds` how many there were. `tol` is in total, not per task: stop when the objective moves by no more; None runs all
`iterations`. Ties go to the lowest class. A task without answers starts uniform and is then believed to be like the
others (the prior); it counts in every mean over tasks. `gold` is a dict of the tasks whose class is known.
"""

import math
from functools import cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import digamma, gammaln
from scipy.stats import f as f_distribution

TINY = 1e-300


# -------------------------------------------------------------------------------------------------------- small pieces

def log(p):
    return math.log(max(p, TINY))


def logsumexp(values):
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def normalise(row):
    """The row divided by its sum; without mass, uniform."""
    total = sum(row)
    return [v / total for v in row] if total > 0 else [1 / len(row)] * len(row)


def best(row):
    return max(range(len(row)), key=lambda k: (row[k], -k))


def onehot(k, n_classes):
    return [float(k == m) for m in range(n_classes)]


def grid(*shape):
    return np.zeros(shape).tolist()


def votes(answers, n_tasks, n_classes, weights=None):
    """Sum of the (weighted) votes for each class of each task."""
    table = grid(n_tasks, n_classes)
    for t, w, k in answers:
        table[t][k] += 1 if weights is None else weights[w]
    return table


def shares(answers, n_tasks, n_classes):
    return [normalise(row) for row in votes(answers, n_tasks, n_classes)]


def accuracy(answers, n_workers, labels):
    """Share of each worker's answers that equal the labels; 0 without answers."""
    right, n = [0] * n_workers, [0] * n_workers
    for t, w, k in answers:
        n[w] += 1
        right[w] += k == labels[t]
    return [r / m if m else 0.0 for r, m in zip(right, n, strict=True)]


def mass(answers, n_workers, n_classes, probs):
    """Expected counts: mass[w][k][l] = sum over w's answers l of P(truth is k)."""
    table = grid(n_workers, n_classes, n_classes)
    for t, w, label in answers:
        for k in range(n_classes):
            table[w][k][label] += probs[t][k]
    return table


def posterior(answers, log_prior, log_confusions, n_tasks, gold=None):
    """P(truth | answers) and the log-evidence of each task; a gold task has its class, and that class's evidence."""
    joint = [list(log_prior) for _ in range(n_tasks)]
    for t, w, label in answers:
        for k in range(len(log_prior)):
            joint[t][k] += log_confusions[w][k][label]
    probs, evidence = list(map(softmax, joint)), list(map(logsumexp, joint))
    for t, k in (gold or {}).items():
        probs[t], evidence[t] = onehot(k, len(log_prior)), joint[t][k]
    return probs, evidence


def believed(probs, **more):
    return {"probs": probs, "labels": [best(row) for row in probs], **more}


def beginning(answers, n_tasks, n_classes, start=None, gold=None):
    """Vote shares, or the given beliefs, or with "mv" all on the majority label; gold tasks have their class."""
    probs = shares(answers, n_tasks, n_classes) if start in (None, "mv") else start
    probs = [onehot(best(row), n_classes) if start == "mv" else list(row) for row in probs]
    for t, k in (gold or {}).items():
        probs[t] = onehot(k, n_classes)
    return probs


def softmax(row):
    total = logsumexp(row)
    return [math.exp(v - total) for v in row]


def settled(trace, tol):
    return tol is not None and len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tol


# ------------------------------------------------------------------------------------------------------- voting family

def mv(answers, n_tasks, n_workers, n_classes):
    counts = votes(answers, n_tasks, n_classes)
    ties = [t for t, row in enumerate(counts) if row.count(max(row)) > 1]
    return {"labels": [best(row) for row in counts], "ties": ties}


def ns(answers, n_tasks, n_workers, n_classes):
    return believed(shares(answers, n_tasks, n_classes))


def twothird(answers, n_tasks, n_workers, n_classes):
    """The majority label if it has two votes and two thirds of them, else -1."""
    counts = votes(answers, n_tasks, n_classes)
    return {"labels": [best(row) if max(row) >= 2 and 3 * max(row) >= 2 * sum(row) else -1 for row in counts]}


def iwmv(answers, n_tasks, n_workers, n_classes, *, iterations=10, transform=None):
    """Weigh each worker by the agreement with the labels so far, vote again. `li_yu` weighs by K * accuracy - 1."""
    labels = mv(answers, n_tasks, n_workers, n_classes)["labels"]
    for _ in range(iterations):
        skills = accuracy(answers, n_workers, labels)
        weights = [n_classes * s - 1 for s in skills] if transform == "li_yu" else skills
        counts = votes(answers, n_tasks, n_classes, weights)
        labels = [best(row) for row in counts]
    return {"labels": labels, "probs": [normalise(row) for row in counts], "skills": skills, "weights": weights}


def wawa(answers, n_tasks, n_workers, n_classes):
    return iwmv(answers, n_tasks, n_workers, n_classes, iterations=1)


def zbs(answers, n_tasks, n_workers, n_classes, *, iterations=100, rate=1.0, every=20):
    """Zero-based skill: move the skills a step towards the agreement with the vote they give."""
    skills = [1 / n_classes + 1e-5] * n_workers
    for step in range(1, iterations + 1):
        if step % every == 0:
            rate /= 2
        labels = [best(row) for row in votes(answers, n_tasks, n_classes, skills)]
        now = accuracy(answers, n_workers, labels)
        skills = [s + rate * (a - s) for s, a in zip(skills, now, strict=True)]
    return believed([normalise(row) for row in votes(answers, n_tasks, n_classes, skills)], skills=skills)


def wds(answers, n_tasks, n_workers, n_classes, **options):
    """Votes weighed by what Dawid-Skene thinks of the worker on that class; a task without weight is a zero row."""
    confusions = ds(answers, n_tasks, n_workers, n_classes, **options)["confusions"]
    table = grid(n_tasks, n_classes)
    for t, w, k in answers:
        table[t][k] += confusions[w][k][k]
    return believed([normalise(row) if sum(row) > 0 else row for row in table])


# --------------------------------------------------------------------------------------- Dawid-Skene and its relatives

def em(answers, n_tasks, n_workers, n_classes, fit, *, start=None, gold=None, iterations=100, tol=None, watch="trace",
       hard=False):
    """A round: parameters from the beliefs, beliefs from the parameters, the objective at those parameters.

    `fit(probs, mass)` gives prior, confusions and their log prior density. `trace` is `loglik` and that density; `tol`
    looks at the one called `watch`. `hard` puts all belief on the best class after every round.
    """
    probs = beginning(answers, n_tasks, n_classes, start, gold)
    trace, loglik = [], []
    for _ in range(iterations):
        prior, confusions, density = fit(probs, mass(answers, n_workers, n_classes, probs))
        logs = [[[log(p) for p in row] for row in matrix] for matrix in confusions]
        soft, evidence = posterior(answers, [log(p) for p in prior], logs, n_tasks, gold)
        probs = [onehot(best(row), n_classes) for row in soft] if hard else soft
        loglik.append(sum(evidence))
        trace.append(sum(evidence) + density)
        if settled(loglik if watch == "loglik" else trace, tol):
            break
    return believed(probs, soft=soft, prior=prior, confusions=confusions, trace=trace, loglik=loglik, rounds=len(trace))


def mean_of(probs):
    return [sum(column) / len(probs) for column in zip(*probs, strict=True)]


def ds(answers, n_tasks, n_workers, n_classes, *, smoothing=0.0, **how):
    """One matrix a worker. The trace of a smoothed fit is penalised: smoothing * sum of log confusions."""
    def fit(probs, counts):
        confusions = [[normalise([c + smoothing for c in row]) for row in matrix] for matrix in counts]
        density = smoothing * sum(log(p) for matrix in confusions for row in matrix for p in row) if smoothing else 0.0
        return mean_of(probs), confusions, density
    return em(answers, n_tasks, n_workers, n_classes, fit, **how)


def fastds(answers, n_tasks, n_workers, n_classes, **how):
    """Dawid-Skene with all belief on one class after every E-step; `soft` and `loglik` are from before that."""
    return ds(answers, n_tasks, n_workers, n_classes, hard=True, **how)


def ratio(a, b, otherwise):
    return a / b if b > 0 else otherwise


def spread(theta, n_classes):
    """theta[k] on the diagonal, the rest of each row shared equally."""
    return [[theta[k] if k == m else (1 - theta[k]) / (n_classes - 1) for m in range(n_classes)]
            for k in range(n_classes)]


def prevalent(theta, prior):
    """theta[k] on the diagonal, the rest of each row shared as the other classes' prevalence."""
    n = len(prior)
    return [[theta[k] if k == m else ratio((1 - theta[k]) * prior[m], 1 - prior[k], (1 - theta[k]) / (n - 1))
             for m in range(n)] for k in range(n)]


def right_by_class(counts):
    n = len(counts)
    return [ratio(counts[k][k], sum(counts[k]), 1 / n) for k in range(n)]


def right_at_all(counts):
    n = len(counts)
    return [ratio(sum(counts[k][k] for k in range(n)), sum(map(sum, counts)), 1 / n)] * n


def summed(counts):
    return np.array(counts).sum(axis=0).tolist()


def tied(answers, n_tasks, n_workers, n_classes, theta=right_by_class, *, pooled=False, flat=False, **how):
    """Reduced matrices: `theta` is how often right, `pooled` one set for all, `flat` spreads errors as prevalence."""
    def fit(probs, counts):
        prior = mean_of(probs)
        counts = [summed(counts)] * n_workers if pooled else counts
        rows = [prevalent(theta(c), prior) if flat else spread(theta(c), n_classes) for c in counts]
        return prior, rows, 0.0
    return em(answers, n_tasks, n_workers, n_classes, fit, **how)


def onecoin(answers, n_tasks, n_workers, n_classes, **how):
    """One accuracy a worker, errors equally likely."""
    out = tied(answers, n_tasks, n_workers, n_classes, right_at_all, **how)
    return out | {"skills": [matrix[0][0] for matrix in out["confusions"]]}


def pooled(answers, n_tasks, n_workers, n_classes, *, shape="matrix", **how):
    """One set of parameters for all workers: a matrix, a diagonal, or one accuracy."""
    if shape != "matrix":
        theta = {"diagonal": right_by_class, "one": right_at_all}[shape]
        return tied(answers, n_tasks, n_workers, n_classes, theta, pooled=True, **how)
    def fit(probs, counts):
        return mean_of(probs), [[normalise(row) for row in summed(counts)]] * n_workers, 0.0
    return em(answers, n_tasks, n_workers, n_classes, fit, **how)


def flat(answers, n_tasks, n_workers, n_classes, *, shape="one", pooled=False, **how):
    """Errors in proportion to prevalence; its likelihood may fall."""
    theta = {"diagonal": right_by_class, "one": right_at_all}[shape]
    return tied(answers, n_tasks, n_workers, n_classes, theta, pooled=pooled, flat=True, **how)


def classcond(answers, n_tasks, n_workers, n_classes, *, alpha=1.0, right=1.0, wrong=1.0, **how):
    """An accuracy for each worker and class, ~ Beta(right, wrong); prior ~ Dirichlet(alpha). Ones give the MLE."""
    def fit(probs, counts):
        prior = normalise([sum(column) + alpha - 1 for column in zip(*probs, strict=True)])
        theta = [[ratio(c[k][k] + right - 1, sum(c[k]) + right + wrong - 2, 1 / n_classes) for k in range(n_classes)]
                 for c in counts]
        density = sum((alpha - 1) * log(p) for p in prior) if alpha != 1 else 0.0
        if (right, wrong) != (1, 1):
            density += sum((right - 1) * log(p) + (wrong - 1) * log(1 - p) for row in theta for p in row)
        return prior, [spread(row, n_classes) for row in theta], density
    out = em(answers, n_tasks, n_workers, n_classes, fit, **how)
    return out | {"theta": [[matrix[k][k] for k in range(n_classes)] for matrix in out["confusions"]]}


# -------------------------------------------------------------------------------------------------- variational family

def log_beta(alpha):
    return sum(gammaln(a) for a in alpha) - gammaln(sum(alpha))


def mean_log(alpha):
    """E log p under Dirichlet(alpha)."""
    return [digamma(a) - digamma(sum(alpha)) for a in alpha]


def dirichlet_kl(alpha, base):
    moved = sum((a - b) * e for a, b, e in zip(alpha, base, mean_log(alpha), strict=True))
    return log_beta(base) - log_beta(alpha) + moved


def plus(row, other):
    return [a + b for a, b in zip(row, other, strict=True)]


def diagonal(n_classes, off=0.5, more=2.0):
    return [[off + more * (k == m) for m in range(n_classes)] for k in range(n_classes)]


def bcc(answers, n_tasks, n_workers, n_classes, *, prior=1.0, matrix=None, gold=None, iterations=100, tol=None):
    """Bayesian Dawid-Skene: q(prior) = Dir(nu), q(confusions[w, k]) = Dir(A[w, k]). ELBO right after the beliefs."""
    base, nu0 = matrix or diagonal(n_classes), [prior] * n_classes
    probs, trace = beginning(answers, n_tasks, n_classes, gold=gold), []
    for _ in range(iterations):
        nu = plus(nu0, [sum(column) for column in zip(*probs, strict=True)])
        A = [[plus(base[k], row) for k, row in enumerate(c)] for c in mass(answers, n_workers, n_classes, probs)]
        e = [[mean_log(row) for row in matrix] for matrix in A]
        probs, evidence = posterior(answers, mean_log(nu), e, n_tasks, gold)
        kl = dirichlet_kl(nu, nu0) + sum(dirichlet_kl(row, base[k]) for a in A for k, row in enumerate(a))
        trace.append(sum(evidence) - kl)
        if settled(trace, tol):
            break
    return believed(probs, prior=normalise(nu), confusions=[[normalise(row) for row in a] for a in A], trace=trace,
                    rounds=len(trace))


def cbcc(answers, n_tasks, n_workers, n_classes, communities, *, weights=None, prior=1.0, iterations=100, tol=None):
    """Workers belong to communities, each a Dirichlet over every row. ELBO after memberships and nu, before beliefs."""
    M = len(communities)
    weights, nu0 = weights or [1 / M] * M, [prior] * n_classes
    probs, trace = shares(answers, n_tasks, n_classes), []
    for _ in range(iterations):
        counts = mass(answers, n_workers, n_classes, probs)
        score = [[log(weights[m]) + sum(log_beta(plus(communities[m][k], c[k])) - log_beta(communities[m][k])
                                        for k in range(n_classes)) for m in range(M)] for c in counts]
        member = [softmax(row) for row in score]
        nu = plus(nu0, [sum(column) for column in zip(*probs, strict=True)])
        entropy = -sum(p * log(p) for row in probs for p in row)
        trace.append(entropy + log_beta(nu) - log_beta(nu0) + sum(logsumexp(row) for row in score))
        log_confusions, confusions = grid(n_workers, n_classes, n_classes), grid(n_workers, n_classes, n_classes)
        for w in range(n_workers):
            for m in range(M):
                for k in range(n_classes):
                    row = plus(communities[m][k], counts[w][k])
                    for label in range(n_classes):
                        log_confusions[w][k][label] += member[w][m] * mean_log(row)[label]
                        confusions[w][k][label] += member[w][m] * row[label] / sum(row)
        probs, _ = posterior(answers, mean_log(nu), log_confusions, n_tasks)
        if settled(trace, tol):
            break
    return believed(probs, member=member, prior=normalise(nu), confusions=confusions, trace=trace, rounds=len(trace))


def hds(answers, n_tasks, n_workers, n_classes, *, prior=1.0, shape=2.0, rate=1.0, iterations=200, tol=None):
    """Hierarchical: every worker's row k ~ Dir(a[k]), a[k][l] ~ Gamma(shape, rate) estimated from all workers."""
    a, nu0 = diagonal(n_classes), [prior] * n_classes
    probs, trace = shares(answers, n_tasks, n_classes), []
    for _ in range(iterations):
        nu = plus(nu0, [sum(column) for column in zip(*probs, strict=True)])
        A = [[plus(a[k], row) for k, row in enumerate(c)] for c in mass(answers, n_workers, n_classes, probs)]
        e = [[mean_log(row) for row in matrix] for matrix in A]
        a = [[population(sum(a[k]), [e[w][k][m] for w in range(n_workers)], shape, rate) for m in range(n_classes)]
             for k in range(n_classes)]
        probs, evidence = posterior(answers, mean_log(nu), e, n_tasks)
        kl = dirichlet_kl(nu, nu0) + sum(dirichlet_kl(row, a[k]) for matrix in A for k, row in enumerate(matrix))
        constant = shape * math.log(rate) - gammaln(shape)
        hyper = sum(constant + (shape - 1) * math.log(v) - rate * v for row in a for v in row)
        trace.append(sum(evidence) - kl + hyper)
        if settled(trace, tol):
            break
    return believed(probs, prior=normalise(nu), population=a, newcomer=[normalise(row) for row in a], trace=trace,
                    confusions=[[normalise(row) for row in matrix] for matrix in A], rounds=len(trace))


def population(S, e, shape, rate):
    """Where n (digamma(S) - digamma(x) + mean of e) + (shape - 1) / x - rate, which falls in x, crosses zero."""
    def falling(u):
        x = math.exp(u)
        return len(e) * (digamma(S) - digamma(x)) + sum(e) + (shape - 1) / x - rate
    return math.exp(brentq(falling, -30, 30, xtol=1e-14))


def dswc(answers, n_tasks, n_workers, n_classes, *, clusters=2, iterations=10_000, tol=1e-4, delta=1e-10):
    """Dawid-Skene with worker clusters: theta over classes, phi over clusters, one matrix a cluster; mean field.

    Every count is its number plus delta, those of cells without an answer too: what the deltas of all cells add is kept
    apart. Stops when the ELBO rises by less than `tol`. Without the restarts for beliefs that all fall in one class.
    """
    T, W, K, L = range(n_tasks), range(n_workers), range(n_classes), range(clusters)
    theta = shares(answers, n_tasks, n_classes)
    size = [sum(column) for column in zip(*theta, strict=True)]             # tasks in each class
    own = [[normalise([c + delta * size[k] for c in row]) for k, row in enumerate(counts)]
           for counts in mass(answers, n_workers, n_classes, theta)]
    nuclear = [sum(np.linalg.svd(np.array(matrix), compute_uv=False)) for matrix in own]
    order = sorted(W, key=lambda w: -nuclear[w])
    groups = [order[n_workers * c // clusters:n_workers * (c + 1) // clusters] for c in L]
    phi = [[float(w in groups[c]) for c in L] for w in W]
    matrices = [[[clusters / n_workers * sum(own[w][k][m] for w in groups[c]) for m in K] for k in K] for c in L]
    rho, tau, trace = mean_of(theta), mean_of(phi), []
    for _ in range(iterations):
        logs = [[[math.log(p + delta) for p in row] for row in matrix] for matrix in matrices]
        cells = [[delta * sum(logs[c][k]) for k in K] for c in L]           # from the deltas of one task and worker
        size, members = [sum(column) for column in zip(*theta, strict=True)], [sum(c) for c in zip(*phi, strict=True)]
        of_task = [[math.log(rho[k] + delta) + sum(cells[c][k] * members[c] for c in L) for k in K] for _ in T]
        of_worker = [[math.log(tau[c] + delta) + sum(cells[c][k] * size[k] for k in K) for c in L] for _ in W]
        for t, w, m in answers:
            for k in K:
                for c in L:
                    of_task[t][k] += phi[w][c] * logs[c][k][m]
                    of_worker[w][c] += theta[t][k] * logs[c][k][m]
        theta, phi = [softmax(row) for row in of_task], [softmax(row) for row in of_worker]
        size, members = [sum(column) for column in zip(*theta, strict=True)], [sum(c) for c in zip(*phi, strict=True)]
        counts = [[[delta * size[k] * members[c] for _ in K] for k in K] for c in L]
        for t, w, m in answers:
            for k in K:
                for c in L:
                    counts[c][k][m] += theta[t][k] * phi[w][c]
        matrices = [[normalise(row) for row in matrix] for matrix in counts]
        rho, tau = mean_of(theta), mean_of(phi)
        trace.append(sum(counts[c][k][m] * math.log(matrices[c][k][m] + delta) for c in L for k in K for m in K)
                     + sum(row[k] * (math.log(rho[k] + delta) - math.log(row[k] + delta)) for row in theta for k in K)
                     + sum(row[c] * (math.log(tau[c] + delta) - math.log(row[c] + delta)) for row in phi for c in L))
        if len(trace) > 1 and 0 <= trace[-1] - trace[-2] < tol:
            break
    cluster = [best(row) for row in phi]
    return believed(theta, cluster=cluster, confusions=[matrices[c] for c in cluster], trace=trace, rounds=len(trace))


# ------------------------------------------------------------------------------------------ worker and task parameters

def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def log_sigmoid(x):
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def glad(answers, n_tasks, n_workers, n_classes, *, iterations=500, tol=1e-10):
    """P(w is right on t) = sigmoid(alpha[w] exp(b[t])), both N(1, 1), errors equally likely; the M-step solved fully.

    Stops when no belief moves by `tol`. Large b means easy. `trace` is the log-posterior without constants.
    """
    alpha, b, trace, before = [1.0] * n_workers, [1.0] * n_tasks, [], None

    def ridge():
        return -sum((a - 1) ** 2 for a in alpha) / 2 - sum((x - 1) ** 2 for x in b) / 2

    for _ in range(iterations):
        joint = [[-math.log(n_classes)] * n_classes for _ in range(n_tasks)]
        for t, w, m in answers:
            x = alpha[w] * math.exp(b[t])
            for k in range(n_classes):
                joint[t][k] += log_sigmoid(x) if k == m else log_sigmoid(-x) - math.log(n_classes - 1)
        probs = [softmax(row) for row in joint]
        trace.append(sum(map(logsumexp, joint)) + ridge())
        if before and np.abs(np.array(probs) - np.array(before)).max() < tol:
            break
        before = probs
        found = minimize(glad_loss, np.array(alpha + b), (answers, probs, n_workers), jac=True, method="L-BFGS-B",
                         options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}).x.tolist()
        alpha, b = found[:n_workers], found[n_workers:]
    return believed(probs, alpha=alpha, b=b, trace=trace, rounds=len(trace))


def glad_loss(point, answers, probs, n_workers):
    """-Q as far as it depends on the point (all alpha, then all b), and its gradient."""
    value, slope = sum((x - 1) ** 2 for x in point) / 2, point - 1
    for t, w, m in answers:
        easy, p = math.exp(point[n_workers + t]), probs[t][m]
        x = point[w] * easy
        value -= p * log_sigmoid(x) + (1 - p) * log_sigmoid(-x)
        slope[w] -= (p - sigmoid(x)) * easy
        slope[n_workers + t] -= (p - sigmoid(x)) * x
    return value, slope


def mace(answers, n_tasks, n_workers, n_classes, *, spam=None, habit=None, variational=False, smoothing=None,
         iterations=50, beta=(0.5, 0.5), habit_prior=10.0):
    """Worker w spams with probability spam[w] and then says l with habit[w][l], else tells the truth; uniform classes.

    A round: beliefs and the objective at the parameters, then new parameters; beliefs once more at the end. `trace` is
    the log-likelihood, one more than rounds; `penalised` adds what smoothing adds and never falls with EM.
    """
    spam = spam or [0.5] * n_workers
    habit = habit or [[1 / n_classes] * n_classes for _ in range(n_workers)]
    delta = 0.01 / n_classes if smoothing is None else smoothing
    trace, penalised = [], []
    for step in range(iterations + 1):
        joint = [[-math.log(n_classes)] * n_classes for _ in range(n_tasks)]
        for t, w, m in answers:
            for k in range(n_classes):
                joint[t][k] += log(spam[w] * habit[w][m] + (1 - spam[w]) * (k == m))
        probs = [softmax(row) for row in joint]
        trace.append(sum(map(logsumexp, joint)))
        density = sum(log(s) + log(1 - s) for s in spam) + sum(log(p) for row in habit for p in row)
        penalised.append(trace[-1] + delta * density)
        if step == iterations:
            break
        spams, tells, said = [0.0] * n_workers, [0.0] * n_workers, grid(n_workers, n_classes)
        for t, w, m in answers:
            by_chance = spam[w] * habit[w][m]
            p = sum(probs[t][k] * by_chance / max(by_chance + (1 - spam[w]) * (k == m), TINY) for k in range(n_classes))
            spams[w] += p
            tells[w] += 1 - p
            said[w][m] += p
        if variational:
            spam = [normalise([math.exp(digamma(a + beta[0])), math.exp(digamma(b + beta[1]))])[0]
                    for a, b in zip(spams, tells, strict=True)]
            habit = [normalise([math.exp(digamma(c + habit_prior)) for c in row]) for row in said]
        else:
            spam = [ratio(a + delta, a + b + 2 * delta, 0.5) for a, b in zip(spams, tells, strict=True)]
            habit = [normalise([c + delta for c in row]) for row in said]
    return believed(probs, skills=[1 - s for s in spam], spam=spam, habit=habit, trace=trace, penalised=penalised)


def kos(answers, n_tasks, n_workers, n_classes, *, start=None, iterations=100):
    """Messages between tasks and workers, one class against the rest. A worker's repeats on a task add up to one edge.

    `start[t, w]` is the first message from worker to task, 1 if not given. `positive` counts tasks with a score over 0.
    """
    scores = grid(n_tasks, n_classes)
    for k in range(n_classes):
        edge = {}
        for t, w, m in answers:
            edge[t, w] = edge.get((t, w), 0) + (1 if m == k else -1)
        of_task = [[w for u, w in edge if u == t] for t in range(n_tasks)]
        of_worker = [[t for t, v in edge if v == w] for w in range(n_workers)]
        y = {e: start[e] if start else 1.0 for e in edge}
        for _ in range(iterations):
            x = {(t, w): sum(edge[t, v] * y[t, v] for v in of_task[t] if v != w) for t, w in edge}
            y = {(t, w): sum(edge[u, w] * x[u, w] for u in of_worker[w] if u != t) for t, w in edge}
            size = math.sqrt(sum(v * v for v in y.values()) / len(y))
            y = {e: v / size for e, v in y.items()} if size > 0 else y
        sign = -1 if sum(y.values()) < -1e-9 * len(y) else 1
        for (t, w), message in y.items():
            scores[t][k] += sign * edge[t, w] * message
    majority = mv(answers, n_tasks, n_workers, n_classes)["labels"]
    return {"scores": scores, "labels": [best(row) if any(row) else majority[t] for t, row in enumerate(scores)],
            "positive": [sum(row[k] > 0 for row in scores) for k in range(n_classes)]}


def mmsr(answers, n_tasks, n_workers, n_classes, *, iterations=10_000, tol=1e-10):
    """Skills from a robust rank-one fit of the workers' agreement, then a vote with weights log(p (K - 1) / (1 - p)).

    A worker with nobody to compare gets s = 0, that is weight 0.
    """
    W, K = range(n_workers), n_classes
    same, both = grid(n_workers, n_workers), grid(n_workers, n_workers)
    for t, w, m in answers:
        for u, v, label in answers:
            if t == u and w != v:
                both[w][v] += 1
                same[w][v] += m == label
    C = [[K / (K - 1) * same[w][v] / both[w][v] - 1 / (K - 1) if both[w][v] else 0.0 for v in W] for w in W]
    near = [[v for v in W if both[w][v]] for w in W]
    drop = max(min(len(n) for n in near) // 2 - 1, 0)

    def trimmed(values, now):
        below, above = sorted(v for v in values if v < now), sorted(v for v in values if v > now)
        kept = below[drop:] + [v for v in values if v == now] + above[:max(len(above) - drop, 0)]
        return sum(kept) / len(kept) if kept else now

    u, v = [1.0] * n_workers, [1.0] * n_workers
    for _ in range(iterations):
        old = [[a * b for b in v] for a in u]
        for w in W:
            v[w] = trimmed([abs(C[i][w]) / u[i] for i in near[w]], v[w]) or 1 / math.sqrt(n_tasks)
        for w in W:
            u[w] = trimmed([abs(C[w][j]) / v[j] for j in near[w]], u[w]) or 1 / math.sqrt(n_tasks)
        if math.sqrt(sum((u[i] * v[j] - old[i][j]) ** 2 for i in W for j in W)) < tol:
            break
    scale = math.sqrt(math.sqrt(sum(a * a for a in u)) / math.sqrt(sum(a * a for a in v)))
    leading = np.linalg.eigh(np.array(C))[1][:, -1]
    s = [abs(u[w]) / scale * float(np.sign(leading[w])) if near[w] else 0.0 for w in W]
    s = [-a for a in s] if sum(s) < 0 else s
    margin = 1 / math.sqrt(n_tasks)
    s = [min(max(a, -1 / (K - 1) + margin), 1 - margin) for a in s]
    p = [a * (K - 1) / K + 1 / K for a in s]
    weights = [math.log(a * (K - 1) / (1 - a)) for a in p]
    labels = [best(row) for row in votes(answers, n_tasks, K, weights)]
    return {"agreement": C, "skills": p, "weights": weights, "labels": labels}


# ------------------------------------------------------------------------------------------------------------ PlantNet

def plantnet(answers, n_tasks, n_workers, n_classes, *, alpha=0.5, beta=0.2, iterations=100, ai=None, policy="ignored",
             ai_weight=1.0, scores=None, threshold=0.0, authors=None, confident=2.0, accurate=0.7, keep=False):
    """Weights grow with the classes a worker has identified; a task is valid if its label has weight and share enough.

    `ai` is the code of the worker that is a machine, `scores[t]` its certainty. Policies: ignored; worker (as anybody);
    fixed (votes with `ai_weight`); confident (the same, but only where its score reaches `threshold`); invalidating
    (does not vote: on a task it has answered, its weight joins the denominator of the share when that takes the share
    below `accurate`). `authors[t]` is the worker whose task it is; without them nobody is an author.
    """
    people = [(t, w, k) for t, w, k in answers if w != ai or policy == "worker"]
    machine = [] if policy in ("ignored", "worker") else [(t, k) for t, w, k in answers if w == ai]
    if policy == "confident":
        machine = [(t, k) for t, k in machine if scores[t] >= threshold]
    answered = {t for t, *_ in people} | {t for t, _ in machine}

    def vote(n):
        weights = [m ** alpha - m ** beta + math.log(2.1) for m in n]
        support = votes(people, n_tasks, n_classes, weights)
        for t, k in machine if policy in ("fixed", "confident") else []:
            support[t][k] += ai_weight
        labels = [best(row) for row in support]
        conf = [row[k] for row, k in zip(support, labels, strict=True)]
        total = [sum(row) for row in support]
        for t, _ in machine if policy == "invalidating" else []:
            if conf[t] / (total[t] + ai_weight) < accurate:
                total[t] += ai_weight
        acc = [ratio(c, s, 0.0) for c, s in zip(conf, total, strict=True)]
        valid = [c > confident and a > accurate for c, a in zip(conf, acc, strict=True)]
        shown = [labels[t] if (valid[t] or keep) and t in answered else -1 for t in range(n_tasks)]
        return {"labels": shown, "conf": conf, "acc": acc, "valid": valid, "weights": weights,
                "identified": identified(people, n_workers, labels, valid, authors)}

    out = vote([0] * n_workers)
    for step in range(iterations):
        before, out = out["identified"], vote(out["identified"])
        if sum(abs(a - b) for a, b in zip(out["identified"], before, strict=True)) / n_tasks <= 1e-5 and step > 5:
            break
    return out


def identified(people, n_workers, labels, valid, authors):
    """Classes of valid tasks by an author who is right on them, and a tenth (rounded) of the others it was right on."""
    own, other = [set() for _ in range(n_workers)], [set() for _ in range(n_workers)]
    for t, w, k in people:
        if k == labels[t]:
            (own if authors and authors[t] == w and valid[t] else other)[w].add(k)
    return [len(a) + round(0.1 * len(b - a)) for a, b in zip(own, other, strict=True)]


# ------------------------------------------------------------------------------------------------------------ CROWDLAB

def crowdlab(answers, n_tasks, n_workers, n_classes, guess, *, again=False):
    """Answers and a classifier's `guess[t][k]`, each weighed by how far it beats always saying the commonest class.

    `again` replaces the consensus by the best class of the result and computes everything once more.
    """
    labels = crowd_consensus(answers, n_tasks, n_workers, n_classes, guess)
    out = crowd_weights(answers, n_tasks, n_workers, n_classes, guess, labels)
    return crowd_weights(answers, n_tasks, n_workers, n_classes, guess, out["labels"]) if again else out


def crowd_consensus(answers, n_tasks, n_workers, n_classes, guess):
    """Majority; ties by the classifier, then the rarer class, then who agrees with untied tasks, then the lowest."""
    counts = votes(answers, n_tasks, n_classes)
    often = [sum(column) for column in zip(*counts, strict=True)]
    modes = [[k for k in range(n_classes) if row[k] == max(row)] for row in counts]
    clear = {t: ks[0] for t, ks in enumerate(modes) if len(ks) == 1}
    untied = [a for a in answers if a[0] in clear]
    trust = accuracy(untied, n_workers, clear)
    seen = {w for _, w, _ in untied}
    usual = sum(trust[w] for w in seen) / len(seen) if seen else 0.0
    trust = [trust[w] if w in seen else usual for w in range(n_workers)]

    def backing(t, k):
        who = [w for u, w, m in answers if (u, m) == (t, k)]
        return sum(trust[w] for w in who) / len(who) if who else 0.0

    return [max(ks, key=lambda k, t=t: (guess[t][k], -often[k], backing(t, k), -k)) for t, ks in enumerate(modes)]


def crowd_weights(answers, n_tasks, n_workers, n_classes, guess, labels):
    at = [[(w, k) for u, w, k in answers if u == t] for t in range(n_tasks)]
    multi = [t for t in range(n_tasks) if len(at[t]) > 1]
    answered = [t for t in range(n_tasks) if at[t]]
    mean_n = len(answers) / len(answered)
    P = sum(sum(k == labels[t] for _, k in at[t]) / len(at[t]) for t in multi) / len(multi)
    Q = (1 - P) / (n_classes - 1)
    common = best([sum(labels[t] == k for t in multi) for k in range(n_classes)])
    E = max(sum(labels[t] != common for t in multi) / len(multi), 1e-6)
    same, pairs = [0] * n_workers, [0] * n_workers
    for t in multi:
        for w, k in at[t]:
            for v, m in at[t]:
                if w != v:
                    pairs[w] += 1
                    same[w] += k == m
    known = [w for w in range(n_workers) if pairs[w]]
    usual = sum(same[w] / pairs[w] for w in known) / len(known)
    A = [same[w] / pairs[w] if pairs[w] else usual for w in range(n_workers)]
    weights = [max(1 - (1 - a) / E, 1e-6) for a in A]
    wrong = sum(best(guess[t]) != labels[t] for t in multi) / len(multi)
    model = max(1 - wrong / E, 1e-6) * math.sqrt(mean_n)
    probs = []
    for t in range(n_tasks):
        total = model + sum(weights[w] for w, _ in at[t])
        probs.append([(model * guess[t][k] + sum(weights[w] * (P if m == k else Q) for w, m in at[t])) / total
                      for k in range(n_classes)])
    omega = model / (model + sum(weights) * mean_n / n_workers)
    quality = []
    for w in range(n_workers):
        own = [(t, k) for t in range(n_tasks) for v, k in at[t] if v == w]
        shared = [k == labels[t] for t, k in own if len(at[t]) > 1]
        belief = sum(probs[t][k] for t, k in own) / len(own) if own else math.nan
        quality.append(omega * belief + (1 - omega) * (sum(shared) / len(shared) if shared else math.nan))
    return believed(probs, consensus=labels, weights=weights, model_weight=model, agreement=A, worker_quality=quality,
                    quality=[probs[t][labels[t]] for t in range(n_tasks)])


# ----------------------------------------------------------------------------------------------------- ordered answers

def interval(answers, n_tasks, n_workers, n_classes=None, *, scale=True, unit=1.0, iterations=5000, tol=None,
             start=None):
    """y = b[w] + a[w] z[t] + noise of variance s2[w], z ~ N(mu, tau2); answers are numbers. Closed-form EM.

    a ~ N(1, .25), b ~ N(0, unit^2), s2 ~ InvGamma(2, unit^2 / 2). `start` = (mu, tau2, a, b, s2). The first entry of
    the trace belongs to the start, so it has one more than rounds.
    """
    T, W = range(n_tasks), range(n_workers)
    sa2, sb2, shape, rate = 0.25, unit ** 2, 2.0, 0.5 * unit ** 2
    y = [v for _, _, v in answers]
    mean = sum(y) / len(y)
    variance = sum((v - mean) ** 2 for v in y) / len(y)
    mu, tau2, a, b, s2 = start or (mean, variance, [1.0 for _ in W], [0.0 for _ in W], [variance / 2 + 1e-6 for _ in W])

    def beliefs():
        v = [1 / (1 / tau2 + sum(a[w] ** 2 / s2[w] for u, w, _ in answers if u == t)) for t in T]
        m = [v[t] * (mu / tau2 + sum(a[w] * (x - b[w]) / s2[w] for u, w, x in answers if u == t)) for t in T]
        return m, v

    def loglik():
        total = 0.0
        for t in T:
            own = [(w, x) for u, w, x in answers if u == t]
            if own:
                cover = np.array([[tau2 * a[w] * a[v] + s2[w] * (i == j) for j, (v, _) in enumerate(own)]
                                  for i, (w, _) in enumerate(own)])
                gap = np.array([x - b[w] - a[w] * mu for w, x in own])
                total -= (gap @ np.linalg.solve(cover, gap) + np.linalg.slogdet(2 * math.pi * cover)[1]) / 2
        return float(total)

    def objective():
        return (loglik() - sum((x - 1) ** 2 for x in a) / (2 * sa2) - sum(x ** 2 for x in b) / (2 * sb2)
                - sum((shape + 1) * math.log(s) + rate / s for s in s2))

    trace, m, v = [objective()], *beliefs()
    for _ in range(iterations):
        mu = sum(m) / n_tasks
        tau2 = max(sum(v[t] + (m[t] - mu) ** 2 for t in T) / n_tasks, 1e-8)
        a, b, s2 = list(a), list(b), list(s2)
        for w in W:
            own = [(t, x) for t, u, x in answers if u == w]
            n, sm, sy = len(own), sum(m[t] for t, _ in own), sum(x for _, x in own)
            smm, smy = sum(v[t] + m[t] ** 2 for t, _ in own), sum(m[t] * x for t, x in own)
            if scale:
                left = [[smm / s2[w] + 1 / sa2, sm / s2[w]], [sm / s2[w], n / s2[w] + 1 / sb2]]
                a[w], b[w] = np.linalg.solve(left, [smy / s2[w] + 1 / sa2, sy / s2[w]]).tolist()
            else:
                b[w] = (sy - sm) / s2[w] / (n / s2[w] + 1 / sb2)
            left_over = sum((x - a[w] * m[t] - b[w]) ** 2 + a[w] ** 2 * v[t] for t, x in own)
            s2[w] = (2 * rate + left_over) / (2 * (shape + 1) + n)
        m, v = beliefs()
        trace.append(objective())
        if settled(trace, tol):
            break
    return {"value": m, "variance": v, "mu": mu, "tau2": tau2, "scale": a, "bias": b, "noise": s2, "trace": trace,
            "loglik": loglik(), "rounds": len(trace) - 1}


def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def between(low, high):
    """P(low < standard normal <= high), exact in both tails."""
    return phi(high) - phi(low) if low < 0 else phi(-low) - phi(-high)


def ordered(answers, n_tasks, n_workers, n_classes, *, scale=False, start=None, fit=True):
    """y = l if c[l] < a[w] z[t] + b[w] + noise of sd s[w] <= c[l + 1]; z on 41 points of [-4, 4], weights as N(0, 1).

    `start` = (c, a, b, s) with the K - 1 inner thresholds. The objective, log-likelihood and quadratic prior terms
    without constants, is climbed directly; `trace` holds its first and last value.
    """
    T, W, points = range(n_tasks), range(n_workers), [-4 + i / 5 for i in range(41)]
    weight = normalise([math.exp(-z * z / 2) for z in points])
    if start is None:
        share = [sum(k <= m for _, _, k in answers) / len(answers) for m in range(n_classes - 1)]
        c = [math.sqrt(2) * NormalDist().inv_cdf(min(max(p, 0.02), 0.98)) for p in share]
        start = c, [1.0] * n_workers, [0.0] * n_workers, [1.0] * n_workers
    c, a, b, s = start
    gaps = [math.log(max(high - low, 0.01)) for low, high in pairwise(c)]
    first = [c[0], *gaps, *b, *map(math.log, s), *map(math.log, a if scale else [])]
    at_b = 1 + len(gaps)
    at_s, at_a = at_b + n_workers, at_b + 2 * n_workers

    def unpack(x):
        c = [x[0]]
        for gap in x[1:at_b]:
            c.append(c[-1] + math.exp(gap))
        return c, list(map(math.exp, x[at_a:])) or a, x[at_b:at_s], list(map(math.exp, x[at_s:at_a]))

    def joint(c, a, b, s):
        edges = [-math.inf, *c, math.inf]
        upto = [[[(edge - a[w] * z - b[w]) / s[w] for z in points] for edge in edges] for w in W]
        says = [[[log(between(*ends)) for ends in zip(low, high, strict=True)] for low, high in pairwise(upto[w])]
                for w in W]
        return [[log(p) + sum(says[w][k][g] for u, w, k in answers if u == t) for g, p in enumerate(weight)] for t in T]

    def objective(x):
        x = list(x)
        priors = [(x[:1], 3), (x[1:at_b], 2), (x[at_b:at_s], 1), (x[at_s:at_a], 0.5), (x[at_a:], 0.25)]
        return sum(map(logsumexp, joint(*unpack(x)))) - sum((v / sd) ** 2 / 2 for values, sd in priors for v in values)

    last = minimize(lambda x: -objective(x), first, method="BFGS", options={"gtol": 1e-6}).x.tolist() if fit else first
    c, a, b, s = unpack(last)
    rows = joint(c, a, b, s)
    loglik, r = list(map(logsumexp, rows)), list(map(softmax, rows))
    m = [sum(p * z for p, z in zip(row, points, strict=True)) for row in r]
    v = [sum(p * (z - mean) ** 2 for p, z in zip(row, points, strict=True)) for row, mean in zip(r, m, strict=True)]
    edges = [[(edge - m[t]) / math.sqrt(v[t]) for edge in (-math.inf, *c, math.inf)] for t in T]
    return believed([[between(low, high) for low, high in pairwise(row)] for row in edges], value=m, variance=v,
                    loglik=loglik, trace=[objective(first), objective(last)], thresholds=c, scale=a, bias=b, noise=s)


# ----------------------------------------------------------------------------------------------------------- agreement

def krippendorff(answers, n_tasks, n_workers, n_classes=None, *, metric="nominal", steps=None, low=None, high=None,
                 first=0):
    """Alpha, with answers that are numbers (or codes, 0 standing for `first`); tasks with one answer are left out."""
    units = [[v + first for u, _, v in answers if u == t] for t in range(n_tasks)]
    units = [unit for unit in units if len(unit) > 1]
    values = [v for unit in units for v in unit]

    @cache
    def delta(a, b):
        if a == b:
            return 0.0
        if metric == "ordinal":
            among = sum(min(a, b) <= v <= max(a, b) for v in values)
            return (among - (values.count(a) + values.count(b)) / 2) ** 2
        return {"nominal": lambda: 1.0, "interval": lambda: (a - b) ** 2, "ratio": lambda: ((a - b) / (a + b)) ** 2,
                "circular": lambda: math.sin(math.pi * (a - b) / steps) ** 2,
                "bipolar": lambda: (a - b) ** 2 / ((a + b - 2 * low) * (2 * high - a - b))}[metric]()

    n = len(values)
    observed = sum(delta(a, b) / (len(unit) - 1) for unit in units for a in unit for b in unit) / n
    expected = sum(delta(a, b) for a in values for b in values) / (n * (n - 1))
    return {"alpha": 1 - observed / expected if observed > 0 else 1.0}


def fleiss(answers, n_tasks, n_workers, n_classes):
    """Fleiss kappa, Gwet AC1 and Bennett S; tasks with one answer count in the class shares m only."""
    counts = votes(answers, n_tasks, n_classes)
    share = [sum(v * (v - 1) for v in row) / (sum(row) * (sum(row) - 1)) for row in counts if sum(row) > 1]
    p = sum(share) / len(share)
    m = normalise([sum(column) for column in zip(*counts, strict=True)])
    chance = {"kappa": sum(v * v for v in m), "ac1": sum(v * (1 - v) for v in m) / (n_classes - 1), "s": 1 / n_classes}
    return {"p": p, "chance": chance} | {name: (p - e) / (1 - e) for name, e in chance.items()}


def two_raters(answers, n_tasks, n_workers, n_classes, *, pair=(0, 1), weights="none"):
    """Cohen, Scott, Gwet and Bennett for two of the workers on the tasks both have answered, with agreement weights."""
    K = range(n_classes)
    power = {"linear": 1, "quadratic": 2}.get(weights)
    w = [[1 - (abs(i - j) / (n_classes - 1)) ** power if power else float(i == j) for j in K] for i in K]
    both = [(i, j) for t, a, i in answers for u, b, j in answers if (t, a, b) == (u, *pair)]
    table = [[both.count((i, j)) / len(both) for j in K] for i in K]
    r, c = [sum(table[i]) for i in K], [sum(row[j] for row in table) for j in K]
    m = [(a + b) / 2 for a, b in zip(r, c, strict=True)]
    p = sum(w[i][j] * table[i][j] for i in K for j in K)
    every = sum(map(sum, w))
    chance = {"cohen": sum(w[i][j] * r[i] * c[j] for i in K for j in K), "bennett": every / n_classes ** 2,
              "scott": sum(w[i][j] * m[i] * m[j] for i in K for j in K),
              "gwet": every / (n_classes * (n_classes - 1)) * sum(v * (1 - v) for v in m)}
    return {"p": p} | {name: (p - e) / (1 - e) if e < 1 else float(p == 1) for name, e in chance.items()}


def icc(answers, n_tasks, n_workers, n_classes=None, *, level=0.95):
    """Mean squares, the six intraclass correlations and their bounds; only ICC(1), without bounds, if answers miss."""
    at = [[v for u, _, v in answers if u == t] for t in range(n_tasks)]
    of = [[v for _, u, v in answers if u == w] for w in range(n_workers)]
    n, k, N = n_tasks, n_workers, len(answers)
    mean = sum(v for *_, v in answers) / N
    within = sum((v - sum(row) / len(row)) ** 2 for row in at for v in row)
    msr = sum(len(row) * (sum(row) / len(row) - mean) ** 2 for row in at) / (n - 1)
    msw, n0 = within / (N - n), (N - sum(len(row) ** 2 for row in at) / N) / (n - 1)
    out = {"msr": msr, "msw": msw, "n0": n0, "icc1": (msr - msw) / (msr + (n0 - 1) * msw), "icc1k": (msr - msw) / msr}
    if n * k > N:
        return out
    columns = sum(n * (sum(column) / n - mean) ** 2 for column in of)
    msc, mse = columns / (k - 1), (within - columns) / ((n - 1) * (k - 1))
    icc2 = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    out |= {"msc": msc, "mse": mse, "icc2": icc2, "icc2k": (msr - mse) / (msr + (msc - mse) / n),
            "icc3": (msr - mse) / (msr + (k - 1) * mse), "icc3k": (msr - mse) / msr}

    def top(a, b):
        return f_distribution.ppf((1 + level) / 2, a, b)

    for name, F, free in (("icc1", msr / msw, n * (k - 1)), ("icc3", msr / mse, (n - 1) * (k - 1))):
        ends = F / top(n - 1, free), F * top(free, n - 1)
        out[name + "_bounds"] = [(end - 1) / (end + k - 1) for end in ends]
    a, b = k * icc2 * msc / mse, n * (1 + (k - 1) * icc2) - k * icc2
    v = (k - 1) * (n - 1) * (a + b) ** 2 / ((n - 1) * a ** 2 + b ** 2)
    low, high, rest = top(n - 1, v), top(v, n - 1), k * msc + (k * n - k - n) * mse
    return out | {"v": v, "icc2_bounds": [n * (msr - low * mse) / (low * rest + n * msr),
                                          n * (high * msr - mse) / (rest + n * high * msr)]}


def spam_score(confusions, n_tasks, n_workers, n_classes):
    """How far apart the rows of a worker's matrix are: 1 for the identity, 0 for equal rows."""
    K = range(n_classes)
    apart = [sum((rows[j][m] - rows[k][m]) ** 2 for k in K for j in range(k) for m in K) for rows in confusions]
    return {"score": [a / (n_classes * (n_classes - 1)) for a in apart]}


def ece(pairs, n_tasks, n_workers, n_classes, *, bins=15):
    """Expected calibration error of (confidence, right or not); bins open on the left, closed on the right."""
    total = 0.0
    for i in range(bins):
        inside = [(c, right) for c, right in pairs if i / bins < c <= (i + 1) / bins]
        total += abs(sum(right - c for c, right in inside)) / len(pairs)
    return {"ece": total}
