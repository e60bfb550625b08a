"""Weightings of IEC 61672-1:2013 and bands of IEC 61260-1:2014: closed forms, filters of samples, and levels over time.

Filters multiply spectra of blocks by the closed form itself, up to half the sample rate: their error is that of rounding, where the bilinear design of
other packages is 0.3 dB off at 10 kHz and 2 dB at 20 kHz. They need NumPy alone.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nearfield._layout import Array

WEIGHTINGS = ("a", "c", "z")
REFERENCE_PA2 = 4e-10  # (20 uPa)^2
FAST_S, SLOW_S = 0.125, 1.0
SETTLED = 5.0  # time constants after which a time-weighted level of a steady sound is 0.03 dB below its end
EXCEEDED_PERCENT = (10, 50, 90)

_POLES_HZ = (20.598997, 107.65265, 737.86223, 12194.217)  # annex E
_ORDER = 6  # order of the low-pass that bands are made from: white noise in a band has 0.05 dB too much
_NOMINAL = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)

Response = Callable[[Array], Array]


def response(weighting: str, frequencies_hz: Array) -> Array:
    """Return the complex response of the analogue filter of annex E, 1 in magnitude at 1 kHz."""

    def of(f_hz: Array) -> Array:
        s = 1j * np.asarray(f_hz, np.float64)
        first, second, third, fourth = _POLES_HZ
        gain = (s * fourth / ((s + first) * (s + fourth))) ** 2
        return gain * (s * s / ((s + second) * (s + third)) if weighting == "a" else 1.0)

    return np.ones(np.shape(frequencies_hz), complex) if weighting == "z" else of(frequencies_hz) / abs(of(np.asarray(1000.0)))


def weighting_db(weighting: str, frequencies_hz: Any) -> Array:
    """Return the gain at frequencies, dB; that of A at 1 kHz is 0."""
    with np.errstate(divide="ignore"):
        gains_db: Array = 20.0 * np.log10(abs(response(weighting, np.asarray(frequencies_hz, np.float64))))
    return gains_db


def mean_gain(weighting: str, low_hz: float, high_hz: float) -> float:
    """Return the mean gain of powers over a band in which each part of an octave has the same power (pink noise)."""
    return float(np.mean(abs(response(weighting, low_hz * (high_hz / low_hz) ** ((np.arange(200) + 0.5) / 200.0))) ** 2))


# ---- Bands ----


@dataclasses.dataclass(frozen=True)
class Band:
    """An octave (`parts` 1) or third octave (3) of base 10, by its number: 0 is at 1 kHz."""

    parts: int
    number: int

    @property
    def centre_hz(self) -> float:
        return float(1000.0 * 10.0 ** (0.3 * self.number / self.parts))

    @property
    def edges_hz(self) -> tuple[float, float]:
        half = 10.0 ** (0.15 / self.parts)
        return self.centre_hz / half, self.centre_hz * half

    @property
    def nominal_hz(self) -> float:
        decade, step = divmod(self.number * 3 // self.parts, 10)
        return float(f"{_NOMINAL[step] * 10.0 ** (decade + 3):.12g}")

    @property
    def words(self) -> str:
        return f"{self.nominal_hz:g} Hz {'octave' if self.parts == 1 else 'third octave'}"

    def response(self, frequencies_hz: Array) -> Array:
        """Return the response of Butterworth's band-pass with -3 dB at the edges, of class 1."""
        low, high = self.edges_hz
        with np.errstate(divide="ignore", invalid="ignore"):
            s = 1j * (frequencies_hz / self.centre_hz - self.centre_hz / frequencies_hz) * self.centre_hz / (high - low)
            poles = np.exp(1j * np.pi * (2 * np.arange(_ORDER) + _ORDER + 1) / (2 * _ORDER))
            gain: Array = 1.0 / np.prod([s - pole for pole in poles], axis=0)
        return np.where(np.isfinite(gain), gain, 0.0)


def bands_between(parts: int, low_hz: float, high_hz: float) -> list[Band]:
    """Return the octaves or third octaves with their nominal frequency in a range."""
    return [band for number in range(-10 * parts, 7 * parts) if low_hz <= (band := Band(parts, number)).nominal_hz <= high_hz]


def band_of(low_hz: float, high_hz: float) -> Band | None:
    """Return the octave or third octave with these edges, to 0.1 %."""
    for parts in (1, 3):
        band = Band(parts, round(parts / 0.3 * math.log10(math.sqrt(low_hz * high_hz) / 1000.0)))
        if np.allclose(band.edges_hz, (low_hz, high_hz), rtol=1e-3):
            return band
    return None


# ---- Samples ----


@dataclasses.dataclass(frozen=True)
class Filter:
    """A weighting, of all frequencies or of a band."""

    weighting: str
    band: Band | None = None

    @property
    def memory_s(self) -> float:
        """Time after which the response to an impulse is 100 dB down."""
        return 0.1 if self.band is None else max(0.1, 14.0 / (self.band.edges_hz[1] - self.band.edges_hz[0]))

    def response(self, frequencies_hz: Array) -> Array:
        gain = response(self.weighting, frequencies_hz)
        return gain if self.band is None else gain * self.band.response(frequencies_hz)


class FilteredSquares:
    """Mean squares of filtered samples over cells of about 1 ms, block by block (overlap-add of spectra).

    Bands far below half the sample rate are formed at a lower rate. Cells with samples that are no numbers, and those that still hear them, are NaN.
    """

    _FEWEST = 16  # samples of a cell: rates are lowered by this factor at most
    _DELAY = 64  # samples: what a response cut at half the sample rate has before an impulse

    def __init__(self, rate_hz: float, filters: Sequence[Filter], channels: int) -> None:
        self._rate_hz, self._filters, self._channels = rate_hz, tuple(filters), channels
        self.cell = self._FEWEST * max(1, round(1e-3 * rate_hz / self._FEWEST))
        self.cell_s = self.cell / rate_hz
        self._rest = np.zeros((0, channels))
        self._factors = [self._factor_of(one) for one in self._filters]
        self._pads = [self._FEWEST * math.ceil((one.memory_s * rate_hz + self._DELAY) / self._FEWEST) for one in self._filters]
        self._tails = [np.zeros((0, channels)) for _ in self._filters]
        self._lost_at = np.full(channels, -np.inf)  # the last cell that is not whole
        self._cells = 0

    def _factor_of(self, one: Filter) -> int:
        highest = math.inf if one.band is None else 8.0 * one.band.edges_hz[1]
        return int(2 ** min(max(math.floor(math.log2(self._rate_hz / highest)), 0), 4)) if highest < math.inf else 1

    @staticmethod
    @functools.lru_cache(maxsize=128)
    def _gain(one: Filter, size: int, factor: int, rate_hz: float, delay: int) -> Array:
        f_hz = np.arange(size // factor // 2 + 1) * (rate_hz / size)
        gain = one.response(f_hz) / factor
        # A part of a sample makes the gain real at the end: without that jump the response before an impulse falls off within the delay.
        return np.asarray(gain * np.exp(-1j * np.angle(gain[-1]) * f_hz / f_hz[-1] - 2j * np.pi * f_hz * delay / rate_hz))

    def push(self, samples: Array) -> list[Array]:
        """Return, of each filter, the mean squares [cell, channel] of the cells that samples [sample, channel] complete."""
        samples = np.concatenate([self._rest, samples]) if len(self._rest) else np.asarray(samples, np.float64)
        count = len(samples) // self.cell
        self._rest = samples[count * self.cell :]
        if count == 0:
            return [np.zeros((0, self._channels)) for _ in self._filters]
        block = samples[: count * self.cell]
        is_number = np.isfinite(block)
        block = np.where(is_number, block, 0.0)
        whole = is_number.reshape(count, self.cell, -1).all(axis=1)
        numbers = (self._cells + np.arange(count))[:, np.newaxis]
        lost_at = np.maximum(np.maximum.accumulate(np.where(whole, -np.inf, numbers), axis=0), self._lost_at)
        self._lost_at, self._cells = lost_at[-1], self._cells + count
        found: list[Array] = []
        spectra: dict[int, Array] = {}
        for i, one in enumerate(self._filters):
            size = 2 ** math.ceil(math.log2(len(block) + self._pads[i]))
            if size not in spectra:
                spectra = {size: np.fft.rfft(block, size, axis=0)}
            factor = self._factors[i]
            gain = self._gain(one, size, factor, self._rate_hz, self._DELAY)
            filtered = np.fft.irfft(spectra[size][: len(gain)] * gain[:, np.newaxis], size // factor, axis=0)
            filtered[: len(self._tails[i])] += self._tails[i]
            self._tails[i] = filtered[len(block) // factor :][: self._pads[i] // factor].copy()
            squares = (filtered[: len(block) // factor].reshape(count, self.cell // factor, -1) ** 2).mean(axis=1)
            settled = numbers - lost_at > math.ceil(one.memory_s / 2.0 / self.cell_s)
            found.append(np.where(settled, squares, np.nan))
        return found


# ---- Time ----


class Meter:
    """A sound level meter for several columns of mean squares: F and S, the mean, and what is exceeded for a share of the time.

    F and S start at 0. Their least values, and the percentiles of F, count once five time constants have passed; a column that is shorter has no figure of that
    time weighting. Where more than four values in a row are missing both stand still. Values further apart than a time constant have none of its figures.
    """

    _STEP_DB, _LOW_DB, _HIGH_DB = 0.05, -60.0, 220.0  # steps of the distribution of levels

    def __init__(self, columns: int) -> None:
        self.count, self.lost = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
        self.seconds = np.zeros(columns)  # time of each column that F and S have seen
        self.now = {constant: np.zeros(columns) for constant in (FAST_S, SLOW_S)}
        self._sum = np.zeros(columns)
        self._most = {constant: np.zeros(columns) for constant in self.now}
        self._least = {constant: np.full(columns, np.inf) for constant in self.now}
        self._bins = round((self._HIGH_DB - self._LOW_DB) / self._STEP_DB)
        self._counts = np.zeros((columns, self._bins), np.int32)
        self._last_s = np.full(columns, np.nan)

    def push(self, ends_s: Array, squares: Array, step_s: float) -> None:
        """Add mean squares [cell, column] of times that end at `ends_s` [cell]; `step_s` is the usual one, 0 where times are not known."""
        is_number = np.isfinite(squares)
        values = np.where(is_number, squares, 0.0)
        self.count += is_number.sum(axis=0)
        self.lost += (~is_number).sum(axis=0)
        self._sum += values.sum(axis=0)
        if step_s <= 0.0 or not len(squares):
            return
        times_s = np.where(is_number, np.asarray(ends_s)[:, np.newaxis], -np.inf)
        latest_s = np.maximum.accumulate(np.concatenate([np.where(np.isnan(self._last_s), -np.inf, self._last_s)[np.newaxis], times_s]), axis=0)
        before_s = np.where(np.isfinite(latest_s[:-1]), latest_s[:-1], np.asarray(ends_s)[:, np.newaxis] - step_s)
        steps_s = np.where(is_number, np.clip(np.asarray(ends_s)[:, np.newaxis] - before_s, 0.0, 4.0 * step_s), 0.0)
        self._last_s = np.where(np.isfinite(latest_s[-1]), latest_s[-1], np.nan)
        seconds = self.seconds + np.cumsum(steps_s, axis=0)
        self.seconds = seconds[-1]
        for constant in self.now:
            if step_s > constant:
                continue
            weighted = self._weighted(values, steps_s, constant)
            counts = is_number & (seconds >= SETTLED * constant)
            self._most[constant] = np.maximum(self._most[constant], weighted.max(axis=0))
            self._least[constant] = np.minimum(self._least[constant], np.where(counts, weighted, np.inf).min(axis=0))
            if constant == FAST_S:
                levels = (decibels(weighted) - self._LOW_DB) / self._STEP_DB
                places = np.clip(np.nan_to_num(levels, neginf=0.0), 0, self._bins - 1).astype(np.int64) + self._bins * np.arange(weighted.shape[1])
                if places.size < self._counts.size // 16:  # a live frame
                    np.add.at(self._counts.reshape(-1), places[counts], 1)
                else:
                    self._counts += np.bincount(places[counts], minlength=self._counts.size).reshape(self._counts.shape).astype(np.int32)

    def _weighted(self, values: Array, steps_s: Array, constant_s: float) -> Array:
        """Return the exponential average after each cell; in pieces, so that powers of e stay small."""
        length = max(1, int(20.0 * constant_s / max(float(steps_s.max()), 1e-9)))
        found = np.empty_like(values)
        state = self.now[constant_s]
        for first in range(0, len(values), length):
            steps = steps_s[first : first + length] / constant_s
            grown = np.exp(np.cumsum(steps, axis=0))
            found[first : first + length] = (state + np.cumsum(-np.expm1(-steps) * values[first : first + length] * grown, axis=0)) / grown
            state = found[min(first + length, len(values)) - 1]
        self.now[constant_s] = state.copy()
        return found

    def figures(self) -> dict[str, Array]:
        """Return mean squares [column] by "eq", "F", "Fmax", "Fmin", "Smax", "Smin", and what is exceeded for a share of the time by "10" etc., or NaN."""
        found = {"eq": np.where(self.count > 0, self._sum / np.maximum(self.count, 1), np.nan)}
        for name, constant in (("F", FAST_S), ("S", SLOW_S)):
            is_long = np.isfinite(self._least[constant])
            found |= {f"{name}max": np.where(is_long, self._most[constant], np.nan), f"{name}min": np.where(is_long, self._least[constant], np.nan)}
        for percent in EXCEEDED_PERCENT:
            found[str(percent)] = self._exceeded(percent)
        return found

    def _exceeded(self, percent: float) -> Array:
        below = np.cumsum(self._counts, axis=1)
        found = np.full(len(below), np.nan)
        for column, counts in enumerate(below):
            if counts[-1] > 0:
                target = (1.0 - percent / 100.0) * counts[-1]
                at = int(np.searchsorted(counts, target))
                before = counts[at - 1] if at else 0
                part = (target - before) / max(counts[at] - before, 1)
                found[column] = REFERENCE_PA2 * 10.0 ** ((self._LOW_DB + self._STEP_DB * (at + part)) / 10.0)
        return found


def decibels(values: Any, reference: float = REFERENCE_PA2) -> Array:
    """Return levels of mean squares or powers; -inf at 0, NaN of what is negative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        levels: Array = 10.0 * np.log10(np.asarray(values, np.float64) / reference)
    return levels
