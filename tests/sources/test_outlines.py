"""Python that is read and not run: the same tools as where it is loaded, byte for byte; what is left out is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from actum import errors, tools
from actum.protocol.registry import Registry
from actum.sources.modules import load_activities
from actum.sources.outlines import read_activities

pytestmark = pytest.mark.rule("D12")

TYPES = '''
from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, Union
from uuid import UUID

import pydantic
from pydantic import BaseModel, Field
from typing_extensions import NotRequired, TypedDict

MOST = 10
Name = NewType("Name", str)
Texts = dict[str, "Name"]


class Colour(str, enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Base(TypedDict):
    """What all have."""

    id: int


class Item(Base, total=False):
    name: Name
    parts: list[Base]
    note: Optional[str]


@dataclass
class Box:
    """A box."""

    wide: float
    tags: list[str] = field(default_factory=list)
    colour: Colour = dataclasses.field(default=None)


class Order(BaseModel):
    """An order."""

    model_config = pydantic.ConfigDict(extra="forbid")

    items: list[Item]
    total: Decimal = Field(default=1, ge=0, description="In euro")
    kind: Literal["a", "b", 3] = "a"

    def price(self) -> float:
        return 1.0


class Special(Order):
    made: dt.datetime
    by: UUID | None = None
'''

ACTIVITIES = '''
from __future__ import annotations

from typing import Annotated, Any

import actum
from actum import tools as registry
from pydantic import Field
from .shapes_{n} import *
from .shapes_{n} import Texts as Words
from . import shapes_{n} as shapes

WORDS = "Said elsewhere."


@registry.tool
async def plain_{n}(a: int, b: str = "x", *, c: float = 1.0, d: bool = False) -> None:
    """Say a line.

    And another.
    """


@registry.tool(name="named_{n}", description=WORDS, effects="none", timeout=5, retries=2, _outputPath="†state.x")
def of_many_types(order: Order, special: shapes.Special, box: Box, point: Point, words: Words, colour: Colour) -> Item:
    return {{}}


@actum.tools.tool(effects="ordered", retries=1)
def parts_{n}(
    _key: str,
    one: list[int] | None, two: dict[str, list[Base]], three: Annotated[int, Field(ge=0, le=shapes.MOST)],
    four: tuple[int, str], five: tuple[int, ...], six: Any, seven, eight: "int | str" = 5, **more: int
) -> Annotated[list[Box], "told"]:
    ...


@registry.activity("activity_{n}")
@registry.activity("other_{n}", retries=3)
def carried_out(call, tool, context, key=None):
    return 1


registry.register("latent_{n}", {{"properties": {{"text": {{"type": "string"}}, "_output": {{"type": "string"}}}}}})
registry.activity("latent_{n}", carried_out, retries=4)
'''


def written(folder: Path, n: int) -> str:
    """A package of the test's own: modules that are loaded stay loaded."""
    own = folder / f"outlined_{n}"
    own.mkdir()
    (own / "__init__.py").write_text("")
    (own / f"shapes_{n}.py").write_text(TYPES)
    (own / "acts.py").write_text(ACTIVITIES.format(n=n))
    return f"outlined_{n}.acts"


def test_what_is_read_is_what_loading_registers_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = written(tmp_path, 1)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    read = Registry()
    assert read_activities(name, tmp_path, read, [tmp_path]) == []
    load_activities(name, tmp_path, [tmp_path])
    for tool in ("plain_1", "named_1", "parts_1", "latent_1"):
        own, loaded = read.find(tool), tools.find(tool)
        assert own is not None
        assert loaded is not None
        assert json.dumps(own.schema) == json.dumps(loaded.schema)
        assert own.meta == loaded.meta
    for activity in ("plain_1", "named_1", "parts_1", "activity_1", "other_1", "latent_1"):
        own, loaded = read.find_activity(activity), tools.find_activity(activity)
        assert own is not None
        assert loaded is not None
        assert list(own.signature.parameters) == list(loaded.signature.parameters)
        assert own.retries == loaded.retries
    with pytest.raises(RuntimeError, match="not loaded"):
        read.find_activity("plain_1")(a=1)  # pyright: ignore[reportOptionalCall]


LEFT_OUT: dict[str, tuple[str, str]] = {
    "a type of another library": ("@tools.tool\ndef f(a: numpy.ndarray) -> int: ...", "the type of 'a' of 'f'"),
    "a name that isn't there": ("@tools.tool\ndef f(a: Nothing) -> int: ...", "'Nothing' is not known"),
    "a class that is no data": ("class C: ...\n@tools.tool\ndef f(a: C) -> int: ...", "one of its own"),
    "a decorated class": ("@print\nclass C(TypedDict): ...\n@tools.tool\ndef f(a: C): ...", "changed by a decorator"),
    "a class of itself": ("class C(TypedDict):\n    of: 'C'\n@tools.tool\ndef f(a: C): ...", "made of itself"),
    "a computed name": ("@tools.tool(name='f' + str(1))\ndef f() -> int: ...", "is not written out"),
    "a loop": ("for n in 'ab':\n    tools.activity(n)(print)", "known only when it runs"),
    "a function": ("def setup():\n    tools.register('a', {})\nsetup()", "known only when it runs"),
    "a condition": ("if input():\n    @tools.tool\n    def f() -> int: ...", "known only when it runs"),
    "a bad schema": ("tools.register('a', {'_nonsense': 1})", "_nonsense"),
    "a call": ("@tools.tool\ndef f(a: make()) -> int: ...", "not written as a type"),
    "deep": ("@tools.tool\ndef f(a: " + "list[" * 90 + "int" + "]" * 90 + "): ...", "nests too deeply"),
}


@pytest.mark.parametrize(("source", "said"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_only_running_could_tell_is_left_out_and_said(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "acts.py").write_text(
        f"from actum import tools\nfrom typing_extensions import TypedDict\nimport numpy\n{source}\n"
    )
    registry = Registry()
    left_out = read_activities("acts.py", tmp_path, registry, [tmp_path])
    assert len(left_out) == 1
    assert left_out[0].startswith("acts.py:")
    assert said in left_out[0]


ENDLESS: dict[str, str] = {
    "aliases of types": "\n".join(["A0 = int", *(f"A{n} = dict[A{n - 1}, A{n - 1}]" for n in range(1, 22))])
    + "\n@tools.tool\ndef f(a: A21): ...",
    "aliases of values": "\n".join(["A0 = 1", *(f"A{n} = [A{n - 1}, A{n - 1}]" for n in range(1, 22))])
    + "\n@tools.tool(_timeout=A21)\ndef f(): ...",
    "imports of everything": "from acts import *\nfrom actum import *\n" * 3_000
    + "x.tool\n" * 3_000
    + "for x in y: tools.tool(x)\n" * 200,
    "many things": "a.tool\n" * 5_000 + "for a in b:\n    tools.activity(a)(b)\n" * 500,
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_reading_a_module_has_an_end_and_says_so(tmp_path: Path, source: str) -> None:
    (tmp_path / "acts.py").write_text(f"from actum import tools\n{source}\n")
    left_out = read_activities("acts.py", tmp_path, Registry(), [tmp_path])
    assert 1 <= len(left_out) <= 101
    assert any("than is read" in line or "more" in line for line in left_out)


BROKEN: dict[str, bytes] = {
    "no Python": b"def f(:",
    "null characters": b"a\0b",
    "not UTF-8": b"\xff\xfe",
    "too deep": b"(" * 50_000,
    "too many signs": b"x = " + b"-" * 50_000 + b"1",
    "too large": b"#" * 1_000_001,
    "an encoding": b"# -*- coding: rot13 -*-\nimport os\n'\xe9'",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_no_python_is_an_error_of_the_idea(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "acts.py").write_bytes(content)
    with pytest.raises(errors.IdeaError) as caught:
        read_activities("acts.py", tmp_path, Registry(), [tmp_path])
    assert "acts.py" in caught.value.message


@pytest.mark.parametrize(
    "name", ["", ".", "a..b", ".a", "a/b", "a\0b.py", "x" * 5_000 + ".py", "no_such_module_x", "\ud800"]
)
def test_what_names_no_module_is_an_error_of_the_idea(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.IdeaError):
        read_activities(name, tmp_path, Registry(), [tmp_path])


def test_imports_lead_no_further_than_the_roots_and_never_in_circles(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("SECRET = 'told'\nfrom actum import tools\ntools.register('outside', {})\n")
    here = tmp_path / "here"
    here.mkdir()
    (here / "one.py").write_text(
        "from two import *\nfrom two import x\nfrom actum import tools\ntools.register('one', {})\n"
    )
    (here / "two.py").write_text(
        "from one import *\nfrom one import x\nfrom actum import tools\ntools.register('two', {})\n"
    )
    (here / "secret.py").symlink_to(tmp_path / "secret.py")
    (here / "acts.py").write_text(
        "import one\nfrom secret import SECRET\nfrom .. import secret as s\nfrom actum import tools\n"
        "@tools.tool(description=SECRET)\ndef f() -> int: ...\n@tools.tool\ndef g(a: one.x) -> int: ...\n"
    )
    registry = Registry()
    left_out = read_activities("acts.py", here, registry, [here])
    assert {tool.name for tool in registry} == {"one", "two", "g"}
    assert len(left_out) == 2
    assert "told" not in str([tool.schema for tool in registry])
