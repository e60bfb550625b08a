"""The page docs/results/fidelity.md and its picture, of the rows that fidelity.py measured, which stand in full in fidelity.csv."""

import math

import numpy as np
from common import markdown

EXPECTED = "expected_error.png"
LEAST, MOST = 0.4, 2.5  # of expected over true errors
SHARE, MEDIAN = 0.95, (0.8, 1.4)  # what has to lie between them, and where the median of the ratios has to
QUANTITIES = {"pressure": "pressure", "normal_velocity": "normal velocity", "active_intensity": "intensity"}
SHOWN = ("cos, auto", "cos, best fixed cut-off", "imager: auto")  # the default filter, what is best, and what is used when nothing is set
BEST_TWO = "cos, best cut-off and slope"


def pick(rows, **wanted):
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def values(rows, name="relative_l2"):
    return np.array([row[name] for row in rows if row.get(name) is not None])


def distinct(rows, *keys):
    return list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))


def percent(value):
    return "-" if not math.isfinite(value) else f"{100.0 * value:.0f}" if value >= 0.9995 else f"{100.0 * value:.1f}"


def median_of(rows, name="relative_l2"):
    found = values(rows, name)
    return float(np.median(found)) if len(found) else math.nan


def mean_of(rows):
    found = values(rows)
    return float(np.mean(found)) if len(found) else math.nan


def mean_ratio(rows, others):
    return mean_of(rows) / mean_of(others)


# --- sections ---------------------------------------------------------------------------------------------------------

HEAD = """# How close the images come

`./dev fidelity` measures and makes this page; {csv} has every figure, the commit and the device.

Errors are |image - truth| / |truth| over all microphones, complex, in per cent; tables have means. `imager: auto` is what is used when nothing is
set: `sonah` where no pitch is above three standoffs, else `pnah` with `plpbp` and the measured cut-off (`cos, auto`). *Best*: what a fixed setting
reaches that was chosen with the truth in hand, for each frequency. *Search*: cut-off and slope found again in each draw
([pnah.md](../how/pnah.md#filters)). Noise is white, {draws} draws, the same for every row.

"""


def table_of_fields(rows, *columns):
    """A line for each field, the mean error of what is shown in columns by quantity and ratio."""
    filters = [name for (name,) in distinct(rows, "filter") if name in SHOWN]
    groups = distinct(rows, *columns)
    lines = [[field, *(" / ".join(percent(mean_of(pick(rows, field=field, filter=name, **dict(zip(columns, group))))) for name in filters) for group in groups)]
             for (field,) in distinct(rows, "field")]
    titles = [", ".join(QUANTITIES.get(value, f"{value} dB" if isinstance(value, str) else f"{value:g} dB") for value in group) for group in groups]
    return "Each field: " + " / ".join(f"`{name}`" for name in filters) + ".\n\n" + markdown(["field", *titles], lines)


def cases(rows):
    """A line for each imager, a column for each distance and ratio."""
    rows = pick(rows, part="cases") + pick(rows, part="standoffs")
    columns = distinct(rows, "standoff_m", "snr_db")
    lines = [[extrapolation, name, *(percent(mean_of(pick(rows, filter=name, extrapolation=extrapolation, standoff_m=standoff_m, snr_db=snr_db)))
                                     for standoff_m, snr_db in columns)]
             for extrapolation, name in distinct(rows, "extrapolation", "filter") if extrapolation in ("plpbp", "none") or name in SHOWN]
    text = """## Eight cases, 3 cm

32 x 32 microphones 2 cm apart; monopoles 3 cm behind the surface in the middle and near the edge at 500, 2000 and 4000 Hz, and a pattern without
end, sin(2 pi x / 0.27 m + 0.7) sin(2 pi y / 0.35 m + 0.4), at 500 and 2000 Hz; pressure. Columns: distance of the microphones, signal-to-noise ratio.

""" + markdown(["extrapolation", "filter", *(f"{100 * standoff_m:g} cm, {snr_db:g} dB" for standoff_m, snr_db in columns)], lines)
    return text + table_of_fields([row for row in pick(rows, part="cases") if row["extrapolation"] in ("plpbp", "none")], "snr_db")


def scenes(rows):
    return """## Pistons and plates

The scenes of `config/scenes` with their exact fields, by integrals exact to 1e-9; the default extrapolation. A piston's velocity jumps at its
rim, which no image with a cut-off below pi over the pitch can show. D4's louder one, 1 cm in radius, has two pixels, both on its rim. *D1* to *D4* stand for the thesis's datasets.

""" + table_of_fields(pick(rows, part="scenes"), "quantity", "snr_db")


def bits(rows):
    from_bits, spectra = pick(rows, part="bits"), pick(rows, part="cases")
    ratios = distinct(from_bits, "snr_db")
    lines = [[name, *(f"{mean_ratio(pick(from_bits, filter=name, snr_db=snr_db), of_cases(spectra, name, snr_db)):.2f}" for (snr_db,) in ratios)]
             for (name,) in distinct(from_bits, "filter") if name in SHOWN]
    return """## From bits

The eight cases through fourth-order modulators, each tone at -32 dBFS, and `popcount` of order 1: the mean error over that from spectra.

""" + markdown(["filter", *(f"{snr_db:g} dB" for (snr_db,) in ratios)], lines)


def of_cases(spectra, name, snr_db):
    return [row for row in pick(spectra, filter=name, snr_db=snr_db) if row["extrapolation"] in ("plpbp", "none")]


def kinds(rows):
    rows = [row for row in pick(rows, part="kinds") if not row["is_fitted"] and row["quantity"] != "active_intensity"]
    return """## Scenes by kind

Random scenes that no setting was chosen on, at 500, 2000 and 4000 Hz; monopoles lie 1.5 to 6 cm behind the surface, packets are bending waves
under a Gaussian bell whose standard deviation is named; last comes the distance to the microphones. The wave from behind, 5 % of the field, counts as an error.

""" + table_of_fields(rows, "quantity", "snr_db")


def ratios_of(rows, name, quantity):
    """Expected over true errors; of a truth that is zero no error is relative."""
    return np.array([row["error_estimate"] / row["relative_l2"] for row in pick(rows, filter=name, quantity=quantity)
                     if row["relative_l2"] > 1e-6 and math.isfinite(row["error_estimate"])])


def estimators(rows):
    return [(name, quantity) for name, quantity in distinct(rows, "filter", "quantity") if name != "imager: auto" and len(ratios_of(rows, name, quantity))]


def expected_figures(rows):
    """Imager or filter, quantity and group of kinds, with the count, median, 2.5 and 97.5 % quantiles and share within LEAST to MOST of the ratios."""
    for name, quantity in estimators(rows):
        for group, is_fitted in (("shown", False), ("fitted", True)):
            ratios = ratios_of(pick(rows, is_fitted=is_fitted), name, quantity)
            if len(ratios):
                yield name, quantity, group, len(ratios), np.median(ratios), *np.quantile(ratios, (0.025, 0.975)), np.mean((ratios >= LEAST) & (ratios <= MOST))


def expected(rows):
    def words(_, median, low, high, share, is_marked):
        median_words, share_words = f"{median:.2f}", f"{100.0 * share:.0f} %"
        if is_marked and not MEDIAN[0] <= median <= MEDIAN[1]:
            median_words = f"**{median_words}**"
        if is_marked and share < SHARE:
            share_words = f"**{share_words}**"
        return f"{median_words} ({low:.2f} to {high:.2f}), {share_words}"

    found = {(name, quantity, group): figures for name, quantity, group, *figures in expected_figures(pick(rows, part="kinds"))}
    counts = {group: figures[0] for (_, _, group), figures in found.items()}
    lines = [[name, QUANTITIES[quantity], *(words(*found[name, quantity, group], group == "shown") if (name, quantity, group) in found else "-" for group in counts)]
             for name, quantity in dict.fromkeys(key[:2] for key in found)]
    return f"""### Expected errors

The error that is published with each image over the true one: median (95 % of the ratios), share of ratios from {LEAST} to {MOST}. *Fitted*: the four
kinds on which constants of the expected errors were chosen ([0026](../decisions/0026-expected-errors.md)); *shown*: the six others, whose median has
to lie from {MEDIAN[0]} to {MEDIAN[1]} and whose share has to reach {100 * SHARE:.0f} %; bold: missed. A displacement's are the velocity's; `sonah` has no intensities.

""" + markdown(["imager or filter", "quantity", *(f"{group}, {count} images" for group, count in counts.items())], lines) + (
        f"![expected over true errors](../pictures/fidelity/{EXPECTED})\n\n")


def data(rows):
    rows = pick(rows, part="data")
    files = distinct(rows, "field")
    lines = [[extrapolation, name, *(f"{median_of(pick(rows, field=file, filter=name, extrapolation=extrapolation), 'ncc'):.3f}" for (file,) in files)]
             for extrapolation, name in distinct(rows, "extrapolation", "filter")
             if extrapolation == "none" or extrapolation == "plpbp" and name in ("cos, search", BEST_TWO, *SHOWN)]
    return """## Files with a truth

A plate and two violin shells computed by finite elements, and a violin that was measured with a hammer: normal velocity on the surface, no noise added. Median over
the frequencies of NCC, |<image, truth>| over both norms.

""" + markdown(["extrapolation", "filter", *(file for (file,) in files)], lines)


# Stems below docs/pictures/fidelity, drawn by the program that measured before commit eabd1167.
PICTURES = {"centred monopole": ("cutoff_centred_monopole", "centred_monopole_500hz", "centred_monopole_2000hz", "centred_monopole_4000hz"),
            "edge monopole": ("cutoff_edge_monopole", "edge_monopole_500hz", "edge_monopole_2000hz", "edge_monopole_4000hz"),
            "pattern": ("cutoff_pattern", "pattern_500hz", "pattern_2000hz"), "plate": ("cutoff_plate_free_548hz", "plate_free_548hz_548hz"),
            "violin shell 1": ("cutoff_violin_shell_1", "violin_shell_1_536hz"), "violin shell 2": ("cutoff_violin_shell_2", "violin_shell_2_192hz"),
            "measured violin": ("cutoff_violin_measured", "violin_measured")}


def pictures():
    return """## Pictures

Of each field the error over the cut-off, and truth, images and errors, drawn before commit eabd1167. An image of a file has the complex factor
that brings it closest to the truth.

""" + "".join(f"![{field}](../pictures/fidelity/{stem}.png)\n" for field, stems in PICTURES.items() for stem in stems)


# --- marks ------------------------------------------------------------------------------------------------------------

# Files that have no mark any more, and why.
UNMARKED = {"violin_shell_2": "arches by 10.8 mm, a third of its distance from the microphones: imaged on a plane its median NCC is 0.8799, on its surface 0.93 "
                              "([validation.md](validation.md))",
            "violin_measured": "has eleven modes, two of which are found with far too much noise, and 27 points of a hammer: its median has an interval of some 0.2, and no prior "
                               "that was tried has more than 0.56 ([0040](../decisions/0040-bending-waves-are-priors.md))"}


def marks_of(rows):
    """What, the mark, what was found, and whether it holds."""
    def mark(what, least, most, found, unit=""):
        scale = 100.0 if unit else 1.0
        words = f"≤ {scale * most:g}{unit}" if least is None else f"≥ {scale * least:g}{unit}" if most is None else f"{least:g} to {most:g}"
        return [what, words, f"{scale * found:.3g}{unit}", "yes" if (least is None or found >= least) and (most is None or found <= most) else "**no**"]

    auto, best = pick(rows, part="cases", filter="imager: auto"), pick(rows, part="cases", filter="cos, best fixed cut-off", extrapolation="plpbp")
    for (snr_db,) in distinct(auto, "snr_db"):
        own = pick(auto, snr_db=snr_db)
        over = values(own) / values(pick(best, snr_db=snr_db))
        yield mark(f"eight cases, {snr_db:g} dB, mean error", None, 0.05 if snr_db >= 40.0 else 0.075, mean_of(own), " %")
        yield mark(f"the same over the best fixed cut-off, mean / in any case 1.5: {np.max(over):.2f}", None, 1.2, float(np.mean(over)))
        of_bits = pick(rows, part="bits", filter="imager: auto", snr_db=snr_db)
        if of_bits:
            yield mark(f"from bits over from spectra, {snr_db:g} dB", None, 1.2, mean_ratio(of_bits, own))
    shown = [row for row in pick(rows, part="kinds", quantity="pressure") if not row["is_fitted"]]
    over = [mean_ratio(*(pick(shown, field=kind, snr_db=snr_db, filter=name) for name in ("imager: auto", "cos, best fixed cut-off")))
            for kind, snr_db in distinct(shown, "field", "snr_db")]
    if over:
        yield mark("scenes by kind, over the best fixed cut-off, mean", None, 1.1, float(np.mean(over)))
        yield mark("the same, in any kind", None, 1.3, max(over))
    for (file,) in distinct(pick(rows, part="data"), "field"):
        if file in UNMARKED:
            continue
        least = 0.86 if file.startswith("plate") else 0.88
        yield mark(f"{file}, median NCC", least, None, median_of(pick(rows, part="data", field=file, filter="imager: auto"), "ncc"))


def page_of(rows, options):
    csv = options.csv.name if options.csv else "[fidelity.csv](fidelity.csv)"
    text = HEAD.format(csv=csv, draws=options.draws)
    text += "## Marks\n\nWhat the images have to reach with nothing set; the marks of the expected errors stand beside them.\n\n" + markdown(["what", "mark", "found", "holds"], list(marks_of(rows)))
    text += "Without a mark: " + "; ".join(f"{file} {why}" for file, why in UNMARKED.items()) + ".\n\n"
    for part, section in (("cases", cases), ("scenes", scenes), ("bits", bits), ("kinds", kinds), ("kinds", expected), ("data", data)):
        text += section(rows) if pick(rows, part=part) else ""
    return text + pictures()


def draw(rows, folder):
    from matplotlib.figure import Figure
    rows = [row for row in pick(rows, part="kinds") if not row["is_fitted"]]
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots()
    for name, quantity in estimators(rows):
        some = pick(rows, filter=name, quantity=quantity)
        axes.plot(100.0 * values(some), 100.0 * values(some, "error_estimate"), ".", label=f"{name}: {QUANTITIES[quantity]}")
    ends = np.array([0.05, 200.0])
    for ratio in (1.0, LEAST, MOST):
        axes.plot(ends, ratio * ends, color="0.7", linewidth=0.8)
    axes.loglog()
    axes.set(xlabel="true error [%]", ylabel="expected error [%]", title=f"Expected and true errors; lines: equal, {LEAST} and {MOST} times")
    if estimators(rows):
        axes.legend(fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / EXPECTED)
