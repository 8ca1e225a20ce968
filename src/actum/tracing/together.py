"""Several tracers as one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from ..spans import Beginning, Ending, Span, Tracer


class Together:
    """Tells each of several tracers."""

    def __init__(self, tracers: Sequence[Tracer]) -> None:
        self._tracers = tracers

    def begin(self, what: Beginning) -> Span:
        """Begin a span with each."""
        return _Spans([tracer.begin(what) for tracer in self._tracers])


class _Spans(Together):
    """The spans of each of several tracers for the same work."""

    def __init__(self, spans: Sequence[Span]) -> None:
        super().__init__(spans)
        self._spans = spans

    @property
    def traceparent(self) -> str:
        """The first that one of them has."""
        return next((span.traceparent for span in self._spans if span.traceparent), "")

    @contextmanager
    def current(self) -> Generator[None]:
        """Let each be current."""
        with ExitStack() as stack:
            for span in self._spans:
                stack.enter_context(span.current())
            yield

    def end(self, how: Ending) -> None:
        """End each."""
        for span in reversed(self._spans):
            span.end(how)
