"""`CourseBuilder`: the course of a run, built from its events while it runs (`ideas.course`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from .. import events
from ..ideas.course import CallRow, RequestRow
from ..schema.json import JsonObject, weight

_LONG = 8_000
"""How many bytes of a value are noted; a longer one can be worked out from the context."""
_MOST_ERROR = 400


class CourseBuilder:
    """Builds the course of a run from its events: a row for each call, none for the items of an `_each`."""

    def __init__(self) -> None:
        self._calls: dict[str, CallRow] = {}
        self._requests: list[RequestRow] = []
        self._open: dict[str, int] = {}
        """The index of the last request of each run, by the place of the call that led to it."""

    def take(self, event: events.AnyEvent) -> None:
        """Take one event."""
        match event:
            case events.RequestStarted():
                self._begin_request(event)
            case events.RequestFinished():
                usage = event.usage.to_dict()
                self._of_request(
                    event, answer=event.solution.number, ended=_time(event), model=event.model, usage=usage
                )
            case events.Retried():
                row = self._requests[self._open[_within(event)]] if _within(event) in self._open else None
                if row is not None:
                    self._of_request(event, retried=[*row.retried, event.error.message[:_MOST_ERROR]])
            case _ if isinstance(event, events.CallEvent):
                self._of_call(event)
            case _:
                pass

    def rows(self) -> list[JsonObject]:
        """What is noted so far."""
        return [*(row.to_dict() for row in self._requests), *(row.to_dict() for row in self._calls.values())]

    @property
    def took(self) -> JsonObject:
        """How many seconds the calls and requests took that have ended."""
        noted = {"call_seconds": self._calls.values(), "request_seconds": self._requests}
        return {
            key: sum(row.ended - row.began for row in rows if row.began and row.ended) for key, rows in noted.items()
        }

    def _begin_request(self, event: events.RequestStarted) -> None:
        within = _within(event)
        self._open[within] = len(self._requests)
        self._requests.append(RequestRow(request=len(event.context), within=within, began=_time(event)))

    def _of_request(self, event: events.Event, **changes: object) -> None:
        index = self._open.get(_within(event))
        if index is not None:
            self._requests[index] = replace(self._requests[index], **changes)  # pyright: ignore[reportArgumentType] -- the fields' own types

    def _of_call(self, event: events.CallEvent) -> None:
        parent = event.place.parent
        place, now = str(event.place if parent is None else parent), _time(event)
        row = self._calls.get(place) or CallRow(call=place, tool=event.call.label, arrived=now)
        change = partial(replace, row)
        match event:
            case events.CallStarted():
                row = change(began=row.began or now, state="open", **({} if parent else _as_made(event)))
                row = replace(row, items=row.items + 1) if parent else row
            case events.CallRetried():
                row = change(attempts=row.attempts + 1)
            case events.CallFinished():
                row = change(state=row.state if parent else "done", ended=now, maker=event.maker)
            case events.CallFailed() if parent is not None:
                row = change(failed=row.failed + 1, ended=now, error=event.error.message[:_MOST_ERROR])
            case events.CallFailed():
                row = change(state="failed", ended=now, error=event.error.message[:_MOST_ERROR], maker=event.maker)
            case events.CallSkipped():
                row = row if parent else change(state="skipped", ended=now)
            case events.CallWaiting():
                row = change(state="waiting") if row.began is None and not parent else row
            case _:
                pass
        self._calls[place] = row


def _as_made(event: events.CallStarted) -> JsonObject:
    """What is noted of a call that is carried out; of a call inside a delegate, none of its values (D11)."""
    noted: JsonObject = {"key": event.key, "delegate": event.delegate}
    if event.within is not None:
        return noted
    made = None if event.made is None or event.made == event.call else dict(event.made)
    noted["made"] = None if made is None or weight(made, _LONG) > _LONG else made
    noted["crossed"] = None if weight(list(event.crossed), _LONG) > _LONG else list(event.crossed)
    return noted


def _within(event: events.Event) -> str:
    return "" if event.within is None else str(event.within)


def _time(event: events.Event) -> float:
    return round(event.at, 4)
