"""What nothing known explains is read out of a text, by one small request (refine.md R18, R19)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Plans, Tools, kept, models
from actum.generation.model import ModelRequest
from actum.refine import Refined, as_python, refine

INPUT: Any = {
    "type": "input",
    "schema": {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]},
}
ASK = "Answer the question about the weather."
IDEA = Idea(context=[INPUT, ASK], schema={"type": "string"})
ASKED = {
    "How warm is it in Lisbon over the next 3 days?": ("Lisbon", 3),
    "I travel to Oslo for 5 days, what will it be like?": ("Oslo", 5),
    "2 days in Rome: do I need a coat?": ("Rome", 2),
    "Bern, please, and for 4 days.": ("Bern", 4),
}
NEW = "We are in Riga for 6 days, and it rains."


def tools() -> Tools:
    offered = Tools()

    @offered.tool(effects="none")
    def weather(city: str, days: int) -> str:
        """The weather to come."""
        return f"mild in {city} for {days} days"

    return offered


class Model(models.Scripted):
    """A model that understands the question; asked by the reader, it reads `read`."""

    def __init__(self, read: Any = None) -> None:
        super().__init__([self.answer], name="m", repeat_last=True)
        self.read = read
        self.readings = 0

    def answer(self, request: ModelRequest) -> Any:
        prompt = " ".join(message["content"] for message in request.messages)
        known = {**ASKED, NEW: ("Riga", 6)}
        city, days = next(read for text, read in known.items() if text in prompt)
        if "Answer the question `ask`" in prompt:
            self.readings += 1
            return {"calls": [], "output": self.read or {"city": city, "days": days}}
        if "mild in" in prompt:
            return {"calls": [], "output": f"It will be mild in {city} for {days} days"}
        return {"calls": [{"_tool": "weather", "city": city, "days": days}], "output": None}


async def refined(folder: Path, **more: Any) -> Refined:
    runs: list[Path] = []
    for number, text in enumerate(ASKED):
        runs.append(folder / f"run-{number}.json")
        await kept.start(runs[-1], IDEA, Agent(Model(), tools=tools()), input={"said": text})
    return await refine(runs, idea=IDEA, tools=tools(), **more)


@pytest.mark.rule("R18")
async def test_what_stands_word_for_word_in_a_text_is_read_there_by_one_request(tmp_path: Path) -> None:
    refined_plan = await refined(tmp_path)
    read, expected, weather, _ = refined_plan.plan["plan"]
    assert (read["_tool"], read["of"]) == ("read", "†input.said")
    assert {name: schema["type"] for name, schema in read["as"]["properties"].items()} == {
        "city": "string",
        "days": "integer",
    }
    assert expected == {"_expect": "{†calls.0.city in †input.said and str(†calls.0.days) in †input.said}"}
    assert weather == {"_tool": "weather", "city": "†calls.0.city", "days": "†calls.0.days"}
    assert not refined_plan.questions
    assert (refined_plan.proof.same, refined_plan.proof.right, refined_plan.proof.left, refined_plan.proof.wrong) == (
        4,
        4,
        0,
        0,
    )
    assert (refined_plan.requests, refined_plan.asks) == (2.0, 1)
    refined_plan.save(tmp_path / "plan.json")
    plan = Idea.load(tmp_path / "plan.json")
    model = Model()
    result = await plan.run(Agent(model, tools=tools()), input={"said": NEW})
    assert (result.output, len(model.requests), model.readings) == ("It will be mild in Riga for 6 days", 1, 1)


@pytest.mark.rule("R37")
async def test_the_function_has_the_text_read_as_well(tmp_path: Path) -> None:
    refined_plan = await refined(tmp_path)
    written = await as_python(
        refined_plan,
        [tmp_path / f"run-{at}.json" for at in range(4)],
        tmp_path / "outlook.py",
        idea=IDEA,
        tools=tools(),
    )
    assert '@tools.tool(effects="none")\nasync def outlook(said: str) -> str:' in written.function
    assert (
        '    read = await tools(\n        {\n            "_tool": "read",\n            "of": said,' in written.function
    )
    assert '    expect(read["city"] in said)\n' in written.function
    assert written.tests == ""  # what a model reads is on no record
    namespace: dict[str, Any] = {"__name__": "outlook"}
    exec(compile(written.function, "outlook.py", "exec"), namespace)
    offered, model = tools(), Model()
    offered.tool(namespace["outlook"])
    plan: Any = {"type": "plan", "plan": [{"_tool": "outlook", "said": NEW}], "output": "†calls.0"}
    result = await Agent(model, tools=offered).run([plan], {"type": "string"})
    assert (result.output, len(model.requests), model.readings) == ("It will be mild in Riga for 6 days", 1, 1)


async def learnt(place: Path, **more: Any) -> Agent:
    agent = Agent(Model(), tools=tools(), plans=Plans(place, audit=0, **more))
    for text in ASKED:
        await agent.run(IDEA.context, IDEA.schema, input={"said": text})
    return agent


@pytest.mark.rule("R19")
async def test_a_near_miss_takes_one_small_request(tmp_path: Path) -> None:
    agent = await learnt(tmp_path / "plans.db")
    agent.model = model = Model()
    result = await agent.run(IDEA.context, IDEA.schema, input={"said": NEW})
    assert result.output == "It will be mild in Riga for 6 days"
    assert result.plan is not None
    assert (result.plan.how, len(model.requests), model.readings) == ("filled", 1, 1)
    small = sum(len(message["content"]) for message in model.requests[0].messages)
    (plan,) = Plans(tmp_path / "plans.db").list()
    assert (plan.hits, plan.filled, plan.left) == (2, 2, 0)
    agent.plans = Plans(tmp_path / "plans.db", requests=0)
    assert (await agent.run(IDEA.context, IDEA.schema, input={"said": NEW})).plan is None
    assert small < 1_000


@pytest.mark.rule("R18")
async def test_what_a_reader_makes_up_leaves_the_plan(tmp_path: Path) -> None:
    agent = await learnt(tmp_path / "plans.db")
    for read in ({"city": "Paris", "days": 6}, {"city": "Riga", "days": None}):
        agent.model = Model(read)
        result = await agent.run(IDEA.context, IDEA.schema, input={"said": NEW})
        assert result.output == "It will be mild in Riga for 6 days"
        assert result.plan is not None
        assert result.plan.how == "left"


@pytest.mark.rule("R18")
async def test_a_tool_of_that_name_is_no_reader(tmp_path: Path) -> None:
    def with_a_tool_named_read() -> Tools:
        offered = tools()

        @offered.tool(effects="none")
        def read(of: str) -> str:
            """Read a page."""
            return of

        return offered

    runs: list[Path] = []
    for number, text in enumerate(ASKED):
        runs.append(tmp_path / f"run-{number}.json")
        await kept.start(runs[-1], IDEA, Agent(Model(), tools=with_a_tool_named_read()), input={"said": text})
    refined_plan = await refine(runs, idea=IDEA, tools=with_a_tool_named_read())
    assert [question.leaf for question in refined_plan.questions] == ["0.city", "0.days"]


@pytest.mark.rule("R18", "R23")
@pytest.mark.parametrize("is_guarded", [True, False])
async def test_what_is_read_feeds_no_parameter_that_takes_nothing_derived(tmp_path: Path, is_guarded: bool) -> None:
    """What others write in a text may choose the word that is read: where that matters, the tool says so."""
    guarded: Any = {"type": "string"} | ({"_derived": False} if is_guarded else {})
    schema: Any = {"type": "object", "properties": {"to": guarded}, "required": ["to"]}

    def paid(to: str) -> str:
        return f"paid {to}"

    def office() -> Tools:
        offered = Tools()
        offered.register("pay", schema)
        offered.activity("pay", paid)
        return offered

    idea = Idea(context=[INPUT, "Pay him."], schema={"type": "string"})
    texts = {"Pay Ana at once": "Ana", "Give Bo his money": "Bo", "Cy is to be paid": "Cy", "Now it is Di": "Di"}
    texts["Ed has waited long"] = "Ed"
    runs: list[Path] = []
    for text, name in texts.items():
        runs.append(tmp_path / f"{name}.json")
        agent = Agent(models.Scripted([{"calls": [{"_tool": "pay", "to": name}], "output": "Done"}]), tools=office())
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"said": text})
    refined_plan = await refine(runs, idea=idea, tools=office(), confirm=["output"])
    steps = [step.get("_tool") or next(iter(step)) for step in refined_plan.plan["plan"]]
    assert steps == ["read", "_expect", "_expect", "_then", "pay"]
    assert list(refined_plan.effects) == ["pay"]
    assert refined_plan.proof.holds is not is_guarded
