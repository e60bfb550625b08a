#!/usr/bin/env python3
"""Counts what docs/how/layout.md and docs/how/add_a_processor.md promise: a kind of front end or processor is named in its own folder, in one
line of kinds.def, in its own kernels, tests and pages, and nowhere else in the sources.

    kinds_test.py ROOT

Comments do not count, nor do OpenCL's and C++'s functions of the same name. Tests and pages are left out: they take kinds as examples. Where
a kind is named all the same, EXCEPTIONS has the file and the reason; an exception that no longer applies is an error too.
"""

import pathlib
import re
import sys

SOURCES = ("src", "include", "bench", "cmake", "kernels", "examples")
TYPES = (".c", ".cl", ".cpp", ".h", ".hpp", ".py", ".cmake", ".txt", ".sh")
TABLES = {"src/frontend/kinds.def": "NEARFIELD_FRONT_END", "src/processors/kinds.def": "NEARFIELD_PROCESSOR"}

# Folders and kernels of a kind, where they have another name than it.
IMAGERS = ("src/processors/images/", "src/imaging/", "kernels/imaging/")
OWN = {
    "pnah": IMAGERS,
    "sonah": IMAGERS,
    "operators": IMAGERS,
    "beamform": ("kernels/processors/beamform.cl", "kernels/processors/beamform/"),
    "srp_phat": ("kernels/processors/srp_phat.cl", "kernels/processors/srp_phat/"),
    "spectrum": ("kernels/processors/spectrum.cl",),
    "levels": ("kernels/processors/levels.cl",),
    "listen": ("kernels/processors/listen.cl",),
}

# Kinds named by a word that the field uses for much else: only the word in quotes, or its entry, names the kind.
COMMON_WORDS = ("spectrum", "levels", "listen", "operators")

# A set-up without `processors` has one imager, of the section `holography`, whose choices are older than the table.
FIRST = "the section `holography`, which sets up the first processor"
FIGURE = "a figure of the thesis, drawn from the variants that it compares"
IMAGERS_COMPARED = "a benchmark that compares imagers"
CUTS_COMPARED = "a benchmark that compares how one processor's kernels are cut"
EXCEPTIONS = {
    ("src/cli/commands/beampattern.cpp", "beamform"): "the command that shows what one processor's steering does",
    ("src/cli/commands/levels.cpp", "levels"): "a command, which takes the results of all processors",
    ("src/cli/commands/new.cpp", "beamform"): "the configuration that it writes",
    ("src/cli/commands/new.cpp", "dot_product"): "the configuration that it writes",
    ("src/cli/commands/replay.cpp", "listen"): "--wav is refused before a long run, where no processor makes beams",
    ("bench/commands.hpp", "srp_phat"): CUTS_COMPARED,
    ("bench/main.cpp", "srp_phat"): CUTS_COMPARED,
    ("bench/srp_phat/srp_phat_command.cpp", "srp_phat"): CUTS_COMPARED,
    ("src/cli/commands/inspect_statistics.cpp", "levels"): "a heading",
    ("src/files/describe.cpp", "levels"): "a heading",
    ("src/processors/beamform/history/history_maps.cpp", "levels"): "an argument of a kernel",
    ("src/processors/spectrum/spectrum.cpp", "levels"): "an argument of a kernel",
    ("src/core/settings.hpp", "popcount"): "the default of front_end.kind",
    ("src/config/schema/front_end_kinds.cpp", "popcount"): "popcount_order of a processor's own front end",
    ("src/config/settings_of.cpp", "popcount"): "popcount_order of a processor's own front end",
    ("src/engine/engine.cpp", "popcount"): "popcount_order of a processor's own front end",
    ("src/engine/engine_remarks.cpp", "dot_product"): "advice in a warning",
    ("bench/frames/frames_command.cpp", "dot_product"): "an example in a help text",
    ("bench/frames/frames_command.cpp", "popcount"): "an example in a help text",
    ("bench/front_ends/front_ends_report.cpp", "decimated_fft"): FIGURE,
    ("bench/front_ends/front_ends_report.cpp", "dot_product"): FIGURE,
    ("bench/report/front_ends.py", "decimated_fft"): FIGURE,
    ("bench/report/front_ends.py", "dot_product"): FIGURE,
    ("src/core/settings.hpp", "pnah"): FIRST,
    ("src/core/settings.hpp", "sonah"): FIRST,
    ("src/core/settings.cpp", "pnah"): FIRST,
    ("src/core/settings.cpp", "sonah"): FIRST,
    ("src/core/settings.cpp", "operators"): FIRST,
    ("src/config/schema/holography.cpp", "operators"): "the section of its settings",
    ("src/config/schema/holography.cpp", "pnah"): FIRST,
    ("src/config/schema/holography.cpp", "sonah"): FIRST,
    ("src/config/schema/settings.cpp", "sonah"): "an example in config/nearfield.yaml",
    ("src/config/validate.cpp", "pnah"): FIRST,
    ("src/config/validate.cpp", "sonah"): FIRST,
    ("src/engine/engine_remarks.cpp", "pnah"): FIRST,
    ("bench/frames/frame_cases.cpp", "pnah"): FIRST,
    ("bench/here/here.cpp", "pnah"): FIRST,
    ("bench/imager/imager.cpp", "pnah"): IMAGERS_COMPARED,
    ("bench/imager/imager.cpp", "sonah"): IMAGERS_COMPARED,
    ("bench/imager/imager.hpp", "pnah"): IMAGERS_COMPARED,
}


def without_comments(path, text):
    """The text with its comments left out, but for its lines."""
    if path.suffix in (".py", ".cmake", ".txt", ".sh"):
        text = re.sub(r'^\s*(?:r?""".*?""")', lambda match: "\n" * match[0].count("\n"), text, flags=re.S | re.M)
        return re.sub(r"(?m)(^|\s)#.*$", "", text)
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), text, flags=re.S)
    text = re.sub(r"(?m)(^|[^:\"])//.*$", r"\1", text)
    return re.sub(r"std::popcount\b|\bpopcount\(" if path.suffix == ".cl" else r"std::popcount\b", "", text)


def kinds_of(root, table):
    return re.findall(rf"^{TABLES[table]}\((\w+)\)", (root / table).read_text(), re.M)


def is_own(path, kind, table):
    own = (f"{pathlib.PurePosixPath(table).parent}/{kind}/",) + OWN.get(kind, ())
    if table == "src/frontend/kinds.def":
        own += (f"kernels/frontend/{kind}/",)
    return str(path) in TABLES or str(path).startswith(own)


def mentions(kind, text):
    """Lines of a text that name a kind, as a word (dot_product) or in a type's or a constant's name (DotProduct)."""
    if kind in COMMON_WORDS:
        name = re.compile(rf'"{kind}"|\b{kind}_(?:entry|kind)\b')
        return [number for number, line in enumerate(text.split("\n"), 1) if name.search(line)]
    camel = "".join(part.capitalize() for part in kind.split("_"))
    name = re.compile(rf"(?<![a-z0-9]){kind}(?![a-z0-9])|{camel}(?![a-z])")
    return [number for number, line in enumerate(text.split("\n"), 1) if name.search(line)]


def sources(root):
    """{path: text without comments} of all sources."""
    found = {}
    for folder in SOURCES:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in TYPES and file.is_file():
                found[file.relative_to(root)] = without_comments(file, file.read_text())
    return found


def problems_of(kinds, texts, exceptions):
    """kinds: {kind: table}. What is named where it should not be, and the exceptions that nothing needs."""
    problems, used = [], set()
    for kind, table in kinds.items():
        for path, text in texts.items():
            lines = [] if is_own(path, kind, table) else mentions(kind, text)
            if lines and (str(path), kind) in exceptions:
                used.add((str(path), kind))
            elif lines:
                problems.append(f"{path}:{lines[0]}: names {kind}, of which only its own folder and {table} should know")
    problems += [f"{path}: no longer names {kind}; take it off the exceptions" for path, kind in exceptions if (path, kind) not in used]
    return problems


def missing_parts(root, kinds):
    """Each kind has its settings, its test and its page."""
    problems = []
    pages = "\n".join(page.read_text() for page in sorted((root / "docs").rglob("*.md")))
    for kind, table in kinds.items():
        folder = root / pathlib.PurePosixPath(table).parent / kind
        folders = [folder] if folder.is_dir() else [root / own for own in OWN.get(kind, ()) if (root / own).is_dir()]
        if not any((one / "settings.cpp").is_file() for one in folders):
            problems.append(f"{table}: {kind} has no settings.cpp in its folder")
        if f"`{kind}`" not in pages:
            problems.append(f"{table}: no page of docs/ names `{kind}`")
    return problems


def check_the_check(kinds, texts):
    """Mentions outside must be found: as a word, in a type's name and in a branch; comments and functions must not."""
    named = {
        pathlib.Path("src/pipeline/new.cpp"): 'if (kind == "popcount") {',
        pathlib.Path("src/daemon/new.cpp"): "const DotProduct product;",
        pathlib.Path("bench/new.py"): 'KINDS = ["beamform"]',
        pathlib.Path("src/daemon/other.cpp"): 'if (header.kind == "spectrum") {',
    }
    silent = {
        pathlib.Path("src/stream/new.cpp"): "// popcount\nint bits = std::popcount(word);  // as beamform",
        pathlib.Path("kernels/frontend/new.cl"): "/* dot_product */ x = popcount(y);",
    }
    texts = {**texts, **{path: without_comments(path, text) for path, text in {**named, **silent}.items()}}
    found = problems_of(kinds, texts, EXCEPTIONS)
    return [f"{path}: a mention that is not found" for path in named if not any(one.startswith(f"{path}:") for one in found)] + \
           [f"{path}: no mention, but found as one" for path in silent if any(one.startswith(f"{path}:") for one in found)]


def main():
    root = pathlib.Path(sys.argv[1])
    kinds = {kind: table for table in TABLES for kind in kinds_of(root, table)}
    texts = sources(root)
    problems = problems_of(kinds, texts, EXCEPTIONS) + missing_parts(root, kinds) + check_the_check(kinds, texts)
    print("\n".join(problems) or f"{len(kinds)} kinds, each named in its own files, {len(EXCEPTIONS)} exceptions apart")
    return 1 if problems or not kinds else 0


if __name__ == "__main__":
    sys.exit(main())
