"""`actum call`: one call of a registered tool."""

from __future__ import annotations

from ...app.idea import Idea
from ...app.loading import Code, load_modules, load_servers, model_asked
from ...errors import SchemaError, UnknownTool
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
    loaded = Idea.load(idea) if idea else Idea(context=Context())
    asked = loaded.settings(name=idea, has_model=model is not None)
    code = Code.to_run(activities)
    load_modules(loaded, asked.activities, code, loaded.roots)
    load_servers(loaded, asked.servers, code, loaded.roots)
    config = asked.over(Config())
    async with given_deps(deps, loaded, tool) as own, servers_at(mcp, code.registry, code.servers):
        try:
            found = offered(loaded.context, code.registry, config.tools).find(tool)
        except UnknownTool as error:
            where = (
                ", ".join([*(activities or []), *(one for one in (idea, mcp) if one)])
                or "no module: name one with --activities"
            )
            raise CommandError(f"{error.message} (loaded: {where})") from error
        given = parameters_of(parameters, found.parameters)
        if complaint := found.validator.complaint(given):
            raise SchemaError(complaint, tool=tool)
        value = await code.registry(
            {"_tool": tool, **given},
            context=loaded.context,
            model=model_asked(asked, model, None),
            limits=asked.limits,
            roots=loaded.roots,
            config=config,
            deps=own,
        )
        say_json(jsonable(value))
