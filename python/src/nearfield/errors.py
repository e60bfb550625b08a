"""Exceptions, by the exit codes that the program ``nearfield`` has."""

from __future__ import annotations


class NearfieldError(Exception):
    """An error of the program or of the engine.

    Parameters
    ----------
    message : str
        What the program said: place, what was found, what was expected.
    exit_code : int
        After sysexits.h: 64 a wrong call, 65 wrong data, 66 a missing file, 69 no device, 70 a defect, 74 input or
        output, 78 a wrong setting.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[NearfieldError], tuple[str, int]]:
        return type(self), (self.message, self.exit_code)  # by default it is made of the message alone


class UsageError(NearfieldError):
    """A call that does not fit (64)."""


class DataError(NearfieldError):
    """The content of an input is wrong (65)."""


class NoInputError(NearfieldError, FileNotFoundError):
    """A file that is missing or unreadable (66)."""

    def __str__(self) -> str:
        return self.message


class DeviceError(NearfieldError):
    """There is no OpenCL device, or it failed (69)."""


class IoError(NearfieldError):
    """Reading or writing failed (74)."""


class ConfigError(NearfieldError):
    """A wrong setting (78)."""


_KINDS: dict[int, type[NearfieldError]] = {
    64: UsageError, 65: DataError, 66: NoInputError, 69: DeviceError, 74: IoError, 78: ConfigError,
}  # fmt: skip


def error_of(message: str, exit_code: int) -> NearfieldError:
    """Return the exception for an exit code; :class:`NearfieldError` itself where there is no closer one."""
    return _KINDS.get(exit_code, NearfieldError)(message, exit_code)
