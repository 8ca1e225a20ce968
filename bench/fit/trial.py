"""One task carried out in one way, and what came of it: `result.json` of a lane.

The ways are Actum, Actum with plans that it derives from earlier tasks, code mode, and the ordinary loop of tool calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from actum import Agent, Config, errors
from actum.models import Model
from actum.schema.json import JsonObject

from .asking import Kept
from .exchange import Asked, Exchange
from .ordinary import Looping, Ordinary
from .tallying import Refusal, Tally
from .tasks import GREETING, Name, Task
from .wiring import Arguments, counted

T = TypeVar("T")
Loop: TypeAlias = Literal["actum", "plans", "code", "tools"]
LOOPS: tuple[Loop, ...] = ("actum", "plans", "code", "tools")
_OUTPUT = {"type": "string"}
_TOLD = "When done, `output` is your answer to the user."
_TURNS = 30
"""As often a simulated user is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a task. Requests and tokens of readers are those of every request that the planner didn't make.

    `references` and `expressions` are those that its answers use. `refused` are elements of answers, and answers, that
    were wrong; `mended` says of each run of answers with refusals how many turns later one had none, None for never.
    Those of a simulated user are counted nowhere else. Of the argument values `given`, so many were `brought` by
    earlier calls, and so many of these a model `wrote` out again. `failed` counts calls that a tool refused or that
    failed in it, `malformed` texts that were no answer at all and were given back unread. `ended` is why there is no
    output, as the code of an error.
    """

    world: str
    task: int
    loop: Loop
    solved: bool
    output: str | None
    ended: str
    requests: int
    reader_requests: int
    references: int
    expressions: int
    refused: list[Refusal] = field(default_factory=list[Refusal])
    mended: list[int | None] = field(default_factory=list[int | None])
    failed: int
    malformed: int
    tokens_in: int
    tokens_out: int
    reader_tokens_in: int
    reader_tokens_out: int
    calls: list[str]
    bytes_in: int = 0
    user_requests: int = 0
    given: int = 0
    brought: int = 0
    wrote: int = 0

    def to_dict(self) -> JsonObject:
        """The outcome as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, kept: JsonObject) -> Outcome:
        """An outcome that was kept as JSON."""
        refused: list[Any] = kept["refused"]
        fields: JsonObject = {**kept, "refused": [Refusal(**refusal) for refusal in refused]}
        return cls(**fields)


async def carried_out(
    loop: Loop, name: Name, task: Task, exchange: Exchange, model: Model | None, config: Config | None = None
) -> Outcome | None:
    """Carry out a task in its fresh world; None if a request of it waits for an answer. `config` is Actum's.

    Raises:
        ModelError: the model can't be had, or failed for good; what it had answered is kept.
    """
    kept = Kept(exchange, model)
    trial = Trial(name, task, exchange, kept, config)
    ways: dict[Loop, Callable[[], Coroutine[Any, Any, Outcome]]] = {
        "actum": trial.by_actum,
        "plans": trial.by_plans,
        "code": trial.by_code,
        "tools": trial.by_tools,
    }
    return await _unless_waiting(ways[loop](), kept)


async def _unless_waiting(work: Coroutine[Any, Any, T], kept: Kept) -> T | None:
    """What a coroutine comes to; None, and the coroutine cancelled, once a request waits for its answer."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(_caught(work))
        waiting = group.create_task(kept.waits.wait())
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        working.cancel()
        waiting.cancel()
    if working.cancelled():
        return None
    came = working.result()
    if isinstance(came, errors.ModelError):
        raise came
    return came


async def _caught(work: Coroutine[Any, Any, T]) -> T | errors.ModelError:
    try:
        return await work
    except errors.ModelError as error:
        return error


@dataclass(slots=True)
class Seen:
    """What runs of Actum in one task have done, by their events, and why the last one has no output."""

    tallies: list[Tally] = field(default_factory=list[Tally])
    ended: str = ""

    async def through(self, stream: AbstractAsyncContextManager[Any]) -> str | None:
        """The output of a run, None if it ended otherwise.

        Raises:
            ModelError: the model's own.
        """
        tally = Tally()
        self.tallies.append(tally)
        problem: errors.ActumError | None = None
        async with stream as run:
            try:
                async for event in run:
                    tally.take(event)
            except errors.ModelError:
                raise
            except errors.ActumError as error:
                problem, self.ended = error, error.code
        done = run.result if problem is None else problem.result
        if done is not None:
            tally.close(done, problem)
        return None if problem is not None else run.result.output


class Trial:
    """One task, in whichever way."""

    def __init__(self, name: Name, task: Task, exchange: Exchange, model: Model, config: Config | None) -> None:
        self._name = name
        self._config = config
        self._task = task
        self._exchange = exchange
        self._model = model
        self._of_user: set[int] = set()
        """The numbers of the requests that a simulated user made."""

    async def by_actum(self) -> Outcome:
        """Actum as its users have it by default, a conversation where a user is there."""
        agent = Agent(self._model, tools=self._task.tools(), config=self._config)
        talk = agent.conversation([{"type": "system", "message": self._instructions}], _OUTPUT)
        seen = Seen()
        return self._seen("actum", await self._talked(lambda text: seen.through(talk.stream(text))), seen)

    async def by_plans(self) -> Outcome:
        """Actum with plans beside the lane's tasks: what was derived from earlier ones answers without a model."""
        from actum.refine import Plans

        folder = self._exchange.folder
        if folder is None or not self._task.prompt:
            raise ValueError("plans need a lane that keeps them, and answer no simulated user; leave --loop plans out")
        folder.parent.mkdir(parents=True, exist_ok=True)
        agent = Agent(self._model, tools=self._task.tools(), plans=Plans(folder.parent / "plans.db"))
        context = [{"type": "system", "message": self._instructions}, {"type": "user", "message": self._task.prompt}]
        seen = Seen()
        return self._seen("plans", await seen.through(agent.stream(context, _OUTPUT)), seen)

    async def by_code(self) -> Outcome:
        """Code mode."""
        from .coding import Coding  # its packages stand in the environments of the suites alone

        coding = Coding(self._task, self._model)
        return self._looped("code", await self._talked(coding.turn), coding.came)

    async def by_tools(self) -> Outcome:
        """The ordinary loop."""
        looping = Looping(self._task, self._model)
        return self._looped("tools", await self._talked(looping.turn), looping.came)

    def _looped(self, loop: Loop, output: str | None, came: Ordinary) -> Outcome:
        refused = [Refusal(rule="", code="unusable", request=number) for number in came.unusable]
        mended = Tally(refused=refused, requests=len(self._exchanges)).mended()
        return self._outcome(
            loop,
            output,
            came.ended,
            self._exchanges,
            [],
            refused=refused,
            mended=mended,
            failed=came.failed,
            calls=came.calls,
        )

    def _seen(self, loop: Loop, output: str | None, seen: Seen) -> Outcome:
        main: list[Asked] = []
        readers: list[Asked] = []
        for asked in self._exchanges:
            (main if any(tally.apart([asked])[0] for tally in seen.tallies) else readers).append(asked)
        return self._outcome(
            loop,
            output,
            seen.ended,
            main,
            readers,
            references=sum(tally.references for tally in seen.tallies),
            expressions=sum(tally.expressions for tally in seen.tallies),
            refused=[refusal for tally in seen.tallies for refusal in tally.refused],
            mended=[turns for tally in seen.tallies for turns in tally.mended()],
            failed=sum(tally.failed for tally in seen.tallies),
            calls=[call for tally in seen.tallies for call in tally.calls],
        )

    def _outcome(
        self, loop: Loop, output: str | None, ended: str, main: list[Asked], readers: list[Asked], **more: Any
    ) -> Outcome:
        answers = [asked.answer or "" for asked in main]
        arguments: Arguments = counted(self._task.made, self._task.prompt, answers)
        figures: JsonObject = {
            "references": 0,
            "expressions": 0,
            "failed": 0,
            "calls": [call.tool for call in self._task.made],
        }
        return Outcome(
            world=self._name.world,
            task=self._name.number,
            loop=loop,
            solved=self._task.is_useful(output or ""),
            output=output,
            ended=ended,
            requests=len(main),
            reader_requests=len(readers),
            malformed=0,
            bytes_in=sum(asked.bytes_in for asked in main),
            user_requests=len(self._of_user),
            given=arguments.given,
            brought=arguments.brought,
            wrote=arguments.wrote,
            **(figures | more),
            **_tokens(main, readers),
        )

    @property
    def _instructions(self) -> str:
        return f"{self._task.instructions} {_TOLD}"

    @property
    def _exchanges(self) -> list[Asked]:
        """The requests that were answered, but for those of a simulated user."""
        return [asked for asked in self._exchange.made if asked.number not in self._of_user]

    async def _talked(self, turn: Callable[[str], Awaitable[str | None]]) -> str | None:
        """The last thing that was said to the user; None if it ended otherwise."""
        text = self._task.prompt or await self._reply(GREETING)
        output: str | None = None
        for _ in range(_TURNS):
            if text is None:
                break
            output = await turn(text)
            text = None if output is None else await self._reply(output)
        return output

    async def _reply(self, text: str) -> str | None:
        before = len(self._exchange.reached)
        reply = await self._task.reply(text, self._model)
        self._of_user.update(self._exchange.reached[before:])
        return reply


def _tokens(main: Sequence[Asked], readers: Sequence[Asked]) -> dict[str, Any]:
    return {
        "tokens_in": sum(asked.tokens_in for asked in main),
        "tokens_out": sum(asked.tokens_out for asked in main),
        "reader_tokens_in": sum(asked.tokens_in for asked in readers),
        "reader_tokens_out": sum(asked.tokens_out for asked in readers),
    }
