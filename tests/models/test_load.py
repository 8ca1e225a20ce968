"""What `load` makes of a name, and what it checks before any request."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from actum import models
from actum.errors import ModelError
from actum.models import ModelRequest
from actum.models.providers import PROVIDERS

from .asking import BOUND, REQUEST, collect
from .server import Server
from .wires import WIRES


def refused(name: str, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        models.load(name, **more)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ["gpt-5", "openai", "openai:", "nobody:x", "", ":", "replay:"])
def test_an_unknown_provider_names_the_known_ones(name: str) -> None:
    error = refused(name)
    assert error.code == "model_unknown"
    for known in (*PROVIDERS, "replay"):
        assert f"{known}:…" in str(error)


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
def test_a_missing_key_names_its_variable(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused(name)
    assert error.code == "model_auth"
    assert variable in str(error)
    assert models.load(name, api_key="k").name == name
    monkeypatch.setenv(variable.rsplit(" ", maxsplit=1)[-1], "k")
    assert models.load(name).name == name


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
    assert f"pip install 'actum[{extra}]'" in str(error)


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


async def test_a_host_of_the_environment_gets_the_key_of_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server.reply(WIRES["openai-compatible"].answer("{}"))
    model: Any = models.load("openai:m", timeout=BOUND)
    await collect(model)
    assert server.last.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("name", ["openai", "openai-responses", "ollama", "vllm", "anthropic", "google"])
async def test_a_key_of_the_environment_is_not_sent_to_a_host_given(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [key for provider in PROVIDERS.values() for key in provider.keys]
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
from actum import models
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
