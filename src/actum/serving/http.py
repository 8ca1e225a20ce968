"""`Served`: Ideas as an ASGI application behind the guard. Its parts are imported when it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ..app.agent import is_agent
from ..app.idea import Idea
from ..errors import IdeaError
from ..execution.approver import Approve
from ..protocol.registry import Registry
from ..runs.held import Runner
from ..runs.providing import Factory, factories_of
from ..runs.runs import Runs
from ..sources.roots import folders
from .callers import LOOPBACK, MOST_BYTES, Callers, Quota
from .desk import Desk, named_ideas
from .extras import check_installed, is_installed
from .mcp_options import Keyless, McpOptions

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from .guard import Guard

PartName: TypeAlias = Literal["runs", "mcp", "chat", "agui", "studio"]
PARTS: tuple[PartName, ...] = get_args(PartName)
"""The parts of a server: `runs` is Actum's own HTTP API, `mcp` is for hosts of MCP (extra `mcp`), `chat` for clients of
OpenAI's chat completions, `agui` for pages that speak AG-UI, `studio` the pages of the Studio."""


class Served:
    """Ideas under their names, the agent that carries them out, and the store of their runs.

    Args:
        ideas: by name: an `Idea`, its JSON, or its file.
        agent: what carries runs out, as for `Worker`.
        store: the runs, or their place as for `Runs`; `:memory:` forgets them with the process.
        roots: the folders that Ideas may read from, in addition to those of the Ideas that are served.
        slots: how many runs are carried out here at once; 0 leaves them to workers.
        lease: after how many seconds of silence others go on with its runs; more on a slow machine.
        drain: how many seconds runs under way have to end when the server stops.
        deps: makes what the tools of a run are given in their `Ctx`, as for `Worker`; the `tenant` of a run's `Row` is
            its caller.

    Raises:
        IdeaError: an Idea can't be read, or its name can't be one.
        RunError: the place keeps no runs.
    """

    def __init__(
        self,
        ideas: Mapping[str, Idea | Mapping[str, Any] | str | Path],
        *,
        agent: Runner = None,
        store: Runs | str | Path = ":memory:",
        roots: Sequence[str | Path] = (),
        slots: int = 50,
        lease: float = 4.0,
        drain: float = 30.0,
        deps: Factory | Mapping[str, Factory] | None = None,
    ) -> None:
        self.desk = Desk(
            ideas=named_ideas(ideas),
            runs=store if isinstance(store, Runs) else Runs(store),
            agent=agent,
            factories=factories_of(deps),
            roots=folders(roots),
            slots=slots,
            lease=lease,
            drain=drain,
            owns_runs=not isinstance(store, Runs),
        )

    def app(
        self,
        *,
        token: str | Mapping[str, str],
        hosts: Sequence[str] = LOOPBACK,
        origins: Sequence[str] = (),
        only: Sequence[str] | None = None,
        quota: Quota | None = None,
        most_bytes: int = MOST_BYTES,
        patience: float = 30.0,
    ) -> Guard:
        """The ASGI application. Its lifespan carries the runs out, so the server has to run that (as uvicorn does).

        `token` is the secret of who owns the server; or several callers by name, each of whom has its own runs, `""`
        being the owner. `hosts`, `origins` and `patience` are as for `Guard`; `only` names the parts that are served.
        `quota` bounds what each caller may have under way, `most_bytes` the body of a request: larger ones hold others
        up for longer.

        Raises:
            IdeaError: there is no such part, or the extra that it needs is not installed.
            WeakToken: a token is too short; it is a `RunError` and a `ValueError`.
        """
        check_installed("serve")
        if unknown := [name for name in only or () if name not in PARTS]:
            raise IdeaError(f"nothing is served as {unknown[0]!r}; there are {', '.join(PARTS)}")
        if "mcp" in (only or ()):
            check_installed("mcp")
        from .application import application
        from .guard import Guard

        callers = Callers(token, quota)
        self.desk.quota = callers.quota
        installed = [name for name in PARTS if name != "mcp" or is_installed("mcp")]  # MCP has an extra of its own
        app: Any = application(self.desk, [name for name in installed if only is None or name in only])
        return Guard(app=app, callers=callers, hosts=hosts, origins=origins, most=most_bytes, patience=patience)

    def mcp(
        self,
        *,
        model: Keyless | None = None,
        graph: bool | Registry = False,
        approve: Approve | None = None,
        place: str | None = None,
    ) -> Server[Any]:
        """An MCP server of the same Ideas, for any transport of the SDK, for example `serving.stdio`.

        `model` says that the host's model answers: by sampling where it has that, or by a tool (`"caller"`). `graph`
        adds `carry_out` over the agent's tools, or those of a registry. `approve` and `place` as for `McpOptions`.

        Raises:
            IdeaError: a graph is asked for, and there is no agent whose tools it could call; or the extra `mcp` is not
                installed.
        """
        check_installed("mcp")
        from .mcp_server import Host

        if graph is True:
            if not is_agent(self.desk.agent):
                raise IdeaError("a graph calls the tools of an agent: name one, or give a registry")
            graph = self.desk.agent.tools
        options = McpOptions(model=model, graph=graph or None, approve=approve, place=place)
        return Host.of(self.desk, options).server()
