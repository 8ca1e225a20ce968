"""Submissions, checked when they are made, while their author is there to hear of errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from ..app.coercion import with_input
from ..app.idea import Idea
from ..app.saved import SavedIdea
from ..errors import IdeaError, RunError
from ..ideas.ticks import passed_on
from ..models.providers import takes_batches
from ..schema.json import JsonObject, NotJson, encode, plain
from . import checks
from .row import Submission, check_id, check_tag

Given: TypeAlias = "SavedIdea | Mapping[str, Any] | str | Path"
"""An Idea, or its JSON, file or address."""


def submission_of(
    id: str,
    idea: Given,
    *,
    input: Mapping[str, Any] | None,
    tenant: str,
    priority: int,
    queue: str,
    tag: str | None,
    patience: float | None,
    at: datetime | None = None,
    escalate: str | None = None,
    deps: str | None = None,
    batch: timedelta | None = None,
) -> Submission:
    """The submission of an Idea, from arguments that are checked.

    Raises:
        RunError: the id or another argument is invalid, or the time has no zone.
        IdeaError, MessageError: the Idea can't be read, or the input doesn't fit its schema.
    """
    saved = idea if isinstance(idea, SavedIdea) else read_given(idea, "the Idea")
    if deps is not None:
        saved = replace(saved, config={**saved.config, "deps": checks.as_text(deps, "the name of deps", least=1)})
    if batch is not None:
        saved = replace(saved, config={**saved.config, "batch": _within(batch, saved)})
    given = None if input is None else checks.as_members(input, "the input of a run")
    with_input(saved.context, given or {})  # missing input is refused even before anything runs
    if escalate is not None and patience is None:
        raise RunError("`escalate` says who decides once `patience` is over: give that, too")
    return Submission(
        id=check_id(id),
        idea=_json_of(saved),
        origin=saved.context.origin,
        input=given,
        tenant=checks.as_text(tenant, "a tenant"),
        queue=checks.as_text(queue, "a queue", least=1),
        priority=checks.as_whole(priority, "a priority"),
        at=None if at is None else checks.as_moment(at, "`at`"),
        tag=None if tag is None else check_tag(tag),
        patience=None if patience is None else checks.as_number(patience, "the patience of a run", least=0.001),
        escalate=None if escalate is None else checks.as_text(escalate, "`escalate`", least=1),
    )


def _within(batch: timedelta, idea: SavedIdea) -> float:
    """How many seconds a request may lie in a batch.

    Raises:
        RunError: it isn't a time, or the Idea's model takes none.
    """
    if not isinstance(batch, timedelta) or batch <= timedelta():  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
        raise RunError("`batch` says within which time requests are answered, for example timedelta(hours=24)")
    name: Any = idea.config.get("model")
    if isinstance(name, str) and not takes_batches(name):
        raise RunError(f"{name} takes no batches: openai-responses, anthropic and google models do")
    return batch.total_seconds()


def read_given(given: Mapping[str, Any] | str | Path, name: str) -> Idea:
    """The Idea that is given as JSON, or by its file or address; `name` is what its JSON is called in messages.

    Raises:
        IdeaError: it is none, or can't be read.
    """
    if isinstance(given, str | Path):
        return Idea.load(given)
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
        raise IdeaError(f"an Idea is given as such, as its JSON, or by its file or address, not as {given!r}")
    try:
        return Idea.read(encode(plain(given)), name)
    except NotJson as error:
        raise IdeaError(f"{name}: {error}") from None


def _json_of(idea: SavedIdea) -> JsonObject:
    try:
        value: Any = plain(replace(idea, meta=passed_on(idea.meta)).text.to_dict())
    except NotJson as error:
        raise IdeaError(f"the Idea can't be sent to a worker: {error}") from None
    return value
