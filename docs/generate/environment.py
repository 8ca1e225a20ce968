"""The page about providers and environment variables. The variables are those that the source reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from markup import code, table

import actum
from actum.models.hosts import HOSTS, variable_of
from actum.models.wires.chat import ACCOUNT

_SOURCE = Path(actum.__file__).parent
_TOLD: Mapping[str, str] = {
    "ACTUM_MODEL": "The model of `actum run` and of Ideas whose config names none, where no `--model` is given.",
    "ACTUM_RUNS": "The place of submitted runs, where no `--store` is given.",
    "ACTUM_ONLY_HOSTS": "The only hosts that models may be asked at, with commas between several, as "
    "`actum.testing.no_requests` sets it; without it, all.",
    "ACTUM_STORE": "The store of Ideas, where no `--store` is given.",
    "ACTUM_TOKENS": "The tokens for other servers that carry out delegates, as `HOST=TOKEN` with spaces between several.",
    "ACTUM_TOKEN": "The token that `actum serve` asks for, where no `--token-file` is given.",
    "OPENAI_ORG_ID": "The organisation that pays, which only OpenAI is told.",
    "OPENAI_PROJECT_ID": "The project that pays, likewise.",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "Whether spans hold what was said: see "
    "[Content](../tracing.md#content).",
    "SSL_CERT_DIR": "A folder of certificates that are trusted, as OpenSSL means it.",
    "SSL_CERT_FILE": "A file of certificates that are trusted, as OpenSSL means it.",
    "XDG_RUNTIME_DIR": "The folder of sockets by which processes of one user hear each other's runs; else that of "
    "temporary files.",
}


def page() -> str:
    """Providers by the first part of a model's name, and all other variables that are read."""
    providers = [
        (code(f"{name}:…"), code(f"actum[{host.extra}]"), " or ".join(map(code, host.keys)), code(variable_of(name)),
         code(host.url) if host.url else "the provider's own" if host.has_url and not host.path else "must be given",
         "no" if host.is_local else "yes", (host.dialect or "by the model's family").removesuffix("_ONLY").lower())
        for name, host in HOSTS.items()
    ]  # fmt: skip
    variables = sorted({*_read(), *ACCOUNT.values()})
    if untold := set(variables) ^ _TOLD.keys():
        raise SystemExit(f"docs/generate/environment.py must say what is read, and nothing else: {sorted(untold)}")
    return "\n".join([
        "# Providers and environment variables\n",
        "## Models\n",
        "`models.load(\"openai:gpt-5.2\")`, `Agent(\"openai:gpt-5.2\")` and `--model openai:gpt-5.2` name a provider and "
        "one of its models. The key comes from the environment; `load(…, base_url=…, api_key=…)` names another host and "
        "its key. A key of the environment is never sent to a `base_url` that is given in code. `openai:` with a "
        "`base_url` is any host that speaks OpenAI's chat completions.\n",
        table(["name", "install", "key", "host", "default host", "key required", "schema"], providers),
        "*schema* is what is sent of the answer's schema, as `actum show IDEA --schema --provider` prints it; `prompted` "
        "tells it in words. The requests of every wire are held to the types of its provider's SDK by tests. None has been "
        "tried with a live host yet (`make live`), so what is said here of a host's schemas is believed until an answer "
        "disproves it.\n",
        "`replay:FILE` answers from a recording (`models.Recording`, `actum run --record`) and needs nothing.\n",
        "## Other variables\n",
        table(["variable", "what it says"], [(code(name), _TOLD[name]) for name in variables]),
    ])  # fmt: skip


def _read() -> Iterator[str]:
    """The names of the environment variables that the source reads, but for those of providers."""
    of_models = {key for name, host in HOSTS.items() for key in (*host.keys, variable_of(name))}
    for path in sorted(_SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "environ" not in text:
            continue
        tree = ast.parse(text)
        named = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"os.environ.get", "os.getenv"}:
                yield from _named(node.args[0], named, of_models)
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                yield from _named(node.slice, named, of_models)


def _named(node: ast.expr, named: Mapping[str, str], of_models: set[str]) -> Iterator[str]:
    name = node.value if isinstance(node, ast.Constant) else named.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(name, str) and name not in of_models:
        yield name
