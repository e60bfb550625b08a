#!/usr/bin/env python3
"""Writes a C++ file that holds each .cl file below a folder with the files that it needs and its kernels' arguments.

    //! needs common/moments.cl

on a line of its own says that a file needs another one, by its path below the folder. That file's text stands in place
of the line, unless it already stands further up: as an #include that happens once. A file that is not there, a circle,
a line below #if and an argument whose place would depend on macros are errors, said as FILE:LINE: what is wrong.

    //! default GROUP 64  // items per group
    //! arena GAINS MASKED

stand for a macro's definition where no option of the compiler defines it, and for GAINS_AT and MASKED_AT, bytes from an
arena's start, each 0 where there is no arena (HAS_ARENA): so each file compiles alone.

The text of a file is stored once, cut at those lines; src/cl/program_cache.hpp describes what the C++ file holds.
"""
import argparse
import pathlib
import re
import sys

NEEDS = re.compile(r"//! needs ([\w/]+\.cl)")
DEFAULT = re.compile(r"//! default (\w+) ([^\s/].*?)(?:  // .*)?")
ARENA = re.compile(r"//! arena((?: \w+)+)")
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")
KERNEL = re.compile(r"\b(?:__kernel|kernel)\b")


class KernelError(Exception):
    """What is wrong with a kernel file; the text begins with the place."""


def without_comments(source):
    """Blanks in place of comments, so that places stay as they are."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, source, flags=re.S)


def closing(text, opening):
    """Place of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError("a parenthesis is not closed")


class KernelFile:
    """One .cl file: its pieces between the needs, (needed path, line) or text, and its kernels."""

    def __init__(self, path, source, place):
        self.path = path
        self.place = place  # for messages, of the folder
        self.pieces = []
        self.kernels = []
        self._cut(source)
        self._find_kernels(without_comments(source))

    def error(self, line, text):
        return KernelError(f"{self.place}/{self.path}:{line}: {text}")

    def _cut(self, source):
        depth = 0
        text = ""
        for line, content in enumerate(source.splitlines(keepends=True), 1):
            if condition := CONDITION.match(content):
                depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(condition.group(1), 0)
            if not content.lstrip().startswith("//!"):
                text += content if content.endswith("\n") else content + "\n"
                continue
            if default := DEFAULT.fullmatch(content.rstrip()):
                text += "#ifndef {0}\n#define {0} {1}\n#endif\n".format(*default.groups())
                continue
            if arena := ARENA.fullmatch(content.rstrip()):
                places = "".join(f"#define {name}_AT 0\n" for name in arena.group(1).split())
                text += f"#ifndef HAS_ARENA\n{places}#endif\n"
                continue
            needs = NEEDS.fullmatch(content.rstrip())
            if not needs:
                raise self.error(line, 'expected "//! needs FOLDER/NAME.cl", "//! default NAME VALUE" or '
                                       f'"//! arena NAME ...", found "{content.strip()}"')
            if depth > 0:
                raise self.error(line, "a need below #if: move it up, and put what it brings below the #if")
            self.pieces += [text, (needs.group(1), line)]
            text = ""
        self.pieces.append(text)
        self.pieces = [piece for piece in self.pieces if piece]

    def _find_kernels(self, text):
        for found in KERNEL.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            try:
                self.kernels.append(self._kernel(text, found.end(), line))
            except ValueError as problem:
                raise self.error(line, str(problem)) from None

    def _kernel(self, text, place, line):
        """(name, names of arguments, how many of them are there whatever the macros, line)"""
        while attribute := re.compile(r"\s*__attribute__\s*(?=\()").match(text, place):
            place = closing(text, attribute.end()) + 1
        head = re.compile(r"\s*void\s+(\w+)\s*(?=\()").match(text, place)
        if not head:
            raise ValueError("expected a kernel's attributes, void and its name")
        inside = text[head.end() + 1:closing(text, head.end())]
        fixed, *rest = re.split(r"^[ \t]*#[ \t]*if[^\n]*\n", inside, maxsplit=1, flags=re.M)
        names = self._names(head.group(1), fixed)
        optional = []
        if rest:
            optional_text, *after = re.split(r"^[ \t]*#[ \t]*endif[^\n]*\n?", rest[0], flags=re.M)
            if re.search(r"^\s*#", optional_text, flags=re.M) or len(after) != 1 or after[0].strip():
                raise ValueError(f"{head.group(1)}: expected arguments that depend on macros as the last ones, below one "
                                 "#if without #else")
            optional = self._names(head.group(1), optional_text)
        if len(set(names + optional)) != len(names + optional):
            raise ValueError(f"{head.group(1)}: two arguments have the same name")
        return head.group(1), names + optional, len(names), line

    @staticmethod
    def _names(kernel, text):
        names = []
        for argument in text.split(","):
            if not argument.strip():
                continue
            name = re.search(r"[\s*](\w+)\s*$", argument)
            if not name:
                raise ValueError(f'{kernel}: expected a type and a name, found "{argument.strip()}"')
            names.append(name.group(1))
        return names


def read(root, place):
    """Every file below root, by its path."""
    files = {}
    for file in sorted(root.rglob("*.cl")):
        path = file.relative_to(root).as_posix()
        files[path] = KernelFile(path, file.read_text(encoding="utf-8"), place)
    return files


def program_of(files, path):
    """The program of a file: its pieces, (path, number) in order, and its kernels."""
    pieces = []
    kernels = {}
    done = set()

    def add(path, chain):
        file = files[path]
        done.add(path)
        for number, piece in enumerate(file.pieces):
            if isinstance(piece, str):
                pieces.append((path, number))
                continue
            needed, line = piece
            if needed in chain + [path]:
                raise file.error(line, "a circle: " + " needs ".join(chain + [path, needed]))
            if needed not in files:
                raise file.error(line, f"needs {needed}, which is not there")
            if needed not in done:
                add(needed, chain + [path])
        for name, *signature, line in file.kernels:
            if name in kernels:
                raise file.error(line, f"a second kernel {name} in the program of {(chain + [path])[0]}")
            kernels[name] = signature

    add(path, [])
    return pieces, kernels


def cpp_of(files, table="embedded_kernels"):
    texts = {}
    lines = ['#include "cl/program_cache.hpp"', "", "namespace nearfield::ocl {", "namespace {", ""]
    for path, file in files.items():
        for number, piece in enumerate(file.pieces):
            if isinstance(piece, str):
                texts[path, number] = f"kText{len(texts)}"
                lines.append(f'constexpr std::string_view {texts[path, number]} = R"NFCL({piece})NFCL";')

    # Constant arrays and views of them: a table of vectors is a constructor of some thousand calls, which takes a compiler
    # ten times as long.
    def array(kind, name, values):
        """The name of a new array, or that of an empty view."""
        if not values:
            return "{}"
        lines.append(f'constexpr {kind} {name}[] = {{{", ".join(values)}}};')
        return name

    entries = []
    for file, path in enumerate(files):
        pieces, kernels = program_of(files, path)
        joined = array("std::string_view", f"kTexts{file}", [texts[piece] for piece in pieces])
        signatures = []
        for kernel, (name, (arguments, fixed)) in enumerate(kernels.items()):
            names = array("std::string_view", f"kArguments{file}_{kernel}", [f'"{argument}"' for argument in arguments])
            signatures.append(f'{{"{name}", {names}, {fixed}}}')
        entries.append(f'{{"{path}", {joined}, {array("KernelSignature", f"kKernels{file}", signatures)}}}')
    array("EmbeddedKernel", "kTable", entries)
    lines += ["", "}  // namespace", "", f"std::span<const EmbeddedKernel> {table}() {{ return kTable; }}", "",
              "}  // namespace nearfield::ocl", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("table", nargs="?", default="embedded_kernels", help="name of the function that returns them")
    options = parser.parse_args()
    try:
        text = cpp_of(read(options.root, options.root.name), options.table)
    except KernelError as problem:
        sys.exit(str(problem))
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
