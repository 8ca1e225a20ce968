"""Exceptions of code that isn't ours: in words, and whether they leave open what was done."""

from __future__ import annotations


def raised_words(error: BaseException) -> str:
    """An exception of code that isn't ours, in words: its kind and what it says, whatever its `str()` does."""
    try:
        said = str(error)
    except Exception:
        said = ""
    words = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"it would have ended the program: {words}" if isinstance(error, SystemExit) else words


def is_uncertain(error: BaseException) -> bool:
    """Whether an exception of code that isn't ours leaves open if what it asked for was done: a timeout, a connection
    that was lost. Those of HTTP libraries are told by their names, as none is imported for that."""
    names = {one.__name__ for one in type(error).__mro__}
    return not names.isdisjoint(_LOST) and names.isdisjoint(_UNSENT)


_LOST = frozenset(
    {
        *("TimeoutError", "ConnectionError"),  # Python's, which aiohttp's are made of
        *("TimeoutException", "NetworkError", "RemoteProtocolError"),  # httpx's
        *("ServerDisconnectedError", "ClientPayloadError", "ClientOSError"),  # aiohttp's
        *("Timeout", "ProtocolError", "ChunkedEncodingError"),  # of requests and urllib3
    }
)
_UNSENT = frozenset(
    {
        *("ConnectionRefusedError", "ConnectError", "ConnectTimeout", "PoolTimeout", "LocalProtocolError"),
        *("ClientConnectorError", "ConnectionTimeoutError", "NewConnectionError", "ConnectTimeoutError"),
    }
)
