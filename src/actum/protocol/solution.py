"""What a request and a run give back: a Solution, the program a model wrote; a Result, what became of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from ..dataflow.computing.evaluator import Allowance, ComputingError, computed_value
from ..dataflow.expression import MISSING, Bound, Expression, evaluate, template
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import CALLS, Reference, ReferenceSyntax, call_index
from ..errors import OUTCOMES, ActumError, Outcome
from ..schema.drawn import Drawn
from ..schema.json import JsonObject, is_object
from ..schema.quoting import instead
from .applying import numbered_value
from .approvals import Decisions
from .call import Call, Place
from .context import Context
from .marks import Authored, Marks
from .message import OUTCOME, RETURNED, failed_of, is_record, is_skip, write_of
from .provenance import NOBODY, UNKNOWN, Origin, Provenance
from .usage import Usage

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
    """What only the live run knows, by place: the calls that it has begun, with their values, and its failures."""

    made: dict[str, Call] = field(default_factory=dict[str, Call])
    failures: dict[str, tuple[ActumError, Outcome, Any]] = field(
        default_factory=dict[str, tuple[ActumError, Outcome, Any]]
    )


def accounts(
    context: Context, answers: Sequence[Authored], makers: Mapping[str, str], live: LiveCalls
) -> list[CallAccount]:
    """What the calls of a run came to, in the order of their places; of a call for every item, its items.

    Calls of delegates are of their own runs, and what only computes or orders is not a call.
    """
    return _Accounts(context, answers, makers, live).all()


def left_value(message: JsonObject, data_kinds: Collection[str]) -> Any:
    """The value in a message that a call has left; of one that an Activity returned, the message."""
    if is_record(message):
        return exported(numbered_value(message))
    write = write_of(message, 0, data_kinds)
    if write is None or "_outputMethod" not in message:
        return {key: value for key, value in message.items() if not key.startswith("_")}
    return exported(write.value)


class _Accounts:
    def __init__(
        self, context: Context, answers: Sequence[Authored], makers: Mapping[str, str], live: LiveCalls
    ) -> None:
        self._messages, self._kinds = context.messages, context.data_kinds
        self._memory = context.memory()
        self._makers, self._live = makers, live
        marks = Marks.of(self._messages)
        self._answers = marks.with_earlier_attempts((*answers, *marks.plans), self._messages)
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
                call = Call(authored)
                items = sorted(self._items.get((place.answer, place.index or 0), ()))
                for leaf in map(place.of_item, items) if items else (place,):
                    if str(leaf) not in self._known:
                        self._known[str(leaf)] = self._account(leaf, call)
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
            value, failure = left_value(results[-1], self._kinds), failed_of(results[-1])
            if not failure:
                return "done", value, None
            return (
                outcome or _outcome(failure.get("outcome")),
                value,
                error or ActumError(str(failure.get("error") or failure.get("code"))),
            )
        if error is not None and outcome is not None:
            return outcome, None if returned is MISSING else returned, error
        errors = [message for message in left if message.get("type") == "error"]
        if errors:
            return _outcome(errors[-1].get(OUTCOME)), errors[-1].get(RETURNED), ActumError(str(errors[-1]["error"]))
        return ("unknown" if of in self._live.made else "not made"), None, None

    def _carried_out(self, of: str, left: Sequence[JsonObject], authored: Call, *, was_made: bool) -> Call:
        """The call with its values, as far as the context tells them, where it was made before this run."""
        decision = self._decisions.by_place.get(of)
        call = next((Call(message["_call"]) for message in left if "_call" in message), authored)
        if decision is not None and decision.replacement is not None:
            call = Call(decision.replacement)
        if not was_made:
            return call
        try:
            parsed = template(call.parameters)
        except ReferenceSyntax:
            return call
        values = [self._read(expression, Place.parse(of).answer, call.instance) for expression in parsed.expressions]
        pairs = zip(parsed.expressions, values, strict=True)
        texts = [str(expression) if value is MISSING else value for expression, value in pairs]
        meta = {key: value for key, value in call.items() if key.startswith("_")}
        return Call({**parsed.fill(texts), **meta}) if parsed.expressions else call

    def _read(self, expression: Expression, answer: int, instance: str | None) -> Any:
        """The value of an expression; MISSING where the context no longer tells."""
        value = evaluate(expression, lambda reference: self._lookup(reference, answer, instance))
        if not isinstance(value, Bound):
            return value
        try:
            return computed_value(value.computed, value.values.__getitem__, Allowance())
        except ComputingError:
            return MISSING

    def _lookup(self, reference: Reference, answer: int, instance: str | None) -> Any:
        if reference.kind != CALLS:
            return self._memory.read(reference, instance)
        index, written = call_index(reference), self._answers.get(answer)
        if index is None or written is None:
            return MISSING
        account = self._known.get(str(place := written.place(index)))
        if account is not None:
            value = account.value
        else:  # of what only computes, and of the call for all items
            left = self._left.get(place)
            value = left_value(self._messages[left[-1]], self._kinds) if left else MISSING
        return MISSING if value is MISSING else Fold(value).read(reference.path[1:])


def _outcome(mark: Any) -> Outcome:
    for outcome in OUTCOMES:
        if outcome == mark:
            return outcome
    return "failed"


T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution(Generic[T_co]):
    """One answer of a model. `calls` are as it wrote them; `errors` are about elements that aren't calls."""

    output: T_co
    calls: list[Call] = field(default_factory=list[Call])
    meta: JsonObject | None = None
    errors: list[ActumError] = field(default_factory=list[ActumError])
    instances: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)
    authored: Any = None
    """The output as it was written, its references unresolved."""
    start: int = 0
    """How many messages of the run's context it was asked with."""
    number: int = 0
    """Its number in that context: what the places of its calls begin with."""
    places: Mapping[int, Place] = field(default_factory=dict[int, Place])
    """The places of the calls that an earlier attempt of the answer had started, by index."""

    def to_dict(self) -> JsonObject:
        """The answer as a run keeps it: what was authored, and where it is in its run."""
        answer: JsonObject = {
            "meta": self.meta,
            "calls": [dict(call) for call in self.calls],
            "output": self.authored,
            "number": self.number,
        }
        places = {str(index): str(place) for index, place in self.places.items()}
        return answer | ({"places": places} if places else {})

    @property
    def by_instance(self) -> dict[str, list[Call]]:
        """The calls of each instance of the request; one that has none has an empty list."""
        by_instance: dict[str, list[Call]] = {instance: [] for instance in self.instances}
        for call in self.calls:
            if call.instance in by_instance:
                by_instance[call.instance].append(call)
        return by_instance


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanUse:
    """How a refined plan served a run: a `hit` needed no request, for one that was `filled` a model has read a text.

    One that was `left`, at the call `at`, became an ordinary run.
    """

    hash: str
    how: Literal["hit", "filled", "left"]
    at: str | None = None


_FOREIGN = {
    **dict.fromkeys(("data", "final_output"), "it is `result.output`"),
    **dict.fromkeys(("all_messages", "new_messages", "messages"), "`result.context` is all messages"),
}
"""Attributes of other libraries' results, and what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Drawn, Generic[T_co]):
    """The result of a run.

    `context` is everything it started with and wrote, fit for `resume`; `errors` the errors of calls and answers in the
    order they came up; `waiting` the gates that proposals wait for, as references. `makers` says of each tool that
    was called who carried it out. `not_undone` are the calls, as they were carried out, that a failed group could
    not undo.
    """

    output: T_co
    context: Context
    solutions: list[Solution[Any]] = field(default_factory=list[Solution[Any]], repr=False)
    usage: Usage = field(default_factory=Usage)
    errors: list[ActumError] = field(default_factory=list[ActumError])
    waiting: list[str] = field(default_factory=list[str])
    makers: dict[str, str] = field(default_factory=dict[str, str])
    not_undone: list[Call] = field(default_factory=list[Call])
    live: LiveCalls = field(default_factory=LiveCalls, repr=False, compare=False)
    """What only the run itself knows of its calls: what `calls` are made of, in addition to the context."""
    plan: PlanUse | None = None
    """The refined plan that has served it, None where none did."""
    notes: list[str] = field(default_factory=list[str])
    """What was said and had no effect: each setting that a model's provider isn't sent."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name[:1] == "_":  # Python itself asks for these: no hint
                raise AttributeError(name)
            hint = _FOREIGN.get(name) or instead(name, [key for key in dir(self) if key[:1] != "_"])
            raise AttributeError(f"Result has no {name!r}; {hint}")

    @property
    def calls(self) -> list[CallAccount]:
        """What each call came to, in the order of places, whether the run has ended well or not.

        Of a call for every item there are the items; a delegate's own calls are of its own run, and told by events.
        What an earlier attempt of an answer has made, and the answer doesn't repeat, comes behind its own calls. Of
        calls that were made before the run was resumed, arguments that an expression computes stand as they were
        written. It is worked out at every question.
        """
        return accounts(self.context, self._answers, self.makers, self.live)

    @property
    def _answers(self) -> list[Authored]:
        return [
            Authored(number=it.number, start=it.start, calls=it.calls, output=it.authored, places=it.places)
            for it in self.solutions
        ]

    def provenance(self, reference: str | None = None, instance: str | None = None) -> tuple[Origin, ...]:
        """Where what a reference names came from, the output without one: code or model, back to the inputs.

        Raises:
            MessageError: the text is not a reference, or there is no value.
        """
        provenance = Provenance(self.context, self._answers, self.makers)
        return (provenance.output(self.output),) if reference is None else provenance.of(reference, instance)
