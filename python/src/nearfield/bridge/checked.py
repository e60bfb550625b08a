"""Anything that a broker sent, as checked values: whoever may write there must not end what reads, nor fill its files with nonsense."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from nearfield.errors import DataError, NearfieldError

_DEEPEST = 16  # lists and objects within each other; states and headers have 4
_TEXT = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]*")


@contextlib.contextmanager
def expecting(what: str) -> Iterator[None]:
    """Turn whatever the content of a reply raises into a DataError "WHAT: CAUSE".

    All kinds of exceptions are caught, as nobody can list those that foreign bytes raise. Let nothing but the taking apart of a reply
    stand in it: an error of a file or of the connection would be taken for damage.
    """
    try:
        yield
    except NearfieldError:
        raise
    except Exception as error:
        words = str(error) if isinstance(error, ValueError | OverflowError) else f"{type(error).__name__} {error}"
        raise DataError(f"{what}: {words[:200]}", 65) from error


def whole_number(value: Any, least: int, most: int) -> int:
    """Return a whole number, of decimal digits where it is a text; ValueError beyond the bounds."""
    if isinstance(value, bool) or not isinstance(value, int | bytes | str):
        raise ValueError(f"expected a whole number, found {type(value).__name__}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"expected {least} to {most}, found {str(number)[:40]}")
    return number


def words(value: Any, longest: int = 64) -> str:
    """Return a text of one line that files and pages can hold; ValueError where it is none."""
    if not isinstance(value, str) or len(value) > longest or not _TEXT.fullmatch(value):
        raise ValueError(f"expected a line of at most {longest} characters, found {str(value)[:40]!r}")
    return value


def number_or_none(value: Any) -> float | None:
    """Return a finite number or None; ValueError of all else."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number, found {str(value)[:40]!r}")
    return value


def _require_shallow(value: Any, deepest: int) -> None:
    """Raises ValueError where a value is nested deeper than this, so that it can be written as JSON within something else too."""
    if deepest == 0:
        raise ValueError(f"expected at most {_DEEPEST} levels")
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_shallow(below, deepest - 1)


def json_object(text: Any, longest: int) -> dict[str, Any]:
    """Return an object of JSON that is no longer and no deeper than ours are; ValueError where it is none."""
    if not isinstance(text, bytes | str) or len(text) > longest:
        raise ValueError(f"expected JSON of at most {longest} bytes, found {len(text) if isinstance(text, bytes | str) else type(text).__name__}")
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {type(value).__name__}")
    _require_shallow(value, _DEEPEST)
    return value


def require_finite(value: Any) -> None:
    """Raises ValueError for numbers that are not finite, which no browser reads in JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected finite numbers, found {value}")
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        require_finite(below)
