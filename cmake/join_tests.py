#!/usr/bin/env python3
"""Joins files of tests into one translation unit.

join_tests.py OUTPUT FILE...

Files of tests share names, each in its one unnamed namespace: in the joined file, each has a named one of its own inside. Compilers and
failures name the lines of the files themselves.
"""
import pathlib
import re
import sys


def joined(path: pathlib.Path) -> str:
    """The text of `path` in a namespace of its own, if it is one that begins and ends as those of tests do."""
    text, begins = re.subn(r"^namespace \{$", f"namespace {{ namespace {path.stem} {{", path.read_text(), flags=re.M)
    text, ends = re.subn(r"^\}  // namespace$", "} }  // namespace", text, flags=re.M)
    if begins != 1 or ends != 1:
        sys.exit(f'join_tests.py: expected one line "namespace {{" and one "}}  // namespace" in {path}, found {begins} and {ends}')
    return f'#line 1 "{path}"\n{text}'


output, *files = map(pathlib.Path, sys.argv[1:])
output.write_text("".join(map(joined, files)))
