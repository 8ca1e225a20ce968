"""How runs are found in a database: by a column that holds their ids and names as Python folds them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .row import RunPage
from .sql_rows import COLUMNS

_WILD = re.compile("[%_!]")
"""What stands for something else in a pattern."""


def listing(page: RunPage) -> Sequence[Any]:
    """The query for a page of runs, the newest first, and its values."""
    where, values = ["1 = 1"], list[Any]()
    if page.find:
        # The index alone is looked through, and the rows of those that are found are read.
        where.append("sought LIKE ? ESCAPE '!'")
        values.append("%" + _WILD.sub(r"!\g<0>", page.find) + "%")
    for name, value in (("state", page.state), ("tenant", page.tenant)):
        if (name, value) == ("state", "queued"):
            where.append("state IN ('queued', 'parked')")
        elif value is not None:
            where.append(f"{name} = ?")
            values.append(value)
    if page.before is not None:
        where.append("(created < ? OR (created = ? AND id < ?))")
        values += [page.before.created, page.before.created, page.before.id]
    order = "ORDER BY created DESC, id DESC LIMIT ?"
    ids = f"SELECT id FROM actum_runs WHERE {' AND '.join(where)} {order}"
    return f"SELECT {COLUMNS} FROM actum_runs WHERE id IN ({ids}) {order}", *values, page.most, page.most
