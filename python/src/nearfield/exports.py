"""Results as files of other programs: MATLAB files, universal files, VTK's XML; ``python -m nearfield.exports``, which ``nearfield export`` runs.

The program chooses, by ``nearfield export`` to HDF5: its file has [frame, axis, ..., plane, column, row], or points in the place of the last two.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import itertools
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

import h5py
import numpy as np

from nearfield._command import Parser, exit_code_of, require_own_output
from nearfield._layout import Array, Axis
from nearfield._program import run
from nearfield.errors import IoError, NearfieldError, NoInputError, UsageError, error_of

Path = str | os.PathLike[str]

_ENDINGS = {".vti": "vtk", ".vts": "vtk", ".mat": "mat", ".uff": "uff"}
_MOST_MAT_BYTES = 2**31 - 1  # bytes of a variable
_NONE = f"{'NONE':10}"


def export(
    path: Path,
    output: Path,
    *,
    format: str | None = None,
    processor: str | None = None,
    product: str | None = None,
    frames: slice | int | None = None,
    frequency_hz: float | None = None,
    plane_m: float | None = None,
    x_m: float | None = None,
    y_m: float | None = None,
) -> list[pathlib.Path]:
    """Write a product of an images file for other programs, with the program ``nearfield export``, whose options these are.

    Parameters
    ----------
    path, output : path
        The ending of `output` says the format: ``.mat`` (extra ``export``), ``.uff``, ``.vti``, ``.vts``, ``.csv`` or ``.h5``.
    format : {"mat", "uff", "vtk", "csv", "h5"}, optional
        Goes before the ending.
    processor, product : str, optional
        Default: the first processor with values at places; its images, else its first array over x and y or over points.
    frames : slice or int, optional
        ``slice(10, 20)``, or the first so many.
    frequency_hz, plane_m, x_m, y_m : float, optional
        The entry within 0.5 Hz, or within half a step.

    Returns
    -------
    list of pathlib.Path
        The files, each whole: VTK's are one a frame.

    Raises
    ------
    NearfieldError
        :class:`UsageError` where the file has not what was chosen, with what it has, or the format cannot hold it.
    """
    if isinstance(frames, slice):
        frames_word: object = f"{frames.start or 0}:{'' if frames.stop is None else frames.stop}"
    else:
        frames_word = frames
    choice = {"processor": processor, "product": product, "frames": frames_word, "frequency": frequency_hz, "plane": plane_m, "x": x_m, "y": y_m}
    return _export(os.fspath(path), os.fspath(output), format, choice)[0]


def _export(path: str, output: str, format: str | None, choice: dict[str, object]) -> tuple[list[pathlib.Path], str]:
    """Return the files and what is said of them."""
    kind = format or _ENDINGS.get(pathlib.Path(output).suffix, "")
    require_own_output("export", output, [path])
    if kind not in _ENDINGS.values():
        return [pathlib.Path(output)], _program(path, output, format, choice)
    with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
        chosen = pathlib.Path(folder) / "chosen.h5"
        said = _program(path, str(chosen), "h5", choice)
        with h5py.File(chosen) as file:
            source = _Source.of(file)
            files = _vtk_files(pathlib.Path(output), source) if kind == "vtk" else [pathlib.Path(output)]
            for one in files:
                require_own_output("export", str(one), [path])
            {"vtk": _write_vtk, "mat": _write_mat, "uff": _write_uff}[kind](files, source)
    return files, said.replace(str(chosen), f"{files[0]} to {files[-1]}" if len(files) > 1 else str(files[0]), 1)


def _program(path: str, output: str, format: str | None, choice: dict[str, object]) -> str:
    words = [f"--{name}={value}" for name, value in [("output", output), ("format", format), *choice.items()] if value is not None]
    try:
        return run("export", *words, "--", path)
    except NearfieldError as error:
        raise error_of(error.message.removeprefix("nearfield: error: "), error.exit_code) from error


@contextlib.contextmanager
def _whole(path: pathlib.Path) -> Iterator[BinaryIO]:
    """Write a file that appears when the block ends without an error; two programs that write it do not meet."""
    partial = pathlib.Path(f"{path}.{os.getpid()}.partial")
    if path.exists() and not path.is_file():
        raise IoError(f"{path}: found {'a directory' if path.is_dir() else 'a special file'}, expected a new or a regular file", 74)
    try:
        with open(partial, "xb") as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
    except OSError as error:
        raise IoError(f"{partial}: cannot be written: {error.strerror}", 74) from error


def _number(value: float) -> str:
    """Return the shortest text that says a number, without ".0"."""
    return repr(float(value)).removesuffix(".0")


@dataclasses.dataclass
class _Source:
    """Part of an images file that the program chose."""

    file: Any
    outer: list[Axis]  # axes that are not of places, slowest first
    has_pixels: bool
    places_m: Array  # [plane, row, column, 3], or [plane, point, 3]; z is 0 where the file does not say it
    normals: Array | None  # [row, column, 3] of a surface that is no plane; 0 where a pixel does not lie on it
    product: str
    quantity: str
    unit: str
    processor: str

    @classmethod
    def of(cls, file: Any) -> _Source:
        names = file.attrs["axes"].decode().split(",")[-2::-1]  # slowest first, without the frame
        found = {axis.name: axis for axis in map(_axis_of, filter(lambda data: "axis" in data.attrs, file.values()))}
        has_pixels = names[-1] != "point"
        z_m = file["z_m"][()] if "z_m" in file else np.zeros(1)
        if has_pixels:
            places_m = np.stack(np.meshgrid(z_m, found["y"].values, found["x"].values, indexing="ij")[::-1], axis=-1)
        else:
            places_m = np.zeros((len(z_m), *found["point"].values.shape[:1], 3))
            places_m[..., 2] = z_m[:, None]
            places_m[..., : found["point"].values.shape[1]] = found["point"].values
        normals = None
        if "surface" in found:
            by_column = (places_m.shape[2], places_m.shape[1], 3)
            places_m = found["surface"].values.reshape(by_column).swapaxes(0, 1)[np.newaxis]
            normals = found["normal"].values.reshape(by_column).swapaxes(0, 1)
        outer = [found[name] for name in names if name not in ("z", "distance", "y", "x", "point")]
        texts = (file.attrs[name].decode() for name in ("product", "quantity", "unit", "processor"))
        return cls(file, outer, has_pixels, places_m, normals, *texts)

    def __str__(self) -> str:
        return f"{self.product} of {self.processor}"

    @property
    def is_complex(self) -> bool:
        return "im" in self.file

    def frames(self) -> Iterator[tuple[int, int]]:
        """Yield each frame's place in the file and its number."""
        return enumerate(int(frame) for frame in self.file["frame"])

    def values(self, i: int) -> Array:
        """Return a frame's values, float64 or complex128, over the outer axes, then as places lie."""
        values: Array = self.file["re"][i].astype(np.float64)
        if self.is_complex:
            values = values.astype(np.complex128)
            values.imag = self.file["im"][i]
        lying = values.swapaxes(-1, -2) if self.has_pixels else values
        return lying.reshape(*(len(axis.values) for axis in self.outer), *self.places_m.shape[:-1])

    def words_of(self, entry: tuple[int, ...]) -> str:
        """Return "frequency 1000 Hz" of an entry of the outer axes; nothing where there is no such axis."""
        words = []
        for axis, i in zip(self.outer, entry, strict=True):
            values = " to ".join(map(_number, np.atleast_1d(axis.values[i])))
            words.append(f"{axis.name} {values}{'' if axis.unit == '1' else f' {axis.unit}'}")
        return ", ".join(words)


def _axis_of(data: Any) -> Axis:
    return Axis(data.attrs["axis"].decode(), data.attrs["units"].decode(), data[()])


# ---- MATLAB, level 5 ----


def _write_mat(files: list[pathlib.Path], source: _Source) -> None:
    """Write the HDF5 file's variables; MATLAB, whose first dimension is the fastest, has them in the order of rows, columns, ..., frames."""
    try:
        from scipy.io import savemat
    except ModuleNotFoundError as error:
        raise NoInputError("export: expected the Python package scipy, found none; install python3-scipy, or scipy by pip", 66) from error
    real = source.file["re"]
    parts = 2 if source.is_complex else 1
    found = 48 + (real.ndim + 1) // 2 * 8 - 8 + parts * (8 + (real.nbytes + 7) // 8 * 8)  # flags, dimensions and name, then the parts
    if found > _MOST_MAT_BYTES:
        raise UsageError(f"mat: expected at most {_MOST_MAT_BYTES} bytes, the most of a variable, found {found}; --frames, --frequency "
                         "and --plane choose less (see nearfield help export)", 64)  # fmt: skip
    values = real[()]
    if source.is_complex:
        values = values.astype(np.result_type(real.dtype, np.complex64))
        values.imag = source.file["im"][()]
    content = {"values": values.T}
    content |= {name: data[()].T for name, data in source.file.items() if "axis" in data.attrs or name in ("frame", "timestamp_ns")}
    content |= {name: source.file.attrs[name].decode() for name in ("axes", "product", "quantity", "unit", "processor", "kind")}
    with _whole(files[0]) as file:
        savemat(file, content, oned_as="row")
        file.seek(0)
        file.write(b"MATLAB 5.0 MAT-file, written by Nearfield".ljust(124))  # in the place of the time


# ---- Universal files ----
# Datasets between lines of -1, with numbers in columns of fixed width; 58b has binary values. pyuff, which reads them, writes no function of
# type 12 or of one frequency, writes 0 for NaN, and miscounts the bytes of complex values: they are written here.


def _uff_dataset(number: int, lines: str) -> bytes:
    return f"    -1\n{number:6}\n{lines}    -1\n".encode()


def _uff_line(text: str) -> str:
    return (text or "NONE")[:80] + "\n"


def _uff_axis(kind: int, name: str, unit: str) -> str:
    return f"{kind:10}{0:5}{0:5}{0:5} {name[:20]:20} {unit[:20]:20}\n"


def _uff_quantity(source: _Source) -> tuple[int, int]:
    """Return a quantity's number in dataset 58, and the direction of a node's value: 0 without one, 3 along z."""
    if source.unit == "m" and source.is_complex:
        return 8, 3
    return {"Pa": (15, 0), "m/s": (11, 3), "W/m^2": (1, 3)}.get(source.unit, (1, 0))


def _uff_spacing(frequencies_hz: Array) -> tuple[int, float, float]:
    """Return 1, the first frequency and the step where six digits of these say all frequencies to the precision of float32, else zeros."""
    first, step = float(frequencies_hz[0]), float(frequencies_hz[1] - frequencies_hz[0]) if len(frequencies_hz) > 1 else 0.0
    said = float(f"{first:.5E}") + float(f"{step:.5E}") * np.arange(len(frequencies_hz))
    return (1, first, step) if np.all(abs(said - frequencies_hz) <= 1e-7 * frequencies_hz) else (0, 0.0, 0.0)


def _uff_head(source: _Source) -> bytes:
    """Return 151, the program; 164, metre, newton, and kelvin with the offset of degrees Celsius; 15, the nodes."""
    dates = _NONE + _NONE
    program = _uff_line("") + _uff_line("Results of Nearfield") + _uff_line("Nearfield") + f"{dates}{0:10}{0:10}{0:10}\n{dates}\n"
    program += _uff_line("Nearfield") + f"{dates}{0:5}{0:5}\n"
    factors = f"{1.0:25.17E}{1.0:25.17E}{1.0:25.17E}\n{273.15:25.17E}\n".replace("E", "D")
    units = f"{1:10}{'SI: Meter (newton)':20}{2:10}\n{factors}"
    nodes = (f"{i:10}{0:10}{0:10}{1:10}{x:13.5E}{y:13.5E}{z:13.5E}\n" for i, (x, y, z) in enumerate(source.places_m.reshape(-1, 3).tolist(), 1))
    return _uff_dataset(151, program) + _uff_dataset(164, units) + _uff_dataset(15, "".join(nodes))


def _write_uff(files: list[pathlib.Path], source: _Source) -> None:
    """Write a function for each frame, node and entry of the axes beside the frequency."""
    along = next((i for i, axis in enumerate(source.outer) if axis.name == "frequency"), None)
    frequencies_hz = np.ones(1) if along is None else source.outer[along].values
    even, first_hz, step_hz = (1, 0.0, 0.0) if along is None else _uff_spacing(frequencies_hz)
    others = [range(1) if i == along else range(len(axis.values)) for i, axis in enumerate(source.outer)]
    count, (kind, direction) = len(frequencies_hz), _uff_quantity(source)
    axes = _uff_axis(0, "NONE", "NONE") if along is None else _uff_axis(18, "Frequency", "Hz")
    axes += _uff_axis(kind, source.quantity, source.unit) + _uff_axis(0, "NONE", "NONE") + _uff_axis(17, "Time", "s")
    with _whole(files[0]) as file:
        file.write(_uff_head(source))
        for i, frame in source.frames():
            values = source.values(i)
            words = _uff_line(f"{source}, frame {frame}") + _uff_line(f"{source.quantity} [{source.unit}]") + _uff_line("")
            words += _uff_line(f"timestamp {source.file['timestamp_ns'][i]} ns TAI, first sample {source.file['first_sample'][i]}")
            since_s = source.file["since_first_s"][i]
            tail = f"{5 if source.is_complex else 2:10}{count:10}{even:10}{first_hz:13.5E}{step_hz:13.5E}{since_s:13.5E}\n{axes}"
            for entry in itertools.product(*others):
                of_nodes = values[tuple(slice(None) if axis == along else j for axis, j in enumerate(entry))].reshape(count, -1).T
                columns = [of_nodes.real, of_nodes.imag] if source.is_complex else [of_nodes]
                columns = columns if even else [np.broadcast_to(frequencies_hz, of_nodes.shape), *columns]
                numbers = np.stack(columns, axis=-1).astype("<f4")
                head = f"    -1\n{58:6}b{1:6}{2:6}{11:12}{numbers[0].nbytes:12}{0:6}{0:6}{0:12}{0:12}\n{words}"
                head += _uff_line(source.words_of(entry) if count == 1 else f"{count} frequencies") + f"{0 if along is None else 12:5}"
                for node, of_node in enumerate(numbers, 1):
                    function = f"{node:10}{0:5}{frame:10} {_NONE}{node:10}{direction:4} {_NONE}{0:10}{0:4}\n"
                    file.write((head + function + tail).encode() + of_node.tobytes() + b"\n    -1\n")


# ---- VTK ----


def _vtk_files(output: pathlib.Path, source: _Source) -> list[pathlib.Path]:
    if output.suffix in (".vti", ".vts"):
        output = output.with_suffix(".vti" if source.normals is None else ".vts")
    if len(source.file["frame"]) == 1:
        return [output]
    return [output.with_name(f"{output.stem}_frame{frame:05}{output.suffix}") for _, frame in source.frames()]


def _vtk_axis(values_m: Array, name: str, way_out: str = "") -> tuple[float, float, slice]:
    """Return origin, step and order of an axis, ascending as VTK wants it."""
    order = slice(None, None, -1 if values_m[-1] < values_m[0] else 1)
    ascending = values_m[order]
    step_m = (ascending[-1] - ascending[0]) / (len(ascending) - 1) if len(ascending) > 1 else 1.0
    for found_m, expected_m in zip(ascending, ascending[0] + step_m * np.arange(len(ascending)), strict=True):
        if not abs(found_m - expected_m) <= 1e-4 * step_m:  # axes are computed in float64, and settings have few digits
            raise UsageError(f"vtk: expected {name} in equal steps, found {_number(found_m)} m where {_number(expected_m)} m is due{way_out} "
                             "(see nearfield help export)", 64)  # fmt: skip
    return ascending[0], step_m, order


def _vtk_array(name: str, values: Array, attributes: str = "") -> str:
    """Return an array of float32: a count of bytes as uint64, then the values, both in base64 together."""
    raw = values.astype("<f4").tobytes()
    text = base64.b64encode(len(raw).to_bytes(8, "little") + raw).decode()
    return f'<DataArray type="Float32" Name="{escape(name, {chr(34): "&quot;"})}"{attributes} format="binary">\n{text}\n</DataArray>\n'


def _vtk_point_data(source: _Source, i: int, order: tuple[slice, ...]) -> Iterator[str]:
    """Yield the arrays of a frame's entries; `order` is that of planes, rows and columns in VTK."""
    values = source.values(i)
    for entry in np.ndindex(*(len(axis.values) for axis in source.outer)):
        name, array = f"{source.product} {source.words_of(entry)}".strip(), values[entry][order]
        if source.is_complex:
            yield _vtk_array(f"{name} real", array.real)
            yield _vtk_array(f"{name} imaginary", array.imag)
            yield _vtk_array(f"{name} magnitude", abs(array))
            yield _vtk_array(f"{name} phase", np.angle(array) * 180.0 / np.pi)
        else:
            yield _vtk_array(name, array)


def _write_vtk(files: list[pathlib.Path], source: _Source) -> None:
    """Write image data, or of a surface that is no plane a structured grid, whose points that do not lie on it are hidden."""
    if not source.has_pixels:
        raise UsageError(f"vtk: expected a product over x and y, found {source}, which has points (see nearfield help export)", 64)
    planes, rows, columns = source.places_m.shape[:-1]
    extent = f"0 {columns - 1} 0 {rows - 1} 0 {planes - 1}"
    if source.normals is None:
        kind, of_points, after, points = "ImageData", "", "", ""
        axes = [_vtk_axis(source.places_m[0, 0, :, 0], "x"), _vtk_axis(source.places_m[0, :, 0, 1], "y"),
                _vtk_axis(source.places_m[:, 0, 0, 2], "planes", "; --plane chooses one")]  # fmt: skip
        order = tuple(axis[2] for axis in reversed(axes))
        grid = f' Origin="{" ".join(_number(origin) for origin, _, _ in axes)}" Spacing="{" ".join(_number(step) for _, step, _ in axes)}"'
    else:
        kind, of_points, grid, order = "StructuredGrid", ' Normals="normal"', "", (slice(None),) * 3
        hidden = "".join("0 " if is_there else "2 " for is_there in source.normals.any(axis=-1).ravel())
        vectors = ' NumberOfComponents="3"'
        after = _vtk_array("normal", source.normals, vectors)
        after += f'<DataArray type="UInt8" Name="vtkGhostType" format="ascii">\n{hidden}\n</DataArray>\n'
        points = f"<Points>\n{_vtk_array('places', source.places_m, vectors)}</Points>\n"
    for path, (i, _) in zip(files, source.frames(), strict=True):
        with _whole(path) as file:
            file.write((f'<?xml version="1.0"?>\n<!-- {source.product}: {source.quantity} [{source.unit}], phase in degrees, lengths in m -->\n'
                        f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
                        f'<{kind} WholeExtent="{extent}"{grid}>\n<FieldData>\n<DataArray type="Float64" Name="TimeValue" NumberOfTuples="1" '
                        f'format="ascii">{_number(source.file["since_first_s"][i])}</DataArray>\n</FieldData>\n'
                        f'<Piece Extent="{extent}">\n<PointData{of_points}>\n').encode())  # fmt: skip
            for array in _vtk_point_data(source, i, order):
                file.write(array.encode())
            file.write(f"{after}</PointData>\n<CellData></CellData>\n{points}</Piece>\n</{kind}>\n</VTKFile>\n".encode())


# ---- Command line ----


def _run(words: Sequence[str] | None) -> int:
    parser = Parser("export", prog="python -m nearfield.exports", description="Write results for other programs, as nearfield export does")
    parser.add_argument("input", help="images, HDF5")
    parser.add_argument("-o", "--output", required=True, help="file to write; its ending says the format")
    choices = ("processor", "product", "frames", "frequency", "plane", "x", "y")
    for name in ("format", *choices):
        parser.add_argument(f"--{name}", help="as of nearfield export")
    options = vars(parser.parse_args(words))
    print(_export(options["input"], options["output"], options["format"], {name: options[name] for name in choices})[1], end="")
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return exit_code_of(lambda: _run(words), "nearfield")


if __name__ == "__main__":
    sys.exit(main())
