"""The context that a run had reached, from the entries that it told before it was cut (L8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...protocol.applying import Numbering
from ...protocol.call import Place
from ...protocol.marks import plan_marks, plan_message, without_output
from ...protocol.message import OF, OUTCOME, check_message
from ...schema.json import JsonObject, is_list, is_object
from . import recorder as log
from .recorder import parse_at, parse_entry

_At: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class _Answer:
    """An answer under way, as the entries tell it."""

    start: int
    calls: list[JsonObject] = field(default_factory=list[JsonObject])
    kept: dict[Place, JsonObject] = field(default_factory=dict[Place, JsonObject])
    adopted: dict[int, Place] = field(default_factory=dict[int, Place])
    output: Any = None

    def take_call(self, index: int, call: JsonObject, place: Place | None) -> None:
        """Take in a call; one whose index was told before takes the place of what held it.

        `place` is where an earlier attempt has started it.
        """
        if index > len(self.calls):
            raise ValueError("a call has arrived before the one that is listed before it")
        self.calls[index : index + 1] = [call]
        if place is not None:
            self.adopted[index] = place
            self.kept.pop(place, None)


@dataclass(slots=True)
class _Run:
    """One run, as the entries tell it."""

    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    run: str = ""
    call: JsonObject | None = None
    unheard: list[JsonObject] = field(default_factory=list[JsonObject])
    """The messages that open the next turn, until the run has heard them."""
    trace: str = ""
    """The `traceparent` of its span."""
    answers: dict[int, _Answer] = field(default_factory=dict[int, _Answer])
    failed: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """The errors of the calls that have failed and that nobody has been told of, by place."""
    _done: set[str] | None = None

    def take(self, entry: log.Entry) -> None:
        match entry:
            case log.Began():
                pass  # another run takes the place of this one
            case log.Appended(message=message):
                self.messages.append(_check(message, len(self.messages)))
                if message.get("type") == "error":
                    self.failed.pop(str(message.get(OF)), None)
            case log.Inserted(index=index, message=message):
                self.messages.insert(self._start(index), _check(message, index))
                self.answers = {number: answer for number, answer in self.answers.items() if answer.start != index}
            case log.FailedCall(place=place, call=call, error=error, marks=marks):
                self.failed[str(place)] = {"type": "error", "call": call, "error": error, OF: str(place), **marks}
            case log.ResultsShown():
                for index, marked in list(Numbering.of(self.messages).marked(self.messages)):
                    self.messages[index] = marked
            case log.Heard():
                self.messages += self.unheard
                self.unheard = []
            case _:
                self._take_of_answer(entry)

    def _take_of_answer(self, entry: log.OfAnswer) -> None:
        match entry:
            case log.Arrived(answer=answer, start=start, index=index, call=call, place=place):
                self._answer(answer, start).take_call(index, call, place)
            case log.OutputArrived(answer=answer, start=start, output=output):
                self._answer(answer, start).output = output
            case log.Restarted(answer=answer, by=by, start=start, kept=kept):
                self.answers.pop(answer, None)
                if kept:
                    self.answers[by] = _Answer(self._start(start), kept=dict(kept))
            case log.Withheld(answer=answer):
                if answer in self.answers:
                    self.answers[answer].output = None
                for index, message in enumerate(self.messages):
                    if message["type"] == "plan" and message.get(OF) == str(answer):
                        self.messages[index] = without_output(message)
            case log.Closed(answer=answer):
                self.answers.pop(answer, None)

    def _answer(self, number: int, start: int) -> _Answer:
        answer = self.answers.get(number)
        if answer is None:
            answer = self.answers[number] = _Answer(self._start(start))
        return answer

    def _start(self, index: int) -> int:
        if index > len(self.messages):
            raise ValueError("it names a message behind the last one")
        return index

    def messages_with_plans(self) -> list[JsonObject]:
        """The messages, with the answers under way as plans where they began.

        A call that an earlier attempt of an answer had started and that has failed is not in its plan: it is not made
        again beside the one that the model has written in its stead, and the model is told of it. Nor is one made again
        that was carried out with a result that can't be used, or has left a value that its path couldn't take (C15).
        """
        plans: defaultdict[int, list[JsonObject]] = defaultdict(list)
        errors = [error for of, error in self.failed.items() if error.get(OUTCOME) == "unusable" or self.has_done(of)]
        for number, answer in sorted(self.answers.items()):
            for place in [place for place in answer.kept if str(place) in self.failed]:
                del answer.kept[place]
                if self.failed[str(place)] not in errors:
                    errors.append(self.failed[str(place)])
            if answer.calls or answer.kept or answer.output is not None:
                plans[answer.start].append(self._plan(number, answer))
        messages: list[JsonObject] = []
        for index in range(len(self.messages) + 1):
            messages += [*plans.get(index, ()), *self.messages[index : index + 1]]
        return messages + errors + self.unheard

    def _plan(self, number: int, answer: _Answer) -> JsonObject:
        plan = plan_message([*answer.calls, *answer.kept.values()], answer.output)
        places = answer.adopted | dict(enumerate(answer.kept, len(answer.calls)))
        return plan | plan_marks(number, self.run, places, self.trace)

    def has_done(self, of: str) -> bool:
        """Whether the call at a place has left its result."""
        if self._done is None:
            self._done = {str(message.get(OF)) for message in self.messages if "_call" in message}
        return of in self._done


def recover_context(entries: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """The context that a run had reached, from what it told: fit to be resumed.

    Raises:
        MessageError: a message in it is malformed.
        ValueError: an entry is malformed, or is about a run that has not begun.
    """
    runs: dict[_At, _Run] = {}
    for entry in entries:
        at, parsed = parse_at(entry), parse_entry(entry)
        if isinstance(parsed, log.Began):
            if at in runs:
                runs = {path: run for path, run in runs.items() if path[: len(at)] != at}
            messages = [_check(message, index) for index, message in enumerate(parsed.context)]
            early = len(messages) - parsed.said
            runs[at] = _Run(messages[:early], parsed.run, parsed.call, unheard=messages[early:], trace=parsed.trace)
        elif at in runs:
            runs[at].take(parsed)
        else:
            raise ValueError(f"the run at {'/'.join(at) or 'the top'} has not begun")
    for at in sorted(runs, key=len, reverse=True):
        runs[at].messages = runs[at].messages_with_plans()
        if at and at[:-1] in runs:
            _suspend(runs[at[:-1]], at[-1], runs[at])
    if runs and () not in runs:
        raise ValueError("the run itself has not begun")
    top = runs[()].messages if runs else []
    return [_check(message, index) for index, message in enumerate(top)]


def _check(message: JsonObject, index: int) -> JsonObject:
    """A message of the right form; any type is allowed, since the run may know types of its own."""
    return check_message(message, index, (), frozenset(_types(message)))


def _types(message: JsonObject) -> Iterator[str]:
    """The types of a message and of those that it holds of delegates."""
    stack: list[Any] = [message]
    while stack:
        value = stack.pop()
        if is_object(value):
            yield str(value.get("type"))
            stack += inner if value.get("type") == "suspended" and is_list(inner := value.get("context")) else ()


def _suspend(parent: _Run, of: str, inner: _Run) -> None:
    """Let what a delegate had reached stand in the run around it, unless its call is done."""
    if inner.call is not None and not parent.has_done(of):
        parent.messages.append({"type": "suspended", "of": of, "call": inner.call, "context": inner.messages})
