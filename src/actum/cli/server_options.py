"""What commands that serve share: the token, the host names, the address, and the agents for Ideas."""

from __future__ import annotations

import gc
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..app.agent import Agent, fitted
from ..app.idea import Idea
from ..app.loading import agent_at
from ..execution.approver import Approve
from ..serving.callers import LOOPBACK
from ..serving.desk import Desk
from ..sources.files import check_owner, path_given, read_text, unwritable
from .options import CommandError
from .render.terminal import tell

if TYPE_CHECKING:
    from ..serving.guard import Guard

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_TOKEN = "ACTUM_TOKEN"


def token_of(file: str | None) -> tuple[str | Mapping[str, str], bool]:
    """The token, or the tokens of several callers by name; and whether it is new."""
    if file is None:
        token = os.environ.get(_TOKEN)
        return (token, False) if token else (secrets.token_urlsafe(32), True)
    try:
        text = _kept_token(path_given(file))
    except OSError as error:
        raise CommandError(f"{file}: {unwritable(error)}") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and "=" not in lines[0].rstrip("="):
        return lines[0], False
    pairs = [line.partition("=") for line in lines]
    if not lines or any(not (name.strip() and token.strip()) for name, _, token in pairs):
        raise CommandError(f"{file}: one token, or lines of NAME=TOKEN")
    return {name.strip(): token.strip() for name, _, token in pairs}, False


def _kept_token(path: Path) -> str:
    """The content of a token file, which is made if it is missing."""
    if not path.exists():
        token = secrets.token_urlsafe(32)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as new:
            new.write(f"{token}\n")
        return token
    check_owner(path, path.stat())
    if path.stat().st_mode & 0o077 and not path.is_dir():
        raise CommandError(f"{path}: others can read the token; chmod 600 {path}")
    return read_text(path)


def hosts_of(host: str, names: Sequence[str], *, is_set: bool) -> list[str]:
    """The host names that requests to the server may use."""
    if host in _LOOPBACK:
        return [*LOOPBACK, *names]
    if not names or not is_set:
        raise CommandError(f"serving at {host} needs --host-name NAME, and a token from --token-file or {_TOKEN}")
    return list(names)


def freeze_garbage_collector() -> None:
    """Keep Python's garbage collector from scanning what a server has loaded, which could delay a call."""
    gc.collect()
    gc.freeze()


async def listen_at(host: str, port: int, app: Guard, desk: Desk, started: Callable[[str], None]) -> None:
    """Serve at an address until SIGTERM or Ctrl-C; calls `started` with the URL once it listens.

    Raises:
        RunError: the address can't be used, or runs can no longer be carried out here.
    """
    from ..serving.http_server import bound, listen

    socket = bound(host, port)
    at = f"http://{f'[{host}]' if ':' in host else host}:{socket.getsockname()[1]}"

    def stopping() -> None:
        tell("actum: stopping: what is under way may end; Ctrl-C lets it go")

    freeze_garbage_collector()
    await listen(app, desk, socket, started=lambda: started(at), stopping=stopping)


def agents_at(
    roots: Sequence[Path],
    approve: Approve | None,
    model: str | None,
    *,
    has_model: bool = True,
    are_named: bool = False,
) -> Callable[[Idea], Agent]:
    """Makes the agent for each Idea that a command carries out for others, below these folders.

    Ideas that name no model get `model` or ACTUM_MODEL, if `has_model`. Ideas that `are_named` on the command line may
    also read files beside their own.
    """

    def agent_for(idea: Idea) -> Agent:
        name = (model or os.environ.get("ACTUM_MODEL")) if has_model and "model" not in idea.config else None
        folders = [*roots, *idea.roots] if are_named else roots
        return fitted(agent_at(roots, model=name, approve=approve), idea, is_own=True, roots=folders)

    return agent_for
