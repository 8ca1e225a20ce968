"""What the report reads and writes."""

from __future__ import annotations

import csv
from pathlib import Path

from typing_extensions import TypedDict

from actum import tools

HERE = Path(__file__).parent
REPORT = Path("report.txt")


class Sale(TypedDict):
    day: str
    item: str
    pieces: int
    price: float


@tools.tool(effects="none", retries=3)
def sales(shop: str, day: str) -> list[Sale]:
    """What a shop has sold on a day."""
    with (HERE / "sales.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    day = max(row["day"] for row in rows) if day == "newest" else day
    return [
        {"day": day, "item": row["item"], "pieces": int(row["pieces"]), "price": float(row["price"])}
        for row in rows
        if (row["shop"], row["day"]) == (shop, day)
    ]


@tools.tool(effects="ordered")
def note(line: str) -> str:
    """Add a line to the report."""
    with REPORT.open("a", encoding="utf-8") as report:
        report.write(f"{line}\n")
    return line
