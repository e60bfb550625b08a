#!/usr/bin/env python3
"""`nearfield bugreport` where a check of the doctor fails and where drivers hang: the archive is whole and without secrets.

    bugreport_test.py BINARIES
"""

import json
import os
import pathlib
import platform
import pwd
import re
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

BINARIES = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE_S = 240
ADDRESS = "192.0.2.77"
TOKEN = "c2VjcmV0LXRva2Vu"
KEY = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
USER = "planteduser"
LOGIN = "plantedlogin"
HOME = "/srv/people/plantedhome"
SIX = "2001:db8::77"
HARDWARE = "02:42:ac:11:00:77"
PEOPLE = [user for user in pwd.getpwall() if (user.pw_uid == 0 or 1000 <= user.pw_uid < 65534) and user.pw_dir.count("/") > 0
          and len(user.pw_dir) > 1 and user.pw_dir not in ("/nonexistent", "/home", "/tmp")]
HOST = platform.node()
HOST_ALONE = rf"(?i)(?<![A-Za-z0-9_-]){re.escape(HOST)}(?![A-Za-z0-9_-])"  # a short name, such as vm, is a part of other words
SECRETS = (ADDRESS, SIX, HARDWARE, TOKEN, KEY, USER, LOGIN, HOME, *(f" {user.pw_dir}/" for user in PEOPLE))
SECRET_TEXT = (f"from {ADDRESS} and {SIX} ({HARDWARE}), http://127.0.0.1:8080/?token={TOKEN}, key: \"{KEY}\", {{\"token\": \"{TOKEN}\"}}, "
               f"file /home/{USER}/scene.yaml {HOME}/scene.yaml, user {LOGIN} at {HOST}.lab: "
               + "".join(f" {user.pw_dir}/x" for user in PEOPLE))


def serve(listener, config):
    """A daemon whose answers hold everything that must not get out."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rw") as stream:
        for line in stream:
            result = {"status": {"peer": SECRET_TEXT, "key": KEY}, "config": {"yaml": config}}[json.loads(line)["command"]]
            stream.write(json.dumps({"ok": True, "result": result}) + "\n")
            stream.flush()


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="nearfield-report-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.vendors, self.temporary = self.path / "vendors", self.path / "tmp"
        self.vendors.mkdir()
        self.temporary.mkdir()
        self.archive = self.path / "report.tar.gz"
        self.environment = {**os.environ, "OCL_ICD_VENDORS": str(self.vendors), "TMPDIR": str(self.temporary),
                            "NEARFIELD_CACHE_DIR": f"/home/{USER}/cache", "XDG_STATE_HOME": str(self.path),
                            "HOME": HOME, "LOGNAME": LOGIN}
        self.line = [BINARIES / "nearfield", "bugreport", "-o", self.archive, "--socket", str(self.path / "control.sock")]

    def plant_programs(self):
        """Programs of the system whose words are in the report, saying what must not get out."""
        programs = self.path / "bin"
        programs.mkdir()
        for name in ("dpkg-query", "journalctl"):
            (programs / name).write_text(f"#!/bin/sh\ncat <<'END'\nii libhdf5 1.10.8.1\n{SECRET_TEXT}\nEND\n")
            (programs / name).chmod(0o755)
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"

    def hang_drivers(self):
        (self.path / "hang.c").write_text("#include <unistd.h>\n"
                                          "__attribute__((constructor)) static void hang(void) { for (;;) pause(); }\n")
        library = self.path / "libhang.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, self.path / "hang.c"], check=True)
        (self.vendors / "hang.icd").write_text(f"{library}\n")

    def report(self, *words, config=None):
        """Makes a report, beside a daemon that answers with `config` where there is one. What it has in the archive."""
        with socket.socket(socket.AF_UNIX) as listener:
            if config is not None:
                listener.bind(str(self.path / "control.sock"))
                listener.listen()
                threading.Thread(target=serve, args=(listener, config), daemon=True).start()
            done = subprocess.run([*self.line, *words], capture_output=True, text=True, check=False, env=self.environment,
                                  timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.files() | {"standard output": done.stdout}

    def files(self):
        with tarfile.open(self.archive) as archive:
            return {pathlib.PurePath(member.name).name: archive.extractfile(member).read().decode()
                    for member in archive.getmembers() if member.isfile()}

    def test_a_check_that_fails_is_in_the_archive_and_secrets_are_not(self):
        crashes = self.path / "nearfield" / "crashes"
        crashes.mkdir(parents=True)
        (crashes / "crash_20260101T000000Z_1.txt").write_text(SECRET_TEXT + "\n")
        self.plant_programs()
        files = self.report(config=f"version: 1\narray: {{rows: 8, columns: 8}}\n# {SECRET_TEXT}\n")
        doctor = json.loads(files["doctor.json"])
        self.assertFalse(doctor["ok"])
        self.assertIn("fail", [check["state"] for check in doctor["checks"] if check["name"] == "device"])
        self.assertIn("[user]", files["doctor.json"])  # of NEARFIELD_CACHE_DIR
        self.assertIn("devices` ended with exit code 69", files["contents.txt"])
        for name in ("status.json", "config.yaml", "crash.txt", "log.txt"):
            for instead in ("[address]", "[home]", "[user]", "[host]", "[key]", "[token]"):
                self.assertIn(instead, files[name], name)
        self.assertEqual(json.loads(files["status.json"])["key"], "[key]")
        self.assertIn("libhdf5 1.10.8.1", files["packages.txt"])  # no address
        files["packages.txt"] = files["packages.txt"].replace(ADDRESS, "").replace(SIX, "").replace(HARDWARE, "")
        self.assertTrue({"version.txt", "machine.txt"} < files.keys())
        for name, text in files.items():
            for secret in SECRETS:
                self.assertNotIn(secret, text, name)
            self.assertNotRegex(text, HOST_ALONE, name)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_places_of_a_crash_get_names_as_each_c_library_writes_them(self):
        crashes = self.path / "nearfield" / "crashes"
        crashes.mkdir(parents=True)
        places = ["module(+0x11)", "module(main+0x12)"]
        (crashes / "crash_20260101T000000Z_1.txt").write_text(f"nearfieldd crashed (of itself)\n{places[0]}[0x5]\n{places[1]} [0x6]\n")
        crash = self.report()["crash.txt"]
        for place in places:
            self.assertIn(f"\n{place}\n", crash)
        self.assertNotIn("itself)\n", crash.split("crashed (of itself)\n", 1)[1])

    def configuration(self, files):
        return next(check for check in json.loads(files["doctor.json"])["checks"] if check["name"] == "configuration")

    def test_the_doctor_looks_at_the_configuration_of_the_daemon(self):
        files = self.report(config="version: 1\narray: {rows: 8, columns: 8}\nno_such_key: 1\n")
        self.assertEqual(self.configuration(files)["state"], "fail")
        self.assertIn("no_such_key", self.configuration(files)["found"])
        self.assertIn("for the daemon's configuration", files["contents.txt"])

    def test_the_doctor_looks_at_the_configuration_that_is_named(self):
        (self.path / "mine.yaml").write_text("version: 1\nother_key: 1\n")
        for config in (None, "version: 1\nno_such_key: 1\n"):
            files = self.report("-c", str(self.path / "mine.yaml"), config=config)
            self.assertIn("other_key", self.configuration(files)["found"])
            self.assertIn("for the named configuration", files["contents.txt"])
            (self.path / "control.sock").unlink(missing_ok=True)

    def test_without_a_daemon_the_doctor_looks_at_the_defaults(self):
        files = self.report()
        self.assertEqual(self.configuration(files)["found"], "defaults")
        self.assertIn("for all defaults, as no daemon answers", files["contents.txt"])

    def test_drivers_that_hang_are_left_out(self):
        self.hang_drivers()
        done = subprocess.run([*self.line, "--limit", "1"], capture_output=True, text=True, check=False, env=self.environment,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = self.files()
        self.assertIn("devices` did not end within its time limit", files["contents.txt"])
        self.assertIn("nearfieldd --version did not end within its time limit", files["version.txt"])
        self.assertIn("processors", files["machine.txt"])

    def test_its_former_name_works_with_a_warning_and_is_in_no_help(self):
        self.line[1] = "report"
        done = subprocess.run([*self.line, "--limit", "0.01"], capture_output=True, text=True, check=False, env=self.environment, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, "nearfield: warning: report: its name is bugreport now\n"))
        self.assertIn("contents.txt", self.files())
        listed = subprocess.run([BINARIES / "nearfield", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertNotRegex(listed, r"(?m)^  report\b")
        self.assertRegex(listed, r"(?m)^  bugreport\b")
        of_former = subprocess.run([BINARIES / "nearfield", "help", "report"], capture_output=True, text=True, check=True).stdout
        self.assertIn("nearfield bugreport", of_former)

    def test_a_limit_of_no_time_is_refused(self):
        done = subprocess.run([*self.line, "--limit", "0"], capture_output=True, text=True, check=False, env=self.environment,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("--limit", done.stderr)
        self.assertFalse(self.archive.exists())

    def test_a_signal_leaves_nothing(self):
        self.hang_drivers()  # so that it is still at work when the signal comes
        process = subprocess.Popen(self.line, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + PATIENCE_S
        while not os.listdir(self.temporary):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(os.listdir(self.temporary), [])
        self.assertFalse(self.archive.exists())

    def test_a_missing_temporary_folder_is_named(self):
        done = subprocess.run(self.line, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                              env={**self.environment, "TMPDIR": str(self.path / "none")})
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn("TMPDIR: expected a folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
