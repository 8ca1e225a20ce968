"""Calls of a run that are carried out as runs of their own, its children, in a separate queue (`Config.spread`).

The id of a child is made of its parent's and the place of the call, so that a parent that is resumed finds it instead
of making another. The parent waits, and goes on when its last child ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from ..app.idea import Idea
from ..errors import DelegateError
from ..execution.budget import Spent
from ..execution.delegation.caller import Ancestor, Child, Ended
from ..schema.json import JsonObject, encode
from .row import CHILDREN, Row, Submission
from .run_store import RunStore


def child_id(parent: str, place: str) -> str:
    """The id of the run that carries out the call of a run at a place."""
    return sha256(f"{parent}\0{place}".encode()).hexdigest()[:40]


class Spreading:
    """Has calls of a run that is owned carried out by its children."""

    def __init__(self, store: RunStore, row: Row, source: Submission) -> None:
        self._store = store
        self._row = row
        self._source = source

    async def __call__(self, child: Child) -> Ended | str:
        """The result of a call's child, or the child's id while it is under way; it is submitted if there is none.

        Raises:
            Fenced: another process owns the run by now.
            DelegateError: another run has the id.
        """
        row = await self._store.get(child_id(self._row.id, child.place))
        if row is None:
            row = await self._store.submit(self._submission(child), lease=self._row.lease)
        if row.parent != self._row.id:
            raise DelegateError("another run has the id of this call's")
        if not row.is_over:
            return row.id
        spent = Spent.of(row.about.get("spent", {}))
        if row.state == "cancelled":
            return Ended(error={"code": "cancelled", "message": "it was cancelled"}, spent=spent)
        return Ended(output=row.output, error=row.error, spent=spent)

    def _submission(self, child: Child) -> Submission:
        above = self._source.child
        root: str = self._row.id if above is None else above["root"]
        idea: JsonObject = {"context": list(child.context)}
        idea |= {} if child.schema is None else {"schema": child.schema}
        bounds: JsonObject = {"root": root, "place": child.place, "lineage": list(child.lineage)}
        bounds["limits"] = asdict(child.limits)
        standing: dict[str, Any] = {**self._row.standing, "queue": CHILDREN, "at": None, "parent": self._row.id}
        if self._row.keyed is not None:
            standing["keyed"] = child_id(self._row.keyed, child.place)
        return Submission(
            id=child_id(self._row.id, child.place),
            idea=Idea.read(encode(idea), "a part of the run").text.to_dict(),
            origin=child.origin,
            child=bounds,
            **standing,
        )


def lineage_of(source: Submission) -> Sequence[Ancestor]:
    """The delegates that led to a run."""
    lineage: Any = () if source.child is None else source.child["lineage"]
    return [Ancestor.of(item) for item in lineage]
