"""Questions of runs as MCP requests, and the responses: elicitation for decisions, sampling for the host's model.

Sampling is deprecated since 2026-07-28 (SEP-2577); the host's model can answer by a tool instead. A form is flat, and
its message, which shows the call as it would be carried out, is the same in every round.
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
_GO_ON: JsonObject = {"role": "user", "content": "Go on."}
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
    """Whether a client shows forms; it does, too, if it names no kind of elicitation."""
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def can_sample(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether a client has a model that answers."""
    return capabilities is not None and capabilities.sampling is not None


def elicitation(pending: Pending) -> types.ElicitRequest:
    """The form for a user's decision on a call; if it can't show the whole call, the user can only deny it."""
    import mcp_types as types

    words, is_whole = decision_text(pending)
    form = _FORM if is_whole else _FORM_OF_PART
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=words, requested_schema=form))


def decision_text(pending: Pending) -> tuple[str, bool]:
    """The question about a call, for the user and never for a model, and whether it shows the whole call."""
    call = {key: value for key, value in pending.call.items() if key != "_tool"}
    shown = printable(encode(call))
    is_whole = len(shown) <= _LONGEST_CALL
    path = f" (by {' › '.join(pending.delegates)})" if pending.delegates else ""
    derived = f"\nMade of data that calls have brought: {', '.join(pending.derived)}." if pending.derived else ""
    folded = f"\n{folded_call(call)}"
    words = f"Shall this call be made? {pending.call.get('_tool')}{path} {shown if is_whole else folded}{derived}"
    return (words if is_whole else f"{words}\n{_TOO_LONG}"), is_whole


def ruling(result: types.ElicitResult, pending: Pending) -> tuple[Ruling, str] | None:
    """The decision on a call; None if it was put off. An empty form approves nothing, nor one that shows a part."""
    if result.action == "decline":
        return "deny", "declined"
    if result.action != "accept":
        return None
    content: Any = result.content or {}
    decision, reason = content.get("decision"), content.get("reason")
    if decision == "approve":
        return ("approve", "") if decision_text(pending)[1] else None
    return ("deny", str(reason) if reason else "denied") if decision == "deny" else None


def sampling(question: Question, capabilities: types.ClientCapabilities | None) -> types.CreateMessageRequest:
    """A question as a request to the host's model; if the host supports tools, with a tool that the model must call."""
    import mcp_types as types

    has_tools = capabilities is not None and capabilities.sampling is not None and capabilities.sampling.tools
    system = [str(turn["content"]) for turn in question.messages if turn["role"] == "system"]
    turns = [turn for turn in question.messages if turn["role"] != "system"] or [_GO_ON]
    tools = None
    if has_tools:
        tools = [types.Tool(name=_ANSWER, description="Gives the answer.", input_schema=decode_object(question.schema))]
    else:
        system.append(f"Answer with one JSON object and nothing else. It has to fit this schema: {question.schema}")
    messages = [
        types.SamplingMessage(role=turn["role"], content=types.TextContent(text=str(turn["content"]))) for turn in turns
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


def answer_text(result: types.CreateMessageResult | types.CreateMessageResultWithTools) -> str:
    """The text of an answer: the arguments of the tool, else the text without a fence around it."""
    blocks: list[Any] = list(result.content) if isinstance(result.content, list) else [result.content]
    for block in blocks:
        if block.type == "tool_use" and block.name == _ANSWER:
            return encode(block.input)
    text = "".join(block.text for block in blocks if block.type == "text")
    match = _FENCE.fullmatch(text)
    return match[1] if match else text


def decode_object(text: str) -> JsonObject:
    """Decode JSON text that is known to be an object."""
    value = decode(text)
    assert is_object(value)
    return value
