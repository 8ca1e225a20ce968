"""The kit that measures what fits into one answer, on a small world: lanes, both loops, both ends, the report."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench.fit import __main__ as command_line
from bench.fit import commands, page
from bench.fit.commands import Bench, carried_out
from bench.fit.corpus import Plan
from bench.fit.exchange import Exchange
from bench.fit.ordinary import Unusable, round_of
from bench.fit.scripting import rounds, scripted
from bench.fit.tasks import Name, chosen, spread
from bench.fit.telling import complaint
from bench.fit.trial import carried_out as task_carried_out

from actum import errors
from actum.models import ModelRequest, Scripted

from . import shop

LAMP = "{one(o.id for o in †calls.0 if o.item == 'lamp')}"
REFUND: dict[str, Any] = {"calls": [{"_tool": "get_orders"}, {"_tool": "refund", "id": LAMP}], "output": "†calls.1"}
DESK: dict[str, Any] = {
    "calls": [{"_tool": "get_orders"}],
    "output": "{one(o.item for o in †calls.0 if o.price == max(p.price for p in †calls.0))}",
}


@dataclass
class Person:
    """Somebody who uses the kit by its command line."""

    root: Path
    out: io.StringIO = field(default_factory=io.StringIO)

    async def says(self, *words: str, given: str = "") -> tuple[int, str]:
        """The exit code of a command, and what it printed."""
        out = io.StringIO()
        bench = Bench(self.root, lambda: (shop.TASKS, shop.opening), io.StringIO(given), out, out)
        return await carried_out(bench, command_line.parsed(words)), out.getvalue()

    def kept(self, lane: str) -> Any:
        """The report of a lane."""
        return json.loads((self.root / lane / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "lanes")


async def test_a_lane_goes_from_request_to_request_and_ends_with_the_report(person: Person) -> None:
    code, first = await person.says("turn", "mine", "--tasks", "shop:0-1")
    assert code == commands.WAITING
    assert "Refund the lamp." in first
    assert "task 1 of 2, request 1" in first
    assert "in isolation" not in first
    assert '{"_tool":{"const":"refund"}' in first
    code, second = await person.says("turn", "mine", json.dumps(REFUND))
    assert code == commands.WAITING
    assert "Which item is the dearest?" in second
    code, end = await person.says("turn", "mine", "-", given=f"Here it is:\n```json\n{json.dumps(DESK)}\n```\n")
    assert code == commands.OK
    assert "| shop | 2 | 2 | 2 |" not in end, "what was solved is not told before all ways are answered"
    assert "| shop | 2 | 2 | 2 |" in (await person.says("report", "mine"))[1]
    total = person.kept("mine")["loops"]["actum"]["worlds"]["all"]
    assert {name: total[name] for name in ("solved", "requests", "calls", "references", "expressions", "refused")} == {
        "solved": 2, "requests": 2, "calls": 3, "references": 1, "expressions": 2, "refused": {}
    }  # fmt: skip


async def test_requests_of_several_tasks_are_shown_at_once_and_answered_by_the_tasks_names(person: Person) -> None:
    code, printed = await person.says("turn", "mine", "--tasks", "shop:0-2", "--ahead", "2")
    assert code == commands.WAITING
    assert "Refund the lamp." in printed
    assert "Which item is the dearest?" in printed
    assert "tell ann" not in printed
    assert printed.count('{"_tool":{"const":"refund"}') == 1, "what was shown before is referred to"
    assert "The same as in request 1 of shop 0" in printed
    answers = {"shop 1": DESK, "shop 0": "I can't"}
    code, printed = await person.says("turn", "mine", json.dumps(answers), "--ahead", "2")
    assert (code, "no answer to shop 0" in printed) == (commands.WRONG, True)
    code, printed = await person.says("turn", "mine", json.dumps({"shop 1": DESK}), "--ahead", "2")
    assert (code, "no request of 'shop 1' waits; there wait: shop 0" in printed) == (commands.WRONG, True)
    code, printed = await person.says("turn", "mine", json.dumps({"shop 0": REFUND}), "--ahead", "2")
    assert (code, "tell ann" in printed) == (commands.WAITING, True)
    code, _ = await person.says("turn", "mine", json.dumps({"shop 2": json.dumps(DESK)}), "--ahead", "2")
    assert code == commands.OK
    assert person.kept("mine")["loops"]["actum"]["worlds"]["all"]["solved"] == 2
    assert "leave --ahead out" in (await person.says("turn", "mine", "--loop", "plans", "--ahead", "2"))[1]


async def test_the_record_of_a_lane_holds_figures_alone_and_its_table_is_made_of_them(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    await person.says("turn", "mine", "--tasks", "shop:0-1", "--ahead", "2")
    await person.says("turn", "mine", json.dumps({"shop 0": DESK, "shop 1": DESK}), "--ahead", "2")
    loop = {"text": "The lamp."}
    await person.says("turn", "mine", "--loop", "tools", "--ahead", "2")
    await person.says("turn", "mine", "--loop", "tools", json.dumps({"shop 0": loop, "shop 1": loop}), "--ahead", "2")
    kept = page.keep("nestful", person.root / "mine" / "report.json", "somebody").read_text(encoding="utf-8")
    assert "desk" not in kept
    assert "lamp" not in kept
    table = page.tables()["nestfulmodels"]
    assert table.startswith("somebody, 2 tasks:")
    assert "| Actum | 1 of 2 (" in table
    assert "| the ordinary loop | 0 of 2 (" in table
    assert table.endswith("Not solved in any way: shop 0. Not solved in some: shop 1 (tools).")
    assert "NESTFUL, with a model" not in page.tables()["notrun"]


async def test_what_was_shown_is_what_is_sent(person: Person) -> None:
    _, printed = await person.says("turn", "mine", "--tasks", "shop:0")
    sent = json.loads((person.root / "mine" / "actum" / "shop-0" / "request-1.json").read_text(encoding="utf-8"))
    assert all(message["content"] in printed for message in sent["messages"])
    schema_text = printed.split("must fit ")[1].split("\n", 1)[1].split("\n\n-- to answer")[0]
    assert json.loads(schema_text) == sent["schema"]


async def test_each_loop_of_a_lane_goes_on_by_itself_and_the_report_puts_them_side_by_side(person: Person) -> None:
    await person.says("turn", "mine", "--tasks", "shop:0")
    code, printed = await person.says("turn", "mine", "--loop", "tools")
    assert code == commands.WAITING
    assert '"tool_calls"' in printed
    assert "must fit" not in printed, "the messages state the schema"
    two = {"tool_calls": [{"name": "get_orders"}, {"name": "refund", "arguments": {"id": 7}}]}
    _, printed = await person.says("turn", "mine", "--loop", "tools", json.dumps(two))
    assert "Result of get_orders {}:\n[{" in printed
    assert 'Error of refund {"id":7}:\nrefund can\'t do that' in printed
    await person.says("turn", "mine", "--loop", "tools", '{"tool_calls":[{"name":"refund","arguments":{"id":1}}]}')
    code, _ = await person.says("turn", "mine", "--loop", "tools", '{"text":"Done."}')
    assert code == commands.OK
    assert person.kept("mine")["beside"] == {}, "the other loop has not finished it"
    await person.says("turn", "mine", json.dumps(REFUND))
    beside = person.kept("mine")["beside"]
    assert [(loop, beside[loop]["all"]["requests"], beside[loop]["all"]["calls"]) for loop in beside] == [
        ("actum", 1, 2),
        ("tools", 3, 3),
    ]
    assert beside["tools"]["all"]["failed"] == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "it is empty"),
        ("I can't", "no JSON object"),
        ('{"calls": [', "ends"),
        ('{"tool_calls": []}', "no JSON object with 'calls'"),
    ],
)
async def test_what_is_no_answer_is_given_back_and_the_request_still_waits(
    person: Person, answer: str, why: str
) -> None:
    await person.says("turn", "mine", "--tasks", "shop:1")
    code, printed = await person.says("turn", "mine", "-", given=answer)
    assert code == commands.WRONG
    assert why in printed
    assert "Request 1 still waits" in printed
    assert printed.count("\n") == 1
    code, _ = await person.says("turn", "mine", json.dumps(DESK))
    assert code == commands.OK
    total = person.kept("mine")["loops"]["actum"]["worlds"]["all"]
    assert (total["requests"], total["malformed"]) == (1, 1)


def test_an_answer_to_code_mode_is_a_program_or_a_text_and_one_of_the_user_a_message() -> None:
    def complained(properties: dict[str, Any], answer: str) -> bool:
        schema = {"type": "object", "properties": properties}
        request = Exchange(None).ask(ModelRequest(messages=(), schema=schema, mode="prompted"))
        return complaint("code", request, answer) is not None

    code: dict[str, Any] = {"code": {}, "text": {}}
    user: dict[str, Any] = {"message": {}}
    assert not complained(code, '{"text": "hi"}')
    assert complained(code, '{"message": "hi"}')
    assert not complained(user, '{"message": "hi"}')


async def test_answers_that_have_no_request_are_errors(person: Person, tmp_path: Path) -> None:
    assert (await person.says("turn", "mine", "{}"))[1].startswith("there is no lane 'mine' yet")
    await person.says("turn", "mine", "--tasks", "shop:1")
    code, printed = await person.says("turn", "mine", str(tmp_path / "absent.json"))
    assert (code, "No such file" in printed) == (commands.WRONG, True)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in (await person.says("turn", "mine", str(tmp_path / "binary")))[1]
    await person.says("turn", "mine", json.dumps(DESK))
    assert "no request" in (await person.says("turn", "mine", json.dumps(DESK)))[1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["turn", "../x"], "can't be the name of a lane"),
        (["turn", "mine", "--tasks", "shop:9"], "shop has no task 9"),
        (["turn", "mine", "--tasks", "bank"], "there is no world 'bank'"),
        (["turn", "mine", "--tasks", "shop:x"], "names no tasks"),
        (["report", "mine"], "there is no lane 'mine'"),
        (["run", "nothing-like-it"], "no provider is known"),
    ],
)
async def test_a_wrong_command_says_in_a_line_what_would_be_right(person: Person, words: list[str], why: str) -> None:
    code, printed = await person.says(*words)
    assert code in (commands.WRONG, commands.FAILED)
    assert why in printed
    assert printed.count("\n") == 1


async def test_a_lane_keeps_its_tasks_and_its_model(person: Person) -> None:
    await person.says("turn", "mine", "--tasks", "shop:0")
    assert "begun with other tasks" in (await person.says("turn", "mine", "--tasks", "shop:1"))[1]
    assert "one of the model 'turn'" in (await person.says("run", sys.executable, "--lane", "mine"))[1]


async def test_two_commands_do_not_work_in_one_lane_and_lanes_do_not_hinder_each_other(person: Person) -> None:
    await person.says("turn", "one", "--tasks", "shop:0")
    lane = commands.existing(person.root, "one")
    assert lane is not None
    with lane.locked():
        code, printed = await person.says("turn", "one", json.dumps(REFUND))
        assert (code, "another command is at work" in printed) == (commands.WRONG, True)
        assert (await person.says("turn", "two", "--tasks", "shop:0"))[0] == commands.WAITING
    assert (await person.says("turn", "one", json.dumps(REFUND)))[0] == commands.OK


async def test_a_lane_that_was_cut_anywhere_goes_on_with_the_answers_it_has(person: Person) -> None:
    """It is killed after the answer was kept, before the request was shown, and while a file was written."""
    await person.says("turn", "mine", "--tasks", "shop:2")
    folder = person.root / "mine" / "actum" / "shop-2"
    see = {"calls": [{"_tool": "mail", "to": "ann", "text": "soon"}, {"_tool": "get_orders"}], "output": None}
    (folder / "answer-1.txt").write_text(json.dumps(see), encoding="utf-8")
    (folder / ".request-2.json.part").write_text('{"half', encoding="utf-8")
    _, printed = await person.says("turn", "mine")
    assert "request 2 of it" in printed
    (person.root / "mine" / "actum" / "standing.json").unlink()
    assert "no request" in (await person.says("turn", "mine", "{}"))[1]
    assert (await person.says("turn", "mine"))[1] == printed, "the same request is the same, however often it is made"
    done: dict[str, Any] = {"calls": [{"_tool": "refund", "id": 1}], "output": "Done."}
    assert (await person.says("turn", "mine", json.dumps(done)))[0] == commands.OK
    total = person.kept("mine")["loops"]["actum"]["worlds"]["all"]
    assert (total["solved"], total["requests"], total["calls"]) == (1, 2, 3), "mailed once, in the world that counts"


async def test_a_task_whose_first_request_has_become_another_one_begins_anew_and_says_so(person: Person) -> None:
    await person.says("turn", "mine", "--tasks", "shop:1")
    folder = person.root / "mine" / "actum" / "shop-1"
    older = json.loads((folder / "request-1.json").read_text(encoding="utf-8")) | {"key": "of an older Actum"}
    (folder / "request-1.json").write_text(json.dumps(older), encoding="utf-8")
    _, printed = await person.says("turn", "mine")
    assert "begins anew" in printed
    assert (await person.says("turn", "mine", json.dumps(DESK)))[0] == commands.OK
    assert person.kept("mine")["loops"]["actum"]["worlds"]["all"]["requests"] == 1


ASK_TWICE: dict[str, Any] = {
    "calls": [
        {"_tool": "get_orders"},
        {"_tool": "read", "of": "{†calls.0[0].item}", "ask": "What is it?", "as": "text"},
        {"_tool": "read", "of": "{†calls.0[1].item}", "ask": "What is it?", "as": "text"},
    ],
    "output": "{†calls.1} {†calls.2}",
}


async def test_the_requests_of_readers_are_asked_one_by_one_and_counted_apart(person: Person) -> None:
    await person.says("turn", "mine", "--tasks", "shop:1")
    _, printed = await person.says("turn", "mine", json.dumps(ASK_TWICE))
    had_lamp: list[bool] = []
    for _ in range(2):
        assert "dearest" not in printed
        assert "made in isolation" in printed
        had_lamp.append("lamp" in printed)
        _, printed = await person.says("turn", "mine", '{"calls": [], "output": "a desk"}')
    assert sorted(had_lamp) == [False, True]
    total = person.kept("mine")["loops"]["actum"]["worlds"]["all"]
    assert (total["solved"], total["requests"], total["reader_requests"], total["calls"]) == (1, 1, 2, 1)
    assert total["reader_tokens_in"] > total["reader_tokens_out"] > 0


async def outcome_of(tmp_path: Path, *answers: Any, task: int = 0) -> Any:
    name = Name("shop", task)
    model = Scripted(list(answers), chunk=16)
    outcome = await task_carried_out("actum", name, shop.opening(name), Exchange(tmp_path), model)
    assert outcome is not None
    return outcome


UNKNOWN = {"_tool": "refunds", "id": 1}
MISFIT = {"_tool": "refund", "id": "one"}
NO_FIELD = {"_tool": "refund", "id": "{one(o.nr for o in †calls.0)}"}
CIRCLE = {"_tool": "refund", "id": "†calls.0"}


@pytest.mark.parametrize(
    ("calls", "output", "rules"),
    [
        ([UNKNOWN], None, ["C2"]),
        ([MISFIT], None, ["C3"]),
        ([{"_tool": "get_orders"}, NO_FIELD], None, ["E"]),
        ([{"_tool": "get_orders"}, {"_tool": "refund", "id": "†calls.0[0].nr"}], None, ["O11, C7"]),
        ([CIRCLE], None, ["P1"]),
        ([{"_tool": "get_orders"}], "{†calls.0[9].item}", ["E"]),
        ([UNKNOWN, {"_tool": "mail", "to": "ann", "text": "{†calls.0}"}], None, ["C2"]),
        ([UNKNOWN, {"_then": True}, {"_tool": "refund", "id": 1}], None, ["C2"]),
        ([UNKNOWN, MISFIT], None, ["C2", "C3"]),
        ([{"_tool": "refund", "_each": "{[o for o in †calls.1 if o.id]}", "id": "{†each.nr}"}, {"_tool": "get_orders"}],
         None, ["E"]),
    ],
)  # fmt: skip
async def test_what_is_refused_is_counted_by_its_rule_and_what_only_follows_is_not(
    tmp_path: Path, calls: Any, output: Any, rules: list[str]
) -> None:
    outcome = await outcome_of(tmp_path, {"calls": calls, "output": output}, REFUND)
    assert [refusal.rule for refusal in outcome.refused] == rules
    assert {refusal.request for refusal in outcome.refused} == {1}
    assert outcome.mended == [1]
    assert (outcome.solved, outcome.requests, outcome.failed) == (True, 2, 0)


async def test_what_fails_in_a_tool_is_not_refused(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, {"calls": [{"_tool": "refund", "id": 7}], "output": "Done."}, REFUND)
    assert (outcome.refused, outcome.failed, outcome.requests) == ([], 1, 2)


async def test_mistakes_are_mended_after_the_turns_that_it_took_or_never(tmp_path: Path) -> None:
    wrong: list[Any] = [{"calls": [UNKNOWN | {"id": number}], "output": None} for number in range(9)]
    see = {"calls": [{"_tool": "get_orders"}], "output": None}
    outcome = await outcome_of(tmp_path / "a", wrong[0], wrong[1], see, wrong[2], REFUND)
    assert outcome.mended == [2, 1]
    outcome = await outcome_of(tmp_path / "b", "no answer", *["still none"] * 2)
    assert (outcome.mended, outcome.ended, outcome.output, outcome.solved) == ([None], "solution", None, False)
    assert [refusal.rule for refusal in outcome.refused][:2] == ["L3", "L3"]


async def test_a_call_for_every_item_counts_as_often_as_it_was_made(tmp_path: Path) -> None:
    each = {"_tool": "mail", "_each": "†calls.0", "to": "{†each.item}", "text": "x"}
    outcome = await outcome_of(tmp_path, {"calls": [{"_tool": "get_orders"}, each], "output": "x"})
    assert sorted(outcome.calls) == ["get_orders", "mail", "mail"]
    assert (outcome.references, outcome.expressions) == (1, 1)


PROGRAM = """
import json, sys
asked = json.load(sys.stdin)
said = asked["messages"][-1]["content"]
if "tool_calls" in asked["messages"][0]["content"]:
    answer = {"text": "a desk"}
else:
    assert asked["schema"]["properties"]["calls"]
    answer = {"calls": [], "output": "a desk" if "dearest" in said else "what?"}
print(json.dumps(answer))
"""


async def test_a_program_answers_a_lane_by_both_loops(person: Person, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(PROGRAM, encoding="utf-8")
    code, printed = await person.says("run", f"{sys.executable} {path}", "--lane", "it", "--tasks", "shop:0-1")
    assert code == commands.OK
    assert "Not solved: shop 0." in printed
    report = person.kept("it")
    assert [report["beside"][loop]["all"]["solved"] for loop in ("actum", "tools")] == [1, 1]
    path.unlink()
    code, printed = await person.says("run", f"{sys.executable} {path}", "--lane", "it")
    assert (code, "finished before" in printed) == (commands.OK, True), "nothing was asked again"
    code, printed = await person.says("run", f"{sys.executable} {path}", "--lane", "it", "--anew", "--tasks", "shop:1")
    assert (code, "ended with exit code 2" in printed) == (commands.FAILED, True)


async def test_a_model_that_fails_leaves_the_answers_that_it_gave(tmp_path: Path) -> None:
    name = Name("shop", 0)
    see = {"calls": [{"_tool": "get_orders"}], "output": None}
    with pytest.raises(errors.ModelError, match="gone"):
        await task_carried_out(
            "actum", name, shop.opening(name), Exchange(tmp_path), Scripted([see, errors.ModelError("gone")])
        )
    done = {"calls": [{"_tool": "refund", "id": 1}], "output": "Done."}
    later = Scripted([done])
    outcome = await task_carried_out("actum", name, shop.opening(name), Exchange(tmp_path), later)
    assert outcome is not None
    assert (outcome.solved, outcome.requests, len(later.requests)) == (True, 2, 1)


async def test_a_script_makes_the_calls_of_a_plan_round_by_round(tmp_path: Path) -> None:
    calls = [*REFUND["calls"], {"_then": True}, {"_tool": "mail", "to": "ann", "text": "{†calls.1}"}]
    plan = Plan("shop", 2, calls, "{†calls.3}")
    name = Name("shop", 2)
    model = await scripted("tools", plan, shop.opening)
    outcome = await task_carried_out("tools", name, shop.opening(name), Exchange(tmp_path), model)
    assert outcome is not None
    assert (outcome.solved, outcome.output, outcome.requests) == (True, "mail 1", 4)


def test_a_round_holds_every_call_that_needs_nothing_unseen() -> None:
    value = {"_value": "{†calls.0}"}
    first, second = {"_tool": "a"}, {"_tool": "b", "x": "†calls.1"}
    assert rounds([first, value, second, {"_tool": "c"}]) == [0, 1, 1, 0]
    assert rounds([first, {"_then": True}, {"_tool": "b"}, {"_tool": "c", "x": "†calls.2"}]) == [0, 1, 1, 2]
    assert rounds([{"_tool": "a", "_when": "{†calls.1}"}, {"_tool": "b"}]) == [1, 0], "what is listed later, too"


NO_ARGUMENTS = '{"name": "a", "arguments": 1}'


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"tool_calls": 1}', '{"tool_calls": [{}]}', f'{{"tool_calls": [{NO_ARGUMENTS}]}}']
)
def test_an_answer_of_another_form_is_not_usable(text: str) -> None:
    with pytest.raises(Unusable):
        round_of(text)


async def test_the_ordinary_loop_asks_again_for_what_it_cannot_use(tmp_path: Path) -> None:
    name = Name("shop", 1)
    model = Scripted(["what?", {"text": "the desk"}])
    outcome = await task_carried_out("tools", name, shop.opening(name), Exchange(tmp_path), model)
    assert outcome is not None
    assert (outcome.solved, outcome.requests, outcome.mended) == (True, 2, [1])
    assert "not usable" in model.requests[1].messages[-1]["content"]


def test_tasks_are_spread_evenly_and_named_once() -> None:
    worlds = {"a": range(40), "b": range(3), "c": range(10)}
    names = spread(20, worlds)
    assert [sum(name.world == world for name in names) for world in worlds] == [9, 3, 8]
    assert len(set(names)) == 20
    assert [name.number for name in names if name.world == "a"] == [0, 4, 8, 13, 17, 22, 26, 31, 35]
    assert len(spread(1000, worlds)) == 53
    drawn = spread(20, worlds, seed=35)
    assert [sum(name.world == world for name in drawn) for world in worlds] == [9, 3, 8]
    assert drawn == chosen(["20"], worlds, seed=35) != spread(20, worlds, seed=36)
    assert chosen(["b:2,0-1", "b", "2"], worlds) == [Name("b", 2), Name("b", 0), Name("b", 1), Name("a", 0)]


def test_the_same_request_for_the_second_time_is_another_one(tmp_path: Path) -> None:
    request = ModelRequest(messages=({"role": "user", "content": "\u2028†"},), schema={"type": "string"})
    first = Exchange(tmp_path)
    numbers = [first.ask(request).number, first.ask(request).number]
    first.take(numbers[1], "two\r\n")
    again = Exchange(tmp_path)
    assert numbers == [1, 2]
    assert [again.ask(request).answer, again.ask(request).answer] == [None, "two\r\n"]
