"""An agent that learns plans behind its runs (refine.md R2, R24-R30, R35)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, errors, kept, models
from actum.generation.model import ModelRequest
from actum.refine import Plans

from .test_refining import ASK, INPUT, MEANS, PEOPLE, desk, retyped

CONTEXT: list[Any] = [INPUT, ASK]
OBJECT = {"type": "object"}


class Model(models.Scripted):
    """A model that retypes what it was shown, whoever is asked about."""

    def __init__(self) -> None:
        super().__init__([self.answer], name="m", repeat_last=True)

    def answer(self, request: ModelRequest) -> Any:
        prompt = " ".join(message["content"] for message in request.messages)
        email = next(customer for customer in PEOPLE if customer in prompt)
        done = ("mean" in prompt) + (f'"id":"{PEOPLE[email]["id"]}"' in prompt.replace(": ", ":"))
        return retyped(email)[done]


def agent_with(model: Any, place: Path, tools: Tools | None = None, **more: Any) -> Agent:
    return Agent(model, tools=tools or desk(), plans=Plans(place, **more))


@pytest.mark.rule("R2")
async def test_after_three_inputs_a_fourth_needs_no_request(tmp_path: Path) -> None:
    model = Model()
    agent = agent_with(model, tmp_path / "plans.db")
    for email in tuple(PEOPLE)[:3]:
        result = await agent.run(CONTEXT, OBJECT, input={"email": email})
        assert result.plan is None
    before = len(model.requests)
    hit = await agent.run(CONTEXT, OBJECT, input={"email": "flo@x.com"})
    assert hit.output == {"note": "For flo@x.com, in Kyiv", "mean": 7.25}
    assert hit.plan is not None
    assert (hit.plan.how, len(model.requests)) == ("hit", before)
    other = await agent.run([INPUT, f"{ASK} Quickly."], OBJECT, input={"email": "flo@x.com"})
    assert other.plan is None  # another family


@pytest.mark.rule("R26")
async def test_a_plan_that_is_left_becomes_an_ordinary_run_and_rests_after_two(tmp_path: Path) -> None:
    model, place = Model(), tmp_path / "plans.db"
    agent = agent_with(model, place)
    for email in tuple(PEOPLE)[:3]:
        await agent.run(CONTEXT, OBJECT, input={"email": email})
    agent.tools = desk()
    calls = 0

    @agent.tools.tool(effects="none", name="weather", replace=True)
    def weather(city: str, days: int) -> dict[str, float]:
        """The weather to come."""
        nonlocal calls
        calls += 1
        if calls % 2:
            raise OSError("away")
        return {"mean": 1.5, "days": days}

    left = await agent.run(CONTEXT, OBJECT, input={"email": "di@x.com"})
    assert left.plan is not None
    assert (left.plan.how, left.plan.at) == ("left", "0.1")
    assert left.output["mean"] is not None
    await agent.run(CONTEXT, OBJECT, input={"email": "ed@x.com"})
    assert [plan.state for plan in Plans(place).list()] == ["resting"]


@pytest.mark.rule("R35")
async def test_a_tool_that_has_changed_ends_the_use_of_a_plan(tmp_path: Path) -> None:
    agent = agent_with(Model(), tmp_path / "plans.db")
    for email in tuple(PEOPLE)[:3]:
        await agent.run(CONTEXT, OBJECT, input={"email": email})

    @agent.tools.tool(effects="none", name="weather", replace=True)
    def weather(city: str, days: int, unit: str = "C") -> dict[str, float]:
        """The weather to come."""
        return {"mean": 2.5, "days": days}

    assert (await agent.run(CONTEXT, OBJECT, input={"email": "di@x.com"})).plan is None


@pytest.mark.rule("R29")
async def test_a_plan_with_effects_waits_for_a_person_and_tenants_do_not_meet(tmp_path: Path) -> None:
    tools, place = desk(), tmp_path / "plans.db"

    def answer(request: ModelRequest) -> Any:
        prompt = " ".join(message["content"] for message in request.messages)
        email = next(customer for customer in PEOPLE if customer in prompt)
        person = PEOPLE[email]
        if person["id"] not in prompt:
            return {"calls": [{"_tool": "find_customer", "email": email}], "output": None}
        return {"calls": [{"_tool": "remind", "id": person["id"], "note": "Come"}], "output": {"sent": "†calls.0"}}

    model = models.Scripted([answer], name="m", repeat_last=True)
    agent = agent_with(model, place, tools)
    ask: list[Any] = [INPUT, "Remind the customer: Come"]
    for email in tuple(PEOPLE)[:5]:
        assert (await agent.run(ask, OBJECT, input={"email": email})).plan is None
    (proposed,) = Plans(place).list()
    assert (proposed.state, proposed.effects) == ("proposed", ("remind",))
    assert (await agent.run(ask, OBJECT, input={"email": "flo@x.com"})).plan is None
    with pytest.raises(errors.RefineError, match="there is no plan"):
        Plans(place).of("acme").approve(proposed.hash)
    (proposed,) = Plans(place).list()
    Plans(place).approve(proposed.hash)
    hit = await agent.run(ask, OBJECT, input={"email": "flo@x.com"})
    assert hit.plan is not None
    assert hit.output == {"sent": "sent to c-6"}
    assert Plans(place).of("acme").list() == []


async def learnt(place: Path, model: Any, **more: Any) -> Agent[Any]:
    agent = agent_with(model, place, **more)
    for email in tuple(PEOPLE)[:3]:
        await agent.run(CONTEXT, OBJECT, input={"email": email})
    return agent


@pytest.mark.rule("R24")
async def test_a_stream_uses_plans_as_a_run_does(tmp_path: Path) -> None:
    model = Model()
    agent = await learnt(tmp_path / "plans.db", model)
    before = len(model.requests)
    async with agent.stream(CONTEXT, OBJECT, input={"email": "flo@x.com"}) as stream:
        events = [type(event).__name__ async for event in stream]
    assert events[-1] == "RunFinished"
    assert stream.result.output == {"note": "For flo@x.com, in Kyiv", "mean": 7.25}
    assert stream.result.plan is not None
    assert (stream.result.plan.how, len(model.requests)) == ("hit", before)
    async with agent.stream([INPUT, f"{ASK} Quickly."], OBJECT, input={"email": "flo@x.com"}) as other:
        _ = [event async for event in other]
    assert other.result.plan is None


@pytest.mark.rule("R26")
async def test_a_plan_that_answers_otherwise_than_the_model_rests(tmp_path: Path) -> None:
    place, model = tmp_path / "plans.db", Model()
    agent = await learnt(place, model, audit=1)
    before = len(model.requests)
    assert (await agent.run(CONTEXT, OBJECT, input={"email": "di@x.com"})).plan is not None
    assert len(model.requests) == before + 3  # the model was asked as well, and agreed
    assert [plan.state for plan in Plans(place).list()] == ["used"]
    agent.model = models.Scripted([{"calls": [], "output": {"note": "Nobody knows", "mean": 0}}], name="m")
    hit = await agent.run(CONTEXT, OBJECT, input={"email": "ed@x.com"})
    assert hit.output["note"] == "For ed@x.com, in Riga"
    assert [plan.state for plan in Plans(place).list()] == ["resting"]


@pytest.mark.rule("R28")
async def test_where_a_model_has_answered_in_another_way_a_plan_is_only_proposed(tmp_path: Path) -> None:
    place = tmp_path / "plans.db"
    odd = agent_with(models.Scripted([{"calls": [], "output": {"note": "I know", "mean": 1}}], name="m"), place)
    await odd.run(CONTEXT, OBJECT, input={"email": "flo@x.com"})
    await learnt(place, Model())
    assert [plan.state for plan in Plans(place).list()] == ["proposed"]


async def left_after_an_effect(place: Path, after_effects: Any) -> tuple[Agent, list[str]]:
    """An agent whose plan reminds and then notes, and is left between: the second tool fails once."""
    tools, log = Tools(), list[str]()

    @tools.tool(effects="ordered")
    def remind(id: str) -> str:
        """Send a reminder."""
        log.append(f"remind {id}")
        return f"reminded {id}"

    @tools.tool(effects="ordered")
    def note(id: str) -> str:
        """Write it down."""
        log.append(f"note {id}")
        if log.count(f"note {id}") == 1 and id == "late":
            raise OSError("away")
        return f"noted {id}"

    def answer(request: ModelRequest) -> Any:
        prompt = " ".join(message["content"] for message in request.messages)
        name = next(candidate for candidate in ("a1", "b2", "c3", "d4", "e5", "late") if f'"{candidate}"' in prompt)
        calls = [{"_tool": "remind", "id": name}, {"_tool": "note", "id": name}]
        return {"calls": calls, "output": ["†calls.0", "†calls.1"]}

    model = models.Scripted([answer], name="m", repeat_last=True)
    agent = Agent(model, tools=tools, plans=Plans(place, after_effects=after_effects, audit=0))
    for name in ("a1", "b2", "c3", "d4", "e5"):
        await agent.run(EFFECTS, input={"who": name})
    Plans(place).approve(Plans(place).list()[0].hash)
    log.clear()
    return agent, log


EFFECTS: list[Any] = [
    {"type": "input", "schema": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}},
    "Remind and note.",
]


@pytest.mark.rule("R25")
async def test_after_an_effect_no_model_is_asked(tmp_path: Path) -> None:
    agent, log = await left_after_an_effect(tmp_path / "plans.db", "stop")
    with pytest.raises(errors.PlanFailed) as raised:
        await agent.run(EFFECTS, input={"who": "late"})
    assert log == ["remind late", "note late"]
    assert raised.value.result is not None
    assert [(call.tool, call.state) for call in raised.value.result.calls] == [("remind", "done"), ("note", "failed")]


@pytest.mark.rule("R25")
async def test_a_model_may_go_on_after_an_effect_and_nothing_is_done_twice(tmp_path: Path) -> None:
    agent, log = await left_after_an_effect(tmp_path / "plans.db", "continue")
    result = await agent.run(EFFECTS, input={"who": "late"})
    assert result.output == ["reminded late", "noted late"]
    assert log == ["remind late", "note late", "note late"]
    assert result.plan is not None
    assert result.plan.how == "left"
    again = await agent.run(EFFECTS, input={"who": "late"})  # another request is another reminder
    assert again.output == result.output
    assert log[3:] == ["remind late", "note late"]


@pytest.mark.rule("R26")
async def test_what_is_left_before_an_effect_is_an_example_of_what_the_plan_did_not_know(tmp_path: Path) -> None:
    place = tmp_path / "plans.db"
    agent, log = await left_after_an_effect(place, "stop")
    name = "a1" * 11  # far longer than any that was seen
    model = models.Scripted(
        [{"calls": [{"_tool": tool, "id": name} for tool in ("remind", "note")], "output": ["†calls.0", "†calls.1"]}],
        name="m",
    )
    agent.model = model
    left = await agent.run(EFFECTS, input={"who": name})
    assert left.plan is not None
    assert (left.plan.how, log) == ("left", [f"remind {name}", f"note {name}"])
    (derived,) = Plans(place).list()
    assert derived.state == "proposed"  # another hash: it expects longer names
    assert derived.hash != left.plan.hash
    assert len(Plans(place).examples(derived.family)) == 6


@pytest.mark.rule("R35")
@pytest.mark.parametrize(("pins", "is_stale"), [("interface", False), ("code", True)])
async def test_a_tool_whose_code_has_changed_ends_a_plan_where_that_is_pinned(
    tmp_path: Path, pins: Any, is_stale: bool
) -> None:
    agent = await learnt(tmp_path / "plans.db", Model(), pins=pins, audit=0)

    @agent.tools.tool(effects="none", name="weather", replace=True)
    def weather(city: str, days: int) -> dict[str, float]:
        """The weather to come."""
        return {"mean": float(len(city)), "days": days}

    result = await agent.run(CONTEXT, OBJECT, input={"email": "di@x.com"})
    assert (result.plan is None) is is_stale


@pytest.mark.rule("R35")
async def test_a_delegate_that_has_changed_ends_a_plan(tmp_path: Path) -> None:
    greeter = tmp_path / "greet.json"
    Idea(context=["Greet."], schema={"type": "string"}).save(greeter)
    schema: Any = {"type": "object", "properties": {"email": {"type": "string"}, "_delegate": {"const": "greet.json"}}}
    greet: Any = {"type": "tool", "tool": {"greet": {**schema, "required": ["email"]}}}
    context: list[Any] = [INPUT, greet, "Greet the customer."]

    def answer(request: ModelRequest) -> Any:
        email = next(
            customer for customer in PEOPLE if any(customer in message["content"] for message in request.messages)
        )
        if not any("Greet the customer" in message["content"] for message in request.messages):
            return {"calls": [], "output": f"Hello {email}"}
        return {"calls": [{"_tool": "greet", "email": email}], "output": "†calls.0"}

    place, model = tmp_path / "plans.db", models.Scripted([answer], name="m", repeat_last=True)
    agent = Agent(model, tools=Tools(), plans=Plans(place, audit=0, learns="proposals"), roots=[tmp_path])
    for email in tuple(PEOPLE)[:5]:
        await agent.run(context, {"type": "string"}, input={"email": email})
    (known,) = Plans(place).list()
    Plans(place).approve(known.hash)
    assert (await agent.run(context, {"type": "string"}, input={"email": "flo@x.com"})).plan is not None
    Idea(context=["Greet them warmly."], schema={"type": "string"}).save(greeter)
    assert (await agent.run(context, {"type": "string"}, input={"email": "flo@x.com"})).plan is None


@pytest.mark.rule("R27")
async def test_a_plan_of_a_tool_that_has_changed_has_another_hash(tmp_path: Path) -> None:
    agent = await learnt(tmp_path / "plans.db", Model(), audit=0)
    (before,) = Plans(tmp_path / "plans.db").list()

    @agent.tools.tool(effects="none", name="weather", replace=True)
    def weather(city: str, days: int, unit: str = "C") -> dict[str, float]:
        """The weather to come."""
        return {"mean": MEANS[city], "days": days}

    assert (await agent.run(CONTEXT, OBJECT, input={"email": "di@x.com"})).plan is None
    (after,) = Plans(tmp_path / "plans.db").list()
    assert after.plan == before.plan
    assert after.hash != before.hash


class Gate:
    """A gate that lets everything in, and notes what asked for it."""

    def __init__(self) -> None:
        self.entered: list[str] = []

    async def enter(self, model: str, tokens: int) -> None:
        self.entered.append(model)

    async def refused(self, model: str, retry_after: float | None) -> None:
        raise AssertionError

    async def left(self, model: str, tokens: int, used: int | None) -> None:
        pass


class Record:
    """A record of a run whose requests pass a gate."""

    lease = 1

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def __call__(self, entry: Any) -> None:
        pass

    async def settled(self) -> None:
        pass


@pytest.mark.rule("R26")
async def test_the_requests_of_an_audit_pass_the_gate_of_the_run(tmp_path: Path) -> None:
    agent, gate = await learnt(tmp_path / "plans.db", Model(), audit=1), Gate()
    async with agent.stream(CONTEXT, OBJECT, input={"email": "di@x.com"}, record=Record(gate)) as stream:
        _ = [event async for event in stream]
    assert stream.result.plan is not None
    assert (stream.result.plan.how, gate.entered) == ("hit", ["m"] * 3)


async def runs_by_caller(folder: Path, emails: Mapping[str, Sequence[str]]) -> dict[str, list[Path]]:
    """Kept runs of callers, none of which has plans."""
    runs: dict[str, list[Path]] = {}
    for caller, addresses in emails.items():
        for email in addresses:
            runs.setdefault(caller, []).append(folder / f"{email}.json")
            plain = Agent(Model(), tools=desk())
            await kept.start(runs[caller][-1], DESK, plain, input={"email": email})
    return runs


DESK = Idea(context=CONTEXT, schema=OBJECT)


@pytest.mark.rule("R29")
async def test_a_person_shares_a_plan_of_three_callers(tmp_path: Path) -> None:
    place, model = tmp_path / "plans.db", Model()
    first, second, third, fourth = tuple(PEOPLE)[:4]
    runs = await runs_by_caller(tmp_path, {"a": [first, fourth], "b": [second], "c": [third]})
    plans, agent = Plans(place), agent_with(model, place)
    with pytest.raises(errors.RefineError, match="2 callers") as raised:
        await plans.share(agent, DESK, {"a": runs["a"], "b": runs["b"]}, ["d"])
    assert raised.value.code == "too_few"
    shared = await plans.share(agent, DESK, runs, ["b", "d"])
    assert [plan.hash for plan in plans.of("d").list()] == [plan.hash for plan in plans.of("b").list()] == [shared]
    assert plans.list() == plans.of("a").list() == []
    text = str(plans.of("d").list()[0].plan)
    assert not any(value in text for email in PEOPLE for value in (email, *PEOPLE[email].values()))
    assert plans.of("d").examples(plans.of("d").list()[0].family) == []  # no run of another crosses
    agent.plans = plans.of("d")
    hit = await agent.run(CONTEXT, OBJECT, input={"email": "flo@x.com"})
    assert hit.plan is not None
    assert (hit.plan.how, len(model.requests)) == ("hit", 0)


@pytest.mark.rule("R29")
async def test_what_nobody_has_explained_is_not_shared(tmp_path: Path) -> None:
    place = tmp_path / "plans.db"
    agent = agent_with(models.Scripted([{"calls": [], "output": {"note": "Ask Ana", "mean": 4}}], name="m"), place)
    runs: dict[str, list[Path]] = {}
    for caller, email in zip("abc", PEOPLE, strict=False):
        runs[caller] = [tmp_path / f"{caller}.json"]
        plain = Agent(models.Scripted([{"calls": [], "output": {"note": "Ask Ana", "mean": 4}}]), tools=desk())
        await kept.start(runs[caller][0], DESK, lambda _, plain=plain: plain, input={"email": email})
    with pytest.raises(errors.RefineError, match=r"output\.note"):
        await Plans(place).share(agent, DESK, runs, ["d"])
    assert Plans(place).of("d").list() == []


@pytest.mark.rule("R25")
@pytest.mark.parametrize("is_planned", [False, True])
async def test_plans_that_can_not_be_kept_lose_nothing_of_a_run(tmp_path: Path, is_planned: bool) -> None:
    """Else its caller would have it carried out once more, with its effects."""
    place = tmp_path / "plans.db"
    agent, log = await left_after_an_effect(place, "stop")

    @agent.tools.tool(effects="ordered", name="note", replace=True)
    def note(id: str) -> str:
        """Write it down."""
        place.write_bytes(b"no database")
        return f"noted {id}"

    context = EFFECTS if is_planned else [*EFFECTS, "At once."]
    result = await agent.run(context, input={"who": "late"})
    assert result.output == ["reminded late", "noted late"]
    assert log == ["remind late"]
    assert (result.plan is not None) is is_planned
