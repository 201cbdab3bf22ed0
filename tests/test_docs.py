"""What README, CONTRIBUTING and docs/ show is run, and what is generated is fresh.

Rules for a fenced block of a page:

    sh       run with bash; a line whose first word is make, pip or git is setting up and is left out
    python   run; blocks of a page share their names. One whose first line is `# path/name.py` is written to that file instead;
             a path in manyvoices/ goes into a copy of the package, which the rest of the page uses
    text     right after an sh block, nothing between: each of its lines is in what that block printed; `...` stands for anything
    others   are not run
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import manyvoices
from manyvoices.core import registry

HERE = Path(__file__).resolve().parents[1]
PAGES = [HERE / "README.md", HERE / "CONTRIBUTING.md", *sorted((HERE / "docs").glob("*.md"))]
SETUP = ("make", "pip", "git")

DRIVER = r"""
import json, re, subprocess, sys
names = {"__name__": "page"}
said = ""
for number, (kind, text) in enumerate(json.load(sys.stdin), 1):
    if kind == "python":
        exec(compile(text, f"block {number}", "exec"), names)
    elif kind == "sh":
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = done.stdout
        if done.returncode:
            sys.exit(f"block {number} ended with {done.returncode}\n{text}\n{said}")
    else:
        for line in filter(str.strip, text.splitlines()):
            if not re.search(".*".join(map(re.escape, line.strip().split("..."))), said):
                sys.exit(f"block {number}: {line!r} was not printed\n{said}")
"""


def blocks(text: str) -> list[tuple[str, str]]:
    found, end = [("", "")], -1                              # where the block before ended, if it was sh
    for match in re.finditer(r"^```(\w*)\n(.*?)^```\n", text, re.M | re.S):
        kind, body = match.groups()
        if kind in ("sh", "python") or (kind == "text" and found[-1][0] == "sh" and not text[end:match.start()].strip()):
            found.append((kind, body))
        end = match.end()
    return found[1:]


def without_setup(script: str) -> str:
    return "\n".join(line for line in script.splitlines() if (line.split() or [""])[0] not in SETUP)


NEED_TORCH = ("learning", "python")                          # and scikit-learn


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.extras] if page.stem in NEED_TORCH else [], id=page.stem) for page in PAGES])
def test_what_a_page_shows_runs(page, tmp_path):
    steps = []
    env = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), "PYTHONDONTWRITEBYTECODE": "1"}
    for kind, body in blocks(page.read_text(encoding="utf-8")):
        file = re.match(r"# (\S+\.py)\n", body)
        if kind == "python" and file:
            if file[1].startswith("manyvoices/") and not (tmp_path / "lib").exists():
                shutil.copytree(Path(manyvoices.__file__).parent, tmp_path / "lib" / "manyvoices", ignore=shutil.ignore_patterns("__pycache__"))
                env["PYTHONPATH"] = str(tmp_path / "lib")
            place = (tmp_path / "lib" if file[1].startswith("manyvoices/") else tmp_path) / file[1]
            assert not place.exists(), f"{page.name} would overwrite {file[1]}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(body, encoding="utf-8")
        else:
            steps.append((kind, without_setup(body) if kind == "sh" else body))
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run([sys.executable, "-c", DRIVER], input=json.dumps(steps), capture_output=True, text=True, cwd=work, env=env, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES + sorted((HERE / "docs" / "methods").rglob("*.md")), ids=lambda page: str(page.relative_to(HERE)))
def test_links_lead_somewhere(page):
    prose = "\n".join(line for line in page.read_text(encoding="utf-8").splitlines() if not line.startswith("    "))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_generated_pages_are_fresh():
    done = subprocess.run([sys.executable, str(HERE / "docs" / "build.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tables_of_spam_or_dissent_are_those_that_were_measured():
    """Every table of the page is filled, from the file of results beside the study."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("study", HERE / "benchmarks" / "spam_or_dissent.py")
    sys.modules["study"] = study = module_from_spec(spec)
    try:
        spec.loader.exec_module(study)
        page, made = study.PAGE.read_text(encoding="utf-8"), study.tables(json.loads(study.OUT.read_text(encoding="utf-8")))
    finally:
        del sys.modules["study"]
    shown = dict(re.findall(r"<!-- (\w+) -->\n(.*?)\n?<!-- /\1 -->", page, re.S))
    assert shown == made and all(shown.values())


def test_readme_lists_every_job():
    text = (HERE / "README.md").read_text(encoding="utf-8")
    assert all(f"(docs/methods/{job}.md)" in text for job in registry.jobs())


METHODS = [(job, name) for job in registry.jobs() for name in registry.names(job) if (registry.METHODS / job / f"{name}.py").is_file()]


@pytest.mark.parametrize(("job", "name"), METHODS)
def test_a_method_describes_itself(job, name):
    method = registry.about(job, name)                       # fails where a default is not a literal
    assert re.fullmatch(r".{3,}: .{10,}\.|.{10,}\.", method.title), method.title
    assert len(method.title) <= 140
    assert method.summary.endswith(".")
    if job != "read":
        assert method.reference, "no line `Reference:`"
    assert len(method.page.splitlines()) > 2, "no page below the title"


@pytest.mark.parametrize(("job", "name", "option"), [(job, name, option) for job, name in METHODS for option in registry.about(job, name).options],
                         ids=lambda value: value.name if isinstance(value, registry.Option) else value)
def test_an_option_has_help_and_a_default_of_its_type(job, name, option):
    assert option.help and option.help.endswith("."), "one line of help, with a full stop"
    kinds = {"int": int, "float": (int, float), "str": str, "bool": bool}
    assert option.default is None or isinstance(option.default, kinds[option.type])
    assert option.default is not None or option.optional
    assert not option.choices or option.default is None or option.default in option.choices


@pytest.mark.parametrize("script", sorted((HERE / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(script, tmp_path):
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr
