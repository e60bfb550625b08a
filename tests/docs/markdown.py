"""The parts of a page that can be tested: fenced blocks, code spans, tables, links and headings."""

import dataclasses
import re

LANGUAGES = ("sh", "yaml", "c", "python", "json", "text", "promql")


@dataclasses.dataclass
class Fence:
    """A fenced block. Its info string is `LANGUAGE [FILE] [no-run: REASON]`, or `text output-of: COMMAND`."""
    line: int          # of the page, from 1: where the text begins
    language: str
    file: str          # name that the page gives the listing, or ""
    no_run: str        # why the commands are not run, or ""
    output_of: str     # the command that prints the block's lines, or ""
    text: str


@dataclasses.dataclass
class Page:
    path: str          # from the repository's root
    fences: list
    spans: list        # [(line, text)], of `code` in the prose
    tables: list       # [[(line, [cell, ...]), ...], ...], header first, without the line of dashes
    links: list        # [(line, target)]
    headings: list
    prose: list        # [(line, text)], the lines outside of fences
    problems: list     # [(line, text)], what cannot be read


def _fence(line, info):
    info, _, command = info.partition("output-of:")
    info, _, reason = info.partition("no-run:")
    words = info.split() + ["", ""]
    return Fence(line, words[0], words[1], reason.strip(), command.strip(), "")


def _split_row(row):
    cells = re.split(r"(?<!\\)\|", row.strip().strip("|"))
    return [cell.strip() for cell in cells]


def _tables(prose):
    tables, rows = [], []
    for line, text in prose + [(0, "")]:
        if text.startswith("|"):
            if not re.fullmatch(r"\|[\s:|-]+\|", text.strip()):
                rows.append((line, _split_row(text)))
        elif rows:
            tables.append(rows)
            rows = []
    return tables


def read(path, text):
    page = Page(path, [], [], [], [], [], [], [])
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if fence:
                page.fences.append(fence)
                fence = None
                continue
            fence = _fence(number + 1, line[3:])
            if fence.language not in LANGUAGES:
                page.problems.append((number, f'expected a block of {", ".join(LANGUAGES)}, found "{line[3:]}"'))
            if "no-run" in line and not fence.no_run:
                page.problems.append((number, "expected a reason after no-run:"))
        elif fence:
            fence.text += line + "\n"
        else:
            page.prose.append((number, line))
            if re.match(r"(    |\t)(nearfield|build/|\./dev|python3 |[A-Z_]+=\S+ (build|nearfield))", line):
                page.problems.append((number, "expected commands in a fenced block, found an indented one"))
            if heading := re.match(r"#+ (.*)", line):
                page.headings.append(heading.group(1))
    if fence:
        page.problems.append((fence.line, "expected the block's end, found the page's"))
    page.tables = _tables(page.prose)
    _read_inline(page)
    return page


def _read_inline(page):
    starts, offset = [], 0
    for number, line in page.prose:
        starts.append((offset, number))
        offset += len(line) + 1
    text = "\n".join(line for _, line in page.prose)

    def line_at(position):
        return max((start for start in starts if start[0] <= position), default=(0, 1))[1]

    # A blank line ends a paragraph, and with it a span that nobody closed.
    for match in re.finditer(r"`((?:[^`\n]|\n(?!\n))+)`", text):
        page.spans.append((line_at(match.start()), " ".join(match.group(1).split())))
    without_code = re.sub(r"`(?:[^`\n]|\n(?!\n))+`", lambda span: "`" * len(span.group()), text)
    for match in re.finditer(r"\]\(([^)\s]+)\)", without_code):
        page.links.append((line_at(match.start()), match.group(1)))
    if text.count("`") % 2:
        page.problems.append((1, "expected each ` to be closed"))


def slug(heading):
    """The anchor that a heading gets on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
