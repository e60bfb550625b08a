"""Random scenes by kind, of `nearfield bench fidelity`: their section of docs/results/fidelity.md, and the expected error's calibration."""

import math
import statistics

from plots import Axis, Series, number_of, write_plot

PICTURE = "expected_error.png"
LEAST_MEDIAN, MOST_MEDIAN = 0.8, 1.4
LEAST_RATIO, MOST_RATIO = 0.4, 2.5
LEAST_SHARE = 0.95
AUTOMATIC, BEST_CUTOFF = "imager: auto", "cos, best fixed cut-off"
# A displacement is a velocity over jw, so that both of its errors are the velocity's.
QUANTITIES = {"pressure": "pressure", "normal_velocity": "normal velocity, displacement", "active_intensity": "active intensity"}
NOTHING_EXPECTED = 1e-6  # of a truth that is zero no error is relative


def mean_error(row):
    return statistics.fmean(map(number_of, row["relative_l2"]))


def row_of(kind, quantity, name):
    """None when there is none."""
    return next((row for row in kind["rows"] if (row["quantity"], row["filter"]) == (quantity, name)), None)


def over_best(kind, quantity, name):
    """Mean error of a kind's scenes over that of the best fixed cut-off."""
    return mean_error(row_of(kind, quantity, name)) / mean_error(row_of(kind, quantity, BEST_CUTOFF))


def shown(kinds):
    return [kind for kind in kinds if not kind["is_fitted"]]


def pairs_of(kinds, quantity, name):
    """True and expected errors of all images."""
    pairs = []
    for kind in kinds:
        row = row_of(kind, quantity, name)
        for true, expected in zip(row["relative_l2"], row["error_estimate"]) if row else []:
            if number_of(true) > NOTHING_EXPECTED and math.isfinite(number_of(expected)):
                pairs.append((true, expected))
    return pairs


def estimators(kinds):
    """Imager and quantity of each row that comes with an expected error."""
    return [(row["filter"], row["quantity"]) for row in kinds[0]["rows"]
            if row["filter"] != AUTOMATIC and pairs_of(kinds, row["quantity"], row["filter"])]


def quantile(values, share):
    """Linear between the sorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def share_within(ratios):
    return sum(LEAST_RATIO <= ratio <= MOST_RATIO for ratio in ratios) / len(ratios)


def error_lines(kinds, quantity):
    """Head and lines of the table of errors, per cent."""
    from fidelity_page import number, percent
    names = [row["filter"] for row in kinds[0]["rows"] if row["quantity"] == quantity]
    lines = [[kind["kind"], f"{kind['snr_db']:.0f}", *(percent(mean_error(row_of(kind, quantity, name))) for name in names),
              number(over_best(kind, quantity, AUTOMATIC), 2)] for kind in kinds]
    return ["scenes", "dB", *names, "auto over best"], lines


def calibration_lines(kinds):
    lines = []
    for name, quantity in estimators(kinds):
        for group, chosen in (("shown", shown(kinds)), ("fitted", [kind for kind in kinds if kind["is_fitted"]])):
            ratios = [expected / true for true, expected in pairs_of(chosen, quantity, name)]
            if ratios:
                lines.append([name, QUANTITIES[quantity], group, str(len(ratios)), f"{statistics.median(ratios):.2f}",
                              f"{quantile(ratios, 0.025):.2f} to {quantile(ratios, 0.975):.2f}", f"{100.0 * share_within(ratios):.0f} %"])
    return lines


def kinds_section(report):
    from fidelity_page import table
    kinds = report.kinds
    text = f"""## Scenes by kind

Random scenes, {report.json['scenes']} of each kind, a draw of noise each, at {', '.join(f'{f:.0f}' for f in kinds[0]['frequencies_hz'])} Hz; 32 x 32 \
microphones 2 cm apart. Monopoles lie anywhere in
60 x 60 cm, 1.5 to 6 cm behind the surface, dipoles 3 cm; packets are bending waves of 9 to 21 cm under a Gaussian bell of normal velocity whose
standard deviation is named, on a rigid plane. Last comes the distance to the microphones. The wave from behind has 5 % of the field's rms, and
counts as an error. No setting of an imager was chosen on any of the kinds of the first two tables. *Best fixed cut-off*: for each kind, ratio and frequency the one with
the least mean error over the scenes. Mean relative L2 in per cent.

"""
    for quantity in ("pressure", "normal_velocity"):
        text += f"### {QUANTITIES[quantity].capitalize()}\n\n" + table(*error_lines(shown(kinds) or kinds, quantity))
    return text + f"""### Expected errors

The error that is published with each image ([controller.md](../use/controller.md#the-expected-error)) over the true one, relative L2. *Fitted*: the
kinds on which constants of the expected errors were fitted; *shown*: the six others ([0026](../decisions/0026-expected-errors.md) has what the constants owe to them). *Within*: ratios from {LEAST_RATIO} to {MOST_RATIO}. Those of a \
displacement are the velocity's, as it is a velocity over jw;
`sonah` has no intensities. A filter that is given has no expected error.

""" + table(["imager or filter", "quantity", "kinds", "images", "median", "95 % of the ratios", "within"],
            calibration_lines(kinds)) + f"![expected over true errors](../pictures/fidelity/{PICTURE})\n\n"


def kinds_marks(report, mark):
    """Lines of the marks' table; `mark` makes one."""
    kinds = shown(report.kinds)
    if not kinds:
        return
    ratios = [over_best(kind, "pressure", AUTOMATIC) for kind in kinds]
    yield mark("scenes by kind, over the best fixed cut-off, mean", 1.1, statistics.fmean(ratios))
    yield mark("scenes by kind, over the best fixed cut-off, in any kind", 1.3, max(ratios))
    for name, quantity in estimators(kinds):
        found = [expected / true for true, expected in pairs_of(kinds, quantity, name)]
        what = f"expected over true error, {name}, {QUANTITIES[quantity]}, "
        yield mark(what + "median", MOST_MEDIAN, statistics.median(found))
        yield mark(what + "median", LEAST_MEDIAN, statistics.median(found), at_most=False)
        yield mark(what + f"share within {LEAST_RATIO} to {MOST_RATIO}", LEAST_SHARE, share_within(found), at_most=False, is_percent=True)


def write_calibration(folder, report):
    kinds = shown(report.kinds) or report.kinds
    series = []
    for name, quantity in estimators(kinds):
        pairs = pairs_of(kinds, quantity, name)
        series.append(Series(f"{name}: {quantity.replace('_', ' ')}", [100.0 * true for true, _ in pairs],
                             [100.0 * expected for _, expected in pairs], lines=False))
    ends = [0.5, 200.0]
    for ratio in (1.0, LEAST_RATIO, MOST_RATIO):
        series.append(Series(f"{ratio:g} times", ends, [ratio * end for end in ends], markers=False))
    write_plot(folder / PICTURE, "Expected and true errors", Axis("true error [%]", True, *ends), Axis("expected error [%]", True, *ends),
               series, height=6.0)
