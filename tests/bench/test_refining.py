"""What plans save of a stream, in small (refine.md, section 10)."""

from __future__ import annotations

from bench.refining import main


async def test_plans_save_requests_and_none_is_wrong() -> None:
    figures = await main(3, 9, 1, has_person=True)
    assert figures["wrong hits"] == 0
    assert figures["hits"] > 0
    assert figures["with plans"] < figures["requests a task: ordinary loop"]
    assert figures["with plans, last half"] < figures["with plans"]
