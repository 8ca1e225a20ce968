"""The desk over HTTP: answers as server-sent events, refunds that a person decides on, conversations in SQLite.

`python app.py [MODEL]` serves it on port 8000. Without a model the answers in `answers.json` are played; they were
written by hand.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from desk import Answer, Customer, Order, agent
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from actum import Context, approvals, errors, events, models

HERE = Path(__file__).parent


class Said(BaseModel):
    text: str


class Decision(BaseModel):
    of: str
    approve: bool
    reason: str = ""


def made(customers: Mapping[str, Customer], path: str = "desk.db") -> FastAPI:
    """The application for these customers; what they have said is kept in a file."""
    app = FastAPI(title="Support desk")
    kept = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    kept.execute("create table if not exists talks (customer text primary key, context text not null)")

    def talk_of(name: str) -> Context:
        row = kept.execute("select context from talks where customer = ?", (name,)).fetchone()
        return Context(json.loads(row[0]) if row else [])

    async def turn(name: str, context: Context, text: str | None = None) -> AsyncIterator[str]:
        talk = agent.conversation(context, Answer, member="text", deps=customers[name])
        try:
            async with talk.stream(text) as run:
                async for event in run:
                    match event:
                        case events.TextDelta(member="text", provisional=False, depth=0):
                            yield sent("text", event.text)
                        case events.CallStarted():
                            yield sent("call", event.call.tool)
                        case _:
                            pass
            if run.result.waiting:
                yield sent("waiting", pending(talk.context))
            else:
                yield sent("answer", run.result.output.model_dump())
        except errors.ActumError as error:
            yield sent("error", error.to_dict())
        finally:
            kept.execute("insert or replace into talks values (?, ?)", (name, json.dumps(talk.context.messages)))

    @app.post("/talks/{name}")
    async def say(name: str, message: Said) -> StreamingResponse:
        return StreamingResponse(turn(name, talk_of(name), message.text), media_type="text/event-stream")

    @app.get("/talks/{name}/pending")
    async def waiting(name: str) -> list[dict[str, Any]]:
        return pending(talk_of(name))

    @app.post("/talks/{name}/decisions")
    async def decide(name: str, decision: Decision) -> StreamingResponse:
        try:
            ruling = "approve" if decision.approve else "deny"
            context = approvals.decided(talk_of(name), decision.of, ruling, reason=decision.reason)
        except errors.ActumError as error:
            raise HTTPException(409, error.to_dict()) from error
        return StreamingResponse(turn(name, context), media_type="text/event-stream")

    return app


def pending(context: Context) -> list[dict[str, Any]]:
    return [{"of": waiting.of, "call": dict(waiting.call)} for waiting in approvals.pending(context)]


def sent(event: str, data: Any) -> str:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def played() -> models.Model:
    """A model that plays the answer whose word is in what the customer said last."""
    answers = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))

    def answer(request: models.ModelRequest) -> Any:
        words = [message["content"] for message in request.messages if message["role"] == "user"]
        return next(answer for word, answer in answers.items() if word in str(words[-1]))

    return models.Scripted([answer], chunk=8, repeat_last=True)


if __name__ == "__main__":
    import uvicorn

    ORDERS = [Order(id="o1", item="lamp", price=40, late=True), Order(id="o2", item="desk", price=120)]
    agent.model = models.load(sys.argv[1]) if len(sys.argv) > 1 else played()
    uvicorn.run(made({"ana": Customer("ana", ORDERS)}), port=8000)
