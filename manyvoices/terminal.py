"""What every verb of the command line shares: options read from the methods' sources, output, errors, exit codes."""

from __future__ import annotations

import csv
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from . import __version__
from .core import registry
from .core.errors import BadCall, BadInput, ManyVoicesError, Unknown


class Verbs(click.Group):
    """Verbs with a guess at the one that was meant."""

    def resolve_command(self, ctx, args):
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise Unknown.name("verb", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx):
        return list(self.commands)  # in the order of the work, not of the alphabet

    def verb(self, job: str | None = None, *, reads: bool = False, options: bool = True, gates: bool = False):
        """A command with the options every verb has."""

        def wrap(function):
            for option in (
                click.option("--json", "as_json", is_flag=True, help="Machine-readable result on stdout."),
                click.option("-q", "--quiet", is_flag=True, help="Nothing on stderr but errors."),
                click.option("-v", "--verbose", is_flag=True, help="Show the traceback of an error."),
            ):
                function = option(function)
            made = self.command(cls=Verb, job=job, reads=reads, options=options, gates=gates, context_settings=SETTINGS)
            return made(function)

        return wrap


class Verb(click.Command):
    """A verb whose further options are those of the methods named by -s (of all, where it has no default), and of the
    reader named by --from. With `gates` it takes --min-SCORE X and --max-SCORE X."""

    def __init__(self, *args, job=None, reads=False, options=True, gates=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.job, self.reads, self.options, self.gates = job, reads, options, gates
        self.own = self.params

    def parse_args(self, ctx, args):
        self.params = self.own
        extra: dict[str, tuple[registry.Option, str]] = {}
        values = self.first_look(ctx, args)
        if self.job:
            ctx.meta["asked"] = asked = self.asked(values.get("strategy"))
            every = asked or [(registry.about(self.job, name), {}) for name in registry.names(self.job)]
            for method, _ in every if self.options else ():
                if asked or not method.trains:  # no network is trained that nobody named
                    extra |= {o.name: (o, "method") for o in method.options if o.name not in extra}
        if self.reads:
            known = values.get("format")
            for name in [registry.resolve("read", known)[0]] if known else registry.names("read"):
                extra = {o.name: (o, "reader") for o in registry.about("read", name).options} | extra
        taken = {p.name: p for p in self.own}
        both = {n: shared(taken[n], o) for n, (o, kind) in extra.items() if isinstance(taken.get(n), Reading)}
        more = [click_option(o, kind) for o, kind in extra.values() if o.name not in taken]
        self.params = [both.get(p.name, p) for p in self.own] + more
        if self.gates:
            args, ctx.meta["gates"] = gates(args, {flag for p in self.params for flag in p.opts})
        return super().parse_args(ctx, args)

    def asked(self, strategy: Any) -> list[tuple[registry.Method, dict]] | None:
        if not isinstance(strategy, str):  # not given: click has a mark of its own for that
            strategy = next(p.default for p in self.params if p.name == "strategy")
        again = self.name == "compare"  # one method with several options is a fair question there
        return registry.parse(self.job, strategy, again) if isinstance(strategy, str) else None

    def format_options(self, ctx, formatter):
        """The verb's own options first, then those of the methods and of the readers."""
        named = ", ".join(method.name for method, _ in ctx.meta.get("asked") or [])
        for kind, title in (
            ("", "Options"),
            ("method", f"Options of {named or 'the methods'}"),
            ("reading", "Reading DATA"),
            ("reader", "Reading single formats"),
        ):
            chosen = [p for p in self.get_params(ctx) if getattr(p, "of_method", "") == kind and p.opts[0][0] == "-"]
            if rows := [row for p in chosen if (row := p.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=34)

    def format_epilog(self, ctx, formatter):
        if self.gates:
            formatter.write_paragraph()
            formatter.write_text(
                "Gates: --min-SCORE X and --max-SCORE X end with exit code 4 where the score is not met."
            )

    def first_look(self, ctx, args) -> dict[str, Any]:
        """What the options every method shares say, before those of the method are known."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        try:
            values, _, order = parser.parse_args(list(args))
        except click.UsageError:
            return {}  # the real look says what is wrong
        if [p.name for p in order].count("strategy") > 1:
            raise BadCall("-s is given twice; several methods go into one: -s ds,glad")
        return values


def gates(args: list[str], known: set[str]) -> tuple[list[str], dict[str, float]]:
    """--min-SCORE X and --max-SCORE X taken out of the arguments: those that are no option of the verb's own."""
    rest: list[str] = []
    found: dict[str, float] = {}
    left = iter(args)
    for arg in left:
        flag, equals, value = arg.partition("=")
        match = re.fullmatch(r"--(min|max)[-_](.+)", flag)
        if not match or flag.replace("_", "-").lower() in known:
            rest.append(arg)
            continue
        value = value if equals else next(left, "")
        try:
            found[f"{match[1]}-{match[2]}"] = float(value)
        except ValueError:
            raise BadCall(f"{flag} is {value!r}: give the number the score is held against") from None
    return rest, found


def click_option(option: registry.Option, of_method: str) -> click.Option:
    names = [option.name, *(other for other in option.also)]
    if option.type == "bool":
        flags = [f"--{n.replace('_', '-')}/--no-{n.replace('_', '-')}" for n in names]
        made = click.Option([flags[0], *flags[1:], option.name], default=None, help=option.help)
    else:
        flags = list(dict.fromkeys(f"--{n.replace('_', '-')}" for n in names))
        kind: Any = (
            click.Choice(option.choices)
            if option.choices
            else {"int": click.INT, "float": click.FLOAT}.get(option.type, click.STRING)
        )
        kind = OrNone(kind) if option.optional else kind
        shown = "" if option.default is None else f" [{option.default}]"
        made = click.Option([*flags, option.name], type=kind, default=None, help=option.help + shown)
    made.of_method = of_method  # type: ignore[attr-defined]
    return made


def shared(reading: click.Option, option: registry.Option) -> click.Option:
    """An option of reading whose name a method's option has too (CoNAL's scale): words are for reading, numbers for it."""
    made = click_option(option, "method")
    made.type, words = Either(reading.type, made.type), (reading.help or "").partition(" [")[0].rstrip(".")
    made.help = f"{made.help} Or, as a word: {words[0].lower()}{words[1:]}."
    return made


class Either(click.ParamType):
    """A word that the one type knows, or else a value of the other."""

    def __init__(self, words: Any, kind: click.ParamType):
        self.words, self.kind = words, kind
        self.name = "|".join([*words.choices, kind.name])

    def get_metavar(self, param, ctx):
        return f"[{self.name}]"

    def convert(self, value, param, ctx):
        if str(value).lower() in self.words.choices:
            return str(value).lower()
        try:
            return self.kind.convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is no {self.kind.name} and none of {', '.join(self.words.choices)}.", param, ctx)


class OrNone(click.ParamType):
    """A type whose option may also be None, which is told from an option not given by being text."""

    def __init__(self, kind: click.ParamType):
        self.kind, self.name = kind, kind.name

    def convert(self, value, param, ctx):
        return "None" if str(value).lower() == "none" else self.kind.convert(value, param, ctx)


SETTINGS = {
    "help_option_names": ["-h", "--help"],
    "token_normalize_func": lambda text: text if len(text) == 1 else text.replace("_", "-").lower(),
    "max_content_width": 110,
}


class Reading(click.Option):
    """An option that every verb has that reads answers."""

    of_method = "reading"


def reading(function):
    """Options of every verb that reads answers."""
    option = partial(click.option, cls=Reading)
    for wrapped in reversed(
        (
            option("--from", "format", metavar="FORMAT", help="Read as this format instead of recognising it."),
            option("--classes", metavar="A,B,C", help="The classes; any other label is an error."),
            option(
                "--scale",
                type=click.Choice(["nominal", "ordinal", "interval", "multilabel"]),
                help="What the labels are. [nominal]",
            ),
            option(
                "--missing", multiple=True, metavar="TEXT", help="A label that means there is none; may be repeated."
            ),
            option("--strict", is_flag=True, help="A missing label is an error."),
            option(
                "--repeats",
                type=click.Choice(["all", "last", "first", "error"]),
                default="all",
                help="Several answers of a worker to a task. [all]",
            ),
            option("--exclude-workers", metavar="FILE", help="Leave out the workers listed, one a line."),
            option("--map-labels", metavar="FILE", help="Rename labels: CSV with the columns from,to."),
            option(
                "--classes-limit",
                type=click.IntRange(min=1),
                default=65_536,
                help="Refuse more different labels than this. [65536]",
            ),
            option("--hash-workers", is_flag=True, help="Replace worker ids by a keyed hash."),
            option("--hash-key", metavar="KEY", help="Key of that hash; random if not given."),
            option("--on", metavar="WHERE", help="Where the answers live: threads:N or disk. [threads, all cores]"),
        )
    ):
        function = wrapped(function)
    return function


# what the verbs share --------------------------------------------------------------------------------------------------------


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    common = {name: options.pop(name) for name in ("as_json", "quiet", "verbose")}
    return common, options


def of_method(options: dict[str, Any], method: registry.Method) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options that were given to the method, and the others. Where reading has one of the same name, its words are its own."""
    kinds = {o.name: o.type for o in method.options}
    mine = {
        name: value
        for name, value in options.items()
        if name in kinds and not (name in RULES and isinstance(value, str) and kinds[name] != "str")
    }
    given = {name: value for name, value in mine.items() if value is not None}
    return given, {name: value for name, value in options.items() if name not in mine}


def of_reader(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in RULES}


class Lines(logging.Handler):
    """What the library logs, as lines on stderr."""

    def emit(self, record):
        click.echo(record.getMessage(), err=True)


@contextmanager
def heard() -> Iterator[list[str]]:
    """What the library logs, also as lines to keep: for --json and manifests, with -q too."""
    found: list[str] = []
    log, kept = logging.getLogger("manyvoices"), logging.Handler(logging.INFO)
    kept.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    before = log.level
    log.setLevel(min(log.getEffectiveLevel(), logging.INFO))
    log.addHandler(kept)
    try:
        yield found
    finally:
        log.removeHandler(kept)
        log.setLevel(before)


def loaded(data: str, format: str | None, on: str | None, options: dict[str, Any], *, items: bool = False):
    """DATA with the reading options as the command line spells them; with `items` a table of items will do."""
    from . import api
    from .inputs import format_of_items, from_stdin

    source = from_stdin(sys.stdin.buffer.read()) if data == "-" else Path(data) if data else data
    if items and format is None and isinstance(source, Path):
        format = format_of_items(source)
    if options.get("classes") is not None:
        options["classes"] = [part.strip() for part in options["classes"].split(",") if part.strip()]
        if not options["classes"]:
            raise BadCall("--classes names no class: write --classes A,B,C")
    if options.get("exclude_workers") is not None:
        options["exclude_workers"] = lines_of(Path(options["exclude_workers"]))
    else:
        options.pop("exclude_workers", None)
    if options.get("map_labels") is not None:
        options["map_labels"] = renamings(Path(options["map_labels"]))
    rules = {name: options.pop(name) for name in list(options) if name in RULES and options[name] is not None}
    rest = {name: value for name, value in options.items() if value is not None and name not in RULES}
    try:
        return api.read(source, format, on=on, **rules, **rest)
    except BadInput as problem:
        if data == "-" and problem.file is not None:
            raise BadInput(
                problem.message, file="stdin", line=problem.line, value=problem.value, expected=problem.expected
            ) from None
        raise


RULES = (
    "classes",
    "missing",
    "strict",
    "repeats",
    "scale",
    "exclude_workers",
    "map_labels",
    "hash_workers",
    "hash_key",
    "classes_limit",
)


def lines_of(path: Path) -> list[str]:
    try:
        texts = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"cannot be read ({getattr(error, 'strerror', None) or error})", file=path, expected="one worker a line"
        ) from None
    header, *rows = list(csv.reader(texts)) or [[]]
    if len(header) > 1 and "worker" in header:
        at = header.index("worker")
        return [row[at] for row in rows if len(row) > at and row[at]]
    return [text for text in texts if text and text != "worker"]


def renamings(path: Path) -> dict[str, str | None]:
    """--map-labels: the columns from,to, or two columns without a header. Nothing in `to` makes a label a missing one."""
    from .inputs import frame

    try:
        table, _ = frame(path)
    except BadInput as problem:
        line, value = problem.line, problem.value
        raise BadInput(problem.message, file=path, line=line, value=value, expected="two columns: from,to") from None
    names = table.columns
    headed = {"from", "to"} <= set(names)
    if not headed and len(names) > 2:
        raise BadInput(
            f"{len(names)} columns: {', '.join(names[:5])}", file=path, line=1, expected="two columns: from,to"
        )
    pairs = table.select("from", "to").rows() if headed else [tuple(names), *table.rows()]
    found: dict[str, str | None] = {}
    for old, new in pairs:
        if old is not None and found.setdefault(old, new) != new:
            told = f"label {old!r} is to be both {found[old]!r} and {new!r}"
            raise BadInput(told, file=path, value=old, expected="each label once")
    return found


def say(common: dict[str, Any]):
    return (lambda text: None) if common["quiet"] else lambda text: click.echo(text, err=True)


def tell(common: dict[str, Any], dataset) -> None:
    """On stderr: what a user should know about the reading."""
    for message in dataset.messages:
        say(common)(f"note: {message}")
    for line in left_out(dataset):
        say(common)(line)


def left_out(dataset) -> list[str]:
    """What was read and not used, as a line where there is such a thing."""
    from .core.labels import many

    said = ", ".join(f"{many(n, 'row')} ({reason})" for reason, n in dataset.dropped.items())
    return [f"left out: {said}"] if said else []


def notes_of(dataset) -> list[str]:
    """What `tell` says, for --json."""
    return [*dataset.messages, *left_out(dataset)]


def spelled(context: click.Context) -> list[str]:
    """The reading options that were given, as they were. A key stays secret, files lose their folder, and where the answers
    live changes nothing."""
    words: list[str] = []
    for option in context.command.get_params(context):
        asked = context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
        if (
            getattr(option, "of_method", "") not in ("reading", "reader")
            or option.name in ("hash_key", "on")
            or not asked
        ):
            continue
        value = context.params[option.name]
        if isinstance(value, bool):
            words.append(option.opts[0] if value else option.secondary_opts[0])
            continue
        for one in map(str, value if isinstance(value, tuple) else (value,)):
            words += [option.opts[0], Path(one).name if Path(one).is_file() else one]
    return words


def recorded(options: dict[str, Any]) -> dict[str, Any]:
    """Options as they go into records: those that were given, and never a secret."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != () and name != "hash_key"
    }


def show(found: dict[str, Any]) -> None:
    """A dict as lines of text."""
    for name, value in found.items():
        name = name.replace("_", " ")
        if isinstance(value, dict):
            value = (
                ", ".join(f"{k} {v}" for k, v in list(value.items())[:20]) + (", ..." if len(value) > 20 else "")
                or "none"
            )
        elif isinstance(value, list):
            if name == "messages":
                for text in value:
                    click.echo(f"note: {text}")
                continue
            value = ", ".join(map(str, value[:20])) or "none"
        elif isinstance(value, float):
            value = f"{value:.4g}"
        click.echo(f"{name + ':':28}{'none' if value is None else value}")


def finish(
    command: str,
    result: Any,
    *,
    common: dict[str, Any],
    plain=None,
    seed: int | None = None,
    input: str | None = None,
    options: dict[str, Any] | None = None,
    notes: list[str] | None = None,
    files: list | None = None,
) -> None:
    """The result on stdout: as JSON, or in the words of the verb."""
    if common["as_json"]:
        click.echo(
            json.dumps(
                {
                    "command": command,
                    "version": __version__,
                    "seed": seed,
                    "input": input,
                    "options": options or {},
                    "result": result,
                    "notes": notes or [],
                    "files": [str(f) for f in files or []],
                },
                ensure_ascii=False,
                default=float,
            )
        )
    elif plain is not None:
        plain()


def progress(common: dict[str, Any]):
    """A bar with what is being maximised and the time left, on a terminal only."""
    from contextlib import nullcontext

    if common["quiet"] or common["as_json"] or not sys.stderr.isatty():
        return nullcontext()
    from .progress import bar

    return bar()


# the door --------------------------------------------------------------------------------------------------------------------


def run(main: click.Command, args: list[str] | None = None) -> int:
    """The command line with one line an error and the exit codes of the contract."""
    args = sys.argv[1:] if args is None else args
    log, lines = logging.getLogger("manyvoices"), Lines()
    if "-q" not in args and "--quiet" not in args:
        log.addHandler(lines)
        log.setLevel(logging.INFO)
    code, error, raised = 0, "", None
    facts: dict[str, Any] = {}
    try:
        main.main(args, prog_name="manyvoices", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        code = done.exit_code
    except (BrokenPipeError, SystemExit):  # whoever read our output has seen enough; click makes a SystemExit of that
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except BaseException as problem:
        raised = problem
        code, error, facts = told(problem)
    finally:
        log.removeHandler(lines)
    if error:
        if "-v" in args or "--verbose" in args:
            traceback.print_exception(raised)
        line = " ".join(error.splitlines())
        if "--json" in args:
            names = ("file", "line", "value", "expected")
            where = {name: facts.get(name) if name == "line" else text_or_none(facts.get(name)) for name in names}
            print(json.dumps({"error": {"code": code, "message": line, **where}}, ensure_ascii=False), file=sys.stderr)
        else:
            print(f"manyvoices: {line}", file=sys.stderr)
    return code


def elsewhere(problem: click.NoSuchOption) -> list[str]:
    """The methods that have an option which those that were named do not have."""
    job, name = getattr(problem.ctx.command, "job", None), problem.option_name.lstrip("-").replace("-", "_")
    if job is None or not problem.ctx.meta.get("asked"):
        return []
    return [method for method in registry.names(job) if name in {o.name for o in registry.about(job, method).options}]


def told(problem: BaseException) -> tuple[int, str, dict[str, Any]]:
    """Exit code, one line, and where in the data it happened."""
    match problem:
        case click.NoSuchOption() if owners := elsewhere(problem):
            asked = ", ".join(method.name for method, _ in problem.ctx.meta["asked"])
            return 2, f"{problem.option_name} is no option of {asked}, but of {', '.join(owners)}", {}
        case click.UsageError():
            where = f" {problem.ctx.info_name}" if problem.ctx and problem.ctx.parent else ""
            return 2, f"{problem.format_message()} (manyvoices{where} -h shows what there is)", {}
        case KeyboardInterrupt() | click.Abort():
            return 130, "interrupted", {}
        case ManyVoicesError():
            return problem.code, str(problem), vars(problem)
        case MemoryError():
            return 1, "out of memory: use --on disk, or a method with one row a worker (onecoin, wawa, mace)", {}
        case OSError():
            return 1, f"{problem.filename or ''}: {problem.strerror or problem}".lstrip(": "), {}
        case _:  # a defect of ours: still one line, and how to see more
            return 1, f"unexpected {type(problem).__name__}: {problem} (-v shows where; please report it)", {}


def text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
