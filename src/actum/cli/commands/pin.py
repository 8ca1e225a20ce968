"""`actum pin`: what modules register, written down for what only looks at Ideas."""

from __future__ import annotations

from pathlib import Path

from ...app.loading import Code
from ...connections.module_pins import ModulePins
from ...connections.pinning import short_digest
from ...errors import IdeaError
from ...sources.modules import find_module
from ..options import CommandError
from ..render.terminal import say, tell


def actum_pin(module: str, /, *more: str) -> None:
    """Write down what modules register, next to them, for commands that read Ideas without running code.

    It imports the modules. `check`, `show` and `replay` read what is pinned; pins of a module that has changed since
    are a problem to `check`.

    Parameters
    ----------
    module
        A module or file with Activities, as an Idea names it, or as `--activities` does.
    more
        More modules.
    """
    for name in (module, *more):
        _pin(name)


def _pin(name: str) -> None:
    file = find_module(name, Path.cwd(), None)
    if file is None:
        raise CommandError(f"{name!r} is a module of Actum's own process; name a module with Activities")
    now = ModulePins.of(file, Code.to_run([name]).take(name, Path.cwd(), ()))
    try:
        before = ModulePins.beside(file)
    except IdeaError:  # what can't be used is written anew
        before = None
    for line in before.differences(now) if before is not None else ():
        tell(f"actum: {line}")
    for listed, tool in now.tools.items():
        say(f"{short_digest(tool)}  {listed}")
    tell(f"actum: pinned in {now.save(file)}")
