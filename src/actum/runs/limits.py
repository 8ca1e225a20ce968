"""Limits over all workers of a place: runs of a tenant at once, and requests and tokens of a model in a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import RunError
from . import checks
from .database import Database, Transaction

EVERY = "*"
"""The tenant that stands for all that have no limit of their own."""
_MOST = 1e15
_COLUMNS = "kind, name, runs, weight, requests, tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a tenant, or a model, may have. None is as much as it wants."""

    tenant: str | None = None
    """Whose runs: a tenant, or "*" for each that has no limit of its own."""
    model: str | None = None
    """The requests of which model, by its name as `models.load` takes it."""
    runs: int | None = None
    """How many runs of the tenant at once."""
    weight: float = 1.0
    """The tenant's share where there is more to do than slots: of weight 2 it is twice that of weight 1."""
    requests: float | None = None
    """How many requests in any minute."""
    tokens: float | None = None
    """How many tokens in a minute, of requests and answers."""

    @property
    def key(self) -> tuple[str, str]:
        """What it is about."""
        return ("tenant", self.tenant) if self.tenant is not None else ("model", self.model or "")

    @property
    def amounts(self) -> tuple[float | None, float | None]:
        """How many requests, and how many tokens, in a minute."""
        return self.requests, self.tokens


class PlaceLimits:
    """The limits of a place, kept as rows in it: workers go by them from their next claim or request on."""

    def __init__(self, database: Database, *, has_tenants: bool) -> None:
        self._database = database
        self._has_tenants = has_tenants

    async def set(
        self,
        *,
        tenant: str | None = None,
        model: str | None = None,
        runs: int | None = None,
        weight: float = 1.0,
        requests: float | None = None,
        tokens: float | None = None,
    ) -> Limit:
        """Limit a tenant (`runs` at once, `weight` for its share) or a model (`requests` and `tokens` in a minute).

        Raises:
            RunError: it is about both or neither, a number can't be, or runs in a folder are to be limited by tenant.
        """
        limit = Limit(tenant=tenant, model=model, runs=runs, weight=weight, requests=requests, tokens=tokens)
        self._check(limit)
        values = [*limit.key, limit.runs, limit.weight, limit.requests, limit.tokens]
        await self._database.single(
            f"INSERT INTO actum_limits ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (kind, name) DO UPDATE SET runs = excluded.runs, weight = excluded.weight, "
            "requests = excluded.requests, tokens = excluded.tokens RETURNING kind",
            *values,
        )
        return limit

    async def list(self) -> Sequence[Limit]:
        """All of them."""
        rows = await self._database.single(f"SELECT {_COLUMNS} FROM actum_limits ORDER BY kind, name")
        return [limit_of(values) for values in rows]

    async def remove(self, *, tenant: str | None = None, model: str | None = None) -> None:
        """Limit a tenant or a model no longer.

        Raises:
            RunError: it has no limit of its own.
        """
        key = Limit(tenant=tenant, model=model).key
        if not await self._database.single("DELETE FROM actum_limits WHERE kind = ? AND name = ? RETURNING kind", *key):
            raise RunError(f"{key[0]} {key[1]!r} has no limit of its own")

    def _check(self, limit: Limit) -> None:
        if (limit.tenant is None) == (limit.model is None):
            raise RunError("a limit is for a tenant or for a model")
        if limit.tenant is not None and (limit.requests is not None or limit.tokens is not None):
            raise RunError("requests and tokens are limits of models; a tenant has runs at once, and a weight")
        if limit.model is not None and (limit.runs is not None or limit.weight != 1.0):
            raise RunError("runs at once and weights are limits of tenants; a model has requests and tokens")
        if limit.tenant is not None and not self._has_tenants:
            raise RunError("limits of tenants need a database: keep the runs in FILE.db or PostgreSQL")
        checks.as_text(limit.key[1], f"a {limit.key[0]}")
        if limit.runs is not None:
            checks.as_whole(limit.runs, "a limit of runs", least=1)
        for amount in filter(lambda amount: amount is not None, limit.amounts):
            checks.as_number(amount, "a limit", least=1.0, most=_MOST)
        checks.as_number(limit.weight, "a weight", least=0.001, most=1_000.0)


def limit_of(values: Sequence[Any]) -> Limit:
    """A limit, from the columns of its row."""
    kind, name, runs, weight, requests, tokens = values
    about: dict[str, Any] = {kind: name}
    return Limit(**about, runs=runs, weight=weight, requests=requests, tokens=tokens)


async def limit_for(within: Transaction, kind: str, name: str) -> Limit | None:
    """The limit of a tenant or a model: its own one, else that for every tenant."""
    rows = await within.rows(
        f"SELECT {_COLUMNS} FROM actum_limits WHERE kind = ? AND name IN (?, ?) ORDER BY name <> ? LIMIT 1",
        kind,
        name,
        EVERY if kind == "tenant" else name,
        name,
    )
    return limit_of(rows[0]) if rows else None
