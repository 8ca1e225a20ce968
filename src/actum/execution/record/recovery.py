"""The context that a run had reached, from the entries that it told before it was cut (L8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...protocol.marks import plan_marks, plan_message
from ...protocol.message import OF, check_message
from ...protocol.numbering import Numbering
from ...protocol.place import Place
from ...schema.json import JsonObject, is_list, is_object
from .entries import Adopted, Answered, Appended, Arrived, Began, Closed, Entry, Inserted, Restarted, Shown, parse_entry

_At: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class _Told:
    """What has been told of an answer under way."""

    start: int
    calls: list[JsonObject] = field(default_factory=list[JsonObject])
    kept: dict[Place, JsonObject] = field(default_factory=dict[Place, JsonObject])
    adopted: dict[int, Place] = field(default_factory=dict[int, Place])
    output: Any = None


@dataclass(slots=True)
class _Run:
    """What has been told of one run."""

    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    run: str = ""
    call: JsonObject | None = None
    answers: dict[int, _Told] = field(default_factory=dict[int, _Told])

    def take(self, entry: Entry) -> None:
        match entry:
            case Began():
                pass  # another run takes the place of this one
            case Appended(message=message):
                self.messages.append(message)
            case Inserted(index=index, message=message):
                self.messages.insert(index, message)
                self.answers = {number: told for number, told in self.answers.items() if told.start != index}
            case Arrived(answer=answer, start=start, call=call):
                self.answers.setdefault(answer, _Told(start)).calls.append(call)
            case Answered(answer=answer, start=start, output=output):
                self.answers.setdefault(answer, _Told(start)).output = output
            case Restarted(answer=answer, by=by, start=start, kept=kept):
                self.answers.pop(answer, None)
                if kept:
                    self.answers[by] = _Told(start, kept=dict(kept))
            case Adopted(answer=answer, index=index, place=place):
                told = self.answers[answer]
                told.adopted[index] = place
                told.kept.pop(place, None)
            case Shown():
                for index, marked in list(Numbering.of(self.messages).marked(self.messages)):
                    self.messages[index] = marked
            case Closed(answer=answer):
                self.answers.pop(answer, None)

    def standing(self) -> list[JsonObject]:
        """The messages, with the answers under way as plans where they began."""
        plans: defaultdict[int, list[JsonObject]] = defaultdict(list)
        for number, told in sorted(self.answers.items()):
            plans[min(told.start, len(self.messages))].append(self._plan(number, told))
        whole: list[JsonObject] = []
        for index in range(len(self.messages) + 1):
            whole += [*plans.get(index, ()), *self.messages[index : index + 1]]
        return whole

    def _plan(self, number: int, told: _Told) -> JsonObject:
        plan = plan_message([*told.calls, *told.kept.values()], told.output)
        places = told.adopted | dict(enumerate(told.kept, len(told.calls)))
        return plan if not self.run else plan | plan_marks(number, self.run, places)


def recovered(entries: Iterable[JsonObject]) -> list[JsonObject]:
    """The context that a run had reached, from what it told: fit to be resumed.

    Raises:
        MessageError: a message in it is malformed.
        ValueError: an entry is malformed, or is about a run that has not begun.
    """
    runs: dict[_At, _Run] = {}
    for entry in entries:
        at = tuple(map(str, entry["at"]))
        told = parse_entry(entry)
        if isinstance(told, Began):
            runs = {other: run for other, run in runs.items() if other[: len(at)] != at}
            runs[at] = _Run(list(told.context), told.run, told.call)
        elif at in runs:
            runs[at].take(told)
        else:
            raise ValueError(f"the run at {'/'.join(at) or 'the top'} has not begun")
    for at in sorted(runs, key=len, reverse=True):
        runs[at].messages = runs[at].standing()
        if at and at[:-1] in runs:
            _suspend(runs[at[:-1]], at[-1], runs[at])
    top = runs[()].messages if () in runs else []
    return [check_message(message, index, (), _kinds(message)) for index, message in enumerate(top)]


def _kinds(message: JsonObject) -> frozenset[str]:
    return frozenset({str(message.get("type"))})


def _suspend(parent: _Run, of: str, inner: _Run) -> None:
    """Let what a delegate had reached stand in the run around it, unless its call is done."""
    if inner.call is None:
        inner.call = _call_before_places(parent, of)
    elif any(message.get(OF) == of and "_call" in message for message in parent.messages):
        return
    if inner.call is not None:
        parent.messages.append({"type": "suspended", "of": of, "call": inner.call, "context": inner.messages})


def _call_before_places(parent: _Run, of: str) -> JsonObject | None:
    """The call of a delegate in a log that doesn't name it; None where it is done, or can't be told."""
    start, _, index = of.partition(".")
    if not (start.isdecimal() and index.isdecimal()):
        return None
    told = next((one for one in parent.answers.values() if one.start == int(start)), None)
    plan = parent.messages[int(start)].get("plan") if told is None and int(start) < len(parent.messages) else None
    calls: Any = told.calls if told is not None else plan
    if not is_list(calls) or int(index) >= len(calls) or not is_object(calls[int(index)]):
        return None
    call: JsonObject = calls[int(index)]
    # Of equal calls, the first are those that are done.
    done = sum(message.get("_call") == call for message in parent.messages[int(start) :])
    return call if calls[: int(index)].count(call) >= done else None
