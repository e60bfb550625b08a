"""Recordings of one array at several places as one large array; ``python -m nearfield.combine``, which ``nearfield combine`` runs.

The formulas and their sources are those of :mod:`nearfield._partial_fields`.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import sys
from collections.abc import Sequence

import h5py
import numpy as np

from nearfield._combine_plan import MOST_MICROPHONES, MOST_SIDE, Plan
from nearfield._command import Parser, exit_code_of, require_own_output
from nearfield._layout import Array
from nearfield._partial_fields import CrossSpectra, Fields, fields_at, finite_sum, frequencies_of, measured, opened_position
from nearfield.errors import DataError

Path = str | os.PathLike[str]

_SEEN = 0.9  # multiple coherence below which there is a warning
_DRIFT_DB, _DIFFERENCE, _DEVIATIONS = 1.0, 0.1, 4.0  # least drift with a warning, where it is so many standard deviations of chance
_SILENT = 1e-6  # power of a reference beside that in other positions
_SAME, _APART = 0.01, 0.25  # shares of the least distance of two microphones, up to which places are one and from which they are two


# ---- The large array ----


@dataclasses.dataclass(frozen=True)
class Joint:
    """Places of all microphones in all positions, each once: row by row of a grid, or in the order of the positions."""

    places_m: Array  # [place, (x, y, z)]
    shape: tuple[int, int]  # rows and columns; 1 and all of them where they are no grid
    pitch_m: tuple[float, float] | None  # along x and y; None where they are no grid
    of_position: list[Array]  # numbers of places [microphone], a list a position

    def mean_of(self, values: Sequence[Array]) -> Array:
        """Return the mean [place, ...] of values [microphone, ...] of each position, without those that are no numbers."""
        total = np.zeros((len(self.places_m), *values[0].shape[1:]), values[0].dtype)
        count = np.zeros(total.shape)
        for places, one in zip(self.of_position, values, strict=True):
            total[places] += np.nan_to_num(one)
            count[places] += np.isfinite(one)
        mean: Array = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
        return mean


def joint_of(plan: Plan) -> tuple[Joint, list[str]]:
    """Return the places, and warnings of positions that lie apart from the others."""
    least_m, most_m = _neighbours_m(plan.places_m)
    places, of_position, warnings = np.zeros((0, 3)), [], []
    for position in plan.positions:
        own = plan.places_m + [*position.at_m, 0.0]
        nearest, at = _nearest(own, places)
        if len(places):
            between = nearest[(nearest > _SAME * least_m) & (nearest < _APART * least_m)]
            if plan.is_grid and len(between):
                plan.fail(f"{position.name}.x_m, y_m", f"microphones that stand where those of other positions do, to {_SAME * least_m:.3g} m, or at least "
                          f"{_APART * least_m:.3g} m from them", f"{between.min():.3g} m")  # fmt: skip
            if np.all(nearest <= _SAME * least_m):
                plan.fail(f"{position.name}.x_m, y_m", "a place of its own", "one whose microphones all stand where those of other positions do")
        is_new = nearest > _SAME * least_m
        of_position.append(np.where(is_new, len(places) + np.cumsum(is_new) - 1, at))
        places = np.concatenate([places, own[is_new]])
    if len(places) > MOST_MICROPHONES:
        plan.fail("positions", f"at most {MOST_MICROPHONES} places of microphones together", f"{len(places)}")
    linked, others = places[of_position[0]], list(range(1, len(of_position)))
    while others:
        gaps_m = [float(_nearest(places[of_position[i]], linked)[0].min()) for i in others]
        i = others.pop(int(np.argmin(gaps_m)))
        linked = np.concatenate([linked, places[of_position[i]]])
        if min(gaps_m) > 2.0 * most_m:
            warnings.append(f"{plan.positions[i].name} lies {min(gaps_m):.3g} m from others, where microphones have {most_m:.3g} m: "
                            "images between them are guesses")  # fmt: skip
    grid = _grid_of(places)
    if grid is None:
        return Joint(places, (1, len(places)), None, of_position), warnings
    number, shape, pitch_m, on_grid = grid
    return Joint(on_grid, shape, pitch_m, [number[one] for one in of_position]), warnings


def _nearest(places_m: Array, others_m: Array) -> tuple[Array, Array]:
    """Return the distance to the nearest of the others, and its number; infinity without any."""
    if not len(others_m):
        return np.full(len(places_m), np.inf), np.zeros(len(places_m), int)
    squares = np.zeros((len(places_m), len(others_m)))
    for places, others in zip(places_m.T, others_m.T, strict=True):
        squares += np.subtract.outer(places, others) ** 2
    return np.sqrt(squares.min(axis=1)), squares.argmin(axis=1)


def _neighbours_m(places_m: Array) -> tuple[float, float]:
    """Return the least and the largest distance of a microphone from its nearest neighbour; of one microphone 1 mm and 0."""
    if len(places_m) < 2:
        return 1e-3, 0.0
    nearest = np.array([_nearest(places_m[i : i + 1], np.delete(places_m, i, axis=0))[0][0] for i in range(len(places_m))])
    return float(nearest.min()), float(nearest.max())


def _grid_of(places_m: Array) -> tuple[Array, tuple[int, int], tuple[float, float], Array] | None:
    """Return each place's number on a grid, rows and columns, pitches, and the places on that grid; None where they are on no whole grid."""
    index, counts, pitches = [], [], []
    for values in places_m.T[:2]:
        order = np.argsort(values, kind="stable")
        gaps = np.diff(values[order])
        steps = gaps > max(gaps.max(initial=0.0) / 2.0, 1e-6)
        numbers = np.empty(len(values), int)
        numbers[order] = np.concatenate([[0], np.cumsum(steps)])
        index.append(numbers)
        counts.append(int(steps.sum()) + 1)
        pitches.append(float(np.ptp(values)) / max(1, counts[-1] - 1))
    (x, y), (columns, rows), number = index, counts, index[1] * counts[0] + index[0]
    if min(counts) < 2 or max(counts) > MOST_SIDE or rows * columns != len(places_m) or len(set(number.tolist())) < len(places_m):
        return None
    corner = places_m.min(axis=0)
    on_grid = np.stack([corner[0] + x * pitches[0], corner[1] + y * pitches[1], np.full(len(x), corner[2])], axis=-1)
    if np.abs(on_grid - places_m).max() > _SAME * min(pitches):
        return None
    return number, (rows, columns), (pitches[0], pitches[1]), on_grid[np.argsort(number)]


# ---- Drift ----


def _drift(plan: Plan, cross: Sequence[CrossSpectra]) -> list[str]:
    """Return a warning of each reference whose level changes between positions by more than chance has it; a silent one is an error."""
    powers = np.array([one.references.diagonal(axis1=1, axis2=2).real for one in cross])  # [position, frequency, reference]
    levels = (powers / powers.mean(axis=0)).mean(axis=1)
    warnings = []
    for r in range(levels.shape[1]):
        reference = f"reference {plan.reference_channels[r] if plan.reference_channels else r}"
        quiet, loud = levels[:, r].argmin(), levels[:, r].argmax()
        if levels[quiet, r] < _SILENT * levels[loud, r]:
            raise DataError(f"{plan.positions[quiet].references}: expected a signal of {reference}, found silence beside {plan.positions[loud].name}", 65)
        change_db = 10.0 * np.log10(levels[loud, r] / levels[quiet, r])
        independent = powers.shape[1] * min(one.windows for one in cross) / 2.0  # neighbouring bins of a band share their noise
        by_chance_db = 10.0 / np.log(10.0) * np.sqrt(2.0 / independent)  # standard deviation of a difference
        if change_db > max(_DRIFT_DB, _DEVIATIONS * by_chance_db):
            warnings.append(f"{reference} is {change_db:.1f} dB louder in {plan.positions[loud].name} than in {plan.positions[quiet].name}: "
                            "the source changed; its level is made good, another shape of its field is not")  # fmt: skip
    return warnings


def _differences(joint: Joint, fields: Sequence[Fields]) -> list[tuple[int, int, int, float, float]]:
    """Return two positions, the number of places that both have, and the relative difference of their partial fields there, found and by chance."""
    found = []
    for a, b in itertools.combinations(range(len(joint.of_position)), 2):
        _, of_a, of_b = np.intersect1d(joint.of_position[a], joint.of_position[b], return_indices=True)
        if len(of_a):
            pairs = [(one.pressures_pa[a][of_a], one.pressures_pa[b][of_b]) for one in fields]
            power = sum(finite_sum(np.abs(p) ** 2 + np.abs(q) ** 2) / 2.0 for p, q in pairs)
            difference = sum(finite_sum(np.abs(p - q) ** 2) for p, q in pairs)
            by_chance = sum(finite_sum(one.variances_pa2[a][of_a] + one.variances_pa2[b][of_b]) for one in fields)
            if power:
                found.append((a, b, len(of_a), float(np.sqrt(difference / power)), float(np.sqrt(by_chance / power))))
    return found


# ---- Results ----


@dataclasses.dataclass(frozen=True)
class Combined:
    """Partial fields of one large array, with what is good to know of them before they are imaged."""

    plan: Plan
    joint: Joint
    frequencies_hz: Array
    fields: list[Fields]  # at each frequency
    windows: list[int]  # number in each position
    notes: list[str]
    warnings: list[str]

    @property
    def count(self) -> int:
        """Number of partial fields, at the frequency that has most."""
        return max(len(one.shares) for one in self.fields)


def combined(path: Path) -> Combined:
    """Return the partial fields that a file of positions describes.

    Parameters
    ----------
    path : path
        YAML, as docs/use/combine.md has it.

    Raises
    ------
    NearfieldError
        ConfigError, NoInputError, DataError, each with what was found and what was expected.
    """
    plan = Plan.read(path)
    joint, warnings = joint_of(plan)
    with opened_position(plan.positions[0]) as (array, _):
        rate_hz, frequencies_hz = array.rate_hz, frequencies_of(plan, array)
    cross = [measured(plan, position, frequencies_hz, rate_hz) for position in plan.positions]
    for position, one in zip(plan.positions, cross, strict=True):
        if one.references.shape != cross[0].references.shape:
            raise DataError(f"{position.references}: expected {cross[0].references.shape[-1]} references, as {plan.positions[0].name} has, "
                            f"found {one.references.shape[-1]}", 65)  # fmt: skip
        if one.unit != cross[0].unit:
            raise DataError(f"{position.references}: expected references in {cross[0].unit}, as {plan.positions[0].name} has, found {one.unit}", 65)
        silent = np.flatnonzero(~(one.power_pa2 > 0.0).all(axis=0))
        one.power_pa2[:, silent] = np.nan
        one.microphones[:, silent] = np.nan
        if len(silent) == len(plan.places_m):
            raise DataError(f"{position.file}: expected sound, found silence in all microphones", 65)
        if len(silent):
            warnings.append(f"{position.name}: {len(silent)} microphones are silent or have values that are no numbers and are left out, "
                            f"the first is {silent[0]}")  # fmt: skip
    warnings += _drift(plan, cross)
    fields = [fields_at(cross, f) for f in range(len(frequencies_hz))]
    if not any(len(one.shares) for one in fields):
        raise DataError(f"{plan.path}: expected references that have something of the array's sound, found none at any frequency", 65)
    warnings += _unseen(plan, frequencies_hz, fields)
    notes, differences = [], _differences(joint, fields)
    for a, b, count, found, by_chance in differences:
        if found > max(_DIFFERENCE, 2.0 * by_chance):
            warnings.append(f"positions[{a}] and [{b}] differ by {100 * found:.0f} % at the {count} places that both have, by chance {100 * by_chance:.0f} %: "
                            "the source or the references changed between them")  # fmt: skip
    if differences:
        notes.append(f"Places that two positions have differ by up to {100 * max(one[3] for one in differences):.1f} %.")
    elif len(cross) > 1:
        notes.append("No two positions have a place in common: only the references' levels show what changed between them.")
    return Combined(plan, joint, frequencies_hz, fields, [one.windows for one in cross], notes, warnings)


def _unseen(plan: Plan, frequencies_hz: Array, fields: Sequence[Fields]) -> list[str]:
    """Return a warning where the references do not have all of the source, with the worst frequency and position."""
    seen = np.array([one.seen for one in fields])
    low = np.flatnonzero(seen.min(axis=1) < _SEEN)
    if not len(low):
        return []
    f, k = np.unravel_index(seen.argmin(), seen.shape)
    return [f"at {len(low)} of {len(fields)} frequencies the references see less than {100 * _SEEN:.0f} % of the sound, least at {frequencies_hz[f]:g} Hz in "
            f"{plan.positions[k].name}, {100 * seen[f, k]:.0f} %: the rest is in no partial field; put a reference near each source"]  # fmt: skip


def table_of(found: Combined) -> str:
    """Return what each frequency has as lines of text."""
    lines = ["frequency     fields  singular values, dB            share of the sound, %     seen, %"]
    for frequency_hz, one in zip(found.frequencies_hz, found.fields, strict=True):
        levels = 10.0 * np.log10(np.maximum(one.singular_values / max(one.singular_values[0], 1e-300), 1e-30))
        words = [" ".join(f"{value:.1f}" for value in values) for values in (levels + 0.0, 100.0 * one.shares)]
        lines.append(f"{frequency_hz:9.6g} Hz  {len(one.shares):6d}  {words[0].replace('-', '−'):29}  {words[1]:24}  {100 * one.seen.mean():7.1f}")
    return "\n".join(lines)


def write(found: Combined, output: Path) -> list[tuple[str, str]]:
    """Write a file of spectra for each partial field, at the frequencies that have it; return their names and what is in them.

    `output` "spectra.h5" makes spectra_1.h5, spectra_2.h5 and so on, each of which appears when it is complete.
    """
    base, written = pathlib.Path(output), []
    names = [base.with_name(f"{base.stem}_{number + 1}{base.suffix}") for number in range(found.count + 1)]
    for one_of in names:
        require_own_output("combine", str(one_of), [one for position in found.plan.positions for one in (position.file, position.references)])
    for number, name in enumerate(names[:-1]):
        chosen = [f for f, one in enumerate(found.fields) if len(one.shares) > number]
        fields = [found.fields[f] for f in chosen]
        pressures_pa = np.stack([found.joint.mean_of([one[:, number] for one in of.pressures_pa]) for of in fields])
        variances_pa2 = np.stack([found.joint.mean_of([one[:, number] for one in of.variances_pa2]) for of in fields])
        coherences = np.stack([found.joint.mean_of(of.coherences) for of in fields])
        references = np.stack([one.references[:, number] for one in fields])
        partial = pathlib.Path(f"{name}.partial")
        with h5py.File(partial, "w") as file:
            file.attrs.update({"format": np.bytes_("nearfield-spectra"), "version": 1})
            (rows, columns), (pitch_x_m, pitch_y_m) = found.joint.shape, found.joint.pitch_m or (_neighbours_m(found.joint.places_m)[1],) * 2
            geometry = file.create_group("geometry")
            geometry.attrs.update(rows=rows, columns=columns, pitch_x_m=pitch_x_m, pitch_y_m=pitch_y_m, standoff_m=found.plan.standoff_m)
            geometry["positions_m"] = found.joint.places_m
            file["frequencies_hz"] = found.frequencies_hz[chosen]
            file["spectra"] = pressures_pa.reshape(1, len(chosen), rows, columns).astype(np.complex64)
            file["spectra"].attrs["units"] = np.bytes_("Pa")
            file["multiple_coherence"] = coherences.reshape(len(chosen), rows, columns).astype(np.float32)
            file["references"] = references.astype(np.complex64)
        partial.replace(name)
        by_chance = float(np.sqrt(np.nansum(variances_pa2) / np.nansum(np.abs(pressures_pa) ** 2)))
        written.append((str(name), f"partial field {number + 1} at {len(chosen)} frequencies, error by chance {100 * by_chance:.1f} %"))
    if names[-1].exists():
        written.append((str(names[-1]), "not of this run, which has no such partial field"))
    return written


def _run(words: Sequence[str] | None) -> int:
    parser = Parser("combine", prog="python -m nearfield.combine", description="Make one large array of recordings, as nearfield combine does")
    parser.add_argument("positions", help="YAML: the array, its references, and where each recording was made")
    parser.add_argument("-o", "--output", required=True, help="spectra, HDF5: NAME_1.h5, NAME_2.h5, ..., one a partial field")
    chosen = parser.parse_args(words)
    require_own_output("combine", chosen.output, [chosen.positions])
    found = combined(chosen.positions)
    sys.stderr.writelines(f"nearfield: warning: {one}\n" for one in found.warnings)
    (rows, columns), pitch_m = found.joint.shape, found.joint.pitch_m
    places = f"{rows} x {columns} places, {pitch_m[0]:.4g} x {pitch_m[1]:.4g} m apart" if pitch_m else f"{columns} places on no regular grid"
    windows = " to ".join(str(count) for count in sorted({min(found.windows), max(found.windows)}))
    print(f"{len(found.windows)} positions of {len(found.plan.places_m)} microphones: {places}; {windows} windows of {found.plan.window_samples} samples")
    print(table_of(found))
    print("\n".join([*found.notes, *(f"{name}: {what}" for name, what in write(found, chosen.output))]))
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return exit_code_of(lambda: _run(words), "nearfield")


if __name__ == "__main__":
    sys.exit(main())
