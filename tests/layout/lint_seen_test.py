#!/usr/bin/env python3
"""./dev lint skips files of which nothing but layout, comments and own includes has changed since they passed (.ci/lint_seen.py)."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci/lint_seen.py"
sys.path.insert(0, str(SCRIPT.parent))
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


class Unseen(unittest.TestCase):
    """A tree of two files that include one header, of which a commit is behind the one that it goes into."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "tree"
        for name, text in ((".clang-tidy", ""), (".ci/lint_seen.py", SCRIPT.read_text(encoding="utf-8")), ("src/a.hpp", "int a;\n"),
                           ("src/one.cpp", '#include "a.hpp"\nint one;\n'), ("src/two.cpp", '#include "a.hpp"\nint two;\n')):
            self.write(name, text)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e", *words], check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "message")

    def run_script(self, *words, cache="cache"):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.root.parent / cache)}
        return subprocess.run([sys.executable, "-B", self.root / ".ci/lint_seen.py", *words], check=True, capture_output=True, text=True, env=environment).stdout.split()

    def new(self, commit="", **options):
        return self.run_script("new", commit, "src/one.cpp", "src/two.cpp", **options)

    def test_a_machine_without_a_cache_looks_at_what_the_commits_change(self):
        self.write("src/two.cpp", '#include "a.hpp"\nint three;\n')
        self.commit()
        self.assertEqual(self.new("HEAD"), [])
        self.assertEqual(self.new("HEAD~1", cache="other"), ["src/two.cpp"])
        self.assertEqual(self.new(cache="third"), ["src/two.cpp"], "without a tag: 50 commits, of which this tree has two")
        self.write(".clang-tidy", "Checks: '*'\n")
        self.assertEqual(self.new("HEAD", cache="fourth"), ["src/one.cpp", "src/two.cpp"])
        with self.assertRaises(subprocess.CalledProcessError):
            self.new("nonsense", cache="fifth")

    def test_code_is_looked_at_until_it_has_passed(self):
        self.assertEqual(self.new("HEAD"), [])
        self.write("src/one.cpp", '#include "a.hpp"\nint one;  // the first\n')
        self.assertEqual(self.new(), [])
        self.write("src/one.cpp", '#include "a.hpp"\nint first;\n')
        self.commit()
        self.assertEqual(self.new(), ["src/one.cpp"])
        self.run_script("passed", "src/one.cpp")
        self.assertEqual(self.new(), [])

    def test_a_header_is_looked_at_in_one_file(self):
        self.assertEqual(self.new("HEAD"), [])
        self.write("src/a.hpp", "int b;\n")
        self.assertEqual(self.new(), ["src/one.cpp"])
        self.run_script("passed", "src/two.cpp")
        self.assertEqual(self.new(), [])


if __name__ == "__main__":
    unittest.main()
