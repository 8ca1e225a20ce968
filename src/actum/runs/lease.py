"""For how long a worker counts as alive that is not heard of: as was asked for, longer where its place is far away."""

from __future__ import annotations

from ..errors import RunError

_TRIPS = 20
"""How many round trips a lease has at least: to ask whether it still holds, to ask again, and to connect anew."""
_LONGEST = 120.0
"""Seconds beyond which no lease is stretched."""


class Lease(float):
    """A lease, as a number the seconds that were asked for.

    The worker goes by what it has `told` others last: it cuts its runs before they take them over.
    """

    def __new__(cls, seconds: float) -> Lease:
        """A lease of so many seconds."""
        return super().__new__(cls, seconds)

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.told = float(seconds)
        """What others were told last, in seconds."""
        self.round_trip = 0.0
        """How long the place takes to answer, in seconds."""

    @property
    def wanted(self) -> float:
        """What the lease has to be by the round trips of late; no longer than is borne."""
        return max(float(self), min(_TRIPS * self.round_trip, _LONGEST))

    def check(self) -> None:
        """Judge whether the place is near enough.

        Raises:
            RunError: it isn't.
        """
        if _TRIPS * self.round_trip > max(float(self), _LONGEST):
            raise RunError(
                f"the runs' place takes {self.round_trip:.1f} s to answer: a lease of {float(self):g} s would have to "
                f"be {_TRIPS * self.round_trip:.0f} s ({_TRIPS} round trips), and {_LONGEST:g} s is the longest. "
                "Bring the worker nearer to its database, or give it a longer --lease"
            )


def ahead(lease: float) -> float:
    """By how many seconds later than it asks for a worker counts as lost."""
    return lease.wanted - lease if isinstance(lease, Lease) else 0.0


def held(lease: float) -> float:
    """The lease by which a worker goes now, in seconds."""
    return lease.told if isinstance(lease, Lease) else lease


def told(lease: float, ahead: float) -> None:
    """Note that others were told of so many seconds more."""
    if isinstance(lease, Lease):
        lease.told = lease + ahead
