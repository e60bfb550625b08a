"""Pictures of many frames or several processors, by matplotlib: tracks, bearings, overlays, sections and beam patterns.

``nearfield pictures``, ``replay --png`` and ``beampattern --png`` run ``python -m nearfield.overviews``. Maps look as in the
pictures of frames: cells of one size, an entry of an axis each, the first row on top; a coordinate is an index of the axis.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import pathlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import h5py
import numpy as np

from nearfield._command import exit_code_of
from nearfield._layout import Array, Axis
from nearfield._maps import Picture, Scale, Shown, draw_cells, draw_map, figure_of, figures, place_on, srgb
from nearfield._results import Circle, FileProduct, Results, chosen_words, circles_on, is_nearest, name_of, with_unit
from nearfield.errors import DataError, UsageError
from nearfield.exports import Path, _whole

ALL_FRAMES = range(sys.maxsize)
BEARINGS = ("angle", "azimuth", "elevation")
MOST_ROWS = 600  # rows of a picture of bearings
MOST_LEGEND = 24  # tracks
CONTOURS = (0.25, 0.5, 0.75)  # levels of contours, as shares of the upper map's scale
CANDIDATE_GREY = 190 / 255
MARK = "white"
GUIDE = (90 / 255, 220 / 255, 1.0)
_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


# ---- Tracks and bearings ----


def overviews(path: Path, scale: Scale) -> Iterator[tuple[str, Any]]:
    """Yield names and figures of tracks and bearings over time, of all processors; each has its own maximum, which is that of all frames."""
    if scale.is_held:
        scale = Scale(db=scale.db, range_db=scale.range_db, top="own")
    with h5py.File(path) as file:
        for results in Results.all_of(file):
            yield from figures(functools.partial(_overviews_of, results), scale)


def _overviews_of(results: Results) -> Iterator[Picture]:
    if results.sources is not None and results.frames > 0:
        yield Picture(f"tracks_{results.name}.png", [], functools.partial(_draw_tracks, results))
    for product in results.arrays if results.frames > 1 else ():
        further = [axis for axis in product.axes if axis.name not in BEARINGS and axis.name not in ("distance", "radius")]
        for bearing in product.axes:
            if bearing.name not in BEARINGS or product.is_length:  # a maximum of lengths is meaningless
                continue
            time, largest = _bearings(results, product, bearing, further)
            for entries in np.ndindex(*largest.shape[:-2]):
                name = f"bearings_{results.name}_{product.name}_{bearing.name}{name_of(further, entries)}.png"
                draw = functools.partial(draw_map, product, results, axes=(time, bearing), chosen=chosen_words(further, entries),
                                         subtitle=f"{results.frames} frames")  # fmt: skip
                yield Picture(name, [(name, product, largest[entries])], draw)


def _bearings(results: Results, product: FileProduct, bearing: Axis, further: Sequence[Axis]) -> tuple[Axis, Array]:
    """Return the axis of rows, and the largest values [entry of a further axis, ..., row, bearing] over all other axes and a row's frames."""
    order = [product.axes.index(axis) for axis in (*further, bearing)]
    others = tuple(i for i, axis in enumerate(product.axes) if i not in order)
    rows = min(results.frames, MOST_ROWS)
    largest = np.full((*(len(axis.values) for axis in further), rows, len(bearing.values)), np.nan)
    for frame in range(results.frames):
        row = largest[..., frame * rows // results.frames, :]
        row[...] = np.fmax(row, np.fmax.reduce(product.values(frame).transpose(*order, *others).reshape(*row.shape, -1), axis=-1))
    times, name, unit = results.times()
    decade = 10.0 ** (math.floor(math.log10(times[-1])) - 3) if times[-1] > 0.0 else 1.0  # labels have no more digits
    first = (np.arange(rows) * results.frames + rows - 1) // rows
    return Axis(name, unit, np.round(times[first] / decade) * decade), largest


def track_colour(track: Any) -> Array:
    """Return the colour of an id: those of neighbours differ by the golden angle in hue."""
    return srgb(0.74, 0.12, math.radians(30.0) + _GOLDEN_ANGLE * track)


def _draw_tracks(results: Results) -> Any:
    """Draw the rows of all frames' tables `sources` over time, in the colours of their ids, candidates grey."""
    from matplotlib.lines import Line2D

    assert results.sources is not None
    times, time, of_time = results.times()
    tables = [results.found(frame) for frame in range(results.frames)]
    at = np.repeat(times, [len(table["id"]) for table in tables])
    found = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    names = [("x", "m"), ("y", "m"), ("z", "m")]
    if results.sources.unit != "m":
        length = np.sqrt(found["x"] ** 2 + found["y"] ** 2 + found["z"] ** 2)
        found |= {"azimuth": np.degrees(np.arcsin(found["x"] / length)), "elevation": np.degrees(np.arcsin(found["y"] / length))}
        names = [("azimuth", "deg"), ("elevation", "deg")]
    elif np.ptp(found["z"]) <= 1e-4 if len(at) else True:
        names.pop()
    ids = found["id"].astype(int)
    order = np.argsort(ids > 0, kind="stable")  # candidates first: they hide no track
    colours = np.where(ids[:, None] == 0, CANDIDATE_GREY, track_colour(ids))[order]
    tracks = sorted(set(ids[ids > 0].tolist()))
    figure = figure_of(12.0, 1.3 + 2.2 * len(names), f"Sources over time, {results.name}")
    panels = figure.subplots(len(names), 1, sharex=True)
    axes = {axis.name: axis for product in results.arrays for axis in product.axes if axis.values.ndim == 1 and len(axis.values) > 1}
    for ax, (name, unit) in zip(panels, names, strict=True):
        ax.scatter(at[order], found[name][order], s=12.0, marker="s", c=colours, linewidths=0)
        values, beyond = found[name], 0.0
        if name in axes and axes[name].unit == unit:
            values = axes[name].values
            beyond = abs(values[1] - values[0]) / 2.0
        elif not np.ptp(values) > 0.0 if len(values) else True:  # no sources, or all at one place
            values, beyond = values[:1] if len(values) else np.zeros(1), 1.0
        ax.set_ylim(values.min() - beyond, values.max() + beyond)
        ax.set_ylabel(f"{name} [{unit}]")
    panels[-1].set_xlim(0.0, times[-1] if times[-1] > 0.0 else 1.0)
    panels[-1].set_xlabel(time if of_time == "1" else f"{time} [{of_time}]")
    panels[0].set_title(f"{len(tracks)} track{'' if len(tracks) == 1 else 's'}, {results.frames} frames", fontsize="medium")
    legend: list[tuple[str, Any]] = [("candidates", str(CANDIDATE_GREY))] if np.any(ids == 0) else []
    legend += [(f"track {track}", tuple(track_colour(track))) for track in tracks[:MOST_LEGEND]]
    legend += [(f"and {len(tracks) - MOST_LEGEND} more", "white")] if len(tracks) > MOST_LEGEND else []
    if legend:
        lines = [Line2D([], [], linestyle="", marker="s", color=colour) for _, colour in legend]
        panels[0].legend(lines, [words for words, _ in legend], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


# ---- One map over another ----


def overlays(path: Path, upper: str, lower: str, scale: Scale, frames: range = ALL_FRAMES) -> Iterator[tuple[str, Any]]:
    """Yield names and figures of contours of one map over the colours of another, of the frame that is nearest in time.

    `upper` and `lower` are processors, for their maps, images or first arrays, or PROCESSOR.PRODUCT, over the same two axes.
    """
    with h5py.File(path) as file:
        results = Results.all_of(file)
        over, under = (_find_map(results, name) for name in (upper, lower))
        _require_same_axes(over, under)
        if over[0].frames > 0:
            yield from figures(functools.partial(_overlays_of, *over, *under, frames), scale)


def _find_map(all_results: Sequence[Results], name: str) -> tuple[Results, FileProduct]:
    processor, _, product = name.partition(".")
    for results in all_results:
        if results.name == processor:
            maps = {one.name: one for one in results.arrays if len(one.axes) > 1}
            for wanted in [product] if product else ["map", "images", *maps]:
                if wanted in maps:
                    return results, maps[wanted]
            raise _usage("pictures", f'--overlay: expected a processor with a map over two axes, found "{name}"')
    raise _usage("pictures", f"--overlay: expected a processor of the file, one of {', '.join(one.name for one in all_results)}; "
                             f'found "{processor}"')  # fmt: skip


def _require_same_axes(over: tuple[Results, FileProduct], under: tuple[Results, FileProduct]) -> None:
    words = [" and ".join(f"{axis.name} [{axis.unit}]" for axis in product.axes[:-3:-1]) + f" of {results.name}" for results, product in (over, under)]
    for above, below in zip(over[1].axes[-2:], under[1].axes[-2:], strict=True):
        if (above.name, above.unit) != (below.name, below.unit) or above.values.ndim > 1:
            raise _usage("pictures", f"--overlay: expected maps over the same axes, found {', and '.join(words)}")
        low, high = below.values.min(), below.values.max()
        if not np.any((above.values >= low) & (above.values <= high)):
            raise _usage("pictures", f"--overlay: expected maps that overlap, found {below.name} from {above.values[0]:.6g} to {above.values[-1]:.6g} of "
                                     f"{over[0].name}, and from {low:.6g} to {high:.6g} of {under[0].name}")  # fmt: skip


def _go_together(over: FileProduct, upper: Sequence[int], under: FileProduct, lower: Sequence[int]) -> bool:
    """Return whether entries of further axes that both maps have are each other's nearest."""
    for above, i in zip(over.axes, upper, strict=False):
        for below, k in zip(under.axes, lower, strict=False):
            if above.name == below.name and above.values.ndim == below.values.ndim == 1 and not is_nearest(above, i, below.values[k]):
                return False
    return True


def _overlays_of(above: Results, over: FileProduct, below: Results, under: FileProduct, frames: range) -> Iterator[Picture]:
    for frame in range(frames.start, min(frames.stop, below.frames)):
        has_times = above.times_ns[-1] != above.times_ns[0]
        nearest = int(np.argmin(abs(above.times_ns - below.times_ns[frame]))) if has_times else min(frame, above.frames - 1)
        upper_values, lower_values = over.values(nearest), under.values(frame)
        for lower in np.ndindex(*lower_values.shape[:-2]):
            for upper in np.ndindex(*upper_values.shape[:-2]):
                if not _go_together(over, upper, under, lower):
                    continue
                names = [f"{results.name}_{product.name}{name_of(product.axes[:-2], entries)}"
                         for results, product, entries in ((above, over, upper), (below, under, lower))]  # fmt: skip
                circles = [one for results, i in {above.name: (above, nearest), below.name: (below, frame)}.values() if results.sources is not None
                           for one in circles_on(under.axes, lower, below, results, i)]  # fmt: skip
                draw = functools.partial(_draw_overlay, over, above, under, below, frame, lower, circles)
                yield Picture(f"frame{frame:05}_{names[0]}_over_{names[1]}.png",
                               [(names[0], over, upper_values[upper]), (names[1], under, lower_values[lower])], draw)  # fmt: skip


def _draw_overlay(over: FileProduct, above: Results, under: FileProduct, below: Results, frame: int, lower: Sequence[int],
                  circles: Sequence[Circle], upper_shown: Shown, shown: Shown) -> Any:  # fmt: skip
    from matplotlib.patheffects import withStroke

    span = upper_shown.high - upper_shown.low
    numbers = ", ".join(f"{upper_shown.low + place * span:.4g}" for place in CONTOURS)
    notes = [f"Contours: {with_unit(f'{over.name} of {above.name} at {numbers}', upper_shown.unit)}.", *below.notes_of(frame)]
    axes = under.axes[-2:]
    figure = draw_map(under, below, shown, axes=axes, chosen=chosen_words(under.axes[:-2], lower), subtitle=below.words_of(frame), notes=notes)
    ax = figure.axes[0]
    if min(upper_shown.values.shape) > 1 and span > 0.0:
        places = np.clip((upper_shown.values - upper_shown.low) / span, -1.0, 2.0)
        with warnings.catch_warnings(action="ignore"):  # Matplotlib warns where a level has no contour
            ax.contour(place_on(axes[1], over.axes[-1].values), place_on(axes[0], over.axes[-2].values), places, levels=CONTOURS, colors=MARK)
        ax.set(xlim=(-0.5, shown.values.shape[1] - 0.5), ylim=(shown.values.shape[0] - 0.5, -0.5))
    for across, down, words, is_bold in circles:
        place = float(place_on(axes[1], across)), float(place_on(axes[0], down))
        for width, colour in ((5.0, "black"), (3.0, MARK)) if is_bold else ((3.5, "black"), (1.5, MARK)):
            ax.plot(*place, "o", markersize=18.0, markerfacecolor="none", markeredgewidth=width, markeredgecolor=colour, scalex=False, scaley=False)
        ax.annotate(words, place, (14.0, 0.0), textcoords="offset points", va="center", color=MARK, path_effects=[withStroke(linewidth=2.0, foreground="black")])
    return figure


# ---- Sections ----


def sections(path: Path, at_m: Sequence[float], scale: Scale, map: str = "", frames: range = ALL_FRAMES) -> Iterator[tuple[str, Any]]:
    """Yield names and figures of the cuts x-y, depth-y and x-depth of a volume through the place `at_m`, on the axes of images.

    A volume is an array whose last two axes are y and x, with at least two entries of distance or z: that of `map`, PROCESSOR or
    PROCESSOR.PRODUCT, or the first.
    """
    with h5py.File(path) as file:
        for results in Results.all_of(file):
            for product in results.arrays:
                names = [axis.name for axis in product.axes]
                depth = next((i for i, axis in enumerate(product.axes[:-2]) if axis.name in ("distance", "z") and len(axis.values) > 1), None)
                if depth is not None and names[-2:] == ["y", "x"] and map in ("", results.name, f"{results.name}.{product.name}"):
                    yield from figures(functools.partial(_sections_of, results, product, depth, at_m, frames), scale)
                    return
    raise _usage("pictures", f"--at: expected a map over x, y and at least two depths{f' of {map}' if map else ''}, found none")


def _sections_of(results: Results, product: FileProduct, depth: int, at_m: Sequence[float], frames: range) -> Iterator[Picture]:
    axes = product.axes[depth], *product.axes[-2:]
    further = product.axes[:depth] + product.axes[depth + 1 : -2]
    at = results.standoff_m - at_m[2] if axes[0].name == "distance" else at_m[2], at_m[1], at_m[0]
    for axis, value, asked, name in zip(axes, at, at_m[::-1], "zyx", strict=True):
        if not -0.5 - 1e-9 <= float(place_on(axis, value)) <= len(axis.values) - 0.5 + 1e-9:
            raise _usage("pictures", f"--at: expected {name} inside the volume, {axis.name} from {axis.values[0]:.6g} to {axis.values[-1]:.6g} m, "
                                     f"found {asked:g}")  # fmt: skip
    for frame in range(frames.start, min(frames.stop, results.frames)):
        values = np.moveaxis(product.values(frame), depth, -3)
        for entries in np.ndindex(*values.shape[:-3]):
            key = f"{results.name}_{product.name}{name_of(further, entries)}"
            draw = functools.partial(_draw_sections, results, product, axes, at, frame, chosen_words(further, entries))
            yield Picture(f"sections{frame:05}_{key}.png", [(key, product, values[entries])], draw)


def _draw_sections(results: Results, product: FileProduct, axes: Sequence[Axis], at: Sequence[float], frame: int, chosen: str, shown: Shown) -> Any:
    (d, i, j), (depths, rows, columns) = (int(np.argmin(abs(axis.values - value))) for axis, value in zip(axes, at, strict=True)), shown.values.shape
    cell_in = 9.6 / max(columns + depths, rows + depths)
    deep = max(depths, math.ceil(0.6 / cell_in))
    words = ", ".join(f"{axis.name} = {axis.values[k]:.4g} m" for axis, k in zip(axes[::-1], (j, i, d), strict=True))
    figure = figure_of(cell_in * (columns + deep) + 3.5, cell_in * (rows + deep) + 2.5, f"Sections of {product.name}{chosen}",
                     results.notes_of(frame) + shown.notes)  # fmt: skip
    panels = figure.subplots(2, 2, width_ratios=(columns, deep), height_ratios=(rows, deep))
    cuts = [(panels[0, 0], shown.values[d], 1, 2), (panels[0, 1], shown.values[:, :, j].T, 1, 0), (panels[1, 0], shown.values[:, i], 0, 2)]
    for ax, values, down, across in cuts:
        image = draw_cells(ax, values, shown, axes[down], axes[across], max(2, int(deep * cell_in / 0.7)) if 0 in (down, across) else 10)
        ax.axvline(float(place_on(axes[across], at[across])), color=GUIDE, linewidth=1.0)
        ax.axhline(float(place_on(axes[down], at[down])), color=GUIDE, linewidth=1.0)
    panels[0, 0].set_title(f"{product.quantity}, of {results.name}   {results.words_of(frame)}\ncut at {words}".replace("-", "−"), fontsize="medium", loc="left")
    panels[1, 1].axis("off")
    figure.colorbar(image, ax=panels[1, 1], label=shown.label, location="left", fraction=0.5)
    return figure


# ---- Beam patterns ----


def pattern(path: Path, scale: Scale) -> Iterator[tuple[str, Any]]:
    """Yield the name and the figure of powers relative to their largest over the one axis of a beam pattern, as amplitudes or as levels."""
    with open(path, "rb") as opened, h5py.File(opened) as file:  # HDF5 itself opens no file that has lost its name
        results = Results.all_of(file)[0]
        yield from figures(lambda: iter([Picture(f"pattern_{results.name}.png", [], functools.partial(_draw_pattern, results, scale))]), scale)


def _draw_pattern(results: Results, scale: Scale) -> Any:
    product = results.arrays[0]
    axis = next(axis for axis in product.axes if axis.name != "frequency" and len(axis.values) > 1)
    powers = product.values(0).ravel()
    figure = figure_of(9.6, 5.6, f"Beam pattern, {results.name}")
    ax = figure.subplots()
    low, high = (-scale.range_db, 0.0) if scale.db else (0.0, 1.0)
    ax.plot(axis.values, np.clip(10.0 * np.log10(np.maximum(powers, 1e-30)) if scale.db else np.sqrt(powers), low, high))
    ax.set(xlim=(axis.values[0], axis.values[-1]), ylim=(low, high), xlabel=f"{axis.name} [{axis.unit}]",
           ylabel="level re the maximum [dB]" if scale.db else "amplitude re the maximum")  # fmt: skip
    ax.set_title(f"{product.axes[0].values[0]:.6g} Hz, {len(powers)} values", fontsize="medium")
    return figure


# ---- Command line ----


def _usage(command: str, message: str) -> UsageError:
    return UsageError(f"{message} (see nearfield help {command})", 64)


def _frames(words: str) -> range:
    first, colon, end = words.rpartition(":")
    return range(int(first or 0), int(end)) if end else range(int(first or 0), sys.maxsize)


def _run(words: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="python -m nearfield.overviews", description="Draw as nearfield pictures does", allow_abbrev=False)
    parser.add_argument("input", help="images, HDF5")
    parser.add_argument("-o", "--output", required=True, help="folder for the pictures")
    for name in ("range", "top", "frames", "map"):
        parser.add_argument(f"--{name}", help="as of nearfield pictures")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--overlay", action="append", default=[], help="UPPER:LOWER, contours of one map over the colours of another")
    kind.add_argument("--at", help="X,Y,Z where sections meet")
    kind.add_argument("--pattern", action="store_true", help="the curve of a beam pattern")
    parser.add_argument("--db", action="store_true", help="levels")
    chosen = parser.parse_args(words)
    scale = Scale(db=chosen.db, range_db=float(chosen.range or 40.0), top=chosen.top or "common")
    folder, frames = pathlib.Path(chosen.output), _frames(chosen.frames or ":")
    if chosen.at is not None:
        drawn = sections(chosen.input, [float(value) for value in chosen.at.split(",")], scale, chosen.map or "", frames)
    elif chosen.overlay:
        pairs = [text.partition(":") for text in chosen.overlay]
        for (upper, _, lower), text in zip(pairs, chosen.overlay, strict=True):
            if not upper or not lower:
                raise _usage("pictures", f'--overlay: expected UPPER:LOWER, two processors, found "{text}"')
        drawn = itertools.chain.from_iterable(overlays(chosen.input, upper, lower, scale, frames) for upper, _, lower in pairs)
    else:
        drawn = (pattern if chosen.pattern else overviews)(chosen.input, scale)
    written = 0
    for name, figure in drawn:
        folder.mkdir(parents=True, exist_ok=True)
        with _whole(folder / name) as file:
            figure.savefig(file, format="png")
        written += 1
    if written == 0:
        raise DataError(f"{chosen.input}: expected frames that can be drawn, found none of those that were asked for", 65)
    is_over_time = not (chosen.overlay or chosen.at or chosen.pattern)
    print(f"{folder}: {written} picture{'' if written == 1 else 's'}{' over time' if is_over_time else ''}")
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return exit_code_of(lambda: _run(words), "nearfield")


if __name__ == "__main__":
    sys.exit(main())
