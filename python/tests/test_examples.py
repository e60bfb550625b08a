"""Each example runs as it stands, in a folder of its own, says what it should, and makes its picture."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread

import nearfield

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
# What each prints, and the picture that it makes.
EXPECTED = {
    "own_recording": (r"x \+0\.03 m, y -0\.0[13] m", "hologram.png"),
    "spectrum_at_a_point": (r"loudest at 750 Hz: ", "spectrum.png"),
    "radiated_power": (r"3000 Hz: [0-9.]+ mW of the 7\.61 mW", None),
    "find_a_source": (r"1 source; the first at x \+0\.[34]\d m, y -0\.[12]\d m", "source.png"),
    "phase_animation": (r"one period of 0\.5 ms", "phases.gif"),
    "compare_with_truth": (r"magnitudes: \d\.\d %|magnitudes: 1\d\.\d %", "truth.png"),
    "beamform_arrays": (r"x (-0\.[23]\d m, y \+0\.[01]\d|\+0\.2\d m, y -0\.[12]\d) m", "map.png"),
    "impact_on_a_plate": (r"relative L2 error [789]\.\d %, NCC 0\.99\d+; before the impact [2-6]\.\d %\n"
                          r"front at 2000 Hz: (4[6-9]|50)\d m/s.*\nfront at 3000 Hz: (5[6-9]|60)\d m/s", "impact.png"),
    "deflection_shape": (r"locked to a microphone: [5-8]\.\d %; to a point of the image: [5-8]\.\d %", "shape.png"),
    "push_bits": (r"frame 5: 0\.\d+ Pa", None),
}


def run(name, folder, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *arguments], cwd=folder, capture_output=True, text=True, check=False,
                          env=os.environ | {"MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def require_picture(path):
    """A picture that is not of one colour alone."""
    pixels = imread(path)
    assert min(pixels.shape[:2]) > 200
    assert len({tuple(pixel) for row in pixels[::7, ::7] for pixel in row}) > 10


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name, tmp_path):
    said, picture = EXPECTED[name]
    assert re.search(said, run(name, tmp_path)), name
    if picture is not None:
        require_picture(tmp_path / picture)


@pytest.mark.versions
def test_a_recording_with_acoulars_positions_is_read(tmp_path):
    """Files that lie elsewhere, without which of the places the picture would be another one."""
    run("own_recording", tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    files = [tmp_path / "recording.h5", tmp_path / "positions.xml"]
    said = EXPECTED["own_recording"][0]
    assert re.search(said, run("own_recording", other, *files, "0.03", "1500"))
    require_picture(other / "hologram.png")
    first, *points, last = files[1].read_text().splitlines()
    files[1].write_text("\n".join([first, *points[::-1], last]))  # the channels of other places
    assert not re.search(said, run("own_recording", other, *files, "0.03", "1500"))


def test_controller_acts_on_live_frames(live):
    # The expected error of these 8 x 8 microphones is 0.5 and more: the aperture is small and the source is weak.
    said = run("controller", live, live / "frames.sock", "5", "10")
    assert len(said.splitlines()) == 5
    assert re.search(r"frame \d+: ", said)
    assert run("controller", live, live / "frames.sock", "2", "0.01") == "no action\nno action\n"


def test_controller_waits_for_a_daemon_that_restarts(tmp_path):
    """A stand-in for the package: the ring ends once, and nobody listens to the first two who connect again."""
    (tmp_path / "nearfield.py").write_text('''
import types
import numpy as np
class RingError(Exception): pass
class RingEnded(RingError): pass
class Frame(types.SimpleNamespace):
    def __getitem__(self, name):
        return {"images": np.ones((1, 1, 2, 2)), "error_estimate": np.array([0.1])}[name]
class Ring:
    def __init__(self, socket, products):
        self.turn, self.tries = 0, 0
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def next(self, timeout_s):
        self.turn += 1
        if self.turn == 2:
            raise RingEnded
        return Frame(sequence=self.turn, age_s=0.001, flags=0)
    def reopen(self):
        self.tries += 1
        if self.tries < 3:
            raise RingError("nothing listens at the socket")
''')
    done = subprocess.run([sys.executable, EXAMPLES / "controller.py", "", "3"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["frame 1", "no action", "frame 3"]


def test_recording_series(live):
    control = ["ctl", "--socket", live / "control.sock"]
    nearfield.run(*control, "record", "start", "--images", "--name", "gallery")
    with nearfield.Ring(live / "frames.sock") as ring:
        for _ in range(6):
            assert ring.next(30.0) is not None
    nearfield.run(*control, "record", "stop")
    assert re.search(r"^\d+ frames, ", run("recording_series", live, live / "gallery.nfr"))
    require_picture(live / "series.png")


@pytest.mark.versions
def test_the_struck_plate_is_that_of_the_closed_form():
    """An impulse I that is spread over a Gaussian of deviation a gives v = I / (4 pi m) Re(exp(-r^2 / (4 q)) / q), q = a^2 / 2 + j b t: the integral
    of k J0(k r) cos(b k^2 t) exp(-k^2 a^2 / 2), which without the spread is Sneddon's sin(r^2 / (4 b t)) / (b t) (Fourier Transforms, 1951).
    """
    spec = importlib.util.spec_from_file_location("impact_on_a_plate", EXAMPLES / "impact_on_a_plate.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    distances_m = np.array([0.0, 0.05, 0.1, 0.2, 0.5])
    samples = np.round(2 * example.RATE_HZ * (example.IMPACT_S + np.array([0.1e-3, 0.15e-3, 0.3e-3, 0.6e-3, 1.2e-3]))).astype(int)
    velocity_m_s = example.plate_and_air(distances_m)[0][samples]
    for row, t in zip(velocity_m_s, samples / (2 * example.RATE_HZ) - example.IMPACT_S, strict=True):
        step_s = min(t, example.PULSE_S) / 4000
        force_s = (np.arange(4000) + 0.5) * step_s
        q = example.TIP_M**2 / 2 + 1j * example.DISPERSION_M2_S * (t - force_s)
        kernel = (np.exp(-(distances_m[:, None] ** 2) / (4 * q)) / q).real
        known = kernel @ example.force_n(force_s) * step_s / (4 * np.pi * example.MASS_KG_M2)
        # The example has no frequencies above 24 kHz, where the pulse's spectrum is 1e-3 of its largest value; the largest velocity is 0.06 m/s.
        np.testing.assert_allclose(row, known, atol=2e-4 * 0.06)


@pytest.mark.parametrize(("name", "arguments"), [("recording_series", []), ("recording_series", ["--help"]), ("controller", ["--help"]),
                                                 ("deflection_shape", ["many"]), ("own_recording", ["one.h5"]), ("impact_on_a_plate", ["--none"])])
def test_wrong_arguments_are_answered_with_the_usage(name, arguments, tmp_path):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"{name}.py" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_example_is_tried():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*EXPECTED, "controller", "recording_series"}
