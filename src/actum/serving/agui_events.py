"""What a run tells, as events of AG-UI 1.0: pure, in their order, each opened thing closed before the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..app.stream import TextGiven
from ..dataflow.computing.text import Computed
from ..dataflow.expression import MISSING, evaluate, template
from ..dataflow.fold import Fold
from ..dataflow.reference import CALLS, SIGIL, Reference, ReferenceSyntax, call_index
from ..errors import MessageError, SolutionError
from ..protocol.call import Place
from ..protocol.context import Memory, absorb
from ..protocol.message import DATA_KINDS, is_record, write_of
from ..runs.following import Entry, Live
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from ..schema.walk import pointer

Event: TypeAlias = JsonObject


class Teller:
    """Tells one run of AG-UI. `told` are the calls that an interrupted run before it has told already, by id.

    `answered` are those of which the page has said itself what they came to.
    """

    def __init__(self, run: str, told: Iterable[str] = (), answered: Iterable[str] = ()) -> None:
        self._run = run
        self._calls = set(told)
        self._answered = set(answered)
        self._agents: dict[tuple[str, ...], str] = {}
        """The ids of the delegates under way, by the places that lead to each."""
        self._agents_told = set[str]()
        self._steps: list[str] = []
        self._prose = _Prose(run)
        self._made = Made()

    def take(self, one: Entry | Live) -> Iterator[Event]:
        """What is to be told of an entry of the record, or of what no record holds."""
        if isinstance(one, Entry):
            yield from self._entry(one.data)
        else:
            yield from self._live(one.data)

    # What the record tells

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
        before = self._made.state()
        self._made.begin(at)
        for message in messages:
            self._made.take(at, message)
        if at:
            yield from self._agent_began(at, call if is_object(call) else {})
            return
        if (state := self._made.state()) != before:
            yield {"type": "STATE_SNAPSHOT", "snapshot": state}

    def _agent_began(self, at: tuple[str, ...], call: JsonObject) -> Iterator[Event]:
        if at in self._agents:
            return  # it goes on, in the same place
        yield from self._call(at[:-1], at[-1], call)
        own = self._id("/".join(at))
        number = 1
        while own in self._agents_told:
            number += 1
            own = self._id(f"{'/'.join(at)}#{number}")
        self._agents[at] = own
        self._agents_told.add(own)
        event: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": own, "name": str(call.get("_tool", "delegate"))}
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
        before = self._made.state()
        self._made.take(at, message)
        of, call = message.get("_of"), message.get("_call", message.get("call"))
        if isinstance(of, str) and is_object(call):
            if message.get("type") == "error":
                yield from self._ended(at, of, call, str(message.get("error")), is_error=True)
            elif "_call" in message:
                yield from self._ended(at, of, call, self._made.value(at, of), is_error=False)
        yield from _stated(before, self._made.state())

    # Calls

    def _call(self, at: tuple[str, ...], of: str, call: JsonObject, id: str = "") -> Iterator[Event]:
        """A call that is made, unless it was told of already."""
        own = id or self._call_id(at, of)
        if own in self._calls or "_tool" not in call:
            return
        self._calls.add(own)
        yield from self._prose.close_thought()
        about = self._of_agent(at)
        parameters = self._made.parameters(at, of, call)
        yield {"type": "TOOL_CALL_START", "toolCallId": own, "toolCallName": str(call["_tool"]), **about}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": own, "delta": encode(parameters), **about}
        yield {"type": "TOOL_CALL_END", "toolCallId": own, **about}

    def _ended(self, at: tuple[str, ...], of: str, call: JsonObject, value: Json, *, is_error: bool) -> Iterator[Event]:
        """A call that is over, and the delegate that has carried it out."""
        if (agent := self._agents.pop((*at, of), None)) is not None:
            yield from self._close_agents(within=(*at, of))
            if is_error:
                yield {"type": "SUBAGENT_ERROR", "subagentRunId": agent, "message": str(value)}
            else:
                yield {"type": "SUBAGENT_FINISHED", "subagentRunId": agent, "result": value}
        if Place.parse(of).item is not None:
            return  # an item of an `_each`: the call for all of them is what is told
        yield from self._call(at, of, call)
        own = self._call_id(at, of)
        if own not in self._calls or own in self._answered:
            return
        self._answered.add(own)
        content = f"error: {value}" if is_error else value if isinstance(value, str) else encode(value)
        yield {
            "type": "TOOL_CALL_RESULT",
            "messageId": f"{own}:result",
            "toolCallId": own,
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

    # What no record holds

    def _live(self, event: JsonObject) -> Iterator[Event]:
        is_own = event["depth"] == 0
        match event["event"]:
            case "CallStarted":
                *at, of = event["place"].split("/")
                yield from self._call(tuple(at), of, event["made"] or event["call"])
            case "CallProgress":
                yield _custom("progress", self._progress(event["place"], event))
            case "TextDelta" if is_own and not event["member"] and not event["provisional"]:
                yield from self._prose.says(event["text"])
            case "ReasoningDelta" if is_own:
                yield from self._prose.thinks(event["text"])
            case "OutputDelta" if is_own and (is_object(event["value"]) or is_list(event["value"])):
                yield _custom("output", event["value"])
            case "RequestStarted" | "Retried" if is_own:
                yield from self._prose.anew()
            case _:
                pass

    def _progress(self, place: str, event: JsonObject) -> JsonObject:
        *at, of = place.split("/")
        told = {key: event[key] for key in ("done", "total", "message") if event.get(key) is not None}
        return {"toolCallId": self._call_id(tuple(at), of), **told}

    # The end

    def closed(
        self, held: Sequence[tuple[str, str, JsonObject]] = (), page: Sequence[tuple[str, JsonObject]] = ()
    ) -> Iterator[Event]:
        """Close what is open. `held` are the calls that wait: the place, the interrupt's id, and the call of each.

        `page` are those that the page makes: the place and the call.

        Delegates are suspended where something waits, else they were cut.
        """
        yield from self._prose.close_thought()
        yield from self._prose.close_text()
        for place, _, call in held:
            *at, of = place.split("/")
            yield from self._call(tuple(at), of, call)
        for place, call in page:
            *at, of = place.split("/")
            yield from self._call(tuple(at), of, call, self.page_call(place))
        yield from self._close_agents(waiting=[*held, *((place, "", call) for place, call in page)])
        yield from self._close_steps()

    def call_of(self, place: str) -> str:
        """The id of the call at a place."""
        *at, of = place.split("/")
        return self._call_id(tuple(at), of)

    def page_call(self, place: str) -> str:
        """The id of the call at a place that the page makes: of an `_each`, it makes those of the items."""
        return self._id(place)

    def _close_agents(
        self, within: tuple[str, ...] = (), waiting: Sequence[tuple[str, str, JsonObject]] = ()
    ) -> Iterator[Event]:
        for at in sorted((one for one in self._agents if one[: len(within)] == within), key=len, reverse=True):
            own = self._agents.pop(at)
            if any(place.startswith(f"{'/'.join(at)}/") for place, _, _ in waiting):
                ids = [name for place, name, _ in waiting if name and tuple(place.split("/")[:-1]) == at]
                outcome: JsonObject = {"type": "suspended"} | ({"interruptIds": ids} if ids else {})
                yield {"type": "SUBAGENT_FINISHED", "subagentRunId": own, "outcome": outcome}
            else:
                yield {"type": "SUBAGENT_ERROR", "subagentRunId": own, "message": "it was cut", "code": "cut"}

    def _close_steps(self) -> Iterator[Event]:
        while self._steps:
            yield {"type": "STEP_FINISHED", "stepName": self._steps.pop()}


class _Prose:
    """The text of a run as it streams, and what its model thinks: messages that are opened and closed."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._text, self._given, self._texts = "", TextGiven(""), 0
        """The id of the message that is open; what of the text was told; and how many messages there were."""
        self._thought, self._thoughts = "", 0

    def says(self, text: str) -> Iterator[Event]:
        """Tell what is new of a text."""
        try:
            piece = self._given.more(text)
        except SolutionError:  # it says other words this time: a message of its own
            yield from self.close_text()
            piece = self._given.begun_again()
        if not piece:
            return
        yield from self.close_thought()
        if not self._text:
            self._texts += 1
            self._text = f"{self._run}:text{self._texts}"
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._text, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text, "delta": piece}

    def thinks(self, text: str) -> Iterator[Event]:
        """Tell what a model thinks."""
        if not text:
            return
        if not self._thought:
            self._thoughts += 1
            self._thought = f"{self._run}:reasoning{self._thoughts}"
            yield {"type": "REASONING_START", "messageId": self._thought}
            yield {"type": "REASONING_MESSAGE_START", "messageId": self._thought, "role": "reasoning"}
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": self._thought, "delta": text}

    def anew(self) -> Iterator[Event]:
        """The answer begins anew: what is said again is not told again."""
        self._given.anew()
        yield from self.close_thought()

    def close_text(self) -> Iterator[Event]:
        """Close the message that is open."""
        if self._text:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._text}
            self._text = ""

    def close_thought(self) -> Iterator[Event]:
        """Close what is thought."""
        if self._thought:
            yield {"type": "REASONING_MESSAGE_END", "messageId": self._thought}
            yield {"type": "REASONING_END", "messageId": self._thought}
            self._thought = ""


def _stated(before: JsonObject, after: JsonObject) -> Iterator[Event]:
    """What was changed of the state, by its members."""
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
"""How many characters of JSON the parameters of a call may become; one with more is told as it was authored."""
_STATE = Reference("state", ())


class Made:
    """What the runs of a record hold so far, each by the places that lead to it; `()` is the run itself."""

    def __init__(self) -> None:
        self._memories: defaultdict[tuple[str, ...], Memory] = defaultdict(Memory)
        self._values: dict[tuple[str, ...], Any] = {}

    def begin(self, at: tuple[str, ...]) -> None:
        """A run begins anew: what was known of it, and of the delegates in it, counts no more."""
        for known in (self._memories, self._values):
            for key in [key for key in known if key[: len(at)] == at]:
                del known[key]

    def take(self, at: tuple[str, ...], message: JsonObject) -> None:
        """Take in a message that a run has."""
        try:
            absorb(self._memories[at], message, 0, DATA_KINDS)
            write = write_of(message, 0)
        except MessageError:
            return  # what is wrong with it is for the run to say
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
        own: Any = memory.read(_STATE) if "state" in memory else {}
        return {key: value for key, value in own.items() if key != "approvals"} if is_object(own) else {}

    def parameters(self, at: tuple[str, ...], of: str, call: JsonObject) -> JsonObject:
        """The parameters of a call: with values for its references where they are known; computed ones as authored."""
        authored = {key: value for key, value in call.items() if not key.startswith("_")}
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
        values = [MISSING if isinstance(one, Computed) else evaluate(one, read) for one in parsed.expressions]
        if any(one is MISSING for one in values):
            return authored
        filled: JsonObject = parsed.fill(values)
        return filled if len(encode(filled)) <= _MOST else authored
