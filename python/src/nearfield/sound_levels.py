"""Levels as a sound level meter has them, of files and of a running daemon; ``python -m nearfield.sound_levels``, which ``nearfield levels`` runs.

Weightings, bands and time constants are those of :mod:`nearfield.weightings`.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import glob
import json
import math
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nearfield._command import Parser, exit_code_of, usage
from nearfield._layout import Array
from nearfield._level_frames import Choice, LevelColumn, Frames, Source, is_signal, product_of
from nearfield._level_sources import Signals, chosen_entries, sources_of
from nearfield._summary_run import _DOUBTFUL
from nearfield.errors import DataError, IoError, NoInputError
from nearfield.weightings import EXCEEDED_PERCENT, FAST_S, REFERENCE_PA2, SETTLED, SLOW_S, WEIGHTINGS, Meter, decibels

Path = str | os.PathLike[str]

_REFERENCES = {"Pa^2": (REFERENCE_PA2, "20 µPa", "L"), "W": (1e-12, "1 pW", "LW"), "W/m^2": (1e-12, "1 pW/m²", "LI")}
_FIGURES = ("eq", "Fmax", "Fmin", "Smax", "Smin", *map(str, EXCEEDED_PERCENT))
_MOST_WAIT_S = 0.25


@dataclasses.dataclass(frozen=True)
class Level:
    """Levels of one place and frequency, band or sum.

    Attributes
    ----------
    place, of : str
        Such as "channel 3" and "1000 Hz octave"; `of` is empty for all frequencies together.
    weighting : {"A", "C", "Z"}
    unit : {"Pa^2", "W", "W/m^2"}
        What the levels are of: in dB re 20 uPa, re 1 pW or re 1 pW/m^2.
    levels_db : dict
        "eq", the level of the mean; of pressures also "Fmax", "Fmin", "Smax", "Smin" and what is exceeded for 10, 50 and 90 % of the time by F. NaN where
        there is none, as of a signal shorter than five time constants.
    mean : float
        Mean in `unit`: the sound power, where that is W.
    values, lost : int
        How many frames, or cells of 1 ms, are in the mean, and how many had no number or were flagged.
    """

    place: str
    of: str
    weighting: str
    unit: str
    levels_db: dict[str, float]
    mean: float
    values: int
    lost: int

    def to_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        found["levels_db"] = {name: value if math.isfinite(value) else None for name, value in self.levels_db.items()}
        return found | {"mean": self.mean if math.isfinite(self.mean) else None}


def levels(path: Path, choice: Choice | None = None) -> list[Level]:
    """Return the levels of a file.

    Parameters
    ----------
    path : path
        Images, a recording, or time data as HDF5 or WAV.
    choice : Choice, optional
        Weighting, bands and places.

    Raises
    ------
    NearfieldError
        UsageError, NoInputError, DataError, each with what was found and what was expected.
    """
    with sources_of(path, choice or Choice()) as sources:
        return [level for source in sources for level in _measured(source)]


def _measured(source: Source) -> list[Level]:
    meter, step_s = Meter(len(source.columns)), 0.0
    for ends_s, squares, step_s in source.blocks():
        meter.push(ends_s, squares, step_s)
    if not meter.count.any():
        raise DataError(" ".join([f"{source.title}: expected values, found none that is a number and whose frame has no flag.", *source.notes]).rstrip("."), 65)
    lost = int(meter.lost[meter.count > 0].max())
    if lost:
        total = lost + int(meter.count[meter.count > 0].min())
        source.notes.append(f"{lost} of {total} {source.lost_words} are flagged, missing or no numbers, and are left out.")
    if source.unit == "Pa^2" and step_s > 0.0:
        for name, constant in (("F", FAST_S), ("S", SLOW_S)):
            seconds = float(meter.seconds.max())
            if step_s > constant:
                source.notes.append(f"Frames {step_s:.3g} s apart do not show {name} ({constant:g} s).")
            elif seconds < SETTLED * constant:
                source.notes.append(f"{seconds:.3g} s are too short for {name}, which takes {SETTLED * constant:g} s.")
    return levels_of(source.columns, meter, source.unit, step_s)


def levels_of(columns: Sequence[LevelColumn], meter: Meter, unit: str, step_s: float) -> list[Level]:
    """Return what a meter has of its columns; without a time weighting whose time constant is shorter than the step between values."""
    figures = meter.figures()
    for name in _FIGURES:
        if name != "eq" and (unit != "Pa^2" or step_s > (SLOW_S if name.startswith("S") else FAST_S)):
            figures[name] = np.full(len(columns), np.nan)
    in_db = {name: decibels(figures[name], _REFERENCES[unit][0]) for name in _FIGURES}
    return [Level(column.place, column.of, column.weighting, unit, {name: float(values[i]) for name, values in in_db.items()}, float(figures["eq"][i]),
                  int(meter.count[i]), int(meter.lost[i])) for i, column in enumerate(columns)]  # fmt: skip


def means_of(found: Sequence[Level]) -> list[Level]:
    """Return the energetic means over microphones, of each band; none of fewer than two. They have no time weighting."""
    means = []
    for of in dict.fromkeys(one.of for one in found):
        heard = [one for one in found if one.of == of and re.match(r"(microphone|channel) \d", one.place) and math.isfinite(one.mean)]
        if len(heard) > 1:
            mean = math.fsum(one.mean for one in heard) / len(heard)
            in_db = dict.fromkeys(_FIGURES, math.nan) | {"eq": float(decibels(mean, _REFERENCES[heard[0].unit][0]))}
            means.append(dataclasses.replace(heard[0], place=f"mean of {len(heard)} microphones", levels_db=in_db, mean=mean,
                                             values=min(one.values for one in heard), lost=max(one.lost for one in heard)))  # fmt: skip
    return means


# ---- Output ----


def _names(level: Level) -> list[str]:
    """Return "LAeq", "LAFmax", ..., "LA90"; "LWA" of powers."""
    start = _REFERENCES[level.unit][2]
    if level.unit != "Pa^2":
        return [f"{start}{level.weighting}"]
    return [f"{start}{level.weighting}{name}" for name in _FIGURES]


def _number(value: float) -> str:
    return f"{value:.1f}".replace("-", "−") if math.isfinite(value) else "–"


def table_of(found: Sequence[Level]) -> str:
    """Return the levels as lines of text."""
    is_power = found[0].unit != "Pa^2"
    heads = ["", *(["power [W]" if found[0].unit == "W" else "mean [W/m²]"] if is_power else []), *_names(found[0])]
    rows = [heads]
    for one in found:
        values = [_number(one.levels_db["eq"])] if is_power else [_number(one.levels_db[name]) for name in _FIGURES]
        rows.append([", ".join(word for word in (one.place, one.of) if word), *([f"{one.mean:.4g}"] if is_power else []), *values])
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
                     for row in rows)  # fmt: skip


def _print(found: Sequence[Level], title: str, notes: Sequence[str], form: str) -> None:
    if form == "json":
        print(json.dumps({"title": title, "reference": _REFERENCES[found[0].unit][1], "levels": [one.to_dict() for one in found], "notes": list(notes)},
                         ensure_ascii=False, indent=2))  # fmt: skip
        return
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["place", "of", "mean", "unit", *_names(found[0]), "values", "lost"])
        for one in found:
            names = _FIGURES if one.unit == "Pa^2" else ("eq",)
            writer.writerow([one.place, one.of, f"{one.mean:.6g}", one.unit, *(f"{one.levels_db[name]:.2f}" for name in names), one.values, one.lost])
        sys.stderr.writelines(f"nearfield: note: {note}\n" for note in notes)
        return
    print(f"{title}\nLevels in dB re {_REFERENCES[found[0].unit][1]}, weighting {found[0].weighting}")
    print(table_of(found))
    for note in notes:
        print(note)


# ---- Live ----


def _product(ring: Any, choice: Choice) -> Any:
    return product_of([one for one in ring.layout.products if one.form == 0], choice, ring.layout.processor)


class Live:
    """The meter of a running daemon: frames of one product, as they come."""

    def __init__(self, ring: Any, choice: Choice) -> None:
        self.product = _product(ring, choice)
        ring.select([self.product.name])
        self._is_signal = is_signal(self.product)
        self._choice = choice
        if self._is_signal:
            self._entries = chosen_entries(math.prod(self.product.shape[:-1]), choice)
            entries = [f"beam {i}" for i in self._entries]
            self._rate_hz = 1.0 / float(np.median(np.diff(self.product.axes[-1].values)))
            self._signals = Signals(self._rate_hz, entries, choice)
            self.columns, self.unit, self.notes = self._signals.columns, "Pa^2", []
        else:
            frames = Frames(self.product, choice)
            self._reduce, self.columns, self.unit, self.notes = frames.reduce, frames.columns, frames.unit, frames.notes
        of_entry = [i for i, column in enumerate(self.columns) if column.place == self.columns[0].place]
        self.shown = next((i for i in of_entry if self.columns[i].of in ("", "sum")), of_entry[0])
        self.meter = Meter(len(self.columns))
        self.frames = self.flagged = self.absent = self.flags = 0
        self.step_s = 0.0
        self._first: tuple[int, int] | None = None  # time and sequence of the first frame
        self._sequence, self._hops, self._at_s = 0, 0, 0.0
        self._waiting: list[Array] = []

    def push(self, frame: Any) -> None:
        """Add a frame; what is missing before it, and a frame with a flag that makes levels doubtful, is lost."""
        values = frame[self.product.name]
        is_lost = bool(frame.flags & _DOUBTFUL)
        absent, at_s = self._absent(frame)
        self.frames += 1
        self.flagged += is_lost
        self.flags |= frame.flags & _DOUBTFUL
        self.absent += absent
        if self._is_signal:
            samples = values.reshape(-1, values.shape[-1])[self._entries].T.astype(np.float64)
            missing = min(absent * len(samples), round(self._rate_hz))
            self._waiting += [np.full((missing, samples.shape[1]), np.nan), np.full(samples.shape, np.nan) if is_lost else samples]
            if sum(map(len, self._waiting)) >= 0.25 * self._rate_hz:
                self.flush()
            return
        row = np.full(len(self.columns), np.nan) if is_lost else self._reduce(values)
        self.meter.push(np.array([at_s]), row[np.newaxis], self.step_s)

    def _absent(self, frame: Any) -> tuple[int, float]:
        """Return how many frames are missing before this one, and its time in s by the mean time of a hop; a stream that restarts goes on."""
        if self._first is None or frame.sequence <= self._sequence or frame.capture_tai_ns <= self._first[0]:
            self._first, self._sequence, self._at_s = (frame.capture_tai_ns, frame.sequence), frame.sequence, self._at_s + self.step_s
            return 0, self._at_s
        hops = frame.sequence - self._sequence
        self._hops = min(self._hops or hops, hops)
        self._sequence = frame.sequence
        self.step_s = (frame.capture_tai_ns - self._first[0]) * 1e-9 * self._hops / (frame.sequence - self._first[1])
        self._at_s += self.step_s * hops / self._hops
        return hops // self._hops - 1, self._at_s

    @property
    def lost(self) -> int:
        return self.absent + self.flagged

    def counts(self) -> str:
        flags = f" ({self.flags})" if self.flags else ""
        return f"{self.frames} frames, {self.flagged} of them left out for flags that make levels doubtful{flags}; {self.absent} more were lost"

    def flush(self) -> None:
        if self._waiting:
            self.meter.push(*self._signals.push(np.concatenate(self._waiting)))
            self._waiting = []

    def line(self) -> list[float]:
        """Return LF, LS, Leq, L10, L50 and L90 of the column that is shown, dB; the time-weighted ones from their settling on."""
        figures, reference = self.meter.figures(), _REFERENCES[self.unit][0]
        now = [self.meter.now[constant][self.shown] if self.meter.seconds[self.shown] >= SETTLED * constant and self.step_s <= constant else np.nan
               for constant in (FAST_S, SLOW_S)]  # fmt: skip
        return [float(decibels(value, reference)) for value in (*now, figures["eq"][self.shown], *(figures[str(p)][self.shown] for p in EXCEEDED_PERCENT))]

    def heads(self) -> list[str]:
        start = f"{_REFERENCES[self.unit][2]}{self.columns[self.shown].weighting}"
        return [f"{start}F", f"{start}S", f"{start}eq", *(f"{start}{percent}" for percent in EXCEEDED_PERCENT)]


def _seconds(ring: Any, meter: Live, end_s: float) -> Iterator[int]:
    """Yield the number of each second once its frames are in the meter."""
    from nearfield.ring import RingEnded

    start_s, second = time.monotonic(), 0
    while True:
        now_s = time.monotonic() - start_s
        if now_s >= second + 1:
            second = int(now_s)
            yield second
        if now_s >= end_s:
            return
        try:
            frame = ring.next(timeout_s=min(_MOST_WAIT_S, second + 1 - now_s))
        except RingEnded as error:
            raise IoError(f"the daemon ended: {error.message}", 74) from error
        if frame is not None:
            meter.push(frame)


@contextlib.contextmanager
def _live(socket: str | None, choice: Choice) -> Iterator[tuple[Any, Live]]:
    """Yield the ring of the chosen processor, or of the first with levels, and its meter."""
    from nearfield.ring import Ring, RingError

    with contextlib.ExitStack() as stack:
        try:
            ring = first = stack.enter_context(Ring(socket, choice.processor or None))
        except RingError as error:
            where, whose = f"{socket}: " if socket else "", f" with the processor {choice.processor}" if choice.processor else ""
            raise NoInputError(f"{where}expected a ring of nearfieldd{whose}: {error.message}", 66) from error
        names = [] if choice.processor else _further(socket)
        while not _has_product(ring, choice):
            if not names:
                ring = first  # whose error says what was expected
                break
            with contextlib.suppress(RingError):  # a socket may be left from an earlier daemon
                ring = stack.enter_context(Ring(socket, names.pop(0)))
        yield ring, Live(ring, choice)


def _has_product(ring: Any, choice: Choice) -> bool:
    try:
        return bool(_product(ring, choice))
    except DataError:
        return False


def _further(socket: str | None) -> list[str]:
    """Return the names of processors with sockets beside the first one's, in the order in which the daemon made these; the library refuses others' names."""
    user, session = os.environ.get("NEARFIELD_RUNTIME_DIR"), os.environ.get("XDG_RUNTIME_DIR")
    folders = [user, f"{session}/nearfield" if session else None, "/run/nearfield"]
    paths = [pathlib.Path(socket)] if socket else [pathlib.Path(folder, "frames.sock") for folder in folders if folder]
    found = [one for path in paths for one in path.parent.glob(f"{glob.escape(path.stem)}.*.sock")]
    return [one.name.split(".")[-2] for one in sorted(found, key=lambda one: (one.stat().st_mtime_ns, one.name))]


def live(socket: str | None, choice: Choice, duration_s: float, form: str) -> None:
    """Print a line a second of a running daemon, until Ctrl-C or for `duration_s`, then the levels of the whole time."""
    with _live(socket, choice) as (ring, meter):
        ring.latest()  # frames from before the command are none of its
        column, ended = meter.columns[meter.shown], None
        title = f"{ring.layout.processor}, {meter.product.name} ({meter.product.quantity})"
        if form != "json":
            of = ", ".join(word for word in (column.place, column.of) if word)
            print(f"{title}: {of}, dB re {_REFERENCES[meter.unit][1]}" if form == "table" else ",".join(["time_s", *meter.heads(), "lost_frames"]))
        if form == "table":
            print("    time " + "".join(f"{head:>8}" for head in meter.heads()) + "    lost", flush=True)
        try:
            for second in _seconds(ring, meter, duration_s or math.inf):
                if form == "table":
                    print(f"{second:6d} s " + "".join(f"{_number(value):>8}" for value in meter.line()) + f"{meter.lost:>8}", flush=True)
                elif form == "csv":
                    print(",".join([str(second), *(f"{value:.2f}" for value in meter.line()), str(meter.lost)]), flush=True)
        except KeyboardInterrupt:
            print(file=sys.stderr)
        except IoError as error:
            ended = error
        meter.flush()
        if not meter.meter.count.any():
            raise ended or DataError(f"{title}: expected frames with numbers and no flag, found none: {meter.counts()}", 65)
        step_s = 0.0 if is_signal(meter.product) else meter.step_s
        found = levels_of(meter.columns, meter.meter, meter.unit, step_s)
        notes = [*meter.notes, f"{meter.counts()}."]
        if form != "csv":
            _print([*found, *means_of(found)], title, notes, form)
        if ended is not None:
            raise ended


# ---- Command line ----


def _numbers(option: str, text: str, count: int) -> tuple[float, ...] | None:
    if not text:
        return None
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError:
        values = ()
    if len(values) != count or not all(map(math.isfinite, values)):
        raise usage("levels", f"--{option}: expected {count} numbers with commas between them, found {text}")
    return values


def _run(words: Sequence[str] | None) -> int:
    parser = Parser("levels", prog="python -m nearfield.sound_levels", description="Print levels as a sound level meter has them, as nearfield levels does")
    parser.add_argument("input", nargs="?", help="images (.h5), a recording (.nfr), or time data (.h5, .wav); without it, a running daemon")
    parser.add_argument("--socket", default="", help="where the daemon hands over its ring")
    parser.add_argument("--processor", default="", help="whose results")
    parser.add_argument("--product", default="", help="which of them")
    parser.add_argument("--weighting", default="", choices=("", *WEIGHTINGS))
    parser.add_argument("--bands", default="", choices=("", "octave", "third"))
    parser.add_argument("--range", default="", help="LOW,HIGH, nominal centres of bands, Hz")
    parser.add_argument("--at", default="", help="X,Y: the nearest pixel")
    parser.add_argument("--region", default="", help="X0,X1,Y0,Y1: the pixels whose centres are in it")
    parser.add_argument("--entry", type=int, help="number of a microphone, point, beam or sector")
    parser.add_argument("--pascal-per-unit", type=float)
    parser.add_argument("--duration", type=float, default=0.0, help="s, of a running daemon")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--csv", action="store_true")
    chosen = parser.parse_args(words)
    if chosen.at and chosen.region:
        raise usage("levels", "--at, --region: expected one of them, found both")
    if chosen.range and not chosen.bands:
        raise usage("levels", "--range: expected --bands with it, found none")
    if chosen.input and (chosen.socket or chosen.duration):
        raise usage("levels", f"--socket, --duration: expected none with a file, found {chosen.input}")
    if chosen.pascal_per_unit is not None and not (math.isfinite(chosen.pascal_per_unit) and chosen.pascal_per_unit > 0.0):
        raise usage("levels", f"--pascal-per-unit: expected a number > 0, found {chosen.pascal_per_unit:g}")
    choice = Choice(chosen.weighting, {"": 0, "octave": 1, "third": 3}[chosen.bands], _numbers("range", chosen.range, 2),  # type: ignore[arg-type]
                    _numbers("at", chosen.at, 2), _numbers("region", chosen.region, 4), chosen.entry, chosen.processor,  # type: ignore[arg-type]
                    chosen.product, chosen.pascal_per_unit)  # fmt: skip
    form = "json" if chosen.json else "csv" if chosen.csv else "table"
    if not chosen.input:
        live(chosen.socket or None, choice, chosen.duration, form)
        return 0
    with sources_of(chosen.input, choice) as sources:
        found = [level for source in sources for level in _measured(source)]
        _print([*found, *means_of(found)], sources[0].title, list(dict.fromkeys(note for source in sources for note in source.notes)), form)
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return exit_code_of(lambda: _run(words), "nearfield")


if __name__ == "__main__":
    sys.exit(main())
