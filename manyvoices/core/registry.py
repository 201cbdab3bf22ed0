"""Job + name -> function, by looking at the folder. What a method is called and takes is read from its source with `ast`.

names("aggregate")                 every file of methods/aggregate/ (and what other packages offer)
about("aggregate", "ds")           its page, options, defaults and other spellings, without importing it
find("aggregate", "ds")            the function itself; only this imports the file
parse("aggregate", "ds[smoothing=.1],glad")
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

from .errors import BadCall, ManyVoicesError, Unknown

METHODS = Path(__file__).parent.parent / "methods"
ENTRY_POINTS = "manyvoices.methods"
PLAIN = ("int", "float", "str", "bool")


@dataclass(frozen=True)
class Option:
    """One keyword-only parameter a user can set."""

    name: str
    type: str  # int, float, str or bool
    default: Any
    help: str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False  # None is a value
    also: tuple[str, ...] = ()
    group: str = ""  # the parameter it is a field of, where several methods share it

    def convert(self, value: Any, method: str) -> Any:
        """A value of the right type from text or a Python literal."""
        if value is None or (self.optional and value == "None"):
            if self.optional:
                return None
            raise BadCall(f"{method}: {self.name} needs a value ({self.type})")
        if self.choices:
            if str(value).lower() not in self.choices:
                raise BadCall(f"{method}: {self.name} is {value!r}; expected one of {', '.join(self.choices)}")
            return str(value).lower()
        try:
            if self.type == "bool":
                if isinstance(value, str):
                    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                        value.lower()
                    ]
                return bool(value)
            if self.type == "int":
                if isinstance(value, float) and value != int(value):
                    raise ValueError
                if self.name == "seed" and int(value) < 0:
                    raise BadCall(f"{method}: seed is {value}; expected 0 or more")
                return int(value)
            return float(value) if self.type == "float" else str(value)
        except BadCall:
            raise
        except (ValueError, KeyError, TypeError, OverflowError):
            raise BadCall(f"{method}: {self.name} is {value!r}; expected a value of type {self.type}") from None


@dataclass(frozen=True)
class Method:
    """What a method's source says about it."""

    job: str
    name: str
    title: str  # first line of its page
    page: str  # the module docstring, machine-readable lines left out
    summary: str  # first line of the function's docstring
    options: tuple[Option, ...] = ()
    data: tuple[str, ...] = ()  # what it wants handed over besides: gold, probs, ...
    required: tuple[str, ...] = ()  # of these, what it cannot do without
    needs: tuple[str, ...] = ()
    family: str = ""
    reference: str = ""
    also: dict[str, dict[str, Any]] = field(default_factory=dict)  # other spelling -> options it stands for
    functions: tuple[str, ...] = ()  # all public functions of the file

    @property
    def trains(self) -> bool:
        """Whether it takes the options of training a network."""
        return any(option.group == "training" for option in self.options)

    def option(self, name: str) -> Option:
        wanted = plain(name)
        for option in self.options:
            if wanted == plain(option.name) or wanted in map(plain, option.also):
                return option
        raise Unknown.name(f"option of {self.job} {self.name}", name, [option.name for option in self.options])

    def defaults(self) -> dict[str, Any]:
        return {option.name: option.default for option in self.options}

    def settle(self, given: dict[str, Any]) -> dict[str, Any]:
        """Option values under their own names, converted and checked."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            option = self.option(name)
            if option.name in found:
                raise BadCall(f"{self.name}: {option.name} is given twice")
            found[option.name] = option.convert(value, self.name)
        return found


def plain(name: str) -> str:
    """Case, hyphens and underscores do not matter."""
    return re.sub(r"[-_\s]", "", name).lower()


def jobs() -> list[str]:
    return sorted(
        p.name for p in METHODS.iterdir() if p.is_dir() and not p.name.startswith(("_", ".")) and names(p.name)
    )


@cache
def names(job: str) -> tuple[str, ...]:
    """Methods of a job, our own and those of other packages."""
    own = sorted(p.stem for p in (METHODS / job).glob("*.py") if not p.stem.startswith("_"))
    theirs = guests(job)
    if clash := sorted(set(own) & set(theirs)):
        raise ManyVoicesError(
            f"{theirs[clash[0]].value} offers {job}.{clash[0]}, a name manyvoices uses itself; uninstall or rename it"
        )
    return tuple(sorted([*own, *theirs]))


@cache
def guests(job: str) -> dict[str, Any]:
    """Entry points of other packages for this job, by name; nothing of them is imported."""
    from importlib.metadata import entry_points

    found: dict[str, Any] = {}
    for point in entry_points(group=ENTRY_POINTS):
        where, _, name = point.name.partition(".")
        if where == job:
            if name in found:
                raise ManyVoicesError(
                    f"{found[name].value} and {point.value} both offer {job}.{name}; uninstall one of them"
                )
            found[name] = point
    return found


@cache
def about(job: str, name: str) -> Method:
    """The method of exactly this name, read from its source."""
    path = METHODS / job / f"{name}.py"
    if path.is_file():
        return describe(job, name, path)
    try:
        return describe(job, name, source_of(guests(job)[name]))
    except (
        ManyVoicesError
    ) as error:  # a broken guest is told of in the list and when it is named, and breaks nothing else
        return Method(job, name, f"(cannot be used: {error})", str(error), "")


def source_of(point: Any) -> Path:
    """The file an entry point speaks of, found without importing anything of its package."""
    top, *rest = point.module.split(".")
    spec = importlib.util.find_spec(top)
    places = [Path(place, *rest) for place in (spec and spec.submodule_search_locations) or ()]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    files += [Path(spec.origin)] if spec and spec.origin and not rest else []
    if found := next((file for file in files if file.is_file()), None):
        return found
    raise ManyVoicesError(f"{point.value}, which offers {point.name}, cannot be found; reinstall or uninstall it")


def describe(job: str, name: str, path: Path) -> Method:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, OSError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise ManyVoicesError(f"{path}{line}: {getattr(error, 'msg', error)}") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        raise ManyVoicesError(f"{path}: a method file needs a function called {name}")
    page, facts = facts_of(ast.get_docstring(tree) or "")
    function = functions[name]
    also, option_also = spellings(facts.get("Also", ""))
    summary, helps = parameters(ast.get_docstring(function) or "")
    options: list[Option] = []
    data, required = [], []
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        kind = ast.unparse(argument.annotation) if argument.annotation else "str"
        if isinstance(default, ast.Call) and ast.unparse(default) == f"{kind}()":
            options += shared(argument.arg, kind, path)
            continue
        plain_type, choices, optional = typed(kind)
        if plain_type is None:
            data.append(argument.arg)
            if default is None:
                required.append(argument.arg)
            continue
        value = None if default is None else literal(default, argument.arg, path)
        options.append(
            Option(
                argument.arg,
                plain_type,
                value,
                helps.get(argument.arg, ""),
                choices,
                optional,
                option_also.get(argument.arg, ()),
            )
        )
    data = [a.arg for a in function.args.args] + data
    return Method(
        job,
        name,
        page.split("\n", 1)[0],
        page,
        summary,
        tuple(options),
        tuple(data),
        tuple(required),
        tuple(listed(facts.get("Needs", ""))),
        facts.get("Family", ""),
        facts.get("Reference", ""),
        also,
        tuple(functions),
    )


@cache
def shared(parameter: str, kind: str, path: Path) -> tuple[Option, ...]:
    """What methods share: the fields of a class that a file has or imports, read from its source too, its own first."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind), None)
    if made is None:
        return shared(parameter, kind, imported(tree, kind, path))
    docstring = ast.get_docstring(made) or ""
    helps = parameters(docstring)[1]
    also = spellings(facts_of(docstring)[1].get("Also", ""))[1]
    found = []
    for node in made.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            name, (kind, choices, optional) = node.target.id, typed(ast.unparse(node.annotation))
            if kind is not None:
                value = literal(node.value, name, path)
                found.append(
                    Option(name, kind, value, helps.get(name, ""), choices, optional, also.get(name, ()), parameter)
                )
    return (*found, *(option for base in made.bases for option in shared(parameter, ast.unparse(base), path)))


def imported(tree: ast.Module, name: str, path: Path) -> Path:
    """The file of ours from which another takes a name."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            top = path.parents[node.level - 1] if node.level else METHODS.parent.parent
            return top.joinpath(*(node.module or "").split(".")).with_suffix(".py")
    raise ManyVoicesError(f"{path}: {name} is neither made here nor imported by name")


def literal(default: ast.expr, name: str, path: Path) -> Any:
    try:
        return ast.literal_eval(default)
    except ValueError:
        said = ast.unparse(default)
        raise ManyVoicesError(
            f"{path}, line {default.lineno}: the default of {name} is {said}; write a literal, such as 0.1"
        ) from None


def facts_of(docstring: str) -> tuple[str, dict[str, str]]:
    """The page of a method and its `Name: value` lines (a value may go on in indented lines)."""
    facts: dict[str, str] = {}
    text: list[str] = []
    current = None
    for line in docstring.splitlines():
        match = re.match(r"(Family|Reference|Also|Needs): (.*)", line)
        if match:
            current = match[1]
            facts[current] = match[2].strip()
        elif current and line.startswith("    "):
            facts[current] += " " + line.strip()
        else:
            current = None
            text.append(line)
    return "\n".join(text).strip(), facts


def typed(annotation: str) -> tuple[str | None, tuple[str, ...], bool]:
    """Plain type, choices, and whether None is allowed; no plain type means the parameter is data."""
    parts = [part.strip() for part in annotation.split("|")]
    optional = "None" in parts
    parts = [part for part in parts if part != "None"]
    if len(parts) == 1 and parts[0] in PLAIN:
        return parts[0], (), optional
    if len(parts) == 1 and parts[0].startswith("Literal["):
        return "str", tuple(ast.literal_eval(f"({parts[0][8:-1]},)")), optional
    return None, (), optional


def parameters(docstring: str) -> tuple[str, dict[str, str]]:
    """First line and the numpydoc help of each parameter."""
    helps: dict[str, str] = {}
    current = None
    for line in docstring.partition("Parameters\n")[2].splitlines()[1:]:
        if re.match(r"\w+$", line):
            current = line
            helps[current] = ""
        elif current and line.startswith("    "):
            helps[current] = (helps[current] + " " + line.strip()).strip()
        elif line.strip():
            break
    return docstring.split("\n", 1)[0], helps


def spellings(text: str) -> tuple[dict[str, dict[str, Any]], dict[str, tuple[str, ...]]]:
    """`Name, Other[option=value]; option=spelling, spelling` -> other names with what they stand for, other option names."""
    first, *rest = text.split(";")
    if "=" in re.sub(r"\[.*?\]", "", first):
        first, rest = "", [first, *rest]
    names_: dict[str, dict[str, Any]] = {}
    for part in split(first):
        base, given = bracket(part)
        names_[base] = given
    options: dict[str, tuple[str, ...]] = {}
    for part in rest:
        option, _, others = part.partition("=")
        options[option.strip()] = tuple(listed(others))
    return names_, options


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def split(text: str) -> list[str]:
    """Split at commas that stand outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if depth not in (0, 1):
            raise BadCall(f"{text!r}: brackets do not match; write name or name[option=value,option=value]")
        parts[-1] += letter
        if letter == "," and not depth:
            parts[-1] = parts[-1][:-1]
            parts.append("")
    if depth:
        raise BadCall(f"{text!r}: a bracket is not closed; write name or name[option=value,option=value]")
    return [part.strip() for part in parts if part.strip()]


def bracket(text: str) -> tuple[str, dict[str, Any]]:
    """`ds[smoothing=0.1,iterations=5]` -> name and options."""
    match = re.fullmatch(r"\s*([^\[\]]+?)\s*(?:\[(.*)\])?\s*", text, re.S)
    if not match:
        raise BadCall(f"{text!r} is not a method; write name or name[option=value,option=value]")
    given: dict[str, Any] = {}
    for part in re.findall(r"(?:[^,(\"']|\([^)]*\)|\"[^\"]*\"|'[^']*')+", match[2] or ""):
        option, equals, value = part.partition("=")
        if not equals:
            raise BadCall(f"{part.strip()!r} in {text!r} is not option=value")
        if option.strip() in given:
            raise BadCall(f"{text!r} gives {option.strip()} twice")
        try:
            given[option.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            given[option.strip()] = value.strip()
    return match[1], given


def resolve(job: str, spelling: str) -> tuple[str, dict[str, Any]]:
    """The method's own name for any accepted spelling, and the options that spelling stands for."""
    known = names(job)
    if spelling in known:
        return spelling, {}
    wanted = plain(spelling)
    for name in known:
        if wanted == plain(name):
            return name, {}
    for name in known:
        for other, given in about(job, name).also.items():
            if wanted == plain(other):
                return name, given
    raise Unknown.name({"read": "format", "simulate": "strategy"}.get(job, f"{job} method"), spelling, known)


def parse(job: str, text: str, again: bool = False) -> list[tuple[Method, dict[str, Any]]]:
    """Methods and their options from what stands behind -s. With `again` a method may come back with other options."""
    found = []
    for part in split(text):
        spelling, given = bracket(part)
        name, preset = resolve(job, spelling)
        method = about(job, name)
        found.append((method, method.settle(preset) | method.settle(given)))
    if not found:
        raise BadCall(f"no {job} method named; known: {', '.join(names(job))}")
    seen = [(method.name, given if again else {}) for method, given in found]
    if twice := [name for name, given in seen if seen.count((name, given)) > 1]:
        raise BadCall(f"{twice[0]} is named twice; its results would go to one place")
    return found


def find(job: str, name: str):
    """The function. Imports its one file; a missing extra is explained here and nowhere else."""
    if (METHODS / job / f"{name}.py").is_file():
        try:
            function = getattr(importlib.import_module(f"manyvoices.methods.{job}.{name}"), name)
        except ModuleNotFoundError as error:
            raise missing(f"{job}/{name}", error) from error
        function = flat(function)
        setattr(sys.modules[f"manyvoices.methods.{job}"], name, function)  # the folder shows the function, not its file
        return function
    point = guests(job)[name]
    path = source_of(point)
    try:
        return flat(point.load())
    except ModuleNotFoundError as error:
        raise missing(f"{job}/{name}", error) from error
    except (SyntaxError, ImportError, AttributeError) as error:
        raise ManyVoicesError(
            f"{point.value}, which offers {point.name}, cannot be loaded from {path}: {error}"
        ) from error


def flat(function: Callable) -> Callable:
    """The function with what it shares with others as options of its own: `bootstrap=100` for `draws=Draws(bootstrap=100)`."""
    taken = signature(function).parameters
    held: dict[str, Any] = {name: p.default for name, p in taken.items() if is_dataclass(p.default)}
    if not held:
        return function
    inside = {name: {f.name: getattr(kind, f.name) for f in fields(kind)} for name, kind in held.items()}

    @wraps(function)
    def call(*data: Any, **options: Any) -> Any:
        own = {name: value for name, value in options.items() if not any(name in part for part in inside.values())}
        for name, kind in held.items():
            own.setdefault(name, replace(kind, **{key: options[key] for key in inside[name] if key in options}))
        return function(*data, **own)

    shown = {name: p for name, p in taken.items() if name not in held}
    for part in inside.values():
        shown |= {name: Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in part.items()}
    call.__signature__ = Signature(list(shown.values()))  # type: ignore[attr-defined]
    return call


def folder(package: str):
    """`__getattr__` and `__dir__` of a job's folder: its methods as functions, each imported when asked for."""
    job = package.rpartition(".")[2]

    def get(name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return find(job, resolve(job, name)[0])
        except LookupError as error:
            raise AttributeError(str(error)) from None

    return get, lambda: list(names(job))


def module(job: str, name: str):
    """The file of a method, for jobs whose methods have more than one function (readers)."""
    find(job, name)
    return importlib.import_module(
        f"manyvoices.methods.{job}.{name}" if (METHODS / job / f"{name}.py").is_file() else guests(job)[name].module
    )


EXTRAS = {
    "torch": "deep",
    "transformers": "deep",
    "peft": "lm",
    "trl": "lm",
    "dask": "cluster",
    "distributed": "cluster",
    "sklearn": "sklearn",
}


def missing(what: str, error: ModuleNotFoundError) -> ManyVoicesError:
    package = (error.name or "").split(".")[0]
    extra = EXTRAS.get(package)
    return ManyVoicesError(f"{what} needs {package}: pip install " + (f"'manyvoices[{extra}]'" if extra else package))
