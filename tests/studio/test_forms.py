"""Forms from a dozen hard schemas: what they show is read back as it was, and what is wrong is told at its field."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from actum.studio.forms.field import ABSENT, FormField, Schemas, initial
from actum.studio.forms.form import form_of, problems_of
from actum.studio.forms.sent import Posted, Upload, posted_value
from actum.studio.pages import rendered

from .schemas import HARD


class Filled(HTMLParser):
    """What a browser would post of a form as it stands."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: dict[str, str] = {}
        self.labelled: set[str] = set()
        self.fields: list[str] = []
        self._area: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = attributes.get("name")
        if tag == "label" and attributes.get("for"):
            self.labelled.add(str(attributes["for"]))
        if tag in {"input", "select", "textarea"} and attributes.get("type") != "hidden" and attributes.get("id"):
            self.fields.append(str(attributes["id"]))
        if tag == "textarea" and name:
            self._area, self.texts[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            if "selected" in attributes or self._select not in self.texts:
                self.texts[self._select] = str(attributes.get("value") or "")
        elif (
            tag == "input" and name and (attributes.get("type") not in {"file", "checkbox"} or "checked" in attributes)
        ):
            self.texts[name] = str(attributes.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.texts[self._area] += data.removeprefix("\n") if not self.texts[self._area] else data


def filled(schema: Any, value: Any = ABSENT, problems: Any = None) -> Filled:
    page = rendered("fields.html", field=form_of(schema, value, problems))
    form = Filled()
    form.feed(page)
    return form


@pytest.mark.parametrize("name", HARD)
def test_a_value_comes_back_from_its_form_as_it_was(name: str) -> None:
    schema, values, _ = HARD[name]
    for value in values:
        assert not problems_of(schema, value)
        assert posted_value(schema, Posted(filled(schema, value).texts)) == value


@pytest.mark.parametrize("name", HARD)
def test_every_field_has_its_label(name: str) -> None:
    schema, values, _ = HARD[name]
    for value in [ABSENT, *values]:
        form = filled(schema, value)
        assert set(form.fields) <= form.labelled
        assert len(set(form.fields)) == len(form.fields)


@pytest.mark.parametrize("name", HARD)
def test_what_is_wrong_is_told_at_the_field_where_it_is(name: str) -> None:
    schema, _, (wrong, at) = HARD[name]
    problems = problems_of(schema, wrong)
    assert at in problems
    page = rendered("fields.html", field=form_of(schema, wrong, problems))
    assert problems[at][0].replace('"', "&#34;").replace("'", "&#39;").replace("<", "&lt;")[:40] in page
    again = posted_value(schema, Posted(filled(schema, wrong).texts))
    assert problems_of(schema, again)  # nothing is mended silently


def test_an_item_is_added_and_taken_away_without_a_script() -> None:
    schema = {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
    texts = filled(schema, {}).texts
    value = posted_value(schema, Posted({**texts, "do": "add:/tags"}))
    assert value == {"tags": [""]}
    value = posted_value(schema, Posted({**filled(schema, value).texts, "do": "add:/tags"}))
    assert value == {"tags": ["", ""]}
    value = posted_value(schema, Posted({**filled(schema, {"tags": ["a", "b"]}).texts, "do": "drop:/tags/0"}))
    assert value == {"tags": ["b"]}
    assert posted_value(schema, Posted({**filled(schema, value).texts, "do": "drop:/tags"})) == {}


def test_another_variant_begins_anew() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}]}
    texts = filled(schema, "x").texts
    assert posted_value(schema, Posted({**texts, "u": "1"})) == {"a": 3}


def test_a_recursive_schema_is_shown_as_deep_as_its_value() -> None:
    schema = HARD["recursive"][0]
    assert len(filled(schema, {"name": "a", "children": []}).fields) < 4


def test_a_file_is_its_base64() -> None:
    schema = {"type": "object", "properties": {"photo": {"type": "string", "contentEncoding": "base64"}}}
    upload = Upload(name="a.png", media_type="image/png", content=b"\x89PNG")
    assert posted_value(schema, Posted({"p": "1"}, {"f/photo": [upload]})) == {"photo": "iVBORw=="}


def test_a_hostile_schema_and_value_stay_text() -> None:
    script = '"><script>alert(1)</script>'
    properties = {
        script: {"type": "string", "title": script, "description": script, "enum": [script], "default": script}
    }
    page = rendered("fields.html", field=form_of({"type": "object", "properties": properties}, {script: script}))
    assert "<script" not in page
    assert posted_value(
        {"type": "object", "properties": properties},
        Posted(filled({"type": "object", "properties": properties}, {script: script}).texts),
    ) == {script: script}


def tree(branches: int, leaf: Any) -> Any:
    """A schema of trees whose inner nodes have so many branches."""
    names = [f"branch{number}" for number in range(branches)]
    node = {"type": "object", "properties": {name: {"$ref": "#/$defs/node"} for name in names}, "required": names}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"]}
    return {**schema, "$defs": {"node": {"anyOf": [node, leaf]} if leaf else node}}


def count(form: FormField) -> int:
    return 1 + sum(map(count, form.children))


def test_a_schema_that_holds_itself_begins_small() -> None:
    schema = tree(3, {"type": "null"})
    assert initial(Schemas(schema), schema) == {"root": None}
    assert count(form_of(schema)) == 3
    deep = {"root": {"branch0": {"branch0": None, "branch1": None, "branch2": None}, "branch1": None, "branch2": None}}
    assert posted_value(schema, Posted(filled(schema, deep).texts)) == deep
    for endless in (tree(6, None), tree(6, {"type": "string"})):  # of the first there is no value at all
        assert count(form_of(endless, initial(Schemas(endless), endless))) < 20_000
    loop: Any = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}
    loop["$defs"] = {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}
    assert form_of(loop).children[0].kind == "json"


def test_a_union_in_a_union_is_one_choice() -> None:
    inner: Any = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}
    schema: Any = {"type": "object", "properties": {"a": {"anyOf": [{"type": "boolean"}, inner]}}, "required": ["a"]}
    assert len(form_of(schema).children[0].options) == 3
    for value in ({"a": True}, {"a": 7}, {"a": ["x", "y"]}):
        assert posted_value(schema, Posted(filled(schema, value).texts)) == value


def test_a_number_that_nobody_counts_to_is_none() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {"enum": [1, 2]}}}
    for digits in ("9" * 5_000, "-1", "\u0661", "1e3", ""):
        assert posted_value(schema, Posted({"p": "1", "n/a": digits, "c/b": digits, "do": f"drop:/a/{digits}"})) == {}
