"""`actum check`: every problem of an Idea at once, and what each provider makes of its schema."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .. import tools as registry
from ..app.coercion import blocking
from ..generation.offer import composition, offered
from ..ideas.positions import Positions
from ..protocol.config import Config
from ..protocol.context import Context
from ..schema.compose import References
from ..schema.dialects import ANTHROPIC, GOOGLE, GRAMMAR, LADDER, OPENAI, Dialect
from ..schema.infer import shape_of
from ..schema.json import JsonObject
from ..schema.lowering import choose, lower
from ..sources.files import read_text
from ..sources.modules import load_activities
from .loading import Loaded, agent_at, config_of
from .problems import Inspection, inspect, parsed

PROVIDERS: dict[str, Dialect] = {"openai": OPENAI, "anthropic": ANTHROPIC, "google": GOOGLE, "grammar": GRAMMAR}
"""The dialects by the name that the command line knows them by."""


def check(
    idea: str,
    /,
    *,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    activities: Annotated[list[str] | None, Parameter(negative="")] = None,
) -> int:
    """Check an Idea without running it: every problem with its line, and the form that each provider gets.

    Parameters
    ----------
    idea
        The Idea's file.
    json
        The findings as JSON.
    activities
        A module or file with Activities, beside those that the Idea names.
    """
    path = Path(idea)
    text = read_text(path)
    value = parsed(text, idea)
    for name in activities or []:
        load_activities(name, Path.cwd())
    found = inspect(value, path, agent_at(path.parent).linking())
    problems = _placed(found, text, idea)
    providers = {} if problems else _providers(value, found)
    if json:
        print(jsonlib.dumps({"problems": problems, "providers": providers}, ensure_ascii=False))
    else:
        _print(idea, problems, providers)
    return 2 if problems else 0


def _placed(found: Inspection, text: str, name: str) -> list[JsonObject]:
    positions = Positions("" if name.endswith((".yaml", ".yml")) else text)
    listed: list[JsonObject] = []
    for problem in found.problems:
        line, column = positions.of(problem.place)
        listed.append({"line": line, "column": column, **problem.error.to_dict()})
    return sorted(listed, key=lambda one: (one["line"], one["column"]))


def _providers(value: JsonObject, found: Inspection) -> dict[str, JsonObject]:
    assert found.context is not None
    config, _ = config_of(value.get("config", {}), "the Idea")
    compose = _composer(found.context, found.schema, config)
    return {name: _rung(compose, dialect) for name, dialect in PROVIDERS.items()}


def _rung(compose: Callable[[References], JsonObject], dialect: Dialect) -> JsonObject:
    chosen = choose(compose, dialect)
    name = chosen.rung.name if chosen.rung is not None else "as it is"
    why: list[str] = []
    for rung in LADDER:
        if rung == chosen.rung:
            break
        why += [
            f"not {rung.name}: {problem}" for problem in lower(compose(rung.references), dialect, rung).problems[:3]
        ]
    changes = [f"{note.path}: {note.change}" for note in chosen.notes]
    return {"rung": name, "why": why, "changes": changes}


def _composer(context: Context, schema: Any, config: Config) -> Callable[[References], JsonObject]:
    return composition(offered(context, registry, config.tools), context, shape_of(schema).schema, config)[1]


def composer_of(loaded: Loaded) -> Callable[[References], JsonObject]:
    """What composes an Idea's schema in either form of references."""
    context, schema = blocking(loaded.agent().prepared(loaded.idea.context, loaded.idea.schema))
    return _composer(context, schema, loaded.config)


_MOST_CHANGES = 4


def _print(idea: str, problems: list[JsonObject], providers: dict[str, JsonObject]) -> None:
    for problem in problems:
        print(f"{idea}:{problem['line']}:{problem['column']}: {problem['message']} ({problem['code']})")
    if problems:
        print(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}")
        return
    print(f"{idea}: no problems")
    for name, found in providers.items():
        print(f"  {name}: {found['rung']}")
        changes = found["changes"]
        more = [f"and {len(changes) - _MOST_CHANGES} changes more"] if len(changes) > _MOST_CHANGES else []
        for line in [*found["why"], *changes[:_MOST_CHANGES], *more]:
            print(f"      {line}")
