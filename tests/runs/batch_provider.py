"""Providers on loopback that play the batch APIs of OpenAI, Anthropic and Google, and count how often each request is
paid.

Each runs on threads of its own. `around` is told of every request before it has an effect, and again before it is
answered: what it raises there, or whom it kills, is what may happen at that moment.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any

Json = dict[str, Any]
_FUTURE = "2096-10-02T07:06:40Z"


@dataclass
class BatchProvider:
    """What it holds: files by id, batches by id, and how often each body was answered."""

    answer: Callable[[Json], str]
    url: str = ""
    around: Callable[[str, str], None] = lambda what, when: None
    looks: int = 1
    """How often a batch is looked at before it has ended."""
    refuses: int = 0
    """How many requests of the next batches come to nothing."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    batches: dict[str, Json] = field(default_factory=dict[str, Json])
    cancelled: list[str] = field(default_factory=list[str])
    """The batches that it was asked to cancel, by id."""
    looked: Counter[str] = field(default_factory=Counter[str])
    paid: Counter[str] = field(default_factory=Counter[str])
    numbers: Any = field(default_factory=count)
    lock: Any = field(default_factory=Lock)

    model = ""
    """A model of it, as `models.load` takes it."""
    base = ""
    """What the URL of its API ends in."""

    @abstractmethod
    def handle(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        """The JSON, or the text, that a request is answered with; None where there is nothing."""

    def kept(self, text: str) -> str:
        """The name of a file with this text."""
        name = f"file-{next(self.numbers)}"
        self.files[name] = text
        return name

    def is_over(self, id: str) -> bool:
        """Whether a batch that is looked at has been looked at often enough."""
        self.looked[id] += 1
        return self.looked[id] > self.looks

    def answered(self, body: Json) -> str | None:
        """The answer to a request of a batch, which is paid for; None where it comes to nothing."""
        if self.refuses:
            self.refuses -= 1
            return None
        self.paid[json.dumps(body, sort_keys=True)] += 1
        return self.answer(body)


class OpenAI(BatchProvider):
    """Files and batches of responses."""

    model, base = "openai-responses:gpt-5.2", "/v1"

    def handle(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        match method, path.removeprefix("/v1/").partition("?")[0].split("/"):
            case "POST", ["files"]:
                head = f"Content-Type: {headers['Content-Type']}\r\n\r\n"
                parts = BytesParser().parsebytes(head.encode() + body).get_payload()
                (file,) = (part for part in parts if part.get_filename())  # type: ignore[union-attr]
                return self._file(file.get_payload(decode=True).decode().strip())  # type: ignore[union-attr]
            case "GET", ["files", id, "content"]:
                return self.files.get(id)
            case "DELETE", ["files", id]:
                self.files.pop(id, None)
                return {"id": id, "object": "file", "deleted": True}
            case "POST", ["batches"]:
                return self._batch(json.loads(body))
            case "GET", ["batches"]:
                return {"object": "list", "data": [*self.batches.values()][::-1], "has_more": False}
            case "GET", ["batches", id]:
                return self._look(id)
            case "POST", ["batches", id, "cancel"]:
                self.cancelled.append(id)
                self.batches[id]["status"] = "cancelled"
                return self.batches[id]
            case _:
                return None

    def _file(self, text: str) -> Json:
        name = self.kept(text)
        return {"id": name, "object": "file", "bytes": 1, "created_at": 1, "filename": "f", "purpose": "batch"}

    def _batch(self, request: Json) -> Json:
        name = f"batch_{next(self.numbers)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": "/v1/responses",
            "input_file_id": request["input_file_id"],
            "completion_window": "24h",
            "status": "in_progress",
            "created_at": 4_000_000_000,
        }
        return self.batches[name]

    def _look(self, id: str) -> Json:
        batch = self.batches[id]
        if self.is_over(id) and batch["status"] == "in_progress":
            lines = [self._line(json.loads(line)) for line in self.files[batch["input_file_id"]].splitlines()]
            batch["output_file_id"] = self.kept("\n".join(map(json.dumps, lines)))
            batch["status"] = "completed"
        return batch

    def _line(self, line: Json) -> Json:
        text = self.answered(line["body"])
        if text is None:
            expired = {"code": "batch_expired", "message": "too late"}
            return {"id": "l", "custom_id": line["custom_id"], "response": None, "error": expired}
        part: Json = {"type": "output_text", "text": text, "annotations": []}
        message: Json = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        body: Json = {"id": "r", "object": "response", "created_at": 1, "model": "gpt-5.2", "status": "completed"}
        body |= {"output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        body["usage"] = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
        return {"id": "l", "custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}


class Anthropic(BatchProvider):
    """Batches of messages."""

    model = "anthropic:claude-sonnet-4-5"

    def handle(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        match method, path.removeprefix("/v1/messages/").partition("?")[0].split("/"):
            case "POST", ["batches"]:
                return self._batch(json.loads(body)["requests"])
            case "GET", ["batches"]:
                views = [self._view(name) for name in self.batches][::-1]
                return {"data": views, "has_more": False, "first_id": None, "last_id": None}
            case "GET", ["batches", id]:
                if self.is_over(id) and self.batches[id]["status"] == "in_progress":
                    self._end(id, self._result)
                return self._view(id)
            case "GET", ["batches", id, "results"]:
                return self.files[self.batches[id]["results"]]
            case "POST", ["batches", id, "cancel"]:
                self.cancelled.append(id)
                self._end(id, lambda _: {"type": "canceled"})
                return self._view(id)
            case _:
                return None

    def _batch(self, requests: list[Json]) -> Json:
        name = f"msgbatch_{next(self.numbers)}"
        self.batches[name] = {"requests": requests, "status": "in_progress"}
        return self._view(name)

    def _end(self, id: str, became: Callable[[Json], Json]) -> None:
        batch = self.batches[id]
        lines = [
            {"custom_id": request["custom_id"], "result": became(request["params"])} for request in batch["requests"]
        ]
        batch |= {"status": "ended", "results": self.kept("\n".join(map(json.dumps, lines)))}

    def _view(self, id: str) -> Json:
        batch = self.batches[id]
        counts = {"processing": len(batch["requests"]), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        return {
            "id": id,
            "type": "message_batch",
            "processing_status": batch["status"],
            "request_counts": counts,
            "created_at": _FUTURE,
            "expires_at": _FUTURE,
            "results_url": f"{self.url}/v1/messages/batches/{id}/results" if batch["status"] == "ended" else None,
        }

    def _result(self, params: Json) -> Json:
        text = self.answered(params)
        if text is None:
            error = {"type": "overloaded_error", "message": "Overloaded"}
            return {"type": "errored", "error": {"type": "error", "error": error, "request_id": None}}
        message: Json = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
        message |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None}
        return {"type": "succeeded", "message": message | {"usage": {"input_tokens": 10, "output_tokens": 5}}}


class Google(BatchProvider):
    """Batch Mode: a file is uploaded, and a job reads it."""

    model = "google:gemini-2.5-flash"

    def handle(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        match method, path.partition("?")[0].removeprefix("/").split("/"):
            case "POST", ["upload", "v1beta", "files"]:
                return {}  # where to send it is said in a header
            case "POST", ["upload", "here"]:
                return {"file": {"name": f"files/{self.kept(body.decode())}"}}
            case "DELETE", ["v1beta", "files", id]:
                self.files.pop(id, None)
                return {}
            case "GET", ["v1beta", "files", id]:
                return self.files.get(id.removesuffix(":download"))
            case "POST", ["v1beta", "models", _]:
                return self._job(json.loads(body)["batch"])
            case "GET", ["v1beta", "batches"]:
                return {"operations": [self._view(name) for name in self.batches]}
            case "GET", ["v1beta", "batches", id]:
                if self.is_over(id) and self.batches[id]["state"] == "BATCH_STATE_RUNNING":
                    self._end(id)
                return self._view(id)
            case "POST", ["v1beta", "batches", called]:
                name = called.removesuffix(":cancel")
                self.cancelled.append(name)
                self.batches[name]["state"] = "BATCH_STATE_CANCELLED"
                return {}
            case _:
                return None

    def _job(self, request: Json) -> Json:
        name = f"b{next(self.numbers)}"
        file = request["inputConfig"]["fileName"].removeprefix("files/")
        self.batches[name] = {"state": "BATCH_STATE_RUNNING", "file": file}
        return self._view(name)

    def _end(self, id: str) -> None:
        batch = self.batches[id]
        lines = [self._line(json.loads(line)) for line in self.files[batch["file"]].splitlines()]
        batch |= {"state": "BATCH_STATE_SUCCEEDED", "results": self.kept("\n".join(map(json.dumps, lines)))}

    def _view(self, id: str) -> Json:
        batch = self.batches[id]
        output = {"output": {"responsesFile": f"files/{batch['results']}"}} if "results" in batch else {}
        metadata = {"model": "models/gemini-2.5-flash", "state": batch["state"], "createTime": _FUTURE, **output}
        return {"name": f"batches/{id}", "metadata": metadata}

    def _line(self, line: Json) -> Json:
        text = self.answered(line["request"])
        if text is None:
            return {"key": line["key"], "error": {"code": 8, "message": "Resource has been exhausted"}}
        content = {"role": "model", "parts": [{"text": text}]}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        response = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}
        return {"key": line["key"], "response": response | {"modelVersion": "gemini-2.5-flash"}}


PROVIDERS: dict[str, type[BatchProvider]] = {"openai": OpenAI, "anthropic": Anthropic, "google": Google}


@contextmanager
def batch_provider(answer: Callable[[Json], str], kind: str = "openai", **more: Any) -> Generator[BatchProvider]:
    """A provider that serves until the block ends."""
    provider = PROVIDERS[kind](answer, **more)

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            what = f"{self.command} {self.path.partition('?')[0]}"
            with provider.lock:
                provider.around(what, "before")
                answer = provider.handle(self.command, self.path, body, dict(self.headers))
                provider.around(what, "after")
            text = answer if isinstance(answer, str) else json.dumps(answer)
            self.send_response(404 if answer is None else 200)
            kind = "application/octet-stream" if isinstance(answer, str) else "application/json"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            if "x-goog-upload-command" in self.headers:
                self.send_header("x-goog-upload-url", f"{provider.url}/upload/here")
                self.send_header("x-goog-upload-status", "final" if "finalize" in str(self.headers) else "active")
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = _do

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_address[1]}{provider.base}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
