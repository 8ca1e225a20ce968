"""What AG-UI 1.0 demands of a stream: each event as its schema says, and all in the order of its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def check(events: Sequence[dict[str, Any]], thread: str, run: str) -> None:
    """Fail where a client would reject the stream."""
    parsed = [_EVENT.validate_python(event) for event in events]
    for event, sent in zip(parsed, events, strict=True):
        assert event.model_dump(by_alias=True, mode="json", exclude_none=True).keys() >= {
            key for key, value in sent.items() if value is not None
        }, f"a member of {sent['type']} is none of the schema's"
    first, last = events[0], events[-1]
    assert (first["type"], first["threadId"], first["runId"]) == ("RUN_STARTED", thread, run)
    assert last["type"] in {"RUN_FINISHED", "RUN_ERROR"}
    assert not {"RUN_FINISHED", "RUN_ERROR", "RUN_STARTED"} & {event["type"] for event in events[1:-1]}
    opened: dict[tuple[str, str], Any] = {}
    agents, ended = set[str](), set[str]()
    for event in events:
        agent: Any = event.get("subagentRunId")
        match event["type"]:
            case "TEXT_MESSAGE_START" | "TOOL_CALL_START" | "REASONING_START" | "STEP_STARTED" as kind:
                key = _key(kind, event)
                assert key not in opened, f"{key} is open already"
                opened[key] = agent
            case "TEXT_MESSAGE_CONTENT" | "TOOL_CALL_ARGS" | "REASONING_MESSAGE_CONTENT" as kind:
                assert _key(kind, event) in opened, "it continues what isn't open"
                assert opened[_key(kind, event)] == agent
                assert event["delta"]
            case "TEXT_MESSAGE_END" | "TOOL_CALL_END" | "REASONING_END" | "STEP_FINISHED" as kind:
                assert opened.pop(_key(kind, event)) == agent
            case "SUBAGENT_STARTED":
                assert agent not in agents | ended
                assert event.get("parentSubagentRunId") in {None, *agents}
                agents.add(agent)
            case "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                agents.remove(agent)
                ended.add(agent)
            case _:
                pass
        assert agent is None or event["type"].startswith("SUBAGENT") or agent in agents, "it is of no open delegate"
    assert last["type"] == "RUN_ERROR" or (not opened and not agents), "something is open at the end"
    if last.get("outcome", {}).get("type") == "interrupt":
        ids = [interrupt["id"] for interrupt in last["outcome"]["interrupts"]]
        assert len(ids) == len(set(ids)) > 0
        assert "result" not in last


def _key(kind: str, event: dict[str, Any]) -> tuple[str, str]:
    family = kind.partition("_")[0]
    return family, str(event.get("toolCallId") or event.get("messageId") or event.get("stepName"))
