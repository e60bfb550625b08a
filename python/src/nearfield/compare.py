"""Change between two runs of any length, in dB, and its places; ``python -m nearfield.compare``, which ``nearfield compare --before A --after B`` runs."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from nearfield._command import Parser, exit_code_of
from nearfield._runs import opened
from nearfield._summary_levels import average_words, power_level, sentence_of
from nearfield._summary_run import Run, quantity_of
from nearfield.levels import AVERAGES, WITHIN_DB, Difference, Map, Spot, compared


def _figures(differences: Sequence[Difference], runs: tuple[Run, Run]) -> dict[str, Any]:
    averages = differences[0].before.averages
    return {
        "processor": runs[0].results.name,
        "product": averages.product.name,
        "quantity": quantity_of(averages),
        "unit": averages.unit,
        "average": averages.average,
        "maps": [_figures_of(one) for one in differences],
    }


def _figures_of(one: Difference) -> dict[str, Any]:
    before_db, after_db = one.means_db
    places = {"loudest_before": one.before.largest, "loudest_after": one.after.largest, "fell_most": one.most(-1), "rose_most": one.most(1)}
    powers_db = [power_level(of.power_w()) for of in (one.before, one.after)]
    return {
        "entry": _entry_of(one.before),
        "surface": {"before_db": _known(before_db), "after_db": _known(after_db), "change_db": _known(one.mean_db)},
        "at_loudest_before": {"change_db": _known(one.at_loudest_db)},
        **{name: _spot(one.before, spot) for name, spot in places.items()},
        "power": {"before_db": _known(powers_db[0]), "after_db": _known(powers_db[1]), "change_db": _known(powers_db[1] - powers_db[0])},
    }


def _entry_of(one: Map) -> dict[str, Any]:
    """Return "frequency_hz": 1007.08 and the like."""
    axes = zip(one.averages.further, one.entries, strict=True)
    return {f"{axis.name}_{axis.unit.lower()}" if axis.unit.isalpha() else axis.name: axis.values[i].tolist() for axis, i in axes}


def _spot(one: Map, spot: Spot | None) -> dict[str, Any] | None:
    if spot is None:
        return None
    axes = one.averages.places
    values = {f"{axis.name}_{axis.unit}": axis.values[i].tolist() for axis, i in zip(axes, spot.index, strict=True)}
    return {**values, "db": _known(spot.level_db)}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _run(words: Sequence[str] | None) -> int:
    parser = Parser("compare", prog="python -m nearfield.compare", description="Say how many dB less, and where, as nearfield compare --before does")
    parser.add_argument("--before", required=True, help="images (.h5) or a recording (.nfr) with images")
    parser.add_argument("--after", required=True, help="another run of the same frequencies and grid")
    parser.add_argument("--processor", default="", help="whose maps; default: the first with some")
    parser.add_argument("--average", default=AVERAGES[0], choices=AVERAGES, help="over the frames, of powers")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args(words)
    names = (chosen.before, chosen.after)
    with contextlib.ExitStack() as stack:
        before, after = (Run.of(name, stack.enter_context(opened(name, chosen.processor)), chosen.processor, chosen.average) for name in names)
        found = compared(before.averages, after.averages, names)
        if chosen.json:
            frames = {"before": names[0], "after": names[1], "frames_before": before.results.frames, "frames_after": after.results.frames}
            print(json.dumps({**frames, "products": [_figures(one, (before, after)) for one in found]}, indent=2))
            return 0
        for differences in found:
            averages, counts = differences[0].before.averages, f"{before.results.frames} frames before and {after.results.frames} after"
            print(f"{quantity_of(averages)} ({averages.product.name} of {before.results.name}), {averages.unit}, {average_words(averages)} over {counts};\n"
                  f"falls and rises within {WITHIN_DB:g} dB of the largest level of both")  # fmt: skip
            for one in differences:
                print(sentence_of(one))
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return exit_code_of(lambda: _run(words), "nearfield")


if __name__ == "__main__":
    sys.exit(main())
