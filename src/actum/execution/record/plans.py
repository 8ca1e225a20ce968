"""Plans that stand in a context: which of their calls are done is looked up by place (C9, L8, P2, P3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any, Literal

from ...dataflow.expression import ALONE, MISSING, TextBounds, template
from ...dataflow.node import Status
from ...dataflow.reference import Reference, ReferenceSyntax
from ...errors import ActumError, MessageError
from ...protocol.approvals import Decisions
from ...protocol.call import Call, Place, owed_key
from ...protocol.context import Memory
from ...protocol.marks import Authored, Marks
from ...protocol.message import OUTCOME, failed_of, is_item, is_record, is_result, is_skip, place_of, write_of
from ...schema.json import JsonObject, is_object


@dataclass(slots=True)
class ItemResults:
    """The results of calls for single items, by the item."""

    by_number: dict[int, Any] = field(default_factory=dict[int, Any])
    skipped: set[int] = field(default_factory=set[int])
    """The items whose calls were skipped (C10)."""
    replaced: dict[int, JsonObject] = field(default_factory=dict[int, JsonObject])
    """How the calls have failed whose results an `_else` gave (C14)."""
    unusable: dict[int, str] = field(default_factory=dict[int, str])
    """Why the results of calls that were made can't be used (C15)."""
    recorded: set[int] = field(default_factory=set[int])
    """Those whose results the model is shown one by one, because the call for all had failed."""


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call of a plan has ended; without a status it is still to be made."""

    status: Status | None = None
    value: Any = MISSING
    written: Sequence[Reference] = ()
    replaced: JsonObject = field(default_factory=dict[str, Any])
    """How it has failed, where its `_else` stands for it (C14)."""
    failure: JsonObject | None = None
    """Its error where it was carried out, no result of it can be used, and no answer has come since (C14, C15)."""
    items: ItemResults | None = None
    """The results of its calls for single items, where it is for all and not done."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One plan message: its calls, and how each has ended."""

    authored: Authored
    calls: Sequence[Call]
    ends: Sequence[CallEnd]
    mode: Literal["eager", "lazy"]


def standing_plans(
    messages: Sequence[JsonObject],
    memory: Memory,
    marks: Marks,
    data_kinds: Collection[str],
    reading: TextBounds = ALONE,
) -> Iterator[Standing]:
    """The plans of a context, in order; `memory` is what its messages fold to, `marks` what they say of their calls.

    A call is done when it has left a message, and the paths that it wrote still hold a value: erased, it is owed again
    (O4). One that failed is made again, unless the model has been told and has answered since.

    Raises:
        MessageError: an element of a plan isn't a call, or its output has a malformed reference.
    """
    if not marks.standing:
        return
    decisions = Decisions(messages)
    ending = _Ending(messages, memory, marks, data_kinds)
    for plan in marks.standing:
        calls = [
            _as_approved(_parse_call(call, plan.start, index), decisions, plan.place(index))
            for index, call in enumerate(plan.calls)
        ]
        _check_output(plan.output, plan.start, reading)
        ends = [ending.of(plan, plan.place(index), call) for index, call in enumerate(calls)]
        yield Standing(plan, calls, ends, messages[plan.start].get("mode", "eager"))


def _as_approved(call: Call, decisions: Decisions, place: Place) -> Call:
    """The call that was approved in the place of a planned one."""
    decision = decisions.find(str(place), call) if decisions.by_place else None
    return Call(decision.replacement) if decision is not None and decision.replacement is not None else call


def _check_output(output: Any, index: int, reading: TextBounds) -> None:
    try:
        template(output, reading)
    except ReferenceSyntax as error:
        raise MessageError(str(error), index=index, path="output") from None


def _parse_call(call: Any, index: int, number: int) -> Call:
    try:
        return Call(call)
    except ActumError as error:
        raise MessageError(error.message, index=index, path=f"plan[{number}]") from None


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any
    reference: Reference | None = None
    is_there: bool = True
    """Whether what it has written has not been erased since."""
    written: Reference | None = None


class _Ending:
    """Tells which calls of a plan are done and which have failed, from the messages that they left."""

    def __init__(
        self, messages: Sequence[JsonObject], memory: Memory, marks: Marks, data_kinds: Collection[str]
    ) -> None:
        self._messages = messages
        self._memory = memory
        self._marks = marks
        self._items_by_call = _items_by_call(messages, marks)
        self._data_kinds = data_kinds
        answers = (-1 if (place := place_of(message)) is None else place.answer for message in reversed(messages))
        self._last = list(accumulate(answers, max))[::-1]
        """The highest number of an answer that has left anything from each message on."""
        self._owed: defaultdict[tuple[int, str], int] = defaultdict(int)
        """How often each plan has a call that the model has owed."""
        self._brought: defaultdict[str, list[int]] | None = None
        """The messages of calls that have brought such results, once that is asked for."""

    def of(self, plan: Authored, place: Place, call: Call) -> CallEnd:
        """How the call at a place of a plan has ended."""
        if call.get("_output", MISSING) is None and (paid := self._paid(plan, call)) is not None:
            return paid
        left = [at for at in self._marks.left.get(place, ()) if at > plan.start]
        if any(is_skip(self._messages[at]) for at in left):
            return CallEnd(Status.SKIPPED)
        last = self._messages[left[-1]] if left else {}
        is_told = bool(left) and self._last[left[-1]] > plan.number
        outcomes = [self._outcome_of(at) for at in left if "_call" in self._messages[at]]
        if outcomes and "_call" in last and all(outcome.is_there for outcome in outcomes):
            values = [outcome.value for outcome in outcomes]
            value = values[-1] if len(values) == 1 or outcomes[-1].reference is not None else values
            written = [outcome.written for outcome in outcomes if outcome.written is not None]
            return CallEnd(Status.DONE, value, written, self._replaced_failure(place))
        # Where it has left something, its path couldn't take what it returned, or what stood for its failure.
        has_failed = "_call" not in last if outcomes else is_told
        is_final = has_failed or last.get(OUTCOME) == "unusable"
        status = Status.FAILED if has_failed else None
        return CallEnd(status, failure=last if is_final and not is_told else None, items=self._items_by_call.get(place))

    def _paid(self, plan: Authored, call: Call) -> CallEnd | None:
        """How a call has ended whose result the model has owed: as the later one that has brought it (C4)."""
        if self._brought is None:
            self._brought = defaultdict(list)
            for at, message in enumerate(self._messages):
                if is_object(brought := message.get("_call")) and brought.get("_output") is not None:
                    self._brought[owed_key(brought)].append(at)
        key = owed_key(call)
        before = self._owed[plan.number, key]
        self._owed[plan.number, key] += 1
        later = (at for at in self._brought.get(key, ()) if at > plan.start)
        paid = next((self._outcome_of(at) for at in islice(later, before, None)), None)
        if paid is None or not paid.is_there:
            return None
        return CallEnd(Status.DONE, paid.value, () if paid.written is None else (paid.written,))

    def _replaced_failure(self, place: Place) -> JsonObject:
        """How the call at a place has failed, where its `_else` stands for it; else nothing."""
        marks = (failed_of(self._messages[at]) for at in reversed(self._marks.left.get(place, ())))
        return next((mark for mark in marks if mark), failed_of({}))

    def _outcome_of(self, at: int) -> _Outcome:
        message = self._messages[at]
        if is_record(message):
            return _Outcome(message["data"]["result"] if is_object(message["data"]) else None)
        write = write_of(message, at, self._data_kinds)
        if write is None or "_outputMethod" not in message:  # what an Activity returned as a message is the result
            value = {key: value for key, value in message.items() if not key.startswith("_")}
            return _Outcome(value, written=None if write is None else write.reference)
        reference = write.reference if "_outputPath" in message else None
        is_erased = reference is not None and self._memory.read(reference, write.instance) is MISSING
        return _Outcome(write.value, reference, not is_erased or write.method == "erase", reference)


def _items_by_call(messages: Sequence[JsonObject], marks: Marks) -> Mapping[Place, ItemResults]:
    """The results of calls for single items, by the place of the call for all of them."""
    by_call: defaultdict[Place, ItemResults] = defaultdict(ItemResults)
    for place, left in marks.left.items():
        if (item := place.item) is None:
            continue
        results = by_call[Place(place.answer, place.index)]
        for at in left:
            failed = failed_of(messages[at])
            if is_item(messages[at]) and messages[at].get(OUTCOME) == "unusable":
                results.unusable[item] = str(failed.get("error"))
            elif is_item(messages[at]):
                results.by_number[item] = messages[at]["data"]["result"]
                results.replaced |= {item: failed} if failed else {}
            elif is_skip(messages[at]):
                results.skipped.add(item)
            elif is_result(messages[at]):
                results.recorded.add(item)
    return by_call
