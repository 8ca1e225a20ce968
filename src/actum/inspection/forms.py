"""The form in which each provider would get the schema of an answer, and what differs in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..app.agent import Agent, assembled
from ..app.assembly import Assembly
from ..app.coercion import Given
from ..errors import SchemaError
from ..generation.compile import Frame
from ..models.scripted import Scripted
from ..schema.json import JsonObject, encode
from ..schema.lowering import ANTHROPIC, GOOGLE, GRAMMAR, LADDER, OPENAI, Dialect, lower

PROVIDERS: Mapping[str, Dialect] = {"openai": OPENAI, "anthropic": ANTHROPIC, "google": GOOGLE, "grammar": GRAMMAR}
"""The JSON Schema that each provider accepts; `grammar` is for hosts that decode by their own grammar."""
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What one provider would get: the first rung of the ladder that it accepts, and why it takes none before.

    `changes` says, path by path, what differs in the schema; the answer is still validated by the original.
    """

    provider: str
    rung: str
    why: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """The form as JSON, without the provider."""
        return {"rung": self.rung, "why": list(self.why), "changes": list(self.changes)}


def forms(agent: Agent, context: Given, schema: Any = None) -> tuple[Form, ...]:
    """The form of a request for each provider; `context` and `schema` are as for `agent.run`.

    Raises:
        ActumError: as `agent.compose` does.
    """
    return tuple(_form(name, _asking(agent, name).first_request(context, schema)[0]) for name in PROVIDERS)


def schema_for(provider: str, agent: Agent, context: Given, schema: Any = None) -> JsonObject:
    """The schema of a request as a provider would get it, for example "openai"; the rest is as for `agent.compose`.

    Args:
        provider: one of `PROVIDERS`.
        agent: whose request it is.
        context: as for `agent.run`, and so is `schema`.

    Raises:
        SchemaError: for an unknown provider.
        ActumError: as `agent.compose` does.
    """
    if provider not in PROVIDERS:
        raise SchemaError(f"there is no provider {provider!r}; there are: {', '.join(PROVIDERS)}")
    return _asking(agent, provider).first_request(context, schema)[1].schema


def _asking(agent: Agent, provider: str) -> Assembly:
    """An agent with a model of this provider."""
    return replace(assembled(agent), model=Scripted([], dialect=PROVIDERS[provider]))


def sizes(agent: Agent, context: Given, schema: Any = None) -> Mapping[str, Mapping[str, int]]:
    """The approximate tokens of a first request: part by part, in all, and what each switch of `Config` would save.

    Each part by provider. A token is counted as 3.2 bytes of text, or 3.8 of a schema; tokenizers differ from that by a
    tenth. A schema that a host doesn't show its model costs nothing. `agent`, `context` and `schema` are as for
    `forms`.

    Raises:
        ActumError: as `agent.compose` does.
    """
    table: dict[str, dict[str, int]] = {}
    for provider in PROVIDERS:
        assembly = _asking(agent, provider)
        parts = _parts(assembly, context, schema)
        parts["in all"] = sum(parts.values())
        for name in [switch for switch in _SWITCHES if getattr(assembly.config, switch)]:
            without = replace(assembly, config=replace(assembly.config, **{name: False}))
            parts[f"{name}=False saves"] = parts["in all"] - sum(_parts(without, context, schema).values())
        for part, tokens in parts.items():
            table.setdefault(part, {})[provider] = tokens
    return table


_SWITCHES = ("flow", "readers", "shapes", "reasoning")


def _parts(assembly: Assembly, context: Given, schema: Any) -> dict[str, int]:
    frame, request = assembly.first_request(context, schema)
    words = {"the language": frame.composition.primer if frame.toolset.tools else "", "the form": frame.form.text}
    content = "".join(str(message["content"]) for message in request.messages)
    sizes = {name: len(text.encode()) for name, text in words.items()}
    sizes = {"messages": len(content.encode()) - sum(sizes.values()), **sizes}
    parts = {**request.schema["properties"], "definitions": request.schema.get("$defs", {})}
    # If the schema is described in words, the model isn't shown it: only a host's decoder may have it.
    shown = {name: "" if frame.form.text else encode(part) for name, part in parts.items()}
    return {name: round(size / 3.2) for name, size in sizes.items()} | {
        name: round(len(text.encode()) / 3.8) for name, text in shown.items()
    }


def _form(provider: str, frame: Frame) -> Form:
    chosen = frame.lowered
    why: list[str] = []
    for rung in LADDER:
        if rung == chosen.rung:
            break
        problems = lower(frame.composition(rung.references), PROVIDERS[provider], rung).problems[:_MOST_REASONS]
        why += [f"not {rung.name}: {problem}" for problem in problems]
    return Form(
        provider=provider,
        rung=chosen.rung.name if chosen.rung is not None else "as it is",
        why=tuple(why),
        changes=tuple(f"{note.path}: {note.change}" for note in chosen.notes),
    )
