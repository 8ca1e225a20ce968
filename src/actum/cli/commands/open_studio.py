"""`actum studio`: Ideas and their runs in a browser, on one's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ...app.begun import hold_all
from ...app.idea import Idea
from ...app.loading import Code
from ...errors import IdeaError
from ...ideas.ticks import RUN
from ...runs.run_store import sqlite_path
from ...serving import Served
from ...serving.extras import check_installed
from ...studio.shelf import Shelf
from ..given_deps import DepsNames, factories_at
from ..options import CommandError, ModulesOfAll, runs_at, runs_place
from ..render.terminal import tell
from ..server_options import agents_at, hosts_of, listen_at, token_of

_SUGGESTED = ("openai:gpt-5.2", "anthropic:claude-sonnet-4-5", "google:gemini-3-pro", "ollama:qwen3")
_RUNS = "runs"


async def actum_open_studio(
    place: str | None = None,
    /,
    *,
    runs: str | None = None,
    port: int = 8770,
    host: str = "127.0.0.1",
    host_name: list[str] | None = None,
    token_file: str | None = None,
    model: str | None = None,
    approve: Literal["all", "hold"] = "all",
    activities: ModulesOfAll = None,
    root: list[str] | None = None,
    slots: int = 50,
    deps: DepsNames = None,
) -> None:
    """See Ideas and their runs in a browser: start, follow, decide, compare.

    It listens on this machine alone. The address that is printed holds a token, for which the browser gets a cookie.

    Parameters
    ----------
    place
        A folder of Ideas, or a store of runs (postgresql://…, sqlite:///runs.db); the current folder by default.
    runs
        Where runs are kept: as for `actum submit`. For a folder that is itself if runs lie in it, else `runs` in it.
    port
        The port; 0 takes a free one.
    host
        The address to listen at; another one than this machine's own needs --host-name and a token that was set.
    host_name
        The name under which it is asked from elsewhere; may be repeated.
    token_file
        A file with the token; it is made if it is missing.
    model
        The model for Ideas that name none.
    approve
        Run all calls, or hold each until somebody decides.
    root
        A folder that Ideas may read from, in addition to the one that they lie in.
    slots
        How many runs are carried out at once.
    """
    from ...serving.callers import Quota

    check_installed("serve")
    folder, runs_name = _places(place, runs)
    token, is_new = token_of(token_file)
    if not isinstance(token, str):
        raise CommandError("the Studio has one owner: name a file with one token")
    hosts = hosts_of(host, host_name or (), is_set=not is_new)
    roots = list(dict.fromkeys([folder.resolve(), Path.cwd(), *map(Path, root or [])]))
    factories = factories_at(deps)
    Code.for_all(activities).take_named()

    agent_for = agents_at(roots, hold_all if approve == "hold" else None, model)
    async with runs_at(runs_name, makes=True) as store:
        served = Served({}, agent=agent_for, store=store, roots=roots, slots=slots, drain=3.0, deps=factories)
        served.desk.shelf = Shelf(folder=folder)
        served.desk.models = [name for name in (model, *_SUGGESTED) if name]
        served.desk.secrets = [token]
        app = served.app(token=token, hosts=hosts, only=["studio"], quota=Quota(runs=None, requests=None))

        def started(at: str) -> None:
            tell(f"actum: the Studio of {folder} is at {at}/studio/" + (f"?token={token}" if is_new else ""))

        await listen_at(host, port, app, served.desk, started)


def _places(place: str | None, runs: str | None) -> tuple[Path, str]:
    """The folder of the Ideas and the place of the runs."""
    if place is None:
        return Path.cwd(), runs_place(runs)
    if "://" in place or place.startswith("sqlite:") or sqlite_path(place) is not None:
        return Path.cwd(), runs or place
    folder = Path(place)
    if not folder.is_dir():
        raise CommandError(f"there is no folder {place}")
    return folder, runs or str(folder if _holds_runs(folder) else folder / _RUNS)


def _holds_runs(folder: Path) -> bool:
    """Whether a folder of Ideas also holds runs."""
    for path in sorted(folder.glob("*.json"))[:200]:
        try:
            if RUN in Idea.load(path).meta:
                return True
        except IdeaError:
            continue
    return False
