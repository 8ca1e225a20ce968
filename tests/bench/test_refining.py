"""What plans save of a stream, in small (refine.md, section 10)."""

from __future__ import annotations

from bench.refining import main


async def test_plans_save_requests_and_none_is_wrong() -> None:
    told = await main(3, 9, 1, has_person=True)
    assert told["wrong hits"] == 0
    assert told["hits"] > 0
    assert told["requests a task"] < told["requests a task without plans"]
    assert told["requests a task, last half"] < told["requests a task"]
