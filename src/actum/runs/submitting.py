"""What is submitted, judged where it is given, since its author is here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from ..app.coercion import with_input
from ..app.idea import Idea
from ..app.saved import SavedIdea
from ..errors import RunError
from ..schema.json import encode
from .row import Submission, check_id, check_tag

Given: TypeAlias = "SavedIdea | Mapping[str, Any] | str | Path"
"""An Idea, or its JSON, file or address."""


def submission_of(
    id: str, idea: Given, *, input: Mapping[str, Any] | None = None, at: datetime | None = None, **stands: Any
) -> Submission:
    """A run of an Idea; `stands` says how it stands among others.

    Raises:
        RunError: the id is none, or the time has no zone.
        IdeaError, MessageError: the Idea can't be read, or the input doesn't fit its schema.
    """
    own = _idea(idea)
    if stands.get("tag") is not None:
        check_tag(stands["tag"])
    given = None if input is None else dict(input)
    with_input(own.context, given or {})  # what the Idea asks for is missed before anything runs, too
    if stands.get("escalate") is not None and stands.get("patience") is None:
        raise RunError("`escalate` says who decides once `patience` is over: give that, too")
    if at is not None and at.tzinfo is None:
        raise RunError("`at` is a time with a zone: a worker may stand in another one")
    return Submission(
        id=check_id(id),
        idea=own.text.to_dict(),
        origin=own.context.origin,
        input=given,
        at=None if at is None else at.timestamp(),
        **stands,
    )


def _idea(given: Given) -> SavedIdea:
    if isinstance(given, SavedIdea):
        return given
    if isinstance(given, Mapping):
        return Idea.read(encode(dict(given)), "the Idea")
    return Idea.load(given)
