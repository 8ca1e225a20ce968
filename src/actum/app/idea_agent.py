"""An agent as an Idea's `config` wants it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..execution.delegation.machine import Machine
from ..generation.model import Model
from ..protocol.config import Config, Limits
from ..protocol.context import is_url
from .assembly import Reach
from .coercion import as_model
from .saved import SavedIdea
from .tools import DEFAULT


class Configured(Protocol):
    """An agent, of which an Idea's config says what is to be otherwise."""

    model: Model | None
    tools: Any
    config: Config
    limits: Limits
    roots: tuple[Path, ...]
    _reach: Reach


A = TypeVar("A", bound=Configured)


def fitted(agent: A, idea: SavedIdea, *, is_own: bool = False, roots: Sequence[Path] | None = None) -> A:
    """The agent as an Idea's `config` wants it.

    Args:
        agent: it stays as it is.
        idea: whose config it is.
        is_own: the Idea sets what bounds its runs, too; else the stricter of its limits and the agent's count, each by
            itself.
        roots: where modules that it names may lie, instead of below the agent's roots and the Idea's own.

    Raises:
        IdeaError: the config can't be used, or a module that it names can't be loaded.
        ModelError: the model that it names is not available.
    """
    has_model = agent.model is not None
    asked = idea.settings("own" if is_own else "local", has_model=has_model, grants=agent.config.grants)
    machine = Machine(registered=DEFAULT, load=as_model)
    fitting = copy(agent)
    fitting.config = asked.over(agent.config)
    fitting.limits = (asked.limits or agent.limits) if is_own else idea.narrowed(agent.limits)
    below = [*agent.roots, *(idea.roots or [Path.cwd()])] if roots is None else roots
    below = None if is_url(idea.context.origin) else below
    fitting.tools = machine.registry(agent.tools, asked.activities, str(idea.source) if idea.source else None, below)
    if not has_model and asked.model is not None:
        fitting.model = machine.model(asked.model)
    if is_own:
        fitting._reach = agent._reach.bounded(fitting.config)  # pyright: ignore[reportPrivateUsage] -- the agent's own
    return fitting
