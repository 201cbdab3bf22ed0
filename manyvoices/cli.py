"""The verbs on the command line. Options of a method come from its source; data go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from dataclasses import fields
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


class Verb(click.Command):
    """A verb whose further options are those of the method named by -s, and of the reader named by --from."""

    def __init__(self, *args, job: str | None = None, reads: bool = False, **kwargs):
        super().__init__(*args, **kwargs)
        self.job, self.reads = job, reads

    def parse_args(self, ctx, args):
        self.params = [p for p in self.params if not getattr(p, "of_method", False)]
        extra: dict[str, registry.Option] = {}
        values = self.first_look(ctx, args)
        if self.job:
            ctx.meta["asked"] = registry.parse(
                self.job, values["strategy"] if values.get("strategy") is not None else self.default_of("strategy")
            )
            for method, _ in ctx.meta["asked"]:
                extra |= {o.name: o for o in method.options if o.name not in extra}
        if self.reads:
            known = values.get("format")
            for name in [registry.resolve("read", known)[0]] if known else registry.names("read"):
                extra = {o.name: o for o in registry.about("read", name).options} | extra
        taken = {p.name for p in self.params}
        self.params += [click_option(o) for o in extra.values() if o.name not in taken]
        return super().parse_args(ctx, args)

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

    def default_of(self, name: str) -> str:
        return next(p.default for p in self.params if p.name == name)  # type: ignore[return-value]


def click_option(option: registry.Option) -> click.Option:
    names = [option.name, *(other for other in option.also)]
    if option.type == "bool":
        flags = [f"--{n.replace('_', '-')}/--no-{n.replace('_', '-')}" for n in names]
        made = click.Option([flags[0], *flags[1:], option.name], default=None, help=option.help)
    else:
        flags = list(dict.fromkeys(f"--{n.replace('_', '-')}" for n in names))
        kind = (
            click.Choice(option.choices)
            if option.choices
            else {"int": click.INT, "float": click.FLOAT}.get(option.type, click.STRING)
        )
        shown = "" if option.default is None else f" [{option.default}]"
        made = click.Option([*flags, option.name], type=kind, default=None, help=option.help + shown)
    made.of_method = True  # type: ignore[attr-defined]
    return made


SETTINGS = {
    "help_option_names": ["-h", "--help"],
    "token_normalize_func": lambda text: text if len(text) == 1 else text.replace("_", "-").lower(),
    "max_content_width": 110,
}


@click.group(cls=Verbs, context_settings=SETTINGS, invoke_without_command=True)
@click.version_option(__version__, prog_name="manyvoices")
@click.pass_context
def main(ctx):
    """Learn from people who disagree.

    \b
    manyvoices demo                                     see everything once, on data made on the spot
    manyvoices inspect answers.csv                      what is in an export
    manyvoices aggregate answers.csv -o labels.csv      one label a task (by bcc)
    manyvoices aggregate answers.csv -s ds -h           the options of one method
    manyvoices methods                                  every method with a line each
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def verb(job: str | None = None, reads: bool = False, **more):
    """A command with the options every verb has."""

    def wrap(function):
        for option in (
            click.option("--json", "as_json", is_flag=True, help="Machine-readable result on stdout."),
            click.option("-q", "--quiet", is_flag=True, help="Nothing on stderr but errors."),
            click.option("-v", "--verbose", is_flag=True, help="Show the traceback of an error."),
        ):
            function = option(function)
        return main.command(cls=Verb, job=job, reads=reads, context_settings=SETTINGS, **more)(function)

    return wrap


def reading(function):
    """Options of every verb that reads answers."""
    for option in reversed(
        (
            click.option("--from", "format", metavar="FORMAT", help="Read as this format instead of recognising it."),
            click.option("--classes", metavar="A,B,C", help="The classes; any other label is an error."),
            click.option(
                "--scale",
                type=click.Choice(["nominal", "ordinal", "interval", "multilabel"]),
                help="What the labels are. [nominal]",
            ),
            click.option(
                "--missing", multiple=True, metavar="TEXT", help="A label that means there is none; may be repeated."
            ),
            click.option("--strict", is_flag=True, help="A missing label is an error."),
            click.option(
                "--repeats",
                type=click.Choice(["all", "last", "first", "error"]),
                default="all",
                help="Several answers of a worker to a task. [all]",
            ),
            click.option("--exclude-workers", metavar="FILE", help="Leave out the workers listed, one a line."),
            click.option("--map-labels", metavar="FILE", help="Rename labels: CSV with the columns from,to."),
            click.option(
                "--classes-limit", type=int, default=65_536, help="Refuse more different labels than this. [65536]"
            ),
            click.option("--hash-workers", is_flag=True, help="Replace worker ids by a keyed hash."),
            click.option("--hash-key", metavar="KEY", help="Key of that hash; random if not given."),
            click.option(
                "--on", metavar="WHERE", help="Where the answers live: threads:N or disk. [threads, all cores]"
            ),
        )
    ):
        function = option(function)
    return function


# verbs -----------------------------------------------------------------------------------------------------------------------


@verb()
@click.option("-o", "--out", default="manyvoices-demo", help="Folder to write. [manyvoices-demo]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the simulated crowd. [0]")
def demo(out, seed, **common):
    """See the whole thing once on data made on the spot.

    \b
    manyvoices demo
    """
    from .demo import run

    result = run(Path(out), seed, say(common))
    finish("demo", result, seed=seed, common=common, plain=lambda: click.echo(result["report"]))


@verb(reads=True)
@click.argument("data")
@reading
def inspect(data, format, on, **options):
    """What is in DATA: format, counts, overlap, agreement, oddities, rows left out and why.

    \b
    manyvoices inspect answers.csv
    manyvoices inspect export/ --json
    """
    from .inspection import inspected

    common, options = parted(options)
    dataset = loaded(data, format, on, options)
    found = inspected(dataset)
    finish("inspect", found, input=data, common=common, notes=found["messages"], plain=lambda: show(found))


@verb(reads=True)
@click.argument("data")
@click.argument("out")
@click.option("--to", metavar="FORMAT", help="Format to write. [long for a table's suffix, else native]")
@reading
def convert(data, out, to, format, on, **options):
    """Read DATA in any format, write it as OUT in another.

    \b
    manyvoices convert export.json answers.csv
    manyvoices convert answers.csv folder/ --to peerannot
    """
    from . import api
    from .runs import fingerprints, write_manifest

    common, options = parted(options)
    dataset = loaded(data, format, None, options)  # rows are written one by one: from memory
    files = api.convert(dataset, out, to)
    if Path(out).is_dir():
        record = {"to": to} | {name: value for name, value in options.items() if value not in (None, False, ())}
        files.append(write_manifest(Path(out), ["convert"], record, fingerprints(Path(data), []), {}))
    tell(common, dataset)
    finish(
        "convert",
        [str(f) for f in files],
        input=data,
        common=common,
        notes=dataset.messages,
        files=files,
        plain=lambda: say(common)(f"wrote {', '.join(map(str, files[:6]))}{' ...' if len(files) > 6 else ''}"),
    )


@verb(job="simulate")
@click.argument("out")
@click.option(
    "-s",
    "--strategy",
    default="independent_confusion",
    help="How the workers err (manyvoices methods simulate). [independent_confusion]",
)
def simulate(out, strategy, **options):
    """Simulate workers who answer tasks of known truth, as a native folder OUT.

    \b
    manyvoices simulate crowd/ --workers 30 --tasks 200 --classes 5 --per-task 10 --seed 0
    manyvoices simulate crowd/ -s hammer_spammer --ratio 0.5
    """
    from . import api
    from .core.files import put
    from .runs import write_manifest

    common, options = parted(options)
    [(method, bracketed), *more] = click.get_current_context().meta["asked"]
    if more:
        raise BadCall("simulate makes one crowd at a time")
    given = bracketed | {name: value for name, value in options.items() if value is not None}
    dataset = api.simulate(method.name, **given)
    files = api.write(dataset, out)
    files.append(put(Path(out) / "confusions.csv", dataset.about["confusions"].write_csv))
    files.append(write_manifest(Path(out), ["simulate", method.name], method.defaults() | given, {}, {}))
    result = {
        "tasks": len(dataset.answers.tasks),
        "workers": len(dataset.answers.workers),
        "answers": dataset.answers.n,
        "strategy": method.name,
    }
    finish(
        "simulate",
        result,
        seed=given.get("seed", 0),
        options=given,
        common=common,
        files=files,
        plain=lambda: say(common)(
            f"{result['answers']} answers of {result['workers']} workers about {result['tasks']} tasks in {out}"
        ),
    )


@verb(job="aggregate", reads=True)
@click.argument("data")
@click.option(
    "-s",
    "--strategy",
    default="bcc",
    help='Method, or several: ds, glad, "ds[smoothing=0.1],mv" (manyvoices methods aggregate). [bcc]',
)
@click.option("-o", "--out", help="X.csv, X.parquet, X.jsonl, X.npy, a folder DIR/, or - for stdout. [-]")
@click.option("--soft", is_flag=True, help="With a column p:CLASS for every class.")
@click.option("--all-tasks", is_flag=True, help="Also tasks without answers, at the prior.")
@click.option(
    "--ties",
    type=click.Choice(["lowest", "random", "all"]),
    default="lowest",
    help="Best classes that are equal: the first, a draw, or a row each. [lowest]",
)
@click.option("--min-prob", type=float, help="No label below this probability, but a note: needs review.")
@click.option("--gold", metavar="FILE", help="Known truth to fit with: columns task,label.")
@click.option("--probs", metavar="FILE", help="Out-of-sample class probabilities: columns task,p:CLASS (crowdlab).")
@click.option("--labels", metavar="FILE", help="Labels to start from (ds).")
@click.option(
    "--start", metavar="DIR", help="Go on from an earlier result and say what changed (ds, onecoin, bcc, glad)."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="For random ties and starts. [0]")
@reading
def aggregate(data, strategy, out, format, on, **options):
    """One label a task from everybody's answers.

    \b
    manyvoices aggregate answers.csv                         to stdout, by bcc
    manyvoices aggregate answers.csv -s ds -o labels.csv
    manyvoices aggregate answers.csv -s glad -o result/      labels, workers, tasks, manifest
    manyvoices aggregate answers.csv -s "mv,ds[smoothing=0.1]" -o results/
    """
    from .inputs import questions
    from .runs import Call, aggregate_all, check_output, slug

    common, options = parted(options)
    asked = click.get_current_context().meta["asked"]
    record = {
        name: value for name, value in options.items() if value is not None and value is not False and value != ()
    }
    mine = {f.name: options.pop(f.name) for f in fields(Call) if f.name in options}
    if mine["min_prob"] is not None and not 0 <= mine["min_prob"] <= 1:
        raise BadCall(f"--min-prob is {mine['min_prob']}: give a number between 0 and 1")
    known = {o.name for method, _ in asked for o in method.options}
    own = {name: value for name, value in options.items() if name in known and value is not None}
    reader = {name: value for name, value in options.items() if name not in known}
    check_output(asked, data, out, all_questions := reader.get("question") == "all")
    went_in = [mine[name] for name in ("gold", "probs", "labels") if mine[name] is not None]
    went_in += [options[name] for name in ("map_labels", "exclude_workers") if options.get(name) is not None]
    went_in += [str(Path(mine["start"]) / "model.safetensors")] if mine["start"] is not None else []
    # columns of the answers and tasks without any are looked up in memory; the answers go where they should afterwards
    late = mine["all_tasks"] or any({"score", "author"} & set(method.data) for method, _ in asked)
    result, files, notes, table = {}, [], [], None
    for question in questions(Path(data), format, of_reader(reader)) if all_questions else [None]:
        place = out if question is None else f"{out}/{slug(question)}/"
        chosen = {} if question is None else {"question": question}
        dataset = loaded(data, format, None if late else on, reader | chosen)
        if question is not None:
            say(common)(f"\n{question}")
        call = Call(data, place, record | chosen, went_in, on if late else None, common["as_json"], **mine)
        with progress(common):
            rows, table, written, remarks = aggregate_all(dataset, asked, own, call, say(common))
        tell(common, dataset)
        result = rows if question is None else result | {question: rows}
        files += written
        notes += [*dataset.messages, *remarks]
    finish(
        "aggregate",
        result,
        seed=mine["seed"],
        input=data,
        options=record | {"strategy": strategy},
        common=common,
        notes=notes,
        files=files,
        plain=(lambda: sys.stdout.write(table)) if table is not None else None,
    )


@verb()
@click.argument("job", required=False)
def methods(job, **common):
    """Every method with a line each.

    \b
    manyvoices methods
    manyvoices methods aggregate
    """
    known = registry.jobs()
    if job is not None and job not in known:
        raise Unknown.name("job", job, known)
    rows = [
        {"job": j, "method": name, "title": registry.about(j, name).title}
        for j in ([job] if job else known)
        for name in registry.names(j)
    ]
    wide = max(len(row["method"]) for row in rows)
    shown = None

    def plain():
        nonlocal shown
        for row in rows:
            if row["job"] != shown:
                click.echo(("\n" if shown else "") + row["job"])
                shown = row["job"]
            click.echo(f"  {row['method']:{wide}}  {row['title']}")

    finish("methods", rows, common=common, plain=plain)


@verb()
@click.argument("suite")
@click.option("-o", "--out", help="JSON lines to write. [benchmarks/results/SUITE.jsonl]")
@click.option("--only", help="Run only cells whose name holds this text.")
@click.option("--limit", type=float, default=900.0, help="Seconds a cell may take. [900]")
def bench(suite, out, only, limit, **common):
    """Run a suite of measurements: a name in benchmarks/suites/, or a TOML file.

    \b
    manyvoices bench aggregate
    manyvoices bench limit
    """
    from .benchmark import run

    rows = run(suite, None if out is None else Path(out), only, limit, say(common))
    finish("bench", rows, common=common, plain=lambda: None)


# what the verbs share --------------------------------------------------------------------------------------------------------


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    common = {name: options.pop(name) for name in ("as_json", "quiet", "verbose")}
    return common, options


def of_reader(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in RULES}


class Lines(logging.Handler):
    """What the library logs, as lines on stderr."""

    def emit(self, record):
        click.echo(record.getMessage(), err=True)


def loaded(data: str, format: str | None, on: str | None, options: dict[str, Any]):
    """DATA with the reading options as the command line spells them."""
    from . import api
    from .inputs import frame, from_stdin

    source = from_stdin(sys.stdin.buffer.read()) if data == "-" else Path(data)
    if options.get("classes") is not None:
        options["classes"] = [part.strip() for part in options["classes"].split(",") if part.strip()]
    if options.get("exclude_workers") is not None:
        options["exclude_workers"] = lines_of(Path(options["exclude_workers"]))
    else:
        options.pop("exclude_workers", None)
    if options.get("map_labels") is not None:
        table, file = frame(Path(options["map_labels"]))
        if table.width < 2:
            raise BadInput("one column", file=file, expected="two columns: from,to")
        options["map_labels"] = dict(
            zip(table[table.columns[0]].to_list(), table[table.columns[1]].to_list(), strict=True)
        )
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
    return [text for text in texts if text and text != "worker"]


def say(common: dict[str, Any]):
    return (lambda text: None) if common["quiet"] else lambda text: click.echo(text, err=True)


def tell(common: dict[str, Any], dataset) -> None:
    """On stderr: what a user should know about the reading."""
    for message in dataset.messages:
        say(common)(f"note: {message}")
    if dataset.dropped:
        say(common)("left out: " + ", ".join(f"{n} rows ({reason})" for reason, n in dataset.dropped.items()))


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


def run(args: list[str] | None = None) -> int:
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


def told(problem: BaseException) -> tuple[int, str, dict[str, Any]]:
    """Exit code, one line, and where in the data it happened."""
    match problem:
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


def entry() -> None:
    sys.exit(run())


if __name__ == "__main__":
    entry()
