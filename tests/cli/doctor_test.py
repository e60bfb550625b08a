#!/usr/bin/env python3
"""`nearfield doctor`: this machine as it is, and machines that lack what a configuration needs.

    doctor_test.py BINARIES

A full disk is a small tmpfs in a mount namespace of its own; a driver that hangs is a library whose loading never ends.
"""

import ctypes
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

BINARIES = pathlib.Path(sys.argv.pop(1)).resolve()
LIMIT_S = 10.0
PATIENCE_S = 120
CONFIG = """\
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}
front_end: {frequencies_hz: [1007.08]}
holography: {standoff_m: 0.03}
daemon:
  source: {address: "127.0.0.1:0"}
  publish: {ring: {socket: FOLDER/frames.sock}}
  control: {socket: FOLDER/control.sock}
  metrics: {address: off}
  page: {address: off}
  recording: {directory: FOLDER}
"""


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="nearfield-doctor-")
        self.path = pathlib.Path(self.folder.name)
        self.config = self.path / "lab.yaml"
        self.config.write_text(CONFIG.replace("FOLDER", self.folder.name))
        self.addCleanup(self.folder.cleanup)

    def line(self, *arguments):
        return [str(BINARIES / "nearfield"), "doctor", "-c", str(self.config), *arguments]

    def examine(self, *arguments, line=None, **options):
        """The exit code, and the checks by their names."""
        begun = time.monotonic()
        done = subprocess.run(line or self.line("--json", *arguments), capture_output=True, text=True, check=False,
                              timeout=60, **options)
        self.assertLess(time.monotonic() - begun, LIMIT_S)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        checks = {check["name"]: check for check in report["checks"]}
        fails = [check for check in report["checks"] if check["state"] == "fail"]
        self.assertEqual(done.returncode, 1 if fails else 0)
        self.assertEqual(report["ok"], not fails)
        for check in report["checks"]:
            self.assertIn(check["state"], ("ok", "warn", "fail"))
            self.assertTrue(check["found"] and check["needed"], check)
            self.assertTrue(check["state"] == "ok" or check["mend"], check)
        return done.returncode, checks

    def assert_state(self, checks, name, state, found="", mend=""):
        self.assertEqual(checks[name]["state"], state, checks[name])
        self.assertIn(found, checks[name]["found"])
        self.assertIn(mend, checks[name]["mend"])

    def test_the_table_says_what_is_needed_whatever_the_state(self):
        done = subprocess.run(self.line(), capture_output=True, text=True, check=False, timeout=60)
        parts = re.split(r"^(?:ok|warn|fail)  +\w+$", done.stdout, flags=re.M)[1:]
        self.assertGreater(len(parts), 10)
        for part in parts:
            self.assertRegex(part, r"\n      found   \S")
            self.assertRegex(part, r"\n      needed  \S")

    def test_a_configuration_comes_by_standard_input(self):
        for text, found, state in ((self.config.read_text(), "standard input: right", "ok"),
                                   ("holography: {standoff: 1}\n", "standard input:1:14: holography.standoff: unknown key", "fail")):
            _, checks = self.examine(line=[str(BINARIES / "nearfield"), "doctor", "-c", "-", "--json"], input=text)
            self.assert_state(checks, "configuration", state, found)
        _, checks = self.examine("--set", "array.rows=8", line=[str(BINARIES / "nearfield"), "doctor", "-c", "-", "--json"],
                                 input=self.config.read_text().replace("8", "9"))
        self.assertEqual(checks["memory"]["state"], "ok", checks["memory"])  # so that nearfieldd has read the same text

    def test_a_device_is_chosen(self):
        _, checks = self.examine("--device", "nowhere")
        self.assert_state(checks, "device", "fail", "nowhere")

    def test_this_machine_as_it_is(self):
        code, checks = self.examine()
        self.assertEqual(code, 0, checks)
        self.assertEqual(set(checks), {"configuration", "drivers", "device", "memory", "permissions", "realtime",
                                       "socket_buffers", "disk", "sockets", "stale_sockets", "ports", "files", "exposure",
                                       "governor", "huge_pages", "program_cache", "clock"})
        self.assert_state(checks, "device", "ok", "local memory")
        is_pocl = "(Portable Computing Language" in checks["device"]["found"]
        self.assertEqual("docs/results/opencl.md" in checks["device"]["found"], is_pocl, "a faster driver")
        self.assert_state(checks, "drivers", "ok", ".icd")
        self.assert_state(checks, "disk", "ok", "MB/s")
        self.assertEqual(sorted(os.listdir(self.path)), ["lab.yaml"])
        words = subprocess.run(self.line(), capture_output=True, text=True, check=False)
        self.assertRegex(words.stdout, r"(?m)^ok    device\n      found   \S")
        self.assertRegex(words.stdout, r"\d+ ok, \d+ to look at, 0 failed\n$")

    def test_hidden_device(self):
        empty = self.path / "vendors"
        empty.mkdir()
        code, checks = self.examine(env={**os.environ, "OCL_ICD_VENDORS": str(empty)})
        self.assertEqual(code, 1)
        self.assert_state(checks, "drivers", "fail", f"no driver in {empty}", "unset OCL_ICD_VENDORS")
        self.assert_state(checks, "device", "fail", "no OpenCL")
        missing = self.path / "missing"
        code, checks = self.examine(env={**os.environ, "OCL_ICD_VENDORS": str(missing)})
        self.assertEqual(code, 1)
        self.assert_state(checks, "drivers", "fail", f"OCL_ICD_VENDORS: {missing}, there is neither such a folder nor such a library",
                          "unset OCL_ICD_VENDORS")

    def test_drivers_that_are_not_there_and_that_hang(self):
        vendors = self.path / "vendors"
        vendors.mkdir()
        (vendors / "gone.icd").write_text("libnosuchdriver.so.1\n")
        code, checks = self.examine(env={**os.environ, "OCL_ICD_VENDORS": str(vendors)})
        self.assertEqual(code, 1)
        self.assert_state(checks, "drivers", "fail", "libnosuchdriver.so.1: cannot open")
        (self.path / "hang.c").write_text(textwrap.dedent("""\
            #include <unistd.h>
            __attribute__((constructor)) static void hang(void) { for (;;) pause(); }
            """))
        library = self.path / "libhang.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(self.path / "hang.c")], check=True)
        (vendors / "hang.icd").write_text(f"{library}\n")
        code, checks = self.examine(env={**os.environ, "OCL_ICD_VENDORS": str(vendors)})
        self.assertEqual(code, 1)
        self.assert_state(checks, "drivers", "fail", "time limit")
        self.assert_state(checks, "device", "fail", "does not answer within")
        process = subprocess.Popen(self.line(), env={**os.environ, "OCL_ICD_VENDORS": str(vendors)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)

    def test_full_disk(self):
        """A tmpfs of 1 MiB: the write meets ENOSPC. Users other than root make it in a user namespace."""
        script = f"mount -t tmpfs -o size=1m tmpfs {self.path}/full && exec \"$@\""
        (self.path / "full").mkdir()
        line = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "sh", "-c", script,
                "sh", *self.line("--json", "--set", f"daemon.recording.directory={self.path}/full")]
        code, checks = self.examine(line=line)
        self.assertEqual(code, 1)
        self.assert_state(checks, "disk", "fail", "No space left on device", "df -h")
        self.assertEqual(os.listdir(self.path / "full"), [])

    def test_stale_socket_and_missing_folder(self):
        left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        left.bind(str(self.path / "control.sock"))
        left.close()  # the file stays, as after a kill
        code, checks = self.examine("--set", f"daemon.recording.directory={self.path}/none")
        self.assertEqual(code, 1)
        self.assert_state(checks, "stale_sockets", "warn", "control.sock", f"rm {self.path}/control.sock")
        self.assert_state(checks, "disk", "fail", "none", "mkdir -p")

    def test_no_real_time_limits(self):
        def give_up_rights():
            resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
            if os.geteuid() == 0:
                drop_bounding = 24  # PR_CAPBSET_DROP; a root process's next program then starts without these
                for capability in (14, 23):  # CAP_IPC_LOCK, CAP_SYS_NICE
                    if ctypes.CDLL(None, use_errno=True).prctl(drop_bounding, capability, 0, 0, 0) != 0:
                        os._exit(99)

        settings = ("--set", "daemon.realtime.priority=50", "--set", "daemon.realtime.lock_memory=true")
        code, checks = self.examine(*settings, preexec_fn=give_up_rights)
        self.assertEqual(code, 1)
        self.assert_state(checks, "realtime", "fail", "RLIMIT_RTPRIO 0, RLIMIT_MEMLOCK 65536 bytes", "LimitRTPRIO=50")
        self.assertIn("LimitMEMLOCK=infinity", checks["realtime"]["mend"])

    def test_scene_that_does_not_fit(self):
        """Which nearfieldd alone looks at."""
        scene = self.path / "scene.yaml"
        scene.write_text("version: 1\narray: {rows: 4, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}\nstandoff_m: 0.03\nduration_s: 0.1\n"
                         "sources:\n  - {kind: monopole, frequency_hz: 1000, x_m: 0, y_m: 0, z_m: -0.03, volume_velocity_m3_s: 1e-4, wrong: 1}\n")
        code, checks = self.examine("--set", "daemon.source.kind=simulate", "--set", f"daemon.source.scene={scene}")
        self.assertEqual(code, 1)
        self.assert_state(checks, "files", "fail", "scene.yaml")

    def test_programs_of_the_device_are_kept_or_not(self):
        code, checks = self.examine(env={**os.environ, "POCL_CACHE_DIR": str(self.path / "kept"), "NEARFIELD_CACHE_DIR": ""})
        self.assertEqual(code, 0, checks)
        if "Portable Computing Language" in checks["device"]["found"]:
            self.assert_state(checks, "program_cache", "ok", str(self.path / "kept"))
        else:
            self.assert_state(checks, "program_cache", "warn", "switched off", "NEARFIELD_CACHE_DIR")

    def test_socket_of_another_user(self):
        """Which is not stale because this user may not connect to it. Root may, but for a user namespace's."""
        if os.geteuid() != 0:
            self.skipTest("needs two users")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as served:
            served.bind(str(self.path / "control.sock"))
            served.listen()
            os.chmod(self.path / "control.sock", 0o700)
            os.chmod(self.path, 0o755)
            code, checks = self.examine(user=65534, group=65534, extra_groups=[],
                                        env={**os.environ, "HOME": "/nonexistent", "POCL_CACHE_DIR": "/nonexistent"})
        self.assertEqual(code, 1)
        self.assert_state(checks, "sockets", "fail", "this user cannot know", "check as the daemon's user")
        self.assert_state(checks, "stale_sockets", "ok")

    def test_port_taken(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            code, checks = self.examine("--set", f"daemon.source.address=127.0.0.1:{port}")
        self.assertEqual(code, 1)
        self.assert_state(checks, "ports", "fail", f"UDP port 127.0.0.1:{port} is taken", "end that process")

    def test_broken_configuration(self):
        self.config.write_text("version: 1\nholography: {standof_m: 0.03}\n")
        code, checks = self.examine()
        self.assertEqual(code, 1)
        self.assert_state(checks, "configuration", "fail", "lab.yaml:2:14: holography.standof_m", "correct")
        self.assertNotIn("ports", checks)
        self.assert_state(checks, "device", "ok")
        self.config.unlink()
        code, checks = self.examine()
        self.assertEqual(code, 1)
        self.assert_state(checks, "configuration", "fail", "lab.yaml")


if __name__ == "__main__":
    unittest.main()
