"""The report: a page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING

from .drawing import safe

if TYPE_CHECKING:
    from stylometry.sentences import Sentences
    from stylometry.shelf import Skipped
    from stylometry.vocabulary import Vocabulary


_HEADS = (
    ("words", "how long the text is"),
    ("distinct", "how many different words it has"),
    ("in 1000", "different words in a thousand, on average"),
    ("Heaps", "how fast new words come: 1 would be a new one each time"),
    ("Zipf", "the slope of frequency over rank"),
    ("sentences", "how many there are"),
    ("median", "half of the sentences are longer, in words"),
    ("grade", "Flesch-Kincaid: about the years of school it takes, for English"),
)


def page(
    title: str,
    subtitle: str,
    chart: str,
    findings: Sequence[str],
    order: Sequence[str],
    vocabulary: Mapping[str, Vocabulary],
    sentences: Mapping[str, Sentences],
    skipped: Sequence[Skipped],
) -> str:
    """Write the report around a chart."""
    heads = "".join(f'<th scope="col" title="{safe(why)}">{safe(head)}</th>' for head, why in _HEADS)
    return _PAGE.substitute(
        title=safe(title),
        subtitle=safe(subtitle),
        findings="\n".join(f"<li>{safe(finding)}</li>" for finding in findings),
        chart=chart,
        heads=heads,
        rows="\n".join(_row(name, vocabulary[name], sentences[name]) for name in order),
        skipped=_left_out(skipped),
    )


def _row(name: str, vocabulary: Vocabulary, sentences: Sentences) -> str:
    cells = (
        f"{vocabulary['words']:,}",
        f"{vocabulary['distinct']:,}",
        f"{vocabulary['per_thousand']:.0f}",
        f"{vocabulary['heaps']:.2f}",
        f"{vocabulary['zipf']:.2f}",
        f"{sentences['count']:,}",
        f"{sentences['median']:g}",
        f"{sentences['grade']:.1f}",
    )
    return f'<tr><th scope="row">{safe(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _left_out(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return ""
    files = "".join(f"<li>{safe(file['name'])}: {safe(file['why'])}</li>" for file in skipped)
    return f"<h2>Left out</h2>\n<ul>{files}</ul>"


_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
:root { color-scheme: light }
body { font: 16px/1.55 "Helvetica Neue", Helvetica, Arial, sans-serif; color: #1c2733; background: #fff;
  max-width: 1200px; margin: 0 auto; padding: 0 0 4rem }
section, footer { padding: 0 40px } h2 { font-size: 17px; margin: 2rem 0 .5rem }
svg { display: block; width: 100%; height: auto }
ul.findings { max-width: 52rem; padding-left: 1.2rem } ul.findings li { margin: .3rem 0 }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .4rem .6rem; border-bottom: 1px solid #dfe5eb; font-weight: 400 }
th:first-child { text-align: left; font-weight: 600 } thead th { color: #5d6b7a; font-weight: 600 }
thead th[title] { cursor: help } footer { color: #5d6b7a; font-size: 14px }
</style>
$chart
<section>
<h2>What stands out</h2>
<ul class="findings">
$findings
</ul>
<h2>In numbers</h2>
<table>
<thead><tr><th scope="col">text</th>$heads</tr></thead>
<tbody>
$rows
</tbody>
</table>
$skipped
</section>
<footer>
<h2>How it was measured</h2>
<p>$subtitle. The little words are the most frequent of those that the texts share: nobody chooses them with care, so
they give a style away. Burrows's Delta is the mean difference of two texts' use of them, each word in units of its
own spread. The map is drawn by multidimensional scaling, the tree by joining mean distances (UPGMA); a text's own
words are those with the highest log-likelihood against the other texts, little words apart.</p>
</footer>
</html>
""")
