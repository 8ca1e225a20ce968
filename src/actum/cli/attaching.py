"""`-i picture=@photo.png`: a file that becomes a message for the model (M10), or that holds a value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import ActumError
from ..messages import Audio, File, Image
from ..protocol.config import Config
from ..protocol.context import Context
from ..schema.json import JsonObject
from ..sources.files import read_text
from ..sources.media_types import media_type_of
from .options import CommandError, declared, json_option, pair_of, takes_no_text

_MOST = Config().max_media_bytes
_KINDS = {"image": Image, "audio": Audio}


def attached(context: Context, pairs: Sequence[str]) -> tuple[list[str], list[JsonObject]]:
    """The pairs that are values of the input, and messages with the files that the other pairs name.

    A pair names a file if its value begins with @ and the input doesn't declare its key; @@ stands for @ itself.
    A key that the input declares with another type than text takes its value from the file, as JSON.

    Raises:
        CommandError: a file can't be read, isn't JSON, or has no known media type.
    """
    values: list[str] = []
    messages: list[JsonObject] = []
    for pair in pairs:
        key, text = pair_of(pair, "-i takes")
        if text.startswith("@") and takes_no_text(context, key):
            values.append(f"{key}={_value_in(key, text[1:])}")
        elif not text.startswith("@") or declared(context, key):
            values.append(pair)
        elif text.startswith("@@"):
            values.append(f"{key}={text[1:]}")
        else:
            messages.append(_message(key, text[1:]))
    return values, messages


def _value_in(key: str, name: str) -> str:
    """The JSON text in a file."""
    try:
        text = read_text(Path(name))
    except ActumError as error:
        raise CommandError(f"-i {key}: {error}") from None
    json_option(text, f"-i {key}: {name}")
    return text


def _message(key: str, name: str) -> JsonObject:
    try:
        with Path(name).open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        hint = "; a text that begins with @ is written with @@"
        raise CommandError(f"-i {key}: {name!r} can't be read: {error.strerror or error}{hint}") from None
    if len(content) > _MOST:
        raise CommandError(f"-i {key}: {name!r} is larger than {_MOST} bytes")
    media_type = media_type_of(content, name)
    if media_type is None:
        raise CommandError(f"-i {key}: neither the content of {name!r} nor its name says what it is")
    kind = _KINDS.get(media_type.partition("/")[0], File)
    return kind(data=content, media_type=media_type, name=key).to_dict()
