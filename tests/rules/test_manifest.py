"""The manifest of rules, the page that states them and the tests that cite them are checked against each other."""

import re
import tokenize
from pathlib import Path

from .manifest import PAGE, PLANNED, amended, cited, planned, rules, stated

SOURCE = Path(__file__).parents[2] / "src"
STATED = stated(PAGE.read_text(encoding="utf-8"))


def test_the_page_states_every_rule_once_in_the_manifests_order() -> None:
    assert [rule for rule, _ in STATED] == list(rules(of_protocol=True))


def test_the_page_marks_what_is_planned_as_the_manifest_does() -> None:
    assert [rule for rule, text in STATED if text.startswith(PLANNED)] == [
        rule for rule in planned() if rule in rules(of_protocol=True)
    ]
    assert [rule for rule, text in STATED if PLANNED in text and not text.startswith(PLANNED)] == amended()
    assert [rule for rule, text in STATED if text.count(PLANNED) > 1 or text.endswith(PLANNED)] == []


def test_a_rule_has_a_test_or_is_planned_and_each_that_is_cited_exists() -> None:
    tests, known = cited(), rules()
    assert [rule for rule in known if rule not in tests and rule not in planned()] == []
    assert {rule: tests[rule] for rule in planned() if rule in tests} == {}, "they are planned no more"
    assert {rule: citing for rule, citing in tests.items() if rule not in known} == {}


def test_the_page_refers_only_to_rules_and_files_that_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    mentioned = {rule for aside in re.findall(r"\(([^()]*)\)", page) for rule in _rules_in(aside)}
    assert mentioned
    assert mentioned - rules().keys() == set()
    linked = re.findall(r"\]\(([^)#]+)[^)]*\)", page)
    assert linked
    assert [link for link in linked if not (PAGE.parent / link).exists()] == []


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
    return [rule for aside in asides for rule in _rules_in(aside)]


def _rules_in(text: str) -> list[str]:
    return re.findall(r"\b[MTACSDIOELPXVRW]\d{1,2}\b", text)
