#!/usr/bin/env python3
"""Writes a C++ file that holds the files of the live page.

    embed_page.py FOLDER OUTPUT [NAME=FILE...]

Every file below FOLDER is served under its path there, each FILE under the given NAME; a file of a kind that is not in TYPES is an error.
src/page/assets.hpp describes what the C++ file holds.
"""
import argparse
import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png", ".txt": "text/plain; charset=utf-8"}
LINE_BYTES = 120


def literal(content):
    """Adjacent string literals of all bytes. An octal escape has three digits, so that no digit behind it joins it."""
    text = []
    for begin in range(0, len(content), LINE_BYTES):
        line = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
                       for byte in content[begin:begin + LINE_BYTES])
        text.append(f'    "{line}"')
    return "\n".join(text) or '    ""'


def cpp_of(files):
    lines = ['#include "page/assets.hpp"', "", "// Longer than the 65536 bytes that every compiler has to take; GCC and Clang take more.",
             '#pragma GCC diagnostic ignored "-Woverlength-strings"', "", "namespace nearfield::page {", "namespace {", ""]
    entries = []
    for number, (name, content) in enumerate(sorted(files.items())):
        kind = TYPES.get(pathlib.PurePosixPath(name).suffix)
        if kind is None:
            raise ValueError(f"{name}: expected a file of one of the kinds {', '.join(TYPES)}")
        lines += [f"constexpr char kBytes{number}[] =", literal(content) + ";"]
        tag = hashlib.sha256(content).hexdigest()[:16]
        entries.append(f'    {{"/{name}", "{kind}", "\\"{tag}\\"", {{kBytes{number}, {len(content)}}}}},')
    lines += ["", "constexpr Asset kTable[] = {", *entries, "};", "", "}  // namespace", "",
              "std::span<const Asset> embedded_assets() { return kTable; }", "", "}  // namespace nearfield::page", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("others", nargs="*", metavar="NAME=FILE")
    options = parser.parse_args()
    files = {path.relative_to(options.folder).as_posix(): path.read_bytes()
             for path in sorted(options.folder.rglob("*")) if path.is_file()}
    for other in options.others:
        name, _, path = other.partition("=")
        files[name] = pathlib.Path(path).read_bytes()
    try:
        text = cpp_of(files)
    except ValueError as problem:
        sys.exit(str(problem))
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
