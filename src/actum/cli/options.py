"""What options and arguments of the command line mean: inputs, stores, and the errors of writing them wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from ..errors import ActumError
from ..ideas.file import IdeaText, read_idea
from ..ideas.library import Library, as_microseconds, input_schema
from ..ideas.store import MAIN, check_segment, parse_address
from ..protocol.context import Context
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
    """Refuse a key that the input's schema does not have, where it says which it has and of no others."""
    value: Any = context.get("†input", {})
    for at, segment in enumerate(path):
        objects = _objects(_type_of(context, path[:at]))
        names = {name for one in objects for name in one.fields}
        known = [*names, *(one for held in (value, values) if is_object(held) for one in held)]
        if objects and all(one.rest is None for one in objects) and segment not in known:
            near = get_close_matches(segment[:100], known, 1, 0.5)
            there = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(names)[:10])}"
            raise CommandError(f"-i {key}: the input has no {segment!r}; {there}")
        value, values = (one.get(segment) if is_object(one) else None for one in (value, values))


def pair_of(pair: str, who: str) -> tuple[str, str]:
    """The two sides of `key=value`; `who` begins the error about anything else."""
    key, sign, text = pair.partition("=")
    if not sign or not key:
        raise CommandError(f"{who} key=value, not {pair!r}")
    return key, text


def typed_value(text: str, wanted: Type) -> Json:
    """A value from the command line: JSON if it reads as JSON and nothing but a text is wanted."""
    if all(isinstance(one, Text) for one in wanted.apart_from_null or (None,)):
        return text
    return decoded(text, text)


def parameters_of(pairs: Sequence[str], schema: JsonObject) -> JsonObject:
    """The parameters of a tool that pairs give, by the schema of all of them."""
    given: JsonObject = {}
    for pair in pairs:
        key, text = pair_of(pair, "a parameter is given as")
        given[key] = typed_value(text, type_of(properties_of(schema).get(key), root=schema))
    return given


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
    found = type_of(input_schema(context))
    for segment in path:
        try:
            found = member(found, segment)
        except Misfit:
            return ANYTHING
    return found


def _objects(declared: Type) -> list[Object]:
    return [one for one in declared.alternatives or () if isinstance(one, Object)]


def declared(context: Context, key: str) -> bool:
    """Whether the input of a context has this key, or its schema does."""
    first = key.partition(".")[0]
    value: Any = context.get("†input", {})
    return (is_object(value) and first in value) or any(first in one.fields for one in _objects(_type_of(context, ())))


def takes_no_text(context: Context, key: str) -> bool:
    """Whether the input's schema says of this key that it is something else than a text."""
    kinds = _type_of(context, key.split(".")).apart_from_null
    return kinds is not None and not any(isinstance(one, Text) for one in kinds)


@asynccontextmanager
async def library_of(
    store: str | None,
    branches: list[str] | None = None,
    at: str | None = None,
    *,
    makes: bool = False,
    reads: bool = True,
) -> AsyncGenerator[Library]:
    """The library that a command works with; what was opened is closed again.

    Raises:
        IdeaError: there is no store, and the command does not begin one where it was told to.
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
    """The runs of a place, as `runs_place` names it.

    Raises:
        CommandError: there are none, and the command does not begin a place where it was told to.
    """
    from ..runs.runs import Runs

    async with Runs(_checked_place(runs_place(place), makes=makes)) as runs:
        yield runs


def runs_place(place: str | None) -> str:
    """The name of the place: `--store`, else ACTUM_RUNS, else a file in the current folder."""
    return place or os.environ.get("ACTUM_RUNS") or DEFAULT_RUNS


def _checked_place(name: str, *, makes: bool) -> str:
    """The name of a place that is there, or may be made: one that is misspelt makes none."""
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
    """Where each request of a run is saved as a version, None if no address is named."""
    if address is None:
        yield None
        return
    target = parse_address(address)
    async with library_of(store, makes=True) as library:
        yield Versions(library, target)


async def text_at(library: Library, name: str) -> IdeaText:
    """The Idea that an address or a file's name means."""
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
