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
