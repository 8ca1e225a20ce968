"""Modules that are pinned and not run: the same tools as where they are loaded, byte for byte; stale pins are said."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from actum import errors, inspection
from actum.app.loading import Code
from actum.cli.dispatch import run_command
from actum.protocol.registry import Registry

from ..effort import spread

pytestmark = pytest.mark.rule("D12")
ROOT = Path(__file__).parents[2]

MODULE = '''
import dataclasses
import datetime as dt
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import {helper}
from actum import Idea, tools


class Z(BaseModel):
    zebra: int
    apple: Annotated[str, Field(description="A fruit.")] = "a"
    of: "list[Z]" = []


@dataclasses.dataclass
class Found:
    when: dt.date
    colour: Literal["red", "blue"]


@tools.tool(effects="none", timeout=3, _scopes=["state"])
async def plain_{n}(z: Z, a: int = {helper}.DEFAULT, *, context=None) -> list[Found]:
    """Find."""
    raise AssertionError


@tools.tool
def parts_{n}(a: int, _key: str, **more: str) -> None: ...


for name in ("one_{n}", "other_{n}"):

    @tools.activity(name, retries=2)
    def carried_out(call, tool, context, key=None):
        return 1


tools.register("latent_{n}", {{"properties": {{"text": {{"type": "string"}}, "_output": {{"type": "string"}}}}}})
tools.activity("latent_{n}", carried_out)
tools.register(Idea(context=[{{"type": "input", "q": "a"}}], schema={{"type": "string"}}).as_tool("idea_{n}"))
'''


@pytest.fixture
def n() -> str:
    """Part of names that no other test has: modules stay loaded."""
    return uuid.uuid4().hex[:8]


@pytest.fixture
def here(tmp_path: Path, n: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module that is pinned."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"helper_{n}.py").write_text("DEFAULT = 7\n", encoding="utf-8")
    (tmp_path / "acts.py").write_text(MODULE.format(n=n, helper=f"helper_{n}"), encoding="utf-8")
    assert run_command(["pin", "acts.py"]) == 0
    return tmp_path


def looked_at(name: str = "acts.py") -> tuple[Registry, Code]:
    code = Code.to_read([name])
    return code.take(name, Path.cwd(), [Path.cwd()]), code


def an_idea(folder: Path, *calls: dict[str, Any], **config: Any) -> Path:
    plan = {"type": "plan", "plan": [*calls], "output": "†calls.0" if calls else "ok"}
    whole: dict[str, Any] = {"config": {"activities": ["acts.py"], **config}, "context": [plan], "schema": {}}
    (path := folder / "idea.json").write_text(json.dumps(whole), encoding="utf-8")
    return path


def test_what_is_pinned_is_what_loading_registers_byte_for_byte(here: Path, n: str) -> None:
    pinned, code = looked_at()
    loaded = Code.to_run(["acts.py"]).take("acts.py", here, [here])
    assert code.remarks == ()
    assert [tool.name for tool in pinned] == [f"{name}_{n}" for name in ("plain", "parts", "latent", "idea")]
    for name in ("plain", "parts", "latent"):
        mine, real = pinned.find(f"{name}_{n}"), loaded.find(f"{name}_{n}")
        assert mine is not None
        assert real is not None
        assert json.dumps(mine.schema) == json.dumps(real.schema)
        assert mine.meta == real.meta
    assert {*pinned.activity_names} == {*loaded.activity_names, f"idea_{n}"}
    for name in loaded.activity_names:
        mine, real = pinned.find_activity(name), loaded.find_activity(name)
        assert mine is not None
        assert real is not None
        assert {*mine.signature.parameters} == {*real.signature.parameters}
        assert (mine.retries, mine.sees_context) == (real.retries, real.sees_context)
        with pytest.raises(RuntimeError, match="not loaded"):
            mine(a=1)


@pytest.mark.parametrize("changed", ["acts.py", "helper"])
def test_pins_of_a_module_that_has_changed_are_a_problem_until_it_is_pinned_again(
    here: Path, n: str, changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = an_idea(here, {"_tool": f"parts_{n}", "a": 1})
    assert inspection.check(path).problems == ()
    file = here / (changed if changed.endswith(".py") else f"{changed}_{n}.py")
    before = file.read_text(encoding="utf-8")
    file.write_text(before + "\n# now\n", encoding="utf-8")
    [problem] = inspection.check(path).problems
    assert problem.file == "acts.py.pins"
    assert f"since {file.name} changed; `actum pin acts.py`" in problem.error.message
    assert run_command(["show", str(path), "--graph", "text"]) == 0
    assert "out of date" in capsys.readouterr().err
    assert run_command(["pin", "acts.py"]) == 0
    assert inspection.check(path).problems == ()
    file.unlink()
    if changed == "helper":
        assert len(inspection.check(path).problems) == 1


def test_a_module_without_pins_is_told_of_with_how_to_make_them(here: Path, n: str) -> None:
    (here / "acts.py.pins").unlink()
    report = inspection.check(an_idea(here, {"_tool": f"parts_{n}", "a": 1}))
    assert [line.partition("; ")[2] for line in report.left_out] == ["`actum pin acts.py` writes down what they are"]
    assert report.problems == ()
    assert [note.partition(": ")[2] for note in report.notes] == [f"the tool 'parts_{n}' isn't known here"]


def test_pinning_says_what_has_changed(here: Path, n: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "acts.py.pins"
    held = json.loads(path.read_text(encoding="utf-8"))
    tools = held["tools"]
    tools["gone"] = tools.pop(f"one_{n}")
    tools[f"parts_{n}"] = tools[f"plain_{n}"]
    path.write_text(json.dumps(held), encoding="utf-8")
    assert run_command(["pin", "acts.py"]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[:-1] == [
        "actum: 'gone' is gone",
        f"actum: 'one_{n}' is new",
        f"actum: 'parts_{n}' has changed",
    ]
    assert [line.split()[1] for line in printed.out.splitlines()] == [
        *(f"{name}_{n}" for name in ("plain", "parts", "latent", "idea", "one", "other"))
    ]


BROKEN: dict[str, Any] = {
    "not JSON": "{",
    "no object": "[]",
    "no tools": {"sources": {}},
    "no digests": {"sources": {}, "tools": {"a": {"tool": {}}}},
    "another digest": {"sources": {}, "tools": {"a": {"sha256": "0", "tool": {"schema": {}}}}},
    "numbers": {"sources": {"a": 1}, "tools": {}},
    "many sources": {"sources": {str(i): "" for i in range(201)}, "tools": {}},
    "no parameters": {"sources": {}, "tools": {"a": {"sha256": "0", "tool": {"activity": {"retries": 0}}}}},
    "two for the rest": {
        "sources": {},
        "tools": {"a": {"sha256": "0", "tool": {"activity": {"parameters": {"a": "any", "b": "any"}, "retries": 0}}}},
    },
    "too deep": "[" * 100_000,
}


def broken(folder: Path, name: str) -> None:
    held = BROKEN[name]
    path = folder / "acts.py.pins"
    path.write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")


@pytest.mark.parametrize("name", BROKEN)
def test_pins_that_cant_be_used_are_a_problem(here: Path, name: str) -> None:
    broken(here, name)
    report = inspection.check(an_idea(here))
    assert [type(problem.error) for problem in report.problems] == [errors.IdeaError]
    assert "acts.py.pins" in report.problems[0].error.message


@pytest.mark.parametrize("name", spread([*BROKEN], least=2))
def test_pins_that_cant_be_used_are_pinned_anew(here: Path, name: str) -> None:
    broken(here, name)
    assert run_command(["pin", "acts.py"]) == 0
    assert inspection.check(an_idea(here)).problems == ()


def test_what_pins_say_that_no_module_could_register_is_left_out_and_told(here: Path) -> None:
    from actum.connections.pinning import pinned

    unknown: dict[str, Any] = {"a": {"schema": {"_nonsense": 1}}, "b": {"schema": {}}}
    held = {"sources": {}, "tools": pinned(unknown)}
    (here / "acts.py.pins").write_text(json.dumps(held), encoding="utf-8")
    registered, code = looked_at()
    assert [tool.name for tool in registered] == ["b"]
    assert [line.partition(": ")[2].partition(":")[0] for line in code.left_out] == ["'a'"]


def test_pins_lead_nowhere_out_of_the_roots(here: Path) -> None:
    secret = here.parent / f"{here.name}.secret"
    secret.write_text('{"told": 1}', encoding="utf-8")
    path = here / "acts.py.pins"
    outside = json.dumps({"sources": {f"../{secret.name}": "0", str(secret): "0"}, "tools": {}})
    path.write_text(outside, encoding="utf-8")
    _, code = looked_at()
    assert [*code.outdated] == [path]
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(errors.IdeaError, match="leads out of the folders") as caught:
        Code.to_read().take("acts.py", here, [here])
    assert "told" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["", ".", "a..b", ".a", "a/b", "a\0b.py", "x" * 5_000 + ".py", "no_such_module_x", "\ud800"]
)
@pytest.mark.parametrize("code", [Code.to_read, Code.to_run])
def test_what_names_no_module_is_an_error_of_the_idea(tmp_path: Path, name: str, code: Any) -> None:
    with pytest.raises(errors.IdeaError):
        code().take(name, tmp_path, [tmp_path])


def test_a_module_that_fails_is_not_pinned(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "fails.py").write_text("raise ValueError('no')", encoding="utf-8")
    assert run_command(["pin", "fails.py"]) == 2
    assert "can't be imported" in capsys.readouterr().err
    assert not (here / "fails.py.pins").exists()
    assert run_command(["pin", "json"]) == 2


@pytest.mark.parametrize("pins", sorted((ROOT / "examples").rglob("*.pins")), ids=lambda path: path.parent.name)
def test_the_pins_of_the_examples_are_up_to_date(pins: Path) -> None:
    code = Code.to_read()
    module = pins.with_suffix("")
    code.take(module.name, module.parent, [ROOT])
    assert code.remarks == ()
