"""Pictures of a summary: maps of levels and of changes, by matplotlib, and the array's plan as SVG."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearfield._layout import Array, Axis
from nearfield._maps import colours
from nearfield._runs import Microphones
from nearfield.levels import Difference, Map, Spot

DPI = 200  # enough for print
_STYLE: Any = {"font.size": 7.0, "axes.linewidth": 0.5, "xtick.major.width": 0.5, "ytick.major.width": 0.5, "hatch.linewidth": 0.4}
_BESIDE_IN, _BELOW_IN = 1.08, 0.42  # room for labels and scale
_MOST_HEIGHT = 1.6  # largest ratio of a map's height to its width


@dataclasses.dataclass(frozen=True)
class Scale:
    low: float
    high: float
    label: str


def scale_of(maps: Sequence[Map], range_db: float) -> Scale | None:
    """Return the one scale of some maps, from the largest level of all down; None where they have no level."""
    levels = [one.largest.level_db for one in maps if one.largest is not None]
    return Scale(max(levels) - range_db, max(levels), maps[0].averages.unit) if levels else None


def change_scale(differences: Sequence[Difference], range_db: float) -> Scale | None:
    """Return a scale that is even about 0, in whole dB; None where nothing can be compared."""
    shown = [np.abs(shown_change(one, range_db)) for one in differences]
    largest = max((float(np.nanmax(one)) for one in shown if np.isfinite(one).any()), default=math.nan)
    most = max(1.0, math.ceil(largest - 1e-6)) if math.isfinite(largest) else math.nan
    return Scale(-most, most, "after less before [dB]") if math.isfinite(most) else None


def shown_change(difference: Difference, range_db: float) -> Array:
    """Return changes in dB, NaN where both runs lie so far below the largest level of both that a change is chance."""
    return np.where(difference.strong(range_db), difference.change_db, np.nan)


def draw_levels(one: Map, scale: Scale, microphones: Microphones, width_in: float) -> Any:
    """Return a figure of a map's levels, with the microphones and a cross on the largest."""
    return _draw(one, one.levels_db, scale, colours(), microphones, [spot for spot in [one.largest] if spot is not None], width_in)


def draw_change(difference: Difference, scale: Scale, microphones: Microphones, range_db: float, width_in: float) -> Any:
    """Return a figure of the changes, blue where it became less, with the microphones and a cross where it was the loudest before."""
    import matplotlib

    loudest = difference.before.largest
    return _draw(difference.before, shown_change(difference, range_db), scale, matplotlib.colormaps["RdBu_r"], microphones,
                 [] if loudest is None else [loudest], width_in)  # fmt: skip


def _draw(one: Map, values: Array, scale: Scale, colour_map: Any, microphones: Microphones, crosses: Sequence[Spot], width_in: float) -> Any:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    down, across = one.averages.places
    unit, x, y = across.unit, across.values, down.values
    edges = _edges(x, unit), _edges(y, down.unit)
    with rc_context(_STYLE):
        shape = float(np.clip(abs((edges[1][-1] - edges[1][0]) / (edges[0][-1] - edges[0][0])), 0.2, _MOST_HEIGHT))
        figure = Figure(figsize=(width_in, (width_in - _BESIDE_IN) * shape + _BELOW_IN), dpi=DPI, layout="constrained")
        ax = figure.subplots()
        ax.patch.set(facecolor="white", edgecolor="0.6", hatch="////")  # the hatching of places without a level
        image = ax.pcolormesh(*edges, values, cmap=colour_map, vmin=scale.low, vmax=scale.high, rasterized=True)
        if unit == down.unit == "m":
            _mark_microphones(ax, microphones, width_in - _BESIDE_IN)
        for spot in crosses:
            place = x[spot.index[1]], y[spot.index[0]]
            ax.plot(*place, "+", markersize=8.0, markeredgewidth=2.2, color="black", clip_on=False)
            ax.plot(*place, "+", markersize=7.0, markeredgewidth=1.0, color="white", clip_on=False)
        ax.set(xlim=(edges[0][0], edges[0][-1]), ylim=(max(edges[1]), min(edges[1])), xlabel=f"{across.name} [{unit}]", ylabel=f"{down.name} [{unit}]")
        if unit == down.unit:
            ax.set_aspect("equal")
        figure.colorbar(image, cax=ax.inset_axes((1.04, 0.0, 0.05, 1.0)), label=scale.label, format="%g")
    return figure


def png_of(figure: Any) -> bytes:
    from matplotlib import rc_context

    written = io.BytesIO()
    with rc_context(_STYLE):
        figure.savefig(written, format="png", metadata={"Software": None})
    return written.getvalue()


def _edges(values: Array, unit: str) -> Array:
    """Return the limits of cells around values; those of a single one are half a millimetre away, or half a unit."""
    if len(values) == 1:
        return np.asarray(values[0] + np.array([-0.5, 0.5]) * (1e-3 if unit == "m" else 1.0))
    middles = (values[1:] + values[:-1]) / 2.0
    return np.concatenate([[2.0 * values[0] - middles[0]], middles, [2.0 * values[-1] - middles[-1]]])


def _mark_microphones(ax: Any, microphones: Microphones, width_in: float) -> None:
    if microphones.places_m is None:
        return
    at = microphones.places_m
    size = float(np.clip(14.0 * width_in / math.sqrt(len(at)), 0.5, 2.0))
    states = np.array([microphones.state_of(channel) for channel in range(len(at))])
    used, masked = states == "used", np.char.find(states, "masked") >= 0
    ax.plot(at[used, 0], at[used, 1], "o", markersize=size, markerfacecolor="white", markeredgecolor="black", markeredgewidth=0.15 * size, scalex=False,
            scaley=False)  # fmt: skip
    for width, colour in ((2.0, "white"), (0.9, "#e00000")):
        ax.plot(at[masked, 0], at[masked, 1], "x", markersize=max(2.0 * size, 3.0), markeredgewidth=width, color=colour, scalex=False, scaley=False)


# ---- The array ----

_COLOURS = {"used": "#2b6cb0", "masked from the start": "#c53030", "found bad and masked": "#dd6b20", "not in the subset": "#cbd5e0"}


def array_plan(microphones: Microphones) -> str:
    """Return the array as SVG, seen from its back as images are: each microphone in the colour of its state, those that are not used with their numbers."""
    if microphones.places_m is None:
        return ""
    at = 1e3 * microphones.places_m[:, :2]
    low, high = at.min(axis=0), at.max(axis=0)
    extent = max(float((high - low).max()), 1.0)
    apart = extent / max(math.sqrt(len(at)) - 1.0, 1.0)
    radius, edge = 0.28 * apart, 0.9 * apart
    text_mm = max(0.45 * apart, 0.02 * extent)
    dots, labels = [], []
    for channel, (x, y) in enumerate(at.tolist()):
        state = microphones.state_of(channel)
        dots.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{radius:.2f}" fill="{_COLOURS[state]}"><title>{channel}: {state}</title></circle>')
        if "masked" in state:
            labels.append(f'<text x="{x:.2f}" y="{y - 1.2 * radius:.2f}">{channel}</text>')
    left, top = low - edge
    width, height = high - low + 2.0 * edge
    return (f'<svg class="plan" viewBox="{left:.2f} {top:.2f} {width:.2f} {height:.2f}" role="img" aria-label="plan of the array">'
            f"{''.join(dots)}<g font-size=\"{text_mm:.2f}\" font-weight=\"bold\" text-anchor=\"middle\" stroke=\"white\" stroke-width=\"{0.2 * text_mm:.2f}\" "
            f"paint-order=\"stroke\">{''.join(labels)}</g></svg>")  # fmt: skip


def legend(microphones: Microphones) -> list[tuple[str, str]]:
    """Return the colour and the words of each state that the array has."""
    count = 0 if microphones.places_m is None else len(microphones.places_m)
    states = {microphones.state_of(channel) for channel in range(count)}
    return [(colour, state) for state, colour in _COLOURS.items() if state in states]


def is_drawn(axes: Sequence[Axis]) -> bool:
    """Return whether places are a plane, and not points one by one."""
    return len(axes) == 2
