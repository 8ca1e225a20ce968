"""What options and arguments of the command line mean: inputs, stores, and the errors when they are malformed."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from ..errors import ActumError, SchemaError
from ..ideas.file import IdeaText, read_idea
from ..ideas.library import Library, as_microseconds, input_schema
from ..ideas.store import MAIN, check_segment, parse_address
from ..protocol.context import Context
from ..protocol.tool import Tool
from ..runs.kept_run import Versions
from ..runs.run_store import place_given, sqlite_path
from ..schema.json import Json, JsonObject, NotJson, decode, decoded, is_object
from ..schema.type_reading import type_of
from ..schema.types import ANYTHING, Misfit, Object, Text, Type, member
from ..schema.walk import properties_of
from ..sources.files import read_text
from ..storage.open import check_store, default_store, open_store

if TYPE_CHECKING:
    from ..runs.runs import Runs

DEFAULT_RUNS = ".actum/runs.db"
"""Where runs are kept if no place is named."""
QuietFlag: TypeAlias = Annotated[bool, Parameter(name=["--quiet", "-q"], help="Print only the output.")]
Settings: TypeAlias = Annotated[list[str] | None, Parameter(name=["-i", "--set"])]
# Options that several commands have in the same words.
AnyRuns: TypeAlias = Annotated[
    str | None, Parameter(name="--store", help="Where runs are kept, as for `actum submit`.")
]
RunsHome: TypeAlias = Annotated[
    str | None,
    Parameter(name="--store", help="Where runs are kept: postgresql://…, or FILE.db; ACTUM_RUNS, else .actum/runs.db."),
]
IdeaStore: TypeAlias = Annotated[str | None, Parameter(name="--store", help="The store, as for `actum save`.")]
Modules: TypeAlias = Annotated[
    list[str] | None,
    Parameter(help="A module or file with Activities, in addition to those that the Idea names."),
]
ModulesOfAll: TypeAlias = Annotated[
    list[str] | None,
    Parameter(help="A module or file with Activities, in addition to those that the Ideas name."),
]
DelegateRoots: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name="--root", help="A folder that delegates may be read from, as for `actum run`."),
]
InputFile: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--input",
        allow_leading_hyphen=True,
        help="A file with the input as a JSON object, or - for standard input.",
    ),
]
ModelName: TypeAlias = Annotated[str | None, Parameter(help="The model, for example openai:gpt-5.2, or replay:FILE.")]


class CommandError(ActumError):
    """A command line that can't be carried out; the message says what to write instead."""

    code = "command"


def input_of(context: Context, pairs: Sequence[str], file: str | None) -> JsonObject:
    """The input that `-i key=value` and `--input FILE` give; a dotted key nests.

    Raises:
        CommandError: for what is not a pair, or not a JSON object.
    """
    values = _read_input(file) if file else {}
    for pair in pairs:
        key, text = pair_of(pair, "-i takes")
        path = key.split(".")
        _check_key(context, key, path, values)
        holder = values
        for segment in path[:-1]:
            inner: Any = holder.setdefault(segment, {})
            if not is_object(inner):
                raise CommandError(f"-i {key}: {segment!r} already has a value")
            holder = inner
        holder[path[-1]] = typed_value(text, _type_of(context, path))
    return values


def _check_key(context: Context, key: str, path: Sequence[str], values: Json) -> None:
    """Refuse a key that the input's schema doesn't have, unless the schema allows others."""
    value: Any = context.get("†input", {})
    for at, segment in enumerate(path):
        objects = _objects(_type_of(context, path[:at]))
        names = {name for shape in objects for name in shape.fields}
        known = [*names, *(key for item in (value, values) if is_object(item) for key in item)]
        if objects and all(shape.rest is None for shape in objects) and segment not in known:
            near = get_close_matches(segment[:100], known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(names)[:10])}"
            raise CommandError(f"-i {key}: the input has no {segment!r}; {hint}")
        value, values = (item.get(segment) if is_object(item) else None for item in (value, values))


def pair_of(pair: str, start: str) -> tuple[str, str]:
    """The two sides of `key=value`; `start` is the beginning of the error for anything else."""
    key, sign, text = pair.partition("=")
    if not sign or not key:
        raise CommandError(f"{start} key=value, not {pair!r}")
    return key, text


def typed_value(text: str, wanted: Type) -> Json:
    """A value from the command line: a text if the type takes nothing else, JSON if it parses as such."""
    if all(isinstance(kind, Text) for kind in wanted.apart_from_null or (None,)):
        return text
    return decoded(text, text)


def parameters_of(pairs: Sequence[str], tool: Tool) -> JsonObject:
    """The parameters of a tool that pairs give.

    Raises:
        SchemaError: they don't fit.
    """
    schema, values = tool.parameters, dict[str, Json]()
    for pair in pairs:
        key, text = pair_of(pair, "a parameter is given as")
        values[key] = typed_value(text, type_of(properties_of(schema).get(key), root=schema))
    if complaint := tool.validator.complaint(values):
        raise SchemaError(complaint, tool=tool.name)
    return values


def json_option(text: str, option: str) -> Json:
    """The value of an option that takes JSON."""
    try:
        return decode(text)
    except NotJson as error:
        raise CommandError(f"{option}: {error}") from None


def object_option(text: str, option: str) -> JsonObject:
    """The value of an option that takes a JSON object."""
    value = json_option(text, option)
    if not is_object(value):
        raise CommandError(f"{option} takes a JSON object, not {text!r}")
    return value


def _read_input(file: str) -> JsonObject:
    text = read_text(Path(file)) if file != "-" else _standard_input()
    value = json_option(text, f"--input {file}")
    if not is_object(value):
        raise CommandError(f"--input {file}: the input must be a JSON object")
    return value


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"--input -: not UTF-8 at byte {error.start}") from None


def _type_of(context: Context, path: Sequence[str]) -> Type:
    """The type of a member of the input, as far as one is declared."""
    reached = type_of(input_schema(context))
    for segment in path:
        try:
            reached = member(reached, segment)
        except Misfit:
            return ANYTHING
    return reached


def _objects(declared: Type) -> list[Object]:
    return [shape for shape in declared.alternatives or () if isinstance(shape, Object)]


def declared(context: Context, key: str) -> bool:
    """Whether the input of a context has this key, or its schema does."""
    first = key.partition(".")[0]
    value: Any = context.get("†input", {})
    if is_object(value) and first in value:
        return True
    return any(first in shape.fields for shape in _objects(_type_of(context, ())))


def takes_no_text(context: Context, key: str) -> bool:
    """Whether the input's schema gives this key a type other than text."""
    kinds = _type_of(context, key.split(".")).apart_from_null
    return kinds is not None and not any(isinstance(kind, Text) for kind in kinds)


@asynccontextmanager
async def library_of(
    store: str | None,
    branches: list[str] | None = None,
    at: str | None = None,
    *,
    makes: bool = False,
    reads: bool = True,
) -> AsyncGenerator[Library]:
    """The library in a store, which is closed after the block; `makes` lets the command begin a store.

    Raises:
        IdeaError: there is no store, and none may be begun there.
    """
    name = store or default_store()
    if makes or reads:
        check_store(name, makes=makes)
    opened = open_store(name)
    try:
        yield Library(store=opened, branches=branches or [MAIN], at=as_microseconds(at) if at is not None else None)
    finally:
        await opened.aclose()


@asynccontextmanager
async def runs_at(place: str | None, *, makes: bool = False) -> AsyncGenerator[Runs]:
    """The runs of a place, as `runs_place` names it; `makes` lets the command begin a place.

    Raises:
        CommandError: there is no such place, and none may be begun there.
    """
    from ..runs.runs import Runs

    async with Runs(_checked_place(runs_place(place), makes=makes)) as runs:
        yield runs


def runs_place(place: str | None) -> str:
    """The name of the place: `--store`, else ACTUM_RUNS, else a file in the current folder."""
    return place or os.environ.get("ACTUM_RUNS") or DEFAULT_RUNS


def _checked_place(name: str, *, makes: bool) -> str:
    """The name of a place that exists or may be made; a misspelt name makes none."""
    path = sqlite_path(place_given(name)) or name
    if "://" in path or path == ":memory:" or os.path.exists(path):
        return name
    if not makes:
        raise CommandError(f"no runs are kept at {path}: name their folder or store; `actum submit` begins a store")
    if name != DEFAULT_RUNS and not Path(path).absolute().parent.is_dir():
        raise CommandError(f"no runs can be kept at {path}: there is no folder {Path(path).parent}")
    return name


@asynccontextmanager
async def versions_at(address: str | None, store: str | None) -> AsyncGenerator[Versions | None]:
    """Saves each request of a run as a version; None if no address is named."""
    if address is None:
        yield None
        return
    target = parse_address(address)
    async with library_of(store, makes=True) as library:
        yield Versions(library, target)


async def text_at(library: Library, name: str) -> IdeaText:
    """The Idea at an address or in a file."""
    if name.startswith("idea:"):
        return (await library.load(parse_address(name)))[1]
    return read_idea(read_text(Path(name)), name)


def branch_of(name: str) -> str:
    """The name of a branch.

    Raises:
        IdeaError: it can't be one.
    """
    check_segment(name, name)
    return name
