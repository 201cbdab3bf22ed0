"""manyvoices.crowdkit beside crowd-kit itself: the same calls, names and orders, and where the mathematics is the same the same numbers."""

from __future__ import annotations

import importlib
import inspect
import sys

import numpy as np
import pytest

from manyvoices.core.errors import BadCall, BadInput, ManyVoicesError

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning",
                                                             "ignore::RuntimeWarning")]
pd = pytest.importorskip("pandas")
theirs = pytest.importorskip("crowdkit.aggregation")
ours = importlib.import_module("manyvoices.crowdkit")

FITTED = ("labels_", "probas_", "skills_", "errors_", "priors_", "scores_", "alphas_", "betas_")
KINDS = {"text": lambda letter, i: f"{letter}{i}", "numbers": lambda letter, i: int(i) * 7, "yes or no": lambda letter, i: f"{letter}{i}"}


@pytest.fixture(autouse=True)
def _works_with_new_scikit_learn(monkeypatch):
    for file in ("wawa", "zero_based_skill", "gold_majority_vote"):   # crowd-kit asks scikit-learn about classes that are not its own
        monkeypatch.setattr(f"crowdkit.aggregation.classification.{file}.check_is_fitted", lambda *args, **more: None)


def crowd(seed, kind="text", tasks=30, workers=7, classes=3):
    """Rows in no order, columns in another, a column more, and the truth of every second task. No vote is tied."""
    rng, name = np.random.default_rng(seed), KINDS[kind]
    truth, right, rows = rng.integers(classes, size=tasks), rng.uniform(.5, .95, workers), []
    for t in rng.permutation(tasks):
        asked = rng.permutation(workers)[:rng.integers(1, workers + 1)]
        said = np.where(rng.random(len(asked)) < right[asked], truth[t], rng.integers(classes, size=len(asked)))
        votes = np.sort(np.bincount(said, minlength=classes))
        if votes[-1] > votes[-2]:
            rows += [(name("t", t), name("w", w), t, classes - 1 - k) for w, k in zip(asked, said, strict=True)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "seconds", "label"])[["seconds", "label", "worker", "task"]]
    label = {"text": lambda k: f"c{k}", "numbers": lambda k: k, "yes or no": lambda k: k > 0}[kind]
    frame["label"] = frame["label"].map(label)
    return frame.sample(frac=1, random_state=seed), pd.Series({name("t", t): label(int(classes - 1 - truth[t])) for t in range(0, tasks, 2)})


def alike(mine, their, what, within):
    """The same index, names and numbers; columns in sorted order."""
    assert list(mine.index.names) == list(their.index.names), what
    if what == "priors_":
        their = their.reindex(mine.index)
    assert mine.index.equals(their.index), what
    if what == "labels_":
        assert mine.name == their.name == "agg_label" and mine.dtype == their.dtype
        return
    if isinstance(mine, pd.Series):
        assert mine.name == their.name
    else:
        assert list(mine.columns.names) == list(their.columns.names), what
        assert list(mine.columns) == sorted(their.columns)
        their = their.reindex(columns=mine.columns)
    assert np.abs(mine.to_numpy() - their.to_numpy()).max() < within, what


def beside(name, frame, *args, within=1e-8, their=None, **options):
    """Fitted by both, compared in everything crowd-kit leaves; labels where no two classes are within reach of each other."""
    a, b = getattr(theirs, name)(**(options | (their or {}))), getattr(ours, name)(**options)
    kept = frame.copy()
    if hasattr(a, "predict"):
        first, labels = a.fit(frame.copy(), *args).predict(frame.copy()), b.fit(frame, *args).predict(frame)
    else:
        first, labels = a.fit_predict(frame.copy(), *args), b.fit_predict(frame, *args)
    for what in FITTED:
        if hasattr(a, what) and (name, what) != ("GLAD", "priors_"):    # an input
            alike(getattr(b, what), getattr(a, what), what, within)
    if hasattr(b, "probas_") and len(b.probas_.columns) > 1:
        best = np.sort(b.probas_.to_numpy(), axis=1)
        sure = best[:, -1] - best[:, -2] > 2 * within
        assert (labels == first)[sure].all() and sure.mean() > .8
    assert frame.equals(kept), "the frame that was handed over is changed"
    return a, b


@pytest.mark.parametrize("name", ours.__all__)
def test_the_same_calls(name):
    a, b = getattr(theirs, name), getattr(ours, name)
    for method, function in inspect.getmembers(a, inspect.isfunction):
        if method[0] != "_":
            known = inspect.signature(function).parameters
            inspect.signature(getattr(b, method)).bind(*known)
            inspect.signature(getattr(b, method)).bind("self", **{p: None for p in known if p != "self"})
    wanted = {p.name: p.default for p in inspect.signature(a).parameters.values()}
    mine = {p.name: p.default for p in inspect.signature(b).parameters.values()}
    for private in ("observation_matrix", "covariation_matrix", "n_common_tasks", "n_workers", "n_tasks", "n_labels",
                    "labels_mapping", "workers_mapping", "tasks_mapping"):
        wanted.pop(private, None)
    if name == "MACE":
        assert (wanted.pop("smoothing"), mine.pop("smoothing")) == (.1, .01)    # the first is overwritten with the second
    assert list(mine.items()) == list(wanted.items())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_votes(kind, seed):
    frame, gold = crowd(seed, kind, classes=2 if kind == "yes or no" else 3)
    skills = pd.Series({w: .2 + .1 * i for i, w in enumerate(frame["worker"].unique())})
    beside("MajorityVote", frame)
    beside("MajorityVote", frame, skills)
    beside("Wawa", frame)
    beside("ZeroBasedSkill", frame, n_iter=7, lr_steps_to_reduce=2, lr_reduce_factor=.7, lr_init=.8)
    beside("GoldMajorityVote", frame, gold)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [1, 6])
def test_dawid_skene_step_for_step(kind, steps):
    frame, gold = crowd(steps, kind)
    never = {"tol": -np.inf}                                    # crowd-kit's objective falls; go on
    for given in [(), (gold,)]:
        a, b = beside("DawidSkene", frame, *given, n_iter=steps, tol=0, their=never)
        assert len(a.loss_history_) == len(b.loss_history_) == steps
        assert (b.errors_.groupby("worker").sum() - 1).abs().max(axis=None) < 1e-9
    beside("OneCoinDawidSkene", frame, n_iter=steps, tol=0, their=never)


@pytest.mark.parametrize("strategy", ["assign", "addition"])
def test_dawid_skene_from_given_errors(strategy):
    frame, gold = crowd(5)
    rows = pd.MultiIndex.from_product([frame["worker"].unique(), sorted(frame["label"].unique())], names=["worker", "label"])
    error = pd.DataFrame(np.random.default_rng(0).random((len(rows), 3)) + np.tile(np.eye(3), (len(rows) // 3, 1)), rows, ["c0", "c1", "c2"])
    for given in (error * 9, error / error.groupby("worker").transform("sum")):
        beside("DawidSkene", frame, gold, given, n_iter=4, tol=0, initial_error_strategy=strategy, their={"tol": -np.inf})
    if strategy == "addition":
        beside("DawidSkene", frame, None, error[:4] * 9, n_iter=4, tol=0, initial_error_strategy=strategy, their={"tol": -np.inf})
    else:
        with pytest.raises(BadInput, match="no row"):
            ours.DawidSkene(initial_error_strategy="assign").fit(frame, initial_error=error[:4])
        with pytest.raises(BadInput, match="sum to 1"):
            ours.DawidSkene(initial_error_strategy="assign").fit(frame, initial_error=error / 9)
    with pytest.raises(BadCall, match="strategy is None"):
        ours.DawidSkene().fit(frame, initial_error=error)
    with pytest.raises(BadInput, match="index"):
        ours.DawidSkene(initial_error_strategy=strategy).fit(frame, initial_error=error.reset_index(drop=True))


def test_dawid_skene_goes_on_until_it_has_converged():
    frame, _ = crowd(8, tasks=60)
    b = ours.DawidSkene().fit(frame)
    assert (np.diff(b.loss_history_) > -1e-12).all() and b.loss_history_[-1] - b.loss_history_[-2] < 1e-5
    assert b.loss_history_[-2] - b.loss_history_[-3] >= 1e-5    # and no longer: tol is about an answer


def test_glad_at_convergence():
    frame, _ = crowd(2, tasks=15, workers=5)
    a, _ = beside("GLAD", frame, n_iter=100, tol=1e-7, within=.02, their={"n_iter": 12, "tol": -np.inf})
    assert a.probas_.columns.name == "variable"


def test_mmsr_and_kos():
    frame, _ = crowd(1)
    _, b = beside("MMSR", frame, within=1e-6)
    assert b.loss_history_[-1] < 1e-10 < b.loss_history_[0] and b.predict_score(frame) is b.scores_
    assert ours.MMSR().fit_predict_score(frame).equals(b.scores_)
    frame, _ = crowd(3, classes=2)
    a, b = beside("KOS", frame)
    assert (a.labels_ == b.labels_).all()


@pytest.mark.parametrize(("method", "within"), [("em", .02), ("vb", .03)])
def test_mace_where_crowd_kit_keeps_its_workers_apart(method, within):
    frame, _ = crowd(4)
    frame = frame.sort_values(["worker", "label", "task"])       # crowd-kit mixes workers up in any other order
    _, b = beside("MACE", frame[["task", "worker", "label"]], method=method, n_iter=40, n_restarts=1, within=within)
    assert b.spamming_.shape == (7, 2) and b.thetas_.shape == (7, 3) and np.allclose(b.spamming_.sum(axis=1), 1)


def test_names_of_workers_change_nothing():
    frame, _ = crowd(6)
    turned = frame.assign(worker=frame["worker"].map(lambda w: f"v{9 - int(w[1:])}"))[::-1]
    for name in ("MACE", "MMSR", "DawidSkene"):
        a, b = (getattr(ours, name)().fit_predict(rows) for rows in (frame, turned))
        assert (a == b[a.index]).all(), name


def test_ties_go_to_the_first_class_and_are_no_error():
    frame = pd.DataFrame([("t", "a", "no"), ("t", "b", "yes"), ("u", "a", "yes"), ("u", "b", "yes")], columns=["task", "worker", "label"])
    for rows in (frame, frame[::-1]):
        for name in ("MajorityVote", "Wawa", "KOS", "ZeroBasedSkill"):
            assert getattr(ours, name)().fit_predict(rows)["t"] == "no", name


def test_a_negative_weight_speaks_for_the_others():
    frame = pd.DataFrame([("t", "liar", "x"), ("t", "sage", "y")], columns=["task", "worker", "label"])
    vote = ours.MajorityVote().fit(frame, pd.Series({"liar": -1.0, "sage": .5}))
    assert vote.labels_["t"] == "y" and (vote.probas_.to_numpy() >= 0).all()


def test_workers_without_a_skill():
    frame, gold = crowd(0)
    workers = sorted(frame["worker"].unique())
    some = pd.Series(1.0, workers[:5])
    with pytest.raises(BadInput, match="2 such workers"):
        ours.MajorityVote().fit(frame, some)
    for options in ({"on_missing_skill": "value", "default_skill": .3}, {"on_missing_skill": "ignore"}):
        rows = frame[frame.groupby("task")["worker"].transform(lambda held: held.isin(some.index).any())]
        beside("MajorityVote", rows, some, **options)
    with pytest.raises(BadInput, match="no worker with a skill"):
        ours.MajorityVote(on_missing_skill="ignore").fit(frame, some[:1])
    for options in ({"on_missing_skill": "value"}, {"default_skill": .3}, {"on_missing_skill": "drop"}):
        with pytest.raises(BadCall, match="on_missing_skill"):
            ours.MajorityVote(**options).fit(frame, some)
    wawa = ours.Wawa().fit(frame[frame["worker"] != workers[0]])
    with pytest.raises(BadInput, match="has no skill"):
        wawa.predict(frame)
    with pytest.raises(BadCall, match="call fit first"):
        ours.Wawa().predict(frame)
    tested = gold[gold.index.isin(frame[frame["worker"] == workers[1]]["task"])][:1]
    weighed = ours.GoldMajorityVote().fit(frame, tested)         # crowd-kit stops at workers without gold tasks
    assert weighed.skills_.notna().all() and len(weighed.predict(frame)) == frame["task"].nunique()


def test_a_truth_that_nobody_said_is_a_class():
    frame = pd.DataFrame([("t", "a", "x"), ("t", "b", "x"), ("u", "a", "x"), ("u", "b", "y")], columns=["task", "worker", "label"])
    found = ours.DawidSkene().fit(frame, pd.Series({"t": "z", "elsewhere": "x"}))
    assert found.labels_["t"] == "z" and list(found.probas_.columns) == ["x", "y", "z"]
    assert ours.GoldMajorityVote().fit(frame, pd.Series({"t": "z", "u": "x"})).skills_.tolist() == [.5, 0]


def test_what_is_left_out_and_refused():
    frame, _ = crowd(0)
    lacking = pd.concat([frame, frame[:3].assign(label=None)])
    assert ours.DawidSkene().fit_predict_proba(lacking).equals(ours.DawidSkene().fit_predict_proba(frame))
    for name in ("DawidSkene", "MajorityVote", "KOS", "MACE"):
        assert len(getattr(ours, name)().fit_predict(frame[:0])) == 0
    with pytest.raises(BadInput, match="no column 'worker'"):
        ours.GLAD().fit(frame.rename(columns={"worker": "performer"}))
    with pytest.raises(BadCall, match="DataFrame"):
        ours.GLAD().fit(frame.to_numpy())
    with pytest.raises(BadInput, match="two"):
        ours.KOS().fit(frame)
    with pytest.raises(BadCall, match="labels_priors"):
        ours.GLAD(labels_priors=pd.Series({"c0": .5, "c1": .3, "c2": .2})).fit(frame)
    assert repr(ours.DawidSkene(5)) == "DawidSkene(n_iter=5, tol=1e-05, initial_error_strategy=None)"


def test_one_class():
    frame = pd.DataFrame([("t", "a", "x"), ("u", "a", "x"), ("u", "b", "x")], columns=["task", "worker", "label"])
    for name in ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "Wawa", "ZeroBasedSkill", "MMSR"):
        assert (getattr(ours, name)().fit_predict(frame) == "x").all(), name


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "manyvoices.crowdkit")
    with pytest.raises(ManyVoicesError, match=r"manyvoices\.crowdkit needs pandas: pip install pandas"):
        importlib.import_module("manyvoices.crowdkit")
