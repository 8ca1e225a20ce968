"""What each call of a run came to: worked out of what the run has left, when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..dataflow.computing.evaluator import Allowance, ComputingError, computed_value
from ..dataflow.expression import MISSING, Bound, Expression, evaluate
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import CALLS, Reference, ReferenceSyntax, call_index
from ..dataflow.template import template
from ..errors import OUTCOMES, ActumError, Outcome
from ..schema.json import JsonObject, is_object
from .approvals import Decisions
from .call import Call
from .context import Context
from .marks import Authored, Marks
from .message import OUTCOME, RETURNED, failed_of, is_record, is_skip, write_of
from .place import Place
from .provenance import NOBODY, UNKNOWN

State: TypeAlias = Literal["done", "failed", "unusable", "unknown", "not made"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAccount:
    """What one call came to.

    `arguments` are as it was carried out: with values in the place of references, and an approver's edits; of one that
    was not made, as they were authored. `state` says what became of it, `value` what it gave: its result, what
    its `_else` stands for it with, or what it returned where that is unusable. `by` is who carried it out, as in an
    `Origin`.
    """

    place: str
    """Its address in the run: `3.0`, for an item of an `_each` `3.0.17`."""
    tool: str
    arguments: JsonObject
    state: State
    value: Any = None
    error: ActumError | None = None
    by: str = UNKNOWN


@dataclass(frozen=True, slots=True)
class LiveCalls:
    """What only the run itself knows, by place: the calls that it has begun, with their values, and its failures."""

    made: dict[str, Call] = field(default_factory=dict[str, Call])
    failures: dict[str, tuple[ActumError, Outcome, Any]] = field(
        default_factory=dict[str, tuple[ActumError, Outcome, Any]]
    )


def accounts(
    context: Context, answers: Sequence[Authored], makers: Mapping[str, str], live: LiveCalls
) -> list[CallAccount]:
    """What the calls of a run came to, in the order of their places; of a call for every item, its items.

    Calls of delegates are of their own runs, and what only computes or orders is no call.
    """
    return _Accounts(context, answers, makers, live).all()


class _Accounts:
    def __init__(
        self, context: Context, answers: Sequence[Authored], makers: Mapping[str, str], live: LiveCalls
    ) -> None:
        self._messages, self._kinds = context.messages, context.data_kinds
        self._memory = context.memory()
        self._makers, self._live = makers, live
        marks = Marks.of(self._messages)
        self._answers = {one.number: one for one in (*answers, *marks.plans)}
        self._left = marks.left
        self._decisions = Decisions(self._messages)
        self._items: dict[tuple[int, int], set[int]] = {}
        for place in (*marks.left, *map(Place.parse, (*live.made, *live.failures))):
            if place.item is not None and place.index is not None:
                self._items.setdefault((place.answer, place.index), set()).add(place.item)
        self._known: dict[str, CallAccount] = {}

    def all(self) -> list[CallAccount]:
        for _, answer in sorted(self._answers.items()):
            for index, authored in enumerate(answer.calls):
                if not is_object(authored) or not authored.get("_tool"):
                    continue
                place = answer.place(index)
                own = Call(authored)
                items = sorted(self._items.get((place.answer, place.index or 0), ()))
                for one in (place.of_item(item) for item in items) if items else (place,):
                    if str(one) not in self._known:
                        self._known[str(one)] = self._account(one, own)
        return list(self._known.values())

    def _account(self, place: Place, authored: Call) -> CallAccount:
        of = str(place)
        left = [self._messages[at] for at in self._left.get(place, ())]
        state, value, error = self._came_to(of, left)
        call = self._live.made.get(of) or self._carried_out(of, left, authored, was_made=state != "not made")
        by = NOBODY if state == "not made" else self._makers.get(call.tool, UNKNOWN)
        if by not in (NOBODY, UNKNOWN) and (delegate := call.get("_delegate")) is not None:
            by = f"delegate {delegate}"
        arguments: JsonObject = exported(call.parameters)
        return CallAccount(place=of, tool=call.tool, arguments=arguments, state=state, value=value, error=error, by=by)

    def _came_to(self, of: str, left: Sequence[JsonObject]) -> tuple[State, Any, ActumError | None]:
        if any(is_skip(message) for message in left):
            return "not made", None, None
        results = [message for message in left if "_call" in message]
        error, outcome, returned = self._live.failures.get(of, (None, None, MISSING))
        if results:
            value, failure = self._value(results[-1]), failed_of(results[-1])
            if not failure:
                return "done", value, None
            return (
                outcome or _outcome(failure.get("outcome")),
                value,
                error or ActumError(str(failure.get("error") or failure.get("code"))),
            )
        if error is not None and outcome is not None:
            return outcome, None if returned is MISSING else returned, error
        if (message := next((one for one in reversed(left) if one.get("type") == "error"), None)) is not None:
            return _outcome(message.get(OUTCOME)), message.get(RETURNED), ActumError(str(message["error"]))
        return ("unknown" if of in self._live.made else "not made"), None, None

    def _value(self, message: JsonObject) -> Any:
        if is_record(message):
            return exported(message["data"]["result"]) if is_object(message["data"]) else None
        write = write_of(message, 0, self._kinds)
        if write is None or "_outputMethod" not in message:  # what an Activity returned as a message is the result
            return {key: value for key, value in message.items() if not key.startswith("_")}
        return exported(write.value)

    def _carried_out(self, of: str, left: Sequence[JsonObject], authored: Call, *, was_made: bool) -> Call:
        """The call as far as the context tells its values, where it was made before this run."""
        decision = self._decisions.by_place.get(of)
        own = next((Call(message["_call"]) for message in left if "_call" in message), authored)
        if decision is not None and decision.replacement is not None:
            own = Call(decision.replacement)
        if not was_made:
            return own
        try:
            found = template(own.parameters)
        except ReferenceSyntax:
            return own
        values = [self._read(one, Place.parse(of).answer, own.instance) for one in found.expressions]
        texts = [str(one) if value is MISSING else value for one, value in zip(found.expressions, values, strict=True)]
        meta = {key: value for key, value in own.items() if key.startswith("_")}
        return Call({**found.fill(texts), **meta}) if found.expressions else own

    def _read(self, expression: Expression, answer: int, instance: str | None) -> Any:
        """What an expression came to; MISSING where the context doesn't tell any more."""
        value = evaluate(expression, lambda one: self._held(one, answer, instance))
        if not isinstance(value, Bound):
            return value
        try:
            return computed_value(value.computed, value.values.__getitem__, Allowance())
        except ComputingError:
            return MISSING

    def _held(self, reference: Reference, answer: int, instance: str | None) -> Any:
        if reference.kind != CALLS:
            return self._memory.read(reference, instance)
        index, written = call_index(reference), self._answers.get(answer)
        if index is None or written is None:
            return MISSING
        known = self._known.get(str(place := written.place(index)))
        left = self._left.get(place)  # also of what only computes, and of the call for all items
        value = known.value if known is not None else self._value(self._messages[left[-1]]) if left else MISSING
        return MISSING if value is MISSING else Fold(value).read(reference.path[1:])


def _outcome(told: Any) -> Outcome:
    for one in OUTCOMES:
        if one == told:
            return one
    return "failed"
