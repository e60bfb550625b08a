"""A run's results, of an images file or of a recording, and what the file says of the run beside them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from nearfield._layout import Array, Axis
from nearfield._program import run
from nearfield._results import Results, _text
from nearfield.errors import DataError, NearfieldError, NoInputError, error_of

Path = str | os.PathLike[str]

_MAGIC = b"NFR1"  # first bytes of a recording
_EXPECTED = "expected images (.h5) or a recording (.nfr) with images"


@contextlib.contextmanager
def opened(path: Path, processor: str = "") -> Iterator[list[Results]]:
    """Yield the results of each processor; a recording's are converted by ``nearfield convert`` first, of `processor` or else of the first with some.

    Raises
    ------
    NoInputError
        Where there is no such file, or it cannot be read.
    DataError
        Where it holds no results, with what it holds.
    """
    name = os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
        source = _converted(name, pathlib.Path(folder), processor) if _is_recording(name) else name
        try:
            file = h5py.File(source)
        except OSError as error:
            raise DataError(f"{name}: {_EXPECTED}, found another file or a damaged one ({_first_line(error)})", 65) from error
        with file:
            try:
                yield _results_in(file, name)
            except OSError as error:
                if isinstance(error, NearfieldError):
                    raise
                raise _damaged(name, error) from error


def _is_recording(name: str) -> bool:
    if os.path.isdir(name):
        raise DataError(f"{name}: {_EXPECTED}, found a folder", 65)
    try:
        with open(name, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise NoInputError(f"{name}: {(error.strerror or str(error)).lower()}", 66) from error


def program(*words: str) -> str:
    """Run the program ``nearfield`` and return what it printed; its errors are this command's own."""
    try:
        return run(*words)
    except NearfieldError as error:
        raise error_of(error.message.removeprefix("nearfield: error: "), error.exit_code) from error


def _converted(name: str, folder: pathlib.Path, processor: str) -> str:
    written = str(folder / "images.h5")
    try:
        program("convert", "-q", "--what", "images", "-o", written, *([f"--processor={processor}"] if processor else []), "--", name)
    except DataError as error:
        raise DataError(f"{error.message}; nearfield replay makes images of bits, nearfield convert --epoch chooses among images", 65) from error
    return written


def _damaged(name: str, error: BaseException) -> DataError:
    return DataError(f"{name}: expected a whole images file, found a damaged one ({_first_line(error)})", 65)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _results_in(file: Any, name: str) -> list[Results]:
    kind = _text(file.attrs, "format").removeprefix("nearfield-")
    if kind != "images" and (kind or not {"images", "points"} & set(file)):
        found = kind or ("time data" if "time_data" in file else "a file without results")
        raise DataError(f"{name}: {_EXPECTED}, found {found}; nearfield replay makes images of what was recorded", 65)
    try:
        results = Results.all_of(file)
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(name, error) from error
    if not any(one.frames for one in results):
        raise DataError(f"{name}: expected frames, found none", 65)
    return results


def attribute_of(results: Results, name: str) -> str:
    """Return a text that the file has of a processor, or else of all; an empty one where there is none."""
    return _text(results.group.attrs, name) or _text(results.group.file.attrs, name)


# ---- Microphones ----


@dataclasses.dataclass(frozen=True)
class Microphones:
    """The microphones of a processor: how many its frames used, which were masked, and where they are."""

    count: int | None  # number that it could use; None where the file does not say it
    used: tuple[int, int] | None  # numbers whose own values were used, in the frames with fewest and with most
    dead: tuple[int, ...]  # masked from the start: by the settings, or without a gain
    found: tuple[int, ...]  # masked in some frame because they were found bad
    missing_share: float  # largest share of an image's information that is missing with them; NaN where the file does not say it
    channels: tuple[int, ...]  # a subset's; none where there is no subset
    places_m: Array | None  # [channel, 3]; None where the file does not say them

    def state_of(self, channel: int) -> str:
        if channel in self.dead:
            return "masked from the start"
        if channel in self.found:
            return "found bad and masked"
        return "not in the subset" if self.channels and channel not in self.channels else "used"

    def words(self) -> str:
        """Return "62 of 64 used", as ``nearfield inspect`` does."""
        if self.count is None or self.used is None:
            return "not said by the file"
        fewest, most = self.used
        return f"{most} of {self.count} used" if fewest == most else f"{fewest} to {most} of {self.count} used"


def microphones_of(results: Results) -> Microphones:
    group, frames = results.group, results.frames
    valid = group["valid_microphones"][:frames] if "valid_microphones" in group else np.zeros(0, np.uint32)
    lost = group["missing_information"][:frames] if "missing_information" in group else np.zeros(0)
    return Microphones(
        count=int(group.attrs["microphones"]) if "microphones" in group.attrs else None,
        used=(int(valid.min()), int(valid.max())) if len(valid) else None,
        dead=_channels(group, "masked_microphones"),
        found=_channels(group, "found_bad_microphones"),
        missing_share=float(lost.max()) if len(lost) else float("nan"),
        channels=tuple(int(channel) for channel in group["channel"][()].ravel()) if "channel" in group else (),
        places_m=_places_of(results),
    )


def _channels(group: Any, name: str) -> tuple[int, ...]:
    words = [word for word in _text(group.attrs, name).split(",") if word]
    if not all(word.isdecimal() for word in words):
        raise DataError(f"{group.file.filename}: {name}: expected microphones' numbers, found {','.join(words)[:60]}", 65)
    return tuple(map(int, words))


def _places_of(results: Results) -> Array | None:
    """Return the places that the file has one by one, else those of the grid that its settings describe: channel row * columns + column."""
    for group in (results.group, results.group.file):
        for name in ("microphone_m", "microphone"):
            if name in group and group[name].ndim == 2:
                places: Array = np.zeros((len(group[name]), 3))
                places[:, : group[name].shape[1]] = group[name][()]
                return places
    with contextlib.suppress(KeyError, TypeError, ValueError):  # the settings of an irregular array have no rows
        array = results.settings("summary")["array"]
        x_m, y_m = ((np.arange(int(array[count])) - (int(array[count]) - 1) / 2.0) * float(array[pitch])
                    for count, pitch in (("columns", "pitch_x_m"), ("rows", "pitch_y_m")))  # fmt: skip
        y, x = np.meshgrid(y_m, x_m, indexing="ij")
        return np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=-1)
    return None


# ---- Frames ----


@dataclasses.dataclass(frozen=True)
class Flag:
    number: int
    words: str
    frames: int  # number of frames that carry it


def flags_of(results: Results) -> list[Flag]:
    """Return the flags that some frames carry."""
    attrs = results.flags.attrs
    values = results.flags[: results.frames].astype(np.int64)
    words = dict(zip((int(mask) for mask in np.atleast_1d(attrs.get("flag_masks", []))), _text(attrs, "flag_meanings").split(), strict=False))
    counts = [(1 << bit, int(np.count_nonzero(values & (1 << bit)))) for bit in range(32)]
    return [Flag(mask, words.get(mask, "not described by the file").replace("_", " "), count) for mask, count in counts if count]


def missing_bits_of(results: Results) -> Array:
    """Return the bit-times of each frame's window that never came, [frame]."""
    return np.asarray(results.group["missing_bits"][: results.frames]) if "missing_bits" in results.group else np.zeros(results.frames, np.uint64)


def figure_of(results: Results, name: str) -> tuple[tuple[Axis, ...], Array] | None:
    """Return the axes and the values [frame, entry, ...] of a figure, such as `error_estimate`; None where the processor has none."""
    data = results.group.get(name)
    if data is None or "axes" not in data.attrs:
        return None
    axes = tuple(results.axis(axis) for axis in _text(data.attrs, "axes").split(",") if axis)
    return axes, np.asarray(data[: results.frames], np.float64)
