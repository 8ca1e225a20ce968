"""The pages of the Studio: what they show, what their forms do, and who gets them."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest

from actum import Runs, models
from actum.ideas.ticks import RUN
from actum.inspection import check
from actum.studio import idea_pages, live
from actum.studio.secrets import seal
from actum.studio.shelf import Shelf

from ..effort import trials
from ..serving.house import TOKEN, Client, events_of
from .hostile import STRINGS
from .rooms import PLAN, hold, idea_file, room
from .runs import CHAIN, idea, keep, many
from .test_run_file import parsed

FORM = "application/x-www-form-urlencoded"


async def page(client: Client, path: str, status: int = 200) -> str:
    answer = await client.get(f"/studio/{path}")
    assert answer.status_code == status, answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert len(answer.content) < 150_000
    return answer.text


async def send(client: Client, path: str, fields: dict[str, Any], status: int = 303) -> httpx2.Response:
    origin = {"origin": str(client.base_url).rstrip("/")}
    answer = await client.post(f"/studio/{path}", data=fields, headers=origin)
    assert answer.status_code == status, answer.text
    return answer


async def over(client: Client, path: str) -> str:
    """The page of a run, once it is over or waits."""
    async with client.stream("GET", f"{path}/events") as answer:
        async for event in events_of(answer):
            if event.get("event") == "end":
                break
    return await page(client, path.removeprefix("/studio/"))


async def test_home_lists_ideas_and_runs_and_what_waits_on_top(tmp_path: Path) -> None:
    idea_file(tmp_path)
    (tmp_path / "package.json").write_text('{"name": "no Idea"}')
    (tmp_path / "broken.json").write_text('{"context": [')
    (tmp_path / "kept").mkdir()
    await keep(tmp_path / "kept" / "chain.json")
    await keep(tmp_path / "kept" / "held.json", CHAIN, approve=hold)
    async with room(tmp_path) as client:
        text = await page(client, "")
        assert text.index("Waiting for you") < text.index("Ideas</h2>") < text.index("Runs</h2>")
        assert text.index('/runs/held">') < text.index("Ideas</h2>")
        assert "How warm is it there?" in text
        assert "package.json" not in text
        assert "broken.json" in text  # it means to be one
        assert 'value="approve">Approve 0.0' in text
        (tmp_path / "kept" / "hurt.json").write_text('{"context": [')
        assert "hurt.json" in await page(client, "")  # what can't be read is named, and the rest of the page is there
        (tmp_path / "kept" / "hurt.json").unlink()
        results = await page(client, "?find=chain")
        assert "warm.json" not in results
        assert "/runs/chain" in results


async def test_an_idea_says_what_it_is_and_what_each_provider_makes_of_it(tmp_path: Path) -> None:
    file = idea_file(tmp_path)
    async with room(tmp_path) as client:
        text = await page(client, "ideas/warm.json")
    for words in ("How warm is it there?", "Whose city is meant.", "Its plan", "<svg", "Versions"):
        assert words in text
    rungs = dict(re.findall(r"<b>(\w+)</b>: (\w+)", text[text.index('id="forms"') : text.index('id="versions"')]))
    assert rungs == {form.provider: form.rung for form in check(file).forms}
    assert set(rungs) == {"openai", "anthropic", "google", "grammar"}
    openai = next(form for form in check(file).forms if form.provider == "openai")
    assert all(change in unescape(text) for change in openai.changes[:5])
    assert 'name="v/days"' in text
    assert 'value="3"' in text  # its default


async def test_an_idea_says_what_its_delegates_would_see_and_what_not(tmp_path: Path) -> None:
    ask = {
        "properties": {
            "_output": {"type": "string"},
            "_delegate": {"const": "warm.json"},
            "_scopes": {"const": ["state.open"]},
        }
    }
    context: list[Any] = [
        {"type": "system", "message": "only for the planner"},
        {"type": "state", "open": "for everybody", "closed": "for the planner"},
        {"type": "tool", "tool": {"ask": ask}},
    ]
    idea_file(tmp_path)
    idea_file(tmp_path, "asks.json", context=context, schema={}, solution=None)
    async with room(tmp_path) as client:
        text = await page(client, "ideas/asks.json")
    section = text[text.index('id="delegates"') : text.index('id="versions"')]
    assert "ask → warm.json" in section
    sees, hides = section.split("Does not see")
    assert "for everybody" in sees
    assert "for the planner" not in section  # what it does not see is named, not shown
    assert "only for the planner" not in section
    assert "closed" in hides
    assert "system" in hides


async def test_every_page_is_small_with_all_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    idea_file(tmp_path)
    many(tmp_path / "kept" / "many.json", 1_000)
    await keep(tmp_path / "kept" / "chain.json")
    await keep(tmp_path / "kept" / "held.json", CHAIN, approve=hold)
    async with room(tmp_path) as client:
        parts = [await client.get(f"/studio/static/{name}") for name in ("studio.css", "studio.js", "icon.svg")]
        static_size = sum(len(part.content) for part in parts)
        paths = [
            "",
            "ideas/warm.json",
            "runs/chain",
            "runs/many",
            "runs/held",
            "runs/many/answers/0",
            "runs/chain/fork/2",
        ]
        paths += [
            "runs/chain/calls/0.1",
            "runs/chain/requests/2",
            "runs/held/edit/0.0",
            "compare?left=chain&right=many",
        ]
        for path in paths:
            text = await page(client, path)
            assert len(text.encode()) + static_size < 150_000, path
            assert set(re.findall(r'(?:src|<link[^>]*href)="([^"?]*)[^"]*"', text)) == {
                f"/studio/static/{name}" for name in ("studio.css", "studio.js", "icon.svg")
            }


async def test_a_form_starts_a_run_by_its_plan_without_a_model(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        text = await over(client, answer.headers["location"])
        assert "&#34;warm&#34;: 21.5" in text
        assert '<span class="state done">done</span>' in text


async def test_what_is_wrong_stands_at_its_field_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    from actum.app.coercion import with_input
    from actum.errors import MessageError

    file = idea_file(tmp_path)
    async with room(tmp_path) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "a", "v/days": "11", "model": "none"}, 422)
    with pytest.raises(MessageError) as raised:
        with_input(__import__("actum").Idea.load(file).context, {"who": "a", "days": 11})
    text = unescape(answer.text)
    assert raised.value.message in text
    field = text[text.index('name="v/days"') :]
    assert "11 is greater than the maximum of 9" in field[: field.index("</div>")]
    assert 'value="11"' in text  # what was typed is there still


async def test_a_model_is_asked_as_elsewhere_whatever_a_run_is_called_in_the_list(tmp_path: Path) -> None:
    idea_file(tmp_path, solution=None)
    idea_file(tmp_path, "known.json", solution=None, meta={"path": "known", "version": "1.0.0"})
    model = models.Scripted([{"calls": [], "output": {"warm": 1}}], repeat_last=True)
    async with room(tmp_path, model) as client:
        for name in ("warm", "known"):
            answer = await send(client, f"ideas/{name}.json", {"p": "1", "v/who": "ana"})
            await over(client, answer.headers["location"])
        assert "warm.json</span>" in await page(client, "?find=warm.json")
    plain, known = ("meta" in request.schema["properties"] for request in model.requests)
    assert (plain, known) == (False, True)
    assert "warm.json" not in str(model.requests[0].messages)


async def test_json_beside_the_form_runs_too_and_fills_it(tmp_path: Path) -> None:
    idea_file(tmp_path)
    raw = json.dumps({"who": "bea", "places": ["here", "there"]})
    async with room(tmp_path) as client:
        filled = await send(client, "ideas/warm.json", {"do": "from-json", "raw": raw}, 200)
        assert 'value="there"' in filled.text
        broken = await send(client, "ideas/warm.json", {"do": "run-json", "raw": '{"who": '}, 422)
        assert "the JSON:" in broken.text
        assert "{&#34;who&#34;: " in broken.text
        answer = await send(
            client, "ideas/warm.json", {"do": "run-json", "raw": raw[:-1] + ', "days": 1}', "model": "none"}
        )
        assert "&#34;warm&#34;: 21.5" in await over(client, answer.headers["location"])


async def test_a_file_is_shown_to_the_model(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path) as client:
        origin = {"origin": str(client.base_url).rstrip("/")}
        fields = {"p": "1", "v/who": "ana", "v/days": "1", "model": "none"}
        files = {"_files": ("naïve.png", b"\x89PNG\r\n--x", "image/png")}
        answer = await client.post("/studio/ideas/warm.json", data=fields, files=files, headers=origin)
        assert answer.status_code == 303, answer.text
        run = answer.headers["location"].rpartition("/")[2]
        await over(client, answer.headers["location"])
    context = json.loads((tmp_path / "kept" / f"{run}.json").read_text(encoding="utf-8"))["context"]
    image = next(message for message in context if message["type"] == "image")
    assert (image["name"], image["media_type"], image["data"]) == ("naïve.png", "image/png", "iVBORw0KLS14")


async def test_a_call_is_approved_as_it_was_shown_and_only_then(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        at = answer.headers["location"]
        text = await over(client, at)
        sealed = unescape(re.findall(r'name="call/0.0" value="([^"]*)"', text)[0])
        assert sealed == seal({"_tool": "find", "who": "ana"})
        path = at.removeprefix("/studio/")
        for other in (seal({"_tool": "find", "who": "somebody else"}), ""):
            refused = await send(client, f"{path}/decide", {"do": "approve", "call/0.0": other}, 422)
            assert "another call waits there now" in unescape(refused.text)
        await send(client, f"{path}/decide", {"do": "approve", "call/0.0": sealed})
        text = await over(client, at)
        assert 'name="call/0.1"' in text


async def test_a_call_is_edited_in_the_form_of_what_its_tool_takes(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        path = answer.headers["location"].removeprefix("/studio/")
        await over(client, answer.headers["location"])
        form = await page(client, f"{path}/edit/0.0")
        assert 'name="v/who"' in form
        call = unescape(re.findall(r'name="call" value="([^"]*)"', form)[0])
        refused = await send(client, f"{path}/edit/0.0", {"do": "save", "p": "1", "call": call}, 422)
        assert "required property" in unescape(refused.text)
        await send(client, f"{path}/edit/0.0", {"do": "save", "p": "1", "v/who": "bea", "call": call})
        await over(client, answer.headers["location"])
        assert "bea" in await page(client, f"{path}/calls/0.0")


async def test_a_call_with_a_secret_is_approved_and_edited_without_showing_or_losing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", secret := 'tk-"quoted" & long')
    idea_file(tmp_path)
    async with room(tmp_path, holds=True) as client:

        async def begun(customer: str) -> str:
            fields = {"p": "1", "v/who": customer, "v/days": "2", "model": "none"}
            where = (await send(client, "ideas/warm.json", fields)).headers["location"]
            text = await over(client, where)
            assert ("•••" in text, "quoted" in text) == (True, False)
            return str(where.removeprefix("/studio/"))

        path = await begun(secret)
        seals = dict(re.findall(r'name="(call/[^"]*)" value="([^"]*)"', await page(client, path)))
        monkeypatch.setenv("SHOP_TOKEN", "another one")
        await send(client, f"{path}/decide", {"do": "approve", **seals}, 422)  # nobody can guess with what it is made
        monkeypatch.setenv("SHOP_TOKEN", secret)
        await send(client, f"{path}/decide", {"do": "approve", **seals})
        for sent, status, crossed in (("•••", 303, secret), ("to •••", 422, None), ("bea", 303, "bea")):
            path = await begun(secret)
            form = await page(client, f"{path}/edit/0.0")
            assert ('value="•••"' in form or ">•••<" in form, "quoted" in form) == (True, False)
            call = re.findall(r'name="call" value="([^"]*)"', form)[0]
            given = {"do": "save", "p": "1", "v/who": sent, "call": call}
            answer = await send(client, f"{path}/edit/0.0", given, status)
            assert ("would be lost" in answer.text) == (crossed is None)
            if crossed is not None:
                await over(client, f"/studio/{path}")
                kept = (tmp_path / "kept" / f"{path.rpartition('/')[2]}.json").read_text(encoding="utf-8")
                results = [
                    message["data"] for message in json.loads(kept)["context"] if message.get("kind") == "result"
                ]
                assert [result["id"] for result in results] == [crossed]


async def test_a_denial_reaches_the_model_with_its_reason(tmp_path: Path) -> None:
    idea_file(tmp_path, solution=None)
    model = models.Scripted([{"calls": PLAN["calls"], "output": None}, {"calls": [], "output": {"warm": 0}}])
    async with room(tmp_path, model, holds=True) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2"})
        path = answer.headers["location"].removeprefix("/studio/")
        text = await over(client, answer.headers["location"])
        sealed = unescape(re.findall(r'name="call/0.0" value="([^"]*)"', text)[0])
        await send(client, f"{path}/decide", {"do": "deny", "reason": "not on a Sunday", "call/0.0": sealed})
        assert "&#34;warm&#34;: 0" in await over(client, answer.headers["location"])
    assert "not on a Sunday" in str(model.requests[1].messages)


async def test_a_run_is_forked_with_a_result_changed_and_compared(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    await keep(kept / "chain.json")
    model = models.Scripted([CHAIN[2]])
    async with room(tmp_path, model) as client:
        form = unescape(await page(client, "runs/chain/fork/3"))
        areas = dict(re.findall(r'<textarea id="(m\d+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL))
        at, text = next((at, text) for at, text in areas.items() if '"Lisbon"' in text and '"_call"' in text)
        answer = await send(
            client, "runs/chain/fork/3", {**areas, at: text.replace("Lisbon", "Faro"), "model": "", "do": "fork"}
        )
        new = answer.headers["location"].rpartition("/")[2]
        assert "&#34;warm&#34;: 21.5" in await over(client, answer.headers["location"])
        assert "Faro" in str(model.requests[0].messages)
        side_by_side = await page(client, f"compare?left=chain&right={new}")
        assert "They differ where a line is marked." in side_by_side
        assert "Row by row" in side_by_side
        assert "They differ in nothing but dates." in await page(client, "compare?left=chain&right=chain")
    whole = json.loads((kept / f"{new}.json").read_text(encoding="utf-8"))
    assert whole["meta"]["from"] == {"run": "chain", "request": 3}
    assert RUN in whole["meta"]


async def test_a_follower_that_comes_back_is_told_what_is_new_once(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path, store=str(tmp_path / "runs.db")) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        at = answer.headers["location"]
        await over(client, at)
        numbers: list[int] = []
        last = 0
        for _ in range(3):
            async with client.stream("GET", f"{at}/events", headers={"last-event-id": str(last)}) as stream:
                async for event in events_of(stream):
                    if event.get("event") == "change":
                        numbers += [line["seq"] for line in event["data"]["lines"]]
                        last = int(event["id"])
        assert numbers == sorted(set(numbers))
        assert len(numbers) > 3


async def test_thousands_of_calls_are_paged_and_found(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    count = trials(10_000, least=1_000)
    many(tmp_path / "kept" / "ten.json", count)
    async with room(tmp_path) as client:
        text = await page(client, "runs/ten")
        assert f"All {count:,} calls" in text
        assert text.count('class="bar ') == 2
        assert "number 950" in await page(client, "runs/ten/answers/0?page=10")
        assert f"number {count - 1}" in await page(client, f"runs/ten/answers/0?find=number+{count - 1}")
        assert f"number {count - 1}" in await page(client, f"runs/ten/calls/0.{count - 1}")


async def test_nothing_hostile_becomes_more_than_text_on_any_page(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    calls: list[Any] = [{"_tool": "echo", "text": text} for text in STRINGS]
    hostile = idea([{"type": "text", "text": "\n".join(STRINGS)}], {"type": "object"}, meta={"path": STRINGS[0]})
    await keep(tmp_path / "kept" / "bad.json", [{"calls": calls, "output": {"said": STRINGS[:40]}}], hostile)
    await keep(tmp_path / "kept" / "held.json", [{"calls": calls[:20], "output": None}], hostile, approve=hold)
    idea_file(tmp_path, meta={"description": STRINGS[3], "version": STRINGS[4]})
    paths = ["", "ideas/warm.json", "runs/bad", "runs/held", "runs/bad/answers/0", "runs/bad/calls/0.3"]
    paths += ["runs/bad/requests/1", "runs/bad/fork/1", "runs/held/edit/0.0", "compare?left=bad&right=held"]
    async with room(tmp_path) as client:
        for path in paths:
            text = await page(client, path)
            assert text.count("<script") == 1, path
            tree = parsed(text)
            assert {tag for tag, _ in tree.tags}.isdisjoint({"iframe", "img", "base", "object", "embed", "style"}), path
            assert not [
                key for _, attributes in tree.tags for key in attributes if key.startswith("on") or key == "style"
            ], path
            assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", text), path
            links = [
                attributes[key]
                for _, attributes in tree.tags
                for key in ("href", "src", "action")
                if attributes.get(key)
            ]
            assert all(str(link).startswith(("/studio/", "#", "?")) for link in links), path


async def test_the_token_and_secrets_of_the_environment_are_on_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    (tmp_path / "kept").mkdir()
    answers = [{"calls": [{"_tool": "echo", "text": f"sk-not-to-be-seen {TOKEN}"}], "output": {"warm": 1}}]
    await keep(tmp_path / "kept" / "told.json", answers)
    async with room(tmp_path) as client:
        for path in ("", "runs/told", "runs/told/calls/0.0", "runs/told/fork/1", "compare?left=told&right=told"):
            text = await page(client, path)
            assert "not-to-be-seen" not in text
            assert TOKEN not in text
        file = await client.get("/studio/runs/told/file")
        assert "not-to-be-seen" not in file.text


async def test_no_part_of_a_secret_is_what_a_request_has_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    (tmp_path / "kept").mkdir()
    state: dict[str, Any] = {"type": "state", "state": {"k": ""}, "schema": {}}
    answers: list[Any] = [
        {"calls": [{"_tool": "echo", "text": text, "_outputPath": "†state.k"}], "output": None}
        for text in ("sk-not-yet", "sk-not-to-be-seen")
    ]
    await keep(tmp_path / "kept" / "told.json", [*answers, {"calls": [], "output": {"warm": 1}}], idea([state]))
    async with room(tmp_path) as client:
        text = await page(client, "runs/told/requests/3")
        assert "•••" in text
        assert "be-seen" not in text
        assert "be-seen" not in (await client.get("/studio/runs/told/file")).text


async def test_a_run_kept_in_a_file_that_another_takes_is_that_other(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    async with room(tmp_path) as client:
        for warm in (17.25, 18.75):
            for file in (tmp_path / "kept").glob("one.*"):
                file.unlink()
            await keep(tmp_path / "kept" / "one.json", [{"calls": [], "output": {"warm": warm}}])
            assert f"&#34;warm&#34;: {warm}" in await page(client, "runs/one")


def test_a_folder_may_hold_what_is_no_file_or_goes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idea_file(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")  # which nobody ever writes into

    def walked(_: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        yield str(tmp_path), [], ["gone.json", "pipe.json", "warm.json"]

    monkeypatch.setattr(os, "walk", walked)
    assert [entry.key for entry in Shelf(folder=tmp_path).listed()] == ["warm.json"]


async def test_a_live_page_is_drawn_beside_what_the_server_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idea_file(tmp_path)
    threads: list[threading.Thread] = []
    drawn = live.timeline_of

    def noted(account: Any, **more: Any) -> Any:
        threads.append(threading.current_thread())
        return drawn(account, **more)

    monkeypatch.setattr(live, "timeline_of", noted)
    async with room(tmp_path) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "model": "none"})
        await over(client, answer.headers["location"])
    assert threads
    assert threading.main_thread() not in threads


async def test_only_the_owner_from_its_own_pages_gets_in(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path) as client:
        async with httpx2.AsyncClient(base_url=client.base_url, trust_env=False) as stranger:
            assert (await stranger.get("/studio/")).status_code == 401
            entered = await stranger.get("/studio/", params={"token": TOKEN})
            assert entered.status_code == 303
            assert "token" not in entered.headers["location"]
            assert (await stranger.get("/studio/")).status_code == 200  # by its cookie
            fields = {"p": "1", "v/who": "ana"}
            foreign = await stranger.post(
                "/studio/ideas/warm.json", data=fields, headers={"origin": "http://evil.test"}
            )
            assert foreign.status_code == 403
            assert (await stranger.get("/studio/", headers={"host": "evil.test"})).status_code == 421
        assert (await client.get("/studio/ideas/../../etc/passwd.json")).status_code in {404, 422}
        assert "wasn&#39;t found" in await page(client, "ideas/%2e%2e/secret.json", 404)
        assert (await client.get("/studio/static/../app.py")).status_code == 404
        await page(client, "runs/none", 404)


async def test_runs_of_a_store_are_shown_as_well(tmp_path: Path) -> None:
    async with Runs(str(tmp_path / "kept")) as runs:
        run = await runs.submit(idea_file(tmp_path), input={"who": "ana", "days": 1})
    async with room(tmp_path) as client:
        text = await over(client, f"/studio/runs/{run.id}")
        assert "Timeline" in text
        assert "0.1 weather" in text
        for part in ("calls/9.9", "answers/99", "requests/99", "fork/99", "edit/9.9"):
            assert (await page(client, f"runs/{run.id}/{part}", 404)).count(part.partition("/")[2]) >= 1


async def test_the_page_of_an_idea_does_not_wait_for_what_is_found_out_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idea_file(tmp_path, solution={"calls": [{"_tool": 3}]})
    may = threading.Event()

    def late(*given: Any, **more: Any) -> Any:
        assert may.wait(30)
        return check(*given, **more)

    monkeypatch.setattr(idea_pages, "check", late)
    async with room(tmp_path) as client, client.stream("GET", "/studio/ideas/warm.json") as answer:
        text = ""
        async for piece in answer.aiter_text():
            text += piece
            if "Run it" in text:
                assert "Problems" in text or not may.is_set()
                may.set()
        form = {"p": "1", "do": "add:/places", "only-fields": "1"}
        may.clear()
        assert "v/places" in (await send(client, "ideas/warm.json", form, 200)).text
        assert text.index("Run it") < text.index("Problems") < text.index("Its messages")
        assert text.endswith("</html>")


async def test_what_every_page_needs_is_kept_by_the_browser_until_it_changes(tmp_path: Path) -> None:
    async with room(tmp_path) as client:
        for link in re.findall(r'(?:href|src)="(/studio/static/[^"]+)"', await page(client, "")):
            assert "immutable" in (await client.get(link)).headers["cache-control"]
            assert (await client.get(link.partition("?")[0])).headers["cache-control"] == "no-cache"
            assert (await client.get(f"{link}0")).headers["cache-control"] == "no-cache"
