"""Nearfield for Python: files as xarray, live frames, replays, and images of NumPy arrays.

Arrays are complex64 peak phasors of e^{+jwt} in SI units unless a docstring says otherwise.
"""

from typing import TYPE_CHECKING

from nearfield import _library
from nearfield import accessor as _accessor  # registers .nearfield
from nearfield._layout import Axis, Column, Layout, Product
from nearfield._program import open_recording, program, replay, run
from nearfield.arrays import beamform, pnah, sonah
from nearfield.engine import Engine, EngineFrame
from nearfield.errors import ConfigError, DataError, DeviceError, IoError, NearfieldError, NoInputError, UsageError
from nearfield.feed import Feed, FeedFrame
from nearfield.files import open_capture, open_images, open_snapshot, write_time_data
from nearfield.mdf4 import read_mdf4
from nearfield.over_time import phase_locked_average, time_domain
from nearfield.ring import Frame, Ring, RingEnded, RingError

__all__ = [
    "Axis", "Column", "ConfigError", "DataError", "DeviceError", "Engine", "EngineFrame", "Feed", "FeedFrame", "Frame", "IoError",
    "Layout", "NearfieldError", "NoInputError", "Product", "Ring", "RingEnded", "RingError", "UsageError", "beamform", "open_capture",
    "open_images", "open_recording", "open_snapshot", "phase_locked_average", "pnah", "program", "read_mdf4", "replay", "run", "sonah",
    "time_domain", "write_time_data",
]  # fmt: skip
del _accessor

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name):
        """Return the version, __version__, which is libnearfield's."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return _library.text(_library.engine().nf_version())
        except OSError as error:
            raise AttributeError(f"{__name__}.__version__ is libnearfield's, which cannot be loaded: {error}") from error
