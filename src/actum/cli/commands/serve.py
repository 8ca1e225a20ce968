"""`actum serve`: Ideas for other programs, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ...app.agent import Agent
from ...app.begun import hold_all
from ...app.idea import Idea
from ...app.loading import Code, load_servers
from ...app.tools import DEFAULT, Tools
from ...protocol.activity import Activity
from ...protocol.registry import Registry
from ...serving import Served
from ...serving.callers import MOST_BYTES
from ...serving.extras import check_installed
from ...serving.mcp_options import Keyless, McpOptions
from ...sources.roots import folders
from ..connecting import agree, servers_at
from ..given_deps import DepsNames, factories_at
from ..mcp_serving import over_stdio, place_beside
from ..options import CommandError, ModulesOfAll, runs_at, runs_place
from ..render.terminal import tell
from ..server_options import agents_at, hosts_of, listen_at, token_of


async def actum_serve(
    *ideas: str,
    stdio: bool = False,
    graph: bool = False,
    port: int = 8765,
    host: str = "127.0.0.1",
    host_name: list[str] | None = None,
    origin: list[str] | None = None,
    token_file: str | None = None,
    store: str | None = None,
    only: str | None = None,
    model: str | None = None,
    approve: Literal["all", "hold"] | None = None,
    activities: ModulesOfAll = None,
    deps: DepsNames = None,
    root: list[str] | None = None,
    mcp: str | None = None,
    worker: Annotated[bool, Parameter(negative="--no-worker")] = True,
    slots: int = 50,
    drain: float = 30.0,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Serve Ideas to other programs until it is told to stop: by SIGTERM, or Ctrl-C; over stdio, until the host does.

    Then it starts nothing more, and what is under way may end until the time to drain is over; the rest is kept, and
    goes on when the server or a worker is started again.

    Parameters
    ----------
    ideas
        Files of Ideas, each served under its file's name, or as NAME=FILE.
    stdio
        Serve one MCP host that has started this process, over its standard streams, instead of a port.
    graph
        Offer hosts of MCP a tool by which they carry out whole plans over the tools that the Ideas name.
    port
        The port; 0 takes a free one.
    host
        The address to listen at; another one than this machine's own needs --host-name and a token that was set.
    host_name
        The name under which the server is asked from elsewhere, for example actum.example.org; may be repeated.
    origin
        A page of another host that may call it, for example http://localhost:5173; may be repeated.
    token_file
        A file with the token, or with lines of NAME=TOKEN, one for each caller; it is made if it is missing.
    store
        Where runs are kept, as for `actum submit`; :memory: forgets them with the process.
    only
        The parts that are served, for example runs,chat; all by default.
    model
        The model for Ideas that name none; over MCP also host, or caller: the host's own model answers, by sampling
        where it has that, or by a tool.
    approve
        Run all calls, or hold each until somebody decides. Where nothing is said all run, but for calls of MCP servers
        and, of plans of MCP hosts, all that don't only read: those wait.
    root
        A folder that Ideas may read from; the current one if none is named.
    mcp
        A file of MCP servers whose tools are offered, as for `actum run`.
    worker
        Carry the runs out here; with --no-worker they are left to `actum worker`.
    slots
        How many runs are carried out here at once.
    drain
        How many seconds runs have to end once it is to stop.
    most_bytes
        How many bytes the body of a request may have; a larger one holds others up for longer.
    """
    if most_bytes <= 0:
        raise CommandError("--most-bytes takes how many bytes the body of a request may have")
    if not ideas:
        raise CommandError("name the Ideas to serve: their files, or NAME=FILE")
    check_installed("mcp" if stdio else "serve")
    named, code, factories = _ideas_by_name(ideas), Code.for_all(activities), factories_at(deps)
    roots = folders(root or Path.cwd())
    code.take_named()
    for idea in named.values():
        load_servers(idea, idea.settings(has_model=True).servers, code, idea.roots)
    keyless: Keyless | None = model if model in ("host", "caller") else None
    decider = hold_all if approve == "hold" else agree if approve == "all" else None
    agent_for = agents_at(roots, decider, model, has_model=keyless is None, are_named=True)
    async with servers_at(mcp, DEFAULT, code.servers):
        tools = _tools_of(named, agent_for) if graph else None
        place = place_beside(store, Path(ideas[0].rpartition("=")[2])) if stdio else runs_place(store)
        options = McpOptions(model=keyless, graph=tools, approve=agree if approve == "all" else None, place=place)
        if stdio:
            tell(f"actum: serving {', '.join(named)} over stdio")
            await over_stdio(place, ideas=named, mcp=options, agent=agent_for, roots=roots, factories=factories)
            return
        token, is_new = token_of(token_file)
        hosts = hosts_of(host, host_name or (), is_set=not is_new)
        async with runs_at(store, makes=True) as runs:
            slots = slots if worker else 0
            served = Served(named, agent=agent_for, store=runs, roots=roots, slots=slots, drain=drain, deps=factories)
            served.desk.mcp = options
            parts = None if only is None else only.split(",")
            app = served.app(token=token, hosts=hosts, origins=origin or (), only=parts, most_bytes=most_bytes)
            shown = token if is_new and isinstance(token, str) else f"in {token_file}" if token_file else None
            await listen_at(host, port, app, served.desk, lambda at: _tell_started(named, at, shown))


def _tell_started(ideas: Collection[str], at: str, token: str | None) -> None:
    """Say what is served and where, and the token if it is new."""
    tell(f"actum: serving {', '.join(ideas)} at {at}")
    if token is not None:
        tell(f"actum: the token is {token}")


def _tools_of(ideas: Mapping[str, Idea], agent_for: Callable[[Idea], Agent]) -> Registry:
    """The tools of all the Ideas."""
    tools = Tools()
    for idea in ideas.values():
        agent = agent_for(idea)
        names = agent.config.tools
        for tool in agent.tools if names is None else filter(None, map(agent.tools.find, names)):
            if tool.name not in tools and not tool.is_delegated and (serving := agent.tools.serving(tool)) is not None:
                tools.register(tool)
                if isinstance(serving, Activity):
                    tools.activity(tool.name, serving)
    return tools


def _ideas_by_name(ideas: Sequence[str]) -> dict[str, Idea]:
    """The Ideas by the names under which they are served."""
    named: dict[str, Idea] = {}
    for argument in ideas:
        name, sign, file = argument.partition("=")
        if not sign or "/" in name:
            name, file = Path(argument).stem, argument
        if name in named:
            raise CommandError(f"two Ideas would be served as {name!r}: name one NAME=FILE")
        named[name] = Idea.load(file)
    return named
