"""The tables of the runs by version: what each version adds to the one before. JSON is kept as text.

A version only adds: tables, indexes, and columns that are empty or have a default. So programs that know the versions
before go on working beside those that have migrated, and may begin anew there, too. One that can't be so names itself
as the `oldest` whose programs may use the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import RunError


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a version adds, as statements; `{real}` and `{counting}` are types that databases name differently."""

    adds: str
    oldest: int = 1
    """The first version whose programs may go on using the tables."""


VERSIONS = (
    Version(
        adds="""
    CREATE TABLE actum_runs (
      id TEXT PRIMARY KEY, idea TEXT NOT NULL, origin TEXT, input TEXT,
      tenant TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL, begins {real}, patience {real},
      state TEXT NOT NULL, lease BIGINT NOT NULL DEFAULT 0, worker TEXT,
      output TEXT, waiting TEXT, error TEXT, about TEXT, created {real} NOT NULL, ended {real}
    );
    CREATE INDEX actum_runs_owed ON actum_runs (state, id) WHERE state IN ('queued', 'running', 'waiting');
    CREATE INDEX actum_runs_by_time ON actum_runs (created, id);
    CREATE TABLE actum_entries (
      run TEXT NOT NULL REFERENCES actum_runs (id) ON DELETE CASCADE, seq BIGINT NOT NULL, lease BIGINT NOT NULL,
      is_tick INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (run, seq)
    );
    CREATE TABLE actum_sent (
      number {counting}, run TEXT NOT NULL REFERENCES actum_runs (id) ON DELETE CASCADE,
      item TEXT NOT NULL, due {real}, is_deadline INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX actum_sent_to ON actum_sent (run, number);
    CREATE TABLE actum_deliveries (
      number {counting}, run TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL, begins {real} NOT NULL,
      taker TEXT, heard {real}
    );
    CREATE INDEX actum_deliveries_of ON actum_deliveries (run);
    CREATE INDEX actum_deliveries_next ON actum_deliveries (queue, priority DESC, number)
    """
    ),
    # From here on a database says which programs may use it, and later versions are no reason to refuse.
    Version(adds="CREATE TABLE actum_oldest (version BIGINT NOT NULL)"),
    Version(
        adds="""
    CREATE TABLE actum_schedules (
      name TEXT PRIMARY KEY, cron TEXT NOT NULL, zone TEXT NOT NULL, policy TEXT NOT NULL, run TEXT NOT NULL,
      dealt {real} NOT NULL, comes {real}, is_paused INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX actum_schedules_next ON actum_schedules (comes) WHERE is_paused = 0
    """
    ),
    Version(
        adds="""
    ALTER TABLE actum_runs ADD COLUMN parent TEXT;
    ALTER TABLE actum_runs ADD COLUMN child TEXT;
    CREATE INDEX actum_runs_parts ON actum_runs (parent) WHERE parent IS NOT NULL
    """
    ),
    Version(
        adds="""
    ALTER TABLE actum_runs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE actum_runs ADD COLUMN escalate TEXT
    """
    ),
    # A run that is parked has a state of its own, which programs before take for none that they could claim.
    Version(
        adds="""
    CREATE TABLE actum_limits (
      kind TEXT NOT NULL, name TEXT NOT NULL, runs INTEGER, weight {real} NOT NULL DEFAULT 1,
      requests {real}, tokens {real}, PRIMARY KEY (kind, name)
    );
    CREATE TABLE actum_tenants (name TEXT PRIMARY KEY);
    CREATE INDEX actum_runs_of_tenant ON actum_runs (tenant, state, priority DESC, created)
      WHERE state IN ('queued', 'running', 'parked');
    CREATE TABLE actum_buckets (
      model TEXT PRIMARY KEY, requests {real} NOT NULL, tokens {real} NOT NULL, at {real} NOT NULL,
      closed {real} NOT NULL DEFAULT 0, refusals INTEGER NOT NULL DEFAULT 0
    )
    """
    ),
    # Programs before serve no lane of a tag: they are not delivered what asks for one.
    Version(
        adds="""
    ALTER TABLE actum_runs ADD COLUMN tag TEXT;
    CREATE INDEX actum_runs_ended ON actum_runs (state, ended) WHERE ended IS NOT NULL
    """
    ),
    Version(adds="ALTER TABLE actum_runs ADD COLUMN name TEXT NOT NULL DEFAULT ''"),
    # What runs are found by, in an index of its own: their rows hold whole Ideas. Programs before leave it empty.
    Version(
        adds="""
    ALTER TABLE actum_runs ADD COLUMN sought TEXT;
    CREATE INDEX actum_runs_sought ON actum_runs (created, id, sought);
    CREATE INDEX actum_runs_unnamed ON actum_runs (id) WHERE sought IS NULL
    """
    ),
)
"""The versions of the tables from the first one on. One that was released is never changed: the next one adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables as one program knows them."""

    counting: str
    """The type of a column that counts by itself."""
    real: str
    """The type of a column of floats."""
    versions: Sequence[Version] = VERSIONS

    @property
    def last(self) -> int:
        """The number of the last version that is known."""
        return len(self.versions)

    def adding(self, known: int, oldest: int) -> list[str]:
        """The statements that lead from a version to the last one; 0 is an empty database.

        `oldest` is what `actum_oldest` holds, or 1 where that isn't there yet.

        Raises:
            RunError: the database is a later one, and not for programs that know only these versions.
        """
        if known > self.last and oldest > self.last:
            raise RunError(f"made by a newer Actum (version {known} of its tables; this one knows {self.last})")
        added = self.versions[known:]
        statements = [
            one.strip()
            for version in added
            for one in version.adds.format(counting=self.counting, real=self.real).split(";")
        ]
        if added and self.last > 1:
            needed = max(version.oldest for version in self.versions)
            statements += [
                "DELETE FROM actum_oldest",
                f"INSERT INTO actum_oldest (version) VALUES ({max(needed, oldest)})",
            ]
        return statements
