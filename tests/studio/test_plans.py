"""The Studio's page *Plans* of an Idea: what its runs come to, and what a person decides of it (refine.md R38)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, errors, kept, models
from actum.refine import Plans

from ..refine.test_refining import ASK, INPUT, PEOPLE, desk, retyped
from .hostile import STRINGS
from .rooms import room
from .test_pages import page, send

KEY = "desk.json"


@pytest.fixture(autouse=True)
def of_the_desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is registered are the tools of the desk; the Idea lies in the Studio's folder."""
    monkeypatch.setattr("actum.app.loading.DEFAULT", desk())
    Idea(context=[INPUT, ASK], schema={"type": "object"}).save(tmp_path / KEY)


async def learnt(folder: Path, emails: Sequence[str], *, days: int = 3) -> Agent:
    """An agent that proposes what it learns of these requests."""
    agent = Agent(None, tools=desk(), plans=Plans(folder / "plans.db", learns="proposals"))
    idea = Idea.load(folder / KEY)
    for email in emails:
        agent.model = models.Scripted(retyped(email, days), name="m")
        await agent.run(idea.context, idea.schema, input={"email": email})
    return agent


def hash_in(text: str) -> str:
    match = re.search(r"sha256:[0-9a-f]{64}", text)
    assert match is not None
    return match[0]


def form_of(text: str, action: str) -> dict[str, str]:
    """The fields of the form whose button does this, as a browser sends them."""
    form = next(form for form in re.findall(r"<form.*?</form>", text, re.DOTALL) if f'value="{action}"' in form)
    hidden = re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">', form)
    return {name: unescape(value) for name, value in hidden} | {"do": action}


async def test_an_idea_without_runs_says_where_they_would_come_from(tmp_path: Path) -> None:
    async with room(tmp_path) as client:
        assert f'href="/studio/plans/{KEY}"' in await page(client, f"ideas/{KEY}")
        assert "No run of it is known yet" in await page(client, f"plans/{KEY}")
        await page(client, "plans/none.json", 404)
    assert not (tmp_path / "plans.db").exists()


@pytest.mark.rule("R38")
async def test_shapes_wires_and_the_proof_are_shown_and_a_plan_is_approved_and_put_to_rest(tmp_path: Path) -> None:
    agent = await learnt(tmp_path, tuple(PEOPLE)[:4])
    async with room(tmp_path) as client:
        text = " ".join(unescape(await page(client, f"plans/{KEY}")).split())
        assert "<b>4</b> find_customer → weather" in text
        assert "<td><code>1.city</code></td> <td><code>†calls.0.city</code></td>" in text
        assert '"_tool": "weather"' in text  # all of it, not just a table of its values
        assert "4 of 4 come to the same bytes; held out, 4 right, 0 left" in text
        assert "proposed" in text
        plan_hash = hash_in(text)
        written = await client.post(
            f"/studio/plans/{KEY}", data={"do": "python", "hash": plan_hash}, headers={"origin": str(client.base_url)}
        )
        assert "async def desk(email: str) -> Desk:" in unescape(written.text)
        await send(client, f"plans/{KEY}", {"do": "approve", "hash": plan_hash})
        result = await agent.run([INPUT, ASK], {"type": "object"}, input={"email": "flo@x.com"})
        assert result.plan is not None
        assert result.output["mean"] == 7.25
        text = await page(client, f"plans/{KEY}")
        assert re.search(r"Hits</dt><dd>1<.*Requests saved</dt><dd>3<", text, re.DOTALL)
        await send(client, f"plans/{KEY}", {"do": "rest", "hash": plan_hash})
        agent.model = models.Scripted(retyped("flo@x.com"), name="m")
        assert (await agent.run([INPUT, ASK], {"type": "object"}, input={"email": "flo@x.com"})).plan is None
        # What a person has put to rest is not used again by itself, though it was proved anew.
        assert [plan.state for plan in Plans(tmp_path / "plans.db").list()] == ["resting"]


async def test_a_question_is_settled_on_the_page_and_the_plan_then_kept(tmp_path: Path) -> None:
    await learnt(tmp_path, tuple(PEOPLE)[:4], days=7)
    assert Plans(tmp_path / "plans.db").list() == []
    async with room(tmp_path) as client:
        text = await page(client, f"plans/{KEY}")
        assert "A plan with open questions" in text
        assert 'name="leaf" value="1.days"' in text
        settled = await send(client, f"plans/{KEY}", form_of(text, "confirm"))
        assert settled.headers["location"] == f"/studio/plans/{KEY}?confirm=1.days"
        text = await page(client, f"plans/{KEY}?confirm=1.days")
        await send(client, f"plans/{KEY}", form_of(text, "approve"))
        (plan,) = Plans(tmp_path / "plans.db").list()
        assert (plan.state, plan.hash) == ("used", hash_in(text))


@pytest.mark.rule("R38")
async def test_runs_that_were_left_out_are_counted_by_their_reason(tmp_path: Path) -> None:
    agent = await learnt(tmp_path, tuple(PEOPLE)[:4])
    agent.model = models.Scripted([{"calls": [], "output": {"note": "I know", "mean": 1}}], name="m")
    await agent.run([INPUT, ASK], {"type": "object"}, input={"email": "flo@x.com"})
    async with room(tmp_path) as client:
        text = await page(client, f"plans/{KEY}")
    assert "<h3>Left out</h3>\n<ul><li><b>1</b> <code>other_shape</code></li></ul>" in re.sub(r"\n(?=<li>)", "", text)


async def test_a_long_constant_is_shown_whole_before_anything_is_confirmed_or_approved(tmp_path: Path) -> None:
    long = "to \u202eana" + "x" * 7_000 + " and mallory"
    idea = Idea(context=[INPUT, f"{ASK} Sign it: {long}"], schema={"type": "object"})
    idea.save(tmp_path / KEY)
    agent = Agent(None, tools=desk(), plans=Plans(tmp_path / "plans.db", learns="proposals"))
    for email in tuple(PEOPLE)[:3]:
        call = {"_tool": "find_customer", "email": email}
        answers: list[Any] = [{"calls": [call], "output": {"city": "†calls.0.city", "said": long}}]
        agent.model = models.Scripted(answers, name="m")
        await agent.run(Idea.load(tmp_path / KEY).context, idea.schema, input={"email": email})
    async with room(tmp_path) as client:
        text = unescape(await page(client, f"plans/{KEY}"))
        plan = text.partition("exactly as it is approved")[2]
        assert "x" * 7_000 + " and mallory" in plan
        assert "\\u202eana" in plan
        assert "\u202e" not in text
        assert 'value="approve" data-approves' in text
        assert "<details open data-unread><summary>All of it" in text.partition("data-decides")[2]


async def test_runs_of_the_studio_itself_are_examples(tmp_path: Path) -> None:
    idea = Idea.load(tmp_path / KEY)
    (tmp_path / "kept").mkdir()
    for email in tuple(PEOPLE)[:3]:
        agent = Agent(models.Scripted(retyped(email)), tools=desk())
        begun = Idea(context=idea.context, schema=idea.schema, meta={"path": KEY})
        await kept.start(
            tmp_path / "kept" / f"{email[:2]}.json", begun, lambda _, agent=agent: agent, input={"email": email}
        )
    async with room(tmp_path) as client:
        text = await page(client, f"plans/{KEY}")
        assert "3 of 3 come to the same bytes" in text
        await send(client, f"plans/{KEY}", {"do": "approve", "hash": hash_in(text)})
    hit = Agent(None, tools=desk(), plans=Plans(tmp_path / "plans.db"))
    assert (await hit.run(idea.context, idea.schema, input={"email": "flo@x.com"})).output["mean"] == 7.25


async def test_of_two_people_the_second_decides_on_what_he_has_seen_or_not_at_all(tmp_path: Path) -> None:
    agent = await learnt(tmp_path, tuple(PEOPLE)[:4])
    async with room(tmp_path) as client:
        plan_hash = hash_in(await page(client, f"plans/{KEY}"))
        agent.model = models.Scripted([{"calls": [], "output": {"note": "I know", "mean": 1}}], name="m")
        await agent.run([INPUT, ASK], {"type": "object"}, input={"email": "flo@x.com"})
        await send(client, f"plans/{KEY}", {"do": "approve", "hash": plan_hash})
        await send(client, f"plans/{KEY}", {"do": "approve", "hash": plan_hash})  # twice is once
        for fields in ({"do": "approve", "hash": "sha256:0"}, {"do": "rest", "hash": "sha256:0"}, {"do": "other"}):
            refused = await send(client, f"plans/{KEY}", fields, 422)
            assert "the plan is another one by now" in refused.text
        assert [(plan.state, plan.hash) for plan in Plans(tmp_path / "plans.db").list()] == [("used", plan_hash)]


async def test_a_form_from_elsewhere_decides_nothing(tmp_path: Path) -> None:
    await learnt(tmp_path, tuple(PEOPLE)[:4])
    async with room(tmp_path) as client:
        fields = {"do": "approve", "hash": hash_in(await page(client, f"plans/{KEY}"))}
        for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            answer = await client.post(f"/studio/plans/{KEY}", data=fields, headers=headers)
            assert answer.status_code in {403, 415}
        assert [plan.state for plan in Plans(tmp_path / "plans.db").list()] == ["proposed"]


async def test_words_of_others_are_shown_as_words(tmp_path: Path) -> None:
    evil = STRINGS[::20]
    idea = Idea(context=[INPUT, f"{evil[0]} {ASK}"], schema={"type": "object"})
    idea.save(tmp_path / KEY)
    for email, word in zip(tuple(PEOPLE)[:3], evil, strict=False):
        answers: list[Any] = [
            {
                "calls": [{"_tool": "find_customer", "email": email}],
                "output": {word: "†calls.0.city", **dict.fromkeys(evil, word)},
            }
        ]
        agent = Agent(models.Scripted(answers), tools=desk(), plans=Plans(tmp_path / "plans.db"))
        await agent.run(Idea.load(tmp_path / KEY).context, idea.schema, input={"email": email})
    async with room(tmp_path) as client:
        for query in ("", "?confirm=<script>parent.hacked=1</script>&ignore=%22%3E<svg onload=hacked>"):
            text = await page(client, f"plans/{KEY}{query}")
            for piece in ("<script>parent", "<img src=x", "<svg onload", "\u202e"):
                assert piece not in text
        refused = await send(client, f"plans/{KEY}", {"do": "<script>", "hash": "<script>alert(1)</script>"}, 422)
        assert "<script>alert" not in refused.text


async def test_nothing_of_an_idea_is_imported_for_its_plans(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("open('imported', 'w').close()\n", encoding="utf-8")
    Idea(context=[INPUT, ASK], schema={"type": "object"}, config={"activities": ["own.py"]}).save(tmp_path / KEY)
    await learnt(tmp_path, tuple(PEOPLE)[:4])
    async with room(tmp_path) as client:
        plan_hash = hash_in(await page(client, f"plans/{KEY}"))
        await send(client, f"plans/{KEY}", {"do": "approve", "hash": plan_hash})
    assert not (tmp_path / "imported").exists()
    with pytest.raises(errors.RefineError, match="only a proved plan"):
        await Plans(tmp_path / "plans.db").put(Agent(None), Idea.load(tmp_path / KEY), "f", _open())


def _open() -> Any:
    from actum.refine import Refined

    return Refined(idea=Idea(context=[]), plan={"type": "plan", "plan": [], "output": None}, notes=())
