"""`actum call`: one call of a registered tool."""

from __future__ import annotations

from ...app.idea import Idea
from ...app.loading import Code, load_modules, load_servers, model_asked
from ...errors import UnknownTool
from ...generation.offer import offered
from ...protocol.config import Config
from ...protocol.context import Context
from ...schema.infer import jsonable
from ..connecting import servers_at
from ..given_deps import DepsNames, given_deps
from ..options import CommandError, parameters_of
from ..render.terminal import say_json


async def actum_make_call(
    tool: str,
    /,
    *parameters: str,
    activities: list[str] | None = None,
    deps: DepsNames = None,
    idea: str | None = None,
    model: str | None = None,
    mcp: str | None = None,
) -> None:
    """Make one call of a tool and print its value as JSON.

    Parameters
    ----------
    tool
        The tool's name.
    parameters
        Its parameters, as key=value.
    activities
        A module or file that registers it.
    idea
        An Idea whose Activities and tools are loaded, and whose context is read.
    model
        The model for a tool without code.
    mcp
        A file of MCP servers whose tools are offered.
    """
    source = Idea.load(idea) if idea else Idea(context=Context())
    idea_config = source.settings(name=idea, has_model=model is not None)
    code = Code.to_run(activities)
    load_modules(source, idea_config.activities, code, source.roots)
    load_servers(source, idea_config.servers, code, source.roots)
    config = idea_config.over(Config())
    async with given_deps(deps, source, tool) as dependencies, servers_at(mcp, code.registry, code.servers):
        try:
            called = offered(source.context, code.registry, config.tools).find(tool)
        except UnknownTool as error:
            files = ", ".join([*(activities or []), *(name for name in (idea, mcp) if name)])
            loaded = files or "no module: name one with --activities"
            raise CommandError(f"{error.message} (loaded: {loaded})") from error
        value = await code.registry(
            {"_tool": tool, **parameters_of(parameters, called)},
            context=source.context,
            model=model_asked(idea_config, model, None),
            limits=idea_config.limits,
            roots=source.roots,
            config=config,
            deps=dependencies,
        )
        say_json(jsonable(value))
