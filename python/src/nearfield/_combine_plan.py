"""Input of :mod:`nearfield.combine`: which recordings make one large array, as a YAML file says it, and their samples."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import math
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import h5py
import numpy as np

from nearfield._layout import Array
from nearfield._results import _text, missing
from nearfield._runs import _first_line
from nearfield._values import PASCAL_PER_UNIT
from nearfield._yaml_map import YamlMap, number_of
from nearfield.errors import ConfigError, DataError, NoInputError

MOST_SIDE, MOST_MICROPHONES = 64, 4096  # limits of the imagers
MOST_FREQUENCIES = 1000
_MOST_M = 50.0  # a place
_LEAST_BINS = 2.0  # frequency in 1 / window: below it the window's constant leaks in
_KEYS = ("version", "array", "standoff_m", "reference_channels", "window_samples", "frequencies_hz", "band_hz", "positions")
_KEYS_OF_ARRAY = ("rows", "columns", "pitch_x_m", "pitch_y_m", "positions", "channels", "pascal_per_unit")
_EXPECTED = "expected time data, HDF5 or WAV"


@dataclasses.dataclass(frozen=True)
class Position:
    """Recording of the array at one place."""

    name: str  # such as "positions[0]"
    file: str
    references: str  # file of the references' samples; that of the array where they are beside its microphones
    at_m: tuple[float, float]  # x and y of the array's own origin


@dataclasses.dataclass(frozen=True)
class Plan:
    path: str
    places_m: Array  # [microphone, (x, y, z)] about the array's own origin, in the order of its channels
    is_grid: bool
    channels: tuple[int, ...]  # channels of the microphones; none: all that are no references
    reference_channels: tuple[int, ...]  # none: all of the file of references
    pascal_per_unit: float | None
    standoff_m: float
    window_samples: int
    frequencies_hz: tuple[float, ...]  # none where there is a band
    band_hz: tuple[float, float] | None
    positions: tuple[Position, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a file of positions.

        Raises
        ------
        NoInputError, ConfigError, DataError
            With the place in the file, what was found, and what was expected.
        """
        top = YamlMap.of_file(os.fspath(path), "combine", _KEYS)
        folder = pathlib.Path(path).parent
        top.number("version", 1, 1, "1", is_whole=True, default=1)
        array = top.map("array", _KEYS_OF_ARRAY)
        places_m, is_grid = _places_of(array, folder)
        channels = array.channels("channels")
        if channels and len(channels) != len(places_m):
            array.fail("channels", f"one a microphone, {len(places_m)}", f"{len(channels)}")
        pascal = array.number("pascal_per_unit", 1e-12, math.inf, "a number of Pa > 0") if array.has("pascal_per_unit") else None
        reference_channels = top.channels("reference_channels")
        standoff_m = top.number("standoff_m", 1e-6, 100.0, "a length > 0 m")
        window_samples = int(top.number("window_samples", 16, 1 << 20, "a whole number from 16 to 1048576", is_whole=True))
        if top.has("band_hz") == top.has("frequencies_hz"):
            top.fail("frequencies_hz, band_hz", "one of them", "both" if top.has("band_hz") else "none")
        frequencies_hz: tuple[float, ...] = ()
        band_hz = None
        if top.has("band_hz"):
            limits = top.numbers("band_hz", 0.0, math.inf, "two frequencies in Hz, the lower one first")
            if len(limits) != 2 or limits[0] >= limits[1]:
                top.fail("band_hz", "two frequencies in Hz, the lower one first", str(list(limits)))
            band_hz = limits[0], limits[1]
        else:
            frequencies_hz = tuple(sorted(top.numbers("frequencies_hz", 0.0, math.inf, "frequencies in Hz > 0")))
            if not 1 <= len(frequencies_hz) <= MOST_FREQUENCIES or len(set(frequencies_hz)) < len(frequencies_hz):
                found = f"{len(frequencies_hz)}, {len(set(frequencies_hz))} of them different"
                top.fail("frequencies_hz", f"1 to {MOST_FREQUENCIES} frequencies, each once", found)
        positions: list[Position] = []
        for one in top.maps("positions", ("file", "references", "x_m", "y_m")):
            positions.append(_position_of(one, folder, bool(reference_channels), positions))
        if not positions:
            top.fail("positions", "at least one", "none")
        both = sorted(set(reference_channels) & set(channels))
        if both and any(position.references == position.file for position in positions):
            top.fail("reference_channels", "channels that are no microphones", f"{both} of both")
        return cls(top.file, places_m, is_grid, channels, reference_channels, pascal, standoff_m, window_samples, frequencies_hz, band_hz, tuple(positions))

    def fail(self, key: str, expected: str, found: str) -> NoReturn:
        raise ConfigError(f"{self.path}: {key}: expected {expected}, found {found}", 78)


def _position_of(one: YamlMap, folder: pathlib.Path, has_channels: bool, others: Sequence[Position]) -> Position:
    file = str(folder / one.text("file"))
    for other in others:
        if os.path.realpath(file) == os.path.realpath(other.file):
            one.fail("file", "a recording of its own", f"{file}, which {other.name} has")
    references = str(folder / one.text("references")) if one.has("references") else file
    if not one.has("references") and not has_channels:
        one.fail("references", "a file of references, or reference_channels of the same file", "neither")
    at_m = (one.number("x_m", -_MOST_M, _MOST_M, "a length in m"), one.number("y_m", -_MOST_M, _MOST_M, "a length in m"))
    return Position(one.key, file, references, at_m)


def _places_of(array: YamlMap, folder: pathlib.Path) -> tuple[Array, bool]:
    """Return the places of an array's microphones, x to the right and y down, and whether they are a grid."""
    if array.has("positions"):
        for key in ("rows", "columns", "pitch_x_m", "pitch_y_m"):
            if array.has(key):
                array.fail(key, "none beside positions", "both")
        return _places_in(str(folder / array.text("positions"))), False
    rows, columns = (int(array.number(key, 1, MOST_SIDE, f"a whole number from 1 to {MOST_SIDE}", is_whole=True)) for key in ("rows", "columns"))
    x_m, y_m = ((np.arange(count) - (count - 1) / 2.0) * array.number(key, 1e-6, 100.0, "a length > 0 m")
                for count, key in ((columns, "pitch_x_m"), (rows, "pitch_y_m")))  # fmt: skip
    y, x = np.meshgrid(y_m, x_m, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=-1), True


def _places_in(name: str) -> Array:
    try:
        with open(name, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise NoInputError(f"{name}: {(error.strerror or str(error)).lower()}", 66) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name}: expected x_m,y_m,z_m and a line a microphone, found no CSV", 65) from error
    if not rows or [word.strip() for word in rows[0]] != ["x_m", "y_m", "z_m"]:
        raise DataError(f"{name}:1: expected x_m,y_m,z_m, found {','.join(rows[0])[:60] if rows else 'an empty file'}", 65)
    places = []
    for line, row in enumerate(rows[1:], 2):
        place = [number_of(word) for word in row]
        if row and (len(place) != 3 or not all(abs(value) <= _MOST_M for value in place)):
            raise DataError(f"{name}:{line}: expected three lengths from {-_MOST_M:g} to {_MOST_M:g} m, found {','.join(row)[:60]}", 65)
        places += [place] if row else []
    if not 1 <= len(places) <= MOST_MICROPHONES:
        raise DataError(f"{name}: expected 1 to {MOST_MICROPHONES} places, found {len(places)}", 65)
    return np.array(places)


# ---- Samples ----


class Samples:
    """Channels of a file of time data: integers as shares of full scale, floats as they are."""

    def __init__(self, name: str, rate_hz: float, values: Any, unit: str, middle: float = 0.0, full_scale: float = 1.0) -> None:
        self.name, self.rate_hz, self.unit = name, rate_hz, unit
        self.count, self.channels = values.shape
        self._values, self._middle, self._full_scale = values, middle, full_scale

    def pascal(self, plan: Plan) -> float:
        """Return the Pa of one unit, by the file or else by the plan; what both say is refused."""
        known = PASCAL_PER_UNIT.get(self.unit)
        if known is not None and plan.pascal_per_unit is not None:
            plan.fail("array.pascal_per_unit", f"none, as {self.name} is in {self.unit}", f"{plan.pascal_per_unit:g}")
        if known is None and plan.pascal_per_unit is None:
            plan.fail("array.pascal_per_unit", f"the Pa of full scale or of the value 1, as the unit of {self.name} is {self.unit or 'not stated'}", "none")
        return known or plan.pascal_per_unit or 1.0

    def read(self, first: int, end: int, channels: Array) -> Array:
        """Return samples [sample, channel]."""
        values: Array = (self._values[first:end][:, channels].astype(np.float64) - self._middle) / self._full_scale
        return values


@contextlib.contextmanager
def samples_of(name: str) -> Iterator[Samples]:
    """Yield the samples of a file of time data.

    Raises
    ------
    NoInputError, DataError
        With what was found and what was expected.
    """
    try:
        with open(name, "rb") as file:
            head = file.read(12)
    except IsADirectoryError as error:
        raise DataError(f"{name}: {_EXPECTED}, found a folder", 65) from error
    except OSError as error:
        raise NoInputError(f"{name}: {(error.strerror or str(error)).lower()}", 66) from error
    if head[:4] in (b"RIFF", b"RF64", b"RIFX") and head[8:] == b"WAVE":
        yield _wav(name)
        return
    try:
        data = h5py.File(name)
    except OSError as error:
        raise DataError(f"{name}: {_EXPECTED}, found another file or a damaged one ({_first_line(error)})", 65) from error
    with data:
        kind = _text(data.attrs, "format").removeprefix("nearfield-")
        values = data.get("time_data")
        if not isinstance(values, h5py.Dataset) or kind:
            raise DataError(f"{name}: {_EXPECTED}, found {kind or 'a file without time_data'}", 65)
        if values.ndim != 2 or values.dtype.kind != "f" or "sample_freq" not in values.attrs or values.shape[1] > values.shape[0]:
            raise DataError(f"{name}: expected time_data of floats [sample, channel] with sample_freq, found {values.dtype} of the shape {values.shape}", 65)
        rate_hz = float(np.ravel(values.attrs["sample_freq"])[0])
        if not (math.isfinite(rate_hz) and rate_hz > 0.0):
            raise DataError(f"{name}: sample_freq: expected a rate > 0 Hz, found {rate_hz:g}", 65)
        unit = next((_text(values.attrs, key) for key in ("units", "unit") if key in values.attrs), "Pa")  # Acoular's files say none
        yield Samples(name, rate_hz, values, unit)


def _wav(name: str) -> Samples:
    with missing("scipy", "python3-scipy", "combine", "export"):
        from scipy.io import wavfile
    try:
        rate_hz, values = wavfile.read(name)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{name}: expected a WAV file of integers or floats, found another or a damaged one ({_first_line(error)})", 65) from error
    values = values.reshape(len(values), -1)
    middle, full_scale = (128.0, 128.0) if values.dtype.kind == "u" else (0.0, 2.0 ** (8 * values.dtype.itemsize - 1) if values.dtype.kind == "i" else 1.0)
    return Samples(name, float(rate_hz), values, "", middle, full_scale)
