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
    sys.exit(code)


if __name__ == "__main__":
    entry()
