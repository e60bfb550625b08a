"""Ends of the package's command lines, alike in all of them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable

from nearfield.errors import NearfieldError

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


def exit_code_of(run: Callable[[], int], name: str) -> int:
    """Run a command and return its exit code; an error is one line on standard error, with control characters of names escaped.

    Output that cannot be written is an error too (74), as of a full disk; Ctrl-C ends it with 130.
    """
    try:
        try:
            code = run()
        except SystemExit:  # argparse ends so after its help
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except NearfieldError as error:
        _say(name, error.message)
        return error.exit_code
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # the interpreter would write the buffered rest once more at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _say(name, str(error))
        return 74
    except KeyboardInterrupt:
        return 130
    return code


def _say(name: str, message: str) -> None:
    escaped = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", message)
    sys.stderr.write(f"{name}: error: {escaped}\n")
