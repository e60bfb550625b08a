#!/usr/bin/env python3
"""cmake/embed_kernels.py: what a file gets of those that it needs, names of arguments, and each error with its place."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).parents[2] / "cmake" / "embed_kernels.py"
sys.path.insert(0, str(SCRIPT.parent))
import embed_kernels  # noqa: E402


def read(files):
    """{path: text} as a folder named kernels."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "kernels"
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return embed_kernels.read(root, "kernels")


def program(files, path):
    files = read(files)
    pieces, kernels = embed_kernels.program_of(files, path)
    return "".join(files[piece_path].pieces[number] for piece_path, number in pieces), kernels


def problem(files):
    try:
        embed_kernels.cpp_of(read(files))
    except embed_kernels.KernelError as error:
        return str(error)
    return ""


class Tree(unittest.TestCase):
    def users_of(self, pattern):
        """Kernel files that have a line with it, apart from comments."""
        kernels = SCRIPT.parents[1] / "kernels"
        return {path.relative_to(kernels).as_posix() for path in kernels.rglob("*.cl")
                for line in path.read_text().splitlines() if re.search(pattern, line.partition("//")[0])}

    def test_takes_dot_of_three_or_four_numbers_alone(self):
        """docs/decisions/0038: of float2 there is squared_magnitude()."""
        self.assertLessEqual(self.users_of(r"\bdot\("), {"imaging/spectrum_record.cl", "processors/srp_phat.cl", "processors/srp_phat/peel.cl"})

    def test_makes_no_nan_of_a_product_with_zero(self):
        """Mesa's compilers take 0 x for 0 whatever x is."""
        self.assertEqual(self.users_of(r"(?<![\w.])0\.0f? \*|\* 0\.0f?(?![\w.])"), set())


class Script(unittest.TestCase):
    def test_writes_nothing_and_fails_where_something_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "kernels"
            root.mkdir()
            (root / "a.cl").write_text("//! needs b.cl\n")
            output = pathlib.Path(folder) / "out.cpp"
            done = subprocess.run([sys.executable, "-B", SCRIPT, root, output], stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, "kernels/a.cl:1: needs b.cl, which is not there\n"))
            self.assertFalse(output.exists())
            (root / "b.cl").write_text("B\n")
            subprocess.run([sys.executable, "-B", SCRIPT, root, output], check=True)
            written = output.read_text()
            self.assertIn('constexpr std::string_view kTexts0[] = {kText0};', written)
            self.assertIn('{"a.cl", kTexts0, {}}', written)


class Needs(unittest.TestCase):
    def test_come_first_and_once(self):
        files = {"a/x.cl": "X1\n//! needs a/y.cl\n//! needs b/z.cl\nX2\n", "a/y.cl": "//! needs b/z.cl\nY\n",
                 "b/z.cl": "Z\n"}
        self.assertEqual(program(files, "a/x.cl")[0], "X1\nZ\nY\nX2\n")
        self.assertEqual(program(files, "b/z.cl")[0], "Z\n")

    def test_without_a_line_feed_at_the_end(self):
        files = {"x.cl": "//! needs y.cl\nX", "y.cl": "// Y"}
        self.assertEqual(program(files, "x.cl")[0], "// Y\nX\n")

    def test_of_a_file_that_is_not_there(self):
        self.assertEqual(problem({"a/x.cl": "\n//! needs a/y.cl\n"}),
                         "kernels/a/x.cl:2: needs a/y.cl, which is not there")

    def test_in_a_circle(self):
        files = {"a.cl": "//! needs b.cl\n", "b.cl": "// one\n//! needs c.cl\n", "c.cl": "//! needs b.cl\n"}
        self.assertEqual(problem(files), "kernels/c.cl:1: a circle: a.cl needs b.cl needs c.cl needs b.cl")
        self.assertEqual(problem({"a.cl": "//! needs a.cl\n"}), "kernels/a.cl:1: a circle: a.cl needs a.cl")

    def test_that_depend_on_macros(self):
        self.assertEqual(problem({"a.cl": "#if A\n//! needs b.cl\n#endif\n", "b.cl": ""}),
                         "kernels/a.cl:2: a need below #if: move it up, and put what it brings below the #if")
        self.assertEqual(program({"a.cl": "#ifndef A\n#define A\n#endif\n//! needs b.cl\n", "b.cl": "B\n"}, "a.cl")[0],
                         "#ifndef A\n#define A\n#endif\nB\n")

    def test_in_other_words(self):
        self.assertEqual(problem({"a.cl": "//! need b.cl\n"}),
                         'kernels/a.cl:1: expected "//! needs FOLDER/NAME.cl", "//! default NAME VALUE" or "//! arena NAME ...", '
                         'found "//! need b.cl"')


class Macros(unittest.TestCase):
    def test_have_defaults_below_any_condition(self):
        text = "#if A\n//! default B (2 * C)  // a size\n//! default D V(1.0f) V(0.0f)\n#endif\n"
        self.assertEqual(program({"a.cl": text}, "a.cl")[0], "#if A\n#ifndef B\n#define B (2 * C)\n#endif\n"
                         "#ifndef D\n#define D V(1.0f) V(0.0f)\n#endif\n#endif\n")

    def test_of_places_in_an_arena_are_0_without_one(self):
        self.assertEqual(program({"a.cl": "//! arena SUMS STATE_A\n"}, "a.cl")[0],
                         "#ifndef HAS_ARENA\n#define SUMS_AT 0\n#define STATE_A_AT 0\n#endif\n")

    def test_without_a_value(self):
        for line in ("//! default A", "//! default A // a", "//! arena", "//! arena A, B"):
            self.assertIn(f'found "{line}"', problem({"a.cl": line + "\n"}))


class Arguments(unittest.TestCase):
    def names(self, text):
        return program({"a.cl": text}, "a.cl")[1]

    def test_of_any_form(self):
        text = """// kernel void no(int a)
          __kernel __attribute__((reqd_work_group_size(SIZE(1, 2), 1, 1))) void one(__global const float2* restrict a,
            /* kernel void no(int b) */ __global uint *b, const ulong c, __local float4* d) {}
          kernel void two() {}"""
        self.assertEqual(self.names(text), {"one": [["a", "b", "c", "d"], 4], "two": [[], 0]})

    def test_that_depend_on_macros_are_the_last(self):
        self.assertEqual(self.names("__kernel void k(int a\n#if A  // only\n  , int b,\n  int c\n#endif\n) {}"),
                         {"k": [["a", "b", "c"], 1]})
        expected = "kernels/a.cl:1: k: expected arguments that depend on macros as the last ones, below one #if without #else"
        for text in ("#if A\nint a,\n#endif\nint b", "int a\n#if A\n, int b\n#else\n, int c\n#endif\n",
                     "int a\n#if A\n, int b\n#endif\n#if B\n, int c\n#endif\n", "int a\n#if A\n, int b\n"):
            self.assertEqual(problem({"a.cl": f"__kernel void k({text}) {{}}"}), expected)

    def test_of_one_name_twice(self):
        self.assertEqual(problem({"a.cl": "\nkernel void k(int a, int a) {}"}),
                         "kernels/a.cl:2: k: two arguments have the same name")

    def test_without_a_name(self):
        self.assertEqual(problem({"a.cl": "kernel void k(int) {}"}),
                         'kernels/a.cl:1: k: expected a type and a name, found "int"')

    def test_of_a_kernel_that_is_there_twice(self):
        files = {"a.cl": "//! needs b.cl\nkernel void k(int a) {}", "b.cl": "kernel void k(int b) {}"}
        self.assertEqual(problem(files), "kernels/a.cl:2: a second kernel k in the program of a.cl")

    def test_of_an_unfinished_kernel(self):
        self.assertEqual(problem({"a.cl": "kernel void k(int a {}"}), "kernels/a.cl:1: a parenthesis is not closed")
        self.assertEqual(problem({"a.cl": "kernel int k() {}"}),
                         "kernels/a.cl:1: expected a kernel's attributes, void and its name")


if __name__ == "__main__":
    unittest.main()
