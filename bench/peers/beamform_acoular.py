"""Maps of `beamform` beside Acoular's, of the same recordings: differences, and times on the same cores.

Both read one HDF5 file of time data. Windows are rectangular and half a window apart, so that both see the same spectra.
Acoular's normalisation of maps without the diagonal is M/(M - 1); ours makes the level of a source at the pixel exact
(docs/how/beamform.md), so Acoular's maps are multiplied by our factor, which is computed here from its steering vectors.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Acoular asks for that: numba runs in parallel beside it

import numpy as np  # noqa: E402
from recordings import SOUND_SPEED_M_S, matrix_of, microphones, replay, write_time_data  # noqa: E402

SAMPLE_RATE_HZ = 48000.0
PITCH_M = 0.02
FORMULATIONS = {
    "classic": "classic",
    "inverse": "inverse",
    "true_level": "true level",
    "true_location": "true location",
}


class Case:
    """A recording and the map that is wanted of it."""

    def __init__(self, side: int, window: int, snapshots: int, bin_index: int, half_width_m: float, pixels: int, distance_m: float):
        self.side = side
        self.window = window
        self.snapshots = snapshots
        self.frequency_hz = bin_index * SAMPLE_RATE_HZ / window
        self.half_width_m = half_width_m
        self.pixels = pixels
        self.distance_m = distance_m

    @property
    def step_m(self) -> float:
        return 2 * self.half_width_m / (self.pixels - 1)

    def random_samples(self, generator: np.random.Generator) -> np.ndarray:
        """A random mixture of as many noises as there are microphones: a random cross-spectral matrix."""
        count = (self.snapshots + 1) * self.window // 2
        return generator.standard_normal((count, self.side**2))


def run_nearfield(program: str, recording: pathlib.Path, case: Case, settings: dict[str, object]) -> tuple[np.ndarray, float]:
    """The map of the whole recording [y][x], and the seconds of the whole program."""
    frames, seconds = replay(
        program,
        recording,
        "/far/map",
        case.side,
        PITCH_M,
        {
            "front_end.window_samples": case.window,
            "front_end.hop_samples": case.window // 2,
            "front_end.frequencies_hz": [case.frequency_hz],
            "processors.far.kind": "beamform",
            "processors.far.grid.kind": "plane",
            "processors.far.grid.distance_m": [case.distance_m],
            "processors.far.grid.x_m": [-case.half_width_m, case.half_width_m],
            "processors.far.grid.y_m": [-case.half_width_m, case.half_width_m],
            "processors.far.grid.step_m": case.step_m,
            "processors.far.average.kind": "linear",
            "processors.far.average.seconds": (case.snapshots + 1) * case.window / SAMPLE_RATE_HZ,
            **settings,
        },
    )
    assert frames.shape[0] == case.snapshots, (frames.shape, case.snapshots)
    return frames[-1].reshape(case.pixels, case.pixels), seconds


class Acoular:
    """Acoular's maps of a recording, or of a matrix [channel][channel] of cross-spectra that is given."""

    def __init__(self, recording: pathlib.Path | None, case: Case, matrix: np.ndarray | None = None):
        import acoular

        acoular.config.global_caching = "none"
        self.acoular = acoular
        self.case = case
        self.mics = acoular.MicGeom(pos_total=microphones(case.side, PITCH_M))
        grid_class = acoular.RectGrid
        width = case.half_width_m
        self.grid = grid_class(x_min=-width, x_max=width, y_min=-width, y_max=width, z=case.distance_m, increment=case.step_m)
        assert self.grid.size == case.pixels**2, (self.grid.size, case.pixels)
        self.env = acoular.Environment(c=SOUND_SPEED_M_S)
        if matrix is not None:
            self.spectra = acoular.PowerSpectraImport(csm=matrix[None], frequencies=np.array([case.frequency_hz]))
            return
        source = acoular.TimeSamples(file=str(recording))
        self.spectra = acoular.PowerSpectra(
            source=source, block_size=case.window, window="Rectangular", overlap="50%", cached=False, precision="complex128"
        )

    def map(self, formulation: str, removal: bool) -> np.ndarray:
        """[y][x], Pa^2."""
        steering = self.acoular.SteeringVector(
            grid=self.grid, mics=self.mics, env=self.env, steer_type=FORMULATIONS[formulation]
        )
        beamformer = self.acoular.BeamformerBase(
            freq_data=self.spectra, steer=steering, r_diag=removal, r_diag_norm=1.0, cached=False, precision="float64"
        )
        found = beamformer.synthetic(self.case.frequency_hz, 0)
        if removal:
            found = found * self.removal_factor(steering).reshape(found.shape)
        return np.maximum(found.T, 0.0)

    def removal_factor(self, steering) -> np.ndarray:
        """[pixel]: S / (S - sum |h|^2 |a|^2), S = |h^H a|^2."""
        a = steering.transfer(self.case.frequency_hz)
        h = steering.steer_vector(self.case.frequency_hz)
        whole = np.abs(np.sum(h.conj() * a, axis=1)) ** 2
        return whole / (whole - np.sum(np.abs(h) ** 2 * np.abs(a) ** 2, axis=1))


def differences(program: str, folder: pathlib.Path, draws: int) -> list[dict[str, object]]:
    """The largest difference over a map's maximum, of `draws` recordings each."""
    rows = []
    for side in (8, 16):
        case = Case(side=side, window=128, snapshots=40, bin_index=11, half_width_m=0.5, pixels=26, distance_m=0.6)
        worst: dict[tuple[str, bool], float] = {}
        for draw in range(draws):
            recording = folder / f"noise{side}_{draw}.h5"
            write_time_data(recording, case.random_samples(np.random.default_rng(1000 * side + draw)), SAMPLE_RATE_HZ)
            acoular = Acoular(recording, case)
            for formulation in FORMULATIONS:
                for removal in (False, True):
                    settings = {
                        "processors.far.steering.formulation": formulation,
                        "processors.far.diagonal_removal": str(removal).lower(),
                    }
                    ours, _ = run_nearfield(program, recording, case, settings)
                    theirs = acoular.map(formulation, removal)
                    difference = float(np.max(np.abs(ours - theirs)) / np.max(theirs))
                    key = (formulation, removal)
                    worst[key] = max(worst.get(key, 0.0), difference)
            recording.unlink()
        for (formulation, removal), difference in worst.items():
            rows.append(
                {
                    "microphones": side * side,
                    "formulation": formulation,
                    "diagonal_removal": removal,
                    "recordings": draws,
                    "largest_difference_over_maximum": difference,
                }
            )
    return rows


def times(program: str, folder: pathlib.Path, rounds: int) -> list[dict[str, object]]:
    """Seconds of 64 snapshots of 1024 microphones, 4,096 pixels, one frequency: of Acoular its map of the matrix; of
    Nearfield what 576 further snapshots with maps take longer than without, a ninth of it. In turn, the best of `rounds`."""
    bin_index = 86
    case = Case(side=32, window=1024, snapshots=64, bin_index=bin_index, half_width_m=0.63, pixels=64, distance_m=1.0)
    long = Case(case.side, case.window, 640, bin_index, case.half_width_m, case.pixels, case.distance_m)
    samples = long.random_samples(np.random.default_rng(1)).astype(np.float32)
    recordings = {case: folder / "short.h5", long: folder / "long.h5"}
    write_time_data(recordings[case], samples[: (case.snapshots + 1) * case.window // 2], SAMPLE_RATE_HZ)
    write_time_data(recordings[long], samples, SAMPLE_RATE_HZ)
    matrix = matrix_of(samples[: (case.snapshots + 1) * case.window // 2], case.window, case.frequency_hz / SAMPLE_RATE_HZ)
    best: dict[str, float] = {}

    def note(name: str, seconds: float) -> None:
        best[name] = min(best.get(name, np.inf), seconds)

    largest = 0.0
    for _ in range(rounds):
        acoular = Acoular(recordings[case], case, matrix)
        begun = time.perf_counter()
        theirs = acoular.map("true_level", False)
        note("acoular", time.perf_counter() - begun)
        for path in ("direct", "convolve"):
            settings = {"processors.far.path": path}
            for one in (case, long):
                ours, seconds = run_nearfield(program, recordings[one], one, settings)
                note(f"{path} {one.snapshots}", seconds)
                if one is case:
                    largest = max(largest, float(np.max(np.abs(ours - theirs)) / np.max(theirs)))
        for one in (case, long):
            few = Case(one.side, one.window, one.snapshots, bin_index, one.half_width_m, 2, one.distance_m)
            note(f"few pixels {one.snapshots}", run_nearfield(program, recordings[one], few, {})[1])
    rows = []
    for path in ("direct", "convolve"):
        maps_s = (best[f"{path} 640"] - best[f"{path} 64"] - best["few pixels 640"] + best["few pixels 64"]) / 9
        rows.append(
            {
                "path": path,
                "acoular_s": best["acoular"],
                "nearfield_maps_s": maps_s,
                "ratio": best["acoular"] / maps_s,
                "largest_difference_over_maximum": largest,
            }
        )
    return rows


def library_settings(case: Case, path: str, pixels: int) -> dict[str, object]:
    """Of the engine in this process: the far map of times() beside the hologram, as in a replay."""
    half_width_m = case.half_width_m
    return {
        "version": 1,
        "array": {"rows": case.side, "columns": case.side, "pitch_x_m": PITCH_M, "pitch_y_m": PITCH_M},
        "holography": {"standoff_m": 0.05},
        "medium": {"sound_speed_m_s": SOUND_SPEED_M_S},
        "front_end": {
            "window": "none",
            "remove_dc": False,
            "window_samples": case.window,
            "hop_samples": case.window // 2,
            "frequencies_hz": [case.frequency_hz],
        },
        "processors": {
            "far": {
                "kind": "beamform",
                "path": path,
                "grid": {
                    "kind": "plane",
                    "distance_m": [case.distance_m],
                    "x_m": [-half_width_m, half_width_m],
                    "y_m": [-half_width_m, half_width_m],
                    "step_m": 2 * half_width_m / (pixels - 1),
                },
                "average": {"kind": "linear", "seconds": (case.snapshots + 1) * case.window / SAMPLE_RATE_HZ},
            }
        },
    }


def last_map(engine, samples: np.ndarray, case: Case) -> tuple[np.ndarray, float]:
    """The map of all windows [y][x], and the seconds from the first sample to it."""
    engine.restart()
    begun = time.perf_counter()
    frames = [frame for frame in engine.push(samples) if frame.processor == "far"]
    seconds = time.perf_counter() - begun
    assert len(frames) == case.snapshots, (len(frames), case.snapshots)
    values = frames[-1]["map"].astype(np.float64)
    side = round(values.size**0.5)
    return values.reshape(side, side), seconds


def library_times(rounds: int) -> list[dict[str, object]]:
    """The same maps as in times(), by libnearfield in this process and without files: seconds from the samples of the 64
    windows in memory to the map, and what remains of them without the front end and the holograms, that is less those of a
    map of 2 x 2 pixels. In turn, the best of `rounds`."""
    import nearfield

    case = Case(side=32, window=1024, snapshots=64, bin_index=86, half_width_m=0.63, pixels=64, distance_m=1.0)
    samples = case.random_samples(np.random.default_rng(1)).astype(np.float32)
    matrix = matrix_of(samples, case.window, case.frequency_hz / SAMPLE_RATE_HZ)
    acoular = Acoular(None, case, matrix)
    kinds = {"direct": ("direct", case.pixels), "convolve": ("convolve", case.pixels), "few pixels": ("direct", 2)}
    best = dict.fromkeys(["acoular", *kinds], np.inf)
    largest: dict[str, float] = {}
    for name, (path, pixels) in kinds.items():  # compiled, and found the same, before the first round
        with nearfield.Engine(library_settings(case, path, pixels), "samples", channels=case.side**2, sample_rate_hz=SAMPLE_RATE_HZ) as engine:
            ours, _ = last_map(engine, samples, case)
            if pixels == case.pixels:
                theirs = acoular.map("true_level", False)
                largest[name] = float(np.max(np.abs(ours - theirs)) / np.max(theirs))
    for _ in range(rounds):
        begun = time.perf_counter()
        acoular.map("true_level", False)
        best["acoular"] = min(best["acoular"], time.perf_counter() - begun)
        for name, (path, pixels) in kinds.items():
            with nearfield.Engine(library_settings(case, path, pixels), "samples", channels=case.side**2, sample_rate_hz=SAMPLE_RATE_HZ) as engine:
                last_map(engine, samples, case)
                best[name] = min(best[name], last_map(engine, samples, case)[1])
    return [
        {
            "path": path,
            "by": "libnearfield",
            "acoular_s": best["acoular"],
            "nearfield_whole_s": best[path],
            "nearfield_maps_s": best[path] - best["few pixels"],
            "ratio_whole": best["acoular"] / best[path],
            "ratio": best["acoular"] / (best[path] - best["few pixels"]),
            "largest_difference_over_maximum": largest[path],
        }
        for path in ("direct", "convolve")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nearfield", default="build/release/bin/nearfield", help="the program")
    parser.add_argument("--draws", type=int, default=20, help="recordings a case")
    parser.add_argument("--rounds", type=int, default=3, help="of the times; 0: none")
    parser.add_argument("--json", help="a report")
    arguments = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", str(os.cpu_count()))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = {
            "differences": differences(arguments.nearfield, folder, arguments.draws),
            "times": times(arguments.nearfield, folder, arguments.rounds) if arguments.rounds else [],
            "library_times": library_times(arguments.rounds) if arguments.rounds else [],
        }
    for row in report["differences"] + report["times"] + report["library_times"]:
        print("  ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
