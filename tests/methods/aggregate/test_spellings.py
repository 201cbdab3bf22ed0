"""What crowd-kit and peerannot call their methods and options is understood, and means the same here."""

import numpy as np
import pytest
from crowds import crowd, fit, run, same_bits

from manyvoices import api
from manyvoices.core import registry

THEIRS = {  # as their classes, registries and signatures have it -> ours
    # crowd-kit 1.4.2
    "MajorityVote": ("mv", {}), "Wawa": ("wawa", {}), "GoldMajorityVote": ("goldmv", {}),
    "DawidSkene[n_iter=7,tol=1e-4]": ("ds", {"iterations": 7, "tol": 1e-4}),
    "OneCoinDawidSkene[n_iter=7,tol=1e-4]": ("onecoin", {"iterations": 7, "tol": 1e-4}), "GLAD[n_iter=7,tol=1e-4]": ("glad", {"iterations": 7, "tol": 1e-4}),
    "KOS[n_iter=7]": ("kos", {"iterations": 7}), "MMSR[n_iter=7,tol=.1]": ("mmsr", {"iterations": 7, "tol": .1}),
    "MACE[n_restarts=2,n_iter=5,method='em',smoothing=.1,default_noise=.4,alpha=.6,beta=.3,random_state=3]":
        ("mace", {"restarts": 2, "iterations": 5, "fit": "em", "smoothing": .1, "noise": .4, "alpha": .6, "beta": .3, "seed": 3}),
    "ZeroBasedSkill[n_iter=7,lr_init=.5,lr_steps_to_reduce=3,lr_reduce_factor=.4,eps=1e-3]":
        ("zbs", {"iterations": 7, "rate": .5, "steps": 3, "factor": .4, "eps": 1e-3}),
    # peerannot, as the paper and as the code of today name them
    "MV": ("mv", {}), "majority_voting": ("mv", {}), "NaiveSoft": ("ns", {}), "naive_soft": ("ns", {}),
    "DS[epsilon=1e-4,maxiter=7]": ("ds", {"iterations": 7, "tol": 1e-4}), "dawid_skene[maxiter=7]": ("ds", {"iterations": 7}),
    "Dawid_Skene": ("ds", {}), "DSWC[L=3]": ("dswc", {"clusters": 3}), "dawid_skene_clust[L=3]": ("dswc", {"clusters": 3}),
    "Dawid_Skene_clust": ("dswc", {"clusters": 5}), "DSWC[L=2,epsilon=1e-3]": ("dswc", {"clusters": 2, "tol": 1e-3}),
    "GLAD[epsilon=1e-4,maxiter=7]": ("glad", {"iterations": 7, "tol": 1e-4}), "WDS": ("wds", {}), "IWMV[nb_iter=3]": ("iwmv", {"rounds": 3}),
    "IterativeWawa[nb_iter=3]": ("iwmv", {"rounds": 3}), "TwoThird": ("twothird", {}),
    "PlantNet[AI='fixed',AIweight=2,alpha=.6,beta=.3,maxiter=9,epsilon=1e-4]":
        ("plantnet", {"ai_policy": "fixed", "ai_weight": 2.0, "alpha": .6, "beta": .3, "iterations": 9, "tol": 1e-4}),
    "PlantNet[AI=ignored,threshold_scores=.5]": ("plantnet", {"ai_policy": "ignored", "ai_threshold": .5}),
    "MultinomialBinary[epsilon=1e-4,maxiter=7]": ("onecoin", {"iterations": 7, "tol": 1e-4}),
    "DiagonalMultinomial[epsilon=1e-4]": ("classcond", {"tol": 1e-4}), "PooledMultinomial[epsilon=1e-4]": ("pooled", {"tol": 1e-4}),
    "PooledDiagonalMultinomial": ("pooled", {"errors": "diagonal"}), "PooledMultinomialBinary": ("pooled", {"errors": "coin"}),
    "PooledFlatSingleBinomial": ("pooled", {"errors": "flat"}), "PooledFlatDiagonal": ("pooled", {"errors": "flat_diagonal"}),
    "FlatSingleBinomial[maxiter=7]": ("flat", {"iterations": 7}), "FlatDiagonal[epsilon=1e-4]": ("flat", {"diagonal": True, "tol": 1e-4}),
}


@pytest.mark.parametrize("theirs", THEIRS)
def test_their_spelling(theirs):
    name, options = THEIRS[theirs]
    given = crowd(3, tasks=25)
    for text in (theirs, theirs.split("[")[0].upper() + theirs[len(theirs.split("[")[0]):]):
        ((method, found),) = registry.parse("aggregate", text)
        assert method.name == name and (found == options or "clusters" in options)
    more = {"gold": given.gold} if name == "goldmv" else {}
    same_bits(api.aggregate(given.answers(), theirs, **more), fit(name, given.answers(), given, **options))


def test_no_more_clusters_than_workers():
    """Five unless told otherwise, one each for fewer workers; asking for more than there are workers is refused."""
    given = crowd(1)
    same_bits(run("dswc", given), run("dswc", given, clusters=5))
    few = given.only(given.worker < 3)
    same_bits(run("dswc", few), run("dswc", few, clusters=3))
    alone = given.only(given.worker == 0)
    assert run("dswc", alone).confusions.shape == (8, 3, 3)
    with pytest.raises(Exception, match="give 1 to 1"):
        run("dswc", alone, clusters=2)


# ------------------------------------------------------------------------------------- crowd-kit itself, where it is right

def frame(given):
    import pandas as pd

    return pd.DataFrame({"task": given.task, "worker": given.worker, "label": given.label})


def sorted_rows(probs, sizes):
    return probs.reindex(index=range(sizes[0]), columns=range(sizes[2]), fill_value=0.0).to_numpy()


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("theirs, name", [("MajorityVote", "mv"), ("Wawa", "wawa"), ("ZeroBasedSkill", "zbs"), ("GoldMajorityVote", "goldmv")])
def test_votes_like_crowdkit(theirs, name, seed, monkeypatch):
    classification = pytest.importorskip("crowdkit.aggregation.classification")
    for file in ("wawa", "zero_based_skill", "gold_majority_vote"):         # their check falls over scikit-learn 1.8 and later
        monkeypatch.setattr(f"crowdkit.aggregation.classification.{file}.check_is_fitted", lambda *_, **__: None)
    given = crowd(seed, tasks=50, workers=9, classes=2, share=1.0, skill=(.4, .95))    # no ties: there its classes stand as they first appear
    model, data = getattr(classification, theirs)(), frame(given)
    found = run(name, given)
    more = {}
    if name == "goldmv":
        import pandas as pd

        more["true_labels"] = pd.Series({t: k for t, k in enumerate(given.gold) if k >= 0})
    probs = model.fit_predict_proba(data, **more)
    np.testing.assert_allclose(found.probs, sorted_rows(probs, given.sizes), atol=1e-9)
    if found.skill is not None:
        np.testing.assert_allclose(found.skill.value, model.skills_.sort_index(), atol=1e-9)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("theirs, name", [("DawidSkene", "ds"), ("OneCoinDawidSkene", "onecoin")])
def test_dawid_skene_like_crowdkit(theirs, name, seed):
    """Its stopping rule is broken, so that it is told never to stop before the last round."""
    classification = pytest.importorskip("crowdkit.aggregation.classification")
    given = crowd(seed, tasks=50, workers=9, skill=(.5, .95))
    model = getattr(classification, theirs)(n_iter=12, tol=-np.inf)
    probs = sorted_rows(model.fit_predict_proba(frame(given)), given.sizes)
    found = run(name, given, smoothing=0.0, iterations=12, tol=0.0)
    np.testing.assert_allclose(found.probs, probs, atol=1e-6)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("theirs, name", [("GLAD", "glad"), ("MMSR", "mmsr"), ("KOS", "kos"), ("MACE", "mace")])
def test_labels_like_crowdkit(theirs, name):
    """Other starts and other steps to the same place: on a good crowd the labels are the same."""
    classification = pytest.importorskip("crowdkit.aggregation.classification")
    given = crowd(5, tasks=60, workers=12, classes=2, share=.9, skill=(.7, .95))
    order = np.lexsort((given.worker, given.task))                          # its MACE needs the order of names to be that of rows
    labels = getattr(classification, theirs)().fit_predict(frame(given.only(order))).reindex(range(60))
    assert (run(name, given).codes == labels.to_numpy()).mean() >= .98
