"""What a notebook draws of results, Ideas, tools, plans and running streams: no script, bounded, all escaped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest

from actum import HOLD, Agent, Idea, Tools, messages, models

HOSTILE = "</text><script>alert(1)</script><img src=x onerror=alert(2)>"
CALLS: list[Any] = [{"_tool": "look", "city": HOSTILE}, {"_tool": "look", "city": "†calls.0"}]
PLAN = messages.Plan(plan=CALLS, output="†calls.1")


def desk() -> Tools:
    tools = Tools()

    @tools.tool(effects="none")
    def look(city: str) -> str:
        """Look a <b>city</b> up."""
        return city

    assert look.name == "look"
    return tools


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def drawn(view: Any) -> str:
    bundle = view._repr_mimebundle_()
    html = bundle["text/html"]
    assert isinstance(html, str)
    assert sum(len(part.encode()) for part in bundle.values()) <= 50_000
    elements = Elements()
    elements.feed(html)
    assert not elements.names & {"script", "img", "iframe", "object", "link", "a"}
    assert not {name for name in elements.attributes if name.startswith("on") or name in {"href", "src"}}
    return html


def test_a_result_shows_its_plan_what_its_calls_came_to_and_its_output() -> None:
    answer = {"calls": CALLS, "output": {"said": "†calls.1"}}
    html = drawn(Agent(models.Scripted([answer]), tools=desk()).run_sync("Look."))
    assert "<svg" in html
    assert "<b>done</b>, 1 request, 2 calls" in html
    assert "&lt;script&gt;" in html
    assert "0.1" in html


def test_a_result_that_waits_says_for_what() -> None:
    answer = {"calls": CALLS, "output": None}
    html = drawn(Agent(models.Scripted([answer]), tools=desk(), approve=lambda *_: HOLD).run_sync("Look."))  # type: ignore[arg-type]
    assert "<b>waiting</b>" in html
    assert "approval 0.0" in html


def test_a_plan_an_idea_and_tools_are_drawn() -> None:
    idea = Idea(context=[{"type": "system", "message": HOSTILE}, PLAN], meta={"path": HOSTILE})
    assert "<svg" in drawn(PLAN)
    assert "<svg" in drawn(idea)
    assert "Look a &lt;b&gt;city&lt;/b&gt; up." in drawn(desk())
    assert drawn(Tools()) == "<div></div>"
    item = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    listed = Tools()
    listed.register("list", {"_output": {"type": "array", "items": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": item}})
    assert "[{id}]" in drawn(listed)  # what it gives, its definitions closed


def test_a_stream_is_drawn_while_it_runs_and_when_it_is_over() -> None:
    async def main() -> None:
        stream = Agent(models.Scripted([{"calls": CALLS, "output": "†calls.1"}]), tools=desk()).stream("Look.", str)
        assert "running" in drawn(stream)
        async with stream as run:
            async for _ in run:
                assert "<b>running</b>" in drawn(run) or run.is_over
        assert "<b>over</b>" in drawn(run)

    asyncio.run(main())


@pytest.mark.parametrize("count", [41, 3_000])
def test_what_is_large_stays_within_bounds(count: int) -> None:
    calls = [{"_tool": "look", "city": f"{HOSTILE * 9}{n}"} for n in range(count)]
    idea = Idea(context=[messages.Plan(plan=calls), *(HOSTILE * 50 for _ in range(count))])
    drawn(idea)
    html = drawn(Agent(models.Scripted([{"calls": calls, "output": "x" * 200_000}]), tools=desk()).run_sync("Look."))
    assert "more" in html or "…" in html
