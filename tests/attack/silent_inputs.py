#!/usr/bin/env python3
"""Wrong but plausible files of every kind that Nearfield reads, and whether a user is told.

    tests/attack/silent_inputs.py --bin build/release/bin [--seed 7 --most 15] [--page docs/silence.md]

A source before 6 x 8 microphones is written as each kind of file, once right and once for each mistake: values a thousand times too
large, another rate, the other sign, rows and columns exchanged, all channels off by one. A mistake is caught where a command ends with
a message, seen where the lines that `inspect` and `replay` print differ from those of the right file, harmless where the images are the
same, and else silent: then UNDETECTABLE has the reason, or this program fails. Needs numpy, scipy, h5py and soundfile.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import h5py
import numpy
import scipy.io
import soundfile

ROWS, COLUMNS, PITCH_X_M, PITCH_Y_M, STANDOFF_M = 6, 8, 0.06, 0.05, 0.05
RATE_HZ, SAMPLES, TONE_HZ, SOUND_M_S = 51200, 4096, 1000.0, 343.0
MISTAKES = ["a thousand times", "another rate", "the other sign", "rows and columns exchanged", "off by one channel"]
LAB = f"""version: 1
array: {{rows: {ROWS}, columns: {COLUMNS}, pitch_x_m: {PITCH_X_M}, pitch_y_m: {PITCH_Y_M}, layout: row-major}}
front_end: {{kind: dot_product, window_samples: 1024, hop_samples: 1024, frequencies_hz: [{TONE_HZ}]}}
holography: {{standoff_m: {STANDOFF_M}}}
"""
BARE_LAB = LAB.replace(LAB.splitlines()[1], "array: {layout: row-major}")  # positions say what the array is
# Silent ones, and why no program can tell. Keys: (kind or None for all, mistake).
UNDETECTABLE = {
    (None, "the other sign"): "all phases turn by half a turn, as they do by half a period of time: nothing in the file says which",
    (None, "rows and columns exchanged"): "a mirrored field is a field: only a source at a known place tells",
    (None, "off by one channel"): "the field of a source one pitch aside, with one column too early: only a source at a known place tells",
}


def positions():
    x = (numpy.arange(COLUMNS) - (COLUMNS - 1) / 2) * PITCH_X_M
    y = (numpy.arange(ROWS) - (ROWS - 1) / 2) * PITCH_Y_M
    grid_y, grid_x = numpy.meshgrid(y, x, indexing="ij")
    return numpy.stack([grid_x.ravel(), grid_y.ravel(), 0 * grid_x.ravel()], 1)


def phasors(frequencies_hz, amplitude=0.3):
    """Peak phasors [frequency][channel], Pa, of a monopole 4 cm behind the surface."""
    distance_m = numpy.linalg.norm(positions() - [0.08, -0.03, -STANDOFF_M - 0.04], axis=1)
    wavenumbers = 2 * numpy.pi * numpy.asarray(frequencies_hz)[:, None] / SOUND_M_S
    return amplitude * 0.1 / distance_m * numpy.exp(-1j * wavenumbers * distance_m)


def samples():
    time_s = numpy.arange(SAMPLES)[:, None] / RATE_HZ
    field = numpy.real(phasors([TONE_HZ])[0] * numpy.exp(2j * numpy.pi * TONE_HZ * time_s))
    return field + 1e-4 * numpy.random.default_rng(1).standard_normal(field.shape)


def exchanged(channels):
    """Rows and columns exchanged along the last axis, as a transposed recorder would."""
    return channels.reshape(*channels.shape[:-1], ROWS, COLUMNS).swapaxes(-1, -2).reshape(channels.shape)


def spoil(values, mistake):
    """Channels along the last axis."""
    return {"a thousand times": lambda: values * 1000, "the other sign": lambda: -values,
            "rows and columns exchanged": lambda: exchanged(values),
            "off by one channel": lambda: numpy.roll(values, 1, -1)}.get(mistake, lambda: values)()


# ---- Files of time data ----

def sound_file(form, subtype, suffix):
    def write(path, mistake):
        values = spoil(samples(), "" if mistake == "a thousand times" else mistake)
        factor = 0.001 if mistake == "a thousand times" and "PCM" in subtype else 1000 if mistake == "a thousand times" else 1
        soundfile.write(path, values * factor, RATE_HZ * (2 if mistake == "another rate" else 1), subtype, format=form)
    return write, suffix


def matlab(path, mistake, **options):
    scipy.io.savemat(path, {"p": spoil(samples(), mistake), "fs": float(RATE_HZ * (2 if mistake == "another rate" else 1))}, **options)


def matlab_of_integers(path, mistake):
    counts = numpy.clip(numpy.round(spoil(samples(), mistake) * 32767), -32768, 32767).astype("int16")
    scipy.io.savemat(path, {"p": counts, "fs": float(RATE_HZ * (2 if mistake == "another rate" else 1))})


def matlab73(path, mistake):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["p"] = spoil(samples(), mistake).T
        file["fs"] = [[float(RATE_HZ * (2 if mistake == "another rate" else 1))]]
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def acoular(path, mistake):
    with h5py.File(path, "w") as file:
        file["time_data"] = spoil(samples(), mistake).astype("float32")
        file["time_data"].attrs["sample_freq"] = float(RATE_HZ * (2 if mistake == "another rate" else 1))


def universal(path, mistake, is_binary=False):
    values = spoil(samples(), mistake)
    step_s = 1 / RATE_HZ / (2 if mistake == "another rate" else 1)
    with open(path, "wb") as file:
        for channel in range(values.shape[1]):
            head = "    -1\n"
            head += f"    58b     1     2          11{4 * SAMPLES:12d}     0     0           0           0\n" if is_binary else "    58\n"
            head += "NONE\n" * 5 + f"{1:5d}{0:10d}{0:5d}{0:10d} {'NONE':10s}{channel:10d}{3:4d} {'NONE':10s}{0:10d}{0:4d}\n"
            head += f"{2:10d}{SAMPLES:10d}{1:10d}{0:13.5e}{step_s:13.5e}{0:13.5e}\n"
            head += f"{17:10d}{0:5d}{0:5d}{0:5d} {'Time':20s} {'s':20s}\n"
            head += f"{15:10d}{0:5d}{0:5d}{0:5d} {'Pressure':20s} {'Pa':20s}\n"
            head += f"{0:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}\n" * 2
            file.write(head.encode())
            if is_binary:
                file.write(values[:, channel].astype("<f4").tobytes() + b"\n    -1\n")
            else:
                lines = ["".join(f"{value:13.5e}" for value in values[i:i + 6, channel]) for i in range(0, SAMPLES, 6)]
                file.write(("\n".join(lines) + "\n    -1\n").encode())


# ---- Files of bits, spectra, positions and of what belongs to an array ----

def with_geometry(file, has_standoff=True):
    attributes = {"rows": ROWS, "columns": COLUMNS, "pitch_x_m": PITCH_X_M, "pitch_y_m": PITCH_Y_M}
    file.create_group("geometry").attrs.update(attributes | ({"standoff_m": STANDOFF_M} if has_standoff else {}))


def spectra(path, mistake):
    with h5py.File(path, "w") as file:
        file.attrs["format"] = numpy.bytes_("nearfield-spectra")
        with_geometry(file)
        file["frequencies_hz"] = [TONE_HZ * (2 if mistake == "another rate" else 1)]
        file["spectra"] = spoil(phasors([TONE_HZ])[None], mistake).reshape(1, 1, ROWS, COLUMNS).astype("complex64")


def calibration(path, mistake):
    gains = spoil((1 + 0.02 * numpy.arange(ROWS * COLUMNS))[None].astype(complex), mistake)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = numpy.bytes_("nearfield-calibration")
        with_geometry(file, False)
        file["frequencies_hz"] = [TONE_HZ * (2 if mistake == "another rate" else 1)]
        file["gains"] = gains.reshape(1, ROWS, COLUMNS).astype("complex64")


def templates(path, mistake):
    places = numpy.array([[0.0, 0.0, 1.0], [0.2, 0.1, 1.0]])
    if mistake == "a thousand times":
        places = places * 1000
    distance_m = numpy.linalg.norm(positions()[None] - (places * [1, 1, -1])[:, None], axis=2)
    steering = numpy.exp(-2j * numpy.pi * TONE_HZ / SOUND_M_S * distance_m) / distance_m
    with h5py.File(path, "w") as file:
        file.attrs["format"] = numpy.bytes_("nearfield-templates")
        file.attrs["version"] = 1
        with_geometry(file)
        file["frequencies_hz"] = [TONE_HZ * (2 if mistake == "another rate" else 1)]
        file["templates"] = spoil(steering[None], "" if mistake == "a thousand times" else mistake).astype("complex64")
        file["positions_m"] = places
        file["coherence"] = numpy.ones((1, 2), "float32")
        file["microphone_coherence"] = numpy.ones((1, 2, ROWS * COLUMNS), "float32")


def spoilt_places(mistake):
    """Millimetres for metres, a mirrored depth, x and y exchanged, the list off by one; the rate has no part here."""
    places = positions() + numpy.outer(0.002 * numpy.sin(numpy.arange(ROWS * COLUMNS)), [0, 0, 1])
    if mistake == "a thousand times":
        return places * 1000
    if mistake == "the other sign":
        return places * [1, 1, -1]
    if mistake == "rows and columns exchanged":
        return places[:, [1, 0, 2]]
    return numpy.roll(places, 1, 0) if mistake == "off by one channel" else places


def csv_of(places):
    return "x_m,y_m,z_m\n" + "\n".join(",".join(f"{value:.9g}" for value in place) for place in places) + "\n"


def positions_csv(path, mistake):
    path.write_text(csv_of(spoilt_places(mistake)))


def positions_xml(path, mistake):
    rows = [f' <pos Name="{i}" x="{p[0]:.9g}" y="{p[1]:.9g}" z="{-p[2]:.9g}"/>' for i, p in enumerate(spoilt_places(mistake))]
    path.write_text('<?xml version="1.0" encoding="utf-8"?>\n<MicArray name="lab">\n' + "\n".join(rows) + "\n</MicArray>\n")


def surface_csv(path, mistake):
    x, y = numpy.meshgrid(numpy.linspace(-0.15, 0.15, 7), numpy.linspace(-0.1, 0.1, 5))
    places = numpy.stack([x.ravel(), y.ravel(), 0.01 * numpy.cos(10 * x.ravel())], 1)
    changes = {"a thousand times": places * 1000, "the other sign": places * [1, 1, -1],
               "rows and columns exchanged": places[:, [1, 0, 2]]}
    path.write_text(csv_of(changes.get(mistake, places)))


def surface_h5(path, mistake):
    heights_m = 0.01 * numpy.cos(numpy.linspace(-1, 1, COLUMNS))[None] * numpy.ones((ROWS, 1))
    changes = {"a thousand times": heights_m * 1000, "the other sign": -heights_m, "rows and columns exchanged": heights_m.T}
    with h5py.File(path, "w") as file:
        file["z_m"] = changes.get(mistake, heights_m)


def masks_json(path, mistake):
    channels = [ROWS * COLUMNS] if mistake == "off by one channel" else [ROWS * COLUMNS - 1]
    path.write_text(json.dumps({"microphones": ROWS * COLUMNS, "masks": [{"first_bit_time": 0, "channels": channels}]}))


REPLAY = ["replay", "{file}", "-o", "{out}", "--frames", "1", "--engine", "reference", "-c", "{lab}"]
READ = [["inspect", "{file}", "-c", "{lab}"], REPLAY]
WITH_UNIT = [command + ["--set", "array.pascal_per_unit=1"] for command in READ]
ENCODED = [["encode", "{file}", "-o", "{coded}", "-c", "{lab}", "--pascal-per-unit", "1"], ["inspect", "{coded}"],
           ["replay", "{coded}", "-o", "{out}", "--frames", "1", "--engine", "reference", "-c", "{lab}"]]


def beside(setting, lab="{lab}"):
    """The right recording, with the file as a setting of it."""
    return ["replay", "{right}", "-o", "{out}", "--frames", "1", "--engine", "reference", "-c", lab, "--set", setting + "={file}"]


KINDS = {  # name: (writer, suffix, commands, mistakes that a file of this kind can have)
    "WAV, 16 bits": (*sound_file("WAV", "PCM_16", ".wav"), WITH_UNIT, MISTAKES),
    "WAV, 24 bits": (*sound_file("WAV", "PCM_24", ".wav"), WITH_UNIT, MISTAKES),
    "WAV, float": (*sound_file("WAV", "FLOAT", ".wav"), WITH_UNIT, MISTAKES),
    "RF64": (*sound_file("RF64", "PCM_24", ".rf64"), WITH_UNIT, MISTAKES),
    "AIFF": (*sound_file("AIFF", "PCM_24", ".aiff"), ENCODED, MISTAKES),
    "CAF": (*sound_file("CAF", "PCM_24", ".caf"), ENCODED, MISTAKES),
    "W64": (*sound_file("W64", "PCM_24", ".w64"), ENCODED, MISTAKES),
    "AU": (*sound_file("AU", "PCM_24", ".au"), ENCODED, MISTAKES),
    "MATLAB 5": (matlab, ".mat", WITH_UNIT, MISTAKES),
    "MATLAB 5, compressed": (lambda path, mistake: matlab(path, mistake, do_compression=True), ".mat", WITH_UNIT, MISTAKES),
    "MATLAB 5, integers": (matlab_of_integers, ".mat", WITH_UNIT, MISTAKES),
    "MATLAB 7.3": (matlab73, ".mat", WITH_UNIT, MISTAKES),
    "universal file, 58": (universal, ".uff", READ, MISTAKES),
    "universal file, 58b": (lambda path, mistake: universal(path, mistake, True), ".uff", READ, MISTAKES),
    "time data, HDF5": (acoular, ".h5", READ, MISTAKES),
    "spectra": (spectra, ".h5", READ, MISTAKES),
    "calibration": (calibration, ".h5", [["inspect", "{file}"], beside("array.calibration")], MISTAKES),
    "positions, CSV": (positions_csv, ".csv", [beside("array.positions", "{bare}")], [m for m in MISTAKES if m != "another rate"]),
    "positions, XML": (positions_xml, ".xml", [beside("array.positions", "{bare}")], [m for m in MISTAKES if m != "another rate"]),
    "surface, CSV": (surface_csv, ".csv", [beside("holography.surface")], MISTAKES[:1] + MISTAKES[2:4]),
    "surface, HDF5": (surface_h5, ".h5", [beside("holography.surface")], MISTAKES[:1] + MISTAKES[2:4]),
    "templates": (templates, ".h5", [["inspect", "{file}"]], MISTAKES),
    "masks": (masks_json, ".json", [["replay", "{right}", "-o", "{out}", "--frames", "1", "-c", "{lab}", "--masks", "{file}"]],
              ["off by one channel"]),
}


class Judge:
    def __init__(self, binaries, folder):
        self.program = binaries / "nearfield"
        self.folder = folder
        (folder / "lab.yaml").write_text(LAB)
        (folder / "bare.yaml").write_text(BARE_LAB)
        acoular(folder / "right.h5", "")

    def said(self, kind, mistake):
        """Exit code, what was printed without names of files and times, and the images."""
        write, suffix, commands, _ = KINDS[kind]
        file = self.folder / ("file" + suffix)
        write(file, mistake)
        out = self.folder / "out.h5"
        out.unlink(missing_ok=True)
        names = {"file": file, "out": out, "lab": self.folder / "lab.yaml", "bare": self.folder / "bare.yaml", "right": self.folder / "right.h5",
                 "coded": self.folder / "coded.h5"}
        lines = []
        for command in commands:
            run = subprocess.run([str(self.program), *(part.format(**names) for part in command)], cwd=self.folder, text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
            lines += [re.sub(r"^nearfield: info: ", "", line) for line in (run.stdout + run.stderr).splitlines()]
            if run.returncode:
                return run.returncode, lines, None
        if not out.exists():
            return 0, lines, None
        with h5py.File(out) as file:
            pictures = [numpy.array(value) for value in leaves(file) if value.ndim >= 3]
        return 0, lines, pictures

    def outcome(self, kind, mistake, right):
        code, lines, pictures = self.said(kind, mistake)
        fresh = [line for line in lines if line not in right[1]]
        if code:
            return "caught", lines[-1] if lines else f"exit code {code}"
        telling = [line for line in fresh if not re.search(r"\bs$|kept in|^created|error", line)]
        if telling:
            return "seen", telling[0]
        same = pictures is not None and right[2] is not None and len(pictures) == len(right[2]) and all(
            a.shape == b.shape and numpy.array_equal(a, b, equal_nan=True) for a, b in zip(pictures, right[2]))
        return ("harmless", "the images are the same") if same else ("silent", "")


def leaves(group):
    found = []
    group.visititems(lambda _, value: found.append(value) if isinstance(value, h5py.Dataset) else None)
    return found


def reason_for(kind, mistake):
    return UNDETECTABLE.get((kind, mistake)) or UNDETECTABLE.get((None, mistake))


def short(line):
    line = re.sub(r"/\S*/", "", line).replace("|", "/").strip()
    return line if len(line) <= 110 else line[:107] + "..."


def write_page(path, rows):
    lines = ["| file | mistake | outcome | what says so, or why nothing can |", "|---|---|---|---|"]
    lines += [f"| {kind} | {mistake} | {outcome} | {short(line)} |" for kind, mistake, outcome, line in rows]
    begin, end = "<!-- inputs -->\n", "<!-- end of inputs -->"
    text = pathlib.Path(path).read_text()
    head, _, rest = text.partition(begin)
    pathlib.Path(path).write_text(head + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int)
    parser.add_argument("--page")
    arguments = parser.parse_args()
    kinds = list(KINDS)
    if arguments.most:
        kinds = random.Random(arguments.seed).sample(kinds, min(arguments.most, len(kinds)))
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(arguments.bin.resolve(), pathlib.Path(folder))
        for kind in kinds:
            right = judge.said(kind, "")
            if right[0]:
                failures.append(f"{kind}: the right file is refused: {right[1][-1] if right[1] else right[0]}")
                continue
            for mistake in KINDS[kind][3]:
                outcome, line = judge.outcome(kind, mistake, right)
                if outcome == "silent" and reason_for(kind, mistake):
                    outcome, line = "undetectable", reason_for(kind, mistake)
                if outcome == "silent":
                    failures.append(f"{kind}, {mistake}: nothing is said")
                rows.append((kind, mistake, outcome, line))
    counts = {name: sum(row[2] == name for row in rows) for name in ("caught", "seen", "harmless", "undetectable", "silent")}
    print(f"{len(kinds)} kinds of files, {len(rows)} mistakes: {counts}")
    print("\n".join(failures))
    if arguments.page:
        write_page(arguments.page, rows)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
