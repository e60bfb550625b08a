"""Recordings of arrays as other programs write them, for tests and for `lab/peers.py`: channels on a grid, a monopole's field in time, and
files of samples written by h5py or by hand from a format's description.
"""

import struct

import h5py
import numpy as np


class Grid:
    """Microphones of a square array about the origin; `order` gives the place of each channel, row by row without it."""

    def __init__(self, side, pitch_m, order=None):
        self.side, self.pitch_m = side, pitch_m
        along = (np.arange(side) - (side - 1) / 2) * pitch_m
        y, x = np.meshgrid(along, along, indexing="ij")
        self.places_m = np.stack([x.ravel(), y.ravel(), np.zeros(side * side)], axis=1)
        if order is not None:
            self.places_m = self.places_m[order]

    def options(self, standoff_m):
        return [f"array.rows={self.side}", f"array.columns={self.side}", f"array.pitch_x_m={self.pitch_m}",
                f"array.pitch_y_m={self.pitch_m}", f"holography.standoff_m={standoff_m}"]


def monopole(places_m, source_m, amplitude_pa_m, sound_speed_m_s, rate_hz, tone_hz, samples):
    """Pa, [sample][channel], of microphones at `places_m` and a tone at `source_m`; the amplitude is pressure times distance."""
    distance_m = np.linalg.norm(places_m - np.asarray(source_m), axis=1)
    seconds = np.arange(samples)[:, np.newaxis] / rate_hz
    return amplitude_pa_m / distance_m * np.cos(2 * np.pi * tone_hz * (seconds - distance_m / sound_speed_m_s))


def write_acoular(path, values, rate_hz):
    with h5py.File(path, "w") as file:
        file["time_data"] = values.astype("float32")
        file["time_data"].attrs["sample_freq"] = rate_hz


def write_matlab73(path, variables):
    """As MATLAB: HDF5 behind a block of 512 bytes, axes reversed, the class in an attribute."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            is_logical = np.asarray(value).dtype == bool
            data = file.create_dataset(name, data=np.atleast_2d(np.asarray(value, "u1" if is_logical else "f8")).T)
            data.attrs["MATLAB_class"] = np.bytes_("logical" if is_logical else "double")
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Nov 23 2026 HDF5 schema 1.00 ."
    with open(path, "r+b") as file:
        file.write(head.ljust(124) + b"\x00\x02IM")


def write_matlab5_big_endian(path, variables):
    """As MATLAB on a machine whose highest byte comes first."""
    def element(kind, content):
        return struct.pack(">II", kind, len(content)) + content + bytes(-len(content) % 8)

    with open(path, "wb") as file:
        file.write(b"MATLAB 5.0 MAT-file, Platform: SOL2".ljust(124) + b"\x01\x00MI")
        for name, value in variables.items():
            matrix = np.atleast_2d(np.asarray(value, ">f8"))
            file.write(element(14, element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", *matrix.shape))
                               + element(1, name.encode()) + element(9, matrix.tobytes(order="F"))))


def universal(values, rate_hz, nodes, binary=None, unit="Pa", double=False, time=(17, "s", 1.0)):
    """Datasets 58, or 58b in the order of bytes '<' or '>', one a node; `time` is type, unit and its number in 1 s."""
    abscissa, time_unit, per_second = time
    blocks = []
    for node, channel in zip(nodes, values.T):
        data = channel.astype(f"{binary or '<'}f{8 if double else 4}").tobytes()
        head = "    -1\n    58"
        head += f"b{1 if binary == '<' else 2:6d}{2:6d}{11:12d}{len(data):12d}{0:6d}{0:6d}{0:12d}{0:12d}" if binary else ""
        lines = [head, "made for a test", "NONE", "23-Nov-26 12:00:00", "NONE", "NONE",
                 f"{1:5d}{0:10d}{0:5d}{0:10d} {'NONE':10s}{node:10d}{3:4d} {'NONE':10s}{0:10d}{0:4d}",
                 f"{4 if double else 2:10d}{len(channel):10d}{1:10d}{0:13.5e}{per_second / rate_hz:13.5e}{0:13.5e}",
                 f"{abscissa:10d}{0:5d}{0:5d}{0:5d} {'Time':20s} {time_unit:20s}",
                 f"{15:10d}{0:5d}{0:5d}{0:5d} {'Pressure':20s} {unit:20s}",
                 f"{0:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}",
                 f"{0:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}"]
        block = ("\n".join(lines) + "\n").encode()
        if binary:
            block += data + b"\n"
        else:
            count, form = (4, "{:20.11e}") if double else (6, "{:13.5e}")
            for first in range(0, len(channel), count):
                block += ("".join(form.format(v) for v in channel[first:first + count]) + "\n").encode()
        blocks.append(block + b"    -1\n")
    return b"".join(blocks)


def universal_nodes(places_m, nodes, system=0):
    """A dataset 15, as `nearfield export` and others write it."""
    lines = "".join(f"{node:10d}{system:10d}{0:10d}{1:10d}{x:13.5e}{y:13.5e}{z:13.5e}\n" for node, (x, y, z) in zip(nodes, places_m))
    return f"    -1\n    15\n{lines}    -1\n".encode()


def universal_units(units_per_m, units_per_n):
    """A dataset 164: factors by which values of the file are divided to be SI."""
    factors = "".join(f"{value:25.17e}".replace("e", "D") for value in (units_per_m, units_per_n, 1.0))
    return f"    -1\n   164\n{5:10d}{'of a test':20s}{2:10d}\n{factors}\n{273.15:25.17e}\n    -1\n".encode()


def write_acoular_xml(path, places_m):
    """Positions as Acoular keeps them, in the order of the channels."""
    path.write_text("<?xml version='1.0'?><MicArray name='a'>" + "".join(
        f"<pos Name='Point {i + 1}' x='{x}' y='{y}' z='{z}'/>" for i, (x, y, z) in enumerate(places_m)) + "</MicArray>")
