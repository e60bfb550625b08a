#!/usr/bin/env python3
"""Holds README.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md and docs/ to the programs: whatever a page says that a reader can type is tried.

    pages_test.py run PAGE     the page's commands, configurations and listings (session.py says how)
    pages_test.py names        keys, values, defaults, options, tests, paths, ports and sockets of all pages
    pages_test.py links        relative links and their headings; each page of docs/ is linked from docs/README.md
    pages_test.py list         what is run and what is left out, with the pages' reasons

CMake registers `run` for each page, `names` and `links` once. A word in `code` of the form of a setting has to be a setting in
config/nearfield.yaml, a key of a scene, or a word that a program prints, a file contains or the C header declares.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys

import markdown
import schema
import session

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program  # noqa: E402

PROGRAM = re.compile(r"(?:[A-Z_]+=\S*\s+)*(?:time |chrt -f \d+ )?(?:build/\S+/bin/)?"
                     r"(nearfieldd|nearfield|ring_stress|\w+_tests|\w+_fuzz|\./dev)(?=\s|$)")


FILE_TYPES = ("c", "cl", "conf", "cpp", "csv", "h", "h5", "hpp", "json", "md", "nfr", "png", "py", "service", "sock", "txt", "wav", "xml", "yaml")


def read_pages(root):
    files = [root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted((root / "docs").rglob("*.md"))
    return [markdown.read(str(file.relative_to(root)), file.read_text()) for file in files]


class Programs:
    """Reads the options of the programs under test from their help."""

    def __init__(self, binaries):
        self.binaries = binaries
        self._help, self._tests = {}, {}

    def help(self, command):
        if command not in self._help:
            if command[:2] == ("nearfield", "bridge"):  # a Python package's, which need not be installed here
                self._help[command] = (pathlib.Path(__file__).parents[2] / "python/src/nearfield/bridge/__main__.py").read_text()
                return self._help[command]
            words = list(command)
            words[0] = str(self.binaries / words[0])
            self._help[command] = ""
            if pathlib.Path(words[0]).exists():
                self._help[command] = subprocess.run(words + ["--help"], capture_output=True, text=True, check=False).stdout
        return self._help[command]

    def subcommands(self, command):
        _, _, listed = self.help(command).partition("\nOptions:\n")  # the groups of commands follow, each under its title
        return set(re.findall(r"^  (\w+)(?:  |$)", listed, re.M))

    def has_option(self, command, option):
        # Options of the words before count too: `nearfield ctl --socket PATH status`.
        return any(re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", self.help(command[:length]))
                   for length in range(1, len(command) + 1))

    def tests(self, program):
        if program not in self._tests:
            self._tests[program] = Program(self.binaries / program).tests()
        return self._tests[program]

    def accepts(self, setting, value):
        answer = subprocess.run([self.binaries / "nearfieldd", "-c", "config/nearfieldd.yaml", "--check", "--set",
                                 f"{setting}={value}"], capture_output=True, text=True, check=False)
        # A refusal names the setting first, or behind its origin; what another setting's line says of it does not count.
        refused = re.search(rf"(?m)(?:^|: ){re.escape(setting)}:", answer.stdout + answer.stderr)
        return answer.returncode in (0, 78) and not refused


class Names:
    """Looks up what the pages name, and keeps a list of what is not there."""

    def __init__(self, root, programs):
        self.root, self.programs = root, programs
        self.settings = schema.Settings(root)
        self.scene_keys = schema.scene_keys(root)
        self.words = schema.other_words(root)
        self.ports, self.sockets = schema.endpoints(root)
        self.problems, self.count = [], 0

    def expect(self, holds, page, line, problem):
        self.count += 1
        if not holds:
            self.problems.append(f"{page.path}:{line}: {problem}")

    def check(self, page):
        self.problems += [f"{page.path}:{line}: {problem}" for line, problem in page.problems]
        program = ""
        for line, span in page.spans:
            program = self.check_command(page, line, span, program)
            self.check_setting(page, line, span)
        for fence in page.fences:
            if fence.language in ("sh", "text"):
                for command in session.commands_of(fence.text):
                    for part in re.split(r"\s(?:\||&&|&|;)\s|;\s", command):
                        self.check_command(page, fence.line, part.split(" #")[0], "")
            self.check_endpoints(page, fence.line, fence.text)
        for line, text in page.prose:
            self.check_endpoints(page, line, text)
            self.check_paths(page, line, text)
        self.check_defaults(page)
        for table in page.tables:
            self.check_table(page, table)

    # --- commands -----------------------------------------------------------------------------------------------------

    def check_command(self, page, line, text, program_before):
        """Returns the test program that a later --gtest_filter belongs to."""
        match = PROGRAM.match(text)
        if not match:
            if text.startswith("--gtest_filter"):
                self.check_filter(page, line, program_before, text)
            elif re.fullmatch(r"--[a-z][\w-]*( [\w,.:/-]+)?", text):
                option = text.split()[0]
                self.expect(self.any_help_has(option) or self.any_script_has(page, option), page, line,
                            f"no program has the option {option}")
            elif script := re.match(r"(?:python3 )?((?:tests|bench|docs)/[\w./-]+\.(?:py|sh))\s", text):
                file = self.root / script.group(1)
                for option in re.findall(r"\s(--[a-z][\w-]*)", text):
                    self.expect(file.exists() and option in file.read_text(), page, line, f"{file.name} has no option {option}")
            return program_before
        program = match.group(1)
        try:
            words = shlex.split(re.sub(r"[][|]", " ", text[match.end():]))
        except ValueError:
            words = text[match.end():].split()
        if program == "./dev":
            usage = (self.root / "dev").read_text()
            for word in words[:1]:
                self.expect(re.search(rf"^  {re.escape(word)}\b", usage, re.M), page, line, f"./dev has no command {word}")
            return program_before
        if program.endswith("_tests"):
            self.expect((self.root / "tests" / program.removesuffix("_tests")).is_dir(), page, line, f"no program {program}")
            for word in words:
                if word.startswith("--gtest_filter"):
                    self.check_filter(page, line, program, word)
            return program
        if program.endswith("_fuzz"):
            self.expect((self.root / f"fuzz/{program}.cpp").exists(), page, line, f"no program {program}")
            return program_before
        command = (program,)
        for word in words:
            if word.startswith("--") and len(word) > 2:
                option = word.split("=")[0]
                self.expect(self.programs.has_option(command, option), page, line, f"{' '.join(command)} has no option {option}")
            elif word in self.programs.subcommands(command):
                command += (word,)
            elif len(command) == 1 and program == "nearfield" and re.fullmatch(r"[a-z]+", word):
                self.expect(False, page, line, f"nearfield has no command {word}")
        return program_before

    def any_help_has(self, option):
        commands = [("nearfield",), ("nearfieldd",), ("ring_stress",)]
        for first in self.programs.subcommands(("nearfield",)):
            commands.append(("nearfield", first))
            for second in self.programs.subcommands(("nearfield", first)):
                commands.append(("nearfield", first, second))
                commands += [("nearfield", first, second, third) for third in self.programs.subcommands(("nearfield", first, second))]
        return any(self.programs.has_option(command, option) for command in commands)

    def any_script_has(self, page, option):
        """Scripts of the repository that the page names."""
        text = " ".join(text for _, text in page.prose) + " ".join(fence.text for fence in page.fences)
        files = [self.root / path for path in re.findall(r"(?:tests|bench|docs|python)/[\w./-]+\.(?:py|sh)\b", text)]
        return any(file.exists() and option in file.read_text() for file in files)

    def check_filter(self, page, line, program, word):
        patterns = word.partition("=")[2].strip("'\"").split("-")[0].split(":")
        if not self.expect_program(page, line, program):
            return
        names = ["NAME"]
        if any("NAME" in pattern for pattern in patterns):
            names = [row[-1] for table in page.tables if table[0][1][-1] == "NAME" for _, row in table[1:]]
        for name in names:
            for pattern in (pattern.replace("NAME", name) for pattern in patterns):
                regex = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
                found = any(re.fullmatch(regex, test) for test in self.programs.tests(program))
                self.expect(found, page, line, f"{program} has no test {pattern}")

    def expect_program(self, page, line, program):
        exists = bool(program) and (self.programs.binaries / program).exists()
        self.expect(exists, page, line, f"expected the program {program or 'of a --gtest_filter'}, found none: build all first")
        return exists

    # --- settings -----------------------------------------------------------------------------------------------------

    def check_setting(self, page, line, span):
        match = re.match(r"([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)(?:(?:: |=)(\S.*))?$", span)
        if not match:
            return
        name, value = match.groups()
        if name.split(".")[-1] in FILE_TYPES:
            return
        if "." in name:
            self.expect(self.is_dotted_name(name), page, line, f"{name}: no such setting")
        elif "_" in name or (value and ": " in span):
            self.expect(self.is_name(name), page, line, f"{name}: no such setting, field or word of a program")
        if value and self.settings.paths(name) and not re.search(r"\.\.\.|NAME|<|\bN\b| \| ", value):
            # A comment may follow a value, and several keys one another: `window: none, remove_dc: false`.
            first = re.split(r", (?=[a-z_]+: )", value)[0]
            paths = self.settings.paths(name)
            self.expect(any(self.programs.accepts(path, first) for path in paths), page, line, f"{span}: refused")

    def is_name(self, word):
        return (bool(self.settings.paths(word)) or word in self.scene_keys or word in self.words or
                word.removeprefix("nearfield_") in self.words)      # metrics, whose prefix the server puts before them

    def is_dotted_name(self, name):
        parts = name.split(".")
        if self.settings.paths(name):
            return True
        if parts[-1] in self.scene_keys and self.settings.paths(".".join(parts[:-1])):
            return True
        if parts[0] == "processors" and len(parts) > 2:  # the second part is a name of the user's choice
            return ".".join(parts[2:]) in self.settings.of_processors
        if parts[0] in self.settings.sections:
            return False
        return all(self.is_name(part) for part in parts)

    def check_defaults(self, page):
        """A number in brackets right behind a setting is its default: `shed_hops_ms` (50)."""
        text = "\n".join(text for _, text in page.prose)
        for key, number, unit in re.findall(r"`([\w.]+)` \((\d[\d,.]*\d|\d)( [KMG]iB)?", text):
            paths = self.settings.paths(key)
            if not paths:
                continue
            value = float(number.replace(",", "")) * {"": 1, " KiB": 2**10, " MiB": 2**20, " GiB": 2**30}[unit]
            defaults = [self.settings.defaults[path] for path in paths]
            self.expect(any(re.fullmatch(r"[\d.]+", default) and float(default) == value for default in defaults), page, 1,
                        f"{key} ({number}{unit}): config/nearfield.yaml has the default {', '.join(defaults)}")

    def check_table(self, page, table):
        """In a table headed by a setting, the first column holds values of it."""
        heading = re.fullmatch(r"`([a-z][\w.]*)`", table[0][1][0])
        if not heading or not self.settings.paths(heading.group(1)):
            return
        for line, row in table[1:]:
            for value in re.findall(r"`([^`]+)`", row[0]):
                paths = self.settings.paths(heading.group(1))
                accepted = any(self.programs.accepts(path, value) for path in paths)
                self.expect(accepted, page, line, f"{heading.group(1)}: {value}: refused")

    # --- places -------------------------------------------------------------------------------------------------------

    def check_endpoints(self, page, line, text):
        for port in re.findall(r"(?:127\.0\.0\.1|0\.0\.0\.0|localhost):(\d+)", text):
            self.expect(port in self.ports | {"0"}, page, line, f"port {port}: none of config/'s")
        for path in re.findall(r"(?<![\w./])/[\w./-]+\.sock\b", text):
            self.expect(path in self.sockets, page, line, f"{path}: none of config/'s sockets")

    def check_paths(self, page, line, text):
        for path in re.findall(r"(?<![\w/.])(?:docs|src|tests|config|bench|examples|kernels|include|fuzz)/[\w./*{},-]*[\w}*]", text):
            found = any(any(self.root.glob(one)) for one in _expanded(path))
            self.expect(found or "NAME" in path, page, line, f"{path}: no such file")


def _expanded(path):
    match = re.match(r"(.*)\{([^}]*)\}(.*)", path)
    return [match.group(1) + part + match.group(3) for part in match.group(2).split(",")] if match else [path]


def link_problems(root, pages):
    """Relative links that lead nowhere, and pages below docs/ that docs/README.md does not link."""
    problems, indexed = [], {"docs/README.md"}
    by_path = {page.path: page for page in pages}
    for page in pages:
        for line, target in page.links:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) if path else page.path
            if not (root / file).exists():
                problems.append(f"{page.path}:{line}: link to {target}: no such file")
            elif anchor and file in by_path and anchor not in map(markdown.slug, by_path[file].headings):
                problems.append(f"{page.path}:{line}: link to {target}: no such heading")
            if page.path == "docs/README.md":
                indexed.add(file)
    problems += [f"{page.path}:1: not linked from docs/README.md" for page in pages
                 if page.path.startswith("docs/") and page.path not in indexed]
    return problems


def summary(page):
    ran = [fence for fence in page.fences if fence.language == "sh" and not fence.no_run]
    listings = [fence for fence in page.fences if (session.is_listing(fence) or fence.output_of) and not fence.no_run]
    left_out = [fence for fence in page.fences if fence.no_run]
    commands = sum(len(session.commands_of(fence.text)) for fence in ran)
    without = sum(len(session.commands_of(fence.text)) for fence in left_out)
    lines = [f"{page.path}: {commands} commands and {len(listings)} listings tried, {without} commands left out"]
    return "\n".join(lines + [f"  {page.path}:{fence.line}: not run: {fence.no_run}" for fence in left_out])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("run", "names", "links", "list"))
    arguments.add_argument("page", nargs="?")
    arguments.add_argument("--binaries", type=pathlib.Path, default="build/release/bin")
    arguments.add_argument("--scratch", type=pathlib.Path, default="build/release/pages", help="folders for the commands")
    arguments.add_argument("--limit-s", type=float, default=600, help="for the commands of a page")
    given = arguments.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    binaries, scratch = given.binaries.resolve(), given.scratch.resolve()
    pages = read_pages(root)
    if given.what == "list":
        print("\n".join(summary(page) for page in pages))
        return 0
    if given.what == "links":
        problems = link_problems(root, pages)
        print("\n".join(problems + [f"{sum(len(page.links) for page in pages)} links of {len(pages)} pages, {len(problems)} wrong"]))
        return 1 if problems else 0
    session.enter_namespaces([root, binaries, scratch])
    if given.what == "names":
        os.chdir(root)
        names = Names(root, Programs(binaries))
        for page in pages:
            names.check(page)
        print("\n".join(names.problems + [f"{names.count} names looked up, {len(names.problems)} wrong"]))
        return 1 if names.problems else 0
    page = next(page for page in pages if page.path == given.page)
    print(summary(page))
    problem = session.run(root, binaries, scratch / page.path.replace("/", "_"), page, given.limit_s)
    print(problem, end="")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
