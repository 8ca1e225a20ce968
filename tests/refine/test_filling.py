"""What no term gives and no text holds, a model is asked for, where it has agreed with all examples (R18, R19)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, errors, kept, models
from actum.generation.model import ModelRequest
from actum.refine import Refined, refine

INPUT: Any = {
    "type": "input",
    "schema": {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]},
}
ASK = "Is the customer glad or cross?"
SAID = {f"{word} {number}": mood for mood, words in {
    "glad": ("lovely", "splendid", "thanks", "great", "super"),
    "cross": ("broken", "late", "awful", "wrong", "never"),
}.items() for number, word in enumerate(words)}  # fmt: skip
MOOD: Any = {"enum": ["glad", "cross"]}
JUDGE: Any = {
    "type": "tool",
    "tool": {
        "judge": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "_output": MOOD},
            "required": ["text"],
        }
    },
}
OUTPUT: Any = {"type": "object", "properties": {"mood": MOOD, "queue": {"type": "string"}}, "required": ["mood"]}


def office() -> Tools:
    tools = Tools()

    @tools.tool(effects="none")
    def look(said: str) -> dict[str, str]:
        """Look."""
        return {"seen": said.upper()}

    @tools.tool
    def send(to: str) -> str:
        """Send it."""
        return "sent"

    return tools


class Filler(models.Scripted):
    """A model that is asked by a plan; `wrong` are the texts that it judges otherwise than the runs did."""

    def __init__(self, wrong: int = 0) -> None:
        super().__init__([self.answer], name="m", repeat_last=True)
        self.wrong = [*SAID][:wrong]

    def answer(self, request: ModelRequest) -> Any:
        prompt = " ".join(message["content"] for message in request.messages)
        text = next(candidate for candidate in (*SAID, "quick 7") if candidate in prompt)
        mood = SAID.get(text, "glad") if text not in self.wrong else "neither"
        mood = {"neither": "cross" if SAID.get(text) == "glad" else "glad"}.get(mood, mood)
        if "Answer the question `ask`" not in prompt:
            return {"calls": [], "output": mood}
        key = next(name for name in ("mood", "note", "to") if f"{name}, for" in prompt)
        return {"calls": [], "output": {key: mood if key != "note" else f"{text} it is"}}


async def refined(
    folder: Path, idea: Idea, answers: Callable[[str, str], list[Any]], most: int = 10, **more: Any
) -> Refined:
    runs: list[Path] = []
    for number, (text, mood) in enumerate(list(SAID.items())[:most]):
        runs.append(folder / f"{number}.json")
        agent = Agent(models.Scripted(answers(text, mood)), tools=office())
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"said": text})
    return await refine(runs, idea=idea, tools=office(), **more)


def judging(text: str, mood: str) -> list[Any]:
    return [{"calls": [{"_tool": "judge", "text": text, "_output": mood}], "output": {"mood": "†calls.0"}}]


def saying(text: str, mood: str) -> list[Any]:
    return [{"calls": [{"_tool": "look", "said": text}], "output": None}, {"calls": [], "output": {"mood": mood}}]


LATENT = Idea(context=[INPUT, JUDGE, ASK], schema=OUTPUT)
PLAIN = Idea(context=[INPUT, ASK], schema=OUTPUT)


@pytest.mark.rule("R18")
async def test_what_models_carried_out_themselves_is_asked_of_one_alone(tmp_path: Path) -> None:
    closed = await refined(tmp_path, LATENT, judging)
    assert [(question.leaf, closed.asks) for question in closed.questions] == [("0", 1)]
    (tmp_path / "filled").mkdir()
    filler = Filler()
    filled = await refined(tmp_path / "filled", LATENT, judging, fill=filler)
    assert not filled.questions
    assert (filled.proof.asked, filled.proof.agreed, filled.proof.right) == (10, 10, 10)
    assert len(filler.requests) == 10
    filled.save(tmp_path / "plan.json")
    plan, model = Idea.load(tmp_path / "plan.json"), Filler()
    result = await plan.run(Agent(model, tools=office()), input={"said": "quick 7"})
    assert (result.output, len(model.requests)) == ({"mood": "glad"}, 1)
    assert sum(len(message["content"]) for message in model.requests[0].messages) < 500


@pytest.mark.rule("R18")
async def test_one_that_disagrees_once_is_not_proved(tmp_path: Path) -> None:
    filled = await refined(tmp_path, LATENT, judging, fill=Filler(wrong=1))
    assert (filled.proof.asked, filled.proof.agreed, filled.proof.holds) == (10, 9, False)
    with pytest.raises(errors.RefineError, match="isn't proved") as raised:
        filled.save(tmp_path / "plan.json")
    assert raised.value.code == "not_proved"


@pytest.mark.rule("R18")
async def test_below_ten_examples_nothing_is_filled(tmp_path: Path) -> None:
    with pytest.raises(errors.RefineError, match="10 at least") as raised:
        await refined(tmp_path, LATENT, judging, most=9, fill=Filler())
    assert raised.value.code == "too_few"


@pytest.mark.rule("R18")
async def test_a_judged_value_of_the_output_is_said_of_all_that_was_known(tmp_path: Path) -> None:
    filled = await refined(tmp_path, PLAIN, saying, fill=Filler())
    look, read = (step for step in filled.plan["plan"] if "_tool" in step)
    assert (look["_tool"], read["of"]) == ("look", {"said": "†input.said", "look": "†calls.0"})
    assert read["ask"].startswith(ASK)
    assert read["as"]["properties"]["mood"] == MOOD
    assert (filled.plan["output"], filled.proof.agreed, filled.asks) == ({"mood": "†calls.1.mood"}, 10, 1)


@pytest.mark.rule("R18", "R20")
async def test_prose_is_filled_where_a_person_says_that_it_may_differ(tmp_path: Path) -> None:
    idea = Idea(context=[INPUT, "Say something kind."], schema={"type": "object"})

    def kind(text: str, mood: str) -> list[Any]:
        thanks = "Thank you very much" if mood == "glad" else "We are so sorry"
        return [{"calls": [], "output": {"note": thanks + "!" * len(text)}}]

    strict = await refined(tmp_path, idea, kind, fill=Filler())
    assert (strict.proof.right, strict.proof.agreed, strict.proof.holds) == (10, 0, False)
    (tmp_path / "free").mkdir()
    free = await refined(tmp_path / "free", idea, kind, fill=Filler(), same={"output.note": "any"})
    assert (free.proof.agreed, free.proof.holds) == (10, True)


@pytest.mark.rule("R19")
@pytest.mark.parametrize("is_latent", [True, False])
async def test_what_a_model_says_feeds_no_effect_unless_a_person_confirmed_it(tmp_path: Path, is_latent: bool) -> None:
    def sending(text: str, mood: str) -> list[Any]:
        judge = {"_tool": "judge", "text": text, "_output": mood}
        send = {"_tool": "send", "to": "†calls.0" if is_latent else mood}
        return [{"calls": [judge, send] if is_latent else [send], "output": {"mood": mood}}]

    declared = {"type": "object", "properties": {"to": {"type": "string", **MOOD}}, "required": ["to"]}
    idea = (
        LATENT if is_latent else Idea(context=[INPUT, {"type": "tool", "tool": {"send": declared}}, ASK], schema=OUTPUT)
    )
    leaf = "1.to" if is_latent else "0.to"
    with pytest.raises(errors.RefineError, match=f"--confirm {leaf}") as raised:
        await refined(tmp_path, idea, sending, fill=Filler())
    assert (raised.value.code, raised.value.path) == ("hole_with_effects", leaf)
    (tmp_path / "confirmed").mkdir()
    filled = await refined(tmp_path / "confirmed", idea, sending, fill=Filler(), confirm=[leaf])
    assert (list(filled.effects), filled.proof.agreed) == (["send"], 10)


async def test_what_is_secret_is_shown_to_nobody_who_judges(tmp_path: Path) -> None:
    schema = {"said": {"type": "string"}, "pin": {"type": "string", "writeOnly": True}}
    input_message = {"type": "input", "schema": {"type": "object", "properties": schema, "required": ["said"]}}
    idea, filler = Idea(context=[input_message, ASK], schema=OUTPUT), Filler()
    runs: list[Path] = []
    for number, (text, mood) in enumerate(SAID.items()):
        runs.append(tmp_path / f"{number}.json")
        agent = Agent(models.Scripted(saying(text, mood)), tools=office())
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"said": text, "pin": f"pin-{number}-x"})
    filled = await refine(runs, idea=idea, tools=office(), fill=filler)
    assert filled.proof.agreed == 10
    assert "pin" not in json.dumps([call["of"] for call in filled.plan["plan"] if "of" in call])
    assert not any("pin-" in message["content"] for request in filler.requests for message in request.messages)
