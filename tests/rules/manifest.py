"""The rules of the protocol and the tests that hold them, read from the test files without running them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
MANIFEST = tomllib.loads((TESTS / "rules" / "rules.toml").read_text(encoding="utf-8"))
PAGE = TESTS.parent / "docs" / "protocol.md"
PLANNED = "*(planned)*"
BESIDE = frozenset({"V", "R", "W"})
"""The groups of rules that are not of the protocol: V is of evals, R of refining, W of models."""


def rules(*, of_protocol: bool = False) -> dict[str, str]:
    """Every rule with what it demands; those of the protocol alone stand on its page."""
    groups = [name for name in MANIFEST if name not in {"planned", "amended"} and not (of_protocol and name in BESIDE)]
    return {rule: text for name in groups for rule, text in MANIFEST[name].items()}


def planned() -> list[str]:
    """The rules of which nothing is implemented yet."""
    return MANIFEST["planned"]


def amended() -> list[str]:
    """The rules of which a part isn't implemented yet."""
    return MANIFEST["amended"]


def stated(page: str) -> list[tuple[str, str]]:
    """The rules of a page with their paragraphs, in its order; without the `+` of what goes beyond the documents."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in page.split("\n\n"))
    matches = (re.match(r"\*\*([A-Z]\d{1,2})(?: \+)?\*\* (.+)", paragraph) for paragraph in paragraphs)
    return [(match[1], match[2]) for match in matches if match]


@cache
def cited() -> dict[str, list[str]]:
    """The tests by the rules they cite with `pytest.mark.rule`: on the test, its class, or as `pytestmark`."""
    tests: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        name = path.relative_to(TESTS.parent).as_posix()
        module = ast.parse(path.read_text(encoding="utf-8"))
        for test, numbers in _citations(module.body, _marks_of_all(module)):
            for number in dict.fromkeys(numbers):
                tests[number].append(f"{name}::{test}")
    return dict(tests)


def _citations(body: Sequence[ast.stmt], inherited: list[str]) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _citations(node.body, inherited + _numbers(node.decorator_list))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name, inherited + _numbers(node.decorator_list)


def _marks_of_all(module: ast.Module) -> list[str]:
    return _numbers(
        [node for node in module.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    )


def _numbers(nodes: Sequence[ast.AST]) -> list[str]:
    """The arguments of every `pytest.mark.rule(…)` in the nodes, those of a `pytest.param`'s marks included."""
    calls = [call for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call)]
    cites = [call for call in calls if ast.unparse(call.func) == "pytest.mark.rule"]
    return [ast.literal_eval(argument) for call in cites for argument in call.args]


if __name__ == "__main__":
    tests = cited()
    marks = dict.fromkeys(planned(), " (planned)") | dict.fromkeys(amended(), " (in part planned)")
    for rule, text in rules().items():
        print(f"{rule:4} {text}{marks.get(rule, '')}")
        for test in tests.get(rule, ()):
            print(f"       {test}")
