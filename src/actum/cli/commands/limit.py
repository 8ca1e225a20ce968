"""`actum limit`: how many runs of a tenant at once, and how much a model is asked in a minute (L8)."""

from __future__ import annotations

from ...runs.limits import Limit
from ..options import CommandError, RunsHome, runs_at
from ..render.terminal import say


async def actum_limit(
    *,
    tenant: str | None = None,
    runs: int | None = None,
    weight: float = 1.0,
    model: str | None = None,
    requests: float | None = None,
    tokens: float | None = None,
    remove: bool = False,
    store: RunsHome = None,
) -> None:
    """Limit the runs of a tenant, or the requests of a model, over all workers; without either, list the limits.

    Parameters
    ----------
    tenant
        Whose runs; * for every tenant that has no limit of its own.
    runs
        How many runs of the tenant at once.
    weight
        The tenant's share where there is more to do than slots; 1 if it isn't named.
    model
        The requests of which model, for example openai:gpt-5.2.
    requests
        How many requests in any minute.
    tokens
        How many tokens in a minute, of requests and answers.
    remove
        Limit the tenant, or the model, no longer.
    """
    is_listing = tenant is None and model is None
    if is_listing and (remove or any(number is not None for number in (runs, requests, tokens))):
        raise CommandError("a limit is for a tenant or for a model: --tenant acme --runs 5")
    async with runs_at(store, makes=not (is_listing or remove)) as place:
        if is_listing:
            for limit in await place.limits.list():
                say(_describe(limit))
        elif remove:
            await place.limits.remove(tenant=tenant, model=model)
        else:
            limit = await place.limits.set(
                tenant=tenant, model=model, runs=runs, weight=weight, requests=requests, tokens=tokens
            )
            say(_describe(limit))


def _describe(limit: Limit) -> str:
    if limit.tenant is not None:
        runs = "any number of runs" if limit.runs is None else f"{limit.runs} runs at once"
        return f"tenant {limit.tenant}  {runs}, weight {limit.weight:g}"
    requests = "" if limit.requests is None else f"{limit.requests:g} requests"
    tokens = "" if limit.tokens is None else f"{limit.tokens:g} tokens"
    return f"model {limit.model}  {' and '.join(filter(None, (requests, tokens))) or 'anything'} a minute"
