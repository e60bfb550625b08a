#!/usr/bin/env python3
"""Folders depend one way (docs/how/layout.md): a file includes headers of its own folder and of what its CMake target links, directly or
not, and the links have no circle. The compiler cannot hold this, since all folders share the include root src/. Nor do the modules of
the live page import each other in circles.

    directions_test.py SOURCE_DIR LINK_GRAPH

LINK_GRAPH is written by cmake/link_graph.cmake: one line a target, with its name, what it links and its sources, separated by tabs, the
last two by semicolons. A list such as processors/kinds.def, which includes nothing, may be included anywhere.
"""
import pathlib
import re
import sys
import tempfile
import unittest

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
HEADERS = (".hpp", ".h")


def read_graph(path):
    """{target: (linked targets, sources)}"""
    graph = {}
    for line in pathlib.Path(path).read_text().splitlines():
        name, links, sources = line.split("\t")
        graph[name] = ([link for link in links.split(";") if link], [source for source in sources.split(";") if source])
    return graph


def reached(graph, target):
    """What `target` links, directly or not, without itself unless there is a circle."""
    found, waiting = set(), list(graph[target][0])
    while waiting:
        link = waiting.pop()
        if link in graph and link not in found:
            found.add(link)
            waiting += graph[link][0]
    return found


def folder_of(root, path):
    """The folder of src/ in which a file lies, or None."""
    try:
        return pathlib.Path(path).resolve().relative_to(root / "src").parts[0]
    except ValueError:
        return None


def files_of(root, name, sources):
    """A target's sources; the headers of a folder belong to the folder's target."""
    files = [pathlib.Path(source) for source in sources if pathlib.Path(source).is_file()]
    folder = root / "src" / name.removeprefix("nearfield_")
    if name.startswith("nearfield_") and folder.is_dir():
        files += [path for path in folder.rglob("*") if path.suffix in HEADERS]
    return files


def headers_apart(root, graph, target):
    """Headers of sources that a target or what it links has in another folder, such as a kind's settings in nearfield_config."""
    found = set()
    for name in reached(graph, target) | {target}:
        for source in graph[name][1]:
            path = pathlib.Path(source).resolve()
            if name.startswith("nearfield_") and folder_of(root, path) not in (None, name.removeprefix("nearfield_")):
                found |= {path.with_suffix(suffix) for suffix in HEADERS}
    return found


def problems(root, graph):
    root = pathlib.Path(root).resolve()
    found = [f"{target}: links itself, through {', '.join(sorted(reached(graph, target)))}"
             for target in graph if target in reached(graph, target)]
    for target, (_, sources) in sorted(graph.items()):
        visible = {link.removeprefix("nearfield_") for link in reached(graph, target)} | {target.removeprefix("nearfield_")}
        if not target.startswith("nearfield_"):  # a program may be made of a folder's sources
            visible |= {folder_of(root, source) for source in sources}
        apart = headers_apart(root, graph, target)
        for path in files_of(root, target, sources):
            own = folder_of(root, path)
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                folder = name.split("/")[0]
                included = root / "src" / name
                if not included.is_file() or (included.suffix == ".def" and not INCLUDE.search(included.read_text())):
                    continue
                is_own = folder == own and (own == target.removeprefix("nearfield_") or not target.startswith("nearfield_"))
                if folder not in visible and not is_own and included.resolve() not in apart:
                    found.append(f"{path}: includes {name}, but {target} does not link nearfield_{folder}")
    return found


# Folders whose interface and table of kinds both lie at the top, so that top and subfolders include each other.
INTERFACE_AT_TOP = {"config", "daemon", "files", "frontend", "simulate", "stream"}


def circles_inside(folder, counts_top=True):
    """Subfolders of a folder of src/, and "." for its own files, that include each other's headers, directly or through others."""
    arrows = {}
    for path in folder.rglob("*"):
        if path.suffix not in HEADERS + (".cpp", ".c"):
            continue
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            included = folder.parent / name
            if not included.is_file() or not included.is_relative_to(folder):
                continue
            one, other = (relative.parts[0] if len(relative.parts) > 1 else "."
                          for relative in (path.relative_to(folder), included.relative_to(folder)))
            if one != other and (counts_top or "." not in (one, other)):
                arrows.setdefault(one, set()).add(other)
    graph = {one: (list(others), []) for one, others in arrows.items()}
    return sorted(one for one in graph if one in reached(graph, one))


IMPORT = re.compile(r'\b(?:from|import)\s*\(?\s*"\./([^"]+)"')
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)  # where types are imported, which are there for the check alone


def module_circles(folder):
    """JavaScript modules of a folder that import each other, directly or through others."""
    graph = {path.name: (IMPORT.findall(COMMENT.sub("", path.read_text(encoding="utf-8"))), []) for path in folder.glob("*.js")}
    return sorted(one for one in graph if one in reached(graph, one))


class ThisTree(unittest.TestCase):
    def test_folders_depend_one_way(self):
        graph = read_graph(GRAPH)
        folders = {path.name for path in (SOURCE / "src").iterdir() if path.is_dir()} - {"cli"}  # whose target is `nearfield`
        self.assertEqual({f"nearfield_{folder}" for folder in folders} - graph.keys(), set(), "every folder has its target")
        self.assertEqual(problems(SOURCE, graph), [])

    def test_no_circles_inside_a_folder(self):
        for folder in (SOURCE / "src").iterdir():
            if folder.is_dir():
                self.assertEqual(circles_inside(folder, folder.name not in INTERFACE_AT_TOP), [], folder.name)

    def test_no_circles_of_the_pages_modules(self):
        folder = SOURCE / "src/page/assets"
        self.assertGreater(len(list(folder.glob("*.js"))), 10)
        self.assertEqual(module_circles(folder), [])


class TheCheck(unittest.TestCase):
    """A tree of two folders, `low` and `high`, of which high links low."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("low/low.hpp", "")
        self.write("high/high.hpp", '#include "low/low.hpp"\n')
        self.graph = {"nearfield_low": ([], [self.write("low/low.cpp", '#include "low/low.hpp"\n')]),
                      "nearfield_high": (["nearfield_low", "other::library"], [self.write("high/high.cpp", "")])}

    def write(self, name, text):
        path = self.root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def test_the_right_direction_passes(self):
        self.assertEqual(problems(self.root, self.graph), [])

    def test_a_source_that_looks_up(self):
        self.write("low/low.cpp", '#include "high/high.hpp"\n')
        self.assertEqual(problems(self.root, self.graph), [
            f"{self.root}/src/low/low.cpp: includes high/high.hpp, but nearfield_low does not link nearfield_high"])

    def test_a_header_that_looks_up(self):
        self.write("low/deep/also.hpp", '  # include "high/high.hpp"\n')
        self.assertEqual(len(problems(self.root, self.graph)), 1)

    def test_a_circle_inside_a_folder(self):
        self.write("low/one/one.hpp", '#include "low/two/two.hpp"\n')
        self.write("low/two/two.hpp", "")
        self.assertEqual(circles_inside(self.root / "src/low"), [])
        self.write("low/two/deep/two.cpp", '#include "low/one/one.hpp"\n')
        self.assertEqual(circles_inside(self.root / "src/low"), ["one", "two"])

    def test_a_circle_of_modules(self):
        self.write("page/store.js", '/** @type {import("./view.js").View} */\nexport const store = 1;\n')
        self.write("page/link.js", 'import {\n  store,\n} from "./store.js";\n')
        self.write("page/view.js", 'import "./link.js";\n')
        self.assertEqual(module_circles(self.root / "src/page"), [])
        for words in ('import { view } from "./view.js";', 'import "./view.js";', 'export * from "./view.js";', 'await import("./view.js");'):
            self.write("page/store.js", words)
            self.assertEqual(module_circles(self.root / "src/page"), ["link.js", "store.js", "view.js"], words)

    def test_a_program_sees_only_what_it_links(self):
        main = self.root / "tests/main.cpp"
        main.parent.mkdir()
        main.write_text('#include "high/high.hpp"\n')
        self.graph["program"] = (["nearfield_low"], [str(main)])
        self.assertEqual(len(problems(self.root, self.graph)), 1)
        self.graph["program"] = (["nearfield_high"], [str(main)])
        self.assertEqual(problems(self.root, self.graph), [])

    def test_a_source_in_anothers_folder_brings_its_own_header_alone(self):
        self.write("high/settings.hpp", "")
        settings = self.write("high/settings.cpp", '#include "high/settings.hpp"\n')
        self.graph["nearfield_low"][1].append(settings)
        self.assertEqual(problems(self.root, self.graph), [])
        self.write("high/settings.cpp", '#include "high/high.hpp"\n')
        self.assertEqual(len(problems(self.root, self.graph)), 1)

    def test_a_circle(self):
        self.graph["nearfield_low"][0].append("nearfield_high")
        self.assertEqual(len(problems(self.root, self.graph)), 2, "of both")

    def test_a_list_may_be_included_but_no_header_by_another_name(self):
        self.write("low/low.cpp", '#include "high/kinds.def"\n')
        self.write("high/kinds.def", "KIND(one)\n")
        self.assertEqual(problems(self.root, self.graph), [])
        self.write("high/kinds.def", '#include "high/high.hpp"\n')
        self.assertEqual(len(problems(self.root, self.graph)), 1)


if __name__ == "__main__":
    SOURCE, GRAPH = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
