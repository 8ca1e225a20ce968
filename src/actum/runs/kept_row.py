"""A run's row in its file, under `meta.run.row`; of one that its user keeps by hand, what the file says of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from ..app.idea import Idea
from ..errors import IdeaError
from ..ideas.course import Course
from ..ideas.ticks import RUN, about_of, passed_on
from ..protocol import approvals
from ..protocol.context import Context
from ..schema.json import JsonObject, is_list, is_object
from .losses import losses_from
from .row import BY_HAND, OVER, STANDING, Row, State, Submission, lacks_from, name_in
from .sent_file import is_called, is_cancelled

ROW = "row"
"""The member of `meta.run` that holds the row."""
_ABOUT = ("makers", "usage", "before", "dialect", "spent", "escalated")


def kept_row(one: Submission, created: float) -> JsonObject:
    """The row of a run that was submitted just now."""
    more = {"child": one.child, "input": one.input, "created": created, "seq": 0}
    return {"state": "queued", "lease": 0, **one.standing, **more}


def row_in(run: str, idea: Idea, *, is_told: bool = False) -> Row:
    """How far the run in a file is. `is_told`: its log holds what the file doesn't.

    Raises:
        IdeaError: no run is kept in the file, or not as a run writes it.
    """
    about = about_of(idea.meta, str(idea.file or run))
    row: Any = about.get(ROW)
    own: JsonObject = _by_hand(about, idea.context, is_told=is_told) if row is None else _checked(row, run)
    began, ended = Course.of(about).times
    waiting: Any = own.get("waiting", about.get("waiting"))
    return Row(
        id=run,
        state=own["state"],
        lease=own.get("lease", 0),
        attempts=own.get("attempts", 0),
        worker=own.get("worker"),
        output=about.get("output"),
        waiting=tuple(map(str, waiting)) if is_list(waiting) else (),
        error=own.get("error"),
        about={key: about[key] for key in _ABOUT if key in about},
        name=name_in(idea.meta),
        former=own.get("former"),
        needs=own.get("needs"),
        **lacks_from(own.get("lacks")),
        losses=losses_from(own.get("losses")),
        created=own.get("created", began or 0.0),
        ended=own.get("ended", ended if ROW not in about else None),
        is_by_hand=row is None,
        **_standing_in(own),
    )


def _checked(row: Any, run: str) -> JsonObject:
    """A row as it was written.

    Raises:
        IdeaError: somebody else has written it.
    """
    if not is_object(row) or row.get("state") not in get_args(State):
        raise IdeaError(f"{run}: meta.run.{ROW} is not how far a run is")
    for kind, keys in _KINDS:
        for key in keys:
            if row.get(key) is not None and (not isinstance(row[key], kind) or isinstance(row[key], bool)):
                raise IdeaError(f"{run}: meta.run.{ROW}.{key} is not as a run writes it")
    return row


_KINDS: Sequence[tuple[Any, Sequence[str]]] = (
    (str, ("tenant", "queue", "escalate", "tag", "parent", "worker", "former", "keyed")),
    (int, ("lease", "priority", "attempts", "seq")),
    (int | float, ("at", "patience", "created", "ended")),
    (dict, ("error", "child", "input", "needs", "lacks")),
)


def as_sent(row: Row, sent: Sequence[JsonObject]) -> Row:
    """How far a run is that was sent something since."""
    if row.is_over or not sent:
        return row
    if is_cancelled(sent):
        return replace(row, state="cancelled")
    return replace(row, state="queued") if row.state == "waiting" and is_called(sent) else row


def _by_hand(about: JsonObject, context: Context, *, is_told: bool = False) -> JsonObject:
    """The row of a run that `actum run --save` has kept and nobody has submitted."""
    waits = not is_told and (about.get("waiting") or approvals.pending(context))
    if not is_told and not waits and about.get("output") is not None:
        return {"state": "done"}
    return {"state": "waiting"} if waits else {"state": "waiting", "waiting": [BY_HAND]}


def row_by_hand(about: JsonObject, context: Context) -> JsonObject:
    """The row of a run that was submitted, and that its user has gone on with."""
    now = _by_hand(about, context)
    own = {key: value for key, value in about[ROW].items() if key not in {"waiting", "error", "worker"}}
    return {**own, **now, "seq": own.get("seq", 0) + 1, "ended": time.time() if now["state"] in OVER else None}


def left_waiting(about: JsonObject, context: Context, sent: Sequence[JsonObject]) -> list[str]:
    """What a run still waits for that has taken up what it was sent."""
    settled = {item.get("gate") for item in sent}
    pending = {f"approval {one.of}" for one in approvals.pending(context)}
    waits = map(str, about.get("waiting", ()))
    return [one for one in waits if one in pending or not (one in settled or one.startswith("approval "))]


def source_in(run: str, idea: Idea) -> Submission:
    """What the run in a file was made of: its Idea as it was submitted; its context is what it has left."""
    row: Any = idea.meta[RUN].get(ROW, {})
    config = {key: value for key, value in idea.config.items() if key != "origin"}
    return Submission(
        id=run,
        idea=replace(idea, meta=passed_on(idea.meta), config=config).text.to_dict(),
        origin=idea.context.origin if "origin" in idea.config else None,
        input=row.get("input"),
        child=row.get("child"),
        **_standing_in(row),
    )


def _standing_in(row: JsonObject) -> JsonObject:
    """How the run of a row stands among others, as far as it says so."""
    return {name: row[name] for name in STANDING if name in row}
