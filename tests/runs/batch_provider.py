"""A provider on loopback that plays OpenAI's files and batches, and counts how often each request is paid.

It runs on threads of its own. `around` is told of every request before it has an effect, and again before it is
answered: what it raises there, or whom it kills, is what may happen at that moment.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any

Json = dict[str, Any]


@dataclass
class BatchProvider:
    """What it holds: files by id, batches by id, and how often each body was answered."""

    answer: Callable[[Json], str]
    url: str = ""
    around: Callable[[str, str], None] = lambda what, when: None
    looks: int = 1
    """How often a batch is looked at before it has ended."""
    refuses: int = 0
    """How many lines of the next batches expire."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    batches: dict[str, Json] = field(default_factory=dict[str, Json])
    looked: Counter[str] = field(default_factory=Counter[str])
    paid: Counter[str] = field(default_factory=Counter[str])
    numbers: Any = field(default_factory=count)
    lock: Any = field(default_factory=Lock)

    def handle(self, method: str, path: str, body: bytes, kind: str) -> Any:
        """The JSON, or the text, that a request is answered with; None where there is nothing."""
        match method, path.removeprefix("/v1/").partition("?")[0].split("/"):
            case "POST", ["files"]:
                parts = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body).get_payload()
                (file,) = (one for one in parts if one.get_filename())  # type: ignore[union-attr]
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
                return self.batches[id]
            case _:
                return None

    def _file(self, text: str) -> Json:
        name = f"file-{next(self.numbers)}"
        self.files[name] = text
        return {"id": name, "object": "file", "bytes": 1, "created_at": 1, "filename": "f", "purpose": "batch"}

    def _batch(self, asked: Json) -> Json:
        name = f"batch_{next(self.numbers)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": "/v1/responses",
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "status": "in_progress",
            "created_at": 4_000_000_000,
        }
        return self.batches[name]

    def _look(self, id: str) -> Json:
        batch = self.batches[id]
        self.looked[id] += 1
        if self.looked[id] > self.looks and batch["status"] == "in_progress":
            lines = [self._line(json.loads(line)) for line in self.files[batch["input_file_id"]].splitlines()]
            batch["output_file_id"] = self._file("\n".join(map(json.dumps, lines)))["id"]
            batch["status"] = "completed"
        return batch

    def _line(self, line: Json) -> Json:
        if self.refuses:
            self.refuses -= 1
            expired = {"code": "batch_expired", "message": "too late"}
            return {"id": "l", "custom_id": line["custom_id"], "response": None, "error": expired}
        self.paid[json.dumps(line["body"], sort_keys=True)] += 1
        part: Json = {"type": "output_text", "text": self.answer(line["body"]), "annotations": []}
        message: Json = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        body: Json = {"id": "r", "object": "response", "created_at": 1, "model": "gpt-5.2", "status": "completed"}
        body |= {"output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        body["usage"] = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
        return {"id": "l", "custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}


@contextmanager
def batch_provider(answer: Callable[[Json], str], **more: Any) -> Generator[BatchProvider]:
    """The provider, as long as the block lasts."""
    provider = BatchProvider(answer, **more)

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
                found = provider.handle(self.command, self.path, body, self.headers.get("content-type") or "")
                provider.around(what, "after")
            text = found if isinstance(found, str) else json.dumps(found)
            self.send_response(404 if found is None else 200)
            self.send_header(
                "content-type", "application/octet-stream" if isinstance(found, str) else "application/json"
            )
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = _do

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
