"""What happens to runs, as lines of the log `actum.worker`: in words, and as fields for machines (`record.actum`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from ..execution.budget import Spent
from ..schema.json import JsonObject
from .progress import SPENT
from .row import Ending, Row

_LOG = logging.getLogger("actum.worker")
Event: TypeAlias = Literal["begun", "taken_over", "ended", "cut", "decided", "changed", "missing"]
FIELDS = "actum"
"""The attribute of a log record that holds its fields."""
_SUMS = ("requests", "input_tokens", "output_tokens", "usd")


def log_event(event: Event, row: Row, words: str, level: int = logging.INFO, **more: Any) -> None:
    """Log what happens to a run: the words follow its id; `more` are fields in addition to those of every line."""
    about: JsonObject = {"event": event, "run": row.id, "idea": row.name, "tenant": row.tenant, "queue": row.queue}
    fields = {**about, **({} if row.tag is None else {"tag": row.tag}), **more}
    _LOG.log(level, "run %s: %s", row.id, words, extra={FIELDS: fields})


def log_begin(row: Row, worker: str) -> None:
    """Log that a worker has begun a run, or goes on with it."""
    if row.former in {None, worker}:
        log_event("begun", row, "begun", worker=worker, lease=row.lease)
    else:
        words = f"taken over from {row.former}"
        log_event("taken_over", row, words, worker=worker, lease=row.lease, former=row.former)


def log_end(row: Row, ending: Ending, worker: str, seconds: float) -> None:
    """Log what a run has come to, for now or for good, and what it has cost since the worker claimed it."""
    error = ending.error or {}
    result: JsonObject = {"state": ending.state, "worker": worker, "seconds": round(seconds, 3)}
    result |= {key: error[key] for key in ("code", "message") if key in error}
    result |= {"waiting": list(ending.waiting)} if ending.waiting else {}
    words = f"failed: {error.get('code')}: {error.get('message')}" if error else ending.state
    log_event("ended", row, words, **result, **ending.took, **_spent(row.about, ending.about))


def _spent(before: Mapping[str, Any], after: Mapping[str, Any]) -> JsonObject:
    """The requests, calls, tokens and USD in between; what isn't known is left out."""
    was: JsonObject = before.get("usage") or {}
    now: JsonObject = after.get("usage") or {}
    spent: JsonObject = {key: now[key] - (was.get(key) or 0) for key in _SUMS if now.get(key) is not None}
    calls = [Spent.of(about.get(SPENT, {})).calls for about in (before, after)]
    return {**spent, "calls": max(0, calls[1] - calls[0])}
