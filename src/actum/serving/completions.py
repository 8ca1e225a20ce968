"""OpenAI's chat completions: each Idea is a model, and its output is the text of the answer.

The format has no way to say that a run waits for a decision: the answer is then a text that says what waits and how to
decide. Nothing written in the chat decides, since a model may have written it. After the decision, the next message
gets the result.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from os import urandom
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..app.stream import SentText
from ..errors import ActumError
from ..protocol.approvals import Pending
from ..protocol.call import Call
from ..protocol.usage import Usage
from ..runs.following import Live
from ..runs.handle import Run
from ..runs.racing import beside
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from ..schema.quoting import printable
from ..studio.notation import folded_call
from ..studio.sse import EventStream, event_frame
from .desk import Desk
from .foreign_turns import input_from, turns_of
from .parts import Part, asking_caller, json_body
from .refusals import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request

_RUN = "chat-"
_WAITS = re.compile(r"\(run (chat-[0-9a-f]{24})\)\s*$")
"""The end of the sentence about a run that waits."""
_PATIENCE = 30.0
"""Seconds for which an abandoned run continues if its request has a key, and may be repeated."""


def chat_part(desk: Desk) -> Part:
    """The routes of chat completions."""
    chat = _Chat(desk)
    return Part(
        routes=[
            Route("/v1/models", chat.models, methods=["GET"]),
            Route("/v1/models/{name}", chat.model, methods=["GET"]),
            Route("/v1/chat/completions", chat.complete, methods=["POST"]),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Chat:
    desk: Desk

    async def models(self, _request: Request) -> Response:
        """The Ideas as models."""
        return JSONResponse({"object": "list", "data": [_model(name) for name in self.desk.ideas]})

    async def model(self, request: Request) -> Response:
        """One of the models."""
        self.desk.idea(request.path_params["name"])
        return JSONResponse(_model(request.path_params["name"]))

    async def complete(self, request: Request) -> Response:
        """The answer of an Idea to the messages of a chat."""
        body = await json_body(request)
        _check_parameters(body)
        answer = await self._answer(request, body)
        if body.get("stream"):
            options: Any = body.get("stream_options")
            counts = is_object(options) and bool(options.get("include_usage"))
            return EventStream(answer.chunks(counts=counts), self.desk.closing)
        return await _answer_unless_gone(request, answer)

    async def _answer(self, request: Request, body: Mapping[str, Any]) -> _Answer:
        """The answer of the run that the chat waits for, else that of a new run."""
        caller, messages, arguments = asking_caller(request), body.get("messages"), body.get("input")
        idea, name = self.desk.idea(body.get("model")), str(body.get("model"))
        if not is_list(messages) or not all(map(is_object, messages)):
            raise Refusal(422, "body", "messages must be a list of messages")
        if arguments is not None and not is_object(arguments):
            raise Refusal(422, "body", "input must be an object")
        waiting = await self._waiting_run(caller, messages)
        if waiting is not None:
            return _Answer(self.desk, waiting, name, had_waited=True)
        turns, arguments = input_from(name, idea, turns_of(messages), arguments)
        key = request.headers.get("idempotency-key")
        run_id = _id_for(caller, name, key) if key else f"{_RUN}{urandom(12).hex()}"
        trace = request.headers.get("traceparent")
        run, _ = await self.desk.start(caller, name, input=arguments, messages=turns, id=run_id, trace=trace)
        return _Answer(self.desk, run, name, patience=_PATIENCE if key else 0.0)

    async def _waiting_run(self, caller: str, messages: list[Any]) -> Run | None:
        """The run that the last answer of the chat said waits for a decision, if it said so."""
        last = next((message for message in reversed(messages) if message.get("role") == "assistant"), None)
        match = _WAITS.search(last["content"]) if last and isinstance(last.get("content"), str) else None
        try:
            return None if match is None else await self.desk.find(caller, match[1])
        except Refusal:
            return None


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of a run in a chat. If the client leaves for longer than `patience` seconds, the run is cancelled."""

    desk: Desk
    run: Run
    model: str
    patience: float = 0.0
    had_waited: bool = False
    """Whether the last answer said that the run waits: then this one reports how it ended, even if it failed."""

    async def chunks(self, *, counts: bool) -> AsyncGenerator[bytes]:
        """The answer piece by piece."""
        with self.desk.onlookers.at(self.run, self.patience):
            try:
                yield self._chunk({"role": "assistant", "content": ""})
                async for delta in self._deltas():
                    yield self._chunk(delta)
                self._check()
                yield self._chunk({}, "stop")
                if counts:
                    yield event_frame({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()})
                yield b"data: [DONE]\n\n"
            except ActumError as error:
                yield event_frame({"error": error.to_dict() | {"type": "run_error"}})

    async def whole(self) -> Response:
        """The answer once it is complete.

        Raises:
            Refusal: the run failed.
        """
        texts = [delta.get("content", "") async for delta in self._deltas()]
        self._check()
        message: JsonObject = {"role": "assistant", "content": "".join(texts)}
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return JSONResponse({**self._head("chat.completion"), "choices": [choice], "usage": self._usage()})

    def _check(self) -> None:
        """Raise Refusal if there is no answer.

        Clients ask again after a status of 500, and that would make every call once more.
        """
        problem = self._problem()
        if problem is not None and not self.had_waited:
            raise problem

    def _problem(self) -> Refusal | None:
        """Why the run has no output, and never will."""
        row = self.run.row
        if row.state == "cancelled":
            return Refusal(422, "cancelled", f"run {row.id} was cancelled")
        if row.error is not None:
            return Refusal(422, str(row.error.get("code")), f"run {row.id} failed: {row.error.get('message')}")
        return None

    async def _deltas(self) -> AsyncGenerator[JsonObject]:
        """The pieces of the answer: text as soon as it is final, and the model's reasoning if there is any."""
        text_given, sent = SentText(""), ""
        async for item in self.run.follow(live=True):
            match item:
                case Live({"event": "RequestStarted" | "Retried", "depth": 0}):
                    text_given.restart()
                case Live({"event": "TextDelta", "depth": 0, "provisional": False, "member": "", "text": str(text)}):
                    if piece := text_given.unsent(text):
                        sent += piece
                        yield {"content": piece}
                case Live({"event": "ReasoningDelta", "depth": 0, "text": str(text)}):
                    yield {"reasoning_content": text}
                case _:
                    pass
        row = self.run.row
        if row.state == "waiting":
            yield {"content": ("\n\n" if sent else "") + await _waiting_text(self.run)}
        elif row.state == "done" and (rest := _text(row.output).removeprefix(sent)):
            yield {"content": rest}
        elif self.had_waited and (problem := self._problem()) is not None:
            yield {"content": f"It came to nothing: {problem.message}"}

    def _head(self, kind: str) -> JsonObject:
        created = int(self.run.row.created or time.time())
        return {"id": self.run.id, "object": kind, "created": created, "model": self.model}

    def _chunk(self, delta: JsonObject, end: str | None = None) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": end, "logprobs": None}
        return event_frame({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _usage(self) -> JsonObject:
        usage = Usage.of(self.run.row.about.get("usage"))
        prompt, completion = usage.input_tokens or 0, usage.output_tokens or 0
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


_WITHOUT_EFFECT: Mapping[str, Sequence[Json]] = {
    "n": (1,),
    "tools": ([],),
    "functions": ([],),
    "tool_choice": ("none", "auto"),
    "function_call": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "response_format": ({"type": "text"},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "stop": ([],),
    "modalities": (["text"],),
    "frequency_penalty": (0, 0.0),
    "presence_penalty": (0, 0.0),
    "logit_bias": ({},),
    "store": (False,),
    "service_tier": ("auto", "default"),
    "max_tokens": (),
    "max_completion_tokens": (),
    "temperature": (1, 1.0),
    "top_p": (1, 1.0),
    "seed": (),
    "audio": (),
    "prediction": (),
    "reasoning_effort": (),
    "verbosity": (),
    "web_search_options": (),
}
"""Parameters that the Idea sets itself, each with the values that are accepted because they change nothing."""
_OWN = frozenset(
    {
        *("model", "messages", "input", "stream", "stream_options"),
        *("user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"),
    }
)
"""Parameters that are used, and those that only describe the request."""


def _check_parameters(body: Mapping[str, Any]) -> None:
    """Refuse parameters that would have no effect: none is ignored silently.

    Raises:
        Refusal: 400, with the parameter's name.
    """
    for name, value in body.items():
        if name in _OWN or value is None:
            continue
        if name not in _WITHOUT_EFFECT:
            raise Refusal(400, "unknown_parameter", "the chat takes no such parameter", path=name)
        if not any(type(value) is type(allowed) and value == allowed for allowed in _WITHOUT_EFFECT[name]):
            raise Refusal(400, "unsupported_parameter", "this can't be set: the Idea says how it is asked", path=name)
    if not isinstance(body.get("stream"), bool | None):
        raise Refusal(400, "parameters", "it must be true or false", path="stream")


def _id_for(caller: str, name: str, key: str) -> str:
    """The id of the run that a key starts: a repeated request starts no second one."""
    return f"{_RUN}{hashlib.sha256(encode([caller, name, key]).encode()).hexdigest()[:24]}"


async def _answer_unless_gone(request: Request, answer: _Answer) -> Response:
    """The whole answer, unless the client leaves first."""
    with answer.desk.onlookers.at(answer.run, answer.patience):
        async with beside(answer.whole(), _disconnected(request)) as tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task.result() for task in tasks if task.done())


async def _disconnected(request: Request) -> Response:
    """A response that nobody reads, once the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response(status_code=499)


async def _waiting_text(run: Run) -> str:
    """A text that says what a run waits for, and how to decide."""
    pending = await run.pending()
    lines = [_line(item) for item in pending]
    signal = f"POST /runs/{run.id}/signals, or another program's `runs.signal`"
    lines += [f"- a value at {gate}: {signal}" for gate in run.row.gates]
    how = f"`actum approve {run.id}` or `actum deny {run.id}`, or POST /runs/{run.id}/decisions"
    decide = f"Decide with {how}. " if pending else ""
    return "\n".join(
        [
            "This waits for a decision:",
            *lines,
            f"{decide}Then write anything here to see what came of it. (run {run.id})",
        ]
    )


def _line(item: Pending) -> str:
    parameters = Call.of(item.call).parameters
    text = encode(parameters)
    text = printable(text) if len(text) <= 2_000 else folded_call(parameters)
    return f"- {item.call.get('_tool')} {text} ({item.of})"


def _text(output: Json) -> str:
    """An output as the text of an answer."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "actum"}
