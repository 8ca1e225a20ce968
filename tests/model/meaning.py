"""What a context and the answers of a model come to: the protocol, told as slowly and plainly as it can be.

It knows no time. It decides one element after the other, in any order, until nothing is left to decide; what depends
on what is all that it knows of order. Nothing here comes from the code that carries plans out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, TypeAlias

from actum.dataflow.computing.evaluator import Allowance, ComputingError, value_of
from actum.dataflow.computing.text import Computed
from actum.dataflow.expression import Each, Expression, First, parse, references
from actum.dataflow.reference import Reference
from actum.dataflow.template import Template, template
from actum.schema.json import is_list, is_object
from actum.schema.validator import Validator

from .values import END, NOTHING, Json, Write, folded, meets, member, nested, plain, read, written

GATES = Reference("state", ("approvals",))
ANY: Any = object()
"""Whatever the item is."""


class End(Enum):
    """How an element ends, or what becomes of what it reads. `GONE`: it waits for what a skipped call was to write;
    `BAD`: it is all there, and what is computed of it comes to nothing."""

    OPEN = auto()
    DONE = auto()
    SKIPPED = auto()
    HELD = auto()
    DEAD = auto()
    GONE = auto()
    BAD = auto()
    FAILED = auto()


Look: TypeAlias = tuple[End, Any]
OPEN, DONE, SKIPPED, FAILED = (End.OPEN, None), (End.DONE, None), (End.SKIPPED, None), (End.FAILED, None)
_WORST = (End.SKIPPED, End.OPEN, End.HELD, End.DEAD, End.GONE, End.FAILED, End.BAD)
"""What decides over a call that reads several: a skipped call at once, the others when all is known (C7, C10)."""
_BEST = (End.FAILED, End.GONE, End.DEAD)


_MISFIT = "invalid_parameters"


class Unsaid(Exception):
    """The protocol leaves open what comes of it. The element's index, -1 for the output."""


class Cyclic(Unsaid):
    """These elements wait for each other."""


class Failure(Exception):
    """A call that fails as it is carried out."""


@dataclass(frozen=True)
class World:
    """All that a run is given beside its context."""

    tools: Mapping[str, Json]
    carry: Callable[[str, Json], Any]
    """What the Activity of a tool makes of its arguments; it may fail."""
    approve: Callable[[str, Json], Any]
    """True, a reason to deny, or other arguments."""
    delegates: Mapping[str, Json] = field(default_factory=dict[str, Json])
    replies: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    """What the model answers in delegates, by their name; after these, that it gives up."""


@dataclass(frozen=True)
class Tool:
    """What the protocol reads of a tool's schema (T1)."""

    name: str
    schema: Json

    def said(self, key: str, default: Any = None) -> Any:
        """What its author fixes."""
        found = self.schema.get("properties", {}).get(key, self.schema.get(key, default))
        return found.get("const", default) if is_object(found) else found

    @property
    def output(self) -> Any:
        return self.schema.get("properties", {}).get("_output", self.schema.get("_output"))

    @property
    def is_explicit(self) -> bool:
        """Whether an Activity carries it out; all others here have one of their name (A1, D13)."""
        return self.said("_delegate") is None or bool(self.said("_activity"))

    @property
    def is_ordered(self) -> bool:
        return self.said("_effects") == "ordered"

    @property
    def is_read(self) -> bool:
        return self.said("_effects") == "none"

    @property
    def parameters(self) -> Json:
        own = {key: one for key, one in self.schema.get("properties", {}).items() if not key.startswith("_")}
        return {"type": "object", "properties": own, "required": self.schema.get("required", [])}


@dataclass(frozen=True)
class Made:
    """A call that is carried out: when, those of these places have ended; `crossing` is what its scopes let through."""

    place: str
    tool: str
    arguments: Json
    after: frozenset[str]
    crossing: Json
    is_explicit: bool


@dataclass(frozen=True)
class Shown:
    """What a request shows in substance."""

    of: str
    """The place of the call that it is made for, empty for the planner's own."""
    tool: str
    blocks: tuple[tuple[Any, ...], ...]
    """Results with their numbers, errors and skipped calls, in the order of the calls (M9)."""
    data: Json
    """The folded values by kind (M7)."""
    is_loose: bool


@dataclass
class Told:
    """What a run and its delegates have come to."""

    made: list[Made] = field(default_factory=list[Made])
    requests: list[Shown] = field(default_factory=list[Shown])


class Run:
    """One run: its context and answers, one after the other, until one is delivered or there are none left."""

    def __init__(
        self,
        world: World,
        context: Sequence[Json],
        answers: Sequence[Json],
        told: Told | None = None,
        of: str = "",
        tool: str = "",
    ) -> None:
        self.world = world
        self.context = context
        self.answers = iter(answers)
        self.told = Told() if told is None else told
        self.of = of
        self.tool = tool
        self.writes = [one for message in context if (one := written(message)) is not None]
        self.tools = {name: Tool(name, schema) for name, schema in world.tools.items()}
        for message in context:
            if message["type"] == "tool":
                self.tools |= {name: Tool(name, schema) for name, schema in message["tool"].items()}
        self.blocks: list[tuple[Any, ...]] = []
        self.results: dict[int, Any] = {}
        self.left: list[Json] = []
        self.number = 0
        self.written = 0
        """How many values calls have left."""
        self.output: Any = NOTHING
        self.failing: set[int] = set()
        """The calls of answers of which any has failed, by their `n`."""
        self.is_loose = False
        """Whether what is shown depends on when calls end that nothing waits for (C8)."""

    def turn(self, said: Json, answers: Sequence[Json]) -> Any:
        """The output of the next turn of a conversation (M4)."""
        self.context = [*self.context, said]
        self.answers, self.output = iter(answers), NOTHING
        return self.go()

    def go(self) -> Any:
        """The output."""
        last: Any = None
        while self.output is NOTHING:
            self._ask()
            written = self.written
            given = next(self.answers, END)
            answer = Answer(self, given)
            answer.settle()
            if answer.failures:
                self.failing |= {call["n"] for call in given["calls"] if "n" in call}
            self.number += 1
            calls = Counter(map(repr, given["calls"]))
            if self.output is NOTHING and last == (calls, self.written):
                raise Unsaid(-1)  # it goes round in circles (L4)
            last = (calls, written)
        return self.output

    def _ask(self) -> None:
        kinds = {one.kind for one in self.writes}
        instances = dict.fromkeys(message.get("_instance") for message in self.context)
        data: Json = {}
        for instance in instances | {None: None}:
            for kind in kinds:
                if instance is None and (value := folded(self.writes, kind, instance)) is not NOTHING:
                    data[kind] = plain(value)
        self.told.requests.append(Shown(self.of, self.tool, tuple(self.blocks), data, self.is_loose))

    def show(self, kind: str, element: Json | None, value: Any = None, own: Any = NOTHING) -> None:
        """Let the next request show what has become of a call; `own` is its value where that isn't what is shown."""
        call = None if element is None else named(element)
        if kind == "result":
            number = len(self.results)
            self.results[number] = value if own is NOTHING else own
            self.blocks.append((kind, number, call, value))
        else:
            self.blocks.append((kind, call))

    def leave(self, place: str, what: str, value: Any, write: Write | None = None, instance: str | None = None) -> None:
        """Note the message that a call leaves."""
        found: Json = {"_of": place, "what": what, "value": value}
        if write is not None:
            self.writes.append(write)
            found |= {"path": str(Reference(write.kind, write.path)), "method": write.method}
        self.written += what in {"data", "result"}
        self.left.append(found | ({} if instance is None else {"_instance": instance}))


class Answer:
    """One answer: its elements, decided one by one; then what becomes of its output."""

    def __init__(self, run: Run, answer: Json) -> None:
        self.run = run
        self.elements: list[Any] = answer["calls"]
        self.output = None if answer["output"] is None else template(answer["output"])
        self.tools = [self._tool(one) for one in self.elements]
        self.paths = [self._path(one, tool) for one, tool in zip(self.elements, self.tools, strict=True)]
        self.ends: dict[int, Look] = {}
        self.own: dict[int, list[Write]] = {}
        """What the calls write, by index."""
        self.made: dict[int, list[str]] = {}
        """The places of the calls that are carried out, by index."""
        self.impossible: set[int] = set()
        """Those that were refused on arrival."""
        self.refused: set[int] = set()
        """Those that were refused, or an item of them, when all that they refer to was there."""
        self.behind: dict[int, set[int]] = {}
        """The elements that decide over when one is carried out, by index."""
        self.code = ""
        """The kind of the failure that an `_else` is worked out for."""
        self.unhelped: set[int] = set()
        """Those that an `_else` waited for in vain."""
        self.outcomes: dict[tuple[int, int | None], Look] = {}
        """What has come of the calls that were carried out, by index and item."""
        self.partly: dict[int, list[tuple[int, Json, Any]]] = {}
        """The items that have succeeded of calls of which others have failed."""

    def settle(self) -> None:
        """Decide all of it, and leave in its run what comes of it."""
        left = list(range(len(self.elements)))
        while left:
            still = [index for index in left if not self._decide(index)]
            if len(still) == len(left):
                raise Cyclic(*still)
            left = still
        is_withheld, output = bool(self.withheld_by), self._delivered()  # before what it leaves is of the run
        if self.output is None:
            self._check_waited()
        for index in range(len(self.elements)):
            self._leave(index)
        if output[0] is End.DONE:
            self.run.output = output[1]
        elif self.output is not None and not is_withheld:
            self.run.leave(str(self.run.number), "error", None)
            self.run.show("error", None)

    def _check_waited(self) -> None:
        """Whether the next request comes only when all calls have ended, also those that nothing waits for (C8)."""
        last_then = max((at for at in range(len(self.elements)) if not self._is_call(at)), default=-1)
        done = [index for index, (end, _) in self.ends.items() if end is End.DONE]
        awaited = {at for index in done for at in self.behind[index]}
        for index in (self.made.keys() | self.refused) - awaited - set(range(last_then)):
            tool = self.tools[index]
            if tool is None or self._has_result(index) or self.paths[index] is not None or tool.is_ordered:
                continue
            if self.ends[index][0] is End.FAILED:
                raise Unsaid(index)
            self.run.is_loose = True

    # What its elements are

    def _tool(self, element: Json) -> Tool | None:
        return self.run.tools.get(element.get("_tool", ""))

    def _is_call(self, index: int) -> bool:
        return not self.elements[index].keys() & {"_then", "_expect"}

    def _has_result(self, index: int) -> bool:
        tool = self.tools[index]
        return tool is None or tool.output is not None or tool.said("_delegate") is not None

    def _path(self, element: Json, tool: Tool | None) -> Expression | None:
        text = (tool.said("_outputPath") if tool is not None else None) or element.get("_outputPath")
        return None if text is None else parse(text)

    def _may_write(self, index: int) -> list[Reference]:
        path = self.paths[index] if index >= 0 else None
        return [] if path is None or self.tools[index] is None else list(references(path))

    def _method(self, index: int) -> str:
        tool = self.tools[index]
        return self.elements[index].get("_outputMethod") or (tool and tool.said("_outputMethod")) or "set"

    def _instance(self, index: int) -> str | None:
        tool = self.tools[index] if 0 <= index < len(self.elements) else None
        return None if tool is None else self.elements[index].get("_instance", tool.said("_instance"))

    def _own(self, index: int) -> tuple[Template | None, Template | None, Template]:
        """Its condition, its list and what it holds beside them, as templates."""
        element = self.elements[index]
        parameters = {key: one for key, one in element.items() if not key.startswith("_")}
        when, each = element.get("_when"), element.get("_each")
        return (
            None if when is None else template(when),
            None if each is None else template(each),
            template(element.get("_expect", element.get("_value", parameters))),
        )

    def _scopes(self, index: int) -> list[Reference]:
        tool = self.tools[index]
        if tool is None:
            return []
        named: list[str] = self.elements[index].get("_scopes") or tool.said("_scopes") or []
        return [next(references(parse(f"†{one}"))) for one in named]

    # How they end

    def _decide(self, index: int) -> bool:
        self.behind[index] = set()
        end = self._end(index)
        if end[0] is End.SKIPPED:
            self.behind[index] &= self.ends.keys()  # what is not known yet had no say
        if end[0] is not End.OPEN:
            self.ends[index] = end
        if end[0] is End.DONE and self.paths[index] is not None:
            self.own[index] = self._written(index, end[1])
        return end[0] is not End.OPEN

    def _end(self, index: int) -> Look:
        element = self.elements[index]
        after = [self._passed(index, other) for other in self._before(index)]
        if "_then" in element:
            return _all(after)
        if "_expect" in element:
            end = self._expected(index)
            return end if end[0] in {End.OPEN, End.FAILED} else _all([*after, end])
        if "_value" not in element and self.tools[index] is None:
            return FAILED  # refused: nobody offers such a tool (C2)
        when, each, own = self._own(index)
        if any(self._is_impossible(one, index) for part in (when, each, own) if part for one in part.expressions):
            self.impossible.add(index)
            return FAILED
        is_by_item = when is not None and each is not None and _reads_item(when)
        if when is not None and not is_by_item:
            ready, condition = self._filled(when, index)
            end = _all([*after, (ready, condition)])
            if end[0] is End.BAD or (end[0] is End.DONE and not isinstance(condition, bool)):
                return self._otherwise(index, NOTHING, _MISFIT)
            if end[0] is not End.DONE:
                return end
            if not condition:
                return SKIPPED
            after = []  # they have passed
        parts = [one for one in (when if is_by_item else None, each, own) if one is not None]
        read = [self.look(one, index, ANY) for part in parts for one in part.expressions]
        ready = _all([*after, *read, *(self._scope(one, index) for one in self._scopes(index))])
        if ready[0] is End.BAD:
            return self._otherwise(index, NOTHING, _MISFIT)
        if ready[0] is not End.DONE:
            return ready
        if each is None:
            return self._one(index, own, NOTHING)
        return self._each(index, each, when if is_by_item else None, own)

    def _expected(self, index: int) -> Look:
        """An `_expect`, which is judged when what it reads is there; what isn't so has failed (C16)."""
        expression = template(self.elements[index]["_expect"])
        if any(self._is_impossible(one, index) for one in expression.expressions):
            self.impossible.add(index)
            return FAILED
        end, value = self._filled(expression, index)
        read_by = [one for own in expression.expressions for one in references(own)]
        if any(self.look(one, index)[0] is End.SKIPPED for one in read_by):
            return FAILED
        return (end, None) if end in {End.OPEN, End.HELD} else DONE if end is End.DONE and value is True else FAILED

    def _is_impossible(self, expression: Expression, index: int) -> bool:
        """Whether it is refused on arrival: there can be nothing there (O6, O10, O11)."""
        match expression:
            case First(options=options):
                return all(self._is_impossible(one, index) for one in options)
            case Reference(kind="results") if self.run.is_loose:
                raise Unsaid(index)
            case Reference(kind="results", path=path):
                return not path or path[0] not in self.run.results
            case Reference(kind="calls", path=(int() as at, *_)):
                return at == index or (at < index and not self._is_call(at))
            case Reference():
                return False
            case _:
                parts = expression.parts if isinstance(expression, Each) else expression.references
                return any(self._is_impossible(one, index) for one in parts)

    def _before(self, index: int) -> Iterator[int]:
        """What it comes after: all before the last `_then`; ordered, all ordered ones before it (C11, T14)."""
        tool = self.tools[index]
        thens = [at for at in range(index) if not self._is_call(at)]
        for at in range(index):
            other = self.tools[at]
            are_ordered = tool is not None and other is not None and tool.is_ordered and other.is_ordered
            if "_then" in self.elements[index] or (thens and at <= thens[-1]) or are_ordered:
                yield at

    def _passed(self, index: int, other: int) -> Look:
        self.behind[index].add(other)
        match self.ends.get(other, OPEN)[0]:
            case End.DONE | End.SKIPPED | End.GONE:
                return DONE
            case End.DEAD:
                return FAILED
            case end:
                return end, None

    def _one(self, index: int, own: Template, item: Any, number: int | None = None) -> Look:
        """What a call comes to that has all it refers to, or the call for an item."""
        end, value = self._filled(own, index, item)
        if end is End.DONE and "_value" not in self.elements[index]:
            if (index, number) not in self.outcomes:
                self.outcomes[index, number] = self._carried(index, value, number)
            end, value = self.outcomes[index, number]
        return (end, value) if end in {End.DONE, End.FAILED} else self._otherwise(index, item, value or _MISFIT)

    def _carried(self, index: int, arguments: Json, number: int | None) -> Look:
        """What comes of the call when it is ready: `BAD` where its `_else` stands for that (C3, L6, A4, C14)."""
        tool = self.tools[index]
        assert tool is not None
        approved = self.run.world.approve(tool.name, arguments)
        if isinstance(approved, str):
            self.refused.add(index)
            return FAILED
        arguments = arguments if approved is True else approved
        if Validator(tool.parameters).complaint(arguments) is not None:
            self.refused.add(index)
            return End.BAD, _MISFIT
        place = f"{self.run.of}{self.run.number}.{index}" + ("" if number is None else f".{number}")
        crossing = self._crossing(index)
        self.made.setdefault(index, []).append(place)
        after = frozenset(place for at in self._all_behind(index) for place in self.made.get(at, []))
        self.run.told.made.append(Made(place, tool.name, arguments, after, crossing, tool.is_explicit))
        try:
            value = self._delegated(tool, arguments, index, place, crossing)
        except Failure:
            return End.BAD, "activity"
        misfits = tool.output is not None and Validator(tool.output).complaint(value) is not None
        return (End.BAD, "invalid_result") if misfits else (End.DONE, value)

    def _otherwise(self, index: int, item: Any, code: str) -> Look:
        """What its `_else` gives, where it says one and that is there; else the failure counts (C14)."""
        element = self.elements[index]
        if "_else" not in element:
            return FAILED
        own, self.code = template(element["_else"]), code
        end, value = self._filled(own, index, item)
        if end not in {End.DONE, End.OPEN}:
            self.unhelped |= {at for one in own.expressions for at in self._giving(one)}
        return (end, value) if end in {End.DONE, End.OPEN} else FAILED

    def _all_behind(self, index: int) -> set[int]:
        found: set[int] = set()
        left = {index}
        while left:
            left = {other for at in left for other in self.behind.get(at, ())} - found
            found |= left
        return found

    def _delegated(self, tool: Tool, arguments: Json, index: int, place: str, crossing: Json) -> Any:
        """What its delegate makes of it, or its Activity (D1, D4, D5)."""
        name, world = tool.said("_delegate"), self.run.world
        if tool.is_explicit:
            takes_scopes = "_scopes" in tool.schema.get("properties", {})
            return world.carry(tool.name, arguments | {"crossing": crossing} if takes_scopes else arguments)
        idea = world.delegates.get(name, {"context": []})
        context = [one for one in idea["context"] if one["type"] != "input"]
        given = {
            kind: value for one in idea["context"] if one["type"] == "input" for kind, value in one["input"].items()
        }
        context += [{"type": "data", "kind": kind, "data": value} for kind, value in crossing.items()]
        sub = Run(
            replace(world, tools={name: world.tools[name] for name in idea.get("config", {}).get("tools", [])}),
            [*context, {"type": "input", "input": given | arguments}],
            world.replies.get(tool.name, []),
            self.run.told,
            f"{place}/",
            tool.name,
        )
        return sub.go()

    def _each(self, index: int, each: Template, when: Template | None, own: Template) -> Look:
        _, items = self._filled(each, index)
        if not is_list(items):
            return self._otherwise(index, NOTHING, _MISFIT)
        tool = self.tools[index]
        wanted: list[bool] = []
        for item in items:
            _, condition = (End.DONE, True) if when is None else self._filled(when, index, item)
            if not isinstance(condition, bool):
                return FAILED
            wanted.append(condition)
        done: list[tuple[int, Json, Any]] = []
        has_failed = is_open = False
        for number, item in enumerate(items):
            if not wanted[number] or ((has_failed or is_open) and tool is not None and tool.is_ordered):
                continue
            end, result = self._one(index, own, item, number)
            has_failed, is_open = has_failed or end is End.FAILED, is_open or end is End.OPEN
            if end is End.DONE:
                done.append((number, self.elements[index], result))
        if is_open:
            return OPEN
        if has_failed:
            self.partly[index] = done
            return FAILED
        values = {number: value for number, _, value in done}
        return End.DONE, [values.get(number) for number in range(len(items))]

    # What they read

    def _filled(self, own: Template, index: int, item: Any = NOTHING) -> Look:
        """A value with what it refers to in place."""
        looks = [self.look(one, index, item) for one in own.expressions]
        end, _ = _all(looks)
        return (end, own.fill([plain(value) for _, value in looks])) if end is End.DONE else (end, None)

    def look(self, expression: Expression, index: int, item: Any = NOTHING) -> Look:
        """What becomes of what an element reads."""
        match expression:
            case First(options=options):
                return self._first(options, index, item)
            case Each(parts=parts):
                return _all([self.look(one, index, item) for one in parts])
            case Computed(references=read_by):
                looks = {one: self._in_computed(one, index, item) for one in read_by}
                end, _ = _all(list(looks.values()))
                if end is not End.DONE or (item is ANY and any(one.kind == "each" for one in read_by)):
                    return end, None
                try:
                    values = {one: plain(value) for one, (_, value) in looks.items()}
                    return End.DONE, value_of(expression, values.__getitem__, Allowance())
                except ComputingError:
                    return End.BAD, None
            case Reference(kind="error"):
                return End.DONE, self.code
            case Reference(kind="each", path=path):
                found = DONE if item is ANY else (End.DONE, member(item, path))
                return (End.DEAD, None) if found[1] is NOTHING else found
            case Reference(kind="results") if self.run.is_loose:
                raise Unsaid(index)
            case Reference(kind="results", path=(int() as number, *path)):
                return self._there(member(self.run.results.get(number, NOTHING), tuple(path)))
            case Reference(kind="calls", path=path):
                return self._left_by(index, path)
            case Reference():
                return self._at(expression, index)

    def _there(self, value: Any) -> Look:
        return (End.DEAD, None) if value is NOTHING else (End.DONE, value)

    def _first(self, options: Sequence[Expression], index: int, item: Any) -> Look:
        """The first that exists; the next one counts once it can't be filled any more (O5)."""
        found: list[Look] = []
        for one in options:
            look = self.look(one, index, item)
            if look[0] in {End.DONE, End.OPEN, End.HELD}:
                return look
            found.append(look)
        if all(look[0] is End.SKIPPED for look in found):
            return SKIPPED
        ends = [End.GONE if look[0] is End.SKIPPED else look[0] for look in found]
        return next(end for end in _BEST if end in ends), None

    def _in_computed(self, one: Reference, index: int, item: Any) -> Look:
        """A skipped call is null to what is computed (C10)."""
        look = self.look(one, index, item)
        return DONE if look[0] is End.SKIPPED else look

    def _left_by(self, index: int, path: tuple[Any, ...]) -> Look:
        """`†calls.N` and deeper (O6)."""
        at = path[0] if path else None
        if not isinstance(at, int) or at >= len(self.elements) or not self._is_call(at):
            return End.DEAD, None
        self.behind.setdefault(index, set()).add(at)
        end, value = self.ends.get(at, OPEN)
        match end:
            case End.DEAD | End.FAILED:
                return FAILED
            case End.SKIPPED | End.GONE:
                return SKIPPED
            case End.DONE:
                return self._there(member(value, path[1:]))
            case _:
                return end, None

    def _at(self, place: Reference, index: int) -> Look:
        """A path of the context: what calls listed before leave there, else what the first behind them does (O8)."""
        instance = self._instance(index)
        writers = [at for at in self._writers(place, instance) if at != index]
        before = [at for at in writers if index < 0 or at < index]
        for at in before:
            self.behind.setdefault(index, set()).add(at)
            if self.ends.get(at, OPEN)[0] in {End.OPEN, End.HELD}:
                return self.ends.get(at, OPEN)[0], None
        value = read(self._visible(index), place, instance)
        if value is not NOTHING:
            return End.DONE, value
        if GATES.covers(place):
            return End.HELD, None
        return self._behind(place, index, instance, writers)

    def _behind(self, place: Reference, index: int, instance: str | None, writers: list[int]) -> Look:
        later = [at for at in writers if 0 <= index < at]
        if any(_is_piece(place, one) for at in later for one in self._may_write(at)):
            if not all(_is_piece(place, one) for at in later for one in self._may_write(at) if meets(place, one)):
                raise Unsaid(index)
            self.behind[index].update(later)
            if any(self.ends.get(at, OPEN)[0] is End.OPEN for at in later):
                return OPEN
            writes = [*self._visible(index), *(one for at in later for one in self.own.get(at, []))]
            value = read(writes, place, instance)
            if value is not NOTHING:
                return End.DONE, value
        for at in later:
            self.behind[index].add(at)
            end, _ = self.ends.get(at, OPEN)
            if end in {End.OPEN, End.HELD}:
                return end, None
            value = read([*self._visible(index), *self.own.get(at, [])], place, instance)
            if value is not NOTHING:
                return End.DONE, value
        ends = {self.ends[at][0] for at in writers}
        if ends & {End.FAILED, End.DEAD} or any(meets(place, one) for one in self._may_write(index)):
            return FAILED  # what it waits for failed, or is itself (P1)
        return (End.GONE if ends else End.DEAD), None

    def _writers(self, place: Reference, instance: str | None) -> list[int]:
        """The calls that may write there as the instance sees it, in their order."""
        return [
            at
            for at in range(len(self.elements))
            if self._instance(at) in {None, instance} and any(meets(place, one) for one in self._may_write(at))
        ]

    def _visible(self, index: int, also: Sequence[int] = ()) -> list[Write]:
        """What an element sees: what there was, and the writes of those listed before it."""
        last = len(self.elements) if index < 0 else index
        own = [one for at in sorted(self.own) if at < last or at in also for one in self.own[at]]
        return [*self.run.writes, *own]

    # What crosses

    def _scope(self, scope: Reference, index: int) -> Look:
        """A scope is a read of what calls listed before write inside it (S8)."""
        for at in self._writers(scope, self._instance(index)):
            if at >= index:
                continue
            self.behind[index].add(at)
            end, _ = self.ends.get(at, OPEN)
            if end in {End.OPEN, End.HELD}:
                return end, None
            if end in {End.FAILED, End.DEAD} and any(one.covers(scope) for one in self._may_write(at)):
                if at in self.impossible:
                    raise Unsaid(index)
                return FAILED
        return DONE

    def _crossing(self, index: int) -> Json:
        """The folded values that its scopes let through, by kind (S1, S5, S6)."""
        instance = self._instance(index)
        referred = self._referred(index)
        writes = self._visible(index, referred)
        found: Json = {}
        for scope in self._scopes(index):
            value = read(writes, scope, instance)
            if value is not NOTHING:
                part = [Write("", None, scope.path, "set", plain(value))]
                whole = [Write("", None, (), "set", found[scope.kind])] if scope.kind in found else []
                found[scope.kind] = plain(folded([*whole, *part], "", None))
        return found

    def _referred(self, index: int) -> list[int]:
        """The calls that it refers to, by number or by what they write, wherever they are listed (S8)."""
        read_by = [one for part in self._own(index) if part for each in part.expressions for one in references(each)]
        numbers = {one.path[0] for one in read_by if one.kind == "calls" and one.path}
        return [
            at
            for at in range(len(self.elements))
            if at in numbers or any(meets(one, write) for one in read_by for write in self._may_write(at))
        ]

    # What comes of it

    def _leave(self, index: int) -> None:
        """Leave its messages, and what the next request shows of it (M6, M9)."""
        run, element = self.run, self.elements[index]
        end, value = self.ends[index]
        place, instance = f"{run.number}.{index}", self._instance(index)
        if "_then" in element:
            return
        if "_expect" in element and end is End.DONE:
            run.leave(place, "record", None)
        elif end in {End.SKIPPED, End.GONE}:
            run.leave(place, "skipped", True)
            if "_when" in element:  # else an alternative that was not taken, which nobody needs to know
                run.show("skipped", element)
        elif index in self.failures:
            run.leave(place, "error", None)
            run.show("error", element)
            for number, call, result in self.partly.get(index, []):
                if self._has_result(index):
                    run.leave(f"{place}.{number}", "result", result, instance=instance)
                    run.show("result", call, result)
        elif end is End.DONE and index in self.own:
            for write in self.own[index]:
                run.leave(place, "data", nested(write.path, write.value), write, instance)
        elif end is End.DONE and not self._has_result(index):
            run.leave(place, "record", value)
            run.show("result", element, "done", value)
        elif end is End.DONE:
            run.leave(place, "result", value, instance=instance)
            run.show("result", element, value)

    def _written(self, index: int, value: Any) -> list[Write]:
        path = self.paths[index]
        assert path is not None
        chosen = list(references(path.options[0] if isinstance(path, First) else path))
        return [Write(one.kind, self._instance(index), one.path, self._method(index), value) for one in chosen]

    @property
    def failures(self) -> set[int]:
        """Those that the model is told of; not of what only reads and nothing waits for (C8)."""
        failed = {index for index, (end, _) in self.ends.items() if end in {End.FAILED, End.DEAD}}
        own = {at for at in failed if "_then" not in self.elements[at]}
        return {at for at in own if not self._is_unmissed(at)}

    def _is_unmissed(self, index: int) -> bool:
        tool = self.tools[index]
        return (
            tool is not None
            and tool.is_read
            and not self._has_result(index)
            and index in self.made.keys() - self.refused
        )

    @property
    def withheld_by(self) -> set[int]:
        """The failures beside which an output is not delivered: all but those that an alternative makes up for (O9)."""
        failed = self.failures
        excused = ({at for one in self._firsts() for at in self._giving(one)} & failed) - self.unhelped
        causes = {
            at: {cause for part in self._own(at) if part for one in part.expressions for cause in self._giving(one)}
            & failed
            for at in failed - self.made.keys()
        }
        while True:
            more = {
                cause
                for at in excused
                for cause in causes.get(at, set())
                if {other for other, own in causes.items() if cause in own} <= excused
            }
            if more <= excused:
                return failed - excused
            excused |= more

    def _firsts(self) -> Iterator[First]:
        """The alternatives that have a value, in the output and in what is not skipped."""
        own = [(index, self._own(index)) for index, (end, _) in self.ends.items() if end not in {End.SKIPPED, End.GONE}]
        parts = [(index, part) for index, some in own if self._is_call(index) for part in some if part is not None]
        parts += [(-1, self.output)] if self.output is not None else []
        for index, part in parts:
            if index >= 0 and self.elements[index].get("gate") == "edit":
                continue  # what its approver wrote is no alternative any more
            for one in part.expressions:
                for choice in _choices(one):
                    if self.look(choice, index, ANY)[0] is End.DONE:
                        yield choice

    def _giving(self, expression: Expression) -> set[int]:
        """The calls that were to give what an expression reads."""
        found: set[int] = set()
        for one in references(expression):
            if one.kind == "calls":
                found |= {at for at in one.path[:1] if isinstance(at, int)}
            else:
                found |= {at for at in range(len(self.elements)) if any(meets(one, own) for own in self._may_write(at))}
        return found

    def _delivered(self) -> Look:
        """What becomes of its output (O7, O9)."""
        if self.output is None or self.withheld_by:
            return FAILED
        return self._filled(self.output, -1)


def named(call: Json) -> Any:
    """What tells a call from others in what is shown."""
    return call.get("n", call)


def _all(found: Sequence[Look]) -> Look:
    ends = {end for end, _ in found}
    worst = next((one for one in _WORST if one in ends), End.DONE)
    return worst, found[-1][1] if worst is End.DONE and found else None


def _choices(expression: Expression) -> Iterator[First]:
    if isinstance(expression, First):
        yield expression
    elif isinstance(expression, Each):
        for part in expression.parts:
            yield from _choices(part)


def _reads_item(own: Template) -> bool:
    return any(one.kind == "each" for expression in own.expressions for one in references(expression))


def _is_piece(place: Reference, write: Reference) -> bool:
    return place.covers(write) and not write.covers(place)
