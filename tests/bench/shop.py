"""A small world for the kit's tests: a shop with orders, in which three tasks can be judged. No package is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.fit.corpus import tool_schema
from bench.fit.tasks import INSTRUCTIONS, Name, RefusedByTool
from bench.fit.wiring import Made

from actum import Tools
from actum.models import Model

TASKS = {"shop": [0, 1, 2]}
_ORDERS = [{"id": 1, "item": "lamp", "price": 40}, {"id": 2, "item": "desk", "price": 90}]
_ORDER = {"properties": {"id": {"type": "integer"}, "item": {"type": "string"}, "price": {"type": "number"}}}
_DONE = {"type": "string"}
_FUNCTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "get_orders": ({"properties": {}}, {"type": "array", "items": {"type": "object", **_ORDER}}),
    "refund": ({"properties": {"id": {"type": "integer"}}, "required": ["id"]}, _DONE),
    "mail": ({"properties": {"to": {"type": "string"}, "text": {"type": "string"}}, "required": ["to", "text"]}, _DONE),
}


class Shop:
    """A task: refund the lamp (0), say what the dearest item is (1), or refund and mail (2)."""

    instructions = INSTRUCTIONS

    def __init__(self, task: int) -> None:
        self._task = task
        self.refunded: list[int] = []
        self.mailed: list[str] = []
        self.made: list[Made] = []

    @property
    def prompt(self) -> str:
        return ("Refund the lamp.", "Which item is the dearest?", "Refund the lamp, and tell ann by mail.")[self._task]

    async def reply(self, text: str, model: Model) -> str | None:
        return None

    def tools(self) -> Tools:
        tools = Tools()
        for name, (parameters, returns) in _FUNCTIONS.items():
            tools.register(name, tool_schema({"type": "object", **parameters}, returns))
            tools.activity(name, self._activity(name))
        return tools

    def functions(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "description": "", "parameters": {"type": "object", **parameters}}
            for name, (parameters, _) in _FUNCTIONS.items()
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        answer = self._called(name, arguments)
        self.made.append(Made(name, arguments, answer))
        return answer

    def _called(self, name: str, arguments: Mapping[str, Any]) -> Any:
        match name:
            case "get_orders":
                return _ORDERS
            case "refund" if arguments["id"] in (1, 2):
                self.refunded.append(arguments["id"])
                return "refunded"
            case "mail":
                self.mailed.append(f"{arguments['to']}: {arguments['text']}")
                return f"mail {len(self.mailed)}"
            case _:
                raise RefusedByTool(f"{name} can't do that")

    def is_useful(self, output: str) -> bool:
        if self._task == 1:
            return "desk" in output and not self.refunded
        return self.refunded == [1] and bool(self.mailed) == (self._task == 2)

    def _activity(self, name: str) -> Any:
        async def carried_out(call: Mapping[str, Any]) -> Any:
            return self.call(name, {key: value for key, value in call.items() if key[:1] != "_"})

        return carried_out


def opening(name: Name) -> Shop:
    """A task in a fresh shop."""
    return Shop(name.number)
