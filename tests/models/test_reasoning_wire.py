"""What a model thinks, from each provider's own stream: apart from the answer, as it arrives, and never sent back."""

from __future__ import annotations

import pytest

from actum import Agent, Tools, events
from actum.models import Reasoning, Usage

from .asking import Naps, collect, every_wire
from .server import CUT, Reply, Server
from .wires import WIRES, Wire, chat

THOUGHTS = ("First, ", "the ünits.", "\n\x1b[2JThen †state.x {")


def thoughts(items: list[str | Reasoning | Usage]) -> str:
    return "".join(item.text for item in items if isinstance(item, Reasoning))


def text_of(items: list[str | Reasoning | Usage]) -> str:
    return "".join(item for item in items if isinstance(item, str))


@every_wire
async def test_thoughts_come_before_the_answer_and_are_no_part_of_it(server: Server, wire: Wire) -> None:
    server.reply(wire.answer('{"a": ', "1}", thoughts=THOUGHTS))
    items = await collect(wire.hosted(server))
    assert thoughts(items) == "".join(THOUGHTS)
    assert text_of(items) == '{"a": 1}'
    assert isinstance(items[0], Reasoning)
    assert isinstance(items[-1], Usage)
    assert items[-1].output_tokens == 7


@every_wire
async def test_an_answer_without_thoughts_has_none(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}"))
    assert not any(isinstance(item, Reasoning) for item in await collect(wire.hosted(server)))


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
async def test_both_names_of_compatible_hosts_are_read(server: Server, key: str) -> None:
    server.reply(Reply(parts=chat(["{}"], thoughts=THOUGHTS, key=key)))
    items = await collect(WIRES["openai-compatible"].hosted(server))
    assert (thoughts(items), text_of(items)) == ("".join(THOUGHTS), "{}")


@pytest.mark.parametrize("wrong", ['{"text": "x"}', "null", "5", "[]", '""'])
async def test_what_is_no_text_is_no_thought(server: Server, wrong: str) -> None:
    odd = f'data: {{"choices": [{{"delta": {{"reasoning": {wrong}, "content": "{{"}}}}]}}\n\n'.encode()
    server.reply(Reply(parts=chat([odd, "}"])))
    items = await collect(WIRES["openai-compatible"].hosted(server))
    assert (thoughts(items), text_of(items)) == ("", "{}")


@every_wire
async def test_what_fails_while_the_model_thinks_is_sent_again(server: Server, wire: Wire) -> None:
    """Nothing has been built on a thought: the request is made anew, and with it the thoughts."""
    naps = Naps()
    thinking = wire.stream(["{}"], "stop", ["Hm."])
    cut_at = next(at for at, part in enumerate(thinking) if isinstance(part, str) and "Hm." in part) + 1
    server.reply(Reply(parts=[*thinking[:cut_at], CUT]), wire.answer("{}", thoughts=["Well."]))
    items = await collect(wire.hosted(server, retrying=naps.policy()))
    assert (text_of(items), len(naps.taken), len(server.received)) == ("{}", 1, 2)
    assert thoughts(items).endswith("Well.")


@every_wire
async def test_no_later_request_holds_them(server: Server, wire: Wire) -> None:
    tools = Tools()

    @tools.tool
    async def look() -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        return 7

    first, then = '{"calls":[{"_tool":"look"}],"output":null}', '{"calls":[],"output":7}'
    server.reply(wire.answer(first, thoughts=["A secret plan."]), wire.answer(then, thoughts=["Done."]))
    model = wire.hosted(server)
    async with Agent(model, tools=tools).stream("go", int) as stream:
        texts = [event.text async for event in stream if isinstance(event, events.ReasoningDelta)]
    await model.aclose()
    assert "".join(texts) == "A secret plan.Done."
    assert stream.result.output == 7
    assert len(server.received) == 2
    assert "secret plan" not in server.received[1].raw.decode()
    assert "secret plan" not in str(stream.result.context)
