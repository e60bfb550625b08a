"""Facts that a summary says of one run, and remarks that a reader needs before trusting its levels."""

from __future__ import annotations

import dataclasses
import datetime
import math
import pathlib
from collections.abc import Sequence

import numpy as np

from nearfield._layout import Array
from nearfield._results import _FIRST_DATE_NS, Results
from nearfield._runs import Flag, Microphones, attribute_of, figure_of, flags_of, microphones_of
from nearfield.levels import Averages, Map, averages_of, maps_of, processor_of

# Flags with which levels are wrong, by docs/use/operations.md: missing bits, no numbers, full scale, missing information, other settings, no search yet.
_DOUBTFUL = 4 | 16 | 32 | 1024 | 2048 | 4096
_NOT_SAID = "not said by the file"
_STRONG_DB = 20.0


@dataclasses.dataclass(frozen=True)
class Run:
    """One file with the averages of one of its processors."""

    path: str
    results: Results
    others: list[str]  # further processors with results
    averages: list[Averages]  # one for each product with levels over places
    microphones: Microphones
    flags: list[Flag]

    @classmethod
    def of(cls, path: str, all_results: Sequence[Results], processor: str, average: str) -> Run:
        results = processor_of(all_results, processor, path)
        averages = [averages_of(results, product, average) for product in maps_of(results)]
        others = [one.name for one in all_results if one.frames and one.name != results.name]
        return cls(path, results, others, averages, microphones_of(results), flags_of(results))

    @property
    def name(self) -> str:
        return pathlib.Path(self.path).name

    def when(self) -> str:
        first, last = int(self.results.times_ns[0]), int(self.results.times_ns[-1])
        if first < _FIRST_DATE_NS:
            return "not said by the file"
        return f"{_date(first)} to {_date(last)} TAI" if last > first else f"{_date(first)} TAI"

    def frames_words(self) -> str:
        count, span_s = self.results.frames, (int(self.results.times_ns[-1]) - int(self.results.times_ns[0])) / 1e9
        return f"{count}" + (f", the first and the last {span_s:.4g} s apart" if span_s > 0.0 else "")


def _date(stamp_ns: int) -> str:
    date = datetime.datetime.fromtimestamp(stamp_ns // 10**9, datetime.timezone.utc)
    return f"{date:%F %T}.{stamp_ns % 10**9 // 10**6:03}"




def facts_of(run: Run) -> dict[str, str]:
    """Return what the head of a summary says of a run, by names."""
    kind = attribute_of(run.results, "kind")
    processor = f"{run.results.name} ({kind})" if kind and kind != run.results.name else run.results.name
    return {
        "File": run.path,
        "Recorded": run.when(),
        "Frames": run.frames_words(),
        "Processor": processor + (f"; not shown: {', '.join(run.others)} (--processor)" if run.others else ""),
        "Shown": "; ".join(map(_shown_words, run.averages)),
        "Frequencies": _frequencies_of(run),
        "Microphones": run.microphones.words(),
        "Device": attribute_of(run.results, "device") or _NOT_SAID,
        "Front end": attribute_of(run.results, "front_end") or _NOT_SAID,
    }


def quantity_of(averages: Averages) -> str:
    """Return "active intensity"."""
    return averages.product.quantity.replace("_", " ") or averages.product.name


def _shown_words(averages: Averages) -> str:
    places = " x ".join(str(len(axis.values)) for axis in averages.places)
    return f"{averages.product.name}: {quantity_of(averages)}, {places} {'points' if len(averages.places) == 1 else 'pixels'}"


def _frequencies_of(run: Run) -> str:
    for averages in run.averages:
        for axis in averages.further:
            if axis.name == "frequency":
                values = [f"{value:.6g}" for value in axis.values]
                return f"{', '.join(values) if len(values) <= 8 else f'{len(values)} from {values[0]} to {values[-1]}'} Hz"
    return "none one by one"


def errors_of(results: Results) -> list[tuple[str, float, float, float]]:
    """Return each frequency with its expected error in the frame with the least, in the median, and in the frame with the largest, as shares."""
    found = figure_of(results, "error_estimate")
    if found is None or len(found[0]) != 1:
        return []
    axis, values = found[0][0], found[1]
    columns = [(f"{hz:.6g} Hz", column[np.isfinite(column)]) for hz, column in zip(axis.values, values.T, strict=True)]
    return [(words, float(column.min()), float(np.median(column)), float(column.max())) if len(column) else (words, math.nan, math.nan, math.nan)
            for words, column in columns]  # fmt: skip


def error_of_map(one: Map) -> float:
    """Return the median over the frames of a map's expected error, as a share; NaN where it is not known."""
    return one.averages.figure("error_estimate", one.entries, np.nanmedian)


def strong_places(one: Map) -> Array:
    """Return where a map is at most 20 dB below its largest level."""
    levels_db = one.levels_db
    return levels_db >= (np.nan if one.largest is None else one.largest.level_db) - _STRONG_DB


def remarks_of(run: Run, of: str) -> list[str]:
    """Return sentences that a reader has to know; `of` is " of NAME" where there are several runs."""
    frames = run.results.frames
    remarks = [f"{flag.frames} of {frames} frames{of} carry the flag “{flag.words}”: their levels are doubtful, and the averages include them."
               for flag in run.flags if flag.number & _DOUBTFUL]  # fmt: skip
    if frames == 1:
        remarks.append(f"There is one frame{of} alone: its levels are no average.")
    for one in run.averages:
        lost, nowhere = int((frames - one.counts[one.counts > 0]).sum()), int((one.counts == 0).sum())
        if lost:
            remarks.append(f"{lost} of {frames * one.counts.size} values of {one.product.name}{of} are not finite and are left out.")
        if nowhere:
            remarks.append(f"{nowhere} of {one.counts.size} values of {one.product.name}{of} are a number in no frame; pictures are hatched there.")
        strong = [(strong_places(map_), map_.powers < 0.0) for map_ in one.maps()] if one.has_signs else []
        negative = sum(int((is_strong & is_negative).sum()) for is_strong, is_negative in strong)
        if negative:
            count = sum(int(is_strong.sum()) for is_strong, _ in strong)
            remarks.append(f"Power flows away from the microphones at {negative} of the {count} places of {one.product.name}{of} that are within "
                           f"{_STRONG_DB:g} dB of their map's largest level; levels are those of magnitudes.")  # fmt: skip
    if run.microphones.found:
        remarks.append(f"Microphones{of} were found bad and masked: {', '.join(map(str, run.microphones.found))}.")
    array = run.results.settings("summary").get("array")
    if isinstance(array, dict) and array.get("calibration") == "null":
        remarks.append(f"The microphones{of} have no calibration: levels are as exact as the sensitivity that was set or that the recording states.")
    largest = max((high for _, _, _, high in errors_of(run.results) if not math.isnan(high)), default=0.0)
    if largest >= 1.0:
        remarks.append(f"The expected error{of} reaches {100.0 * largest:.0f} %: an image is then as wrong as it is large.")
    return remarks
