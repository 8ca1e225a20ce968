"""What a model is told of its likeliest mistakes: in one line what was there, where, and what would have been right,
and nothing that data holds (C2, C3, C10, C11, C12, E1, E2, E5, E6, O7, O9, O10, O11)."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import TypedDict

from actum import Config, Tools, errors
from actum.schema.json import JsonObject as Json

from .scripts import agent, answer, call, run, sent, text_of


class Payment(TypedDict):
    id: str
    name: str
    amount: float


def bank() -> Tools:
    tools = Tools()

    @tools.tool
    async def payments(account: str = "a") -> list[Payment]:
        """List payments."""
        return [{"id": "p1", "name": "Ann", "amount": 12.5}, {"id": "p2", "name": "Bo", "amount": 3}]

    @tools.tool
    async def pay(amount: float) -> str:
        """Pay."""
        return "paid"

    @tools.tool
    async def mail(text: str) -> str:
        """Send a mail."""
        return "sent"

    @tools.tool
    async def page() -> Any:
        """Return what others have written."""
        return {"SECRET": "SECRET", "rows": ["SECRET"]}

    @tools.tool
    async def label(row: dict[str, int]) -> dict[str, int]:
        """Label a row."""
        return {"SECRET": "SECRET"}  # type: ignore[dict-item]

    @tools.tool
    async def fail() -> str:
        """Fail."""
        raise RuntimeError("no connection")

    return tools


def pay(amount: object) -> Json:
    return call("pay", amount=amount)


def mail(text: object, **more: Any) -> Json:
    return call("mail", text=text, **more)


ANY = "a loop stands inside of brackets: [… for x in …], or one(… for x in … if …)"
GROUPS = [  # an expression that can't be read: what a parameter holds, and the whole message behind its place
    ("{†calls.0.map(x => x.name)}",
     "=> isn't part of the language (write [… for x in xs]; lambda x: … behind key= only), "
     "at character 15 of {†calls.0.map(x => x.name)}"),
    ("{†calls.0.map(f)}", "there is no method .map(); write [… for x in xs if …], at character 0 of {†calls.0.map(f)}"),
    ("{†calls.0.length}", "a list has no 'length'; write len(…), in {†calls.0.length}"),
    ("{†calls.0 && True}", "&& isn't part of the language (write and), at character 9 of {†calls.0 && True}"),
    ("{†calls.0 === 1}", "=== isn't part of the language (write ==), at character 9 of {†calls.0 === 1}"),
    ("{†calls.0 == null}", "nothing here is named null: write None, at character 12 of {†calls.0 == null}"),
    ("{import re; †calls.0}",
     "import isn't part of the language (write one expression, without statements), "
     "at character 0 of {import re; †calls.0}"),
    ("{x.name for x in †calls.0}", f"{ANY}, at character 7 of {{x.name for x in †calls.0}}"),
    ("{{ †calls.0[0].name }}",
     "one pair of braces is enough: {†calls.0[0].name}, at character 0 of {{ †calls.0[0].name }}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), GROUPS)
async def test_an_expression_that_cant_be_read_says_what_to_write(text: str, message: str) -> None:
    result = await run(answer(call("payments"), mail(text)), answer(output=1), tools=bank())
    assert [str(error) for error in result.errors] == [f"tool 'mail', at text: {message}"]


CALLS = [  # what was written behind a call of `payments`, and the whole message
    (mail("Paid †calls.0[0].amount."),
     "tool 'mail', at text: †calls.0[0].amount at character 5 stands in a text without braces: "
     "write {†calls.0[0].amount}, or ††calls for the sign itself"),
    (pay("†calls.0[-1].amount"),
     "tool 'pay', at amount: more than a reference stands in braces, as an expression: {†calls.0[-1].amount}"),
    (pay("{calls.0.amount}"),
     "tool 'pay': amount: \"{calls.0.amount}\" is not of type \"number\"; a group refers by †: {†calls.0.amount}"),
    (pay("†calls[0].amount"),
     "tool 'pay', at amount: †calls.0.amount: a list has no 'amount'; "
     "use one(x for x in … if …), an index or a comprehension"),
    (pay("{[x.amount for x in †calls.0]}"),
     "tool 'pay', at amount: {[x.amount for x in †calls.0]}: a list where a number is needed; "
     "one(x for x in … if …) picks one"),
    (pay("{one(x.amout for x in †calls.0)}"),
     "tool 'pay', at amount: no 'amout' (did you mean 'amount'?), it has id, name, amount, at x.amout, "
     "in {one(x.amout for x in †calls.0)}"),
    (mail("†calls.0[0].amount"),
     "tool 'mail', at text: †calls.0[0].amount: a number where a text is needed; {str(x)} makes one"),
    (mail("x", _when="if there are any"),
     "tool 'mail', at _when: a condition is an expression such as \"{†calls.0.total > 10}\", "
     "or a reference to true or false"),
    (mail("x", _when="len(†calls.0) > 0"),
     "tool 'mail', at _when: an expression stands in braces: {len(†calls.0) > 0}"),
    (mail("†each", _each="Ann, Bo"),
     "tool 'mail', at _each: it is a list, a reference to one, "
     "or an expression such as \"{[x for x in †calls.0 if …]}\""),
    (mail("{†each.name}"),
     "tool 'mail', at text: †each is the item of a call with '_each', and this call has no '_each'"),
    (mail("{†item.name}", _each="†calls.0"), "tool 'mail': nothing fills †item.name; the item is †each"),
    (mail("{†payments[0].name}"), "tool 'mail': nothing fills †payments; the result of payments is †calls.0"),
    (mail("†results.9"),
     "tool 'mail', at text: †results.9: no result has been shown yet; "
     "†calls.N is the result of a call of the same answer"),
    (mail("{†calls.9.name}"), "tool 'mail': nothing fills †calls.9; the answer has †calls.0 to †calls.1"),
    (mail("x", _then=True),
     "at _then: what orders the others is {\"_then\": true} and nothing else: a call is an element of its own"),
    (call("payments", acount="a"),
     "tool 'payments': Additional properties are not allowed ('acount' was unexpected); it takes account"),
    (call("payments", **{"_" + "x" * 99: 1}),
     f"tool 'payments', at _{'x' * 99}: '_{'x' * 38}…' is not a meta-property"),
    (call("payments", _wen=True), "tool 'payments', at _wen: '_wen' is not a meta-property; did you mean '_when'?"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), CALLS)
async def test_a_call_that_is_refused_says_what_would_be_right(wrong: Json, message: str) -> None:
    result = await run(answer(call("payments"), wrong), answer(output=1), tools=bank())
    assert [str(error) for error in result.errors] == [message]


async def test_an_output_beside_a_failure_is_told_to_be_withheld() -> None:
    runner = agent(answer(call("fail"), call("payments"), output="Done."), answer(output="Not done."), tools=bank())
    assert (await runner.run("go")).output == "Not done."
    prompt = text_of(sent(runner)[1].messages)
    assert "tool 'fail': RuntimeError: no connection" in prompt
    assert "Your last `output` was not delivered: something failed. What has been done stays done" in prompt


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (pay("†calls.0.SECRE"), "nothing fills †calls.0.SECRE; †calls.0 is an object of 2 keys, of which this is none"),
        (pay("†calls.0.rows[0]"), 'tool \'pay\': amount: it is not of type "number"'),
        (pay("{†calls.0.rows[0]}"), 'tool \'pay\': amount: it is not of type "number"'),
        (call("pay", _each="†calls.0.rows", amount="†each"), "1 of 1 items failed"),
        (call("label", row="†calls.0"), 'tool \'label\': row.…: it is not of type "integer"'),
        (call("label", row={}), 'the result doesn\'t fit \'_output\': …: it is not of type "integer"'),
    ],
)  # fmt: skip
async def test_what_others_have_written_is_in_no_error(wrong: Json, message: str) -> None:
    result = await run(answer(call("page"), wrong), answer(output=1), tools=bank())
    text = " ".join(str(error) for error in result.errors)
    assert message in text
    assert "SECRET" not in text


async def test_an_output_that_doesnt_fit_doesnt_quote_what_it_refers_to() -> None:
    runner = agent(answer(call("page"), output="†calls.0"), answer(output=1), tools=bank())
    text = " ".join(str(error) for error in (await runner.run("go", int)).errors)
    assert text
    assert "SECRET" not in text


async def test_an_output_that_cant_be_read_is_asked_for_again_with_the_reason() -> None:
    with pytest.raises(errors.SolutionError) as caught:
        await run(answer(call("payments"), output={"said": ["Paid †calls.0"]}), tools=bank(), config=Config(retries=0))
    assert "at output.said[0]: †calls.0 at character 5 stands in a text without braces: write {†calls.0}" in str(
        caught.value
    )
