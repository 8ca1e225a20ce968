"""From an Idea to an Agent that runs it as its user would: its config, its Activities, its model, its roots (D17)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import IdeaError
from ..execution.calls.approval import Approve
from ..generation.model import Model
from ..ideas.config import IdeaConfig
from ..protocol.config import Config, Limits
from ..protocol.context import Context
from ..schema.json import JsonObject
from ..sources.modules import load_activities
from ..sources.roots import default_roots
from ..storage.open import default_store
from .agent import Agent
from .idea import Idea
from .tools import DEFAULT

IDEA_FILES = {".json", ".yaml", ".yml"}
Loader: TypeAlias = Callable[[str, Path], object]
"""Makes the Activities of a module known, by its name or by its path relative to a folder."""


def look_at(name: str, folder: Path) -> None:
    """Make a module's Activities known to what only looks: the one place where looking at an Idea imports code.

    Raises:
        IdeaError: there is no such module, or it fails.
    """
    load_activities(name, folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An Idea that is ready to run."""

    idea: Idea
    config: Config
    limits: Limits
    model: Model | None
    roots: Sequence[Path]

    def agent(self, approve: Approve | None = None, **changes: Any) -> Agent:
        """The agent that runs it."""
        config = dataclasses.replace(self.config, **changes)
        return agent_at(self.roots, model=self.model, config=config, limits=self.limits, approve=approve)

    @property
    def context(self) -> Context:
        """The Idea's context; without a model, with its saved solution as the plan."""
        return self.idea.context if self.model is not None else self.idea.without_model()


def agent_at(roots: Sequence[Path], **more: Any) -> Agent:
    """An agent that finds Ideas below these folders, and in the default store if there is one."""
    store = default_store()
    has_store = "://" in store or Path(store.removeprefix("sqlite:")).exists()
    return Agent(more.pop("model", None), tools=DEFAULT, roots=roots, store=store if has_store else None, **more)


def load(
    path: str,
    *,
    model: str | None = None,
    activities: Sequence[str] = (),
    record: str | None = None,
    tools: Sequence[str] = (),
    roots: Sequence[str] = (),
    loader: Loader = load_activities,
) -> Loaded:
    """Load an Idea and everything that it names; `tools` are Ideas, or folders of them, that it may call (X2).

    Raises:
        IdeaError: the Idea, its config or its Activities are wrong.
        ModelError: the model is not available; the message says what is missing.
    """
    for one in tools:
        register_ideas(Path(one))
    idea = Idea.load(path)
    return ready(idea, path, model=model, activities=activities, record=record, roots=roots, loader=loader)


def register_ideas(path: Path) -> None:
    """Register an Idea, or each of a folder, as a tool under its file's name (X2).

    Raises:
        IdeaError: there is none, one can't be read, or two have the same name.
    """
    files = [path] if path.is_file() else sorted(one for one in path.glob("*") if one.suffix in IDEA_FILES)
    if not files:
        raise IdeaError(f"there is no Idea at {path}")
    for file in files:
        if file.stem in DEFAULT:
            raise IdeaError(f"{file}: a tool named {file.stem!r} is already registered")
        DEFAULT.register(Idea.load(file).as_tool(file.stem))


def ready(
    idea: Idea,
    name: str,
    *,
    model: str | Model | None = None,
    activities: Sequence[str] = (),
    record: str | None = None,
    roots: Sequence[str] = (),
    loader: Loader = load_activities,
) -> Loaded:
    """Load everything that an Idea names; raises as `load`. One from a URL may name nothing (D12).

    `roots` are the folders that its paths may lead into; `default_roots` if none are named.
    """
    asked = idea.settings(name=name, has_model=bool(model or os.environ.get("ACTUM_MODEL")))
    config = asked.over(Config())
    load_modules(idea, asked.activities, activities, loader)
    return Loaded(
        idea=idea.identified(config),
        config=config,
        limits=asked.limits or Limits(),
        model=model_of(asked, model, record),
        roots=[Path(root) for root in roots] or default_roots(idea.source),
    )


def load_modules(idea: Idea, named: Sequence[str], more: Sequence[str], loader: Loader = load_activities) -> None:
    """Load the Activities that an Idea names, relative to its file, and more, relative to the current folder."""
    folder = idea.source.parent if idea.source is not None else Path()
    for name in named:
        loader(name, folder)
    for name in more:
        loader(name, Path.cwd())


def config_of(config: JsonObject, name: str) -> tuple[Config, Limits]:
    """The Config and the Limits that an Idea asks for.

    Raises:
        IdeaError: naming an unknown key or a bad value.
    """
    asked = IdeaConfig.parse(config, name)
    return asked.over(Config()), asked.limits or Limits()


def model_of(asked: IdeaConfig, named: str | Model | None, record: str | None) -> Model | None:
    """The model that the caller, the Idea or ACTUM_MODEL names, in this order."""
    if named is not None and not isinstance(named, str):
        return named
    name = named or asked.model or os.environ.get("ACTUM_MODEL")
    if not name:
        return None
    from .. import models

    model = models.load(name)
    return models.Recording(model, record) if record else model
