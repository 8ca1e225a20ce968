"""`actum show`: what the model would be given, and the graph of the plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ..app.coercion import blocking
from ..errors import SchemaError
from ..protocol.call import Call
from ..schema.lowering import choose
from ..sources.files import write_text
from .check import PROVIDERS, composer_of
from .failing import CommandError
from .graph import PlanGraph, add_calls, graph_of, mermaid_of, text_of
from .isolation import isolation_of
from .loading import Loaded, load
from .svg import svg_of


def show(
    idea: str,
    /,
    *,
    graph: Literal["text", "mermaid", "svg"] | None = None,
    messages: Annotated[bool, Parameter(negative="")] = False,
    schema: Annotated[bool, Parameter(negative="")] = False,
    call: str | None = None,
    instance: str | None = None,
    provider: str | None = None,
    output: str | None = None,
    activities: Annotated[list[str] | None, Parameter(negative="")] = None,
) -> int:
    """Show an Idea as the model would get it: messages, schema, and the graph of its plan.

    Parameters
    ----------
    idea
        The Idea's file.
    graph
        Only the graph, as text, Mermaid or SVG.
    messages
        Only the messages.
    schema
        Only the schema.
    call
        Only what a call of this tool would see of the context, and what not.
    instance
        The instance of that call.
    provider
        The schema as this provider would get it: openai, anthropic, google or grammar.
    output
        A file to write to, in place of stdout.
    activities
        A module or file with Activities, beside those that the Idea names.
    """
    loaded = load(idea, activities=activities or [])
    if call is not None:
        _write(blocking(isolation_of(loaded.agent(), loaded.idea.context, call, instance)), output)
        return 0
    parts: list[str] = []
    everything = not (graph or messages or schema)
    if messages or everything:
        parts += [f"── {one['role']}\n{one['content']}" for one in _messages(loaded)]
    if schema or everything:
        shown = json.dumps(_schema(loaded, provider), ensure_ascii=False, indent=2)
        parts.append(f"── schema\n{shown}" if everything else shown)
    if graph or everything:
        drawn = _drawn(plan_of(loaded), graph or "text")
        parts.append(f"── calls\n{drawn}" if everything else drawn)
    _write("\n\n".join(parts), output)
    return 0


def _write(text: str, output: str | None) -> None:
    if output:
        write_text(Path(output), text if text.endswith("\n") else f"{text}\n")
    else:
        print(text)


def plan_of(loaded: Loaded) -> PlanGraph:
    """The graph of an Idea's plans, and of its solution."""
    graph = graph_of(loaded.idea.context)
    solution = loaded.idea.solution or {}
    if solution.get("calls"):
        add_calls(graph, [Call(call) for call in solution["calls"]], solution.get("output"))
    return graph


def _messages(loaded: Loaded) -> list[dict[str, str]]:
    return loaded.agent().render(loaded.idea.context, loaded.idea.schema)


def _schema(loaded: Loaded, provider: str | None) -> Any:
    if provider is None:
        return loaded.agent().compose(loaded.idea.context, loaded.idea.schema)
    if provider not in PROVIDERS:
        raise CommandError(f"no provider {provider!r}; there are {', '.join(PROVIDERS)}")
    try:
        return choose(composer_of(loaded), PROVIDERS[provider]).schema
    except SchemaError as error:
        raise CommandError(error.message) from error


def _drawn(graph: PlanGraph, form: str) -> str:
    return {"text": text_of, "mermaid": mermaid_of, "svg": svg_of}[form](graph)
