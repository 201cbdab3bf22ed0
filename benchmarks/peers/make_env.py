"""Makes the environment in which the peers are measured.

    python benchmarks/peers/make_env.py [PATH]        PATH is .venv-peers beside the Makefile unless given

Does nothing when the environment is there and was made from the same requirements by the same Python.
Prints the path of the environment's Python.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
CHECK = "import crowdkit.aggregation, cleanlab.multiannotator, peerannot.models"


def make(path: Path, anew: bool = False) -> Path:
    """The environment's Python; installs when needed."""
    python = path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = path / "made-from"
    made_from = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest() + " " + sys.version.split()[0]
    if not anew and python.exists() and stamp.exists() and stamp.read_text() == made_from:
        return python
    venv.create(path, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True, stdout=sys.stderr)
    stand_in = {**os.environ, "PYTHONPATH": str(HERE / "stand_in")}
    subprocess.run([str(python), "-c", CHECK], check=True, env=stand_in, stdout=sys.stderr)
    stamp.write_text(made_from)
    return python


def main() -> None:
    """Make it, say where it is."""
    parser = argparse.ArgumentParser(description="Make the environment in which the peers are measured.")
    parser.add_argument("path", nargs="?", type=Path, default=HERE.parents[1] / ".venv-peers")
    parser.add_argument("--anew", action="store_true", help="make it again even if it is up to date")
    options = parser.parse_args()
    try:
        print(make(options.path.absolute(), options.anew))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{options.path}: {' '.join(error.cmd[1:4])} ended with {error.returncode}")


if __name__ == "__main__":
    main()
