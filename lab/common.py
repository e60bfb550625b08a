"""What the studies share: the engine of this checkout, the generator of the C++ sources, simulated scenes, figures of images, reports."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("NEARFIELD_BUILD", ROOT / "build/release"))
os.environ.setdefault("NEARFIELD_PROGRAM", str(BUILD / "bin/nearfield"))
os.environ.setdefault("NEARFIELD_LIBRARIES", f"{BUILD}/src/api:{BUILD}/src/ring")
sys.path.insert(0, str(ROOT / "python/src"))

import nearfield  # noqa: E402
from nearfield import _library  # noqa: E402

_library._PACKAGE = ROOT  # the package in the tree has its headers in include/ of the tree

BIT_RATE_HZ, BITS_PER_WORD = 1.5e6, 32
BIN_HZ = BIT_RATE_HZ / 32768  # of 1024 words
SOUND_SPEED_M_S, DENSITY_KG_M3 = 343.0, 1.2041
RESPONSE_WORDS = 64  # before the window: the response of every front end's filter to the silence before has decayed


# --- the engine -------------------------------------------------------------------------------------------------------

def run(*words):
    """Runs `nearfield`; raises where it fails."""
    done = subprocess.run([os.environ["NEARFIELD_PROGRAM"], *map(str, words), "-q"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"nearfield {words[0]} ended with {done.returncode}: {done.stderr}")


def array_settings(rows, columns, pitch_x_m=0.02, pitch_y_m=None):
    return {"rows": rows, "columns": columns, "pitch_x_m": pitch_x_m, "pitch_y_m": pitch_y_m or pitch_x_m,
            "layout": "sorama-cam" if (rows, columns) == (32, 32) else "row-major"}


def commit():
    """The commit of this checkout, "-dirty" behind it where files have changed."""
    return subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, check=True).stdout.strip()


def device():
    """The device that engines run on, in words."""
    config = {"array": array_settings(4, 4), "holography": {"imager": "pnah", "standoff_m": 0.03}}
    with nearfield.Engine(config, "spectra", channels=16, frequencies_hz=[1000.0]) as engine:
        layout = engine._library.nf_engine_get_layout(engine._engine, 0)
        return _library.text(layout.device)


# --- random numbers ---------------------------------------------------------------------------------------------------

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(state):
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def uniforms(seed, stream, count):
    """The first numbers of src/core/numerics.hpp's stream, on [-1, 1)."""
    with np.errstate(over="ignore"):
        begin = _mixed(np.uint64(seed) + _GOLDEN) + np.uint64(stream) * np.uint64(0xD1B54A32D192ED03)
        return (_mixed(begin + _GOLDEN * np.arange(1, count + 1, dtype=np.uint64)) >> np.uint64(11)) * 2.0**-52 - 1.0


# --- scenes -----------------------------------------------------------------------------------------------------------

def scene_of(name):
    """A scene of config/scenes, as nested dictionaries."""
    return yaml.safe_load((ROOT / "config/scenes" / name).read_text(encoding="utf-8"))


def simulated(scene, form):
    """What `nearfield simulate --as` writes of a scene: an open HDF5 file in memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "scene.yaml").write_text(json.dumps(scene), encoding="utf-8")
        run("simulate", folder / "scene.yaml", "-o", folder / "out.h5", "--as", form)
        return h5py.File(folder / "out.h5", "r", driver="core")


def truth_of(scene):
    """The frequencies of a scene's tones, and exact fields [frequency][row][column]: at the microphones Pa, on z = 0 Pa and m/s."""
    with simulated({**scene, "microphones": {}}, "spectra") as file:
        frequencies = np.asarray(file["frequencies_hz"])
        return frequencies, file["spectra"][0], file["truth/pressure"][:], file["truth/normal_velocity"][:]


def full_scale_pa(sensitivity_dbfs):
    """Peak of a sine of full scale, 0 dBFS."""
    return np.sqrt(2.0) * 10.0 ** (-sensitivity_dbfs / 20.0)


def with_level(scene, level_dbfs):
    """The scene with the sensitivity that makes the rms of all tones over the microphones this, and noise of the same dBFS as before."""
    array, microphones = dict(scene["array"]), dict(scene.get("microphones", {}))
    pressure = truth_of(scene)[1]
    rms_pa = np.sqrt(np.sum(np.abs(pressure.astype(complex)) ** 2) / 2.0 / pressure[0].size)
    before = full_scale_pa(array.get("sensitivity_dbfs", -26.0))
    array["sensitivity_dbfs"] = float(level_dbfs - 20.0 * np.log10(rms_pa))
    microphones["noise_pa"] = float(microphones.get("noise_pa", 0.0) * full_scale_pa(array["sensitivity_dbfs"]) / before)
    return {**scene, "array": array, "microphones": microphones}


# --- figures ----------------------------------------------------------------------------------------------------------

def _power(values, axis=-1):
    return np.sum(np.abs(values) ** 2, axis=axis)


def relative_l2(truth, image):
    """|image - truth| / |truth| over the last axis, complex."""
    return np.sqrt(_power(np.asarray(image, complex) - truth) / _power(np.asarray(truth, complex)))


def ncc(truth, image):
    """|<truth, image>| over both norms."""
    truth, image = np.asarray(truth, complex), np.asarray(image, complex)
    return np.abs(np.sum(truth.conj() * image, axis=-1)) / np.sqrt(_power(truth) * _power(image))


def _of_maximum(values):
    values = np.asarray(values, complex)
    return values / np.abs(values).max(axis=-1, keepdims=True)


def nmse_db(truth, image):
    """Of images that are each over their own maximum."""
    return 20.0 * np.log10(relative_l2(_of_maximum(truth), _of_maximum(image)))


def magnitude_errors(truth, image):
    """RMSRE over the pixels of at least 1 % of the maximum, RMSRE over all, and NSAD with its sign (Oznaya Angeles 2014, eq. 7.1, 7.2)."""
    a, b = np.abs(_of_maximum(truth)), np.abs(_of_maximum(image))
    relative = (a - b) / a
    return np.sqrt(np.mean(relative[a >= 0.01] ** 2)), np.sqrt(np.mean(relative**2)), np.mean(a - b)


# --- reports ----------------------------------------------------------------------------------------------------------

def parser_of(description, **options):
    """Options of a study by name: the default, or a list of them, and what it is."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name, (default, meaning) in options.items():
        kind = type(default[0] if isinstance(default, list) else default) if default else str
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, help=f"{meaning}; default: {default}", metavar="VALUE",
                            type=(lambda text, kind=kind: [kind(word) for word in text.split(",")]) if isinstance(default, list) else kind)
    parser.add_argument("--csv", type=pathlib.Path, help="file for all figures")
    return parser


def text_of(value):
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def markdown(head, lines):
    """A table, with an empty line behind it."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(text_of, row)) + " |" for row in rows) + "\n\n"


def write_csv(path, rows, **head):
    """Rows are dictionaries; the columns are those of all of them. `head` becomes lines "# name: value" before them."""
    import csv
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in head.items())
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{value:.6g}" if isinstance(value, (float, np.floating)) else value for key, value in row.items()} for row in rows)


def show(rows, csv_path=None):
    """Prints a table of rows that are dictionaries, and writes them."""
    for keys in dict.fromkeys(tuple(row) for row in rows):
        print(markdown(keys, [[row[key] for key in keys] for row in rows if tuple(row) == keys]))
    if csv_path is not None:
        write_csv(csv_path, rows)


def say(what):
    print(what, file=sys.stderr, flush=True)
