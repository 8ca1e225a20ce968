"""A run's own copy of its context: what is appended is folded at once, so that reading stays cheap (M4, M6)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ...dataflow.expression import MISSING, SCALARS
from ...dataflow.fold import Fold, OutputMethod, nested
from ...dataflow.node import Node
from ...dataflow.reference import RESULTS, Path, Reference
from ...dataflow.reference import call_index as numbered_index
from ...errors import ActumError, InvalidParameters, InvalidResult, MessageError, ScopeDenied
from ...messages import MessageObject
from ...protocol.applying import Numbering, numbered_value
from ...protocol.approvals import GATES, PRIVATE, Decisions, is_gate, opens_gate
from ...protocol.call import DERIVED, Call, Place
from ...protocol.context import Context, Memory, absorb
from ...protocol.lineage import BROUGHT, NONE, WHOLE, Marks, marks_at, marks_in
from ...protocol.marks import without_output
from ...protocol.message import NUMBER, OF, RECORD, RESULT, TOLD, TRACE, Write, check_message, write_of
from ...schema.json import MAX_DEPTH, MAX_WRITTEN_DEPTH, JsonObject, encodable, nests_within
from .folded import Crossing, Folding
from .recorder import Appended, Began, Heard, Inserted, Recorder, ResultsShown, Withheld

RETURNS = Reference(RESULT)
"""Where the result of a call without output path is."""


class Journal:
    """Messages and their folded values; append-only. What a call leaves is marked with its place, `of` (C9)."""

    def __init__(
        self,
        context: Context,
        record: Recorder | None = None,
        *,
        run: str = "",
        trace: str = "",
        new: Sequence[JsonObject] = (),
    ) -> None:
        self._messages = context.messages
        self._unheard = list(new)
        """The messages that open the next turn of a conversation, as long as they have not been heard (M4)."""
        self.tell = record = record or Recorder()
        """Writes an entry down."""
        self.is_recorded = record.tell is not None
        """Whether anybody is told the entries; else none has to be made."""
        self.settled, self.lease, self.gate, self.post = record.settled, record.lease, record.gate, record.post
        if self.is_recorded:
            messages = [*self._messages, *new]
            _check_recordable(messages)
            self.tell(Began(context=messages, run=run, call=record.call, said=len(new), trace=trace))
        self._trace = self._due_trace = trace
        """The `traceparent` of the run's span; and until a message has said it, again."""
        self.origin = context.origin
        self.data_kinds = context.data_kinds
        self.folding = Folding(self._messages, self.data_kinds)
        """What the messages fold to, and in which order (M6, O8)."""
        self.crossing = Crossing(self._messages, self.folding, self.origin)
        """What of the messages crosses to calls."""
        self.nothing = Context(data_kinds=self.data_kinds, origin=self.origin)
        """What crosses to a call without scopes (S3)."""
        self.brought = Brought(self.data_kinds)
        """Where the values come from that calls have left."""
        for message in filter(says_source, self._messages):
            self.brought.note(message)
        self.decisions = Decisions(self._messages)
        """What was decided of calls, and what suspended delegates had reached."""
        self._gates = Memory()
        for instance in (None, *context.instances):
            value = self.folding.memory.read(Reference("state", (GATES,)), instance)
            if value is not MISSING:
                self._gates.write(Write("state", instance, "set", (GATES,), value))
        self.instances = context.instances
        self._numbering = Numbering.of(self._messages)
        self._not_shown = 0
        """The index of the first message that may not have been shown to the model."""
        self._results = {message[NUMBER]: message for message in self._messages if NUMBER in message}
        self.writes = 0
        """How many values calls have written; records and errors don't count (L4)."""

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> Sequence[JsonObject]:
        """The messages so far; not to be changed."""
        return self._messages

    def context(self) -> Context:
        """The context as it is now, with what has been said at its end."""
        return Context.checked([*self._messages, *self._unheard], self.data_kinds, self.origin)

    @property
    def has_next_turn(self) -> bool:
        """Whether messages open the next turn that have not been heard."""
        return bool(self._unheard)

    def hear(self) -> None:
        """Begin the next turn: what opens it stands behind what the turn before has left (M4)."""
        new, self._unheard = self._unheard, []
        self.folding.begin()
        self.tell(Heard())
        for message in new:
            absorb(self.folding.memory, message, len(self._messages), self.data_kinds)
            self._messages.append(message)
            if says_source(message):
                self.brought.note(message)
        self.instances = self.context().instances
        self.crossing.forget()

    def read(self, reference: Reference, instance: str | None, reader: Node | None = None) -> Any:
        """What a reference names for a call of that instance; a gate as it was when the run began (C7).

        For the call that reads it, it is what is there without what calls listed behind it have left (O8).
        """
        if reference.kind == RESULTS:
            return self._result(reference)
        if is_gate(reference):
            return self._gates.read(reference, instance)
        return self.folding.read(reference, instance, reader)

    def move(self, place: Place, answer: int, index: int) -> None:
        """Let a call be listed where a corrected answer lists it (L3, O8)."""
        first = self.folding.move(place, answer, index)
        if first is not None:
            self._not_shown = min(self._not_shown, first)
            self.crossing.forget()

    def begin_again(self, places: Iterable[Place], answer: int) -> None:
        """An answer that corrects another begins, which may list these calls, or has ended where there are none."""
        self.folding.begin_again(places, answer)
        self.crossing.forget()

    def _result(self, reference: Reference) -> Any:
        """What an earlier answer has left under a number (O10)."""
        number = numbered_index(reference)
        message = None if number is None else self._results.get(number)
        return MISSING if message is None else Fold(numbered_value(message)).read(reference.path[1:])

    def marks(self, reference: Reference, instance: str | None) -> Marks:
        """What is known of where the value comes from that a reference names (S10)."""
        if reference.kind != RESULTS:
            return self.folding.in_order((reference,)).marks(reference, instance)
        number = numbered_index(reference)
        message = None if number is None else self._results.get(number)
        return NONE if message is None else marks_at(marks_in(message, numbered_value(message)), reference.path[1:])

    @property
    def results(self) -> Mapping[int, JsonObject]:
        """The messages of the results that have been shown, by number (M9)."""
        return self._results

    def show(self) -> None:
        """Mark what the request that is to be made shows of calls for the first time (M9)."""
        if self._not_shown == len(self._messages):
            return
        self.folding.begin()
        request = self._numbering.request
        for index, message in list(self._numbering.marked(self._messages, self._not_shown)):
            self._messages[index] = message
            if NUMBER in message:
                self._results[message[NUMBER]] = message
        self._not_shown = len(self._messages)
        if self._numbering.request > request:
            self.crossing.forget()
            self.tell(ResultsShown(request))

    def write(
        self,
        call: Call,
        of: str,
        value: Any,
        reference: Reference,
        method: OutputMethod,
        instance: str | None,
        marks: JsonObject | None = None,
    ) -> Write:
        """Append what a call has returned at one path, for the instance that it is made for: `folding` applies it.

        One without output path has `RETURNS` (C8). `marks`, here and below: what else is known of the call (see
        `readings.marks_of`).

        Raises:
            InvalidParameters: it could not be read again.
        """
        if type(value) not in SCALARS or len(reference.path) > MAX_WRITTEN_DEPTH:
            check_written(value, tool=call.tool, above=len(reference.path))
        # Nothing more is known of most calls: they skip the look.
        sources = marks_in({"_call": call, **(marks or {})}, value) if marks or "_output" in call else WHOLE
        write = Write(reference.kind, instance, method, reference.path, value, sources)
        message = written_message(write, dict(call), of, _now(), self.data_kinds)
        if reference.kind == RESULT:
            self.folding.leave()
        self.add({**message, **marks} if marks else message)
        self.writes += 1
        return write

    def record(self, call: Call, of: str, data: JsonObject | None, marks: JsonObject | None = None) -> None:
        """Append that a call was made whose value is only for those who refer to the call (C4, C8).

        `data` is what is kept of it: `{"result": …}`, None where it has none, `SKIPPED` for one that was not made, so
        that a resumed run takes the same branch (C7, C10, L8). Raises as `write`.
        """
        if data and type(data.get("result")) not in SCALARS:  # what can't be read again isn't written
            check_written(data["result"], tool=call.tool)
        message = {"type": "data", "kind": RECORD, "data": data, "_call": dict(call), OF: of, "_date": _now()}
        self.add({**message, **(marks or {})})

    def append(
        self, call: Call, of: str, message: MessageObject, instance: str | None, marks: JsonObject | None = None
    ) -> Write | None:
        """Append a message that an Activity returned, as it is, and return what it writes, if anything (A4).

        Raises:
            InvalidResult: it is malformed.
            ScopeDenied: it would open a gate (C7).
        """
        marked = message.to_dict() | {"_call": dict(call), OF: of, "_date": _now(), **(marks or {})}
        if instance is not None and "_instance" not in marked:
            marked["_instance"] = instance
        try:
            checked = check_message(marked, len(self._messages), (), self.data_kinds)
            if not nests_within(checked, MAX_WRITTEN_DEPTH + 1):
                raise MessageError(f"it nests deeper than {MAX_WRITTEN_DEPTH}")
            write = write_of(checked, len(self._messages), self.data_kinds)
            if write is not None and opens_gate(write):
                raise ScopeDenied("it would write gates, which a call can't open", tool=call.tool)
        except MessageError as error:
            raise InvalidResult(f"it returned a bad message: {error.message}", tool=call.tool) from None
        self.add(checked)
        self.writes += 1
        return write

    def fail(
        self, error: ActumError, call: Call | None, of: str, public: str | None = None, marks: JsonObject | None = None
    ) -> None:
        """Append why a call failed or was refused, or what is wrong with an answer (L2).

        `public` is what the model may be told where that isn't all (S10); `marks` what became of the call (C15),
        and its instance where only its tool says it (I5).
        """
        message = error_message(error, call, of, marks)
        self.add(message if public is None else {**message, TOLD: public})

    def insert(self, index: int, message: JsonObject) -> None:
        """Put the plan of the answer under way where that answer began, before what its calls have written (L8).

        The only change to a log that otherwise only grows: all messages after it belong to that answer's calls.
        """
        if self._trace:
            message = {**message, TRACE: self._trace}
        self._messages.insert(index, message)
        self.folding.note_insertion()
        self._not_shown = min(self._not_shown, index)
        self.tell(Inserted(index, message))
        self.crossing.forget()

    def withhold(self, answer: int, plan: int | None) -> None:
        """Let an answer have no output any more, nor its plan, at an index: the model is asked for another (O9)."""
        self.tell(Withheld(answer))
        if plan is not None:
            self._messages[plan] = without_output(self._messages[plan])
            self.crossing.forget()

    def add(self, message: JsonObject) -> None:
        """Append a message that was judged before, and folded if it carries data."""
        if self._due_trace:
            message, self._due_trace = {**message, TRACE: self._due_trace}, ""
        if OF in message and ("_call" in message or message["type"] == "error"):
            message |= self.folding.listing(message[OF])
        self._messages.append(message)
        if self.is_recorded:
            self.tell(Appended(message))
        if says_source(message):
            self.brought.note(message)
        if message["type"] in PRIVATE:  # most messages decide nothing
            self.decisions.add(message)


def _check_recordable(messages: Sequence[JsonObject]) -> None:
    """Judge whether a record of a run that begins with these messages could be read again."""
    for index, message in enumerate(messages):
        if not nests_within(message, MAX_DEPTH - 2):  # its entry, or its file, stands around it
            raise MessageError("it nests too deeply for a run that is recorded", index=index)


def written_message(write: Write, call: JsonObject, of: str, date: str, data_kinds: Collection[str]) -> JsonObject:
    """The message that a call leaves behind: its value nested at its path, and where it came from (M6)."""
    value = nested(write.path, write.value)
    if write.kind in data_kinds:
        message: JsonObject = {"type": write.kind, write.kind: value}
    else:
        message = {"type": "data", "kind": write.kind, "data": value}
    if write.instance is not None:
        message["_instance"] = write.instance
    message["_call"], message[OF], message["_date"], message["_outputMethod"] = call, of, date, write.method
    if write.kind != RESULT or write.path:
        message["_outputPath"] = str(write.reference)
    return message


def error_message(error: ActumError, call: Call | None, of: str, marks: JsonObject | None = None) -> JsonObject:
    """The message that a failure leaves (L2)."""
    message = {"type": "error", "call": dict(call) if call else None, "error": encodable(error.message), OF: of}
    return {**message, **(marks or {})}


def check_written(value: Any, *, tool: str | None = None, path: str | None = None, above: int = 0) -> None:
    """Judge whether what a run would write down can be read again; `above` is how deep it is to stand.

    Raises:
        InvalidParameters: it can't.
    """
    if not nests_within(value, MAX_WRITTEN_DEPTH - above):
        where = " at its path" if above else ""
        raise InvalidParameters(f"it nests deeper than {MAX_WRITTEN_DEPTH}{where}", tool=tool, path=path)


def _now() -> str:
    # Every call has its date: what is the same for a second is written once.
    seconds, rest = divmod(time.time_ns() // 1_000, 1_000_000)
    return f"{_second(seconds)}.{rest:06}+00:00"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


class Brought:
    """Knows where the values come from that the messages of one journal hold (S10)."""

    def __init__(self, data_kinds: Collection[str]) -> None:
        self._data_kinds = data_kinds
        self._marks: dict[str, Marks] = {}
        """Of results that say where they come from, what they say, by the places of their calls."""
        self.has_derived = False
        """Whether any value may be derived."""

    def of(self, place: str, path: Path) -> Marks:
        """What is known of where a part of what the call at a place has left comes from."""
        return marks_at(self._marks.get(place, WHOLE), path)

    def note(self, message: JsonObject) -> None:
        """Note what a message says of where its value comes from."""
        write = write_of(message, 0, self._data_kinds)
        value = numbered_value(message) if "data" in message else MISSING
        marks = write.marks if write is not None else marks_in(message, value)
        self.has_derived = self.has_derived or any(source.is_derived for source in marks.values())
        if OF in message and "_call" in message:
            self._marks[message[OF]] = marks


def says_source(message: JsonObject) -> bool:
    """Whether a message says where its value comes from; of most, calls have brought it."""
    return BROUGHT in message or DERIVED in message or "_output" in message.get("_call", ())
