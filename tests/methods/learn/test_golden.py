"""Losses of a toy by hand: two workers, three items, two classes, five answers."""

import math

import numpy as np
import pytest

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")

P = [[.8, .2], [.3, .7], [.6, .4]]
TABLES = [[[.9, .1], [.2, .8]], [[.7, .3], [.4, .6]]]
AT, WORKER, LABEL = [0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]


class Given(torch.nn.Module):
    """A network that says what it is told."""

    width = 2

    def __init__(self, p=P):
        super().__init__()
        self.body = torch.nn.Identity()
        self.head = torch.nn.Sequential(torch.nn.Linear(2, 2))
        self.p = torch.tensor(p, dtype=torch.float64)

    def forward(self, x):
        from manyvoices.nn.nets import Seen

        return Seen(torch.zeros(len(self.p), 2, dtype=torch.float64), self.p.log())


@pytest.fixture
def batch():
    from manyvoices.nn.batches import Batch

    long = [torch.tensor(v) for v in (AT, WORKER, LABEL)]
    return Batch(torch.zeros(3, 2), torch.arange(3), *long, torch.ones(5, dtype=torch.float64), torch.arange(5))


def value(model, loss, batch):
    total, count = loss(model.double(), batch)
    return float(total.detach() / count.detach())


def put(parameter, rows):
    parameter.data = torch.tensor(rows, dtype=torch.float64)


def method(name):
    import importlib

    return importlib.import_module(f"manyvoices.methods.learn.{name}")


def test_cross_entropy_of_confusions(batch):
    from manyvoices.nn.lesson import cross_entropy

    model = method("geocrowdnet").GeoCrowdNet(Given(), 2, 2)
    put(model.raw, np.log(TABLES))
    assert value(model, cross_entropy, batch) == pytest.approx(.565841, abs=1e-6)


def test_crowdlayer(batch):
    from manyvoices.nn.lesson import cross_entropy

    model = method("crowdlayer").CrowdLayer(Given(), 2, 2)
    put(model.weight, TABLES)
    assert value(model, cross_entropy, batch) == pytest.approx(.623244, abs=1e-6)


@pytest.mark.parametrize("link, start", [("softplus", {2: .994913, 10: .956003}), ("softmax", {2: .997527, 10: .978178})])
def test_tracereg(batch, link, start):
    file = method("tracereg")
    for classes, diagonal in start.items():
        fresh = file.TraceReg(Given(), 1, classes, link=link)
        assert float(fresh.tables(None, None, torch.tensor([0])).exp()[0, 0, 0].detach()) == pytest.approx(diagonal, abs=1e-5)
    model = file.TraceReg(Given(), 2, 2, scale=.01, link=link)
    put(model.raw, np.log(np.expm1(TABLES)) if link == "softplus" else np.log(TABLES))
    assert value(model, file.loss, batch) == pytest.approx(.580841, abs=1e-6)


@pytest.mark.parametrize("variant, golden", [("f", .566809 + .001 * math.log(1 / 9)), ("w", .565692)])
def test_geocrowdnet(batch, variant, golden):
    """The published value without the batch size inside the determinant, which adds scale * log B^K."""
    file = method("geocrowdnet")
    model = file.GeoCrowdNet(Given(), 2, 2, variant=variant, scale=.001)
    put(model.raw, np.log(TABLES))
    golden = .566809 + .001 * 2 * math.log(3) if variant == "f" else golden
    assert value(model, file.loss, batch) == pytest.approx(golden, abs=2e-6)
    eye = file.GeoCrowdNet(Given(), 1, 10, init="eye").raw[0].detach().softmax(-1)
    assert float(eye[0, 0]) == pytest.approx(.231969, abs=1e-6)


def test_coinnet(batch):
    file = method("coinnet")
    model = file.CoinNet(Given(), 2, 2, pairs=5, volume=.01, sparsity=.01)
    put(model.raw, np.log(TABLES))
    put(model.outlier.weight, [[.05, .05], [0, 0], [0, 0], [.3, -.1], [0, 0]])
    assert value(model, file.loss, batch) == pytest.approx(.509138 + .01 * 2 * math.log(3), abs=2e-6)


@pytest.mark.parametrize("variant, target, golden", [("a", "counts", 2.257016), ("b", "normalised", 1.432734), ("b", "counts", 2.321860)])
def test_unionnet(batch, variant, target, golden):
    file = method("unionnet")
    model = file.UnionNet(Given(), 2, 2, variant=variant, target=target)
    put(model.raw, [[[2, 0], [0, 1]], [[1, 0], [0, 1]]])
    assert value(model, file.loss, batch) == pytest.approx(golden, abs=1e-6)


def test_crowdar(batch):
    file = method("crowdar")
    model = file.CrowdAR(Given(), 2, 2).double()
    put(model.weight, TABLES)
    put(model.expertise, np.log([[.8 / .2, .7 / .3], [.4 / .6, .9 / .1]]))
    put(model.judge.weight, [[2, 1]])
    put(model.judge.bias, [.1])
    difficulty = torch.tensor([[.2, .4], [.5, .5], [.3, .6]], dtype=torch.float64)
    model.difficulty = torch.nn.Module()
    model.difficulty.forward = lambda h: difficulty
    odds = model.odds(model(batch.x), batch.at, batch.worker).sigmoid().tolist()
    assert odds == pytest.approx([.753989, .627148, .603483, .579324, .584191], abs=1e-6)
    assert value(model, file.loss, batch) == pytest.approx(.641456, abs=1e-6)
    model.warm = 5
    assert value(model, file.loss, batch) == pytest.approx(.646120, abs=1e-6)


def test_maxmig(batch):
    file = method("maxmig")
    model = file.MaxMIG(Given(), 2, 2)
    put(model.weight, np.log(TABLES))
    g = model.double().answered(batch, 3).exp()
    assert g.flatten().tolist() == pytest.approx([.887324, .112676, .179487, .820513, 1 / 3, 2 / 3], abs=1e-6)
    assert value(model, file.loss, batch) == pytest.approx(-.302728, abs=1e-6)


def test_conal_without_its_reward(batch):
    """With the same matrix for all it is CrowdLayer; the reward is the sum of distances to it."""
    file = method("conal")
    model = file.CoNAL(Given(), 2, 2, scale=0).double()
    put(model.common, TABLES[0])
    put(model.own, [TABLES[0], TABLES[0]])
    layer = method("crowdlayer").CrowdLayer(Given(), 2, 2)
    put(layer.weight, [TABLES[0], TABLES[0]])
    from manyvoices.nn.lesson import cross_entropy

    same = value(layer, cross_entropy, batch)
    assert value(model, file.loss, batch) == pytest.approx(same, abs=1e-12)
    put(model.own, TABLES)
    plain = value(model, file.loss, batch)
    model.scale = .1
    apart = np.linalg.norm(np.array(TABLES) - np.array(TABLES[0]), axis=(1, 2)).sum()
    assert value(model, file.loss, batch) == pytest.approx(plain - .1 * apart, abs=1e-12)


@pytest.mark.parametrize("smoothing, first, second", [
    (0, [[.918750, .081250], [.032558, .967442]], [[.711111, .288889], [.623188, .376812]]),
    (1, [[.644604, .355396], [.350000, .650000]], [[.589905, .410095], [.553125, .446875]])])
def test_aggnet(smoothing, first, second):
    from types import SimpleNamespace

    from manyvoices.nn.batches import Votes
    from manyvoices.nn.beliefs import Said

    file = method("aggnet")
    model = file.AggNet(Given(), 2, 2)
    votes = Votes(np.array([0, 2, 4, 5]), np.array(WORKER), np.array(LABEL), np.ones(5, np.float32))
    said = Said.about(votes, np.arange(3), 2, 2)
    lesson = SimpleNamespace(votes=votes, rows=np.arange(3), classes=[0, 1], said=lambda: said,
                             batches=lambda rows: SimpleNamespace(in_order=lambda: [SimpleNamespace(x=torch.zeros(3, 2))]))
    em = file.Rounds(lesson, model.double(), smoothing, 1)
    model.log_tables.copy_(torch.tensor(np.log(TABLES)))
    em.before(0)
    found = em.after(0)
    assert em.target[:, 0].tolist() == pytest.approx([.969231, .085714, .428571], abs=1e-6)
    assert model.log_tables.exp().tolist() == [pytest.approx(np.array(rows), abs=1e-5) for rows in (first, second)]
    assert found["cross_entropy"] / 3 == pytest.approx(.479206, abs=1e-6)
    if not smoothing:
        assert found["objective"] == pytest.approx(-2.927924, abs=1e-6)


def test_annotmix_of_two_answers():
    from manyvoices.nn.nets import through

    p, table = torch.tensor([[.65, .35]]), torch.tensor([[[.85, .15], [.3, .7]]])
    q = through(p.log(), table.log())
    assert q.exp().flatten().tolist() == pytest.approx([.6575, .3425], abs=1e-6)
    z = method("annotmix").mixed(torch.tensor([[1., 0.], [0., 1.]]), torch.tensor([.7, .3]), torch.tensor([1, 0]))[0]
    assert float(-(z * q[0]).sum()) == pytest.approx(.614962, abs=1e-6)
    fresh = method("annotmix").AnnotMix(Given(), 1, 10)
    assert float(fresh.outer.bias.detach()[0]) == pytest.approx(4.394449, abs=1e-6)


def test_raykar():
    """Binary, three items with one feature and an intercept; the values are those of sensitivity and specificity."""
    from manyvoices.nn.beliefs import Said

    file = method("raykar")
    said = Said(np.array(AT), np.array(WORKER), np.array(LABEL), np.ones(5), 3, 2, 2)
    x, w = np.array([[1, .5], [1, -1], [1, 2]]), np.array([.2, 1])
    rows = np.stack([-w / 2, w / 2])
    log_p = file.log_softmax(x @ rows.T)
    assert np.exp(log_p[:, 1]) == pytest.approx([.668188, .310026, .900250], abs=1e-6)
    tables = np.array([[[.9, .1], [.2, .8]], [[.6, .4], [.3, .7]]])
    beliefs, evidence = said.beliefs(log_p, np.log(tables))
    assert beliefs[:, 1] == pytest.approx([.182840, .642514, .940454], abs=1e-6)
    assert evidence == pytest.approx(-4.073669, abs=1e-6)
    found = said.tables(beliefs, 1)                                       # Beta(2, 2)
    assert found[:, 1, 1] == pytest.approx([.581348, .515282], abs=1e-6) and found[:, 0, 0] == pytest.approx([.572398, .672392], abs=1e-6)
    _, slope = file.penalised(rows, x, beliefs, 1.0)
    assert -slope[1] == pytest.approx([-.112654, -1.494754], abs=1e-6)
    after = rows + file.direction(rows, x, slope, 1.0)
    assert after[1] - after[0] == pytest.approx([.118755, .085969], abs=1e-6)
