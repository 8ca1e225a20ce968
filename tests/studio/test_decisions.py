"""Decisions from the Studio, and what if: a plan as a whole with its price, forks of each kind, and runs that go on."""

from __future__ import annotations

import asyncio
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from actum import Limits, errors, models
from actum.ideas.ticks import RUN
from actum.studio.secrets import seal

from ..serving.house import Client, events_of
from .rooms import INPUT, hold, idea_file, room
from .runs import CHAIN, TEXT, idea, keep
from .test_pages import over, page, send

TWO = {
    "calls": [{"_tool": "find", "who": "†input.who"}, {"_tool": "one", "n": "†input.days"}],
    "output": {"warm": "†calls.1"},
}
ASKED = [TEXT, {"type": "input", "schema": INPUT, "input": {"who": "ana", "days": 2}}]


def calls_in(text: str) -> dict[str, str]:
    """The seals of the calls that a page shows, as its forms send them."""
    return {key: unescape(call) for key, call in re.findall(r'name="(call/[^"]*)" value="([^"]*)"', text)}


async def test_a_plan_is_approved_as_a_whole_with_its_price(tmp_path: Path) -> None:
    idea_file(tmp_path, solution=TWO)
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        at = answer.headers["location"]
        text = await over(client, at)
        assert "The whole plan: 2 calls in 1 step (2 by code), no request to a model." in text
        seals = calls_in(text)
        assert seals == {
            "call/0.0": seal({"_tool": "find", "who": "ana"}), "call/0.1": seal({"_tool": "one", "n": 2})
        }  # fmt: skip
        path = at.removeprefix("/studio/")
        await send(client, f"{path}/decide", {**seals, "do": "approve"})
        assert "&#34;warm&#34;: 2" in await over(client, at)


async def test_a_call_is_approved_only_where_all_of_it_is_shown(tmp_path: Path) -> None:
    calls = [{"_tool": "echo", "text": "x" * 7_000 + " to mallory"}, {"_tool": "echo", "text": "short"}]
    idea_file(tmp_path, solution={"calls": calls, "output": {"warm": 1}})
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        at = answer.headers["location"]
        for text in (await over(client, at), await page(client, "")):
            assert re.findall(r"(?:Approve|Deny) (?:0|all)[.0-9 ]*", text)[:3] == [
                "Deny 0.0",
                "Approve 0.1",
                "Deny 0.1",
            ]
            assert ("Approve all" in text, "mallory" in text) == (False, False)
        (link,) = re.findall(r'href="/studio/([^"]*)">See all of 0.0', text)
        whole = await page(client, link)
        assert ("mallory" in whole.partition("The call as it is now")[2], "Approve these values" in whole) == (
            True,
            True,
        )


async def test_the_form_of_a_page_that_shows_a_part_approves_nothing_whatever_it_is_made_to_say(tmp_path: Path) -> None:
    text = "x" * 7_000 + "\u202eyrollam ot\u200b\u3164"
    idea_file(tmp_path, solution={"calls": [{"_tool": "echo", "text": text}], "output": {"warm": 1}})
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        at = answer.headers["location"].removeprefix("/studio/")
        overview = await over(client, answer.headers["location"])
        assert f"({len(text) + 2} characters, SHA-256 " in overview
        for seals in (calls_in(overview), calls_in(await page(client, "")), {"call/0.0": ""}, {"call/0.0": "0" * 64}):
            assert [*seals] == ["call/0.0"]
            refused = await send(client, f"{at}/decide", {**seals, "do": "approve"}, 422)
            assert "another call waits there now" in unescape(refused.text)
        await send(client, f"{at}/decide", {"do": "approve"}, 422)
        whole = await page(client, f"{at}/edit/0.0")
        read = whole.partition("The call as it is now")[2]
        assert r"\u202eyrollam ot\u200b\u3164" in unescape(read)
        assert not set("\u202e\u200b\u3164") & set(read)
        call = re.findall(r'name="call" value="([^"]*)"', whole)[0]
        await send(client, f"{at}/decide", {"call/0.0": call, "do": "approve"})
        assert "&#34;warm&#34;: 1" in await over(client, answer.headers["location"])


async def test_a_page_of_a_run_that_waits_hears_when_somebody_else_decides(tmp_path: Path) -> None:
    idea_file(tmp_path, solution=TWO)
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        at = answer.headers["location"]
        text = await over(client, at)
        events = re.findall(r'data-events="([^"]*)" data-after="(\d+)"', text)
        async with client.stream("GET", "{}&after={}".format(*events[0])) as stream:
            feed = events_of(stream)
            first = asyncio.ensure_future(anext(feed))
            await send(client, f"{at.removeprefix('/studio/')}/decide", {**calls_in(text), "do": "approve"})
            received: list[dict[str, Any]] = [await first, *[event async for event in feed]]
        assert (received[-1]["event"], received[-1]["data"]) == ("end", {"state": "done"})
        assert "data-events" not in await page(client, at.removeprefix("/studio/"))


async def test_all_that_wait_are_denied_with_one_reason(tmp_path: Path) -> None:
    idea_file(tmp_path, solution=None)
    model = models.Scripted([TWO, {"calls": [], "output": {"warm": 0}}])
    async with room(tmp_path, model, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2"})
        text = await over(client, answer.headers["location"])
        seals = calls_in(text)
        path = answer.headers["location"].removeprefix("/studio/")
        await send(client, f"{path}/decide", {**seals, "do": "deny", "reason": "the shop is closed"})
        assert "&#34;warm&#34;: 0" in await over(client, answer.headers["location"])
    assert str(model.requests[1].messages).count("the shop is closed") == 2


# What if


def areas_of(form: str) -> dict[str, str]:
    """The messages of a fork's form, as they are."""
    return dict(re.findall(r'<textarea id="(m\d+)"[^>]*>\n(.*?)</textarea>', unescape(form), re.DOTALL))


async def forked(client: Client, run: str, at: int, fields: dict[str, str]) -> tuple[str, str]:
    """The id and the page of a fork that is over."""
    answer = await send(client, f"runs/{run}/fork/{at}", {**fields, "do": "fork"})
    where = answer.headers["location"]
    return where.rpartition("/")[2], await over(client, where)


@pytest.mark.parametrize("changed", ["input", "message", "result", "model"])
async def test_a_run_is_forked_with_one_thing_changed_and_the_rest_as_it_was(tmp_path: Path, changed: str) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    replay = tmp_path / "again.jsonl"
    await keep(kept / "chain.json", base=idea(ASKED), recorded=replay)
    again = models.Scripted([CHAIN[2]])
    async with room(tmp_path, None if changed == "model" else again) as client:
        before = 2 if changed == "model" else 3
        areas = areas_of(await page(client, f"runs/chain/fork/{before}"))
        fields = {**areas, "p": "1", "v/who": "ana", "v/days": "2", "model": ""}
        match changed:
            case "input":
                fields["v/who"] = "bea"
            case "message":
                at = next(at for at, text in areas.items() if "How warm is it?" in text)
                fields[at] = areas[at].replace("How warm is it?", "How warm is it in May?")
            case "result":
                at = next(at for at, text in areas.items() if '"Lisbon"' in text and '"_call"' in text)
                fields[at] = areas[at].replace("Lisbon", "Faro")
            case _:
                fields["model"] = f"replay:{replay}"
        new, text = await forked(client, "chain", before, fields)
        assert "&#34;warm&#34;: 21.5" in text
        assert "Requests</h2>" in await page(client, f"compare?left=chain&right={new}")
    whole = json.loads((kept / f"{new}.json").read_text(encoding="utf-8"))
    assert whole["meta"]["from"]["request"] == before
    prompt = str(again.requests[0].messages) if again.requests else ""
    expected = {"input": "bea", "message": "in May?", "result": "Faro", "model": ""}[changed]
    assert expected in prompt
    others = {"input": "Lisbon", "message": "ana", "result": "ana", "model": ""}[changed]
    assert others in prompt
    if changed == "model":
        assert whole["meta"][RUN]["course"][0]["model"].startswith("replay")


async def test_a_fork_keeps_what_its_form_hides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").mkdir()
    secret = "sk-not-to-be-seen"
    first = {**CHAIN[0], "calls": [{"_tool": "find", "who": "†input.who"}, *CHAIN[0]["calls"][1:]]}
    base = idea([TEXT, {"type": "input", "schema": INPUT, "input": {"who": secret, "days": 2}}])
    await keep(tmp_path / "kept" / "chain.json", [first, *CHAIN[1:]], base=base)
    monkeypatch.setenv("SHOP_KEY", secret)
    model = models.Scripted([CHAIN[2]])
    async with room(tmp_path, model) as client:
        areas = areas_of(await page(client, "runs/chain/fork/3"))
        field = next(at for at, text in areas.items() if '"id": "•••"' in text)
        fields = {**areas, "p": "1", "v/who": "•••", "v/days": "2", "model": ""}
        part = {**fields, field: areas[field].replace("Lisbon", "Faro"), "do": "fork"}
        refused = await send(client, "runs/chain/fork/3", part, 422)
        assert "would be lost" in refused.text
        anew = {**fields, "v/days": "3", field: areas[field].replace("•••", "bea")}
        await forked(client, "chain", 3, anew)
    prompt = str(model.requests[0].messages)
    assert (prompt.count("•••"), prompt.count("bea"), "'days': 3" in prompt or '"days":3' in prompt) == (0, 1, True)
    assert secret in prompt


async def test_a_message_that_is_emptied_is_taken_out_and_one_that_is_no_json_is_told(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    await keep(tmp_path / "kept" / "chain.json")
    model = models.Scripted([CHAIN[2]])
    async with room(tmp_path, model) as client:
        areas = areas_of(await page(client, "runs/chain/fork/3"))
        failed = next(at for at, text in areas.items() if '"error"' in text)
        wrong = await send(client, "runs/chain/fork/3", {**areas, failed: '{"type":', "do": "fork"}, 422)
        listed = await send(client, "runs/chain/fork/3", {**areas, failed: "[1]", "do": "fork"}, 422)
        assert f"message {failed.removeprefix('m')} must be a JSON object" in listed.text
        assert "{&#34;type&#34;:" in wrong.text  # what was typed is there still
        await forked(client, "chain", 3, {**areas, failed: ""})
    assert json.loads(areas[failed])["error"] not in str(model.requests[0].messages)


# Runs that go on


async def test_a_kept_run_that_was_cut_is_resumed_and_calls_that_are_done_are_not_made_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    with pytest.raises(errors.LimitExceeded):
        await keep(kept / "cut.json", limits=Limits(requests=1))
    model = models.Scripted([CHAIN[2]])
    async with room(tmp_path, model) as client:
        assert "It was cut" in await page(client, "")
        text = await page(client, "runs/cut")
        assert '<span class="state waiting">waiting</span>' in text
        assert "Resume the run" in text
        before = json.loads((kept / "cut.json").read_text(encoding="utf-8"))["context"]
        await send(client, "runs/cut/resume", {})
        assert "&#34;warm&#34;: 21.5" in await over(client, "/studio/runs/cut")
        again = await send(client, "runs/cut/resume", {})  # it is over: a new run would go on from what it left
        assert again.headers["location"] != "/studio/runs/cut"
    after = json.loads((kept / "cut.json").read_text(encoding="utf-8"))["context"]
    dates = [
        [message.get("_date") for message in context if message.get("_of") == "0.0"] for context in (before, after)
    ]
    assert dates[0]
    assert dates[0] == dates[1]


async def test_a_run_that_was_begun_to_be_held_is_held_when_it_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "cut.json"
    path.parent.mkdir()
    with pytest.raises(errors.LimitExceeded):
        await keep(path, limits=Limits(requests=1))
    whole = json.loads(path.read_text(encoding="utf-8"))
    whole["meta"][RUN]["approve"] = "hold"
    path.write_text(json.dumps(whole), encoding="utf-8")
    async with room(tmp_path, models.Scripted([CHAIN[2]])) as client:
        await send(client, "runs/cut/resume", {})
        (sealed,) = calls_in(await over(client, "/studio/runs/cut")).values()
        assert sealed == seal({"_tool": "weather", "city": "Porto"})


async def test_a_run_that_waits_for_a_decision_is_not_resumed_without_one(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    await keep(tmp_path / "kept" / "held.json", CHAIN, approve=hold)
    async with room(tmp_path, holds=True) as client:
        assert "Resume the run" not in await page(client, "runs/held")
        refused = await send(client, "runs/held/resume", {}, 422)
        assert "only a run that was cut is resumed by hand" in unescape(refused.text)


async def test_a_run_that_failed_goes_on_in_a_new_one(tmp_path: Path) -> None:
    idea_file(tmp_path, solution=None)
    answers: list[Any] = [TWO | {"output": None}, *(["no JSON"] * 3), {"calls": [], "output": {"warm": 7}}]
    model = models.Scripted(answers)
    async with room(tmp_path, model) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2"})
        at = answer.headers["location"]
        text = await over(client, at)
        assert "Go on in a new run" in text
        assert "no answer" in text
        assert "running" not in text
        again = await send(client, f"{at.removeprefix('/studio/')}/resume", {})
        assert again.headers["location"] != at
        assert "&#34;warm&#34;: 7" in await over(client, again.headers["location"])


# What is sent twice, and what says nothing


async def test_of_decisions_that_come_at_once_one_counts_and_the_others_are_told(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "model": "none"})
        at, headers = answer.headers["location"], {"origin": str(client.base_url).rstrip("/")}
        seals = calls_in(await over(client, at))
        mute = await client.post(f"{at}/decide", data=seals, headers=headers)
        assert (mute.status_code, "neither approve nor deny" in mute.text) == (422, True)
        forms = [{**seals, "do": ruling} for ruling in ("deny", "approve", "deny")]
        answers = await asyncio.gather(*(client.post(f"{at}/decide", data=form, headers=headers) for form in forms))
        assert sorted(answer.status_code for answer in answers) == [303, 422, 422]


async def test_a_form_that_is_sent_twice_begins_one_run_and_one_that_was_changed_another(tmp_path: Path) -> None:
    idea_file(tmp_path, solution={"calls": [{"_tool": "one", "n": 7}], "output": {"warm": "†calls.0"}})
    async with room(tmp_path) as client:

        async def begun(path: str, fields: dict[str, str]) -> str:
            return str((await send(client, path, fields)).headers["location"])

        def once(text: str) -> dict[str, str]:
            return {"once": re.findall(r'name="once" value="([^"]+)"', text)[0]}

        first, second = [once(await page(client, "ideas/warm.json")) for _ in range(2)]
        form = {**first, "p": "1", "v/who": "ana", "model": "none"}
        at = await begun("ideas/warm.json", form)
        assert await begun("ideas/warm.json", form) == at
        others = [await begun("ideas/warm.json", {**form, **fields}) for fields in ({"v/who": "bea"}, second)]
        assert len({at, *others}) == 3
        again = once(await over(client, at))  # it has failed
        path = f"{at.removeprefix('/studio/')}/resume"
        assert await begun(path, again) == await begun(path, again)


async def test_what_changes_the_form_of_a_fork_begins_no_run(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    await keep(tmp_path / "kept" / "chain.json", base=idea(ASKED))
    async with room(tmp_path) as client:
        areas = areas_of(await page(client, "runs/chain/fork/2"))
        first = next(iter(areas))
        fields = {**areas, first: '{"type":"text","text":"mine"}', "p": "1", "v/who": "bea", "model": "openai:gpt-5.2"}
        text = (await send(client, "runs/chain/fork/2", {**fields, "do": "add:/places"}, 200)).text
        assert 'name="v/places/0"' in text
        assert 'name="v/who" autocomplete="off" value="bea"' in text
        assert areas_of(text)[first] == fields[first]
        assert 'name="model" value="openai:gpt-5.2"' in text
    assert [file.stem for file in (tmp_path / "kept").glob("*.json")] == ["chain"]
