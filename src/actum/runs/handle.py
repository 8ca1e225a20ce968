"""`Run`: the handle on one run: its row, what it has left, decisions on it, and going on from it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ..app.idea import Idea
from ..app.retracing import forked
from ..errors import ActumError, RunEnded, RunError
from ..generation.ask import Judge
from ..ideas.ticks import passed_on
from ..protocol.approvals import Pending, Ruling
from ..protocol.context import Context
from ..protocol.solution import Result
from ..schema.infer import shape_of
from ..schema.json import Json, JsonObject
from ..schema.validator import Validator
from ..sources.files import path_given
from . import checks
from .deciding import RunDecisions
from .following import LOOK, Entry, Live, entries_and_live, entries_written
from .kept_run import with_origin
from .row import Row, State, check_id, new_id
from .run_record import RunRecord, found_run
from .run_store import RunStore
from .sending import ANEW, RESUME, decision

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")


class Run:
    """One run, from `Runs`. `row` is how far it was at the last `refresh`, `follow` or `result`."""

    def __init__(self, store: RunStore, row: Row) -> None:
        self._store = store
        self._record = RunRecord(store, row.id)
        self._decisions = RunDecisions(store, row.id)
        self.row = row

    @property
    def id(self) -> str:
        """Its id."""
        return self.row.id

    @property
    def state(self) -> State:
        """Its state, as `row` has it."""
        return self.row.state

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.state}>"

    async def refresh(self, *, wait: float = 0.0) -> Row:
        """Look up how far it is, at once or as soon as that may have changed.

        Args:
            wait: for how many seconds to wait for that at most.

        Raises:
            RunNotFound: the run is gone.
        """
        if wait:
            await self._store.database.changed(self.id, wait)
        self.row = await self._record.row()
        return self.row

    @overload
    def follow(self, after: int = 0, *, live: Literal[False] = False) -> AsyncGenerator[Entry]: ...
    @overload
    def follow(self, after: int = 0, *, live: bool) -> AsyncGenerator[Entry | Live]: ...
    def follow(self, after: int = 0, *, live: bool = False) -> AsyncGenerator[Any]:
        """The entries of its record behind number `after`, as they are written, until it is over or waits.

        A `began` entry takes the place of all before it: the run goes on from there, perhaps elsewhere. So what was
        under way when a worker died is corrected, and never told twice.

        With `live` also what no record holds, as it happens: pieces of text, progress, what is begun. A late follower
        gets the text so far. When another worker goes on, a `Retried` says that texts begin anew.
        """
        behind = checks.as_whole(after, "the number of an entry", least=0, most=2**63 - 1)
        return (entries_and_live if live else entries_written)(self._store, self.id, self.refresh, behind)

    @overload
    async def result(self, *, timeout: float | None = None) -> Result[Any]: ...  # noqa: ASYNC109 -- as below
    @overload
    async def result(self, *, output: TypeForm[T], timeout: float | None = None) -> Result[T]: ...  # noqa: ASYNC109
    async def result(self, *, output: Any = None, timeout: float | None = None) -> Result[Any]:  # noqa: ASYNC109 -- the run goes on; nothing is cut
        """Wait until it is over or waits, and return what it has come to; `waiting` says what it waits for.

        It is what `Agent.run` would have returned, whoever carried the run out, but for `errors`: what went wrong on
        the way stands in its context.

        Args:
            output: the type of its output, which is an instance of it then; None for JSON. A run that waits has none,
                but where a later turn of a conversation has delivered one.
            timeout: how many seconds to wait at most.

        Raises:
            RunEnded: it failed, or was cancelled; its `result` is what had been done.
            SolutionError: its output is not of that type.
            TimeoutError: it was not over after so many seconds. The run goes on.
        """
        end = None if timeout is None else time.monotonic() + checks.as_number(timeout, "a timeout")
        while (row := await self.refresh()).is_under_way:
            left = LOOK if end is None else min(LOOK, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"run {self.id} was still {row.state}")
            await self._store.database.changed(self.id, left)
        if row.state == "cancelled":
            error = RunEnded(f"run {self.id} was cancelled")
        elif row.error is not None:
            error = RunEnded(f"run {self.id} failed: {row.error.get('message')}", code=str(row.error.get("code")))
        else:
            reached = await self._record.reached(row)
            is_typed = output is not None and (row.state == "done" or row.output is not None)
            return replace(reached, output=_of_type(output, reached.output)) if is_typed else reached
        with suppress(ActumError, ValueError):  # what had been done, unless that can't be read
            error.result = await self._record.reached(row)
        raise error

    async def context(self) -> Context:
        """The context that it has reached, ready to be resumed; that of its Idea if it hasn't begun."""
        return await self._record.context()

    async def pending(self) -> Sequence[Pending]:
        """The calls that wait for a decision, with what each is about, those of its parts among them."""
        await self.refresh()
        return await self._decisions.pending()

    async def decide(
        self,
        of: str,
        ruling: Ruling,
        *,
        reason: str = "",
        parameters: Mapping[str, Any] | None = None,
        by: str = "",
    ) -> None:
        """Decide on the call that waits at a place; raises as `Runs.decide`.

        Args:
            of: the place of the call, as `waiting` names it.
            ruling: "approve" or "deny".
            reason: why, for the model, where it is denied.
            parameters: take the place of the call's own where it is approved; None leaves them.
            by: who decides, for those who would decide later.
        """
        await self.decide_all([of], ruling, reason=reason, parameters=parameters, by=by)

    async def decide_all(
        self,
        places: Sequence[str] | None,
        ruling: Ruling,
        *,
        reason: str = "",
        parameters: Mapping[str, Any] | None = None,
        by: str = "",
        is_as_shown: Callable[[Pending], bool] | None = None,
    ) -> Sequence[Pending]:
        """Decide on the calls that wait at these places; a run goes on once with all that were decided of it.

        All are checked first: if one can't be decided on, none is. Calls in parts of a spread run are those of other
        runs: each takes its own in one go, one part behind the other. So where the place is out of reach in between, or
        a part is cancelled, the parts before have been decided on and those behind have not; `pending` says which.

        Args:
            places: the places of the calls; None for all that wait.
            ruling: "approve" or "deny".
            reason: why, for the model to read.
            parameters: what takes the place of the calls' own.
            by: who decides, for those who would decide later.
            is_as_shown: says of a call that waits whether it is the one that was shown to who decides.

        Returns:
            The calls that were decided on.

        Raises:
            NotWaiting: no call waits there (any more), and who has decided on it; or another one than was shown.
            RunError, IdeaError: as `Runs.decide`.
        """
        decided = partial(decision, ruling=ruling, reason=reason, parameters=parameters, by=by)
        return await self._decisions.decide_all(places, decided, is_as_shown)

    async def give(self, of: str, value: Json) -> None:
        """Give the result of the call at a place that whoever has begun the run makes (`_activity: "elsewhere"`).

        Raises:
            RunError: the run is over.
            IdeaError: no such call waits.
        """
        await self._decisions.give(of, value)

    async def signal(self, name: str, value: Json = True, *, at: datetime | None = None) -> None:
        """Put a value at a gate; raises as `Runs.signal`.

        Args:
            name: NAME of the gate `†state.approvals.NAME`.
            value: what is put there, any JSON.
            at: when; at once by default.
        """
        await self._decisions.signal(name, value, at=at)

    async def cancel(self) -> None:
        """End it for good; raises as `Runs.cancel`."""
        found_run(await self._store.cancel(self.id), self.id)

    async def release(self) -> None:
        """Let it go on with any worker, whatever that lacks of what it needs (`Row.missing`).

        Raises:
            RunError: it doesn't wait for a worker that has what it needs.
        """
        row = await self.refresh()
        if row.uncarried is None or row.state != "queued":
            raise RunError(f"run {self.id} is {row.state}: it doesn't wait for a worker that has what it needs")
        self.row = found_run(await self._store.waive(self.id), self.id)

    async def idea(self) -> Idea:
        """The run as an Idea whose context is what it has left: saved to a file, it is a kept run (`actum.kept`)."""
        return await self._record.idea(await self.refresh())

    async def fork(
        self,
        at: int,
        *,
        input: Mapping[str, Any] | None = None,
        changes: Mapping[int, JsonObject | None] | None = None,
    ) -> Idea:
        """The run as it was before its request `at` (from 1), as an Idea: submitted, or kept, it is another run.

        Args:
            at: the request, from 1.
            input: other values of its input.
            changes: what takes the place of messages of its context, by index; None takes one away.

        Raises:
            IdeaError: it made no such request, or had no such message before it.
            MessageError: a message is none, or the input doesn't fit its schema.
        """
        return forked(await self.idea(), self.id, at=at, input=input, changes=changes)

    async def resume(self, *, anew: bool = False) -> None:
        """Have workers go on with a run that `actum run --save` has kept and that was cut.

        Its limits count from its beginning; `anew` lets them begin anew.

        Raises:
            RunError: it wasn't cut: it is over, waits for a decision, or workers go on with it already.
        """
        row = await self.refresh()
        if not row.is_cut:
            raise RunError(f"run {self.id} is {row.state}: only a run that was cut is resumed by hand")
        await self._decisions.send([ANEW if anew else RESUME])

    async def again(self, id: str | None = None) -> Run:
        """Submit a new run that goes on from what this one has left; calls whose results it holds are not made again.

        The other calls have the idempotency keys that they had.

        Raises:
            RunError: this run is not over: workers go on with it.
        """
        row = await self.refresh()
        if not row.is_over:
            raise RunError(f"run {self.id} is {row.state}: workers go on with it, once what it waits for is there")
        source, idea = (await self._record.history()).source, await self.idea()
        left = replace(idea, meta=passed_on(idea.meta))
        new = replace(
            source,
            id=check_id(id or new_id()),
            idea=left.text.to_dict(),
            input=None,
            at=None,
            keyed=source.keyed or source.id,
        )
        return Run(self._store, await self._store.submit(new))

    async def save(self, path: str | Path) -> None:
        """Write the run into a file as `actum run --save` keeps one, which `actum.kept` reads.

        Raises:
            IdeaError: the file can't be written.
        """
        idea = await self.idea()
        with_origin(idea, path_given(path), idea.context.origin).save(path)


def _of_type(kind: Any, output: Json) -> Any:
    """The output of a run as an instance of a type."""
    shape = shape_of(kind)
    return Judge(shape, Validator(shape.schema), Validator({})).finished(output)
