"""A run's own copy of its context: what is appended is folded at once, so that reading stays cheap (M4, M6)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from ...dataflow.expression import MISSING
from ...dataflow.fold import SCALARS, Fold, OutputMethod
from ...dataflow.reference import RESULTS, Path, Reference
from ...dataflow.reference import call_index as numbered_index
from ...errors import ActumError, InvalidParameters, InvalidResult, MessageError, ScopeDenied
from ...messages import MessageObject
from ...protocol.applying import Rank, applied
from ...protocol.approvals import GATES, PRIVATE, Decisions, is_gate, opens_gate
from ...protocol.call import DERIVED, Call
from ...protocol.context import Context, Memory, absorb
from ...protocol.lineage import BROUGHT, NONE, WHOLE, Marks, at, marks_in
from ...protocol.marks import without_output
from ...protocol.message import (
    NUMBER,
    OF,
    RESULT,
    SKIPPED,
    TOLD,
    TRACE,
    Write,
    check_message,
    instance_of,
    record_message,
    write_of,
    written_message,
)
from ...protocol.numbering import Numbering, result_of
from ...protocol.place import Place
from ...protocol.scopes import Catalogue, InstanceOf, scope_path, scoped
from ...schema.json import MAX_DEPTH, MAX_WRITTEN_DEPTH, Json, JsonObject, legible, nests_within
from .crossing import Left, Recipient
from .entries import Appended, Began, Entry, Heard, Inserted, Shown, Withheld
from .folding import Folding
from .recorder import Recorder


class Journal:
    """Messages and their folded values; append-only. What a call leaves is marked with its place, `of` (C9)."""

    def __init__(
        self,
        context: Context,
        kinds: Collection[str] = (),
        record: Recorder | None = None,
        *,
        run: str = "",
        trace: str = "",
        said: Sequence[JsonObject] = (),
    ) -> None:
        self._messages = context.messages
        self._said = list(said)
        """The messages that open the next turn of a conversation, as long as they have not been heard (M4)."""
        self._record = record or Recorder()
        self.is_recorded = self._record.tell is not None
        """Whether anybody is told the entries; else none has to be made."""
        self.settled, self.lease, self.gate = self._record.settled, self._record.lease, self._record.gate
        if self.is_recorded:
            whole = [*self._messages, *said]
            _check_recordable(whole)
            self._record(Began(context=whole, run=run, call=self._record.call, said=len(said), trace=trace))
        self._trace = self._untold = trace
        """The `traceparent` of the run's span; and until a message has said it, again."""
        self.origin = context.origin
        self._kinds = kinds
        self.data_kinds = context.data_kinds
        self.folding = Folding(self._messages, self.data_kinds)
        """What the messages fold to, and in which order (M6, O8)."""
        self._catalogue: Catalogue | None = None
        self._left = Left(self.data_kinds)
        self.nothing = Context(data_kinds=self.data_kinds, origin=self.origin)
        """What crosses to a call without scopes (S3)."""
        self._marks: dict[str, Marks] = {}
        """Of results that say where they come from, what they say, by the places of their calls (S10)."""
        self.has_derived = False
        """Whether anything may be derived that is there (S10)."""
        for message in self._messages:
            self._note(message)
        self.decisions = Decisions(self._messages)
        """What was decided of calls, and what suspended delegates had reached."""
        self._gates = Memory()
        for instance in (None, *context.instances):
            value = self.memory.read(Reference("state", (GATES,)), instance)
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

    @property
    def memory(self) -> Memory:
        """The folded values of all kinds."""
        return self.folding.memory

    def scoped(
        self,
        scopes: Sequence[str],
        instance: str | None,
        recipient: Recipient | None = None,
        errors: Sequence[JsonObject] = (),
        instance_of: InstanceOf = instance_of,
    ) -> Context:
        """What of the context crosses to a call (S1-S6): nothing that calls listed after it have left (S8).

        `errors` are those of calls listed before it that are to stand in the context at the end of the tick (L2).
        """
        kinds = {scope_path(scope).kind for scope in scopes}
        later = set[int]()
        if recipient is not None:
            last = partial(self.folding.last_read, instance=instance, rank=self.folding.rank(recipient.place))
            later = self._left.after(recipient, kinds, self._messages, last)
        if later:
            return self._without(later, scopes, instance, errors, instance_of)
        if self._catalogue is None:
            self._catalogue = Catalogue(self._messages, self.data_kinds)
        memory = self.folding.in_order(map(scope_path, scopes))
        return scoped(self._catalogue, memory, scopes, instance, self.origin, errors, instance_of)

    def _without(self, left_out: set[int], scopes: Sequence[str], instance: str | None, *more: Any) -> Context:
        """What crosses of the context without some messages, by their ids."""
        catalogue, memory = Catalogue((), self.data_kinds), Memory()
        for index, message in applied(self._messages):
            if id(message) in left_out:
                continue
            catalogue.add(message)
            # What was built on a write that is left out has nothing to stand on, and is left out with it.
            with suppress(MessageError):
                absorb(memory, message, index, self.data_kinds)
        return scoped(catalogue, memory, scopes, instance, self.origin, *more)

    def context(self) -> Context:
        """The context as it is now, with what has been said at its end."""
        return Context.checked([*self._messages, *self._said], self.data_kinds, self.origin)

    @property
    def is_told_more(self) -> bool:
        """Whether messages open the next turn that have not been heard."""
        return bool(self._said)

    def hear(self) -> None:
        """Begin the next turn: what opens it stands behind what the turn before has left (M4)."""
        said, self._said = self._said, []
        self.folding.begin()
        self._record(Heard())
        for message in said:
            absorb(self.memory, message, len(self._messages), self.data_kinds)
            self._messages.append(message)
            self._note(message)
        self.instances = self.context().instances
        self._catalogue = None

    def read(self, reference: Reference, instance: str | None, rank: Rank | None = None) -> Any:
        """What a reference names for a call of that instance; a gate as it was when the run began (C7).

        For a call of a rank it is what is there without what calls listed behind it have left (O8).
        """
        if reference.kind == RESULTS:
            return self._result(reference)
        if is_gate(reference):
            return self._gates.read(reference, instance)
        return self.folding.read(reference, instance, rank)

    def move(self, place: Place, answer: int, index: int) -> None:
        """Let a call be listed where a corrected answer lists it (L3, O8)."""
        first = self.folding.move(place, answer, index)
        if first is not None:
            self._not_shown = min(self._not_shown, first)
            self._catalogue = None
            self._left.forget()

    def _result(self, reference: Reference) -> Any:
        """What an earlier answer has left under a number (O10)."""
        number = numbered_index(reference)
        message = None if number is None else self._results.get(number)
        return MISSING if message is None else Fold(result_of(message)).read(reference.path[1:])

    def marks(self, reference: Reference, instance: str | None) -> Marks:
        """What is known of where the value comes from that a reference names (S10)."""
        if reference.kind != RESULTS:
            return self.folding.in_order((reference,)).marks(reference, instance)
        number = numbered_index(reference)
        message = None if number is None else self._results.get(number)
        return NONE if message is None else at(marks_in(message, result_of(message)), reference.path[1:])

    def marks_of(self, place: str, path: Path) -> Marks:
        """The same of a part of what the call at a place has left."""
        return at(self._marks.get(place, WHOLE), path)

    def _note(self, message: JsonObject) -> None:
        """Note what a message says of where its value comes from; most say nothing, and calls have brought it."""
        if BROUGHT not in message and DERIVED not in message and "_output" not in message.get("_call", ()):
            return
        write = write_of(message, 0, self.data_kinds)
        value = result_of(message) if "data" in message else MISSING
        marks = write.marks if write is not None else marks_in(message, value)
        self.has_derived = self.has_derived or any(one.is_derived for one in marks.values())
        if OF in message and "_call" in message:
            self._marks[message[OF]] = marks

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
            self._catalogue = None
            self._left.forget()
            self._record(Shown(request))

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

        `marks`, here and below: what else is known of the call (see `readings.marks_of`).

        Raises:
            InvalidParameters: it could not be read again.
        """
        if type(value) not in SCALARS or len(reference.path) > MAX_WRITTEN_DEPTH:
            check_written(value, tool=call.tool, above=len(reference.path))
        # Of most calls nothing more is known: that is seen without a detour.
        known = marks_in({"_call": call, **(marks or {})}, value) if marks or "_output" in call else WHOLE
        write = Write(reference.kind, instance, method, reference.path, value, known)
        message = written_message(write, dict(call), of, _now(), data_kinds=self.data_kinds)
        self.add({**message, **(marks or {}), **self.folding.listing(of)})
        self.writes += 1
        return write

    def result(self, call: Call, of: str, value: Any, instance: str | None, marks: JsonObject | None = None) -> None:
        """Append the result of a call without output path (C8); raises as `write`."""
        if type(value) not in SCALARS:  # what can't be read again isn't written
            check_written(value, tool=call.tool)
        known = marks_in({"_call": call, **(marks or {})}, value) if marks or "_output" in call else WHOLE
        write = Write(RESULT, instance, "set", (), value, known)
        self.folding.leave()
        message = written_message(write, dict(call), of, _now(), data_kinds=self.data_kinds)
        self.add({**message, **marks} if marks else message)
        self.writes += 1

    def record(self, call: Call, of: str, value: Json, marks: JsonObject | None = None) -> None:
        """Append that a call was made whose value is nobody's but theirs who refer to the call (C4, C8).

        Raises as `write`.
        """
        if type(value) not in SCALARS:  # what can't be read again isn't written
            check_written(value, tool=call.tool)
        message = record_message(dict(call), of, _now(), None if value is None else {"result": value})
        self.add({**message, **marks} if marks else message)

    def skip(self, call: Call, of: str, marks: JsonObject | None = None) -> None:
        """Append that a call was skipped, so that a resumed run takes the same branch (C7, C10, L8)."""
        self.add({**record_message(dict(call), of, _now(), dict(SKIPPED)), **(marks or {})})

    def item(self, call: Call, of: str, value: Json, marks: JsonObject | None = None) -> None:
        """Append the result of a call for one item of a list, a part of that of the call for all; raises as `write`."""
        if type(value) not in SCALARS:  # what can't be read again isn't written
            check_written(value, tool=call.tool)
        self.add({**record_message(dict(call), of, _now(), {"result": value}), **(marks or {})})

    def append(
        self, call: Call, of: str, message: MessageObject, instance: str | None, marks: JsonObject | None = None
    ) -> Write | None:
        """Append a message that an Activity returned, as it is, and return what it writes, if anything (A4).

        Raises:
            InvalidResult: it is malformed.
            ScopeDenied: it would open a gate (C7).
        """
        own = message.to_dict() | {"_call": dict(call), OF: of, "_date": _now(), **(marks or {})}
        if instance is not None and "_instance" not in own:
            own["_instance"] = instance
        try:
            checked = check_message(own, len(self._messages), self._kinds, self.data_kinds)
            if not nests_within(checked, MAX_WRITTEN_DEPTH + 1):
                raise MessageError(f"it nests deeper than {MAX_WRITTEN_DEPTH}")
            write = write_of(checked, len(self._messages), self.data_kinds)
            if write is not None and opens_gate(write):
                raise ScopeDenied("it would write gates, which a call can't open", tool=call.tool)
        except MessageError as error:
            raise InvalidResult(f"it returned a bad message: {error.message}", tool=call.tool) from None
        self.add({**checked, **self.folding.listing(of)} if write is not None else checked)
        self.writes += 1
        return write

    def fail(
        self, error: ActumError, call: Call | None, of: str, told: str | None = None, marks: JsonObject | None = None
    ) -> None:
        """Append why a call failed or was refused, or what is wrong with an answer (L2).

        `told` is what of it the model may be told, where that isn't all (S10); `marks` what became of the call (C15),
        and its instance where only its tool says it (I5).
        """
        message = error_message(error, call, of, marks)
        self.add(message if told is None else {**message, TOLD: told})

    def insert(self, index: int, message: JsonObject) -> None:
        """Put the plan of the answer under way where that answer began, before what its calls have written (L8).

        The only change to a log that otherwise only grows: all messages after it belong to that answer's calls.
        """
        if self._trace:
            message = {**message, TRACE: self._trace}
        self._messages.insert(index, message)
        self._not_shown = min(self._not_shown, index)
        self._record(Inserted(index, message))
        self._catalogue = None
        self._left.forget()

    def withhold(self, answer: int, plan: int | None) -> None:
        """Let an answer have no output any more, nor its plan, at an index: the model is asked for another (O9)."""
        self._record(Withheld(answer))
        if plan is not None:
            self._messages[plan] = without_output(self._messages[plan])
            self._catalogue = None

    def tell(self, entry: Entry) -> None:
        """Write down what is known of an answer."""
        self._record(entry)

    def add(self, message: JsonObject) -> None:
        """Append a message that was judged before, and folded if it carries data."""
        if self._untold:
            message, self._untold = {**message, TRACE: self._untold}, ""
        self._messages.append(message)
        if self.is_recorded:
            self._record(Appended(message))
        if BROUGHT in message or DERIVED in message or "_output" in message.get("_call", ()):
            self._note(message)
        if message["type"] in PRIVATE:
            self.decisions.add(message)
        if self._catalogue is not None:
            self._catalogue.add(message)


def _check_recordable(messages: Sequence[JsonObject]) -> None:
    """Judge whether a record of a run that begins with these messages could be read again."""
    for index, message in enumerate(messages):
        if not nests_within(message, MAX_DEPTH - 2):  # its entry, or its file, stands around it
            raise MessageError("it nests too deeply for a run that is recorded", index=index)


def error_message(error: ActumError, call: Call | None, of: str, marks: JsonObject | None = None) -> JsonObject:
    """What is left of a failure (L2)."""
    own: JsonObject = {"type": "error", "call": dict(call) if call else None, "error": legible(error.message), OF: of}
    return own | (marks or {})


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
