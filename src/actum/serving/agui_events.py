"""A run as events of AG-UI 1.0: pure, in order, and everything that was opened is closed before the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..app.stream import SentText
from ..dataflow.computing.text import Computed
from ..dataflow.expression import MISSING, evaluate, template
from ..dataflow.fold import Fold
from ..dataflow.reference import CALLS, SIGIL, Reference, ReferenceSyntax, call_index
from ..errors import MessageError, SolutionError
from ..protocol.call import Call, Place
from ..protocol.context import Memory, absorb
from ..protocol.message import DATA_KINDS, is_record, write_of
from ..runs.following import Entry, Live
from ..schema.json import Json, JsonObject, encode, is_list, is_object, text_or_json
from ..schema.walk import pointer

Event: TypeAlias = JsonObject


class Translator:
    """Translates one run. `announced` are the ids of the calls that the interrupted run before it has announced.

    `answered` are those whose results the page itself has sent.
    """

    def __init__(self, run: str, announced: Iterable[str] = (), answered: Iterable[str] = ()) -> None:
        self._run = run
        self._calls = set(announced)
        self._answered = set(answered)
        self._agents: dict[tuple[str, ...], str] = {}
        """The ids of the delegates under way, by the places that lead to each."""
        self._agent_ids = set[str]()
        self._steps: list[str] = []
        self._prose = _Prose(run)
        self._values = _RunValues()

    def events_of(self, item: Entry | Live) -> Iterator[Event]:
        """The events of an entry of the record, or of a live event."""
        if isinstance(item, Entry):
            yield from self._entry(item.data)
        else:
            yield from self._live(item.data)

    # Entries of the record

    def _entry(self, entry: JsonObject) -> Iterator[Event]:
        at = tuple(map(str, entry.get("at", ())))
        if "began" in entry:
            yield from self._began(at, entry["began"], entry.get("call"))
        elif "tick" in entry:
            yield from self._step(f"request {entry['tick']['number']}", is_over="answer" in entry["tick"])
        elif "message" in entry:
            yield from self._message(at, entry["message"])
        elif "failed" in entry:
            yield from self._ended(at, entry["failed"], entry["call"], str(entry["error"]), is_error=True)

    def _began(self, at: tuple[str, ...], messages: Sequence[JsonObject], call: Any) -> Iterator[Event]:
        before = self._values.state()
        self._values.begin(at)
        for message in messages:
            self._values.take(at, message)
        if at:
            yield from self._agent_began(at, call if is_object(call) else {})
            return
        if (state := self._values.state()) != before:
            yield {"type": "STATE_SNAPSHOT", "snapshot": state}

    def _agent_began(self, at: tuple[str, ...], call: JsonObject) -> Iterator[Event]:
        if at in self._agents:
            return  # it goes on, in the same place
        yield from self._call(at[:-1], at[-1], call)
        agent = self._id("/".join(at))
        number = 1
        while agent in self._agent_ids:
            number += 1
            agent = self._id(f"{'/'.join(at)}#{number}")
        self._agents[at] = agent
        self._agent_ids.add(agent)
        event: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": agent, "name": str(call.get("_tool", "delegate"))}
        event["parentToolCallId"] = self._call_id(at[:-1], at[-1])
        if (parent := self._agents.get(at[:-1])) is not None:
            event["parentSubagentRunId"] = parent
        yield event

    def _step(self, name: str, *, is_over: bool) -> Iterator[Event]:
        if is_over and name in self._steps:
            yield from self._prose.close_thought()
            self._steps.remove(name)
            yield {"type": "STEP_FINISHED", "stepName": name}
        elif not is_over and name not in self._steps:
            yield from self._close_steps()
            self._steps.append(name)
            yield {"type": "STEP_STARTED", "stepName": name}

    def _message(self, at: tuple[str, ...], message: JsonObject) -> Iterator[Event]:
        before = self._values.state()
        self._values.take(at, message)
        of, call = message.get("_of"), message.get("_call", message.get("call"))
        if isinstance(of, str) and is_object(call):
            if message.get("type") == "error":
                yield from self._ended(at, of, call, str(message.get("error")), is_error=True)
            elif "_call" in message:
                yield from self._ended(at, of, call, self._values.value(at, of), is_error=False)
        yield from _state_change(before, self._values.state())

    # Calls

    def _call(self, at: tuple[str, ...], of: str, call: JsonObject, id: str = "") -> Iterator[Event]:
        """A call that is made, unless it was announced already."""
        call_id = id or self._call_id(at, of)
        if call_id in self._calls or "_tool" not in call:
            return
        self._calls.add(call_id)
        yield from self._prose.close_thought()
        about = self._of_agent(at)
        parameters = self._values.parameters(at, of, call)
        yield {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": str(call["_tool"]), **about}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": encode(parameters), **about}
        yield {"type": "TOOL_CALL_END", "toolCallId": call_id, **about}

    def _ended(self, at: tuple[str, ...], of: str, call: JsonObject, value: Json, *, is_error: bool) -> Iterator[Event]:
        """A call that is over, and the delegate that has carried it out."""
        if (agent := self._agents.pop((*at, of), None)) is not None:
            yield from self._close_agents(within=(*at, of))
            if is_error:
                yield {"type": "SUBAGENT_ERROR", "subagentRunId": agent, "message": str(value)}
            else:
                yield {"type": "SUBAGENT_FINISHED", "subagentRunId": agent, "result": value}
        if Place.parse(of).item is not None:
            return  # an item of an `_each`: only the call for all items is announced
        yield from self._call(at, of, call)
        call_id = self._call_id(at, of)
        if call_id not in self._calls or call_id in self._answered:
            return
        self._answered.add(call_id)
        content = f"error: {value}" if is_error else text_or_json(value)
        yield {
            "type": "TOOL_CALL_RESULT",
            "messageId": f"{call_id}:result",
            "toolCallId": call_id,
            "content": content,
            **self._of_agent(at),
        }

    def _call_id(self, at: tuple[str, ...], of: str) -> str:
        place = Place.parse(of)
        return self._id("/".join((*at, str(place.parent or place))))

    def _id(self, place: str) -> str:
        return f"{self._run}:{place}"

    def _of_agent(self, at: tuple[str, ...]) -> JsonObject:
        agent = self._agents.get(at)
        return {} if agent is None else {"subagentRunId": agent}

    # Live events

    def _live(self, event: JsonObject) -> Iterator[Event]:
        is_outermost = event["depth"] == 0
        match event["event"]:
            case "CallStarted":
                *at, of = event["place"].split("/")
                yield from self._call(tuple(at), of, event["made"] or event["call"])
            case "CallProgress":
                progress = {key: event[key] for key in ("done", "total", "message") if event.get(key) is not None}
                yield _custom("progress", {"toolCallId": self.call_of(event["place"]), **progress})
            case "TextDelta" if is_outermost and not event["member"] and not event["provisional"]:
                yield from self._prose.add_text(event["text"])
            case "ReasoningDelta" if is_outermost:
                yield from self._prose.add_thought(event["text"])
            case "OutputDelta" if is_outermost and (is_object(event["value"]) or is_list(event["value"])):
                yield _custom("output", event["value"])
            case "RequestStarted" | "Retried" if is_outermost:
                yield from self._prose.restart()
            case _:
                pass

    # The end

    def close(
        self, waiting: Sequence[tuple[str, str, JsonObject]] = (), page: Sequence[tuple[str, JsonObject]] = ()
    ) -> Iterator[Event]:
        """Close what is open. `waiting` are the calls that wait: the place, the interrupt's id, and the call of each.

        `page` are those that the page makes: the place and the call. Delegates with a call that waits are suspended,
        others were cut.
        """
        yield from self._prose.close_thought()
        yield from self._prose.close_text()
        for place, _, call in waiting:
            *at, of = place.split("/")
            yield from self._call(tuple(at), of, call)
        for place, call in page:
            *at, of = place.split("/")
            yield from self._call(tuple(at), of, call, self.page_call(place))
        yield from self._close_agents(waiting=[*waiting, *((place, "", call) for place, call in page)])
        yield from self._close_steps()

    def call_of(self, place: str) -> str:
        """The id of the call at a place."""
        *at, of = place.split("/")
        return self._call_id(tuple(at), of)

    def page_call(self, place: str) -> str:
        """The id of a call that the page makes: unlike `call_of`, each item of an `_each` has its own."""
        return self._id(place)

    def _close_agents(
        self, within: tuple[str, ...] = (), waiting: Sequence[tuple[str, str, JsonObject]] = ()
    ) -> Iterator[Event]:
        for at in sorted((key for key in self._agents if key[: len(within)] == within), key=len, reverse=True):
            agent = self._agents.pop(at)
            if any(place.startswith(f"{'/'.join(at)}/") for place, _, _ in waiting):
                ids = [name for place, name, _ in waiting if name and tuple(place.split("/")[:-1]) == at]
                outcome: JsonObject = {"type": "suspended"} | ({"interruptIds": ids} if ids else {})
                yield {"type": "SUBAGENT_FINISHED", "subagentRunId": agent, "outcome": outcome}
            else:
                yield {"type": "SUBAGENT_ERROR", "subagentRunId": agent, "message": "it was cut", "code": "cut"}

    def _close_steps(self) -> Iterator[Event]:
        while self._steps:
            yield {"type": "STEP_FINISHED", "stepName": self._steps.pop()}


class _Prose:
    """The text of a run as it streams, and what its model thinks: messages that are opened and closed."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._text, self._given, self._texts = "", SentText(""), 0
        """The id of the open message; the text that was sent so far; and how many messages there were."""
        self._thought, self._thoughts = "", 0

    def add_text(self, text: str) -> Iterator[Event]:
        """Send what is new of a text."""
        try:
            piece = self._given.unsent(text)
        except SolutionError:  # the text differs this time: it gets a message of its own
            yield from self.close_text()
            piece = self._given.restarted()
        if not piece:
            return
        yield from self.close_thought()
        if not self._text:
            self._texts += 1
            self._text = f"{self._run}:text{self._texts}"
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._text, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text, "delta": piece}

    def add_thought(self, text: str) -> Iterator[Event]:
        """Send a piece of the model's reasoning."""
        if not text:
            return
        if not self._thought:
            self._thoughts += 1
            self._thought = f"{self._run}:reasoning{self._thoughts}"
            yield {"type": "REASONING_START", "messageId": self._thought}
            yield {"type": "REASONING_MESSAGE_START", "messageId": self._thought, "role": "reasoning"}
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": self._thought, "delta": text}

    def restart(self) -> Iterator[Event]:
        """The answer starts again: text that is repeated is not sent again."""
        self._given.restart()
        yield from self.close_thought()

    def close_text(self) -> Iterator[Event]:
        """Close the message that is open."""
        if self._text:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._text}
            self._text = ""

    def close_thought(self) -> Iterator[Event]:
        """Close the open reasoning."""
        if self._thought:
            yield {"type": "REASONING_MESSAGE_END", "messageId": self._thought}
            yield {"type": "REASONING_END", "messageId": self._thought}
            self._thought = ""


def _state_change(before: JsonObject, after: JsonObject) -> Iterator[Event]:
    """The change of the state, member by member."""
    patch: list[JsonObject] = [
        {"op": "add", "path": pointer((key,)), "value": value}
        for key, value in after.items()
        if key not in before or before[key] != value
    ]
    patch += [{"op": "remove", "path": pointer((key,))} for key in before if key not in after]
    if patch:
        yield {"type": "STATE_DELTA", "delta": patch} if before else {"type": "STATE_SNAPSHOT", "snapshot": after}


def _custom(name: str, value: Json) -> Event:
    return {"type": "CUSTOM", "name": f"actum.{name}", "value": value}


_MOST = 20_000
"""How many characters of JSON the parameters of a call may become; longer ones are sent as they were authored."""
_STATE = Reference("state", ())


class _RunValues:
    """The values of the runs in a record so far, each by the places that lead to it; `()` is the run itself."""

    def __init__(self) -> None:
        self._memories: defaultdict[tuple[str, ...], Memory] = defaultdict(Memory)
        self._values: dict[tuple[str, ...], Any] = {}

    def begin(self, at: tuple[str, ...]) -> None:
        """Forget a run that starts again, and the delegates in it."""
        for values in (self._memories, self._values):
            for key in [key for key in values if key[: len(at)] == at]:
                del values[key]

    def take(self, at: tuple[str, ...], message: JsonObject) -> None:
        """Take in a message that a run has."""
        try:
            absorb(self._memories[at], message, 0, DATA_KINDS)
            write = write_of(message, 0)
        except MessageError:
            return  # the run itself reports what is wrong
        of = message.get("_of")
        if isinstance(of, str) and "_call" in message:
            recorded = message["data"].get("result") if is_record(message) and is_object(message["data"]) else None
            self._values[*at, of] = recorded if write is None else write.value

    def value(self, at: tuple[str, ...], of: str) -> Any:
        """The value of the call at a place; None where it has none."""
        return self._values.get((*at, of))

    def state(self) -> JsonObject:
        """The folded state of the run itself, without its gates."""
        memory = self._memories[()]
        state: Any = memory.read(_STATE) if "state" in memory else {}
        return {key: value for key, value in state.items() if key != "approvals"} if is_object(state) else {}

    def parameters(self, at: tuple[str, ...], of: str, call: JsonObject) -> JsonObject:
        """The parameters of a call: with values for its references where they are known; computed ones as authored."""
        authored = Call.of(call).parameters
        if SIGIL not in encode(authored):
            return authored
        answer = Place.parse(of).answer

        def read(reference: Reference) -> Any:
            if reference.kind == CALLS:
                value = self._values.get((*at, f"{answer}.{call_index(reference)}"), MISSING)
                return MISSING if value is MISSING else Fold(value).read(reference.path[1:])
            return self._memories[at].read(reference, call.get("_instance"))

        try:
            parsed = template(authored)
        except ReferenceSyntax:
            return authored
        values = [MISSING if isinstance(part, Computed) else evaluate(part, read) for part in parsed.expressions]
        if any(value is MISSING for value in values):
            return authored
        filled: JsonObject = parsed.fill(values)
        return filled if len(encode(filled)) <= _MOST else authored
