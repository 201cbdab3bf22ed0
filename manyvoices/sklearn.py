"""manyvoices as scikit-learn estimators, for pipelines, grid searches and cross-validation.

    Aggregator            answers of workers in, a label a task out: every method of `aggregate`
    AggregatedClassifier  one label an item by a method of `aggregate`, then any classifier of scikit-learn; needs no torch
    CrowdClassifier       every method of `learn` on feature vectors; needs torch

Classifiers take X [n, D] and y, which is [n] (one label each, as usual) or [n, annotators] with `missing`, NaN, None or
masked cells where an annotator said nothing. With such a y, `score` is the share of given answers that equal the prediction;
it is no accuracy, for nobody knows the truth. In cross-validation write numbers and -1, or text and missing="": None does
not get past scikit-learn. Methods come in any spelling, with options in brackets if need be:
`CrowdClassifier("crowdlayer[form=vector,epochs=50]")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .api import aggregate, learn, read, train
from .core.answers import Answers
from .core.errors import BadInput
from .core.items import Items
from .core.names import Names
from .core.registry import missing as lacking

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise lacking("manyvoices.sklearn", error) from error

__all__ = ["AggregatedClassifier", "Aggregator", "CrowdClassifier"]


def table(y: Any, missing: Any) -> tuple[np.ndarray, np.ndarray]:
    """Answers [n, annotators], and where there is one."""
    masked = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else np.zeros(np.shape(y), bool)
    y = np.asarray(y)
    if y.dtype == object:  # None, NaN and NA are not equal to themselves, or not sure of it
        said = np.array([x is not None and str(x == x) == "True" and x != missing for x in y.ravel()], bool)
        given = said.reshape(y.shape) & ~masked
    else:
        given = (y == y) & (y != missing) & ~masked
    if not given.any():
        raise BadInput("y has no answers", expected=f"labels, and {missing!r}, NaN, None or a mask where there is none")
    return y, given


def plain(y: Any) -> bool:
    """One label a row, as opposed to one an annotator."""
    y = np.asarray(y)
    return y.ndim != 2 or y.shape[1] == 1


def coded(y: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, Answers]:
    """The classes, and the answers with rows, columns and classes by number."""
    said = y[given]
    said = np.array(said.tolist()) if said.dtype == object else said  # numbers among Nones are numbers again
    classes, label = np.unique(said, return_inverse=True)
    row, column = np.nonzero(given)
    rows, columns, names = (Names.numbered(n) for n in (*y.shape, len(classes)))
    return classes, Answers.from_codes(row, column, label, tasks=rows, workers=columns, classes=names)


class Aggregator(BaseEstimator):
    """One label a task. `answers` is a table with columns task, worker, label (a frame or a path), or an array [n, annotators].

    After `fit`: consensus_ (with workers' skills and all else the method finds), classes_, labels_, and probs_ [n, K].
    Labels follow the rows of an array, and the ids in tasks_ (sorted, as everywhere) of a table.
    """

    def __init__(self, method: str = "bcc", *, options: Mapping[str, Any] | None = None, missing: Any = -1):
        self.method, self.options, self.missing = method, options, missing

    def fit(self, answers: Any, y: Any = None) -> Aggregator:
        if isinstance(answers, (str, bytes)) or "label" in getattr(answers, "columns", ()):
            found = read(answers).answers
            self.classes_, self.tasks_ = np.array(found.classes.to_list()), np.array(found.tasks.to_list())
        else:
            self.classes_, found = coded(*table(answers, self.missing))
        self.consensus_ = aggregate(found, self.method, **(self.options or {}))
        self.probs_, self.labels_ = np.array(self.consensus_.probs), self.classes_[self.consensus_.codes]
        return self

    def fit_predict(self, answers: Any, y: Any = None) -> np.ndarray:
        return self.fit(answers).labels_

    def fit_transform(self, answers: Any, y: Any = None) -> np.ndarray:
        return self.fit(answers).probs_


class OnAnswers(ClassifierMixin, BaseEstimator):
    """What classifiers share: y with or without annotators."""

    missing: Any
    sparse = False  # whether X may be a sparse matrix

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.sparse
        return tags

    def given(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """X, y, and which answers of y there are; None where y is plain."""
        if plain(y):
            X, y = validate_data(self, X, y, accept_sparse="csr" if self.sparse else False)
            check_classification_targets(y)
            return X, y, None
        X = validate_data(self, X, accept_sparse="csr" if self.sparse else False)
        check_consistent_length(X, y)
        return X, *table(y, self.missing)

    def predict(self, X: Any) -> np.ndarray:
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        if plain(y):
            return accuracy_score(y, self.predict(X), sample_weight=sample_weight)
        y, given = table(y, self.missing)
        weight = given if sample_weight is None else given * np.asarray(sample_weight)[:, None]
        return float(np.average(y == self.predict(X)[:, None], weights=weight))


class AggregatedClassifier(MetaEstimatorMixin, OnAnswers):
    """Aggregate first, then fit: `estimator` (LogisticRegression if None) learns the labels of the items with answers. X may
    be sparse, as a TfidfVectorizer makes it of texts."""

    sparse = True

    def __init__(self, estimator: Any = None, *, method: str = "bcc", missing: Any = -1):
        self.estimator, self.method, self.missing = estimator, method, missing

    def fit(self, X: Any, y: Any) -> AggregatedClassifier:
        X, y, given = self.given(X, y)
        if given is not None:
            classes, answers = coded(y, given)
            answered = given.any(axis=1)
            self.consensus_ = aggregate(answers, self.method)
            X, y = X[answered], classes[self.consensus_.codes][answered]
        self.estimator_ = clone(LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator).fit(
            X, y
        )
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.estimator_.predict_proba(validate_data(self, X, accept_sparse="csr", reset=False))


class CrowdClassifier(OnAnswers):
    """Learnt from everybody's answers by a method of `learn`; from a plain y by a method of `train`.

    "auto" is raykar (logistic regression with a model of every annotator), or classifier, a network, for a plain y. All
    rows are trained on. `options` are those of the method.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        options: Mapping[str, Any] | None = None,
        missing: Any = -1,
        random_state: Any = 0,
    ):
        self.method, self.options, self.missing, self.random_state = method, options, missing, random_state

    def fit(self, X: Any, y: Any) -> CrowdClassifier:
        X, y, given = self.given(X, y)
        seed = self.random_state
        seed = seed if isinstance(seed, int) else int(check_random_state(seed).randint(2**31 - 1))
        options = {"seed": seed} | dict(self.options or {})
        if given is None:
            self.classes_, codes = np.unique(y, return_inverse=True)
            labels = {str(i): str(code) for i, code in enumerate(codes)}
            method = "classifier" if self.method == "auto" else self.method
            self.model_ = train(items(X), labels, method, **options)
        else:
            self.classes_, answers = coded(y, given)
            self.model_ = learn(items(X), answers, "raykar" if self.method == "auto" else self.method, **options)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(items(validate_data(self, X, reset=False)))

    def predict_answers(self, X: Any) -> np.ndarray:
        """What each annotator would most probably say about each row: [n, annotators]."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        item, worker = np.indices((len(X), len(self.model_.workers or ()))).reshape(2, -1)
        said = self.model_.predict_pairs(items(X), item, worker).argmax(axis=1)
        return self.classes_[said].reshape(len(X), -1)


def items(X: np.ndarray) -> Items:
    """Rows as items, all of them for training."""
    import polars as pl

    ids = Names.numbered(len(X))
    columns = {f"x{i:07}": X[:, i] for i in range(X.shape[1])}
    split = pl.DataFrame({"task": ids.to_list(), "split": ["train"] * len(X)})
    return Items(ids, Names([]), np.full(len(X), -1), pl.DataFrame({"task": ids.to_list()} | columns), None, split)
