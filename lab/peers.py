"""Nearfield beside Acoular and pyroomacoustics, of the same samples on the same cores. A virtual environment in build/peers gets them from PyPI.

maps: `beamform` in Acoular's four formulations, with and without the diagonal. methods: functional beamforming and CLEAN-SC. times: seconds of a map of
64 windows of 1024 microphones, 4,096 pixels. srp: `srp_phat`. csm: cross-spectra. recordings: files as other programs write them.
Windows are rectangular and half a window apart, so that all see the same spectra.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENV = ROOT / "build/peers/venv"
PACKAGES = ("acoular==26.8", "pyroomacoustics==0.10.1", "h5py", "soundfile==0.14.0", "pyuff==2.5.8", "xarray==2026.9.0", "h5netcdf==1.8.2", "cffi==2.1.1",
            "pyyaml", "setuptools")


def enter():
    """Goes on in the virtual environment, which is made first."""
    if pathlib.Path(sys.prefix) == VENV:
        return
    if not (VENV / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "-q", "install", *PACKAGES], check=True)
        (VENV / "made").touch()
    # Acoular asks for one thread of OpenBLAS: numba runs in parallel beside it.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": str(os.cpu_count())}
    os.execv(VENV / "bin/python", [str(VENV / "bin/python"), "-B", "-W", "ignore", *sys.argv])


if __name__ == "__main__":
    enter()

import h5py  # noqa: E402
import numpy as np  # noqa: E402
from common import SOUND_SPEED_M_S, array_settings, nearfield, parser_of, run, say, show  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/support"))
import time_data_files as files  # noqa: E402

FORMULATIONS = {"classic": "classic", "inverse": "inverse", "true_level": "true level", "true_location": "true location"}
PITCH_M, RATE_HZ = 0.02, 48000.0
EXPONENT, SOURCES, LOOP_GAIN, ITERATIONS = 16, 2, 0.6, 20
PLACES_M, LEVELS_DB, NOISE_DB = ((-0.22, 0.10), (0.22, -0.14)), (0.0, -6.0), -20.0


class Case:
    """Samples of a square array, and the map that is wanted of them."""

    def __init__(self, side, window, snapshots, bin_index, half_width_m, pixels, distance_m):
        self.side, self.window, self.snapshots, self.pixels = side, window, snapshots, pixels
        self.half_width_m, self.distance_m, self.step_m = half_width_m, distance_m, 2 * half_width_m / (pixels - 1)
        self.frequency_hz, self.count = bin_index * RATE_HZ / window, (snapshots + 1) * window // 2
        self.grid = {"kind": "plane", "distance_m": [distance_m], "x_m": [-half_width_m, half_width_m], "y_m": [-half_width_m, half_width_m],
                     "step_m": self.step_m}

    def config(self, **own):
        return {"array": array_settings(self.side, self.side, PITCH_M), "holography": {"standoff_m": 0.05, "imager": "none"},
                "front_end": {"kind": "decimated_fft", "window": "none", "remove_dc": False, "window_samples": self.window,
                              "hop_samples": self.window // 2, "frequencies_hz": [self.frequency_hz]},
                "processors": {"far": {"kind": "beamform", "grid": self.grid, **own}}}

    def engine(self, **own):
        return nearfield.Engine(self.config(**own), "samples", channels=self.side**2, sample_rate_hz=RATE_HZ)

    def map(self, samples, **own):
        """The last map [y][x], Pa^2."""
        with self.engine(**own) as engine:
            return last_map(engine, samples)

    def averaged(self):
        return {"kind": "linear", "seconds": self.count / RATE_HZ}

    def matrix(self, samples, rate_hz=RATE_HZ):
        """Cross-spectra [channel][channel], Pa^2; Acoular's own has all bins, 8.6 GB of 1024 microphones."""
        turn = np.exp(-2j * np.pi * self.frequency_hz / rate_hz * np.arange(self.window))
        spectra = np.stack([turn @ samples[first:first + self.window] for first in range(0, self.count - self.window + 1, self.window // 2)])
        return 2.0 / self.window**2 / len(spectra) * (spectra.T @ spectra.conj())

    def microphones_m(self):
        x, y = np.meshgrid(*[(np.arange(self.side) - (self.side - 1) / 2) * PITCH_M] * 2)
        return np.stack([x.ravel(), y.ravel(), 0.0 * x.ravel()])


def last_map(engine, samples):
    values = [frame for frame in engine.push(samples.astype(np.float32)) if frame.processor == "far"][-1]["map"].astype(float)
    return values.reshape([round(values.size**0.5)] * 2)


class Acoular:
    """Acoular's maps [y][x] of a matrix of cross-spectra."""

    def __init__(self, case, matrix):
        import acoular
        acoular.config.global_caching = "none"
        self.acoular, self.case, width = acoular, case, case.half_width_m
        self.mics = acoular.MicGeom(pos_total=case.microphones_m())
        self.grid = acoular.RectGrid(x_min=-width, x_max=width, y_min=-width, y_max=width, z=case.distance_m, increment=case.step_m)
        self.spectra = acoular.PowerSpectraImport(csm=matrix[None], frequencies=np.array([case.frequency_hz]))

    def steering(self, formulation="true_level"):
        return self.acoular.SteeringVector(grid=self.grid, mics=self.mics, env=self.acoular.Environment(c=SOUND_SPEED_M_S),
                                           steer_type=FORMULATIONS[formulation])

    def map(self, kind="Base", formulation="true_level", spectra=None, **own):
        steering = self.steering(formulation)
        maker = getattr(self.acoular, f"Beamformer{kind}")
        found = maker(freq_data=spectra or self.spectra, steer=steering, cached=False, precision="float64", **own).synthetic(self.case.frequency_hz, 0)
        if own.get("r_diag"):  # ours makes the level of a source at the pixel exact, S / (S - sum |h|^2 |a|^2)
            a, h = steering.transfer(self.case.frequency_hz), steering.steer_vector(self.case.frequency_hz)
            whole = np.abs(np.sum(h.conj() * a, axis=1)) ** 2
            found = found * (whole / (whole - np.sum(np.abs(h * a) ** 2, axis=1))).reshape(found.shape)
        return np.asarray(found).T


def sets(settings, folder=""):
    """Options --set of nested dictionaries."""
    return [word for key, value in settings.items() for word in (sets(value, f"{folder}{key}.") if isinstance(value, dict) else
            ("--set", f"{folder}{key}={value if isinstance(value, (str, pathlib.Path)) else json.dumps(value)}"))]


def over_maximum(ours, theirs):
    return float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))


def maps(options):
    """The largest difference over a map's maximum."""
    for side in (8, 16):
        case = Case(side, 128, 40, 11, 0.5, 26, 0.6)
        worst = {}
        for draw in range(options.draws):
            samples = np.random.default_rng(1000 * side + draw).standard_normal((case.count, side**2))
            acoular = Acoular(case, case.matrix(samples.astype(np.float32)))
            for formulation in FORMULATIONS:
                for removal in (False, True):
                    ours = case.map(samples, average=case.averaged(), steering={"formulation": formulation}, diagonal_removal=removal)
                    theirs = np.maximum(acoular.map(formulation=formulation, r_diag=removal, r_diag_norm=1.0), 0.0)
                    worst[formulation, removal] = max(worst.get((formulation, removal), 0.0), over_maximum(ours, theirs))
        for (formulation, removal), difference in worst.items():
            yield {"microphones": side**2, "formulation": formulation, "diagonal_removal": removal, "recordings": options.draws, "difference": difference}


def two_sources(case, generator):
    """Two incoherent noises, and noise of each microphone below them."""
    frequency, mics = np.fft.rfftfreq(2 * case.count, 1 / RATE_HZ), case.microphones_m()
    samples = 10 ** (NOISE_DB / 20) * generator.standard_normal((case.count, case.side**2))
    for (x_m, y_m), level_db in zip(PLACES_M, LEVELS_DB):
        path_m = np.sqrt((mics[0] - x_m) ** 2 + (mics[1] - y_m) ** 2 + case.distance_m**2)
        spectrum = 10 ** (level_db / 20) * np.fft.rfft(generator.standard_normal(2 * case.count))
        delayed = np.fft.irfft(spectrum[:, None] * np.exp(-2j * np.pi / SOUND_SPEED_M_S * np.outer(frequency, path_m)), 2 * case.count, axis=0)
        samples += case.distance_m / path_m * delayed[case.count:]
    return samples.astype(np.float32)


def own_settings(method, case):
    return {"method": method, "average": {"snapshots": case.snapshots}, "map_rate_hz": 1000, "sources": SOURCES, "functional_exponent": EXPONENT,
            "clean": {"loop_gain": LOOP_GAIN, "iterations": ITERATIONS, "stop_db": 60}}


def without_noise(acoular, matrix, snapshots):
    """Acoular's spectra with the eigenvalues less the mean of those beyond the sources, as Nearfield takes them."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    values = np.maximum(values - np.mean(values[max(len(values) - snapshots, 0):len(values) - SOURCES]), 0.0)

    class Given(acoular.acoular.PowerSpectraImport):
        def _get_eigvals(self):
            return values[None]

        def _get_eigvecs(self):
            return vectors[None]

    return Given(csm=matrix[None], frequencies=np.array([acoular.case.frequency_hz]))


def clean_sc(h, matrix):
    """CLEAN-SC with the components C w / b of the whole matrix, of steering vectors [pixel][channel]; Acoular fits them without the diagonal."""
    rest, largest = matrix.copy(), []
    powers = np.real(np.einsum("qm,mn,qn->q", h.conj(), rest, h))
    found = np.zeros(len(powers))
    for _ in range(ITERATIONS):
        pixel = int(np.argmax(powers))
        if powers[pixel] <= 0 or (len(largest) >= 3 and powers[pixel] > largest[-3]):
            break
        largest.append(float(powers[pixel]))
        found[pixel] += LOOP_GAIN * powers[pixel]
        component = rest @ h[pixel]
        powers = powers - LOOP_GAIN * np.abs(h.conj() @ component) ** 2 / powers[pixel]
        rest = rest - LOOP_GAIN / largest[-1] * np.outer(component, component.conj())
    return found


def differences(ours, theirs, case, is_sum):
    """Largest one over the maximum; of the maxima within 9 cm of the sources their places, m, and levels or levels of the sums there, dB."""
    at = -case.half_width_m + case.step_m * np.arange(case.pixels)
    places_m, levels_db = [], []
    for x_m, y_m in PLACES_M:
        near = np.hypot(*np.meshgrid(at - x_m, at - y_m)) <= 0.09
        peaks = [np.unravel_index(np.argmax(np.where(near, found, -1.0)), found.shape) for found in (ours, theirs)]
        places_m.append(case.step_m * np.hypot(*np.subtract(*peaks)))
        one, other = (np.sum(found[near]) if is_sum else found[peak] for found, peak in zip((ours, theirs), peaks))
        levels_db.append(abs(10.0 * np.log10(one / other)))
    return over_maximum(ours, theirs), max(places_m), max(levels_db)


def methods(options):
    for side in (8, 16):
        case, worst = Case(side, 128, 100, 21, 0.5, 26, 0.6), {}
        for draw in range(max(options.draws // 2, 1)):
            samples = two_sources(case, np.random.default_rng(100 * side + draw))
            longer = np.concatenate([samples, np.zeros_like(samples[:case.window // 2])])  # functional maps come a window later
            matrix = case.matrix(samples.astype(float))
            acoular = Acoular(case, matrix)
            with case.engine(**own_settings("functional", case)) as engine:
                functional = last_map(engine, longer)
            clean = case.map(samples, **own_settings("clean_sc", case))
            whole = clean_sc(acoular.steering().steer_vector(case.frequency_hz), matrix).reshape(26, 26).T
            noiseless = without_noise(acoular, matrix, case.snapshots)
            pairs = {"functional, without noise": (functional, acoular.map("Functional", spectra=noiseless, gamma=EXPONENT)),
                     "clean_sc": (clean, acoular.map("Cleansc", n_iter=ITERATIONS, damp=LOOP_GAIN, r_diag=False)), "clean_sc, whole matrix": (clean, whole)}
            if case.snapshots > side**2:  # else eigenvalues that are 0 to rounding have no root
                pairs["functional"] = (functional, acoular.map("Functional", gamma=EXPONENT))
            for name, (ours, theirs) in pairs.items():
                worst[name] = np.maximum(worst.get(name, 0.0), differences(ours, theirs, case, name.startswith("clean")))
        for name, (difference, place_m, level_db) in worst.items():
            yield {"microphones": side**2, "method": name, "difference": difference, "place_m": place_m, "level_db": level_db}


def seconds_of(compute, rounds):
    best = np.inf
    for _ in range(rounds):
        begun = time.perf_counter()
        compute()
        best = min(best, time.perf_counter() - begun)
    return best


def times(options):
    """Of Nearfield from samples in memory to the map, and of it what a map of 2 x 2 pixels does not take; the same by `replay`, which writes all 64
    maps of a file. Of Acoular a map of the matrix."""
    case, few = (Case(32, 1024, 64, 86, 0.63, pixels, 1.0) for pixels in (64, 2))
    samples = two_sources(case, np.random.default_rng(1))
    matrix = case.matrix(samples.astype(float))
    acoular = Acoular(case, matrix + 1e-6 * np.trace(matrix).real / len(matrix) * np.eye(len(matrix)))

    def engine_s(case, own):
        with case.engine(**own) as engine:
            last_map(engine, samples)

            def again():
                engine.restart()
                last_map(engine, samples)
            return seconds_of(again, options.rounds)

    def replay_s(case, own):
        return seconds_of(lambda: run("replay", file.name, "-o", f"{file.name}.images.h5", *sets(case.config(**own))), options.rounds)

    with tempfile.TemporaryDirectory() as folder, open(pathlib.Path(folder) / "noise.h5", "wb") as file:
        files.write_acoular(file.name, samples, RATE_HZ)
        for name, kind, own in (("direct", "Base", {"path": "direct", "average": case.averaged()}),
                                ("convolve", "Base", {"path": "convolve", "average": case.averaged()}),
                                ("functional", "Functional", own_settings("functional", case)), ("clean_sc", "Cleansc", own_settings("clean_sc", case))):
            theirs = {"Base": {"r_diag": False}, "Functional": {"gamma": EXPONENT}, "Cleansc": {"n_iter": ITERATIONS, "damp": LOOP_GAIN, "r_diag": False}}
            acoular_s = seconds_of(lambda kind=kind: acoular.map(kind, **theirs[kind]), options.rounds)  # noqa: B023
            ours_s, replayed_s = engine_s(case, own), replay_s(case, own) - replay_s(few, own)
            yield {"map": name, "acoular_s": acoular_s, "nearfield_s": ours_s, "of_it_map_s": ours_s - engine_s(few, own), "replay_s": replayed_s,
                   "ratio": acoular_s / ours_s, "replay_ratio": acoular_s / replayed_s}


def srp(options):
    """Sixteen microphones, 63 x 63 directions at infinity, 112 bins of windows of 512 samples at 16 kHz, one window a frame."""
    import pyroomacoustics as pra
    from threadpoolctl import threadpool_limits
    rate_hz, window, frames, bins, degrees = 16000.0, 512, 8, range(16, 128), -40.3 + 1.3 * np.arange(63)
    mics = np.stack([*(axis.ravel() for axis in np.meshgrid(*[(np.arange(4) - 1.5) * 0.04] * 2)), np.zeros(16)])
    generator, count, hz = np.random.default_rng(7), frames * window, np.fft.rfftfreq(frames * window, 1 / rate_hz)
    ahead_s = np.sin(np.radians([12.3, -7.7])) @ mics[:2] / SOUND_SPEED_M_S
    waves = np.fft.irfft(np.fft.rfft(generator.standard_normal(count))[:, None] * np.exp(2j * np.pi * np.outer(hz, ahead_s)), n=count, axis=0)
    samples = (waves + 10 ** (-5 / 20) * generator.standard_normal(waves.shape)).astype(np.float32)
    grid = {"kind": "angles", "distance_m": "inf", "azimuth_deg": [-40.3, 40.3], "elevation_deg": [-40.3, 40.3], "step_deg": 1.3}
    config = {"array": array_settings(4, 4, 0.04), "holography": {"standoff_m": 0.05, "imager": "none"},
              "front_end": {"kind": "decimated_fft", "window": "none", "remove_dc": False, "window_samples": window, "hop_samples": window,
                            "frequencies_hz": [1000.0]},
              "processors": {"where": {"kind": "srp_phat", "band_hz": [15.5 * rate_hz / window, 127.5 * rate_hz / window], "grid": grid}}}
    with nearfield.Engine(config, "samples", channels=16, sample_rate_hz=rate_hz) as engine:
        ours = np.stack([frame["map"].ravel() for frame in engine.push(samples) if frame.processor == "where"])

        def again():
            engine.restart()
            engine.push(samples)
        ours_s = seconds_of(again, options.rounds) / frames
    u_x, u_y = np.meshgrid(*[np.sin(np.radians(degrees))] * 2)
    peer = pra.doa.SRP(mics, rate_hz, window, c=SOUND_SPEED_M_S, dim=3)
    peer.grid = pra.doa.GridSphere(cartesian_points=np.stack([u_x.ravel(), u_y.ravel(), -np.sqrt(1 - u_x.ravel() ** 2 - u_y.ravel() ** 2)]))
    peer.mode_vec = pra.doa.ModeVector(peer.L, rate_hz, window, SOUND_SPEED_M_S, peer.grid)
    spectra, theirs = np.fft.rfft(samples.reshape(frames, window, 16), axis=1), []

    def locate():
        theirs.clear()
        for frame in spectra:
            peer.locate_sources(frame.T[:, :, None], num_src=1, freq_bins=list(bins))
            theirs.append(np.array(peer.grid.values) * (16 * 15 / 2) / 16**2)  # a sum over pairs, in our scale
    with threadpool_limits(os.cpu_count()):
        theirs_s = seconds_of(locate, 1) / frames
    theirs = np.stack(theirs)
    yield {"srp": "63 x 63 directions", "difference": over_maximum(ours, theirs), "same_maximum": int(np.sum(ours.argmax(axis=1) == theirs.argmax(axis=1))),
           "frames": frames, "pyroomacoustics_s": theirs_s, "nearfield_s": ours_s, "ratio": theirs_s / ours_s}


def csm(_):
    """`nearfield csm` of 64 microphones beside the matrices of rectangular windows."""
    case = Case(8, 128, 40, 21, 0.5, 26, 0.6)
    samples = two_sources(case, np.random.default_rng(1))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files.write_acoular(folder / "noise.h5", samples, RATE_HZ)
        run("csm", folder / "noise.h5", "-o", folder / "csm.h5", "--all-bins", *sets({**case.config(), "processors": {}}))
        with h5py.File(folder / "csm.h5") as file:
            frequencies, found = file["frequencies_hz"][:], file["csm"][:]
        import acoular
        acoular.config.global_caching = "none"
        theirs = acoular.PowerSpectra(source=acoular.TimeSamples(file=str(folder / "noise.h5")), block_size=case.window, window="Rectangular",
                                      overlap="50%", cached=False, precision="complex128").csm[1:case.window // 2]
    yield {"csm": "64 microphones", "frequencies": len(frequencies), "difference": over_maximum(found, theirs)}


def recorded():
    """Recordings of a tone as other programs write them: name, ending, microphones a side, pitch, rate, channels' order, how the file is written,
    and what Nearfield is told besides."""
    import pyuff
    import scipy.io
    import soundfile

    def wav(subtype, unit_pa, form="WAV"):
        return lambda path, samples, rate_hz, _: soundfile.write(path, samples / unit_pa, int(rate_hz), subtype=subtype, format=form)

    def text_uff(path, samples, rate_hz, _):  # from the last node to the first
        path.write_bytes(files.universal(samples[:, ::-1], rate_hz, range(64, 0, -1)))

    def uff_with_places(path, samples, rate_hz, grid):
        nodes = np.arange(1, 65)
        x, y, z = grid.places_m.T
        file = pyuff.UFF(str(path))
        file.write_sets(pyuff.prepare_15(node_nums=nodes, def_cs=0 * nodes, disp_cs=0 * nodes, color=0 * nodes, x=x, y=y, z=z), mode="overwrite")
        for node, values in zip(nodes, samples.T):
            file.write_sets(pyuff.prepare_58(
                binary=1, func_type=1, rsp_node=int(node), rsp_dir=3, ref_node=0, ref_dir=0, data=values, x=np.arange(len(values)) / rate_hz, id1="pressure",
                rsp_ent_name="NONE", ref_ent_name="NONE", abscissa_spacing=1, abscissa_spec_data_type=17, ordinate_spec_data_type=15,
                ordinate_axis_units_lab="Pa", abscissa_axis_units_lab="s", orddenom_spec_data_type=0), mode="add")

    def acoular_xml(path, samples, rate_hz, grid):
        files.write_acoular(path, samples, rate_hz)
        files.write_acoular_xml(path.with_suffix(".xml"), grid.places_m)

    def acoular(path, samples, rate_hz, _):
        files.write_acoular(path, samples, rate_hz)

    def matlab5(path, samples, rate_hz, _):
        scipy.io.savemat(path, {"p": samples, "fs": rate_hz}, do_compression=True)

    def matlab73(path, samples, rate_hz, _):
        files.write_matlab73(path, {"pressure": samples, "SampleFrequency": rate_hz})

    small, large, turned, unit = (8, 0.05), (32, 0.02), np.random.default_rng(2).permutation(64), "array.pascal_per_unit"
    return [("Acoular HDF5", ".h5", *small, 51200.0, None, acoular, {}),
            ("Acoular HDF5, XML of another order", ".h5", *small, 51200.0, turned, acoular_xml, {}),
            ("Acoular HDF5", ".h5", *large, 48000.0, None, acoular, {}), ("Acoular HDF5", ".h5", 16, 0.025, 51200.0, None, acoular, {}),
            ("WAV, 24 bits", ".wav", *small, 48000.0, None, wav("PCM_24", 64.0), {unit: 64}),
            ("WAV, float", ".wav", *large, 51200.0, None, wav("FLOAT", 1.0), {unit: 1}),
            ("RF64, 32 bits", ".wav", *small, 51200.0, None, wav("PCM_32", 64.0, "RF64"), {unit: 64}),
            ("UFF 58, nodes in reverse", ".uff", *small, 51200.0, None, text_uff, {}),
            ("UFF 58b with dataset 15", ".uff", *small, 48000.0, turned, uff_with_places, {}),
            ("MATLAB level 5, compressed", ".mat", *large, 51200.0, None, matlab5, {unit: 1}),
            ("MATLAB 7.3", ".mat", *small, 48000.0, None, matlab73, {unit: 1})]


def recordings(_):
    """A tone at a known place, with noise of each microphone 30 dB below it or none: places and levels that Nearfield finds in the file, and Acoular in
    the samples. `true_location` shows the place exactly, `true_level` the level there (Sarradj 2012). The source is a monopole, and where the default
    imager is sonah, at pitches up to the standoff, its search fits just that: errors near 0 say that files are read right, not how exact
    holograms of other fields are."""
    source_m, amplitude_pa_m, standoff_m = np.array([0.05, -0.07, -0.05]), 1.5, 0.03
    centre_pa = amplitude_pa_m / np.linalg.norm(source_m - [0, 0, standoff_m])
    kinds = [(*one, noise_db) for one in recorded() for noise_db in ((-30.0, -np.inf) if one[0] == "Acoular HDF5" else (-30.0,))]
    for name, ending, side, pitch_m, rate_hz, order, write, told, noise_db in kinds:
        grid, tone_hz = files.Grid(side, pitch_m, order), round(2000 / rate_hz * 1024) * rate_hz / 1024
        samples = files.monopole(grid.places_m + [0, 0, standoff_m], source_m, amplitude_pa_m, SOUND_SPEED_M_S, rate_hz, tone_hz, 4096)
        samples += centre_pa / np.sqrt(2) * 10 ** (noise_db / 20) * np.random.default_rng(1).standard_normal(samples.shape)
        case = Case(side, 1024, 7, 1, 0.15, 31, standoff_m - source_m[2])
        case.frequency_hz, case.microphones_m = tone_hz, lambda grid=grid: grid.places_m.T
        acoular = Acoular(case, case.matrix(samples, rate_hz))
        settings = {"holography.standoff_m": standoff_m, "front_end.window": "none", "front_end.remove_dc": False, "front_end.window_samples": 1024,
                    "front_end.hop_samples": 512, "front_end.frequencies_hz": [tone_hz], **told}
        if order is None:
            settings |= dict(option.split("=") for option in grid.options(standoff_m))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"recording{ending}"
            write(path, samples, rate_hz, grid)
            if path.with_suffix(".xml").exists():
                settings["array.positions"] = path.with_suffix(".xml")
            for formulation in ("true_location", "true_level"):
                settings[f"processors.{formulation}"] = {"kind": "beamform", "grid": case.grid, "steering": {"formulation": formulation},
                                                         "average": {"kind": "linear", "seconds": 1.0}}
            run("replay", path, "-o", path.with_suffix(".images.h5"), *sets(settings))
            with h5py.File(path.with_suffix(".images.h5")) as file:
                ours = {one: file[f"{one}/map"][-1].reshape(31, 31).astype(float) for one in ("true_location", "true_level")}
                hologram = np.abs(file["images"][-1, 0, 0]), file["x_m"][:], file["y_m"][:]
        theirs = {one: acoular.map(formulation=one, r_diag=False) for one in ours}
        at = -0.15 + 0.01 * np.arange(31)
        column, row = (int(np.argmin(np.abs(at - place))) for place in source_m[:2])
        found = {"recording": name, "channels": side**2, "rate_hz": rate_hz, "noise_db": noise_db}
        for program, found_maps in (("nearfield", ours), ("acoular", theirs)):
            found[f"{program}_off_mm"] = 1e3 * np.linalg.norm(place_of(found_maps["true_location"], at, at)[1] - source_m[:2])
            found[f"{program}_db"] = 10.0 * np.log10(found_maps["true_level"][row, column] / 4e-10)
        peak, place_m = place_of(hologram[0] ** 2, *hologram[1:])
        truth_pa = amplitude_pa_m / np.linalg.norm([hologram[1][peak[1]] - source_m[0], hologram[2][peak[0]] - source_m[1], source_m[2]])
        yield {**found, "difference": max(over_maximum(ours[one], theirs[one]) for one in ours),
               "hologram_off_mm": 1e3 * np.linalg.norm(place_m - source_m[:2]), "hologram_db": 20.0 * np.log10(hologram[0][peak] / truth_pa)}


def place_of(values, x_m, y_m):
    """Row and column of the largest value, and x and y of the vertex of parabolas there, of values like 1/distance^2."""
    peak = np.unravel_index(np.argmax(values), values.shape)

    def vertex(line, at, axis):
        before, here, after = 1.0 / line[at - 1:at + 2]
        return axis[at] + (axis[1] - axis[0]) * (before - after) / (2.0 * (before - 2.0 * here + after))
    return peak, np.array([vertex(values[peak[0]], peak[1], x_m), vertex(values[:, peak[1]], peak[0], y_m)])


CASES = {"recordings": recordings, "maps": maps, "methods": methods, "times": times, "srp": srp, "csm": csm}


def main(words=None):
    parser = parser_of(__doc__, cases=(list(CASES), "what is compared"), draws=(20, "recordings of each case"), rounds=(3, "of times, the least counts"))
    options = parser.parse_args(words)
    rows = []
    for name in options.cases:
        say(name)
        rows += ({"case": name, **row} for row in CASES[name](options))
    show(rows, options.csv)
    return rows


if __name__ == "__main__":
    main()
