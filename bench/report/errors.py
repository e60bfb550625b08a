"""Pictures of `nearfield bench errors`: each scene's holograms, errors over Walsh coefficients, leakage of offsets."""

import math
import pathlib

from images import Sheet, decoded
from plots import Axis, Series, number_of, write_plot

FLOOR_DB, TOP_DB = -90.0, -20.0  # of deviations
WHOLE_CURVE = 32768              # where "all coefficients" lies on the curve's axis
# Other choices of their settings leak alike.
PLOTTED = ("decimated_fft", "dot_product", "popcount 1", "walsh fast 6144")
# Pixels.
CELL, GAP, CAPTION, TITLE, CAPTION_WIDTH, COLUMNS = 6, 24, 58, 64, 190, 5


def scene_title(scene):
    return (f"{scene['scene']}: {scene['frequency_hz']:.2f} Hz (thesis {scene['thesis_frequency_hz']:.0f} Hz), "
            f"modulators of order {scene['modulator_order']}, {scene['level_dbfs']:.0f} dBFS rms")


def scene_file(scene):
    return f"{pathlib.Path(scene['file']).stem}_order{scene['modulator_order']}_{scene['level_dbfs']:.0f}dbfs.png"


def deviations(image, truth):
    """How far a hologram is from the true one, as a level re that one's maximum; 0 to 1 from FLOOR_DB to TOP_DB."""
    import numpy
    with numpy.errstate(divide="ignore"):
        level_db = 20.0 * numpy.log10(abs(image - truth) / abs(truth).max())
    return numpy.clip((level_db - FLOOR_DB) / (TOP_DB - FLOOR_DB), 0.0, 1.0)


def _in_caption(metrics):
    rmsre, nsad = (100.0 * number_of(metrics[name]) for name in ("rmsre", "nsad_signed"))
    return f"{rmsre:.2f} %, {round(nsad, 3) + 0.0:.3f} %"  # + 0.0: no minus sign before nothing


def panels_of(scene):
    """Values from 0 to 1 and lines below, of the true field and of each front end."""
    truth = decoded(scene["hologram"])
    panels = [(abs(truth) / abs(truth).max(), ["true field", "exact spectra, same imager", "magnitude"])]
    for row in scene["front_ends"]:
        if "problem" not in row:
            panels.append((deviations(decoded(row["hologram"]), truth),
                           [row["variant"], "to nominal: " + _in_caption(row["to_nominal"]),
                            "to true: " + _in_caption(row["to_truth"])]))
    return panels


def _write_scene(path, scene):
    panels = panels_of(scene)
    rows, array_columns = scene["rows"], scene["columns"]
    columns = min(len(panels), COLUMNS)
    step_x, step_y = max(array_columns * CELL, CAPTION_WIDTH) + GAP, rows * CELL + CAPTION + 12
    sheet = Sheet(max(columns * step_x + GAP, 720), -(-len(panels) // columns) * step_y + TITLE)
    sheet.text(GAP, 20, scene_title(scene), size=11, bold=True)
    sheet.scale(GAP + 400, 44, f"deviation from the true field's hologram, re its maximum: {FLOOR_DB:.0f} dB",
                f"{TOP_DB:.0f} dB; below each: RMSRE, NSAD")
    for index, (shares, lines) in enumerate(panels):
        x, y = GAP + index % columns * step_x, TITLE + index // columns * step_y
        sheet.panel(x, y, array_columns * CELL, rows * CELL, shares.reshape(rows, array_columns))
        for number, line in enumerate(lines):
            sheet.text(x, y + rows * CELL + 12 + 16 * number, line, bold=number == 0)
    sheet.write(path)


def _write_curve(path, curves):
    series = []
    for curve in curves:
        x = [count or WHOLE_CURVE for count in curve["coefficients"]]
        for name, values in (("RMSRE", curve["rmsre_to_truth"]), ("spectra", curve["spectral_error"])):
            series.append(Series(f"{curve['scene']}, {name}", x, [100.0 * number_of(y) for y in values]))
    write_plot(path, "walsh_fourier fast: coefficients against error",
               Axis("coefficients a frequency (the last: all)", logarithmic=True),
               Axis("error to the true field [%]", logarithmic=True), series,
               ["RMSRE of holograms, relative L2 of spectra; the thesis keeps 40, the default is 6144"])


def _write_leakage(path, leakages):
    """The thesis's figure 7.9 in numbers."""
    series = []
    for leakage in leakages:
        if "problem" not in leakage and leakage["variant"] in PLOTTED:
            levels_db = [20.0 * math.log10(ratio) if ratio else math.nan for ratio in leakage["leakage"]]
            series.append(Series(f"{leakage['variant']}, {'removed' if leakage['remove_dc'] else 'kept'}",
                                 leakage["frequencies_hz"], levels_db, lines=not leakage["on_bins"], markers=leakage["on_bins"]))
    write_plot(path, "An offset's leakage into low frequencies (fig. 7.9), hann, 1024 words", Axis("frequency [Hz]", low=0.0),
               Axis("phasor over offset [dB]", low=-160.0, high=10.0), series,
               ["points: front ends that have bins only; with a hann window, an offset that is kept reaches bin 1 alone"])


def write(report, folder):
    for scene in report["scenes"]:
        _write_scene(folder / scene_file(scene), scene)
    if report.get("walsh_curves"):
        _write_curve(folder / "walsh_curve.png", report["walsh_curves"])
    if report.get("offset"):
        _write_leakage(folder / "offset_leakage.png", report["offset"])
