#!/usr/bin/env python3
"""Damaged files, and whether Nearfield's programs refuse or read them without harm.

    tests/attack/mutate.py --bin build/release/bin                          # the short form, as ctest runs it
    tests/attack/mutate.py --bin build/release/bin --hdf5 550 --nfr 220 --others 800 --yaml 400 --seed 7     # the long one

Small files of every kind (attack_inputs makes them) are mutated: bytes flipped, files cut, lengths forged, and the CRCs
of a recording's records made right again, so that what lies behind them is reached. Each mutant goes to every command
that reads its kind. A run is good when it ends by itself, within the time and memory allowed, with exit code 0, 65, 66,
74 or 78, and, unless that is 0, with one message. Everything else is told, the mutant is kept, and the exit code is 1.
The seed decides all mutants.
"""
import argparse
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

GOOD_CODES = {0, 65, 66, 74, 78}
KINDS = ["capture", "spectra", "time_data", "images", "calibration"]
MOST_OUTPUT_BYTES = 256 << 20  # of any file that a command writes: a forged length must not fill the disk
ROOT = pathlib.Path(__file__).resolve().parents[2]

REPLAY = ("replay {file} -o {out} --frames 1 --engine reference -c {lab}").split()
COMMANDS = {
    "capture": [["inspect", "{file}"], REPLAY],
    "spectra": [["inspect", "{file}"], REPLAY],
    "time_data": [["inspect", "{file}"], REPLAY],
    "images": [["inspect", "{file}"], ["export", "{file}", "-o", "{out}", "--format", "csv", "--product", "points"]],
    "calibration": [["inspect", "{file}"],
                    ("replay {inputs}/capture.h5 -o {out} --frames 1 --engine reference -c {lab} "
                     "--set array.calibration={file}").split()],
    "nfr": [["inspect", "{file}"],
            REPLAY + ["--set", "array.pitch_y_m=0.03", "--set", "holography.standoff_m=0.04"],
            ["convert", "{file}", "-o", "{out}", "--what", "bits"],
            ["convert", "{file}", "-o", "{out}", "--what", "images"]],
}
OTHERS = ["wav", "uff", "mat", "packed.mat"]  # time data as other programs write them, made here
COMMANDS.update({kind: [["inspect", "{file}"], REPLAY + ["--set", "array.pascal_per_unit=1"]] for kind in OTHERS})
LAB = """version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}
front_end: {window_samples: 128, hop_samples: 64, frequencies_hz: [1464.84375]}
holography: {standoff_m: 0.03, extrapolation: {order: 4}}
"""
EVIL_NUMBERS = [0, 1, 2, 7, 8, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 33, 1 << 40, 1 << 62,
                (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8]


# ---- Mutations ----

def structured_places(data):
    """Offsets in blocks with many zeros: headers and tables, rather than recorded bits."""
    blocks = [at for at in range(0, len(data), 64) if data[at:at + 64].count(0) >= 8]
    return blocks or list(range(0, len(data), 64))


def place_of(rng, data):
    blocks = structured_places(data)
    return min(rng.choice(blocks) + rng.randrange(64), len(data) - 1) if rng.random() < 0.8 else rng.randrange(len(data))


def flip(rng, data):
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[place_of(rng, data)] ^= 1 << rng.randrange(8)


def overwrite(rng, data):
    for _ in range(rng.choice([1, 2, 4])):
        data[place_of(rng, data)] = rng.choice([0, 0xFF, 0x7F, 0x80, rng.randrange(256)])


def cut(rng, data):
    del data[rng.randrange(len(data)):]


def forge_length(rng, data):
    size = rng.choice([2, 4, 8])
    at = min(place_of(rng, data) & ~(size - 1), len(data) - size)
    data[at:at + size] = (rng.choice(EVIL_NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def forge_heap(rng, data):
    """The length of an object in HDF5's global heap, where libhdf5 1.10.8 crashes or never ends."""
    start = data.find(b"GCOL")
    objects = []
    at = start + 16
    while start >= 0 and at + 16 <= len(data) and len(objects) < 64:
        index, _, _, length = struct.unpack_from("<HHIQ", data, at)
        if index == 0 or length > len(data):
            break
        objects.append(at)
        at += 16 + (length + 7) // 8 * 8
    if not objects:
        return forge_length(rng, data)
    struct.pack_into("<Q", data, rng.choice(objects) + 8, rng.choice(EVIL_NUMBERS))
    return None


def swap_blocks(rng, data):
    size = min(rng.choice([8, 64, 512]), len(data) // 2)
    a, b = rng.randrange(len(data) - size), rng.randrange(len(data) - size)
    data[a:a + size], data[b:b + size] = data[b:b + size], data[a:a + size]


def damage_head(rng, data):
    """In the first bytes, where the sizes are."""
    head = bytearray(data[:512])
    rng.choice([flip, overwrite, forge_length])(rng, head)
    data[:512] = head


CRC_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    CRC_TABLE.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def repair_crcs(data):
    """Record by record, as far as the lengths lead (docs/reference/recording_file.md)."""
    at = 0
    while at + 88 <= len(data) and data[at:at + 4] == b"NFR1":
        payload, = struct.unpack_from("<I", data, at + 72)
        if at + 88 + payload > len(data):
            break
        struct.pack_into("<I", data, at + 76, crc32c(data[at + 88:at + 88 + payload]))
        struct.pack_into("<I", data, at + 84, crc32c(data[at:at + 84]))
        at += 88 + (payload + 7) // 8 * 8


def forge_record(rng, data):
    """A number in a record's header, its CRC made right."""
    starts = []
    at = 0
    while at + 88 <= len(data) and data[at:at + 4] == b"NFR1":
        starts.append(at)
        at += 88 + (struct.unpack_from("<I", data, at + 72)[0] + 7) // 8 * 8
    if not starts:
        return forge_length(rng, data)
    field, kind = rng.choice([(6, "H"), (16, "Q"), (24, "Q"), (32, "Q"), (40, "Q"), (48, "Q"), (64, "I"), (68, "I"),
                              (72, "I")])
    struct.pack_into("<" + kind, data, rng.choice(starts) + field,
                     rng.choice(EVIL_NUMBERS) & ((1 << 8 * struct.calcsize(kind)) - 1))
    return None


HDF5_MUTATIONS = [flip, flip, overwrite, cut, forge_length, forge_length, forge_heap, swap_blocks]
NFR_MUTATIONS = [flip, overwrite, cut, forge_length, forge_record, forge_record, swap_blocks]
WORDS = ["null", "~", "-1", "0", "1e308", ".nan", ".inf", "99999999999999999999", "[]", "{}", "[[[[]]]]", "&a [*a]", "*b",
         "!!binary x", "\"", "'", "|", "\t", "\0", "\xff", "- -", "? ", "%YAML 9", "---", "...", "true", "off", "x" * 5000,
         "[" * 3000, "{a: " * 1000]


def mutate_text(rng, text):
    lines = text.split("\n")
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(lines))
        action = rng.randrange(7)
        if action == 0:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif action == 1 and len(lines) > 2:
            del lines[at]
        elif action == 2:
            key, colon, _ = lines[at].partition(":")
            lines[at] = key + colon + " " + rng.choice(WORDS)
        elif action == 3:
            lines[at] = " " * rng.randrange(1, 9) + lines[at]
        elif action == 4:
            place = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + rng.choice(WORDS) + lines[at][place:]
        elif action == 5:
            lines = lines[:at + 1]
        else:
            lines[at] = "".join(chr(ord(c) ^ (1 << rng.randrange(7))) if rng.random() < 0.05 else c for c in lines[at])
    return "\n".join(lines).encode("utf-8", "surrogateescape")


# ---- Time data of other programs ----

def matlab_variable(name, rows, columns, values):
    """An element of a MATLAB file of level 5, of doubles."""
    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)
    content = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", rows, columns))
    content += element(1, name.encode()) + element(9, struct.pack(f"<{len(values)}d", *values))
    return element(14, content)


def write_others(inputs):
    channels, samples, rate = 64, 256, 46875
    values = [0.25] * (channels * samples)
    data = struct.pack(f"<{len(values)}f", *values)
    form = struct.pack("<HHIIHH", 3, channels, rate, rate * 4 * channels, 4 * channels, 32)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    (inputs / "recording.wav").write_bytes(b"RIFF" + struct.pack("<I", len(chunks)) + chunks)
    text = []
    for node in range(channels):
        text += ["    -1", "    58", *["NONE"] * 5, f"{1:5d}{0:10d}{0:5d}{0:10d} {'NONE':10s}{node:10d}{3:4d}",
                 f"{2:10d}{samples:10d}{1:10d}{0:13.5e}{1 / rate:13.5e}{0:13.5e}", f"{17:10d}",
                 f"{15:10d}{0:5d}{0:5d}{0:5d} {'Pressure':20s} {'V':20s}", f"{0:10d}", f"{0:10d}"]
        text += [f"{0.25:13.5e}" * min(6, samples - first) for first in range(0, samples, 6)] + ["    -1"]
    (inputs / "recording.uff").write_text("\n".join(text) + "\n")
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    variables = [matlab_variable("fs", 1, 1, [rate]), matlab_variable("p", samples, channels, values)]
    (inputs / "recording.mat").write_bytes(head + b"".join(variables))
    packed = [zlib.compress(variable) for variable in variables]
    (inputs / "recording.packed.mat").write_bytes(
        head + b"".join(struct.pack("<II", 15, len(content)) + content for content in packed))


# ---- Running ----

class Runner:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.runs = self.failures = 0
        self.codes = {}
        self.longest_s = self.largest_mb = 0.0
        self.limit_s = arguments.seconds

    def bound(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT_BYTES, MOST_OUTPUT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def run(self, program, arguments):
        """What went wrong, or None, and how long it took."""
        began = time.monotonic()
        with open(self.folder / "said", "w+b") as said:
            process = subprocess.Popen([str(self.arguments.bin / program), *arguments], stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=subprocess.STDOUT, preexec_fn=self.bound)
            code, usage = self.wait(process, began)
            said.seek(0)
            self.said = text = said.read(1 << 16).decode("utf-8", "replace")
        took_s = time.monotonic() - began
        self.runs += 1
        self.longest_s = max(self.longest_s, took_s)
        self.largest_mb = max(self.largest_mb, usage.ru_maxrss / 1024)
        self.codes[code] = self.codes.get(code, 0) + 1
        return self.verdict(code, text, usage.ru_maxrss / 1024), took_s

    def wait(self, process, began):
        while True:
            found, status, usage = os.wait4(process.pid, os.WNOHANG)
            if found:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode, usage
            if time.monotonic() - began > self.limit_s:
                process.kill()
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = -9
                return "hang", usage
            time.sleep(0.005)

    def verdict(self, code, text, megabytes):
        if code == "hang":
            return f"did not end in {self.limit_s:.0f} s"
        if code not in GOOD_CODES:
            return f"ended with {code}: {text[-300:]}"
        messages = text.count("error: ")
        if code != 0 and not text.strip():
            return f"ended with {code} and said nothing"
        if code != 0 and messages > 1:
            return f"ended with {code} and {messages} messages: {text[-300:]}"
        if megabytes > self.arguments.megabytes:
            return f"took {megabytes:.0f} MB of memory"
        return None

    def judge(self, name, mutant, program, arguments):
        problem, _ = self.run(program, arguments)
        if problem is None:
            return
        self.failures += 1
        self.arguments.keep.mkdir(parents=True, exist_ok=True)
        kept = self.arguments.keep / name
        shutil.copyfile(mutant, kept)
        print(f"{kept}: {program} {' '.join(arguments[:2])}: {problem}", flush=True)


def mutants_of_files(arguments, rng, inputs, folder):
    """Kind, name and path of each mutant."""
    originals = [(kind, kind + variant) for variant in ("_heap", "") for kind in KINDS]
    for number in range(arguments.hdf5):
        kind, name = originals[number % len(originals)]
        data = bytearray((inputs / f"{name}.h5").read_bytes())
        rng.choice(HDF5_MUTATIONS)(rng, data)
        yield kind, f"{name}_{number}.h5", data
    for number in range(arguments.nfr):
        data = bytearray((inputs / "recording.nfr").read_bytes())
        rng.choice(NFR_MUTATIONS)(rng, data)
        if rng.random() < 0.8:
            repair_crcs(data)
        yield "nfr", f"recording_{number}.nfr", data
    for number in range(arguments.others):
        kind = OTHERS[number % len(OTHERS)]
        data = bytearray((inputs / f"recording.{kind}").read_bytes())
        rng.choice([flip, overwrite, cut, forge_length, swap_blocks, damage_head])(rng, data)
        yield kind, f"recording_{number}.{kind}", data


def attack_files(runner, rng, inputs):
    folder = runner.folder
    lab = folder / "lab.yaml"
    lab.write_text(LAB)
    out = folder / "out"

    def filled(command, file):
        return [part.format(file=file, out=out, lab=lab, inputs=inputs) for part in command]

    # The files as they are must be read: else nothing behind the first check would be tried.
    slowest_s = 0.0
    files = [(k + ".h5", k) for k in KINDS] + [(k + "_heap.h5", k) for k in KINDS]
    for name, kind in files + [(f"recording.{k}", k) for k in ["nfr", *OTHERS]]:
        file = inputs / name
        for command in COMMANDS[kind]:
            problem, took_s = runner.run("nearfield", filled(command, file))
            slowest_s = max(slowest_s, took_s)
            if problem is not None or runner.codes != {0: runner.runs}:
                sys.exit(f"{file}, undamaged: {' '.join(command)}: {problem or runner.said[-300:]}")
    runner.limit_s = max(runner.limit_s, 30 * slowest_s)
    for kind, name, data in mutants_of_files(runner.arguments, rng, inputs, folder):
        mutant = folder / ("mutant.h5" if kind in KINDS else f"mutant.{kind}")
        mutant.write_bytes(data)
        for command in COMMANDS[kind]:
            runner.judge(name, mutant, "nearfield", filled(command, mutant))
            for left in folder.glob("out*"):
                left.unlink()


def attack_configurations(runner, rng):
    originals = [(ROOT / "config" / name).read_text() for name in ("nearfield.yaml", "nearfieldd.yaml")]
    for number in range(runner.arguments.yaml):
        mutant = runner.folder / "mutant.yaml"
        mutant.write_bytes(mutate_text(rng, originals[number % 2]))
        runner.judge(f"configuration_{number}.yaml", mutant, "nearfieldd", ["-c", str(mutant), "--check"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="where the programs are")
    parser.add_argument("--hdf5", type=int, default=20)
    parser.add_argument("--nfr", type=int, default=8)
    parser.add_argument("--others", type=int, default=16, help="time data of other programs")
    parser.add_argument("--yaml", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=90, help="that a run may take, at least")
    parser.add_argument("--megabytes", type=float, default=1024, help="that a run may have resident")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("attack_failures"), help="for bad mutants")
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="nearfield-attack-") as name:
        folder = pathlib.Path(name)
        inputs = folder / "inputs"
        inputs.mkdir()
        subprocess.run([arguments.bin / "attack_inputs", inputs], check=True)
        write_others(inputs)
        runner = Runner(arguments, folder)
        rng = random.Random(arguments.seed)
        attack_files(runner, rng, inputs)
        attack_configurations(runner, rng)
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(runner.codes.items(), key=str))
        print(f"{runner.runs} runs, by exit code {{{codes}}}; longest {runner.longest_s:.1f} s, largest "
              f"{runner.largest_mb:.0f} MB; {runner.failures} bad")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
