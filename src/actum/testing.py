"""For the tests of programs that use Actum: no request may leave for a provider of models.

`models.Scripted`, `models.Replay` and models of one's own aren't asked over the network, and answer as ever.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from .models.hosted import ONLY_HOSTS

__all__ = ["no_requests"]


@contextmanager
def no_requests(*, but: Iterable[str] = ()) -> Generator[None]:
    """Refuse every request to a provider of models while the block lasts, also in processes that are started in it.

    A run that would make one ends with a `ModelError` of the code `model_forbidden` before anything is sent.

    Args:
        but: the hosts that may be asked all the same, for example "127.0.0.1", where a test has its own provider.
    """
    before = os.environ.get(ONLY_HOSTS)
    os.environ[ONLY_HOSTS] = ",".join(but)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(ONLY_HOSTS, None)
        else:
            os.environ[ONLY_HOSTS] = before
