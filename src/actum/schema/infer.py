"""From Python types to JSON Schema and back, by Pydantic, which is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ..errors import SchemaError
from .json import Json, JsonObject, encode, is_list, is_object
from .walk import mapped

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo

T = TypeVar("T")

_PLAIN = (str, int, float, bool, dict, list)


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """A type as JSON: its schema, and how a valid value becomes an instance of it."""

    schema: JsonObject
    parse: Callable[[Any], T]
    typed: bool = True

    def of_each(self) -> Shape[dict[str, T]]:
        """The shape of one such value per instance (I4)."""
        return Shape(self.schema, lambda value: {key: self.parse(item) for key, item in value.items()}, self.typed)


def shape_of(schema: object) -> Shape[Any]:
    """The shape of a caller's schema: a JSON Schema, a Pydantic model or any type that Pydantic understands.

    None means any JSON value.

    Raises:
        SchemaError: for anything that is neither.
    """
    if schema is None or schema is True:
        return Shape({}, _same, typed=False)
    if is_object(schema):
        return Shape(schema, _same, typed=False)
    if isinstance(schema, str | int | list | tuple):
        raise SchemaError(
            f"the schema of an output is a type or a JSON Schema, as str or list[str] are, not {schema!r}"
        )
    # Only classes are cached: `int | str` and `str | int` are equal, but not the same.
    return _of_class(schema) if isinstance(schema, type) else _typed(schema)


@lru_cache(maxsize=256)
def _of_class(annotation: type) -> Shape[Any]:
    # Cached, since making one takes as long as a whole small run.
    return _typed(annotation)


def _typed(annotation: object) -> Shape[Any]:
    adapter = adapter_of(annotation)
    # Parsed as JSON: strict types take a date from a string then.
    return Shape(schema_of(adapter, "validation"), lambda value: adapter.validate_json(encode(value)))


def adapter_of(annotation: object) -> TypeAdapter[Any]:
    """Pydantic's adapter for a type.

    Raises:
        SchemaError: Pydantic can't make a schema of it.
    """
    from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter

    try:
        return TypeAdapter[Any](cast("Any", annotation))
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError, AttributeError) as error:
        if isinstance(error, PydanticUserError) and error.code == "typed-dict-version":
            return adapter_of(_with_known_dicts(annotation))
        why = str(error).splitlines()[0]
        if hasattr(type(annotation), "__pydantic_fields__") or (
            hasattr(annotation, "__dataclass_fields__") and not isinstance(annotation, type)
        ):
            why = f"give the type, {type(annotation).__name__}, not one of its values"
        raise SchemaError(f"no JSON Schema can be made of {annotation!r}: {why}") from None


def field_of(hint: object, default: object) -> FieldInfo | None:
    """The `Field(…)` of a parameter, from its default or its annotation; None if it has none."""
    sources = [default, *(get_args(hint)[1:] if get_origin(hint) is Annotated else ())]
    if all(type(source).__module__ != "pydantic.fields" for source in sources):  # Pydantic is imported on first use
        return None
    from pydantic.fields import FieldInfo

    fields = [source for source in sources if isinstance(source, FieldInfo)]
    return next((field for field in fields if not field.is_required()), fields[0] if fields else None)


def _with_known_dicts(annotation: Any) -> Any:
    """A type with `typing_extensions.TypedDict` for `typing.TypedDict`, which Pydantic does not take before 3.12."""
    from typing import NotRequired, Required

    from typing_extensions import TypedDict, is_typeddict

    if is_typeddict(annotation):
        members: dict[str, Any] = {}
        for name, hint in get_type_hints(annotation, include_extras=True).items():
            # With annotations as texts, only the hint says it; `__required_keys__` doesn't.
            is_marked = get_origin(hint) in (Required, NotRequired)
            mark = get_origin(hint) if is_marked else Required if name in annotation.__required_keys__ else NotRequired
            members[name] = mark[_with_known_dicts(get_args(hint)[0] if is_marked else hint)]
        return TypedDict(annotation.__name__, members)  # pyright: ignore -- made at run time
    arguments = get_args(annotation)
    if not arguments:
        return annotation
    if get_origin(annotation) is Annotated:
        return Annotated[(_with_known_dicts(arguments[0]), *arguments[1:])]
    converted = tuple(map(_with_known_dicts, arguments))
    if isinstance(annotation, UnionType):
        return Union[converted]  # noqa: UP007 -- of arguments that are known at run time
    return annotation.copy_with(converted) if hasattr(annotation, "copy_with") else get_origin(annotation)[converted]


def described(annotation: object, text: str) -> object:
    """A type with a description, unless it is `Annotated` with one."""
    from pydantic import Field

    hint, *metadata = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return Annotated[(hint, Field(description=text), *metadata)]  # of several, the last counts


def schema_of(adapter: TypeAdapter[Any], mode: str) -> JsonObject:
    """The JSON Schema of a type without the titles that Pydantic makes up (T10)."""
    from pydantic import PydanticUndefinedAnnotation, PydanticUserError

    try:
        schema = adapter.json_schema(mode=cast("Any", mode))
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise SchemaError(f"no JSON Schema can be made of this type: {str(error).splitlines()[0]}") from None
    return untitled(schema)


def untitled(schema: JsonObject) -> JsonObject:
    """A schema without `title`s."""
    return mapped(schema, _without_title)


def _without_title(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def schema_like(value: Json) -> JsonObject:
    """The JSON Schema of values like this one: of the same types, whatever they hold."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int | float):
        return {"type": "number"}
    if isinstance(value, str):
        return {"type": "string"}
    if is_object(value):
        return {"type": "object", "properties": {key: schema_like(member) for key, member in value.items()}}
    if not is_list(value):
        return {}
    items = [schema_like(item) for item in value]
    alike = bool(items) and all(item == items[0] for item in items)
    return {"type": "array", "items": items[0]} if alike else {"type": "array"}


def jsonable(value: object) -> Json:
    """A value that isn't plain JSON (a model, a dataclass, a date …) as JSON.

    Raises:
        ValueError: it can't be.
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise ValueError(str(error)) from None


def is_plain(annotation: object) -> bool:
    """Whether values of this type arrive as they are in JSON, so that nothing need convert them."""
    return annotation is Any or any(annotation is plain for plain in _PLAIN)


def _same(value: Any) -> Any:
    return value
