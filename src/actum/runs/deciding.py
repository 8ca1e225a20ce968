"""Decisions on a run that waits: on its own calls, and on those of the children that it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ..errors import NotWaiting, RunError
from ..protocol import approvals
from ..protocol.approvals import Pending
from ..schema.json import Json, JsonObject
from . import checks
from .event_log import log_event
from .row import RunHistory
from .run_record import RunRecord, context_of, found_run
from .run_store import RunStore
from .sending import parts_waited_for, result_given, signal, with_item, with_sent


class RunDecisions:
    """The decisions on one run."""

    def __init__(self, store: RunStore, run: str) -> None:
        self.run = run
        self._store = store
        self._record = RunRecord(store, run)

    async def pending(self) -> Sequence[Pending]:
        """The undecided calls of the run and its children, with what each is about."""
        calls = approvals.pending(await self._record.decided())
        for place, part in await self._parts():
            calls += [replace(call, of=f"{place}/{call.of}") for call in await part.pending()]
        return calls

    async def _parts(self) -> Sequence[tuple[str, RunDecisions]]:
        """The children that it waits for, with the places of the calls that they carry out."""
        parts = list[tuple[str, RunDecisions]]()
        for run in parts_waited_for((await self._record.row()).waiting):
            source = await self._store.source(run)
            if source is not None and source.child is not None:
                parts.append((source.child["place"], RunDecisions(self._store, run)))
        return parts

    async def _within(self, of: str) -> tuple[RunDecisions, str]:
        """The child that a place or a gate belongs to, or the run itself, and its name there."""
        for place, part in await self._parts():
            if of.startswith(f"{place}/"):
                return await part._within(of.removeprefix(f"{place}/"))
        return self, of

    async def decide_all(
        self,
        places: Sequence[str] | None,
        decided: Callable[[str], JsonObject],
        is_as_shown: Callable[[Pending], bool] | None,
    ) -> Sequence[Pending]:
        """Decide on the calls at places, or on all that wait, as `Run.decide_all`; `decided` makes the message."""
        named = None if places is None else [*checks.as_several(places, "the places of calls")]
        waiting = {call.of: call for call in await self.pending()}
        if named is None and not waiting:
            raise NotWaiting(f"{self.run}: no call waits for a decision")
        sent: dict[str, tuple[RunDecisions, list[JsonObject]]] = {}
        for of in [*waiting] if named is None else named:
            part, place = await self._within(checks.as_text(of, "the place of a call"))
            sent.setdefault(part.run, (part, []))[1].append(decided(place))
            if of in waiting and is_as_shown is not None and not is_as_shown(waiting[of]):
                raise NotWaiting(f"{of}: another call waits there now: look at it first")
        for part, items in [*sent.values()][1:]:  # the first is checked when it is written
            check_sent(await part._record.history(), items)
        for part, items in sent.values():
            await part.send(items)
        return [waiting[of] for of in (waiting if named is None else named) if of in waiting]

    async def give(self, of: str, value: Json) -> None:
        """Give the result of a call; as `Run.give`."""
        part, place = await self._within(checks.as_text(of, "the place of a call"))
        await part.send([result_given(place, value)])

    async def signal(self, name: str, value: Json, *, at: datetime | None) -> None:
        """Put a value at a gate; as `Run.signal`."""
        due = None if at is None else checks.as_moment(at, "`at`")
        part, gate = await self._within(checks.as_text(name, "the name of a gate"))
        await part.send([signal(gate, value)], due)

    async def send(self, items: Sequence[JsonObject], due: float | None = None) -> None:
        """Send the run messages. They are checked where they are written, so that the first of two decisions counts.

        Raises:
            NotWaiting: a call was decided on already.
            RunError: it is over.
        """
        row = await self._store.send(self.run, items, due, lambda history: check_sent(history, items))
        row = found_run(row, self.run)
        if row.is_over:
            raise RunError(f"run {self.run} is {row.state}: nothing can be sent to it any more")
        for item in items:
            if "decide" in item:
                words = "denied" if item["ruling"] == "deny" else "approved"
                fields: JsonObject = {"place": item["decide"], "ruling": item["ruling"], "by": item.get("by", "")}
                log_event("decided", row, f"{item['decide']} was {words}", **fields)


def check_sent(history: RunHistory, items: Iterable[JsonObject]) -> None:
    """Check that a run can take up messages, after all those sent before.

    Raises:
        IdeaError: as `with_item`; if a call was decided on already, NotWaiting says how, by whom and when.
    """
    context = with_sent(context_of(history), history.sent)
    for item in items:
        with_item(context, item)
