"""Images, audio and files in requests: which of them a model takes, and the port through which they are read (M10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..errors import MessageError
from ..messages import Block
from ..messages.media import media_name
from ..protocol.context import Context, media_origin
from ..protocol.message import is_brought
from ..schema.json import JsonObject

if TYPE_CHECKING:
    from pathlib import Path

    from .model import ModelMessage, ModelRequest, SentMedia

_COPIED = ("url", "path", "data", "media_type", "detail", "fetch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """What a model takes in addition to text. `types` are prefixes of the media types of each kind, for example
    `image/`; other kinds are not taken. It also takes addresses of the kinds in `urls`.
    """

    types: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    urls: frozenset[str] = frozenset()

    def has_type(self, kind: str, media_type: str) -> bool:
        """Whether it takes content of this media type."""
        return any(media_type.startswith(begin) for begin in self.types.get(kind, ()))


EVERYTHING = Takes(
    types={"image": ("image/",), "audio": ("audio/",), "file": ("",)}, urls=frozenset({"image", "audio", "file"})
)


def takes_of(model: object) -> Takes:
    """The model's `takes`: text alone if it has none, everything if there is no model."""
    return EVERYTHING if model is None else getattr(model, "takes", None) or Takes()


class MediaSource(Protocol):
    """Reads what messages name: files and URLs."""

    async def __call__(self, media: SentMedia, takes: Takes) -> SentMedia:
        """The media with content, size and digest; or unchanged, if the provider is to read the address.

        Raises:
            MessageError: it can't be read, isn't what it should be, or is too large; naming its message.
        """
        ...

    def within(self, roots: Sequence[Path]) -> MediaSource:
        """The same for a delegate whose files may lie below these folders, too."""
        ...


def placed(blocks: Sequence[Block], context: Context, takes: Takes) -> Iterator[ModelMessage]:
    """Blocks as messages with their media; media that a call brought are only named if the model doesn't take them.

    Raises:
        MessageError: the author or user wrote a message of a kind that the model doesn't take; names the first one.
    """
    at: dict[int, int] = {}
    if any(block.media is not None for block in blocks):
        at = {id(message): index for index, message in enumerate(context.messages)}
    for block in blocks:
        if block.media is None:
            yield {"role": block.role, "content": block.text}
        elif block.media["type"] not in takes.types and is_brought(block.media):
            yield {"role": block.role, "content": f"{block.text} (not shown: the model takes none)"}
        else:
            media = _media(block.media, at[id(block.media)], context.origin)
            if media["kind"] not in takes.types:
                raise MessageError(f"the model takes no messages of type {media['kind']}", index=media.get("at"))
            yield {"role": block.role, "content": block.text, "media": media}


def _media(message: JsonObject, at: int, origin: str | None) -> SentMedia:
    fields: dict[str, Any] = {key: message[key] for key in _COPIED if key in message}
    start = media_origin(message, origin)
    if start is not None:
        fields["origin"] = start
    return cast("SentMedia", {"kind": message["type"], "at": at, "name": media_name(message), **fields})


async def with_content(request: ModelRequest, read: MediaSource | None, takes: Takes) -> ModelRequest:
    """The request with the content of all its media; raises as `MediaSource`."""
    from .model import ModelRequest

    if read is None or not any("media" in message for message in request.messages):
        return request
    messages: list[ModelMessage] = []
    for message in request.messages:
        media = message.get("media")
        messages.append(message if media is None else {**message, "media": await read(media, takes)})
    # From the schema's text, so that it need not be parsed.
    return ModelRequest.of_text(
        tuple(messages), request.schema_text, request.settings, request.mode, request.stable, request.shared
    )
