"""A report as JUnit's XML, for what shows the results of tests (V31)."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, SubElement, tostring

from ..schema.quoting import printable
from .report import Report

_ELEMENT = {"fail": "failure", "broken": "error", "unknown": "skipped"}


def junit(report: Report) -> str:
    """A suite for each cell, a test for each case, check and repeat."""
    root = Element("testsuites")
    for cell in report.cells.values():
        states = Counter(row.state for row in cell.rows)
        counts = {"tests": len(cell.rows), "failures": states["fail"], "errors": states["broken"]}
        counts["skipped"] = states["unknown"]
        suite = SubElement(
            root, "testsuite", {"name": printable(cell.name)} | {key: str(n) for key, n in counts.items()}
        )
        for row in cell.rows:
            name = row.check if row.repeat == 1 else f"{row.check} [{row.repeat}]"
            test = SubElement(suite, "testcase", {"classname": printable(row.case), "name": printable(name)})
            if (element := _ELEMENT.get(row.state)) is not None:
                SubElement(test, element, {"message": printable(row.verdict.why)})
    return tostring(root, encoding="unicode")
