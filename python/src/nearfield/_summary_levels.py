"""The sections of a summary with maps and levels: of one run, and of the difference of two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from nearfield import _summary_pictures as drawing
from nearfield._summary_page import Table, change, change_words, heading, note, number, picture, pictures, scientific, section
from nearfield._summary_run import Run, error_of_map, quantity_of
from nearfield.levels import POWER_REFERENCE_W, WITHIN_DB, Averages, Difference, Map

_EDGE = 4  # outermost pixels of an image, which are less certain (docs/use/what_it_cannot.md)
_IMAGERS = ("pnah", "sonah", "operators")
_WIDE_IN, _NARROW_IN = 3.45, 2.36  # widths of two pictures, and of three, beside each other on A4
_MOST_SENTENCES = 6
_CHANGE_RANGE_DB = 20.0  # below the largest level of both runs; a change of weaker places is chance
_SAME_DB = 0.5  # a change that is no other one in words


# ---- One run ----


def findings_of(run: Run) -> list[str]:
    """Return a sentence for each of the loudest maps."""
    averages = run.averages[0]
    maps = list(averages.maps())
    shown = (maps[i] for i in _loudest([_top(one) for one in maps], _MOST_SENTENCES))
    return [f"{one.words}: largest {number(_top(one))} {averages.unit}, at {_place(one)}; {number(one.mean_db)} dB over the surface."
            for one in shown if one.largest is not None]  # fmt: skip


def maps_and_levels(run: Run, range_db: float, most_pictures: int) -> Iterator[str]:
    """Yield two sections of each product: pictures of its maps, and the table of their levels."""
    for averages in run.averages:
        maps = list(averages.maps())
        name = f"{quantity_of(averages)} ({averages.product.name})"
        if drawing.is_drawn(averages.places):
            drawn = _loudest([_top(one) for one in maps], most_pictures)
            parts = [_level_picture(maps[i], run, range_db) for i in drawn]
            words = f"Levels in {averages.unit}; colours end {range_db:g} dB below the largest level of each picture. {marks_words(run)}"
            first = _left_out(len(maps), len(drawn)) + pictures(parts[:2], "two")
            yield section(f"Maps: {name}", first, pictures(parts[2:], "two"), note(words))
        words = f"Levels in {averages.unit}: {average_words(averages)} over {run.results.frames} frames; over the surface, the mean of powers of all places."
        yield section(f"Levels: {name}", note(words), _level_table(maps), starts_page=not drawing.is_drawn(averages.places))


def _level_picture(one: Map, run: Run, range_db: float) -> str:
    scale = drawing.scale_of([one], range_db)
    if scale is None:
        return note(f"{one.words}: no level at any place.")
    words = f"{one.words}: largest {number(_top(one))} dB, at {_place(one)}; {number(one.mean_db)} dB over the surface"
    return picture(drawing.png_of(drawing.draw_levels(one, scale, run.microphones, _WIDE_IN)), words)


def _level_table(maps: Sequence[Map]) -> str:
    has_power = any(not math.isnan(one.power_w()) for one in maps)
    has_error = any(not math.isnan(error_of_map(one)) for one in maps)
    head = [(further_head(maps[0].averages), 1), ("largest [dB]", 1), ("at", 1), ("over the surface [dB]", 1)]
    head += [("radiated power [W]", 1), ("power [dB re 1 pW]", 1)] if has_power else []
    table = Table(f"wnwn{'nn' * has_power}{'n' * has_error}", head + [("expected error", 1)] * has_error)
    for one in maps:
        power = [scientific(one.power_w()), _power_level(one)] if has_power else []
        table.add(one.words, number(_top(one)), _place(one), number(one.mean_db), *power, *[_percent(error_of_map(one))] * has_error)
    edge = any(_is_at_edge(one) for one in maps)
    return table.html() + (note(f"Near the edge: within the {_EDGE} outermost pixels of an image, which are less certain.") if edge else "")


# ---- Two runs ----


def answers_of(differences: Sequence[Difference]) -> list[str]:
    """Return a sentence for each of the maps that are loudest in one of the runs."""
    return [sentence_of(differences[i]) for i in _loudest([_either(one) for one in differences], _MOST_SENTENCES)]


def sentence_of(one: Difference) -> str:
    """Return how many dB less or more, and where."""
    words = f"{one.before.words}: {change_words(one.mean_db)} over the surface ({number(one.means_db[0])} to {number(one.means_db[1])} dB)"
    loudest = one.before.largest
    if loudest is not None:
        words += f"; {change_words(one.at_loudest_db)} where it was loudest, at {loudest.words}"
    for sign, name in ((-1, "fell"), (1, "rose")):
        spot = one.most(sign)
        if spot is not None and (loudest is None or not abs(spot.level_db - one.at_loudest_db) < _SAME_DB):
            words += f"; it {name} most, by {abs(spot.level_db):.1f} dB, at {spot.words}"
    return f"{words}."


def changes(runs: tuple[Run, Run], compared: Sequence[Sequence[Difference]], range_db: float, most_pictures: int) -> Iterator[str]:
    """Yield two sections of each product: pictures before, after and of the change, and the table of their levels."""
    for differences in compared:
        averages = differences[0].before.averages
        name = f"{quantity_of(averages)} ({averages.product.name})"
        if drawing.is_drawn(averages.places):
            drawn = _loudest([_either(one) for one in differences], most_pictures)
            scale = drawing.change_scale([differences[i] for i in drawn], _CHANGE_RANGE_DB)
            parts = [_change_pictures(differences[i], runs, range_db, scale) for i in drawn]
            words = (f"Before (A) and after (B) share one scale in {averages.unit}, which ends {range_db:g} dB below the largest level of both; all "
                     f"differences share one. Blue: less after. Hatched: both runs are more than {_CHANGE_RANGE_DB:g} dB below the largest level of both, or "
                     f"one has no level. A cross marks the largest level, of differences the one before. {marks_words(runs[0], False)}")  # fmt: skip
            yield section(f"Difference: {name}", _left_out(len(differences), len(drawn)) + "".join(parts[:1]), *parts[1:], note(words))
        tables = _change_table(differences), _spot_table(differences)
        yield section(f"Levels before and after: {name}", _change_note(runs, averages), *tables, starts_page=not drawing.is_drawn(averages.places))


def _change_pictures(one: Difference, runs: tuple[Run, Run], range_db: float, change_scale: drawing.Scale | None) -> str:
    scale = drawing.scale_of([one.before, one.after], range_db)
    if scale is None or change_scale is None:
        return f"{heading(one.before.words)}{note('No place has a level in both runs.')}"
    parts = [picture(drawing.png_of(drawing.draw_levels(of, scale, run.microphones, _NARROW_IN)), f"{name}: largest {number(_top(of))} dB, at {_place(of)}")
             for of, run, name in ((one.before, runs[0], "Before"), (one.after, runs[1], "After"))]  # fmt: skip
    parts.append(picture(drawing.png_of(drawing.draw_change(one, change_scale, runs[0].microphones, _CHANGE_RANGE_DB, _NARROW_IN)),
                         f"B less A: {change_words(one.mean_db)} over the surface, {change_words(one.at_loudest_db)} where it was loudest"))  # fmt: skip
    return f'<div class="group">{heading(one.before.words)}{pictures(parts, "three")}</div>'


def _change_note(runs: tuple[Run, Run], averages: Averages) -> str:
    before, after = runs
    return note(f"Levels in {averages.unit}: {average_words(averages)} over {before.results.frames} frames before (A, {before.name}) and "
                f"{after.results.frames} after (B, {after.name}). Changes are B less A in dB; over the surface, those of the means of powers.")  # fmt: skip


def _change_table(differences: Sequence[Difference]) -> str:
    has_power = any(not math.isnan(one.before.power_w() + one.after.power_w()) for one in differences)
    three = [("before", 1), ("after", 1), ("change", 1)]
    groups = [("", 1), ("over the surface [dB]", 3), ("largest level [dB]", 3)] + [("power [dB re 1 pW]", 3)] * has_power
    table = Table(f"w{'nnn' * (2 + has_power)}", groups, [(further_head(differences[0].before.averages), 1), *three * (2 + has_power)])
    for one in differences:
        tops = (_top(one.before), _top(one.after))
        levels = [(*one.means_db, one.mean_db), (*tops, tops[1] - tops[0])]
        if has_power:
            before_db, after_db = (power_level(of.power_w()) for of in (one.before, one.after))
            levels.append((before_db, after_db, after_db - before_db))
        table.add(one.before.words, *(words for before, after, by in levels for words in (number(before), number(after), change(by))))
    return table.html()


def _spot_table(differences: Sequence[Difference]) -> str:
    table = Table("wwnwnwn", [("", 1), ("where it was loudest", 2), ("fell most", 2), ("rose most", 2)],
                  [(further_head(differences[0].before.averages), 1), *[("at", 1), ("[dB]", 1)] * 3])  # fmt: skip
    for one in differences:
        cells = [one.before.largest.words if one.before.largest else "–", change(one.at_loudest_db)]
        for sign in (-1, 1):
            spot = one.most(sign)
            cells += ["nowhere", "–"] if spot is None else [spot.words, change(spot.level_db)]
        table.add(one.before.words, *cells)
    words = f"Falls and rises are looked for where one of the runs is within {WITHIN_DB:g} dB of the largest level of both."
    return heading("Where it changed") + note(words) + table.html()


# ---- Words ----


def average_words(averages: Averages) -> str:
    return "the median of powers" if averages.average == "median" else "the mean of powers"


def further_head(averages: Averages) -> str:
    return ", ".join(axis.name for axis in averages.further) or "map"


def marks_words(run: Run, with_cross: bool = True) -> str:
    cross = "A cross marks the largest level. " if with_cross else ""
    if run.microphones.places_m is None:
        return f"{cross}The file does not say where the microphones stand."
    return f"{cross}Dots are microphones, red crosses masked ones."


def power_level(power_w: float) -> float:
    """Return dB re 1 pW; NaN of a power that is negative or not known."""
    return 10.0 * math.log10(power_w / POWER_REFERENCE_W) if power_w > 0.0 else math.nan


def _power_level(one: Map) -> str:
    power_w = one.power_w()
    return "negative" if power_w < 0.0 else number(power_level(power_w))


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100.0 * share:.3g} %"


def _top(one: Map) -> float:
    return one.largest.level_db if one.largest is not None else math.nan


def _either(one: Difference) -> float:
    return float(np.fmax(_top(one.before), _top(one.after)))


def _loudest(levels: Sequence[float], most: int) -> list[int]:
    """Return the numbers of the loudest, ascending."""
    order = sorted(range(len(levels)), key=lambda i: -np.nan_to_num(levels[i], nan=-math.inf))
    return sorted(order[:most])


def _left_out(all_maps: int, drawn: int) -> str:
    return note(f"The {drawn} loudest of {all_maps} are drawn (--pictures); the table has all.") if drawn < all_maps else ""


def _place(one: Map) -> str:
    return "–" if one.largest is None else one.largest.words + (" (near the edge)" if _is_at_edge(one) else "")


def _is_at_edge(one: Map) -> bool:
    """Return whether an image's largest level lies in its outermost pixels; false for images that have no others."""
    largest, sizes = one.largest, [len(axis.values) for axis in one.averages.places]
    if largest is None or one.averages.kind not in _IMAGERS or len(sizes) != 2 or min(sizes) <= 2 * _EDGE:
        return False
    return any(not _EDGE <= i < size - _EDGE for i, size in zip(largest.index, sizes, strict=True))
