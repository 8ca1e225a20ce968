"""Random plans of classes 1 to 6 on random worlds, and a model that carries them out and retypes every value.

What refining makes of five such runs is compared with the plan itself on fresh worlds (refine.md, section 10).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
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
    """What tools return: the same for the same call, drawn from so many values."""

    seed: int
    size: int

    def drawn(self, *about: Any) -> int:
        told = hashlib.sha256(repr((self.seed, about)).encode()).digest()
        return int.from_bytes(told[:6], "big") % self.size

    def record(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        def own(name: str) -> int:
            return self.drawn(tool, sorted(arguments.items()), name)

        key = str(next(iter(arguments.values()), ""))
        rows = [
            {"id": f"r{own(f'id{at}')}-{at}", "state": STATES[own(f"state{at}") % 3], "n": 1 + own(f"n{at}")}
            for at in range(1 + own("rows") % 4)
        ]
        rows.insert(own("at") % (len(rows) + 1), {"id": key, "state": STATES[own("state") % 3], "n": 1 + own("n-")})
        return {
            "name": f"Name{own('name')}",
            "city": f"City {own('city')}",
            "n": 1 + own("n"),
            "price": round(1 + own("price") * 1.25, 2),
            "rows": rows,
        }


@dataclass
class Truth:
    """A plan, each call by a tool of its own, and how what it reads depends on what."""

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
    """Draws a plan: what each of its values is of."""

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

    def _kind(self, of: tuple[int, ...]) -> int:
        kind = self._random.choice([one for one in of if one in self._kinds] or [1])
        self.used.add(kind)
        return kind

    def text(self) -> Any:
        match self._kind((1, 1, 2, 5, 6) if self._lists else (1, 1, 5, 6)):
            case 2:
                return f"{{min([x.id for x in {self._random.choice(self._lists)}])}}"
            case 5:
                return self._template()
            case 6:
                return self._random.choice(("Come", "blue"))
            case _:
                return self._random.choice(self._texts)

    def _chosen(self, own: str) -> str:
        """The number of the item that the call of a list had asked for."""
        key = self._keys[own]
        if not isinstance(key, str) or not key.startswith("†"):
            return f"{own.removesuffix('.rows')}.n"
        return f"{{one(x for x in {own} if x.id == {key}).n}}"

    def _template(self) -> str:
        one, other = self._random.choice(self._texts), self._random.choice(self._texts)
        number = self._random.choice(self._numbers)
        forms = (
            f"For {{{one}}}, in {{{other}}}",
            f"{{{one}.upper()}}!",
            f"{{{one}}} costs {{{number}:.2f}}",
            f"{{{one}.lower()}}",
            f"No. {{{number}}}",
        )
        return self._random.choice(forms)

    def number(self) -> Any:
        match self._kind((1, 1, 2, 3, 4, 6) if self._lists else (1, 1, 4, 6)):
            case 3:
                own = self._random.choice(self._lists)
                where = self._random.choice(("", " if x.state == 'late'"))
                name = self._random.choice(("sum", "len", "max") if not where else ("sum", "len"))
                return f"{{{name}([x.n for x in {own}{where}])}}" if name != "len" else _count(own, where)
            case 4:
                one, other = self._random.choice(self._numbers), self._random.choice([*self._numbers, "2", "0.5"])
                sign = self._random.choice("+-*")
                text = f"{one} {sign} {other}"
                return f"{{round({text}, 2)}}" if self._random.random() < 0.3 else f"{{{text}}}"
            case 2:
                return self._chosen(self._random.choice(self._lists))
            case 6:
                return self._random.choice((2, 77, 6.5))
            case _:
                return self._random.choice(self._numbers)


def _count(own: str, where: str) -> str:
    return f"{{len([x for x in {own}{where}])}}" if where else f"{{len({own})}}"


def tools_of(truth: Truth, world: World, made: list[Any] | None = None) -> Tools:
    """The tools of a plan in a world; what effects were made is noted."""
    found = Tools()
    for call in truth.calls:
        _add(found, call, world, truth.effects, made)
    return found


def _add(found: Tools, call: Mapping[str, Any], world: World, effects: set[str], made: list[Any] | None) -> None:
    name = str(call["_tool"])
    names = [key for key in call if not key.startswith("_")]

    async def activity(call: Mapping[str, Any]) -> Any:
        arguments = {key: call[key] for key in names}
        if made is not None:
            made.append((name, arguments))
        return world.record(name, arguments)

    properties: dict[str, Any] = {key: {} for key in names}
    if name not in effects:
        properties["_effects"] = {"const": "none"}
    found.register(name, {"type": "object", "properties": properties, "required": names})
    found.activity(name, activity)


def drawn_input(random: Random, size: int) -> dict[str, Any]:
    """Values of an input, each of so many."""
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
    made: list[Any] = []
    try:
        result = await Agent(None, tools=tools_of(truth, world, made)).run(
            [INPUT, WORDS, plan], {"type": "object"}, input=dict(given)
        )
    except errors.PlanFailed:
        return None
    own = [(name, sorted(arguments.items())) for name, arguments in made]
    reads = sorted({repr(one) for one in own if one[0] not in truth.effects})
    return Outcome(result.output, reads, sorted(repr(one) for one in own if one[0] in truth.effects))


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
    resolved = {one.tool: {"_tool": one.tool, **one.arguments} for one in result.calls}
    turns = _in_turns(truth, resolved)
    mixed = [random.sample(calls, len(calls)) if random else calls for calls in turns]
    return [*({"calls": calls, "output": None} for calls in mixed), {"calls": [], "output": result.output}]


def _in_turns(truth: Truth, resolved: Mapping[str, Any]) -> list[list[Any]]:
    """The calls, answer by answer: what one reads was seen before, and an effect has an answer of its own."""
    turns: list[list[Any]] = []
    at: dict[int, int] = {}
    barrier = 0
    for index, call in enumerate(truth.calls):
        reads = [int(one) for value in call.values() for one in re.findall(r"†calls\.(\d+)", str(value))]
        turn = max([barrier, *(at[one] + 1 for one in reads)])
        if call["_tool"] in truth.effects:
            turn = barrier = len(turns)
            barrier += 1
        at[index] = turn
        turns += [[] for _ in range(turn + 1 - len(turns))]
        turns[turn].append(resolved[call["_tool"]])
    return turns


def settled(truth: Truth, found: Refined) -> tuple[dict[str, str], list[str]]:
    """What a person who knows the plan says to the open questions."""
    tools = [str(call["_tool"]) for call in found.plan["plan"] if "_tool" in call]
    own = [str(call["_tool"]) for call in truth.calls]

    def named(text: str) -> str:
        return re.sub(r"†calls\.(\d+)", lambda one: f"†calls.{tools.index(own[int(one[1])])}", text)

    confirm: dict[str, str] = {}
    ignore: list[str] = []
    for one in found.questions:
        head, _, key = one.leaf.partition(".")
        if head == "calls":
            ignore.append(one.leaf)
            continue
        holder = truth.output if head == "output" else truth.calls[own.index(tools[int(head)])]
        meant = holder[key]
        if one.value is not None:  # a hole is no question that a constant answers
            confirm[one.leaf] = named(meant) if isinstance(meant, str) and "†" in meant else ""
    return confirm, ignore


@dataclass
class Trial:
    """One drawn plan: what refining its runs came to, on fresh worlds."""

    seed: int
    truth: Truth
    used: set[int]
    size: int
    told: Counter[str]
    wrong: list[str]
    plan: Any = None


async def trial(seed: int, folder: Path, kinds: tuple[int, ...] = (1, 2, 3, 4, 5, 6), fresh: int = FRESH) -> Trial:
    """Draw a plan, keep five of its runs, refine these, and compare."""
    random = Random(seed)
    size = random.choice((3, 10, 1000))
    drawing = Drawing(random, kinds)
    truth = drawing.truth()
    own = Trial(seed, truth, drawing.used, size, Counter(), [])
    tools = tools_of(truth, World(0, size))
    runs: list[Idea] = []
    for number in range(5):
        world = World(random.randrange(10**9), size)
        kept_run = await keep_example(folder / f"{seed}-{number}.json", truth, world, drawn_input(random, size), random)
        if kept_run is None:
            own.told["no example"] += 1
            return own
        runs.append(kept_run)
    try:
        found = await refine(runs, idea=IDEA, tools=tools)
        for _ in range(3):
            if found.questions:
                confirm, ignore = settled(truth, found)
                found = await refine(runs, idea=IDEA, tools=tools, confirm=confirm, ignore=ignore)
    except errors.RefineError as error:
        own.told[error.code] += 1
        return own
    own.plan = found.plan
    if found.questions or not found.proof.holds:
        own.told["open" if found.questions else f"not proved: {found.proof.why}"] += 1
        return own
    for _ in range(fresh):
        world, given = World(random.randrange(10**9), size), drawn_input(random, size)
        wanted = await outcome(truth, truth.plan, world, given)
        got = await outcome(truth, found.plan, world, given)
        if wanted is None:
            own.told["nothing to compare"] += 1
        elif got is None:
            own.told["left"] += 1
        else:
            is_right = repr(got) == repr(wanted)
            own.told["right" if is_right else "wrong"] += 1
            if not is_right:
                own.wrong.append(f"{given}: {got}, not {wanted}")
    return own
