"""What the comparisons share: the array, files of time data, and a replay by Nearfield."""

import pathlib
import subprocess
import sys
import time

import h5py
import numpy as np

SOUND_SPEED_M_S = 343.0


def microphones(side: int, pitch_m: float) -> np.ndarray:
    """[3][channel], m: rows of a square array about the origin."""
    places = (np.arange(side) - (side - 1) / 2) * pitch_m
    y, x = np.meshgrid(places, places, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.zeros(side * side)])


def write_time_data(path: pathlib.Path, samples: np.ndarray, sample_rate_hz: float) -> None:
    """Samples [sample][channel], Pa, as Acoular keeps them."""
    with h5py.File(path, "w") as file:
        data = file.create_dataset("time_data", data=samples.astype(np.float32))
        data.attrs["sample_freq"] = sample_rate_hz


def matrix_of(samples: np.ndarray, window: int, frequency: float) -> np.ndarray:
    """Cross-spectra [channel][channel], Pa^2, of rectangular windows half a window apart at one frequency, in turns a sample:
    Acoular's own matrix has all bins, 8.6 GB of 1024 microphones.
    """
    hop = window // 2
    turn = np.exp(-2j * np.pi * frequency * np.arange(window))
    spectra = np.stack([turn @ samples[first : first + window] for first in range(0, len(samples) - window + 1, hop)])
    return 2.0 / window**2 / len(spectra) * (spectra.T @ spectra.conj())


def settings_of(side: int, pitch_m: float) -> dict[str, object]:
    """Of the array, and of spectra of rectangular windows."""
    return {
        "array.rows": side,
        "array.columns": side,
        "array.pitch_x_m": pitch_m,
        "array.pitch_y_m": pitch_m,
        "holography.standoff_m": 0.05,
        "medium.sound_speed_m_s": SOUND_SPEED_M_S,
        "front_end.kind": "decimated_fft",
        "front_end.window": "none",
        "front_end.remove_dc": "false",
    }


def run_replay(
    program: str, recording: pathlib.Path, datasets: list[str], settings: dict[str, object]
) -> tuple[dict[str, np.ndarray], float]:
    """Datasets of the images file, and the seconds of the whole program."""
    images = recording.with_suffix(".images.h5")
    command = [program, "replay", str(recording), "-o", str(images)]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode != 0:
        sys.exit(f"nearfield replay ended with {done.returncode}: {done.stderr}")
    with h5py.File(images, "r") as file:
        found = {name: np.asarray(file[name]) for name in datasets}
    images.unlink()
    return found, seconds


def replay(
    program: str, recording: pathlib.Path, product: str, side: int, pitch_m: float, settings: dict[str, object]
) -> tuple[np.ndarray, float]:
    """All frames of a product in double precision, and the seconds of the whole program. Windows are rectangular."""
    found, seconds = run_replay(program, recording, [product], {**settings_of(side, pitch_m), **settings})
    return found[product].astype(np.float64), seconds
