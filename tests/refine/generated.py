"""Random plans of classes 1 to 6 on random worlds, and a model that carries them out and retypes every value.

What refining makes of five such runs is compared with the plan itself on fresh worlds (refine.md, section 10).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from actum import Agent, Idea, Tools, errors, kept, models
from actum.refine import Refined, refine

STATES = ("late", "paid", "open")
WORDS = "Do it for what is late, by 2 or 0.5; write Come."
"""What the author wrote: a state, numbers and a word that may be constants."""
FRESH = 20


@dataclass(frozen=True)
class World:
    """What tools return: the same for the same call, drawn from `size` values."""

    seed: int
    size: int

    def drawn(self, *about: Any) -> int:
        digest = hashlib.sha256(repr((self.seed, about)).encode()).digest()
        return int.from_bytes(digest[:6], "big") % self.size

    def record(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        def pick(name: str) -> int:
            return self.drawn(tool, sorted(arguments.items()), name)

        def row(id: str, at: object) -> dict[str, Any]:
            due = date(2026, 1, 1) + timedelta(days=pick(f"due{at}"))
            return {"id": id, "state": STATES[pick(f"state{at}") % 3], "n": 1 + pick(f"n{at}"), "due": f"{due}"}

        rows = [row(f"r{pick(f'id{at}')}-{at}", at) for at in range(1 + pick("rows") % 4)]
        rows.insert(pick("at") % (len(rows) + 1), row(str(next(iter(arguments.values()), "")), "-"))
        return {
            "name": f"Name{pick('name')}",
            "city": f"City {pick('city')}",
            "n": 1 + pick("n"),
            "price": round(1 + pick("price") * 1.25, 2),
            "rows": rows,
        }


@dataclass
class Truth:
    """A plan whose calls have a tool each, its output, and the tools that have effects."""

    calls: list[dict[str, Any]]
    output: dict[str, Any]
    effects: set[str]

    @property
    def plan(self) -> dict[str, Any]:
        return {"type": "plan", "plan": self.calls, "output": self.output}


INPUTS = ("a", "b", "m", "k")
INPUT = {
    "type": "input",
    "schema": {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string"},
            "m": {"type": "integer"},
            "k": {"type": "number"},
        },
        "required": list(INPUTS),
    },
}


class Drawing:
    """Draws a plan: what each of its values is made of."""

    def __init__(self, random: Random, kinds: tuple[int, ...]) -> None:
        self._random, self._kinds = random, kinds
        self._texts, self._numbers, self._lists = ["†input.a", "†input.b"], ["†input.m", "†input.k"], list[str]()
        self._keys: dict[str, Any] = {}
        self.used: set[int] = set()

    def truth(self) -> Truth:
        calls: list[dict[str, Any]] = []
        effects: set[str] = set()
        for index in range(self._random.randint(1, 4)):
            tool = f"t{index}"
            is_effect = index > 0 and self._random.random() < 0.2
            call = {"_tool": tool, "key": self.text(), "count": self.number()}
            if self._random.random() < 0.3:
                call["more"] = self.text()
            calls.append(call)
            if is_effect:
                effects.add(tool)
            else:
                self._texts += [f"†calls.{index}.name", f"†calls.{index}.city"]
                self._numbers += [f"†calls.{index}.n", f"†calls.{index}.price"]
                self._lists.append(f"†calls.{index}.rows")
                self._keys[f"†calls.{index}.rows"] = call["key"]
        output = {name: self._random.choice((self.text, self.number))() for name in "xyz"[: self._random.randint(1, 3)]}
        return Truth(calls, output, effects)

    def _kind(self, kinds: tuple[int, ...]) -> int:
        kind = self._random.choice([number for number in kinds if number in self._kinds] or [1])
        self.used.add(kind)
        return kind

    def text(self) -> Any:
        match self._kind((1, 1, 2, 5, 6) if self._lists else (1, 1, 5, 6)):
            case 2:
                return f"{{min([x.due for x in {self._random.choice(self._lists)}])}}"
            case 5:
                return self._template()
            case 6:
                return self._random.choice(("Come", "blue"))
            case _:
                return self._random.choice(self._texts)

    def _chosen(self, rows: str) -> str:
        """The number of the item that the call of a list had asked for."""
        key = self._keys[rows]
        if not isinstance(key, str) or not key.startswith("†"):
            return f"{rows.removesuffix('.rows')}.n"
        return f"{{one(x for x in {rows} if x.id == {key}).n}}"

    def _template(self) -> str:
        text, other = self._random.choice(self._texts), self._random.choice(self._texts)
        number = self._random.choice(self._numbers)
        forms = (
            f"For {{{text}}}, in {{{other}}}",
            f"{{{text}.upper()}}!",
            f"{{{text}}} costs {{{number}:.2f}}",
            f"{{{text}.lower()}}",
            f"No. {{{number}}}",
        )
        return self._random.choice(forms)

    def number(self) -> Any:
        match self._kind((1, 1, 2, 3, 4, 6) if self._lists else (1, 1, 4, 6)):
            case 3:
                rows = self._random.choice(self._lists)
                where = self._random.choice(("", " if x.state == 'late'"))
                name = self._random.choice(("sum", "len", "max") if not where else ("sum", "len"))
                return f"{{{name}([x.n for x in {rows}{where}])}}" if name != "len" else _count(rows, where)
            case 4:
                number, other = self._random.choice(self._numbers), self._random.choice([*self._numbers, "2", "0.5"])
                sign = self._random.choice("+-*")
                text = f"{number} {sign} {other}"
                return f"{{round({text}, 2)}}" if self._random.random() < 0.3 else f"{{{text}}}"
            case 2:
                return self._chosen(self._random.choice(self._lists))
            case 6:
                return self._random.choice((2, 77, 6.5))
            case _:
                return self._random.choice(self._numbers)


def _count(rows: str, where: str) -> str:
    return f"{{len([x for x in {rows}{where}])}}" if where else f"{{len({rows})}}"


def tools_of(truth: Truth, world: World, calls: list[Any] | None = None) -> Tools:
    """The tools of a plan in a world; the calls that are made are noted in `calls`."""
    tools = Tools()
    for call in truth.calls:
        _add(tools, call, world, truth.effects, calls)
    return tools


def _add(tools: Tools, call: Mapping[str, Any], world: World, effects: set[str], calls: list[Any] | None) -> None:
    name = str(call["_tool"])
    names = [key for key in call if not key.startswith("_")]

    async def activity(call: Mapping[str, Any]) -> Any:
        arguments = {key: call[key] for key in names}
        if calls is not None:
            calls.append((name, arguments))
        return world.record(name, arguments)

    properties: dict[str, Any] = {key: {} for key in names}
    if name not in effects:
        properties["_effects"] = {"const": "none"}
    tools.register(name, {"type": "object", "properties": properties, "required": names})
    tools.activity(name, activity)


def drawn_input(random: Random, size: int) -> dict[str, Any]:
    """Values of an input, each one of `size`."""
    return {
        "a": f"Ana{random.randrange(size)}",
        "b": f"bo {random.randrange(size)}",
        "m": 1 + random.randrange(size),
        "k": round(1 + random.randrange(size) * 0.75, 2),
    }


IDEA = Idea(context=[INPUT, WORDS], schema={"type": "object"})


@dataclass
class Outcome:
    """What a plan came to: its output and its calls; None where it was left."""

    output: Any
    calls: Any
    effects: Any


async def outcome(truth: Truth, plan: Any, world: World, given: Mapping[str, Any]) -> Outcome | None:
    calls: list[Any] = []
    try:
        result = await Agent(None, tools=tools_of(truth, world, calls)).run(
            [INPUT, WORDS, plan], {"type": "object"}, input=dict(given)
        )
    except errors.PlanFailed:
        return None
    pairs = [(name, sorted(arguments.items())) for name, arguments in calls]
    reads = sorted({repr(call) for call in pairs if call[0] not in truth.effects})
    return Outcome(result.output, reads, sorted(repr(call) for call in pairs if call[0] in truth.effects))


async def keep_example(path: Path, truth: Truth, world: World, given: Mapping[str, Any], random: Random) -> Idea | None:
    """A run by a model that types every value again; None where the plan comes to nothing in this world."""
    try:
        answers = await answers_of(truth, world, given, random)
    except errors.PlanFailed:
        return None
    agent = Agent(models.Scripted(answers), tools=tools_of(truth, world))
    await kept.start(path, IDEA, lambda _: agent, input=dict(given))
    return Idea.load(path)


async def answers_of(truth: Truth, world: World, given: Mapping[str, Any], random: Random | None = None) -> list[Any]:
    """What a model says that does as the plan, and types every value again; raises where that comes to nothing."""
    agent = Agent(None, tools=tools_of(truth, world))
    result = await agent.run([INPUT, WORDS, truth.plan], {"type": "object"}, input=dict(given))
    resolved = {call.tool: {"_tool": call.tool, **call.arguments} for call in result.calls}
    turns = _in_turns(truth, resolved)
    mixed = [random.sample(calls, len(calls)) if random else calls for calls in turns]
    return [*({"calls": calls, "output": None} for calls in mixed), {"calls": [], "output": result.output}]


def _in_turns(truth: Truth, resolved: Mapping[str, Any]) -> list[list[Any]]:
    """The calls, answer by answer: what a call reads is of an earlier answer, and an effect has its own answer."""
    turns: list[list[Any]] = []
    at: dict[int, int] = {}
    barrier = 0
    for index, call in enumerate(truth.calls):
        reads = [int(number) for value in call.values() for number in re.findall(r"†calls\.(\d+)", str(value))]
        turn = max([barrier, *(at[number] + 1 for number in reads)])
        if call["_tool"] in truth.effects:
            turn = barrier = len(turns)
            barrier += 1
        at[index] = turn
        turns += [[] for _ in range(turn + 1 - len(turns))]
        turns[turn].append(resolved[call["_tool"]])
    return turns


def settled(truth: Truth, refined: Refined) -> tuple[dict[str, str], list[str]]:
    """What a person who knows the plan says to the open questions."""
    tools = [str(call["_tool"]) for call in refined.plan["plan"] if "_tool" in call]
    true_tools = [str(call["_tool"]) for call in truth.calls]

    def named(text: str) -> str:
        return re.sub(r"†calls\.(\d+)", lambda match: f"†calls.{tools.index(true_tools[int(match[1])])}", text)

    confirm: dict[str, str] = {}
    ignore: list[str] = []
    for question in refined.questions:
        head, _, key = question.leaf.partition(".")
        if head == "calls":
            ignore.append(question.leaf)
            continue
        holder = truth.output if head == "output" else truth.calls[true_tools.index(tools[int(head)])]
        meant = holder[key]
        if question.value is not None:  # a hole is no question that a constant answers
            confirm[question.leaf] = named(meant) if isinstance(meant, str) and "†" in meant else ""
    return confirm, ignore


@dataclass
class Trial:
    """One drawn plan: what refining its runs came to, on fresh worlds."""

    seed: int
    truth: Truth
    used: set[int]
    size: int
    counts: Counter[str]
    wrong: list[str]
    plan: Any = None


async def trial(seed: int, folder: Path, kinds: tuple[int, ...] = (1, 2, 3, 4, 5, 6), fresh: int = FRESH) -> Trial:
    """Draw a plan, keep five of its runs, refine these, and compare."""
    random = Random(seed)
    size = random.choice((3, 10, 1000))
    drawing = Drawing(random, kinds)
    truth = drawing.truth()
    result = Trial(seed, truth, drawing.used, size, Counter(), [])
    tools = tools_of(truth, World(0, size))
    runs: list[Idea] = []
    for number in range(5):
        world = World(random.randrange(10**9), size)
        kept_run = await keep_example(folder / f"{seed}-{number}.json", truth, world, drawn_input(random, size), random)
        if kept_run is None:
            result.counts["no example"] += 1
            return result
        runs.append(kept_run)
    try:
        refined = await refine(runs, idea=IDEA, tools=tools)
        for _ in range(3):
            if refined.questions:
                confirm, ignore = settled(truth, refined)
                refined = await refine(runs, idea=IDEA, tools=tools, confirm=confirm, ignore=ignore)
    except errors.RefineError as error:
        result.counts[error.code] += 1
        return result
    result.plan = refined.plan
    if refined.questions or not refined.proof.holds:
        result.counts["open" if refined.questions else f"not proved: {refined.proof.why}"] += 1
        return result
    for _ in range(fresh):
        world, given = World(random.randrange(10**9), size), drawn_input(random, size)
        expected = await outcome(truth, truth.plan, world, given)
        actual = await outcome(truth, refined.plan, world, given)
        if expected is None:
            result.counts["nothing to compare"] += 1
        elif actual is None:
            result.counts["left"] += 1
        else:
            is_right = repr(actual) == repr(expected)
            result.counts["right" if is_right else "wrong"] += 1
            if not is_right:
                result.wrong.append(f"{given}: {actual}, not {expected}")
    return result
