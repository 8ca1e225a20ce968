"""Workers that were lost with a run: what is noted of them, and whether the run is to be carried beside others (L8).

A run is a suspect once a worker was lost with it and it had recorded nothing under that worker. Suspects are carried by
a worker that carries nothing else, so that what is lost with a guilty one is that one alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ..schema.json import JsonObject, is_list, is_object
from .row import Loss, Row, Taken

_MOST = 20
"""How many losses of a run are noted: the last ones."""


def losses_from(kept: Any) -> list[Loss]:
    """The losses of a run as they are kept; what is damaged is left out."""
    found: list[Any] = kept if is_list(kept) else []
    own = [one for one in found if is_object(one) and isinstance(one.get("time"), int | float)]
    return [Loss(str(one.get("worker")), one["time"], str(one.get("doing"))) for one in own]


def with_loss(row: Row, taken: Taken, now: float) -> list[JsonObject]:
    """The losses of a run with that of the worker who had it before: none if it has recorded something since."""
    if taken.has_progress:
        return []
    last = Loss(row.former or "", round(now, 3), doing(taken.entries, row.about))
    return [asdict(one) for one in [*row.losses, last]][-_MOST:]


def doing(entries: Sequence[JsonObject], about: JsonObject) -> str:
    """What a run did when it last told of it, in a few words; `about` is what was known of it before."""
    last = next((one["tick"] for one in reversed(entries) if is_object(one.get("tick"))), None)
    if last is not None and not last.get("answer"):
        return f"it waited for the answer to request {last.get('number', '?')}"
    told: Any = next((one["makers"] for one in reversed(entries) if is_object(one.get("makers"))), about.get("makers"))
    return f"it had called {', '.join(map(str, told))}" if told else "it had called nothing"


def involved(losses: Iterable[Loss]) -> set[str]:
    """The workers that were lost with a run."""
    return {one.worker for one in losses}
