"""What names in an Idea's config lead to on this machine: models, and the Activities of Python modules (D15)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..generation.model import Model
from ..protocol.registry import Registry
from ..sources.modules import load_activities
from .coercion import model_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMachine:
    """The names of one run. A model is made once; modules register their Activities in `registered`, as code does."""

    registered: Registry
    delegates: Collection[str] = ()
    _models: dict[str, Model] = field(default_factory=dict[str, Model])

    def model(self, name: str) -> Model:
        """The model of this name, the same for the same name.

        Raises:
            ModelError: it isn't available; the message says what is missing.
        """
        if name not in self._models:
            self._models[name] = model_of(name)
        return self._models[name]

    def registry(
        self, registry: Registry, activities: Sequence[str], origin: str | None, roots: Sequence[Path] | None
    ) -> Registry:
        """The registry with the Activities of these modules; files among them start from `origin`, below `roots`.

        `roots` are the folders that they may lie in, None where whoever runs it has said what is named.

        Raises:
            IdeaError: there is no such module, it may not be reached, or it fails.
        """
        folder = Path(origin).parent if origin is not None else Path()
        modules = [load_activities(name, folder, roots) for name in activities]
        return registry.joined(self.registered, modules)
