"""Levels of a run: averages of its maps over the frames, and the difference of two runs, for ``nearfield summary`` and ``nearfield compare --before``.

An average is that of powers: of squared magnitudes, or of values that are powers or mean squares themselves. It does not depend on how many
frames there are, so that runs of any length can be compared.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nearfield._layout import Array, Axis
from nearfield._results import FileProduct, Results, entry_words, with_unit
from nearfield._runs import attribute_of, figure_of
from nearfield.errors import DataError, UsageError

Path = str | os.PathLike[str]

AVERAGES = ("energetic", "median")
WITHIN_DB = 10.0  # below the largest level of either run: where a change is looked for
POWER_REFERENCE_W = 1e-12
# Axes that differ by less are the same, as `nearfield compare` has it.
SAME_FREQUENCY_HZ = 0.5
SAME_POSITION_M = 1e-6

_PLACES = (("y", "x"), ("elevation", "azimuth"), ("point",))
_UNITS = ("Pa", "Pa^2", "W/m^2", "m^2", "(m/s)^2", "1", "")
_OF_COMPLEX = ("m/s", "m")
_FIGURES = ("radiated_power_w", "error_estimate")
_OF_SURFACES = ("surface_m", "normal")


# ---- One run ----


@dataclasses.dataclass(frozen=True)
class Spot:
    """A place of a map and the level there."""

    index: tuple[int, ...]
    level_db: float
    words: str  # "x 0.03 m, y −0.01 m"


@dataclasses.dataclass(frozen=True)
class Map:
    """One map of a run, of one frequency or band on one plane, averaged over the frames.

    Attributes
    ----------
    powers : array, [row, column] or [point]
        In the unit of squares, or of the product itself where that is a power; NaN where no frame has a number. Intensities keep their sign.
    """

    averages: Averages
    entries: tuple[int, ...]  # indices of the axes before those of places
    powers: Array

    @property
    def levels_db(self) -> Array:
        """Levels of magnitudes; NaN where there is no number, and where the value is 0."""
        return self.averages.level_db(self.powers)

    @property
    def words(self) -> str:
        """Return "1007.08 Hz, z 0 m"."""
        return ", ".join(_entry(axis, i) for axis, i in zip(self.averages.further, self.entries, strict=True)) or "the whole"

    @property
    def mean_db(self) -> float:
        """Level of the mean over the places."""
        finite = self.powers[np.isfinite(self.powers)]
        return float(self.averages.level_db(np.asarray(finite.mean()))) if len(finite) else math.nan

    @property
    def largest(self) -> Spot | None:
        return spot_of(self, self.levels_db)

    def power_w(self) -> float:
        """Return the radiated power, the mean over the frames; NaN where the file has none."""
        return self.averages.figure("radiated_power_w", self.entries, np.nanmean)


@dataclasses.dataclass(frozen=True)
class Averages:
    """Averages of one product over a run's frames.

    Attributes
    ----------
    powers, counts : array, [entry of a further axis, ..., place, ...]
        The averages, and of how many frames: those whose value is finite.
    figures : dict
        Axes and values [frame, entry, ...] of the processor's figures that belong to maps, by their names.
    surface : dict
        The places and normals of a surface that is no plane, [pixel, 3], by their datasets' names.
    """

    processor: str
    kind: str
    product: FileProduct
    average: str
    frames: int
    powers: Array
    counts: Array
    reference: float  # power of 0 dB
    unit: str  # unit of levels, such as "dB re 20 µPa"
    figures: dict[str, tuple[tuple[Axis, ...], Array]]
    surface: dict[str, Array]

    @property
    def places(self) -> tuple[Axis, ...]:
        """Axes of places, rows before columns."""
        return self.product.axes[-_place_axes(self.product) :]

    @property
    def further(self) -> tuple[Axis, ...]:
        return self.product.axes[: -_place_axes(self.product)]

    def level_db(self, powers: Array) -> Array:
        with np.errstate(divide="ignore"):
            levels: Array = 10.0 * np.log10(np.abs(powers) / self.reference)
        return np.where(np.isfinite(levels), levels, np.nan)

    @property
    def has_signs(self) -> bool:
        return self.product.unit == "W/m^2"

    def maps(self) -> Iterator[Map]:
        for entries in np.ndindex(*(len(axis.values) for axis in self.further)):
            yield Map(self, tuple(int(i) for i in entries), self.powers[entries])

    def figure(self, name: str, entries: Sequence[int], reduce: Callable[[Array], Any]) -> float:
        """Return a figure of the run, such as the radiated power, at entries of the further axes, reduced over the frames; NaN where there is none."""
        found = self.figures.get(name)
        chosen = dict(zip((axis.name for axis in self.further), entries, strict=True))
        if found is None or not {axis.name for axis in found[0]} <= chosen.keys():
            return math.nan
        values = np.moveaxis(found[1], 0, -1)[tuple(chosen[axis.name] for axis in found[0])]
        return float(reduce(values)) if np.isfinite(values).any() else math.nan


def _place_axes(product: FileProduct) -> int:
    """Return how many of the last axes are places; 0 where the product is no map of levels."""
    names = tuple(axis.name for axis in product.axes)
    return next((len(places) for places in _PLACES if names[-len(places) :] == places), 0)


def _has_levels(product: FileProduct) -> bool:
    return product.unit in _UNITS or (product.is_complex and product.unit in _OF_COMPLEX)


def maps_of(results: Results) -> list[FileProduct]:
    """Return a processor's products that have levels over places, its images or map first."""
    found = [product for product in results.arrays if _place_axes(product) and _has_levels(product)]
    return sorted(found, key=lambda product: product.name not in ("images", "map"))


def processor_of(all_results: Sequence[Results], name: str, path: Path) -> Results:
    """Return the processor of a name, or the first with maps and frames.

    Raises
    ------
    UsageError
        Where there is no such processor, or it has no maps.
    DataError
        Where none has any.
    """
    with_maps = [one for one in all_results if one.frames and maps_of(one)]
    if not with_maps:
        raise DataError(f"{os.fspath(path)}: expected levels over x and y, over azimuth and elevation, or at points, found none in the results of "
                        f"{', '.join(one.name for one in all_results)}", 65)  # fmt: skip
    if not name:
        return with_maps[0]
    for one in with_maps:
        if one.name == name:
            return one
    raise UsageError(f"--processor: expected one of {os.fspath(path)} with maps, {', '.join(one.name for one in with_maps)}; found {name}", 64)


def averages_of(results: Results, product: FileProduct, average: str = "energetic") -> Averages:
    """Return the average of each value over the frames where it is finite.

    Parameters
    ----------
    average : {"energetic", "median"}
        The mean or the median of powers.
    """
    if average not in AVERAGES:
        raise UsageError(f"--average: expected {' or '.join(AVERAGES)}, found {average}", 64)
    expected = (results.frames, *(len(axis.values) for axis in product.axes))
    shape = product.data.shape[1:]
    if product.data.shape[:1] < expected[:1] or shape != expected[1:]:
        raise DataError(f"{results.group.file.filename}: {product.name}: expected {expected} values by its axes, found {product.data.shape}", 65)
    counts = np.zeros(shape, np.int64)
    if average == "median":
        powers = np.full(shape, np.nan)
        for entry in np.ndindex(*shape[: -_place_axes(product)]):
            of_entry = _powers(product, product.data[(slice(0, results.frames), *entry)])
            counts[entry] = np.isfinite(of_entry).sum(axis=0)
            with warnings.catch_warnings(action="ignore"):  # NumPy warns where no frame has a number
                powers[entry] = np.nanmedian(of_entry, axis=0)
    else:
        sums = np.zeros(shape)
        for frame in range(results.frames):
            of_frame = _powers(product, product.data[frame])
            finite = np.isfinite(of_frame)
            counts += finite
            sums += np.where(finite, of_frame, 0.0)
        powers = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    per_decade, reference, unit = product.level_rule()
    figures = {name: figure for name in _FIGURES if (figure := figure_of(results, name)) is not None}
    surface = {name: results.group.file[name][()] for name in _OF_SURFACES if name in results.group.file}
    return Averages(results.name, attribute_of(results, "kind"), product, average, results.frames, powers, counts,
                    reference**2 if per_decade == 20.0 else reference, unit, figures, surface)  # fmt: skip


def _powers(product: FileProduct, values: Array) -> Array:
    """Return what averages are made of; NaN where a value is not finite. Intensities are real, stored as complex numbers."""
    if product.level_rule()[0] == 20.0:
        powers: Array = np.abs(values.astype(np.complex128)) ** 2
    else:
        powers = values.real.astype(np.float64)
    return np.where(np.isfinite(powers), powers, np.nan)


def spot_of(one: Map, levels_db: Array) -> Spot | None:
    """Return the place of the largest of some levels of a map; None where there is no level."""
    if np.isnan(levels_db).all():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.nanargmax(levels_db)), levels_db.shape))
    return Spot(index, float(levels_db[index]), place_words(one.averages, index))


def place_words(averages: Averages, index: Sequence[int]) -> str:
    """Return "x 0.03 m, y −0.01 m"."""
    if averages.places[-1].name == "point":
        values = np.atleast_1d(averages.places[-1].values[index[-1]])
        return ", ".join(f"{name} {_metres(value, 4)} m" for name, value in zip("xyz", values, strict=False))
    return ", ".join(_entry(axis, i, decimals=4) for axis, i in zip(averages.places[::-1], index[::-1], strict=True))


def _metres(value_m: float, decimals: int) -> str:
    return f"{round(value_m, decimals) + 0.0:.6g}".replace("-", "−")


def _entry(axis: Axis, i: int, decimals: int = 6) -> str:
    """Return "1007.08 Hz", "400 to 600 Hz" or "z 0 m"."""
    if axis.unit == "m" and axis.values.ndim == 1:
        return f"{axis.name} {_metres(axis.values[i], decimals)} m"
    words = with_unit(entry_words(axis, i), axis.unit)
    return words if axis.name in ("frequency", "band") else f"{axis.name} {words}"


# ---- Two runs ----


@dataclasses.dataclass(frozen=True)
class Difference:
    """One map before and after a change: levels of the averages, and after less before."""

    before: Map
    after: Map

    @functools.cached_property
    def change_db(self) -> Array:
        """Changes of places, [row, column] or [point]; NaN where one of both has no level, or where the directions of their intensities differ."""
        change: Array = self.after.levels_db - self.before.levels_db
        turned = self.before.averages.has_signs & (np.sign(self.before.powers) * np.sign(self.after.powers) < 0.0)
        return np.where(turned, np.nan, change)

    @functools.cached_property
    def means_db(self) -> tuple[float, float]:
        """Levels of the means over the places that have a number in both runs, before and after."""
        both = np.isfinite(self.before.powers) & np.isfinite(self.after.powers)
        if not both.any():
            return math.nan, math.nan
        means = [one.powers[both].mean() for one in (self.before, self.after)]
        before, after = (float(one.averages.level_db(np.asarray(mean))) for one, mean in zip((self.before, self.after), means, strict=True))
        return before, after

    @property
    def mean_db(self) -> float:
        """Change of the mean over the places; NaN where the mean intensity has turned round."""
        both = np.isfinite(self.before.powers) & np.isfinite(self.after.powers)
        has_turned = self.before.averages.has_signs and self.before.powers[both].sum() * self.after.powers[both].sum() < 0.0
        return math.nan if has_turned else self.means_db[1] - self.means_db[0]

    @property
    def at_loudest_db(self) -> float:
        """Change at the place that was the loudest before."""
        loudest = self.before.largest
        return math.nan if loudest is None else float(self.change_db[loudest.index])

    def strong(self, within_db: float = WITHIN_DB) -> Array:
        """Return where either run is at most so far below the largest level of both, [row, column] or [point]."""
        either: Array = np.fmax(self.before.levels_db, self.after.levels_db)
        return either >= (np.nanmax(either) if np.isfinite(either).any() else np.nan) - within_db

    def most(self, sign: int) -> Spot | None:
        """Return where the level fell most (-1) or rose most (1), among the strong places; None where it did so nowhere."""
        found = spot_of(self.before, np.where(self.strong(), sign * self.change_db, np.nan))
        return None if found is None or not found.level_db > 0.0 else dataclasses.replace(found, level_db=sign * found.level_db)


def compared(before: Sequence[Averages], after: Sequence[Averages], names: tuple[str, str]) -> list[list[Difference]]:
    """Return the differences of each product that two runs have, of which the first has to be in both.

    Raises
    ------
    DataError
        Where both are not of one processor, or as of :func:`differences`.
    """
    _require_same(names, "processor", before[0].processor, after[0].processor)
    found = {one.product.name: one for one in after}
    first = before[0].product.name
    if first not in found:
        _require_same(names, "product", first, ", ".join(found))
    return [differences(one, found[one.product.name], names) for one in before if one.product.name in found]


def differences(before: Averages, after: Averages, names: tuple[str, str]) -> list[Difference]:
    """Return the differences of all maps of two runs, whatever the number of their frames.

    Raises
    ------
    DataError
        Where both are not of one quantity on the same axes, with the first thing that differs.
    """
    _require_same(names, "quantity", f"{before.product.quantity} in {before.product.unit}", f"{after.product.quantity} in {after.product.unit}")
    _require_same(names, "axes", ", ".join(axis.name for axis in before.product.axes), ", ".join(axis.name for axis in after.product.axes))
    for a, b in zip(before.product.axes, after.product.axes, strict=True):
        _require_same_axis(names, a, b)
    for name in _OF_SURFACES:
        _require_same_axis(names, *(Axis(name, "m", one.surface.get(name, np.zeros((0, 3)))) for one in (before, after)))
    return [Difference(a, b) for a, b in zip(before.maps(), after.maps(), strict=True)]


def _require_same(names: tuple[str, str], what: str, expected: str, found: str) -> None:
    if expected != found:
        raise DataError(f"{names[1]}: {what}: expected {expected} as in {names[0]}, found {found}; nearfield replay --config-of {names[0]} "
                        "makes what can be compared", 65)  # fmt: skip


def _require_same_axis(names: tuple[str, str], a: Axis, b: Axis) -> None:
    unit = "" if a.unit == "1" else f" {a.unit}"
    if a.values.shape != b.values.shape:
        _require_same(names, a.name, _span(a), _span(b))
        _require_same(names, a.name, f"entries of the shape {a.values.shape}", f"{b.values.shape}")
    tolerance = {"Hz": SAME_FREQUENCY_HZ, "m": SAME_POSITION_M}.get(a.unit, 1e-9 * max(1.0, float(np.abs(a.values).max(initial=0.0))))
    apart = np.argwhere(~(np.abs(a.values - b.values) <= tolerance) & ~(np.isnan(a.values) & np.isnan(b.values)))
    if len(apart):
        at = tuple(int(i) for i in apart[0])
        _require_same(names, f"{a.name}[{at[0]}]", f"{a.values[at]:.9g}{unit}", f"{b.values[at]:.9g}{unit}")


def _span(axis: Axis) -> str:
    count = len(axis.values)
    ends = f", {np.min(axis.values):.6g} to {np.max(axis.values):.6g}{'' if axis.unit == '1' else f' {axis.unit}'}" if count else ""
    return f"{count} {'entry' if count == 1 else 'entries'}{ends}"
