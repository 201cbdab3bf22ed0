"""python -m manyvoices"""

import sys


def entry() -> None:
    """The command line; Ctrl-C while it is still being loaded ends it as it does later."""
    try:
        from .cli import run

        code = run()
    except KeyboardInterrupt:
        print("manyvoices: interrupted", file=sys.stderr)
        code = 130
    if code == 130:
        # Where Ctrl-C met code made from text, as a class of data is, `python -m` means to die of the signal in the end;
        # making such code once more, undisturbed, lets it forget.
        from collections import namedtuple

        namedtuple("Undisturbed", ())
    sys.exit(code)


if __name__ == "__main__":
    entry()
