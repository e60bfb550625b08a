"""Pages of interfaces name all that these have: docs/reference/c_api.md each function, structure and constant of nearfield.h, docs/reference/python.md each public
name of the package with the public members of its classes.

    interfaces_test.py SOURCE_TREE
"""

import ast
import pathlib
import re
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
PACKAGE = TREE / "python/src/nearfield"


def missing(names, page):
    """Those that stand nowhere in a page as a whole word in code."""
    code = " ".join(re.findall(r"```.*?```|`[^`\n]+`", page, re.S))
    return sorted(name for name in names if not re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", code))


def names_of_header(text):
    """Functions, types and constants that a C header declares; the statuses, whose numbers the page explains, by their type."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    functions = re.findall(r"\b(nf_\w+)\(", text)
    types = re.findall(r"^typedef \w+ (?:nf_\w+ )?(nf_\w+);|^} (nf_\w+);", text, re.M)
    constants = re.findall(r"\b(NF_(?:INPUT|ENGINE)_\w+) =", text)
    return {*functions, *(a or b for a, b in types), *constants}


def members_of(tree):
    """Names without an underscore of each class: fields with a type, methods and properties."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fields = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
            methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            yield node.name, {name for name in fields | methods if not name.startswith("_")}


def names_of_package():
    initial = ast.parse((PACKAGE / "__init__.py").read_text())
    public = next(ast.literal_eval(node.value) for node in initial.body
                  if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    names = set(public)
    for module in PACKAGE.glob("*.py"):
        for name, members in members_of(ast.parse(module.read_text())):
            names |= members if name in public else set()
    return names


class Interfaces(unittest.TestCase):
    def test_the_page_names_all_of_the_header(self):
        names = names_of_header((TREE / "include/nearfield/nearfield.h").read_text())
        self.assertLessEqual({"nf_engine_open", "nf_engine_find_product", "nf_engine", "nf_engine_frame", "nf_status", "NF_INPUT_BITS"}, names)
        self.assertEqual(missing(names, (TREE / "docs/reference/c_api.md").read_text()), [])

    def test_the_page_names_all_of_the_package(self):
        names = names_of_package()
        self.assertLessEqual({"Engine", "push", "latest", "read_mdf4", "to_xarray", "age_s"}, names)
        self.assertEqual(missing(names, (TREE / "docs/reference/python.md").read_text()), [])

    def test_a_name_that_is_not_there_is_found_missing(self):
        self.assertEqual(missing({"nf_engine_next", "nf_engine_nex", "engine"}, "`nf_engine_next`, engine"), ["engine", "nf_engine_nex"])
        self.assertEqual(names_of_header("nf_status nf_do(int a); /* nf_no(x) */\ntypedef struct nf_x {\n} nf_x;\ntypedef struct nf_y nf_y;"),
                         {"nf_do", "nf_x", "nf_y"})


if __name__ == "__main__":
    unittest.main()
