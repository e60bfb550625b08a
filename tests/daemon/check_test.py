"""What `nearfieldd --check` says of each file, folder, socket, port, device and user that a setting names and this
machine does not have, or does not permit. One table; a setting of such a kind that the table lacks is a failure.

Usage: check_test.py FOLDER_OF_PROGRAMS
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
NOBODY = 65534
FAR = "processors: {far: {kind: beamform, SETTINGS}}"
STEERED = FAR.replace("SETTINGS", "steering: {model: measured, file: NAMED}, front_end: {frequencies_hz: [1000]}")
POINTS = FAR.replace("SETTINGS", "grid: {kind: points, points: NAMED}, front_end: {frequencies_hz: [1000]}")
OPERATORS = "holography: {imager: operators, operators: {SETTING}}"
FAR_OPERATORS = "processors: {far: {kind: operators, operators: {SETTING}}}"

# Settings, where FOLDER is the test's folder and PORT a port that is taken; what the output says. The first of them is the key that is tested.
MISSING = [
    ("array.positions", "array: {positions: FOLDER/none.csv}", "cannot be read: No such file or directory"),
    ("array.calibration", "array: {calibration: FOLDER/none.h5}", "expected an existing file, found none at"),
    ("array.calibration", "array: {calibration: FOLDER}", "expected a regular file at"),
    ("device.platform", "device: {platform: nonesuch}", "no OpenCL"),
    ("device.index", "device: {index: 15}", "device.index: expected 0 to"),
    ("holography.surface", "holography: {imager: sonah, surface: FOLDER/none.csv}", "expected an existing file, found none at"),
    ("holography.surface", "holography: {imager: sonah, surface: FOLDER}", "expected a regular file at"),
    ("holography.operators.sources", OPERATORS.replace("SETTING", "sources: FOLDER/none.csv"), "expected an existing file, found none at"),
    ("holography.operators.sources", OPERATORS.replace("SETTING", "sources: FOLDER"), "expected a regular file at"),
    ("holography.operators.templates", OPERATORS.replace("SETTING", "templates: FOLDER/none.h5"), "expected an existing file, found none at"),
    ("holography.operators.templates", OPERATORS.replace("SETTING", "templates: FOLDER"), "expected a regular file at"),
    ("processors.far.operators.sources", FAR_OPERATORS.replace("SETTING", "sources: FOLDER/none.csv"), "expected an existing file, found none at"),
    ("processors.far.operators.templates", FAR_OPERATORS.replace("SETTING", "templates: FOLDER/none.h5"), "expected an existing file, found none at"),
    ("processors.far.surface", "processors: {far: {kind: sonah, surface: FOLDER/none.csv}}", "expected an existing file, found none at"),
    ("processors.far.device", FAR.replace("SETTINGS", "device: nonesuch"), "no OpenCL device matches"),
    ("processors.far.grid.points", POINTS.replace("NAMED", "FOLDER/none.csv"), "expected an existing file, found none at"),
    ("processors.far.grid.points", POINTS.replace("NAMED", "FOLDER"), "expected a regular file at"),
    ("processors.far.steering.file", STEERED.replace("NAMED", "FOLDER/none.h5"), "expected an existing file, found none at"),
    ("daemon.source.address", "daemon: {source: {address: '192.0.2.1:7230'}}", "expected an address to listen at"),
    ("daemon.source.address", "daemon: {source: {address: 'nowhere.invalid:7230'}}", "expected an address of this machine"),
    ("daemon.source.interface", "daemon: {source: {interface: nonesuch0}}", "expected a network interface of this machine"),
    ("daemon.page.camera", "daemon: {page: {camera: FOLDER/none}}", "expected a device of Video4Linux, such as /dev/video0, found none at"),
    ("daemon.page.camera", "daemon: {page: {camera: FOLDER}}", "expected a device of Video4Linux, such as /dev/video0, found none at"),
    ("daemon.source.device", "array: {preset: minidsp-uma16}\nholography: {standoff_m: 1}\ndaemon: {source: {kind: audio, device: 'hw:nonesuch'}}",
     "`nearfield devices --audio` lists what there is"),
    ("daemon.source.path", "daemon: {source: {kind: pipe, path: FOLDER/none}}", "expected an existing file, found none at"),
    ("daemon.source.path", "daemon: {source: {kind: file, path: FOLDER}}", "expected a regular file at"),
    ("daemon.source.scene", "daemon: {source: {kind: simulate, scene: FOLDER/none.yaml}}", "expected an existing file, found none at"),
    ("daemon.source.scene", "daemon: {source: {kind: simulate, scene: FOLDER/mesh.yaml}}", "none.stl: can't be read"),
    ("daemon.publish.ring.socket", "daemon: {publish: {ring: {socket: FOLDER/no/such/s}}}", "expected the folder"),
    ("daemon.publish.ring.socket", "daemon: {publish: {ring: {socket: FOLDER/mesh.yaml}}}", "found another kind of file"),
    ("daemon.publish.ring.allowed_users", "daemon: {publish: {ring: {allowed_users: [no-such-user]}}}", "one of this system's names"),
    ("daemon.publish.ring.allowed_groups", "daemon: {publish: {ring: {allowed_groups: [no-such-group]}}}", "one of this system's names"),
    ("daemon.publish.zmq.endpoint", "daemon: {publish: {zmq: {endpoint: 'ipc://FOLDER/none/s'}}}", "expected the folder"),
    ("daemon.publish.zmq.endpoint", "daemon: {publish: {zmq: {endpoint: 'ipc://FOLDER/mesh.yaml'}}}", "expected no file at"),
    ("daemon.publish.zmq.endpoint", "daemon: {publish: {zmq: {endpoint: 'ipc://FOLDER/served'}}}", "another process serves"),
    ("daemon.publish.zmq.endpoint", "daemon: {publish: {zmq: {endpoint: 'tcp://127.0.0.1:PORT'}}}", "is taken"),
    ("daemon.publish.zmq.curve_secret_file", "daemon: {publish: {zmq: {endpoint: 'tcp://127.0.0.1:0', curve_secret_file: FOLDER/none, "
     "curve_clients: ['rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7']}}}", "expected an existing file, found none at"),
    ("daemon.publish.zmq.curve_secret_file", "daemon: {publish: {zmq: {endpoint: 'tcp://127.0.0.1:0', curve_secret_file: "
     "'credential:none', curve_clients: ['rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7']}}}", "expected systemd's credential at"),
    ("daemon.recording.directory", "daemon: {recording: {directory: FOLDER/none}}", "expected the folder"),
    ("daemon.control.socket", "daemon: {control: {socket: /proc/version/s}}", "to be a folder, found a file"),
    ("daemon.control.allowed_users", "daemon: {control: {allowed_users: [no-such-user]}}", "one of this system's names"),
    ("daemon.control.allowed_groups", "daemon: {control: {allowed_groups: [no-such-group]}}", "one of this system's names"),
    ("daemon.metrics.address", "daemon: {metrics: {address: '127.0.0.1:PORT'}}", "is taken"),
    ("daemon.page.address", "daemon: {page: {address: '127.0.0.1:PORT'}}", "is taken"),
    ("daemon.page.token_file", "daemon: {page: {address: '127.0.0.1:0', token_file: FOLDER/none}}", "expected an existing file, found none at"),
    ("daemon.page.token_file", "daemon: {page: {address: '127.0.0.1:0', token_file: FOLDER}}", "expected a regular file at"),
    ("daemon.realtime.cpus", "daemon: {realtime: {cpus: [1023]}}", "daemon.realtime.cpus"),
]

# Of files and folders that are there and that another user may not use.
FORBIDDEN = [
    ("array.positions", "array: {positions: FOLDER/closed}", "cannot be read: Permission denied"),
    ("array.calibration", "array: {calibration: FOLDER/closed}", "expected a file that this user may read"),
    ("array.calibration", "array: {calibration: FOLDER/locked/file}", "expected a file that this user may reach"),
    ("holography.operators.sources", OPERATORS.replace("SETTING", "sources: FOLDER/closed"), "expected a file that this user may read"),
    ("holography.operators.templates", OPERATORS.replace("SETTING", "templates: FOLDER/closed"), "expected a file that this user may read"),
    ("processors.far.grid.points", POINTS.replace("NAMED", "FOLDER/closed"), "expected a file that this user may read"),
    ("processors.far.steering.file", STEERED.replace("NAMED", "FOLDER/closed"), "expected a file that this user may read"),
    ("daemon.source.path", "daemon: {source: {kind: file, path: FOLDER/closed}}", "expected a file that this user may read"),
    ("daemon.source.scene", "daemon: {source: {kind: simulate, scene: FOLDER/closed}}", "expected a file that this user may read"),
    ("daemon.publish.ring.socket", "daemon: {publish: {ring: {socket: FOLDER/locked/s}}}", "expected to be permitted to make files"),
    ("daemon.control.socket", "daemon: {control: {socket: FOLDER/locked/s}}", "expected to be permitted to make files"),
    ("daemon.publish.zmq.endpoint", "daemon: {publish: {zmq: {endpoint: 'ipc://FOLDER/locked/s'}}}", "expected to be permitted to make files"),
    ("daemon.recording.directory", "daemon: {recording: {directory: FOLDER/locked}}", "expected to be permitted to make files"),
    ("daemon.page.token_file", "daemon: {page: {address: '127.0.0.1:0', token_file: FOLDER/closed}}", "expected a file that this user may read"),
]

# What is named by a word of these at its end, or is a path, is a place outside of the configuration.
PLACES = ("address", "endpoint", "interface", "allowed_users", "allowed_groups", "cpus", "platform", "device")


def places():
    """Dotted keys of all settings that name a place outside of the configuration; of processors' under the name far."""
    listed = subprocess.run([str(PROGRAMS / "nearfield"), "settings", "--json"], capture_output=True, text=True, check=True)
    for one in json.loads(listed.stdout):
        key = one["key"]
        if key.startswith("processors."):
            key = "processors.far." + key.split(".", 2)[2]
        if one["type"] == "path" or key.rsplit(".", 1)[-1] in PLACES:
            yield key


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        cls.folder.chmod(0o755)
        (cls.folder / "mesh.yaml").write_text("version: 1\nsources:\n  - {kind: mesh, frequency_hz: 1000, file: none.stl, velocity_m_s: 1}\n")
        (cls.folder / "closed").write_text("x_m,y_m,z_m\n")
        (cls.folder / "closed").chmod(0)
        (cls.folder / "credentials").mkdir()
        (cls.folder / "locked").mkdir()
        (cls.folder / "locked/file").touch()
        (cls.folder / "locked").chmod(0o700)
        cls.taken = socket.create_server(("127.0.0.1", 0))
        cls.served = socket.socket(socket.AF_UNIX)
        cls.served.bind(str(cls.folder / "served"))
        cls.served.listen()

    @classmethod
    def tearDownClass(cls):
        cls.taken.close()
        cls.served.close()
        shutil.rmtree(cls.folder)

    def findings(self, settings, program="nearfieldd", user=None):
        config = self.folder / "lab.yaml"
        config.write_text("version: 1\n" + settings.replace("FOLDER", str(self.folder)).replace("PORT", str(self.taken.getsockname()[1])) + "\n")
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        if user is not None:
            os.chown(run, user, user)
        environment = {**os.environ, "CREDENTIALS_DIRECTORY": str(self.folder / "credentials"), "NEARFIELD_RUNTIME_DIR": str(run)}
        line = [str(PROGRAMS / "nearfieldd"), "--check", "--json", "-c", str(config)]
        if program == "doctor":
            line = [str(PROGRAMS / "nearfield"), "doctor", "--json", "-c", str(config)]
        ended = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, user=user, group=user,
                               extra_groups=None if user is None else [])
        return ended.returncode, json.loads(ended.stdout)

    def assert_found(self, key, settings, expected, user=None):
        with self.subTest(key=key, settings=settings):
            code, answer = self.findings(settings, user=user)
            problems = [one["text"] for one in answer["findings"] if one["kind"] == "problem"]
            own = [text for text in problems if key in text]
            self.assertTrue(own, f"{key} is named in none of {problems}")
            self.assertTrue(any(expected in text for text in own), own)
            self.assertEqual(code, 78)

    def test_what_is_not_there(self):
        for key, settings, expected in MISSING:
            self.assert_found(key, settings, expected)

    def test_what_is_not_permitted(self):
        """As root by another user's process, as any other user by this one's."""
        for key, settings, expected in FORBIDDEN:
            if os.getuid() == 0:
                self.assert_found(key, settings, expected, user=NOBODY)
            elif "closed" in settings:
                self.assert_found(key, settings, expected)

    def test_a_journal_that_is_not_there(self):
        is_there = os.access("/run/systemd/journal/socket", os.W_OK)
        _, answer = self.findings("daemon: {log: {target: journal}}")
        found = [one for one in answer["findings"] if "daemon.log.target: expected the journal's socket" in one["text"]]
        self.assertEqual(len(found), 0 if is_there else 1)

    def test_doctor_says_the_same(self):
        code, answer = self.findings("daemon: {page: {address: '127.0.0.1:0', token_file: FOLDER}}", "doctor")
        files = next(one for one in answer["checks"] if one["name"] == "files")
        self.assertEqual((code, files["state"]), (1, "fail"))
        self.assertIn("daemon.page.token_file: expected a regular file", files["found"])

    def test_a_machine_that_has_all(self):
        for name in ("positions.csv", "calibration.h5"):
            (self.folder / name).write_text("x_m,y_m,z_m\n" + "".join(f"{0.1 * i},{0.2 * j},0\n" for j in range(4) for i in range(4)))
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        code, answer = self.findings(
            "array: {positions: FOLDER/positions.csv, calibration: FOLDER/calibration.h5}\n"
            "daemon: {recording: {directory: FOLDER}, metrics: {address: '127.0.0.1:0'}, page: {address: '127.0.0.1:0'},\n"
            f"  source: {{address: '127.0.0.1:{port}'}}, publish: {{zmq: {{endpoint: 'ipc://FOLDER/z'}}}}}}")
        self.assertEqual((code, [one for one in answer["findings"] if one["kind"] == "problem"]), (0, []))
        self.assertIn("array.positions: array centred at x 0.15 m, y 0.3 m, z 0 m of the given positions, which is the images' origin",
                      [one["text"] for one in answer["findings"]])

    def test_places_that_look_wrong_are_notes(self):
        for name, line in {"mm.csv": "{0},{1},0\n", "upright.csv": "0.0{0},1,0.0{1}\n"}.items():
            (self.folder / name).write_text("x_m,y_m,z_m\n" + "".join(line.format(4 * i, 5 * j) for j in range(4) for i in range(4)))
        for name, words in (("mm.csv", "array: the microphones are at least 4 m apart"), ("upright.csv", "array: the microphones lie in the x-z plane")):
            _, answer = self.findings(f"array: {{positions: FOLDER/{name}}}")
            self.assertEqual([one["kind"] for one in answer["findings"] if words in one["text"]], ["note"], answer)

    def test_the_rate_is_that_of_the_source(self):
        settings = ("array: {layout: row-major, rows: 4, columns: 4, pitch_x_m: 0.042, pitch_y_m: 0.042}\nholography: {standoff_m: 0.05}\n"
                    "daemon: {source: {payload: samples, sample_rate_hz: 51200}}")
        _, answer = self.findings(settings)
        self.assertTrue([line for line in answer["premises"] if line.startswith("samples: 51200 a second; windows of 20 ms")], answer)

    def test_no_place_is_left_out(self):
        found = set(places())
        self.assertGreater(len(found), 15)
        self.assertEqual(found - {key for key, _, _ in MISSING}, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
