"""CLEAN-SC and functional beamforming of `beamform` beside Acoular's, of the same recordings: maps, places, levels, times.

Windows are rectangular and half a window apart, so that both see the same blocks. What the formulas differ by:

- functional: Nearfield takes the noise, the mean of the eigenvalues beyond `sources`, off all eigenvalues. Acoular's map is made
  twice: of its eigenvalues as they are, and of the same without that noise.
- CLEAN-SC: Acoular fits a source's component to the matrix without its diagonal, as Sijtsma (2007) also describes, whatever r_diag says;
  Nearfield takes C w / b of the whole matrix, the only form that snapshots alone can give. The latter, in a few lines of
  numpy on Acoular's matrix and steering vectors, stands beside both.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Acoular asks for that: numba runs in parallel beside it

import numpy as np  # noqa: E402
from beamform_acoular import PITCH_M, SAMPLE_RATE_HZ, Acoular, Case, matrix_of  # noqa: E402
from recordings import SOUND_SPEED_M_S, microphones, replay, write_time_data  # noqa: E402

EXPONENT = 16
SOURCES = 2
LOOP_GAIN = 0.6
ITERATIONS = 20
PLACES_M = ((-0.22, 0.10), (0.22, -0.14))
LEVELS_DB = (0.0, -6.0)
NOISE_DB = -20.0
NEAR_M = 0.09


def recording_of(case: Case, snapshots: int, generator: np.random.Generator) -> np.ndarray:
    """Samples [sample][channel] of two noises that are incoherent, and noise of each microphone below them."""
    count = (snapshots + 1) * case.window // 2
    frequency = np.fft.rfftfreq(2 * count, 1 / SAMPLE_RATE_HZ)
    mics = microphones(case.side, PITCH_M)
    samples = 10 ** (NOISE_DB / 20) * generator.standard_normal((count, case.side**2))
    for (x_m, y_m), level_db in zip(PLACES_M, LEVELS_DB):
        distance = np.sqrt((mics[0] - x_m) ** 2 + (mics[1] - y_m) ** 2 + case.distance_m**2)
        spectrum = 10 ** (level_db / 20) * np.fft.rfft(generator.standard_normal(2 * count))
        for channel, path_m in enumerate(distance):
            delayed = np.fft.irfft(spectrum * np.exp(-2j * np.pi * frequency * path_m / SOUND_SPEED_M_S), 2 * count)
            samples[:, channel] += case.distance_m / path_m * delayed[count:]
    return samples.astype(np.float32)


def settings_of(method: str, case: Case) -> dict[str, object]:
    """A map of the last `snapshots` at each snapshot, of true_level."""
    width = case.half_width_m
    return {
        "front_end.window_samples": case.window,
        "front_end.hop_samples": case.window // 2,
        "front_end.frequencies_hz": [case.frequency_hz],
        "processors.far.kind": "beamform",
        "processors.far.method": method,
        "processors.far.grid.kind": "plane",
        "processors.far.grid.distance_m": [case.distance_m],
        "processors.far.grid.x_m": [-width, width],
        "processors.far.grid.y_m": [-width, width],
        "processors.far.grid.step_m": case.step_m,
        "processors.far.average.snapshots": case.snapshots,
        "processors.far.map_rate_hz": 1000,
        "processors.far.sources": SOURCES,
        "processors.far.functional_exponent": EXPONENT,
        "processors.far.clean.loop_gain": LOOP_GAIN,
        "processors.far.clean.iterations": ITERATIONS,
        "processors.far.clean.stop_db": 60,
    }


def run_nearfield(program: str, recording: pathlib.Path, method: str, case: Case) -> tuple[np.ndarray, float]:
    """The last map [y][x], and the seconds of the whole program."""
    frames, seconds = replay(program, recording, "/far/map", case.side, PITCH_M, settings_of(method, case))
    return frames[-1].reshape(case.pixels, case.pixels), seconds


class WithoutNoise:
    """Eigenvalues of a matrix less the mean of those beyond `sources`, in the place of Acoular's spectra."""

    def __init__(self, matrix: np.ndarray, snapshots: int):
        values, self.vectors = np.linalg.eigh(matrix)
        values = np.maximum(values, 0.0)
        held = min(snapshots, len(values))  # the others are 0 to rounding
        noise = np.mean(values[len(values) - held : len(values) - SOURCES])
        self.values = np.maximum(values - noise, 0.0)

    def spectra_class(self):
        import acoular

        given = self

        class Given(acoular.PowerSpectraImport):
            def _get_eigvals(self):
                return given.values[None]

            def _get_eigvecs(self):
                return given.vectors[None]

        return Given


def steering_of(acoular: Acoular):
    return acoular.acoular.SteeringVector(grid=acoular.grid, mics=acoular.mics, env=acoular.env, steer_type="true level")


def functional_of(acoular: Acoular, spectra) -> np.ndarray:
    beamformer = acoular.acoular.BeamformerFunctional(
        freq_data=spectra, steer=steering_of(acoular), gamma=EXPONENT, cached=False, precision="float64"
    )
    return np.asarray(beamformer.synthetic(acoular.case.frequency_hz, 0)).T


def clean_of(acoular: Acoular, spectra) -> np.ndarray:
    beamformer = acoular.acoular.BeamformerCleansc(
        freq_data=spectra, steer=steering_of(acoular), n_iter=ITERATIONS, damp=LOOP_GAIN, r_diag=False, cached=False, precision="float64"
    )
    return np.asarray(beamformer.synthetic(acoular.case.frequency_hz, 0)).T


def clean_of_whole_matrix(acoular: Acoular, matrix: np.ndarray) -> np.ndarray:
    """CLEAN-SC with the components C w / b; ends as Nearfield's does."""
    h = steering_of(acoular).steer_vector(acoular.case.frequency_hz)  # [pixel][channel]
    rest = matrix.copy()
    powers = np.real(np.einsum("qm,mn,qn->q", h.conj(), rest, h))
    found = np.zeros(len(powers))
    largest: list[float] = []
    for _ in range(ITERATIONS):
        pixel = int(np.argmax(powers))
        if powers[pixel] <= 0 or (len(largest) >= 3 and powers[pixel] > largest[-3]):
            break
        largest.append(float(powers[pixel]))
        found[pixel] += LOOP_GAIN * powers[pixel]
        component = rest @ h[pixel]
        taken = np.abs(h.conj() @ component) ** 2 / powers[pixel]
        rest -= LOOP_GAIN / largest[-1] * np.outer(component, component.conj())
        powers = powers - LOOP_GAIN * taken
    return found.reshape(acoular.case.pixels, acoular.case.pixels).T


def sources_in(found: np.ndarray, case: Case, is_sum: bool) -> list[dict[str, float]]:
    """Of each source: where the map is largest within NEAR_M, and its level there, or summed, dB re the louder one."""
    places = -case.half_width_m + case.step_m * np.arange(case.pixels)
    y, x = np.meshgrid(places, places, indexing="ij")
    rows = []
    for x_m, y_m in PLACES_M:
        near = np.hypot(x - x_m, y - y_m) <= NEAR_M
        best = np.unravel_index(np.argmax(np.where(near, found, -1.0)), found.shape)
        power = np.sum(found[near]) if is_sum else found[best]
        rows.append({"x_m": float(x[best]), "y_m": float(y[best]), "power": float(power)})
    return rows


def compare(what: str, ours: np.ndarray, theirs: np.ndarray, case: Case) -> dict[str, object]:
    is_sum = what.startswith("clean_sc")
    one, other = sources_in(ours, case, is_sum), sources_in(theirs, case, is_sum)
    return {
        "microphones": case.side**2,
        "what": what,
        "largest_difference_over_maximum": float(np.max(np.abs(ours - theirs)) / np.max(theirs)),
        "place_differences_m": [float(np.hypot(a["x_m"] - b["x_m"], a["y_m"] - b["y_m"])) for a, b in zip(one, other)],
        "level_differences_db": [float(10 * np.log10(a["power"] / b["power"])) for a, b in zip(one, other)],
    }


def differences(program: str, folder: pathlib.Path, draws: int) -> list[dict[str, object]]:
    """Largest ones over `draws` recordings, of 64 and of 256 microphones."""
    worst: dict[tuple[int, str], dict[str, object]] = {}
    for side in (8, 16):
        case = Case(side=side, window=128, snapshots=100, bin_index=21, half_width_m=0.5, pixels=26, distance_m=0.6)
        for draw in range(draws):
            samples = recording_of(case, case.snapshots + 1, np.random.default_rng(100 * side + draw))
            block = samples[: (case.snapshots + 1) * case.window // 2]
            matrix = matrix_of(block.astype(float), case)
            acoular = Acoular(folder / "none.h5", case, matrix)
            maps = {}
            for method, values in (("functional", samples), ("clean_sc", block)):  # the former publishes a snapshot later
                recording = folder / "sources.h5"
                write_time_data(recording, values, SAMPLE_RATE_HZ)
                maps[method], _ = run_nearfield(program, recording, method, case)
            quiet = WithoutNoise(matrix, case.snapshots).spectra_class()(csm=matrix[None], frequencies=np.array([case.frequency_hz]))
            as_it_is = acoular.spectra
            rows = [
                compare("functional, without noise", maps["functional"], functional_of(acoular, quiet), case),
                compare("clean_sc", maps["clean_sc"], clean_of(acoular, as_it_is), case),
                compare("clean_sc, whole matrix", maps["clean_sc"], clean_of_whole_matrix(acoular, matrix), case),
            ]
            if case.snapshots > side**2:  # else eigenvalues that are 0 to rounding have no root
                rows.append(compare("functional", maps["functional"], functional_of(acoular, as_it_is), case))
            for row in rows:
                so_far = worst.setdefault((side, str(row["what"])), {**row, "recordings": draws})
                for key in ("largest_difference_over_maximum", "place_differences_m", "level_differences_db"):
                    so_far[key] = np.where(np.abs(row[key]) > np.abs(so_far[key]), row[key], so_far[key]).tolist()
    return list(worst.values())


def times(program: str, folder: pathlib.Path, rounds: int) -> list[dict[str, object]]:
    """Seconds of a map of 64 snapshots of 1024 microphones, 4,096 pixels, one frequency: of Acoular from the matrix, with its
    eigenvectors where it needs them; of Nearfield what 128 further snapshots, each with its map, take. The best of `rounds`."""
    bin_index = 86
    case = Case(side=32, window=1024, snapshots=64, bin_index=bin_index, half_width_m=0.63, pixels=64, distance_m=1.0)
    longer = 128
    samples = recording_of(case, case.snapshots + longer, np.random.default_rng(1))
    block = samples[: (case.snapshots + 1) * case.window // 2]
    recordings = {"short": folder / "short.h5", "long": folder / "long.h5"}
    write_time_data(recordings["short"], block, SAMPLE_RATE_HZ)
    write_time_data(recordings["long"], samples, SAMPLE_RATE_HZ)
    matrix = matrix_of(block.astype(float), case)
    best: dict[str, float] = {}

    def note(name: str, seconds: float) -> None:
        best[name] = min(best.get(name, np.inf), seconds)

    for method in ("functional", "clean_sc"):
        run_nearfield(program, recordings["short"], method, case)  # compiles its kernels
    for _ in range(rounds):
        for method, theirs in (("functional", functional_of), ("clean_sc", clean_of)):
            acoular = Acoular(folder / "none.h5", case, matrix + 1e-6 * np.trace(matrix).real / len(matrix) * np.eye(len(matrix)))
            begun = time.perf_counter()
            theirs(acoular, acoular.spectra)
            note(f"acoular {method}", time.perf_counter() - begun)
            for name, recording in recordings.items():
                note(f"{name} {method}", run_nearfield(program, recording, method, case)[1])
    rows = []
    for method in ("functional", "clean_sc"):
        map_s = (best[f"long {method}"] - best[f"short {method}"]) / longer
        rows.append(
            {"method": method, "acoular_s": best[f"acoular {method}"], "nearfield_s": map_s, "ratio": best[f"acoular {method}"] / map_s}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nearfield", default="build/release/bin/nearfield", help="the program")
    parser.add_argument("--draws", type=int, default=10, help="recordings a case")
    parser.add_argument("--rounds", type=int, default=2, help="of the times; 0: none")
    parser.add_argument("--json", help="a report")
    arguments = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", str(os.cpu_count()))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = {
            "differences": differences(arguments.nearfield, folder, arguments.draws),
            "times": times(arguments.nearfield, folder, arguments.rounds) if arguments.rounds else [],
        }
    for row in report["differences"] + report["times"]:
        print("  ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
