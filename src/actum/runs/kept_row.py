"""The row of a run in a file: under `meta.run.row`, or worked out from the file if its user keeps it by hand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..app.idea import Idea
from ..errors import IdeaError
from ..ideas.course import Course
from ..ideas.ticks import RUN, about_of, passed_on
from ..protocol import approvals
from ..protocol.context import Context
from ..schema.json import JsonObject, is_object
from .row import BY_HAND, OVER, STANDING, Row, Submission, name_in, row_read
from .sent_file import is_cancelled, is_due

ROW = "row"
"""The member of `meta.run` that holds the row."""
_ABOUT = ("makers", "usage", "before", "dialect", "spent", "escalated")


def kept_row(submission: Submission, created: float) -> JsonObject:
    """The row of a run that was just submitted."""
    rest = {"child": submission.child, "input": submission.input, "created": created, "seq": 0}
    return {"state": "queued", "lease": 0, **submission.standing, **rest}


def row_in(run: str, idea: Idea, *, is_logged: bool = False) -> Row:
    """How far the run in a file is. `is_logged`: its log holds what the file doesn't.

    Raises:
        IdeaError: the file holds no run, or a damaged one.
    """
    about = about_of(idea.meta, str(idea.file or run))
    row: Any = about.get(ROW)
    if not (row is None or is_object(row)):
        raise _damaged(run, ROW)
    columns: JsonObject = _by_hand(about, idea.context, is_logged=is_logged) if row is None else row
    began, ended = Course.of(about).times
    noted = {"waiting": about.get("waiting"), "created": began, "ended": ended if row is None else None}
    facts = {"id": run, "name": name_in(idea.meta), "output": about.get("output")}
    facts["about"] = {key: about[key] for key in _ABOUT if key in about}
    return replace(row_read({**noted, **columns, **facts}, partial(_damaged, run)), is_by_hand=row is None)


def _damaged(run: str, name: str) -> IdeaError:
    return IdeaError(f"{run}: meta.run.{ROW} is not as a run writes it: {name}")


def as_sent(row: Row, sent: Sequence[JsonObject]) -> Row:
    """The row of a run with the effect of messages that it hasn't taken up."""
    if row.is_over or not sent:
        return row
    if is_cancelled(sent):
        return replace(row, state="cancelled")
    return replace(row, state="queued") if row.state == "waiting" and any(map(is_due, sent)) else row


def _by_hand(about: JsonObject, context: Context, *, is_logged: bool = False) -> JsonObject:
    """The row of a run that `actum run --save` keeps and nobody has submitted."""
    waits = not is_logged and (about.get("waiting") or approvals.pending(context))
    if not is_logged and not waits and about.get("output") is not None:
        return {"state": "done"}
    return {"state": "waiting"} if waits else {"state": "waiting", "waiting": [BY_HAND]}


def row_by_hand(about: JsonObject, context: Context) -> JsonObject:
    """The row of a submitted run that its user has continued by hand."""
    now = _by_hand(about, context)
    row = {key: value for key, value in about[ROW].items() if key not in {"waiting", "error", "worker"}}
    return {**row, **now, "seq": row.get("seq", 0) + 1, "ended": time.time() if now["state"] in OVER else None}


def left_waiting(about: JsonObject, context: Context, sent: Sequence[JsonObject]) -> list[str]:
    """What a run still waits for after taking up these messages."""
    settled = {item.get("gate") for item in sent}
    pending = {f"approval {call.of}" for call in approvals.pending(context)}
    waited = map(str, about.get("waiting", ()))
    return [wait for wait in waited if wait in pending or not (wait in settled or wait.startswith("approval "))]


def source_in(run: str, idea: Idea) -> Submission:
    """The submission of the run in a file: its Idea as submitted, with the context that the run has left."""
    row: Any = idea.meta[RUN].get(ROW, {})
    config = {key: value for key, value in idea.config.items() if key != "origin"}
    return Submission(
        id=run,
        idea=replace(idea, meta=passed_on(idea.meta), config=config).text.to_dict(),
        origin=idea.context.origin if "origin" in idea.config else None,
        input=row.get("input"),
        child=row.get("child"),
        **{name: row[name] for name in STANDING if name in row},
    )
