"""Decisions on calls, and delegates that wait for one, as messages: a run that waits is data like any other.

`{"type": "approval", "of": "3.0", "call": …, "decision": "held" | "approve" | "deny", "reason"?, "as"?,
"shown"?, "takes"?}` is about call 0 of answer 3, which must be `call`; `as` is
what runs instead; `shown` is what would run when it was asked about, with its values, and what of the context
would cross: an approval holds for that and nothing else. Beside it stand its condition as it was authored, which had
come to true, in `tool` digests of how the tool was told, of its code and of its delegate, in `from` as what its
parameters were authored that are no literals, and in `derived` which of them a reader or an expression has made of
data. `takes` is the schema of the parameters that its tool takes. `"wants": "result"` says that whoever has begun the
run makes the call, and `"given": {"value": …}` beside an approval is what came of it.
`{"type": "suspended", "of": "3.0", "call": …, "context": […]}` is what the delegate of that call has left so far. A
model is shown neither, no scope lets them through, and no call can write them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast

from ..dataflow.expression import escape, template
from ..dataflow.reference import SIGIL, Reference, ReferenceSyntax
from ..errors import IdeaError, InvalidParameters, NotWaiting
from ..schema.json import MAX_WRITTEN_DEPTH, JsonObject, is_object, leaves_of, nests_within, with_texts
from ..schema.validator import Validator
from .call import ELSE, WHEN, Call
from .context import Context
from .message import DATA_KINDS, Write, write_of
from .readings import readings

__all__ = ["Asked", "Decision", "Pending", "Ruling", "decided", "opened", "pending"]

Ruling = Literal["held", "approve", "deny"]
PRIVATE = frozenset({"approval", "suspended"})
"""The types of these messages."""
GATES = "approvals"
"""The part of the state whose values open gates, between runs only (C7)."""


def is_gate(reference: Reference) -> bool:
    """Whether a reference names a gate."""
    return reference.kind == "state" and reference.path[:1] == (GATES,)


def opens_gate(write: Write) -> bool:
    """Whether a message gives a value to a gate."""
    return is_gate(write.reference) or (
        write.kind == "state" and not write.path and is_object(write.value) and GATES in write.value
    )


def is_decision(message: JsonObject, data_kinds: Collection[str] = DATA_KINDS) -> bool:
    """Whether a message, written between two runs, decides on a call or opens a gate, also in a delegate."""
    match message.get("type"):
        case "approval":
            return message["decision"] != "held"
        case "suspended":
            return bool(message["context"]) and is_decision(message["context"][-1], data_kinds)
        case _:
            write = write_of(message, 0, data_kinds) if "_call" not in message else None
            return write is not None and opens_gate(write)


_AS_AUTHORED = (WHEN, ELSE)
"""The members of a call that are shown as they were authored, beside its values."""


class Asked(Call):
    """A call as an approver is asked about it: with its values; its condition and its `_else` as they were authored.

    The condition has come to true. `sources` says as what each parameter that is not a literal was authored, by its
    path; `derived` are the paths whose values a reader or an expression has made of what calls have brought.
    """

    __slots__ = ("derived", "sources")
    sources: Mapping[str, str]
    derived: tuple[str, ...]

    @classmethod
    def about(cls, call: Call, authored: Call, derived: Iterable[str] = ()) -> Asked:
        """A `call` with its values, and as it was `authored`; for `derived` see the class."""
        question = cls({**call, **{key: authored[key] for key in _AS_AUTHORED if key in authored}})
        question.sources = {reading.at: reading.text for reading in readings(authored) if reading.at != WHEN}
        question.derived = tuple(derived)
        return question

    def shown(self, context: Iterable[JsonObject], seal: str = "") -> JsonObject:
        """What is recorded of a question: the call, the context that would cross, and what the call was made of.

        `seal` are digests of what would carry it out.
        """
        shown: JsonObject = {"call": dict(self), "context": list(context)}
        shown |= {"tool": seal} if seal else {}
        shown |= {"from": dict(self.sources)} if self.sources else {}
        return shown | ({"derived": list(self.derived)} if self.derived else {})


def reply_to(call: Mapping[str, Any], reply: Mapping[str, Any], *, has_values: bool = True) -> Call:
    """The call that an approver lets run, without its condition, which has been evaluated, and an unchanged `_else`.

    Where the call that was asked about `has_values`, what another takes over of these is data, whatever it says, and
    in a longer or shorter text, too: a reference in it is none (E1, L6).

    Raises:
        InvalidParameters: it isn't a call, or has another condition.
    """
    if WHEN in reply and (WHEN not in call or reply[WHEN] != call[WHEN]):
        raise InvalidParameters("its condition has been judged: leave it as it is, or out", path=WHEN)
    if not nests_within(reply, MAX_WRITTEN_DEPTH):
        raise InvalidParameters(f"it nests deeper than {MAX_WRITTEN_DEPTH}")
    unchanged = {key for key in _AS_AUTHORED if key in call and call[key] == reply.get(key)}
    instead = Call({key: value for key, value in reply.items() if key not in unchanged})
    if not has_values or instead == {key: value for key, value in call.items() if key not in unchanged}:
        return instead
    parameters = {key: value for key, value in call.items() if not key.startswith("_")}
    known = {sign for _, leaf in leaves_of(parameters) if isinstance(leaf, str) for sign in _SIGNS.findall(leaf)}
    literal = {
        key: with_texts(value, lambda text: escape(text) if _takes_over(text, known) else text)
        for key, value in instead.parameters.items()
    }
    return Call({**instead, **literal}) if known else instead


_SIGNS = re.compile(rf"{SIGIL}[\w.]*")


def _takes_over(text: str, known: Collection[str]) -> bool:
    """Whether a text names what values name, or the beginning of it, as where a text was cut."""
    named = set(_SIGNS.findall(text))
    return bool(named) and any(sign in text or any(map(sign.startswith, named)) for sign in known)


def with_else(replacement: Call, authored: Mapping[str, Any]) -> Call:
    """A call that runs in the place of another, with that one's `_else` unless it has its own."""
    return Call(replacement, **{ELSE: authored[ELSE]}) if ELSE in authored and ELSE not in replacement else replacement


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision on one call; `replacement` is the call that runs instead."""

    call: JsonObject
    ruling: Ruling
    reason: str = ""
    replacement: JsonObject | None = None
    shown: JsonObject | None = None
    takes: JsonObject | None = None
    wants: str = ""
    given: JsonObject | None = None
    """The result of the call under `value`, where whoever has begun the run has made it."""
    by: str = ""
    """Who has decided, and when; empty where that isn't known."""
    date: str = ""

    def __str__(self) -> str:
        """What was decided, by whom, when and why, as far as that is known."""
        by, why, at = f" by {self.by}", f" ({self.reason})", f", at {self.date}"
        parts = [part for part, value in ((by, self.by), (why, self.reason), (at, self.date)) if value]
        return _RULED[self.ruling] + "".join(parts)

    def is_about(self, call: Mapping[str, Any]) -> bool:
        """Whether it is about this call, or about the one that this call replaces."""
        return dict(call) in (self.call, self.replacement)

    def is_of(self, seal: str) -> bool:
        """Whether tool, code and delegate are the same as when it was asked about; unknown digests count as equal."""
        before = str((self.shown or {}).get("tool", "")).split(".")
        return all(old == new or not (old and new) for old, new in zip(before, seal.split("."), strict=False))

    def holds_for(self, call: Call, context: Iterable[JsonObject]) -> bool:
        """Whether this call with its values and this context are what was shown; true where that isn't recorded."""
        if self.shown is None:
            return True
        shown: Any = self.shown.get("call")
        values = {key: value for key, value in shown.items() if key not in _AS_AUTHORED} if is_object(shown) else shown
        return values == dict(call) and self.shown.get("context") == list(context)


class Decisions:
    """The decisions of a context by place, the last of each; and what its suspended delegates have left."""

    def __init__(self, messages: Iterable[JsonObject] = ()) -> None:
        self.by_place: dict[str, Decision] = {}
        """The last decision of each call."""
        self._suspended: dict[str, JsonObject] = {}
        for message in messages:
            self.add(message)

    def add(self, message: JsonObject) -> None:
        """Take in one message, if it is of these."""
        if message.get("type") == "approval":
            self.by_place[message["of"]] = Decision(
                call=message["call"],
                ruling=message["decision"],
                reason=message.get("reason", ""),
                replacement=message.get("as"),
                shown=message.get("shown"),
                takes=message.get("takes"),
                wants=message.get("wants", ""),
                given=message.get("given"),
                by=str(message.get(_DECIDER, "")),
                date=str(message.get(_DATE, "")),
            )
        elif message.get("type") == "suspended":
            self._suspended[message["of"]] = message

    def find(self, of: str, call: Mapping[str, Any]) -> Decision | None:
        """The decision on this call at this place; one on another call there doesn't count."""
        decision = self.by_place.get(of)
        return decision if decision is not None and decision.is_about(call) else None

    def suspended(self, of: str, call: Mapping[str, Any]) -> list[JsonObject] | None:
        """What the delegate of this call had left, None if it hasn't begun."""
        message = self._suspended.get(of)
        return message["context"] if message is not None and message["call"] == dict(call) else None

    def held(self) -> Iterator[tuple[str, Decision]]:
        """The calls that wait for a decision, by place."""
        return ((of, decision) for of, decision in self.by_place.items() if decision.ruling == "held")

    def delegates(self) -> Iterator[tuple[str, JsonObject]]:
        """The messages of suspended delegates, the last of each, by place."""
        return iter(self._suspended.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call that waits for a decision: `of` names it within its run (`3.0`, in a delegate `3.0/2.1`)."""

    of: str
    call: JsonObject
    """With its values, and its condition as it was authored, which has come to true."""
    crossing: tuple[JsonObject, ...] = ()
    """What of the context it would be given."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """As what its parameters that are no literals were authored, by their paths."""
    derived: tuple[str, ...] = ()
    """The places in it whose values a reader or an expression has made of what calls have brought."""
    delegates: tuple[str, ...] = ()
    """The calls that led to it, by tool."""
    takes: JsonObject | None = None
    """The schema of the parameters that its tool takes, where it is known."""
    wants_result: bool = False
    """Whether it waits for its result, from whoever has begun the run, and not for a decision."""


def pending(context: Iterable[JsonObject]) -> list[Pending]:
    """The calls of a run that wait for a decision, also in its delegates, in order."""
    return list(_pending(list(context), "", ()))


def made_elsewhere(context: Iterable[JsonObject]) -> set[str]:
    """The places of the calls that wait for their result, or have waited; in a delegate, that of the call of it."""
    decisions = Decisions(context)
    places = {of for of, message in decisions.delegates() if made_elsewhere(message["context"])}
    return places | {of for of, it in decisions.by_place.items() if it.wants == "result" or it.given is not None}


def _pending(messages: list[JsonObject], prefix: str, path: tuple[str, ...]) -> Iterator[Pending]:
    decisions = Decisions(messages)
    for of, decision in decisions.held():
        shown = decision.shown or {"call": decision.call, "context": []}
        yield Pending(
            of=prefix + of,
            call=shown["call"],
            crossing=tuple(shown["context"]),
            sources={str(at): str(text) for at, text in shown.get("from", {}).items()},
            derived=tuple(map(str, shown.get("derived", ()))),
            delegates=path,
            takes=decision.takes,
            wants_result=decision.wants == "result",
        )
    for of, message in decisions.delegates():
        inner = cast("list[JsonObject]", message["context"])
        yield from _pending(inner, f"{prefix}{of}/", (*path, str(message["call"].get("_tool"))))


def decided(
    context: Context | Iterable[JsonObject],
    of: str,
    ruling: Ruling,
    *,
    reason: str = "",
    replacement: Mapping[str, Any] | None = None,
    given: JsonObject | None = None,
    by: str = "",
    time: float | None = None,
) -> Context:
    """The context with a decision on one call of it; the run follows it when it is resumed.

    Args:
        context: what the run has left.
        of: the place of the call, as `pending` names it.
        ruling: "approve" or "deny".
        reason: why, for the model, where it is denied.
        replacement: the call that is to run instead, whole; None for the one that waits.
        given: holds the `value` that a call has come to which whoever has begun the run was to make.
        by: who has decided, for those who would decide later.
        time: when, in seconds since the epoch.

    Raises:
        IdeaError: no such call waits; it is neither approved nor denied; or its tool doesn't take what should run
            instead, and it still waits.
    """
    if ruling not in ("approve", "deny"):
        raise IdeaError(f"a call is decided on by 'approve' or 'deny', not by {str(ruling)[:40]!r}")

    def decide(messages: list[JsonObject], place: str) -> JsonObject:
        held = Decisions(messages).by_place.get(place)
        if held is not None and held.ruling != "held":
            raise NotWaiting(f"no call waits for a decision at {of!r}: it was {held}")
        if held is None:
            waiting = ", ".join(call.of for call in pending(messages)) or "none"
            raise NotWaiting(f"no call waits for a decision at {of!r}; waiting: {waiting}")
        if given is not None and held.wants != "result":
            raise IdeaError(f"{of} waits for a decision, and not for a result")
        if given is None and held.wants == "result" and ruling == "approve":
            raise IdeaError(f"{of} is made by whoever has begun the run, who gives its result: it can only be denied")
        instead = None if replacement is None else _replacement(of, held, replacement)
        message = approval(place, held.call, ruling, reason=reason, replacement=instead, shown=held.shown, given=given)
        message |= {_DECIDER: by} if by else {}
        message |= {} if time is None else {_DATE: str(datetime.fromtimestamp(int(time), UTC))}
        return message

    return _with(context, of, decide)


_RULED: Mapping[str, str] = {"approve": "approved", "deny": "denied", "held": "asked about"}
_DECIDER, _DATE = "_decider", "_date"
"""The marks of who has decided, and when."""


def _replacement(of: str, held: Decision, reply: Mapping[str, Any]) -> Call:
    """The call that is to run in the place of one that waits.

    Raises:
        IdeaError: it can't, and why.
    """
    try:
        shown = (held.shown or {}).get("call")
        instead = reply_to(held.call if shown is None else shown, reply, has_values=shown is not None)
    except InvalidParameters as error:
        raise IdeaError(f"{of}: {error.message}") from None
    if (complaint := _complaint(held, instead)) is not None:
        raise IdeaError(f"{of}: the tool doesn't take that: {complaint}")
    return with_else(instead, held.call)


def _complaint(held: Decision, replacement: Mapping[str, Any]) -> str | None:
    """Why the tool of a call doesn't take other parameters; what refers to values is judged when they are there."""
    parameters = {key: value for key, value in replacement.items() if not key.startswith("_")}
    if held.takes is None or replacement.get("_tool") != held.call.get("_tool") or "_with" in replacement:
        return None
    try:
        parsed = template(parameters)
    except ReferenceSyntax as error:
        return str(error)
    return None if parsed.expressions else Validator(held.takes).complaint(parsed.value)


def opened(context: Context | Iterable[JsonObject], gate: str, value: Any = True) -> Context:
    """The context with a value at a gate, such as `†state.approvals.budget`, in a delegate `3.0/†state.approvals.x`.

    Raises:
        IdeaError: it is not a gate, or no delegate waits there.
    """

    def open_gate(_messages: list[JsonObject], place: str) -> JsonObject:
        kind, _, path = place.removeprefix("†").partition(".approvals.")
        if kind != "state" or not path:
            raise IdeaError(f"{gate!r} is not a gate: gates are paths below †state.approvals")
        state: Any = value
        for name in reversed(path.split(".")):
            state = {name: state}
        return {"type": "state", "state": {"approvals": state}}

    return _with(context, gate, open_gate)


def _with(
    context: Context | Iterable[JsonObject], of: str, message: Callable[[list[JsonObject], str], JsonObject]
) -> Context:
    context = Context(context)
    return context.with_messages(_appended(context.messages, of, message))


def _appended(
    messages: list[JsonObject], of: str, message: Callable[[list[JsonObject], str], JsonObject]
) -> list[JsonObject]:
    """The messages with one more, in the context of the delegate that `of` leads to."""
    place, _, inner = of.partition("/")
    if not inner:
        return [*messages, message(messages, place)]
    delegate = dict(Decisions(messages).delegates()).get(place)
    if delegate is None:
        raise IdeaError(f"no delegate waits at {place!r}")
    return [*messages, {**delegate, "context": _appended(list(delegate["context"]), inner, message)}]


def approval(
    of: str,
    call: Mapping[str, Any],
    ruling: Ruling,
    *,
    reason: str = "",
    replacement: Mapping[str, Any] | None = None,
    shown: JsonObject | None = None,
    takes: JsonObject | None = None,
    wants: str = "",
    given: JsonObject | None = None,
) -> JsonObject:
    """A decision as a message."""
    instead = None if replacement is None else dict(replacement)
    optional = {"reason": reason, "shown": shown, "takes": takes, "wants": wants, "given": given, "as": instead}
    message: JsonObject = {"type": "approval", "of": of, "call": dict(call), "decision": ruling}
    return message | {key: value for key, value in optional.items() if value not in ("", None)}
