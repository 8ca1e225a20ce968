"""The `deps` of a worker's runs, made for each run by a factory that its Idea names."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias, cast

from ..app.agent import Agent, assembled
from ..app.idea import Idea
from ..errors import RunError
from ..protocol.activity import error_text, is_async
from ..protocol.context import is_url
from .row import Row

Factory: TypeAlias = "Callable[..., Any]"
"""Makes the `deps` of a run, whose `Row` it may take: a function, sync or async, or an async generator function that
yields them once and goes on when the run has ended here."""
_ONLY = ""
"""The name of a factory that was passed without one."""


def factories_of(given: Factory | Mapping[str, Factory] | None) -> Mapping[str, Factory]:
    """The factories of a worker by name.

    Raises:
        RunError: one is none.
    """
    if given is None:
        return {}
    named = cast("Mapping[Any, Any]", given) if isinstance(given, Mapping) else {_ONLY: given}
    for name, factory in named.items():
        if not callable(factory) or not isinstance(name, str):
            raise RunError(f"the deps of a worker are made by functions, deps={{'shop': make_shop}}, not {factory!r}")
    return dict(named)


@asynccontextmanager
async def provided(
    factories: Mapping[str, Factory], idea: Idea, row: Row, agent: Agent | None = None
) -> AsyncGenerator[Any]:
    """The `deps` of a run, as long as the block lasts; None if no factory is for it.

    Args:
        factories: what makes them, by name.
        idea: may name a factory, unless it is from a URL; else the factory is the one of the type that the agent
            declares, or the only one.
        row: the run.
        agent: what carries it out.

    Raises:
        RunError: there is no factory of that name, or it has failed.
    """
    factory = _choose(factories, idea, agent, row.id)
    if factory is None:
        yield None
        return
    given = [row] if inspect.signature(factory).parameters else []
    async with AsyncExitStack() as stack:
        try:
            if inspect.isasyncgenfunction(factory):
                deps = await stack.enter_async_context(asynccontextmanager(factory)(*given))
            else:
                deps = await (factory(*given) if is_async(factory) else asyncio.to_thread(factory, *given))
        except Exception as error:
            raise RunError(f"run {row.id}: its deps could not be made: {error_text(error)}") from error
        yield deps


def _choose(factories: Mapping[str, Factory], idea: Idea, agent: Agent | None, run: str) -> Factory | None:
    name = None if is_url(idea.context.origin) else idea.config.get("deps")
    if name is not None:
        if name not in factories:
            known = ", ".join(map(repr, filter(None, factories))) or "none by name"
            raise RunError(f"run {run} needs the deps {name!r}; its worker makes {known}: Worker(…, deps={{name: …}})")
        return factories[name]
    declared = "" if agent is None else getattr(assembled(agent).needs, "__name__", "")
    if declared in factories:
        return factories[declared]
    return next(iter(factories.values())) if len(factories) == 1 else None
