#!/usr/bin/env python3
"""./dev lint passes over files of which nothing but layout, comments and own includes has changed (.ci/lint_seen.py)."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / ".ci"))
from lint_seen import code_of  # noqa: E402


class CodeOf(unittest.TestCase):
    def test_comments_and_layout_are_no_code(self):
        for one, other in (("int a;  // old\n", "int a;\n"), ("f(1,\n  2);", "f(1, 2);"), ("/// Of a\nint a;", "/// A.\nint a;"),
                           ("a = 1'000;  // of 'b'\n", "a = 1'000;  // it's b\n"), ('s = "//";  // a', 's = "//";  // b'), ('#include "a/b.hpp"\nint a;', '#include "b.hpp"\nint a;')):
            self.assertEqual(code_of(one).strip(), code_of(other).strip(), one)

    def test_whatever_clang_tidy_judges_is(self):
        for one, other in (('s = "// a";', 's = "// b";'), ('s = R"(/* a */)";', 's = R"(/* b */)";'), ("int a;  // NOLINT(x)\n", "int a;\n"),
                           ("f(/*a=*/1);", "f(/*b=*/1);"), ("c = '/'; // a\nint d;", "c = '/'; // a\nint e;"), ("/* // */ int a;", "/* // */ int b;"),
                           ("a = 1'000; // b\nint c;", "a = 1'001; // b\nint c;"), ("#include <a>\n", "#include <b>\n")):
            self.assertNotEqual(code_of(one), code_of(other), one)


if __name__ == "__main__":
    unittest.main()
