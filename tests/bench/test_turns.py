"""The chat of ten turns: what it costs in requests, and that the page has all systems."""

from __future__ import annotations

from bench.turns import PAGE, measured


async def test_a_turn_is_one_request_and_cheaper_than_the_peers_loop() -> None:
    figures = await measured()
    ours, unknown, peer = figures.values()
    assert (ours.requests, unknown.requests, peer.requests) == (10, 10, 20)
    assert max(ours.prompt, unknown.prompt) < peer.prompt
    assert max(ours.usd, unknown.usd) < peer.usd
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in figures if f"\n| {name} | {figures[name].requests} | " not in page] == []
