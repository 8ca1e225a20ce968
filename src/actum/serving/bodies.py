"""The bodies of requests as JSON Schemas: they judge what comes in, and stand in the OpenAPI document."""

from __future__ import annotations

from ..schema.json import JsonObject

_ID: JsonObject = {
    "type": "string",
    "description": "The run's id; the same id again is the same run, so a request may be sent again.",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$",
}
START: JsonObject = {
    "type": "object",
    "properties": {
        "idea": {"type": "string", "description": "The name of the Idea."},
        "input": {"type": "object", "description": "Its input, which its own schema judges."},
        "messages": {
            "type": "array",
            "items": {"type": "object"},
            "maxItems": 10_000,
            "description": "Messages behind the Idea's own: texts, data, images; no tools, no plans.",
        },
        "id": _ID,
        "limits": {
            "type": "object",
            "properties": {
                name: {"type": "number", "minimum": 0}
                for name in ("requests", "calls", "seconds", "tokens", "usd", "depth", "bytes")
            },
            "additionalProperties": False,
            "description": "What the run may spend; it may be less than its Idea and its server allow, not more.",
        },
        "priority": {"type": "integer", "minimum": -1000, "maximum": 1000},
        "patience": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "After how many seconds a call that nobody has decided on is refused.",
        },
    },
    "required": ["idea"],
    "additionalProperties": False,
}
DECISION: JsonObject = {
    "type": "object",
    "properties": {
        "of": {"type": "string", "description": "The place of the call that waits, such as 0.1."},
        "decision": {"enum": ["approve", "deny"]},
        "reason": {"type": "string", "maxLength": 4000, "description": "Why it is denied: the model is told."},
        "parameters": {"type": "object", "description": "What takes the place of the call's own parameters."},
        "call": {"type": "object", "description": "The call that was looked at: it must be the one that waits."},
    },
    "required": ["of", "decision"],
    "additionalProperties": False,
}
SIGNAL: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The gate: budget is the one at †state.approvals.budget."},
        "value": {"description": "What is put there; true if it is left out."},
    },
    "required": ["name"],
    "additionalProperties": False,
}
