"""What editors and `help` read at run time of a function that is a tool or an Activity."""

import inspect
from typing import Any

from actum import Tools


async def weather(city: str, *, days: int = 1) -> list[str]:
    """Forecast for a city."""
    return [city] * days


def test_a_decorated_function_keeps_its_signature_its_name_and_its_docstring() -> None:
    tools = Tools()
    made: list[Any] = [tools.tool(weather), tools.tool(name="other", effects="none")(weather)]
    made += [tools.activity("some")(weather), tools.tool(tools.activity("stacked", weather))]
    for one in made:
        assert inspect.signature(one) == inspect.signature(weather)
        assert (one.__name__, one.__qualname__, inspect.getdoc(one)) == ("weather", "weather", "Forecast for a city.")
