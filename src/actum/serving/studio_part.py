"""The Studio as a part of the server: its pages below `/studio/`, for who owns the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..studio.app import routes_of
from ..studio.resources import Studio
from ..studio.shelf import Shelf
from .desk import Desk
from .parts import Part, asking_caller
from .refusals import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request


def studio_part(desk: Desk) -> Part:
    """The routes of the Studio of a desk: about the Ideas that it serves, or those on its shelf."""
    studio = Studio(
        runs=desk.runs,
        shelf=desk.shelf or Shelf(named=desk.ideas),
        models=desk.models,
        closing=desk.closing,
        secrets=desk.secrets,
        lists_store=desk.shelf is not None,
        admit=_admit,
    )
    return Part(routes=routes_of(studio))


def _admit(request: Request) -> None:
    """Let the owner in: the pages show the runs of all callers.

    Raises:
        Refusal: somebody else asks.
    """
    if asking_caller(request):
        raise Refusal(403, "owner", "the Studio is for the owner of this server")
