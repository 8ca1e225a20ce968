"""Where a hosted model is asked and how requests to it are written. A value; knows no SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["openai", "openai-responses", "openai-compatible", "anthropic", "google"]
"""The wires: chat completions at OpenAI or as others speak it, OpenAI's responses, and those of the other two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A host, the key for it and the wire it speaks: what connections are shared by."""

    kind: Kind
    provider: str
    base_url: str | None
    api_key: str | None = field(repr=False)
