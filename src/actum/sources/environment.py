"""Secrets of this machine: the values of variables whose names say that they are secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_NAMES = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:$|_)", re.IGNORECASE)
_SHORTEST = 8
"""What is shorter isn't a secret that could be hidden: it would be cut out of words."""


def secrets_of(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of the environment's variables whose names say that they are secret, the longest first."""
    found = {value for name, value in environment.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    return sorted(found, key=len, reverse=True)
