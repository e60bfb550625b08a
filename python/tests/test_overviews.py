"""Pictures of many frames or several processors: the arrays, limits, places and labels that matplotlib was given, and pixels of what it wrote."""

import itertools
import subprocess
import sys

import h5py
import matplotlib.colors
import matplotlib.image
import numpy as np
import pytest
from images_support import describe, put_array, put_axes

import nearfield
from nearfield._maps import Scale, colours, place_on
from nearfield._results import Axis, Results, circles_on, name_of
from nearfield.errors import UsageError
from nearfield.overviews import main, overlays, overviews, pattern, sections, track_colour

pytestmark = pytest.mark.versions

FRAMES = 40
X_M, Y_M = np.linspace(-1.0, 1.0, 21), np.linspace(-0.5, 0.5, 11)
COARSE_X_M, COARSE_Y_M = np.linspace(-1.0, 1.0, 9), np.linspace(-0.5, 0.5, 5)
STANDOFF_M = 0.03
CONFIG = f"version: 1\nholography: {{standoff_m: {STANDOFF_M}}}\n"


# ---- Files ----


def put_processor(group, name, axes, frames, step_ns=100_000_000):
    put_axes(group, axes)
    for key in ("processor", "kind", "device", "front_end"):
        group.attrs[key] = np.bytes_(name)
    group.attrs["config"] = np.bytes_(CONFIG)
    group["first_sample"] = np.arange(frames, dtype=np.uint64) * 1000
    group["timestamp_ns"] = np.arange(frames, dtype=np.int64) * step_ns
    group["flags"] = np.zeros(frames, np.uint32)
    group["missing_bits"] = np.zeros(frames, np.uint64)
    group["frames_written"] = np.uint64(frames)


def put_sources(group, columns, unit="m"):
    """`columns` [frame, row] by their names."""
    table = group.create_group("sources")
    table["rows"] = np.full(len(columns["id"]), columns["id"].shape[1], np.uint64)
    units = {"x": unit, "y": unit, "z": unit, "level_db": "dB"}
    for name, values in columns.items():
        table[name] = values.astype(np.uint32 if name in ("id", "state") else np.float32)
        table[name].attrs["unit"] = np.bytes_(units.get(name, "1"))
    table.attrs["columns"] = np.bytes_(",".join(columns))
    describe(group, "sources", form="table", quantity="places of sources", unit="m")


def track_x(frame):
    return -0.8 + 0.04 * np.asarray(frame)


def write_three(path, frames=FRAMES):
    """A finder of sources over y and x, a meter of mean squares over the same plane, and a line of angles."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "version": 1, "processors": np.bytes_("where,far,line")})
        put_processor(file, "where", [("distance", "m", [1.0, 2.0]), ("y", "m", Y_M), ("x", "m", X_M)], frames)
        two, number = np.ones((frames, 1)), np.arange(frames)[:, None]
        put_sources(file, {"id": two * [7, 0], "state": two * [2, 1], "x": np.hstack([track_x(number), -0.5 * two]), "y": two * [0.2, -0.3],
                           "z": STANDOFF_M - two * [1.0, 2.0], "confidence": two * [0.9, 0.4], "level_db": two * [71.25, 60.0]})
        ridge = np.broadcast_to(1.0 - abs(X_M), (frames, 2, 11, 21))
        put_array(file, "map", "steered response power", "1", ["distance", "y", "x"], ridge)
        far = file.create_group("far")
        put_processor(far, "far", [("frequency", "Hz", [1000.0, 2000.0]), ("y", "m", COARSE_Y_M), ("x", "m", COARSE_X_M)], frames)
        put_array(far, "map", "mean square pressure", "Pa^2", ["frequency", "y", "x"], np.array([far_map(i) for i in range(frames)]))
        line = file.create_group("line")
        put_processor(line, "line", [("frequency", "Hz", [1000.0, 2000.0]), ("distance", "m", [1.0, 2.0]),
                                     ("angle", "deg", [30.0, 60.0, 90.0, 120.0])], frames)  # fmt: skip
        values = np.full((frames, 2, 2, 4), 0.5, np.complex64)
        values[np.arange(frames), :, 0, np.arange(frames) % 4] = 1j
        values[np.arange(frames), :, 1, np.arange(frames) % 4] = [-3j, -6j]
        put_array(line, "map", "pressure", "Pa", ["frequency", "distance", "angle"], values)
    return path


def far_map(frame):
    """60 dB in the first pixel, 10 dB less in the next and so on, 20 dB more at the second frequency, a dB more in each frame; the last is NaN."""
    levels = 60.0 - 10.0 * (np.arange(45) % 9) + np.array([[0.0], [20.0]]) + frame
    values = 4e-10 * 10.0 ** (levels / 10.0)
    values[0, -1] = np.nan
    return values.reshape(2, 5, 9)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return write_three(tmp_path_factory.mktemp("overviews") / "three.h5")


def image_of(figure, index=0):
    (image,) = figure.axes[index].images
    return image


def values_of(image):
    return np.ma.filled(image.get_array().astype(float), np.nan)


def pixel(path, figure, ax, x, y):
    """The colour of the file at a place of the axes' data, 0 to 255."""
    picture = matplotlib.image.imread(path)
    column, row = ax.transData.transform((x, y))
    return np.round(255 * picture[int(picture.shape[0] - row), int(column), :3]).astype(int)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# ---- What all share ----


def test_colours_are_those_of_the_pictures_of_frames():
    # src/core/colours.cpp: magnitude_colour(0), (1) and phase_colour(0), by Ottosson's matrices in exact arithmetic elsewhere.
    linear = np.linspace(0.0, 1.0, 256)
    lightness = [lightness_of(colour) for colour in colours()(linear)[:, :3]]
    np.testing.assert_allclose(lightness, 0.15 + 0.81 * linear, atol=2e-3)  # its definition: lightness is linear in the value
    assert lightness_of(track_colour(7)) == pytest.approx(0.74, abs=2e-3)
    assert not np.allclose(track_colour(7), track_colour(8), atol=0.05)


def lightness_of(srgb):
    """L of OKLab by the forward matrices."""
    linear = np.where(np.asarray(srgb) <= 0.04045, np.asarray(srgb) / 12.92, ((np.asarray(srgb) + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                              [0.0883024619, 0.2817188376, 0.6299787005]]) @ linear)  # fmt: skip
    return np.dot([0.2104542553, 0.7936177850, -0.0040720468], cones)


@pytest.mark.parametrize(("unit", "is_complex", "value", "level"), [
    ("Pa", True, np.sqrt(2.0), 93.9794), ("Pa^2", False, 1.0, 93.9794), ("W/m^2", False, 1e-6, 60.0), ("1", False, 0.01, -20.0), ("1", True, 0.01, -40.0),
    ("m/s", True, 5e-6 * np.sqrt(2.0), 40.0), ("m", True, 1e-9 * np.sqrt(2.0), 60.0), ("rad", True, 0.01, -40.0), ("(m/s)^2", False, 0.01, -20.0),
    ("1/s^2", False, 0.01, -40.0), ("W", False, 0.01, -20.0)])  # fmt: skip
def test_levels_of_each_unit(tmp_path, unit, is_complex, value, level):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        put_processor(file, "one", [("y", "m", [0.0, 1.0]), ("x", "m", [0.0, 1.0])], 1)
        put_array(file, "map", "a", unit, ["y", "x"], np.array([[[value, 0.0], [np.nan, value / 10.0]]]) * (1j if is_complex else 1.0))
        product = Results.all_of(file)[0].arrays[0]
        shown = Scale(db=True, range_db=15.0, top="own").shown("a", product, product.values(0))
    assert (shown.high, shown.low) == (pytest.approx(level, abs=1e-3), pytest.approx(level - 15.0, abs=1e-3))
    assert shown.values[0, 1] < shown.low and np.isnan(shown.values[1, 0]) and shown.values[0, 0] == pytest.approx(level, abs=1e-3)


def test_lengths_are_not_levels_and_signed_values_have_both_ends(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        put_processor(file, "one", [("y", "m", [0.0, 1.0]), ("x", "m", [0.0])], 2)
        put_array(file, "focus_m", "a distance", "m", ["y", "x"], np.array([[[0.5], [2.0]]] * 2))
        put_array(file, "gain", "a gain", "1", ["y", "x"], np.array([[[-6.0], [2.0]], [[-1.0], [4.0]]]))
        focus, gain = Results.all_of(file)[0].arrays
        shown = Scale(db=True, range_db=15.0).shown("f", focus, focus.values(0))
        assert (shown.low, shown.high, shown.label) == (0.0, 2.0, "focus_m [m]")
        held = Scale(top="hold")
        assert [(one.low, one.high) for one in (held.shown("g", gain, gain.values(0)), held.shown("g", gain, gain.values(1)))] == [(-6, 2), (-6, 4)]
        own = Scale(top="own").shown("g", gain, gain.values(1))
        assert (own.low, own.high) == (-1.0, 4.0)


def test_places_on_axes():
    uneven = Axis("x", "m", np.array([0.0, 1.0, 3.0]))
    np.testing.assert_allclose(place_on(uneven, [-0.5, 0.0, 0.5, 2.0, 3.0, 4.0]), [-0.5, 0.0, 0.5, 1.5, 2.0, 2.5])
    np.testing.assert_allclose(place_on(Axis("x", "m", uneven.values[::-1]), [3.0, 2.0, 0.5]), [0.0, 0.5, 1.5])
    assert place_on(Axis("x", "m", np.array([5.0])), 7.0) == 0.0


def test_names_sort_and_differ():
    def named(name, unit, values):
        axis = Axis(name, unit, np.array(values))
        return [name_of([axis], [i]) for i in range(len(values))]

    assert named("frequency", "Hz", [500.0, 1000.0]) == ["_frequency0500.0Hz", "_frequency1000.0Hz"]
    assert named("z", "m", [-0.0004, 0.0, 0.02]) == ["_z-0.0004m", "_z+0.0000m", "_z+0.0200m"]
    assert named("band", "Hz", [[447.0, 562.0]] * 11)[1] == "_band01_447-562Hz"
    assert named("slowness", "s/m", [1.0]) == ["_slowness1.0s_m"]


# ---- Tracks and bearings ----


def test_tracks(three, tmp_path):
    drawn = dict(overviews(three, Scale()))
    assert sorted(drawn) == ["bearings_line_map_angle_frequency1000.0Hz.png", "bearings_line_map_angle_frequency2000.0Hz.png", "tracks_where.png"]
    figure = drawn["tracks_where.png"]
    assert [ax.get_ylabel() for ax in figure.axes] == ["x [m]", "y [m]", "z [m]"]
    np.testing.assert_allclose(figure.axes[0].get_ylim(), (-1.05, 1.05))  # half a step beyond the map's axis
    np.testing.assert_allclose(figure.axes[2].get_ylim(), (STANDOFF_M - 2.0, STANDOFF_M - 1.0), atol=1e-6)
    assert figure.axes[0].get_xlim() == pytest.approx((0.0, 3.9))
    for ax, of_track, of_candidate in zip(figure.axes, (track_x(np.arange(FRAMES)), 0.2, STANDOFF_M - 1.0), (-0.5, -0.3, STANDOFF_M - 2.0), strict=True):
        (points,) = ax.collections
        at, colour = points.get_offsets(), points.get_facecolors()[:, :3]
        np.testing.assert_allclose(at[:, 0], np.tile(np.arange(FRAMES) * 0.1, 2))
        np.testing.assert_allclose(at[:FRAMES, 1], of_candidate, atol=1e-6)
        np.testing.assert_allclose(at[FRAMES:, 1], of_track, atol=1e-6)
        np.testing.assert_allclose(colour, [[190 / 255] * 3] * FRAMES + [track_colour(7)] * FRAMES)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["candidates", "track 7"]
    assert figure.axes[0].get_title() == "1 track, 40 frames" and figure.axes[2].get_xlabel() == "time [s]"
    figure.savefig(tmp_path / "tracks.png")
    expected = np.round(255 * track_colour(7))
    np.testing.assert_allclose(pixel(tmp_path / "tracks.png", figure, figure.axes[0], 1.7, track_x(17)), expected, atol=1)
    np.testing.assert_array_equal(pixel(tmp_path / "tracks.png", figure, figure.axes[0], 1.7, 0.9), [255] * 3)


def test_tracks_of_directions_and_of_nothing(tmp_path):
    one = np.ones((3, 1))
    columns = {"id": one, "state": one, "x": 0.5 * one, "y": 0.0 * one, "z": -np.sqrt(0.75) * one, "confidence": one, "level_db": one}
    with h5py.File(tmp_path / "a.h5", "w") as file:
        put_processor(file, "where", [("x", "m", [0.0])], 3, step_ns=0)
        put_sources(file, columns, "1")
    ((name, figure),) = overviews(tmp_path / "a.h5", Scale())
    assert name == "tracks_where.png" and [ax.get_ylabel() for ax in figure.axes] == ["azimuth [deg]", "elevation [deg]"]
    np.testing.assert_allclose(figure.axes[0].collections[0].get_offsets(), [[0.0, 30.0], [1.0, 30.0], [2.0, 30.0]], atol=1e-5)
    assert figure.axes[1].get_xlabel() == "frame" and figure.axes[0].get_ylim() == pytest.approx((29.0, 31.0), abs=1e-5)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        put_processor(file, "where", [("x", "m", [0.0])], 3)
        put_sources(file, {key: value[:, :0] for key, value in columns.items()})
    ((_, figure),) = overviews(tmp_path / "b.h5", Scale())
    assert [ax.get_ylim() for ax in figure.axes] == [(-1.0, 1.0)] * 2
    figure.savefig(tmp_path / "b.png")


def test_bearings_are_the_largest_over_distances(three, tmp_path):
    drawn = dict(overviews(three, Scale()))
    for name, most in (("1000", 3.0), ("2000", 6.0)):
        figure = drawn[f"bearings_line_map_angle_frequency{name}.0Hz.png"]
        image = image_of(figure)
        expected = np.where(np.arange(4) == np.arange(FRAMES)[:, None] % 4, most, 0.5)
        np.testing.assert_array_equal(values_of(image), expected)
        assert image.get_clim() == (0.0, most) and tuple(image.get_extent()) == (-0.5, 3.5, FRAMES - 0.5, -0.5)
        assert labels(figure.axes[0].xaxis) == ["30", "60", "90", "120"]
        ticks = dict(zip(labels(figure.axes[0].yaxis), figure.axes[0].get_yticks(), strict=True))
        assert ticks["2"] == pytest.approx(20.0) and figure.axes[0].get_ylabel() == "time [s]"
        assert figure.axes[1].get_ylabel() == "|map| [Pa]" and f"frequency = {name} Hz" in figure._suptitle.get_text()
    figure.savefig(tmp_path / "b.png")
    for row, column, place in ((0, 0, 1.0), (1, 1, 1.0), (1, 0, 0.5 / 6.0)):
        expected = np.round(255 * np.array(colours()(place)[:3]))
        np.testing.assert_allclose(pixel(tmp_path / "b.png", figure, figure.axes[0], column, row), expected, atol=1)


def test_many_frames_share_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("nearfield.overviews.MOST_ROWS", 10)
    drawn = dict(overviews(write_three(tmp_path / "long.h5", 40), Scale(db=True, range_db=20.0, top="90")))
    image = image_of(drawn["bearings_line_map_angle_frequency1000.0Hz.png"])
    assert image.get_array().shape == (10, 4)
    level = 20.0 * np.log10(3.0 / np.sqrt(2.0) / 20e-6)
    np.testing.assert_allclose(values_of(image), level)  # each bearing has its turn in four frames
    assert image.get_clim() == pytest.approx((70.0, 90.0))


# ---- Overlays ----


def test_overlay(three, tmp_path):
    drawn = dict(overlays(three, "where", "far", Scale(top="own"), range(3, 5)))
    assert sorted(drawn) == sorted(f"frame{frame:05}_where_map_distance{distance}.000m_over_far_map_frequency{frequency}.0Hz.png"
                                   for frame in (3, 4) for distance in (1, 2) for frequency in (1000, 2000))  # fmt: skip
    figure = drawn["frame00003_where_map_distance1.000m_over_far_map_frequency1000.0Hz.png"]
    ax, image = figure.axes[0], image_of(figure)
    np.testing.assert_allclose(values_of(image), far_map(3)[0], rtol=1e-6, atol=1e-30)
    assert image.get_clim() == (0.0, pytest.approx(far_map(3)[0, 0, 0]))
    paths = [collection.get_paths() for collection in ax.collections]  # before matplotlib 3.8 a collection a level
    for of_level, x_m in zip(paths if len(paths) == 3 else [[path] for path in paths[0]], (0.75, 0.5, 0.25), strict=True):  # of the ridge 1 - |x|
        np.testing.assert_allclose(abs(np.concatenate([path.vertices for path in of_level])[:, 0] - 4.0), 4.0 * x_m)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-0.5, 8.5), (4.5, -0.5))
    assert [(text.get_text(), *np.round(text.xy, 6)) for text in ax.texts] == [  # on a map without distances all of them
        ("#7  71.2 dB, 0.90", pytest.approx((track_x(3) + 1.0) / 0.25, abs=1e-5), pytest.approx(2.8)), ("60.0 dB, 0.40", 2.0, pytest.approx(0.8))]
    assert "Contours: map of where at 0.25, 0.5, 0.75." in figure._supxlabel.get_text() and "Hatched: 1 of 45" in figure._supxlabel.get_text()
    figure.savefig(tmp_path / "o.png")
    np.testing.assert_allclose(pixel(tmp_path / "o.png", figure, ax, 0.2, 0), np.round(255 * np.array(colours()(1.0)[:3])), atol=1)


@pytest.mark.parametrize(("top", "of_frames"), [("common", [61, 61]), ("own", [60, 61]), ("hold", [60, 61]), ("70", [70, 70])])
def test_scales_of_overlays(three, top, of_frames):
    drawn = [figure for name, figure in overlays(three, "where", "far", Scale(db=True, range_db=25.0, top=top), range(2)) if "m_over_far_map_frequency1" in name]
    found = [image_of(figure).get_clim() for figure in drawn[::2]]
    np.testing.assert_allclose(found, [(most - 25.0, most) for most in of_frames], atol=1e-3)
    np.testing.assert_allclose(values_of(image_of(drawn[0]))[0], 60.0 - 10.0 * np.arange(9), atol=1e-4)


def test_overlays_refuse_what_does_not_fit(three):
    for pair, words in ((("where", "line"), "expected maps over the same axes, found x [m] and y [m] of where, and angle [deg] and distance [m] of line"),
                        (("where", "nowhere"), 'one of where, far, line; found "nowhere"'),
                        (("where.sources", "far"), 'with a map over two axes, found "where.sources"')):
        with pytest.raises(UsageError) as refused:
            list(overlays(three, *pair, Scale()))
        assert words in refused.value.message


def test_circles_lie_on_the_nearest_plane(three):
    with h5py.File(three) as file:
        where = Results.all_of(file)[0]
        axes = where.arrays[0].axes
        ((across, down, words, is_bold),) = circles_on(axes, [0], where, where, 20)
        assert (across, down) == (pytest.approx(0.0, abs=1e-6), pytest.approx(0.2, abs=1e-6)) and words == "#7  71.2 dB, 0.90" and is_bold
        ((across, _, words, is_bold),) = circles_on(axes, [1], where, where, 20)
        assert across == pytest.approx(-0.5) and words == "60.0 dB, 0.40" and not is_bold


def test_circles_of_directions_and_on_angles(tmp_path):
    length = np.sqrt(0.3**2 + 0.4**2 + 2.0**2)
    one = np.ones((1, 1))
    for unit, scale, z in (("1", 1.0 / length, -2.0), ("m", 1.0, STANDOFF_M - 2.0)):
        with h5py.File(tmp_path / f"{unit}.h5", "w") as file:
            put_processor(file, "where", [("distance", "m", [1.0, 2.0])], 1)
            put_sources(file, {"id": one, "state": 2 * one, "x": 0.3 * scale * one, "y": -0.4 * scale * one, "z": z * scale * one, "confidence": one,
                               "level_db": one}, unit)
            (where,) = Results.all_of(file)
            plane = [Axis("distance", "m", np.array([1.0, 2.0])), Axis("y", "m", Y_M), Axis("x", "m", X_M)]
            angles = [Axis("elevation", "deg", Y_M), Axis("azimuth", "deg", X_M)]
            (circle,) = circles_on(plane, [1], where, where, 0)
            np.testing.assert_allclose(circle[:2], (0.3, -0.4), atol=1e-6)
            (circle,) = circles_on(angles, [], where, where, 0)
            np.testing.assert_allclose(np.sin(np.radians(circle[:2])), (0.3 / length, -0.4 / length), atol=1e-6)
            radius = [Axis("radius", "m", np.array([1.0, length])), *angles]
            (circle,) = circles_on(radius, [1], where, where, 0)
            np.testing.assert_allclose(circle[:2], np.degrees([np.arctan2(-0.4, 0.3), np.arcsin(2.0 / length)]), atol=1e-4)
            assert circles_on([Axis("point", "m", X_M), Axis("x", "m", X_M)], [], where, where, 0) == []


# ---- Sections ----


def write_volume(path):
    """Two frequencies; a value that its place determines."""
    depth, row, column = np.ogrid[:7, :5, :9]
    values = np.array([1.0, 2.0])[:, None, None, None] * (1 + depth + 10 * row + 100 * column)
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "version": 1, "processors": np.bytes_("far")})
        axes = [("frequency", "Hz", [500.0, 1000.0]), ("distance", "m", 0.5 + 0.1 * np.arange(7)), ("y", "m", -0.2 + 0.1 * np.arange(5)),
                ("x", "m", -0.4 + 0.1 * np.arange(9))]
        put_processor(file, "far", axes, 2)
        put_array(file, "map", "mean square pressure", "Pa^2", ["frequency", "distance", "y", "x"], np.array([values, 2.0 * values]))
    return values


def test_sections_cut_the_volume_at_the_place(tmp_path):
    values = write_volume(tmp_path / "v.h5")
    # x = 0.2 is column 6, y = -0.1 row 1; z = -0.87 lies 0.9 m before the array, depth 4.
    drawn = dict(sections(tmp_path / "v.h5", (0.2, -0.1, -0.87), Scale(top="own"), frames=range(1, 9)))
    assert list(drawn) == [f"sections00001_far_map_frequency{f}.0Hz.png" for f in ("0500", "1000")]
    figure = drawn["sections00001_far_map_frequency1000.0Hz.png"]
    volume = 2.0 * values[1]
    xy, depth_y, x_depth = figure.axes[:3]
    for ax, expected, down, across in ((xy, volume[4], 1, 6), (depth_y, volume[:, :, 6].T, 1, 4), (x_depth, volume[:, 1], 4, 6)):
        (image,) = ax.images
        np.testing.assert_array_equal(values_of(image), expected)
        assert image.get_clim() == (0.0, volume.max()) and tuple(image.get_extent()) == (-0.5, expected.shape[1] - 0.5, expected.shape[0] - 0.5, -0.5)
        np.testing.assert_allclose([ax.lines[0].get_xdata()[0], ax.lines[1].get_ydata()[0]], [across, down], atol=1e-9)
    assert [ax.get_xlabel() for ax in (xy, depth_y, x_depth)] == ["x [m]", "distance [m]", "x [m]"]
    assert [ax.get_ylabel() for ax in (xy, depth_y, x_depth)] == ["y [m], downwards", "y [m], downwards", "distance [m]"]
    assert labels(xy.xaxis)[::4] == ["−0.4", "0", "0.4"] and "cut at x = 0.2 m, y = −0.1 m, distance = 0.9 m" in xy.get_title(loc="left")
    figure.savefig(tmp_path / "s.png")
    expected = np.round(255 * np.array(colours()(volume[4, 3, 2] / volume.max())[:3]))
    np.testing.assert_allclose(pixel(tmp_path / "s.png", figure, xy, 2, 3), expected, atol=1)
    beside = [pixel(tmp_path / "s.png", figure, xy, x, 3) for x in np.linspace(5.97, 6.03, 9)]  # a line that is a pixel and a half wide
    assert min(np.abs(colour - [90, 220, 255]).max() for colour in beside) <= 1
    common = dict(sections(tmp_path / "v.h5", (0.2, -0.1, -0.87), Scale()))
    assert image_of(common["sections00000_far_map_frequency1000.0Hz.png"]).get_clim() == (0.0, volume.max())


def test_sections_of_planes_and_refusals(tmp_path, three):
    write_volume(tmp_path / "v.h5")
    for place, chosen, words in (((0.5, 0.0, -0.87), "", "--at: expected x inside the volume, x from -0.4"),
                                 ((0.0, 0.0, 0.0), "", "--at: expected z inside the volume, distance from 0.5"),
                                 ((0.0, 0.0, -0.87), "near", "at least two depths of near")):
        with pytest.raises(UsageError) as refused:
            list(sections(tmp_path / "v.h5", place, Scale(), map=chosen))
        assert words in refused.value.message
    assert len(list(sections(three, (0.0, 0.0, -1.0), Scale(), map="where.map", frames=range(1)))) == 1


# ---- By the program ----


@pytest.fixture
def by_this_python(monkeypatch):
    monkeypatch.setenv("NEARFIELD_PYTHON", sys.executable)


@pytest.mark.once
def test_the_commands_draw(by_this_python, tmp_path, images):
    three = write_three(tmp_path / "three.h5", 4)
    said = nearfield.run("pictures", three, "-o", tmp_path / "png", "--frames", "1:3", "--db", "--range", "15", "--top", "hold")
    assert said == f"{tmp_path}/png: 12 pictures\n{tmp_path}/png: 3 pictures over time\n"
    frames = sorted(path.name for path in (tmp_path / "png").glob("frame*"))
    assert len(frames) == 12
    assert nearfield.run("pictures", three, "-o", tmp_path / "only", "--overviews-only") == f"{tmp_path}/only: 3 pictures over time\n"
    assert nearfield.run("pictures", three, "-o", tmp_path / "over", "--overlay", "where:far", "--frames", "1") == f"{tmp_path}/over: 4 pictures\n"
    with h5py.File(three) as file:  # both name frames alike
        assert frames == sorted(f"frame{frame:05}_{results.name}_{product.name}{name_of(product.axes[:-2], entries)}.png"
                                for results in Results.all_of(file) for product in results.arrays for frame in (1, 2)
                                for entries in itertools.product(*(range(len(axis.values)) for axis in product.axes[:-2])))  # fmt: skip
    write_volume(tmp_path / "v.h5")
    cut = ["-o", tmp_path / "cut", "--at", "0.2,-0.1,-0.87", "--db", "--frames", "1"]
    assert nearfield.run("pictures", tmp_path / "v.h5", *cut) == f"{tmp_path}/cut: 2 pictures\n"
    with pytest.raises(nearfield.UsageError, match="--overlay: expected maps over the same axes"):
        nearfield.run("pictures", three, "-o", tmp_path / "no", "--overlay", "where:line")
    assert not (tmp_path / "no").exists()


@pytest.mark.once
def test_the_curve_of_a_line(by_this_python, tmp_path):
    """The page's two figures: amplitudes and levels of 64 microphones in a line, with and without a file of the user's."""
    words = ["beampattern", *(f"--set={key}" for key in (
        "array.rows=1", "array.columns=64", "array.pitch_x_m=0.375", "medium.sound_speed_m_s=1500", "processors.line.kind=beamform",
        "processors.line.grid.kind=line", "processors.line.grid.distance_m=inf")), "--source=30,0", "--frequency=2000"]  # fmt: skip
    said = nearfield.run(*words, "--png", tmp_path / "pictures", "-o", tmp_path / "p.h5", "--db")
    assert said.endswith(f"directivity          18.06 dB\n{tmp_path}/pictures: 1 picture\n")
    psi = np.pi * (0.5 - np.cos(np.pi * np.arange(512) / 511.0))
    amplitude = abs(np.sin(32.0 * psi) / (64.0 * np.sin(psi / 2.0))) / (8148.6684 / 8192.0)
    for scale, expected, limits in ((Scale(), amplitude, (0.0, 1.0)), (Scale(db=True), np.maximum(20.0 * np.log10(amplitude), -40.0), (-40.0, 0.0))):
        ((name, figure),) = pattern(tmp_path / "p.h5", scale)
        (line,) = figure.axes[0].lines
        assert name == "pattern_line.png" and figure.axes[0].get_ylim() == limits
        np.testing.assert_allclose(line.get_xdata(), 180.0 * np.arange(512) / 511.0, atol=1e-9)
        np.testing.assert_allclose(line.get_ydata(), expected, atol=2e-3 * abs(limits[1] - limits[0]))
    written = (tmp_path / "pictures/pattern_line.png").read_bytes()
    nearfield.run(*words, "--png", tmp_path / "again", "--db")  # of a file without a name
    assert (tmp_path / "again/pattern_line.png").read_bytes() == written


def test_what_is_missing_is_one_line(three, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('none here', name='matplotlib')\n")
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from nearfield.overviews import main; sys.exit(main())",
                           "-o", tmp_path / "no", three], capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (66, "nearfield: error: pictures: expected the Python package matplotlib, found none; "
                                                  "install python3-matplotlib, or the wheel's extra plot\n")  # fmt: skip


def test_main_says_what_it_wrote(three, tmp_path, capsys):
    assert main(["-o", str(tmp_path / "a"), "--overlay=where:far", "--frames=2:3", str(three)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/a: 4 pictures\n"
    for words, code, message in ((["--overlay=where:far", "--frames=99:"], 65, "expected frames that can be drawn"),
                                 (["--overlay=where"], 64, "expected UPPER:LOWER")):
        assert main(["-o", str(tmp_path / "no"), *words, str(three)]) == code
        assert message in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
