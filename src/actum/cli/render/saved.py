"""What saving an Idea has led to, in words."""

from __future__ import annotations

from ...ideas.library import Saved
from ...schema.quoting import printable
from .telling import say


def tell_saved(saved: Saved) -> None:
    """Print the version that was saved and what its change means; or that nothing changed."""
    say(saved.entry.address if saved.is_new else f"{saved.entry.address}  (nothing changed)")
    for reason in saved.change.reasons if saved.is_new else ():
        say(f"  {saved.change.kind}: {printable(reason)}")
