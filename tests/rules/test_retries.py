"""T14: an Activity that has raised is tried again, where its tool or it itself says that this is safe."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actum import Agent, Backoff, Call, Context, Limits, Tools, errors, events, models

from .scripts import Json, agent, answer, call

BOUND = 10.0


class Naps:
    """A sleep that takes no time and remembers how long it was to be."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def backoff(self, **more: Any) -> Backoff:
        return Backoff(sleep=self, chance=lambda: 1.0, **more)


class Unsteady:
    """A function that fails a number of times before it succeeds, and remembers what it was given."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.left, self.error = failures, error or ConnectionError("lost")
        self.given: list[Any] = []

    def __call__(self, given: Any) -> int:
        self.given.append(given)
        if self.left:
            self.left -= 1
            raise self.error
        return len(self.given)


def looking(unsteady: Unsteady, naps: Naps) -> Tools:
    """Tools with one that only reads and fails now and then."""
    tools = Tools(backoff=naps.backoff())

    @tools.tool(effects="none", retries=3)
    async def look(n: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        return unsteady(n)

    return tools


async def result_and_events(runner: Agent) -> tuple[Any, list[Any]]:
    """The result of a run, and its events of calls."""
    received: list[Any] = []
    async with asyncio.timeout(BOUND), runner.stream("go") as stream:
        received.extend([event async for event in stream if isinstance(event, events.CallEvent)])
    return stream.result, received


# When it is tried again


@pytest.mark.rule("T14")
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_only_reads_is_tried_again_after_waits_that_double(is_async: bool) -> None:
    unsteady, naps = Unsteady(3), Naps()
    tools = Tools(backoff=naps.backoff())

    def look(n: int) -> int:
        return unsteady(n)

    async def looked(n: int) -> int:
        return unsteady(n)

    tools.tool(name="look", effects="none", retries=3)(looked if is_async else look)
    result, received = await result_and_events(agent(answer(call("look", n=5), output="†calls.0"), tools=tools))
    assert (result.output, unsteady.given, naps.seconds) == (4, [5, 5, 5, 5], [0.5, 1.0, 2.0])
    names = [type(event).__name__ for event in received]
    assert names == ["CallReady", "CallStarted", *["CallRetried"] * 3, "CallFinished"]
    retried = [event for event in received if isinstance(event, events.CallRetried)]
    assert [(event.attempt, event.seconds, str(event.place)) for event in retried] == [
        (1, 0.5, "0.0"),
        (2, 1, "0.0"),
        (3, 2, "0.0"),
    ]
    assert {event.error.message for event in retried} == {"tool 'look': ConnectionError: lost"}
    assert result.errors == []


@pytest.mark.rule("T14", "L2")
async def test_when_it_goes_on_failing_the_call_fails_as_ever() -> None:
    unsteady, naps = Unsteady(9), Naps()
    runner = agent(answer(call("look")), answer(output=0), tools=looking(unsteady, naps))
    result, _ = await result_and_events(runner)
    assert (len(unsteady.given), len(naps.seconds)) == (4, 3)
    assert [error.message for error in result.errors] == ["tool 'look': ConnectionError: lost"]
    assert isinstance(result.errors[0].__cause__, ConnectionError)


@pytest.mark.rule("T14", "C9", "A7")
@pytest.mark.parametrize("where", ["by the tool", "by the Activity"])
async def test_what_takes_the_key_of_its_call_is_tried_again_with_the_same_key(where: str) -> None:
    unsteady, naps = Unsteady(2), Naps()
    tools = Tools(backoff=naps.backoff())
    tools.register("pay", {"type": "object", "_output": {}, **({"_retries": 2} if where == "by the tool" else {})})

    @tools.activity("pay", retries=0 if where == "by the tool" else 2)
    def pay(key: str) -> int:
        return unsteady(key)

    assert pay.name == "pay"
    result, _ = await result_and_events(agent(answer(call("pay"), output="†calls.0"), tools=tools))
    assert (result.output, len(set(unsteady.given))) == (3, 1)


@pytest.mark.rule("T14", "A7", "T15")
async def test_a_typed_function_takes_the_key_as_no_parameter_of_its_tool() -> None:
    unsteady, naps = Unsteady(1), Naps()
    tools = Tools(backoff=naps.backoff())

    @tools.tool(retries=1)
    async def pay(amount: int, _key: str) -> int:
        """Pay."""
        return unsteady((amount, _key))

    assert pay.tool is not None
    assert list(pay.tool.parameters["properties"]) == ["amount"]
    result, received = await result_and_events(agent(answer(call("pay", amount=3), output="†calls.0"), tools=tools))
    key = next(event.key for event in received if isinstance(event, events.CallStarted))
    assert (result.output, unsteady.given) == (2, [(3, key)] * 2)


@pytest.mark.rule("T14")
async def test_the_tool_decides_over_its_activity() -> None:
    unsteady, naps = Unsteady(9), Naps()
    tools = Tools(backoff=naps.backoff())
    tools.activity("look", lambda: unsteady(0), retries=5)
    tools.register("look", {"type": "object", "_effects": "none", "_retries": 1, "_output": {}})
    await result_and_events(agent(answer(call("look")), answer(output=0), tools=tools))
    assert len(unsteady.given) == 2


@pytest.mark.rule("T14")
@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (OSError("down"), 2),
        (errors.ActivityError("there is no such city"), 1),
        (errors.InvalidParameters("not a city"), 1),
    ],
    ids=["any exception", "an ActivityError of its own", "an error of Actum"],
)
async def test_an_error_of_actum_says_that_it_will_not_get_better(error: Exception, attempts: int) -> None:
    unsteady, naps = Unsteady(1, error), Naps()
    await result_and_events(agent(answer(call("look")), answer(output=0), tools=looking(unsteady, naps)))
    assert len(unsteady.given) == attempts


@pytest.mark.rule("T14", "A4")
@pytest.mark.parametrize("returned", ["text", object()], ids=["not what it says", "not JSON"])
async def test_a_result_that_can_not_be_used_is_not_asked_for_again(returned: object) -> None:
    given: list[int] = []
    tools = Tools(backoff=Naps().backoff())
    tools.register("look", {"type": "object", "_effects": "none", "_retries": 3, "_output": {"type": "integer"}})

    @tools.activity("look")
    def look() -> object:
        given.append(1)
        return returned

    assert look.name == "look"
    result, _ = await result_and_events(agent(answer(call("look")), answer(output=0), tools=tools))
    assert (len(given), len(result.errors)) == (1, 1)


@pytest.mark.rule("T14")
async def test_every_attempt_has_arguments_of_its_own() -> None:
    naps, arguments = Naps(), list[list[int]]()
    tools = Tools(backoff=naps.backoff())

    @tools.tool(effects="none", retries=1)
    async def sort(numbers: list[int]) -> list[int]:  # pyright: ignore[reportUnusedFunction]
        """Sort."""
        arguments.append(list(numbers))
        numbers.sort()
        if len(arguments) == 1:
            raise ConnectionError
        return numbers

    result, _ = await result_and_events(agent(answer(call("sort", numbers=[3, 1, 2]), output="†calls.0"), tools=tools))
    assert (arguments, result.output) == ([[3, 1, 2], [3, 1, 2]], [1, 2, 3])


@pytest.mark.rule("T14", "L6")
async def test_an_approval_holds_for_all_attempts() -> None:
    unsteady, approved = Unsteady(2), list[Call]()

    def approve(call: Call, *_: object) -> bool:
        approved.append(call)
        return True

    tools = looking(unsteady, Naps())
    result, _ = await result_and_events(agent(answer(call("look"), output="†calls.0"), tools=tools, approve=approve))
    assert (result.output, len(approved)) == (3, 1)


# What retries cost


@pytest.mark.rule("T14", "L5")
@pytest.mark.parametrize(("calls", "attempts"), [(1, 1), (3, 3), (9, 4)])
async def test_every_attempt_spends_a_call_and_there_is_none_that_the_run_can_not_afford(
    calls: int, attempts: int
) -> None:
    unsteady, naps = Unsteady(9), Naps()
    tools = looking(unsteady, naps)
    result, _ = await result_and_events(
        agent(answer(call("look")), answer(output=0), tools=tools, limits=Limits(calls=calls))
    )
    assert (len(unsteady.given), result.output) == (attempts, 0)


@pytest.mark.rule("T14", "L5")
@pytest.mark.parametrize("bound", ["the run", "the tool"])
async def test_a_wait_that_would_outlast_the_run_or_the_tool_is_not_begun(bound: str) -> None:
    unsteady, naps = Unsteady(9), Naps()
    tools = Tools(backoff=naps.backoff(first=3600.0, longest=7200.0))
    options: Json = {"timeout": 1800} if bound == "the tool" else {}
    tools.tool(name="look", effects="none", retries=3, **options)(lambda: unsteady(0))
    limits = Limits(seconds=1800) if bound == "the run" else None
    result, _ = await result_and_events(agent(answer(call("look")), answer(output=0), tools=tools, limits=limits))
    assert (len(unsteady.given), naps.seconds, result.output) == (1, [], 0)
    assert [error.message for error in result.errors] == ["tool 'look': ConnectionError: lost"]


@pytest.mark.rule("T14", "L7")
async def test_a_run_that_is_cancelled_while_it_waits_tries_nothing_again() -> None:
    unsteady, is_waiting, forever = Unsteady(9), asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        is_waiting.set()
        await forever.wait()

    tools = Tools(backoff=Backoff(sleep=sleep))
    tools.tool(name="look", effects="none", retries=3)(lambda: unsteady(0))
    async with asyncio.timeout(BOUND):
        running = asyncio.ensure_future(agent(answer(call("look")), answer(output=0), tools=tools).run("go"))
        await is_waiting.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert len(unsteady.given) == 1


@pytest.mark.rule("T14", "C5")
async def test_calls_outside_a_run_are_tried_again_too() -> None:
    unsteady, naps = Unsteady(2), Naps()
    tools = looking(unsteady, naps)
    assert await tools({"_tool": "look", "n": 1}) == 3
    assert naps.seconds == [0.5, 1.0]


@pytest.mark.rule("T14", "C12")
async def test_each_item_is_tried_again_by_itself() -> None:
    given: list[int] = []
    tools = Tools(backoff=Naps().backoff())

    @tools.tool(effects="none", retries=1)
    async def look(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        given.append(n)
        if given.count(n) == 1:
            raise ConnectionError
        return n

    result, received = await result_and_events(
        agent(answer(call("look", _each=[1, 2], n="†each"), output="†calls.0"), tools=tools)
    )
    assert (result.output, sorted(given)) == ([1, 2], [1, 1, 2, 2])
    assert {str(event.place) for event in received if isinstance(event, events.CallRetried)} == {"0.0.0", "0.0.1"}


# What is refused


@pytest.mark.rule("T14", "T3")
@pytest.mark.parametrize("options", [{}, {"effects": "some"}, {"effects": "ordered"}], ids=str)
def test_a_typed_function_that_may_do_something_twice_is_refused_at_registration(options: Json) -> None:
    def pay(amount: int, context: Context) -> int:
        return amount

    with pytest.raises(errors.SchemaError) as caught:
        Tools().tool(retries=2, **options)(pay)
    assert (caught.value.tool, caught.value.path) == ("pay", "_retries")
    assert "effects='none'" in caught.value.message
    assert "key" in caught.value.message


@pytest.mark.rule("T14", "T3")
@pytest.mark.parametrize("first", ["tool", "activity"])
@pytest.mark.parametrize("where", ["by the tool", "by the Activity"])
def test_so_is_an_activity_as_soon_as_its_tool_is_known(first: str, where: str) -> None:
    tools = Tools()
    schema: Json = {"type": "object", "properties": {"amount": {}}}
    retries = 2 if where == "by the Activity" else 0

    def pay(amount: int) -> int:
        return amount

    steps = [
        lambda: tools.register("pay", schema if retries else {**schema, "_retries": 2}),
        lambda: tools.activity("pay", pay, retries=retries),
    ]
    earlier, later = steps if first == "tool" else reversed(steps)
    earlier()
    with pytest.raises(errors.SchemaError, match="can't be tried again"):
        later()


@pytest.mark.rule("T14", "A1")
@pytest.mark.parametrize("parameter", [None, "key"])
async def test_and_one_that_a_message_leads_to_before_anything_is_asked(parameter: str | None) -> None:
    """A parameter of the tool that is named `key` is no key of its calls (A7)."""
    tools = Tools()

    def pay(key: str = "") -> str:
        return key

    tools.activity("pay", pay if parameter else lambda: 1)
    properties: Json = {parameter: {"type": "string"}} if parameter else {}
    context = [{"type": "tool", "tool": {"pay": {"type": "object", "_retries": 1, "properties": properties}}}]
    runner = agent(answer(output=1), tools=tools)
    with pytest.raises(errors.SchemaError, match="can't be tried again"):
        await runner.run(context)
    assert isinstance(runner.model, models.Scripted)
    assert runner.model.requests == []


@pytest.mark.rule("T14", "T3")
@pytest.mark.parametrize("wrong", [-1, True, "3", 1.5], ids=repr)
def test_retries_that_can_not_be_fail_at_registration(wrong: Any) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Tools().tool(name="it", effects="none", retries=wrong)(lambda: None)
    assert caught.value.path == "properties._retries"
    with pytest.raises(errors.SchemaError, match="retries must be a whole number"):
        Tools().activity("it", retries=wrong)(lambda: None)


@pytest.mark.rule("T14", "D1")
def test_a_delegate_is_not_tried_again() -> None:
    tools = Tools()
    with pytest.raises(errors.SchemaError, match="is tried again"):
        tools.register("ask", {"type": "object", "_delegate": "a.json", "_retries": 1})
    tools.activity("ask", lambda: 1, retries=1)
    with pytest.raises(errors.SchemaError, match="delegate's place"):
        tools.register("ask", {"type": "object", "_delegate": "a.json", "_effects": "none"})


def test_waits_double_and_spread_and_are_bounded() -> None:
    most, least = Backoff(chance=lambda: 1.0, longest=3), Backoff(chance=lambda: 0.0, longest=3)
    assert [most.seconds(n) for n in range(5)] == [0.5, 1, 2, 3, 3]
    assert [least.seconds(n) for n in range(5)] == [0.25, 0.5, 1, 1.5, 1.5]
    assert most.seconds(10**9) == 3
