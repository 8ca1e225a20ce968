"""Rules of refining that no other file tests by themselves (refine.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest

from actum import Agent, Config, Idea, Plans, Tools, errors
from actum.refine import Refined, as_python, refine
from actum.refine.author import Author
from actum.refine.explanation import Leaf
from actum.refine.holes import Holes
from actum.refine.terms import KnownValue, Term, Terms, known_within, value_key

from .test_refining import INPUT, PEOPLE, desk, desk_idea, keep, refine_kept

LANG = {
    "type": "input",
    "schema": {
        "type": "object",
        "properties": {"email": {"type": "string"}, "lang": {"type": "string"}},
        "required": ["email"],
    },
}


def new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def greeted(folder: Path, langs: str, **more: Any) -> Refined:
    """Runs that greet in the language that the input names, refined."""
    tools = Tools()

    @tools.tool(effects="none")
    def greet(email: str, lang: str) -> str:
        """A greeting."""
        return f"{lang} {email}"

    context: list[Any] = [LANG, "Greet the customer."]
    runs: list[Path] = []
    for email, lang in zip(PEOPLE, langs.split(), strict=False):
        answers: list[Any] = [{"calls": [{"_tool": "greet", "email": email, "lang": lang}], "output": "†calls.0"}]
        given = Idea(context=[*context, {"type": "input", "input": {"lang": lang}}], schema={"type": "string"})
        runs.append(await keep(folder, given, email, answers, tools))
    return await refine(runs, idea=Idea(context=context, schema={"type": "string"}), tools=tools, **more)


@pytest.mark.rule("R11")
async def test_what_never_varied_refers_to_nothing_unless_a_person_says_so(tmp_path: Path) -> None:
    def lang(refined: Refined) -> Any:
        return next(call["lang"] for call in refined.plan["plan"] if "_tool" in call)

    varied = await greeted(new_folder(tmp_path / "varied"), "en fr en de")
    assert (lang(varied), varied.questions) == ("†input.lang", [])
    same = await greeted(new_folder(tmp_path / "same"), "en en en en")
    assert [(question.leaf, question.value) for question in same.questions] == [("0.lang", "en")]
    settled = await greeted(new_folder(tmp_path / "settled"), "en en en en", confirm={"0.lang": "†input.lang"})
    assert (lang(settled), settled.questions, settled.proof.holds) == ("†input.lang", [], True)


@pytest.mark.rule("R11")
def test_values_of_four_types_are_four_values() -> None:
    assert len({value_key(value) for value in (1, 1.0, "1", True)}) == 4

    def giving(values: list[Any]) -> list[Term]:
        keys = {value_key(values[0])}
        return Terms([KnownValue("input.n", (1, 2, 3))], (), lambda _: False, keys).giving(values, ())

    assert [term.text for term in giving([1, 2, 3])] == ["†input.n"]
    assert giving([1.0, 2.0, 3.0]) == giving(["1", "2", "3"]) == giving([True, 2, 3]) == []


async def reminded(folder: Path, **more: Any) -> Refined:
    """Runs that look a customer up, who is active in all of them, and remind him."""
    tools = Tools()

    @tools.tool(effects="none")
    def find(email: str) -> dict[str, str]:
        """Find a customer."""
        return {"id": PEOPLE[email]["id"], "code": PEOPLE[email]["id"]}

    @tools.tool(effects="none")
    def account(id: str) -> dict[str, str]:
        """The account of a customer."""
        return {"status": "active"}

    @tools.tool
    def remind(id: str) -> str:
        """Remind him."""
        return "done"

    idea = Idea(context=[INPUT, "Remind the customer."], schema={"type": "string"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:5]:
        answers: list[Any] = [
            {"calls": [{"_tool": "find", "email": email}], "output": None},
            {"calls": [{"_tool": "account", "id": PEOPLE[email]["id"]}], "output": None},
            {"calls": [{"_tool": "remind", "id": PEOPLE[email]["id"]}], "output": "†calls.0"},
        ]
        runs.append(await keep(folder, idea, email, answers, tools))
    return await refine(runs, idea=idea, tools=tools, **more)


@pytest.mark.rule("R6")
@pytest.mark.parametrize("is_expected", [True, False])
async def test_what_a_read_showed_in_all_runs_is_a_question_that_a_person_can_answer(
    tmp_path: Path, is_expected: bool
) -> None:
    """The leaf is named by its call, whatever the plan expects before it."""
    unanswered = await reminded(new_folder(tmp_path / "asked"))
    assert [(question.leaf, question.value) for question in unanswered.questions] == [("calls.1.status", "active")]
    refined = await reminded(
        new_folder(tmp_path / "found"), **{"confirm" if is_expected else "ignore": ["calls.1.status"]}
    )
    assert not refined.questions
    assert ("status == 'active'" in json.dumps(refined.plan)) is is_expected


@pytest.mark.rule("R15")
async def test_each_call_of_an_optional_block_expects_that_its_explanations_agree(tmp_path: Path) -> None:
    owes = dict(zip("abcdefg", (250, 40, 101, 7, 600, 99, 180), strict=True))
    tools = Tools()

    @tools.tool(effects="none")
    def debt(email: str) -> dict[str, Any]:
        """What a customer owes."""
        return {
            "owes": owes[email],
            "name": f"{email}-1",
            "alias": f"{email}-1",
            "id": f"{email}2",
            "code": f"{email}2",
        }

    @tools.tool
    def call_up(name: str) -> str:
        """Call a customer."""
        return "called"

    @tools.tool
    def write_to(id: str) -> str:
        """Write to a customer."""
        return "written"

    idea = Idea(context=[INPUT, "Call and write to whoever owes more than 100."], schema={"type": "object"})
    runs: list[Path] = []
    for email, owed in owes.items():
        calls = [{"_tool": "call_up", "name": f"{email}-1"}, {"_tool": "write_to", "id": f"{email}2"}]
        answers: list[Any] = [
            {"calls": [{"_tool": "debt", "email": email}], "output": None},
            {"calls": calls if owed > 100 else [], "output": {"owes": owed}},
        ]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    refined = await refine(runs, idea=idea, tools=tools)
    elements = refined.plan["plan"]
    for tool, agreeing in (("call_up", "name == †calls.0.alias"), ("write_to", "id == †calls.0.code")):
        at = next(at for at, element in enumerate(elements) if element.get("_tool") == tool)
        expected = f"not (†calls.0.owes > 100) or (†calls.0.{agreeing})"
        assert any(expected in str(element.get("_expect")) for element in elements[:at]), elements


class Account(TypedDict):
    """An account, as a tool declares it."""

    is_open: bool
    ended: str | None
    notes: list[str]
    kind: Literal["firm", "person"]
    title: str


@pytest.mark.rule("R1", "R6")
async def test_what_a_read_showed_in_all_runs_is_expected_as_far_as_it_may_be_listed(tmp_path: Path) -> None:
    """A truth, null, an empty list and a declared value; the model may have decided by them. No tool is called."""
    tools, calls = Tools(), 0

    @tools.tool(effects="none")
    def account(email: str) -> Account:
        """The account of a customer."""
        nonlocal calls
        calls += 1
        return {"is_open": True, "ended": None, "notes": [], "kind": "firm", "title": "gold"}

    @tools.tool(effects="none")
    def mood(email: str) -> str:
        """The mood of a customer."""
        nonlocal calls
        calls += 1
        return f"{email} is well"

    idea = Idea(context=[INPUT, "How is the customer?"], schema={"type": "string"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:4]:
        answers: list[Any] = [
            {"calls": [{"_tool": "account", "email": email}], "output": None},
            {"calls": [{"_tool": "mood", "email": email}], "output": "†calls.0"},
        ]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    calls_before, refined = calls, await refine(runs, idea=idea, tools=tools)
    assert (refined.proof.holds, refined.questions, calls) == (True, [], calls_before)
    plan = json.dumps(refined.plan, ensure_ascii=False)
    for condition in ("is_open == True", "ended == None", "notes == []", "kind == 'firm'"):
        assert f"†calls.0.{condition}" in plan
    assert "gold" not in plan


@pytest.mark.rule("R3")
@pytest.mark.parametrize("count", [64, 65])
async def test_a_run_of_more_than_64_calls_is_no_example(tmp_path: Path, count: int) -> None:
    tools = Tools()

    @tools.tool
    def add(email: str) -> str:
        """Add it to the list."""
        return "added"

    idea = Idea(context=[INPUT, "Add the customer very often."], schema={"type": "string"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:5]:
        answers: list[Any] = [{"calls": [{"_tool": "add", "email": email}] * count, "output": email}]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    if count <= 64:
        assert (await refine(runs, idea=idea, tools=tools)).proof.holds
        return
    with pytest.raises(errors.RefineError, match=r"none of the runs is an example \(too_large: 5\)"):
        await refine(runs, idea=idea, tools=tools)


@pytest.mark.rule("R5")
@pytest.mark.parametrize("effects", ["none", "ordered"])
async def test_a_call_that_failed_is_left_out_if_it_only_reads_and_else_ends_the_use_of_its_run(
    tmp_path: Path, effects: Literal["none", "ordered"]
) -> None:
    tools, failed = Tools(), set[str]()

    @tools.tool(effects=effects)
    def look(email: str) -> str:
        """Look it up; each second time it works."""
        if email not in failed:
            failed.add(email)
            raise OSError("away")
        return f"{email} is well"

    idea = Idea(context=[INPUT, "How is the customer?"], schema={"type": "string"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:5]:
        call = {"calls": [{"_tool": "look", "email": email}], "output": None}
        runs.append(await keep(tmp_path, idea, email, [call, call, {"calls": [], "output": f"{email} is well"}], tools))
    if effects == "none":
        refined = await refine(runs, idea=idea, tools=tools)
        assert [call["_tool"] for call in refined.plan["plan"] if "_tool" in call] == ["look"]
        assert refined.proof.holds
        return
    with pytest.raises(errors.RefineError, match=r"none of the runs is an example \(failed_effect: 5\)"):
        await refine(runs, idea=idea, tools=tools)


@pytest.mark.rule("R5")
@pytest.mark.parametrize("written", ["†calls.0.first", "†results.0.first"])
async def test_what_all_examples_referred_to_is_the_only_explanation(tmp_path: Path, written: str) -> None:
    """Where nobody referred to anything, both would have to agree."""
    tools = Tools()

    @tools.tool(effects="none")
    def find(email: str) -> dict[str, str]:
        """Find a customer."""
        return {"first": email[0], "letter": email[0]}

    idea = Idea(context=[INPUT, "Say the letter."], schema={"type": "string"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:4]:
        call: dict[str, Any] = {"calls": [{"_tool": "find", "email": email}], "output": None}
        answers: list[Any] = (
            [call | {"output": written}] if "calls" in written else [call, {"calls": [], "output": written}]
        )
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    refined = await refine(runs, idea=idea, tools=tools)
    assert (refined.plan["output"], refined.proof.holds) == ("†calls.0.first", True)
    assert "letter ==" not in str(refined.plan)
    assert "== †calls.0.letter" not in str(refined.plan)


@pytest.mark.rule("R6")
async def test_equal_reads_with_an_effect_between_are_two(tmp_path: Path) -> None:
    tools, balances = Tools(), {email: number for number, email in enumerate(PEOPLE, 100)}

    @tools.tool(effects="none")
    def balance(email: str) -> int:
        """What a customer has."""
        return balances[email]

    @tools.tool(effects="ordered")
    def pay(email: str) -> str:
        """Pay one."""
        balances[email] -= 1
        return "paid"

    idea = Idea(context=[INPUT, "Pay, and say what is left."], schema={"type": "integer"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:5]:
        calls = [{"_tool": tool, "email": email} for tool in ("balance", "pay", "balance")]
        turns: list[Any] = [{"calls": [call], "output": None} for call in calls]
        runs.append(await keep(tmp_path, idea, email, [*turns, {"calls": [], "output": balances[email] - 1}], tools))
    refined = await refine(runs, idea=idea, tools=tools)
    calls = [at for at, call in enumerate(refined.plan["plan"]) if "_tool" in call]
    assert [refined.plan["plan"][at]["_tool"] for at in calls] == ["balance", "pay", "balance"]
    assert refined.plan["output"] == f"†calls.{calls[-1]}"
    assert refined.proof.holds


ROWS: list[list[dict[str, Any]]] = [
    [{"id": "a", "n": 5}, {"id": "b", "n": 2}, {"id": "c", "n": 2}],
    [{"id": "a", "n": 1}, {"id": "b", "n": 9}],
    [{"id": "b", "n": 4}, {"id": "c", "n": 8}, {"id": "d", "n": 7}, {"id": "e", "n": 7}],
]
SOURCES = [
    KnownValue("input.id", ("a", "b", "c")),
    KnownValue("input.a", (10, 25, 31)),
    *known_within("calls.0", ROWS, 0),
]


@pytest.mark.rule("R9")
@pytest.mark.parametrize(
    ("term", "kind", "values"),
    [
        ("†input.id", 1, ["a", "b", "c"]),
        ("{one(x for x in †calls.0 if x.id == †input.id).n}", 2, [5, 9, 8]),
        ("{len(†calls.0)}", 3, [3, 2, 4]),
        ("{sum([x.n for x in †calls.0])}", 3, [9, 10, 26]),
        ("{min([x.n for x in †calls.0])}", 3, [2, 1, 4]),
        ("{sorted([x.n for x in †calls.0])}", 3, [[2, 2, 5], [1, 9], [4, 7, 7, 8]]),
        ("{unique([x.n for x in †calls.0])}", 3, [[5, 2], [1, 9], [4, 8, 7]]),
        ("{3 * †input.a}", 4, [30, 75, 93]),
        ("{round(†input.a / 3, 1)}", 4, [3.3, 8.3, 10.3]),
    ],
)
def test_a_value_is_explained_by_the_cheapest_class_that_fits(term: str, kind: int, values: list[Any]) -> None:
    terms = Terms(SOURCES, (3,), lambda _: False, {value_key(values[0])}).giving(values, [0])
    assert (terms[0].text, terms[0].kind) == (term, kind)
    assert [other.kind for other in terms] == sorted(other.kind for other in terms)


@pytest.mark.rule("R9", "R10")
def test_a_dearer_class_comes_after_and_a_position_never() -> None:
    values = ["a", "b", "b"]
    sources = [*SOURCES, KnownValue("input.same", ("a", "b", "b"))]
    terms = Terms(sources, (3,), lambda _: False, {value_key("a")}).giving(values, [0])
    assert [term.text for term in terms[:1]] == ["†input.same"]
    assert {term.kind for term in terms[1:]} <= {2, 3, 4}
    firsts = Terms(SOURCES[1:], (), lambda _: False, {value_key(5)}).giving([5, 1, 4], [0])
    assert firsts == []  # that of the first item: chance


@pytest.mark.rule("R9", "R10")
def test_which_text_comes_first_in_the_alphabet_is_chance_and_which_time_is_not() -> None:
    rows = [
        [{"name": name, "day": f"2026-01-{day:02d}", "at": f"{day:02d}:30"} for name, day in row]
        for row in ([("b", 3), ("c", 1)], [("d", 2), ("e", 9)], [("g", 8), ("f", 5)])
    ]
    sources = [*known_within("calls.0", rows, 0)]

    def texts(*values: str) -> list[str]:
        return [term.text for term in Terms(sources, (), lambda _: False, {value_key(values[0])}).giving(values, [0])]

    assert texts("b", "d", "f") == []
    assert texts("2026-01-01", "2026-01-02", "2026-01-05") == ["{min([x.day for x in †calls.0])}"]
    assert texts("03:30", "09:30", "08:30") == ["{max([x.at for x in †calls.0])}"]


@pytest.mark.rule("R12")
@pytest.mark.parametrize(
    ("words", "confirm", "is_open"),
    [("Cancel the order.", [], True), ("Cancel the open order.", [], False), ("Cancel it.", ["1.id"], False)],
)
async def test_a_truth_by_which_an_item_is_chosen_is_a_question_unless_the_author_names_it(
    tmp_path: Path, words: str, confirm: list[str], is_open: bool
) -> None:
    tools, idea = Tools(), Idea(context=[INPUT, words], schema={"type": "string"})

    @tools.tool(effects="none")
    def orders(email: str) -> list[dict[str, Any]]:
        """The orders of a customer."""
        number = ord(email)
        return [{"id": number * 10 + at, "is_open": at == number % 3} for at in range(3)]

    @tools.tool
    def cancel(id: int) -> str:
        """Cancel an order."""
        return "cancelled"

    runs: list[Path] = []
    for email in "abcde":
        answers: list[Any] = [
            {"calls": [{"_tool": "orders", "email": email}], "output": None},
            {"calls": [{"_tool": "cancel", "id": ord(email) * 10 + ord(email) % 3}], "output": "†calls.0"},
        ]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    refined = await refine(runs, idea=idea, tools=tools, confirm=confirm)
    cancelling = next(call for call in refined.plan["plan"] if call.get("_tool") == "cancel")
    assert cancelling["id"] == "{one(x for x in †calls.0 if x.is_open).id}"
    assert [question.leaf for question in refined.questions] == ["1.id"] * is_open
    assert refined.proof.holds, refined.proof.why


@pytest.mark.rule("R16")
@pytest.mark.parametrize("way", [{"_each": ["a"]}, {"_when": "{†input.email != 'x'}"}, {"_else": "nobody"}])
async def test_runs_whose_author_repeated_a_call_or_made_it_optional_are_no_examples(
    tmp_path: Path, way: dict[str, Any]
) -> None:
    tools, idea = Tools(), Idea(context=[INPUT, "Greet."], schema={"type": "string"})

    @tools.tool(effects="none")
    def greet(email: str) -> str:
        """A greeting."""
        return f"Hello {email}"

    runs: list[Path] = []
    for email in tuple(PEOPLE)[:4]:
        answers: list[Any] = [{"calls": [{"_tool": "greet", "email": email, **way}], "output": f"Hello {email}"}]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    with pytest.raises(errors.RefineError, match=r"none of the runs is an example \(other_shape: 4\)"):
        await refine(runs, idea=idea, tools=tools)


@pytest.mark.rule("R16")
async def test_two_optional_calls_under_two_conditions_are_no_plan(tmp_path: Path) -> None:
    tools = Tools()
    owed = {"a": (150, 0), "b": (180, 5), "c": (170, 7), "d": (120, 60), "e": (130, 90), "f": (140, 70)}
    owed |= {"g": (3, 80), "h": (4, 75), "i": (5, 85), "j": (6, 1), "k": (7, 2), "l": (8, 3), "m": (9, 4)}

    @tools.tool(effects="none")
    def debt(email: str) -> dict[str, int]:
        """What a customer owes, and since how many days."""
        return {"owes": owed[email][0], "days": owed[email][1]}

    @tools.tool(effects="none")
    def phone(email: str) -> str:
        """The phone of a customer."""
        return f"phone {email}"

    @tools.tool(effects="none")
    def street(email: str) -> str:
        """The street of a customer."""
        return f"street {email}"

    idea = Idea(
        context=[INPUT, "Phone if it is more than 100, street if more than 50 days."], schema={"type": "string"}
    )
    runs: list[Path] = []
    for email, (owes, days) in owed.items():
        calls = [{"_tool": "phone", "email": email}] if owes > 100 else []
        calls += [{"_tool": "street", "email": email}] if days > 50 else []
        answers: list[Any] = [
            {"calls": [{"_tool": "debt", "email": email}], "output": None},
            {"calls": calls, "output": email},
        ]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    refined = await refine(runs, idea=idea, tools=tools)
    assert [call["_tool"] for call in refined.plan["plan"] if "_tool" in call] == ["debt"]
    assert set(refined.left_out.values()) == {"other_shape"}


@pytest.mark.rule("R18")
@pytest.mark.parametrize(("last", "how"), [("then we go to Bern", "read"), ("nobody knows where to", None)])
def test_a_value_is_read_only_where_the_text_of_every_example_has_it(last: str, how: str | None) -> None:
    text = KnownValue("input.said", ("first we go to Rome", "now we go to Oslo", last))
    holes = Holes(["weather"], [text], Author(words="", tools={}))
    filled = holes.filled(["Rome", "Oslo", "Bern"], Leaf("0.city", (), "weather", 0, ("city",)))
    assert (None if filled is None else filled.how) == how


@pytest.mark.rule("R32")
async def test_a_parameter_that_is_declared_secret_is_never_a_constant(tmp_path: Path) -> None:
    tools = Tools()
    pin = {"type": "string", "format": "password"}
    schema: dict[str, Any] = {"type": "object", "properties": {"email": {"type": "string"}, "pin": pin}}
    tools.register(
        "look", schema | {"properties": schema["properties"] | {"_effects": {"const": "none"}, "_output": {}}}
    )

    @tools.activity("look")
    async def look(email: str, pin: str) -> str:
        return f"{email} is well"

    idea = Idea(context=[INPUT, "How is the customer? The pin is 1234."], schema={"type": "string"})
    runs: list[Path] = []
    for email in tuple(PEOPLE)[:4]:
        call = {"_tool": "look", "email": email, "pin": "1234"}
        runs.append(await keep(tmp_path, idea, email, [{"calls": [call], "output": "†calls.0"}], tools))
    with pytest.raises(errors.RefineError) as raised:
        await refine(runs, idea=idea, tools=tools, confirm=["0.pin"])
    assert raised.value.code == "secret"


@pytest.mark.rule("R32")
@pytest.mark.parametrize(("secret", "is_read"), [("hunter2", False), ("another", True)])
def test_a_text_with_a_secret_is_shown_to_no_reader(secret: str, is_read: bool) -> None:
    text = KnownValue("input.said", tuple(f"my password is hunter2, go to {city}" for city in ("Rome", "Oslo", "Bern")))
    holes = Holes(["weather"], [text], Author(words="", tools={}), {secret}, fills=True)
    filled = holes.filled(["Rome", "Oslo", "Bern"], Leaf("0.city", (), "weather", 0, ("city",)))
    assert (filled is not None) is is_read


@pytest.mark.rule("R2", "R33")
async def test_sealed_requests_are_a_family_of_their_own(tmp_path: Path) -> None:
    plans, idea = Plans(tmp_path / "plans.db"), Idea(context=[INPUT, "Say the city."], schema={"type": "string"})
    sealed = await plans.family(Agent(None, tools=Tools(), config=Config(sealed=True)), idea)
    assert sealed != await plans.family(Agent(None, tools=Tools()), idea)


@pytest.mark.rule("R37")
async def test_a_function_that_does_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refined = await refine_kept(tmp_path)

    def write(_: object) -> str:
        return "async def outlook(email):\n    return {}\n"

    monkeypatch.setattr("actum.refine.python_proof.PythonFunction.source", write)
    with pytest.raises(errors.RefineError, match="the function does something else") as raised:
        await as_python(refined, [], tmp_path / "outlook.py", idea=desk_idea(), tools=desk())
    assert raised.value.code == "not_python"
