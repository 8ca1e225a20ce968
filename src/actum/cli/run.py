"""`actum run`: run an Idea and print its output."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .. import tools as registry
from ..app.agent import Agent
from ..errors import ActumError
from ..events import AnyEvent, RequestFinished, RequestStarted
from ..generation.offer import offered
from ..ideas.address import parse_address
from ..ideas.ticks import Tick, request_digest
from ..protocol.context import Context
from ..protocol.solution import Result
from ..protocol.usage import Usage
from ..schema.infer import jsonable
from ..schema.json import JsonObject
from .approving import Asking, approver
from .failing import CommandError
from .graph import graph_of, text_of
from .keeping import KeptRun, Versions
from .library import StoreName, library_of
from .lines import JsonLines, Lines, Renderer, Silent
from .loading import Loaded, input_of, load
from .price import price_of

Approval = Literal["ask", "plan", "all", "none", "hold"]


async def run(
    idea: str,
    /,
    *,
    i: Annotated[list[str] | None, Parameter(name=["-i", "--set"], negative="")] = None,
    input: Annotated[str | None, Parameter(name="--input", allow_leading_hyphen=True)] = None,
    model: str | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    approve: Approval = "all",
    record: str | None = None,
    save: str | None = None,
    versions: str | None = None,
    store: StoreName = None,
    activities: Annotated[list[str] | None, Parameter(negative="")] = None,
    tools: Annotated[list[str] | None, Parameter(negative="")] = None,
) -> int:
    """Run an Idea; its output goes to stdout as JSON, what happens on the way to stderr.

    Parameters
    ----------
    idea
        The Idea's file.
    i
        A value of the input, as key=value; more than once. A dotted key nests.
    input
        A file with the input as a JSON object, or - for standard input.
    model
        The model, such as openai:gpt-5.2, or replay:FILE.
    json
        One JSON event per line on stdout.
    quiet
        Only the output.
    approve
        Who decides on calls: ask for each, for the plan as a whole, all run, none runs, each is held for later.
    record
        Where to record what the model is asked and answers.
    save
        A file that the run is kept in while it goes on; `actum resume` goes on from it.
    versions
        An address, such as idea:runs/monday: each request with its answer is saved there as a version, too.
    store
        The store of the versions, as for `actum save`.
    activities
        A module or file with Activities, beside those that the Idea names.
    tools
        An Idea, or a folder of them, that is offered as a tool: each under its file's name.
    """
    loaded = load(idea, model=model, activities=activities or [], record=record, tools=tools or [])
    given = input_of(loaded.idea.context, i or [], input)
    renderer = renderer_of(Path(idea).name, json=json, quiet=quiet)
    asking = Asking(renderer)
    agent = loaded.agent(approver(approve, asking))
    context = loaded.context
    if approve == "hold" and save is None:
        raise CommandError("--approve hold needs --save FILE, where the calls wait")
    if approve == "plan":
        context, given = await _planned(loaded, given, asking)
    if save is None and versions is not None:
        raise CommandError("--versions needs --save FILE, from which the run goes on")
    if save is None:
        return finish(await _run(agent, context, loaded, given, renderer), is_json=json)
    async with versions_at(versions, store) as saved:
        prepared, schema = await agent.prepared(context, loaded.idea.schema, input=given)
        with KeptRun.begun(Path(save), replace(loaded.idea, schema=schema), prepared) as kept:
            return finish(await run_kept(kept, agent, renderer, saved), is_json=json)


@asynccontextmanager
async def versions_at(address: str | None, store: str | None) -> AsyncGenerator[Versions | None]:
    """Where each tick is saved as a version, None where no address is named."""
    if address is None:
        yield None
        return
    target = parse_address(address)
    async with library_of(store) as library:
        yield Versions(library, target)


async def run_kept(kept: KeptRun, agent: Agent, renderer: Renderer, versions: Versions | None = None) -> Result[Any]:
    """Run, or go on with, a run that is kept in a file; whatever ends it, the file holds what it had come to."""
    ticks = kept.ticks
    makers: dict[str, str] = dict(kept.about.get("makers", {}))
    about: JsonObject = {"output": None, "waiting": []}
    with renderer:
        stream = agent.stream(kept.idea.context, kept.idea.schema, record=kept.log)
        try:
            async with stream:
                async for event in stream:
                    renderer.show(event)
                    if event.depth == 0 and _ticks(event, ticks):
                        kept.note(ticks)
                        if versions is not None and ticks[-1].answer is not None:
                            so_far = replace(kept.idea, context=stream.context)
                            await versions.answered(so_far, len(ticks), ticks[-1])
            about = {"output": jsonable(stream.result.output), "waiting": list(stream.result.waiting)}
        finally:
            told: JsonObject = {"ticks": [tick.to_dict() for tick in ticks], "makers": makers | stream.partial.makers}
            told |= {"dialect": dialect.name} if (dialect := agent.dialect) is not None else {}
            kept.keep(stream.context, kept.about | told | about)
        if versions is not None:
            await versions.ended(kept.idea)
        return stream.result


def _ticks(event: AnyEvent, ticks: list[Tick]) -> bool:
    """Note a request that is made, or its answer; whether there was something to note."""
    if isinstance(event, RequestStarted) and (not ticks or len(event.context) != ticks[-1].at or ticks[-1].answer):
        digest = request_digest(event.messages, event.schema)
        at, notices = len(event.context), event.notices
        ticks.append(Tick(at=at, request=digest, waiting=event.waiting, owed=event.owed, notices=notices))
        return True
    if isinstance(event, RequestFinished) and ticks:
        ticks[-1] = replace(ticks[-1], answer=event.solution.to_dict())
        return True
    return False


def renderer_of(title: str, *, json: bool, quiet: bool) -> Renderer:
    """What shows a run, as the options and the terminal say."""
    if json and quiet:
        raise CommandError("--json and --quiet exclude each other")
    if quiet:
        return Silent()
    if json:
        return JsonLines()
    if not sys.stderr.isatty():
        return Lines()
    from .tree import LiveTree

    return LiveTree(title)


async def _planned(loaded: Loaded, given: JsonObject | None, asking: Asking) -> tuple[Context, JsonObject | None]:
    """The context with a plan that has been shown and approved as a whole, and the input that it still needs (P4)."""
    context, usage = loaded.context, Usage()
    if not any(message.get("type") == "plan" for message in context):
        if loaded.model is None:
            raise CommandError("--approve plan needs a plan in the Idea, or a model that makes one")
        planned = await loaded.agent(mode="lazy").run(context, loaded.idea.schema, input=given)
        context, usage, given = planned.context, planned.usage, None

    def shown(plans: Context) -> str:
        toolset = offered(plans, registry, loaded.config.tools)
        return f"{text_of(graph_of(plans))}\n{price_of(plans, toolset, loaded.limits, usage)}"

    return await asking.plan(context, shown), given


async def _run(agent: Agent, context: Any, loaded: Loaded, given: JsonObject | None, renderer: Renderer) -> Result[Any]:
    with renderer:
        async with agent.stream(context, loaded.idea.schema, input=given) as stream:
            async for event in stream:
                renderer.show(event)
            return stream.result


def finish(result: Result[Any], *, is_json: bool) -> int:
    """Print what a run came to; return the exit code."""
    if not is_json:
        indent = 2 if sys.stdout.isatty() else None
        print(json.dumps(jsonable(result.output), ensure_ascii=False, indent=indent))
    if result.waiting:
        print(f"actum: waiting for {', '.join(result.waiting)}", file=sys.stderr)
    if result.output is None and result.errors:
        worst: ActumError = result.errors[0]
        print(f"actum: error: {worst.message}", file=sys.stderr)
        return 1
    return 0
