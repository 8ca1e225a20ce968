"""What names in an Idea's config lead to on this machine: models, and the Activities of Python modules (D15)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from ...generation.model import Model
from ...protocol.config import Config
from ...protocol.registry import Catalog, Registry
from ...sources.actum_server import Remote
from ...sources.modules import load_activities

TOKENS = "ACTUM_TOKENS"
"""The environment variable with the tokens for other servers: `HOST=TOKEN`, with its port where it has one, spaced."""


def tokens_of(text: str) -> dict[str, str]:
    """The tokens by host that a text lists."""
    pairs = (part.partition("=") for part in text.split())
    return {host.lower(): token for host, sign, token in pairs if sign and host and token}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The names of one run. A model is made once; modules register their Activities in `registered`, as code does.

    Only who names a module has what it registers there.
    """

    registered: Registry
    load: Callable[[str], Model]
    """Makes the model of a name; raises a ModelError where it isn't available."""
    delegates: Collection[str] = ()
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """The tokens for other servers, by their hosts, in addition to those of ACTUM_TOKENS."""
    _models: dict[str, Model] = field(default_factory=dict[str, Model])

    def remote(self, address: str, config: Config) -> Remote:
        """The Idea at an address of another server, with the token for its host."""
        netloc = urlsplit(address).netloc.lower()
        token = {**tokens_of(os.environ.get(TOKENS, "")), **self.tokens}.get(netloc)
        most = config.max_delegate_bytes
        return Remote(address=address, token=token, allow_hosts=config.allow_hosts, most_bytes=most)

    def model(self, name: str) -> Model:
        """The model of this name, the same for the same name.

        Raises:
            ModelError: it isn't available; the message says what is missing.
        """
        if name not in self._models:
            self._models[name] = self.load(name)
        return self._models[name]

    def registry(
        self,
        registry: Catalog,
        activities: Sequence[str],
        origin: str | None,
        roots: Sequence[Path] | None,
        tools: Mapping[str, bool] | None = None,
    ) -> Catalog:
        """The registry with the Activities of these modules; files among them start from `origin`, below `roots`.

        `roots` are the folders that they may lie in, None where whoever runs it has said what is named; `tools` those
        that a delegate's messages define, each with whether it is its own (D13).

        Raises:
            IdeaError: there is no such module, it may not be reached, or it fails.
        """
        folder = Path(origin).parent if origin is not None else Path()
        loaded = [self.registered.loaded(partial(load_activities, name, folder, roots)) for name in activities]
        return registry.joined(loaded, tools)
