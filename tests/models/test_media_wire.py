"""Images, audio and files on each wire, judged by the types in which the provider publishes its format (M10)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from actum import Agent, Tools, errors
from actum.schema.json import JsonObject as Json

from .asking import every_wire
from .server import Server
from .wires import WIRES, Wire

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
WAV = b"RIFF\x24\0\0\0WAVEfmt " + bytes(20)
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
CONTENT = {"image": PNG, "audio": WAV, "file": PDF}
ANSWER = '{"calls": [], "output": "seen"}'


def message(kind: str, **more: Any) -> Json:
    return {"type": kind, "data": b64encode(CONTENT[kind]).decode(), "name": "one", **more}


async def sent(server: Server, wire: Wire, *messages: Json) -> Json:
    server.reply(wire.answer(ANSWER))
    result = await Agent(wire.hosted(server), tools=Tools()).run([{"type": "user", "message": "Look."}, *messages])
    assert result.output == "seen"
    return server.last.body


def chat_parts(body: Json) -> list[Any]:
    from openai.types.chat import ChatCompletionUserMessageParam

    parts: list[Any] = []
    for message in body["messages"]:
        if message["role"] == "user":
            TypeAdapter(ChatCompletionUserMessageParam).validate_python(message, strict=True)
            parts += [part for part in message["content"] if not isinstance(part, str)]
    return parts


def responses_parts(body: Json) -> list[Any]:
    from openai.types.responses.response_input_param import Message

    parts: list[Any] = []
    for message in body["input"]:
        if message["role"] == "user" and not isinstance(message["content"], str):
            TypeAdapter(Message).validate_python(message)
            parts += message["content"]
    return parts


def anthropic_parts(body: Json) -> list[Any]:
    from anthropic.types import MessageParam

    for message in body["messages"]:
        TypeAdapter(MessageParam).validate_python(message)
    return [part for message in body["messages"] for part in message["content"]]


def google_parts(body: Json) -> list[Any]:
    from google.genai.types import Content

    return [
        part.model_dump(exclude_none=True)
        for content in body["contents"]
        for part in Content.model_validate(content).parts or []
    ]


PARTS: dict[str, Callable[[Json], list[Any]]] = {
    "openai": chat_parts,
    "openai-compatible": chat_parts,
    "openai-responses": responses_parts,
    "anthropic": anthropic_parts,
    "google": google_parts,
}


def content_in(part: Any) -> bytes:
    """The content of a part, wherever its provider has it."""
    match part:
        case {"type": "image_url", "image_url": {"url": uri}} | {"type": "file", "file": {"file_data": uri}}:
            return b64decode(uri.partition("base64,")[2])
        case {"type": "input_image", "image_url": uri} | {"type": "input_file", "file_data": uri}:
            return b64decode(uri.partition("base64,")[2])
        case {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}:
            return b64decode(data)
        case {"type": "image" | "document", "source": {"type": "base64", "data": data}}:
            return b64decode(data)
        case {"inline_data": {"data": bytes(data)}}:
            return data
        case _:
            return b""


@every_wire
@pytest.mark.rule("M10")
@pytest.mark.parametrize("kind", list(CONTENT))
async def test_each_kind_goes_along_as_the_providers_own_part_or_is_refused(
    server: Server, wire: Wire, kind: str
) -> None:
    if kind not in wire.hosted(server).takes.types:
        with pytest.raises(errors.MessageError, match=f"message 1: the model takes no messages of type {kind}"):
            await sent(server, wire, message(kind))
        assert not server.received
        return
    parts = PARTS[wire.kind](await sent(server, wire, message(kind)))
    assert [content for part in parts if (content := content_in(part))] == [CONTENT[kind]]
    at = next(index for index, part in enumerate(parts) if content_in(part))
    assert f"¶{kind} one" in str(parts[at - 1]), "behind what it is called"


@every_wire
@pytest.mark.rule("M10")
async def test_an_address_is_handed_on_where_the_wire_takes_it(server: Server, wire: Wire) -> None:
    picture = {"type": "image", "url": "https://example.org/cat.png"}
    if "image" not in wire.hosted(server).takes.urls:
        with pytest.raises(errors.MessageError, match=r"message 1: the image 'cat.png': the model takes no addresses"):
            await sent(server, wire, {**picture, "fetch": False})
        assert not server.received
        return
    parts = PARTS[wire.kind](await sent(server, wire, picture))
    assert any("https://example.org/cat.png" in str(part) for part in parts)


@pytest.mark.rule("M10")
async def test_a_document_is_handed_on_as_an_address_to_responses(server: Server) -> None:
    wire = WIRES["openai-responses"]
    parts = responses_parts(await sent(server, wire, {"type": "file", "url": "https://example.org/a.pdf"}))
    assert {"type": "input_file", "file_url": "https://example.org/a.pdf"} in parts


@pytest.mark.rule("M10")
@pytest.mark.parametrize(
    ("name", "detail", "where"),
    [
        ("openai", "low", {"detail": "low"}),
        ("openai-responses", "low", {"detail": "low"}),
        ("google", "MEDIA_RESOLUTION_LOW", {"level": "MEDIA_RESOLUTION_LOW"}),
    ],
)
async def test_how_closely_to_look_is_told(server: Server, name: str, detail: str, where: Json) -> None:
    wire = WIRES[name]
    parts = PARTS[wire.kind](await sent(server, wire, message("image", detail=detail)))
    ((key, value),) = where.items()
    assert f"'{key}': " in str(parts)
    assert value in str(parts)


@pytest.mark.rule("M10")
async def test_a_type_that_the_wire_does_not_take_is_refused_before_anything_is_sent(server: Server) -> None:
    picture = {**message("image"), "media_type": "image/tiff"}
    with pytest.raises(
        errors.MessageError, match="the image 'one': the model takes no image/tiff; it takes image/jpeg"
    ):
        await sent(server, WIRES["anthropic"], picture)
    assert not server.received
