"""Pictures of `nearfield bench fidelity`: truth, images and errors of each case and file, and errors over cut-offs."""

import math

from fidelity import median
from fidelity_kinds import write_calibration
from images import Sheet, decoded
from plots import Axis, Series, number_of, write_plot

FLOOR_DB = -40.0  # of errors, re the truth's highest
# Pixels.
GAP, TITLE, CAPTION, SCALE, LABELS, LEAST_WIDTH = 20, 40, 46, 34, 150, 760


def cell_of(array):
    """Pixels of a microphone along x and y; both directions share the scale by and large."""
    width = 9 if array["columns"] <= 8 else 6 if array["columns"] <= 32 else 4
    return width, max(1, round(width * array["pitch_y_m"] / array["pitch_x_m"]))


def size_of(array):
    width, height = cell_of(array)
    return array["columns"] * width, array["rows"] * height


class Truth:
    """What is known of a field at one frequency."""

    def __init__(self, field, frequency):
        import numpy
        self.shape = field.array["rows"], field.array["columns"]
        self.values = decoded(field.json["truth"][frequency]).reshape(self.shape)
        valid = field.json["valid"]
        self.known = numpy.array([[place == "1" for place in row] for row in valid]) if valid else numpy.ones(self.shape, bool)
        self.top = abs(self.values[self.known]).max()

    def image(self, row, frequency):
        return decoded(row.image(frequency)).reshape(self.shape)

    def shares(self, image):
        """Magnitudes over the truth's highest; nothing where there is no truth."""
        import numpy
        return numpy.where(self.known, abs(image) / self.top, numpy.nan)

    def error_shares(self, image):
        """Errors as levels, 0 to 1 from FLOOR_DB to 0 dB."""
        import numpy
        level_db = 20.0 * numpy.log10(numpy.maximum(abs(image - self.values) / self.top, 1e-9))
        return numpy.where(self.known, 1.0 - level_db / FLOOR_DB, numpy.nan)

    def closest_factor(self, image):
        """The complex factor that brings an image closest to the truth: files have levels of their own."""
        import numpy
        power = numpy.vdot(image[self.known], image[self.known]).real
        return numpy.vdot(image[self.known], self.values[self.known]) / power if power > 0.0 else 1.0

    def relative_l2(self, image):
        import numpy
        return numpy.linalg.norm((image - self.values)[self.known]) / numpy.linalg.norm(self.values[self.known])

    def ncc(self, image):
        import numpy
        found, truth = image[self.known], self.values[self.known]
        return abs(numpy.vdot(truth, found)) / (numpy.linalg.norm(found) * numpy.linalg.norm(truth))


def _caption(field, row, frequency, truth):
    image = truth.image(row, frequency)
    cutoff, slope = row.figure(frequency, "cutoff_rad_per_m"), row.figure(frequency, "slope")
    filtered = f"{cutoff:.0f} rad/m" + (f", slope {slope:.2f}" if math.isfinite(slope) else "")
    return [row.filter, filtered if math.isfinite(cutoff) else "",
            f"NCC {truth.ncc(image):.3f}" if field.part == "data" else f"error {100.0 * truth.relative_l2(image):.1f} %"]


def _title(field, frequency):
    title = f"{field.name}, {field.frequencies_hz[frequency]:.0f} Hz, {1e3 * field.standoff_m:.0f} mm"
    return f"{title}, {field.snr_db:.0f} dB" if math.isfinite(field.snr_db) else title


def _write_case(path, field, frequency):
    """Truth and images above, errors below."""
    truth, rows = Truth(field, frequency), field.shown_rows()
    width, height = size_of(field.array)
    step_x = max(width, 170) + GAP
    sheet = Sheet(max(GAP + step_x * (len(rows) + 1), LEAST_WIDTH), TITLE + 2 * (height + GAP) + CAPTION + SCALE)
    sheet.text(GAP, 20, _title(field, frequency), size=10, bold=True)
    sheet.panel(GAP, TITLE, width, height, truth.shares(truth.values))
    sheet.text(GAP, TITLE + height + 12, "truth, magnitude", bold=True)
    for index, row in enumerate(rows):
        x = GAP + step_x * (index + 1)
        image = truth.image(row, frequency)
        image = image * truth.closest_factor(image) if field.part == "data" else image
        sheet.panel(x, TITLE, width, height, truth.shares(image))
        sheet.panel(x, TITLE + height + GAP, width, height, truth.error_shares(image))
        for number, line in enumerate(_caption(field, row, frequency, truth)):
            sheet.text(x, TITLE + 2 * height + GAP + 10 + 14 * number, line, bold=number == 0)
    y = TITLE + 2 * (height + GAP) + CAPTION + SCALE // 2
    sheet.scale(GAP + 60, y, "above: 0", "highest of the truth")
    sheet.scale(GAP + 560, y, f"below: error re that, {FLOOR_DB:.0f} dB", "0 dB")
    sheet.write(path)


def _panel_of_points(sheet, x, y, field, frequency):
    """Values measured at points, on an empty panel."""
    import numpy
    array = field.array
    width, height = size_of(array)
    values = abs(decoded(field.json["truth"][frequency]))
    axes = sheet.panel(x, y, width, height, numpy.full((array["rows"], array["columns"]), numpy.nan))
    columns = [place[0] / array["pitch_x_m"] + (array["columns"] - 1) / 2.0 for place in field.points]
    rows = [place[1] / array["pitch_y_m"] + (array["rows"] - 1) / 2.0 for place in field.points]
    axes.scatter(columns, rows, c=values / values.max(), vmin=0.0, vmax=1.0, s=16, linewidths=0, clip_on=False)


def _write_points(path, field):
    """All frequencies of a truth that was measured at points: the truth above, images below."""
    array, rows = field.array, field.shown_rows()
    width, height = size_of(array)
    step_x, step_y = max(width, 46) + 10, height + 34
    sheet = Sheet(LABELS + step_x * len(field.frequencies_hz), TITLE + 20 + step_y * (len(rows) + 1))
    sheet.text(GAP, 16, f"{field.name}: magnitude, each over its own highest; below images, their NCC", size=10, bold=True)
    for index, label in enumerate(["truth, points", *(row.filter for row in rows)]):
        sheet.text(8, TITLE + 20 + step_y * index + 0.5 * height, label, bold=True)
    for f, frequency_hz in enumerate(field.frequencies_hz):
        x = LABELS + step_x * f
        sheet.text(x, TITLE + 6, f"{frequency_hz:.1f} Hz")
        _panel_of_points(sheet, x, TITLE + 20, field, f)
        for index, row in enumerate(rows):
            y = TITLE + 20 + step_y * (index + 1)
            magnitude = abs(decoded(row.image(f))).reshape(array["rows"], array["columns"])
            sheet.panel(x, y, width, height, magnitude / magnitude.max())
            sheet.text(x, y + height + 11, f"{row.figure(f, 'ncc'):.2f}")
    sheet.write(path)


def _marks(fields):
    """What the filters chose that choose by themselves, one series a filter."""
    for filter_name in (row.filter for row in fields[0].rows if row.extrapolation == fields[0].main_extrapolation):
        marks = Series(filter_name, lines=False)
        for field in fields:
            row = field.main_row(filter_name)
            for f in range(len(field.frequencies_hz) if row and not row.knows_truth else 0):
                if math.isfinite(row.figure(f, "cutoff_rad_per_m")):
                    marks.add(row.figure(f, "cutoff_rad_per_m"), 100.0 * row.figure(f, "relative_l2"))
        if marks.x:
            yield marks


def _write_errors(path, fields):
    """Errors over cut-offs of one source, all its ratios and frequencies."""
    first = fields[0]
    curves = [Series(f"{frequency_hz:.0f} Hz, {field.snr_db:.0f} dB", field.json["scan"]["cutoff_rad_per_m"],
                     [100.0 * number_of(distance) for distance in field.json["scan"]["distance"][f]], markers=False)
              for field in fields for f, frequency_hz in enumerate(field.frequencies_hz)]
    write_plot(path, f"{first.name}, {1e3 * first.standoff_m:.0f} mm: error over the cut-off",
               Axis("cut-off [rad/m]", logarithmic=True), Axis("mean relative L2 [%]", logarithmic=True, low=0.5, high=200.0),
               curves + list(_marks(fields)),
               [f"{first.main_extrapolation}, slope {first.json['scan']['slope']:.1f}; marks: what filters chose (means) and their error"])


def _write_ncc(path, field):
    """Median NCC of a file over one cut-off for all its frequencies."""
    scan = field.json["scan"]
    medians = [median([1.0 - number_of(of_frequency[i]) for of_frequency in scan["distance"]]) for i in range(len(scan["cutoff_rad_per_m"]))]
    series = [Series("one for all", scan["cutoff_rad_per_m"], medians, markers=False)]
    for row in field.shown_rows():
        if math.isfinite(row.figure(0, "cutoff_rad_per_m")):
            series.append(Series(row.filter, [row.median("cutoff_rad_per_m")], [row.median("ncc")], lines=False))
    write_plot(path, f"{field.name}: median NCC over one cut-off for all", Axis("cut-off [rad/m]", logarithmic=True),
               Axis("median NCC", low=0.0, high=1.0), series,
               [f"{field.main_extrapolation}, slope {scan['slope']:.1f}; marks: what filters chose (median) and their median NCC"])


def write_pictures(report, folder):
    if report.kinds:
        write_calibration(folder, report)
    for field in report.results:
        for frequency in field.pictured:
            if field.points:
                _write_points(folder / field.picture(frequency), field)
            else:
                _write_case(folder / field.picture(frequency), field, frequency)
        if not field.pictured:
            continue
        if field.part == "data":
            _write_ncc(folder / field.plot(), field)
        else:
            _write_errors(folder / field.plot(), [other for other in report.part(field.part) if other.name == field.name])
