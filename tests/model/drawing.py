"""What is drawn: contexts, and answers that use all of the language at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from .given import (
    ACTIVITIES,
    CONTEXT,
    DELEGATES,
    FIRST_INSIDE,
    GATE,
    INSTANCES,
    META,
    OVERRIDES,
    PLANNED,
    REFERENCES,
    REPLIES,
    SCOPES,
    TEXT,
    TOOLS,
    answer_read,
    approve,
    carry,
)
from .values import Json
from .world import World


@dataclass(frozen=True)
class Case:
    """One context, and what the model answers."""

    context: list[Json]
    answers: list[Json]
    replies: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    repair: Any = False
    broken: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """The answers that come to nothing at first, once or twice, after so many per cent of their text; at 100 their
    output can't be read (L3)."""
    is_upfront: bool = False
    """Whether all delegates are resolved before anything is composed (D8)."""
    max_requests: int | None = None
    """How many requests may be made, where that is limited (L5)."""

    @property
    def world(self) -> World:
        return World(
            TOOLS, carry, approve, self.repair, ACTIVITIES, DELEGATES, self.replies, answer_read, self.is_upfront
        )


@dataclass(frozen=True)
class Talk:
    """Turns over one context: what is answered in each; which calls are held, where the turns are cut."""

    context: list[Json]
    turns: list[list[Json]]
    replies: dict[str, list[Json]]
    held: frozenset[int]
    """The calls that are held when they are first asked about, by their `n`."""
    cuts: dict[int, int]
    """After how many events a turn is left, by its number."""
    broken: dict[int, dict[int, list[int]]] = field(default_factory=dict[int, dict[int, list[int]]])
    """As a case has it, by the number of the turn."""
    forks: frozenset[int] = frozenset()
    """The turns that other runs go on with, from their beginning and from wherever they are left."""
    limits: dict[int, int] = field(default_factory=dict[int, int])
    """How many calls the first run of a turn may make, by the number of the turn: then another goes on (L5, L8)."""

    @property
    def world(self) -> World:
        return Case(self.context, [], self.replies).world


@dataclass(frozen=True)
class Features:
    """What is drawn; each is a rule or a few."""

    tools: Sequence[str] = (
        "work",
        "work",
        "give",
        "write",
        "note",
        "peek",
        "post",
        "look",
        "list",
        "read",
        "_value",
        "_value",
        "_then",
        "_expect",
    )
    delegates: Sequence[str] = ("hand", "ask", "sub", "sort", "choose", "count", "firm", "loose", "say")
    max_calls: int = 7
    has_instances: bool = True
    has_gates: bool = True
    has_methods: bool = True
    has_shared_paths: bool = True
    has_forward: bool = True
    has_else: bool = True
    has_proposals: bool = False
    has_owed: bool = True


_SHARED = ("†state.a", "†state.s", "†state.r.a", "†state.r.b")
"""Paths that several calls may write; the first holds a value, the others nothing."""
_BREAKS = st.lists(st.integers(0, 100), min_size=1, max_size=2)


@st.composite
def cases(draw: st.DrawFn, features: Features = Features()) -> Case:
    instances = draw(st.booleans()) if features.has_instances else False
    context = [*CONTEXT, *(INSTANCES if instances else [])]
    answers = [draw(answers_(features, instances=instances))]
    context += draw(st.lists(st.sampled_from(OVERRIDES), max_size=2, unique_by=repr)) if draw(st.booleans()) else []
    context += draw(st.sampled_from([[], [META]]))
    if draw(st.booleans()):
        answers.append(draw(answers_(features, instances=instances, has_results=True, first=10)))
    for _ in range(2):
        if paid := [
            draw(st.sampled_from([call | {"_output": 4}, call])) for call in owed(answers) if draw(st.booleans())
        ]:
            answers[1:2] = [
                answer | {"calls": [*answer["calls"], *paid]}
                for answer in answers[1:2] or [{"calls": [], "output": None}]
            ]
    raised: Json = {"meta": {"path": "drawn", "version": "1.3"}}
    answers = [draw(st.sampled_from([answer, answer | raised, raised | answer])) for answer in answers]
    is_upfront, max_requests = draw(st.booleans()), draw(st.sampled_from([None, None, None, 1, 2, 3, 5]))
    if draw(st.integers(0, 3)):
        broken = draw(st.dictionaries(st.integers(0, 1), _BREAKS, max_size=2))
        return Case(context, answers, draw(replies_()), broken=broken, is_upfront=is_upfront, max_requests=max_requests)
    first = answers.pop(0)
    output = {} if first["output"] is None else {"output": first["output"]}
    context.append({"type": "plan", "plan": first["calls"], **output})
    repair = draw(st.sampled_from([False, True, "always"]))
    return Case(context, answers, draw(replies_()), repair, is_upfront=is_upfront, max_requests=max_requests)


def owed(answers: Sequence[Json]) -> list[Json]:
    """The calls of which a first answer says "not yet", but those that refer to others of it."""
    calls = [call for call in answers[0]["calls"] if call.get("_tool") == "say" and call["_output"] is None]
    return [call for call in calls if "†calls" not in json.dumps(call, ensure_ascii=False)]


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    features = Features(max_calls=4, has_proposals=True, has_owed=False)
    instances = draw(st.booleans())
    turns: list[list[Json]] = []
    for turn in range(draw(st.integers(1, 5))):
        turns.append([])
        for _ in range(draw(st.integers(0, 2))):
            first = 10 * sum(map(len, turns))
            turns[-1].append(draw(answers_(features, instances=instances, has_results=turn > 0, first=first)))
    replies = draw(replies_())
    answers = [answer for group in (*turns, *replies.values()) for answer in group]
    numbers = [call["n"] for answer in answers for call in answer["calls"] if "n" in call]
    held = draw(st.frozensets(st.sampled_from(numbers), max_size=3)) if numbers else frozenset[int]()
    cuts = draw(st.dictionaries(st.integers(0, len(turns) - 1), st.integers(0, 25), max_size=2))
    breaks = st.dictionaries(st.integers(0, 1), _BREAKS, max_size=1)
    broken = draw(st.dictionaries(st.integers(0, len(turns) - 1), breaks, max_size=2))
    context = [*CONTEXT, *(INSTANCES if instances else []), *draw(st.sampled_from([[], [META]]))]
    if not draw(st.integers(0, 3)):
        written = draw(answers_(replace(features, has_proposals=False), instances=instances, first=PLANNED))
        context.append({"type": "plan", "plan": written["calls"]})
    numbered = st.integers(0, len(turns) - 1)
    forks, limits = draw(st.frozensets(numbered, max_size=2)), draw(st.dictionaries(numbered, st.integers(0, 6)))
    return Talk(context, turns, replies, held, cuts, broken, forks, limits)


@st.composite
def replies_(draw: st.DrawFn) -> dict[str, list[Json]]:
    features = Features(tools=("work", "work", "write", "note", "look", "_value", "_then"), delegates=(), max_calls=3)
    if draw(st.booleans()):
        return REPLIES
    return REPLIES | {"helper": [draw(answers_(features, instances=False, inside=True, first=FIRST_INSIDE))]}


@st.composite
def answers_(
    draw: st.DrawFn,
    features: Features,
    *,
    instances: bool,
    has_results: bool = False,
    inside: bool = False,
    first: int = 0,
) -> Json:
    names = (*features.tools, *features.delegates)
    tools = draw(st.lists(st.sampled_from(names), min_size=1, max_size=features.max_calls))
    drawn = Drawing(draw, features, tools, instances, has_results, inside, first)
    calls = [drawn.element(index) for index in range(len(tools))]
    outputs = [
        None,
        "said",
        [drawn.value(len(tools), False)],
        {"a": drawn.value(len(tools), False), "b": drawn.value(len(tools), False)},
    ]
    return {"calls": calls, "output": draw(st.sampled_from(outputs))}


class Drawing:
    """Draws the elements of one answer, each from what may be read where it stands."""

    def __init__(
        self,
        draw: st.DrawFn,
        features: Features,
        tools: list[str],
        instances: bool,
        results: bool,
        inside: bool,
        first: int,
    ) -> None:
        self.draw = draw
        self.features = features
        self.tools = tools
        self.has_results = results
        self.inside = inside
        self.first = first
        self.instances = instances and self.one_in(2)
        self.is_forward = features.has_forward and self.one_in(5)
        self.is_troubled = self.one_in(3)
        """Whether much of it fails, is skipped, and reads and writes the same few paths."""
        self.paths: list[str | None] = [self._path(index) for index in range(len(tools))]
        self.each: set[int] = set()
        self.shaped: set[int] = set()
        """The readers of whose answers the shape is known."""

    def one_in(self, count: int) -> bool:
        return self.draw(st.integers(1, count)) == count

    def goes_wrong(self, count: int) -> bool:
        """Whether something is drawn that is seldom so, once in `count` times, where all goes well."""
        return self.one_in(max(2, count // 3) if self.is_troubled else count)

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def _path(self, index: int) -> str | None:
        if self.tools[index] not in {"work", "give", "write", "sub", "look"} or not self.goes_wrong(3):
            return None
        path = f"†state.p{self.first + index}"
        if self.is_troubled and self.features.has_shared_paths:
            return self.pick(*_SHARED)
        if not self.features.has_shared_paths:
            return path
        return self.pick(
            path,
            path,
            path,
            *_SHARED,
            f"†state.q{self.first + index} <|> {path}",
            f"{path} *> †state.q{self.first + index}",
        )

    def element(self, index: int) -> Json:
        tool = self.tools[index]
        if tool == "_then":
            return {"_then": True}
        if tool == "_expect":
            return {"_expect": self._condition(index, False)}
        is_each = self.one_in(5) and tool not in {"ask", "hand", "sub", "choose", "say", "firm", "loose"}
        call = self._new_element(index, self.value(index, is_each))
        if is_each:
            self.each.add(index)
            call["_each"] = self._items(index)
        if self.goes_wrong(4):
            call["_when"] = self._condition(index, call.get("_each") == "†state.abc")
        if tool == "_value":
            return call
        if tool == "read":
            return call | ({"_else": self._otherwise(index, call)} if self.features.has_else and self.one_in(4) else {})
        if self.goes_wrong(7):
            call["how"] = "†each" if is_each else self.pick("fail", "late", "misfit" if tool == "list" else "fail")
        if self.features.has_else and tool != "say" and self.goes_wrong(2 if "how" in call else 8):
            call["_else"] = self._otherwise(index, call)
        if self.features.has_gates and tool != "say" and self.goes_wrong(12):
            call["gate"] = self.pick("deny", "edit")
        if tool == "say":
            call["_output"] = (
                self.pick(4, 4, "no number", None) if self.features.has_owed else self.pick(4, 4, "no number")
            )
        if tool == "sort":
            call["_activity"] = self.pick("work", "give")
        if tool == "choose":
            call["_delegate"] = self.pick("helper", "other")
        if tool in {"count", "firm", "loose"}:
            call["x"] = self._counted(index)
        if tool in {"look", "hand", "sub", "choose", "firm"}:
            call["_scopes"] = self.draw(st.lists(st.sampled_from(SCOPES), min_size=0, max_size=2, unique=True))
        if self.paths[index] is not None:
            call["_outputPath"] = self.paths[index]
        if tool == "give" and self.features.has_methods and not is_each and self.one_in(2):
            path, method, value = self.draw(st.sampled_from(_written(index)))
            call |= {"_outputPath": path, "_outputMethod": method, "x": value}
            self.paths[index] = path
        if self.instances and self.one_in(2):
            call["_instance"] = self.pick("①", "②")
        return call

    def _new_element(self, index: int, value: Any) -> Json:
        """An element with the value that it is about."""
        match self.tools[index]:
            case "_value":
                return {"_value": value}
            case "read":
                about = self.pick("what", "what", "what", "nothing", "junk")
                self.shaped |= {index} if about == "nothing" else set()
                shape = "[any]" if about == "nothing" else "any"  # null is any value
                return {"_tool": "read", "of": value, "ask": f"{about} of {self.first + index}", "as": shape}
            case tool:
                return {"_tool": tool, "n": self.first + index, "x": value}

    def value(self, index: int, is_each: bool) -> Any:
        kind = self.pick("literal", "one", "one", "first", "both", "list", "text", "object")
        if is_each and self.one_in(2):
            return self.pick("†each", "{[†each, 1]}")
        if kind == "literal":
            return self.pick(None, 1, "x", True, ["y"])
        first, other = self._reference(index), self._reference(index)
        match kind:
            case "first" if GATE not in (first, other):  # left open: whether an alternative waits for a gate (C7, O5)
                return f"{first} <|> {other}"
            case "both":
                return f"{first} *> {other}"
            case "list":
                return f"{{[{first}, {other}]}}"
            case "text":
                return f"{TEXT}{{{first}}}"
            case "object":
                return {"k": [first, {"deep": other}], "l": 1}
            case _:
                return first

    def _counted(self, index: int) -> Any:
        """A value that may be a number, which is known of most of them only when they are there (C3)."""
        untyped = [f"†calls.{at}" for at in self._untyped(index) if self.tools[at] not in {"say", "firm", "loose"}]
        kept = [] if self.inside else ["†state.a", "†state.t", "†state.a <|> †state.t", "†user.z"]
        return self.pick(1, 2.5, "x", None, *kept, *untyped)

    def _otherwise(self, index: int, call: Json) -> Any:
        is_failing = call.get("how") in ["fail", "late", "†each"]
        there = self._in_reach(index)
        plain = [None, "instead", ["else"], *(["†error", "{[†error]}"] if is_failing else [])]
        if there and self.one_in(3):
            read = f"†calls.{self.pick(*there)}"
            path = self._reference(index)
            return path if "state" in path and path != GATE else read
        return "†each" if "_each" in call and self.one_in(4) else self.pick(*plain)

    def _in_reach(self, index: int) -> list[int]:
        reach = len(self.tools) if self.is_forward else min(index, len(self.tools))
        return [at for at in range(reach) if at != index and self.tools[at] not in {"_then", "_expect"}]

    def _reference(self, index: int) -> str:
        there = self._in_reach(index)
        kept = REFERENCES if not self.inside else ["†input.n", "†input.x", "†state.own"]
        is_call = index < len(self.tools)  # left open: whether an output waits for a gate (C7)
        if self.features.has_proposals and is_call and self.one_in(15):
            return GATE
        if self.has_results and self.one_in(4):
            return f"†results.{self.pick(0, 1, 2)}"
        if self.is_troubled and not self.inside and self.one_in(4):
            return self.pick("†state.r", "†state.r", *_SHARED)
        if not there or self.one_in(6):
            return self.pick(*kept, "†state.s", "†state.r", "†state.r.a") if self.one_in(2) else self.pick(*kept)
        at: int = self.pick(*there)
        path = self.paths[at]
        if path is not None and self.one_in(2):
            first, *_, last = (*path.split(" "), path.split(" ")[-1])
            return first if self.one_in(2) else last
        is_pair = self.tools[at] in {"work", "write"} and at not in self.each and at < index
        deep = "[1]" if is_pair and self.one_in(3) else ""
        return f"†calls.{at}{deep}"

    def _untyped(self, index: int) -> list[int]:
        """The calls whose results have no declared type; a declared one would be checked on arrival (O11)."""
        known = {"_value", "_then", "_expect", "list", "say", "firm", "loose"}
        there = range(min(index, len(self.tools)))
        return [at for at in there if self.tools[at] not in known and at not in self.each | self.shaped]

    def _condition(self, index: int, is_each: bool) -> Any:
        if is_each and self.one_in(2):
            return self.pick("{†each == 'a'}", "{†each != 'fail'}")
        untyped = self._untyped(index)
        if not untyped or self.one_in(2):
            return self.pick(False, True, "†state.yes", "†state.no") if not self.inside else self.pick(False, True)
        reference = f"†calls.{self.pick(*untyped)}"
        return self.pick(f"{{{reference} == None}}", f"{{{reference} != None}}", reference)

    def _items(self, index: int) -> Any:
        untyped = self._untyped(index)
        if self.one_in(3) and not self.inside:
            return "†state.abc"
        if untyped and self.one_in(2):
            reference = f"†calls.{self.pick(*untyped)}"
            return self.pick(reference, f"{{[{reference}, 'fail']}}")
        return self.pick(["a", "fail", "b"], ["a"], [], "†state.abc") if not self.inside else self.pick(["a", "b"], [])


def _written(index: int) -> list[tuple[str, str, Any]]:
    """Paths of the context with the methods and values that fit there."""
    return [
        ("†state.l", "push", 5),
        ("†state.l", "concat", [6]),
        ("†state.o", "merge", {"m": {"v": 2}}),
        ("†state.o", "assign", {"m": {"v": 3}}),
        ("†state.t", "concat", "+"),
        ("†state.g", "push", index),
        ("†state.o.k", "set", 9),
    ]
