"""The command line called in this process, and what a call left behind."""

import csv
import io
import json

from manyvoices.cli import run


class Done:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self) -> list[dict]:
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def json(self) -> dict:
        return json.loads(self.out)

    @property
    def error(self) -> dict:
        return json.loads(self.err.splitlines()[-1])["error"]


def caller(capsys):
    """A function that runs a command; none may end in a traceback, but with -v."""

    def call(*args: object) -> Done:
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        said = capsys.readouterr()
        assert "Traceback" not in said.err or "-v" in args
        return Done(code, said.out, said.err)

    return call
