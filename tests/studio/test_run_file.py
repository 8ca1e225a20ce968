"""A run as one file: everything is in it, nothing of it does anything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actum import Idea
from actum.inspection.account import account_of
from actum.studio.run_file import run_page
from actum.studio.timeline import timeline_of

from ..effort import trials
from .hostile import STRINGS
from .runs import SCHEMA, idea, keep, many

if TYPE_CHECKING:
    import pytest


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


async def test_an_account_tells_each_call_with_its_state_its_times_and_its_result(tmp_path: Path) -> None:
    run = await keep(tmp_path / "run.json")
    account = account_of(Idea.load(run), "run")
    states = [
        (answer.request, call.place, call.tool, call.state) for answer in account.answers for call in answer.calls
    ]
    assert states == [
        (1, "0.0", "find", "done"),
        (1, "0.1", "weather", "done"),
        (1, "0.2", "one", "failed"),
        (2, "1.0", "weather", "failed"),
        (3, "2.0", "weather", "done"),
    ]
    first, second, many = account.answers[0].calls
    assert second.row.made == {"_tool": "weather", "city": "Lisbon", "days": 3}
    assert first.row.made is None  # it was made as it was authored
    assert (many.row.items, many.row.failed) == (12, 1)
    assert first.row.began is not None
    assert second.row.began is not None
    assert first.row.began <= second.row.began
    assert first.row.key.endswith("/0.0")
    row = account.answers[0].row
    assert row is not None
    assert row.began is not None
    assert row.ended is not None
    assert row.began <= first.row.began
    why = account.why("0.1")
    assert why is not None
    assert [(source.reference, source.place) for source in why.of] == [("†result", "0.0")]


async def test_calls_are_drawn_inside_the_answer_that_they_start_in(tmp_path: Path) -> None:
    line = timeline_of(account_of(Idea.load(await keep(tmp_path / "run.json")), "run"))
    request, first = line.bars[0], line.bars[1]
    assert request.start is not None
    assert first.start is not None
    assert request.start <= first.start <= request.start + request.width
    each = next(bar for bar in line.bars if bar.place == "0.2")
    assert each.count == 12
    assert "12 items, 1 failed" in each.note


async def test_a_delegates_calls_are_nested_and_nothing_that_it_saw_is_noted(tmp_path: Path) -> None:
    thought = {"_tool": "think", "_output": "the secret of the delegate"}
    inner = {"calls": [thought], "output": {"warm": 1}}
    outer = {"calls": [{"_tool": "ask"}], "output": {"warm": "†calls.0.warm"}}
    schema = {"properties": {"_output": SCHEMA, "_delegate": {"const": "helper"}}}
    think = {"type": "tool", "tool": {"think": {"properties": {"_output": {"type": "string"}}}}}
    base = idea([{"type": "tool", "tool": {"ask": schema}}])
    run = await keep(tmp_path / "run.json", [outer, inner], base, delegates={"helper": idea([think])})
    account = account_of(Idea.load(run), "run")
    call = account.find("0.0")
    assert call is not None
    assert [(row.call, row.tool, row.state) for row in call.calls] == [("0.0/0.0", "think", "done")]
    assert len(call.requests) == 1
    assert [bar.depth for bar in timeline_of(account).bars] == [0, 1, 2, 2]
    assert "the secret of the delegate" not in run.read_text()


async def test_the_page_holds_the_run_and_needs_nothing_else(tmp_path: Path) -> None:
    page = await run_page(Idea.load(await keep(tmp_path / "run.json")), "run")
    tags = parsed(page)
    text = " ".join(tags.text)
    for expected in ("seven is refused", "Request 3", "As authored", "As made", "What crossed", "How warm is it?"):
        assert expected in text
    assert not any(value for _, attributes in tags.tags for key, value in attributes.items() if key == "src")
    links = [attributes.get("href") or "" for tag, attributes in tags.tags if tag in {"a", "link"}]
    assert all(link.startswith("#") for link in links)
    assert "as in the request before" in text
    ids = [attributes["id"] for _, attributes in tags.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    assert {f"#call-{place}" for place in ("0.0", "0.1", "0.2", "1.0", "2.0")} <= set(links)


async def test_the_policy_of_the_page_lets_its_own_style_and_script_in_and_nothing_else(tmp_path: Path) -> None:
    page = await run_page(Idea.load(await keep(tmp_path / "run.json")), "run")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


async def test_hostile_strings_stay_text_wherever_they_stand(tmp_path: Path) -> None:
    calls: list[Any] = [{"_tool": "echo", "text": text, "_reasoningForCall": text} for text in STRINGS]
    answers = [{"calls": calls, "output": {"said": STRINGS}}]
    schema = {"type": "object", "properties": {"said": {"type": "array"}}}
    meta = {"meta": {"path": STRINGS[0]}}
    hostile = idea([{"type": "text", "text": text} for text in STRINGS], schema, **meta)
    page = await run_page(Idea.load(await keep(tmp_path / "run.json", answers, hostile)), STRINGS[1])
    allowed = {"html", "head", "meta", "title", "style", "script", "body", "a", "header", "span", "nav", "main", "h1"}
    allowed |= {"h2", "h3", "h4", "p", "dl", "div", "dt", "dd", "section", "pre", "ol", "ul", "li", "svg", "rect", "b"}
    allowed |= {"label", "input", "figure", "path", "text", "title", "g", "details", "summary", "code", "ins", "del"}
    for tag, own_attributes in parsed(page).tags:
        assert tag in allowed
        assert not any(name.startswith("on") or name == "style" for name in own_attributes)
    assert page.count("<script>") == 1
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00-\x08\x1b]", page)


async def test_a_secret_of_this_machine_is_not_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very'secret\"value")
    answers = [{"calls": [{"_tool": "echo", "text": "it is sk-very'secret\"value"}], "output": {"warm": 1}}]
    page = await run_page(Idea.load(await keep(tmp_path / "run.json", answers)), "run")
    assert "sk-very" not in page
    assert "•••" in page


async def test_a_damaged_course_costs_its_bars_and_nothing_else(tmp_path: Path) -> None:
    whole = Idea.load(await keep(tmp_path / "run.json"))
    for course in ("no list", [1, {"call": "no place"}, {"call": "0.0", "began": "yesterday"}, {"request": -1}], None):
        whole.meta["run"]["course"] = course
        page = await run_page(whole, "run")
        assert "Request 3" in page
        assert "21.5" in page


async def test_thousands_of_calls_are_few_bars_and_a_small_graph(tmp_path: Path) -> None:
    count = trials(10_000, least=1_000)
    run = Idea.load(many(tmp_path / "run.json", count))
    assert [bar.count for bar in timeline_of(account_of(run, "run")).bars] == [1, count]
    page = await run_page(run, "run")
    assert page.count('<details class="call done"') == count
    assert page.count("<rect") < 20


async def test_a_run_of_very_many_calls_is_said_in_few_bytes_each_and_nothing_is_left_out(tmp_path: Path) -> None:
    count = 2_100
    path = many(tmp_path / "run.json", count)
    whole = json.loads(path.read_text(encoding="utf-8"))
    long = "a long result, " * 60
    left = next(message for message in whole["context"] if message.get("_of") == "0.5")
    left["data"] = long
    rows = {row["call"]: row for row in whole["meta"]["run"]["course"] if "call" in row}
    rows["0.6"] |= {"made": {"_tool": "echo", "text": "with <values>"}, "attempts": 3, "key": "of/another"}
    rows["0.7"] |= {"crossed": [{"type": "text", "text": "this has crossed"}]}
    whole["meta"]["run"]["id"] = "id"
    for number, text in enumerate(STRINGS, 10):
        hostile = next(left for left in whole["context"] if left.get("_of") == f"0.{number}")
        hostile["data"] = text
        rows[f"0.{number}"] |= {"key": text, "delegate": text, "made": {"_tool": text, text: text}}
    path.write_text(json.dumps(whole), encoding="utf-8")
    page = await run_page(Idea.load(path), "run")
    assert len(page.encode()) < 360 * count
    text = unescape(page)
    assert long in text
    for words in (
        "with <values>",
        "3 attempts",
        "of/another",
        "this has crossed",
        f"number {count - 1}",
        "by code · 500 ms",
    ):
        assert words in text
    assert "with <values>" not in page
    assert "<code>id/</code>" in page
    assert page.count("<script>") == 1
    tree = parsed(page)
    assert {tag for tag, _ in tree.tags}.isdisjoint({"iframe", "img", "base", "object", "embed", "form"})
    assert not [key for _, attributes in tree.tags for key in attributes if key.startswith("on") or key == "style"]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", page)
