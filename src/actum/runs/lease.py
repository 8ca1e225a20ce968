"""How long a silent worker counts as alive: as long as its user asked for, longer if its place is far away."""

from __future__ import annotations

from ..errors import RunError

_TRIPS = 20
"""How many round trips a lease has at least: to ask whether it still holds, to ask again, and to connect anew."""
_LONGEST = 120.0
"""Seconds beyond which no lease is stretched."""


class Lease:
    """The lease that was asked for, in `seconds`, and the one that it takes.

    The worker goes by the one that it `announced` last: it cuts its runs before others take them over.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.announced = seconds
        """The lease that others know, in seconds."""
        self.round_trip = 0.0
        """How long the place takes to answer, in seconds."""

    @property
    def wanted(self) -> float:
        """The lease that the recent round trips require, up to the longest one."""
        return max(self.seconds, min(_TRIPS * self.round_trip, _LONGEST))

    @property
    def ahead(self) -> float:
        """How many seconds the wanted lease is longer than the one that was asked for."""
        return self.wanted - self.seconds

    def tell(self, ahead: float) -> None:
        """Note that others know of a lease so many seconds longer."""
        self.announced = self.seconds + ahead

    def check(self) -> None:
        """Check that the place is near enough.

        Raises:
            RunError: it isn't.
        """
        if _TRIPS * self.round_trip > max(self.seconds, _LONGEST):
            raise RunError(
                f"the runs' place takes {self.round_trip:.1f} s to answer: a lease of {self.seconds:g} s would have to "
                f"be {_TRIPS * self.round_trip:.0f} s ({_TRIPS} round trips), and {_LONGEST:g} s is the longest. "
                "Bring the worker nearer to its database, or give it a longer --lease"
            )
