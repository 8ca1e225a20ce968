"""`actum run`: run an Idea and print its output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ... import inspection, kept
from ...app.agent import Agent, with_deps
from ...app.begun import Begun
from ...app.loading import Code, Loaded, load_idea
from ...app.planned import with_plans_approved
from ...generation.offer import offered
from ...protocol.context import Context
from ...protocol.solution import Result
from ...protocol.usage import Usage
from ...schema.json import JsonObject
from .. import options
from ..attaching import attached
from ..connecting import approver_of, servers_at
from ..given_deps import DepsNames, given_deps
from ..questions import Questions
from ..render.lines import Renderer
from ..render.plan_lines import plan_text, price_of
from ..render.run_display import finish, renderer_of


async def actum_run(
    idea: str,
    /,
    *,
    i: options.Settings = None,
    input: options.InputFile = None,
    model: options.ModelName = None,
    json: bool = False,
    quiet: options.QuietFlag = False,
    approve: Begun | None = None,
    record: str | None = None,
    save: str | None = None,
    versions: str | None = None,
    store: str | None = None,
    activities: options.Modules = None,
    deps: DepsNames = None,
    tools: list[str] | None = None,
    root: list[str] | None = None,
    mcp: str | None = None,
) -> int:
    """Run an Idea: its output goes to stdout as JSON, what happens on the way to stderr.

    Parameters
    ----------
    idea
        The Idea's file.
    i
        A value of the input, as key=value; may be repeated. A dotted key nests. items=@items.json reads a
        list, an object or a number from a file; picture=@photo.png shows the model an image, audio or a document.
    json
        Print one JSON event per line.
    approve
        Who decides on calls: ask for each, ask for the plan as a whole, run all, run none, or hold each for later.
        Where nothing is said all run, but for calls of MCP servers, which wait.
    record
        A file to record the model's requests and answers in.
    save
        A file to keep the run in while it runs; `actum resume` continues it.
    versions
        An address, for example idea:runs/monday, to save each request with its answer at as a version.
    store
        The store of the versions, as for `actum save`.
    tools
        An Idea, or a folder of them, that is offered as a tool: each under its file's name.
    root
        A folder that delegates may be read from; the current one where the Idea is below it, else the Idea's own.
    mcp
        A file of MCP servers whose tools are offered, in the form {"mcpServers": {…}}; what they do is held, unless
        they are trusted and only read.
    """
    loaded = load_idea(
        idea, model=model, record=record, tools=tools or [], roots=root or [], code=Code.to_run(activities)
    )
    pairs, attachments = attached(loaded.idea.context, i or [])
    values = options.input_of(loaded.idea.context, pairs, input)
    renderer = renderer_of(Path(idea).name, json=json, quiet=quiet)
    questions = Questions(renderer, loaded.roots)
    has_servers = mcp is not None or bool(loaded.code.servers)
    agent = loaded.agent(approver_of(approve, questions, has_servers=has_servers))
    if approve == "hold" and save is None:
        raise options.CommandError("--approve hold needs --save FILE, where the calls wait")
    if versions is not None and save is None:
        raise options.CommandError("--versions needs --save FILE, to resume the run from")
    context = loaded.context.extended(attachments)
    async with (
        given_deps(deps, loaded.idea, Path(idea).name) as dependencies,
        servers_at(mcp, loaded.code.registry, loaded.code.servers),
        options.versions_at(versions, store) as saved,
    ):
        agent = with_deps(agent, dependencies)
        if approve == "plan":
            context, values = await _planned(loaded, context, values, questions)
        with renderer:
            if save is None:
                result = await _run(agent, context, loaded.idea.schema, values, renderer)
            else:
                start = replace(loaded.idea, context=context, solution=None)
                result = await kept.start(
                    save, start, lambda _: agent, input=values, show=renderer.show, versions=saved, approve=approve
                )
        return finish(result, is_json=json, file=save)


async def _planned(
    loaded: Loaded, context: Context, values: JsonObject | None, questions: Questions
) -> tuple[Context, JsonObject | None]:
    """The context with a plan that was shown and approved as a whole, and the input that it still needs (P4)."""
    usage = Usage()
    if not any(message.get("type") == "plan" for message in context):
        if loaded.model is None:
            raise options.CommandError("--approve plan needs a plan in the Idea, or a model that makes one")
        planned = await loaded.agent(mode="lazy").run(context, loaded.idea.schema, input=values)
        context, usage, values = planned.context, planned.usage, None

    def describe(plans: Context) -> str:
        toolset = offered(plans, loaded.code.registry, loaded.config.tools)
        price = inspection.price(plans, toolset, loaded.limits, usage)
        return f"{plan_text(inspection.graph_of(plans, toolset=toolset))}\n{price_of(price)}"

    approved = await questions.plan(context, describe)
    tools = offered(approved, loaded.code.registry, loaded.config.tools).tools
    return with_plans_approved(approved, {name for name, tool in tools.items() if tool.is_held}), values


async def _run(
    agent: Agent, context: Context, schema: Any, given: JsonObject | None, renderer: Renderer
) -> Result[Any]:
    async with agent.stream(context, schema, input=given) as stream:
        async for event in stream:
            renderer.show(event)
        return stream.result
