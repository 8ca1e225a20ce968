"""The tables of the runs by version: what each version adds to the one before. JSON is kept as text.

A version only adds tables, indexes, and columns that are empty or have a default, or drops indexes. So older programs
go on working beside those that have migrated, and can still be started. A version that can't be like that names itself
as the `oldest` whose programs may use the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import RunError


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesVersion:
    """What a version adds, as statements.

    `{real}` and `{counting}` are types that databases name differently; `{roomy}` is a statement for some of them.
    """

    adds: str
    oldest: int = 0
    """The first version whose programs may go on using the tables."""


FIRST = 10
"""The number of the first published version: nothing reads those before it."""
VERSIONS = (
    TablesVersion(
        adds="""
    CREATE TABLE actum_oldest (version BIGINT NOT NULL);
    CREATE TABLE actum_runs (
      id TEXT PRIMARY KEY, idea TEXT NOT NULL, origin TEXT, input TEXT, parent TEXT, child TEXT, tag TEXT,
      tenant TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL, begins {real}, patience {real},
      escalate TEXT, name TEXT NOT NULL, sought TEXT NOT NULL,
      state TEXT NOT NULL, lease BIGINT NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, worker TEXT,
      output TEXT, waiting TEXT, error TEXT, about TEXT, created {real} NOT NULL, ended {real}
    );
    CREATE INDEX actum_runs_owed ON actum_runs (state, id) WHERE state IN ('queued', 'running', 'waiting');
    CREATE INDEX actum_runs_by_time ON actum_runs (created, id);
    CREATE INDEX actum_runs_sought ON actum_runs (created, id, sought);
    CREATE INDEX actum_runs_parts ON actum_runs (parent) WHERE parent IS NOT NULL;
    CREATE INDEX actum_runs_ended ON actum_runs (state, ended) WHERE ended IS NOT NULL;
    CREATE INDEX actum_runs_of_tenant ON actum_runs (tenant, state, priority DESC, created)
      WHERE state IN ('queued', 'running', 'parked');
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
    CREATE INDEX actum_deliveries_next ON actum_deliveries (queue, priority DESC, number);
    CREATE TABLE actum_schedules (
      name TEXT PRIMARY KEY, cron TEXT NOT NULL, zone TEXT NOT NULL, policy TEXT NOT NULL, run TEXT NOT NULL,
      dealt {real} NOT NULL, comes {real}, is_paused INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX actum_schedules_next ON actum_schedules (comes) WHERE is_paused = 0;
    CREATE TABLE actum_limits (
      kind TEXT NOT NULL, name TEXT NOT NULL, runs INTEGER, weight {real} NOT NULL DEFAULT 1,
      requests {real}, tokens {real}, PRIMARY KEY (kind, name)
    );
    CREATE TABLE actum_tenants (name TEXT PRIMARY KEY);
    CREATE TABLE actum_buckets (
      model TEXT PRIMARY KEY, requests {real} NOT NULL, tokens {real} NOT NULL, at {real} NOT NULL,
      closed {real} NOT NULL DEFAULT 0, refusals INTEGER NOT NULL DEFAULT 0
    )
    """
    ),
    TablesVersion(
        adds="""
    ALTER TABLE actum_runs ADD COLUMN former TEXT;
    ALTER TABLE actum_runs ADD COLUMN losses TEXT;
    ALTER TABLE actum_runs ADD COLUMN keyed TEXT;
    CREATE INDEX actum_runs_suspects ON actum_runs (id) WHERE losses IS NOT NULL
    """
    ),
    TablesVersion(
        adds="""
    ALTER TABLE actum_runs ADD COLUMN needs TEXT;
    ALTER TABLE actum_runs ADD COLUMN lacks TEXT;
    CREATE TABLE actum_secret (one INTEGER PRIMARY KEY, secret TEXT NOT NULL)
    """
    ),
    TablesVersion(
        adds="""
    CREATE TABLE actum_asked (
      id TEXT PRIMARY KEY, run TEXT NOT NULL, kind TEXT NOT NULL, model TEXT NOT NULL, body TEXT NOT NULL, batch TEXT,
      result TEXT, tries INTEGER NOT NULL DEFAULT 0, asked {real} NOT NULL, due {real} NOT NULL
    );
    CREATE INDEX actum_asked_now ON actum_asked (kind, asked) WHERE batch IS NULL AND result IS NULL;
    CREATE INDEX actum_asked_in ON actum_asked (batch, run);
    CREATE INDEX actum_asked_of ON actum_asked (run);
    CREATE TABLE actum_batches (
      key TEXT PRIMARY KEY, model TEXT NOT NULL, state TEXT NOT NULL, handle TEXT, made {real} NOT NULL,
      heard {real} NOT NULL
    );
    CREATE INDEX actum_batches_open ON actum_batches (state, heard) WHERE state <> 'ended'
    """
    ),
    # `actum_runs_sought` begins with the same columns.
    TablesVersion(adds="DROP INDEX actum_runs_by_time{roomy}"),
)
"""The versions of the tables from the first on. One that was released is never changed: the next one adds to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables as one program knows them."""

    counting: str
    """The type of a column that counts by itself."""
    real: str
    """The type of a column of floats."""
    roomy: str = ""
    """Lets a row of `actum_runs` be updated in place, so that less is logged, and an entry be written without looking
    up its run, which is locked meanwhile."""
    versions: Sequence[TablesVersion] = VERSIONS

    @property
    def last(self) -> int:
        """The number of the last version that is known."""
        return FIRST + len(self.versions) - 1

    def adding(self, place: str, version: int, oldest: int) -> list[str]:
        """The statements that lead a place from a version to the last one; 0 is an empty database.

        `oldest` is what `actum_oldest` holds, 0 if it doesn't exist yet; `place` is named in errors.

        Raises:
            RunError: the database is older than the first version, or too new for this program.
        """
        if 0 < version < FIRST:
            why = f"made before Actum 0.1.0 (version {version} of its tables): begin with a new database"
            raise RunError(f"{place}: {why}")
        if version > self.last and oldest > self.last:
            why = f"made by a newer Actum (version {version} of its tables; this one knows {self.last})"
            raise RunError(f"{place}: {why}: upgrade Actum, or name another database")
        added = self.versions[max(0, version - FIRST + 1) :]
        if not added:
            return []
        adds = ";".join(version.adds for version in added).format(
            counting=self.counting, real=self.real, roomy=self.roomy
        )
        needed = max(oldest, *(version.oldest for version in self.versions), 0)
        recording = ["DELETE FROM actum_oldest", f"INSERT INTO actum_oldest (version) VALUES ({needed})"]
        return [*(statement.strip() for statement in adds.split(";")), *recording]
