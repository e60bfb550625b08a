"""Sources of mean squares over time for :mod:`nearfield.sound_levels`: samples of microphones and beams, and frames of files."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import h5py
import numpy as np

from nearfield._command import usage
from nearfield._layout import Array
from nearfield._level_frames import Block, Choice, LevelColumn, Frames, Source, has_levels, is_signal, places_of, product_of
from nearfield._results import FileProduct, Results, _text, missing
from nearfield._runs import _first_line, _is_recording, opened, program
from nearfield._summary_run import _DOUBTFUL
from nearfield._values import PASCAL_PER_UNIT
from nearfield.errors import DataError, NoInputError
from nearfield.weightings import SETTLED, Band, Filter, FilteredSquares, bands_between

_GROUP = 16  # channels that are filtered together
_SAMPLES = 1 << 17  # a block
_ROWS = 4096  # frames a block
_SILENT = 32  # samples in a row that are 0 in all channels: nothing was recorded
_EXPECTED = "expected images (.h5), a recording (.nfr), or time data (.h5 or .wav)"
_OF_BITS = "nearfield replay makes levels of it: of images, or of the microphones by a processor"


# ---- Samples ----


class Signals:
    """Columns of time signals: of each entry the whole, then its bands."""

    def __init__(self, rate_hz: float, entries: Sequence[str], choice: Choice) -> None:
        weighting = choice.weighting or "a"
        bands = _bands_of(rate_hz, choice) if choice.parts else []
        self.filters = [Filter(weighting), *(Filter(weighting, band) for band in bands)]
        self.columns = [LevelColumn(entry, one.band.words if one.band else "", weighting.upper()) for one in self.filters for entry in entries]
        self._squares = FilteredSquares(rate_hz, self.filters, len(entries))
        self._at_s = 0.0

    def push(self, samples: Array) -> Block:
        found = np.concatenate(self._squares.push(samples), axis=1)
        ends_s = self._at_s + self._squares.cell_s * np.arange(1, len(found) + 1)
        self._at_s = float(ends_s[-1]) if len(ends_s) else self._at_s
        return ends_s, found, self._squares.cell_s


def _bands_of(rate_hz: float, choice: Choice) -> list[Band]:
    bands = bands_between(choice.parts, *(choice.range_hz or (25.0, 20000.0)))
    fit = [band for band in bands if band.edges_hz[1] <= rate_hz / 2.0]
    if not bands or (choice.range_hz is not None and len(fit) < len(bands)):
        found = f"{bands[-1].words} up to {bands[-1].edges_hz[1]:.0f} Hz" if bands else "none in this range"
        raise DataError(f"--range: expected bands below half of {rate_hz:g} samples a second, found {found}", 65)
    return fit


def _checked_length(seconds: float, filters: Sequence[Filter], name: str, choice: Choice, notes: list[str]) -> list[int]:
    """Return the filters for which a signal is long enough: five times the inverse of the bandwidth."""
    kept = [i for i, one in enumerate(filters) if one.band is None or seconds * (one.band.edges_hz[1] - one.band.edges_hz[0]) >= SETTLED]
    if len(kept) < len(filters):
        short = [one.band.words for i, one in enumerate(filters) if i not in kept and one.band]
        if choice.range_hz is not None:
            raise DataError(f"{name}: expected at least 5 / bandwidth for the {short[0]}, found a signal of {seconds:.3g} s", 65)
        notes.append(f"{seconds:.3g} s are too short for bands up to {short[-1]}.")
    return kept


def chosen_entries(count: int, choice: Choice) -> range:
    if choice.entry is None:
        return range(count)
    if not 0 <= choice.entry < count:
        raise usage("levels", f"--entry: expected 0 to {count - 1}, found {choice.entry}")
    return range(choice.entry, choice.entry + 1)


Read = Callable[[int, int, slice], Array]


def _signal_sources(name: str, title: str, rate_hz: float, entries: list[str], read: Read, count: int, choice: Choice) -> list[Source]:
    """Return sources of samples [sample, entry], which `read` gives of samples and entries from and to."""
    numbers = chosen_entries(len(entries), choice)
    sources: list[Source] = []
    for first in range(numbers.start, numbers.stop, _GROUP):
        end = min(first + _GROUP, numbers.stop)
        notes: list[str] = []
        signals = Signals(rate_hz, entries[first:end], choice)
        kept = _checked_length(count / rate_hz, signals.filters, name, choice, notes)
        columns = [i * (end - first) + j for i in kept for j in range(end - first)]

        def blocks(signals: Signals = signals, columns: list[int] = columns, of: slice = slice(first, end)) -> Iterator[Block]:
            for at in range(0, count, _SAMPLES):
                ends_s, squares, step_s = signals.push(read(at, min(at + _SAMPLES, count), of))
                yield ends_s, squares[:, columns], step_s

        sources.append(Source(title, "Pa^2", [signals.columns[i] for i in columns], blocks, notes if not sources else []))
    return sources


def _pascal(name: str, stated: str | None, choice: Choice) -> float:
    """Return the pascal of one unit of samples, by the file or else by the option; a unit of pressure that both say is refused."""
    known = PASCAL_PER_UNIT.get(stated or "")
    if known is not None and choice.pascal_per_unit is not None:
        raise usage("levels", f"--pascal-per-unit: expected none, as {name} is in {stated}")
    value = choice.pascal_per_unit if known is None else known
    if value is None:
        raise DataError(f"{name}: expected samples in Pa, found the unit {stated or 'not stated'}; give --pascal-per-unit, the Pa of full scale or of "
                        "the value 1", 65)  # fmt: skip
    return value


def _time_data(file: Any, name: str, choice: Choice, silence_is_missing: bool) -> list[Source]:
    data = file["time_data"]
    if data.ndim != 2 or "sample_freq" not in data.attrs or data.dtype.kind != "f":
        raise DataError(f"{name}: expected time_data of floats [sample, channel] with sample_freq, found {data.dtype} of the shape {data.shape}", 65)
    unit = next((_text(data.attrs, key) for key in ("units", "unit") if key in data.attrs), "Pa")  # Acoular's files say none
    pascal, rate_hz = _pascal(name, unit, choice), float(np.ravel(data.attrs["sample_freq"])[0])

    @functools.cache
    def silent(first: int, end: int) -> Array:
        is_silent = np.ones(end - first, bool)
        for at in range(0, data.shape[1], _GROUP):
            if is_silent.any():
                is_silent &= (data[first:end, at : at + _GROUP] == 0.0).all(axis=1)
        return np.flatnonzero(_long_runs(is_silent))

    def read(first: int, end: int, channels: slice) -> Array:
        values: Array = data[first:end, channels].astype(np.float64) * pascal
        if silence_is_missing:  # a conversion has no other sign of what a recording lacks
            values[silent(first, end)] = np.nan
        return values

    title = f"{name}: time data, {data.shape[0]} samples at {rate_hz:g} Hz of {data.shape[1]} microphones"
    return _signal_sources(name, title, rate_hz, [f"microphone {i}" for i in range(data.shape[1])], read, data.shape[0], choice)


def _long_runs(flags: Array) -> Array:
    """Return where flags are part of a run of at least `_SILENT`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    found = np.zeros(len(flags), bool)
    for first, end in edges.reshape(-1, 2):
        found[first:end] = end - first >= _SILENT
    return found


def _wav(name: str, choice: Choice) -> list[Source]:
    with missing("scipy", "python3-scipy", "levels", "export"):
        from scipy.io import wavfile
    try:
        rate_hz, values = wavfile.read(name)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{name}: expected a WAV file of integers or floats, found another or a damaged one ({_first_line(error)})", 65) from error
    values = values.reshape(len(values), -1)
    pascal = _pascal(name, None, choice)
    middle, full = (128.0, 128.0) if values.dtype.kind == "u" else (0.0, 2.0 ** (8 * values.dtype.itemsize - 1) if values.dtype.kind == "i" else 1.0)

    def read(first: int, end: int, channels: slice) -> Array:
        samples: Array = (values[first:end, channels].astype(np.float64) - middle) * (pascal / full)
        return samples

    title = f"{name}: {values.shape[0]} samples at {rate_hz:g} Hz of {values.shape[1]} channels, {pascal:g} Pa a unit"
    found = _signal_sources(name, title, float(rate_hz), [f"microphone {i}" for i in range(values.shape[1])], read, values.shape[0], choice)
    if values.dtype.kind in "iu":  # floats have no end
        ends, slack = np.iinfo(values.dtype), 255 if values.dtype.itemsize == 4 else 0  # 24 bits come as the upper ones of 32
        chosen = values[:, chosen_entries(values.shape[1], choice)]
        if clipped := int(((chosen >= ends.max - slack) | (chosen <= ends.min + slack)).sum()):
            found[0].notes.append(f"{clipped} samples are at full scale: levels may be too low.")
    return found


# ---- Frames ----


def _frame_sources(name: str, results: Results, choice: Choice) -> list[Source]:
    product: FileProduct = product_of(results.arrays, choice, name)
    step_s, places = places_of(results.samples, results.times_ns)
    absent = int(places[-1]) + 1 - len(places)
    flagged = (np.asarray(results.flags[: results.frames]).astype(np.int64) & _DOUBTFUL) != 0
    title = f"{name}: {results.name}, {product.name} ({product.quantity}), {results.frames} frames"
    notes = [f"{absent} frames are missing between others, and are left out."] if absent else []
    if flagged.any():
        notes.append(f"{int(flagged.sum())} frames carry a flag with which levels are doubtful, and are left out.")
    if is_signal(product):
        return _beam_sources(name, title, product, places, flagged, notes, choice)
    frames = Frames(product, choice)
    if "surface_m" in results.group.file and frames.unit == "W":
        raise DataError(f"{name}: expected pixels of a plane, whose area is known, found those of a surface", 65)
    if step_s == 0.0:
        notes.append("The frames have no times of their own: there are means alone.")

    def blocks() -> Iterator[Block]:
        ends_s = (places + 1.0) * step_s
        for first in range(0, results.frames, _ROWS):
            rows = [np.full(len(frames.columns), np.nan) if flagged[i] else frames.reduce(product.data[i])
                    for i in range(first, min(first + _ROWS, results.frames))]  # fmt: skip
            yield ends_s[first : first + len(rows)], np.array(rows), step_s

    channels = _channels_of(results) if any(axis.name == "microphone" for axis in frames.axes) else []
    columns = [dataclasses.replace(column, place=_with_channel(column.place, channels)) for column in frames.columns]
    return [Source(title, frames.unit, columns, blocks, notes + frames.notes, "frames")]


def _channels_of(results: Results) -> list[str]:
    """Return the file's channels of microphones by `array.channels`; none where these are in order or not known."""
    with contextlib.suppress(NoInputError):  # without PyYAML
        array = results.settings("levels").get("array")
        channels = array.get("channels") if isinstance(array, dict) else None
        return channels if isinstance(channels, list) else []
    return []


def _with_channel(place: str, channels: Sequence[str]) -> str:
    """Return "microphone 3, channel 5 of the file" where the two numbers differ, as ``nearfield inspect`` does."""
    found = re.fullmatch(r"microphone (\d+)", place)
    channel = channels[int(found[1])] if found and int(found[1]) < len(channels) else ""
    return f"{place}, channel {channel} of the file" if found and channel not in ("", found[1]) else place


def _beam_sources(name: str, title: str, product: FileProduct, places: Array, flagged: Array, notes: list[str], choice: Choice) -> list[Source]:
    """Return beams as samples: what is missing between frames, and flagged frames, are no numbers."""
    samples = product.axes[-1].values
    rate_hz = 1.0 / float(np.median(np.diff(samples)))
    firsts = places * len(samples)
    values = np.full((int(firsts[-1]) + len(samples), int(np.prod([len(axis.values) for axis in product.axes[:-1]]))), np.nan)
    for i, first in enumerate(firsts):
        if not flagged[i]:
            values[first : first + len(samples)] = np.asarray(product.data[i], np.float64).reshape(-1, len(samples)).T
    entries = [f"beam {i}" for i in range(values.shape[1])]
    sources = _signal_sources(name, title, rate_hz, entries, lambda first, end, of: values[first:end, of], len(values), choice)
    sources[0].notes = notes + sources[0].notes
    return sources


# ---- Files ----


@contextlib.contextmanager
def sources_of(path: str | os.PathLike[str], choice: Choice) -> Iterator[list[Source]]:
    """Yield what a file gives.

    Raises
    ------
    NearfieldError
        UsageError, NoInputError or DataError, each with what was found and what was expected.
    """
    name = os.fspath(path)
    with contextlib.ExitStack() as stack:
        if _is_recording(name):
            yield _of_recording(name, choice, stack)
            return
        with open(name, "rb") as file:
            head = file.read(12)
        if head[:4] in (b"RIFF", b"RF64", b"RIFX") and head[8:] == b"WAVE":
            yield _wav(name, choice)
            return
        try:
            data = stack.enter_context(h5py.File(name))
        except OSError as error:
            raise DataError(f"{name}: {_EXPECTED}, found another file or a damaged one ({_first_line(error)})", 65) from error
        if "time_data" in data and "format" not in data.attrs:
            yield _time_data(data, name, choice, False)
            return
        if "bitstream" in data or "spectra" in data:
            what = "bits" if "bitstream" in data else "spectra"
            raise DataError(f"{name}: {_EXPECTED}, found {what}; {_OF_BITS}", 65)
        yield _of_results(name, stack.enter_context(opened(name)), choice)


def _of_results(name: str, results: Sequence[Results], choice: Choice) -> list[Source]:
    with_frames = [one for one in results if one.frames]
    if not choice.processor:
        chosen = next((one for one in with_frames if any(map(has_levels, one.arrays))), with_frames[0])
    else:
        named = [one for one in with_frames if one.name == choice.processor]
        if not named:
            raise usage("levels", f"--processor: expected one of {name} with frames, {', '.join(one.name for one in with_frames)}; found {choice.processor}")
        chosen = named[0]
    return _frame_sources(name, chosen, choice)


def _of_recording(name: str, choice: Choice, stack: contextlib.ExitStack) -> list[Source]:
    """Return what a recording's frames give, or its samples where it has no frames."""
    results = None
    try:
        results = stack.enter_context(opened(name, choice.processor))
    except DataError:
        if choice.processor:
            raise
    if results is not None:
        return _of_results(name, results, choice)
    written = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nearfield-"))) / "samples.h5"
    program("convert", "-q", "--what", "bits", "-o", str(written), "--", name)
    data = stack.enter_context(h5py.File(written))
    if "time_data" not in data:
        raise DataError(f"{name}: {_EXPECTED}, found bits; {_OF_BITS}", 65)
    return _time_data(data, name, choice, True)
