"""A conversation that a file keeps: turn after turn, over a kill in the middle of one, and with calls that wait."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Context, Reply, Tool, Tools, errors, kept, models

pytestmark = pytest.mark.rule("M4", "L8")

KILLED = """
import asyncio, os, pathlib, signal, sys
from actum import Agent, Tools, kept, models

folder = pathlib.Path(sys.argv[1])
tools = Tools()

@tools.tool(effects="ordered")
def pay(id: str) -> str:
    "Pay."
    with (folder / "paid").open("a") as file:
        file.write(id)
    return f"paid {id}"

@tools.tool(effects="ordered")
def tell(what: str) -> str:
    "Tell."
    os.kill(os.getpid(), signal.SIGKILL)
    return what

calls = [{"_tool": "pay", "id": "a"}, {"_tool": "tell", "what": "†calls.0"}]
agent = Agent(models.Scripted([{"calls": [], "output": "Hello"}, {"calls": calls, "output": "†calls.1"}]), tools=tools)

async def main():
    async with kept.conversation(folder / "talk.json", agent, [{"type": "system", "message": "Be kind."}]) as talk:
        print("".join([piece async for piece in talk.say("hi")]), flush=True)
        [piece async for piece in talk.say("pay a")]

asyncio.run(main())
"""


async def answer_to(talk: kept.KeptConversation, words: str) -> str:
    return "".join([piece async for piece in talk.say(words)])


def answering(*answers: Any, **more: Any) -> Agent:
    return Agent(models.Scripted([{"calls": [], "output": None, **answer} for answer in answers]), **more)


async def test_what_a_killed_process_had_done_is_there_and_not_done_again(tmp_path: Path) -> None:
    killed = subprocess.run(  # noqa: ASYNC221 -- nothing else runs
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (killed.returncode, killed.stdout) == (-9, "Hello\n"), killed.stderr
    performed: list[str] = []
    tools = Tools()

    @tools.tool(effects="ordered")
    def pay(id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Pay."""
        performed.append(id)
        return id

    @tools.tool(effects="ordered")
    def tell(what: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Tell."""
        performed.append(what)
        return f"told: {what}"

    async with kept.conversation(tmp_path / "talk.json", answering({"output": "Bye"}, tools=tools)) as talk:
        assert [event async for event in talk.stream()]
        assert talk.result is not None
        assert (talk.result.output, performed) == ("told: paid a", ["paid a"])
        assert await answer_to(talk, "thanks") == "Bye"
    assert (tmp_path / "paid").read_text() == "a"
    kinds = [message["type"] for message in talk.context if message["type"] in ("user", "output")]
    assert kinds == ["user", "output", "user", "output", "user", "output"]


async def test_calls_wait_in_its_file_and_are_decided_on_between_turns(tmp_path: Path) -> None:
    path = str(tmp_path / "talk.json")
    tools = Tools()

    @tools.tool
    def pay(id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Pay."""
        return f"paid {id}"

    async def held(_call: Call, _tool: Tool, _context: Context) -> Reply:
        return HOLD

    payment = {"calls": [{"_tool": "pay", "id": "a"}], "output": "Done: {†calls.0}"}
    agent = answering(payment, {"output": "two"}, {"output": "three"}, tools=tools, approve=held)
    async with kept.conversation(path, agent) as talk:
        assert await answer_to(talk, "pay") == ""
    async with kept.conversation(path, agent) as talk:
        assert await answer_to(talk, "and?") == "two"
    kept.approve(path, "0.0")
    async with kept.conversation(path, agent) as talk:
        assert await answer_to(talk, "now?") == "three"
    outputs = [message["output"] for message in talk.context if message["type"] == "output"]
    assert outputs == ["two", "Done: paid a", "three"]
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.output) == ("finished", "three")


async def test_one_turn_at_a_time_and_one_that_is_left_early_goes_on(tmp_path: Path) -> None:
    hello: dict[str, Any] = {"calls": [], "output": "Hello"}
    agent = Agent(models.Scripted([hello] * 2, chunk=4))
    async with kept.conversation(tmp_path / "talk.json", agent) as talk:
        turn = talk.stream("hi")
        await anext(turn)
        with pytest.raises(errors.ActumError, match="a turn of this conversation is under way"):
            await anext(talk.stream("you"))
        with pytest.raises(errors.IdeaError):
            async with kept.conversation(tmp_path / "talk.json", agent):
                pass
        await turn.aclose()
        assert [event async for event in talk.stream()]
        assert talk.result is not None
        assert talk.result.output == "Hello"
    assert [message["message"] for message in talk.context if message["type"] == "user"] == ["hi"]


async def test_slips_are_told_before_a_file_is_made(tmp_path: Path) -> None:
    agent, path = answering(), tmp_path / "talk.json"
    slips: list[tuple[dict[str, Any], str]] = [
        ({"summary": True}, "say with most= when"),
        ({"context": [{"type": "sistem"}]}, "sistem"),
    ]
    for slip, words in slips:
        with pytest.raises(errors.ActumError, match=words):
            async with kept.conversation(path, agent, **slip):
                pass
        assert not path.exists()
    with pytest.raises(errors.IdeaError, match="No such file"):
        kept.KeptRun.open(str(path))
