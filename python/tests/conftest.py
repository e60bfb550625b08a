"""Small recordings that the tests share; programs are those that NEARFIELD_PROGRAM and its neighbours name."""

import contextlib
import os
import pathlib
import socket
import subprocess

import matplotlib
import numpy as np
import pytest

import nearfield

matplotlib.use("Agg")

SCENE = """version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}
standoff_m: 0.03
duration_s: 0.03
sources: [{kind: monopole, frequency_hz: 1007.080078125, x_m: 0.03, y_m: -0.01, z_m: 0.0, volume_velocity_m3_s: 1.0e-5}]
"""
CONFIG = {
    "array": {"rows": 8, "columns": 8, "pitch_x_m": 0.02, "pitch_y_m": 0.02, "layout": "row-major"},
    "front_end": {"frequencies_hz": [1007.08]},
    "holography": {"standoff_m": 0.03, "extrapolation": {"order": 4}},
}
PITCH_M, STANDOFF_M, RATE_HZ = 0.02, 0.03, 46875.0


def places_m():
    """x and y of 8 x 8 microphones, [row, column]."""
    line = (np.arange(8) - 3.5) * PITCH_M
    return np.meshgrid(line, line)


def monopole(frequency_hz, x_m, y_m, z_m=0.0, at_m=STANDOFF_M):
    """The pressure of a monopole of 1 Pa m, [row, column]."""
    x, y = places_m()
    distance_m = np.sqrt((x - x_m) ** 2 + (y - y_m) ** 2 + (at_m - z_m) ** 2)
    return (np.exp(-2j * np.pi * frequency_hz / 343.0 * distance_m) / distance_m).astype(np.complex64)


def samples_of(field, frequency_hz, count=1500):
    """A tone with these phasors, [sample, channel], at RATE_HZ."""
    turns = np.exp(2j * np.pi * frequency_hz * np.arange(count) / RATE_HZ)
    return (turns[:, None] * field.reshape(1, -1)).real.astype(np.float32)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> pathlib.Path:
    return tmp_path_factory.mktemp("nearfield")


@pytest.fixture(scope="session")
def capture(folder) -> pathlib.Path:
    (folder / "scene.yaml").write_text(SCENE)
    nearfield.run("simulate", folder / "scene.yaml", "-o", folder / "capture.h5")
    return folder / "capture.h5"


@pytest.fixture(scope="session")
def images(folder, capture):
    """The images file of the capture, by the reference engine."""
    nearfield.replay(capture, folder / "images.h5", config=CONFIG, engine="reference",
                     settings={"processors.rows.kind": "spectrum", "processors.rows.window_samples": 256,
                               "processors.rows.every_hops": 3}).close()
    return folder / "images.h5"


DAEMON = """
array: {{rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}}
front_end: {{frequencies_hz: [1007.08], hop_samples: 512}}
holography: {{standoff_m: 0.03, extrapolation: {{order: 4}}}}
processors: {{rows: {{kind: spectrum, window_samples: 256}}}}
daemon:
  source: {{kind: simulate, scene: {folder}/scene.yaml, loop: true}}
  publish: {{ring: {{socket: {folder}/frames.sock}}, zmq: {{endpoint: "ipc://{folder}/feed"}}}}
  recording: {{directory: {folder}}}
  control: {{socket: {folder}/control.sock}}
  metrics: {{address: "127.0.0.1:0"}}
"""


def end(daemon):
    daemon.terminate()
    daemon.wait(30)


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    """The folder of a daemon that publishes frames; it says when it is ready as it says it to systemd."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "scene.yaml").write_text(SCENE)
    (folder / "daemon.yaml").write_text(DAEMON.format(folder=folder))
    program = pathlib.Path(nearfield.program()).with_name("nearfieldd")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, open(folder / "log", "wb") as log, contextlib.ExitStack() as stack:
        ready.bind(str(folder / "ready"))
        ready.settimeout(120.0)
        environment = os.environ | {"NOTIFY_SOCKET": str(folder / "ready")}
        daemon = subprocess.Popen([program, "-c", folder / "daemon.yaml"], stderr=log, env=environment)
        stack.callback(end, daemon)
        while b"READY=1" not in ready.recv(4096):
            pass
        yield folder
