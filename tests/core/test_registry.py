"""The registry: names by looking at the folder, facts from the source, methods of other packages."""

import inspect
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

from manyvoices.core import registry
from manyvoices.core.errors import BadCall, ManyVoicesError, Unknown

FAKE = '''
"""Their vote: a method of another package.

Family: votes
Needs: workers
Also: TheirVote[power=2.0], old_vote; power=exponent
"""
import module_nobody_has

from typing import Literal


def theirs(answers, *, power: float = 1.0, kind: Literal["a", "b"] = "a", seed: int | None = None, gold: np.ndarray | None = None, score: np.ndarray):
    """Vote their way.

    Parameters
    ----------
    power
        Raised to this,
        in two lines.
    """
'''


@pytest.fixture
def fresh():
    """Forget what was seen before and after a test that changes the surroundings."""
    def forget():
        for function in (registry.names, registry.guests, registry.about):
            function.cache_clear()
    forget()
    yield forget
    forget()


def package(folder, name, entries, source):
    """A distribution on the path, with its module and its entry points."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[manyvoices.methods]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items()))


def test_a_method_of_another_package(tmp_path, monkeypatch, fresh):
    source = textwrap.dedent('''
        """Their vote.

        Also: TheirVote; power=exponent
        """
        from manyvoices.core.consensus import Consensus
        from manyvoices.kernels.rows import normalise


        def theirs(answers, *, power: float = 1.0) -> Consensus:
            """Vote.

            Parameters
            ----------
            power
                Votes are raised to it.
            """
            return Consensus.of(answers, probs=normalise(answers.counts() ** power))
        ''')
    package(tmp_path, "their_package", {"aggregate.theirs": "their_package:theirs"}, source)
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh()
    assert "theirs" in registry.names("aggregate") and "their_package" not in sys.modules
    about = registry.about("aggregate", "theirs")
    assert about.title == "Their vote." and about.options[0].help == "Votes are raised to it." and "their_package" not in sys.modules
    assert registry.resolve("aggregate", "their-VOTE") == ("theirs", {})
    from crowds import crowd

    from manyvoices import api

    found = api.aggregate(crowd(0).answers(), "theirs[exponent=9]")
    assert found.probs.max(axis=1).mean() > api.aggregate(crowd(0).answers(), "mv").probs.max(axis=1).mean()
    sys.modules.pop("their_package")


def test_a_clash_is_an_error(tmp_path, monkeypatch, fresh):
    package(tmp_path, "clashing", {"aggregate.ds": "clashing:ds"}, "def ds(answers): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh()
    with pytest.raises(ManyVoicesError, match=r"clashing:ds offers aggregate.ds, a name manyvoices uses itself"):
        registry.names("aggregate")


def test_two_packages_with_one_name(tmp_path, monkeypatch, fresh):
    for name in ("one_package", "two_package"):
        package(tmp_path, name, {"aggregate.theirs": f"{name}:theirs"}, "def theirs(answers): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh()
    with pytest.raises(ManyVoicesError, match=r"both offer aggregate\.theirs; uninstall one of them"):
        registry.names("aggregate")


def test_facts_from_the_source(tmp_path, monkeypatch, fresh):
    """A method file is read, never imported, until it is asked for: the module it needs is not there."""
    folder = tmp_path / "aggregate"
    folder.mkdir()
    (folder / "theirs.py").write_text(FAKE)
    (folder / "_part.py").write_text("not python at all (")
    monkeypatch.setattr(registry, "METHODS", tmp_path)
    fresh()
    assert registry.names("aggregate") == ("theirs",) and registry.jobs() == ["aggregate"]
    about = registry.about("aggregate", "theirs")
    assert about.data == ("answers", "gold", "score") and about.required == ("score",) and about.needs == ("workers",) and about.family == "votes"
    power, kind, seed = about.options
    assert (power.type, power.default, power.help, power.also) == ("float", 1.0, "Raised to this, in two lines.", ("exponent",))
    assert kind.choices == ("a", "b") and seed.optional and seed.default is None
    assert about.also == {"TheirVote": {"power": 2.0}, "old_vote": {}} and "Needs" not in about.page
    assert registry.parse("aggregate", "theirvote[kind=b]") == [(about, {"power": 2.0, "kind": "b"})]
    assert registry.parse("aggregate", "TheirVote[Exponent=3]")[0][1] == {"power": 3.0}


def test_a_broken_package_breaks_nothing_but_its_own_method(tmp_path, monkeypatch, fresh):
    package(tmp_path, "halves", {"aggregate.half": "halves:half", "aggregate.gone": "halves.gone:gone", "aggregate.away": "nowhere.at.all:away"},
            "def half(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh()
    assert {"half", "gone", "away", "ds"} <= set(registry.names("aggregate"))
    assert [m.name for m, _ in registry.parse("aggregate", "mv,DawidSkene")] == ["mv", "ds"]
    for name, says in (("half", r"which offers aggregate.half, cannot be loaded from .*halves\.py: "), ("gone", "halves.gone:gone, which offers aggregate.gone, cannot be found"), ("away", "cannot be found")):
        assert registry.about("aggregate", name).title.startswith("(cannot be used: ")
        with pytest.raises(ManyVoicesError, match=says):
            registry.find("aggregate", name)


def test_a_package_that_cannot_be_loaded_says_where(tmp_path, monkeypatch, fresh):
    package(tmp_path, "hollow", {"aggregate.hollow": "hollow:other"}, 'def hollow(answers):\n    """Nothing."""\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh()
    with pytest.raises(ManyVoicesError, match=r"hollow:other, which offers aggregate.hollow, cannot be loaded from .*hollow\.py: "):
        registry.find("aggregate", "hollow")


def test_listing_imports_nothing_of_a_package(tmp_path, monkeypatch, fresh):
    (tmp_path / "heavy").mkdir()
    (tmp_path / "heavy" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "heavy" / "light.py").write_text('"""Light: a vote."""\ndef light(answers):\n    """Vote."""\n')
    package(tmp_path, "heavier", {"aggregate.light": "heavy.light:light"}, "")
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh()
    assert registry.about("aggregate", "light").title == "Light: a vote." and "heavy" not in sys.modules


@pytest.mark.parametrize("source, says", [
    ("def spoilt(answers:\n    pass\n", r"spoilt\.py, line 1: "),
    ('"""S."""\ndef spoilt(answers, *, share: float = 1 / 3):\n    """S."""\n', r"spoilt\.py, line 2: the default of share is 1 / 3; write a literal"),
    ("def other(answers):\n    pass\n", "a method file needs a function called spoilt")])
def test_a_spoilt_file_is_named(tmp_path, source, says):
    (tmp_path / "spoilt.py").write_text(source)
    with pytest.raises(ManyVoicesError, match=says) as error:
        registry.describe("aggregate", "spoilt", tmp_path / "spoilt.py")
    assert "\n" not in str(error.value)


def test_help_of_a_method_whose_extra_is_missing(tmp_path, monkeypatch, fresh):
    folder = tmp_path / "learn"
    folder.mkdir()
    (folder / "deepest.py").write_text('"""Deepest: a network.\n\nFamily: networks\n"""\nimport torch\n\n\n'
                                       'def deepest(items, answers, *, epochs: int = 20):\n    """Train.\n\n    Parameters\n    ----------\n'
                                       '    epochs\n        Passes over the data.\n    """\n')
    monkeypatch.setattr(registry, "METHODS", tmp_path)
    fresh()
    assert registry.names("learn") == ("deepest",) and registry.about("learn", "deepest").options[0].help == "Passes over the data."

    def absent(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch.nn")

    monkeypatch.setattr(registry.importlib, "import_module", absent)
    with pytest.raises(ManyVoicesError, match=r"^learn/deepest needs torch: pip install 'manyvoices\[deep\]'$"):
        registry.find("learn", "deepest")


def test_names_are_not_imported_when_listed():
    said = subprocess.run([sys.executable, "-c", "import sys; from manyvoices.core import registry as r; r.names('aggregate'); "
                           "[r.about('aggregate', n) for n in r.names('aggregate')]; "
                           "print([m for m in sys.modules if m.startswith('manyvoices.methods') or m in ('numpy', 'scipy', 'polars')])"],
                          capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("said, message", [
    ("dss", r"no aggregate method called 'dss'. Did you mean 'ds'\? Known: bcc, cbcc, "),
    ("maze", r"Did you mean 'mace'\?"), ("GLAAD", r"Did you mean 'glad'\?"), ("xyzzy", r"no aggregate method called 'xyzzy'. Known: ")])
def test_did_you_mean(said, message):
    with pytest.raises(Unknown, match=message):
        registry.parse("aggregate", said)
    with pytest.raises(LookupError):
        registry.resolve("aggregate", said)


def test_a_long_list_of_known_names_is_cut():
    said = str(Unknown.name("worker", "ann", (f"w{i:05}" for i in range(100_000))))
    assert len(said) < 500 and said.endswith(", ... (100000)")


@pytest.mark.parametrize("text, message", [
    ("ds[smooth=1]", r"no option of aggregate ds called 'smooth'. Did you mean 'smoothing'\?"),
    ("ds[smoothing=much]", "expected a value of type float"),
    ("ds[iterations=2.5]", "iterations is 2.5; expected a value of type int"), ("ds[init=best]", "expected one of votes, majority, random"),
    ("ds[tol]", "is not option=value"), ("ds[tol=1,TOL=2]", "ds: tol is given twice"), ("", "no aggregate method named"),
    ("ds[tol=None]", "tol needs a value"), ("ds[iterations=1e999]", "expected a value of type int")])
def test_wrong_calls(text, message):
    with pytest.raises((BadCall, Unknown), match=message) as error:
        registry.parse("aggregate", text)
    assert error.value.code == 2 and "\n" not in str(error.value)


def test_an_open_bracket():
    with pytest.raises(BadCall, match="not closed"):
        registry.parse("aggregate", "ds[tol=1")


def test_several_methods_and_brackets():
    (a, given), (b, nothing), (c, more) = registry.parse("aggregate", "DS[smoothing=.1, iterations='7'], glad ,plantnet[ai_worker='a,b',compat=yes]")
    assert (a.name, given) == ("ds", {"smoothing": .1, "iterations": 7}) and (b.name, nothing) == ("glad", {})
    assert (c.name, more) == ("plantnet", {"ai_worker": "a,b", "compat": True})


def test_every_option_has_help_and_a_kind():
    for job in registry.jobs():
        for name in registry.names(job):
            about = registry.about(job, name)
            assert about.title.endswith(".") and about.summary, name
            assert all(option.help for option in about.options), (name, [o.name for o in about.options if not o.help])
            try:
                function = registry.find(job, name)
            except ManyVoicesError as error:                       # networks, where only the core is installed
                assert find_spec("torch") is None and f"{job}/{name} needs torch: pip install 'manyvoices[deep]'" in str(error)
            else:
                assert callable(function) and function.__name__ == name


def test_the_folder_shows_functions():
    from manyvoices.methods import aggregate

    assert aggregate.ds is registry.find("aggregate", "ds") and aggregate.DawidSkene is aggregate.ds and "glad" in dir(aggregate)
    with pytest.raises(AttributeError, match="Did you mean"):
        aggregate.dss  # noqa: B018


def test_what_methods_share_is_described_once_and_given_as_options():
    gwet = registry.about("agree", "gwet")
    assert [o.name for o in gwet.options] == ["weights", "pairs", "min_common", "bootstrap", "seed"]
    assert all(o.help for o in gwet.options) and {o.group for o in gwet.options} == {"ask"}
    assert registry.about("simulate", "hammer_spammer").option("n_worker").name == "workers"
    find = registry.find("simulate", "hammer_spammer")
    one, two = find(workers=7, ratio=.5, seed=3), find(size=type(inside(find, "size"))(workers=7, seed=3), ratio=.5)
    assert one.label.tobytes() == two.label.tobytes() and len(one.confusions) == 7
    assert "workers" in inspect.signature(find).parameters and "size" not in inspect.signature(find).parameters
    with pytest.raises(TypeError, match="nonsense"):
        find(nonsense=1)


def inside(function, name):
    return inspect.signature(function.__wrapped__).parameters[name].default


def test_a_shared_class_that_is_nowhere_is_named(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text('"""Mine: a method."""\n\n\ndef mine(answers, *, what: What = What()):\n    """Do."""\n')
    with pytest.raises(ManyVoicesError, match=r"mine\.py: What is neither made here nor imported by name"):
        registry.describe("aggregate", "mine", path)
