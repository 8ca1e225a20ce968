"""Each system in each setting that is compared: its program, the code worth showing, and what its models answer.

The parent's model is scripted twice: faithful, it gives the sub-agent the sentence; careless, it also copies the card
number into whatever it can write there, and does without where that is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from job import COPIED, CUSTOMER, FOUND, SENTENCE, TRANSLATION
from loopback import Answer, Called

Say = Callable[[str], list[Answer]]
"""The answers from the delegation on, by the sentence that the parent's model writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the comparison. `shown` are the functions and names of its program that the page prints."""

    system: str
    name: str
    title: str
    say: Say
    shown: Sequence[str]
    is_actum: bool = False

    @property
    def id(self) -> str:
        """The name of its capture."""
        return f"{self.system}-{self.name}"

    @property
    def program(self) -> str:
        """The file that runs it."""
        return f"with_{self.system.replace('-', '_')}.py"

    def script(self, *, careless: bool) -> list[Answer]:
        """All answers of one run, in order."""
        looked_up, tracked = _lookups(self.is_actum)
        return [*looked_up, tracked, *self.say(COPIED if careless else SENTENCE)]


def _lookups(is_actum: bool) -> tuple[list[Answer], Answer]:
    find, track = {"name": CUSTOMER["name"]}, {"customer": CUSTOMER["name"]}
    if is_actum:
        first = [_actum({"_tool": "find_customer", **find}, output=None), _actum(output=FOUND)]
        return first, _actum({"_tool": "track_parcel", **track}, output=None)
    first = [Answer(calls=[Called(tool="find_customer", arguments=find)]), Answer(text=FOUND)]
    return first, Answer(calls=[Called(tool="track_parcel", arguments=track)])


def _actum(*calls: dict[str, Any], output: Any) -> Answer:
    return Answer(text=json.dumps({"calls": calls, "output": output}, ensure_ascii=False))


def _as_tool(tool: str) -> Say:
    def say(sentence: str) -> list[Answer]:
        asked = Answer(calls=[Called(tool=tool, arguments={"sentence": sentence})])
        return [asked, Answer(text=TRANSLATION), Answer(text=TRANSLATION)]

    return say


def _agent_as_tool(sentence: str) -> list[Answer]:
    asked = Answer(calls=[Called(tool="translate", arguments={"input": sentence})])
    return [asked, Answer(text=TRANSLATION), Answer(text=TRANSLATION)]


def _taken_over(tool: str, *, given: bool) -> Say:
    def say(sentence: str) -> list[Answer]:
        call = Called(tool=tool, arguments={"sentence": sentence} if given else {})
        return [Answer(text="" if given else sentence, calls=[call]), Answer(text=TRANSLATION)]

    return say


def _without_parameter(*, refused: bool) -> Say:
    def say(sentence: str) -> list[Answer]:
        plain = Answer(calls=[Called(tool="translate")])
        copied = Answer(calls=[Called(tool="translate", arguments={"sentence": sentence})])
        tried = [plain] if sentence != COPIED else [copied, plain] if refused else [copied]
        return [*tried, Answer(text=TRANSLATION), Answer(text=TRANSLATION)]

    return say


def _by_parameter(sentence: str) -> list[Answer]:
    call = {"_tool": "translate", "sentence": sentence}
    return [_actum(call, output="†calls.0"), _actum(output=TRANSLATION)]


def _by_scope(sentence: str) -> list[Answer]:
    refused = [_actum({"_tool": "translate", "sentence": sentence}, output="†calls.0")] if sentence == COPIED else []
    return [*refused, _actum({"_tool": "translate"}, output="†calls.0"), _actum(output=TRANSLATION)]


SETTINGS = [
    Setting(
        system="pydantic-ai",
        name="delegation",
        title="agent called in a tool",
        say=_as_tool("translate"),
        shown=["translator", "translate", "delegation"],
    ),
    Setting(
        system="pydantic-ai",
        name="deps",
        title="agent called in a tool, the sentence from `deps`",
        say=_without_parameter(refused=True),
        shown=["Case", "track_case", "translate_case", "deps"],
    ),
    Setting(
        system="pydantic-ai",
        name="history",
        title="output function, `message_history`",
        say=_taken_over("final_result", given=True),
        shown=["hand_off_to_translator", "history"],
    ),
    Setting(
        system="pydantic-ai",
        name="history-system-prompt",
        title="the same, `system_prompt=` for `instructions=`",
        say=_taken_over("final_result", given=True),
        shown=["history_with_system_prompt"],
    ),
    Setting(
        system="openai-agents",
        name="handoff",
        title="handoff",
        say=_taken_over("transfer_to_translator", given=False),
        shown=["translator", "handoff_default"],
    ),
    Setting(
        system="openai-agents",
        name="handoff-remove-all-tools",
        title="handoff, filter `remove_all_tools`",
        say=_taken_over("transfer_to_translator", given=False),
        shown=["handoff_remove_all_tools"],
    ),
    Setting(
        system="openai-agents",
        name="handoff-own-filter",
        title="handoff, a filter of your own",
        say=_taken_over("transfer_to_translator", given=True),
        shown=["Sentence", "only_the_sentence", "handoff_own_filter"],
    ),
    Setting(
        system="openai-agents",
        name="as-tool",
        title="agent as tool",
        say=_agent_as_tool,
        shown=["as_tool"],
    ),
    Setting(
        system="openai-agents",
        name="run-context",
        title="agent run in a tool, the sentence from the run's context",
        say=_without_parameter(refused=False),
        shown=["Case", "track_case", "translate_case", "run_context"],
    ),
    Setting(
        system="langgraph",
        name="handoff",
        title="handoff, shared messages",
        say=_taken_over("transfer_to_translator", given=False),
        shown=["translator", "transfer_to_translator", "handoff"],
    ),
    Setting(
        system="langgraph",
        name="subagent",
        title="subagent in a tool",
        say=_as_tool("translate"),
        shown=["translate", "subagent"],
    ),
    Setting(
        system="langgraph",
        name="state-key",
        title="subagent in a tool, the sentence from the state",
        say=_without_parameter(refused=False),
        shown=["Case", "track_case", "translate_case", "state_key"],
    ),
    Setting(
        system="actum",
        name="parameter",
        title="delegate without scopes, a parameter",
        say=_by_parameter,
        shown=["TRANSLATOR_AGENT", "parameter"],
        is_actum=True,
    ),
    Setting(
        system="actum",
        name="scope",
        title="delegate with one path as scope, no parameter",
        say=_by_scope,
        shown=["scope"],
        is_actum=True,
    ),
    Setting(
        system="actum",
        name="everything",
        title="delegate with every kind as scope",
        say=_by_scope,
        shown=["everything"],
        is_actum=True,
    ),
]
