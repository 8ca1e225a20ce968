"""The Call document's patterns, as it prints them: one, all, any, race."""

from __future__ import annotations

import pytest

from actum import Tools
from actum.errors import ActumError
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("C5")


def kitchen() -> Tools:
    tools = Tools()

    @tools.tool
    async def pizza(size: str, topping: str) -> str:
        """Order a pizza."""
        if size == "none":
            raise ValueError("there is no such size")
        return f"{size}, {topping}"

    assert pizza.name == "pizza"
    return tools


def order(size: str) -> Json:
    return {"_tool": "pizza", "size": size, "topping": "пепперони"}


async def test_one_call_gives_its_result() -> None:
    assert await kitchen()(order("большой")) == "большой, пепперони"


async def test_all_calls_succeed_or_none_does() -> None:
    tools = kitchen()
    calls = [order("большой"), order("малый")]
    assert await tools.all(calls) == ["большой, пепперони", "малый, пепперони"]
    with pytest.raises(ActumError, match="no such size"):
        await tools.all([order("большой"), order("none")])


async def test_any_gives_the_first_success() -> None:
    assert await kitchen().any([order("none"), order("малый")]) == "малый, пепперони"


async def test_a_race_is_won_by_the_first_to_end_also_by_failing() -> None:
    with pytest.raises(ActumError, match="no such size"):
        await kitchen().race([order("none")])
    assert await kitchen().race([order("малый")]) == "малый, пепперони"
