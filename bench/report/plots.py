"""Line plots and pictures as PNG files that appear whole or not at all. Only what draws needs matplotlib: it is imported there."""

import dataclasses
import errno
import fcntl
import io
import math
import os
import stat

DPI = 100


def number_of(value):
    """A number of a report, where null stands for what is not finite."""
    return math.nan if value is None else value


def make_figure(width, height):
    """A figure of `width` x `height` inches without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def _require_regular(path, mode):
    if not stat.S_ISREG(mode):
        found = "a link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "a special file"
        raise OSError(errno.EEXIST, f"found {found}, expected a new or a regular file", str(path))


def _lock(descriptor, path):
    """As src/core/system/partial_file.cpp does it: each refuses what the other is writing."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise OSError(errno.EBUSY, "cannot be written: another program is writing it", str(path)) from error


def _remove_left_over(partial):
    """Removes what an earlier run left, unless it is being written or is no file that a run leaves."""
    try:
        _require_regular(partial, os.lstat(partial).st_mode)
        with open(os.open(partial, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", buffering=0) as old:
            _lock(old, partial)
            os.unlink(partial)
    except FileNotFoundError:
        pass


def _has_its_name(file, partial):
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(partial))
    except FileNotFoundError:
        return False


def _write_all(file, content):
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest):]


def write_whole_file(path, content):
    """Writes bytes to a new file beside `path` that then takes this name, or goes away when that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        _require_regular(path, path.stat().st_mode)
    partial = path.with_name(path.name + ".partial")
    _remove_left_over(partial)
    with open(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb", buffering=0) as file:
        try:
            _lock(file, partial)
            _write_all(file, content)
            if not _has_its_name(file, partial):
                raise OSError(errno.ESTALE, "was removed or replaced while it was written", str(partial))
            os.replace(partial, path)
        except BaseException as error:
            if _has_its_name(file, partial):
                os.unlink(partial)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(partial)
            raise


def save(figure, path):
    picture = io.BytesIO()
    figure.savefig(picture, format="png", facecolor="white", bbox_inches="tight")
    write_whole_file(path, picture.getvalue())


def colours():
    """From dark to light; grey where there is nothing to show."""
    import matplotlib
    return matplotlib.colormaps["viridis"].with_extremes(bad="0.8")


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
