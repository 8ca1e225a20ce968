"""Workers that were lost with a run, and whether the run may be carried beside others (L8).

A run is a suspect once a worker was lost with it and it had recorded nothing under that worker. A suspect is carried by
a worker that carries nothing else, so that a guilty one takes no other run down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..schema.json import JsonObject, is_object
from .row import Loss, Row, RunHistory

_MOST = 20
"""How many of the last losses of a run are kept."""


def with_loss(row: Row, history: RunHistory, now: float) -> list[Loss]:
    """The losses of a run, including its former worker's; none if it has recorded something since."""
    if history.has_progress:
        return []
    last = Loss(row.former or "", round(now, 3), doing(history.entries, row.about))
    return [*row.losses, last][-_MOST:]


def doing(entries: Sequence[JsonObject], about: JsonObject) -> str:
    """What a run was doing at its last entries, in a few words; `about` is what was known of it before."""
    recent = entries[::-1]
    last = next((entry["tick"] for entry in recent if is_object(entry.get("tick"))), None)
    if last is not None and not last.get("answer"):
        return f"it waited for the answer to request {last.get('number', '?')}"
    makers: Any = next((entry["makers"] for entry in recent if is_object(entry.get("makers"))), about.get("makers"))
    return f"it had called {', '.join(map(str, makers))}" if makers else "it had called nothing"


def involved(losses: Iterable[Loss]) -> set[str]:
    """The workers that were lost with a run."""
    return {loss.worker for loss in losses}
