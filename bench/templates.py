"""Agentic Plan Caching (arXiv 2506.14852) as far as it goes without a model: a family's first run is the template.

There, the keyword of a request finds the template, and a small model adapts it: one request at least. Here the keyword
is taken to find the right template always, which is the best that it can do. What the small model would write isn't
known; what is known is whether the template does the same as an ordinary run if it is filled in by values alone: what
stood in the first input is taken from the input, what earlier calls had brought from where it stood in their results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actum import Result
from actum.schema.json import JsonObject

from .fit.wiring import Made, wired


@dataclass(frozen=True, slots=True)
class Template:
    """The calls of a run with references for the values that its input or earlier calls had brought."""

    plan: JsonObject

    @classmethod
    def of(cls, given: Mapping[str, Any], result: Result[Any]) -> Template:
        """That of a run by what it was given and what it made."""
        made = [Made(call.tool, call.arguments, call.value) for call in result.calls if call.state == "done"]
        # The input is the first result: what it has brought is referred to as what calls have brought.
        _, *calls = wired([Made("", {}, given), *made])
        return cls({"type": "plan", "plan": [{"_value": "†input"}, *calls], "output": True})
