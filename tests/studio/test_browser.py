"""The Studio in a real browser: what a script does there, and what no script may."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from actum import Idea
from actum.studio.run_file import run_page

from ..effort import thorough, trials
from ..refine.test_refining import ASK, INPUT, PEOPLE, desk
from .browsing import AXE, axe_tests, browser_tests, launched, opened, violations
from .hostile import STRINGS
from .rooms import PLAN, Paced, Room, Wire, hold, idea_file
from .runs import CHAIN, idea, keep, many
from .schemas import HARD
from .test_plans import KEY, learnt

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [browser_tests, thorough]
PHONE: Any = {"width": 390, "height": 800}
WORLD = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running


def beside(work: Any) -> Any:
    """The result of a coroutine, run on another thread: this one is Playwright's."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work)))
    thread.start()
    thread.join(60)
    return results[0]


def begin(page: Page, base: str) -> None:
    """Start a run of the Idea by its form."""
    page.goto(f"{base}ideas/warm.json")
    page.get_by_label("who").fill("ana")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")


def test_a_run_is_followed_to_its_end_while_it_streams(browser: Browser, tmp_path: Path) -> None:
    idea_file(tmp_path, solution=None, schema={"type": "string"})
    model = Paced(
        [{"calls": PLAN["calls"], "output": "It will be {†calls.1.mean} degrees there, so take a light coat."}]
    )
    with Room(tmp_path, model) as room, opened(browser, room.url) as page:
        begin(page, room.base)
        model.let(4)
        page.locator("#log li", has_text="0.0").first.wait_for()
        page.locator("#bar-0\\.0").wait_for()
        assert page.locator("#state").inner_text() == "running"
        bars = page.locator(".timeline li")
        assert bars.first.get_attribute("class") == "bar request open depth0"  # its calls are below it, inside its time
        assert page.locator(".bar.request .mark").count() == 1
        so_far = page.locator(".bar.request.open .said").inner_text()
        assert int(so_far.split()[0].replace(",", "")) > 0
        model.let(2)
        page.locator(".bar.request.open .said", has_not_text=so_far).wait_for()
        page.reload()  # in the middle
        page.locator("#bar-0\\.0").wait_for()
        model.let_all()
        page.locator("#state", has_text="done").wait_for()
        page.get_by_text("21.5 degrees there").first.wait_for()
        assert page.locator("#bar-0\\.1").count() == 1
        page.locator("#bar-0\\.1 a").click()
        page.get_by_role("dialog").get_by_text("As made").wait_for()
        page.keyboard.press("Escape")
        page.locator("#bar-0\\.1 a:focus").wait_for()


def test_a_connection_that_is_lost_comes_back_without_losing_or_doubling(browser: Browser, tmp_path: Path) -> None:
    idea_file(tmp_path, solution=None)
    calls = [{"_tool": "echo", "text": f"number {n}"} for n in range(12)]
    model = Paced([{"calls": calls, "output": {"warm": 1}}], size=48)
    with Room(tmp_path, model) as room, Wire(room) as wire, opened(browser, wire.url) as page:
        begin(page, wire.base)
        model.let(4)
        page.locator("#log li", has_text="number 1").first.wait_for()
        wire.cut()
        page.locator("#connection", has_text="The connection is lost").wait_for()
        model.let(5)
        wire.mend()
        page.locator("#log li", has_text="number 5").first.wait_for()
        items = page.evaluate(
            "[...document.querySelectorAll('#log li')].map((item) => [item.dataset.seq, item.textContent])"
        )
        assert [int(seq) for seq, _ in items] == sorted({int(seq) for seq, _ in items})
        texts = [text for _, text in items if "_tool" in text]
        assert [text.split("number ")[1].split('"')[0] for text in texts] == [str(n) for n in range(len(texts))]
        model.let_all()
        page.locator("#state", has_text="done").wait_for()


def test_calls_are_approved_and_edited_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    idea_file(tmp_path)
    with Room(tmp_path, holds=True) as room, opened(browser, room.url) as page:
        begin(page, room.base)
        page.get_by_role("link", name="Edit 0.0").press("Enter")
        page.get_by_label("who").fill("bea")
        page.get_by_role("button", name="Approve these values").press("Enter")
        page.get_by_role("button", name="Approve 0.1").press("Enter")
        page.locator("#state", has_text="done").wait_for()
        assert "bea" in page.locator(".calls").first.inner_text()


def test_nothing_is_approved_before_what_is_folded_was_opened(browser: Browser, tmp_path: Path) -> None:
    scoped = {"_tool": "find", "who": "†input.who", "_scopes": ["input"]}
    calls = [scoped, {"_tool": "echo", "text": "x" * 7_000 + " to mallory"}, {"_tool": "one", "n": 2}, scoped]
    idea_file(tmp_path, solution={"calls": calls, "output": {"warm": "†calls.2"}})
    with Room(tmp_path, holds=True) as room, opened(browser, room.url) as page:
        begin(page, room.base)
        for at in (page.url, room.base):
            page.goto(at)
            button = page.get_by_role("button", name="Approve 0.0")
            assert (button.is_disabled(), page.get_by_role("button", name="Approve 0.2").is_enabled()) == (True, True)
            page.locator("section[aria-label='Call 0.0'] summary").press("Enter")
            page.locator("section[aria-label='Call 0.0'] [data-approves]:enabled").wait_for()
            page.locator("section[aria-label='Call 0.0'] summary").press("Enter")  # it was seen
            assert button.is_enabled()
        page.get_by_role("link", name="See all of 0.1 to approve it").first.click()
        whole = page.get_by_role("button", name="Approve these values")
        assert (whole.is_disabled(), page.get_by_text("to mallory").last.is_visible()) == (True, False)
        page.get_by_text("All of it").click()
        page.locator("[data-approves]:enabled").wait_for()
        assert page.get_by_text("to mallory").last.is_visible()
        whole.click()
        page.wait_for_url("**/runs/*")
        together = page.get_by_role("button", name="Approve all 3")
        assert together.is_disabled()
        for place, is_enough in (("0.0", False), ("0.3", True)):
            page.locator(f"section[aria-label='Call {place}'] summary").click()
            page.locator(f"section[aria-label='Call {place}'] [data-approves]:enabled").wait_for()
            assert together.is_enabled() == is_enough
        together.click()
        page.locator("#state", has_text="done").wait_for()


def test_enter_in_a_field_sends_its_form_and_never_approves_what_is_to_be_denied(
    browser: Browser, tmp_path: Path
) -> None:
    idea_file(tmp_path)
    with Room(tmp_path, holds=True) as room, opened(browser, room.url) as page:
        page.goto(f"{room.base}ideas/warm.json")
        page.get_by_label("who").fill("ana")
        page.get_by_role("button", name="Add places").click()
        page.get_by_role("button", name="Add to places").click()
        page.locator("[name='v/places/0']").fill("home")
        page.locator("[name='v/places/0']").press("Enter")  # and not the button that takes it out
        page.get_by_role("link", name="Edit 0.0").click()
        page.get_by_label("who").press("Enter")  # nothing is approved by it
        page.go_back()
        reason = page.get_by_label("Reason").first
        reason.fill("never")
        reason.press("Enter")
        page.locator("#state", has_text="failed").wait_for()
        page.locator(".calls", has_text="never").first.wait_for()  # shown anew when the state has changed


def test_a_fork_begins_anew_and_is_compared(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    beside(keep(tmp_path / "kept" / "chain.json"))
    model = Paced([CHAIN[2]])
    model.let_all()
    with Room(tmp_path, model) as room, opened(browser, f"{room.url}") as page:
        page.goto(f"{room.base}runs/chain")
        page.get_by_role("link", name="Fork before request 3").click()
        page.get_by_label("Message 0").fill('{"type": "text", "text": "How warm is it in Faro?"}')
        page.get_by_role("button", name="Begin the run").click()
        page.locator("#state", has_text="done").wait_for()
        page.goto(room.base)
        page.get_by_role("button", name="Compare the two").click()
        page.get_by_text("They differ where a line is marked.").wait_for()


def test_forms_grow_and_change_in_place(browser: Browser, tmp_path: Path) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name.replace(" ", "_"): case[0] for name, case in HARD.items() if "$defs" not in case[0]},
    }
    schema["properties"]["tree"] = {"$ref": "#/$defs/node"}
    schema["$defs"] = HARD["recursive"][0]["$defs"] | HARD["variants with a discriminator"][0]["$defs"]
    schema["properties"]["shape"] = HARD["variants with a discriminator"][0]["properties"]["shape"]
    context: list[Any] = [{"type": "input", "schema": schema}, {"type": "plan", "plan": [], "output": 1}]
    idea_file(tmp_path, context=context, schema={}, solution=None)
    with Room(tmp_path) as room, opened(browser, room.url) as page:
        page.goto(f"{room.base}ideas/warm.json")
        page.get_by_role("button", name="Add lists_of_objects").click()
        page.get_by_role("button", name="Add to rows").click()
        page.get_by_role("button", name="Add shape").click()
        page.locator("#f_2f_shape-which").select_option(index=1)
        page.get_by_role("button", name="Add to size").click()
        page.locator("#f_2f_shape_2f_size_2f_0").fill("2.5")
        page.get_by_role("button", name="Add tree").click()
        page.locator("#f_2f_tree_2f_name").fill("root")
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("alert").wait_for()
        raw = page.locator("#raw").input_value()
        assert '"kind": "box"' in raw
        assert "2.5" in raw
        assert '"name": "root"' in raw
        assert page.locator("[aria-invalid=true]").count() >= 1


def test_no_hostile_string_runs_anywhere(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    calls: list[Any] = [{"_tool": "echo", "text": text} for text in STRINGS]
    hostile = idea([{"type": "text", "text": "\n".join(STRINGS)}], {"type": "object"}, meta={"path": STRINGS[0]})
    bad = beside(keep(tmp_path / "kept" / "bad.json", [{"calls": calls, "output": {"said": STRINGS}}], hostile))
    beside(keep(tmp_path / "kept" / "held.json", [{"calls": calls[:40], "output": None}], hostile, approve=hold))
    idea_file(tmp_path, meta={"description": STRINGS[3], "version": STRINGS[4]})
    file = tmp_path / "run.html"
    file.write_text(beside(run_page(Idea.load(bad), STRINGS[1])), encoding="utf-8")
    urls: list[str] = []
    with Room(tmp_path) as room, opened(browser, room.url) as page:
        page.on("request", lambda request: urls.append(request.url))
        paths = ["", "ideas/warm.json", "runs/bad", "runs/held", "runs/bad/answers/0", "runs/bad/calls/0.3"]
        paths += ["runs/bad/requests/1", "runs/bad/fork/1", "runs/held/edit/0.0", "compare?left=bad&right=held"]
        for url in [*(room.base + path for path in paths), file.as_uri()]:
            page.goto(url)
            assert page.evaluate("window.hacked") is None, url
            assert page.frames == [page.main_frame]
        page.goto(f"{room.base}runs/bad")
        page.locator(".calls a").nth(2).click()
        page.get_by_role("dialog").wait_for()
        assert page.evaluate("window.hacked") is None
        assert {url.split("/")[2] for url in urls} <= {room.base.split("/")[2], ""}


def test_ten_thousand_calls_stay_fluid(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    count = trials(10_000, least=2_000)
    kept = many(tmp_path / "kept" / "ten.json", count)
    file = tmp_path / "ten.html"
    file.write_text(beside(run_page(Idea.load(kept), "ten")), encoding="utf-8")
    with opened(browser, file.as_uri()) as page:
        page.get_by_label("Find a call").fill(f"number {count - 1}")
        page.get_by_text(f"1 of {count} calls").wait_for()
        page.locator(f"#call-0\\.{count - 1}").click()
        page.locator(f"#call-0\\.{count - 1}").get_by_text(f'"text": "number {count - 1}"').wait_for()
        assert page.locator(".timeline li").count() == 2


@axe_tests
@pytest.mark.parametrize("world", [{}, WORLD], ids=["light", "dark and narrow"])
def test_axe_finds_nothing_on_any_page(browser: Browser, tmp_path: Path, world: Any) -> None:
    assert AXE.is_file(), "axe-core is missing"
    (tmp_path / "kept").mkdir()
    kept = beside(keep(tmp_path / "kept" / "chain.json"))
    beside(keep(tmp_path / "kept" / "held.json", CHAIN, approve=hold))
    idea_file(tmp_path)
    file = tmp_path / "run.html"
    file.write_text(beside(run_page(Idea.load(kept), "chain")), encoding="utf-8")
    with Room(tmp_path) as room, opened(browser, room.url, bypass_csp=True, **world) as page:
        paths = ["", "ideas/warm.json", "runs/chain", "runs/held", "runs/chain/answers/0", "runs/chain/calls/0.1"]
        paths += ["runs/chain/requests/2", "runs/chain/fork/2", "runs/held/edit/0.0", "compare?left=chain&right=held"]
        faults_by_url: dict[str, list[str]] = {}
        for url in [*(room.base + path for path in paths), f"{room.base}runs/none", file.as_uri()]:
            page.goto(url)
            if faults := violations(page):
                faults_by_url[url] = faults
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, url
        assert not faults_by_url, "\n".join(f"{url}: {fault}" for url, all_ in faults_by_url.items() for fault in all_)


def test_a_plan_is_settled_approved_and_put_to_rest_on_its_page(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actum.app.loading.DEFAULT", desk())
    Idea(context=[INPUT, ASK], schema={"type": "object"}).save(tmp_path / KEY)
    beside(learnt(tmp_path, tuple(PEOPLE)[:4], days=7))
    with Room(tmp_path, None) as room, opened(browser, room.url) as page:
        page.goto(f"{room.base}ideas/{KEY}")
        page.get_by_role("link", name="Plans").click()
        row = page.get_by_role("row").filter(has_text="1.days")
        assert "question" in row.inner_text()
        assert not AXE.is_file() or violations(page) == []
        row.get_by_role("button", name="Confirm").click()
        page.wait_for_url("**?confirm=1.days")
        page.get_by_role("button", name="Python").click()
        function = page.get_by_role("group", name="The function")
        assert '"days": 7' in function.inner_text()
        page.get_by_role("button", name="Approve this hash").click()
        page.get_by_role("button", name="Rest").click()
        page.get_by_text("resting").wait_for()
        assert not AXE.is_file() or violations(page) == []
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
