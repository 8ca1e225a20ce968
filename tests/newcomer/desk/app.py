import json
import os
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

from desk import USER, Answer, make_agent
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from actum import Context, approvals, errors, events, models

SYSTEM = {"type": "system", "message": "You are the help desk of a shop. Refund late orders below 50."}


class Said(BaseModel):
    text: str


class Decision(BaseModel):
    of: str
    approve: bool
    reason: str = ""


def sse(event: str, data: object) -> str:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def pending_of(context: Context) -> list[dict[str, Any]]:
    return [{"of": waiting.of, "call": dict(waiting.call)} for waiting in approvals.pending(context)]


def make_app(model: models.Model | str, path: str = ":memory:") -> FastAPI:
    app, agent = FastAPI(), make_agent(model)
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    db.execute("create table if not exists talk (user text primary key, context text not null)")
    db.execute("create table if not exists usage (user text, requests int, tokens_in int, tokens_out int, usd real)")

    def load(user: str) -> Context:
        row = db.execute("select context from talk where user=?", (user,)).fetchone()
        return Context(json.loads(row[0]) if row else [SYSTEM])

    async def turn(user: str, message: str | None, context: Context) -> AsyncIterator[str]:
        USER.set(user)
        talk = agent.conversation(context, Answer, member="text")
        try:
            async with talk.stream(message) as run:
                async for event in run:
                    match event:
                        case events.TextDelta(member="text", provisional=False, depth=0):
                            yield sse("text", event.text)
                        case events.CallStarted():
                            yield sse("call", {"tool": event.call.tool, "place": str(event.place)})
                        case _:
                            pass
            used = run.result.usage
            spent = (user, used.requests, used.input_tokens, used.output_tokens, used.usd)
            db.execute("insert into usage values (?,?,?,?,?)", spent)
            if run.result.waiting:
                yield sse("waiting", pending_of(talk.context))
            else:
                yield sse("answer", run.result.output.model_dump())
        except errors.ActumError as error:
            yield sse("error", error.to_dict())
        finally:
            db.execute("insert or replace into talk values (?,?)", (user, json.dumps(talk.context.messages)))

    @app.post("/chat/{user}")
    async def chat(user: str, message: Said) -> StreamingResponse:
        return StreamingResponse(turn(user, message.text, load(user)), media_type="text/event-stream")

    @app.get("/chat/{user}/pending")
    async def pending(user: str) -> list[dict[str, Any]]:
        return pending_of(load(user))

    @app.post("/chat/{user}/decisions")
    async def decide(user: str, decision: Decision) -> StreamingResponse:
        ruling = "approve" if decision.approve else "deny"
        try:
            context = approvals.decided(load(user), decision.of, ruling, reason=decision.reason)
        except errors.ActumError as error:
            raise HTTPException(409, error.to_dict()) from error
        return StreamingResponse(turn(user, None, context), media_type="text/event-stream")

    return app


def production() -> FastAPI:
    return make_app(models.load("openai:gpt-5.2", base_url=os.environ["BASE"], api_key="x", timeout=30), "desk.db")
