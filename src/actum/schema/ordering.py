"""`required` in the order of `properties` (T5), so that the same schema always has the same bytes."""

from __future__ import annotations

from .json import JsonObject, is_list, is_object
from .walk import Schema, mapped


def with_ordered_required(schema: Schema) -> Schema:
    """A schema in which every `required` follows the order of the `properties` beside it."""
    return mapped(schema, required_in_order)


def required_in_order(schema: JsonObject) -> JsonObject:
    """The same for one schema without those it holds; names that aren't listed come last."""
    required, properties = schema.get("required"), schema.get("properties")
    if not is_list(required) or not is_object(properties) or not all(isinstance(name, str) for name in required):
        return schema  # what isn't a schema is said where it is judged
    wanted = set(required)
    listed = [name for name in properties if name in wanted]
    return {**schema, "required": listed + [name for name in required if name not in properties]}
