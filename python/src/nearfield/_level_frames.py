"""Products of frames as columns of mean squares: which values a frame gives for :mod:`nearfield.sound_levels`, and with which weighting."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nearfield._command import usage
from nearfield._layout import Array, Axis
from nearfield._results import entry_words, with_unit
from nearfield.errors import DataError
from nearfield.weightings import band_of, mean_gain, weighting_db

Block = tuple[Array, Array, float]  # ends of times in s [time], mean squares [time, column], usual step in s or 0

_MAPS = (("y", "x"), ("elevation", "azimuth"))
_COUNTED = ("channel", "microphone", "point", "beam", "sector")
_MOST_COLUMNS = 8192
_FIRST = ("images", "map", "level", "beams", "bands", "points", "sectors")  # products, where none is named


@dataclasses.dataclass(frozen=True)
class Choice:
    """Choice of levels: `weighting` "" is that of the data, or A; `parts` are those of an octave, 0 for no bands; places are in the unit of their axes."""

    weighting: str = ""
    parts: int = 0
    range_hz: tuple[float, float] | None = None
    at: tuple[float, float] | None = None
    region: tuple[float, float, float, float] | None = None
    entry: int | None = None
    processor: str = ""
    product: str = ""
    pascal_per_unit: float | None = None


@dataclasses.dataclass(frozen=True)
class LevelColumn:
    place: str
    of: str  # the frequency or band; empty for all
    weighting: str  # "A", "C" or "Z"


@dataclasses.dataclass
class Source:
    """Columns of mean squares over time; of powers in W, or of intensities in W/m^2, where `unit` says so."""

    title: str
    unit: str
    columns: list[LevelColumn]
    blocks: Callable[[], Iterator[Block]]
    notes: list[str]
    lost_words: str = "cells of 1 ms"


class Frames:
    """Columns that a frame of a product gives: of each plane, and each point or microphone, every frequency or band and their sum."""

    def __init__(self, product: Any, choice: Choice) -> None:
        self.axes: tuple[Axis, ...] = product.axes
        names = tuple(axis.name for axis in self.axes)
        self.is_signed = product.unit == "W/m^2"
        self._is_complex = (product.dtype if hasattr(product, "dtype") else product.data.dtype).kind == "c"
        self.notes: list[str] = []
        self._chosen: list[int] | slice = slice(None)  # bands
        self.unit = product.unit if self.is_signed else "Pa^2"
        self._is_map = names[-2:] in _MAPS
        if not self._is_map and (choice.at or choice.region):
            raise usage("levels", f"{'--at' if choice.at else '--region'}: expected a map, found {product.name} over {', '.join(names)}")
        self._pixels, self.words = _pixels_of(self.axes[-2:], choice) if self._is_map else ((), "")
        if self.is_signed and self._is_map and not choice.at:
            self.unit = "W"
            self._area_m2 = float(np.prod([_spacing(axis) for axis in self.axes[-2:]]))
        others = self.axes[:-2] if self._is_map else self.axes
        self._frequencies = next((i for i, axis in enumerate(others) if axis.name in ("frequency", "band")), None)
        entries = [axis for i, axis in enumerate(others) if i != self._frequencies]
        self._kept = [i for i, index in enumerate(np.ndindex(*(len(axis.values) for axis in entries))) if _is_chosen(entries, index, choice)]
        if not self._kept:
            raise usage("levels", f"--entry: expected a number of {', '.join(axis.name for axis in entries) or 'nothing'}, found {choice.entry}")
        places = [", ".join(f"{axis.name} {with_unit(entry_words(axis, i), axis.unit)}" for axis, i in zip(entries, index, strict=True))
                  for index in np.ndindex(*(len(axis.values) for axis in entries))]  # fmt: skip
        self._gains, of, weighting = self._weighted(None if self._frequencies is None else others[self._frequencies], product.quantity, choice)
        joined = [", ".join(word for word in (self.words, places[i]) if word) for i in self._kept]
        if len(joined) * len(of) > _MOST_COLUMNS:
            found = len(joined) * len(of)
            raise DataError(f"{product.name}: expected at most {_MOST_COLUMNS} levels, found {found}; --entry or another --product has fewer", 65)
        self.columns = [LevelColumn(place or product.name, word, weighting.upper()) for place in joined for word in of]

    def _weighted(self, axis: Axis | None, quantity: str, choice: Choice) -> tuple[Array, list[str], str]:
        """Return the gains and words of frequencies, and the weighting; the sum's words are the last."""
        before = re.search(r"\b([AC])-weighted", quantity)
        has = before[1].lower() if before else "z"
        wanted = choice.weighting or (has if before or axis is None else "a")
        if before and wanted != has:
            raise DataError(f"--weighting: expected {has}, as the data are {has.upper()}-weighted, found {wanted}", 65)
        if axis is None:
            if wanted != has:
                raise DataError(f"--weighting: expected {has}, as levels without frequencies cannot be weighted, found {wanted}", 65)
            return np.ones(1), [""], wanted
        applied = "z" if before else wanted
        self.notes += [f"The data are {has.upper()}-weighted already."] if before else []
        if axis.name == "frequency":
            gains = 10.0 ** (weighting_db(applied, axis.values) / 10.0)
            of = [f"{value:.6g} Hz" for value in axis.values]
            if len(of) > 1:
                self.notes.append("The sum is that of these frequencies: of tones, not of noise between them.")
        else:
            found = [band_of(low, high) for low, high in axis.values]
            least, most = choice.range_hz or (0.0, np.inf)
            if choice.parts:
                self._chosen = [i for i, band in enumerate(found) if band and band.parts == choice.parts and least <= band.nominal_hz <= most]
            if self._chosen == []:
                raise DataError(f"--bands: expected {'octaves' if choice.parts == 1 else 'third octaves'} of the range, found other bands in the data", 65)
            values = axis.values[self._chosen]
            gains = np.array([mean_gain(applied, low, high) for low, high in values])
            of = [band.words if (band := band_of(low, high)) else f"{low:.6g} to {high:.6g} Hz" for low, high in values]
            limits = values[np.argsort(values[:, 0])]
            if (limits[1:, 0] < limits[:-1, 1] * (1.0 - 1e-6)).any():
                self.notes.append("Bands overlap: there is no sum.")
                return gains, of, wanted
        return gains, [*of, "sum"] if len(of) > 1 else of, wanted

    def reduce(self, values: Array) -> Array:
        """Return a frame's mean squares or powers, [column]; NaN where a value is missing."""
        if self.is_signed:
            squares = values.real.astype(np.float64)
        else:
            squares = np.abs(values.astype(np.complex128)) ** 2 / 2.0 if self._is_complex else values.astype(np.float64)
        if self._is_map:
            chosen = squares[..., self._pixels[0], self._pixels[1]].reshape(*squares.shape[:-2], -1)
            finite = np.isfinite(chosen)
            total, count = np.where(finite, chosen, 0.0).sum(axis=-1), finite.sum(axis=-1)
            squares = np.where(count > 0, total * self._area_m2 if self.unit == "W" else total / np.maximum(count, 1), np.nan)
        squares = squares[..., np.newaxis] if self._frequencies is None else np.moveaxis(squares, self._frequencies, -1)[..., self._chosen]
        squares = squares.reshape(-1, len(self._gains))[self._kept] * self._gains
        summed = len(self.columns) > squares.size
        return np.concatenate([squares, squares.sum(axis=1, keepdims=True)], axis=1).ravel() if summed else squares.ravel()


def _is_chosen(entries: Sequence[Axis], index: tuple[int, ...], choice: Choice) -> bool:
    counted = [i for axis, i in zip(entries, index, strict=True) if axis.name in _COUNTED]
    return choice.entry is None or counted == [choice.entry]


def _spacing(axis: Axis) -> float:
    steps = np.abs(np.diff(axis.values))
    if not len(steps) or axis.unit != "m" or not np.allclose(steps, steps[0], rtol=1e-3):
        raise DataError(f"{axis.name}: expected at least two pixels at equal distances in m, which say their area, found {len(axis.values)} in {axis.unit}", 65)
    return float(steps[0])


def _pixels_of(axes: Sequence[Axis], choice: Choice) -> tuple[tuple[Any, ...], str]:
    """Return the rows and columns of the pixels that are meant, and their words."""
    down, across = axes
    if choice.at:
        found, words = [], []
        for axis, value in ((across, choice.at[0]), (down, choice.at[1])):
            i = int(np.argmin(abs(axis.values - value)))
            half = 0.5 * float(np.abs(np.diff(axis.values)).max(initial=0.0)) * (1.0 + 1e-6)
            if abs(axis.values[i] - value) > half:
                raise usage("levels", f"--at: expected {axis.name} from {axis.values.min():.6g} to {axis.values.max():.6g} {axis.unit}, found {value:g}")
            found.append([i])
            words.append(f"{axis.name} {axis.values[i]:.4g} {axis.unit}")
        return np.ix_(found[1], found[0]), f"at {', '.join(words)}"
    if not choice.region:
        return np.ix_(range(len(down.values)), range(len(across.values))), f"all {len(down.values) * len(across.values)} pixels"
    inside = []
    for axis, (first, last) in ((across, choice.region[:2]), (down, choice.region[2:])):
        low, high = sorted((first, last))
        half = 0.5 * float(np.abs(np.diff(axis.values)).max(initial=0.0)) * (1.0 + 1e-6)
        if low < axis.values.min() - half or high > axis.values.max() + half:
            raise usage("levels", f"--region: expected {axis.name} within {axis.values.min():.6g} to {axis.values.max():.6g} {axis.unit}, "
                                  f"found {low:g} to {high:g}")  # fmt: skip
        inside.append(np.flatnonzero((axis.values >= low - 1e-9) & (axis.values <= high + 1e-9)))
        if not len(inside[-1]):
            raise usage("levels", f"--region: expected pixels in it, found none for {axis.name} from {low:g} to {high:g} {axis.unit}")
    return np.ix_(inside[1], inside[0]), f"{len(inside[0]) * len(inside[1])} pixels of the region"


def is_signal(product: Any) -> bool:
    return bool(product.axes) and product.axes[-1].name == "sample" and product.unit == "Pa"


def has_levels(product: Any) -> bool:
    """Return whether a product is pressures or intensities: real Pa without samples are peaks or offsets."""
    kind = (product.dtype if hasattr(product, "dtype") else product.data.dtype).kind
    return is_signal(product) or product.unit in ("Pa^2", "W/m^2") or (product.unit == "Pa" and kind == "c")


def product_of(products: Sequence[Any], choice: Choice, name: str) -> Any:
    """Return the product of a name, or the first with levels, of bands where these are wanted."""
    found = [one for one in products if has_levels(one) and (not choice.parts or is_signal(one) or any(axis.name == "band" for axis in one.axes))]
    found.sort(key=lambda one: _FIRST.index(one.name) if one.name in _FIRST else len(_FIRST))
    if choice.product:
        found = [one for one in found if one.name == choice.product]
    if not found:
        what = f"bands{f' in {choice.product}' if choice.product else ''}" if choice.parts else choice.product or "pressures or intensities"
        more = "; front_end.bands_hz or third_octave makes bands of images, which single frequencies have not" if choice.parts else ""
        raise DataError(f"{name}: expected {what} with levels, found {', '.join(one.name for one in products) or 'no products'}{more}", 65)
    return found[0]


def places_of(samples: Array, times_ns: Array) -> tuple[float, Array]:
    """Return the mean step in s, 0 where there are no times, and the place of each frame in steps from the first.

    Places are those of first samples: times are of receipt, and all frames of a packet have the same. A stream that restarts goes on.
    """
    if len(samples) < 2:
        return 0.0, np.zeros(len(samples), np.int64)
    steps = np.diff(samples.astype(np.int64))
    is_ascending = steps > 0 if (steps > 0).any() else np.ones(len(steps), bool)
    whole = np.where(is_ascending, np.maximum(np.rint(steps / max(int(steps[is_ascending].min()), 1)), 1), 1).astype(np.int64)
    span_s = float(np.diff(times_ns.astype(np.int64))[is_ascending].sum()) / 1e9
    return max(span_s / float(whole[is_ascending].sum()), 0.0), np.concatenate([[0], np.cumsum(whole)])
