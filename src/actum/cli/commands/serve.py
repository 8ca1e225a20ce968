"""`actum serve`: Ideas for other programs, over HTTP."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ...app.agent import Agent
from ...app.idea import Idea
from ...app.loading import Code, agent_at
from ...execution.calls.approval import HOLD, Reply
from ...serving import Served
from ...serving.guard import LOOPBACK
from ..options import CommandError, Roots, RunsPlace, Several, runs_at
from ..render.telling import tell

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_TOKEN = "ACTUM_TOKEN"


async def serve(
    *ideas: str,
    port: int = 8765,
    host: str = "127.0.0.1",
    host_name: Annotated[list[str] | None, Parameter(negative="")] = None,
    origin: Annotated[list[str] | None, Parameter(negative="")] = None,
    token_file: str | None = None,
    store: RunsPlace = None,
    only: str | None = None,
    model: str | None = None,
    approve: Literal["all", "hold"] = "all",
    activities: Several = None,
    root: Roots = None,
    worker: Annotated[bool, Parameter(negative="--no-worker")] = True,
    slots: int = 50,
    drain: float = 30.0,
) -> int:
    """Serve Ideas to other programs until it is told to stop: by SIGTERM, or Ctrl-C.

    Then it starts nothing more, and what is under way may end until the time to drain is over; the rest is kept, and
    goes on when the server or a worker is started again.

    Parameters
    ----------
    ideas
        Files of Ideas, each served under its file's name, or as NAME=FILE.
    port
        The port; 0 takes a free one.
    host
        The address to listen at; another one than this machine's own needs --host-name and a token that was set.
    host_name
        The name under which the server is asked from elsewhere, such as actum.example.org; may be repeated.
    origin
        A page of another host that may call it, such as http://localhost:5173; may be repeated.
    token_file
        A file with the token, or with lines of NAME=TOKEN, one for each caller; it is made if it is missing.
    store
        Where runs are kept, as for `actum submit`; :memory: forgets them with the process.
    only
        The parts that are served, such as runs,chat; all by default.
    model
        The model for Ideas that name none.
    approve
        Run all calls, or hold each until somebody decides.
    activities
        A module or file with Activities, beside those that the Ideas name.
    root
        A folder that Ideas may read from; the current one if none is named.
    worker
        Carry the runs out here; with --no-worker they are left to `actum worker`.
    slots
        How many runs are carried out here at once.
    drain
        How many seconds runs have to end once it is to stop.
    """
    from ...serving.listening import bound, listen

    if not ideas:
        raise CommandError("name the Ideas to serve: their files, or NAME=FILE")
    token, is_new = _token(token_file)
    hosts = _hosts(host, host_name or (), is_set=not is_new)
    roots = [Path(one) for one in root or [str(Path.cwd())]]
    Code.to_run(activities).take_named()

    def agent_for(idea: Idea) -> Agent:
        named = None if "model" in idea.config else model or os.environ.get("ACTUM_MODEL")
        agent = agent_at(roots, model=named, approve=_hold if approve == "hold" else None)
        return agent.fitted(idea, is_own=True, roots=roots)

    async with runs_at(store, makes=True) as runs:
        served = Served(
            _named(ideas), agent=agent_for, store=runs, roots=roots, slots=slots if worker else 0, drain=drain
        )
        app = served.app(token=token, hosts=hosts, origins=origin or (), only=None if only is None else only.split(","))
        own = bound(host, port)
        at = f"http://{f'[{host}]' if ':' in host else host}:{own.getsockname()[1]}"

        def started() -> None:
            tell(f"actum: serving {', '.join(served.desk.ideas)} at {at}")
            if is_new and isinstance(token, str):
                tell(f"actum: the token is {token}")

        def stopping() -> None:
            tell("actum: stopping: what is under way may end; Ctrl-C lets it go")

        await listen(app, served.desk, own, started=started, stopping=stopping)
    return 0


def _named(ideas: Sequence[str]) -> dict[str, Idea]:
    """The Ideas by the names that they are served under."""
    named: dict[str, Idea] = {}
    for one in ideas:
        name, sign, file = one.partition("=")
        if not sign or "/" in name:
            name, file = Path(one).stem, one
        if name in named:
            raise CommandError(f"two Ideas would be served as {name!r}: name one NAME=FILE")
        named[name] = Idea.load(file)
    return named


def _token(file: str | None) -> tuple[str | Mapping[str, str], bool]:
    """The token, or those of several callers; and whether it was made now."""
    if file is None:
        named = os.environ.get(_TOKEN)
        return (named, False) if named else (secrets.token_urlsafe(32), True)
    path = Path(file)
    if not path.exists():
        token = secrets.token_urlsafe(32)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as made:
            made.write(f"{token}\n")
        return token, False
    if path.stat().st_mode & 0o077:
        raise CommandError(f"{file}: others can read the token; chmod 600 {file}")
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if len(lines) == 1 and "=" not in lines[0].rstrip("="):
        return lines[0], False
    pairs = [line.partition("=") for line in lines]
    if not lines or any(not (name.strip() and token.strip()) for name, _, token in pairs):
        raise CommandError(f"{file}: one token, or lines of NAME=TOKEN")
    return {name.strip(): token.strip() for name, _, token in pairs}, False


def _hosts(host: str, names: Sequence[str], *, is_set: bool) -> list[str]:
    """The names under which the server may be asked."""
    if host in _LOOPBACK:
        return [*LOOPBACK, *names]
    if not names or not is_set:
        raise CommandError(f"serving at {host} needs --host-name NAME, and a token from --token-file or {_TOKEN}")
    return list(names)


async def _hold(*_: object) -> Reply:
    return HOLD
