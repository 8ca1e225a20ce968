"""What `load` makes of a name, and what it checks before any request."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Limits, Settings, Tools, models
from actum.errors import ModelError, SchemaError
from actum.models import ModelRequest, hosted
from actum.models.hosts import HOSTS
from actum.schema.installing import pip_install

from .asking import BOUND, REQUEST, collect, failure
from .server import Server
from .wires import WIRES


def refused(name: str, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        models.load(name, **more)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ["nobodys", "openai", "openai:", "nobody:x", "", ":", "replay:"])
def test_an_unknown_provider_names_the_known_ones(name: str) -> None:
    error = refused(name)
    assert error.code == "model_unknown"
    for known in (*HOSTS, "replay"):
        assert f"{known}:…" in str(error)


def test_a_bare_name_whose_provider_is_known_is_told_with_it() -> None:
    assert "use openai:gpt-5" in str(refused("gpt-5"))


def test_a_bare_name_with_a_host_is_told_how() -> None:
    assert "openai:llama with its base_url" in str(refused("llama", base_url="http://localhost:1"))


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("openai-responses:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-haiku-5-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-flash", "GOOGLE_API_KEY or GEMINI_API_KEY"),
    ],
)
async def test_a_missing_key_is_missed_by_the_first_request_and_names_its_variable(name: str, variable: str) -> None:
    model: Any = models.load(name)
    assert model.name == name
    _, error = await failure(model)
    assert (error.code, variable in str(error)) == ("model_auth", True)


def test_an_agent_is_made_without_a_key() -> None:
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        Agent("openai:gpt-5").run_sync("Hello")


async def test_a_key_may_be_set_after_the_model_is_made(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_BASE_URL", f"{server.url}/v1")
    model: Any = models.load("groq:m", timeout=BOUND)
    monkeypatch.setenv("GROQ_API_KEY", "late")
    server.reply(WIRES["openai-compatible"].answer("{}"))
    await collect(model)
    assert server.last.headers["authorization"] == "Bearer late"


@pytest.mark.rule("W3", "W7")
def test_every_host_can_be_loaded_but_those_that_must_be_told_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for prefix, variable in (("azure", "AZURE_OPENAI_ENDPOINT"), ("litellm", "LITELLM_BASE_URL")):
        assert f"set {variable}" in str(refused(f"{prefix}:m"))
        monkeypatch.setenv(variable, "https://desk.example")
    for prefix in HOSTS:
        model: Any = models.load(f"{prefix}:m")
        assert (model.name, model.dialect is not None) == (f"{prefix}:m", True)


@pytest.mark.parametrize(
    ("name", "dialect"), [("openai/gpt-5", "OPENAI"), ("anthropic/x", "ANTHROPIC"), ("qwen/x", "COMPATIBLE")]
)
def test_a_host_that_passes_requests_on_has_the_dialect_of_the_models_family(name: str, dialect: str) -> None:
    dialects = pytest.importorskip("actum.schema.lowering")
    assert getattr(models.load(f"openrouter:{name}"), "dialect", None) is getattr(dialects, dialect)


@pytest.mark.parametrize(
    ("name", "extra", "sdk"),
    [
        ("openai:x", "openai", "aiohttp"),
        ("ollama:x", "openai", "aiohttp"),
        ("openai-responses:x", "openai-responses", "openai"),
        ("anthropic:x", "anthropic", "anthropic"),
        ("google:x", "google", "google.genai"),
        ("google:x", "google", "pydantic_ai"),
    ],
)
def test_a_missing_package_names_its_extra(name: str, extra: str, sdk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, sdk, None)
    error = refused(name, api_key="k")
    assert error.code == "model_not_installed"
    assert pip_install(extra) in str(error)


def test_local_models_need_no_key() -> None:
    assert models.load("ollama:qwen2.5:7b").name == "ollama:qwen2.5:7b"
    assert models.load("vllm:org/model").name == "vllm:org/model"


@pytest.mark.parametrize("name", ["openai:m", "ollama:m", "vllm:m"])
async def test_a_host_of_ones_own_is_asked_for_chat_completions(server: Server, name: str) -> None:
    server.reply(WIRES["openai-compatible"].answer("{}"))
    model: Any = models.load(name, base_url=f"{server.url}/v1", timeout=BOUND)
    assert (await collect(model))[0] == "{}"
    assert server.last.path == "/v1/chat/completions"
    assert server.last.body["model"] == "m"
    assert server.last.body["response_format"]["json_schema"]["schema"] == REQUEST.schema
    await model.aclose()


@pytest.mark.rule("W5")
async def test_a_host_of_the_environment_gets_the_key_of_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server.reply(WIRES["openai-compatible"].answer("{}"))
    model: Any = models.load("openai:m", timeout=BOUND)
    await collect(model)
    assert server.last.headers["authorization"] == "Bearer secret"


@pytest.mark.rule("W5")
@pytest.mark.parametrize("name", ["openai", "openai-responses", "ollama", "vllm", "anthropic", "google"])
async def test_a_key_of_the_environment_is_not_sent_to_a_host_given(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [key for host in HOSTS.values() for key in host.keys]
    for key in (*keys, "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(key, "secret")
    wire = WIRES[name] if name in WIRES else WIRES["openai-compatible"]
    server.reply(wire.answer("{}"))
    model: Any = models.load(f"{name}:{wire.model}", base_url=f"{server.url}{wire.prefix}", timeout=BOUND)
    await collect(model)
    assert "secret" not in str(server.last.headers)
    assert "secret" not in server.last.path
    model = models.load(f"{name}:{wire.model}", base_url=f"{server.url}{wire.prefix}", api_key="given", timeout=BOUND)
    await collect(model)
    assert "given" in str(server.last.headers)


def test_a_key_is_in_no_representation() -> None:
    model = models.load("openai:m", api_key="secret")
    assert "secret" not in repr(model)
    assert "secret" not in repr(vars(model))


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("openai:x", "OPENAI"),
        ("openai-responses:x", "OPENAI"),
        ("anthropic:x", "ANTHROPIC"),
        ("google:x", "GOOGLE"),
        ("ollama:x", "GRAMMAR"),
        ("vllm:x", "GRAMMAR"),
    ],
)
def test_each_provider_has_its_dialect(name: str, dialect: str) -> None:
    dialects = pytest.importorskip("actum.schema.lowering")
    assert getattr(models.load(name, api_key="k"), "dialect", None) is getattr(dialects, dialect)


def test_a_host_of_ones_own_has_a_grammars_dialect() -> None:
    dialects = pytest.importorskip("actum.schema.lowering")
    assert getattr(models.load("openai:x", base_url="http://localhost:1"), "dialect", None) is dialects.GRAMMAR


def test_importing_and_loading_import_no_provider() -> None:
    code = """
import sys
from actum import Agent, Config, Limits, Settings, Tools, models
for name in ("openai:x", "anthropic:x", "google:x", "ollama:x"):
    model = models.load(name, api_key="k")
    model.stream(models.ModelRequest(messages=(), schema={}))
heavy = {"pydantic_ai", "openai", "anthropic", "httpx", "httpx2", "aiohttp", "genai_prices", "pydantic"}
packages = {name.partition(".")[0] for name in sys.modules}
print(sorted(heavy & packages | {name for name in sys.modules if "google.genai" in name}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_every_public_name_is_there() -> None:
    for name in models.__all__:
        assert hasattr(models, name)
    assert ModelRequest is models.ModelRequest


@pytest.mark.rule("L5", "W21", "W22")
async def test_a_limit_in_dollars_needs_a_price_before_the_first_request(server: Server) -> None:
    server.reply(WIRES["openai-compatible"].answer('{"calls": [], "output": "hi"}'))
    place: Any = {"base_url": f"{server.url}/v1", "api_key": "k"}
    unknown = Agent(models.load("openai:nobody-7", **place), tools=Tools(), limits=Limits(usd=1))
    with pytest.raises(ModelError, match="price=") as caught:
        await unknown.run("Hello")
    assert (caught.value.code, server.received) == ("model_price", [])
    price = models.Price(input=1_000_000, output=2_000_000, cached=500_000)
    known = Agent(models.load("openai:nobody-7", price=price, **place), tools=Tools(), limits=Limits(usd=100))
    usage = (await known.run("Hello")).usage
    assert (usage.usd, usage.saved_usd) == (7 * 1 + 4 * 0.5 + 7 * 2, 2.0)
    free = Agent(models.load("openai:nobody-7", price=models.Price.FREE, **place), tools=Tools(), limits=Limits(usd=1))
    assert (await free.run("Hello")).usage.usd == 0


@pytest.mark.rule("W8", "W9")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temprature": 3}, "no setting 'temprature'; did you mean 'temperature'"),
        ({"service_tier": "flex"}, "did you mean 'tier'"),
        ({"stop_sequences": ["x"]}, "did you mean 'stop'"),
        ({"cache": "2h"}, "cache must be one of"),
        ({"max_tokens": 0}, "max_tokens must be a whole number"),
        ({"thinking": "much"}, "thinking must be one of"),
    ],
)
def test_a_setting_that_does_not_exist_or_cannot_be_so_is_an_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        Config(settings=settings)


@pytest.mark.rule("W8")
def test_settings_are_what_is_said() -> None:
    settings = Settings(thinking="high", cache=False, temperature=0)
    assert (dict(settings), Config(settings=dict(settings)).settings) == (
        {"thinking": "high", "cache": False, "temperature": 0},
        settings,
    )
    with pytest.raises(TypeError, match="did you mean 'temperature'"):
        Settings(temprature=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


LAMP = """
from actum.models.hosts import ModelHost
from actum.models.wires.chat import Chat


class Bright(Chat):
    packages = ()


HOST = ModelHost("bright", None, "LAMP_API_KEY", "GRAMMAR")
WIRE = Bright()
BROKEN = 5
"""


@pytest.mark.rule("W4")
async def test_packages_add_hosts_and_wires(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lamp_models.py").write_text(LAMP)
    points = tmp_path / "lamp-1.dist-info"
    points.mkdir()
    (points / "METADATA").write_text("Metadata-Version: 2.1\nName: lamp\nVersion: 1\n")
    hosts = (
        "lamp = lamp_models:HOST\ndark = lamp_models:BROKEN\ngone = lamp_models:NOTHING\nopenai = lamp_models:BROKEN"
    )
    (points / "entry_points.txt").write_text(f"[actum.hosts]\n{hosts}\n[actum.wires]\nbright = lamp_models:WIRE\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert "set LAMP_BASE_URL" in str(refused("lamp:m"))
    monkeypatch.setenv("LAMP_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("LAMP_API_KEY", "secret")
    server.reply(WIRES["openai-compatible"].answer("{}"))
    model: Any = models.load("lamp:m", timeout=BOUND)
    assert (await collect(model))[0] == "{}"
    assert server.last.headers["authorization"] == "Bearer secret"
    assert "is no ModelHost" in str(refused("dark:m"))
    assert "can't be loaded" in str(refused("gone:m"))
    assert models.load("openai:gpt-5").name == "openai:gpt-5", "what Actum has is nobody else's to replace"


@pytest.mark.rule("W2", "W4")
@pytest.mark.parametrize("enforces", [True, False])
async def test_a_model_of_the_library_is_asked_as_it_was_made(server: Server, enforces: bool) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    server.reply(WIRES["openai"].answer('{"calls": [], "output": 5}'))
    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="own", max_retries=0)
    profile: Any = {"supports_json_schema_output": enforces}
    given = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client), profile=profile)
    model: Any = models.load(given, price=models.Price(input=1, output=1))
    assert model.name == "openai:gpt-4o"
    result = await Agent(model, tools=Tools()).run("Hello", int)
    assert (result.output, result.usage.usd) == (5, 18 / 1e6)
    assert server.last.headers["authorization"] == "Bearer own"
    assert ("response_format" in server.last.body) is enforces
    if enforces:
        await collect(model)
        assert server.last.body["response_format"]["json_schema"]["schema"] == REQUEST.schema
    assert given.profile.get("json_schema_transformer") is not None, "the program's own model is left alone"
    await client.close()


@pytest.mark.parametrize(("count", "frozen"), [(0, 0), (9, 1)])
def test_what_the_first_request_loads_is_left_to_no_collection_where_the_rest_is(
    monkeypatch: pytest.MonkeyPatch, count: int, frozen: int
) -> None:
    calls: list[None] = []
    monkeypatch.setattr(hosted, "_imported", set[str]())
    monkeypatch.setattr(gc, "get_freeze_count", lambda: count)
    monkeypatch.setattr(gc, "freeze", lambda: calls.append(None))
    model: Any = models.load("openai:gpt-4o", api_key="x")
    asyncio.run(model.prepare(REQUEST))
    assert len(calls) == frozen
