#!/usr/bin/env python3
"""What people expect of every command: -, -q, -v, colours, one form of errors, --json; and `tap`, `ctl get`, `ctl save` beside a daemon.

    command_line_test.py BINARIES SOURCE_TREE
"""
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BINARIES, TREE = (pathlib.Path(argument) for argument in sys.argv[1:3])
PATIENCE_S = 120

SCENE = """
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major, sensitivity_dbfs: -26}
standoff_m: 0.03
duration_s: 0.03
seed: 1
sigma_delta: {order: 2}
sources:
  - {kind: monopole, frequency_hz: 1464.84375, x_m: 0.02, y_m: 0.01, z_m: -0.03, volume_velocity_m3_s: 2.0e-4}
"""

CONFIGURATION = """# a comment of the user's
version: 1
array: {rows: 8, columns: 8, layout: row-major}
front_end: {window_samples: 128, hop_samples: 256, frequencies_hz: [1464.84375]}
holography: {extrapolation: {order: 4}}
daemon:
  source: {kind: simulate, scene: scene.yaml}
  publish: {ring: {socket: frames.sock}}
  control: {socket: control.sock}
  recording: {directory: .}
  deadlines: {frame_ms: 60000}
  metrics: {address: off}
  page: {address: off}
"""


def run(program, *arguments, stdin="", **environment):
    return subprocess.run([BINARIES / program, *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                          env={**os.environ, **environment})


def run_on_terminal(arguments, ends_at=None, **environment):
    """What the program prints on a terminal, standard error included; it gets SIGINT once `ends_at` holds of that."""
    leader, follower = pty.openpty()
    program = subprocess.Popen([BINARIES / arguments[0], *arguments[1:]], stdin=follower, stdout=follower, stderr=follower,
                               env={**os.environ, "TERM": "xterm", **environment})
    os.close(follower)
    text, end = b"", time.monotonic() + PATIENCE_S
    while True:
        readable, _, _ = select.select([leader], [], [], max(end - time.monotonic(), 0))
        if not readable:
            program.kill()
            raise AssertionError(f"{arguments} printed only {text}")
        try:
            text += os.read(leader, 65536)
        except OSError:  # the program has closed its side
            break
        if ends_at and ends_at(text.decode("utf-8", "replace")):
            program.send_signal(signal.SIGINT)
            ends_at = None
    program.wait(PATIENCE_S)
    os.close(leader)
    return text.decode()


class WithoutDaemon(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def refused(self, program, *arguments):
        result = run(program, *arguments)
        self.assertEqual((result.returncode, result.stdout), (64, ""), arguments)
        self.assertTrue(result.stderr.startswith(f"{program}: error: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        return result.stderr

    def test_errors_have_one_form_and_name_the_help(self):
        for words, hint in ((["replay", "c.h5"], "replay"), (["replay", "c.h5", "--out", "o"], "replay"), (["ctl", "record"], "ctl record"),
                            (["replay", "c.h5", "-o", "c.h5"], "replay"), (["send", "c.h5", "--to", "localhost"], "send")):
            self.assertTrue(self.refused("nearfield", *words).endswith(f"(see nearfield help {hint})\n"), words)
        self.assertTrue(self.refused("nearfieldd", "--chek").endswith("did you mean --check? (see nearfieldd --help)\n"))
        self.assertIn("unexpected arguments b=2 c=3 (", self.refused("nearfield", "replay", "c", "-o", "o", "--set", "a=1", "b=2", "c=3"))
        self.assertIn('found "stauts"; did you mean status?', self.refused("nearfield", "ctl", "stauts"))
        self.assertIn("did you mean --json?", self.refused("nearfield", "ctl", "status", "--jsn"))

    def test_help_and_version_are_commands(self):
        self.assertEqual(run("nearfield", "help", "replay").stdout, run("nearfield", "replay", "--help").stdout.replace(str(BINARIES) + "/", ""))
        self.assertIn("--notes", run("nearfield", "help", "ctl", "record", "start").stdout)
        self.assertIn("--batch", run("nearfield", "help", "bench", "imager").stdout)
        self.assertEqual(run("nearfield", "version").stdout, run("nearfield", "--version").stdout)
        self.refused("nearfield", "help", "nope")

    def test_what_cannot_be_printed_is_an_error(self):
        (self.path / "scene.yaml").write_text(SCENE)
        capture = self.path / "capture.h5"
        self.assertEqual(run("nearfield", "simulate", self.path / "scene.yaml", "-o", capture).returncode, 0)
        for words in (["nearfield", "--version"], ["nearfield", "version"], ["nearfield", "--help"], ["nearfield", "help", "ctl", "record"],
                      ["nearfield", "settings"], ["nearfield", "settings", "--markdown"], ["nearfield", "settings", "--json"],
                      ["nearfield", "--describe-cli"], ["nearfield", "inspect", capture], ["nearfield", "devices"], ["nearfield", "masks", capture],
                      ["nearfield", "export", "--help"], ["nearfieldd", "--version"], ["nearfieldd", "--help"], ["nearfieldd", "--describe-cli"],
                      ["nearfieldd", "--check"], ["nearfield-bench", "--version"], ["nearfield-bench", "--help"], ["nearfield", "bench", "--help"],
                      ["nearfield-bench", "limits", "--repetitions", "5", "--json"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                result = subprocess.run([BINARIES / words[0], *words[1:]], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S,
                                        env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(self.path)})
                self.assertEqual(result.returncode, 74, result.stderr)
                self.assertIn(f"{words[0].removesuffix('-bench')}: error: standard output: can't write", result.stderr)

    def test_a_reader_that_has_ended_hides_no_failure(self):
        for words, code in ((["--check"], 0), (["--check", "--set", "holography.standoff_m=0"], 78), (["--version"], 0)):
            reader, writer = os.pipe()
            os.close(reader)
            result = subprocess.run([BINARIES / "nearfieldd", *words], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S,
                                    restore_signals=False, env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(self.path)})
            os.close(writer)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertNotIn("standard output", result.stderr)

    def test_a_name_with_control_characters_is_shown_escaped(self):
        name = self.path / "\x1b[31mred\nnearfield: error: forged\x7f\u009b2J\t.h5"
        for text in (None, "no HDF5"):
            if text is not None:
                name.write_text(text)
            for words in (["inspect", name], ["replay", name, "-o", self.path / "o.h5"]):
                said = run("nearfield", *words).stderr
                self.assertEqual(said.count("\n"), 1, said)
                self.assertIn(r"\x1b[31mred\nnearfield: error: forged\x7f\x9b2J\t.h5", said)
        said = run("nearfield", "replay", name, "-o", self.path / "o.h5", "-c", name).stderr
        self.assertNotRegex(said, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_an_option_of_one_value_shows_no_several(self):
        for words in (["nearfield", "help", "replay"], ["nearfieldd", "--help"]):
            line, = (line for line in run(*words).stdout.splitlines() if re.match(r"\s+--set ", line))
            self.assertNotIn("...", line)

    def test_a_dash_is_never_a_file(self):
        for words in (["replay", "-", "-o", "o.h5"], ["replay", "c.h5", "-o", "-"], ["inspect", "-"], ["replay", "c", "-o", "o", "--png", "-"],
                      ["simulate", "scene.yaml", "-o", "-"], ["compare", "a", "-"]):
            error = run("nearfield", *words, stdin="x")
            self.assertEqual(error.returncode, 64, words)
            self.assertIn("found -", error.stderr)
        self.assertFalse((pathlib.Path.cwd() / "-").exists())

    def test_a_dash_is_standard_input_of_scenes_and_settings(self):
        capture = self.path / "capture.h5"
        made = run("nearfield", "simulate", "-", "-o", capture, stdin=SCENE)
        self.assertEqual(made.returncode, 0, made.stderr)
        wrong = run("nearfield", "replay", capture, "-o", self.path / "i.h5", "-c", "-", stdin="holography: {standoff: 1}")
        self.assertEqual(wrong.returncode, 78)
        self.assertIn("standard input:1:14: holography.standoff: unknown key", wrong.stderr)
        self.assertEqual(run("nearfield", "simulate", "-", "-o", capture, stdin="version: 2").returncode, 78)
        for text, code, word in (("version: 1\n", 0, "standard input: no problems"),
                                 ("array: {row: 8}", 78, "standard input:1:9: array.row: unknown key")):
            checked = run("nearfieldd", "-c", "-", "--check", "--set", "daemon.source.kind=simulate",
                          "--set", f"daemon.source.scene={TREE}/config/scenes/monopoles.yaml", "--set", f"daemon.recording.directory={self.path}",
                          stdin=text, NEARFIELD_RUNTIME_DIR=self.path)
            self.assertEqual(checked.returncode, code, checked.stdout + checked.stderr)
            self.assertIn(word, checked.stdout)
        both = run("nearfieldd", "-c", "-", "--set", "daemon.source.kind=pipe", "--set", "daemon.source.path=-", stdin="version: 1\n")
        self.assertEqual(both.returncode, 78)
        self.assertIn("daemon.source.path: expected a named pipe, as standard input holds the configuration", both.stderr)

    def test_quiet_and_verbose(self):
        words = ["simulate", "-", "-o", self.path / "c.h5"]
        usual, quiet, verbose = (run("nearfield", *words, *more, stdin=SCENE) for more in ([], ["-q"], ["-v"]))
        self.assertIn("simulate 100 %", usual.stderr)
        self.assertEqual(quiet.stderr, "")
        self.assertRegex(verbose.stderr, r"nearfield: debug: done in \d")
        self.assertEqual(usual.stdout, quiet.stdout)

    def test_colours_and_bars_only_where_they_fit(self):
        wrong = ["nearfield", "replya"]
        self.assertIn("\x1b[", run_on_terminal(wrong))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b[", run_on_terminal(wrong, **environment))
        self.assertIn("\x1b[", run_on_terminal(wrong, NO_COLOR=""))
        (self.path / "scene.yaml").write_text(SCENE)
        simulate = ["nearfield", "simulate", str(self.path / "scene.yaml"), "-o", str(self.path / "c.h5")]
        self.assertIn("\r", run_on_terminal(simulate).replace("\r\n", ""))
        self.assertNotIn("\r", run_on_terminal(simulate, TERM="dumb").replace("\r\n", ""))
        self.assertNotIn("\x1b[", run("nearfield", "replya").stderr)

    def test_json_goes_to_standard_output(self):
        self.assertTrue(json.loads(run("nearfield", "devices", "--json").stdout)[0]["name"])
        found = run("nearfieldd", "--check", "--json", "--set", "daemon.source.kind=pipe", "--set", "holography.standoff_m=0")
        self.assertEqual(found.returncode, 78)
        self.assertIn("holography.standoff_m: expected", json.loads(found.stdout)["findings"][0]["text"])
        limits = run("nearfield", "bench", "limits", "--repetitions", "5", "--json")
        self.assertEqual(json.loads(limits.stdout)["benchmark"], "limits", limits.stderr)
        srp = run("nearfield", "bench", "srp_phat", "--pixels", "8", "--bins", "8", "--set", "array.rows=8", "--set", "array.columns=8",
                  "--set", "array.layout=row-major", "--repetitions", "1", "--json")
        self.assertEqual(srp.returncode, 0, srp.stderr)
        report = json.loads(srp.stdout)
        self.assertEqual((report["benchmark"], report["pixels"], report["microphones"], report["bins"]), ("srp_phat", 64, 64, 8))
        self.assertEqual(report["cuts"][0]["error"], 0.0)
        self.assertGreater(report["cuts"][0]["wall_s"]["median"], 0.0)


class Options(unittest.TestCase):
    """Options of one name mean the same in every command: docs/reference/cli.md has these meanings."""
    # Of each name: (value, pattern of the help).
    SHAPES = {
        "--config": [("TEXT", r"(?s)settings.*\(- is standard input")],
        "--set": [("TEXT", r"one setting, KEY=VALUE; may be repeated")],
        "--device": [("TEXT", r"INDEX, or part of a platform's or device's name, or NAME:INDEX")],
        "--json": [("", r"(?i).*\bJSON\b.*"), ("[FILE]", r"print the results as JSON .*")],
        "--frames": [("TEXT", r"A:B, frames A to B-1.*, or N, the first N"), ("UINT", r"N, the first N frames: end after them")],
        "--quiet": [("", r".*")],
        "--verbose": [("", r".*")],
    }
    # It hands its configuration on to the doctor by its name.
    WITHOUT_STANDARD_INPUT = {"nearfield bugreport"}

    @classmethod
    def setUpClass(cls):
        cls.options = []  # (command, option)
        for program in ("nearfield", "nearfieldd", "nearfield-bench"):
            cls.walk(program, json.loads(run(program, "--describe-cli").stdout))

    @classmethod
    def walk(cls, path, command):
        cls.options += [(path, option) for option in command["options"] if not option["positional"]]
        for below in command["commands"]:
            cls.walk(f"{path} {below['name']}", below)

    def test_each_has_one_of_the_shapes_of_its_name(self):
        seen = set()
        for path, option in self.options:
            for name in self.SHAPES.keys() & set(option["names"]):
                seen.add(name)
                shapes = self.SHAPES[name]
                if name == "--config" and path in self.WITHOUT_STANDARD_INPUT:
                    shapes = [("TEXT", r"settings.*")]
                with self.subTest(command=path, option=name):
                    self.assertTrue(any(option["value"] == value and re.match(about, option["about"]) for value, about in shapes), option)
        self.assertEqual(seen, set(self.SHAPES))

    def test_a_short_name_stands_for_one_long_name(self):
        long_names = {}
        for path, option in self.options:
            for short in (name for name in option["names"] if not name.startswith("--")):
                for long in (name for name in option["names"] if name.startswith("--")):
                    long_names.setdefault(short, {}).setdefault(long, path)
        self.assertGreater(len(long_names), 4)
        for short, found in long_names.items():
            self.assertEqual(len(found), 1, f"{short}: {found}")

    def test_who_computes_on_a_device_and_reads_settings_lets_choose_it(self):
        with_device = {path for path, option in self.options if "--device" in option["names"]}
        for path in ("nearfield replay", "nearfield play", "nearfield doctor", "nearfieldd", "nearfield-bench here", "nearfield-bench srp_phat"):
            self.assertIn(path, with_device)


class WithDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        (cls.path / "scene.yaml").write_text(SCENE)
        cls.configuration = cls.path / "lab.yaml"
        cls.configuration.write_text(CONFIGURATION)
        cls.configuration.chmod(0o640)
        with open(cls.path / "log", "w") as log:
            cls.daemon = subprocess.Popen([BINARIES / "nearfieldd", "-c", "lab.yaml", "--json", "--device", "0"], cwd=cls.path, stderr=log,
                                          stdout=subprocess.PIPE, text=True)
        answer = cls.ctl("--wait", str(PATIENCE_S), "status")
        assert answer.returncode == 0, answer.stderr + (cls.path / "log").read_text()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.send_signal(signal.SIGTERM)
        cls.daemon.communicate(timeout=PATIENCE_S)
        cls.folder.cleanup()

    @classmethod
    def ctl(cls, *words):
        return run("nearfield", "ctl", "--socket", cls.path / "control.sock", *words)

    def log(self):
        return (self.path / "log").read_text()

    def test_a_start_says_its_steps(self):
        steps = re.findall(r"step (\d) of (\d): (.*)", self.log())
        self.assertEqual([(int(n), int(m)) for n, m, _ in steps], [(1, 4), (2, 4), (3, 4), (4, 4)])
        self.assertRegex(steps[1][2], r"compiling programs for .+ \(the step before took \d+\.\d s\)")
        self.assertRegex(self.log(), r"frames for controllers at .*frames\.sock")
        self.assertRegex(self.log(), r"control at .*control\.sock")

    def test_get_prints_what_set_takes(self):
        self.assertEqual(self.ctl("get", "array.rows", "front_end.hop_samples").stdout, "array.rows=8\nfront_end.hop_samples=256\n")
        self.assertEqual(json.loads(self.ctl("--json", "get", "front_end.frequencies_hz").stdout), {"front_end.frequencies_hz": [1464.84375]})
        self.assertIn("daemon.source.kind=simulate\n", self.ctl("get", "daemon.source").stdout)
        unknown = self.ctl("get", "holography.standof_m")
        self.assertEqual(unknown.returncode, 78)
        self.assertIn("did you mean holography.standoff_m?", unknown.stderr)

    def test_save_makes_a_change_last_and_keeps_the_former_file(self):
        changed = self.ctl("set", "front_end.hop_samples=512")
        self.assertEqual(changed.returncode, 0, changed.stderr)
        self.assertEqual(self.ctl("get", "front_end.hop_samples").stdout, "front_end.hop_samples=512\n")
        self.assertIn("front_end.hop_samples 256 -> 512", self.log())
        saved = self.ctl("save")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        backups = list(self.path.glob("lab.yaml.*.bak"))
        self.assertEqual([backup.read_text() for backup in backups], [CONFIGURATION])
        self.assertIn(f"{self.configuration}: the settings in effect; comments are lost, the file before is {backups[0]}", saved.stdout)
        text = self.configuration.read_text()
        self.assertIn("hop_samples: 512\n", text)
        self.assertIn(str(backups[0]), text)
        self.assertEqual(stat.S_IMODE(self.configuration.stat().st_mode), 0o640)
        checked = run("nearfieldd", "-c", self.configuration, "--check")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        reloaded = self.ctl("reload")
        self.assertEqual(reloaded.returncode, 0, reloaded.stderr)
        self.assertEqual(self.ctl("get", "front_end.hop_samples").stdout, "front_end.hop_samples=512\n")
        self.assertEqual(json.loads(self.ctl("--json", "save").stdout)["path"], str(self.configuration))  # again, within the same second
        self.assertEqual(len(list(self.path.glob("lab.yaml.*.bak"))), 2)
        self.assertEqual(list(self.path.glob("*.partial")), [])
        self.assertEqual(self.ctl("save", "-o", "-").stdout, self.ctl("config").stdout)

    def test_a_configuration_of_standard_input_is_not_read_again(self):
        sockets = self.path / "second"
        sockets.mkdir()
        environment = {**os.environ, "NEARFIELD_RUNTIME_DIR": str(sockets)}
        text = CONFIGURATION.replace("publish: {ring: {socket: frames.sock}}", "").replace("control: {socket: control.sock}", "")
        with open(self.path / "second.log", "w") as log:
            daemon = subprocess.Popen([BINARIES / "nearfieldd", "-c", "-"], cwd=self.path, stderr=log, stdin=subprocess.PIPE, text=True,
                                      env=environment)
        self.addCleanup(daemon.kill)
        daemon.stdin.write(text)
        daemon.stdin.close()

        def ctl(*words):
            return run("nearfield", "ctl", *words, NEARFIELD_RUNTIME_DIR=str(sockets))
        started = ctl("--wait", str(PATIENCE_S), "status")
        self.assertEqual(started.returncode, 0, started.stderr + (self.path / "second.log").read_text())
        self.assertIn("configuration of standard input", (self.path / "second.log").read_text())
        changed = ctl("set", "front_end.hop_samples=512")
        self.assertEqual(changed.returncode, 0, changed.stderr)
        self.assertEqual(ctl("get", "front_end.hop_samples", "array.rows").stdout, "front_end.hop_samples=512\narray.rows=8\n")
        again = ctl("reload")
        self.assertEqual(again.returncode, 78)
        self.assertIn("came by standard input, which cannot be read again", again.stderr)
        self.assertEqual(ctl("get", "front_end.hop_samples").stdout, "front_end.hop_samples=512\n")
        self.assertIn("-o FILE", ctl("save").stderr)
        self.assertEqual(ctl("stop").returncode, 0)
        self.assertEqual(daemon.wait(PATIENCE_S), 0)

    def test_play_reads_standard_input_and_names_its_sockets_in_a_line(self):
        capture = self.path / "capture.h5"
        self.assertEqual(run("nearfield", "simulate", self.path / "scene.yaml", "-o", capture).returncode, 0)
        play = subprocess.Popen([BINARIES / "nearfield", "play", capture, "-c", "-", "--json", "--device", "0"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(self.path)})
        self.addCleanup(play.kill)
        play.stdin.write("version: 1\nfront_end: {window_samples: 128, hop_samples: 384, frequencies_hz: [1464.84375]}\n"
                         "holography: {extrapolation: {order: 4}}\n")
        play.stdin.close()
        play.stdin = None
        sockets = json.loads(play.stdout.readline())
        hop = run("nearfield", "ctl", "--socket", sockets["control"], "--wait", str(PATIENCE_S), "get", "front_end.hop_samples")
        self.assertEqual(hop.stdout, "front_end.hop_samples=384\n", hop.stderr)
        play.send_signal(signal.SIGINT)
        output, errors = play.communicate(timeout=PATIENCE_S)
        self.assertEqual((play.returncode, output), (0, ""), errors)

    def test_save_where_it_may_not_changes_nothing(self):
        self.assertEqual(self.ctl("save", "-o", self.path / "no_such/lab.yaml").returncode, 74)
        (self.path / "folder").mkdir()
        self.assertEqual(self.ctl("save", "-o", self.path / "folder").returncode, 74)
        self.assertEqual(list(self.path.glob("folder*.bak")), [])

    def stranger(self, socket_path, config):
        """A server that says of itself what a daemon says of its configuration, for one request."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(socket_path))
        server.listen()

        def serve():
            with server, server.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(json.dumps({"ok": True, "result": config}).encode() + b"\n")
        thread = threading.Thread(target=serve)
        thread.start()
        return thread

    def test_save_follows_no_link_and_writes_nothing_but_a_configuration(self):
        target, link = self.path / "target.yaml", self.path / "link.yaml"
        target.write_text("version: 1\n")
        link.symlink_to(target)
        for number, (config, code, word) in enumerate([
                ({"file": str(link), "yaml": "version: 1\n"}, 74, "a link"),
                ({"file": str(self.path / "gone.yaml"), "yaml": "version: 1\n"}, 74, "-o FILE"),
                ({"file": str(target), "yaml": "a line\n"}, 65, "sections"),
                ({"file": str(target), "yaml": "a: [\n"}, 78, "syntax error")]):
            path = self.path / f"stranger{number}.sock"
            thread = self.stranger(path, config)
            saved = run("nearfield", "ctl", "--socket", path, "save")
            thread.join()
            self.assertEqual(saved.returncode, code, saved.stderr)
            self.assertIn(word, saved.stderr)
        self.assertEqual(target.read_text(), "version: 1\n")
        self.assertEqual(list(self.path.glob("target.yaml?*")), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_save_by_the_word_of_another_users_daemon_is_refused(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o777)
        path = pathlib.Path(folder.name) / "other.sock"
        ready, listens = os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            thread = self.stranger(path, {"file": str(self.configuration), "yaml": "version: 1\n"})
            os.write(listens, b"1")
            thread.join()
            os._exit(0)
        os.read(ready, 1)
        for end in (ready, listens):
            os.close(end)
        saved = run("nearfield", "ctl", "--socket", path, "save")
        os.waitpid(child, 0)
        self.assertEqual(saved.returncode, 77, saved.stderr)
        self.assertIn("user 65534; give the file by -o FILE", saved.stderr)

    def tap(self, *words):
        return run("nearfield", "tap", "--socket", self.path / "frames.sock", *words)

    def test_tap_says_a_line_now_and_then(self):
        lines = self.tap("--duration", "2.5").stdout.split("\n")
        live = [line for line in lines if re.match(r"\d+ s: ", line)]
        self.assertGreaterEqual(len(live), 1)
        self.assertRegex(live[0], r"^1 s: \d+\.\d frames a second; age median [\d.]+ ms, max [\d.]+ ms; skipped \d+, shed \d+.*; [\d.]+ dB re 20 µPa$")
        self.assertNotIn(" s: ", self.tap("--duration", "1.5", "-q").stdout.split("frames,")[0])

    def test_tap_replaces_its_line_on_a_terminal(self):
        words = ["nearfield", "tap", "--socket", str(self.path / "frames.sock")]
        text = run_on_terminal(words, ends_at=lambda text: len(re.findall(r"\r\d+ s: [^\r\n]*\x1b\[K", text)) >= 2)
        self.assertRegex(text, r"\x1b\[K\r\n\d+ frames, ")  # the summary begins on a line of its own
        self.assertNotIn("\x1b", run_on_terminal(words + ["--duration", "1.5"], TERM="dumb"))

    def test_tap_writes_lines_of_frames_to_standard_output(self):
        lines = self.tap("--frames", "3", "--log", "-").stdout.split("\n")
        self.assertTrue(lines[0].startswith("sequence,"))
        self.assertEqual([line.count(",") for line in lines[1:]], [9, 9, 9, 0])
        self.assertEqual(self.tap("--frames", "3", "--log", "-", "--json").returncode, 64)
        self.assertIn("p999", json.loads(self.tap("--count", "3", "--json").stdout)["age_ms"])

    def test_zz_the_daemon_prints_its_summary_at_its_end(self):
        self.assertEqual(self.ctl("stop").returncode, 0)
        output, _ = self.daemon.communicate(timeout=PATIENCE_S)
        self.assertGreater(json.loads(output)["frames"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
