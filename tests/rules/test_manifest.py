"""The manifest of rules and the tests that cite them are checked in both directions."""

import re
import tokenize
from pathlib import Path

from .manifest import cited, delivered, rules

SOURCE = Path(__file__).parents[2] / "src"


def test_every_rule_of_a_delivered_group_has_a_test() -> None:
    tests = cited()
    assert [rule for rule in delivered() if rule not in tests] == []


def test_every_cited_rule_exists() -> None:
    known = rules()
    assert {rule: tests for rule, tests in cited().items() if rule not in known} == {}


def test_docstrings_and_comments_cite_rules_that_exist() -> None:
    known = rules()
    cites = [(path.name, rule) for path in sorted(SOURCE.rglob("*.py")) for rule in _cited_in(path)]
    assert cites
    assert [cite for cite in cites if cite[1] not in known] == []


def _cited_in(path: Path) -> list[str]:
    """The rules in parentheses in a file's strings and comments."""
    with path.open(encoding="utf-8") as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    prose = [token.string for token in tokens if token.type in {tokenize.STRING, tokenize.COMMENT}]
    asides = [aside for text in prose for aside in re.findall(r"\(([^()]*)\)", text)]
    return [rule for aside in asides for rule in re.findall(r"\b[MTACSDIOLPX]\d{1,2}\b", aside)]
