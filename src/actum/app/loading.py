"""Makes the agent that runs an Idea for its user: with its config, Activities, model and roots (D17)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import IdeaError, IdeaNotFound
from ..execution.approver import Approve
from ..generation.model import Model
from ..ideas.idea_config import IdeaConfig
from ..protocol.config import Config, Limits
from ..protocol.context import Context, is_url
from ..protocol.registry import Registry
from ..schema.json import JsonObject
from ..sources.modules import find_module, load_activities
from ..sources.roots import folders
from ..storage.open import default_store
from .agent import Agent
from .idea import Idea
from .saved import folder_of, servers_file
from .tools import DEFAULT, Tools

IDEA_FILES = {".json", ".yaml", ".yml"}


@dataclass(frozen=True, slots=True)
class Code:
    """The Python that an Idea names, which is either run or only read.

    `registry` takes the Activities. `named` are the modules that the user names in addition to the Idea's
    (`--activities`), which may lie anywhere. `left_out` says what could not be known without running anything;
    `outdated` says why a file of pins no longer fits its module.
    """

    registry: Tools
    named: Sequence[str]
    is_run: bool
    left_out: list[str] = field(default_factory=list[str])
    outdated: dict[Path, str] = field(default_factory=dict[Path, str])
    servers: list[Path] = field(default_factory=list[Path])
    """The files of tool servers that the Idea names, for the caller to start."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out and what is out of date, a line each."""
        return (*self.left_out, *(f"{path}: {words}" for path, words in self.outdated.items()))

    @classmethod
    def to_run(cls, named: Sequence[str] | None = None) -> Code:
        """For `run`, `resume` and `call`, with which a user asks to run something: a registry of its own."""
        return cls(DEFAULT.copy(), named or (), is_run=True)

    @classmethod
    def for_all(cls, named: Sequence[str] | None = None) -> Code:
        """For servers of many Ideas, all of which get the modules that the user names."""
        return cls(DEFAULT, named or (), is_run=True)

    @classmethod
    def to_read(cls, named: Sequence[str] | None = None) -> Code:
        """For commands that only look: a registry of its own, and no module is imported."""
        return cls(DEFAULT.copy(), named or (), is_run=False)

    def take(self, name: str, folder: Path, roots: Sequence[Path]) -> Registry:
        """Register the Activities of a module that an Idea names; it lies below the roots or its user names it (D12).

        Returns:
            What the module registers.

        Raises:
            IdeaError: there is no such module, it may not be reached, or it fails.
        """
        of_user = {_file_of(module, Path.cwd()) for module in self.named} - {None}
        return self._take(name, folder, None if of_user and _file_of(name, folder) in of_user else roots)

    def take_named(self) -> None:
        """Register the Activities of the modules that the user names; raises as `take`."""
        for name in self.named:
            self._take(name, Path.cwd(), None)

    def take_servers(self, name: str, folder: Path, roots: Sequence[Path]) -> None:
        """Note a file of tool servers that an Idea names, below its roots; if code is only read, take its pins (D12).

        Raises:
            IdeaError: it lies elsewhere, or can't be used.
        """
        path = servers_file(name, folder, roots)
        if self.is_run:
            self.servers.append(path)
            return
        from ..connections.looking import register_pinned

        self.left_out.extend(register_pinned(path, self.registry))

    def within(self, config: Config) -> Config:
        """The part of an Idea's config that counts: if code is only read, no private host is reached."""
        return dataclasses.replace(config, allow_hosts=()) if config.allow_hosts and not self.is_run else config

    def _take(self, name: str, folder: Path, roots: Sequence[Path] | None) -> Registry:
        registered = Registry()
        if self.is_run:
            registered = DEFAULT.loaded(partial(load_activities, name, folder, roots))
        elif (file := find_module(name, folder, roots)) is not None:
            self._read(name, file, registered, roots)
        self.registry.take(registered)
        return registered

    def _read(self, name: str, file: Path, registry: Registry, roots: Sequence[Path] | None) -> None:
        """Register the pins of a module's file; raises as `take` if they can't be used."""
        from ..connections.module_pins import ModulePins, pins_path

        pins = ModulePins.beside(file, roots)
        if pins is None:
            refused = [f"not pinned, so its tools are not known; {_pin_hint(name, file)}"]
        else:
            refused = pins.register(registry)
        lines = [f"the Activities {name!r}: {why}" for why in refused]
        self.left_out.extend(line for line in lines if line not in self.left_out)
        if pins is not None and (changed := pins.changed(file)):
            shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
            remark = f"these pins are out of date, since {shown} changed; {_pin_hint(name, file)} now"
            self.outdated[pins_path(file)] = remark


def _pin_hint(name: str, file: Path) -> str:
    """The command that pins a module."""
    cwd = Path.cwd().resolve()
    shown = str(file.relative_to(cwd) if file.is_relative_to(cwd) else file) if name.endswith(".py") else name
    return f"`actum pin {shown}` writes down what they are"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An Idea that is ready to run."""

    idea: Idea
    config: Config
    limits: Limits
    model: Model | None
    roots: Sequence[Path]
    code: Code

    def agent(self, approve: Approve | None = None, **changes: Any) -> Agent:
        """The agent that runs it."""
        config = dataclasses.replace(self.config, **changes) if changes else self.config
        return agent_at(
            self.roots, model=self.model, tools=self.code.registry, config=config, limits=self.limits, approve=approve
        )

    @property
    def context(self) -> Context:
        """The Idea's context; without a model, with its saved solution as the plan."""
        return self.idea.context if self.model is not None else self.idea.without_model()


def agent_at(roots: Sequence[Path], **options: Any) -> Agent:
    """An agent that finds Ideas below these folders, and in the default store if there is one."""
    store = default_store()
    has_store = "://" in store or Path(store.removeprefix("sqlite:")).exists()
    return Agent(options.pop("model", None), roots=roots, store=store if has_store else None, **options)


def load_idea(
    path: str,
    *,
    model: str | None = None,
    record: str | None = None,
    tools: Sequence[str] = (),
    roots: Sequence[str] = (),
    code: Code | None = None,
) -> Loaded:
    """Load an Idea and everything that it names; `tools` are Ideas, or folders of them, that it may call (X2).

    `code` says whether its Python is run, which is the default, or read.

    Raises:
        IdeaError: the Idea, its config or its Activities are wrong.
        ModelError: the model is not available; the message says what is missing.
    """
    code = code or Code.to_run()
    for tool in tools:
        register_ideas(Path(tool), code.registry)
    idea = Idea.load(path)
    return ready(idea, path, model=model, record=record, roots=roots, code=code)


def register_ideas(path: Path, registry: Registry) -> None:
    """Register an Idea, or each of a folder, as a tool under its file's name (X2).

    Raises:
        IdeaError: there is none, one can't be read, or two have the same name.
    """
    files = [path] if path.is_file() else sorted(file for file in path.glob("*") if file.suffix in IDEA_FILES)
    if not files:
        raise IdeaNotFound(f"there is no Idea at {path}")
    for file in files:
        if file.stem in registry:
            raise IdeaError(f"{file}: a tool named {file.stem!r} is already registered")
        registry.register(Idea.load(file).as_tool(file.stem))


def ready(
    idea: Idea,
    name: str,
    *,
    model: str | Model | None = None,
    record: str | None = None,
    roots: Sequence[str] = (),
    code: Code | None = None,
) -> Loaded:
    """Load everything that an Idea names; raises as `load_idea`. One from a URL may name nothing (D12).

    `roots` are the folders that its paths may lead into, by default the Idea's own; `code` is as for `load_idea`.
    """
    code = code or Code.to_run()
    allowed = folders(roots) or idea.roots
    # The user's ACTUM_MODEL comes before what an Idea from outside names, since nobody has granted that.
    named = model or (os.environ.get("ACTUM_MODEL") if is_url(idea.context.origin) else None)
    idea_config = idea.settings(name=name, has_model=bool(named))
    config = code.within(idea_config.over(Config()))
    load_modules(idea, idea_config.activities, code, allowed)
    load_servers(idea, idea_config.servers, code, allowed)
    return Loaded(
        idea=idea.identified(config),
        config=config,
        limits=idea_config.limits or Limits(),
        model=model_asked(idea_config, named, record),
        roots=allowed,
        code=code,
    )


def load_modules(idea: Idea, names: Sequence[str], code: Code, roots: Sequence[Path]) -> None:
    """Take the Activities that an Idea names, relative to its file, then those that its user names."""
    for name in names:
        code.take(name, folder_of(idea), roots or [folder_of(idea)])
    code.take_named()


def load_servers(idea: Idea, names: Sequence[str], code: Code, roots: Sequence[Path]) -> None:
    """Take the files of tool servers that an Idea names, relative to its file."""
    for name in names:
        code.take_servers(name, folder_of(idea), roots or [folder_of(idea)])


def _file_of(name: str, folder: Path) -> Path | None:
    with suppress(IdeaError):
        return find_module(name, folder, None)


def config_of(config: JsonObject, name: str) -> tuple[Config, Limits]:
    """The Config and the Limits that an Idea asks for.

    Raises:
        IdeaError: naming an unknown key or a bad value.
    """
    idea_config = IdeaConfig.parse(config, name)
    return idea_config.over(Config()), idea_config.limits or Limits()


def model_asked(idea_config: IdeaConfig, named: str | Model | None, record: str | None) -> Model | None:
    """The model that the caller, the Idea or ACTUM_MODEL names, in this order."""
    if named is not None and not isinstance(named, str):
        return named
    name = named or idea_config.model or os.environ.get("ACTUM_MODEL")
    if not name:
        return None
    from .. import models

    model = models.load(name)
    return models.Recording(model, record) if record else model
