"""`--mcp FILE`: the servers of a file, connected while a command runs; their user is told what is started."""

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
async def servers_at(file: str | None, tools: Registry, named: Sequence[Path] = ()) -> AsyncGenerator[None]:
    """The tools of the servers of a file, and of those that the Idea names, registered while the block lasts.

    Raises:
        ServerError: a file can't be used, or a server can't be started.
    """
    async with AsyncExitStack() as stack:
        for path in _files(file, named):
            names = (await stack.enter_async_context(started(str(path)))).register(tools)
            stack.callback(tools.withdraw, names)
        yield


def _files(file: str | None, named: Sequence[Path]) -> Iterable[Path]:
    """Each file once, whoever names it."""
    return dict.fromkeys([*([] if file is None else [Path(file).resolve()]), *named])


@asynccontextmanager
async def started(file: str, only: Sequence[str] | None = None, *, pinned: bool = True) -> AsyncGenerator[Servers]:
    """The servers of a file; what of it is run is told before, unless it is pinned, and what isn't offered after."""
    pins = Pins.beside(Path(file))
    for server in servers_of(file):
        if server.name not in pins.servers and (only is None or server.name in only):
            doing = "starting" if server.openapi is None else "reading"
            tell(f"actum: {doing} the {server.kind} {server.name!r}, which is not pinned: {server.shown}")
    async with connected(file, only=only, pinned=pinned) as servers:
        for one in servers.left_out:
            tell(f"actum: left out the tool {quoted(one.tool, 60)} of the server {one.server!r}: {one.why}")
        for one in servers.drift:
            tell(f"actum: not offered, because {one}; see `actum mcp show {one.server} --diff`, then `actum mcp pin`")
        yield servers


def approver_of(how: str | None, questions: Questions, *, has_servers: bool) -> Approve | None:
    """The approver of `--approve`: where nothing is said all calls run, but for those of servers, which are held."""
    return agree if how == "all" and has_servers else approver(how or "all", questions)


async def agree(_call: Call, _tool: Tool, _context: Context) -> Reply:
    """An approver that lets every call run, those of servers too."""
    return True
