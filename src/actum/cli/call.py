"""`actum call`: one call of a registered tool."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

from cyclopts import Parameter

from .. import Config, Idea
from .. import tools as registry
from ..errors import SchemaError, UnknownTool
from ..generation.offer import offered
from ..protocol.context import Context
from ..schema.infer import jsonable
from ..schema.json import JsonObject
from ..sources.roots import default_roots
from .failing import CommandError
from .loading import load_modules, model_of, value_of


async def call(
    tool: str,
    /,
    *parameters: str,
    activities: Annotated[list[str] | None, Parameter(negative="")] = None,
    idea: str | None = None,
    model: str | None = None,
) -> int:
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
    """
    loaded = Idea.load(idea) if idea else Idea(context=Context())
    asked = loaded.settings(name=idea, has_model=model is not None)
    load_modules(loaded, asked.activities, activities or [])
    config = asked.over(Config())
    toolset = offered(loaded.context, registry, config.tools)
    try:
        found = toolset.find(tool)
    except UnknownTool as error:
        where = ", ".join([*(activities or []), *([idea] if idea else [])]) or "no module: name one with --activities"
        raise CommandError(f"{error.message} (loaded: {where})") from error
    schemas = cast("JsonObject", found.parameters["properties"])
    made: JsonObject = {"_tool": tool}
    for pair in parameters:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise CommandError(f"a parameter is given as key=value, not {pair!r}")
        schema: Any = schemas.get(key)
        made[key] = value_of(text, cast("JsonObject", schema) if isinstance(schema, dict) else {})
    if complaint := found.validator.complaint({key: value for key, value in made.items() if key != "_tool"}):
        raise SchemaError(complaint, tool=tool)
    roots, chosen = default_roots(loaded.source), model_of(asked, model, None)
    value = await registry(made, context=loaded.context, model=chosen, limits=asked.limits, roots=roots, config=config)
    print(json.dumps(jsonable(value), ensure_ascii=False))
    return 0
