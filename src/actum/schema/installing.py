"""How an extra is installed, from where Actum itself was: named in the errors of what needs one."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = "actum"


def pip_install(extra: str) -> str:
    """The command for an extra: in a checkout `pip install -e '.[mcp]'`, of a wheel's file by its name, else by that of
    the distribution. No folder of this machine is in it, since a model may be told.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and needed for an error alone

    try:
        package = distribution(_NAME)
        origin: Any = json.loads(package.read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return f"pip install '{_NAME}[{extra}]'"
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        return f"pip install {'-e ' if origin['dir_info'].get('editable') else ''}'.[{extra}]'"
    if url.startswith("file:"):
        return f"pip install 'path/to/{unquote(urlsplit(url).path).rpartition('/')[2]}[{extra}]'"
    named = f"{package.metadata['Name']}[{extra}]"
    return f"pip install '{named} @ {url}'" if url else f"pip install '{named}'"
