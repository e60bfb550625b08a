"""Plots of `nearfield bench frontends`, among them the thesis's figures 5.4, 7.2, 7.3, 7.4 and 7.5."""

import math

from frames import time_unit
from plots import Axis, Series, write_plot
from roofline import add_point, device_note, write_roofline

DOT_STAGES = ("/dot_reduce", "/dot_tiled", "/dot_product/gemm")
COUNT = Axis("frequencies n")


def measured(report):
    return [run for run in report["runs"] if "problem" not in run]


def series_of(runs, value_of):
    """A series for each variant, in the order of the runs; one point a number of frequencies."""
    series = {}
    for run in runs:
        series.setdefault(run["variant"], Series(run["variant"])).add(run["frequencies"], value_of(run))
    return list(series.values())


def spectra_s(run):
    return run["phase_device_s"]["spectra"]["median"]


def dot_runs(report):
    return [run for run in measured(report) if run["kind"] == "dot_product"]


def _write_stage_times(path, report):
    """Leaves out what costs the same as another series: single kernels, and variants that only lack the window."""
    per_s, label = time_unit(report, "time")
    runs = [run for run in measured(report) if run["use"] != "kernels" and not run["variant"].endswith(", no window")]
    series = series_of(runs, lambda run: run["device_s"]["median"] * per_s)
    thesis = Series("thesis, nominal (table 7.1)", markers=False)
    for run in report["runs"]:
        if run["thesis"] == "nominal" and run.get("thesis_s") is not None:
            thesis.add(run["frequencies"], run["thesis_s"] * per_s)
    write_plot(path, "From a hop's bits to spectra, device time", COUNT, Axis(label, logarithmic=True), series + [thesis],
               [device_note(report)])


def _write_walsh_coefficients(path, report):
    """Figure 5.4."""
    walsh = report["walsh_coefficients"]
    bins = range(1, len(walsh["by_bin_from_1"]) + 1)
    counted = Series("counted", [number * walsh["bin_hz"] for number in bins], walsh["by_bin_from_1"], markers=False)
    thesis = Series("thesis, in words", [number * walsh["bin_hz"] for number in walsh["thesis"]["bins"]],
                    [walsh["thesis"]["coefficients"]] * len(walsh["thesis"]["bins"]), lines=False)
    write_plot(path, f"Walsh coefficients above {walsh['threshold']:g} per Fourier bin (fig. 5.4)", Axis("frequency [Hz]"),
               Axis("coefficients", low=0.0), [counted, thesis])


def _write_against_gemm(path, report):
    """Figure 7.2."""
    per_s, label = time_unit(report, "time")
    write_plot(path, "Dot products by kernel, samples to spectra, device time (fig. 7.2)", COUNT, Axis(label, logarithmic=True),
               series_of(dot_runs(report), lambda run: spectra_s(run) * per_s),
               [device_note(report), "the thesis: its kernels beat cBLAS for n < 44, tenfold at n = 1"])


def _write_against_clfft(path, report):
    """Figure 7.4: over the time of clFFT's commands in the nominal chain, at the same n."""
    fft_s = {run["frequencies"]: stage["device_s"]["median"] for run in measured(report) if run["variant"] == "decimated_fft"
             for stage in run["stages"] if stage["stage"].endswith("/clfft")}
    write_plot(path, "Dot products over clFFT, device time (fig. 7.4)", COUNT, Axis("time over clFFT's", logarithmic=True),
               series_of(dot_runs(report), lambda run: spectra_s(run) / fft_s.get(run["frequencies"], math.nan)),
               [device_note(report), "the thesis: below 1 for n <= 5"])


def _points_of(report, variant, name, endings):
    """One stage at every n."""
    series = Series(name)
    for run in measured(report):
        for stage in run["stages"]:
            if run["variant"] == variant and stage["stage"].endswith(endings):
                add_point(series, stage)
    return series


def _write_dot_roofline(path, report):
    """Figures 7.3 and 7.5."""
    kernels = dict.fromkeys(run["variant"] for run in report["runs"] if run["use"] == "kernels")
    series = [_points_of(report, variant, variant, DOT_STAGES) for variant in kernels]
    series.append(_points_of(report, "decimated_fft", "clFFT", ("/decimated_fft/clfft",)))
    write_roofline(path, "Roofline of dot products and clFFT (fig. 7.3, 7.5)", report, series)


def write(report, folder):
    _write_stage_times(folder / "stage_times.png", report)
    if report["walsh_coefficients"]["by_bin_from_1"]:
        _write_walsh_coefficients(folder / "walsh_coefficients.png", report)
    if any(run["kind"] == "dot_product" for run in report["runs"]):
        _write_against_gemm(folder / "dot_product_against_gemm.png", report)
        _write_against_clfft(folder / "dot_product_against_clfft.png", report)
        _write_dot_roofline(folder / "dot_product_roofline.png", report)
