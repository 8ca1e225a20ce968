"""Ten times as much takes about ten times the work: counted in function calls, which no busy machine can change."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors, models
from actum.dataflow.arriving import ArrivingText
from actum.schema.json import JsonObject as Json

tools = Tools()


@tools.tool
async def inc(n: int) -> int:
    """Add one."""
    return n + 1


@tools.tool
async def total(values: list[int]) -> int:
    """Add up."""
    return sum(values)


@tools.tool
async def size(of: dict[str, Any]) -> int:
    """Count members."""
    return len(of)


def answer(calls: list[Json], output: Any = 1) -> Json:
    return {"calls": calls, "output": output}


def calls(n: int) -> Json:
    return answer([{"_tool": "inc", "n": i, "_outputPath": f"†state.r{i}"} for i in range(n)])


def chain(n: int) -> Json:
    return answer([{"_tool": "inc", "n": f"†calls.{i - 1}" if i else 0} for i in range(n)], f"†calls.{n - 1}")


def chain_backwards(n: int) -> Json:
    steps = [{"_tool": "inc", "n": f"†state.x{i}", "_outputPath": f"†state.x{i + 1}"} for i in range(1, n)]
    return answer([*reversed(steps), {"_tool": "inc", "n": 0, "_outputPath": "†state.x1"}], f"†state.x{n}")


def one_that_joins_all(n: int) -> Json:
    join = {"_tool": "total", "values": [f"†calls.{i}" for i in range(n)]}
    return answer([*({"_tool": "inc", "n": i} for i in range(n)), join], f"†calls.{n}")


def all_that_wait_for_one(n: int) -> Json:
    readers = [{"_tool": "inc", "n": "†state.x"} for _ in range(n)]
    return answer([*readers, {"_tool": "inc", "n": 0, "_outputPath": "†state.x"}])


def readers_of_what_all_write(n: int) -> Json:
    # Every other call reads the whole that the calls before it write: n²/2 edges, were they drawn one by one.
    pairs = [
        [{"_tool": "inc", "n": i, "_outputPath": f"†state.{kind}.r{i}"} for kind in ("w", "v")] for i in range(n // 2)
    ]
    return answer([*(call for pair in pairs for call in pair), {"_tool": "size", "of": "†state.w"}])


def a_whole_whose_parts_never_come(n: int) -> Json:
    writers = [{"_tool": "inc", "n": "†state.nothing", "_outputPath": f"†state.w.r{i}"} for i in range(n // 2)]
    return answer([*writers, *({"_tool": "size", "of": "†state.w"} for _ in range(n // 2))])


def references_to_nothing(n: int) -> Json:
    return answer([{"_tool": "inc", "n": f"†state.nothing{i}"} for i in range(n)])


def a_cycle(n: int) -> Json:
    return answer([{"_tool": "inc", "n": f"†calls.{(i + 1) % n}"} for i in range(n)])


def refused_calls(n: int) -> Json:
    return answer([{"_tool": "no such tool", "n": i} for i in range(n)])


def braces_in_a_parameter(n: int) -> Json:
    return answer([{"_tool": "inc", "n": ("{" * 50 + "† ") * n}], ("{†† " * 9 + "it's ") * n)


def run(
    reply: Json, context: Any = "go", offered: Tools = tools, chunk: int | None = None, config: Config | None = None
) -> None:
    with suppress(errors.ActumError):
        asyncio.run(Agent(models.Scripted([reply], chunk=chunk), tools=offered, config=config).run(context, int))


def messages(n: int) -> None:
    context = [{"type": "text", "text": "x"}, {"type": "state", "k": 1}, {"type": "state", "list": [2]}] * (n // 3)
    run(answer([]), context)


def many_tools(n: int) -> None:
    offered = Tools()
    for i in range(n):
        offered.register(f"t{i}", {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}})
    run(answer([]), offered=offered, config=Config(tool_budget=10**9))


def instances(n: int) -> None:
    context = [{"type": "state", "shared": 1}, *({"type": "state", "_instance": f"i{i}", "x": i} for i in range(n))]
    calls = [{"_tool": "inc", "n": "†state.x", "_instance": f"i{i}", "_outputPath": "†state.y"} for i in range(n)]
    run(answer(calls), context)


def a_delegate_for_each_instance(n: int) -> None:
    shared: list[Json] = [{"type": "state", "_instance": f"i{i}", "x": i} for i in range(n)]
    tool: Json = {"type": "tool", "tool": {"ask": {"_delegate": "one", "_scopes": ["state", "text"]}}}
    calls: list[Json] = [{"_tool": "ask", "_instance": f"i{i}", "_outputPath": "†state.said"} for i in range(n)]
    helper: Json = {"context": [{"type": "plan", "plan": [], "output": "†state.x"}], "schema": {"type": "integer"}}
    context: list[Json] = [{"type": "text", "text": "all"}, tool, *shared, {"type": "plan", "plan": calls, "output": 1}]
    asyncio.run(Agent(None, tools=Tools(), delegates={"one": helper}).run(context))


def streamed_characters(n: int) -> None:
    run(answer([{"_tool": "no such tool", "text": 'a"\\é' * n}]), chunk=4)


def streamed_braces(n: int) -> None:
    arriving = ArrivingText()
    for piece in '{"{}† ' * n:
        arriving.add(piece)
    arriving.end()


def concurrent_runs(n: int) -> None:
    async def all_at_once() -> None:
        agent = Agent(models.Scripted([answer([{"_tool": "inc", "n": 1}], "†calls.0")] * n), tools=tools)
        await asyncio.gather(*(agent.run("go", int) for _ in range(n)))

    asyncio.run(all_at_once())


def pushes_on_one_list(n: int) -> None:
    run(
        answer([{"_tool": "inc", "n": i, "_outputPath": "†state.log", "_outputMethod": "push"} for i in range(n)]),
        [{"type": "state", "log": []}],
    )


def definitions_in_a_chain(n: int) -> None:
    chained = {f"d{i}": {"items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(n)} | {f"d{n}": {"type": "string"}}
    Tools().register("t", {"properties": {"a": {"$ref": "#/$defs/d0", "$defs": chained}}})


ANSWERS = [
    calls,
    chain,
    chain_backwards,
    one_that_joins_all,
    all_that_wait_for_one,
    readers_of_what_all_write,
    references_to_nothing,
    a_whole_whose_parts_never_come,
    a_cycle,
    refused_calls,
    braces_in_a_parameter,
]
RUNS = [
    messages,
    many_tools,
    instances,
    a_delegate_for_each_instance,
    streamed_characters,
    streamed_braces,
    concurrent_runs,
    pushes_on_one_list,
    definitions_in_a_chain,
]
CASES: list[Callable[[int], None]] = [
    *((lambda n, answers_of=answers_of: run(answers_of(n))) for answers_of in ANSWERS),
    *RUNS,
]


def work(case: Callable[[int], None], n: int) -> int:
    """Count the calls of functions, of Python and of C."""
    count = 0

    def see(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(see)
    try:
        case(n)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in [*ANSWERS, *RUNS]])
def test_ten_times_as_much_is_about_ten_times_the_work(case: Callable[[int], None]) -> None:
    case(3)  # what is made on first use is made
    small, large = work(case, 60), work(case, 600)
    assert large < 11 * small
