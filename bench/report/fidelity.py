"""docs/results/fidelity.md and its pictures, of `nearfield bench fidelity`: what page and pictures share."""

import math
import statistics

from plots import number_of, write_whole_file

# Rows as bench/fidelity/fidelity.hpp and fidelity_imaging.hpp name them.
BEST_CUTOFF = "cos, best fixed cut-off"
BEST_LAMBDA = "tikhonov, best lambda"
NO_EXTRAPOLATION = "none"
AUTOMATIC = "imager: auto"


class Row:
    """A field imaged with one extrapolation and one filter."""

    def __init__(self, json):
        self.extrapolation, self.filter = json["extrapolation"], json["filter"]
        self.is_default, self.knows_truth = json["is_default"], json["knows_truth"]
        self.frequencies = json["frequencies"]

    def figure(self, frequency, name):
        return number_of(self.frequencies[frequency][name])

    def figures(self, name):
        return [self.figure(frequency, name) for frequency in range(len(self.frequencies))]

    def image(self, frequency):
        """None where the report has none."""
        return self.frequencies[frequency].get("image")

    def median(self, name):
        return median(self.figures(name))


class Field:
    """A field at one signal-to-noise ratio, with its rows."""

    def __init__(self, json, main_extrapolation):
        self.json = json
        self.part, self.name, self.quantity = json["part"], json["field"], json["quantity"]
        self.standoff_m, self.frequencies_hz = json["standoff_m"], json["frequencies_hz"]
        self.snr_db = math.inf if json["snr_db"] is None else json["snr_db"]
        self.array, self.points = json["array"], json["points_xy_m"]
        self.rows = [Row(row) for row in json["rows"]]
        self.main_extrapolation = main_extrapolation
        self.pictured = json["pictured"]

    def row(self, extrapolation, filter_name):
        """None when there is none."""
        return next((row for row in self.rows if (row.extrapolation, row.filter) == (extrapolation, filter_name)), None)

    def main_row(self, filter_name):
        return self.row(self.main_extrapolation, filter_name)

    def is_main(self, row):
        """Whether it has the default extrapolation, or needs none."""
        return row.extrapolation in (self.main_extrapolation, NO_EXTRAPOLATION)

    def chosen_row(self):
        """The row that the marks are for: auto where there is one, else the default."""
        return self.row(NO_EXTRAPOLATION, AUTOMATIC) or self.rows[0]

    def shown_rows(self):
        """Those that have pictures."""
        return [row for row in self.rows if any("image" in one for one in row.frequencies)]

    def picture(self, frequency):
        """The name that page and pictures share."""
        if self.points:
            return f"{self.name}.png"
        return f"{self.name}_{self.frequencies_hz[frequency]:.0f}hz.png".replace(" ", "_")

    def plot(self):
        return f"cutoff_{self.name}.png".replace(" ", "_")


class Report:
    def __init__(self, json):
        self.json = json
        self.main_extrapolation = json["main_extrapolation"]
        self.kinds = json["kinds"]
        self.results = [Field(result, self.main_extrapolation) for result in json["results"]]

    def part(self, name):
        return [field for field in self.results if field.part == name]


def median(values):
    """NaN where a value is."""
    return math.nan if any(map(math.isnan, values)) else statistics.median(values)


def write(json, docs):
    from fidelity_page import page_of
    report = Report(json)
    page = page_of(report)
    if docs is None:
        print(page, end="")
        return
    from fidelity_pictures import write_pictures
    write_pictures(report, docs / "pictures" / "fidelity")
    (docs / "results").mkdir(parents=True, exist_ok=True)
    write_whole_file(docs / "results/fidelity.md", page.encode("utf-8"))
