"""A report as JUnit's XML, for what shows the results of tests (V31)."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from ..schema.quoting import printable
from .report import Report

_ELEMENT = {"fail": "failure", "broken": "error", "unknown": "skipped"}


def junit(report: Report) -> str:
    """A suite for each cell, a test for each case, check and repeat."""
    root = Element("testsuites")
    for cell in report.cells.values():
        states = [row.state for row in cell.rows]
        counts = {"tests": len(states), "failures": states.count("fail"), "errors": states.count("broken")}
        counts["skipped"] = states.count("unknown")
        suite = SubElement(root, "testsuite", {"name": _text(cell.name), **{key: str(n) for key, n in counts.items()}})
        for row in cell.rows:
            name = row.check if row.repeat == 1 else f"{row.check} [{row.repeat}]"
            test = SubElement(suite, "testcase", {"classname": _text(row.case), "name": _text(name)})
            if (element := _ELEMENT.get(row.state)) is not None:
                SubElement(test, element, {"message": _text(row.verdict.why)})
    return tostring(root, encoding="unicode")


def _text(text: str) -> str:
    """A text as XML can hold it: control characters are spelled out."""
    return printable(text)
