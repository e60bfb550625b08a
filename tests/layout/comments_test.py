#!/usr/bin/env python3
"""Comments in src, include, kernels, bench and python/src say from their first word on what a thing is (CONTRIBUTING.md), in the words of the field.

A block is one /* */, or the // or # comments of lines that follow each other in one column, or a docstring; only its first word counts, also behind code.
"""
import io
import pathlib
import re
import tokenize
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = re.compile(r"(?:of|those|these|that|who|which|what|where|whether|how|as)\b"  # a clause without its subject
                   r"|the same(?:[.,;:]|$| (?:as|at|back|but|by|for|from|in|into|of|on|over|that|to|up|where|which|with|without)\b)", re.I)
IDIOM = [(re.compile(pattern), reason) for pattern, reason in (
    (r"(?i)patience", "\"timeout\" is the field's word"),
    (r"\bk?[Hh]ouse(?!keep|hold)\w*", "\"housekeeping\" names the work; \"house\" names a building"),
    (r"(?i)\blook(?:s|ed|ing)? whether\b", "a program checks whether something holds"),
    (r"(?i)\bpassed over\b", "data are skipped, or discarded; the two differ"),
    (r"(?i)\bbe had\b", "say what is missing: \"is not available\", \"does not exist\""),
    (r"(?i)\b(?:come|comes|coming) round\b", "a loop runs again, or a thread wakes up"))]
TOKEN = re.compile(r'(?P<text>R"([^ ()\\]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\')'
                   r"|(?P<directive>//! [^/\n]*(?:/\w[^/\n]*)*|//(?: *NOLINT| clang-format )[^\n]*)|(?P<comment>/\*.*?\*/|//[^\n]*)", re.DOTALL)
MARK = re.compile(r"^\s*(?://[/!]*<?|/\*+<?|\*+(?!/))|\*/$")


def blocks(text):
    """[line, words] of each block of comments."""
    found, last = [], None
    for token in TOKEN.finditer(text):
        if not token["comment"]:
            continue
        line, before = text.count("\n", 0, token.start()) + 1, text[text.rfind("\n", 0, token.start()) + 1:token.start()]
        rows = [MARK.sub("", row).strip() for row in token["comment"].split("\n")]
        if token["comment"].startswith("//") and last == (line - 1, len(before)) and not before.strip():
            found[-1][1] += " " + rows[0]
        else:
            found.append([line, " ".join(rows).strip()])
        last = (line, len(before))
    return found


def python_blocks(text):
    """[line, words] of each block of comments and each docstring, and the words of the code, a text for each line."""
    found, code, last, starts_statement = [], [""] * (text.count("\n") + 1), None, True
    for kind, words, (line, column), *_ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind == tokenize.COMMENT:
            if last == (line - 1, column) and not code[line - 1]:
                found[-1][1] += " " + words.strip("#! ")
            else:
                found.append([line, words.strip("#! ")])
            last = (line, column)
        elif kind == tokenize.STRING and starts_statement:
            found.append([line, " ".join(words.strip("rRbBfF\"'").split())])
        elif kind == tokenize.NAME:
            code[line - 1] += words + " "
        starts_statement = kind in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT) or starts_statement and kind in (tokenize.NL, tokenize.COMMENT)
    return found, code


def offences(text, is_python=False):
    """(line, problem) of each offence."""
    comments, code = python_blocks(text) if is_python else (blocks(text), TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), text).split("\n"))
    yield from ((line, f"begins with a clause: {words[:60]}") for line, words in comments if FIRST.match(words))
    for line, words in comments + list(enumerate(code, 1)):
        yield from ((line, f"{match[0]}: {reason}") for pattern, reason in IDIOM for match in pattern.finditer(words))


def offences_of(root):
    found = []
    for path in sorted(path for top in ("bench", "include", "kernels", "python/src", "src") for path in (root / top).rglob("*")):
        if path.suffix in (".c", ".h", ".cpp", ".hpp", ".cl", ".def", ".py"):  # the rest of src/ is the live page's
            found += [f"{path.relative_to(root)}:{line}: {what}" for line, what in offences(path.read_text(encoding="utf-8"), path.suffix == ".py")]
    return found


class ThisTree(unittest.TestCase):
    def test_comments_say_what_a_thing_is(self):
        self.assertEqual(offences_of(ROOT), [])


class TheCheck(unittest.TestCase):
    def test_examples(self):
        for count, text in ((0, "// Number of those\n// of which it is true\n"), (1, "/// oF those\n///\n/// Which\n"), (0, "// Officer"),
                            (2, "int a;  ///< of\nint b;  ///< which\n"), (1, "int a;  ///< of\n        ///< which\nint b;\n"),
                            (1, "/* What\n * how */"), (0, "/* A\n * how */"), (2, "// NOLINT\n// As\nint a;\n// As\n"),
                            (0, 'f("// Of", R"(// As)", \'"\');'), (1, "int n = 1'000;  // of 'a'"), (1, "// The same, filled"),
                            (0, "// The same windows"), (0, "//! needs a.cl"), (2, "// A\n  // As\n// As"), (1, "// It looks\n// whether"),
                            (2, "int kPatience;  // be\nint kHouseNs;"), (0, "int housekeeping_s; Householder a; // two passes over"),
                            (2, "// comes round, passed over"), (0, 'f("be had");')):
            with self.subTest(text):
                self.assertEqual(len(list(offences(text))), count)

    def test_examples_of_python(self):
        for count, text in ((1, "# Of a\n# of b\n"), (0, "a = 1  # one\n# and\n# of b\n".replace("# and", "# And")), (1, 'def f():\n    """What it does."""\n'), (0, 'print("What")\n'),
                            (2, "a = 1  # of b\nb = 1\nc = 2  # of d\n"), (1, "patience = 1\n"), (0, "f(\n  'Of a')\n"), (1, '# A\n\n"""Of a."""\n')):
            with self.subTest(text):
                self.assertEqual(len(list(offences(text, True))), count)


if __name__ == "__main__":
    unittest.main()
