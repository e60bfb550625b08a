#!/usr/bin/env python3
"""`nearfield demo` in a terminal and in a pipe: a picture comes and moves, and Ctrl-C leaves nothing.

    demo_test.py BINARIES

The time to the first picture is printed; the goal of 60 s is for a machine that has nothing else to do.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

BINARIES = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE_S = 240
FRAME = "\x1b[H"


def children_of(pid):
    """Of a process and of its children."""
    own = []
    for file in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            if re.search(rf"^PPid:\s+{pid}$", file.read_text(), re.M):
                own.append(int(file.parent.name))
        except OSError:  # it has ended
            pass
    return own + [below for child in own for below in children_of(child)]


def in_shared_memory():
    return {name for name in os.listdir("/dev/shm") if "nearfield" in name}


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="nearfield-demo-test-")
        self.addCleanup(self.folder.cleanup)
        self.own = tempfile.TemporaryDirectory(prefix="nearfield-demo-test-")
        self.addCleanup(self.own.cleanup)
        self.path = pathlib.Path(self.own.name)
        self.environment = {**os.environ, "TMPDIR": self.folder.name, "TERM": "xterm-256color"}
        for name in ("NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY"):
            self.environment.pop(name, None)
        self.shared = in_shared_memory()

    def start(self, *arguments, **environment):
        """In a terminal of 60 x 30 characters."""
        self.terminal, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 60, 0, 0))
        process = subprocess.Popen([BINARIES / "nearfield", "demo", *arguments], stdin=inside, stdout=inside, stderr=inside,
                                   env={**self.environment, **environment}, start_new_session=True)
        os.close(inside)
        self.addCleanup(process.kill)
        self.addCleanup(os.close, self.terminal)
        self.output = ""
        return process

    def read_until(self, reached):
        end = time.monotonic() + PATIENCE_S
        while not reached(self.output):
            self.assertLess(time.monotonic(), end, self.output[-2000:])
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    self.output += os.read(self.terminal, 65536).decode("utf-8", "replace")
                except OSError:  # the other side is closed
                    return

    def pictures(self):
        """The whole ones."""
        return [text.partition("Pa")[0] for text in self.output.split(FRAME)[1:-1]]

    def test_a_terminal_shows_what_moves_and_nothing_is_left(self):
        process = self.start()
        self.read_until(lambda output: output.count(FRAME) > 30)
        print(re.search(r"first picture after [\d.]+ s", self.output).group())
        pictures = self.pictures()
        self.assertIn("\u2580", pictures[0])
        self.assertRegex(pictures[0], r"\x1b\[38;2;\d+;\d+;\d+m")
        self.assertGreater(len(set(pictures)), 15)
        self.read_until(lambda output: re.search(r"[\d.]+ frames a second, age [\d.]+ ms; \d+ frames, lost: ", output))
        self.assertRegex(self.output, r"live page: http://127\.0\.0\.1:\d+/")
        (folder,) = pathlib.Path(self.folder.name).glob("nearfield-demo*")
        tapped = subprocess.run([BINARIES / "nearfield", "tap", "--processor", "here", "--frames", "1", "--json"], capture_output=True, text=True,
                                env={**self.environment, "NEARFIELD_RUNTIME_DIR": str(folder)}, check=False, timeout=PATIENCE_S)
        self.assertEqual(tapped.returncode, 0, tapped.stderr)
        self.assertIn("spectrum", json.loads(tapped.stdout)["newest"]["products"])  # of the microphone at the centre, for the live page
        below = children_of(process.pid)
        self.assertTrue(below)
        self.assertTrue(os.listdir(self.folder.name))
        process.send_signal(signal.SIGINT)
        self.read_until(lambda output: process.poll() is not None)
        self.assertEqual(process.wait(PATIENCE_S), 0, self.output[-500:])
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assertEqual([pid for pid in below if pathlib.Path(f"/proc/{pid}").exists()], [])
        self.assertEqual(in_shared_memory(), self.shared)

    def test_a_pipe_gets_plain_characters_that_move_and_its_reader_s_end_leaves_nothing(self):
        """As `nearfield demo | head`."""
        process = subprocess.Popen([BINARIES / "nearfield", "demo", "--terminal"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, env=self.environment)
        self.addCleanup(process.kill)
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        output = ""
        for line in process.stdout:
            output += line
            if output.count("its magnitude") == 3:
                break
        self.assertIn("live page", output)
        below = children_of(process.pid)
        process.stdout.close()
        self.assertIn(process.wait(PATIENCE_S), (0, -signal.SIGPIPE))
        self.assertNotIn("\x1b", output)
        pictures = re.findall(r"((?:^[ .:\-=+*#%@]{20,}\n)+)its magnitude", output, re.M)
        self.assertEqual(len(set(pictures)), 3)
        self.assertTrue(all(re.search("[#%@]", picture) for picture in pictures))
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assertEqual([pid for pid in below if pathlib.Path(f"/proc/{pid}").exists()], [])
        self.assertEqual(in_shared_memory(), self.shared)

    def test_a_duration_ends_it(self):
        line = [BINARIES / "nearfield", "demo", "--terminal", "--duration", "0.2"]
        done = subprocess.run(line, capture_output=True, text=True, env=self.environment, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\d+ frames, lost: .*\n$")

    def test_the_browser_has_its_own_session_without_the_token_and_is_reaped(self):
        opener, noted = self.path / "xdg-open", self.path / "noted"
        opener.write_text(f"#!/bin/sh\necho $$ $(ps -o sid= -p $$) $(stat -c %a $1) > {noted}.part\n"
                          f"tr '\\0' '\\n' < /proc/$$/cmdline > {noted}.line\ncat $1 > {noted}.page\nmv {noted}.part {noted}\n")
        opener.chmod(0o755)
        process = self.start(DISPLAY=":nowhere", PATH=f"{self.path}:{os.environ['PATH']}")
        self.read_until(lambda output: noted.exists())
        opened, session, mode = noted.read_text().split()
        opened = int(opened)
        self.assertEqual((opened, mode), (int(session), "600"))
        self.read_until(lambda output: "Ctrl-C ends" in output)
        url, token = re.search(r"live page: (\S+\?token=([\w-]{16,}))", self.output).groups()
        self.assertIn(f'content="0; url={url}"', pathlib.Path(f"{noted}.page").read_text())
        self.assertNotIn(token, pathlib.Path(f"{noted}.line").read_text())
        self.read_until(lambda output: not pathlib.Path(f"/proc/{opened}").exists())
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.read_until(lambda output: process.poll() is not None)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_a_signal_while_it_starts_leaves_nothing(self):
        process = self.start(NO_COLOR="1")
        self.read_until(lambda output: "first picture takes" in output)
        time.sleep(1.0)
        below = children_of(process.pid)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assertEqual([pid for pid in below if pathlib.Path(f"/proc/{pid}").exists()], [])

    def run_until_it_fails(self, *words, **environment):
        """`nearfield demo`, started by the words before it."""
        done = subprocess.run([*words, BINARIES / "nearfield", "demo", "--terminal"], capture_output=True, text=True,
                              env={**self.environment, **environment}, check=False, timeout=PATIENCE_S)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(os.listdir(self.folder.name), [])
        return done

    def test_a_device_that_is_not_there_is_named_before_the_scene_is_simulated(self):
        done = self.run_until_it_fails(OCL_ICD_VENDORS=str(self.path))
        self.assertEqual(done.returncode, 69)
        self.assertIn("no OpenCL device found; install", done.stderr)
        self.assertNotIn("source: ", done.stderr)

    def test_a_disk_that_takes_nothing_is_named_with_the_reason(self):
        done = self.run_until_it_fails("sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"")
        self.assertEqual(done.returncode, 74)
        self.assertRegex(done.stderr, r"/scene\.yaml: can't be written: File too large\n")


if __name__ == "__main__":
    unittest.main()
