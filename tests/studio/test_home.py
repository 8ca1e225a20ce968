"""Home finds all Ideas and runs, of folders and of a store, page by page; and an Idea of a store has its versions."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, Runs
from actum.ideas.library import Library
from actum.ideas.store import parse_address
from actum.storage.open import open_store

from .rooms import INPUT, idea_file, room
from .test_pages import over, page, send


def versions(folder: Path) -> list[Any]:
    """Three versions of one Idea: another plan, then an input that no caller gives."""
    first = json.loads(idea_file(folder, "first.json").read_text(encoding="utf-8"))
    (folder / "first.json").unlink()
    second = {**first, "solution": {**first["solution"], "output": {"warm": 1}}}
    strict = {**INPUT, "properties": {**INPUT["properties"], "unit": {"type": "string"}}, "required": ["who", "unit"]}
    return [first, second, {**second, "context": [first["context"][0], {"type": "input", "schema": strict}]}]


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


async def stored(place: str, texts: list[Any], address: str) -> None:
    store = open_store(place)
    for text in texts:
        await Library(store=store).save(Idea.read(json.dumps(text), "an Idea").text, parse_address(address), note="as")
    await store.aclose()


@pytest.mark.parametrize("kind", ["ideas.db", "ideas"])
async def test_ideas_of_a_store_are_listed_opened_and_run_with_what_each_version_breaks(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / kind)
    monkeypatch.setenv("ACTUM_STORE", place)
    folder = tmp_path / "own"
    folder.mkdir()
    idea_file(folder)
    async with room(folder) as client:
        assert "idea:" not in await page(client, "")
        assert kind not in names(tmp_path)  # looking makes none
        await stored(place, versions(folder), "idea:weather/warm")
        await stored(place, versions(folder)[:1], "idea://else.where/~dev/cold")
        text = await page(client, "")
        assert text.index("ideas/warm.json") < text.index(">idea://else.where/~dev/cold<")
        assert '<a href="/studio/ideas/idea%3Aweather/warm">idea:weather/warm</a>' in text
        results = await page(client, "?find=COLD")
        assert "else.where" in results
        assert "weather" not in results
        detail = unescape(await page(client, "ideas/idea:weather/warm"))
        listed = detail[detail.index('id="versions"') :]
        assert re.findall(r"<code>(idea:[^<]*)</code>", listed)[:3] == [
            f"idea:~main/weather/warm?{version}" for version in ("2.0.0", "1.0.1", "1.0.0")
        ]
        assert [word for word in re.findall(r"<b>(\w+)</b>", listed) if word in {"breaking", "solution"}] == [
            "breaking", "solution"
        ]  # fmt: skip
        assert "unit" in listed[: listed.index("1.0.1")]  # whom it breaks
        assert "grammar" in detail
        older = await page(client, "ideas/idea%3A~main/weather/warm%3F1.0.0")
        assert 'name="v/unit"' not in older
        answer = await send(
            client,
            "ideas/idea%3A~main/weather/warm%3F1.0.0",
            {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"},
        )
        assert "&#34;warm&#34;: 21.5" in await over(client, answer.headers["location"])
        assert "there is no idea:weather/none" in await page(client, "ideas/idea:weather/none", 404)


@pytest.mark.parametrize("store", ["runs.db", "kept"])
async def test_search_goes_through_all_runs_and_keeps_its_words_from_page_to_page(tmp_path: Path, store: str) -> None:
    place = tmp_path / store
    order = Idea.read(json.dumps({"meta": {"path": "shop/orders"}, "context": [], "schema": {}}), "an Idea")
    async with Runs(str(place)) as runs:
        await runs.submit(order, id="the-first-of-all", queue="nobody's")
        for number in range(52):
            await runs.submit(order, id=f"later-{number}", queue="nobody's")
    async with room(tmp_path, store=str(place)) as client:
        newest = await page(client, "")
        assert "the-first-of-all" not in newest
        assert "shop/orders" in newest
        assert "the-first-of-all" in await page(client, "?find=FIRST-of")
        results = await page(client, "?find=orders")
        assert results.count('name="left"') == 50
        older = unescape(re.findall(r'href="([^"]*)">Older runs', results)[0])
        assert "find=orders" in older
        rest = await page(client, older.removeprefix("/studio/").partition("#")[0])
        assert rest.count('name="left"') == 3
        assert "the-first-of-all" in rest
        assert "Older runs" not in rest
        assert 'name="left"' not in await page(client, "?find=done")
        assert "No run fits" in await page(client, "?find=no+such")


async def test_many_ideas_are_shown_page_by_page_those_of_the_store_behind_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for number in range(48):
        idea_file(folder, f"idea-{number:02}.json")
    monkeypatch.setenv("ACTUM_STORE", str(tmp_path / "ideas"))
    text = versions(folder)[:1]
    for name in "abcd":
        await stored(str(tmp_path / "ideas"), text, f"idea:of/{name}")
    async with room(folder) as client:
        first = await page(client, "")
        assert ("idea-47" in first, "idea:of/b" in first, "idea:of/c" in first) == (True, True, False)
        second = await page(client, "?ideas=50")
        assert ("idea-47" in second, "idea:of/b" in second, "idea:of/c" in second) == (False, False, True)
        assert "More Ideas" in first
        assert "More Ideas" not in second


async def test_runs_that_cant_be_read_are_told_of_beside_the_others(tmp_path: Path) -> None:
    idea_file(tmp_path)
    async with room(tmp_path) as client:
        answer = await send(client, "ideas/warm.json", {"p": "1", "v/who": "ana", "v/days": "2", "model": "none"})
        await over(client, answer.headers["location"])
        run = answer.headers["location"].rpartition("/")[2]
        for number in range(25):
            (tmp_path / "kept" / f"hurt-{number:02}.json").write_text('{"context": [\u202e<b>', encoding="utf-8")
        text = await page(client, "")
    assert f'<a href="/studio/runs/{run}">' in text
    assert "The runs can’t be read" not in text
    items = re.findall("<li>(.*?)</li>", text[text.index("Left out, because they can’t be read") :])
    assert (len(items), items[-1]) == (21, "and 5 more")
    assert "hurt-00.json: not JSON: Expecting value at line 1" in items[0]
    assert "\u202e" not in text
