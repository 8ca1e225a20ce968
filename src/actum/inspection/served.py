"""How an Idea would be served to MCP hosts: whether it can be, who answers, and which calls wait."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..app.agent import Agent
from ..app.saved import SavedIdea
from ..errors import ActumError
from ..generation.offer import Toolset, offered
from ..schema.infer import shape_of
from ..schema.json import JsonObject

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """An Idea as a tool of a host. `why_not` says why it can't be one; it is empty if it can."""

    name: str
    why_not: str = ""
    is_wrapped: bool = False
    """Whether its output isn't an object and is sent as `{"result": …}`."""
    asks_host: bool = False
    """Whether the host's own model has to answer, since the Idea has neither a model nor a plan."""
    only_reads: bool = False
    """Whether all tools that it can reach only read."""
    waiting: tuple[str, ...] = ()
    """The tools whose calls wait for the host's user."""

    def to_dict(self) -> JsonObject:
        """The same as JSON."""
        return {
            "name": self.name,
            "why_not": self.why_not,
            "wrapped": self.is_wrapped,
            "asks_host": self.asks_host,
            "only_reads": self.only_reads,
            "waiting": list(self.waiting),
        }

    def __str__(self) -> str:
        if self.why_not:
            return f"can't be served: {self.why_not}"
        words = [f"the tool {self.name}", 'returns {"result": …}' if self.is_wrapped else "returns an object"]
        words.append("the host's model answers" if self.asks_host else "")
        words.append("only reads" if self.only_reads else "")
        words.append(f"calls of {', '.join(self.waiting)} wait for the user" if self.waiting else "")
        return "; ".join(filter(None, words))


def can_name(name: str) -> bool:
    """Whether every host accepts a name."""
    return _NAME.fullmatch(name) is not None


def needs_model(idea: SavedIdea) -> bool:
    """Whether an Idea has neither a plan nor a saved answer that could run without a model (P3)."""
    return idea.solution is None and not any(message.get("type") == "plan" for message in idea.context)


def reads_only(toolset: Toolset) -> bool:
    """Whether all that these tools do only reads; what a delegate does isn't known."""
    return all(
        name in toolset.latent or (tool.effects == "none" and not tool.is_delegated)
        for name, tool in toolset.tools.items()
    )


def served_as(idea: SavedIdea, name: str, agent: Agent) -> Serving:
    """How an Idea would be served under a name, by an agent that is set up for it."""
    if not can_name(name):
        return Serving(name=name, why_not="its name may hold up to 64 letters, digits, '_', '-' and '.': NAME=FILE")
    try:
        idea.as_tool(name)
        toolset = offered(idea.context, agent.tools, agent.config.tools)
        output = {} if idea.schema is None else shape_of(idea.schema).schema
        has_model = idea.settings(has_model=True).model is not None
    except ActumError as error:
        return Serving(name=name, why_not=error.message)
    return Serving(
        name=name,
        is_wrapped=output.get("type") != "object",
        asks_host=needs_model(idea) and not has_model and agent.model is None,
        only_reads=reads_only(toolset),
        waiting=tuple(sorted(tool.name for tool in toolset.tools.values() if tool.is_held)),
    )
