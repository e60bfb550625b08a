#!/usr/bin/env python3
"""Man pages, completions and docs/reference/cli.md against what the programs print themselves.

    manual_test.py BINARIES SOURCE_TREE

Expected options and commands are read from --help, not from the description of which the manual is made.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BINARIES, TREE = (pathlib.Path(argument) for argument in sys.argv[1:3])


def help_of(words):
    return subprocess.run([BINARIES / words[0], *words[1:], "--help"], check=True, capture_output=True, text=True).stdout


def commands_in(text):
    _, _, listed = text.partition("\nOptions:\n")  # the groups of commands follow, each under its title
    return re.findall(r"^  (\w[\w-]*)(?:  |$)", listed, re.M)


def options_in(text):
    listed = re.findall(r"^  (-[\w,-]+)", text, re.M)
    return [name for names in listed for name in names.split(",")]


def walk(words):
    """(words, options, commands) of a program and of every command below it, from their --help."""
    text = help_of(words)
    commands = commands_in(text) if words[-1] not in ("help", "version") else []
    yield words, options_in(text), commands
    for command in commands:
        if words + [command] != ["nearfield", "bridge"]:  # whose help is a Python package's, tested with it
            yield from walk(words + [command])


def tree_of_programs():
    return [*walk(["nearfield"]), *walk(["nearfieldd"]), *walk(["nearfield-bench"])]


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.share = pathlib.Path(cls.folder.name)
        make = [sys.executable, "-B", TREE / "cmake/make_manual.py", BINARIES, "--share", cls.share]
        subprocess.run(make, check=True)
        cls.tree = tree_of_programs()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def completion(self, program):
        return self.share / "bash-completion/completions" / program

    def complete(self, *words):
        """What bash offers for the last word."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); "$FUNCTION"; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        function = "_" + words[0].replace("-", "_")
        result = subprocess.run(["bash", "--norc", "-c", script, "bash", self.completion(words[0]), *words], check=True,
                                capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "FUNCTION": function})
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def complete_in_zsh(self, *words):
        """What zsh's function gives its completion system for the last word: that system stands still outside of a terminal, so that
        its functions print here."""
        script = r'''
compset() { }
compadd() { shift; print -l -- "$@" }
_files() { print FILES }
_describe() { local -a all; all=("${(@P)4}"); all=("${(@)all//\\:/:}")
  local one found=1; for one in $all; do
    one=${one%%:*}; [[ $one == ${cur}* ]] && { found=0; print -r -- "$one${${*[(r)=]}:+=}" }
  done; return $found }
file=$1; shift; words=("$@"); CURRENT=$#; set --; source $file'''
        file = self.share / "zsh/vendor-completions" / f"_{words[0]}"
        result = subprocess.run(["zsh", "-f", "-c", script, "zsh", file, *words], check=False, capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_completions_are_zsh_and_zsh_finds_them(self):
        folder = self.share / "zsh/vendor-completions"
        for program in ("nearfield", "nearfieldd", "nearfield-bench"):
            subprocess.run(["zsh", "-n", folder / f"_{program}"], check=True)
        found = subprocess.run(["zsh", "-f", "-c", 'fpath=("$1" $fpath); autoload -Uz compinit; compinit -u -D; '
                                "print ${_comps[nearfield]} ${_comps[nearfieldd]} ${_comps[nearfield-bench]}", "zsh", folder],
                               check=True, capture_output=True, text=True)
        self.assertEqual(found.stdout.split(), ["_nearfield", "_nearfieldd", "_nearfield-bench"])

    def test_zsh_is_offered_what_bash_is(self):
        for words, options, commands in self.tree[::5]:
            with self.subTest(command=" ".join(words)):
                self.assertEqual(sorted(self.complete_in_zsh(*words, "-")), sorted(self.complete(*words, "-")))
                self.assertLessEqual({*options, *commands}, set(self.complete_in_zsh(*words, "")) | set(self.complete_in_zsh(*words, "-")))
        self.assertEqual(self.complete_in_zsh("nearfield", "repl"), ["replay"])
        self.assertEqual(self.complete_in_zsh("nearfield", "replay", "--engine", ""), ["opencl", "reference"])
        self.assertEqual(self.complete_in_zsh("nearfield", "replay", "--engine=r"), ["opencl", "reference"])
        self.assertEqual(self.complete_in_zsh("nearfield", "replay", "--set", "holography.stand"), ["holography.standoff_m="])
        self.assertEqual(self.complete_in_zsh("nearfield", "ctl", "get", "array.pitch_"), ["array.pitch_x_m", "array.pitch_y_m"])
        self.assertEqual(self.complete_in_zsh("nearfield", "ctl", "set", "array.pitch_x"), ["array.pitch_x_m="])
        self.assertEqual(self.complete_in_zsh("nearfield", "replay", "-o", "x"), ["FILES"])
        self.assertEqual(self.complete_in_zsh("nearfield", "replay", "captu"), ["FILES"])

    def test_the_reference_page_is_what_the_programs_say(self):
        subprocess.run([sys.executable, "-B", TREE / "cmake/make_manual.py", BINARIES, "--check", TREE / "docs/reference/cli.md"], check=True)

    def test_pages_hold_every_option_and_command(self):
        page = (TREE / "docs/reference/cli.md").read_text()
        head = page.partition("\n## ")[0]
        self.assertGreater(len(self.tree), 40)
        for words, options, commands in self.tree:
            with self.subTest(command=" ".join(words)):
                name = "nearfield-bench" if words[0] == "nearfield-bench" else "-".join(words[:2])
                man = (self.share / f"man/man1/{name}.1").read_text()
                section = page.partition(f"\n## {' '.join(words).replace('nearfield-bench', 'nearfield bench')}\n")[2].partition("\n## ")[0]
                self.assertIn("--help", options)
                for option in options:
                    self.assertIn(f"\\fB{option.replace('-', chr(92) + '-')}\\fR", man)
                    said_once = option in ("--help", "--quiet", "--verbose") or not option.startswith("--")
                    self.assertIn(f"`{option}`", head + section if said_once else section)
                for command in commands:
                    self.assertIn(command.replace("-", "\\-"), man)
                    self.assertIn(f"`{command}`", section)

    def test_completion_offers_every_option_and_command(self):
        for words, options, commands in self.tree:
            with self.subTest(command=" ".join(words)):
                self.assertLessEqual(set(options), set(self.complete(*words, "-")))
                if commands:
                    self.assertLessEqual(set(commands), set(self.complete(*words, "")))

    def test_every_command_has_a_page_and_settings_have_one(self):
        for command in commands_in(help_of(["nearfield"])):
            self.assertTrue((self.share / f"man/man1/nearfield-{command}.1").exists(), command)
        settings = (self.share / "man/man5/nearfield.yaml.5").read_text()
        for key in re.findall(r"^ {2}(\w+):", (TREE / "config/nearfield.yaml").read_text(), re.M):
            self.assertRegex(settings, rf"(?m)^(\\fB|\.SS ).*\b{key}\b")

    def test_the_schema_is_installed_and_the_configuration_in_etc_names_it(self):
        schema = (self.share / "nearfield/nearfield.schema.json").read_text()
        self.assertEqual(schema, subprocess.run([BINARIES / "nearfield", "settings", "--schema"], check=True, capture_output=True, text=True).stdout)
        first = (TREE / "packaging/nearfield.yaml").read_text().partition("\n")[0]
        self.assertEqual(first, "# yaml-language-server: $schema=/usr/share/nearfield/nearfield.schema.json")

    def test_mandoc_finds_nothing_wrong(self):
        pages = sorted((self.share / "man").rglob("*.[15]"))
        result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_completions_are_bash(self):
        for program in ("nearfield", "nearfieldd", "nearfield-bench"):
            subprocess.run(["bash", "-n", self.completion(program)], check=True)

    def test_completion_of_values(self):
        self.assertEqual(self.complete("nearfield", "repl"), ["replay"])
        self.assertEqual(self.complete("nearfield", "replay", "c.h5", "--o"), ["--output"])
        self.assertEqual(self.complete("nearfield", "replay", "c.h5", "--engine", ""), ["opencl", "reference"])
        self.assertEqual(self.complete("nearfield", "replay", "--engine", "=", "r"), ["reference"])
        self.assertEqual(self.complete("nearfield", "replay", "--set", "holography.stand"), ["holography.standoff_m="])
        self.assertEqual(self.complete("nearfield", "ctl", "set", "array.pitch_"), ["array.pitch_x_m=", "array.pitch_y_m="])
        self.assertEqual(self.complete("nearfield", "ctl", "--socket", "/s", "rec"), ["record", "recordings"])
        self.assertIn("--socket", self.complete("nearfield", "ctl", "record", "start", "--"))
        self.assertEqual(self.complete("nearfield", "bench", "imag"), ["imager"])
        self.assertEqual(self.complete("nearfield", "help", "cal"), ["calibrate"])
        self.assertEqual(self.complete("nearfieldd", "--che"), ["--check"])

    def test_completion_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "lab.yaml").touch()
            self.assertEqual(self.complete("nearfieldd", "-c", f"{folder}/la"), [f"{folder}/lab.yaml"])
            self.assertEqual(self.complete("nearfield", "replay", f"{folder}/la"), [f"{folder}/lab.yaml"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
