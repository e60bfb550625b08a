"""Wrong but plausible files of every kind that Nearfield reads, for silence.py.

A source before 6 x 8 microphones is written as each kind of file, once right and once for each mistake: values a thousand times too
large, another rate, the other sign, rows and columns exchanged, all channels off by one. A mistake is refused where a command ends with
a message, shown where the lines that `inspect` and `replay` print differ from those of the right file, harmless where the images are the
same, and else silent, unless UNDETECTABLE has the reason. Needs numpy, scipy, h5py and soundfile.
"""
import functools
import itertools
import json
import re
import struct
import subprocess

import h5py
import numpy
import scipy.io
import soundfile

SUBJECTS = "kinds of files"
ROWS, COLUMNS, PITCH_X_M, PITCH_Y_M, STANDOFF_M = 6, 8, 0.06, 0.05, 0.05
RATE_HZ, SAMPLES, TONE_HZ, SOUND_M_S = 51200, 4096, 1000.0, 343.0
MISTAKES = ["a thousand times", "another rate", "the other sign", "rows and columns exchanged", "off by one channel"]
LAB = f"""version: 1
array: {{rows: {ROWS}, columns: {COLUMNS}, pitch_x_m: {PITCH_X_M}, pitch_y_m: {PITCH_Y_M}, layout: row-major}}
front_end: {{kind: dot_product, window_samples: 1024, hop_samples: 1024, frequencies_hz: [{TONE_HZ}]}}
holography: {{standoff_m: {STANDOFF_M}}}
"""
# FLAC has eight channels at most, and two rows are too few for an extrapolation by prediction.
SMALL_LAB = LAB.replace(f"rows: {ROWS}, columns: {COLUMNS}", "rows: 2, columns: 4").replace(
    "holography: {", "holography: {extrapolation: {method: edge}, ")
BARE_LAB = LAB.replace(LAB.splitlines()[1], "array: {layout: row-major}")  # positions say what the array is
# Why no program can tell, of fields and of places.
UNDETECTABLE = {
    "the other sign": "all phases turn by half a turn, as they do by half a period of time: nothing in the file says which",
    "rows and columns exchanged": "a mirrored field is a field: only a source at a known place tells",
    "off by one channel": "the field of a source one pitch aside, with one column too early: only a source at a known place tells",
}
UNDETECTABLE_PLACES = {
    "off by one channel": "places may come in any order, and the file alone says which microphone or value is where",
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


def spoil(values, mistake, rows=ROWS):
    """Channels along the last axis; rows and columns are exchanged as a transposed recorder would."""
    return {"a thousand times": lambda: values * 1000, "the other sign": lambda: -values,
            "rows and columns exchanged": lambda: values.reshape(*values.shape[:-1], rows, -1).swapaxes(-1, -2).reshape(values.shape),
            "off by one channel": lambda: numpy.roll(values, 1, -1)}.get(mistake, lambda: values)()


def rate_of(mistake, right_hz=RATE_HZ):
    return float(right_hz * (2 if mistake == "another rate" else 1))


# ---- Files of time data ----

def sound_file(form, subtype, suffix, is_small=False):
    """Integers and lossy samples end at full scale: they are a thousand times too soft. A small one has the 2 x 4 microphones in the
    middle."""
    def write(path, mistake):
        values = samples()
        if is_small:
            values = values.reshape(-1, ROWS, COLUMNS)[:, 2:4, 2:6].reshape(-1, 8)
        loud = 1000 if subtype == "FLOAT" else 0.001
        values = values * loud if mistake == "a thousand times" else spoil(values, mistake, 2 if is_small else ROWS)
        soundfile.write(path, values, int(rate_of(mistake)), subtype, format=form)
    return write, suffix


def matlab(path, mistake, **options):
    scipy.io.savemat(path, {"p": spoil(samples(), mistake), "fs": rate_of(mistake)}, **options)


def matlab_of_integers(path, mistake):
    counts = numpy.clip(numpy.round(spoil(samples(), mistake) * 32767), -32768, 32767).astype("int16")
    scipy.io.savemat(path, {"p": counts, "fs": rate_of(mistake)})


def matlab73(path, mistake):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["p"] = spoil(samples(), mistake).T
        file["fs"] = [[rate_of(mistake)]]
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def acoular(path, mistake):
    with h5py.File(path, "w") as file:
        file["time_data"] = spoil(samples(), mistake).astype("float32")
        file["time_data"].attrs["sample_freq"] = rate_of(mistake)


def universal(path, mistake, is_binary=False):
    values = spoil(samples(), mistake)
    step_s = 1 / rate_of(mistake)
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
        file["frequencies_hz"] = [rate_of(mistake, TONE_HZ)]
        file["spectra"] = spoil(phasors([TONE_HZ])[None], mistake).reshape(1, 1, ROWS, COLUMNS).astype("complex64")


def calibration(path, mistake):
    gains = spoil((1 + 0.02 * numpy.arange(ROWS * COLUMNS))[None].astype(complex), mistake)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = numpy.bytes_("nearfield-calibration")
        with_geometry(file, False)
        file["frequencies_hz"] = [rate_of(mistake, TONE_HZ)]
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
        file["frequencies_hz"] = [rate_of(mistake, TONE_HZ)]
        file["templates"] = spoil(steering[None], "" if mistake == "a thousand times" else mistake).astype("complex64")
        file["positions_m"] = places
        file["coherence"] = numpy.ones((1, 2), "float32")
        file["microphone_coherence"] = numpy.ones((1, 2, ROWS * COLUMNS), "float32")


def cross_spectra(path, mistake):
    """The other sign is that of time, e^{-jwt}: all matrices conjugated."""
    field = spoil(phasors([TONE_HZ]), "" if mistake in ("a thousand times", "the other sign") else mistake)[0]
    matrix = numpy.outer(field, field.conj()) / 2 * (1000 if mistake == "a thousand times" else 1)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = numpy.bytes_("nearfield-cross-spectra")
        file.attrs["version"] = 1
        with_geometry(file, False)
        file["frequencies_hz"] = [rate_of(mistake, TONE_HZ)]
        file["positions_m"] = positions().T
        file["csm"] = (matrix.conj() if mistake == "the other sign" else matrix)[None].astype("complex64")
        file["csm"].attrs.update(snapshots=4, sample_rate_hz=float(RATE_HZ), window_samples=1024, step_samples=1024)


BIT_RATE_HZ, SENSITIVITY_DBFS = 1500000, -20.0


@functools.cache
def bits_of_microphones():
    """[bit-time][channel] of the source's tone, by second-order modulators."""
    time_s = numpy.arange(40000)[:, None] / BIT_RATE_HZ
    full_scale_pa = numpy.sqrt(2) * 10 ** (-SENSITIVITY_DBFS / 20)
    field = numpy.real(phasors([TONE_HZ])[0] * numpy.exp(2j * numpy.pi * TONE_HZ * time_s)) / full_scale_pa
    bits = numpy.zeros(field.shape, bool)
    first, second = numpy.random.default_rng(1).uniform(-0.1, 0.1, (2, field.shape[1]))
    for i, sample in enumerate(field):
        bits[i] = second >= 0
        feedback = numpy.where(bits[i], 1.0, -1.0)
        first += sample - feedback
        second += first - feedback
    return bits


def words(mistake):
    """[bit-time][word], 32 microphones each; the sensitivity is what is a thousand times wrong."""
    bits = bits_of_microphones()
    spoilt = ~bits if mistake == "the other sign" else spoil(bits, "" if mistake == "a thousand times" else mistake)
    return numpy.packbits(numpy.pad(spoilt, ((0, 0), (0, -ROWS * COLUMNS % 32))), 1, "little").view("<u4")


def head_of_bits(mistake):
    return {"rows": ROWS, "columns": COLUMNS, "pitch_x_m": PITCH_X_M, "pitch_y_m": PITCH_Y_M, "standoff_m": STANDOFF_M,
            "sensitivity_dbfs": SENSITIVITY_DBFS - (60 if mistake == "a thousand times" else 0)}


def capture(path, mistake):
    with h5py.File(path, "w") as file:
        file.attrs["format"] = numpy.bytes_("nearfield-capture")
        file.attrs["version"] = 1
        file.create_group("geometry").attrs.update(head_of_bits(mistake))
        file["bitstream"] = words(mistake)
        file["bitstream"].attrs.update(sample_rate_hz=rate_of(mistake, BIT_RATE_HZ), layout="row-major", start_time_ns=numpy.uint64(0))


CRC_TABLE = []  # of CRC32C, a byte at a time
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    CRC_TABLE.append(number)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def recording(path, mistake):
    """As docs/reference/recording_file.md has the format."""
    of_bits = {"layout": "row-major", "sample_rate_hz": rate_of(mistake, BIT_RATE_HZ), "host": "lab", "boot_id": ""}
    end = {"reason": "asked", "dropped_bit_times": 0, "dropped_images": 0}
    bits = words(mistake)
    head = (0, 0, json.dumps(head_of_bits(mistake) | of_bits).encode())
    records = [head, head, (1, len(bits), bits.tobytes()), (5, 0, json.dumps(end).encode())]
    data = b""
    for sequence, (kind, bit_times, payload) in enumerate(records):
        fields = (b"NFR1", 3, kind, 77, sequence, 0, bit_times, 0, 0, 0, 0, 0, len(payload), crc32c(payload), 0)
        start = struct.pack("<4sHHQQQQQqqIIIII", *fields)
        data += start + struct.pack("<I", crc32c(start)) + payload + bytes(-len(payload) % 8)
    path.write_bytes(data)


def spoilt_points(places, mistake):
    """Millimetres, z against that of images, x and y exchanged, each line at the place of the one before."""
    return {"a thousand times": places * 1000, "the other sign": places * [1, 1, -1],
            "rows and columns exchanged": places[:, [1, 0, 2]], "off by one channel": numpy.roll(places, 1, 0)}.get(mistake, places)


def csv_of(places):
    return "x_m,y_m,z_m\n" + "\n".join(",".join(f"{value:.9g}" for value in place) for place in places) + "\n"


def spoilt_array(mistake):
    """Bent by 2 mm; a rate has no part here."""
    return spoilt_points(positions() + numpy.outer(0.002 * numpy.sin(numpy.arange(ROWS * COLUMNS)), [0, 0, 1]), mistake)


def positions_csv(path, mistake):
    path.write_text(csv_of(spoilt_array(mistake)))


def positions_xml(path, mistake):
    rows = [f' <pos Name="{i}" x="{p[0]:.9g}" y="{p[1]:.9g}" z="{-p[2]:.9g}"/>' for i, p in enumerate(spoilt_array(mistake))]
    path.write_text('<?xml version="1.0" encoding="utf-8"?>\n<MicArray name="lab">\n' + "\n".join(rows) + "\n</MicArray>\n")


def points(depth, suffix):
    """7 x 5 places over the array; `depth` is z, m, over x."""
    x, y = numpy.meshgrid(numpy.linspace(-0.15, 0.15, 7), numpy.linspace(-0.1, 0.1, 5))
    places = numpy.stack([x.ravel(), y.ravel(), depth(x.ravel())], 1)

    def write(path, mistake):
        if suffix == ".csv":
            path.write_text(csv_of(spoilt_points(places, mistake)))
        else:
            with h5py.File(path, "w") as file:
                file["points"] = spoilt_points(places, mistake)
    return write, suffix


def surface_h5(path, mistake):
    heights_m = 0.01 * numpy.cos(numpy.linspace(-1, 1, COLUMNS))[None] * numpy.ones((ROWS, 1))
    changes = {"a thousand times": heights_m * 1000, "the other sign": -heights_m, "rows and columns exchanged": heights_m.T}
    with h5py.File(path, "w") as file:
        file["z_m"] = changes.get(mistake, heights_m)


def masks_json(path, mistake):
    channels = [ROWS * COLUMNS] if mistake == "off by one channel" else [ROWS * COLUMNS - 1]
    path.write_text(json.dumps({"microphones": ROWS * COLUMNS, "masks": [{"first_bit_time": 0, "channels": channels}]}))


OF_PLACES = [mistake for mistake in MISTAKES if mistake != "another rate"]
REFUSALS = (64, 65, 66, 78)
# What differs from file to file without a meaning to a reader: sizes, times, the mean of noise.
UNTELLING = re.compile(r"\bs$|kept in|^created|error|^file |largest offset")
REPLAY = ["replay", "{file}", "-o", "{out}", "--frames", "1", "--engine", "reference", "-c", "{lab}"]
READ = [["inspect", "{file}", "-c", "{lab}"], REPLAY]
WITH_UNIT = [command + ["--set", "array.pascal_per_unit=1"] for command in READ]
BITS = [["inspect", "{file}"], REPLAY]
FAR = "processors.far={{kind: beamform, grid: {{kind: points, points: {file}}}}}"


def encoded(lab):
    return [["encode", "{file}", "-o", "{coded}", "-c", lab, "--pascal-per-unit", "1"], ["inspect", "{coded}"],
            ["replay", "{coded}", "-o", "{out}", "--frames", "1", "--engine", "reference", "-c", lab]]


def beside(*settings, lab="{lab}"):
    """The right recording, with the file in its settings."""
    return [["replay", "{right}", "-o", "{out}", "--frames", "1", "--engine", "reference", "-c", lab,
             *itertools.chain(*(("--set", setting) for setting in settings))]]


KINDS = {  # name: (writer, suffix, commands, mistakes that a file of this kind can have)
    "WAV, 16 bits": (*sound_file("WAV", "PCM_16", ".wav"), WITH_UNIT, MISTAKES),
    "WAV, 24 bits": (*sound_file("WAV", "PCM_24", ".wav"), WITH_UNIT, MISTAKES),
    "WAV, float": (*sound_file("WAV", "FLOAT", ".wav"), WITH_UNIT, MISTAKES),
    "RF64": (*sound_file("RF64", "PCM_24", ".rf64"), WITH_UNIT, MISTAKES),
    "AIFF": (*sound_file("AIFF", "PCM_24", ".aiff"), encoded("{lab}"), MISTAKES),
    "CAF": (*sound_file("CAF", "PCM_24", ".caf"), encoded("{lab}"), MISTAKES),
    "W64": (*sound_file("W64", "PCM_24", ".w64"), encoded("{lab}"), MISTAKES),
    "AU": (*sound_file("AU", "PCM_24", ".au"), encoded("{lab}"), MISTAKES),
    "FLAC": (*sound_file("FLAC", "PCM_24", ".flac", is_small=True), encoded("{small}"), MISTAKES),
    "Ogg Vorbis": (*sound_file("OGG", "VORBIS", ".ogg"), encoded("{lab}"), MISTAKES),
    "MATLAB 5": (matlab, ".mat", WITH_UNIT, MISTAKES),
    "MATLAB 5, compressed": (lambda path, mistake: matlab(path, mistake, do_compression=True), ".mat", WITH_UNIT, MISTAKES),
    "MATLAB 5, integers": (matlab_of_integers, ".mat", WITH_UNIT, MISTAKES),
    "MATLAB 7.3": (matlab73, ".mat", WITH_UNIT, MISTAKES),
    "universal file, 58": (universal, ".uff", READ, MISTAKES),
    "universal file, 58b": (lambda path, mistake: universal(path, mistake, True), ".uff", READ, MISTAKES),
    "time data, HDF5": (acoular, ".h5", READ, MISTAKES),
    "spectra": (spectra, ".h5", READ, MISTAKES),
    "cross-spectra": (cross_spectra, ".h5", [["inspect", "{file}"]], MISTAKES),
    "capture": (capture, ".h5", BITS, MISTAKES),
    "recording": (recording, ".nfr", BITS, MISTAKES),
    "calibration": (calibration, ".h5", [["inspect", "{file}"], *beside("array.calibration={file}")], MISTAKES),
    "positions, CSV": (positions_csv, ".csv", beside("array.positions={file}", lab="{bare}"), OF_PLACES),
    "positions, XML": (positions_xml, ".xml", beside("array.positions={file}", lab="{bare}"), OF_PLACES),
    "surface, CSV": (*points(lambda x: 0.01 * numpy.cos(10 * x), ".csv"), beside("holography.surface={file}"), OF_PLACES),
    "surface, HDF5": (surface_h5, ".h5", beside("holography.surface={file}"), OF_PLACES[:-1]),
    "points of a grid, CSV": (*points(lambda x: -0.5 + 0.1 * x, ".csv"), beside(FAR), OF_PLACES),
    "points of a grid, HDF5": (*points(lambda x: -0.5 + 0.1 * x, ".h5"), beside(FAR), OF_PLACES),
    "sources of operators, CSV": (*points(lambda x: -0.04 + 0.1 * x, ".csv"),
                                  beside("holography.imager=operators", "holography.operators.sources={file}"), OF_PLACES),
    "templates": (templates, ".h5", [["inspect", "{file}"]], MISTAKES),
    "masks": (masks_json, ".json", [["replay", "{right}", "-o", "{out}", "--frames", "1", "-c", "{lab}", "--masks", "{file}"]],
              ["off by one channel"]),
}


class Search:
    subjects = list(KINDS)

    def __init__(self, binaries, folder):
        self.program = binaries / "nearfield"
        self.folder = folder
        self.names = {name: folder / name for name in ("out", "coded", "right", "lab", "bare", "small")}
        for name, text in (("lab", LAB), ("bare", BARE_LAB), ("small", SMALL_LAB)):
            self.names[name].write_text(text)
        acoular(self.names["right"], "")

    def said(self, kind, mistake):
        """Exit code, what was printed, and the images."""
        write, suffix, commands, _ = KINDS[kind]
        names = self.names | {"file": self.folder / ("file" + suffix)}
        write(names["file"], mistake)
        names["out"].unlink(missing_ok=True)
        lines = []
        for command in commands:
            run = subprocess.run([str(self.program), *(part.format(**names) for part in command)], cwd=self.folder, text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
            lines += [re.sub(r"^nearfield: info: ", "", line) for line in (run.stdout + run.stderr).splitlines()]
            if run.returncode:
                return run.returncode, lines, []
        if not names["out"].exists():
            return 0, lines, []
        with h5py.File(names["out"]) as file:
            return 0, lines, [numpy.array(value) for value in leaves(file) if value.ndim >= 3]

    def outcome(self, kind, mistake, right):
        code, lines, pictures = self.said(kind, mistake)
        if code:
            return ("refused", lines[-1]) if code in REFUSALS and lines else ("silent", f"exit code {code}")
        telling = [line for line in lines if line not in right[1] and not UNTELLING.search(line)]
        if telling:
            return "shown", telling[0]
        if pictures and len(pictures) == len(right[2]) and all(map(is_same, pictures, right[2])):
            return "harmless", "the images are the same"
        reason = (UNDETECTABLE_PLACES if KINDS[kind][3] == OF_PLACES else UNDETECTABLE).get(mistake)
        return ("undetectable", reason) if reason else ("silent", "")

    def rows(self, kind):
        right = self.said(kind, "")
        if right[0]:
            yield kind, "none", "silent", f"the right file is refused: {right[1][-1:]}"
            return
        for mistake in KINDS[kind][3]:
            yield kind, mistake, *self.outcome(kind, mistake, right)


def is_same(one, other):
    return one.shape == other.shape and numpy.array_equal(one, other, equal_nan=True)


def leaves(group):
    found = []
    group.visititems(lambda _, value: found.append(value) if isinstance(value, h5py.Dataset) else None)
    return found
