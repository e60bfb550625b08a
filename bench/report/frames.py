"""Plots of `nearfield bench frames`: its stages' roofline, and whole frames against n and against the window."""

from plots import Axis, Series, number_of, write_plot
from roofline import add_point, device_note, write_roofline

LEAST_SHARE = 0.01  # least share of a frame's time of a stage that is drawn against n and window
TRANSFORMS = "figure 7.10"  # the sweep of clFFT


def time_unit(report, what):
    """A processor's times are milliseconds, a GPU's microseconds: factor and label. Older reports do not distinguish them."""
    return (1e6, f"{what} [µs]") if report["device"].get("is_gpu", False) else (1e3, f"{what} [ms]")


def runs_of(report, sweep):
    """Measured runs of a sweep, in the order of their values."""
    runs = [run for run in report["runs"] if run["sweep"] == sweep and "problem" not in run]
    return sorted(runs, key=lambda run: run["value"])


def _write_stages(path, title, report, runs, part=""):
    """One stage a series, one point a run, so that it can be seen to move with n."""
    series = {}
    for run in runs:
        for stage in run["stages"]:
            if part in stage["stage"]:
                add_point(series.setdefault(stage["stage"], Series(stage["stage"])), stage)
    counts = " ".join(str(run["frequencies"]) for run in runs)
    write_roofline(path, title, report, list(series.values()), [f"Points of a stage: n = {counts}"])


def _stage_s(run, name):
    return next((stage["device_s"]["median"] / run["batch"] for stage in run["stages"] if stage["stage"] == name), 0.0)


def _stage_series(runs, per_s):
    """The stages that take a share worth a line in the last run."""
    for stage in runs[-1]["stages"]:
        series = Series(stage["stage"])
        for run in runs:
            series.add(run["value"], _stage_s(run, stage["stage"]) * per_s)
        if series.y[-1] >= LEAST_SHARE * runs[-1]["frame_s"] * per_s:
            yield series


def _write_against(path, title, label, report, sweep):
    """Wall time with its straight line, device time, the floor, and the larger stages' device times."""
    per_s, time_label = time_unit(report, "time of a frame")
    runs = runs_of(report, sweep)
    wall, device, floor = Series("frame, wall, median"), Series("frame, device"), Series("floor: bytes or launches")
    for run in runs:
        wall.add(run["value"], run["frame_s"] * per_s)
        device.add(run["value"], run["launch_device_s"]["median"] / run["batch"] * per_s)
        floor.add(run["value"], max(run["launch_floors_s"].values()) / run["batch"] * per_s)
    series, notes = [wall, device, floor], [device_note(report)]
    for line in report["lines"]:
        if line["sweep"] == sweep and line["of"] == "frame":
            offset, slope = line["offset_s"] * per_s, line["slope_s"] * per_s
            series.append(Series("line through the walls", wall.x, [offset + slope * x for x in wall.x], markers=False))
            notes.append(f"Line: {offset:.4g} {slope:+.4g} x, residual {100.0 * number_of(line['relative_residual']):.1f} % of the mean")
    series += _stage_series(runs, per_s)
    write_plot(path, title, Axis(label), Axis(time_label, low=0.0), series, notes)


def write(report, folder):
    runs = runs_of(report, "n")
    if runs:
        _write_against(folder / "frames_against_n.png", "A frame from bits to images against n", "frequencies n", report, "n")
    _write_stages(folder / "frames_roofline.png", "Roofline of a frame's stages", report, runs or runs_of(report, "base"))
    transforms = runs_of(report, TRANSFORMS)
    if transforms:
        _write_stages(folder / "transforms_roofline.png", "Roofline of clFFT, 96 x 96 (fig. 7.11)", report, transforms, "_fft/clfft")
    if runs_of(report, "window"):
        _write_against(folder / "frames_against_window.png", "A frame from bits to images against the window",
                       "samples of a window", report, "window")
