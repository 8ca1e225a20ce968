"""What is small to say and large to carry out, each in a process of its own with 1 GiB of address space.

`python bombs.py NAME BYTES` sets off one of them and prints, as JSON, how it ended and how much memory that took.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actum import Agent, Limits, Tools, errors, models
from actum.schema.json import JsonObject as Json

BOMBS: dict[str, Callable[[], object]] = {}
ADDRESS_SPACE = 2**30


def bomb(run: Callable[[], object]) -> Callable[[], object]:
    BOMBS[run.__name__] = run
    return run


def answered(answer: Json | str, context: Any = "go", **more: Any) -> object:
    """Run one answer within the limits of this process, with a tool that returns its argument."""
    tools = Tools()

    @tools.tool
    async def same(value: Any) -> Any:
        """Give back."""
        return value

    assert same.name == "same"
    limits = Limits(bytes=int(sys.argv[2]), **more)
    model = models.Scripted([answer], chunk=65_536, repeat_last=True)
    return Agent(model, tools=tools, limits=limits).run_sync(context).output


def same(value: Any, **meta: Any) -> Json:
    return {"_tool": "same", "value": value, **meta}


@bomb
def doubled_lists() -> object:
    calls = [same([1]), *(same([f"†calls.{n}"] * 2) for n in range(24))]
    return answered({"calls": calls, "output": "†calls.24"})


@bomb
def doubled_values() -> object:
    calls = [{"_value": [1]}, *({"_value": [f"†calls.{n}"] * 2} for n in range(30))]
    return answered({"calls": calls, "output": "†calls.30"})


@bomb
def doubled_texts() -> object:
    calls = [same("x" * 64), *(same(f"{{†calls.{n} + †calls.{n}}}") for n in range(13)), same(["†calls.13"] * 2_000)]
    return answered({"calls": calls, "output": ["†calls.14"] * 2_000})


@bomb
def an_output_of_references() -> object:
    return answered({"calls": [same([1] * 10_000)], "output": ["†calls.0"] * 10_000})


@bomb
def concatenated_texts() -> object:
    return answered({"calls": list(_concatenated("x" * 64)), "output": 5})


@bomb
def concatenated_lists() -> object:
    return answered({"calls": list(_concatenated([1])), "output": 5})


def _concatenated(first: Any) -> Any:
    yield same(first, _outputPath="†state.a")
    for _ in range(30):
        yield {"_then": True}
        yield same("†state.a", _outputPath="†state.a", _outputMethod="concat")


@bomb
def empty_places() -> object:
    calls = [same(1, _outputPath=f"†state.a{n}{'[9999]' * 80}") for n in range(200)]
    return answered({"calls": calls, "output": 5})


@bomb
def many_paths() -> object:
    paths = " *> ".join(f"†state.a{n}" for n in range(250))
    return answered({"calls": [same("x" * 2**20), same("†calls.0", _outputPath=paths)] * 20, "output": 5})


@bomb
def empty_calls() -> object:
    return answered('{"calls":[' + "{}," * 6_600_000 + '{}],"output":5}')


@bomb
def empty_values() -> object:
    return answered('{"calls":[{"_tool":"same","value":[' + "[]," * 10_000_000 + '[]]}],"output":5}')


@bomb
def a_list_for_every_item() -> object:
    calls = [same([*range(8_000)]), same(["†each", "†calls.0"], _each="†calls.0")]
    return answered({"calls": calls, "output": 5}, calls=5)


@bomb
def a_long_text_for_every_item() -> object:
    calls = [same([*range(8_000)]), same(["†each", "x" * 10**6], _each="†calls.0")]
    return answered({"calls": calls, "output": 5})


@bomb
def scopes_of_many_delegates() -> object:
    lister = {"_delegate": "anonymous", "_scopes": ["state"], "_output": {}, "properties": {"n": {"type": "integer"}}}
    context = [{"type": "state", "rows": [0] * 200_000}, {"type": "tool", "tool": {"look": lister}}]
    return answered({"calls": [{"_tool": "look", "n": n} for n in range(500)], "output": 5}, context)


@bomb
def the_delegate_of_a_run() -> object:
    calls = [same([1]), *(same([f"†calls.{n}"] * 2) for n in range(24))]
    context = [{"type": "plan", "plan": calls, "output": "†calls.24"}]
    inner = {"context": context, "schema": {}, "config": {"tools": ["same"]}}
    tools = Tools()

    @tools.tool
    async def same_(value: Any) -> Any:
        """Give back."""
        return value

    tools.activity("same")(same_.function)
    tools.register("same", {"properties": {"value": {}}, "_output": {}})
    plan = [{"type": "tool", "tool": {"go": {"_delegate": "D"}}}, {"type": "plan", "plan": [{"_tool": "go"}]}]
    agent = Agent(None, tools=tools, delegates={"D": inner}, limits=Limits(bytes=int(sys.argv[2])))
    return agent.run_sync([*plan]).output


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    try:
        ended: object = {"output": repr(BOMBS[sys.argv[1]]())[:100]}
    except errors.LimitExceeded as error:
        ended = {"limit": error.limit, "partial": error.result is not None}
    except BaseException as error:
        ended = {"raised": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps({"ended": ended, "peak": _peak()}))


def _peak() -> int:
    """The most memory that this process has held, in MiB: `getrusage` counts what its parent held before it as well."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


if __name__ == "__main__":
    main()
