"""`--mcp FILE`: the servers of a file, connected while a command runs; the user sees what is started."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from ..connections import Pins, Servers
from ..connections import open as connected
from ..connections.servers_file import servers_of
from ..execution.approver import Approve, Reply
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.registry import Registry
from ..protocol.tool import Tool
from ..schema.quoting import quoted
from .questions import Questions, approver
from .render.terminal import tell


@asynccontextmanager
async def servers_at(file: str | None, tools: Registry, more: Sequence[Path] = ()) -> AsyncGenerator[None]:
    """Register the tools of the servers of a file, and of the Idea's own files, for the length of the block.

    Raises:
        ServerError: a file can't be used, or a server can't be started.
    """
    async with AsyncExitStack() as stack:
        for path in _files(file, more):
            names = (await stack.enter_async_context(started(str(path)))).register(tools)
            stack.callback(tools.withdraw, names)
        yield


def _files(file: str | None, more: Sequence[Path]) -> Iterable[Path]:
    """Each file once."""
    return dict.fromkeys([*([] if file is None else [Path(file).resolve()]), *more])


@asynccontextmanager
async def started(file: str, only: Sequence[str] | None = None, *, pinned: bool = True) -> AsyncGenerator[Servers]:
    """The servers of a file. Says beforehand what is started unless it is pinned, and then what isn't offered."""
    pins = Pins.beside(Path(file))
    for server in servers_of(file):
        if server.name not in pins.servers and (only is None or server.name in only):
            doing = "starting" if server.openapi is None else "reading"
            tell(f"actum: {doing} the {server.kind} {server.name!r}, which is not pinned: {server.shown}")
    async with connected(file, only=only, pinned=pinned) as servers:
        for tool in servers.left_out:
            tell(f"actum: left out the tool {quoted(tool.tool, 60)} of the server {tool.server!r}: {tool.why}")
        for drift in servers.drift:
            hint = f"see `actum mcp show {drift.server} --diff`, then `actum mcp pin`"
            tell(f"actum: not offered, because {drift}; {hint}")
        yield servers


def approver_of(how: str | None, questions: Questions, *, has_servers: bool) -> Approve | None:
    """The approver of `--approve`: by default all calls run, except those of servers, which are held."""
    return agree if how == "all" and has_servers else approver(how or "all", questions)


async def agree(_call: Call, _tool: Tool, _context: Context) -> Reply:
    """An approver that lets every call run, including those of servers."""
    return True
