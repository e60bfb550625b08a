"""Both C libraries, through cffi; their declarations are the text of the headers that the package ships."""

from __future__ import annotations

import functools
import os
import pathlib
import re
from typing import Any

from cffi import FFI

from nearfield._programs import use_own_parts

_PACKAGE = pathlib.Path(__file__).resolve().parent
_ENGINE = ("nearfield/nearfield.h", "libnearfield.so.0")
_RING = ("nearfield_ring.h", "libnearfield_ring.so.3")


def declarations(text: str) -> str:
    """Return a header's declarations as cffi takes them: no comments, no preprocessor lines, nothing for C++."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)


@functools.cache
def ffi() -> Any:
    """Return the cffi object that knows both headers."""
    made = FFI()
    for header in (_RING[0], _ENGINE[0]):
        made.cdef(declarations((_PACKAGE / "include" / header).read_text(encoding="utf-8")))
    return made


def _load(name: str) -> Any:
    """Load a library: from the folders of NEARFIELD_LIBRARIES, from the package, or wherever the system has it."""
    use_own_parts()
    folders = [pathlib.Path(folder) for folder in os.environ.get("NEARFIELD_LIBRARIES", "").split(os.pathsep) if folder]
    for folder in [*folders, _PACKAGE / "lib"]:
        if (folder / name).is_file():
            return ffi().dlopen(str(folder / name))
    return ffi().dlopen(name)


@functools.cache
def engine() -> Any:
    """Return libnearfield."""
    return _load(_ENGINE[1])


@functools.cache
def ring() -> Any:
    """Return libnearfield_ring.

    Raises
    ------
    OSError
        Where the library reads another format of rings than the header describes.
    """
    library = _load(_RING[1])
    header = (_PACKAGE / "include" / _RING[0]).read_text(encoding="utf-8")
    found = re.search(r"#define NF_RING_VERSION (\d+)U", header)
    if found is None or library.nf_ring_version() != int(found.group(1)):
        raise OSError(f"{_RING[1]}: expected the format of {_RING[0]}, found {library.nf_ring_version()}")
    return library


def text(value: Any) -> str:
    """Return a C string as str."""
    return bytes(ffi().string(value)).decode("utf-8")
