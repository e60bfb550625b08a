"""Ends of the package's command lines, alike in all of them."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

from nearfield.errors import NearfieldError, UsageError

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


class Parser(argparse.ArgumentParser):
    """The arguments of a command of ``nearfield``, whose errors name its help."""

    def __init__(self, command: str, *, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self._command = command

    def error(self, message: str) -> NoReturn:
        raise usage(self._command, message)


def usage(command: str, message: str) -> UsageError:
    return UsageError(f"{message} (see nearfield help {command})", 64)


def require_own_output(command: str, output: str, inputs: Iterable[str]) -> None:
    """Raise UsageError where an output has no name, or is one of the inputs."""
    if not output:
        raise usage(command, "--output: expected a path, found an empty one")
    for path in inputs:
        is_there_twice = os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path)
        if os.path.realpath(output) == os.path.realpath(path) or is_there_twice:
            raise usage(command, f"--output: {output} is {path} too; expected a file of its own")


def _say(name: str, message: str) -> None:
    escaped = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", message)
    sys.stderr.write(f"{name}: error: {escaped}\n")
