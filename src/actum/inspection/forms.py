"""The form in which each provider would get the schema of an answer, and what that changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..app.agent import Agent, assembled
from ..app.assembly import Assembly
from ..app.coercion import Given, blocking
from ..errors import SchemaError
from ..generation.offer import composition, offered
from ..models.scripted import Scripted
from ..schema.compose import References
from ..schema.infer import shape_of
from ..schema.json import JsonObject, encode
from ..schema.lowering import ANTHROPIC, GOOGLE, GRAMMAR, LADDER, OPENAI, Dialect, choose, lower

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
    compose = _composer(agent, context, schema)
    return tuple(_form(name, compose, dialect) for name, dialect in PROVIDERS.items())


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
    return choose(_composer(agent, context, schema), PROVIDERS[provider]).schema


def _composer(agent: Agent, context: Given, schema: Any) -> Callable[[References], JsonObject]:
    """What composes the schema of a request in either form of references."""
    own, closed = blocking(assembled(agent).prepared(context, schema))
    toolset = offered(own, agent.tools, agent.config.tools)
    return composition(toolset, own, shape_of(closed).schema, agent.config)[1]


def sizes(agent: Agent, context: Given, schema: Any = None) -> Mapping[str, Mapping[str, int]]:
    """About how many tokens a first request has: part by part, in all, and what each switch of `Config` would save.

    Each part, by provider; a token is taken for 3.2 bytes of words, and 3.8 of a schema, from which tokenizers differ
    by a tenth. A schema that a host doesn't show its model costs nothing. The arguments are as for `forms`.

    Raises:
        ActumError: as `agent.compose` does.
    """
    found: dict[str, dict[str, int]] = {}
    for provider, dialect in PROVIDERS.items():
        own = replace(assembled(agent), model=Scripted([], dialect=dialect))
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


def _form(provider: str, compose: Callable[[References], JsonObject], dialect: Dialect) -> Form:
    chosen = choose(compose, dialect)
    why: list[str] = []
    for rung in LADDER:
        if rung == chosen.rung:
            break
        problems = lower(compose(rung.references), dialect, rung).problems[:_MOST_REASONS]
        why += [f"not {rung.name}: {problem}" for problem in problems]
    return Form(
        provider=provider,
        rung=chosen.rung.name if chosen.rung is not None else "as it is",
        why=tuple(why),
        changes=tuple(f"{note.path}: {note.change}" for note in chosen.notes),
    )
