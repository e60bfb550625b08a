"""The page docs/results/fidelity.md: Markdown of what `nearfield bench fidelity` found."""

import dataclasses
import math

from fidelity import BEST_CUTOFF, BEST_LAMBDA, NO_EXTRAPOLATION
from fidelity_kinds import kinds_marks, kinds_section
from plots import number_of


def table(head, lines):
    """With an empty line behind it."""
    rows = [head, *lines]
    text = ["| " + " | ".join(row) + " |" for row in rows]
    text.insert(1, "|" + "---|" * len(head))
    return "\n".join(text) + "\n\n"


def number(value, decimals):
    """"-" where there is none."""
    return f"{value:.{decimals}f}" if math.isfinite(value) else "-"


def percent(value):
    """Without its sign: a decimal below 100."""
    return number(100.0 * value, 1 if 100.0 * value < 100.0 else 0)


def bold_if(is_bold, text):
    return f"**{text}**" if is_bold else text


# --- cases -----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Case:
    """One frequency of a result."""
    field: object
    frequency: int

    @property
    def name(self):
        return f"{self.field.name}, {self.field.frequencies_hz[self.frequency]:.0f} Hz"

    def same(self, row):
        return self.field.row(row.extrapolation, row.filter)

    def error(self, row):
        """Relative L2 of the row of that name."""
        return self.same(row).figure(self.frequency, "relative_l2")


def cases_of(report, part, snr_db, standoff_m=0.03):
    return [Case(field, frequency) for field in report.part(part)
            if field.snr_db == snr_db and field.standoff_m == standoff_m for frequency in range(len(field.frequencies_hz))]


def distinct(values):
    return list(dict.fromkeys(values))


def ratios_of(report, part):
    return distinct(field.snr_db for field in report.part(part))


def ratio_to_best(case, row):
    """To the error of the best fixed cut-off of the same extrapolation, or else of the default one."""
    best = case.field.row(row.extrapolation, BEST_CUTOFF) or case.field.main_row(BEST_CUTOFF)
    return case.error(row) / best.figure(case.frequency, "relative_l2")


def mean_of(cases, row, name):
    return sum(case.same(row).figure(case.frequency, name) for case in cases) / len(cases)


def error_table(cases):
    """Relative L2 of every case, a line for each row."""
    lines = []
    for row in cases[0].field.rows:
        lines.append([row.extrapolation, bold_if(row.is_default, row.filter)] + [percent(case.error(row)) for case in cases]
                     + [bold_if(row.is_default, percent(mean_of(cases, row, "relative_l2")))])
    return table(["extrapolation", "filter", *(case.name for case in cases), "mean"], lines)


def summary_table(cases):
    """Every figure, means over the cases."""
    lines = []
    for row in cases[0].field.rows:
        power = sum(10.0 ** (case.same(row).figure(case.frequency, "nmse_db") / 10.0) for case in cases) / len(cases)
        worst = max(case.same(row).figure(case.frequency, "worst_l2") for case in cases)
        ratios = [ratio_to_best(case, row) for case in cases]
        lines.append([row.extrapolation, bold_if(row.is_default, row.filter), percent(mean_of(cases, row, "relative_l2")),
                      percent(mean_of(cases, row, "inner_l2")), number(10.0 * math.log10(power), 1),
                      number(mean_of(cases, row, "ncc"), 4), number(1e3 * mean_of(cases, row, "peak_off_m"), 1), percent(worst),
                      number(sum(ratios) / len(cases), 2), number(max(ratios), 2)])
    return table(["extrapolation", "filter", "rel. L2 [%]", "inner 24 x 24 [%]", "NMSE [dB]", "NCC", "peak off [mm]",
                  "worst draw [%]", "ratio to best fixed, mean", "largest"], lines)


def cutoff_table(report, cases):
    """Cut-offs and errors of the default extrapolation beside the best."""
    rows = [row for row in cases[0].field.rows
            if row.extrapolation == report.main_extrapolation and math.isfinite(row.figure(0, "cutoff_rad_per_m"))]
    lines = []
    for case in cases:
        line = [case.name]
        for row in rows:
            found = case.same(row)
            line.append(f"{found.figure(case.frequency, 'cutoff_rad_per_m'):.0f} / {found.figure(case.frequency, 'slope'):.2g}, "
                        f"{percent(case.error(row))} ({ratio_to_best(case, row):.2f})")
        lines.append(line)
    return table(["case", *(row.filter for row in rows)], lines)


def lambda_line(cases):
    found = [case.field.main_row(BEST_LAMBDA) for case in cases]
    if None in found:
        return ""
    return ("Best lambda of `tikhonov`, case by case:"
            + "".join(f" {row.frequencies[case.frequency]['lambda']:.0e}" for case, row in zip(cases, found)) + ".\n\n")


def picture_line(title, name):
    return f"![{title}](../pictures/fidelity/{name})\n"


def pictures_of(report, part):
    plots = pictures = ""
    for field in report.part(part):
        pictures += "".join(picture_line(f"{field.name}: truth, images, errors", field.picture(f)) for f in field.pictured)
        if field.pictured:
            plots += picture_line(f"{field.name}: over the cut-off", field.plot())
    return f"{plots}\n{pictures}\n"


# --- head and marks --------------------------------------------------------------------------------------------------

def default_in_words(report):
    """What is used when nothing is set."""
    for field in report.results:
        for row in field.rows:
            if row.is_default:
                return f"`{row.filter}`" if row.extrapolation == NO_EXTRAPOLATION else f"`{row.extrapolation}` with `{row.filter}`"
    return "which is none of these"


def head_section(report):
    device, defaults = report.json["device"], report.json["defaults"]
    text = f"""# How close the images come

Made by `./dev fidelity`, which runs `nearfield bench fidelity`; nothing here is written by hand, and the same
device gives the same page again. Device: {device['name']} ({device['platform']}, driver {device['driver']}).

Images are made on that device, from spectra, by the engine that `replay` uses. Bold: what is used when nothing is set, \
{default_in_words(report)}.
Filters: `cos` with its cut-off by the rule named, slope 0.1 unless the rule chooses it too (`dynamic_range` at its default of \
{defaults['dynamic_range_db']:.0f} dB);
`tikhonov` with its default lambda of {defaults['tikhonov_lambda']:.0e}.

- **Relative L2**: |image - truth| / |truth|, complex, over all microphones; *inner*: without 4 microphones at each side.
- **NMSE**: 10 lg of the mean squared error, each image over its own maximum. **NCC**: |<image, truth>| over both norms.
- **Peak off**: from the image's highest point to the truth's, to parts of a pitch; of several alike, to the nearest.
- **Best**: what a fixed setting reaches that was chosen with the truth in hand, for each frequency; the mean over the draws is
  minimised. *Cut-off*: of 40, as logarithms evenly from pi/10 to pi over the larger pitch, slope 0.1; *and slope*: of 0.05, 0.1
  and 0.2, too; *lambda*: of 9 from 1e-5 to 0.1.
- **Search**: cut-off and slope found again in each draw (docs/how/pnah.md). `sonah` looks for plane waves in each.

"""
    if report.json["left_out"]:
        text += "**Left out:**\n\n" + "".join(f"- {what}\n" for what in report.json["left_out"]) + "\n"
    return text


@dataclasses.dataclass
class Mark:
    """One line of the marks' table."""
    what: str
    mark: float
    found: float
    at_most: bool = True
    is_percent: bool = False
    decimals: int = 2

    def line(self):
        def shown(value):
            return f"{100.0 * value:.1f} %" if self.is_percent else number(value, self.decimals)
        holds = self.found <= self.mark if self.at_most else self.found >= self.mark
        return [self.what, ("≤ " if self.at_most else "≥ ") + shown(self.mark), shown(self.found), "yes" if holds else "**no**"]


def chosen_error(case):
    return case.field.chosen_row().figure(case.frequency, "relative_l2")


def case_marks(report):
    for snr_db in ratios_of(report, "cases"):
        cases = cases_of(report, "cases", snr_db)
        row = cases[0].field.chosen_row()
        error = mean_of(cases, row, "relative_l2")
        ratios = [ratio_to_best(case, row) for case in cases]
        is_quiet = snr_db >= 40.0
        where = f"eight cases, {snr_db:.0f} dB"
        yield Mark(f"{where}, mean error", 0.055 if is_quiet else 0.082, error, is_percent=True)
        yield Mark(f"{where}, mean error, then", 0.05 if is_quiet else 0.075, error, is_percent=True)
        yield Mark(f"{where}, over the best fixed cut-off, mean", 1.2, sum(ratios) / len(cases))
        yield Mark(f"{where}, over the best fixed cut-off, in any case", 1.5, max(ratios))
        for case in cases if is_quiet else []:
            frequency_hz = case.field.frequencies_hz[case.frequency]
            if case.field.name == "centred monopole" and frequency_hz < 3000.0:
                yield Mark(case.name, 0.06 if frequency_hz < 1000.0 else 0.08, chosen_error(case), is_percent=True)
            if case.field.name == "pattern":
                yield Mark(case.name, 0.02, chosen_error(case), is_percent=True)


def bits_marks(report):
    for snr_db in ratios_of(report, "bits"):
        bits = [chosen_error(case) for case in cases_of(report, "bits", snr_db)]
        spectra = [chosen_error(case) for case in cases_of(report, "cases", snr_db)]
        what = f"from bits over from spectra, {snr_db:.0f} dB, "
        yield Mark(what + "of the mean errors", 1.2, sum(bits) / sum(spectra))
        yield Mark(what + "in any case", 1.2, max(a / b for a, b in zip(bits, spectra)))


def data_marks(report):
    for field in report.part("data"):
        ncc = field.chosen_row().median("ncc")
        several = len(field.frequencies_hz) > 1
        yield Mark(field.name + (", median NCC" if several else ", NCC"), 0.60 if field.points else 0.86, ncc, at_most=False,
                   decimals=3)
        if field.name.startswith("violin_shell"):
            yield Mark(field.name + ", median NCC, then", 0.88, ncc, at_most=False, decimals=3)


def marks_section(report):
    if not report.results and not report.kinds:
        return ""
    marks = [*case_marks(report), *bits_marks(report), *kinds_marks(report, Mark), *data_marks(report)]
    return """## Marks

What the images have to reach with nothing set, that is with `holography.imager: auto`: `sonah` where no pitch is above the
standoff, else `pnah` with the measured cut-off.

""" + table(["what", "mark", "found", "holds"], [mark.line() for mark in marks])


# --- sections of the parts -------------------------------------------------------------------------------------------

def cases_section(report):
    text = f"""## Eight cases, 3 cm

32 x 32 microphones 2 cm apart, 3 cm before the surface: a monopole 3 cm behind it at (0.013, -0.021) m, one at (0.26, 0.19) m,
and a pattern sin(2 pi x / 0.27 m + 0.7) sin(2 pi y / 0.35 m + 0.4) without end; pressure, e^{{+jwt}}. White complex noise, the ratio over
the mean power of the aperture; means over {report.json['draws']} draws, the same for every row. Relative L2 in per cent.

"""
    for snr_db in ratios_of(report, "cases"):
        cases = cases_of(report, "cases", snr_db)
        text += f"### {snr_db:.0f} dB\n\n" + error_table(cases)
        text += "Means over these cases:\n\n" + summary_table(cases)
        text += f"Cut-off [rad/m] / slope, error [%] (ratio to the best fixed cut-off), `{report.main_extrapolation}`:\n\n"
        text += cutoff_table(report, cases) + lambda_line(cases)
    return text + pictures_of(report, "cases")


def standoffs_section(report):
    text = (f"## The same at other standoffs\n\nRelative L2 in per cent, the default extrapolation, {report.json['draws']} draws.\n\n")
    for standoff_m in distinct(field.standoff_m for field in report.part("standoffs")):
        for snr_db in ratios_of(report, "standoffs"):
            text += f"### {100.0 * standoff_m:.0f} cm, {snr_db:.0f} dB\n\n"
            text += error_table(cases_of(report, "standoffs", snr_db, standoff_m))
    return text


def scenes_section(report):
    text = f"""## Pistons and plates

The scenes of `config/scenes` with their exact fields on the surface: Schoch's line integral for pistons, Rayleigh's integral for plates,
to 1e-9. Exact pressure at the microphones with noise, {report.json['draws']} draws, the default extrapolation. Relative L2 in per cent / NCC. \
A piston's velocity
jumps at its rim, and one of 1 to 1.25 cm lies between microphones 2 cm apart: no image with a cut-off below pi over the pitch
can show it. *D1* to *D4* stand for the thesis's datasets.

"""
    for snr_db in ratios_of(report, "scenes"):
        fields = [field for field in report.part("scenes") if field.snr_db == snr_db]
        lines = []
        for case in (Case(field, f) for field in fields for f in range(len(field.frequencies_hz))):
            line = [case.name, case.field.quantity]
            for row in case.field.rows:
                line.append(bold_if(row.is_default, f"{percent(case.error(row))} / {row.figure(case.frequency, 'ncc'):.3f}"))
            lines.append(line)
        text += f"### {snr_db:.0f} dB\n\n" + table(["scene", "quantity", *(row.filter for row in fields[0].rows)], lines)
    return text


def bits_section(report):
    text = f"""## From bits

The eight cases through fourth-order modulators, all frequencies of a source at once, each at -32 dBFS rms over the aperture, microphone
noise that gives the ratio in a spectrum; `popcount` of order 1, one hann window of 1024 words; {report.json['bit_draws']} draws. \
Relative L2 in per cent from bits / from
spectra ({report.json['draws']} draws), and their ratio.

"""
    for snr_db in ratios_of(report, "bits"):
        bits = cases_of(report, "bits", snr_db)
        spectra = cases_of(report, "cases", snr_db)
        lines = []
        for row in bits[0].field.rows:
            line = [bold_if(row.is_default, row.filter)]
            for of_bits, of_spectra in zip(bits, spectra):
                a, b = of_bits.error(row), of_spectra.error(row)
                line.append(f"{percent(a)} / {percent(b)}, {a / b:.2f}")
            lines.append(line)
        text += f"### {snr_db:.0f} dB\n\n" + table(["filter", *(case.name for case in bits)], lines)
    return text


def ncc_cell(row, frequency, longest_rad_per_m):
    """NCC of a row at a frequency, with its cut-off and slope where it has some."""
    cutoff = row.figure(frequency, "cutoff_rad_per_m")
    ncc = number(row.figure(frequency, "ncc"), 3)
    if not math.isfinite(cutoff):
        return ncc
    return f"{ncc} ({cutoff:.0f} / {row.figure(frequency, 'slope'):.2g}{', flat' if cutoff < longest_rad_per_m else ''})"


def ncc_section(field):
    """NCC of every frequency, the default extrapolation."""
    array = field.array
    side_m = max(array["rows"] * array["pitch_y_m"], array["columns"] * array["pitch_x_m"])
    rows = [row for row in field.rows if field.is_main(row)]
    lines = []
    for f, frequency_hz in enumerate(field.frequencies_hz):
        phases = field.json["phases"][f]
        lines.append([f"{frequency_hz:.1f}", number(field.json["wavenumbers_rad_per_m"][f], 1)]
                     + [ncc_cell(row, f, 2.0 * math.pi / side_m) for row in rows]
                     + [number(number_of(phases[name]), 2) for name in ("ncc_of_magnitudes", "ncc_with_conjugate")])
    head = ["Hz", "k [rad/m]", *(bold_if(row.is_default, row.filter) for row in rows), "magnitudes", "conjugate"]
    return f"""NCC by frequency over {len(field.points)} points (cut-off / slope; *flat*: the cut-off's wave is longer than the array, \
so that nothing is resolved).
*Magnitudes*: NCC of |image| and |truth| with `{field.chosen_row().filter}`; where it is high and the NCC is low, the phases disagree. \
*Conjugate*: NCC
with the truth's conjugate; where it is above the NCC, the truth's phases run the other way round than the pressure's.

""" + table(head, lines)


def file_section(field):
    array, count = field.array, len(field.frequencies_hz)
    lines = []
    for row in field.rows:
        lines.append([row.extrapolation, bold_if(row.is_default, row.filter), number(row.median("ncc"), 3),
                      number(min(row.figures("ncc")), 3), number(row.median("nmse_db"), 1),
                      number(row.median("cutoff_rad_per_m"), 0)])
    text = (f"### {field.name}\n\n{array['rows']} x {array['columns']} microphones, {1e3 * array['pitch_x_m']:.1f} x "
            f"{1e3 * array['pitch_y_m']:.1f} mm apart, {1e3 * field.standoff_m:.1f} mm before the surface, {count} "
            f"{'frequencies' if count > 1 else 'frequency'}.\n\n")
    text += table(["extrapolation", "filter", "NCC, median", "lowest", "NMSE [dB], median", "cut-off [rad/m], median"], lines)
    return text + (ncc_section(field) if field.points else "")


def data_section(report):
    return """## Files with a truth

Normal velocity against the one that was computed or measured on the surface, as the files come: no noise is added. NCC over the
pixels that lie on the body, or over the measured points (images bilinear between pixels). *Best one for all*: the cut-off with the best
median, of the default extrapolation also the slope. In pictures the image has the complex factor that brings it closest to the truth.

""" + "".join(file_section(field) for field in report.part("data")) + pictures_of(report, "data")


SECTIONS = {"cases": cases_section, "standoffs": standoffs_section, "scenes": scenes_section, "bits": bits_section,
            "data": data_section}


def page_of(report):
    text = head_section(report) + marks_section(report)
    text += "".join(section(report) for part, section in SECTIONS.items() if report.part(part))
    text += kinds_section(report) if report.kinds else ""
    return text.rstrip("\n") + "\n"
