"""manyvoices.sklearn: what scikit-learn asks of estimators, and what they do with answers of several annotators."""

from __future__ import annotations

import importlib
import pickle
import sys

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.core.errors import BadInput, ManyVoicesError

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]
pytest.importorskip("sklearn")
torch = pytest.importorskip("torch")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from manyvoices.sklearn import AggregatedClassifier, Aggregator, CrowdClassifier  # noqa: E402

SMALL = {"epochs": 4, "lr": .01, "hidden": 16, "batch": 8}


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """One thread, and a cache folder in which nothing may appear."""
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path / "home"
    torch.set_num_threads(before)
    assert not (tmp_path / "home").exists()


def crowd(seed=0, n=120, annotators=6, classes=("no", "perhaps", "yes")):
    """X, truth, answers [n, annotators] with None where nothing was said."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(classes), size=n)
    X = np.eye(len(classes))[truth] @ rng.normal(size=(len(classes), 5)) * 3 + rng.normal(size=(n, 5))
    right = np.linspace(.9, .5, annotators)
    y = np.where(rng.random((n, annotators)) < right, truth[:, None], rng.integers(len(classes), size=(n, annotators)))
    y = np.array(classes, object)[y]
    y[rng.random((n, annotators)) < .4] = None
    return X, np.array(classes)[truth], y


@parametrize_with_checks([AggregatedClassifier(), CrowdClassifier(options=SMALL)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [AggregatedClassifier(), AggregatedClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), method="ds[smoothing=0.1]"),
                                       CrowdClassifier(), CrowdClassifier("crowdlayer[form=vector]", options=SMALL | {"epochs": 10})])
def test_learns_from_annotators(estimator):
    X, truth, y = crowd()
    model = clone(estimator).fit(X[:90], y[:90])
    assert list(model.classes_) == ["no", "perhaps", "yes"]
    probs = model.predict_proba(X[90:])
    assert probs.shape == (30, 3) and np.allclose(probs.sum(axis=1), 1)
    assert (model.classes_[probs.argmax(axis=1)] == model.predict(X[90:])).all()
    assert model.score(X[90:], truth[90:]) > .85
    said = np.array([(a, b) for row, b in zip(y[90:], model.predict(X[90:]), strict=True) for a in row if a is not None])
    assert model.score(X[90:], y[90:]) == pytest.approx((said[:, 0] == said[:, 1]).mean())
    weight = np.arange(30.0)
    assert model.score(X[90:], y[90:], sample_weight=weight) != model.score(X[90:], y[90:])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(clone(estimator).fit(X[:90], y[:90]).predict_proba(X[90:]), probs)


def test_every_way_to_say_nothing():
    X, _, y = crowd(classes=("0", "1", "2"))
    codes = np.where(y == None, -1, np.where(y == None, 0, y).astype(int))  # noqa: E711
    ways = [codes, np.where(codes < 0, np.nan, codes), np.ma.masked_less(codes, 0), np.where(codes < 0, 99, codes)]
    found = [AggregatedClassifier(missing=m).fit(X, way).predict_proba(X) for way, m in zip(ways, (-1, -1, None, 99), strict=True)]
    assert all(np.array_equal(found[0], other) for other in found)
    assert list(AggregatedClassifier(missing=99).fit(X, codes).classes_) == [-1, 0, 1, 2]
    pandas = pytest.importorskip("pandas")
    framed = AggregatedClassifier().fit(pandas.DataFrame(X), pandas.DataFrame(codes).astype("Int64").mask(codes < 0))
    assert np.array_equal(framed.estimator_.predict_proba(X), found[0])
    with pytest.raises(BadInput, match="no answers"):
        AggregatedClassifier().fit(X, np.full((len(X), 3), -1))
    with pytest.raises(ValueError, match="inconsistent"):
        AggregatedClassifier().fit(X, codes[1:])


def test_pipelines_and_searches():
    X, truth, y = crowd()
    y = np.where(y == None, "", y).astype(str)  # noqa: E711
    made = make_pipeline(StandardScaler(), AggregatedClassifier(method="mv", missing=""))
    scores = cross_val_score(made, X, y, cv=3)
    assert len(scores) == 3 and scores.min() > .5
    search = GridSearchCV(made, {"aggregatedclassifier__method": ["mv", "ds"], "aggregatedclassifier__estimator": [DecisionTreeClassifier(max_depth=1), None]}, cv=3)
    assert search.fit(X, y).best_params_["aggregatedclassifier__estimator"] is None and search.score(X, truth) > .85
    search = GridSearchCV(CrowdClassifier(missing=""), {"method": ["raykar", "raykar[ridge=1e6]"]}, cv=2).fit(X, y)
    assert search.best_params_ == {"method": "raykar"}


def test_a_crowd_classifier_is_the_method_of_learn():
    X, _, y = crowd()
    model = CrowdClassifier("crowdlayer", options=SMALL, random_state=3).fit(X, y)
    assert model.model_.about["method"] == "crowdlayer" and model.model_.about["epochs"] == 4
    said = model.predict_answers(X[:7])
    assert said.shape == (7, 6) and set(said.ravel()) <= set(model.classes_)
    other = CrowdClassifier("crowdlayer", options=SMALL, random_state=4).fit(X, y)
    assert not np.array_equal(model.predict_proba(X), other.predict_proba(X))
    drawn = [CrowdClassifier("crowdlayer", options=SMALL, random_state=np.random.RandomState(1)).fit(X, y).predict_proba(X) for _ in range(2)]
    assert np.array_equal(*drawn)
    with pytest.raises(LookupError, match="Did you mean 'crowdlayer'"):
        CrowdClassifier("crowdlayr").fit(X, y)
    with pytest.raises(LookupError, match="epoch"):
        CrowdClassifier("conal", options={"epoch": 3}).fit(X, y)


def test_aggregator():
    X, truth, y = crowd()
    whole = Aggregator("ds").fit(y)
    assert (whole.labels_ == truth)[[any(a is not None for a in row) for row in y]].mean() > .85
    assert np.array_equal(Aggregator("ds").fit_predict(y), whole.labels_) and np.array_equal(Aggregator("ds").fit_transform(y), whole.probs_)
    assert whole.consensus_.confusions.shape == (6, 3, 3) and whole.probs_.shape == (len(X), 3)
    rows = [(t, f"w{w}", y[t, w]) for t in range(len(y)) for w in range(6) if y[t, w] is not None]
    frame = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    table = Aggregator("ds", options={"smoothing": .1}).fit(frame)
    assert table.labels_.tolist() == mv.aggregate(frame, "ds", smoothing=.1).labels() and table.tasks_[:2].tolist() == ["0", "1"]
    assert clone(table).get_params() == {"method": "ds", "options": {"smoothing": .1}, "missing": -1}
    assert table.set_params(method="mv", options=None).fit(frame).labels_.tolist() == mv.aggregate(frame, "mv").labels()


def test_texts_in_a_pipeline():
    """TfidfVectorizer gives sparse rows: the classifier takes them, and says the same of them as of dense ones."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    _, truth, y = crowd()
    texts = [f"it is {label} number {i % 7}" for i, label in enumerate(truth)]
    model = make_pipeline(TfidfVectorizer(), AggregatedClassifier(method="ds"))
    said = model.fit(texts, y).predict_proba(texts)
    assert (model.predict(texts) == truth).mean() > .9 and model.score(texts, y) > .5
    rows = TfidfVectorizer().fit_transform(texts)
    assert np.allclose(AggregatedClassifier(method="ds").fit(rows.toarray(), y).predict_proba(rows.toarray()), said)
    assert cross_val_score(make_pipeline(TfidfVectorizer(), AggregatedClassifier(missing="")), texts, np.where(y == None, "", y), cv=3).min() > .5  # noqa: E711


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "manyvoices.sklearn")
    with pytest.raises(ManyVoicesError, match=r"manyvoices\.sklearn needs sklearn: pip install 'manyvoices\[sklearn\]'"):
        importlib.import_module("manyvoices.sklearn")
