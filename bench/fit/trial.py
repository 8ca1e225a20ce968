"""One task carried out by one loop, and what came of it: `result.json` of a lane."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from actum import Agent, errors
from actum.models import Model
from actum.schema.json import JsonObject

from . import ordinary
from .asking import Kept
from .exchange import Asked, Exchange
from .tallying import Refusal, Tally
from .tasks import INSTRUCTIONS, Name, Task

T = TypeVar("T")
Loop: TypeAlias = Literal["actum", "tools"]
LOOPS: tuple[Loop, ...] = ("actum", "tools")
_OUTPUT = {"type": "string"}
_TOLD = f"{INSTRUCTIONS} When done, `output` is your answer to the user."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a task. Requests and tokens of readers are those of every request that the planner didn't make.

    `references` and `expressions` are those that its answers use. `refused` are elements of answers, and answers, that
    were wrong; `mended` says of each run of answers with refusals how many turns later one had none, None for never.
    `failed` counts calls that a tool refused or that failed in it, `malformed` texts that were no answer at all and
    were given back unread. `ended` is why there is no output, as the code of an error.
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

    def to_dict(self) -> JsonObject:
        """The outcome as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, kept: JsonObject) -> Outcome:
        """An outcome that was kept as JSON."""
        refused: list[Any] = kept["refused"]
        fields: JsonObject = {**kept, "refused": [Refusal(**one) for one in refused]}
        return cls(**fields)


async def carried_out(loop: Loop, name: Name, task: Task, exchange: Exchange, model: Model | None) -> Outcome | None:
    """Carry out a task in its fresh world; None if a request of it waits for an answer.

    Raises:
        ModelError: the model can't be had, or failed for good; what it had answered is kept.
    """
    kept = Kept(exchange, model)
    if loop == "actum":
        return await _unless_waiting(_by_actum(name, task, exchange, kept), kept)
    return await _unless_waiting(_by_tools(name, task, exchange, kept), kept)


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


async def _by_actum(name: Name, task: Task, exchange: Exchange, model: Model) -> Outcome:
    tally = Tally()
    agent = Agent(model, tools=task.tools())
    context = [{"type": "system", "message": _TOLD}, {"type": "user", "message": task.prompt}]
    output: str | None = None
    ended: errors.ActumError | None = None
    async with agent.stream(context, _OUTPUT) as run:
        try:
            async for event in run:
                tally.take(event)
        except errors.ModelError:
            raise
        except errors.ActumError as error:
            ended = error
        else:
            output = run.result.output
        tally.close(run.partial, ended)
    main, readers = tally.apart(exchange.made)
    return Outcome(
        world=name.world,
        task=name.number,
        loop="actum",
        solved=task.is_useful(output or ""),
        output=output,
        ended=ended.code if ended is not None else "",
        requests=len(main),
        reader_requests=len(readers),
        references=tally.references,
        expressions=tally.expressions,
        refused=tally.refused,
        mended=tally.mended(),
        failed=tally.failed,
        malformed=0,
        calls=tally.calls,
        **_tokens(main, readers),
    )


async def _by_tools(name: Name, task: Task, exchange: Exchange, model: Model) -> Outcome:
    came = await ordinary.carried_out(task, model)
    refused = [Refusal(rule="", code="unusable", request=number) for number in came.unusable]
    main = exchange.made
    return Outcome(
        world=name.world,
        task=name.number,
        loop="tools",
        solved=task.is_useful(came.output or ""),
        output=came.output,
        ended=came.ended,
        requests=len(main),
        reader_requests=0,
        references=0,
        expressions=0,
        refused=refused,
        mended=Tally(refused=refused, requests=len(main)).mended(),
        failed=came.failed,
        malformed=0,
        calls=came.calls,
        **_tokens(main, []),
    )


def _tokens(main: Sequence[Asked], readers: Sequence[Asked]) -> dict[str, Any]:
    return {
        "tokens_in": sum(one.tokens_in for one in main),
        "tokens_out": sum(one.tokens_out for one in main),
        "reader_tokens_in": sum(one.tokens_in for one in readers),
        "reader_tokens_out": sum(one.tokens_out for one in readers),
    }
