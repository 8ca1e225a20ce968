"""From examples of one shape to a plan: each call and the output explained, and what has to hold (R9-R15, R22, R23)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ..dataflow.dollars import as_it_is
from ..dataflow.reference import print_path
from ..errors import RefineError
from ..protocol.call import EXPECT
from ..protocol.tool import ANONYMOUS
from ..schema.json import Json, JsonObject, is_list, is_object, leaves_of, with_texts
from ..sources.environment import secrets_of
from .author import Author, declared_at
from .conditions import MadeWhen, separating
from .examples import Example
from .explaining import Explaining, values_within
from .explanation import Explanation, Leaf
from .guards import guard_of_input, guards_of_results
from .holes import Holes, TextReading
from .repeating import repeated
from .shapes import ExampleShape, SharedCall
from .terms import KnownValue, Terms, keys_within, known_within, value_key

_CALL = re.compile(r"(?<!†)†calls\.(\d+)")
_LONGEST = 1_500
"""How many characters a condition has, about."""
_THEN: JsonObject = {"_then": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedPlan:
    """The plan of a shape, with each of its values explained. `calls` are its elements, `output` as in a plan."""

    calls: Sequence[JsonObject]
    output: Json
    found: Sequence[Explanation]
    readings: Sequence[TextReading] = ()
    """What a model is asked to read."""

    @property
    def is_open(self) -> bool:
        """Whether a value isn't known, or a person has to settle it."""
        return any(one.how in {"question", "hole"} for one in self.found)

    @property
    def is_judged(self) -> bool:
        """Whether a model is asked for what can't be proved by bytes."""
        return any(one.how == "judged" for one in self.found)

    def read_in(self, shape: ExampleShape, known: Derivation) -> list[Example]:
        """The examples with what a reader would have answered it there; `known` derives of all of them."""
        found: list[Example] = []
        for at, example in enumerate(shape.examples):
            read = [one.recorded(shape, at, known.known(at)) for one in self.readings]
            found.append(replace(example, record=[*example.record, *read]))
        return found

    @property
    def plan(self) -> JsonObject:
        """The plan message."""
        return as_it_is({"type": "plan", "plan": list(self.calls), "output": self.output})


@dataclass(slots=True)
class PlannedCall:
    """A call of the plan, by the numbers of slots, and what has to hold before it."""

    number: int
    call: JsonObject
    expects: Sequence[str] = ()
    reads: bool = True

    @property
    def needs(self) -> set[int]:
        """The slots that it reads."""
        return slots_in([self.call, *self.expects]) - {self.number}


@dataclass(frozen=True, slots=True)
class Settled:
    """What a person has settled: constants and references by their leaves, and what he looks over."""

    confirmed: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: Collection[str] = ()
    fills: bool | None = False
    """Whether a model may be asked for what nothing explains and no text holds, None for neither (R18)."""


@dataclass
class Derivation:
    """Derives the plan of a shape, with what a person has settled.

    `others` are examples of other shapes: what a read shows of the difference is a question (R15).
    """

    shape: ExampleShape
    author: Author
    settled: Settled = field(default_factory=Settled)
    others: Sequence[Example] = ()
    found: list[Explanation] = field(default_factory=list[Explanation])

    def plan(self) -> DerivedPlan:
        """The plan.

        Raises:
            RefineError: a value was taken from data, or there is no condition or list for a call.
        """
        elements = [self._element(number, slot) for number, slot in enumerate(self.shape.slots)]
        for element in elements:
            self._check_judged(element)
        before = len(self.found)
        authored = [self._authored(example, example.authored_output, example.last) for example in self.shape.examples]
        everything = [number for number, slot in enumerate(self.shape.slots) if slot.how != "now and then"]
        place = Leaf("output", everything)
        output = self._explaining.value(place, [example.output for example in self.shape.examples], authored)
        expects = [condition for one in self.found[before:] for condition in one.expects]
        holes = self._explaining.holes
        used = {one.group for one in self.found if one.how in {"read", "judged"}}
        readings = [] if holes is None else list(holes.readings(used))
        whole = self._written(_with_readers(elements, readings), output, [*self._of_reads(), *expects])
        return replace(whole, readings=readings)

    @cached_property
    def _explaining(self) -> Explaining:
        inputs = [example.input for example in self.shape.examples]
        made = [step.arguments for slot in self.shape.slots for step in slot.calls[0]]
        wanted = keys_within([*made, self.shape.examples[0].output])
        secrets = self.author.secrets_of(inputs).union(secrets_of())
        called = [slot.first.tool for slot in self.shape.slots]
        fills = self.settled.fills
        holes = None if fills is None else Holes(called, self._sources, self.author, secrets, fills)
        return Explaining(
            Terms(self._sources, self.author.numbers, self.author.has_said, wanted),
            self.author,
            self.settled.confirmed,
            values_within(inputs),
            self._read,
            self.found,
            secrets,
            holes,
        )

    def known(self, at: int) -> Mapping[str, Any]:
        """What was known in one of the examples, by the text of its reference."""
        return {one.reference: one.values[at] for one in self._sources}

    @cached_property
    def _sources(self) -> list[KnownValue]:
        found = list(known_within("input", [example.input for example in self.shape.examples]))
        for number, slot in enumerate(self.shape.slots):
            found += slot.known(number)
        return found

    @cached_property
    def _numbers(self) -> Sequence[Mapping[str, int]]:
        """Of each example the slots of its calls, by their places."""
        return [
            {
                place: number
                for number, slot in enumerate(self.shape.slots)
                if slot.how == "once"
                for place in slot.calls[at][0].places
            }
            for at in range(len(self.shape.examples))
        ]

    def _authored(self, example: Any, value: Any, answer: int) -> Any:
        at = next(at for at, one in enumerate(self.shape.examples) if one is example)
        return example.numbered(value, answer, self._numbers[at])

    def _read(self, place: Leaf) -> Iterator[Any]:
        for number in place.allowed:
            for calls in self.shape.slots[number].calls:
                yield from values_within([one.value for one in calls])

    def _allowed(self, number: int) -> list[int]:
        """The slots whose results the models had seen when they wrote this one, or referred to."""
        return [
            other
            for other, slot in enumerate(self.shape.slots)
            if other != number and slot.how != "now and then" and self._is_seen(other, number)
        ]

    def _is_seen(self, earlier: int, later: int) -> bool:
        seen = False
        columns = zip(self.shape.examples, self.shape.slots[earlier].calls, self.shape.slots[later].calls, strict=True)
        for example, before, after in columns:
            for one in before:
                for other in after:
                    seen = True
                    if one.answer >= other.answer and not example.reads_of(other) & set(one.places):
                        return False
        return seen

    def _element(self, number: int, slot: SharedCall) -> PlannedCall:
        if slot.how == "each":
            return self._repeated(number, slot)
        if slot.how == "now and then":
            return self._optional(number, slot)
        if slot.first.is_latent:
            self.found.append(self._latent(number, slot))
        before = len(self.found)
        parameters: JsonObject = {}
        for name in slot.first.arguments:
            place = Leaf(f"{number}.{name}", self._allowed(number), slot.first.tool, number, (name,))
            steps = [calls[0] for calls in slot.calls]
            pairs = zip(self.shape.examples, steps, strict=True)
            authored = [self._authored(one, step.authored.get(name), step.answer) for one, step in pairs]
            parameters[name] = self._explaining.value(place, [step.arguments[name] for step in steps], authored)
        expects = [condition for one in self.found[before:] for condition in one.expects]
        delegate = {"_delegate": ANONYMOUS} if slot.first.is_latent else {}
        return PlannedCall(number, {"_tool": slot.first.tool, **parameters, **delegate}, expects, slot.first.reads)

    def _latent(self, number: int, slot: SharedCall) -> Explanation:
        """A call that the models carried out themselves: one is asked for it alone (R18)."""
        why = f"a model carries {slot.first.tool} out: no proof by bytes"
        return Explanation(
            leaf=f"{number}", text=slot.first.tool, how="judged" if self.settled.fills else "hole", why=why
        )

    def _check_judged(self, element: PlannedCall) -> None:
        """What a model says feeds no effect, unless a person has confirmed that leaf (R19).

        Raises:
            RefineError: it would.
        """
        judged = {number for number, slot in enumerate(self.shape.slots) if slot.first.is_latent}
        judged |= slots_in([one.group for one in self.found if one.how == "judged"])
        for path, value in () if element.reads else leaves_of(element.call):
            leaf = f"{element.number}{print_path(path)}"
            if slots_in(value) & judged and leaf not in self.settled.confirmed:
                told = f"{element.call['_tool']} has effects, and a model would say {leaf} of it: --confirm {leaf}"
                raise RefineError(told, code="hole_with_effects", path=leaf)

    def _repeated(self, number: int, slot: SharedCall) -> PlannedCall:
        """One call for the items of a list (R14)."""
        if slot.first.is_latent:
            raise RefineError(f"{slot.first.tool}: a model carries it out for each item", code="other_shape")
        found = repeated(number, slot, self._allowed(number), self._explaining)
        self.found += found.notes
        call = {"_tool": slot.first.tool, "_each": found.items, **found.parameters}
        return PlannedCall(number, call, found.expects, slot.first.reads)

    def _optional(self, number: int, slot: SharedCall) -> PlannedCall:
        """One call under a condition (R15)."""
        present = [at for at, calls in enumerate(slot.calls) if calls]
        block = [at for at, one in enumerate(self.shape.slots) if one.how == "now and then"]
        condition = self._condition(block[0])
        own = self._present
        own.found = []
        element = own._element(number, own.shape.slots[number])
        if any(slots_in([text]) & set(block) for text in element.expects):
            raise RefineError(
                f"{slot.first.tool}: what it is called with can't be told apart among {len(present)} examples",
                code="unknown_condition",
            )
        self.found += own.found
        self.found.append(condition.explained(f"{number}._when"))
        guarded = [f"not ({condition.group}) or ({text})" for text in element.expects]
        call = {"_tool": slot.first.tool, "_when": f"{{{condition.group}}}", **element.call}
        return PlannedCall(number, call, [*condition.expects, *guarded], slot.first.reads)

    @cached_property
    def _present(self) -> Derivation:
        """The derivation of those examples that have the optional calls."""
        block = next(slot for slot in self.shape.slots if slot.how == "now and then")
        own = self.shape.of([at for at, calls in enumerate(block.calls) if calls])
        slots = [replace(slot, how="once") if slot.how == "now and then" else slot for slot in own.slots]
        return Derivation(replace(own, slots=slots), self.author, replace(self.settled, fills=None))

    def _condition(self, number: int) -> MadeWhen:
        allowed = {-1, *self._allowed(number)}
        sources = [one for one in self._sources if one.step in allowed]
        slot = self.shape.slots[number]
        return separating(sources, [bool(calls) for calls in slot.calls], self.author, slot.first.tool)

    def _of_reads(self) -> Iterator[str]:
        """What of each read was the same in all examples, as far as it may be listed (R6)."""
        has_effects = bool(self.shape.effects)
        for source in self._sources:
            slot = None if source.step < 0 else self.shape.slots[source.step]
            value: Any = source.values[0]
            if slot is None or slot.how != "once" or not slot.first.reads or is_object(value):
                continue
            if (is_list(value) and value) or len(set(source.keys)) > 1:
                continue
            if self._may_be_listed(source, slot) or source.text in self.settled.confirmed:
                yield f"{source.reference} == {value!r}"
            elif (has_effects or self._differs(source, slot)) and source.text not in self.settled.ignored:
                self.found.append(
                    Explanation(
                        leaf=source.text,
                        text=value,
                        how="question",
                        why=f"read, and the same in all: --expect {source.text} or --ignore {source.text}",
                    )
                )

    def _differs(self, source: KnownValue, slot: SharedCall) -> bool:
        """Whether the same read showed something else where the calls were others."""
        own = source.text.removeprefix(f"calls.{source.step}")
        shown = [one.value for other in self.others for one in other.steps if one.kind == slot.first.kind]
        return any(
            held.text == own and held.keys[0] != source.keys[0] for value in shown for held in known_within("", [value])
        )

    def _may_be_listed(self, source: KnownValue, slot: SharedCall) -> bool:
        value: Any = source.values[0]
        if value is None or isinstance(value, bool) or value == []:
            return True
        tool = self.author.tools.get(slot.first.tool)
        path = source.text.removeprefix(f"calls.{source.step}").removeprefix(".").split(".")
        declared = declared_at(tool.result, path) if tool is not None else {}
        options: list[Any] = declared.get("enum") or []
        is_said = bool(self.shape.effects) and self.author.has_said(value)
        return is_said or any(value_key(one) == value_key(value) for one in options)

    def _written(self, elements: Sequence[PlannedCall], output: Json, expects: Sequence[str]) -> DerivedPlan:
        """The elements each behind what it reads: reads and what is expected first (R23)."""
        calls: list[JsonObject] = []
        order: dict[int, int] = {}
        later: list[str | JsonObject] = [*guard_of_input([one.input for one in self.shape.examples], self.author)]
        later += [*guards_of_results(self.shape.slots, self.author), *dict.fromkeys(expects)]
        told: set[str] = set()

        def expect(conditions: Sequence[str | JsonObject]) -> None:
            calls.extend(one for one in conditions if is_object(one))
            new = [one for one in conditions if isinstance(one, str) and one not in told]
            calls.extend({EXPECT: f"{{{joined}}}"} for joined in _joined(new))
            told.update(new)

        ordered = list(_in_order(elements))
        for element in ordered:
            if not element.reads:
                ready = [one for one in later if slots_in([one]) <= order.keys()]
                expect(ready)
                later = [one for one in later if one not in ready]
            expect(element.expects)
            if not element.reads and calls and calls[-1] != _THEN:
                calls.append(_THEN)
            order[element.number] = len(calls)
            calls.append(element.call)
            if not element.reads and element is not ordered[-1]:
                calls.append(_THEN)
        expect(later)
        return DerivedPlan(calls=renumbered(calls, order), output=renumbered(output, order), found=self.found)


def _with_readers(elements: Sequence[PlannedCall], readings: Sequence[TextReading]) -> list[PlannedCall]:
    """The elements, each reader before the first that needs what it reads."""
    found = list(elements)
    for one in readings:
        own = PlannedCall(one.slot, one.call)
        found.insert(next((at for at, other in enumerate(found) if one.slot in other.needs), len(found)), own)
    return found


def _in_order(elements: Sequence[PlannedCall]) -> Iterator[PlannedCall]:
    """Reads between two effects by what they read, effects where they are."""
    waiting, known = list(elements), set[int]()
    while waiting:
        ends = next((at for at, one in enumerate(waiting) if not one.reads), len(waiting))
        reach = waiting[: ends or 1]
        found = next((one for one in reach if one.needs <= known), None)
        if found is None:
            raise RefineError("the calls of the examples read one another in a circle", code="other_shape")
        waiting.remove(found)
        known.add(found.number)
        yield found


def _joined(conditions: Sequence[str]) -> Iterator[str]:
    """Conditions as few that aren't too long."""
    held: list[str] = []
    for one in conditions:
        if held and sum(map(len, held)) + len(one) > _LONGEST:
            yield " and ".join(held)
            held = []
        held.append(f"({one})" if " or " in one and len(conditions) > 1 else one)
    if held:
        yield " and ".join(held)


def slots_in(value: Any) -> set[int]:
    """The numbers of the calls that a value refers to."""
    texts = (one for _, one in leaves_of(value) if isinstance(one, str))
    return {int(number) for text in texts for number in _CALL.findall(text)}


def renumbered(value: Any, order: Mapping[int, int]) -> Any:
    """A value whose references name slots, with these named by their places in the plan."""
    return with_texts(value, partial(_CALL.sub, lambda match: f"†calls.{order[int(match[1])]}"))
