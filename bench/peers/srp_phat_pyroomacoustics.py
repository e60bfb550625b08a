"""Sources found by `srp_phat` beside pyroomacoustics' SRP, of the same recording: maps, maxima, and times on the same cores.

Sixteen microphones, 63 x 63 directions at infinity, 112 bins of windows of 512 samples at 16 kHz, one window a frame. Both read the
same samples; windows are rectangular and follow on each other, so that both see the same spectra. pyroomacoustics' map is the
sum over pairs with another factor: M^2 / (M (M - 1) / 2) times ours.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = str(os.cpu_count())

import numpy as np  # noqa: E402
from recordings import SOUND_SPEED_M_S, microphones, replay, write_time_data  # noqa: E402

SAMPLE_RATE_HZ = 16000.0
WINDOW = 512
SIDE = 4
PITCH_M = 0.04
BINS = range(16, 128)
LARGEST_DEG = 40.3
STEP_DEG = 1.3
DIRECTIONS = 63


def directions() -> np.ndarray:
    """[3][pixel]: unit vectors to the sources, elevation slowest, as the grid `angles` has them."""
    sines = np.sin(np.radians(-LARGEST_DEG + STEP_DEG * np.arange(DIRECTIONS)))
    u_y, u_x = np.meshgrid(sines, sines, indexing="ij")
    return np.stack([u_x.ravel(), u_y.ravel(), -np.sqrt(1 - u_x.ravel() ** 2 - u_y.ravel() ** 2)])


def recording_of(frames: int, generator: np.random.Generator) -> np.ndarray:
    """Samples [sample][channel] of a plane wave of white noise from a direction between pixels, and noise 5 dB below it."""
    u = np.array([np.sin(np.radians(12.3)), np.sin(np.radians(-7.7))])
    count = frames * WINDOW
    spectrum = np.fft.rfft(generator.standard_normal(count))
    hz = np.fft.rfftfreq(count, 1 / SAMPLE_RATE_HZ)
    ahead_s = (u @ microphones(SIDE, PITCH_M)[:2]) / SOUND_SPEED_M_S
    waves = np.fft.irfft(spectrum[:, None] * np.exp(2j * np.pi * hz[:, None] * ahead_s[None, :]), n=count, axis=0)
    return (waves + 10 ** (-5 / 20) * generator.standard_normal(waves.shape)).astype(np.float32)


def run_nearfield(program: str, recording: pathlib.Path) -> tuple[np.ndarray, float]:
    """Maps [frame][pixel] and the seconds of the whole program."""
    bin_hz = SAMPLE_RATE_HZ / WINDOW
    maps, seconds = replay(
        program,
        recording,
        "/where/map",
        SIDE,
        PITCH_M,
        {
            "front_end.window_samples": WINDOW,
            "front_end.hop_samples": WINDOW,
            "front_end.frequencies_hz": [1000.0],
            "processors.where.kind": "srp_phat",
            "processors.where.band_hz": [(BINS[0] - 0.5) * bin_hz, (BINS[-1] + 0.5) * bin_hz],
            "processors.where.grid.kind": "angles",
            "processors.where.grid.distance_m": "inf",
            "processors.where.grid.azimuth_deg": [-LARGEST_DEG, LARGEST_DEG],
            "processors.where.grid.elevation_deg": [-LARGEST_DEG, LARGEST_DEG],
            "processors.where.grid.step_deg": STEP_DEG,
        },
    )
    return maps.reshape(maps.shape[0], -1), seconds


def run_peer(samples: np.ndarray) -> tuple[np.ndarray, float]:
    """Maps [frame][pixel] in our scale, and the seconds of their computation, imports and grid left out."""
    import pyroomacoustics as pra

    frames = samples.shape[0] // WINDOW
    spectra = np.fft.rfft(samples.reshape(frames, WINDOW, -1), axis=1)  # [frame][bin][channel]
    channels = samples.shape[1]
    peer = pra.doa.SRP(microphones(SIDE, PITCH_M), SAMPLE_RATE_HZ, WINDOW, c=SOUND_SPEED_M_S, dim=3)
    peer.grid = pra.doa.GridSphere(cartesian_points=directions())
    peer.mode_vec = pra.doa.ModeVector(peer.L, SAMPLE_RATE_HZ, WINDOW, SOUND_SPEED_M_S, peer.grid)
    maps = []
    begun = time.perf_counter()
    for frame in range(frames):
        peer.locate_sources(spectra[frame].T[:, :, None], num_src=1, freq_bins=list(BINS))
        maps.append(np.array(peer.grid.values))
    seconds = time.perf_counter() - begun
    factor = (channels * (channels - 1) / 2) / channels**2
    return np.stack(maps) * factor, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nearfield", default="build/release/bin/nearfield", help="the program")
    parser.add_argument("--frames", type=int, default=8, help="that both compute")
    parser.add_argument("--long", type=int, default=400, help="further frames, which tell a frame's time from the start's")
    parser.add_argument("--json", help="a report")
    arguments = parser.parse_args()
    generator = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as name:
        recording = pathlib.Path(name) / "short.h5"
        longer = pathlib.Path(name) / "long.h5"
        samples = recording_of(arguments.frames + arguments.long, generator)
        for path, values in ((recording, samples[: arguments.frames * WINDOW]), (longer, samples)):
            write_time_data(path, values, SAMPLE_RATE_HZ)
        run_nearfield(arguments.nearfield, recording)  # compiles its kernels
        ours, short_s = run_nearfield(arguments.nearfield, recording)
        _, long_s = run_nearfield(arguments.nearfield, longer)
        theirs, peer_s = run_peer(samples[: arguments.frames * WINDOW])
    ours_s = (long_s - short_s) / arguments.long
    report = {
        "frames": arguments.frames,
        "pixels": DIRECTIONS**2,
        "largest_difference_over_maximum": float(np.max(np.abs(ours - theirs)) / np.max(theirs)),
        "frames_with_the_same_maximum": int(np.sum(np.argmax(ours, axis=1) == np.argmax(theirs, axis=1))),
        "pyroomacoustics_s_per_frame": peer_s / arguments.frames,
        "nearfield_s_per_frame": ours_s,
        "ratio": peer_s / arguments.frames / ours_s,
    }
    for key, value in report.items():
        print(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
