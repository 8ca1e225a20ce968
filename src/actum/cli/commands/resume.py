"""`actum resume`: a kept run continued later, elsewhere (L6, L8)."""

from __future__ import annotations

from pathlib import Path

from ... import kept
from ...app.agent import Agent
from ...app.begun import Begun
from ...app.idea import Idea
from ...app.loading import Code, load_servers, ready
from ...app.tools import DEFAULT
from .. import options
from ..connecting import servers_at
from ..given_deps import DepsNames, given_deps
from ..keeping import RunName, is_file_of_run, run_at
from ..questions import Questions, approver
from ..render.run_display import finish, renderer_of
from ..render.terminal import say


async def actum_resume(
    run: RunName,
    /,
    *,
    model: options.ModelName = None,
    json: bool = False,
    quiet: options.QuietFlag = False,
    approve: Begun | None = None,
    anew: bool = False,
    record: str | None = None,
    versions: str | None = None,
    store: str | None = None,
    activities: options.Modules = None,
    deps: DepsNames = None,
    root: options.DelegateRoots = None,
    mcp: str | None = None,
) -> int:
    """Continue a run that was kept by `actum run --save`: one that was cut, killed, or waited for a decision.

    Calls whose results are recorded are not made again. Calls that wait for a decision keep waiting, unless it was
    given by `actum approve` or `actum deny`, or is given now with --approve ask.

    A run that was submitted and is over is continued by workers as a new run, whose id is printed.

    Parameters
    ----------
    json
        Print one JSON event per line.
    approve
        Who decides on calls that were not held before; where nothing is said, who did when the run began.
    anew
        Let the limits begin anew; they count from the run's beginning.
    record
        A file to record the model's requests and answers in.
    versions
        An address to save each request with its answer at as a version, as for `actum run`.
    store
        The store of the versions, as for `actum save`; without --versions, where runs are kept, as for `actum submit`.
    mcp
        A file of MCP servers, as for `actum run`.
    """
    if approve == "plan":
        raise options.CommandError("a plan is approved before it runs: --approve plan is for `actum run`")
    if not is_file_of_run(run, store if versions is None else None):
        async with run_at(run, store) as handle:
            say((await handle.again()).id)
        return 0
    renderer = renderer_of(Path(run).name, json=json, quiet=quiet)
    questions = Questions(renderer)
    original, code = Idea.load(run), Code.to_run()
    decide = approver(approve or kept.approve_of(original) or "all", questions)
    load_servers(original, original.settings(name=run).servers, code, [*map(Path, root or [])] or original.roots)

    def agent_for(idea: Idea) -> Agent:
        loaded = ready(idea, run, model=model, record=record, roots=root or [], code=Code.to_run(activities))
        questions.roots = loaded.roots
        return loaded.agent(decide)

    async with (
        given_deps(deps, original, run) as dependencies,
        servers_at(mcp, DEFAULT, code.servers),
        options.versions_at(versions, store) as saved,
    ):
        with renderer:
            result = await kept.resume(
                run, agent_for, show=renderer.show, versions=saved, keeps_approve=False, anew=anew, deps=dependencies
            )
        return finish(result, is_json=json, file=run)
