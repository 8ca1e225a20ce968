"""`Idea`: a saved Request, perhaps with its Solution, as a portable file (X1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import DelegateError, IdeaError
from ..ideas.address import parse_address
from ..ideas.file import IdeaText, plan_of, read_idea, write_idea
from ..ideas.library import Library
from ..protocol.context import Context
from ..protocol.message import kind_of
from ..protocol.solution import Result
from ..protocol.tool import Tool, parse_tool
from ..schema.compose import gathered
from ..schema.infer import shape_of
from ..schema.json import JsonObject
from ..sources.fetch import Fetcher
from ..sources.files import read_text, write_text
from ..sources.roots import default_roots
from ..storage.open import default_store, open_store
from .given import blocking

if TYPE_CHECKING:
    from ..generation.model import Model
    from .agent import Agent


@dataclass(frozen=True, kw_only=True)
class Idea:
    """A context and a schema; `config` says what it needs. Where it was read from is its context's `origin`."""

    context: Context
    schema: Any = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None

    @classmethod
    def load(cls, path: str | Path) -> Idea:
        """Read an Idea from a JSON file or a YAML one, an http(s) URL, or an `idea:` address.

        The host that is named may be private, since who calls this names it; where it redirects to may not.

        Raises:
            IdeaError: where it can't be read or is none, naming file, line and column.
        """
        if is_url(path):
            return blocking(cls._fetched(str(path)))
        if str(path).startswith("idea:"):
            return blocking(cls._addressed(str(path)))
        return cls._of(read_idea(read_text(Path(path)), str(path)), os.path.abspath(path))

    @classmethod
    async def _fetched(cls, url: str) -> Idea:
        try:
            fetched = await Fetcher(allow_hosts=[urlsplit(url).hostname or ""]).fetch(url)
            return cls._of(read_idea(fetched.content.decode("utf-8"), url), fetched.url)
        except (DelegateError, UnicodeDecodeError, ValueError) as error:
            raise IdeaError(error.message if isinstance(error, DelegateError) else f"{url}: {error}") from error

    @classmethod
    async def _addressed(cls, text: str) -> Idea:
        """What stands at an `idea:` address: in the default store, else on the domain's own server (X4)."""
        address = parse_address(text)
        store = open_store(default_store())
        try:
            _, found = await Library(store=store).load(address)
            return cls._of(found, None)
        except IdeaError:
            if address.url is None:
                raise
        finally:
            await store.aclose()
        idea = await cls._fetched(address.url)
        if not address.admits(version := str(idea.meta.get("version", ""))):
            raise IdeaError(f"{address}: that version isn't there, but {version or 'one without a number'}")
        return idea

    @classmethod
    def _of(cls, text: IdeaText, origin: str | None) -> Idea:
        named = text.config.get("origin")
        if isinstance(named, str) and origin is not None and not is_url(origin):
            origin = os.path.abspath(os.path.join(os.path.dirname(origin), named))
        return cls(
            context=Context(text.context, origin=origin),
            schema=text.schema,
            meta=text.meta,
            config=text.config,
            solution=text.solution,
        )

    def without_model(self) -> Context:
        """Its context with its saved solution as the plan: what runs where there is no model to ask (P3)."""
        return self.context.extended(plan_of(self.solution))

    @property
    def source(self) -> Path | None:
        """The file that its relative paths start from, None for one made in code or fetched."""
        origin = self.context.origin
        return None if origin is None or is_url(origin) else Path(origin)

    def save(self, path: str | Path) -> None:
        """Write the Idea as JSON; a file that stands there is replaced whole or not at all.

        Raises:
            IdeaError: where it can't be written.
        """
        write_text(Path(path), write_idea(self.text))

    @property
    def text(self) -> IdeaText:
        """Its parts as they are written."""
        return IdeaText(
            context=self.context.messages,
            schema=self.schema,
            meta=self.meta,
            config=self.config,
            solution=self.solution,
        )

    async def run(
        self, agent: Agent | Model | str | None = None, *, input: Mapping[str, Any] | None = None
    ) -> Result[Any]:
        """Run it with an agent; or with a model, the process-wide tools and the delegates below its roots (D17).

        Without a model, its saved solution is the plan.
        """
        from .agent import Agent

        runner = agent if isinstance(agent, Agent) else Agent(agent, roots=default_roots(self.source))
        context = self.context if runner.model is not None else self.without_model()
        return await runner.run(context, self.schema, input=input)

    def as_tool(self, name: str) -> Tool:
        """The Idea as a tool: parameters from its input's schema, `_output` from its own, `_delegate` its file (X2).

        Raises:
            SchemaError: where the input's schema makes no tool.
        """
        schemas = [message["schema"] for message in self.context if kind_of(message) == "input" and "schema" in message]
        parts: dict[str, JsonObject] = {"input": schemas[-1] if schemas else {"type": "object"}}
        if self.schema is not None:
            parts["output"] = shape_of(self.schema).schema
        found, definitions = gathered(parts)
        schema = found["input"]
        schema["properties"] = dict(schema.get("properties", {}))
        if "output" in found:
            schema["properties"]["_output"] = found["output"]
        if definitions:
            schema["$defs"] = definitions
        schema["_delegate"] = self.context.origin or name
        return replace(parse_tool(schema, name, origin=self.context.origin), bound=self)


def is_url(reference: object) -> bool:
    """Whether this is an address on the web rather than a file, or nothing."""
    return isinstance(reference, str) and reference.lower().startswith(("http://", "https://"))
