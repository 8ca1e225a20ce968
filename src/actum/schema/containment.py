"""Whether one schema takes every value that another takes: proven, disproven, or neither (X3)."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from jsonschema_rs import canonical

from .json import Json
from .validator import MOST_JUDGEMENTS, judgements


def admits(wide: Json, narrow: Json) -> bool | None:
    """Whether every value that is valid under `narrow` is valid under `wide`; None if that can't be told.

    Only what is proven is answered; schemas with references to elsewhere, and what the canonical form doesn't model,
    are not.
    """
    if max(judgements(wide), judgements(narrow)) > MOST_JUDGEMENTS:
        return None
    try:
        one, other = _canonical(wide), _canonical(narrow)
        found = one.covers(other)
        if found == canonical.Containment.UNKNOWN:
            rest = other.subtract(one).satisfiability()
            return False if rest == canonical.Satisfiability.YES else None
    except (ValueError, TypeError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, RecursionError):
        return None
    return found == canonical.Containment.YES


def _canonical(schema: Json) -> Any:
    whole: Any = schema
    return jsonschema_rs.canonicalize(whole, draft=jsonschema_rs.Draft202012, offline=True)
