"""A run's row as it is kept, in a database or in its file, as a `Row`: what it says is judged in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from ..errors import ActumError
from ..schema.json import is_list
from .losses import losses_from
from .row import STANDING, Row, State

_KINDS: Sequence[tuple[Any, Sequence[str]]] = (
    (str, ("tenant", "queue", "escalate", "tag", "parent", "worker", "former", "keyed", "name")),
    (int, ("lease", "priority", "attempts", "seq")),
    (int | float, ("at", "patience", "created", "ended")),
    (dict, ("error", "about", "child", "input", "needs", "lacks")),
)
_AS_KEPT = ("id", "lease", "attempts", "worker", "former", "needs", "output", "error", "name", "created", "ended")


def row_read(kept: Mapping[str, Any], damaged: Callable[[str], ActumError]) -> Row:
    """How far a run is, from what is kept by name; what is missing or null is as for one that was submitted just now.

    Raises:
        ActumError: as `damaged` puts it, for what is not as runs are kept.
    """
    values = {name: value for name, value in kept.items() if value is not None}
    if values.get("state") not in (*get_args(State), "parked"):
        raise damaged("state")
    for kind, names in _KINDS:
        for name in names:
            if name in values and (not isinstance(values[name], kind) or isinstance(values[name], bool)):
                raise damaged(name)
    waiting, lacks = values.get("waiting", []), values.get("lacks", {})
    missing, since = lacks.get("missing"), lacks.get("since")
    return Row(
        **{name: values[name] for name in (*_AS_KEPT, *STANDING) if name in values},
        state="queued" if values["state"] == "parked" else values["state"],
        is_parked=values["state"] == "parked",
        about=values.get("about", {}),
        waiting=tuple(map(str, waiting)) if is_list(waiting) else (),
        losses=losses_from(values.get("losses")),
        missing=tuple(map(str, missing)) if is_list(missing) else (),
        uncarried=since if isinstance(since, int | float) else None,
    )
