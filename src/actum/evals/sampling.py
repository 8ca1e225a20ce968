"""Cases from runs that a store keeps: those that match, a sample of them by a seed (V7)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..app.coercion import blocking
from ..app.idea import Idea
from ..errors import ActumError
from ..runs.runs import Runs
from ..runs.selecting import every_run
from ..schema.json import JsonObject
from .case import Case
from .checks import Condition, condition
from .complaints import FROM_ONE, INPUT_ALONE, RECORDED_ALONE, WORDS, Complaint, Form
from .judged import judged_run

_FORM: Form = {
    **dict.fromkeys(("runs", "idea", "tenant", "where"), WORDS),
    "since": ({"type": "string", "pattern": "^[0-9]{1,6}[mhdw]$"}, 'this is how long ago, for example "7d" or "12h"'),
    **dict.fromkeys(("sample", "scan"), FROM_ONE),
    "seed": ({"type": "integer"}, "this is a whole number"),
    "drop": ({"type": ["string", "array"], "items": WORDS[0]}, "these are paths of texts: [input.email]"),
    "expect": RECORDED_ALONE,
    "take": INPUT_ALONE,
}
_SPANS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MOST_SCANNED = 10_000


def sampled(told: JsonObject, types: Any, wrong: Complaint) -> Iterator[tuple[str, Idea]]:
    """The runs of a store that match, each with its id: all of them, or a sample that is the same for a seed."""
    noted = len(wrong.noted)
    said = wrong.form(told, _FORM, "")
    since = None if "since" not in said else time.time() - int(said["since"][:-1]) * _SPANS[said["since"][-1]]
    most: int | None = said.get("sample")
    where: Condition | None = None
    try:
        where = condition(said["where"], types) if "where" in said else None
    except ValueError as error:
        wrong.at("where")(str(error))
    if len(wrong.noted) > noted:
        return

    def drawn(ids: list[str]) -> list[str]:
        return ids if most is None or most >= len(ids) else random.Random(said.get("seed", 0)).sample(ids, most)

    try:
        yield from blocking(_found(told, since, where, drawn, wrong))
    except ActumError as error:
        wrong.at("runs")(error.message)


async def _found(
    told: JsonObject,
    since: float | None,
    where: Condition | None,
    drawn: Callable[[list[str]], list[str]],
    wrong: Complaint,
) -> list[tuple[str, Idea]]:
    """The runs of one tenant that are over and match, those that are drawn of them; one by one, since they are long."""
    named: str | None = told.get("idea")
    matching: list[str] = []
    tenants: set[str] = set()
    async with Runs(told["runs"]) as runs:
        left = told.get("scan", _MOST_SCANNED)
        async for run in every_run(runs, tenant=told.get("tenant")):
            if left == 0 or (since is not None and run.row.created < since):
                break
            left -= 1
            if run.row.state not in {"done", "failed"}:
                continue
            tenants.add(run.row.tenant)
            if "tenant" not in told and len(tenants) > 1:
                wrong('several tenants have runs there: say whose, tenant: "acme"')
                return []
            idea = await run.idea()
            is_wanted = named is None or _is_called(idea, named)
            if is_wanted and (where is None or _holds(where, run.id, idea)):
                matching.append(run.id)
        return [(one, await (await runs.get(one)).idea()) for one in sorted(drawn(sorted(matching)))]


def _is_called(run: Idea, name: str) -> bool:
    """Whether a run is of the Idea of this name: by its path in the store, or its file."""
    path = run.meta.get("path")
    return path == name or (run.source is not None and name in {run.source.name, run.source.stem})


def _holds(where: Condition, name: str, run: Idea) -> bool:
    verdict = where.verdict(judged_run(run, name, Case(name=name)))
    return verdict is not None and verdict.state == "pass"
