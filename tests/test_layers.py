"""Who imports whom, read from the source: downwards only, and nothing heavy before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import manyvoices

ROOT = Path(manyvoices.__path__[0])
FILES = sorted(ROOT.rglob("*.py"))
MAY = {"core": {"core"}, "kernels": {"core", "kernels"}, "nn": {"core", "kernels", "nn"}, "engines": {"core", "engines"}}
HEAVY = ("scipy", "polars", "narwhals", "torch", "transformers", "dask", "jinja2", "pandas", "rich", "safetensors", "PIL")


def imports(file: Path) -> list[tuple[str, ...]]:
    """Our own modules that a file names, as parts below the package: ('core', 'answers')."""
    package = file.relative_to(ROOT).parts[:-1]
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [tuple(a.name.split(".")[1:]) for a in node.names if a.name.split(".")[0] == "manyvoices"]
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = package[:len(package) - node.level + 1] + module
            elif module[:1] == ("manyvoices",):
                base = module[1:]
            else:
                continue
            found += [base if (ROOT.joinpath(*base)).with_suffix(".py").is_file() else (*base, a.name) for a in node.names]
    return found


def of(folder: str) -> list:
    return [pytest.param(f, id=str(f.relative_to(ROOT))) for f in FILES if f.relative_to(ROOT).parts[0] == folder]


@pytest.mark.parametrize("file", [p for folder in MAY for p in of(folder)])
def test_lower_layers(file):
    folder = file.relative_to(ROOT).parts[0]
    assert {module[0] for module in imports(file) if module} <= MAY[folder]


@pytest.mark.parametrize("file", of("methods"))
def test_methods(file):
    """Core, kernels, nn, and parts of their own folder that begin with an underscore: no method imports another."""
    where = file.relative_to(ROOT).parts
    for module in imports(file):
        if module[0] == "methods":
            assert len(where) > 2 and module[:2] == where[:2] and module[2].startswith("_"), module
        else:
            assert module[0] in {"core", "kernels", "nn"}, module


def test_the_check_sees_imports():
    seen = {file.relative_to(ROOT).as_posix(): imports(file) for file in FILES}
    assert ("core", "answers") in seen["methods/aggregate/ds.py"] and ("kernels", "tables") in seen["methods/aggregate/ds.py"]
    assert ("methods", "aggregate", "_line") in seen["methods/aggregate/ordinal.py"] and ("core", "errors") in seen["core/answers.py"]
    assert ("engines", "memory") in seen["api.py"]


def calls(file: Path):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node), node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield f"{node.func.id}()", node.lineno


@pytest.mark.parametrize("file", [p for folder in ("core", "kernels", "engines", "methods", "nn") for p in of(folder)])
def test_no_prints_and_no_global_randomness(file):
    for said, line in calls(file):
        assert said != "print()", line
        if said.startswith(("np.random.", "numpy.random.")):
            assert said.split(".")[2].partition("(")[0] in ("default_rng", "Generator", "SeedSequence", "PCG64"), (said, line)
    imported = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Import)]
    assert "random" not in {a.name.split(".")[0] for node in imported for a in node.names}


def loaded(code: str) -> set[str]:
    said = subprocess.run([sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True)
    return {module.split(".")[0] for module in said.stdout.split()}


def test_import_loads_nothing_heavy():
    assert not loaded("import manyvoices") & set(HEAVY)
    assert not loaded("import manyvoices.core.answers, manyvoices.core.consensus, manyvoices.core.registry, manyvoices.engines.memory") & set(HEAVY)
    assert not loaded("from manyvoices import cli") & (set(HEAVY) - {"rich"})


def test_no_folder_hides_a_verb():
    beside = {p.stem for p in ROOT.iterdir() if p.name not in ("__init__.py", "__main__.py")}
    assert not beside & {"aggregate", "read", "write", "convert", "inspect", "simulate", "train", "learn", "evaluate", "report"}


def test_public_names_are_there():
    for name in manyvoices.__all__:
        assert getattr(manyvoices, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        manyvoices.nothing  # noqa: B018
