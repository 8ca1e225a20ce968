"""Questions of runs as MCP knows them: elicitation for decisions, sampling for answers of the host's model; and back.

Sampling is deprecated since 2026-07-28 (SEP-2577); the host's model can answer by a tool instead. A form is flat, and
its message the same in every round: the call stands in it as it would be carried out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..protocol.approvals import Pending, Ruling
from ..schema.json import JsonObject, decode, encode, is_object
from ..schema.quoting import printable
from ..studio.notation import folded_call
from .asks import Question

if TYPE_CHECKING:
    import mcp_types as types

_ANSWER = "answer"
_MOST_TOKENS = 32_000
_LONGEST_CALL = 4_000
_FENCE = re.compile(r"\s*```[A-Za-z]*\n(.*?)```\s*", re.DOTALL)
_TOO_LONG = (
    "This is more than a form can show, so it can't be approved here: look at it, and decide, in the Studio or by "
    "`actum waiting` and `actum approve`."
)


def _form(*decisions: str) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": [*decisions], "description": "Whether the call is made."},
            "reason": {"type": "string", "description": "Why not: the model is told."},
        },
        "required": ["decision"],
    }


_FORM = _form("approve", "deny")
_FORM_OF_PART = _form("deny")


def can_elicit(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether a client shows forms; one that names no kind of them shows these."""
    found = None if capabilities is None else capabilities.elicitation
    return found is not None and (found.form is not None or found.url is None)


def can_sample(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether a client has a model that answers."""
    return capabilities is not None and capabilities.sampling is not None


def elicitation(one: Pending) -> types.ElicitRequest:
    """The form by which the user of a host decides on a call; one that doesn't show it whole can only deny it."""
    import mcp_types as types

    words, is_whole = decision_text(one)
    form = _FORM if is_whole else _FORM_OF_PART
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=words, requested_schema=form))


def decision_text(one: Pending) -> tuple[str, bool]:
    """A call in words, for the eyes of who decides, never for a model; and whether that is all of it."""
    call = {key: value for key, value in one.call.items() if key != "_tool"}
    shown = printable(encode(call))
    is_whole = len(shown) <= _LONGEST_CALL
    path = f" (by {' › '.join(one.delegates)})" if one.delegates else ""
    derived = f"\nMade of data that calls have brought: {', '.join(one.derived)}." if one.derived else ""
    folded = f"\n{folded_call(call)}"
    words = f"Shall this call be made? {one.call.get('_tool')}{path} {shown if is_whole else folded}{derived}"
    return (words if is_whole else f"{words}\n{_TOO_LONG}"), is_whole


def ruling(result: types.ElicitResult, one: Pending) -> tuple[Ruling, str] | None:
    """What was decided on a call; None where it was put off. An empty form approves nothing, nor one of a part."""
    if result.action == "decline":
        return "deny", "declined"
    if result.action != "accept":
        return None
    content: Any = result.content or {}
    said, reason = content.get("decision"), content.get("reason")
    if said == "approve":
        return ("approve", "") if decision_text(one)[1] else None
    return ("deny", str(reason) if reason else "denied") if said == "deny" else None


def sampling(question: Question, capabilities: types.ClientCapabilities | None) -> types.CreateMessageRequest:
    """A question as a request to the host's model: with a tool that it must call, where the host knows tools."""
    import mcp_types as types

    has_tools = capabilities is not None and capabilities.sampling is not None and capabilities.sampling.tools
    system = [str(one["content"]) for one in question.messages if one["role"] == "system"]
    rest = [one for one in question.messages if one["role"] != "system"] or [{"role": "user", "content": "Go on."}]
    tools = None
    if has_tools:
        tools = [types.Tool(name=_ANSWER, description="Gives the answer.", input_schema=decode_object(question.schema))]
    else:
        system.append(f"Answer with one JSON object and nothing else. It has to fit this schema: {question.schema}")
    messages = [
        types.SamplingMessage(role=one["role"], content=types.TextContent(text=str(one["content"]))) for one in rest
    ]
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=messages,
            system_prompt="\n\n".join(system) or None,
            max_tokens=_MOST_TOKENS,
            tools=tools,
            tool_choice=types.ToolChoice(mode="required") if tools else None,
        )
    )


def answered(result: types.CreateMessageResult | types.CreateMessageResultWithTools) -> str:
    """The text of an answer: what the tool was called with, else what was written, without a fence around it."""
    blocks: list[Any] = list(result.content) if isinstance(result.content, list) else [result.content]
    for block in blocks:
        if block.type == "tool_use" and block.name == _ANSWER:
            return encode(block.input)
    text = "".join(block.text for block in blocks if block.type == "text")
    found = _FENCE.fullmatch(text)
    return found[1] if found else text


def decode_object(text: str) -> JsonObject:
    """JSON text that is known to hold an object."""
    value = decode(text)
    assert is_object(value)
    return value
