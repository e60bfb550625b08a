"""Maps in colours, on scales, as the pictures of frames have them, by matplotlib."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nearfield._layout import Array, Axis
from nearfield._results import FileProduct, Results, chosen_words, entry_words, missing, with_unit


@dataclasses.dataclass
class Shown:
    """Coloured values in the product's unit or dB, NaN where they are not finite, and the ends of their scale."""

    values: Array
    low: float
    high: float
    name: str
    unit: str
    notes: list[str]

    @property
    def label(self) -> str:
        unit = self.unit.replace("^2", "²").replace("^3", "³")
        return self.name if unit in ("", "1") else f"{self.name} [{unit}]"


class Scale:
    """The scales of the pictures of a run, by the options ``--db``, ``--range`` and ``--top``."""

    def __init__(self, *, db: bool = False, range_db: float = 40.0, top: str = "common") -> None:
        self.db, self.range_db, self.top = db, range_db, top
        self.is_held = top in ("common", "hold")
        self._held: dict[str, tuple[float, float]] = {}

    def hold(self, key: str, values: Array) -> tuple[float, float]:
        """Return the least value, or 0, and the largest, or 0, of a map so far."""
        finite = values[np.isfinite(values)]
        low, high = self._held.get(key, (0.0, 0.0)) if self.is_held else (0.0, 0.0)
        self._held[key] = min(low, finite.min(initial=0.0)), max(high, finite.max(initial=0.0))
        return self._held[key]

    def shown(self, key: str, product: FileProduct, values: Array) -> Shown:
        low, high = self.hold(key, values)
        per_decade, reference, unit = product.level_rule()
        shown = np.where(np.isfinite(values), values, np.nan)
        name = f"|{product.name}|" if product.is_complex else product.name
        if self.db and not product.is_length:
            if not self.is_held and self.top != "own" and product.unit in ("Pa", "Pa^2"):
                high = reference * 10.0 ** (float(self.top) / per_decade)
            high = per_decade * math.log10(high / reference) if high > 0.0 else 0.0
            low = high - self.range_db
            levels = per_decade * np.log10(np.where(shown > 0.0, shown, np.nan) / reference)
            shown = np.where(np.isnan(shown) | (shown > 0.0), levels, low - self.range_db)  # 0 has no level
        else:
            unit = product.unit
        lost, above = int(np.isnan(shown).sum()), int((shown > high + 1e-9 * (high - low)).sum()) if high > low else 0
        notes = [f"Hatched: {lost} of {shown.size} values are not finite."] if lost else []
        notes += [f"{above} of {shown.size} values lie above the scale."] if above else []
        return Shown(shown, low, high, name, unit, notes)


@dataclasses.dataclass
class Picture:
    """One that is yet to be drawn: what its maps are, by the keys of their scales, and what makes a figure of them as they are shown."""

    name: str
    maps: list[tuple[str, FileProduct, Array]]
    draw: Callable[..., Any]


def figures(pictures: Callable[[], Iterator[Picture]], scale: Scale) -> Iterator[tuple[str, Any]]:
    """Yield the name and the figure of each; a common scale has their values read before one is drawn."""
    with missing("matplotlib", "python3-matplotlib"):
        import matplotlib  # noqa: F401
    if scale.top == "common":
        for picture in pictures():
            for key, _, values in picture.maps:
                scale.hold(key, values)
    for picture in pictures():
        yield picture.name, picture.draw(*(scale.shown(*one) for one in picture.maps))


def srgb(lightness: Any, chroma: Any, hue_rad: Any) -> Array:
    """Return OKLCh (Ottosson 2020) as sRGB, [..., 3]."""
    a, b = chroma * np.cos(hue_rad), chroma * np.sin(hue_rad)
    cones = np.stack([lightness + 0.3963377774 * a + 0.2158037573 * b, lightness - 0.1055613458 * a - 0.0638541728 * b,
                      lightness - 0.0894841775 * a - 1.2914855480 * b], axis=-1) ** 3  # fmt: skip
    linear = np.clip(cones @ [[4.0767416621, -1.2684380046, -0.0041960863], [-3.3077115913, 2.6097574011, -0.7034186147],
                              [0.2309699292, -0.3413193965, 1.7076147010]], 0.0, 1.0)  # fmt: skip
    encoded: Array = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return encoded


@functools.cache
def colours() -> Any:
    """The colours of magnitudes, as src/core/colours.cpp has them."""
    from matplotlib.colors import ListedColormap

    t = np.linspace(0.0, 1.0, 1024)
    return ListedColormap(srgb(0.15 + 0.81 * t, 0.075 + 0.02 * t + 0.34 * t * (1.0 - t), np.radians(285.0 + 180.0 * t)))


def figure_of(width_in: float, height_in: float, title: str, notes: Sequence[str] = ()) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), dpi=100, layout="constrained")
    figure.suptitle(title.replace("-", "−"))
    figure.supxlabel("   ".join(notes).replace("-", "−"), fontsize="small", color=(0.47, 0.16, 0.0), wrap=True)
    return figure


def place_on(axis: Axis, values: Any) -> Array:
    """Return indices of the entries at values of an axis, by linear interpolation; beyond its ends, extrapolation."""
    entries = axis.values
    if len(entries) == 1:
        return np.zeros(np.shape(values))
    sign = 1.0 if entries[-1] >= entries[0] else -1.0
    k = np.clip(np.searchsorted(sign * entries, sign * np.asarray(values)) - 1, 0, len(entries) - 2)
    place: Array = k + (values - entries[k]) / (entries[k + 1] - entries[k])
    return place


def _ticks(axis: Axis, most: int) -> tuple[Array, list[str]]:
    """Return places and labels: of entries where there are few, else of round values."""
    from matplotlib.ticker import MaxNLocator

    if axis.values.ndim > 1 or len(axis.values) <= most:
        entries = np.arange(0, len(axis.values), -(-len(axis.values) // most))
        return entries, [entry_words(axis, int(i)) for i in entries]
    low, high = axis.values.min(), axis.values.max()
    found = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)
    values = np.round(found[(found >= low) & (found <= high)], 12)
    return place_on(axis, values), [f"{value + 0.0:.6g}".replace("-", "−") for value in values]


def draw_cells(ax: Any, values: Array, shown: Shown, down: Axis, across: Axis, most: int = 10) -> Any:
    ax.patch.set(facecolor="white", edgecolor="0.6", hatch="////")  # the hatching of cells that are NaN
    image = ax.imshow(values, cmap=colours(), vmin=shown.low, vmax=shown.high, interpolation="nearest", aspect="auto")
    for axis, name in ((down, "y"), (across, "x")):
        places, labels = _ticks(axis, most)
        getattr(ax, f"set_{name}ticks")(places, labels)
        title = axis.name if axis.unit in ("", "1") else f"{axis.name} [{axis.unit}]"
        getattr(ax, f"set_{name}label")(title + (", downwards" if name == "y" and axis.name == "y" else ""))
    return image


def _extremes(product: FileProduct, shown: Shown, axes: Sequence[Axis]) -> str:
    """Return the place and the level of the maximum, or the least and the largest value."""
    if np.isnan(shown.values).all():
        return ""
    if shown.unit == product.unit:
        return with_unit(f"{np.nanmin(shown.values):.3g} to {np.nanmax(shown.values):.3g}", product.unit)
    place = np.unravel_index(int(np.nanargmax(shown.values)), shown.values.shape)
    return f"Maximum {shown.values[place]:.1f} {shown.unit} at{chosen_words(axes[::-1], [int(i) for i in place[::-1]])[1:]}"


def draw_map(product: FileProduct, results: Results, shown: Shown, *, axes: Sequence[Axis], chosen: str, subtitle: str, notes: Sequence[str] = ()) -> Any:
    """Return a figure of a map over two axes, down and across; its cells are square where both have one unit."""
    down, across = axes
    rows, columns = shown.values.shape
    is_square = down.unit == across.unit
    height_in = 9.0 * rows / columns if is_square else 0.01 * rows
    figure = figure_of(max(12.0, 0.01 * columns + 3.0), 2.5 + min(max(height_in, 2.0 if is_square else 5.0), 40.0),
                       product.quantity[:1].upper() + product.quantity[1:] + chosen, [*notes, *shown.notes])  # fmt: skip
    ax = figure.subplots()
    image = draw_cells(ax, shown.values, shown, down, across)
    if is_square:
        ax.set_aspect("equal")
    ax.set_title(f"{product.name} of {results.name}   {subtitle}\n{_extremes(product, shown, axes)}".replace("-", "−"), fontsize="medium")
    figure.colorbar(image, ax=ax, label=shown.label)
    return figure
