"""Derives a plan from examples of one shape: explains its calls and output, and expects what they rest on (R9-R15)."""

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
from .explaining import Explaining
from .explanation import Explanation, Leaf
from .guards import guard_of_input, guards_of_results
from .holes import Holes, TextReading
from .repeating import repeated
from .shapes import ExampleShape, SharedCall
from .terms import KnownValue, Terms, keys_within, known_within, value_key

_CALL = re.compile(r"(?<!†)†calls\.(\d+)")
_LONGEST = 1_500
"""About how many characters a condition may have."""
_THEN: JsonObject = {"_then": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedPlan:
    """The plan of a shape, with each of its values explained. `calls` are its elements, `output` as in a plan."""

    calls: Sequence[JsonObject]
    output: Json
    notes: Sequence[Explanation]
    readings: Sequence[TextReading] = ()
    """What a model is asked to read."""

    @property
    def is_open(self) -> bool:
        """Whether a value is unknown, or a person has to settle it."""
        return any(note.how in {"question", "hole"} for note in self.notes)

    @property
    def is_judged(self) -> bool:
        """Whether a model is asked for what can't be proved by bytes."""
        return any(note.how == "judged" for note in self.notes)

    def read_in(self, shape: ExampleShape, derivation: Derivation) -> list[Example]:
        """The examples with what a reader would have answered the plan; `derivation` is that of all of them."""
        examples: list[Example] = []
        for at, example in enumerate(shape.examples):
            answers = [reading.recorded(shape, at, derivation.known_in(at)) for reading in self.readings]
            examples.append(replace(example, record=[*example.record, *answers]))
        return examples

    @property
    def plan(self) -> JsonObject:
        """The plan message."""
        return as_it_is({"type": "plan", "plan": list(self.calls), "output": self.output})


@dataclass(slots=True)
class PlannedCall:
    """A call of the plan, whose references name slots, and what has to hold before it."""

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
    """What a person has settled: constants and references by their leaves, and the leaves to ignore."""

    confirmed: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: Collection[str] = ()
    fills: bool | None = False
    """Whether a model may be asked for what no term gives and no text holds (R18); None asks no reader either."""


@dataclass
class Derivation:
    """Derives the plan of a shape, with what a person has settled.

    `others` are examples of other shapes: a read whose result differs in them is a question (R15).
    """

    shape: ExampleShape
    author: Author
    settled: Settled = field(default_factory=Settled)
    others: Sequence[Example] = ()
    notes: list[Explanation] = field(default_factory=list[Explanation])

    def plan(self) -> DerivedPlan:
        """Derive the plan.

        Raises:
            RefineError: a value was taken from data, or there is no condition or list for a call.
        """
        elements = [self._element(number, slot) for number, slot in enumerate(self.shape.slots)]
        for element in elements:
            self._check_judged(element)
        before = len(self.notes)
        examples = enumerate(self.shape.examples)
        authored = [self._authored(at, example.authored_output, example.last) for at, example in examples]
        everything = [number for number, slot in enumerate(self.shape.slots) if slot.how != "now and then"]
        place = Leaf("output", everything)
        output = self._explaining.value(place, [example.output for example in self.shape.examples], authored)
        expects = [condition for note in self.notes[before:] for condition in note.expects]
        holes = self._explaining.holes
        used = {note.group for note in self.notes if note.how in {"read", "judged"}}
        readings = [] if holes is None else list(holes.readings(used))
        whole = self._written(_with_readers(elements, readings), output, [*self._of_reads(), *expects])
        return replace(whole, readings=readings)

    @cached_property
    def _explaining(self) -> Explaining:
        inputs = [example.input for example in self.shape.examples]
        arguments = [step.arguments for slot in self.shape.slots for step in slot.calls[0]]
        wanted = keys_within([*arguments, self.shape.examples[0].output])
        secrets = self.author.secrets_of(inputs).union(secrets_of())
        called = [slot.first.tool for slot in self.shape.slots]
        fills = self.settled.fills
        holes = None if fills is None else Holes(called, self._sources, self.author, secrets, fills)
        return Explaining(
            Terms(self._sources, self.author.numbers, self.author.has_said, wanted),
            self.author,
            self.settled.confirmed,
            [value for _, value in leaves_of(inputs)],
            self._read,
            self.notes,
            secrets,
            holes,
        )

    def known_in(self, at: int) -> Mapping[str, Any]:
        """The known values of an example, by their references."""
        return {source.reference: source.values[at] for source in self._sources}

    @cached_property
    def _sources(self) -> list[KnownValue]:
        sources = list(known_within("input", [example.input for example in self.shape.examples]))
        for number, slot in enumerate(self.shape.slots):
            sources += slot.known(number)
        return sources

    @cached_property
    def _numbers(self) -> Sequence[Mapping[str, int]]:
        """For each example, the slots of its calls by their places."""
        return [
            {
                place: number
                for number, slot in enumerate(self.shape.slots)
                if slot.how == "once"
                for place in slot.calls[at][0].places
            }
            for at in range(len(self.shape.examples))
        ]

    def _authored(self, at: int, value: Any, answer: int) -> Any:
        return self.shape.examples[at].numbered(value, answer, self._numbers[at])

    def _read(self, place: Leaf) -> Iterator[Any]:
        for number in place.allowed:
            values = [step.value for calls in self.shape.slots[number].calls for step in calls]
            yield from (value for _, value in leaves_of(values))

    def _allowed(self, number: int) -> list[int]:
        """The slots whose results all models had seen, or referred to, when they wrote this call."""
        return [
            earlier
            for earlier, slot in enumerate(self.shape.slots)
            if earlier != number and slot.how != "now and then" and self._is_seen(earlier, number)
        ]

    def _is_seen(self, earlier: int, later: int) -> bool:
        columns = zip(self.shape.examples, self.shape.slots[earlier].calls, self.shape.slots[later].calls, strict=True)
        pairs = [(example, read, step) for example, before, after in columns for read in before for step in after]
        return bool(pairs) and all(
            read.answer < step.answer or example.reads_of(step) & set(read.places) for example, read, step in pairs
        )

    def _element(self, number: int, slot: SharedCall) -> PlannedCall:
        if slot.how == "each":
            return self._repeated(number, slot)
        if slot.how == "now and then":
            return self._optional(number, slot)
        if slot.first.is_latent:
            how = "judged" if self.settled.fills else "hole"
            why = f"a model carries {slot.first.tool} out: no proof by bytes"
            self.notes.append(Explanation(leaf=f"{number}", text=slot.first.tool, how=how, why=why))
        start = len(self.notes)
        parameters: JsonObject = {}
        for name in slot.first.arguments:
            place = Leaf(f"{number}.{name}", self._allowed(number), slot.first.tool, number, (name,))
            steps = [calls[0] for calls in slot.calls]
            authored = [self._authored(at, step.authored.get(name), step.answer) for at, step in enumerate(steps)]
            parameters[name] = self._explaining.value(place, [step.arguments[name] for step in steps], authored)
        expects = [condition for note in self.notes[start:] for condition in note.expects]
        delegate = {"_delegate": ANONYMOUS} if slot.first.is_latent else {}
        return PlannedCall(number, {"_tool": slot.first.tool, **parameters, **delegate}, expects, slot.first.reads)

    def _check_judged(self, element: PlannedCall) -> None:
        """Refuse to feed an effect with what a model says, unless a person has confirmed that leaf (R19).

        Raises:
            RefineError: it would be fed so.
        """
        judged = {number for number, slot in enumerate(self.shape.slots) if slot.first.is_latent}
        judged |= slots_in([note.group for note in self.notes if note.how == "judged"])
        for path, value in () if element.reads else leaves_of(element.call):
            leaf = f"{element.number}{print_path(path)}"
            if slots_in(value) & judged and leaf not in self.settled.confirmed:
                problem = f"{element.call['_tool']} has effects, and a model would say {leaf} of it: --confirm {leaf}"
                raise RefineError(problem, code="hole_with_effects", path=leaf)

    def _repeated(self, number: int, slot: SharedCall) -> PlannedCall:
        """One call for the items of a list (R14)."""
        if slot.first.is_latent:
            raise RefineError(f"{slot.first.tool}: a model carries it out for each item", code="other_shape")
        each = repeated(number, slot, self._allowed(number), self._explaining)
        self.notes += each.notes
        call = {"_tool": slot.first.tool, "_each": each.items, **each.parameters}
        return PlannedCall(number, call, each.expects, slot.first.reads)

    def _optional(self, number: int, slot: SharedCall) -> PlannedCall:
        """One call under a condition (R15)."""
        block = [at for at, other in enumerate(self.shape.slots) if other.how == "now and then"]
        condition = self._condition(block[0])
        inner = self._present
        inner.notes.clear()
        element = inner._element(number, inner.shape.slots[number])
        if any(slots_in([text]) & set(block) for text in element.expects):
            raise RefineError(
                f"{slot.first.tool}: what it is called with can't be told apart among "
                f"{len(inner.shape.examples)} examples",
                code="unknown_condition",
            )
        self.notes += inner.notes
        self.notes.append(condition.explained(f"{number}._when"))
        guarded = [f"not ({condition.group}) or ({text})" for text in element.expects]
        call = {"_tool": slot.first.tool, "_when": f"{{{condition.group}}}", **element.call}
        return PlannedCall(number, call, [*condition.expects, *guarded], slot.first.reads)

    @cached_property
    def _present(self) -> Derivation:
        """The derivation from the examples that have the optional calls."""
        block = next(slot for slot in self.shape.slots if slot.how == "now and then")
        present = self.shape.of([at for at, calls in enumerate(block.calls) if calls])
        slots = [replace(slot, how="once") if slot.how == "now and then" else slot for slot in present.slots]
        return Derivation(replace(present, slots=slots), self.author, replace(self.settled, fills=None))

    def _condition(self, number: int) -> MadeWhen:
        allowed = {-1, *self._allowed(number)}
        sources = [source for source in self._sources if source.step in allowed]
        slot = self.shape.slots[number]
        return separating(sources, [bool(calls) for calls in slot.calls], self.author, slot.first.tool)

    def _of_reads(self) -> Iterator[str]:
        """Conditions on the parts of reads that were the same in all examples and may be listed (R6)."""
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
                self.notes.append(
                    Explanation(
                        leaf=source.text,
                        text=value,
                        how="question",
                        why=f"read, and the same in all: --expect {source.text} or --ignore {source.text}",
                    )
                )

    def _differs(self, source: KnownValue, slot: SharedCall) -> bool:
        """Whether the same read showed something else in examples with other calls."""
        path = source.text.removeprefix(f"calls.{source.step}")
        shown = [step.value for example in self.others for step in example.steps if step.kind == slot.first.kind]
        return any(
            known.text == path and known.keys[0] != source.keys[0]
            for value in shown
            for known in known_within("", [value])
        )

    def _may_be_listed(self, source: KnownValue, slot: SharedCall) -> bool:
        value: Any = source.values[0]
        if value is None or isinstance(value, bool) or value == []:
            return True
        tool = self.author.tools.get(slot.first.tool)
        path = source.text.removeprefix(f"calls.{source.step}").removeprefix(".").split(".")
        declared = declared_at(tool.result, path) if tool is not None else {}
        options: list[Any] = declared.get("enum") or []
        is_written = bool(self.shape.effects) and self.author.has_said(value)
        return is_written or any(value_key(option) == value_key(value) for option in options)

    def _written(self, elements: Sequence[PlannedCall], output: Json, expects: Sequence[str]) -> DerivedPlan:
        """The elements, each after what it reads: reads and expectations come first (R23)."""
        calls: list[JsonObject] = []
        order: dict[int, int] = {}
        inputs = [example.input for example in self.shape.examples]
        later: list[str | JsonObject] = [*guard_of_input(inputs, self.author)]
        later += [*guards_of_results(self.shape.slots, self.author), *dict.fromkeys(expects)]
        written: set[str] = set()

        def expect(conditions: Sequence[str | JsonObject]) -> None:
            calls.extend(condition for condition in conditions if is_object(condition))
            new = [condition for condition in conditions if isinstance(condition, str) and condition not in written]
            calls.extend({EXPECT: f"{{{joined}}}"} for joined in _joined(new))
            written.update(new)

        ordered = list(_in_order(elements))
        for element in ordered:
            if not element.reads:
                ready = [condition for condition in later if slots_in([condition]) <= order.keys()]
                expect(ready)
                later = [condition for condition in later if condition not in ready]
            expect(element.expects)
            if not element.reads and calls and calls[-1] != _THEN:
                calls.append(_THEN)
            order[element.number] = len(calls)
            calls.append(element.call)
            if not element.reads and element is not ordered[-1]:
                calls.append(_THEN)
        expect(later)
        return DerivedPlan(calls=renumbered(calls, order), output=renumbered(output, order), notes=self.notes)


def _with_readers(elements: Sequence[PlannedCall], readings: Sequence[TextReading]) -> list[PlannedCall]:
    """The elements, each reader before the first that needs what it reads."""
    ordered = list(elements)
    for reading in readings:
        reader = PlannedCall(reading.slot, reading.call)
        at = next((at for at, element in enumerate(ordered) if reading.slot in element.needs), len(ordered))
        ordered.insert(at, reader)
    return ordered


def _in_order(elements: Sequence[PlannedCall]) -> Iterator[PlannedCall]:
    """Sorts the reads between two effects by what they read; effects keep their places."""
    waiting, done = list(elements), set[int]()
    while waiting:
        ends = next((at for at, element in enumerate(waiting) if not element.reads), len(waiting))
        reach = waiting[: ends or 1]
        element = next((element for element in reach if element.needs <= done), None)
        if element is None:
            raise RefineError("the calls of the examples read one another in a circle", code="other_shape")
        waiting.remove(element)
        done.add(element.number)
        yield element


def _joined(conditions: Sequence[str]) -> Iterator[str]:
    """Joins conditions into as few as can be that aren't too long."""
    group: list[str] = []
    for condition in conditions:
        if group and sum(map(len, group)) + len(condition) > _LONGEST:
            yield " and ".join(group)
            group = []
        group.append(f"({condition})" if " or " in condition and len(conditions) > 1 else condition)
    if group:
        yield " and ".join(group)


def slots_in(value: Any) -> set[int]:
    """The numbers of the calls that a value refers to."""
    texts = (text for _, text in leaves_of(value) if isinstance(text, str))
    return {int(number) for text in texts for number in _CALL.findall(text)}


def renumbered(value: Any, order: Mapping[int, int]) -> Any:
    """A value whose references name slots, renamed to their places in the plan."""
    return with_texts(value, partial(_CALL.sub, lambda match: f"†calls.{order[int(match[1])]}"))
