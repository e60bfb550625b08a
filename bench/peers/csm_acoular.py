"""Cross-spectra of `nearfield csm` beside Acoular's, of the same time data, and Acoular's maps of both.

Rectangular windows half a window apart, so that both see the same spectra. Acoular takes the matrix from the file by its
PowerSpectraImport, with the positions that the file has.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
from recordings import SOUND_SPEED_M_S, settings_of, write_time_data

SAMPLE_RATE_HZ = 48000.0
SIDE = 8
PITCH_M = 0.02
WINDOW = 128
SNAPSHOTS = 40


def random_samples() -> np.ndarray:
    """[sample][channel], Pa: noise of a source at (0.1, -0.05, 0.6) m and of each microphone."""
    generator = np.random.default_rng(1)
    count = (SNAPSHOTS + 1) * WINDOW // 2
    places = (np.arange(SIDE) - (SIDE - 1) / 2) * PITCH_M
    y, x = np.meshgrid(places, places, indexing="ij")
    distance = np.sqrt((x.ravel() - 0.1) ** 2 + (y.ravel() + 0.05) ** 2 + 0.6**2)
    source = np.fft.rfft(generator.standard_normal(4 * count))
    frequency = np.fft.rfftfreq(4 * count, 1 / SAMPLE_RATE_HZ)
    delayed = np.fft.irfft(source[:, None] * np.exp(-2j * np.pi * frequency[:, None] * distance / SOUND_SPEED_M_S) / distance, axis=0)
    return delayed[count : 2 * count] + 0.1 * generator.standard_normal((count, SIDE**2))


def nearfield_matrices(program: str, recording: pathlib.Path, output: pathlib.Path) -> None:
    settings = {
        **settings_of(SIDE, PITCH_M),
        "front_end.window_samples": WINDOW,
        "front_end.hop_samples": WINDOW // 2,
    }
    command = [program, "csm", str(recording), "-o", str(output), "--all-bins"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"nearfield csm ended with {done.returncode}: {done.stderr}")


def compare(program: str, folder: pathlib.Path) -> dict[str, float]:
    import acoular

    acoular.config.global_caching = "none"
    recording, matrices = folder / "noise.h5", folder / "csm.h5"
    write_time_data(recording, random_samples(), SAMPLE_RATE_HZ)
    nearfield_matrices(program, recording, matrices)
    theirs = acoular.PowerSpectra(
        source=acoular.TimeSamples(file=str(recording)),
        block_size=WINDOW,
        window="Rectangular",
        overlap="50%",
        cached=False,
        precision="complex128",
    )
    with h5py.File(matrices) as file:
        frequencies = file["frequencies_hz"][:]
        csm = file["csm"][:].astype(complex)
        mics = acoular.MicGeom(pos_total=file["positions_m"][:])
        assert file["csm"].attrs["snapshots"] == SNAPSHOTS, dict(file["csm"].attrs)
    # Their bins 1 to N/2 - 1 are ours; 0 and N/2 have no one-sided phasor.
    expected = theirs.csm[1 : WINDOW // 2]
    assert expected.shape == csm.shape, (expected.shape, csm.shape)
    ours = acoular.PowerSpectraImport(csm=csm, frequencies=frequencies)
    grid = acoular.RectGrid(x_min=-0.3, x_max=0.3, y_min=-0.3, y_max=0.3, z=0.6, increment=0.05)
    steering = acoular.SteeringVector(grid=grid, mics=mics, env=acoular.Environment(c=SOUND_SPEED_M_S))
    maps = [
        acoular.BeamformerBase(freq_data=spectra, steer=steering, r_diag=False, cached=False).synthetic(frequencies[20], 0)
        for spectra in (ours, theirs)
    ]
    peak = np.unravel_index(np.argmax(maps[0]), maps[0].shape)
    return {
        "frequencies": len(frequencies),
        "matrix_largest_difference_over_maximum": float(np.max(np.abs(csm - expected)) / np.max(np.abs(expected))),
        "map_largest_difference_over_maximum": float(np.max(np.abs(maps[0] - maps[1])) / np.max(maps[1])),
        "map_peak_x_m": float(-0.3 + 0.05 * peak[0]),
        "map_peak_y_m": float(-0.3 + 0.05 * peak[1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nearfield", default="build/release/bin/nearfield", help="the program")
    parser.add_argument("--json", help="a report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        report = compare(arguments.nearfield, pathlib.Path(name))
    print("  ".join(f"{key} {value:.3g}" for key, value in report.items()))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1))
    if report["matrix_largest_difference_over_maximum"] > 1e-5 or report["map_largest_difference_over_maximum"] > 1e-5:
        sys.exit("differences above 1e-5 of the maximum")


if __name__ == "__main__":
    main()
