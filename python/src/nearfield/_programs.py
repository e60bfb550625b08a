"""The programs in a wheel and what they use of it: fonts, and the OpenCL driver of the extra ``cpu``."""

from __future__ import annotations

import os
import pathlib
import site
import sys

_SYSTEM_DRIVERS = pathlib.Path("/etc/OpenCL/vendors")
_SYSTEM_FONTS = pathlib.Path("/etc/fonts/fonts.conf")
_PACKAGE = pathlib.Path(__file__).resolve().parent
_FONTS = _PACKAGE / "fonts/fonts.conf"
FOLDER = _PACKAGE / "bin"


def use_own_parts() -> None:
    """Have programs find the driver that pip put into this Python's environment, or the user's, and the wheel's fonts, where the system has none."""
    drivers = [pathlib.Path(base, "lib/libintelocl.so") for base in (sys.prefix, site.getuserbase())]
    found = [str(driver) for driver in drivers if driver.exists()]
    if found and not any(_SYSTEM_DRIVERS.glob("*.icd")):
        os.environ.setdefault("OCL_ICD_VENDORS", found[0])
    if _FONTS.exists() and not _SYSTEM_FONTS.exists():
        os.environ.setdefault("FONTCONFIG_FILE", str(_FONTS))


def main(name: str) -> None:
    """Replace this process by a program, whose commands in Python run by this Python."""
    program = FOLDER / name
    use_own_parts()
    os.environ.setdefault("NEARFIELD_PYTHON", sys.executable)
    os.execv(program, [str(program), *sys.argv[1:]])
