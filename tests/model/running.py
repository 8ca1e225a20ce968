"""Runs what is drawn, under its own schedulers, and notes what was seen of it in the model's words."""

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
from .values import LAST_ANSWER, Json
from .world import READER, Failure, World, label_of

_QUIET = 40
"""So many turns of the loop with nothing new are a standstill: all that can go on has gone on."""


@dataclass(frozen=True)
class Schedule:
    """When calls end and the answer comes: `order` decides which call ends next, None lets each end at once."""

    order: int | None = None
    patience: int = _QUIET
    chunk: int | None = None
    parallel: int = 1000


@dataclass
class Observed:
    """What was seen of a run."""

    schedule: Schedule
    executions: list[tuple[str, str, Json, Json]] = field(default_factory=list[tuple[str, str, Json, Json]])
    """The calls that Activities have carried out: place, tool, arguments, what crossed."""
    log: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """When calls began and ended, in order."""
    requests: list[tuple[str, tuple[Any, ...], Json]] = field(default_factory=list[tuple[str, tuple[Any, ...], Json]])
    """The requests, but those whose answer came to nothing: in which tool's delegate, the blocks, the data."""
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
        max_requests: int | None = None,
    ) -> None:
        self.world = world
        self.limits = Limits() if max_requests is None else Limits(requests=max_requests)
        self.answers = answers
        self.broken = {number: list(shares) for number, shares in (broken or {}).items()}
        """The answers that are still to come to nothing, after so many per cent of their text."""
        self.schedule = schedule
        self.observed = Observed(schedule)
        self.counts: Counter[str] = Counter()
        self.waiting: dict[str, asyncio.Event] = {}
        self.steps = 0
        self.streaming = 0
        """How many answers are on their way."""
        self.places: dict[str, str] = {}
        """The places of calls by their keys."""

    def observation(self) -> Observed:
        """What was seen, by places."""
        places = self.places  # of a run that is cut, not all are known
        self.observed.executions = [
            (places.get(key, key), tool, arguments, crossed)
            for key, tool, arguments, crossed in self.observed.executions
        ]
        self.observed.log = [(sign, places.get(key, key)) for sign, key in self.observed.log]
        return self.observed

    async def carry(self, activity: str, call: Call, tool: Any, context: Context) -> Any:
        place = str(context.key)
        arguments = {key: value for key, value in call.items() if not key.startswith("_")}
        crossing = json.loads(json.dumps(dict(context.data)))
        if errors := [
            message["call"] and label_of(message["call"]) for message in context if message["type"] == "error"
        ]:
            crossing["error"] = errors
        if metas := [message["meta"] for message in context if message["type"] == "meta"]:
            crossing["meta"] = metas
        self.observed.executions.append((place, activity, arguments, crossing))
        self.observed.log.append(("+", place))
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
            self.observed.log.append(("-", place))
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
        arguments = {key: value for key, value in call.items() if not key.startswith("_")}
        decision = self.world.approve(call.tool, arguments)
        meta = {key: value for key, value in call.items() if key.startswith("_")}
        return decision if isinstance(decision, bool | str) else Call.of(meta | decision)

    # The model

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        self.steps += 1
        texts = [str(message["content"]) for message in request.messages]
        delegate = _delegate_in(texts)
        blocks = [text for text in texts if text.startswith("¶")]
        arguments = next((text for text in blocks if text.startswith("¶input")), "") if delegate else ""
        key = f"{delegate} {arguments}"
        number = self.counts[key]
        breaks = [] if delegate else self.broken.get(number, [])
        broken = breaks.pop(0) if breaks else None
        if broken is None:
            self.observed.requests.append((delegate, tuple(_parsed(blocks)), _data(blocks)))
        answers = self.world.replies.get(delegate, ()) if delegate else self.answers
        answer = answers[number] if number < len(answers) else LAST_ANSWER
        if delegate == READER.name:
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
            self.counts[key] += broken is None
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


def _parsed(blocks: list[str]) -> Iterator[tuple[Any, ...]]:
    """The results, errors and skipped calls that a request shows."""
    for block in blocks:
        head, _, rest = block.partition("\n")
        word, _, more = head[1:].partition(" ")
        if word == "result" and more:
            number, _, call = more.partition(" of ")
            yield (
                word,
                int(number),
                label_of(_DECODER.raw_decode(call)[0]),
                rest if rest == "done" else json.loads(rest),
            )
        elif word == "error":
            yield word, label_of(json.loads(more.removeprefix("in "))) if more else None
        elif word == "skipped":
            yield word, label_of(json.loads(more))


def _data(blocks: list[str]) -> Json:
    """The shared data that a request shows, by kind."""
    data: Json = {}
    for block in blocks:
        head, _, rest = block.partition("\n")
        kind, rest = head[1:], rest.partition("\n")[2] if rest.startswith("schema ") else rest
        if kind.isidentifier() and rest[:1] in "{[":
            data[kind] = json.loads(rest)
    return data


class Bench:
    """Makes the agents of many runs; what is made of tools is made once."""

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

    async def observe(self, desk: Desk, context: list[Json]) -> Observed:
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
            desk.observed.result = stream.result
        except Exception as error:
            desk.observed.error = error
            desk.observed.result = getattr(error, "result", None)
        finally:
            if releasing is not None:
                releasing.cancel()
        return desk.observation()


_BENCHES: dict[int, Bench] = {}


def bench_of(world: World) -> Bench:
    return _BENCHES.setdefault(id(world.tools), Bench(world))


async def observe(case: Case, schedule: Schedule) -> Observed:
    """What is seen of one run to its end."""
    world = case.world
    return await bench_of(world).observe(
        Desk(world, case.answers, schedule, case.broken, case.max_requests), case.context
    )


@dataclass
class ObservedTalk:
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

    async def converse(self, bench: Bench) -> ObservedTalk:
        """The conversation to its end: what waits is decided, what was cut is gone on with, each in a new process."""
        bench.desk = self
        observed = ObservedTalk()
        context: Any = self.talk.context
        for number, answers in enumerate(self.talk.turns):
            self.answers, self.counts = answers, Counter()
            self.broken = {at: list(shares) for at, shares in self.talk.broken.get(number, {}).items()}
            text: str | None = f"turn {number}"
            cut, limit = self.talk.cuts.get(number), self.talk.limits.get(number)
            while True:
                context = self.forked(context) if number in self.talk.forks else context
                self.limits = Limits() if limit is None else Limits(calls=limit)
                until, cut, limit = cut, None, None
                context, output, is_over = await self.turn(bench, context, text, until)
                if is_over:
                    break
                text, observed.stops = None, observed.stops + 1
                for waiting in approvals.pending(context):
                    context = approvals.decided(context, waiting.of, "approve")
                if GATE in self.waited_for:
                    context = approvals.opened(context, GATE)
                context = Context(json.loads(json.dumps(list(context))))
                assert observed.stops < 20, "it never ends"
            observed.outputs.append(output)
        observed.context = context
        return observed

    def forked(self, context: Iterable[Json]) -> Context:
        """The context as another run goes on with it (C9)."""
        self.runs |= {key.partition("/")[0] for key, *_ in self.observed.executions}
        return Context(without_run(context))

    async def turn(self, bench: Bench, context: Any, text: str | None, until: int | None) -> tuple[Any, Any, bool]:
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
        before = len(self.observed.executions)
        releasing = asyncio.create_task(self.release()) if self.schedule.order is not None else None
        try:
            async with talk.stream(text) as stream:
                count, is_answered = 0, text is None
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
            assert not {key.partition("/")[0] for key, *_ in self.observed.executions[before:]} & self.runs, (
                "a fork's keys"
            )
            begun = [self.places.get(key, key) for key, *_ in self.observed.executions[before:]]
            assert len(begun) == len({*begun}), "a call was made twice in one run"
            assert not done.intersection(begun), "a call was made again that had left what it came to"


def messages_left_by(context: Iterable[Any]) -> list[Json]:
    """The messages that calls have left, as the model has them, in the order of places."""
    messages: list[Json] = []
    for message in context:
        if message["type"] == "error" and "_of" in message:
            messages.append({"_of": message["_of"], "what": "error", "value": None})
        if "_call" not in message:
            continue
        left: Json = {"_of": message["_of"]} | ({"_instance": message["_instance"]} if "_instance" in message else {})
        kind = message.get("kind", message["type"])
        value: Any = message.get("data", message.get(kind))
        if "_outputPath" in message:
            left |= {"what": "data", "value": value, "path": message["_outputPath"], "method": message["_outputMethod"]}
        elif kind == "record" and value and "skipped" in value:
            left |= {"what": "skipped", "value": True}
        elif kind == "record":
            left |= {"what": "record", "value": value and value.get("result")}
        else:
            left |= {"what": "result", "value": value}
        messages.append(left)
    return messages
