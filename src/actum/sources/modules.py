"""Loading the Python modules that register an Idea's Activities."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

from ..errors import ActumError, IdeaError


def load_activities(name: str, base: Path) -> str:
    """Import a module by name, or a file by its path relative to `base`, so that it registers its Activities.

    Returns:
        What the module is called once it is imported.

    Raises:
        IdeaError: there is none, or it fails.
    """
    try:
        if name.endswith(".py"):
            return _import_file((base / name).resolve())
        return importlib.import_module(name).__name__
    except ActumError:
        raise
    except ModuleNotFoundError as error:
        raise IdeaError(f"the Activities {name!r}: no module {error.name!r}") from error
    except Exception as error:
        raise IdeaError(f"the Activities {name!r} can't be imported: {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> str:
    module_name = f"actum_activities_{path.parent.name}_{path.stem}"
    loaded = sys.modules.get(module_name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return module_name
    if not path.is_file():
        raise IdeaError(f"the Activities {str(path)!r}: no such file")
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise IdeaError(f"the Activities {str(path)!r}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As for a script, modules beside the file can be imported by its name.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module_name
