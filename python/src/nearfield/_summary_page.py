"""HTML of a summary: one file that needs nothing beside it, for a screen and for A4."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Sequence
from html import escape

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
html { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
body { font: 10pt/1.4 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #1a202c; background: white; }
body { max-width: 190mm; margin: 0 auto; padding: 8mm 5mm; }
h1 { font-size: 20pt; line-height: 1.2; margin: 0 0 1mm; overflow-wrap: anywhere; }
h2 { font-size: 14pt; margin: 9mm 0 3mm; border-bottom: 0.4mm solid #2b6cb0; padding-bottom: 1mm; break-after: avoid; }
h3 { font-size: 11pt; margin: 5mm 0 2mm; break-after: avoid; }
p { margin: 0 0 2.5mm; }
.sub { color: #4a5568; margin-bottom: 5mm; }
.answer { font-size: 11.5pt; border-left: 1.2mm solid #2b6cb0; padding: 1mm 0 1mm 4mm; margin: 4mm 0; }
.answer p:last-child, .remarks p:last-child { margin-bottom: 0; }
.remarks { border-left: 1.2mm solid #dd6b20; background: #fffaf0; padding: 2mm 4mm; margin: 4mm 0; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; font-size: 9pt; margin: 2mm 0 4mm; }
caption { text-align: left; color: #4a5568; padding-bottom: 1mm; }
th, td { padding: 0.8mm 1.6mm; text-align: left; vertical-align: top; border-bottom: 0.15mm solid #cbd5e0; overflow-wrap: anywhere; }
thead th { border-bottom: 0.4mm solid #718096; vertical-align: bottom; }
thead { display: table-header-group; }
tr { break-inside: avoid; }
td.n, th.n { text-align: right; overflow-wrap: normal; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.w, td.n, th { overflow-wrap: normal; }
td.w { white-space: nowrap; }
th.g { text-align: center; border-bottom: 0.15mm solid #718096; }
table.facts th { width: 38mm; font-weight: 600; color: #4a5568; }
.code { font-family: "DejaVu Sans Mono", "Liberation Mono", monospace; font-size: 8.5pt; }
.pictures { display: grid; gap: 4mm; margin-bottom: 4mm; }
.two { grid-template-columns: 1fr 1fr; }
.three { grid-template-columns: 1fr 1fr 1fr; gap: 2mm; }
figure { margin: 0; break-inside: avoid; }
figure img { width: 100%; height: auto; display: block; }
figcaption { font-size: 8.5pt; line-height: 1.3; color: #2d3748; margin-top: 0.5mm; }
.group { break-inside: avoid; margin-bottom: 4mm; }
.plan { display: block; width: 100%; max-width: 85mm; max-height: 100mm; margin: 2mm 0; }
.legend span { display: inline-block; margin-right: 5mm; }
.legend i { display: inline-block; width: 3mm; height: 3mm; border-radius: 50%; margin-right: 1.5mm; vertical-align: -0.3mm; }
.note { font-size: 8.5pt; color: #4a5568; margin: 2mm 0; }
footer { margin-top: 8mm; font-size: 8.5pt; color: #4a5568; border-top: 0.15mm solid #cbd5e0; padding-top: 2mm; }
@page { size: A4; margin: 15mm 14mm 16mm; @bottom-right { content: counter(page) " / " counter(pages); font: 8pt sans-serif; color: #4a5568; } }
@media print {
  body { max-width: none; padding: 0; margin: 0; }
  section { break-before: page; }
  section:first-of-type, section.on { break-before: auto; }
  section.on, .lead { break-inside: avoid; }
  .lead { break-after: avoid; }
  h2 { margin-top: 0; }
  section:first-of-type h2, section.on h2 { margin-top: 9mm; }
}
@media (max-width: 600px) { .two, .three { grid-template-columns: 1fr; } table { display: block; overflow-x: auto; } }
"""


def text_of(words: str) -> str:
    """Return a text as HTML, whose numbers stay in one line with their units and axes."""
    kept = re.sub(r"(?<=\d) (?=(?:m|Hz|dB)\b)|(?<=\b[xyz]) (?=[−\d])", "\u00a0", words)
    return escape(kept)


def page(title: str, body: str) -> str:
    """Return the whole document; its policy lets a browser load nothing."""
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")  # fmt: skip


def section(title: str, first: str, *parts: str, starts_page: bool = True) -> str:
    """Return a section whose title stays with its first part; one that starts no page of its own stays whole where it can."""
    lead = f'<div class="lead"><h2>{text_of(title)}</h2>\n{first}</div>'
    return f"<section{_of('' if starts_page else 'on')}>\n{lead}{''.join(parts)}\n</section>\n"


def heading(title: str) -> str:
    return f"<h3>{text_of(title)}</h3>\n"


def paragraphs(texts: Iterable[str], of: str = "") -> str:
    """Return a paragraph for each text, in a box of a class where one is named and there are texts."""
    inside = "".join(f"<p>{text_of(text)}</p>\n" for text in texts)
    return f'<div class="{of}">\n{inside}</div>\n' if of and inside else inside


def note(text: str) -> str:
    return f'<p class="note">{text_of(text)}</p>\n'


def facts(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Return a table of a name and one value a run; runs have heads where there are several."""
    head = f"<thead><tr><th></th>{''.join(f'<th>{text_of(one)}</th>' for one in heads)}</tr></thead>" if heads else ""
    body = "".join(f"<tr><th>{text_of(name)}</th>{''.join(f'<td>{text_of(value)}</td>' for value in values)}</tr>\n" for name, *values in rows)
    return f'<table class="facts">{head}<tbody>\n{body}</tbody></table>\n'


class Table:
    """A table whose columns are texts ("t"), texts in one line ("w"), code ("c"), or numbers ("n")."""

    def __init__(self, columns: str, *heads: Sequence[tuple[str, int]]) -> None:
        """Each head is a row of names and the number of columns that they cover."""
        self._classes = [{"n": "n", "c": "code", "w": "w"}.get(kind, "") for kind in columns]
        self._heads = heads
        self._rows: list[Sequence[str]] = []

    def add(self, *cells: str) -> None:
        self._rows.append(cells)

    def html(self) -> str:
        return f"<table><thead>{''.join(map(self._head, self._heads))}</thead><tbody>\n{''.join(map(self._row, self._rows))}</tbody></table>\n"

    def _head(self, head: Sequence[tuple[str, int]]) -> str:
        cells, column = "", 0
        for words, count in head:
            of = "g" if count > 1 else self._classes[column]
            cells += f'<th{_of(of if of in ("n", "g") else "")}{f" colspan={count}" if count > 1 else ""}>{text_of(words)}</th>'
            column += count
        return f"<tr>{cells}</tr>"

    def _row(self, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(f'<td{_of(of)}>{text_of(cell)}</td>' for of, cell in zip(self._classes, cells, strict=True))}</tr>\n"


def _of(name: str) -> str:
    return f' class="{name}"' if name else ""


def picture(png: bytes, words: str) -> str:
    """Return a picture with its caption, which is also what those read who cannot see it."""
    return (f'<figure><img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
            f"<figcaption>{text_of(words)}</figcaption></figure>\n")  # fmt: skip


def pictures(parts: Sequence[str], columns: str) -> str:
    return f'<div class="pictures {columns}">\n{"".join(parts)}</div>\n' if parts else ""


def number(value: float, form: str = ".1f") -> str:
    """Return a number with a minus sign, or a dash where there is none."""
    return "–" if math.isnan(value) else format(value + 0.0, form).replace("-", "−")


def scientific(value: float) -> str:
    """Return three digits, such as "2.50", or "4.00 × 10⁻⁹" of small and large values."""
    if math.isnan(value) or value == 0.0 or 1e-2 <= abs(value) < 1e3:
        return number(value, ".3g" if value == 0.0 else ".2f")
    digits, exponent = f"{value:.2e}".split("e")
    return f"{digits} × 10{str(int(exponent)).translate(_RAISED)}".replace("-", "−")


def change(value: float) -> str:
    """Return "+0.3" or "−6.0"."""
    return "–" if math.isnan(value) else f"{round(value, 1) + 0.0:+.1f}".replace("-", "−").replace("+0.0", "0.0")


def change_words(value: float) -> str:
    """Return "6.0 dB less"."""
    if math.isnan(value):
        return "not comparable"
    rounded = round(abs(value), 1)
    return "no change" if rounded == 0.0 else f"{rounded:.1f} dB {'less' if value < 0.0 else 'more'}"
