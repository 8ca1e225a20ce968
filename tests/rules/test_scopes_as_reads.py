"""S8: a scope is a read, so what crosses to a call depends on what is listed before it, and never on timing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import HOLD, Agent, Call, Config, Context, Tools, approvals, errors, events, models

from .scripts import Json, call

pytestmark = pytest.mark.rule("S8")

OLD: Json = {"type": "state", "a": "OLD", "b": "old b"}
WRITES: Json = {"properties": {"v": {}, "after": {}, "_output": {}, "_outputPath": {"type": "string"}}}


class Desk:
    """Calls that write when it is their turn, a delegate, and an Activity; all note what crossed to them."""

    def __init__(self, turns: list[str] | None = None) -> None:
        self.turns = turns or []
        self.moved = asyncio.Event()
        self.crossed: dict[str, Any] = {}
        self.tools = Tools()
        self.tools.register("w", WRITES)
        self.tools.activity("w", self.write)
        self.tools.activity("look", self.look)

    async def write(self, v: Any, after: Any = None) -> Any:
        while str(v) in self.turns and self.turns[0] != str(v):
            await self.moved.wait()
        if v == "FAIL":
            raise ValueError("it can't")
        if str(v) in self.turns:
            self.turns.pop(0)
            self.moved.set()
            self.moved = asyncio.Event()
        return v

    async def look(self, name: str, context: Context) -> str:
        self.crossed[name] = context.data.get("state")
        return name

    async def run(self, *plan: Json, scopes: list[str], delegated: bool = False, **more: Any) -> Any:
        properties = {
            "_scopes": {"const": scopes},
            "name": {"type": "string"},
            "after": {},
            "_output": {"type": "string"},
        }
        tool: Json = {"properties": properties}
        if delegated:
            tool["_delegate"] = "anonymous"
        context: list[Json] = [OLD, {"type": "tool", "tool": {"look": tool}}, {"type": "plan", "plan": [*plan]}]
        return await Agent(None, tools=self.tools, **more).run(context)


def w(path: str, v: Any, **more: Any) -> Json:
    return call("w", v=v, _outputPath=path, **more)


def look(name: str = "it", **more: Any) -> Json:
    return call("look", name=name, **more)


@pytest.mark.parametrize("delegated", [False, True])
@pytest.mark.parametrize("scope", ["state", "state.a"])
async def test_what_is_listed_before_crosses_however_long_it_takes(delegated: bool, scope: str) -> None:
    desk = Desk()
    await desk.run(
        w("†state.a", "NEW", after="†calls.2"), look(), w("†state.x", 1), scopes=[scope], delegated=delegated
    )
    assert desk.crossed["it"]["a"] == "NEW"


@pytest.mark.parametrize("delegated", [False, True])
async def test_a_call_that_writes_two_paths_of_a_scope_may_end_before_an_earlier_writer(delegated: bool) -> None:
    desk = Desk(turns=["2", "1"])
    await desk.run(w("†state.x", 1), w("†state.p *> †state.q", 2), look(), scopes=["state"], delegated=delegated)
    assert desk.crossed["it"] == {"a": "OLD", "b": "old b", "x": 1, "p": 2, "q": 2}


@pytest.mark.parametrize("delegated", [False, True])
async def test_what_is_listed_after_does_not_cross_however_soon_it_is_there(delegated: bool) -> None:
    desk = Desk()
    result = await desk.run(
        w("†state.c", 1, after="†calls.3"),
        look(),
        w("†state.a", "NEW"),
        w("†state.x", 2, after="†calls.2"),
        scopes=["state"],
        delegated=delegated,
    )
    assert desk.crossed["it"] == {"a": "OLD", "b": "old b", "c": 1}
    assert result.context.state["a"] == "NEW"


async def test_what_it_refers_to_crosses_wherever_that_is_listed() -> None:
    desk = Desk()
    await desk.run(
        look("by call", after="†calls.2"), look("by path", after="†state.n"), w("†state.n", 1), scopes=["state"]
    )
    assert {name: state["n"] for name, state in desk.crossed.items()} == {"by call": 1, "by path": 1}


async def test_a_scope_by_path_keeps_calls_parallel() -> None:
    """A reader waits for no writer beside its path, not even for one that waits for the reader."""
    desk = Desk()
    result = await desk.run(w("†state.b", "†calls.1"), look(), scopes=["state.a"])
    assert (desk.crossed["it"], result.context.state["b"]) == ({"a": "OLD"}, "it")


async def test_calls_that_wait_for_each_other_by_a_scope_are_a_cycle() -> None:
    desk = Desk()
    result = await desk.run(w("†state.a", "†calls.1"), look(), scopes=["state"])
    message = "tool 'w': these calls wait for each other: call 0 (w) → call 1 (look) → call 0 (w)"
    assert ([error.message for error in result.errors], desk.crossed["it"]["a"]) == ([message], "OLD")


@pytest.mark.parametrize(
    ("scope", "fails"), [("state.a", True), ("state.a.x", True), ("state", False), ("state.b", False)]
)
async def test_a_writer_that_fails_fails_only_who_names_its_path(scope: str, fails: bool) -> None:
    desk = Desk()
    result = await desk.run(w("†state.a", "FAIL"), look(), scopes=[scope])
    assert ("it" in desk.crossed) is not fails
    messages = [error.message for error in result.errors if isinstance(error, errors.UnresolvedReference)]
    assert messages == (
        [f"tool 'look': its scope {scope!r} was to come from call 0 (w), which failed"] if fails else []
    )


@pytest.mark.parametrize(("scope", "fails"), [("state.a", True), ("state", False), ("state.b", False)])
@pytest.mark.parametrize("refused", [call("nobody", v=1), w("†state.a", 1, _nothing=1), w("†state.a", "†calls.9")])
async def test_a_writer_that_is_refused_fails_who_names_its_path_too(refused: Json, scope: str, fails: bool) -> None:
    desk = Desk()
    result = await desk.run({**refused, "_outputPath": "†state.a"}, look(), scopes=[scope])
    assert ("it" in desk.crossed) is not fails
    messages = [error.message for error in result.errors if f"scope {scope!r} was to come from call 0" in error.message]
    assert len(messages) == fails


@pytest.mark.rule("S11")
async def test_a_reader_of_errors_sees_those_of_calls_listed_before_it_however_long_they_take() -> None:
    tools, crossed, failed = Tools(), list[Any](), asyncio.Event()

    async def fail(n: int) -> Any:
        if n == 0:
            await failed.wait()
        failed.set()
        raise ValueError(f"no {n}")

    def read(context: Context) -> str:
        crossed.extend(message["error"].rpartition(" ")[2] for message in context if message["type"] == "error")
        return "read"

    tools.register("fail", {"properties": {"n": {}, "_output": {}}})
    tools.register("look", {"properties": {"_output": {}}, "_scopes": ["error"]})
    tools.activity("fail", fail)
    tools.activity("look", read)
    plan = [call("fail", n=0), call("fail", n=1), call("look"), call("fail", n=3)]
    await Agent(None, tools=tools).run([{"type": "plan", "plan": plan}])
    assert crossed == ["0", "1"]


@pytest.mark.rule("S11", "M9")
async def test_why_an_output_can_not_be_used_crosses_behind_the_errors_of_its_calls() -> None:
    tools, crossed = Tools(), list[Any]()

    def read(context: Context) -> str:
        crossed.extend(message["error"].partition(":")[0] for message in context if message["type"] == "error")
        return "read"

    tools.register("look", {"properties": {"_output": {}}, "_scopes": ["error"]})
    tools.activity("look", read)
    first = {"calls": [call("unheard")], "output": "†calls.0 <|> †state.a"}
    model = models.Scripted([first, {"calls": [call("look")], "output": 1}])
    await Agent(model, tools=tools).run([OLD], {"type": "integer"})
    assert crossed == ["tool 'unheard'", "at output"]


@pytest.mark.rule("S11", "C12")
@pytest.mark.parametrize("more", [{}, {"_outputPath": "†state.p"}])
async def test_a_reader_of_results_waits_for_those_of_items_beside_which_another_fails(more: Json) -> None:
    tools, crossed = Tools(), list[Any]()

    @tools.tool(effects="none")
    async def half(n: int) -> float:
        await asyncio.sleep(0)
        return 2 / n

    def see(context: Context) -> str:
        crossed.append(context.get("†result"))
        return "seen"

    tools.register("see", {"properties": {"_output": {}}, "_scopes": ["result"]})
    tools.activity("see", see)
    steps = [call("half", _each=[1, 0, 2], n="†each", **more), call("see")]
    await Agent(models.Scripted([{"calls": steps, "output": None}, {"calls": [], "output": 1}]), tools=tools).run("go")
    assert crossed == [[2.0, 1.0]]


@pytest.mark.rule("S11", "C10")
async def test_the_model_is_asked_when_a_reader_has_ended_that_computes_with_what_is_skipped_in_the_end() -> None:
    tools = Tools()

    @tools.tool(effects="none")
    async def give(v: Any) -> Any:
        return v

    tools.register("see", {"properties": {"v": {}, "_output": {}}, "_scopes": ["result"]})
    tools.activity("see", give)
    plan = [
        call("give", v=1),
        call("give", v=2, _when="{†calls.0 == None}", _outputPath="†state.p"),
        call("give", v="†state.p"),
        call("see", v="{[†calls.0, †calls.2]}"),
    ]
    model = models.Scripted([{"calls": plan, "output": None}, {"calls": [], "output": "†results.1"}])
    assert (await Agent(model, tools=tools).run("go")).output == [1, None]


@pytest.mark.rule("S11", "L8")
@pytest.mark.parametrize(("is_mended", "is_same_answer"), [(True, False), (True, True), (False, False), (False, True)])
async def test_of_a_call_that_is_made_again_after_a_cut_only_the_last_failure_crosses(
    is_mended: bool, is_same_answer: bool
) -> None:
    tools, crossed, attempts = Tools(), list[str](), list[str]()

    @tools.tool
    def try_it(what: str) -> str:
        attempts.append(what)
        if is_mended and len(attempts) > 2:
            return "done"
        raise ValueError(f"attempt {len(attempts)}")

    def see(context: Context) -> str:
        crossed.extend(message["error"].rpartition(": ")[2] for message in context if message["type"] == "error")
        return "seen"

    tools.activity("see", see)
    tools.register("see", {"properties": {"_output": {}}, "_scopes": ["error"]})
    failing = [call("try_it", what="a"), call("try_it", what="b")]
    answers = [{"calls": [*failing, call("see")] if is_same_answer else failing, "output": None}]
    answers += [{"calls": [call("see")], "output": None}] * (not is_same_answer)
    conversation = Agent(models.Scripted(answers[:1]), tools=tools).conversation(["go"], None)
    failures = 0
    async with conversation.stream(None) as stream:
        async for event in stream:
            failures += isinstance(event, events.CallFailed)
            if failures == len(failing):
                break
    left = Context(json.loads(json.dumps(list(conversation.context))))
    crossed.clear()
    model = models.Scripted([*answers[1:], {"calls": [], "output": "end"}])
    await Agent(model, tools=tools).resume(left)
    assert crossed == ([] if is_mended else ["attempt 3", "attempt 4"])


@pytest.mark.rule("S11", "L3", "C12")
async def test_items_that_begin_after_their_answer_has_begun_again_see_the_errors_that_the_first_one_saw() -> None:
    tools, crossed, again = Tools(), list[Any](), asyncio.Event()

    async def read(n: int, context: Context) -> int:
        crossed.append((n, [message["type"] for message in context]))
        if n == 0:
            await again.wait()
        return n

    def answer_again(_request: Any) -> Json:
        again.set()
        return {"calls": calls, "output": 1}

    tools.register("look", {"properties": {"n": {}, "_output": {}}, "_scopes": ["error"]})
    tools.activity("look", read)
    calls = [call("unheard"), call("look", _each=[0, 1], n="†each")]
    model = models.Scripted([{"calls": calls, "output": "no number"}, answer_again, {"calls": [], "output": 1}])
    agent = Agent(model, tools=tools, config=Config(parallel=1))
    await agent.run("look", {"type": "integer"})
    assert crossed == [(0, ["error"]), (1, ["error"])]


@pytest.mark.rule("S11", "L3", "C12")
@pytest.mark.parametrize("more", [{}, {"_each": [0, 1]}])
async def test_what_a_call_refers_to_crosses_though_its_answer_begins_again(more: Json) -> None:
    tools, crossed, again = Tools(), list[Any](), asyncio.Event()

    async def read(context: Context) -> None:
        crossed.append(context.data.get("result"))
        if more:
            await again.wait()

    def answer_again(_request: Any) -> Json:
        again.set()
        return {"calls": calls, "output": 1}

    tools.register("look", {"properties": {"at": {}, "_output": {}}, "_scopes": ["result"]})
    tools.activity("look", read)
    calls = [call("look", at="{[†calls.1]}", **more), {"_value": "x"}]
    model = models.Scripted([{"calls": calls, "output": "no number"}, answer_again])
    await Agent(model, tools=tools, config=Config(parallel=1)).run("look", {"type": "integer"})
    assert crossed == [["x"]] * (2 if more else 1)


@pytest.mark.rule("S8", "L8")
async def test_a_writer_that_failed_in_an_earlier_plan_is_nothing_to_a_call_that_is_decided_on() -> None:
    desk = Desk()
    desk.tools.register("look", {"properties": {"name": {}, "_output": {}}, "_scopes": ["state.a"]})

    async def hold(call: Call, *_: object) -> Any:
        return HOLD if call.tool == "look" else True

    model = models.Scripted([{"calls": [look()], "output": None}, {"calls": [], "output": "end"}])
    runner = Agent(model, tools=desk.tools, approve=hold)
    plan = {"type": "plan", "plan": [w("†state.a", "FAIL")]}
    talk = runner.conversation([OLD, plan], None)
    async with talk.stream("Look.") as turn:
        [_ async for _ in turn]
    decided = approvals.decided(Context(json.loads(json.dumps(list(talk.context)))), "1.0", "approve")
    await runner.resume(decided)
    assert desk.crossed == {"it": {"a": "OLD"}}


@pytest.mark.rule("S8", "L3")
@pytest.mark.parametrize("wait", [0, 20])
async def test_a_call_of_a_repeated_answer_is_not_made_where_a_writer_that_is_repeated_has_failed(wait: int) -> None:
    desk = Desk()
    desk.tools.register("look", {"properties": {"name": {}, "_output": {}}, "_scopes": ["state.a"]})
    text = json.dumps({"calls": [w("†state.a", "FAIL"), look()], "output": "done"}, ensure_ascii=False)

    async def cut(_request: Any) -> Any:
        yield text[: text.index("}") + 1]
        for _ in range(wait):  # until the first has failed
            await asyncio.sleep(0)
        yield ", !"

    model = models.Scripted([cut, text, {"calls": [], "output": "end"}])
    result = await Agent(model, tools=desk.tools).run([OLD, {"type": "text", "text": "go"}])
    assert (result.output, desk.crossed) == ("end", {})


@pytest.mark.rule("S8", "C12")
async def test_no_item_is_made_whose_scope_names_the_path_of_a_writer_that_failed() -> None:
    desk = Desk()
    result = await desk.run(w("†state.a", "FAIL"), look(_each=[1, 2]), scopes=["state.a"])
    assert "its scope 'state.a' was to come from call 0 (w), which failed" in str(result.errors[-1])
    assert desk.crossed == {}


@pytest.mark.rule("C7", "S11", "O8")
@pytest.mark.parametrize("reader", [look(), call("w", v="†state.a"), call("w", v="†state.z <|> †state.a")])
async def test_what_a_skipped_call_would_have_left_decides_nothing_for_one_behind_a_failure(reader: Json) -> None:
    desk = Desk()
    desk.tools.register("look", {"properties": {"name": {}, "_output": {}}, "_scopes": ["result", "state"]})
    skipped = [w("†state.p", 1, _when=False), call("w", v="FAIL"), {"_then": True}, w("†state.a", "†state.p")]
    model = models.Scripted([{"calls": [*skipped, reader], "output": None}, {"calls": [], "output": "end"}])
    result = await Agent(model, tools=desk.tools).run([OLD])
    last = result.calls[-1]
    assert last.place == "0.4"
    assert last.error is not None
    assert last.error.message.endswith("which failed: it was not made")


@pytest.mark.rule("S11", "L6", "C12")
@pytest.mark.parametrize("more", [{}, {"_each": [1, 2]}])
async def test_a_call_that_is_approved_with_the_errors_in_its_scopes_sees_them(more: Json) -> None:
    tools, crossed = Tools(), list[Any]()

    def read(context: Context) -> str:
        crossed.append([message["type"] for message in context])
        return "read"

    async def approve(call: Call, *_: object) -> Any:
        return Call(call, _scopes=["error"])

    tools.register(
        "look", {"properties": {"_scopes": {"type": "array", "items": {"enum": ["error", "state"]}}, "_output": {}}}
    )
    tools.activity("look", read)
    plan = [call("unheard"), call("look", _scopes=["state"], **more)]
    await Agent(None, tools=tools, approve=approve).run([{"type": "plan", "plan": plan}])
    assert crossed == [["error"]] * (2 if more else 1)


async def test_a_writer_that_is_skipped_leaves_the_older_value() -> None:
    desk = Desk()
    plan = [w("†state.p <|> †state.q", 1), w("†state.a", "†state.q"), look()]
    await desk.run(*plan, scopes=["state.a"])
    assert desk.crossed["it"] == {"a": "OLD"}


async def test_who_reads_what_is_held_waits_with_it() -> None:
    async def approve(call: Any, *_: object) -> Any:
        return HOLD if call.tool == "w" else True

    desk = Desk()
    held = await desk.run(w("†state.a", "NEW"), look(), scopes=["state.a"], approve=approve)
    assert (held.waiting, desk.crossed) == (["approval 0.0"], {})
    decided = approvals.decided(held.context, "0.0", "approve")
    await Agent(None, tools=desk.tools, approve=approve).resume(json.loads(json.dumps(list(decided))))
    assert desk.crossed["it"] == {"a": "NEW"}


async def test_after_a_crash_no_later_write_crosses_either() -> None:
    """The later call was done before the crash; the earlier one is made when the run is resumed."""
    desk = Desk()

    async def approve(call: Any, *_: object) -> Any:
        return HOLD if call.tool == "look" else True

    held = await desk.run(look(), w("†state.a", "NEW"), scopes=["state"], approve=approve)
    (pending,) = approvals.pending(held.context)
    assert pending.crossing[0]["a"] == "OLD"
    decided = approvals.decided(held.context, pending.of, "approve")
    await Agent(None, tools=desk.tools, approve=approve).resume(json.loads(json.dumps(list(decided))))
    assert desk.crossed["it"] == {"a": "OLD", "b": "old b"}


@given(order=st.permutations(range(4)), readers=st.lists(st.sampled_from(["state", "state.a", "state.c"]), max_size=4))
@settings(max_examples=60)
def test_timing_has_no_say(order: list[int], readers: list[str]) -> None:
    """Writers finish in any order; each reader sees the writes listed before it, and no others.

    Of two writers of one path the last to finish wins (O8), so here each has a path of its own.
    """
    paths = ["a", "c", "d", "e"]
    plan: list[Json] = []
    expected: dict[str, Json] = {}
    state: Json = {"a": "OLD", "b": "old b"}
    for number, path in enumerate(paths):
        plan.append(w(f"†state.{path}", number))
        state = state | {path: number}
        for scope in readers[number : number + 1]:
            name = f"{number}"
            plan.append(look(name))
            _, _, part = scope.partition(".")
            expected[name] = dict(state) if not part else {part: state[part]} if part in state else {}

    async def runs() -> Desk:
        desk = Desk([str(number) for number in order])
        properties = {"name": {"type": "string"}, "after": {}, "_output": {"type": "string"}}
        chosen = {"type": "array", "items": {"enum": ["state", "state.a", "state.c"]}}
        tool: Json = {"properties": {**properties, "_scopes": chosen}}
        scoped = [
            element | ({"_scopes": [readers[int(element["name"])]]} if element["_tool"] == "look" else {})
            for element in plan
        ]
        context: list[Json] = [OLD, {"type": "tool", "tool": {"look": tool}}, {"type": "plan", "plan": scoped}]
        await Agent(None, tools=desk.tools).run(context)
        return desk

    assert {name: state or {} for name, state in asyncio.run(runs()).crossed.items()} == expected


@pytest.mark.rule("S8", "O5")
async def test_what_the_alternative_that_was_taken_has_written_crosses_though_it_is_listed_later() -> None:
    for reference, expected in (
        ("†calls.1 <|> †calls.2", {"p": 1}),
        ("†calls.4 <|> †calls.2", {"q": 2}),
        ("†calls.2 *> (†calls.1 <|> †calls.3)", {"p": 1, "q": 2}),
        ("{[†calls.1, †calls.3]}", {"p": 1, "r": 3}),
    ):
        desk = Desk()
        writes = [w("†state.p", 1), w("†state.q", 2), w("†state.r", 3), w("†state.s", 4, _when=False)]
        await desk.run(look(after=reference), *writes, scopes=["state"])
        assert {key: value for key, value in desk.crossed["it"].items() if key in "pqrs"} == expected
