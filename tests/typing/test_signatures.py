"""What editors and `help` read at run time of a function that is a tool or an Activity."""

import inspect
from typing import Any

from actum import Tools


async def weather(city: str, *, days: int = 1) -> list[str]:
    """Forecast for a city."""
    return [city] * days


def test_a_decorated_function_keeps_its_signature_its_name_and_its_docstring() -> None:
    tools = Tools()
    decorated: list[Any] = [tools.tool(weather), tools.tool(name="other", effects="none")(weather)]
    decorated += [tools.activity("some")(weather), tools.tool(tools.activity("stacked", weather))]
    for function in decorated:
        assert inspect.signature(function) == inspect.signature(weather)
        assert (function.__name__, function.__qualname__, inspect.getdoc(function)) == (
            "weather",
            "weather",
            "Forecast for a city.",
        )
