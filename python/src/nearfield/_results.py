"""Results in an images file, frame by frame, as pictures of them want them."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nearfield._layout import Array, Axis
from nearfield.accessor import _REFERENCES
from nearfield.errors import NoInputError

_FIRST_DATE_NS = 315_360_000 * 10**9  # simulated captures begin at 0


@dataclasses.dataclass(frozen=True)
class FileProduct:
    data: Any  # a dataset [frame, entry, ...], or a table's group
    name: str
    quantity: str
    unit: str
    axes: tuple[Axis, ...]  # none of a table

    @property
    def is_complex(self) -> bool:
        return bool(self.data.dtype.kind == "c")

    @property
    def is_length(self) -> bool:
        """True if values are lengths, which are no amplitudes."""
        return self.unit == "m" and not self.is_complex

    def values(self, frame: int) -> Array:
        """Return a frame's values, magnitudes of complex ones, in float64."""
        values = self.data[frame]
        magnitudes: Array = np.abs(values.astype(np.complex128)) if self.is_complex else values.astype(np.float64)
        return magnitudes

    def level_rule(self) -> tuple[float, float, str]:
        """Return dB a decade, the reference in the product's unit, and the unit of levels, as src/core/product.cpp has them."""
        unit = "" if self.unit == "1" else self.unit
        if unit in ("Pa", "Pa^2", "W/m^2") or (self.is_complex and unit in ("m/s", "m")):
            reference, per_decade, words = _REFERENCES[unit]
            return per_decade, reference * (math.sqrt(2.0) if per_decade == 20.0 else 1.0), "dB re " + words.replace("uPa", "µPa").replace("^2", "²")
        is_square = len(unit) > 2 and unit.endswith("^2") and ("/" not in unit or (unit[0] == "(" and unit.find(")") + 3 == len(unit)))
        return 10.0 if (unit in ("", "W") or is_square) and not self.is_complex else 20.0, 1.0, f"dB re 1 {unit}".strip()


@dataclasses.dataclass(frozen=True)
class Results:
    name: str
    config: str
    arrays: tuple[FileProduct, ...]
    sources: FileProduct | None  # the table
    times_ns: Array  # [frame]
    samples: Array
    flags: Any
    group: Any  # the processor's own in the file
    axis_datasets: dict[str, str]  # names of datasets by the names of axes

    @classmethod
    def all_of(cls, file: Any) -> list[Results]:
        first = _text(file.attrs, "processor", "surface")
        names = _text(file.attrs, "processors", first).split(",")
        return [cls._of(file if i == 0 else file[name], name) for i, name in enumerate(names)]

    @classmethod
    def _of(cls, group: Any, name: str) -> Results:
        axes = {"z": "planes_m", "frequency": "frequencies_hz", "y": "y_m", "x": "x_m"}  # datasets of files without descriptions
        if "axis_datasets" in group.attrs:
            datasets = _text(group.attrs, "axis_datasets").split(",")
            axes = {_text(group[data].attrs, "axis", next((k for k, v in axes.items() if v == data), data)): data for data in datasets}
        arrays, sources = [], None
        for product in _text(group.attrs, "products", "images").split(","):
            data = group.get(product)
            if data is None or ("form" not in data.attrs and product != "images"):
                continue
            known = {"form": "array", "axes": "z,frequency,y,x", **{key: _text(group.attrs, key) for key in ("quantity", "unit")}}
            known |= {key: _text(data.attrs, key) for key in ("form", "axes", "quantity", "unit") if key in data.attrs}
            if known["form"] == "table" and product == "sources":
                sources = FileProduct(data, product, known["quantity"], _text(data["x"].attrs, "unit"), ())
            elif known["form"] == "array" and known["axes"]:
                of = tuple(_axis_of(group, axis, axes) for axis in known["axes"].split(","))
                arrays.append(FileProduct(data, product, known["quantity"], known["unit"], of))
        count = min(len(group["timestamp_ns"]), int(group["frames_written"][()]) if "frames_written" in group else sys.maxsize)
        return cls(name, _text(group.attrs, "config"), tuple(arrays), sources, group["timestamp_ns"][:count], group["first_sample"][:count],
                   group["flags"], group, axes)  # fmt: skip

    @property
    def frames(self) -> int:
        return len(self.times_ns)

    def axis(self, name: str) -> Axis:
        return _axis_of(self.group, name, self.axis_datasets)

    def settings(self, command: str = "pictures") -> dict[str, Any]:
        """Return the run's settings as nested texts, as its YAML has them; none where it is none."""
        with missing("yaml", "python3-yaml", command):
            import yaml
        with contextlib.suppress(yaml.YAMLError):
            found = yaml.load(self.config, yaml.BaseLoader)
            return found if isinstance(found, dict) else {}
        return {}

    @functools.cached_property
    def standoff_m(self) -> float:
        """The place of the array's plane on the axes of images; 0 where the settings do not say it."""
        with missing("yaml", "python3-yaml"):
            import yaml
        with contextlib.suppress(yaml.YAMLError, TypeError, ValueError, AttributeError, KeyError):
            return float(yaml.safe_load(self.config)["holography"]["standoff_m"])
        return 0.0

    def times(self) -> tuple[Array, str, str]:
        """Return seconds from the first frame to each, or their numbers where they have no times; the axis's name and unit."""
        if self.frames == 0 or self.times_ns[-1] == self.times_ns[0]:
            return np.arange(self.frames, dtype=np.float64), "frame", "1"
        return (self.times_ns - self.times_ns[0]) / 1e9, "time", "s"

    def found(self, frame: int) -> dict[str, Array]:
        """Return the columns of a frame's sources, in float64."""
        assert self.sources is not None
        rows = int(self.sources.data["rows"][frame])
        return {name: self.sources.data[name][frame, :rows].astype(np.float64) for name in ("id", "state", "x", "y", "z", "confidence", "level_db")}

    def words_of(self, frame: int) -> str:
        stamp = int(self.times_ns[frame])
        date = datetime.datetime.fromtimestamp(stamp // 10**9, datetime.timezone.utc)
        time = f"t = {stamp / 1e9:.6f} s" if stamp < _FIRST_DATE_NS else f"{date:%F %T}.{stamp % 10**9 // 1000:06} TAI"
        return f"frame {frame}   first sample {self.samples[frame]}   {time}"

    def notes_of(self, frame: int) -> list[str]:
        bits, attrs = int(self.flags[frame]), self.flags.attrs
        meanings = zip(np.atleast_1d(attrs.get("flag_masks", [])), _text(attrs, "flag_meanings").split(), strict=False)
        words = ", ".join(meaning.replace("_", " ") for mask, meaning in meanings if bits & int(mask))
        return [f"Frame: {words or hex(bits)}."] if bits else []


def _axis_of(group: Any, name: str, datasets: dict[str, str]) -> Axis:
    data = group[datasets[name]]
    return Axis(name, _text(data.attrs, "unit", "Hz" if name == "frequency" else "m"), data[()])


def _text(attrs: Any, name: str, otherwise: str = "") -> str:
    value = attrs.get(name, otherwise)
    return value.decode() if isinstance(value, bytes) else str(value)


@contextlib.contextmanager
def missing(package: str, debian: str, command: str = "pictures", extra: str = "plot") -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise NoInputError(f"{command}: expected the Python package {package}, found none; install {debian}, or the wheel's extra {extra}", 66) from error


def with_unit(words: str, unit: str) -> str:
    return words if unit in ("", "1") else f"{words} {unit}"


def entry_words(axis: Axis, i: int) -> str:
    """Return "1000", or of two numbers "400 to 600"."""
    return (" to " if axis.name == "band" else ", ").join(f"{value + 0.0:.6g}" for value in np.atleast_1d(axis.values[i])).replace("-", "−")


def _decimals(values: Array, least: int) -> int:
    """Return the fewest decimals that keep different values apart, and only zero at zero."""
    different = set(values.tolist())
    for decimals in range(least, 9):
        shown = {value: round(value * 10**decimals) for value in different}
        if len({one for value, one in shown.items() if one != 0 or value == 0.0}) == len(different):
            return decimals
    return 9


def name_of(axes: Sequence[Axis], entries: Sequence[int]) -> str:
    """Return "_frequency0500.0Hz" of each axis: of one width in all names; of several numbers the index, and the limits of a band."""
    name = ""
    for axis, i in zip(axes, entries, strict=True):
        values, unit = axis.values, "" if axis.unit == "1" else axis.unit.replace("/", "_")
        if values.ndim > 1:
            name += f"_{axis.name}{i:0{len(str(len(values) - 1))}}"
            name += f"_{values[i][0]:.0f}-{values[i][1]:.0f}{axis.unit}" if axis.name == "band" and values.shape[1] == 2 else ""
            continue
        form = f".{_decimals(values, 3 if axis.unit == 'm' else 1)}f"
        sign = "+" if np.any(values < 0.0) else ""
        width = max(len(f"{value + 0.0:{sign}{form}}") for value in values)
        name += f"_{axis.name}{values[i] + 0.0:{sign}0{width}{form}}{unit}"
    return name


Circle = tuple[float, float, str, bool]  # across, down, words, and whether the source is confirmed


def is_nearest(axis: Axis, i: int, value: Any) -> Any:
    """Return whether no other entry is nearer to a value."""
    distances = abs(axis.values - np.asarray(value)[..., np.newaxis])
    return distances[..., i] <= distances.min(axis=-1)


def circles_on(axes: Sequence[Axis], entries: Sequence[int], of: Results, finder: Results, frame: int) -> list[Circle]:
    """Return the sources that a processor found on a map over y and x, or elevation and azimuth, as src/publish/pictures/sources_table.cpp does.

    `entries` are those of the axes before the last two. Of several distances a source is on the nearest; a direction is where its line meets the plane.
    """
    over = axes[-2].name, axes[-1].name
    if over not in (("y", "x"), ("elevation", "azimuth")) or finder.sources is None:
        return []
    found = finder.found(frame)
    is_direction = finder.sources.unit != "m"
    x, y, z = found["x"], found["y"], found["z"] - (0.0 if is_direction else of.standoff_m)
    chosen = {axis.name: (axis, i) for axis, i in zip(axes[:-2], entries, strict=True) if axis.values.ndim == 1}
    depth = chosen.get("radius", chosen.get("distance"))
    keep = np.ones(len(x), bool)
    if over == ("y", "x"):
        across, down = x, y
        if is_direction:
            keep = (z < 0.0) & (depth is not None)
            length = depth[0].values[depth[1]] / np.where(keep, -z, 1.0) if depth is not None else 0.0
            across, down = x * length, y * length
        elif depth is not None:
            keep = is_nearest(*depth, -z)
    else:
        length = np.sqrt(x**2 + y**2 + z**2)
        keep = (length > 0.0) & (is_nearest(*depth, length) if depth is not None and not is_direction else True)
        length = np.where(keep, length, 1.0)
        across, down = (np.arctan2(y, x), np.arcsin(-z / length)) if "radius" in chosen else (np.arcsin(x / length), np.arcsin(y / length))
        across, down = np.degrees(across), np.degrees(down)
    return [(float(across[k]), float(down[k]), (f"#{found['id'][k]:.0f}  " if found["id"][k] > 0 else "")
             + f"{found['level_db'][k]:.1f} dB, {found['confidence'][k]:.2f}".replace("-", "\u2212"), bool(int(found["state"][k]) & 6))
            for k in np.flatnonzero(keep)]  # fmt: skip


def chosen_words(axes: Sequence[Axis], entries: Sequence[int]) -> str:
    """Return ", frequency = 1000 Hz" of each axis."""
    return "".join(f", {axis.name} = {with_unit(entry_words(axis, i), axis.unit)}" for axis, i in zip(axes, entries, strict=True))
