"""Decisions on calls: what of a context waits for one, and the context with it.

A call that waits, and a decision on it, are messages of the type `approval`: a run that waits is data like any other.
No model is shown them, no scope lets them through, and no call can write them.
"""

from .protocol.approvals import *  # noqa: F403 -- its public name
from .protocol.approvals import __all__  # noqa: F401
