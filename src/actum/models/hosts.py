"""The hosts of models that `load` knows: one row each (W3, W7). No behaviour."""

from __future__ import annotations

from dataclasses import dataclass

_OPENAI, _COMPATIBLE, _GRAMMAR, _PROMPTED = "OPENAI", "COMPATIBLE", "GRAMMAR", "PROMPTED_ONLY"


@dataclass(frozen=True, slots=True)
class ModelHost:
    """A host of models: its wire, its URL, the environment variables that hold its key, and its dialect.

    `url` is None if its SDK knows it, or if it must be given. `dialect` is None where the model's family decides.
    `variable` is the environment variable with another URL, `path` what is appended to that. `extra` is the extra of
    Actum to install. `is_local`: it needs no key. `is_own`: it belongs to the maker of the wire's format. `is_sdk`:
    its SDK knows the URL.
    """

    wire: str
    url: str | None
    key: str
    dialect: str | None
    extra: str = "openai"
    variable: str = ""
    path: str = ""
    is_local: bool = False
    is_own: bool = False
    is_sdk: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The environment variables that may hold its key."""
        return tuple(self.key.split())

    @property
    def has_url(self) -> bool:
        """Whether its URL is known without being given."""
        return self.url is not None or self.is_sdk or self.is_own


def _chat(url: str | None, key: str, dialect: str | None = _COMPATIBLE) -> ModelHost:
    return ModelHost("chat", url, key, dialect)


def _local(port: int, key: str) -> ModelHost:
    return ModelHost("chat", f"http://localhost:{port}/v1", key, _GRAMMAR, is_local=True)


def _library(key: str) -> ModelHost:
    return ModelHost("inferred", None, key, _COMPATIBLE, "openai-responses", is_local=True, is_sdk=True)


HOSTS: dict[str, ModelHost] = {
    "openai": ModelHost("chat", None, "OPENAI_API_KEY", _OPENAI, is_own=True),
    "openai-responses": ModelHost(
        "responses", None, "OPENAI_API_KEY", _OPENAI, "openai-responses", "OPENAI_BASE_URL", is_own=True
    ),
    "azure": ModelHost(
        "chat", None, "AZURE_OPENAI_API_KEY", _OPENAI, variable="AZURE_OPENAI_ENDPOINT", path="/openai/v1", is_own=True
    ),
    "anthropic": ModelHost("anthropic", None, "ANTHROPIC_API_KEY", "ANTHROPIC", "anthropic", is_own=True),
    "google": ModelHost(
        "google", None, "GOOGLE_API_KEY GEMINI_API_KEY", "GOOGLE", "google", "GOOGLE_GEMINI_BASE_URL", is_own=True
    ),
    "groq": _chat("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "openrouter": _chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", None),
    "vercel": _chat("https://ai-gateway.vercel.sh/v1", "VERCEL_AI_GATEWAY_API_KEY", None),
    "litellm": _chat(None, "LITELLM_API_KEY", None),
    "mistral": _chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "xai": _chat("https://api.x.ai/v1", "XAI_API_KEY"),
    "cerebras": _chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "together": _chat("https://api.together.xyz/v1", "TOGETHER_API_KEY", _GRAMMAR),
    "fireworks": _chat("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", _GRAMMAR),
    "nebius": _chat("https://api.studio.nebius.com/v1", "NEBIUS_API_KEY", _GRAMMAR),
    "deepseek": _chat("https://api.deepseek.com", "DEEPSEEK_API_KEY", _PROMPTED),
    "moonshotai": _chat("https://api.moonshot.ai/v1", "MOONSHOTAI_API_KEY"),
    "alibaba": _chat("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "ALIBABA_API_KEY"),
    "zai": _chat("https://api.z.ai/api/paas/v4", "ZAI_API_KEY", _PROMPTED),
    "sambanova": _chat("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    "ovhcloud": _chat("https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "OVHCLOUD_API_KEY", _GRAMMAR),
    "huggingface": _chat("https://router.huggingface.co/v1", "HF_TOKEN"),
    "github": _chat("https://models.github.ai/inference", "GITHUB_API_KEY"),
    "heroku": _chat("https://us.inference.heroku.com/v1", "HEROKU_INFERENCE_KEY", _PROMPTED),
    "ollama": _local(11434, "OLLAMA_API_KEY"),
    "vllm": _local(8000, "VLLM_API_KEY"),
    "sglang": _local(30000, "SGLANG_API_KEY"),
    "lmstudio": _local(1234, "LMSTUDIO_API_KEY"),
    "llamacpp": _local(8080, "LLAMACPP_API_KEY"),
    "bedrock": _library("AWS_BEARER_TOKEN_BEDROCK"),
    "google-cloud": _library("GOOGLE_APPLICATION_CREDENTIALS"),
    "cohere": _library("CO_API_KEY"),
    "snowflake": _library("SNOWFLAKE_TOKEN"),
    "meta": _library("META_API_KEY"),
    "crusoe": _library("CRUSOE_API_KEY"),
    "github-copilot": _library("GITHUB_COPILOT_API_KEY"),
}
"""By the part of a model's name before the colon. Any other host that speaks OpenAI's is `openai:` with a base_url."""

FAMILIES = {"openai": _OPENAI, "anthropic": "ANTHROPIC", "google": "GOOGLE"}
"""The dialect by what a model's name begins with, at hosts that pass requests on; others are COMPATIBLE."""


def variable_of(prefix: str, host: ModelHost | None = None) -> str:
    """The environment variable with another URL of a host; `host` must be given if the table doesn't have it."""
    return (host or HOSTS[prefix]).variable or f"{prefix.upper().replace('-', '_')}_BASE_URL"
