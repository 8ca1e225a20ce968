"""What keeps the runs of a place: each write of a record is judged by the lease of its run, where it is made."""

from __future__ import annotations

from typing import TypeAlias

from .run_folder import RunFolder
from .sql_store import SqlStore

RunStore: TypeAlias = SqlStore | RunFolder
"""Keeps runs, and has them delivered by its queue: in a database, or in a folder, which does what `SqlStore` says.

All of it raises StoreUnavailable where the place can't be reached now, RunError where it can't be used.
"""
