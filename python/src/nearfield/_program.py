"""The program ``nearfield`` as a subprocess."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

import xarray as xr

from nearfield._programs import FOLDER, use_own_parts
from nearfield.errors import NoInputError, error_of
from nearfield.files import open_capture, open_images

Path = str | os.PathLike[str]
_LOG = logging.getLogger("nearfield")
_PROGRESS = re.compile(r"^\w+ (\d+) %$")
_WARNING = re.compile(r"^[\w-]+: warning: (.*)$")
_END_S = 20.0  # time until a program that was asked to stop is killed
_STOP_INTERVAL_S = 0.5


def program() -> str:
    """Return the path of ``nearfield``: what NEARFIELD_PROGRAM names, else the one on PATH, else the wheel's.

    Raises
    ------
    NoInputError
        Where there is none.
    """
    named = os.environ.get("NEARFIELD_PROGRAM", "nearfield")
    found = shutil.which(named)
    if found is None and named == "nearfield":
        found = shutil.which(named, path=FOLDER)
        use_own_parts()
    if found is None:
        raise NoInputError(f"expected the program {named} (NEARFIELD_PROGRAM, or nearfield on PATH), found none", 66)
    return found


@contextlib.contextmanager
def _interrupt_comes_later() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block: within it a process would be left without anybody who ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no interrupt is raised here
        return
    came = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
    if came:
        raise KeyboardInterrupt


def _end(process: subprocess.Popen[str]) -> None:
    """Ask it to stop, as Ctrl-C does, and wait for its end."""
    try:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=_END_S)  # reads what it still says: a full pipe would hold it up
    except subprocess.TimeoutExpired:
        pass
    finally:  # also where a second Ctrl-C ends the wait
        if process.poll() is None:
            process.kill()
        process.wait()


@contextlib.contextmanager
def _stopped_when(stop: Callable[[], bool] | None, process: subprocess.Popen[str]) -> Iterator[None]:
    """Ask the process to stop once `stop` says so, which a thread asks it twice a second."""
    if stop is None:
        yield
        return
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_STOP_INTERVAL_S):
            if stop():
                process.send_signal(signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def run(*arguments: Path, progress: Callable[[float], None] | None = None) -> str:
    """Run a command of ``nearfield`` and return what it printed.

    Parameters
    ----------
    *arguments : str or path
        As in a shell: ``run("simulate", "scene.yaml", "-o", "capture.h5")``.
    progress : callable, optional
        Called with the share done, 0 to 1, at every tenth.

    Returns
    -------
    str
        Standard output. What the program warns of goes to the logger ``nearfield``, which prints it unless it is told
        otherwise.

    Raises
    ------
    NearfieldError
        With the exit code and the message. A KeyboardInterrupt ends the program as Ctrl-C in a shell does, and then
        goes on to the caller.
    """
    return run_beside([program(), *(os.fspath(word) for word in arguments)], progress=progress)


def run_beside(
    words: Sequence[str],
    *,
    progress: Callable[[float], None] | None = None,
    stop: Callable[[], bool] | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> str:
    """Run a command line as :func:`run` does; where `stop` becomes true it ends as by Ctrl-C, which is an error (130)."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = None
        lines = []
        try:
            with _interrupt_comes_later():
                # In a session of its own, so that a terminal's Ctrl-C reaches it once, through this process.
                process = subprocess.Popen(words, stdout=output, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                           encoding="utf-8", start_new_session=True, cwd=cwd,
                                           env=None if environment is None else os.environ | dict(environment))  # fmt: skip
            assert process.stderr is not None
            with _stopped_when(stop, process):
                for line in process.stderr:
                    step = _PROGRESS.match(line.strip())
                    warning = _WARNING.match(line.strip())
                    if warning is not None:
                        _LOG.warning("%s", warning.group(1))
                    if step is None:
                        lines.append(line)
                    elif progress is not None:
                        progress(int(step.group(1)) / 100.0)
                code = process.wait()
        except BaseException:
            if process is not None:
                _end(process)
            raise
        finally:
            if process is not None and process.stderr is not None:
                process.stderr.close()
        if code != 0:
            raise error_of("".join(lines).strip() or f"nearfield ended with {code}", code if code > 0 else 128 - code)
        output.seek(0)
        return output.read()


def _leaves(config: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield single settings by their dotted names."""
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def settings_words(config: Path | Mapping[str, object] | None, folder: pathlib.Path) -> list[str]:
    """Return the words of the command line for a configuration; a mapping needs the folder."""
    if config is None:
        return []
    if isinstance(config, Mapping):
        # Relative paths of a file count from its folder, those of --set from the working directory. The file is there
        # because a configuration, even an empty one, is used in the place of a recording's own settings.
        written = folder / "config.yaml"
        written.write_text("{}\n", encoding="utf-8")
        words = ["-c", str(written)]
        for key, value in _leaves(config):
            words += ["--set", f"{key}={json.dumps(value)}"]
        return words
    return ["-c", os.fspath(config)]


def replay(
    recording: Path,
    output: Path | None = None,
    *,
    config: Path | Mapping[str, object] | None = None,
    config_of: Path | None = None,
    settings: Mapping[str, object] | None = None,
    frames: slice | int | None = None,
    engine: str = "opencl",
    device: str | None = None,
    processor: str | None = None,
    options: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Image a recording with the program ``nearfield replay``.

    Parameters
    ----------
    recording : path
        A capture, time data or spectra (HDF5), or a recording of bits (``.nfr``).
    output : path, optional
        The images file. Without it the results are in memory alone.
    config : path or mapping, optional
        A YAML file, or the same as nested dictionaries: ``{"holography": {"standoff_m": 0.03}}``, whose relative paths
        count from the working directory.
    config_of : path, optional
        Images or a recording whose settings are used.
    settings : mapping, optional
        Single settings by their dotted names: ``{"front_end.hop_samples": 64}``.
    frames : slice or int, optional
        ``slice(10, 20)``, or the first so many.
    engine : {"opencl", "reference"}
    device : str, optional
        As the option ``--device`` takes it.
    processor : str, optional
        Whose results are returned; default: the first.
    options : sequence of str
        Further words of the command line.
    progress : callable, optional
        Called with the share done, 0 to 1, at every tenth.

    Returns
    -------
    xarray.Dataset
        As :func:`nearfield.open_images` has it; ``images`` complex64 ``[time, plane, frequency, row, column]``.

    Raises
    ------
    NearfieldError
        :class:`ConfigError`, :class:`DataError`, ... with exit code and message.
    """
    with tempfile.TemporaryDirectory(prefix="nearfield-") as name:
        folder = pathlib.Path(name)
        written = folder / "images.h5" if output is None else pathlib.Path(output)
        words = ["replay", os.fspath(recording), "-o", str(written), "--engine", engine, *settings_words(config, folder)]
        if config_of is not None:
            words += ["--config-of", os.fspath(config_of)]
        for key, value in (settings or {}).items():
            words += ["--set", f"{key}={json.dumps(value)}"]
        if isinstance(frames, int):
            words += ["--frames", str(frames)]
        elif frames is not None:
            if frames.step not in (None, 1):
                raise ValueError(f"frames: expected a slice without a step, found {frames}")
            words += ["--frames", f"{frames.start or 0}:{'' if frames.stop is None else frames.stop}"]
        if device is not None:
            words += ["--device", device]
        run(*words, *options, progress=progress)
        images = open_images(written, processor=processor)
        if output is None:
            images.load()
            images.close()
        return images


def open_recording(path: Path, processor: str | None = None, *, what: str = "images", epoch: int | None = None) -> xr.Dataset:
    """Open a recording of the daemon, ``.nfr``, through ``nearfield convert``, which passes over what is damaged.

    Parameters
    ----------
    path : path
    processor : str, optional
        Whose results; default: the first one that has frames.
    what : {"images", "bits"}
    epoch : int, optional
        Where results of several configurations were recorded.

    Returns
    -------
    xarray.Dataset
        In memory, as :func:`nearfield.open_images` or :func:`nearfield.open_capture` has it.
    """
    with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
        written = pathlib.Path(folder) / "converted.h5"
        words = ["convert", os.fspath(path), "-o", str(written), "--what", what]
        if processor is not None:
            words += ["--processor", processor]
        if epoch is not None:
            words += ["--epoch", str(epoch)]
        run(*words)
        with open_images(written) if what == "images" else open_capture(written) as opened:
            return opened.load()
