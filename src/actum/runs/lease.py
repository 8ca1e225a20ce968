"""For how long a worker counts as alive that is not heard of: as was asked for, longer where its place is far away."""

from __future__ import annotations

from ..errors import RunError

_TRIPS = 20
"""How many round trips a lease has at least: to ask whether it still holds, to ask again, and to connect anew."""
_LONGEST = 120.0
"""Seconds beyond which no lease is stretched."""


class Lease:
    """What was asked for, in `seconds`, and what it takes.

    The worker goes by what others were `told` last: it cuts its runs before they take them over.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.announced = seconds
        """What others were told last, in seconds."""
        self.round_trip = 0.0
        """How long the place takes to answer, in seconds."""

    @property
    def wanted(self) -> float:
        """What the lease has to be by the round trips of late; no longer than is borne."""
        return max(self.seconds, min(_TRIPS * self.round_trip, _LONGEST))

    @property
    def ahead(self) -> float:
        """By how many seconds later than it asks for the worker is to count as lost."""
        return self.wanted - self.seconds

    def tell(self, ahead: float) -> None:
        """Note that others were told of so many seconds more."""
        self.announced = self.seconds + ahead

    def check(self) -> None:
        """Judge whether the place is near enough.

        Raises:
            RunError: it isn't.
        """
        if _TRIPS * self.round_trip > max(self.seconds, _LONGEST):
            raise RunError(
                f"the runs' place takes {self.round_trip:.1f} s to answer: a lease of {self.seconds:g} s would have to "
                f"be {_TRIPS * self.round_trip:.0f} s ({_TRIPS} round trips), and {_LONGEST:g} s is the longest. "
                "Bring the worker nearer to its database, or give it a longer --lease"
            )
