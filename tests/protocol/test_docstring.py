"""What a tool of a function takes from its docstring: the text before its parameters, and theirs in three forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from actum import Context, Tools
from actum.schema.json import JsonObject as Json


class Order(TypedDict):
    id: str


class Place(BaseModel):
    """Somewhere in the library."""

    shelf: int


def google(title: str, limit: int = 5, *, order: Order | None = None) -> str:
    """Find a book.

    Note:
        Only what is on the shelves.

    Args:
        ctx: Not a parameter of this tool.
        title (str): The title,
            or how it begins.
        limit (int, optional): How many
            - at least 1
        order:
            What it is for.
        **rest: Not one of them, too.

    Returns:
        Where it stands.

    Raises:
        when it is lost
    """
    return title


def numpy(title: str, limit: int = 5, *, order: Order | None = None) -> str:
    """Find a book.

    Note:
        Only what is on the shelves.

    Parameters
    ----------
    ctx : Context
        Not a parameter of this tool.
    title : str
        The title,
        or how it begins.
    limit : int, optional
        How many
        - at least 1
    order
        What it is for.

    Returns
    -------
    str
        Where it stands.
    """
    return title


def rest(title: str, limit: int = 5, *, order: Order | None = None) -> str:
    """Find a book.

    Note:
        Only what is on the shelves.

    :param ctx: Not a parameter of this tool.
    :param str title: The title,
        or how it begins.
    :type limit: int
    :param limit: How many
        - at least 1
    :param order: What it is for.
    :returns: Where it stands.
    """
    return title


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_parameters_are_described_and_leave_the_text(function: Callable[..., Any]) -> None:
    schema = _schema(function)
    assert schema["description"] == "Find a book.\n\nNote:\n    Only what is on the shelves."
    texts = {name: part.get("description") for name, part in schema["properties"].items()}
    assert texts == {
        "title": "The title,\nor how it begins.",
        "limit": "How many\n- at least 1",
        "order": "What it is for.",
        "_output": None,
    }
    assert schema["required"] == ["title"]
    assert schema["properties"]["limit"]["type"] == "integer"


def test_several_parameters_of_numpy_share_a_text() -> None:
    def measure(x: float, y: float) -> float:
        """Measure.

        Parameters
        ----------
        x, y : float
            In metres.
        """
        return x * y

    properties = _schema(measure)["properties"]
    assert [properties[name]["description"] for name in "xy"] == ["In metres.", "In metres."]


def test_what_a_type_is_annotated_with_wins() -> None:
    def take(
        book: Annotated[str, Field(description="As it is annotated.")],
        count: Annotated[int, Field(ge=1)],
        place: Annotated[Order, Field(description="Annotated.")],
    ) -> None:
        """Take a book.

        Args:
            book: As the docstring says.
            count: How many.
            place: As the docstring says.
        """

    properties = _schema(take)["properties"]
    assert properties["book"] == {"type": "string", "description": "As it is annotated."}
    assert properties["count"] == {"type": "integer", "minimum": 1, "description": "How many."}
    assert properties["place"]["description"] == "Annotated."


def test_a_text_is_added_to_what_a_type_says_of_itself() -> None:
    def move(start: Place, end: Place, anything: Any, context: Context) -> None:
        """Move a book.

        Args:
            start: Where it stands.
            end: Where it is to stand.
            anything: What else.
            context: Given by the run.
        """

    schema = _schema(move)
    assert [schema["properties"][name].get("description") for name in ("start", "end", "anything")] == [
        "Where it stands.",
        "Where it is to stand.",
        "What else.",
    ]
    assert schema["$defs"]["Place"]["description"] == "Somewhere in the library."
    assert "context" not in schema["properties"]


def test_a_given_description_replaces_the_text_alone() -> None:
    schema = _schema(google, description="Look a book up.")
    assert schema["description"] == "Look a book up."
    assert schema["properties"]["order"]["description"] == "What it is for."


def test_a_docstring_may_hold_parameters_alone() -> None:
    def look(title: str) -> str:
        """:param title: What it is called."""
        return title

    schema = _schema(look)
    assert schema["properties"]["title"]["description"] == "What it is called."
    assert "description" not in schema


@pytest.mark.parametrize(
    "text",
    [
        "Find.\n\nArgs:\n    what you look for, in words",
        "Find.\n\nArgs:\n    title: What you look for,\n    in words.",
        "Find.\n\nArgs:\n    see the manual: it says all",
        "Find.\n\nArgs:\ntitle: What you look for.",
        "Find.\n\nArgs:",
        "Find.\n\nArgs:\n\nReturns:\n    All.",
        "Find.\n\nParameters\n----------\nSee the manual.",
        "Find.\n\nParameters\n---\ntitle\n    What you look for.",
        "Find.\n\n:param title What you look for.",
        "Find.\n\n:param any of those titles: What you look for.",
        "Find.\n\nReturns:\n    All of them.\n\nRaises:\n    KeyError: there is none.",
        "Find what Args: says, and\n    :param title: means.\n\nMore.",
    ],
)
def test_what_is_no_section_of_parameters_stays_in_the_text(text: str) -> None:
    def find(title: str) -> str:
        return title

    find.__doc__ = text
    schema = _schema(find)
    assert schema["description"] == text
    assert schema["properties"]["title"] == {"type": "string"}


def _schema(function: Callable[..., Any], **options: Any) -> Json:
    tool = Tools().tool(**options)(function).tool
    assert tool is not None
    return tool.schema
