"""Errors of the command line itself."""

from __future__ import annotations

from ..errors import ActumError


class CommandError(ActumError):
    """The command line asks for what can't be done; the message says what to write instead."""

    code = "command"
