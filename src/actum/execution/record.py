"""A run written down while it goes on, so that it goes on after a crash (L8): what is told, and how it is read back.

Each entry is JSON: `{"at": [places], …}` names the run by the places of the delegated calls that led to it, and one of
`began` (its context), `message` (appended), `inserted` (with `index`), `call` (of the answer that began at `start`),
`restarted` or `output` (of that answer). An entry is told before anything is built on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from ..protocol.approvals import Decisions
from ..protocol.message import check_message
from ..schema.json import JsonObject

Tell: TypeAlias = Callable[[JsonObject], None]
"""Takes one entry."""
_At: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Tells what one run does; nothing where nobody listens."""

    tell: Tell | None = None
    at: _At = ()

    def __bool__(self) -> bool:
        return self.tell is not None

    def __call__(self, **entry: Any) -> None:
        """Tell one entry."""
        if self.tell is not None:
            self.tell({"at": list(self.at), **entry})

    def below(self, place: str) -> Recorder:
        """The recorder of the delegate at a place."""
        return Recorder(self.tell, (*self.at, place))


@dataclass(slots=True)
class _Run:
    """One run as far as it has been told."""

    messages: list[JsonObject] = field(default_factory=list[Any])
    answers: dict[int, JsonObject] = field(default_factory=dict[int, Any])


def recovered(entries: Iterable[JsonObject]) -> list[JsonObject]:
    """The context that a run had come to, from what it told: fit to be resumed.

    Raises:
        MessageError: for what is no record.
    """
    runs: defaultdict[_At, _Run] = defaultdict(_Run)
    for entry in entries:
        _take(runs, tuple(cast("list[str]", entry["at"])), entry)
    for at in sorted(runs, key=len, reverse=True):
        messages = list(_standing(runs[at]))
        runs[at].messages = messages
        if at and at[:-1] in runs:
            _suspend(runs[at[:-1]], at[-1], messages)
    return [check_message(message, index, (), _kinds(message)) for index, message in enumerate(runs[()].messages)]


def _kinds(message: JsonObject) -> frozenset[str]:
    return frozenset({str(message.get("type"))})


def _take(runs: defaultdict[_At, _Run], at: _At, entry: JsonObject) -> None:
    if "began" in entry:
        runs[at] = _Run(list(entry["began"]))
        for inner in [other for other in runs if other[: len(at)] == at and other != at]:
            del runs[inner]
        return
    run = runs[at]
    if "inserted" in entry:
        run.messages.insert(entry["index"], entry["inserted"])
        run.answers.pop(entry["index"], None)
    elif "message" in entry:
        run.messages.append(entry["message"])
    else:
        _answer(run, entry)


def _answer(run: _Run, entry: JsonObject) -> None:
    start = entry["start"]
    if "restarted" in entry or "closed" in entry:
        run.answers.pop(start, None)
        return
    plan = run.answers.setdefault(start, {"type": "plan", "plan": []})
    if "call" in entry:
        plan["plan"].append(entry["call"])
    else:
        plan["output"] = entry["output"]


def _standing(run: _Run) -> Iterator[JsonObject]:
    """The messages of a run, with the answers under way as plans where they began."""
    for index, message in enumerate(run.messages):
        if index in run.answers:
            yield run.answers[index]
        yield message
    yield from (plan for start, plan in run.answers.items() if start >= len(run.messages))


def _suspend(parent: _Run, place: str, messages: list[JsonObject]) -> None:
    """Let what a delegate had come to stand in its parent, unless its call is done."""
    start, _, index = place.partition(".")
    if not index.isdecimal():
        return  # a call for one item of a list: which one it is, stands nowhere yet, so its delegate begins anew
    plan = parent.answers.get(int(start))
    if plan is None and int(start) < len(parent.messages):
        plan = parent.messages[int(start)]
    calls: Any = plan.get("plan", []) if plan is not None else []
    if int(index) < len(calls):
        call = cast("JsonObject", calls[int(index)])
        decision = Decisions(parent.messages).find(place, call)
        call = decision.replacement if decision is not None and decision.replacement is not None else call
        done = sum(message.get("_call") == call for message in parent.messages[int(start) :])
        if calls[: int(index)].count(call) >= done:  # of equal calls, the first are those that are done
            parent.messages.append({"type": "suspended", "of": place, "call": call, "context": messages})
