"""The form in which each provider would get the schema of an answer, and what that changes."""

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
"""What each provider takes of JSON Schema; `grammar` is for hosts that decode by their own grammar."""
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What one provider would get: the first rung of the ladder that it takes, and why none before it.

    `changes` says, path by path, what differs in the schema; the answer is validated by the original all the same.
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
    """About how many tokens a first request has: part by part, in all, and what each switch of `Config` would save.

    Each part, by provider; a token is taken for 3.2 bytes of words, and 3.8 of a schema, from which tokenizers differ
    by a tenth. A schema that a host doesn't show its model costs nothing. `agent`, `context` and `schema` are as for
    `forms`.

    Raises:
        ActumError: as `agent.compose` does.
    """
    found: dict[str, dict[str, int]] = {}
    for provider in PROVIDERS:
        own = _asking(agent, provider)
        parts = _parts(own, context, schema)
        parts["in all"] = sum(parts.values())
        for name in [one for one in _SWITCHES if getattr(own.config, one)]:
            without = replace(own, config=replace(own.config, **{name: False}))
            parts[f"{name}=False saves"] = parts["in all"] - sum(_parts(without, context, schema).values())
        for part, tokens in parts.items():
            found.setdefault(part, {})[provider] = tokens
    return found


_SWITCHES = ("flow", "readers", "shapes", "reasoning")


def _parts(own: Assembly, context: Given, schema: Any) -> dict[str, int]:
    frame, request = own.first_request(context, schema)
    words = {"the language": frame.composition.primer if frame.toolset.tools else "", "the form": frame.form.text}
    said = "".join(str(one["content"]) for one in request.messages)
    sizes = {name: len(text.encode()) for name, text in words.items()}
    sizes = {"messages": len(said.encode()) - sum(sizes.values()), **sizes}
    parts = {**request.schema["properties"], "definitions": request.schema.get("$defs", {})}
    # Told in words, a schema isn't shown: a host's decoder has it, or nobody.
    shown = {name: "" if frame.form.text else encode(one) for name, one in parts.items()}
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
