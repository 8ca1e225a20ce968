"""`actum submit`: have an Idea run by a worker (L8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ...app.idea import Idea
from ...runs.row import QUEUE
from ...schema.json import JsonObject
from ..attaching import attached
from ..options import CommandError, InputFile, RunsHome, Settings, input_of, runs_at
from ..render.terminal import say


async def actum_submit(
    idea: str,
    /,
    *,
    i: Settings = None,
    input: InputFile = None,
    store: RunsHome = None,
    id: str | None = None,
    tenant: str = "",
    priority: int = 0,
    at: str | None = None,
    queue: str = QUEUE,
    tag: str | None = None,
    patience: float | None = None,
    escalate: str | None = None,
    batch: str | None = None,
) -> None:
    """Have an Idea run by a worker; its id goes to stdout. Once that is printed, the run is carried to its end.

    Parameters
    ----------
    idea
        The Idea's file, or its address.
    i
        A value of the input, as key=value; may be repeated, as for `actum run`.
    id
        What the run is called: submitted twice, it is one run.
    tenant
        Whose run it is.
    priority
        Of those of a queue that could begin, one of a higher priority does first.
    at
        When it may begin, for example 2026-12-24T18:00+01:00; without a zone, it is this machine's.
    queue
        The queue, for workers that take from it.
    tag
        Only for workers that have this tag.
    patience
        How many seconds a decision may take before the calls that wait for one are refused.
    escalate
        Who is to decide once that time is over, for as long again; `actum runs` shows it.
    batch
        Has its requests answered by the provider's batch API, each within this time, for example 24h.
    """
    loaded, values = prepared(idea, i, input)
    async with runs_at(store, makes=True) as runs:
        run = await runs.submit(
            loaded,
            input=values,
            id=id,
            tenant=tenant,
            priority=priority,
            at=None if at is None else _moment(at),
            queue=queue,
            tag=tag,
            patience=patience,
            escalate=escalate,
            batch=None if batch is None else _time(batch),
        )
        say(run.id)


def prepared(idea: str, i: list[str] | None, input: str | None) -> tuple[Idea, JsonObject | None]:
    """The Idea for workers to run, with the files attached to it, and its input."""
    loaded = Idea.load(idea)
    pairs, attachments = attached(loaded.context, i or [])
    values = input_of(loaded.context, pairs, input)
    return replace(loaded, context=loaded.context.extended(attachments)), values or None


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _time(text: str) -> timedelta:
    try:
        return timedelta(**{_UNITS[text[-1:]]: float(text[:-1])})
    except (KeyError, ValueError, OverflowError):
        raise CommandError(f"--batch takes a time, for example 24h, not {text!r}") from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise CommandError(f"--at takes a time, for example 2026-12-24T18:00+01:00, not {text!r}") from None
