"""The one retry policy: before the first delta, bounded, and as long as the provider asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from actum.errors import ModelError
from actum.generation.model import Gated
from actum.models.retry_policy import Retrying

from .asking import Naps, collect, every_wire, failure, refusal
from .server import CUT, Reply, Server
from .wires import WIRES, Wire


@every_wire
async def test_a_failed_request_is_sent_again_before_anything_was_said(server: Server, wire: Wire) -> None:
    naps = Naps()
    server.reply(refusal(500), Reply(parts=[CUT]), wire.answer("{}"))
    items = await collect(wire.hosted(server, retrying=naps.policy()))
    assert items[0] == "{}"
    assert naps.taken == [0.5, 1.0]
    assert len({request.raw for request in server.received}) == 1


@every_wire
async def test_the_providers_wait_is_honoured(server: Server, wire: Wire) -> None:
    naps = Naps()
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.reply(refusal(429, retry_after="7"), refusal(503, retry_after=later), wire.answer("{}"))
    await collect(wire.hosted(server, retrying=naps.policy()))
    assert naps.taken[0] == 7
    assert 20 < naps.taken[1] <= 30


@every_wire
async def test_behind_a_gate_too_many_requests_are_told_at_once_with_the_wait(server: Server, wire: Wire) -> None:
    """The gate waits, and with it all who share the model; other failures are sent again here as ever (L8)."""
    naps, let_in = Naps(), list[str]()

    class Gate:
        async def enter(self, model: str, tokens: int) -> None:
            let_in.append(f"enter {tokens > 0}")

        async def refused(self, model: str, retry_after: float | None) -> None:
            let_in.append(f"refused {retry_after}")

        async def left(self, model: str, tokens: int, used: int | None) -> None:
            let_in.append(f"left {used is not None}")

    server.reply(refusal(429, retry_after="7"), refusal(500), wire.answer("{}"))
    gated: Any = Gated(wire.hosted(server, retrying=naps.policy()), Gate(), None, is_last=True)
    assert (await collect(gated))[0] == "{}"
    assert naps.taken == [0.5]
    assert let_in == ["enter True", "refused 7.0", "left True", "enter True", "left True"]


@every_wire
async def test_retries_are_bounded(server: Server, wire: Wire) -> None:
    naps = Naps()
    server.reply(refusal(500))
    _, error = await failure(wire.hosted(server, retrying=naps.policy(3)))
    assert error.code == "model_server"
    assert (len(server.received), len(naps.taken)) == (4, 3), "no SDK retries beside us"


async def test_a_wait_beyond_the_longest_is_the_callers_to_take(server: Server) -> None:
    naps = Naps()
    server.reply(refusal(429, retry_after="3600"))
    _, error = await failure(WIRES["openai"].hosted(server, retrying=naps.policy(longest=60)))
    assert (error.retry_after, naps.taken, len(server.received)) == (3600, [], 1)


@pytest.mark.parametrize("status", [400, 401, 402, 404])
async def test_what_will_not_get_better_is_not_sent_again(server: Server, status: int) -> None:
    naps = Naps()
    server.reply(refusal(status))
    await failure(WIRES["openai"].hosted(server, retrying=naps.policy()))
    assert (naps.taken, len(server.received)) == ([], 1)


def test_waits_double_and_spread() -> None:
    error = ModelError("x", code="model_server", retryable=True)
    most = Retrying(retries=9, chance=lambda: 1.0, longest=3)
    least = Retrying(retries=9, chance=lambda: 0.0, longest=3)
    assert [most.wait(n, error) for n in range(5)] == [0.5, 1, 2, 3, 3]
    assert [least.wait(n, error) for n in range(5)] == [0.25, 0.5, 1, 1.5, 1.5]
    assert most.wait(9, error) is None
