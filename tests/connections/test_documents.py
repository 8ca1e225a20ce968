"""An OpenAPI document is a stranger's: whatever it holds, its operations are listed, or left out with a reason."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import connections, errors
from actum.connections.adapting import adapted
from actum.connections.openapi.document import Document, scheme_and_host
from actum.connections.openapi.http_requests import Unsendable, request_of
from actum.connections.openapi.operations import ListedOperations, listed_operations
from actum.connections.openapi.parameters import AlwaysSent
from actum.schema.json import encode, is_list, is_object

from ..effort import trials
from .apis import DOCUMENT, PET, TEXT, Json, answers, api, query

OWN = connections.Server("pets", openapi="pets.json")
EMPTY: Json = {}
NOWHERE = "it refers to what isn't in the document"


def offers_of(document: Json) -> ListedOperations:
    """The operations that a document offers, as `Servers` read them."""
    offers = listed_operations(
        Document.parse(encode(document)), OWN.offers, AlwaysSent(query=["api_key"]), 1_000, OWN.most_bytes
    )
    for name in [*offers.tools]:
        try:
            adapted(offers.tools[name], OWN)
        except errors.SchemaError as error:
            offers.left_out.append((name, error.message))
            del offers.tools[name]
    return offers


def offers_of_operation(operation: Json, path: str = "/a", **more: Any) -> ListedOperations:
    """What a document offers with this operation and a good one beside it."""
    paths = {path: {"post": {"operationId": "one", **operation}}, "/good": {"get": {"operationId": "good"}}}
    offers = offers_of({"openapi": "3.1.0", "paths": paths, **more})
    assert "good" in offers.tools
    return offers


def refused(operation: Json, path: str = "/a", **more: Any) -> str:
    [(name, why)] = offers_of_operation(operation, path, **more).left_out
    assert name == "one"
    return why


def header(name: str) -> Json:
    return {"parameters": [{"name": name, "in": "header", "schema": TEXT}]}


@pytest.mark.parametrize("step", ["²", "٣", "99999999999999999999", "1", "-1", "1" * 5_000])
def test_a_reference_into_a_list_counts_in_ascii_and_no_further_than_it_is_long(step: str) -> None:
    assert refused({"parameters": [{"$ref": f"#/list/{step}"}]}, list=[query("q")]) == NOWHERE
    assert "one" in offers_of_operation({"parameters": [{"$ref": "#/list/0"}]}, list=[query("q")]).tools


def test_a_reference_is_read_as_a_pointer_in_a_url() -> None:
    parts: Json = {"components": {"schemas": {"Größe/a b": {"type": "object", "properties": {"n": TEXT}}}}}
    offers = offers_of_operation(
        {"responses": answers({"$ref": "#/components/schemas/Gr%C3%B6%C3%9Fe~1a%20b"})}, **parts
    )
    tool = adapted(offers.tools["one"], OWN).tool
    assert tool.result is not None
    assert offers.left_out == []
    assert refused({"responses": answers({"$ref": "#Pet"})}) == NOWHERE


def test_definitions_of_the_same_name_stay_apart() -> None:
    both: Json = {"anyOf": [{"$ref": "#/a/Pet"}, {"$ref": "#/b/Pet"}, {"$ref": "#/a/Pet~02"}]}
    parts: Json = {"a": {"Pet": TEXT, "Pet~2": {"type": "null"}}, "b": {"Pet": {"type": "integer"}}}
    [schema] = [offers_of_operation({"responses": answers(both)}, **parts).tools["one"]["outputSchema"]]
    assert sorted(each["type"] for each in schema["$defs"].values()) == ["integer", "null", "string"]


@pytest.mark.parametrize(
    ("operation", "path", "why"),
    [
        (header("X-Größe"), "/a", "a name that no header can have"),
        (header("X A"), "/a", "a name that no header can have"),
        (header("a\r\nx-key: mine"), "/a", "a name that no header can have"),
        (EMPTY, "/a?b=1", "its path is malformed"),
        (EMPTY, "/a#b", "its path is malformed"),
        (EMPTY, "/a\n", "its path is malformed"),
        (EMPTY, "a", "its path is malformed"),
        (EMPTY, "/a/../b", "its path would lead to another one"),
        (EMPTY, "/a/%2E./b", "its path would lead to another one"),
        ({"parameters": [{"in": "query"}]}, "/a", "one of its parameters is malformed"),
        ({"parameters": [query("q")] * 1_001}, "/a", "more than 1000 parameters"),
        ({"parameters": [{"name": "q", "in": "query", "content": 3}]}, "/a", "is not JSON"),
        ({"parameters": [query("q", style=["form"])]}, "/a", "written in a way that isn't known"),
        ({"servers": [{"url": "http://[x"}]}, "/a", "an address of its own"),
        ({"requestBody": {"$ref": "#/x/²"}}, "/a", NOWHERE),
        ({"requestBody": {"required": True, "content": {"application/x\r\nx: y+json": EMPTY}}}, "/a", "isn't sent"),
        ({"responses": {"200": 3}}, "/a", "a part of it is not an object"),
        ({"responses": {"200": {"content": {f"a/{n}+json": EMPTY for n in range(101)}}}}, "/a", "more than 100 kinds"),
        ({"responses": answers({"$defs": 3})}, "/a", "its schema can't be used"),
        ({"responses": answers({"required": [[]], "properties": {"a": {"writeOnly": True}}})}, "/a", "can't be used"),
    ],
)
def test_an_operation_that_cant_be_called_is_left_out_and_no_other(operation: Json, path: str, why: str) -> None:
    assert why in refused(operation, path)


def test_what_is_no_operation_or_no_path_is_told_too() -> None:
    offers = offers_of({"openapi": "3.1.0", "paths": {
        "/a": {"$ref": "#/nowhere"}, "/b": {"get": 3}, "/c": {"get": {"operationId": "c"}}, "x-own": {"get": EMPTY},
        "/d": {"get": {"operationId": "c"}},
    }})  # fmt: skip
    assert ([*offers.tools], offers.left_out) == (
        ["c"], [("a", NOWHERE), ("get_b", "it is not an object"), ("c", "another operation has this name")],
    )  # fmt: skip


def test_schemas_nest_no_deeper_than_pins_can_be_read_again() -> None:
    deep: Json = TEXT
    for _ in range(100):
        deep = {"items": deep}
    assert "nest deeper than 96" in refused({"responses": answers(deep)})


def servers(url: Any, **variables: Json) -> Document:
    return Document.parse(encode({"openapi": "3.0.3", "servers": [{"url": url, "variables": variables}]}))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        *(
            ("http://[x", "address that it names"),
            ("http://a.example:99999/", "address that it names"),
            ("http://℀.example/", "address that it names"),
        ),
        *(("/v1?k=v", "with a query"), ("/v1#k", "with a query")),
        *(
            ("/a b", "no whole address"),
            ("http://a.example:x/", "address that it names"),
            ("/" + "a" * 3_000, "too long"),
        ),
        *(("{long}", "without a default"), ("{number}", "without a default"), (3, "names no address")),
    ],
)
def test_an_address_that_is_none_is_refused_wherever_the_document_was_found(url: Any, words: str) -> None:
    document = servers(url, long={"default": "a" * 3_000}, number={"default": 3})
    for found_at in ("https://a.example/openapi.json?version=3", None):
        is_whole = found_at is not None or not str(url).startswith("/")
        with pytest.raises(errors.SchemaError, match=words if is_whole else "no whole address|too long"):
            document.base(found_at)


def test_a_query_of_where_the_document_was_found_is_no_part_of_where_calls_go() -> None:
    assert servers("/v1").base("https://a.example/openapi.json?version=3") == "https://a.example/v1"
    assert servers("v{n}", n={"default": "2"}).base("https://a.example/x/y.json") == "https://a.example/x/v2"
    with pytest.raises(errors.SchemaError, match="with a query"):
        servers("").base("https://a.example/openapi.json?version=3")


def test_an_origin_of_no_address_is_an_error_of_the_schema() -> None:
    for url in ("http://[x", "http://a:99999"):
        with pytest.raises(errors.SchemaError):
            scheme_and_host(url)


@pytest.mark.rule("E6")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("openapi: 3.0.3\npaths: &p {}\nx: *p", "aliases (*name) are not accepted at line 3, column 4"),
        ("openapi: 3.0.3\nx: " + "[" * 200, "nests deeper than 128 at line 2, column 131"),
        ("actum[yaml] IGNORE: 1\nactum[yaml] IGNORE: 2", "it is neither JSON nor YAML that can be read"),
        ('{"IGNORE": 1, "IGNORE": 2}', "it is neither JSON nor YAML that can be read"),
        ("openapi: 3.0.3\nx: 1" + "0" * 5_000, "it is neither JSON nor YAML that can be read"),
    ],
)
def test_a_document_that_cant_be_read_says_why_and_quotes_nothing(text: str, words: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Document.parse(text)
    assert caught.value.message == words


def test_words_of_yaml_1_1_are_texts_in_a_document() -> None:
    parsed = Document.parse("openapi: 3.0.3\nenum: [NO, 12:30, 010, 2024-01-01, yes]\n200: a")
    assert (parsed.root["enum"], parsed.root["200"]) == (["NO", "12:30", "010", "2024-01-01", "yes"], "a")


@pytest.mark.rule("D12")
async def test_what_no_request_can_hold_is_not_asked() -> None:
    long = {"/" + "a" * 70_000: {"get": {"operationId": "long"}}}
    document = {**DOCUMENT, "paths": {**DOCUMENT["paths"], **long}}
    calls: list[tuple[str, Json]] = [("long", {}), ("file", {"name": "a" * 70_000}), ("get_pets", {"X-Trace": " a"})]
    async with api(document) as service, connections.open([service.server()]) as servers:
        for tool, parameters in calls:
            with pytest.raises(errors.ServerError, match="was not asked") as caught:
                await servers.call(f"pets/{tool}", parameters)
            assert (caught.value.code, "aaa" in caught.value.message) == ("server", False)
    assert service.requests == []


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"x-größe": "SECRET"}, "is not the name of a header"),
        ({"a b": "SECRET"}, "is not the name of a header"),
        ({"authorization": "SECRET\n"}, "its header authorization has a value that no header can have"),
        ({"authorization": "SECRET é"}, "its header authorization has a value that no header can have"),
    ],
)
def test_a_header_that_cant_be_sent_is_refused_before_anything_is_and_not_told(headers: Json, words: str) -> None:
    with pytest.raises(errors.ServerError, match=words) as caught:
        connections.Server("pets", openapi="pets.json", headers=headers)
    assert "SECRET" not in caught.value.message


@pytest.mark.parametrize(
    "url", ["http://[x", "http://127.0.0.1:99999", "http://a..b.example/", f"http://{'a' * 70}.com"]
)
async def test_an_address_of_its_user_that_is_none_is_an_error_of_the_server(url: str) -> None:
    given: list[Json] = [{"openapi": url}, {"openapi": "http://127.0.0.1:1/a.json", "url": url}]
    for entry in given:
        with pytest.raises(errors.ServerError):
            async with connections.open([connections.Server("pets", **entry)]):
                pass


# ------------------------------------------------------------------ whatever stands in it


def places(value: Json) -> list[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    waiting: list[Any] = [value]
    pairs: list[tuple[Any, Any]] = []
    while waiting:
        container = waiting.pop()
        keys: list[Any] = [*container] if is_object(container) else [*range(len(container))]
        pairs += [(container, key) for key in keys]
        waiting += [container[key] for key in keys if is_object(container[key]) or is_list(container[key])]
    return pairs


RICH: Json = {
    **deepcopy(DOCUMENT),
    "servers": [{"url": "{scheme}://a.example/v1", "variables": {"scheme": {"default": "https"}}}],
    "list": [query("q")],
    "loop": {"$ref": "#/loop"},
    "body": {"content": {"*/*": {"schema": {"type": "array", "prefixItems": [TEXT]}}}},
}
RICH["paths"]["/rich/{a}/{b}"] = {
    "parameters": [{"$ref": "#/list/0"}, {"name": "a", "in": "path", "content": {"application/json": {}}}],
    "put": {
        "operationId": "rich",
        "parameters": [{"name": "b", "in": "path", "required": True, "schema": {"$ref": "#/list/0/schema"}}],
        "requestBody": {"$ref": "#/body"},
        "responses": {"2XX": {"content": {"a/b+json": {"schema": {"allOf": [PET]}}}}},
    },
}
HOSTILE: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 1e308, 10**400, "", "²", "x", "\n", "\u202e"),
    *("..", "/..", "%2e%2e", "http://[x", "http://a:99999", "{", "{a}", "a\r\nb: c", "get", "header", "path", "query"),
    *("#", "#/", "#/²", "#/list/²", "#/list/999999999999", "#/paths", "#/components/schemas/Pet", "o.json#/a", "#a"),
    *([], {}, [[]], [{}], [None], {"$ref": "#/loop"}, {"$ref": 3}, {"": {}}, {"type": []}, {"$defs": 3}, {"not": {}}),
    *({"$id": "x:"}, {"$anchor": "a"}, {"$dynamicRef": "#a"}, {"pattern": "("}, {"enum": 3}, {"required": [[]]}),
]  # fmt: skip
KEYS = [
    *(
        "$ref",
        "$defs",
        "definitions",
        "type",
        "properties",
        "required",
        "nullable",
        "exclusiveMinimum",
        "items",
        "enum",
    ),
    *("servers", "parameters", "requestBody", "responses", "content", "schema", "name", "in", "style", "operationId"),
    *("readOnly", "writeOnly", "description", "summary", "get", "..", "/a?b", "x-a", "2é", "_output", "$dynamicRef"),
]
"""What may stand anywhere, though it belongs elsewhere."""


@settings(max_examples=trials(2_000, least=60), deadline=None)
@given(st.data())
def test_any_document_is_listed_or_refused(data: st.DataObject) -> None:
    document: Json = deepcopy(RICH)
    for _ in range(data.draw(st.integers(1, 4))):
        container, key = data.draw(st.sampled_from(places(document)))
        value = data.draw(st.sampled_from(HOSTILE) | st.text(max_size=4))
        what = data.draw(st.sampled_from(["replaced", "added", "removed", "renamed"]))
        if what == "added" and is_object(container[key]):
            container[key][data.draw(st.sampled_from(KEYS))] = deepcopy(value)
        elif what == "renamed" and is_object(container):
            container[data.draw(st.sampled_from(KEYS) | st.text(max_size=3))] = container.pop(key)
        elif what == "removed":
            del container[key]
        else:
            container[key] = deepcopy(value)
    offered(document)


def test_values_to_choose_from_that_are_none_are_left_to_who_judges_the_schema() -> None:
    document: Json = deepcopy(RICH)
    document["components"]["schemas"]["Odd"] = {"type": "string", "nullable": True, "enum": None}
    container, key = next((at, key) for at, key in places(document) if key == "schema")
    container[key] = {"$ref": "#/components/schemas/Odd"}
    offered(document)


def offered(document: Json) -> None:
    """Any document has an address or none, and each operation is offered or left out with a reason."""
    try:
        parsed = Document.parse(encode(document))
    except errors.SchemaError:
        return
    for found_at in (None, "https://a.example/openapi.json"):
        with suppress(errors.SchemaError):
            assert parsed.base(found_at).startswith(("http://", "https://"))
    with suppress(errors.SchemaError):
        offers = offers_of(document)
        assert all(why and "\n" not in why for _, why in offers.left_out)
        encode([*offers.tools.values()]).encode()  # as pins are written


def test_the_document_that_is_changed_is_a_good_one() -> None:
    offers = offers_of(RICH)
    assert ("rich" in offers.tools, len(offers.tools)) == (True, 12)
    assert Document(RICH).base(None) == "https://a.example/v1"


SIGNS = st.sampled_from(["", "..", "%2e%2e", "/", "a/../b", "?x=1", "#", " a", "a\r\nx-key: y", "é", "{a}", "api_key"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | SIGNS
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SIGNS, inner, max_size=3),
    max_leaves=6,
)


@cache
def rich_tools() -> dict[str, Json]:
    return offers_of(RICH).tools


@pytest.mark.rule("D12")
@settings(max_examples=trials(2_000, least=60), deadline=None)
@given(st.data())
def test_any_values_travel_in_their_places_or_not_at_all(data: st.DataObject) -> None:
    tools = rich_tools()
    http = tools[data.draw(st.sampled_from([*tools]))]["_meta"]["http"]
    names = [each["as"] for each in http["parameters"]] + ([http["body"]["as"]] if "body" in http else [])
    arguments = {name: data.draw(VALUES) for name in names if data.draw(st.booleans())}
    try:
        sent = request_of(http, "https://a.example/v1", {"api_key": "HIDDEN"}, arguments)
    except Unsendable:
        return
    request = httpx2.Request(sent.method, sent.url, headers=dict(sent.headers), content=sent.content)
    assert (request.url.scheme, request.url.host, request.url.fragment) == ("https", "a.example", "")
    assert request.url.raw_path.partition(b"?")[0].count(b"/") == http["path"].count("/") + 1  # that of `/v1`
    assert [value for name, value in request.url.params.multi_items() if name == "api_key"] == ["HIDDEN"]
    assert {name for name in request.headers if name.startswith("x-")} <= {"x-key", "x-trace"}
