"""Ten recordings as other programs write them, imaged by Nearfield from the file and by Acoular: found places and levels.

A tone at a known place is recorded by a simulated array, with noise of each microphone 30 dB below it at the array's centre.
Nearfield reads each file itself; of formats that Acoular does not read, soundfile, pyuff, scipy and h5py bring the samples to it.
Both map the plane of the source. Of one source the formulation `true_location` shows the place exactly and `true_level` the
level at the place (Sarradj 2012), so that each is read from the map that has it. The hologram is compared with the closed form.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Acoular asks for that: numba runs in parallel beside it

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import pyuff  # noqa: E402
import scipy.io  # noqa: E402
import soundfile  # noqa: E402
from recordings import SOUND_SPEED_M_S, matrix_of, run_replay  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
import time_data_files as files  # noqa: E402

STANDOFF_M = 0.03
SOURCE_M = np.array([0.05, -0.07, -0.05])  # z on the axes of images: 5 cm behind the surface
AMPLITUDE_PA_M = 1.5  # of the pressure times the distance
NOISE_DB = -30.0  # of each microphone, against the tone at the array's centre
SAMPLES = 4096
WINDOW = 1024
HALF_WIDTH_M = 0.15
STEP_M = 0.01
FULL_SCALE_PA = 64.0
REFERENCE_PA = 20e-6
DISTANCE_M = float(STANDOFF_M - SOURCE_M[2])
CENTRE_PA = AMPLITUDE_PA_M / np.linalg.norm(SOURCE_M - [0, 0, STANDOFF_M])  # peak, at the array's centre
SMALL, LARGE = (8, 0.05), (32, 0.02)


@dataclasses.dataclass
class Recording:
    """A file, how Acoular's user reads it, and what Nearfield is told besides."""

    name: str
    grid: files.Grid
    rate_hz: float
    write: Callable[[pathlib.Path, np.ndarray, "Recording"], None]
    read: Callable[[pathlib.Path], np.ndarray] | None = None  # [sample][channel]; None: Acoular reads the file
    ending: str = ".h5"
    unit_pa: float | None = None
    positions: str | None = None  # "xml": beside the file, "own": within it

    @property
    def tone_hz(self) -> float:
        return round(2000 / self.rate_hz * WINDOW) * self.rate_hz / WINDOW

    def samples(self, noise_db: float = NOISE_DB) -> np.ndarray:
        """[sample][channel], Pa."""
        places_m = self.grid.places_m + [0, 0, STANDOFF_M]
        tone = files.monopole(places_m, SOURCE_M, AMPLITUDE_PA_M, SOUND_SPEED_M_S, self.rate_hz, self.tone_hz, SAMPLES)
        noise = np.random.default_rng(1).standard_normal(tone.shape)
        return tone + CENTRE_PA / np.sqrt(2) * 10 ** (noise_db / 20) * noise


def read_uff(path: pathlib.Path) -> np.ndarray:
    """In the ascending order of nodes."""
    sets = [one for one in pyuff.UFF(str(path)).read_sets() if one["type"] == 58]
    return np.stack([one["data"] for one in sorted(sets, key=lambda one: one["rsp_node"])], axis=1)


def write_uff_with_places(path: pathlib.Path, samples: np.ndarray, one: Recording) -> None:
    """Binary, by pyuff, with a dataset 15 of the microphones' places."""
    nodes = np.arange(1, samples.shape[1] + 1)
    x, y, z = one.grid.places_m.T
    file = pyuff.UFF(str(path))
    file.write_sets(pyuff.prepare_15(node_nums=nodes, def_cs=0 * nodes, disp_cs=0 * nodes, color=0 * nodes, x=x, y=y, z=z), mode="overwrite")
    seconds = np.arange(len(samples)) / one.rate_hz
    for node, values in zip(nodes, samples.T):
        function = pyuff.prepare_58(
            binary=1, func_type=1, rsp_node=int(node), rsp_dir=3, ref_node=0, ref_dir=0, data=values, x=seconds, id1="pressure",
            rsp_ent_name="NONE", ref_ent_name="NONE", abscissa_spacing=1, abscissa_spec_data_type=17, ordinate_spec_data_type=15,
            ordinate_axis_units_lab="Pa", abscissa_axis_units_lab="s", orddenom_spec_data_type=0,
        )
        file.write_sets(function, mode="add")


def wav(subtype: str, file_format: str = "WAV", unit_pa: float = 1.0) -> Callable[[pathlib.Path, np.ndarray, Recording], None]:
    def write(path: pathlib.Path, samples: np.ndarray, one: Recording) -> None:
        soundfile.write(path, samples / unit_pa, int(one.rate_hz), subtype=subtype, format=file_format)

    return write


def recordings() -> list[Recording]:
    def grid(size: tuple[int, float], order: np.ndarray | None = None) -> files.Grid:
        return files.Grid(*size, order)

    def acoular(path: pathlib.Path, samples: np.ndarray, one: Recording) -> None:
        files.write_acoular(path, samples, one.rate_hz)

    def text_uff(path: pathlib.Path, samples: np.ndarray, one: Recording) -> None:  # written from the last node to the first
        path.write_bytes(files.universal(samples[:, ::-1], one.rate_hz, range(64, 0, -1)))

    def matlab5(path: pathlib.Path, samples: np.ndarray, one: Recording) -> None:
        scipy.io.savemat(path, {"p": samples, "fs": one.rate_hz}, do_compression=True)

    def matlab73(path: pathlib.Path, samples: np.ndarray, one: Recording) -> None:
        files.write_matlab73(path, {"pressure": samples, "SampleFrequency": one.rate_hz})

    def from_wav(path: pathlib.Path) -> np.ndarray:
        return soundfile.read(path)[0]

    def from_wav_in_pascal(path: pathlib.Path) -> np.ndarray:
        return soundfile.read(path)[0] * FULL_SCALE_PA

    def from_matlab5(path: pathlib.Path) -> np.ndarray:
        return scipy.io.loadmat(path)["p"]

    def from_matlab73(path: pathlib.Path) -> np.ndarray:
        with h5py.File(path) as file:
            return file["pressure"][:].T

    turned = np.random.default_rng(2).permutation(64)
    return [
        Recording("Acoular HDF5", grid(SMALL), 51200.0, acoular),
        Recording("Acoular HDF5, XML of another order", grid(SMALL, turned), 51200.0, acoular, positions="xml"),
        Recording("Acoular HDF5", grid(LARGE), 48000.0, acoular),
        Recording("WAV, 24 bits", grid(SMALL), 48000.0, wav("PCM_24", unit_pa=FULL_SCALE_PA), from_wav_in_pascal, ".wav", FULL_SCALE_PA),
        Recording("WAV, float", grid(LARGE), 51200.0, wav("FLOAT"), from_wav, ".wav", 1.0),
        Recording("RF64, 32 bits", grid(SMALL), 51200.0, wav("PCM_32", "RF64", FULL_SCALE_PA), from_wav_in_pascal, ".wav", FULL_SCALE_PA),
        Recording("UFF 58, nodes in reverse", grid(SMALL), 51200.0, text_uff, read_uff, ".uff"),
        Recording("UFF 58b with dataset 15", grid(SMALL, turned), 48000.0, write_uff_with_places, read_uff, ".uff", positions="own"),
        Recording("MATLAB level 5, compressed", grid(LARGE), 51200.0, matlab5, from_matlab5, ".mat", 1.0),
        Recording("MATLAB 7.3", grid(SMALL), 48000.0, matlab73, from_matlab73, ".mat", 1.0),
    ]


# ---- Both programs ----


def map_settings(formulation: str) -> dict[str, object]:
    return {
        "kind": "beamform",
        "grid.kind": "plane",
        "grid.distance_m": [DISTANCE_M],
        "grid.x_m": [-HALF_WIDTH_M, HALF_WIDTH_M],
        "grid.y_m": [-HALF_WIDTH_M, HALF_WIDTH_M],
        "grid.step_m": STEP_M,
        "steering.formulation": formulation,
        "average.kind": "linear",
        "average.seconds": 1.0,
    }


def run_nearfield(program: str, path: pathlib.Path, one: Recording) -> dict[str, np.ndarray]:
    """Maps `place` and `level` [y][x], Pa^2, the hologram [y][x], Pa, and its axes."""
    settings: dict[str, object] = {
        "holography.standoff_m": STANDOFF_M,
        "medium.sound_speed_m_s": SOUND_SPEED_M_S,
        "front_end.window": "none",
        "front_end.remove_dc": "false",
        "front_end.window_samples": WINDOW,
        "front_end.hop_samples": WINDOW // 2,
        "front_end.frequencies_hz": [one.tone_hz],
    }
    if one.positions == "xml":
        settings["array.positions"] = path.with_suffix(".xml")
    elif one.positions is None:
        settings.update(option.split("=") for option in one.grid.options(STANDOFF_M))
    if one.unit_pa is not None:
        settings["array.pascal_per_unit"] = one.unit_pa
    for name, formulation in (("place", "true_location"), ("level", "true_level")):
        settings.update({f"processors.{name}.{key}": value for key, value in map_settings(formulation).items()})
    found, _ = run_replay(program, path, ["/place/map", "/level/map", "/images", "/x_m", "/y_m"], settings)
    side = round(2 * HALF_WIDTH_M / STEP_M) + 1
    return {
        "place": found["/place/map"][-1].reshape(side, side),
        "level": found["/level/map"][-1].reshape(side, side),
        "hologram": np.abs(found["/images"][-1, 0, 0]),
        "x_m": found["/x_m"],
        "y_m": found["/y_m"],
    }


def run_acoular(path: pathlib.Path, one: Recording) -> dict[str, np.ndarray]:
    """Maps `place` and `level` [y][x], Pa^2."""
    import acoular

    acoular.config.global_caching = "none"
    if one.read is None:
        source = acoular.TimeSamples(file=str(path))
    else:
        source = acoular.TimeSamples(data=np.ascontiguousarray(one.read(path)), sample_freq=one.rate_hz)
    if one.positions == "xml":
        mics = acoular.MicGeom(file=str(path.with_suffix(".xml")))
    else:
        mics = acoular.MicGeom(pos_total=one.grid.places_m.T)
    if one.grid.side == LARGE[0]:  # Acoular's own matrix has all bins, 8.6 GB of 1024 channels
        samples = np.concatenate(list(source.result(WINDOW)))
        matrix = matrix_of(samples, WINDOW, one.tone_hz / one.rate_hz)
        spectra = acoular.PowerSpectraImport(csm=matrix[None], frequencies=np.array([one.tone_hz]))
    else:
        spectra = acoular.PowerSpectra(
            source=source, block_size=WINDOW, window="Rectangular", overlap="50%", cached=False, precision="complex128"
        )
    grid = acoular.RectGrid(x_min=-HALF_WIDTH_M, x_max=HALF_WIDTH_M, y_min=-HALF_WIDTH_M, y_max=HALF_WIDTH_M, z=DISTANCE_M, increment=STEP_M)
    found = {}
    for name, formulation in (("place", "true location"), ("level", "true level")):
        steering = acoular.SteeringVector(grid=grid, mics=mics, env=acoular.Environment(c=SOUND_SPEED_M_S), steer_type=formulation)
        beamformer = acoular.BeamformerBase(freq_data=spectra, steer=steering, r_diag=False, cached=False, precision="float64")
        found[name] = beamformer.synthetic(one.tone_hz, 0).T
    return found


# ---- What they show ----


def vertex(values: np.ndarray, at: int, axis: np.ndarray) -> float:
    """Of the parabola through the value at `at` and its neighbours."""
    before, here, after = values[at - 1 : at + 2]
    return float(axis[at] + (axis[at + 1] - axis[at]) * (before - after) / (2 * (before - 2 * here + after)))


def place_of(values: np.ndarray, x_m: np.ndarray, y_m: np.ndarray) -> tuple[tuple[int, int], np.ndarray]:
    """Row and column of the largest value, and between pixels x and y of the largest one, m; of values like 1/distance^2."""
    row, column = np.unravel_index(np.argmax(values), values.shape)
    inverse = 1.0 / values
    return (int(row), int(column)), np.array([vertex(inverse[row], column, x_m), vertex(inverse[:, column], row, y_m)])


def level_db(mean_square: float) -> float:
    return float(10 * np.log10(mean_square / REFERENCE_PA**2))


def row_of(program: str, folder: pathlib.Path, number: int, one: Recording) -> dict[str, object]:
    path = folder / f"recording{number}{one.ending}"
    one.write(path, one.samples(), one)
    if one.positions == "xml":
        files.write_acoular_xml(path.with_suffix(".xml"), one.grid.places_m)
    ours, theirs = run_nearfield(program, path, one), run_acoular(path, one)
    axis = -HALF_WIDTH_M + STEP_M * np.arange(ours["place"].shape[0])
    at = tuple(int(np.argmin(np.abs(axis - place))) for place in (SOURCE_M[1], SOURCE_M[0]))
    row: dict[str, object] = {"recording": one.name, "channels": one.grid.side**2, "rate_hz": one.rate_hz}
    for name, maps in (("nearfield", ours), ("acoular", theirs)):
        _, place_m = place_of(maps["place"], axis, axis)
        row[f"{name}_place_error_mm"] = float(1e3 * np.linalg.norm(place_m - SOURCE_M[:2]))
        row[f"{name}_level_db"] = level_db(maps["level"][at])
    row["largest_difference_over_maximum"] = max(float(np.max(np.abs(ours[n] - theirs[n])) / np.max(theirs[n])) for n in ("place", "level"))
    row["hologram_place_error_mm"], row["hologram_level_error_db"] = hologram_errors(ours)
    return row


def hologram_errors(found: dict[str, np.ndarray]) -> tuple[float, float]:
    """mm, and dB at the largest pixel beside A/r there."""
    peak, place_m = place_of(found["hologram"] ** 2, found["x_m"], found["y_m"])
    surface_m = np.array([found["x_m"][peak[1]], found["y_m"][peak[0]], 0.0])
    truth_pa = AMPLITUDE_PA_M / np.linalg.norm(surface_m - SOURCE_M)
    return float(1e3 * np.linalg.norm(place_m - SOURCE_M[:2])), float(20 * np.log10(found["hologram"][peak] / truth_pa))


def hologram_causes(program: str, folder: pathlib.Path) -> list[dict[str, object]]:
    """The hologram's errors by pitch and noise."""
    rows = []
    for side, pitch_m, rate_hz in ((8, 0.05, 51200.0), (16, 0.025, 51200.0), (32, 0.02, 48000.0), (32, 0.02, 51200.0)):
        for noise_db in (NOISE_DB, -np.inf):
            one = Recording("Acoular HDF5", files.Grid(side, pitch_m), rate_hz, lambda path, samples, one: None)
            path = folder / "cause.h5"
            files.write_acoular(path, one.samples(noise_db), rate_hz)
            place_mm, level_db = hologram_errors(run_nearfield(program, path, one))
            rows.append(
                {"side": side, "pitch_m": pitch_m, "rate_hz": rate_hz, "noise_db": noise_db, "place_error_mm": place_mm, "level_error_db": level_db}
            )
    return rows


def refusals(program: str, folder: pathlib.Path) -> list[dict[str, object]]:
    """What must be refused, each with the exit code and the first words of its one message."""
    one = Recording("WAV, float", files.Grid(*SMALL), 51200.0, wav("FLOAT"))
    path = folder / "refused.wav"
    one.write(path, one.samples(), one)
    geometry = one.grid.options(STANDOFF_M)
    cut = folder / "cut.wav"
    cut.write_bytes(path.read_bytes()[:100000])
    other = files.Grid(*LARGE).options(STANDOFF_M)
    unit = "array.pascal_per_unit=1"
    rows = []
    for what, file, options in (
        ("no geometry", path, [unit]),
        ("no unit", path, geometry),
        ("a geometry of 1024 microphones for 64 channels", path, [*other, unit]),
        ("a file cut off", cut, [*geometry, unit]),
    ):
        words = [word for option in options for word in ("--set", option)]
        done = subprocess.run([program, "replay", str(file), "-o", str(folder / "no.h5"), *words], capture_output=True, text=True, check=False)
        rows.append({"refused": what, "exit": done.returncode, "messages": done.stderr.count("nearfield: error:")})
    return rows


def table(rows: list[dict[str, object]]) -> str:
    lines = [
        "| recording | channels | kHz | beamform | Acoular | maps differ by | hologram |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['recording']} | {row['channels']} | {row['rate_hz'] / 1000:g} "
            f"| {row['nearfield_place_error_mm']:.2f} mm, {row['nearfield_level_db']:.2f} dB "
            f"| {row['acoular_place_error_mm']:.2f} mm, {row['acoular_level_db']:.2f} dB "
            f"| {row['largest_difference_over_maximum']:.1e} "
            f"| {row['hologram_place_error_mm']:.1f} mm, {row['hologram_level_error_db']:+.2f} dB |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nearfield", default="build/release/bin/nearfield", help="the program")
    parser.add_argument("--json", help="a report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [row_of(arguments.nearfield, folder, number, one) for number, one in enumerate(recordings())]
        refused = refusals(arguments.nearfield, folder)
        causes = hologram_causes(arguments.nearfield, folder)
    print(f"truth: {level_db(CENTRE_PA**2 / 2):.2f} dB at the array's centre")
    print(table(rows))
    for row in refused:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    for row in causes:
        print("hologram  " + "  ".join(f"{key} {value:.3g}" for key, value in row.items()))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"recordings": rows, "refusals": refused, "hologram": causes}, indent=1))


if __name__ == "__main__":
    main()
