"""What a reader didn't find in its value: it leaves null there, and the planner is told of which fields (D18)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from ...dataflow.fold import Fold
from ...dataflow.reference import print_path
from ...schema.compose import nullable
from ...schema.json import Json, JsonObject, is_object
from ...schema.validator import Validator
from ...schema.walk import mapped, properties_of, required_of, subschemas

_TOGETHER = frozenset({"allOf", "oneOf", "not", "if", "dependentSchemas"})
"""What judges a value more than once: nothing within can be changed alone."""
_MOST_NAMED = 4


def with_gaps(shape: Any) -> Any:
    """The shape of an answer that may leave null for whatever isn't in the value."""
    if not is_object(shape) or any(not _TOGETHER.isdisjoint(one.schema) for one in subschemas(shape)):
        return shape
    return mapped(shape, _with_gaps)


def _with_gaps(schema: JsonObject) -> JsonObject:
    required = frozenset(required_of(schema))
    if required:
        properties = properties_of(schema).items()
        schema["properties"] = {
            name: nullable(one) if name in required and is_object(one) else one for name, one in properties
        }
    return schema


def gaps_in(answer: Json, shape: Any) -> str | None:
    """Which fields an answer lacks that its shape doesn't let it lack, in the words of the shape; None for none.

    Nothing of the answer is told: it is made of what others have written.
    """
    validator = Validator(shape if is_object(shape) else {})
    if validator.accepts(answer):
        return None
    own = Fold(answer)
    names = {name for one in subschemas(shape) for name in properties_of(one.schema)}
    paths = (path for path, _, _ in validator.problems(answer) if path and own.read(tuple(path)) is None)
    fields = list(islice(dict.fromkeys(_named(path, names) for path in paths), _MOST_NAMED))
    lacking = ", ".join(f"`{field}`" for field in fields) or "some of what `ask` is about"
    last = fields[0].rpartition(".")[2] if fields else "price"
    return (
        f"{lacking} isn't in the value, which may say where it is: "
        f"look there, or allow for it in `as` (`{last}?`, `link?`) or in `ask`"
    )


def _named(path: Sequence[str | int], names: set[str]) -> str:
    """The way to a field: declared keys as they are, others and positions left open."""
    steps = ("…" if isinstance(step, int) or step not in names else step for step in path)
    return print_path(tuple(steps)).lstrip(".")
