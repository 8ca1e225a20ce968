"""The tool servers that an Idea names in its config: found below its roots, connected while it runs (D12)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from ..errors import IdeaError
from ..protocol.registry import Registry
from ..sources.roots import root_of


def servers_file(name: str, folder: Path, roots: Sequence[Path]) -> Path:
    """The file of servers that an Idea names, relative to its own.

    Raises:
        IdeaError: it lies outside its roots, or is none.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links; a null character
        raise IdeaError(f"the servers {name!r}: not the name of a file") from None
    if root_of(path, roots) is None:
        raise IdeaError(f"the servers {name!r}: outside the folders that the Idea may reach (--root)")
    if not path.is_file():
        raise IdeaError(f"the servers {name!r}: no such file")
    return path


@asynccontextmanager
async def serving(files: Sequence[Path], tools: Registry) -> AsyncGenerator[Registry]:
    """A registry with the tools of servers as long as the block lasts; the same where there are none.

    Raises:
        ServerError: a file can't be used, or a server can't be started.
    """
    if not files:
        yield tools
        return
    from ..connections import open as connected

    own = tools.copy()
    async with AsyncExitStack() as stack:
        for file in files:
            (await stack.enter_async_context(connected(file))).register(own)
        yield own


def are_connected(file: Path, tools: Registry) -> bool:
    """Whether a registry has tools of the servers of a file already.

    Raises:
        ServerError: the file can't be used.
    """
    begun = prefixes_of([file])
    return any(tool.name.startswith(begun) for tool in tools) if begun else False


def prefixes_of(files: Sequence[Path]) -> tuple[str, ...]:
    """What the names of the tools of servers begin with; raises as `are_connected`."""
    if not files:
        return ()
    from ..connections.servers_file import servers_of

    return tuple(server.begin for file in files for server in servers_of(file))
