"""The cells of an eval: each version with each model, loaded and checked against the cases (V24)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from .. import models
from ..app.idea import Idea
from ..app.loading import Code, ready
from ..errors import ActumError
from ..generation.model import Model
from ..schema.json import JsonObject, is_object
from ..schema.validator import Validator
from .complaints import Complaint
from .matrix import Cell
from .suite import Suite


def cells_of(suite: Suite, model_names: Sequence[str | Model], versions: Sequence[Any]) -> list[Cell]:
    """The cells for these models and versions.

    Raises:
        EvalError: naming every version and model that can't be used.
    """
    if not model_names and not versions:
        return [Cell(version=suite.name, idea=suite.idea)]
    wrong = Complaint(suite.file)
    ideas = [(_label(version, suite), _version(version, suite, wrong)) for version in versions or [suite.idea]]
    loaded_models = [pair for name in model_names or [None] if (pair := _model(name, wrong)) is not None]
    cells: list[Cell] = []
    for (version, idea), (model_name, model) in product(ideas, loaded_models):
        if idea is None:
            continue
        try:
            loaded = ready(idea, version, model=model, code=Code.to_run())
        except ActumError as error:
            wrong(f"{version}: {error.message.removeprefix(f'{version}: ')}")
            continue
        is_planned = idea.solution is not None or any(message["type"] == "plan" for message in idea.context)
        if loaded.model is None and not is_planned:
            wrong(f"{version}: it names no model: say --models")
        name = "plan" if loaded.model is None else loaded.model.name
        if suite.budget.usd is not None and not getattr(loaded.model, "has_price", True):
            wrong.at("budget").at("usd")(f'the price of "{name}" isn\'t known; use requests or tokens')
        _check_inputs(suite, idea, version, wrong)
        label = model_name or name
        cells.append(Cell(version=version, idea=loaded.idea, model=loaded.model, model_name=label, loaded=loaded))
    wrong.check()
    return cells


def _label(version: Any, suite: Suite) -> str:
    if isinstance(version, Idea):
        return suite.name if version is suite.idea else (version.file.name if version.file is not None else "an Idea")
    return str(version["name"]) if is_object(version) else str(version)


def _version(version: Any, suite: Suite, wrong: Complaint) -> Idea | None:
    if isinstance(version, Idea):
        return version
    entry: JsonObject = version if is_object(version) else {"idea": str(version)}
    address = str(entry.get("idea", ""))
    try:
        path = address if ":" in address or Path(address).is_file() else suite.folder / address
        idea = Idea.load(path)
    except ActumError as error:
        wrong(error.message)
        return None
    config: Any = entry.get("config", {})
    return replace(idea, config={**idea.config, **config}) if config else idea


def _model(name: str | Model | None, wrong: Complaint) -> tuple[str, Model | None] | None:
    if name is None:
        return "", None
    if not isinstance(name, str):
        return name.name, name
    try:
        return name, models.load(name)
    except ActumError as error:
        wrong(error.message)
        return None


def _check_inputs(suite: Suite, idea: Idea, version: str, wrong: Complaint) -> None:
    """Note the cases that the input of a version refuses."""
    validator = Validator(dict(idea.as_tool("version").parameters))
    for case in suite.cases:
        if case.input is not None and (complaint := validator.complaint(case.input)) is not None:
            wrong(f"{version} refuses the case {case.name}: input.{complaint}")
