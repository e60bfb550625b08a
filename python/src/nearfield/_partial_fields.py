"""Partial fields: what microphones have of sources that do not depend on each other, by references that stay where they are.

References that stay where they are tie recordings together that were made one after another. With windows' spectra r of the references and p of the
microphones, and the mean over windows < >,

    S_rr = <r r^H>,   S_pr = <p r^H>,   S_rr = V diag(s) V^H.

The virtual references z = V^H r do not depend on each other, s_i is the power of each, and what the microphones have of each is a partial field,

    P_i = S_pr V_i / sqrt(s_i),   sum over i of |P_i|^2 = coherence^2 <|p|^2>,

with the multiple coherence between the microphone and all references. Each P_i is coherent and is imaged like one tone; powers of images add up.

No two recordings have the same S_rr. V and s are those of the mean over all positions, and each position gives its transfer functions alone,

    H = <p z^H> <z z^H>^-1,   P_i = H_i sqrt(s_i),

so that a source that is louder in one position leaves no step between it and the next. Before, each reference is multiplied by the root of the share of the
array's sound that it explains alone, over its rms: s is free of units, and a reference of noise has a small one.

There are as many partial fields as the P_i have singular values over the microphones that are no noise: noise of the references changes the P_i but not their
rank, and microphones' noise and sources without a reference, power e, leave e / windows by chance. With the strongest right singular vectors W of the P_i, the
references' principal axes are those of what they have of these sources: diag(sqrt(s)) W = A L Q^H, and P W Q are the partial fields; P itself without noise.

Sources: J. Hald, "STSF - a unique technique for scan-based near-field acoustic holography without restrictions on coherence", Brüel & Kjær Technical
Review 1 (1989); S. M. Price and R. J. Bernhard, "Virtual coherence: a digital signal processing technique for incoherent source identification", Proc. IMAC 4
(1986); J. S. Bendat and A. G. Piersol, Random Data, 4th ed. (2010), chapters 7 and 9, on multiple coherence and on errors by chance.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from nearfield._combine_plan import MOST_FREQUENCIES, Plan, Position, Samples, samples_of
from nearfield._layout import Array
from nearfield.errors import DataError

_WINDOWS_A_REFERENCE = 4  # fewest: by chance the multiple coherence is references / windows
_OF_CHANCE, _LEAST_SHARE = 10.0, 1e-3  # times what chance has, and share of the sound: a shape of a field below either is noise
_LEAST_SINGULAR = 1e-10  # share of the largest, below which is the rounding of samples
_BLOCK = 1 << 22  # values that are transformed together


# ---- Cross-spectra ----


@dataclasses.dataclass(frozen=True)
class CrossSpectra:
    """Means over the windows of one position, of peak phasors: of references in their own units, of microphones in Pa."""

    references: Array  # S_rr [frequency, reference, reference]
    microphones: Array  # S_pr [frequency, microphone, reference]
    power_pa2: Array  # <|p|^2> [frequency, microphone]
    windows: int
    unit: str  # unit of the references in their file


def frequencies_of(plan: Plan, samples: Samples) -> Array:
    bin_hz = samples.rate_hz / plan.window_samples
    least_hz, limit_hz = 2.0 * bin_hz, samples.rate_hz / 2.0
    if plan.band_hz is None:
        for frequency_hz in plan.frequencies_hz:
            if not least_hz <= frequency_hz < limit_hz:
                plan.fail("frequencies_hz", f"from {least_hz:g} Hz, two periods a window, to below half of {samples.rate_hz:g} Hz", f"{frequency_hz:g}")
        return np.array(plan.frequencies_hz)
    bins = np.arange(2, (plan.window_samples + 1) // 2) * bin_hz
    chosen = bins[(bins >= plan.band_hz[0]) & (bins <= plan.band_hz[1])]
    if plan.band_hz[1] >= limit_hz or not 1 <= len(chosen) <= MOST_FREQUENCIES:
        found = f"{plan.band_hz[0]:g} to {plan.band_hz[1]:g} Hz with {len(chosen)}"
        plan.fail("band_hz", f"a band below half of {samples.rate_hz:g} Hz with 1 to {MOST_FREQUENCIES} multiples of {bin_hz:g} Hz", found)
    return chosen


def _channels_of(plan: Plan, position: Position, array: Samples, references: Samples) -> tuple[Array, Array]:
    """Return the channels of microphones and of references, each in its file."""
    for key, channels, of in (("array.channels", plan.channels, array), ("reference_channels", plan.reference_channels, references)):
        if channels and max(channels) >= of.channels:
            plan.fail(key, f"channels from 0 to {of.channels - 1}, those of {of.name}", f"{max(channels)}")
    of_references = plan.reference_channels or tuple(range(references.channels))
    is_beside = position.references == position.file
    others = tuple(channel for channel in range(array.channels) if not (is_beside and channel in of_references))
    microphones = plan.channels or others
    if len(microphones) != len(plan.places_m):
        beside = f" and {len(of_references)} references" if is_beside else ""
        raise DataError(f"{array.name}: expected {len(plan.places_m)} microphones{beside}, found {array.channels} channels; array.channels chooses", 65)
    if array.rate_hz != references.rate_hz or array.count != references.count:
        raise DataError(f"{references.name}: expected the {array.count} samples at {array.rate_hz:g} Hz of {array.name}, "
                        f"found {references.count} at {references.rate_hz:g} Hz", 65)  # fmt: skip
    return np.array(microphones), np.array(of_references)


@contextlib.contextmanager
def opened_position(position: Position) -> Iterator[tuple[Samples, Samples]]:
    with samples_of(position.file) as array, contextlib.ExitStack() as stack:
        yield array, array if position.references == position.file else stack.enter_context(samples_of(position.references))


def measured(plan: Plan, position: Position, frequencies_hz: Array, rate_hz: float) -> CrossSpectra:
    with opened_position(position) as (array, references):
        if array.rate_hz != rate_hz:
            raise DataError(f"{array.name}: expected {rate_hz:g} Hz, the rate of {plan.positions[0].file}, found {array.rate_hz:g} Hz", 65)
        microphones, of_references = _channels_of(plan, position, array, references)
        pascal = array.pascal(plan)
        length, step = plan.window_samples, plan.window_samples // 2
        windows = 1 + (array.count - length) // step if array.count >= length else 0
        if windows < _WINDOWS_A_REFERENCE * len(of_references):
            raise DataError(f"{array.name}: expected at least {_WINDOWS_A_REFERENCE} windows of {length} samples for each of {len(of_references)} references, "
                            f"found {windows} windows in {array.count} samples", 65)  # fmt: skip
        shape = len(frequencies_hz), len(microphones), len(of_references)
        of_both = np.zeros((shape[0], shape[2], shape[2]), np.complex128)
        of_microphones, power = np.zeros(shape, np.complex128), np.zeros(shape[:2])
        count = max(1, _BLOCK // (length * (shape[1] + shape[2])))
        for first in range(0, windows, count):
            begin, end = first * step, (min(first + count, windows) - 1) * step + length
            p = pascal * _spectra(array.read(begin, end, microphones), length, frequencies_hz / rate_hz)
            r = _spectra(references.read(begin, end, of_references), length, frequencies_hz / rate_hz)
            conjugate = r.conj().transpose(1, 0, 2)
            of_both += r.transpose(1, 2, 0) @ conjugate
            of_microphones += p.transpose(1, 2, 0) @ conjugate
            power += (np.abs(p) ** 2).sum(axis=0)
    found = CrossSpectra(of_both / windows, of_microphones / windows, power / windows, windows, references.unit)
    levels = np.einsum("frr->r", found.references).real
    for i in np.flatnonzero(~(np.isfinite(levels) & (levels > 0.0))):
        said = "silence" if levels[i] == 0.0 else "values that are no numbers"
        raise DataError(f"{references.name}: expected a signal of the reference in channel {of_references[i]}, found {said}", 65)
    return found


def _spectra(samples: Array, length: int, cycles: Array) -> Array:
    """Return peak phasors [window, frequency, channel] of Hann windows half a window apart, without each window's mean; cycles are of a sample."""
    windows = np.lib.stride_tricks.sliding_window_view(samples, length, axis=0)[:: length // 2]
    taper = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / length)
    tapered = (windows - windows.mean(axis=-1, keepdims=True)) * (taper * (2.0 / taper.sum()))
    bins = cycles * length
    if len(bins) > np.log2(length) and np.allclose(bins, np.rint(bins), rtol=0.0, atol=1e-6):
        spectra: Array = np.fft.rfft(tapered)[..., np.rint(bins).astype(int)]
    else:
        spectra = tapered @ np.exp(-2j * np.pi * np.outer(np.arange(length), cycles))
    return spectra.swapaxes(1, 2)


# ---- Partial fields ----


@dataclasses.dataclass(frozen=True)
class Fields:
    """Partial fields at one frequency, the strongest first; lists have an entry a position."""

    singular_values: Array  # [reference], of references whose mean square is their share of the array's sound
    shares: Array  # parts of the array's sound [field]
    references: Array  # [reference, field], in the references' own units
    pressures_pa: list[Array]  # [microphone, field]
    variances_pa2: list[Array]  # by chance, of pressures
    coherences: list[Array]  # multiple coherence squared [microphone]
    seen: Array  # share of the sound with the references [position]


def fields_at(cross: Sequence[CrossSpectra], f: int) -> Fields:
    """Return the partial fields at the frequency number f."""
    mean = np.mean([one.references[f] for one in cross], axis=0)
    windows, total = float(np.mean([one.windows for one in cross])), sum(finite_sum(one.power_pa2[f]) for one in cross)
    scale = np.sqrt([_share_of(cross, f, r, total, windows) / power for r, power in enumerate(mean.diagonal().real)])
    values, vectors = (found[..., ::-1] for found in np.linalg.eigh(scale[:, np.newaxis] * mean * scale))
    values = np.maximum(values, 0.0)
    usable = values > _LEAST_SINGULAR * values[0]
    basis, rms = scale[:, np.newaxis] * vectors[:, usable], np.sqrt(values[usable])
    found = [_regression(one, f, basis) for one in cross]
    fields = [transfer * rms for transfer, *_ in found]
    rest = [np.maximum(one.power_pa2[f] - explained, 0.0) * (one.windows / (one.windows - len(rms)))  # without what chance explains
            for one, (_, explained, _) in zip(cross, found, strict=True)]  # fmt: skip
    signal = _signal_of(fields, total, sum(map(finite_sum, rest)) / windows, rms)
    signal = signal / np.exp(1j * np.angle(_largest(vectors[:, usable] * rms @ signal)))  # 0 at the reference that has most
    pressures = [one @ signal for one in fields]
    powers = np.sum([np.nansum(np.abs(one) ** 2, axis=0) for one in pressures], axis=0)
    return Fields(
        singular_values=values,
        shares=powers / powers.sum() * max(0.0, 1.0 - sum(map(finite_sum, rest)) / total) if len(powers) else powers,
        references=mean @ basis / rms @ signal,
        pressures_pa=pressures,
        variances_pa2=[np.outer(unexplained, np.einsum("ri,rs,si->i", (rms[:, np.newaxis] * signal).conj(), inverse, rms[:, np.newaxis] * signal).real)
                       / one.windows for one, unexplained, (_, _, inverse) in zip(cross, rest, found, strict=True)],
        coherences=[np.maximum(1.0 - unexplained / np.where(one.power_pa2[f] > 0.0, one.power_pa2[f], np.nan), 0.0)
                    for one, unexplained in zip(cross, rest, strict=True)],
        seen=np.array([max(0.0, 1.0 - finite_sum(unexplained) / finite_sum(one.power_pa2[f])) for one, unexplained in zip(cross, rest, strict=True)]),
    )  # fmt: skip


def _signal_of(fields: Sequence[Array], total: float, by_chance: float, rms: Array) -> Array:
    """Return the virtual references that are no noise, as unit vectors [virtual reference, field] over those of all singular values.

    Noise of the references changes what the fields [microphone, virtual reference] of a position are, not their rank, the number of sources that the references
    see: what is beyond it is chance. The vectors span what the array has of these sources, and are the principal axes of the references there.
    """
    shapes = np.sum([np.linalg.svd(np.nan_to_num(one), compute_uv=False) ** 2 for one in fields], axis=0)
    count = int((shapes > max(_LEAST_SHARE * total, _OF_CHANCE * by_chance)).sum())
    span = np.linalg.svd(np.nan_to_num(np.concatenate(fields)), full_matrices=False)[2][:count].conj().T
    turn: Array = np.linalg.svd(rms[:, np.newaxis] * span, full_matrices=False)[2].conj().T
    signal: Array = span @ turn
    return signal


def _largest(columns: Array) -> Array:
    """Return the entry of each column with the largest magnitude."""
    found: Array = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[np.newaxis], axis=0)[0]
    return found


def _share_of(cross: Sequence[CrossSpectra], f: int, r: int, total: float, windows: float) -> float:
    """Return the share of the array's sound that one reference explains alone, less what chance has it explain."""
    powers = [float(one.references[f, r, r].real) for one in cross]
    heard = sum(finite_sum(np.abs(one.microphones[f, :, r]) ** 2) / power for one, power in zip(cross, powers, strict=True) if power > 0.0)
    return max(heard / total - 1.0 / windows, 0.0) if total and all(powers) else 0.0


def finite_sum(values: Array) -> float:
    return float(np.nansum(values))


def _regression(one: CrossSpectra, f: int, basis: Array) -> tuple[Array, Array, Array]:
    """Return the microphones' transfer functions to virtual references [microphone, virtual], the power they explain, and <z z^H>^-1."""
    inverse = np.linalg.inv(basis.conj().T @ one.references[f] @ basis)
    cross = one.microphones[f] @ basis
    transfer = cross @ inverse
    return transfer, (transfer * cross.conj()).real.sum(axis=1), inverse
