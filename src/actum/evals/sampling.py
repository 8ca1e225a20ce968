"""Cases from the runs of a store: those that match, or a sample of them by a seed (V7)."""

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


def sampled(item: JsonObject, types: Any, wrong: Complaint) -> Iterator[tuple[str, Idea]]:
    """The matching runs of a store, each with its id: all of them, or a sample that is reproducible by its seed."""
    noted = len(wrong.noted)
    options = wrong.form(item, _FORM, "")
    since = None if "since" not in options else time.time() - int(options["since"][:-1]) * _SPANS[options["since"][-1]]
    most: int | None = options.get("sample")
    where: Condition | None = None
    try:
        where = condition(options["where"], types) if "where" in options else None
    except ValueError as error:
        wrong.at("where")(str(error))
    if len(wrong.noted) > noted:
        return

    def draw(ids: list[str]) -> list[str]:
        return ids if most is None or most >= len(ids) else random.Random(options.get("seed", 0)).sample(ids, most)

    try:
        yield from blocking(_matching_runs(item, since, where, draw, wrong))
    except ActumError as error:
        wrong.at("runs")(error.message)


async def _matching_runs(
    options: JsonObject,
    since: float | None,
    where: Condition | None,
    draw: Callable[[list[str]], list[str]],
    wrong: Complaint,
) -> list[tuple[str, Idea]]:
    """The runs drawn from those of one tenant that are over and match; they are long, so each is loaded separately."""
    name: str | None = options.get("idea")
    matching: list[str] = []
    tenants: set[str] = set()
    async with Runs(options["runs"]) as runs:
        left = options.get("scan", _MOST_SCANNED)
        async for run in every_run(runs, tenant=options.get("tenant")):
            if left == 0 or (since is not None and run.row.created < since):
                break
            left -= 1
            if run.row.state not in {"done", "failed"}:
                continue
            tenants.add(run.row.tenant)
            if "tenant" not in options and len(tenants) > 1:
                wrong('several tenants have runs there: say whose, tenant: "acme"')
                return []
            idea = await run.idea()
            is_wanted = name is None or _is_called(idea, name)
            if is_wanted and (where is None or _holds(where, run.id, idea)):
                matching.append(run.id)
        return [(key, await (await runs.get(key)).idea()) for key in sorted(draw(sorted(matching)))]


def _is_called(run: Idea, name: str) -> bool:
    """Whether a run's Idea has this name: its path in the store, or its file."""
    path = run.meta.get("path")
    return path == name or (run.source is not None and name in {run.source.name, run.source.stem})


def _holds(where: Condition, name: str, run: Idea) -> bool:
    verdict = where.verdict(judged_run(run, name, Case(name=name)))
    return verdict is not None and verdict.state == "pass"
