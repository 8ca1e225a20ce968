"""What is drawn: contexts, and answers that use all of the language at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from .values import Json
from .world import Failure, World

_PARAMETERS: Json = {"n": {}, "x": {}, "how": {}, "gate": {}}
_RESULT: Json = {"_output": {}}
_METHODS = ["set", "merge", "assign", "push", "concat", "erase"]
SCOPES = ["result", "error", "plan", "state", "state.a", "state.l", "state.o", "state.r", "state.s", "user", "input"]
_PICKED: Json = {"_scopes": {"type": "array", "items": {"enum": SCOPES}}}
_ITEMS = ["a", "fail", "b"]


def _tool(*own: Json, **said: Any) -> Json:
    return {"properties": {key: one for part in (_PARAMETERS, *own) for key, one in part.items()}, **said}


TOOLS: dict[str, Json] = {
    "work": _tool(_RESULT),
    "give": _tool(_RESULT, {"_outputMethod": {"enum": _METHODS}}),
    "write": _tool(_RESULT, _effects="ordered"),
    "note": _tool(),
    "peek": _tool(_effects="none"),
    "post": _tool(_effects="ordered"),
    "look": _tool(_RESULT, _PICKED, _effects="none"),
    "list": _tool({"_output": {"type": "array"}}),
    "hand": _tool(_RESULT, _PICKED, _delegate="anonymous", _activity="hand"),
    "ask": _tool(_RESULT, _delegate="anonymous"),
    "sub": _tool(_RESULT, _PICKED, _delegate="helper"),
    "sort": _tool(_RESULT, {"_activity": {"enum": ["work", "give"]}}),
    "choose": _tool(_RESULT, _PICKED, {"_delegate": {"enum": ["helper", "other"]}}),
    "count": _tool(_RESULT, {"x": {"type": "integer"}}),
    "say": _tool({"_output": {"type": "integer"}}),
}
ACTIVITIES = frozenset(TOOLS.keys() - {"ask", "sub", "sort", "choose", "say"})
OVERRIDES: list[Json] = [
    {"type": "tool", "tool": {"note": _tool(_RESULT)}},
    {"type": "tool", "tool": {"work": _tool(_RESULT, _effects="ordered")}},
    {"type": "tool", "tool": {"look": _tool(_RESULT, _PICKED, _activity="work")}},
    {"type": "tool", "tool": {"write": _tool(_RESULT, _delegate="other")}},
]
"""Tools that a context defines in place of those of the same name (T4)."""
DELEGATES: dict[str, Json] = {
    "helper": {
        "context": [{"type": "system", "message": "delegate of helper"}, {"type": "state", "own": 7, "a": "helper's"}],
        "config": {"tools": ["work", "write", "note", "look"]},
    },
    "other": {"context": [{"type": "system", "message": "delegate of other"}]},
}
CONTEXT: list[Json] = [
    {"type": "text", "text": "go"},
    {
        "type": "state",
        "a": 1,
        "l": [0],
        "o": {"k": 1, "m": {"u": 1}},
        "t": "text",
        "yes": True,
        "no": False,
        "abc": _ITEMS,
    },
    {"type": "data", "kind": "user", "data": {"z": 5}},
    {"type": "input", "q": "what"},
]
INSTANCES: list[Json] = [
    {"type": "state", "a": "one", "o": {"k": "one"}, "_instance": "①"},
    {"type": "state", "a": "two", "w": 2, "_instance": "②"},
]
ANSWERED: dict[str, list[Json]] = {
    "helper": [{"calls": [], "output": ["sub", "†input"]}],
    "ask": [{"calls": [], "output": {"asked": 1}}],
}
"""What is answered in delegates where nothing else is drawn."""
GATE = "†state.approvals.g"
"""What holds whoever reads it until it is opened between runs (C7)."""
INSIDE = 900
"""From which number on calls are those that delegates make."""
KEPT = ["†state.a", "†state.l", "†state.o", "†state.o.k", "†user.z", "†input.q", "†state.t"]


def carry(tool: str, arguments: Json) -> Any:
    """What the Activities do."""
    if arguments.get("how") in ["fail", "late"]:
        raise Failure("broken")
    if arguments.get("how") == "misfit":
        return "misfit"
    if tool == "give":
        return arguments.get("x")
    if "crossing" in arguments:
        # In a text the order of keys can be seen, of which nothing is said.
        return [arguments.get("n"), json.loads(json.dumps(arguments["crossing"], sort_keys=True))]
    return [arguments.get("n"), arguments.get("x")]


def answer_read(asked: Json) -> Any:
    """What the model answers as a reader."""
    kind = asked["ask"].split()[0]
    return "junk" if kind == "junk" else {"calls": [], "output": None if kind == "nothing" else [asked["of"]]}


def approve(_tool_name: str, arguments: Json) -> Any:
    match arguments.get("gate"):
        case "deny":
            return "not now"
        case "edit":
            return arguments | {"x": "edited"}
        case _:
            return True


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

    @property
    def world(self) -> World:
        return World(TOOLS, carry, approve, self.repair, ACTIVITIES, DELEGATES, self.replies, answer_read)


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
    delegates: Sequence[str] = ("hand", "ask", "sub", "sort", "choose", "count", "say")
    most: int = 7
    has_instances: bool = True
    has_gates: bool = True
    has_methods: bool = True
    has_shared_paths: bool = True
    has_forward: bool = True
    has_else: bool = True
    has_proposals: bool = False
    has_owed: bool = True


_BREAKS = st.lists(st.integers(0, 100), min_size=1, max_size=2)


@st.composite
def cases(draw: st.DrawFn, features: Features = Features()) -> Case:
    instances = draw(st.booleans()) if features.has_instances else False
    context = [*CONTEXT, *(INSTANCES if instances else [])]
    answers = [draw(answers_(features, instances=instances))]
    context += draw(st.lists(st.sampled_from(OVERRIDES), max_size=2, unique_by=repr)) if draw(st.booleans()) else []
    if draw(st.booleans()):
        answers.append(draw(answers_(features, instances=instances, has_results=True, first=10)))
    for _ in range(2):
        if said := [draw(st.sampled_from([one | {"_output": 4}, one])) for one in owed(answers) if draw(st.booleans())]:
            answers[1:2] = [
                one | {"calls": [*one["calls"], *said]} for one in answers[1:2] or [{"calls": [], "output": None}]
            ]
    if draw(st.integers(0, 3)):
        broken = draw(st.dictionaries(st.integers(0, 1), _BREAKS, max_size=2))
        return Case(context, answers, draw(replies_()), broken=broken)
    first = answers.pop(0)
    output = {} if first["output"] is None else {"output": first["output"]}
    context.append({"type": "plan", "plan": first["calls"], **output})
    return Case(context, answers, draw(replies_()), draw(st.sampled_from([False, True, "always"])))


def owed(answers: Sequence[Json]) -> list[Json]:
    """The calls of which a first answer says "not yet", but those that refer to others of it."""
    calls = [one for one in answers[0]["calls"] if one.get("_tool") == "say" and one["_output"] is None]
    return [one for one in calls if "†calls" not in json.dumps(one, ensure_ascii=False)]


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    own = Features(most=4, has_proposals=True, has_owed=False)
    instances = draw(st.booleans())
    turns: list[list[Json]] = []
    for turn in range(draw(st.integers(1, 5))):
        turns.append([])
        for _ in range(draw(st.integers(0, 2))):
            first = 10 * sum(map(len, turns))
            turns[-1].append(draw(answers_(own, instances=instances, has_results=turn > 0, first=first)))
    replies = draw(replies_())
    said = [one for own in (*turns, *replies.values()) for one in own]
    numbers = [call["n"] for one in said for call in one["calls"] if "n" in call]
    held = draw(st.frozensets(st.sampled_from(numbers), max_size=3)) if numbers else frozenset[int]()
    cuts = draw(st.dictionaries(st.integers(0, len(turns) - 1), st.integers(0, 25), max_size=2))
    broken = st.dictionaries(st.integers(0, 1), _BREAKS, max_size=1)
    of_turns = draw(st.dictionaries(st.integers(0, len(turns) - 1), broken, max_size=2))
    context = [*CONTEXT, *(INSTANCES if instances else [])]
    return Talk(context, turns, replies, held, cuts, of_turns)


@st.composite
def replies_(draw: st.DrawFn) -> dict[str, list[Json]]:
    own = Features(tools=("work", "work", "write", "note", "look", "_value", "_then"), delegates=(), most=3)
    if draw(st.booleans()):
        return ANSWERED
    return ANSWERED | {"helper": [draw(answers_(own, instances=False, inside=True, first=INSIDE))]}


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
    tools = draw(st.lists(st.sampled_from(names), min_size=1, max_size=features.most))
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
    """Draws the elements of one answer, each of what may be read where it stands."""

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
        self.paths: list[str | None] = [self._path(index) for index in range(len(tools))]
        self.each: set[int] = set()
        self.shaped: set[int] = set()
        """The readers of which it is said what they answer."""

    def one_in(self, count: int) -> bool:
        return self.draw(st.integers(1, count)) == count

    def of(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def _path(self, index: int) -> str | None:
        if self.tools[index] not in {"work", "give", "write", "sub", "look"} or not self.one_in(3):
            return None
        own = f"†state.p{self.first + index}"
        if not self.features.has_shared_paths:
            return own
        return self.of(
            own,
            own,
            own,
            "†state.a",
            "†state.s",
            "†state.r.a",
            "†state.r.b",
            f"†state.q{self.first + index} <|> {own}",
            f"{own} *> †state.q{self.first + index}",
        )

    def element(self, index: int) -> Json:
        tool = self.tools[index]
        if tool == "_then":
            return {"_then": True}
        if tool == "_expect":
            return {"_expect": self._condition(index, False)}
        is_each = self.one_in(5) and tool not in {"ask", "hand", "sub", "choose", "say"}
        call = self._begun(index, self.value(index, is_each))
        if is_each:
            self.each.add(index)
            call["_each"] = self._items(index)
        if self.one_in(4):
            call["_when"] = self._condition(index, call.get("_each") == "†state.abc")
        if tool == "_value":
            return call
        if tool == "read":
            return call | ({"_else": self._otherwise(index, call)} if self.features.has_else and self.one_in(4) else {})
        if self.one_in(7):
            call["how"] = "†each" if is_each else self.of("fail", "late", "misfit" if tool == "list" else "fail")
        if self.features.has_else and tool != "say" and self.one_in(2 if "how" in call else 8):
            call["_else"] = self._otherwise(index, call)
        if self.features.has_gates and tool != "say" and self.one_in(12):
            call["gate"] = self.of("deny", "edit")
        if tool == "say":
            call["_output"] = self.of(4, 4, "no number", None) if self.features.has_owed else self.of(4, 4, "no number")
        if tool == "sort":
            call["_activity"] = self.of("work", "give")
        if tool == "choose":
            call["_delegate"] = self.of("helper", "other")
        if tool == "count":
            call["x"] = self._counted(index)
        if tool in {"look", "hand", "sub", "choose"}:
            call["_scopes"] = self.draw(st.lists(st.sampled_from(SCOPES), min_size=0, max_size=2, unique=True))
        if self.paths[index] is not None:
            call["_outputPath"] = self.paths[index]
        if tool == "give" and self.features.has_methods and not is_each and self.one_in(2):
            own, method, value = self.draw(st.sampled_from(_written(index)))
            call |= {"_outputPath": own, "_outputMethod": method, "x": value}
            self.paths[index] = own
        if self.instances and self.one_in(2):
            call["_instance"] = self.of("①", "②")
        return call

    def _begun(self, index: int, value: Any) -> Json:
        """An element with the value that it is about."""
        match self.tools[index]:
            case "_value":
                return {"_value": value}
            case "read":
                about = self.of("what", "what", "what", "nothing", "junk")
                self.shaped |= {index} if about == "nothing" else set()
                shape = "[any]" if about == "nothing" else "any"  # null is any value
                return {"_tool": "read", "of": value, "ask": f"{about} of {self.first + index}", "as": shape}
            case tool:
                return {"_tool": tool, "n": self.first + index, "x": value}

    def value(self, index: int, is_each: bool) -> Any:
        kind = self.of("literal", "one", "one", "first", "both", "list", "text", "object")
        if is_each and self.one_in(2):
            return self.of("†each", "{[†each, 1]}")
        if kind == "literal":
            return self.of(None, 1, "x", True, ["y"])
        one, other = self._read(index), self._read(index)
        match kind:
            case "first" if GATE not in (one, other):  # left open: whether an alternative waits for a gate (C7, O5)
                return f"{one} <|> {other}"
            case "both":
                return f"{one} *> {other}"
            case "list":
                return f"{{[{one}, {other}]}}"
            case "text":
                return f"it is {{{one}}}"
            case "object":
                return {"k": [one, {"deep": other}], "l": 1}
            case _:
                return one

    def _counted(self, index: int) -> Any:
        """What may be a number: nothing says so of most of it before it is there (C3)."""
        untyped = [f"†calls.{at}" for at in self._untyped(index) if self.tools[at] != "say"]
        kept = [] if self.inside else ["†state.a", "†state.t", "†state.a <|> †state.t", "†user.z"]
        return self.of(1, 2.5, "x", None, *kept, *untyped)

    def _otherwise(self, index: int, call: Json) -> Any:
        is_failing = call.get("how") in ["fail", "late", "†each"]
        there = self._there(index)
        plain = [None, "instead", ["else"], *(["†error", "{[†error]}"] if is_failing else [])]
        if there and self.one_in(3):
            read = f"†calls.{self.of(*there)}"
            path = self._read(index)
            return path if "state" in path and path != GATE else read
        return "†each" if "_each" in call and self.one_in(4) else self.of(*plain)

    def _there(self, index: int) -> list[int]:
        reach = len(self.tools) if self.is_forward else min(index, len(self.tools))
        return [at for at in range(reach) if at != index and self.tools[at] not in {"_then", "_expect"}]

    def _read(self, index: int) -> str:
        there = self._there(index)
        kept = KEPT if not self.inside else ["†input.n", "†input.x", "†state.own"]
        is_call = index < len(self.tools)  # left open: whether an output waits for a gate (C7)
        if self.features.has_proposals and is_call and self.one_in(15):
            return GATE
        if self.has_results and self.one_in(4):
            return f"†results.{self.of(0, 1, 2)}"
        if not there or self.one_in(6):
            return self.of(*kept, "†state.s", "†state.r", "†state.r.a") if self.one_in(2) else self.of(*kept)
        at: int = self.of(*there)
        path = self.paths[at]
        if path is not None and self.one_in(2):
            first, *_, last = (*path.split(" "), path.split(" ")[-1])
            return first if self.one_in(2) else last
        is_pair = self.tools[at] in {"work", "write"} and at not in self.each and at < index
        deep = "[1]" if is_pair and self.one_in(3) else ""
        return f"†calls.{at}{deep}"

    def _untyped(self, index: int) -> list[int]:
        """Those of which nothing is declared: what can't be is refused on arrival otherwise (O11)."""
        known = {"_value", "_then", "_expect", "list", "say"}
        there = range(min(index, len(self.tools)))
        return [at for at in there if self.tools[at] not in known and at not in self.each | self.shaped]

    def _condition(self, index: int, is_each: bool) -> Any:
        if is_each and self.one_in(2):
            return self.of("{†each == 'a'}", "{†each != 'fail'}")
        untyped = self._untyped(index)
        if not untyped or self.one_in(2):
            return self.of(False, True, "†state.yes", "†state.no") if not self.inside else self.of(False, True)
        one = f"†calls.{self.of(*untyped)}"
        return self.of(f"{{{one} == None}}", f"{{{one} != None}}", one)

    def _items(self, index: int) -> Any:
        untyped = self._untyped(index)
        if self.one_in(3) and not self.inside:
            return "†state.abc"
        if untyped and self.one_in(2):
            one = f"†calls.{self.of(*untyped)}"
            return self.of(one, f"{{[{one}, 'fail']}}")
        return self.of(["a", "fail", "b"], ["a"], [], "†state.abc") if not self.inside else self.of(["a", "b"], [])


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
