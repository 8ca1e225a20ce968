"""Finds the files of Python modules that an Idea names, and loads them, so that they register Activities.

Only `run`, `resume`, `call` and `pin` load modules, because their user says "run this"; other commands read pins. In
both cases an Idea may name only modules below its roots, while its user may name any (D12).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ActumError, IdeaError
from .roots import root_of


class ModuleMissing(IdeaError):
    """The module isn't on this machine; it may be on another one."""


def find_module(name: str, base: Path, roots: Sequence[Path] | None) -> Path | None:
    """The file of a module, named as in Python or by its path relative to `base`; it isn't run.

    `roots` are the folders below which it must lie, None if it was the user who named it.

    Returns:
        None for a module that the program has already imported.

    Raises:
        IdeaError: there is no such module, or it lies outside the roots.
    """
    if not name.endswith(".py") and name in sys.modules:
        return None
    try:
        path = (base / name).resolve() if name.endswith(".py") else _file_of(name)
    except (OSError, RuntimeError, ValueError):  # a loop of links; a null character
        raise _error(name, "not the name of a module or a file") from None
    if roots is not None and (path is None or root_of(path, roots) is None):
        reason = "outside the folders that the Idea may reach (--root), and not named by its user (--activities)"
        raise _error(name, reason)
    if path is None:
        raise _error(name, f"no module {name!r}", ModuleMissing)
    if not is_file(path):
        raise _error(name, "no such file", ModuleMissing)
    return path


def is_file(path: Path) -> bool:
    """Whether there is a file at this path, which may be no possible path."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or not encodable
        return False


def load_activities(name: str, base: Path, roots: Sequence[Path] | None = None) -> str:
    """Import a module by name, or a file by its path relative to `base`, so that it registers its Activities.

    `roots` as for `find_module`.

    Returns:
        The name of the imported module.

    Raises:
        IdeaError: there is no such module, it lies outside the roots, or it fails.
    """
    path = find_module(name, base, roots)
    try:
        if path is not None and name.endswith(".py"):
            return _import_file(path)
        return importlib.import_module(name).__name__
    except ActumError:
        raise
    except ModuleNotFoundError as error:
        raise _error(name, f"no module {error.name!r}", ModuleMissing) from error
    except (Exception, SystemExit) as error:
        raise IdeaError(f"the Activities {name!r} can't be imported: {type(error).__name__}: {error}") from error


def function_named(reference: str, load: Callable[[str], str]) -> Callable[..., Any]:
    """The function that a text such as `desk.py:shop` names.

    Args:
        named: a module, as for `find_module`, and the function in it.
        load: imports a module and returns its name.

    Raises:
        IdeaError: there is no such module or function, or the module fails.
    """
    module, _, name = reference.rpartition(":")
    if not module or not name:
        raise IdeaError(f"a function is named by its module and its name, desk.py:shop; {reference!r} names none")
    try:
        function = getattr(sys.modules[load(module)], name, None)
    except IdeaError as error:
        raise IdeaError(error.message.removeprefix("the Activities ")) from error
    if not callable(function):
        raise IdeaError(f"{module!r} has no function {name!r}")
    return function


def _error(name: str, reason: str, kind: type[IdeaError] = IdeaError) -> IdeaError:
    return kind(f"the Activities {name!r}: {reason}")


def _file_of(name: str) -> Path | None:
    """The file of a module, found as by an import, but without importing its parent packages."""
    top, *inner = name.split(".")
    if not all(part.isidentifier() for part in (top, *inner)):
        raise ValueError(name)
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    folders = [Path(location) for location in spec.submodule_search_locations or ()]
    file = Path(spec.origin) if spec.has_location and spec.origin else None
    for part in inner:
        path = _find_inside(part, folders)
        if path is None:
            return None
        file, folders = path, [path.parent] if path.name == "__init__.py" else []
    return None if file is None else file.resolve()


def _find_inside(part: str, folders: Sequence[Path]) -> Path | None:
    candidates = (folder / name for folder in folders for name in (f"{part}/__init__.py", f"{part}.py"))
    return next((path for path in candidates if is_file(path)), None)


def _import_file(path: Path) -> str:
    module_name = f"actum_activities_{path.parent.name}_{path.stem}"
    loaded = sys.modules.get(module_name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return module_name
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise IdeaError(f"the Activities {str(path)!r}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As with a script, the file can import modules in its folder.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module_name
