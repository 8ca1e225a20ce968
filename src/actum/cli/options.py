"""What options and arguments of the command line mean: inputs, stores, and the errors of writing them wrong."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from ..app.kept import Versions
from ..errors import ActumError
from ..ideas.address import MAIN, check_name, parse_address
from ..ideas.file import IdeaText, read_idea
from ..ideas.library import Library, moment
from ..protocol.context import Context
from ..protocol.message import kind_of
from ..schema.json import Json, JsonObject, NotJson, decode, is_object
from ..sources.files import read_text
from ..storage.open import default_store, open_store

Flag: TypeAlias = Annotated[bool, Parameter(negative="")]
JsonFlag: TypeAlias = Annotated[bool, Parameter(name="--json", negative="")]
QuietFlag: TypeAlias = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]
Several: TypeAlias = Annotated[list[str] | None, Parameter(negative="")]
Roots: TypeAlias = Annotated[list[str] | None, Parameter(name="--root", negative="")]
Settings: TypeAlias = Annotated[list[str] | None, Parameter(name=["-i", "--set"], negative="")]
StoreName: TypeAlias = Annotated[str | None, Parameter(name="--store")]
Approval = Literal["ask", "plan", "all", "none", "hold"]


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
        holder = values
        for segment in path[:-1]:
            inner: Any = holder.setdefault(segment, {})
            if not is_object(inner):
                raise CommandError(f"-i {key}: {segment!r} already has a value")
            holder = inner
        holder[path[-1]] = value_of(text, _schema_of(context, path))
    return values


def pair_of(pair: str, who: str) -> tuple[str, str]:
    """The two sides of `key=value`; `who` begins the error about anything else."""
    key, sign, text = pair.partition("=")
    if not sign or not key:
        raise CommandError(f"{who} key=value, not {pair!r}")
    return key, text


def value_of(text: str, schema: JsonObject) -> Json:
    """A value from the command line: JSON if it reads as JSON and the schema doesn't ask for a string."""
    if schema.get("type") == "string":
        return text
    try:
        return decode(text)
    except NotJson:
        return text


def json_of(text: str, option: str) -> Json:
    """The value of an option that takes JSON."""
    try:
        return decode(text)
    except NotJson as error:
        raise CommandError(f"{option}: {error}") from None


def object_of(text: str, option: str) -> JsonObject:
    """The value of an option that takes a JSON object."""
    value = json_of(text, option)
    if not is_object(value):
        raise CommandError(f"{option} takes a JSON object, not {text!r}")
    return value


def _read_input(file: str) -> JsonObject:
    text = sys.stdin.read() if file == "-" else read_text(Path(file))
    value = json_of(text, f"--input {file}")
    if not is_object(value):
        raise CommandError(f"--input {file}: the input must be a JSON object")
    return value


def _schema_of(context: Context, path: Sequence[str]) -> JsonObject:
    """The schema of a member of the input, if one is declared."""
    schemas = [message["schema"] for message in context if kind_of(message) == "input" and "schema" in message]
    schema: Any = schemas[-1] if schemas else {}
    for segment in path:
        properties: Any = schema.get("properties") if is_object(schema) else None
        schema = properties.get(segment, {}) if is_object(properties) else {}
    return schema if is_object(schema) else {}


def declared(context: Context, key: str) -> bool:
    """Whether the input of a context has this key, or its schema does."""
    first = key.partition(".")[0]
    value: Any = context.get("†input", {})
    schema: Any = _schema_of(context, ())
    properties: Any = schema.get("properties")
    return any(is_object(one) and first in one for one in (value, properties))


@asynccontextmanager
async def library_of(
    store: str | None, branches: list[str] | None = None, at: str | None = None
) -> AsyncGenerator[Library]:
    """The library that a command works with; what was opened is closed again."""
    opened = open_store(store or default_store())
    try:
        yield Library(store=opened, branches=branches or [MAIN], at=moment(at) if at is not None else None)
    finally:
        await opened.aclose()


@asynccontextmanager
async def versions_at(address: str | None, store: str | None) -> AsyncGenerator[Versions | None]:
    """Where each request of a run is saved as a version, None if no address is named."""
    if address is None:
        yield None
        return
    target = parse_address(address)
    async with library_of(store) as library:
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
    check_name(name, name)
    return name
