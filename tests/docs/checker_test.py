#!/usr/bin/env python3
"""That pages_test.py finds what it is there for: each of these wrong sentences stood in a page once, or could.

    checker_test.py BINARIES SCRATCH
"""

import os
import pathlib
import sys
import unittest

import markdown
import pages_test
import session

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARIES, SCRATCH = (pathlib.Path(word).resolve() for word in sys.argv[1:3])

WRONG = {
    "a value that is refused": ("The setting `source.kind: scene`.", "refused"),
    "a value in a table": ("| `source.kind` | what |\n|---|---|\n| `scene` | a simulated array |", "scene: refused"),
    "a key that only a C++ structure has": ("The ring holds `ring_elements`.", "ring_elements"),
    "an unknown dotted key": ("Set `array.pitch_m`.", "array.pitch_m"),
    "another default": ("Hops go at `shed_hops_ms` (49).", "default"),
    "another socket": ("It listens at /run/nearfield/ring.sock.", "ring.sock"),
    "another port": ("Connect to 127.0.0.1:4710.", "4710"),
    "an unknown option": ("Call `nearfield tap --sockets x`.", "--sockets"),
    "an unknown option by itself": ("The option `--sockets` helps.", "--sockets"),
    "an unknown command": ("Call `nearfield listen now`.", "listen"),
    "an unknown option in a block": ("```sh\nnearfield replay a.h5 --out b.h5\n```", "--out"),
    "a missing file": ("See src/stream/nothing.hpp.", "nothing.hpp"),
    "a block of no language": ("```\nnearfield devices\n```", "expected a block of"),
    "an indented command": ("    nearfield devices", "indented"),
    "no reason": ("```sh no-run:\nnearfield devices\n```", "expected a reason"),
}
RIGHT = ("`source.kind: udp`, `array.pitch_x_m`, `shed_hops_ms` (50), `nearfield tap --socket x`, 127.0.0.1:7230, src/stream/packets/packet.cpp, "
         "`nf_ring_open`, `holography.points: [{x_m: 0.1, y_m: -0.05}, ...]`")
SESSIONS = {
    "a configuration with an unknown key": ("```yaml\ndaemon: {source: {require_crcs: true}}\n```", "require_crcs"),
    "a listing that does not compile": ("```c\nint main(void) { fall_back(); }\n```", "fall_back"),
    "a command that fails": ("```sh\ntrue\nfalse\n```", "exit code 1: false"),
    "output that is not printed": ("```text output-of: echo one\ntwo\n```", "two"),
    "a command in the background that fails": ("```sh\nfalse &\nsleep 0.5\n```", "in the background"),
}


class Checker(unittest.TestCase):
    names = pages_test.Names(ROOT, pages_test.Programs(BINARIES))

    def names_of(self, text):
        self.names.problems = []
        self.names.check(markdown.read("docs/made_up.md", text))
        return self.names.problems

    def test_finds_each_wrong_name(self):
        for what, (text, problem) in WRONG.items():
            with self.subTest(what):
                self.assertIn(problem, "\n".join(self.names_of(text)))

    def test_accepts_what_is_there(self):
        self.assertEqual(self.names_of(RIGHT), [])

    def test_finds_links_that_lead_nowhere_and_pages_that_none_leads_to(self):
        index = markdown.read("docs/README.md", "[a](use/daemon.md)\n[b](use/daemon.md#no-such-heading)\n[c](no_such_page.md)")
        pages = [index, markdown.read("docs/use/daemon.md", "# nearfieldd\n[index](../README.md) [d](#nearfieldd)"),
                 markdown.read("docs/decisions/made_up.md", "[e](../use/daemon.md)")]
        self.assertEqual(pages_test.link_problems(ROOT, pages), [
            "docs/README.md:2: link to use/daemon.md#no-such-heading: no such heading",
            "docs/README.md:3: link to no_such_page.md: no such file",
            "docs/decisions/made_up.md:1: not linked from docs/README.md"])

    def test_a_page_fails_with_any_of_its_blocks(self):
        for what, (text, problem) in SESSIONS.items():
            with self.subTest(what):
                page = markdown.read("docs/made_up.md", text)
                self.assertIn(problem, session.run(ROOT, BINARIES, SCRATCH / "made_up", page, 60))

    def test_a_page_without_faults_passes(self):
        page = markdown.read("docs/made_up.md", "```yaml a.yaml\nmedium: {sound_speed_m_s: 340}\n```\n```sh\nnearfield --version &\ngrep 340 a.yaml\n"
                             "sleep 60   # until Ctrl-C\n```\n```sh no-run: fails\nfalse\n```\n```text output-of: cat a.yaml\nmedium: {sound_speed_m_s: 340}\n```\n")
        self.assertEqual(session.run(ROOT, BINARIES, SCRATCH / "made_up", page, 60), "")


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main(argv=sys.argv[:1])
