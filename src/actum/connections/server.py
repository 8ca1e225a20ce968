"""A server of tools: how it is started or reached, whether it is trusted, and which of its tools are offered."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..errors import ServerError
from ..schema.quoting import quoted

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
"""The names that a header may have (RFC 9110, 5.6.2)."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """One MCP server: a program that is started (`command`), or an address (`url`). Or an API (`openapi`).

    Raises:
        ServerError: a field has a value that it can't have.
    """

    name: str = field(kw_only=False)
    """Its name, in errors and as the prefix of its tools: `fs/read_file`."""
    command: Sequence[str] = ()
    """The program and its arguments; no shell reads them."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables of its environment, in addition to a short list: PATH, HOME and the like."""
    cwd: Path | None = None
    """The folder that it starts in, None for the current one."""
    url: str | None = None
    """Its address (streamable HTTP); that of an API only if its document names none."""
    openapi: str | None = None
    """The path or address of an OpenAPI document (3.0, 3.1), whose operations are the tools of an API over HTTP."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers of every request to its address."""
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Query parameters of every request to an API, for example its key."""
    trusted: bool = False
    """Whether to believe which of its tools only read: those are then not held for a decision."""
    only: Sequence[str] | None = None
    """Which of its tools are offered, by their own names; None for all."""
    without: Sequence[str] = ()
    """Which of its tools are not offered."""
    prefix: str | None = None
    """The prefix of its tools' names; by default its name."""
    timeout: float = 300.0
    """How many seconds one call may take."""
    start_timeout: float = 60.0
    """How many seconds it may take to start and to list its tools."""
    most_bytes: int = 16 * 2**20
    """How large one of its messages may be, and its list of tools."""
    allow_hosts: Sequence[str] = ()
    """Hosts that `url` may lead to although their address is private."""
    protocol: Literal["auto", "legacy"] = "auto"
    """Whether to ask for the newest protocol first, or to use the one before 2026-07-28 at once."""
    shown: str = ""
    """Its command or address as it was written down, without the values of variables."""

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise _wrong(f"{quoted(self.name, 60)} is not a name for a server: letters, digits, '_', '-' and '.'")
        if bool(self.command) == (self.url is not None or self.openapi is not None):
            raise _wrong("it needs a command or a url, and not both; or it is an API, by openapi", self.name)
        if self.query and self.openapi is None:
            raise _wrong("only an API, by openapi, has a query", self.name)
        if self.openapi is not None and any(character in (self.url or "") for character in "?#"):
            raise _wrong("the url of an API has no query: give `query`", self.name)
        if self.prefix is not None and not _NAME.match(self.prefix):
            raise _wrong("its prefix may hold letters, digits, '_', '-' and '.'", self.name)
        for limit in ("timeout", "start_timeout", "most_bytes"):
            if not 0 < getattr(self, limit) < math.inf:
                raise _wrong(f"its {limit} must be a positive number", self.name)
        for name, value in self.headers.items():
            if not HEADER_NAME.match(name):
                raise _wrong(f"{quoted(name, 60)} is not the name of a header", self.name)
            if not is_header_value(value):  # not quoted: it may be a secret
                raise _wrong(f"its header {name} has a value that no header can have", self.name)
        if not self.shown:
            shown = " at ".join(filter(None, (self.openapi, self.url))) or " ".join(self.command)
            object.__setattr__(self, "shown", shown)

    @property
    def kind(self) -> str:
        """What it is called in messages."""
        return "MCP server" if self.openapi is None else "API"

    @property
    def begin(self) -> str:
        """The beginning of its tools' names."""
        return f"{self.name if self.prefix is None else self.prefix}/"

    def offers(self, tool: str) -> bool:
        """Whether its tool of this name is offered."""
        return (self.only is None or tool in self.only) and tool not in self.without


def is_header_value(text: str) -> bool:
    """Whether a header can have this value: one line of ASCII without spaces around it."""
    return text.isascii() and text.isprintable() and text == text.strip()


def _wrong(reason: str, server: str | None = None) -> ServerError:
    return ServerError(reason if server is None else f"can't be used: {reason}", server=server, code="server_config")
