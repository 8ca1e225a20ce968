"""A request as a person reads it: the messages as text, and the schema in what a provider would be sent."""

from __future__ import annotations

import json
from typing import Any

from actum.generation.answer_parser import AnswerParser, AnswerSyntax
from actum.schema.json import encode

from .exchange import Asked
from .lane import Lane
from .ordinary import Unusable, decoded, program_of, round_of
from .tasks import Name
from .trial import Loop

_WIDTH, _LONG = 100, 400
_FORMS = {
    "actum": '{"calls": […], "output": …}',
    "plans": '{"calls": […], "output": …}',
    "code": '{"code": "…"} or {"text": "…"}',
    "tools": '{"tool_calls": [{"name": …, "arguments": {…}}]} or {"text": …}',
}
_USER = '{"message": "…"}, as the user'


def request_text(lane: Lane, loop: Loop, task: Name, asked: Asked, command: str) -> str:
    """Show a request that waits, and by which command it is answered."""
    position = list(lane.tasks).index(task) + 1
    title = f"== {lane.name}, {loop}: task {position} of {len(lane.tasks)}, request {asked.number} of it ({task})"
    parts = [f"{title} ".ljust(_WIDTH, "=")]
    if asked.is_anew:
        parts.append("Answers that this task was given before no longer fit what it asks: it begins anew.")
    if loop == "actum" and not _options(json.loads(asked.schema)):
        parts.append(
            "It is made in isolation: answer from what stands here, and from nothing that you have seen before."
        )
    shown = _shown_before(lane, loop, task, asked)
    parts += [_rule(message["role"]) + shown.get(message["content"], message["content"]) for message in asked.messages]
    if asked.is_beside:
        schema = shown.get(asked.schema) or _lines(json.loads(asked.schema))
        parts.append(_rule("the JSON Schema that the answer must fit") + schema)
    parts.append(
        f"{_rule('to answer')}One JSON object, {_USER if _is_of_user(asked) else _FORMS[loop]}.\n"
        f"ANSWER is a file that holds it, - for standard input, or the object itself:\n{command} ANSWER"
    )
    return "\n\n".join(parts) + "\n"


def complaint(loop: Loop, asked: Asked, text: str) -> str | None:
    """Why a text is no answer at all; None if it is one. What an answer says is for the loop to judge."""
    if not text.strip():
        return "it is empty"
    try:
        if _is_of_user(asked):
            decoded(text)
        elif loop == "code":
            program_of(text)
        elif loop == "tools":
            round_of(text)
        else:
            parser = AnswerParser()
            list(parser.feed(text))
            parser.finish()
    except (AnswerSyntax, Unusable) as error:
        return str(error)
    return None


def _is_of_user(asked: Asked) -> bool:
    """Whether it is what a simulated user says that is asked for."""
    return json.loads(asked.schema).get("properties", {}).keys() == {"message"}


def _shown_before(lane: Lane, loop: Loop, task: Name, asked: Asked) -> dict[str, str]:
    """Of long texts that the lane has shown in this way before: where. What is sent holds them whole each time."""
    shown: dict[str, str] = {}
    for other in lane.tasks:
        exchange = lane.exchange(loop, other)
        for earlier in exchange.asked:
            if (other, earlier.number) == (task, asked.number):
                return shown
            for text in (*(message["content"] for message in earlier.messages), earlier.schema):
                if len(text) > _LONG:
                    at = f"request {earlier.number} of {other} ({exchange.folder}/request-{earlier.number}.json)"
                    shown.setdefault(text, f"The same as in {at}.")
    return shown


def _lines(schema: dict[str, Any]) -> str:
    """The schema as compact JSON in which each call begins a line: nothing else is different from what is sent."""
    text = encode(schema)
    for option in _options(schema):
        written = encode(option)
        text = text.replace(written, f"\n{written}", 1)
    return text


def _options(schema: dict[str, Any]) -> list[Any]:
    """The schemas of the calls that an answer may make."""
    items: dict[str, Any] = schema.get("properties", {}).get("calls", {}).get("items") or {}
    return items.get("anyOf", [items] if items else [])


def _rule(title: str) -> str:
    return f"-- {title} ".ljust(_WIDTH, "-") + "\n"
