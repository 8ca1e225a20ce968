"""Runs that outlive the process that carries them out: their record by place, their queue, and the worker."""

from .following import Entry, Live

__all__ = ["Entry", "Live"]
