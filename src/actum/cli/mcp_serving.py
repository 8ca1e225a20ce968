"""Serving a host of MCP over stdio: Ideas (`actum serve --stdio`), or the servers of a file (`actum mcp serve`).

Standard output belongs to the host; messages for the user go to standard error, which hosts keep as a log.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..app.tools import Tools
from .connecting import agree, started
from .render.terminal import tell

MEMORY = ":memory:"


async def serve_servers(file: str, approve: str, store: str | None) -> int:
    """Offer a host the servers of a file through `carry_out`, and `find_tools` if they have many tools."""
    from ..serving.mcp_options import McpOptions

    async with started(file) as servers:
        tools = Tools()
        servers.register(tools)
        tell(f"actum: serving {len(tools)} tools of {len(servers.connections)} servers over stdio")
        place = place_beside(store, Path(file))
        options = McpOptions(graph=tools, approve=agree if approve == "all" else None, place=place)
        await over_stdio(place, ideas={}, mcp=options)
    return 0


async def over_stdio(place: str | None, **served: Any) -> None:
    """Serve until the host closes its end; `served` are the options of the `Desk`."""
    from ..runs.runs import Runs
    from ..serving.desk import Desk
    from ..serving.mcp_server import Host
    from ..serving.stdio import stdio

    async with Runs(place or MEMORY) as runs:
        await stdio(Host.of(Desk(runs=runs, **served)).server())


def place_beside(store: str | None, beside: Path) -> str | None:
    """The place that keeps runs for the host to come back to; None for none.

    Hosts start their servers in any folder, so the place is beside what is served, not in the current folder.
    """
    place = store or os.environ.get("ACTUM_RUNS")
    if place is not None:
        return None if place == MEMORY else place
    folder = beside.resolve().parent / ".actum"
    try:
        folder.mkdir(exist_ok=True)
        if os.access(folder, os.W_OK):
            return str(folder / "runs.db")
    except OSError:
        pass
    tell(f"actum: nothing can be kept in {folder}: runs are forgotten with this process (--store names a place)")
    return None
