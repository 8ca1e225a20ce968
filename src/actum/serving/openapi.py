"""The OpenAPI document: one operation for each Idea, made of its own schemas, and those of all runs.

The schemas of the bodies judge what comes in, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import get_args

from .. import __version__
from ..protocol.config import Limits
from ..runs.row import State
from ..schema.json import JsonObject, is_object
from .idea_interface import Interface

_RUN_ID: JsonObject = {
    "type": "string",
    "description": "The run's id, the caller's own; the same id again is the same run, so a request may be sent again.",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,179}$",
}
START: JsonObject = {
    "type": "object",
    "properties": {
        "idea": {"type": "string", "description": "The name of the Idea."},
        "input": {"type": "object", "description": "Its input, which its own schema judges."},
        "messages": {
            "type": "array",
            "items": {"type": "object"},
            "maxItems": 3_000,
            "description": "Messages behind the Idea's own: texts, data, images; no tools, no plans.",
        },
        "id": _RUN_ID,
        "limits": {
            "type": "object",
            "properties": {name: {"type": "number", "minimum": 0} for name in (limit.name for limit in fields(Limits))},
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
        "of": {"type": "string", "description": "The place of the call that waits, for example 0.1."},
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
_WAIT: JsonObject = {
    "name": "wait",
    "in": "query",
    "description": "Answer once the run is over or waits for a decision, or after so many seconds (at most 60).",
    "schema": {"type": "integer", "minimum": 0, "maximum": 60},
}
_ID: JsonObject = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_RUN: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "idea": {"type": ["string", "null"]},
        "state": {"enum": [*get_args(State)]},
        "output": {"description": "What it came to, once that is there."},
        "waiting": {"type": "array", "items": {"type": "string"}, "description": "What it waits for."},
        "missing": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What it needs that no worker has had so far; it waits for one.",
        },
        "error": {"$ref": "#/components/schemas/Error"},
        "usage": {"type": "object"},
        "created": {"type": "number"},
        "ended": {"type": ["number", "null"]},
    },
    "required": ["id", "state"],
}
_ERROR: JsonObject = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
}


def document(ideas: Iterable[Interface]) -> JsonObject:
    """The document of a server that serves these Ideas."""
    interfaces = list(ideas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Actum", "version": __version__},
        "security": [{"token": []}],
        "paths": {f"/ideas/{interface.name}/runs": {"post": _start(interface)} for interface in interfaces} | _runs(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Run": _RUN, "Error": _ERROR},
        },
    }


def _start(interface: Interface) -> JsonObject:
    done: JsonObject = {
        "allOf": [{"$ref": "#/components/schemas/Run"}, {"properties": {"output": _schema_of(interface, "output")}}]
    }
    key: JsonObject = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    return {
        "operationId": f"start_{interface.name}",
        "summary": f"Start a run of {interface.name}",
        "description": interface.description,
        "parameters": [_WAIT, key],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _schema_of(interface, "input")}}},
        "responses": {"201": _answer("The run.", done), "200": _answer("The run of that key.", done)} | _refusals(),
    }


def _schema_of(interface: Interface, side: str) -> JsonObject:
    """A schema of an Idea as a schema resource of its own, so that its references mean what they say."""
    schema = interface.takes if side == "input" else interface.gives
    if not is_object(schema):
        return {"description": "Any value."}
    return {"$id": f"actum:{interface.name}/{side}", **schema} if "$defs" in schema else schema


def _runs() -> JsonObject:
    run: JsonObject = {"$ref": "#/components/schemas/Run"}
    runs: JsonObject = {"type": "object", "properties": {"runs": {"type": "array", "items": run}}}
    anything: JsonObject = {"type": "object"}
    query = [_query("state"), _query("before"), _query("most")]
    after: JsonObject = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}
    stream: JsonObject = {"200": {"description": "Entries as events.", "content": {"text/event-stream": {}}}}
    return {
        "/runs": {
            "get": _operation("list_runs", "List runs, the newest first", query, "200", runs),
            "post": _operation("start_run", "Start a run", [_WAIT], "201", run, START),
        },
        "/runs/{id}": {"get": _operation("get_run", "How far a run is", [_ID, _WAIT], "200", run)},
        "/runs/{id}/events": {
            "get": {
                "operationId": "follow_run",
                "summary": "Follow a run by Server-Sent Events",
                "parameters": [_ID, _query("after"), _query("until"), _query("live"), after],
                "responses": stream | _refusals(),
            }
        },
        "/runs/{id}/pending": {"get": _operation("pending", "What waits for a decision", [_ID], "200", anything)},
        "/runs/{id}/idea": {"get": _operation("fetch_run", "The run as an Idea", [_ID], "200", anything)},
        "/runs/{id}/decisions": {"post": _operation("decide", "Decide on a call", [_ID, _WAIT], "202", run, DECISION)},
        "/runs/{id}/signals": {"post": _operation("signal", "Open a gate", [_ID, _WAIT], "202", run, SIGNAL)},
        "/runs/{id}/cancel": {"post": _operation("cancel", "End a run for good", [_ID], "202", run)},
    }


def _operation(
    name: str,
    summary: str,
    parameters: Sequence[JsonObject],
    status: str,
    gives: JsonObject,
    takes: JsonObject | None = None,
) -> JsonObject:
    operation: JsonObject = {
        "operationId": name,
        "summary": summary,
        "parameters": list(parameters),
        "responses": {status: _answer(f"{summary}.", gives)} | _refusals(),
    }
    if takes is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": takes}}}
    return operation


def _query(name: str) -> JsonObject:
    return {"name": name, "in": "query", "schema": {"type": "string"}}


def _answer(description: str, schema: JsonObject) -> JsonObject:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _refusals() -> JsonObject:
    error: JsonObject = {"type": "object", "properties": {"error": {"$ref": "#/components/schemas/Error"}}}
    return {"4XX": _answer("It is refused.", error)}
