"""What the guard lets through and what it refuses, whatever stands behind it."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import unquote

import pytest

from actum.schema.json import JsonObject as Json
from actum.serving.callers import CALLER, Callers, Quota
from actum.serving.guard import Guard

TOKEN = "a-token-of-the-tests"
BEARER = ("authorization", f"Bearer {TOKEN}")
HOST = ("host", "127.0.0.1:8765")
JSON = ("content-type", "application/json")


class Behind:
    """What stands behind the guard: notes who was let in, and with what."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"] if scope["method"] == "POST" else b""
        self.seen.append((scope.get(CALLER, "?"), body))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})


async def reply(
    *headers: tuple[str, str],
    method: str = "GET",
    path: str = "/runs",
    query: str = "",
    body: list[Any] | None = None,
    guard: Guard | None = None,
    behind: Behind | None = None,
    scheme: str = "http",
) -> tuple[int, dict[str, str], bytes]:
    """The reply to a request; `body` are its pieces, and an exhausted list waits for ever."""
    guarded = guard or Guard(app=behind or Behind(), callers=Callers(TOKEN))
    pieces = list(body if body is not None else [b""])
    sent: list[Any] = []

    async def receive() -> Any:
        if not pieces:
            await asyncio.Event().wait()
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces) or len(piece) > 0}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "scheme": scheme,
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    await guarded(scope, receive, send)
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:])


async def test_who_has_the_token_is_let_in_and_nobody_else() -> None:
    behind = Behind()
    assert (await reply(HOST, BEARER, behind=behind))[0] == 200
    for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer ü", TOKEN):
        status, headers, body = await reply(HOST, ("authorization", wrong), behind=behind)
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert json.loads(body)["error"]["code"] == "token"
        assert TOKEN.encode() not in body
    assert (await reply(HOST, behind=behind))[0] == 401
    assert (await reply(HOST, BEARER, BEARER, behind=behind))[0] == 401
    assert behind.seen == [("", b"")]
    assert (await reply(HOST, path="/health"))[0] == 200


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"],
        ["evil.example:8765"],
        ["127.0.0.1.evil.example"],
        ["127.0.0.1", "evil.example"],
        ["evil.example", "127.0.0.1"],
        ["127.0.0.1", "127.0.0.1"],
        [],
        [""],
        ["0.0.0.0"],
        ["localhost.", "localhost"],
        ["127.0.0.1:8765@evil.example"],
    ],
)
async def test_a_name_that_is_not_the_servers_own_is_refused_also_beside_its_own(hosts: list[str]) -> None:
    behind = Behind()
    status, _, body = await reply(*(("host", host) for host in hosts), BEARER, behind=behind)
    assert (status, json.loads(body)["error"]["code"], behind.seen) == (421, "host", [])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]", "[::1]:8765"])
async def test_names_of_this_machine_are_its_own(host: str) -> None:
    assert (await reply(("host", host), BEARER))[0] == 200


@pytest.mark.parametrize(
    "origins",
    [
        ["http://evil.example"],
        ["null"],
        ["http://127.0.0.1:3000"],
        ["http://127.0.0.1"],
        ["http://[::1"],
        ["http://127.0.0.1:8765", "http://evil.example"],
        [""],
    ],
)
async def test_pages_of_other_origins_are_refused_even_with_the_token(origins: list[str]) -> None:
    behind = Behind()
    answer = await reply(HOST, BEARER, *(("origin", origin) for origin in origins), behind=behind)
    assert (answer[0], behind.seen) == (403, [])
    assert "access-control-allow-origin" not in answer[1]


async def test_its_own_pages_may_call_it_and_those_that_were_named() -> None:
    assert (await reply(HOST, BEARER, ("origin", "http://127.0.0.1:8765")))[0] == 200
    assert (await reply(HOST, BEARER, ("origin", "https://127.0.0.1:8765")))[0] == 200  # behind a proxy


async def test_a_page_of_the_same_host_without_tls_is_another_origin() -> None:
    page = ("origin", "http://127.0.0.1:8765")
    assert (await reply(HOST, BEARER, page, scheme="https"))[0] == 403
    assert (await reply(HOST, BEARER, ("origin", "ftp://127.0.0.1:8765")))[0] == 403
    guard = Guard(app=Behind(), callers=Callers(TOKEN), origins=["http://localhost:5173"])
    page = ("origin", "http://localhost:5173")
    status, headers, _ = await reply(HOST, BEARER, page, guard=guard)
    assert (status, headers["access-control-allow-origin"]) == (200, "http://localhost:5173")
    ask = ("access-control-request-headers", "authorization, content-type")
    status, headers, _ = await reply(HOST, page, ask, method="OPTIONS", guard=guard)
    assert (status, headers["access-control-allow-headers"]) == (204, "authorization, content-type")
    assert (await reply(HOST, page, guard=guard))[0] == 401
    assert (await reply(HOST, ("origin", "http://evil.example"), method="OPTIONS", guard=guard))[0] == 403


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json"]
)
async def test_what_a_form_can_send_is_refused(kind: str) -> None:
    behind = Behind()
    status, _, body = await reply(HOST, BEARER, ("content-type", kind), method="POST", body=[b"{}", b""], behind=behind)
    assert (status, json.loads(body)["error"]["code"], behind.seen) == (415, "content_type", [])
    length = ("content-length", "2")
    assert (await reply(HOST, BEARER, length, method="POST", body=[b"{}", b""], behind=behind))[0] == 415
    assert (await reply(HOST, BEARER, method="POST", body=[b""], behind=behind))[0] == 200  # nothing has no type


async def test_forms_of_its_own_pages_are_taken_where_there_are_any() -> None:
    form, page = ("content-type", "application/x-www-form-urlencoded"), ("origin", "http://127.0.0.1:8765")
    assert (await reply(HOST, BEARER, form, page, method="POST", path="/studio/run"))[0] == 200
    assert (await reply(HOST, BEARER, form, method="POST", path="/studio/run"))[0] == 415
    assert (await reply(HOST, BEARER, form, page, method="POST", path="/runs"))[0] == 415


async def test_a_large_body_is_refused_before_it_is_read_or_as_soon_as_it_is_too_large() -> None:
    behind = Behind()
    guard = Guard(app=behind, callers=Callers(TOKEN), most=10)
    for size in ("11", "1" + "0" * 30, "-1", "x"):
        announced = ("content-length", size)
        answer = await reply(HOST, BEARER, JSON, announced, method="POST", body=[], guard=guard)
        assert (answer[0], answer[1]["connection"]) == (413, "close")
    assert (await reply(HOST, BEARER, JSON, method="POST", body=[b"12345", b"67890", b"1"], guard=guard))[0] == 413
    assert behind.seen == []
    assert (await reply(HOST, BEARER, JSON, method="POST", body=[b"12345", b"67890", b""], guard=guard))[0] == 200
    assert behind.seen == [("", b"1234567890")]


async def test_a_body_is_read_for_nobody_without_a_token() -> None:
    guard = Guard(app=Behind(), callers=Callers(TOKEN))
    async with asyncio.timeout(30):
        assert (await reply(HOST, JSON, method="POST", body=[], guard=guard))[0] == 401


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    behind = Behind()
    guard = Guard(app=behind, callers=Callers(TOKEN), patience=0.01)
    answer = await reply(HOST, BEARER, JSON, method="POST", body=[b"{"], guard=guard)
    assert (answer[0], answer[1]["connection"], behind.seen) == (408, "close", [])


async def test_a_body_that_comes_by_drops_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actum.serving.guard._GRACE", 0.0)
    monkeypatch.setattr("actum.serving.guard._LEAST_RATE", 10**12)
    answer = await reply(HOST, BEARER, JSON, method="POST", body=[b"{", b"}", b""])
    assert (answer[0], json.loads(answer[2])["error"]["code"]) == (408, "slow_body")


async def test_a_refusal_ends_its_connection() -> None:
    for headers in ([HOST], [("host", "evil.example"), BEARER], [HOST, BEARER, ("origin", "null")]):
        status, answered, _ = await reply(*headers, JSON, method="POST", body=[])
        assert (status in {401, 403, 421}, answered["connection"]) == (True, "close")


async def test_a_caller_has_no_more_requests_open_than_its_share() -> None:
    """Beyond its share one caller is told to come back; others are answered, until the server has too many in all."""
    callers = Callers({"alice": "a" * 16, "mallory": "m" * 16}, Quota(streams=2))
    inside, leave = asyncio.Semaphore(0), asyncio.Event()

    async def held(scope: Any, receive: Any, send: Any) -> None:
        inside.release()
        await leave.wait()
        await Behind()(scope, receive, send)

    guard = Guard(app=held, callers=callers)
    bearers = {name: ("authorization", f"Bearer {name[0] * 16}") for name in ("alice", "mallory")}
    async with asyncio.TaskGroup() as tasks:
        mallory = [tasks.create_task(reply(HOST, bearers["mallory"], guard=guard)) for _ in range(2)]
        for _ in mallory:
            await inside.acquire()
        status, headers, body = await reply(HOST, bearers["mallory"], guard=guard)
        assert (status, headers["retry-after"], json.loads(body)["error"]["code"]) == (429, "1", "too_many_streams")
        alice = tasks.create_task(reply(HOST, bearers["alice"], guard=guard))
        await inside.acquire()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("actum.serving.callers._MOST_OPEN", 3)
            status, _, body = await reply(HOST, bearers["alice"], guard=guard)
            assert (status, json.loads(body)["error"]["code"]) == (503, "busy")
        leave.set()
    assert [task.result()[0] for task in [*mallory, alice]] == [200, 200, 200]
    assert (await reply(HOST, bearers["mallory"], guard=guard))[0] == 200


async def test_a_large_answer_is_handed_on_in_pieces() -> None:
    sizes: list[int] = []

    async def large(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 200_000, "more_body": True})
        await send({"type": "http.response.body", "body": b"y" * 65_537})

    async def nothing() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            sizes.append(len(message["body"]))
            ends.append(not message.get("more_body", False))

    ends: list[bool] = []
    scope: Json = {"type": "http", "method": "GET", "path": "/runs", "query_string": b"", "headers": []}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in (HOST, BEARER)]
    await Guard(app=large, callers=Callers(TOKEN))(scope, nothing, send)
    assert (sum(sizes), max(sizes), ends.count(True), ends[-1]) == (265_537, 65_536, 1, True)


async def test_who_takes_nothing_of_the_answer_is_given_up() -> None:
    guard = Guard(app=Behind(), callers=Callers(TOKEN), patience=0.01)
    scope: Json = {"type": "http", "method": "GET", "path": "/runs", "query_string": b"", "headers": []}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in (HOST, BEARER)]

    async def stuck(_: Any = None) -> Any:
        await asyncio.Event().wait()

    async with asyncio.timeout(30):
        await guard(scope, stuck, stuck)


async def test_a_token_in_the_url_becomes_a_cookie_that_is_not_the_token() -> None:
    status, headers, _ = await reply(HOST, path="/studio/", query=f"a=1&token={TOKEN}")
    set_cookie = headers["set-cookie"]
    assert (status, headers["location"]) == (303, "/studio/?a=1")
    assert TOKEN not in set_cookie
    assert set_cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    cookie = ("cookie", set_cookie.partition(";")[0])
    assert (await reply(HOST, cookie, path="/studio/"))[0] == 200
    assert (await reply(("host", "127.0.0.1:9999"), cookie, path="/studio/"))[0] == 401  # of another server
    assert (await reply(HOST, path="//evil.example", query=f"token={TOKEN}"))[1]["location"] == "/evil.example"
    for path in ("/studio/ideas/caf\u00e9 x.json", "/studio/ideas/a#b?c", "/x\r\nset-cookie: a=b"):  # as it was decoded
        to = (await reply(HOST, path=path, query=f"token={TOKEN}"))[1]["location"]
        assert (unquote(to), set(to) & set(" #?\r\n")) == (path, set())
    assert (await reply(HOST, path="/studio/", query="token=wrong"))[0] == 401
    assert (await reply(HOST, cookie, path="/studio/", query="my_token=5"))[0] == 200  # that is somebody else's


async def test_a_cookie_serves_only_pages_of_its_own_origin() -> None:
    _, headers, _ = await reply(HOST, path="/", query=f"token={TOKEN}")
    cookie, page = ("cookie", headers["set-cookie"].partition(";")[0]), ("origin", "http://127.0.0.1:8765")
    assert (await reply(HOST, cookie, ("sec-fetch-site", "same-site")))[0] == 403  # a page of another port
    assert (await reply(HOST, cookie, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")))[0] == 200
    assert (await reply(HOST, cookie, JSON, method="POST"))[0] == 403
    assert (await reply(HOST, cookie, JSON, page, method="POST"))[0] == 200
    assert (await reply(HOST, cookie, JSON, ("sec-fetch-site", "same-origin"), method="POST"))[0] == 200
    assert (await reply(HOST, cookie, ("authorization", "Bearer wrong")))[0] == 401


async def test_each_caller_has_its_own_token_and_its_own_requests_a_minute() -> None:
    now = [0.0]
    tokens = {"ann": "the-token-of-ann!", "bob": "the-token-of-bob!"}
    callers = Callers(tokens, Quota(requests=2), clock=lambda: now[0])
    behind = Behind()
    guard = Guard(app=behind, callers=callers)

    async def ask(name: str) -> tuple[int, dict[str, str], bytes]:
        return await reply(HOST, ("authorization", f"Bearer {tokens[name]}"), guard=guard)

    assert [(await ask("ann"))[0] for _ in range(2)] == [200, 200]
    status, headers, _ = await ask("ann")
    assert (status, headers["retry-after"]) == (429, "30")
    assert (await ask("bob"))[0] == 200
    now[0] = 30.0
    assert (await ask("ann"))[0] == 200
    assert [caller for caller, _ in behind.seen] == ["ann", "ann", "bob", "ann"]


def test_a_token_is_a_secret() -> None:
    for wrong in ("", "short", {}, {"a": "x" * 20, "b": "x" * 20}, "ü" * 20):
        with pytest.raises(ValueError, match="token"):
            Callers(wrong)
