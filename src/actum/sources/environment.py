"""Secrets of this machine: the values of environment variables with names of secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_NAMES = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:$|_)", re.IGNORECASE)
_SHORTEST = 8
"""Shorter values aren't hidden: they would be cut out of ordinary words."""


def secrets_of(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of environment variables with names of secrets, the longest first."""
    secrets = {value for name, value in environment.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    return sorted(secrets, key=len, reverse=True)
