"""A summary in place of the oldest turns of a conversation, made by one latent call (M4, D9)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any

from ..errors import MessageError
from ..execution.delegation.delegation import Delegation
from ..execution.isolated import Suspension
from ..execution.record.journal import written_message
from ..messages.media import MEDIA, media_name
from ..protocol.applying import numbered_value
from ..protocol.call import Call, Place
from ..protocol.context import Context
from ..protocol.declaration import parse_tool
from ..protocol.lineage import BROUGHT
from ..protocol.marks import Marks, is_users, to_cut, without_messages
from ..protocol.message import Write, is_result
from ..schema.json import JsonObject, encode, text_or_json

EARLIER = "earlier"
"""The kind of data that holds the summary."""
_TOOL = parse_tool(
    {
        "description": (
            "Write down in short what was said and found in the turns of a conversation that it is about to lose: who "
            "wants what, what was decided, names, numbers, and what is open. Keep what an older summary says."
        ),
        "properties": {"_output": {"type": "string"}, "_outputPath": {"const": f"†{EARLIER}"}},
    },
    "summarize",
)
_CALL = Call({"_tool": _TOOL.name, "_outputPath": f"†{EARLIER}"})
_MOST_OF_RESULT = 1_000
"""How many characters of a result are summed up: as many as the model was shown of it (M7)."""
_PART = 4
"""A summary may fill at most this part of a context (a quarter), whatever the model writes."""


def check_summary_kind(context: Context) -> None:
    """Check that the context has no data of its own under the summary's kind.

    Raises:
        MessageError: it has.
    """
    for index, message in enumerate(context):
        if context.kind_of(message) == EARLIER and message.get("_call") != _CALL:
            raise MessageError(f"the kind {EARLIER!r} is that of the summary: give yours another name", index=index)


async def with_summary(context: Context, most: int, delegation: Delegation) -> Context:
    """The context with a summary in place of its oldest turns, if it is longer than `most` characters.

    The rest is cut to half of `most`, so that a summary is seldom needed.

    Raises:
        DelegateError, LimitExceeded: no summary could be made.
    """
    if not to_cut(context, most):
        return context
    cut = {*to_cut(context, most // 2), *(at for at, message in enumerate(context) if message.get("_call") == _CALL)}
    answer = Marks.of(context.messages).next_answer
    # To the model that sums it up, all of it is data: in a sealed run, what came from calls counts as brought (S10).
    turns = Context([{"type": "text", "text": "\n\n".join(_transcript(context, cut)), BROUGHT: True}])
    suspension = Suspension(place=Place(answer, 0), call=_CALL)
    summary: Any = await delegation.latent(_CALL, _TOOL, turns, suspension)
    text = str(summary)[: most // _PART]
    write = Write(EARLIER, None, "set", (), text)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    message = written_message(write, dict(_CALL), str(suspension.place), date, context.data_kinds)
    note = "what was said in earlier turns, in short"
    return without_messages(context, cut, {**message, "description": note})


def _transcript(context: Context, cut: Collection[int]) -> Iterator[str]:
    """The messages that are about to be cut, as text."""
    for at in sorted(cut):
        message = context.messages[at]
        if message.get("_call") == _CALL:
            yield f"¶{EARLIER}\n{text_or_json(message['data'])}"
        elif is_result(message):
            yield f"¶result of {encode(message['_call'])}\n{_short(numbered_value(message))}"
        elif message.get("type") == "output":
            yield f"¶assistant\n{text_or_json(message['output'])}"
        elif message.get("type") == "error":
            yield f"¶error\n{_short(message['error'])}"
        elif message.get("type") in MEDIA:
            yield f"¶{message['type']} {media_name(message)}"
        elif "_call" not in message:
            yield f"¶{'user' if is_users(message) else 'assistant'}\n{text_or_json(_words_of(message))}"


def _words_of(message: JsonObject) -> Any:
    return next((message[key] for key in ("message", "text", "content") if key in message), "")


def _short(value: Any) -> str:
    text = text_or_json(value)
    return text if len(text) <= _MOST_OF_RESULT else f"{text[:_MOST_OF_RESULT]}…"
