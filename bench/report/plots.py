"""Line plots as PNG files that appear whole or not at all."""

import dataclasses
import math
import os


def number_of(value):
    """A number of a report, where null stands for what is not finite."""
    return math.nan if value is None else value


def make_figure(width, height):
    """A figure of `width` x `height` inches without a window."""
    from matplotlib.figure import Figure
    return Figure(figsize=(width, height), dpi=100)


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, format="png", facecolor="white", bbox_inches="tight")
    os.replace(partial, path)


@dataclasses.dataclass
class Axis:
    label: str  # with its unit
    logarithmic: bool = False
    low: float = None  # else what the values need
    high: float = None


@dataclasses.dataclass
class Series:
    name: str
    x: list = dataclasses.field(default_factory=list)
    y: list = dataclasses.field(default_factory=list)
    lines: bool = True
    markers: bool = True

    def add(self, x, y):
        self.x.append(x)
        self.y.append(y)


def _set_up(axis, of, limits):
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
    if of.logarithmic:
        low, high = limits
        axis.set_major_locator(LogLocator(subs=(1.0,) if high >= 100.0 * low else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _of_twenty(index):
    """The dark colours of tab20 first, then the light ones."""
    import matplotlib
    return matplotlib.colormaps["tab20"](2 * index % 20 + index // 10 % 2)


def _scale(axes, x, y):
    for letter, axis in (("x", x), ("y", y)):
        if axis.logarithmic:
            getattr(axes, f"set_{letter}scale")("log", nonpositive="mask")
        getattr(axes, f"set_{letter}label")(axis.label)


def write_plot(path, title, x, y, series, notes=(), height=5.0):
    """All series over one pair of axes, the legend beside them, `notes` as lines below."""
    figure = make_figure(8.0, height)
    axes = figure.add_subplot()
    _scale(axes, x, y)
    drawn = [one for one in series if one.x]
    for index, one in enumerate(drawn):
        axes.plot(one.x, one.y, label=one.name, color=f"C{index}" if len(drawn) <= 10 else _of_twenty(index), linewidth=1.6,
                  markersize=5, linestyle=("-", "--")[index % 2] if one.lines else "none", marker="o" if one.markers else None)
    axes.set_xlim(x.low, x.high)
    axes.set_ylim(y.low, y.high)
    _set_up(axes.xaxis, x, axes.get_xlim())
    _set_up(axes.yaxis, y, axes.get_ylim())
    axes.grid(color="0.9")
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    if drawn:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize=9, frameon=False)
    if notes:
        axes.annotate("\n".join(notes), (0.0, 0.0), (0.0, -44.0), xycoords="axes fraction", textcoords="offset points",
                      verticalalignment="top", fontsize=9)
    save(figure, path)
