"""Results in the formats of other programs.

What h5py reads of images.h5 is the truth. MATLAB files are read by scipy, VTK's image data as XML, and universal files by a reader that is
written here from the format's description.
"""

import base64
import pathlib
import struct
import subprocess
import sys
import xml.etree.ElementTree as xml

import h5py
import numpy as np
import pytest
import scipy.io

import nearfield
from nearfield.exports import export, main

pytestmark = pytest.mark.versions

EXPORTED_SCENE = """version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.025}
standoff_m: 0.03
duration_s: 0.05
start_time_ns: 1700000000000000123
sources:
  - {kind: monopole, frequency_hz: 1007.080078125, x_m: 0.31, y_m: -0.22, z_m: -0.97, volume_velocity_m3_s: 5.0e-5}
  - {kind: monopole, frequency_hz: 2014.16015625, x_m: 0.31, y_m: -0.22, z_m: -0.97, volume_velocity_m3_s: 5.0e-5}
"""
CONFIG = """version: 1
front_end: {frequencies_hz: [1007.08, 2014.16], bands_hz: [[900, 1100]]}
holography:
  standoff_m: 0.03
  planes_m: [0.0, 0.005, 0.02]
  points: [{x_m: 0.01, y_m: 0.02}, {x_m: -0.03, y_m: 0.0}]
  extrapolation: {order: 4}
processors:
  where: {kind: srp_phat, every_hops: 4, band_hz: [1000, 2000], grid: {x_m: [-0.6, 0.6], y_m: [-0.3, 0.3], step_m: 0.3}}
"""
PLANES = 3
HOLE = 12  # a pixel that does not lie on the surface


# ---- Readers ----


def read_vti(path):
    """Axes x, y, z in m, arrays [z, y, x] by their names, and the time in s."""
    root = xml.parse(path).getroot()
    assert root.get("type") == "ImageData" and root.get("header_type") == "UInt64"
    order = {"LittleEndian": "<", "BigEndian": ">"}[root.get("byte_order")]
    image = root.find("ImageData")
    extent = [int(word) for word in image.get("WholeExtent").split()]
    assert image.find("Piece").get("Extent") == image.get("WholeExtent")
    sizes = [last - first + 1 for first, last in zip(extent[::2], extent[1::2], strict=True)]
    axes = [float(start) + float(step) * np.arange(size)
            for start, step, size in zip(image.get("Origin").split(), image.get("Spacing").split(), sizes, strict=True)]
    arrays = {array.get("Name"): floats_of(array, order).reshape(sizes[::-1]) for array in image.find("Piece/PointData")}
    return axes, arrays, float(image.find("FieldData/DataArray[@Name='TimeValue']").text)


def floats_of(array, order="<"):
    assert array.get("type") == "Float32" and array.get("format") == "binary"
    raw = base64.b64decode(array.text.strip(), validate=True)
    (size,) = struct.unpack(order + "Q", raw[:8])
    assert size == len(raw) - 8
    return np.frombuffer(raw[8:], order + "f4")


def datasets_of(raw):
    """Number, header line and content of each dataset of a universal file; a binary one is as long as its header says."""
    at, found = 0, []
    while at < len(raw):
        assert raw[at:at + 7] == b"    -1\n", raw[at:at + 7]
        end = raw.index(b"\n", at + 7)
        head = raw[at + 7:end].decode()
        start = end + 1
        if head[6:7] == "b":
            for _ in range(int(head[19:31])):
                end = raw.index(b"\n", end + 1)
            stop = end + 1 + int(head[31:43])
            assert raw[stop:stop + 1] == b"\n"
            found.append((58, head, raw[start:stop]))
            at = stop + 1
        else:
            stop = raw.index(b"    -1\n", start)
            found.append((int(head), head, raw[start:stop]))
            at = stop
        assert raw[at:at + 7] == b"    -1\n"
        at += 7
    return found


def read_function(head, content):
    """A dataset 58b."""
    order = {1: "<", 2: ">"}[int(head[7:13])]
    assert int(head[13:19]) == 2
    parts = content.split(b"\n", 11)
    lines = [line.decode() for line in parts[:11]]
    assert max(map(len, lines)) <= 80
    kind, count, even = (int(lines[6][i:i + 10]) for i in (0, 10, 20))
    start, step, since_s = (float(lines[6][i:i + 13]) for i in (30, 43, 56))
    numbers = np.frombuffer(parts[11], order + "f4").reshape(count, -1)
    if even:
        abscissa = start + step * np.arange(count)
    else:
        abscissa, numbers = numbers[:, 0], numbers[:, 1:]
    values = numbers[:, 0] + 1j * numbers[:, 1] if kind == 5 else numbers[:, 0]
    return {"type": int(lines[5][:5]), "frame": int(lines[5][20:30]), "node": int(lines[5][41:51]),
            "direction": int(lines[5][51:55]), "abscissa": abscissa, "values": values, "time_s": since_s, "words": lines[:5],
            "abscissa_kind": int(lines[7][:10]), "ordinate_kind": int(lines[8][:10]), "unit": lines[8][47:67].strip()}


def functions_of(path):
    return [read_function(head, content) for number, head, content in datasets_of(path.read_bytes()) if number == 58]


# ---- Tests ----


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    (folder / "scene.yaml").write_text(EXPORTED_SCENE)
    (folder / "config.yaml").write_text(CONFIG)
    nearfield.run("simulate", folder / "scene.yaml", "-o", folder / "capture.h5")
    nearfield.replay(folder / "capture.h5", folder / "images.h5", config=folder / "config.yaml", engine="reference", frames=6).close()
    return folder / "images.h5"


@pytest.fixture(scope="module")
def truth(results):
    with h5py.File(results) as file:
        found = {name: file[name][:] for name in ("images", "points", "bands", "frequencies_hz", "planes_m", "x_m", "y_m", "points_xy_m",
                                                  "timestamp_ns", "first_sample", "where/map", "where/x_m", "where/y_m", "where/distance_m")}
    for name in ("images", "points", "bands", "where/map"):
        assert np.all(np.isfinite(found[name])) and np.all(np.std(found[name], axis=-1) > 0)
    return found


def test_vtk_of_frames(results, truth, tmp_path):
    files = export(results, tmp_path / "all.vti", frames=slice(2, 4), plane_m=0.005)
    assert files == [tmp_path / f"all_frame{frame:05}.vti" for frame in (2, 3)]
    assert sorted(tmp_path.iterdir()) == files
    columns, lines = np.argsort(truth["x_m"]), np.argsort(truth["y_m"])
    for frame, path in zip((2, 3), files, strict=True):
        (x, y, z), arrays, since_s = read_vti(path)
        assert since_s == pytest.approx((truth["timestamp_ns"][frame] - truth["timestamp_ns"][0]) * 1e-9, rel=1e-12)
        np.testing.assert_allclose(x, truth["x_m"][columns], atol=1e-9)
        np.testing.assert_allclose(y, truth["y_m"][lines], atol=1e-9)
        np.testing.assert_allclose(z, [0.005], atol=1e-12)
        assert list(arrays) == [f"images frequency {hz} Hz {part}" for hz in (1007.08, 2014.16)
                                for part in ("real", "imaginary", "magnitude", "phase")]
        for f, hz in enumerate((1007.08, 2014.16)):
            expected = truth["images"][frame, 1, f][lines][:, columns]
            real, imaginary, magnitude, phase = (arrays[f"images frequency {hz} Hz {part}"][0] for part in ("real", "imaginary", "magnitude", "phase"))
            np.testing.assert_array_equal(real + 1j * imaginary, expected)
            # float32 has 24 bits.
            np.testing.assert_allclose(magnitude, abs(expected.astype(complex)), rtol=1e-7)
            np.testing.assert_allclose(phase, np.degrees(np.angle(expected.astype(complex))), rtol=1e-7)


def test_vtk_of_a_real_map(results, truth, tmp_path):
    (path,) = export(results, tmp_path / "map.vti", processor="where", frames=1)
    (x, y, z), arrays, _ = read_vti(path)
    assert list(arrays) == ["map"]
    np.testing.assert_allclose(x, np.sort(truth["where/x_m"]), atol=1e-9)
    np.testing.assert_allclose(y, np.sort(truth["where/y_m"]), atol=1e-9)
    np.testing.assert_allclose(z, 0.03 - truth["where/distance_m"], atol=1e-12)
    expected = truth["where/map"][0, 0][np.argsort(truth["where/y_m"])][:, np.argsort(truth["where/x_m"])]
    np.testing.assert_array_equal(arrays["map"][0], expected)


def test_vtk_refuses_uneven_planes_and_points(results, tmp_path):
    with pytest.raises(nearfield.UsageError, match=r"vtk: expected planes in equal steps, found 0.005 m where 0.01 m is due; --plane chooses one"):
        export(results, tmp_path / "refused.vti")
    with pytest.raises(nearfield.UsageError, match="vtk: expected a product over x and y, found points of surface, which has points"):
        export(results, tmp_path / "refused.vti", product="points")
    assert not list(tmp_path.iterdir())


def test_vtk_of_a_surface_is_a_structured_grid(folder, capture, tmp_path):
    heights_m = np.tile(0.01 * np.arange(8) / 7, (8, 1))
    heights_m.flat[HOLE] = np.nan
    with h5py.File(tmp_path / "heights.h5", "w") as file:
        file["z_m"] = heights_m
    images = tmp_path / "images.h5"
    nearfield.replay(capture, images, engine="reference", frames=1,
                     settings={"front_end.frequencies_hz": [1007.08], "holography.imager": "sonah", "holography.surface": str(tmp_path / "heights.h5")}).close()
    (path,) = export(images, tmp_path / "out.vti")
    assert path == tmp_path / "out.vts"
    with h5py.File(images) as file:
        values, surface_m, normal = file["images"][0, 0, 0].ravel(), file["surface_m"][:], file["normal"][:]
    root = xml.parse(path).getroot()
    assert root.get("type") == "StructuredGrid"
    assert root.find("StructuredGrid").get("WholeExtent") == "0 7 0 7 0 0"
    piece = root.find("StructuredGrid/Piece")
    arrays = {array.get("Name"): array for array in piece.find("PointData")}
    np.testing.assert_array_equal(floats_of(piece.find("Points/DataArray")).reshape(-1, 3), surface_m.astype(np.float32))
    np.testing.assert_array_equal(floats_of(arrays["normal"]).reshape(-1, 3), normal.astype(np.float32))
    np.testing.assert_array_equal(floats_of(arrays["images frequency 1007.08 Hz real"]), values.real)
    assert [int(word) for word in arrays["vtkGhostType"].text.split()] == [2 if i == HOLE else 0 for i in range(64)]
    (path,) = export(images, tmp_path / "out.mat")
    content = scipy.io.loadmat(path)
    np.testing.assert_array_equal(content["surface_m"].T.reshape(8, 8, 3).swapaxes(0, 1).reshape(-1, 3), surface_m)
    np.testing.assert_array_equal(content["normal"].T.reshape(8, 8, 3).swapaxes(0, 1).reshape(-1, 3), normal)
    # NaN stays what it is, and nodes lie on the surface.
    (path,) = export(images, tmp_path / "out.uff")
    np.testing.assert_array_equal([function["values"][0] for function in functions_of(path)], values)
    # The name that is asked for is free, the one that would be written is the input's.
    images.rename(tmp_path / "input.vts")
    with pytest.raises(nearfield.UsageError, match=r"input\.vts too; expected a file of its own"):
        export(tmp_path / "input.vts", tmp_path / "input.vti")


def test_mat(results, truth, tmp_path):
    (path,) = export(results, tmp_path / "all.mat", frames=slice(1, 4))
    assert path.read_bytes()[:128] == b"MATLAB 5.0 MAT-file, written by Nearfield".ljust(124) + b"\x00\x01IM"
    content = scipy.io.loadmat(path)
    assert content["axes"][0] == "y,x,z,frequency,frame"
    assert [content[name][0] for name in ("unit", "product", "quantity", "processor", "kind")] == ["Pa", "images", "pressure", "surface", "pnah"]
    assert content["values"].dtype == np.complex64
    np.testing.assert_array_equal(content["values"], truth["images"][1:4].transpose(3, 4, 1, 2, 0))
    for name, other in (("y_m", "y_m"), ("x_m", "x_m"), ("z_m", "planes_m"), ("frequency_hz", "frequencies_hz")):
        np.testing.assert_array_equal(content[name], truth[other][np.newaxis])
    np.testing.assert_array_equal(content["timestamp_ns"], truth["timestamp_ns"][np.newaxis, 1:4])
    assert content["timestamp_ns"].dtype == np.int64
    np.testing.assert_array_equal(content["frame"], [[1.0, 2.0, 3.0]])
    names = {name for name in content if not name.startswith("__")}
    assert names == {"values", "axes", "y_m", "x_m", "z_m", "frequency_hz", "frame", "timestamp_ns", "product", "quantity", "unit", "processor", "kind"}


def test_mat_of_points_and_of_real_values(results, truth, tmp_path):
    (path,) = export(results, tmp_path / "points.mat", product="points")
    content = scipy.io.loadmat(path)
    assert content["axes"][0] == "point,z,frequency,frame"
    np.testing.assert_array_equal(content["values"], truth["points"].transpose(3, 1, 2, 0))
    np.testing.assert_array_equal(content["point_m"].T, truth["points_xy_m"])
    (path,) = export(results, tmp_path / "map.mat", processor="where", frames=1)
    content = scipy.io.loadmat(path)
    assert content["values"].dtype == np.float32
    np.testing.assert_array_equal(np.squeeze(content["values"]), truth["where/map"][0, 0])
    np.testing.assert_array_equal(content["distance_m"], truth["where/distance_m"][np.newaxis])
    assert "z_m" not in content


def test_mat_has_a_limit(results, tmp_path, monkeypatch):
    bytes_of_two = 48 + 16 + 2 * (8 + 2 * 384 * 4)  # flags, name and five dimensions, and then two parts of float32
    monkeypatch.setattr("nearfield.exports._MOST_MAT_BYTES", bytes_of_two)
    export(results, tmp_path / "two.mat", frames=2)
    with pytest.raises(nearfield.UsageError, match=f"mat: expected at most {bytes_of_two} bytes, the most of a variable, found {bytes_of_two + 3072}; --frames"):
        export(results, tmp_path / "three.mat", frames=3)


def test_uff(results, truth, tmp_path):
    (path,) = export(results, tmp_path / "all.uff", frames=slice(1, 3))
    found = datasets_of(path.read_bytes())
    assert [number for number, _, _ in found[:4]] == [151, 164, 15, 58]
    units = found[1][2].decode().splitlines()
    assert [int(units[0][:10]), float(units[1][:25].replace("D", "E")), float(units[2].replace("D", "E"))] == [1, 1.0, 273.15]
    nodes = {int(line[:10]): [float(line[i:i + 13]) for i in (40, 53, 66)] for line in found[2][2].decode().splitlines()}
    assert len(nodes) == PLANES * 64
    functions = functions_of(path)
    assert len(functions) == 2 * PLANES * 64
    for function in functions:
        assert (function["type"], function["abscissa_kind"], function["ordinate_kind"], function["unit"], function["direction"]) == (12, 18, 15, "Pa", 0)
        frame = function["frame"]
        assert function["words"] == [f"images of surface, frame {frame}", "pressure [Pa]", "NONE",
                                     f"timestamp {truth['timestamp_ns'][frame]} ns TAI, first sample {truth['first_sample'][frame]}", "2 frequencies"]
        np.testing.assert_allclose(function["abscissa"], truth["frequencies_hz"], rtol=1e-7)  # float32
        plane, line, column = np.unravel_index(function["node"] - 1, (PLANES, 8, 8))
        place = [truth["x_m"][column], truth["y_m"][line], truth["planes_m"][plane]]
        np.testing.assert_allclose(nodes[function["node"]], place, rtol=5e-6)  # six digits
        np.testing.assert_array_equal(function["values"], truth["images"][frame, plane, :, line, column])
        since_s = (truth["timestamp_ns"][frame] - truth["timestamp_ns"][0]) * 1e-9
        assert function["time_s"] == pytest.approx(since_s, rel=1e-5)
    assert {(f["node"], f["frame"]) for f in functions} == {(n, f) for n in nodes for f in (1, 2)}


def test_uff_of_velocities_at_uneven_frequencies(results, tmp_path):
    images = tmp_path / "uneven.h5"
    nearfield.replay(results.parent / "capture.h5", images, config=results.parent / "config.yaml", engine="reference", frames=1,
                     settings={"front_end.frequencies_hz": [1007.08, 1500.5, 2014.16], "holography.quantity": "normal_velocity"}).close()
    (path,) = export(images, tmp_path / "uneven.uff", plane_m=0.02)
    with h5py.File(images) as file:
        expected, frequencies_hz = file["images"][0, 2].reshape(3, -1), file["frequencies_hz"][:]
    functions = functions_of(path)
    assert [function["node"] for function in functions] == list(range(1, 65))
    for function, values in zip(functions, expected.T, strict=True):
        np.testing.assert_allclose(function["abscissa"], frequencies_hz, rtol=1e-7)  # float32
        np.testing.assert_array_equal(function["values"], values)
        assert (function["ordinate_kind"], function["unit"], function["direction"]) == (11, "m/s", 3)


def test_uff_of_real_values_without_frequencies(results, truth, tmp_path):
    (path,) = export(results, tmp_path / "map.uff", processor="where", frames=1)
    np.testing.assert_array_equal(np.concatenate([function["values"] for function in functions_of(path)]), truth["where/map"][0].ravel())
    (path,) = export(results, tmp_path / "bands.uff", product="bands", frames=1)
    np.testing.assert_array_equal(np.concatenate([function["values"] for function in functions_of(path)]), truth["bands"][0].ravel())
    assert functions_of(path)[0]["words"][4] == "band 900 to 1100 Hz"


@pytest.mark.parametrize(("words", "message"), [
    (["--product", "imges"], "--processor, --product: expected one of surface.points, surface.images, surface.bands, where.map, found *.imges"),
    (["--frequency", "1500"], "--frequency: expected one of 1007.08, 2014.16 Hz, found 1500"),
    (["--plane=-0.5"], "--plane: expected one of 0, 0.005, 0.02 m, found -0.5"),
    (["--frames", "4:9"], "--frames: expected frames among the 6 of surface, found 4:9"),
    (["--processor", "where", "--frequency", "1000"], "--frequency: expected a product with such an axis, found map of where over distance, y, x"),
    (["--format", "xls"], "--format: expected one of csv (.csv), vtk (.vti), mat (.mat), h5 (.h5), uff (.uff), found xls"),
    (["--flavour", "x"], "unrecognized arguments: --flavour x"),
])
def test_refusals_are_those_of_the_command(results, tmp_path, capsys, words, message):
    assert main([str(results), "-o", str(tmp_path / "refused.mat"), *words]) == 64
    assert capsys.readouterr().err == f"nearfield: error: {message} (see nearfield help export)\n"
    assert not list(tmp_path.iterdir())


def test_files_that_are_not_there_or_not_writable(results, tmp_path):
    with pytest.raises(nearfield.NoInputError, match=r"^\S+none\.h5: cannot be read: No such file or directory$"):
        export(tmp_path / "none.h5", tmp_path / "a.mat")
    with pytest.raises(nearfield.IoError, match=r"no/a\.mat\.\d+\.partial: cannot be written: No such file or directory"):
        export(results, tmp_path / "no" / "a.mat")
    (tmp_path / "folder.uff").mkdir()
    with pytest.raises(nearfield.IoError, match=r"folder\.uff: found a directory, expected a new or a regular file"):
        export(results, tmp_path / "folder.uff")
    with pytest.raises(nearfield.UsageError, match="expected a file of its own"):
        export(results, results, format="mat")
    with pytest.raises(nearfield.UsageError, match="expected a path, found an empty one"):
        export(results, "", format="mat")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.uff"]


def test_files_appear_whole_or_not_at_all(results, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "a.mat").write_text("before")
    monkeypatch.setattr(scipy.io, "savemat", fails)
    assert main([str(results), "-o", str(tmp_path / "a.mat")]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["a.mat"]
    assert (tmp_path / "a.mat").read_text() == "before"


@pytest.mark.once
def test_the_command_runs_the_module(results, truth, tmp_path, monkeypatch):
    monkeypatch.setenv("NEARFIELD_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(nearfield.__file__).parents[1]))
    said = nearfield.run("export", results, "-o", tmp_path / "a.uff", "--frames", "2:4", "--plane", "0.005", "--y=-0.0375", "--quiet")
    assert said == f"{tmp_path}/a.uff: 2 frames of images of surface, 16 values each\n"
    line = int(np.argmin(abs(truth["y_m"] + 0.0375)))
    values = [function["values"] for function in functions_of(tmp_path / "a.uff")]
    np.testing.assert_array_equal(values, truth["images"][2:4, 1, :, line].transpose(0, 2, 1).reshape(-1, 2))
    said = nearfield.run("export", results, "-o", tmp_path / "a.vti", "--plane", "0", "--frames", "2")
    assert said == f"{tmp_path}/a_frame00000.vti to {tmp_path}/a_frame00001.vti: 2 frames of images of surface, 128 values each\n"
    with pytest.raises(nearfield.UsageError, match=r"^nearfield: error: --plane: expected one of 0, 0\.005, 0\.02 m, found 3 "):
        nearfield.run("export", results, "-o", tmp_path / "b.mat", "--plane", "3")


def test_the_extra_is_named_where_scipy_is_missing(results, tmp_path):
    done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['scipy.io'] = None\nfrom nearfield.exports import main\nsys.exit(main(sys.argv[1:]))",
                           results, "-o", tmp_path / "a.mat"], capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (66, "nearfield: error: export: expected the Python package scipy, found none; install python3-scipy, or scipy by pip\n")


def test_csv_and_h5_are_written_too(results, tmp_path):
    assert export(results, tmp_path / "a.csv", frames=1) == [tmp_path / "a.csv"]
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3 + 2 * PLANES * 64
