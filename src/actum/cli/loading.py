"""From an Idea file and options to an Agent: its config, its Activities, its input."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .. import Config, Idea, Limits, models
from .. import tools as registry
from ..app.agent import Agent
from ..errors import IdeaError, ModelError
from ..execution.approval import Approve
from ..generation.model import Model
from ..ideas.config import IdeaConfig
from ..protocol.context import Context
from ..protocol.message import kind_of
from ..schema.json import Json, JsonObject, NotJson, decode
from ..sources.files import read_text
from ..sources.modules import load_activities
from ..storage.open import default_store
from .failing import CommandError

IDEA_FILES = {".json", ".yaml", ".yml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An Idea that is ready to run."""

    idea: Idea
    config: Config
    limits: Limits
    model: Model | None

    def agent(self, approve: Approve | None = None, **changes: Any) -> Agent:
        """The agent that runs it."""
        config = dataclasses.replace(self.config, **changes)
        return agent_at(self.folder, model=self.model, config=config, limits=self.limits, approve=approve)

    @property
    def context(self) -> Context:
        """The Idea's context; without a model, with its saved solution as the plan."""
        return self.idea.context if self.model is not None else self.idea.without_model()

    @property
    def folder(self) -> Path | None:
        """Where the Idea's relative paths start, None for one from outside."""
        return self.idea.source.parent if self.idea.source is not None else None


def agent_at(folder: Path | None, **more: Any) -> Agent:
    """An agent that finds Ideas in a folder, and in the default store where there is one."""
    store = default_store()
    has_store = "://" in store or Path(store.removeprefix("sqlite:")).exists()
    roots = [] if folder is None else [folder]
    return Agent(more.pop("model", None), tools=registry, roots=roots, store=store if has_store else None, **more)


def load(
    path: str,
    *,
    model: str | None = None,
    activities: Sequence[str] = (),
    record: str | None = None,
    tools: Sequence[str] = (),
) -> Loaded:
    """Load an Idea and everything that it names; `tools` are Ideas, or folders of them, that it may call (X2).

    Raises:
        IdeaError: the Idea, its config or its Activities are wrong.
        ModelError: the model can't be had; the message says what is missing.
    """
    for one in tools:
        register_ideas(Path(one))
    return ready(Idea.load(path), path, model=model, activities=activities, record=record)


def register_ideas(place: Path) -> None:
    """Register an Idea, or each of a folder, as a tool under its file's name (X2).

    Raises:
        IdeaError: there is none, one can't be read, or two have one name.
    """
    files = [place] if place.is_file() else sorted(one for one in place.glob("*") if one.suffix in IDEA_FILES)
    if not files:
        raise IdeaError(f"{place}: no Idea stands there")
    for file in files:
        if file.stem in registry:
            raise IdeaError(f"{file}: there is a tool {file.stem!r} already")
        registry.register(Idea.load(file).as_tool(file.stem))


def ready(
    idea: Idea,
    name: str,
    *,
    model: str | Model | None = None,
    activities: Sequence[str] = (),
    record: str | None = None,
) -> Loaded:
    """Load everything that an Idea names; raises as `load`. One from a URL may name nothing (D12)."""
    asked = idea.settings(name=name, has_model=bool(model or os.environ.get("ACTUM_MODEL")))
    config = asked.over(Config())
    load_modules(idea, asked.activities, activities)
    chosen = model_of(asked, model, record)
    return Loaded(idea=idea.identified(config), config=config, limits=asked.limits or Limits(), model=chosen)


def load_modules(idea: Idea, named: Sequence[str], more: Sequence[str]) -> None:
    """Load the Activities that an Idea names, relative to its file, and more, relative to the current folder."""
    folder = idea.source.parent if idea.source is not None else Path()
    for name in named:
        load_activities(name, folder)
    for name in more:
        load_activities(name, Path.cwd())


def config_of(config: JsonObject, name: str) -> tuple[Config, Limits]:
    """The Config and the Limits that an Idea asks for.

    Raises:
        IdeaError: naming an unknown key or a bad value.
    """
    asked = IdeaConfig.parse(config, name)
    return asked.over(Config()), asked.limits or Limits()


def model_of(asked: IdeaConfig, named: str | Model | None, record: str | None) -> Model | None:
    """The model that the command line, the Idea or ACTUM_MODEL names, in this order."""
    if named is not None and not isinstance(named, str):
        return named
    name = named or asked.model or os.environ.get("ACTUM_MODEL")
    if not name:
        return None
    try:
        model = models.load(name)
    except ModelError as error:
        raise CommandError(error.message) from error
    return models.Recording(model, record) if record else model


def input_of(context: Context, pairs: Sequence[str], file: str | None) -> JsonObject:
    """The input that `-i key=value` and `--input FILE` give; a dotted key nests.

    Raises:
        CommandError: what is no pair, or no JSON object.
    """
    values = _read_input(file) if file else {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise CommandError(f"-i takes key=value, not {pair!r}")
        path = key.split(".")
        holder = values
        for segment in path[:-1]:
            inner: Any = holder.setdefault(segment, {})
            if not isinstance(inner, dict):
                raise CommandError(f"-i {key}: {segment!r} already holds a value")
            holder = cast("JsonObject", inner)
        holder[path[-1]] = value_of(text, _schema_of(context, path))
    return values


def value_of(text: str, schema: JsonObject) -> Json:
    """A value from the command line: JSON where it reads as JSON and the schema doesn't ask for a string."""
    if schema.get("type") == "string":
        return text
    try:
        return decode(text)
    except NotJson:
        return text


def _read_input(file: str) -> JsonObject:
    text = sys.stdin.read() if file == "-" else read_text(Path(file))
    try:
        value = decode(text)
    except NotJson as error:
        raise CommandError(f"--input {file}: {error}") from None
    if not isinstance(value, dict):
        raise CommandError(f"--input {file}: the input is a JSON object")
    return value


def _schema_of(context: Context, path: Sequence[str]) -> JsonObject:
    schemas = [message["schema"] for message in context if kind_of(message) == "input" and "schema" in message]
    schema: Any = schemas[-1] if schemas else {}
    for segment in path:
        properties = cast("JsonObject", schema).get("properties") if isinstance(schema, dict) else None
        schema = cast("JsonObject", properties).get(segment, {}) if isinstance(properties, dict) else {}
    return cast("JsonObject", schema) if isinstance(schema, dict) else {}
