"""A saved Request, perhaps with its Solution, as a portable file: all of an `Idea` that needs no agent."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from ..errors import DelegateError, IdeaError
from ..ideas.file import RUN, IdeaText, identified, plan_of, read_idea, write_idea
from ..ideas.idea_config import IdeaConfig
from ..ideas.library import Library
from ..ideas.store import parse_address
from ..protocol.config import Config, Limits, Standing
from ..protocol.context import Context, is_url, redacted
from ..protocol.declaration import parse_tool
from ..protocol.message import instance_of
from ..protocol.registry import Registry
from ..protocol.scopes import notes_of
from ..protocol.tool import Tool
from ..schema.drawn import Drawn
from ..schema.gathering import gathered
from ..schema.infer import schema_like, shape_of
from ..schema.json import MAX_DEPTH, JsonObject, check_depth, is_list, is_object
from ..schema.quoting import names_nearest
from ..sources.fetch import Fetcher
from ..sources.files import path_given, read_text, write_text
from ..sources.roots import default_roots, root_of
from ..storage.open import default_store, open_store
from .coercion import Given, as_context, blocking


def servers_file(name: str, folder: Path, roots: Sequence[Path]) -> Path:
    """The file of servers that an Idea names, relative to its own.

    Raises:
        IdeaError: it lies outside its roots, or is none.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links; a null character
        raise IdeaError(f"the servers {name!r}: not the name of a file") from None
    if root_of(path, roots) is None:
        raise IdeaError(f"the servers {name!r}: outside the folders that the Idea may reach (--root)")
    if not path.is_file():
        raise IdeaError(f"the servers {name!r}: no such file")
    return path


def folder_of(idea: SavedIdea) -> Path:
    """The folder that an Idea's relative paths start from: that of its file, else the current one."""
    return idea.source.parent if idea.source is not None else Path.cwd()


@asynccontextmanager
async def serving(files: Sequence[Path], tools: Registry) -> AsyncGenerator[Registry]:
    """The registry with the tools of servers for the length of the block; the registry itself if there are no servers.

    Raises:
        ServerError: a file can't be used, or a server can't be started.
    """
    if not files:
        yield tools
        return
    from ..connections import open as connected

    extended = tools.copy()
    async with AsyncExitStack() as stack:
        for file in files:
            (await stack.enter_async_context(connected(file))).register(extended)
        yield extended


def are_connected(file: Path, tools: Registry) -> bool:
    """Whether a registry already has tools of the servers of a file.

    Raises:
        ServerError: the file can't be used.
    """
    prefixes = prefixes_of([file])
    return any(tool.name.startswith(prefixes) for tool in tools) if prefixes else False


def prefixes_of(files: Sequence[Path]) -> tuple[str, ...]:
    """The prefixes of the names of the servers' tools; raises as `are_connected`."""
    if not files:
        return ()
    from ..connections.servers_file import servers_of

    return tuple(server.begin for file in files for server in servers_of(file))


@names_nearest
@dataclass(frozen=True, kw_only=True)
class SavedIdea(Drawn):
    """A context and a schema; `config` says what it needs. Its context's `origin` is where it was read from."""

    context: Context
    schema: Any = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None
    file: Path | None = None
    """Where it was read from, None for one that was made in code, fetched, or in a store."""

    if TYPE_CHECKING:  # a context is given in the same forms as for a run

        def __init__(
            self,
            *,
            context: Given,
            schema: Any = None,
            meta: JsonObject = ...,
            config: JsonObject = ...,
            solution: JsonObject | None = None,
            file: Path | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in ("meta", "config"):
            if not is_object(getattr(self, name)):
                raise IdeaError(f"{name!r} is an object, as in a file, not {getattr(self, name)!r}", path=name)
        object.__setattr__(self, "context", as_context(self.context))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an Idea from a JSON file or a YAML one, an http(s) URL, or an `idea:` address.

        The host that is named may be private, since the caller names it; a host that it redirects to may not.

        Raises:
            IdeaError: it can't be read or is not an Idea; the message names file, line and column.
        """
        if is_url(path):
            return blocking(cls._fetched(str(path)))
        if str(path).startswith("idea:"):
            return blocking(cls._addressed(str(path)))
        return cls._of(read_idea(read_text(path_given(path)), str(path)), os.path.abspath(path))

    @classmethod
    def read(cls, text: str, name: str, origin: str | None = None) -> Self:
        """The Idea that a text holds; `name` is what it is called in messages, `origin` where its paths start from.

        Raises:
            IdeaError: it is not an Idea; the message names line and column.
        """
        return cls._of(read_idea(text, name), origin)

    @classmethod
    async def _fetched(cls, url: str) -> Self:
        try:
            fetched = await Fetcher(allow_hosts=[urlsplit(url).hostname or ""]).fetch(url)
            return cls._of(read_idea(fetched.content.decode("utf-8"), redacted(url)), fetched.url)
        except (DelegateError, UnicodeDecodeError, ValueError) as error:
            why = error.message if isinstance(error, DelegateError) else f"{redacted(url)}: {error}"
            raise IdeaError(why) from error

    @classmethod
    async def _addressed(cls, text: str) -> Self:
        """The Idea at an `idea:` address: in the default store, else on the domain's own server (X4)."""
        address = parse_address(text)
        store = open_store(default_store())
        try:
            return cls._of((await Library(store=store).load(address))[1], None)
        except IdeaError:
            if address.url is None:
                raise
        finally:
            await store.aclose()
        idea = await cls._fetched(address.url)
        if not address.admits(version := str(idea.meta.get("version", ""))):
            raise IdeaError(f"{address}: that version isn't available; found {version or 'one without a number'}")
        return idea

    @classmethod
    def _of(cls, text: IdeaText, origin: str | None) -> Self:
        file = None if origin is None or is_url(origin) else Path(origin)
        base = text.config.get("origin")
        if isinstance(base, str) and origin is not None and not is_url(origin):
            origin = os.path.abspath(os.path.join(os.path.dirname(origin), base))
        context = Context.checked(text.context, origin=origin)
        if file is None:  # an Idea from outside doesn't decide where its paths start from (D12)
            context = Context(text.context, origin=origin)
        return cls(
            context=context,
            schema=text.schema,
            meta=text.meta,
            config=text.config,
            solution=text.solution,
            file=file,
        )

    @property
    def source(self) -> Path | None:
        """The file that its relative paths start from; None for one made in code or fetched."""
        origin = self.context.origin
        return None if origin is None or is_url(origin) else Path(origin)

    @property
    def roots(self) -> list[Path]:
        """The folders that its paths may lead into, unless its user names others.

        They follow from where it lies; nothing in the Idea widens them.
        """
        return default_roots(self.file or self.source)

    def save(self, path: str | Path) -> None:
        """Write the Idea as JSON; an existing file is replaced whole or not at all, and keeps its mode.

        Only its user can read a run or a new file.

        Raises:
            IdeaError: it can't be written, or could not be read again.
        """
        target = path_given(path)
        try:
            text = write_idea(self.text)
            check_depth(text)
            text.encode()
        except (ValueError, RecursionError) as error:
            is_text = not isinstance(error, UnicodeError)
            reason = f"it nests deeper than {MAX_DEPTH}" if is_text else "it holds what is not text"
            raise IdeaError(f"{path}: it could not be read again: {reason}") from None
        write_text(target, text, private=RUN in self.meta)

    @property
    def text(self) -> IdeaText:
        """Its parts as they are written."""
        schema = self.schema
        return IdeaText(
            context=self.context.messages,
            schema=schema if schema is None or isinstance(schema, bool | dict | list) else shape_of(schema).schema,
            meta=self.meta,
            config=self.config,
            solution=self.solution,
        )

    def settings(
        self,
        standing: Standing = "own",
        *,
        name: str | None = None,
        has_model: bool = False,
        grants: Sequence[str] = (),
    ) -> IdeaConfig:
        """The part of its `config` that counts; an Idea from outside is refused what was not granted to it.

        Args:
            standing: whose it is: "own", the user's; "local", a delegate among the user's files; "foreign".
            name: what it is called in messages, its file by default.
            has_model: whether its user names the model.
            grants: names that an Idea from outside may use.

        Raises:
            IdeaError: naming the file and the field that can't be used.
        """
        called = name or self.context.origin or "the Idea"
        called = redacted(called) if is_url(called) else called
        config = IdeaConfig.parse(self.config, called)
        if not is_url(self.context.origin):
            return config.of(standing)
        named = {"activities": config.activities, "model": () if has_model or config.model is None else (config.model,)}
        if config.servers:  # servers are commands: an Idea from outside starts none
            reason = f"an Idea from outside can't name {config.servers[0]!r}: its servers are not started"
            raise IdeaError(f"{called}: {reason}", path="config.servers")
        for key, names in named.items():
            if refused := [name for name in names if name not in grants]:
                reason = f"an Idea from outside can't name {refused[0]!r}, unless it is granted: Config(grants=[…])"
                raise IdeaError(f"{called}: {reason}", path=f"config.{key}")
        return config.of("foreign")

    def narrowed(self, limits: Limits) -> Limits:
        """The limits of its user, or its own where they are narrower.

        Raises:
            IdeaError: its config can't be used.
        """
        IdeaConfig.parse(self.config)
        return limits.narrowed(self.config.get("limits", {}))

    def identified(self, config: Config) -> Self:
        """The Idea with its `meta` in the context, if the model is asked to state it."""
        if config.meta is False:
            return self
        messages = identified(self.context, self.meta)
        return replace(self, context=self.context.with_messages(messages))

    def without_model(self) -> Context:
        """Its context with its saved solution as the plan: what runs without a model."""
        return self.context.extended(plan_of(self.solution, self.meta))

    def as_tool(self, name: str) -> Tool:
        """The Idea as a tool: parameters from its input, `_output` from its schema, `_delegate` its file.

        Raises:
            SchemaError: the input's schema makes no tool.
        """
        parts: dict[str, JsonObject] = {"input": _parameters(self.context)}
        if self.schema is not None:
            parts["output"] = shape_of(self.schema).schema
        schemas, definitions = gathered(parts)
        schema = schemas["input"]
        schema["properties"] = dict(schema.get("properties", {}))
        if "output" in schemas:
            schema["properties"]["_output"] = schemas["output"]
        if definitions:
            schema["$defs"] = definitions
        schema["_delegate"] = self.context.origin or name
        return replace(parse_tool(schema, name, origin=self.context.origin), bound=self)


def _parameters(context: Context) -> JsonObject:
    """The schema of a request's parameters: its input's schema, else one inferred from its values (X2).

    A parameter with a value is not required: the value is its default (D5).
    """
    values = context.get("†input")
    defaults = values if is_object(values) else {}
    inputs = [message for message in context if context.kind_of(message) == "input" and instance_of(message) is None]
    declared = notes_of(inputs, "input", context.data_kinds).get("schema")
    schema = dict(declared) if is_object(declared) else {"type": "object", **schema_like(defaults)}
    if is_list(schema.get("required")):
        schema["required"] = [name for name in schema["required"] if name not in defaults]
    return schema
