"""`actum show`: what the model would be given, and the graph of the plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from ... import inspection
from ...app.idea import Idea
from ...app.loading import Code, Loaded, load_idea
from ...connections.looking import register_pinned
from ...errors import ActumError, CallError
from ...generation.offer import offered
from ...inspection import Hidden, Isolation
from ...inspection.plan_drawing import svg_of
from ...inspection.wording import counted
from ...schema.json import JsonObject, encode
from ...schema.quoting import printable
from ...sources.files import write_text
from ..options import CommandError, DelegateRoots, Modules
from ..render.asked import along, message_shown
from ..render.plan_lines import mermaid_of, plan_text
from ..render.terminal import say_lines, tell_left_out

_DRAWINGS = {"text": plan_text, "mermaid": mermaid_of, "svg": svg_of}


async def actum_show(
    idea: str,
    /,
    *,
    graph: Literal["text", "mermaid", "svg"] | None = None,
    messages: bool = False,
    schema: bool = False,
    call: str | None = None,
    instance: str | None = None,
    provider: str | None = None,
    output: str | None = None,
    html: str | None = None,
    activities: Modules = None,
    tools: list[str] | None = None,
    root: DelegateRoots = None,
    mcp: str | None = None,
) -> int:
    """Show what the model would get of an Idea: messages, schema, and the graph of its plan.

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
        A file to write to, instead of stdout.
    html
        For a kept run: the file to write all of it to as one page, to mail or attach; it needs no server.
    tools
        An Idea, or a folder of them, that is offered as a tool, as for `actum run`.
    mcp
        A file of MCP servers, as for `actum run`; none is started: what `actum mcp pin` has kept is looked at.
    """
    if html is not None:
        from ...studio.run_file import run_page

        write_text(Path(html), await run_page(Idea.load(idea), Path(idea).stem), private=True)
        return 0
    code = Code.to_read(activities)
    loaded = load_idea(idea, tools=tools or [], roots=root or [], code=code)
    if mcp is not None:
        code.left_out.extend(register_pinned(Path(mcp), code.registry))
    tell_left_out(code.remarks)
    if call is not None:
        try:
            isolation = await inspection.isolation(loaded.agent(), loaded.idea.context, call, instance)
        except CallError as error:
            raise CommandError(error.message) from error
        _write(isolation_text(isolation, loaded.idea.context.origin, loaded.roots), output)
        return 0
    parts: list[str] = []
    everything = not (graph or messages or schema)
    if messages or everything:
        rendered = loaded.agent().render(loaded.idea.context, loaded.idea.schema)
        parts += [f"── {message['role']}\n{message['content']}{along(message)}" for message in rendered]
    if schema or everything:
        shown = _schema(loaded, provider)
        parts.append(f"── schema\n{shown}" if everything else shown)
    if graph or everything:
        drawn = _DRAWINGS[graph or "text"](_graph(loaded))
        parts.append(f"── calls\n{drawn}" if everything else drawn)
    _write("\n\n".join(parts), output)
    return 0


def _graph(loaded: Loaded) -> inspection.PlanGraph:
    """The graph of the Idea's plans; the tools, if they can be offered, say which calls keep their order."""
    idea = loaded.idea
    try:
        toolset = offered(idea.context, loaded.code.registry, loaded.config.tools)
    except ActumError:
        toolset = None
    return inspection.graph_of(idea.context, idea.solution, toolset)


def _write(text: str, output: str | None) -> None:
    if output:
        write_text(Path(output), text if text.endswith("\n") else f"{text}\n")
    else:
        say_lines(text)


def _schema(loaded: Loaded, provider: str | None) -> str:
    agent, idea = loaded.agent(), loaded.idea
    if provider is None:
        schema = agent.compose(idea.context, idea.schema)
    else:
        schema = inspection.schema_for(provider, agent, idea.context, idea.schema)
    return json.dumps(schema, ensure_ascii=False, indent=2)


def isolation_text(isolation: Isolation, origin: str | None = None, roots: Sequence[Path] = ()) -> str:
    """Says who carries a call out, what it sees and what it doesn't.

    `origin` is where paths in the context start from, `roots` the folders that they may lead into.
    """
    lines = [_headline(isolation)]
    if isolation.own is not None:
        lines += ["sees of its own", *_messages(isolation.own, None, ())]
    lines += ["sees of this context", *_messages(isolation.crossing, origin, roots)]
    lines += ["does not see", *(f"  {printable(_hidden_line(hidden))}" for hidden in isolation.hidden)]
    return "\n".join([*lines, "  the other calls, their errors, and the registered tools"])


def _headline(isolation: Isolation) -> str:
    if isolation.delegate is None:
        return f"a call of {isolation.tool}"
    return f"a call of {isolation.tool}, carried out by the delegate {isolation.delegate or 'that the model chooses'}"


def _messages(messages: Iterable[JsonObject], origin: str | None, roots: Sequence[Path]) -> Iterator[str]:
    lines = [f"  {printable(encode(message_shown(message, origin, roots)))}" for message in messages]
    yield from lines or ["  nothing"]


def _hidden_line(hidden: Hidden) -> str:
    if hidden.count:
        return f"{hidden.kind}: {counted(hidden.count, 'message')}"
    return f"{hidden.kind}: {', '.join(hidden.names) or 'all of it'}"
