"""Runs what is drawn, under schedulers of its own, and writes down what was seen of it in the model's words."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from actum import HOLD, Agent, Call, Config, Context, Limits, Tools, approvals, errors, events
from actum.models import ModelRequest
from actum.protocol.marks import without_run

from .drawing import Case, Talk
from .given import GATE
from .values import END, Json
from .world import READER, Failure, World, named

_QUIET = 40
"""So many turns of the loop with nothing new are a standstill: whoever can go on has gone on."""


@dataclass(frozen=True)
class Schedule:
    """How calls and the answer come: `order` decides whose call ends next, None lets each end at once."""

    order: int | None = None
    patience: int = _QUIET
    chunk: int | None = None
    parallel: int = 1000


@dataclass
class Seen:
    """What was seen of a run."""

    schedule: Schedule
    begun: list[tuple[str, str, Json, Json]] = field(default_factory=list[tuple[str, str, Json, Json]])
    """The calls that Activities have carried out: place, tool, arguments, what crossed."""
    log: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """When calls began and ended, in order."""
    requests: list[tuple[str, tuple[Any, ...], Json]] = field(default_factory=list[tuple[str, tuple[Any, ...], Json]])
    """What was asked: in which tool's delegate, the blocks, the data; but not what came to nothing."""
    result: Any = None
    error: BaseException | None = None


class Desk:
    """One run's tools, its model and its approver."""

    name = "drawn"

    def __init__(
        self,
        world: World,
        answers: list[Json],
        schedule: Schedule,
        broken: Mapping[int, list[int]] | None = None,
        most: int | None = None,
    ) -> None:
        self.world = world
        self.limits = Limits() if most is None else Limits(requests=most)
        self.answers = answers
        self.broken = {number: list(shares) for number, shares in (broken or {}).items()}
        """The answers that are still to come to nothing, after so many per cent of their text."""
        self.schedule = schedule
        self.seen = Seen(schedule)
        self.asked: Counter[str] = Counter()
        self.waiting: dict[str, asyncio.Event] = {}
        self.steps = 0
        self.streaming = 0
        """How many answers are on their way."""
        self.places: dict[str, str] = {}
        """The places of calls by their keys."""

    def found(self) -> Seen:
        """What was seen, by places."""
        known = self.places  # of a run that is cut, not all is told
        self.seen.begun = [(known.get(key, key), tool, own, crossed) for key, tool, own, crossed in self.seen.begun]
        self.seen.log = [(sign, known.get(key, key)) for sign, key in self.seen.log]
        return self.seen

    async def carry(self, activity: str, call: Call, tool: Any, context: Context) -> Any:
        place = str(context.key)
        arguments = {key: one for key, one in call.items() if not key.startswith("_")}
        crossing = json.loads(json.dumps(dict(context.data)))
        if errors := [one["call"] and named(one["call"]) for one in context if one["type"] == "error"]:
            crossing["error"] = errors
        if metas := [one["meta"] for one in context if one["type"] == "meta"]:
            crossing["meta"] = metas
        self.seen.begun.append((place, activity, arguments, crossing))
        self.seen.log.append(("+", place))
        self.steps += 1
        try:
            if self.schedule.order is not None:
                self.waiting[place] = asyncio.Event()
                await self.waiting[place].wait()
            given = (
                arguments | {"crossing": crossing}
                if "_scopes" in self.world.tools[tool.name]["properties"]
                else arguments
            )
            return self.world.carry(activity, given)
        except Failure as error:
            raise ValueError(str(error)) from None
        finally:
            self.seen.log.append(("-", place))
            self.steps += 1

    async def release(self) -> None:
        """Let the calls end in the drawn order, one whenever nothing else happens."""
        ranks = Random(self.schedule.order)
        quiet = last = 0
        while True:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.steps == last else 0
            last = self.steps
            if quiet >= self.schedule.patience and self.waiting:
                place = ranks.choice(sorted(self.waiting))
                self.waiting.pop(place).set()
                quiet = 0

    async def approve(self, call: Call, *_: object) -> Any:
        arguments = {key: one for key, one in call.items() if not key.startswith("_")}
        decided = self.world.approve(call.tool, arguments)
        meta = {key: one for key, one in call.items() if key.startswith("_")}
        return decided if isinstance(decided, bool | str) else Call.of(meta | decided)

    # The model

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        self.steps += 1
        texts = [str(one["content"]) for one in request.messages]
        of = _delegate_in(texts)
        blocks = [text for text in texts if text.startswith("¶")]
        own = next((text for text in blocks if text.startswith("¶input")), "") if of else ""
        key = f"{of} {own}"
        number = self.asked[key]
        breaks = [] if of else self.broken.get(number, [])
        broken = breaks.pop(0) if breaks else None
        if broken is None:
            self.seen.requests.append((of, tuple(_shown(blocks)), _data(blocks)))
        answers = self.world.replies.get(of, ()) if of else self.answers
        answer = answers[number] if number < len(answers) else END
        if of == READER.name:
            answer = self.world.read(_data(blocks)["input"])
        text = json.dumps(answer, ensure_ascii=False)
        size = self.schedule.chunk or len(text)
        if broken is not None:
            text = text[: len(text) * broken // 100] if broken < 100 else json.dumps(answer | {"output": "{†calls.0"})
        self.streaming += 1
        try:
            for start in range(0, len(text), size):
                await asyncio.sleep(0)
                yield text[start : start + size]
            self.asked[key] += broken is None
        finally:
            self.streaming -= 1


def _delegate_in(texts: list[str]) -> str:
    """The tool that a request is made for, empty for the planner's own."""
    for text in texts:
        if text.startswith("delegate of "):
            return text.removeprefix("delegate of ")
        if text.startswith("Answer the question `ask` about the value `of`"):
            return READER.name
        if text.startswith("Carry out one call of the tool '"):
            return text.split("'")[1]
    return ""


_DECODER = json.JSONDecoder()


def _shown(blocks: list[str]) -> Iterator[tuple[Any, ...]]:
    """The results, errors and skipped calls that a request shows."""
    for block in blocks:
        head, _, rest = block.partition("\n")
        word, _, more = head[1:].partition(" ")
        if word == "result" and more:
            number, _, call = more.partition(" of ")
            yield word, int(number), named(_DECODER.raw_decode(call)[0]), rest if rest == "done" else json.loads(rest)
        elif word == "error":
            yield word, named(json.loads(more.removeprefix("in "))) if more else None
        elif word == "skipped":
            yield word, named(json.loads(more))


def _data(blocks: list[str]) -> Json:
    """The shared data that a request shows, by kind."""
    found: Json = {}
    for block in blocks:
        head, _, rest = block.partition("\n")
        kind, rest = head[1:], rest.partition("\n")[2] if rest.startswith("schema ") else rest
        if kind.isidentifier() and rest[:1] in "{[":
            found[kind] = json.loads(rest)
    return found


class Bench:
    """The agents of many runs: what is made of tools is made once."""

    def __init__(self, world: World) -> None:
        self.desk = Desk(world, [], Schedule())
        self.tools = Tools()
        for name, schema in world.tools.items():
            self.tools.register(name, schema)
        for name in world.activities:
            self.tools.activity(name)(self.carrying(name))

    name = Desk.name

    def carrying(self, activity: str) -> Any:
        """The Activity of this name."""

        async def carry(call: Call, tool: Any, context: Context) -> Any:
            return await self.desk.carry(activity, call, tool, context)

        return carry

    async def ran(self, desk: Desk, context: list[Json]) -> Seen:
        """What is seen of one run to its end."""
        self.desk = desk
        agent = Agent(
            desk,
            tools=self.tools,
            approve=desk.approve,
            delegates=dict(desk.world.delegates),
            limits=desk.limits,
            config=Config(parallel=desk.schedule.parallel, repair=desk.world.repair, upfront=desk.world.is_upfront),
        )
        releasing = asyncio.create_task(desk.release()) if desk.schedule.order is not None else None
        try:
            async with agent.stream(json.loads(json.dumps(context))) as stream:
                async for event in stream:
                    if isinstance(event, events.CallStarted):
                        desk.places[event.key] = str(event.place)
            desk.seen.result = stream.result
        except Exception as error:
            desk.seen.error = error
            desk.seen.result = getattr(error, "result", None)
        finally:
            if releasing is not None:
                releasing.cancel()
        return desk.found()


_BENCHES: dict[int, Bench] = {}


def bench_of(world: World) -> Bench:
    return _BENCHES.setdefault(id(world.tools), Bench(world))


async def ran(case: Case, schedule: Schedule) -> Seen:
    """What is seen of one run to its end."""
    world = case.world
    return await bench_of(world).ran(Desk(world, case.answers, schedule, case.broken, case.most), case.context)


@dataclass
class Spoken:
    """What was seen of a conversation, over all of the runs that it took."""

    outputs: list[Any] = field(default_factory=list[Any])
    context: Any = None
    stops: int = 0
    """How often it waited or was cut, and was loaded again."""


class Talking(Desk):
    """A conversation's tools, model and approver: some calls are held once, some turns are left early."""

    def __init__(self, talk: Talk, schedule: Schedule, held: Collection[int]) -> None:
        super().__init__(talk.world, [], schedule)
        self.talk = talk
        self.to_hold = set(held)
        self.waited_for: Collection[str] = ()
        """The decisions and gates that the last run waited for in the end."""
        self.runs: set[str] = set()
        """The ids of the runs that others have gone on from."""

    async def approve(self, call: Call, *more: object) -> Any:
        if call.get("n") in self.to_hold and "gate" not in call:
            return HOLD
        return await super().approve(call, *more)

    async def spoken(self, bench: Bench) -> Spoken:
        """The conversation to its end: what waits is decided, what was cut is gone on with, each in a new process."""
        bench.desk = self
        found = Spoken()
        context: Any = self.talk.context
        for number, answers in enumerate(self.talk.turns):
            self.answers, self.asked = answers, Counter()
            self.broken = {at: list(shares) for at, shares in self.talk.broken.get(number, {}).items()}
            said: str | None = f"turn {number}"
            cut, limit = self.talk.cuts.get(number), self.talk.limits.get(number)
            while True:
                context = self.forked(context) if number in self.talk.forks else context
                self.limits = Limits() if limit is None else Limits(calls=limit)
                until, cut, limit = cut, None, None
                context, output, is_over = await self.turn(bench, context, said, until)
                if is_over:
                    break
                said, found.stops = None, found.stops + 1
                for waiting in approvals.pending(context):
                    context = approvals.decided(context, waiting.of, "approve")
                if GATE in self.waited_for:
                    context = approvals.opened(context, GATE)
                context = Context(json.loads(json.dumps(list(context))))
                assert found.stops < 20, "it never ends"
            found.outputs.append(output)
        found.context = context
        return found

    def forked(self, context: Iterable[Json]) -> Context:
        """The context as another run goes on with it (C9)."""
        self.runs |= {key.partition("/")[0] for key, *_ in self.seen.begun}
        return Context(without_run(context))

    async def turn(self, bench: Bench, context: Any, said: str | None, until: int | None) -> tuple[Any, Any, bool]:
        """One run of a turn: the context then, its output, and whether it is over."""
        agent = Agent(
            self,
            tools=bench.tools,
            approve=self.approve,
            delegates=dict(self.world.delegates),
            limits=self.limits,
            config=Config(parallel=self.schedule.parallel),
        )
        talk = agent.conversation(context, None)
        done = {message["_of"] for message in context if "_call" in message and "_of" in message}
        before = len(self.seen.begun)
        releasing = asyncio.create_task(self.release()) if self.schedule.order is not None else None
        try:
            async with talk.stream(said) as stream:
                count, is_answered = 0, said is None
                async for event in stream:
                    is_answered = is_answered or isinstance(event, events.RequestFinished)
                    if isinstance(event, events.CallStarted):
                        self.places[event.key] = str(event.place)
                    count += is_answered
                    if until is not None and count > until and not self.streaming:
                        break
                else:
                    until = None
            if until is not None:
                self.waited_for = ()
                return talk.context, None, False
            result = stream.result
            self.waited_for = result.waiting
            is_over = result.context.messages[-1]["type"] == "output"
            return talk.context, result.output, is_over
        except errors.LimitExceeded:
            self.waited_for = ()
            return talk.context, None, False
        finally:
            if releasing is not None:
                releasing.cancel()
            self.waiting.clear()
            assert not {key.partition("/")[0] for key, *_ in self.seen.begun[before:]} & self.runs, "a fork's keys"
            begun = [self.places.get(key, key) for key, *_ in self.seen.begun[before:]]
            assert len(begun) == len({*begun}), "a call was made twice in one run"
            assert not done.intersection(begun), "a call was made again that had left what it came to"


def left_by(context: Iterable[Any]) -> list[Json]:
    """The messages that calls have left, as the model has them, in the order of places."""
    found: list[Json] = []
    for message in context:
        if message["type"] == "error" and "_of" in message:
            found.append({"_of": message["_of"], "what": "error", "value": None})
        if "_call" not in message:
            continue
        own: Json = {"_of": message["_of"]} | ({"_instance": message["_instance"]} if "_instance" in message else {})
        kind = message.get("kind", message["type"])
        value: Any = message.get("data", message.get(kind))
        if "_outputPath" in message:
            own |= {"what": "data", "value": value, "path": message["_outputPath"], "method": message["_outputMethod"]}
        elif kind == "record" and value and "skipped" in value:
            own |= {"what": "skipped", "value": True}
        elif kind == "record":
            own |= {"what": "record", "value": value and value.get("result")}
        else:
            own |= {"what": "result", "value": value}
        found.append(own)
    return found
