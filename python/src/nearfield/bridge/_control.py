"""Requests to a daemon over its control socket (docs/reference/control.md)."""

from __future__ import annotations

import json
import os
import pathlib
import socket
from typing import Any

from nearfield.errors import IoError, NoInputError, error_of

_LONGEST_BYTES = 4_000_000


def default_socket() -> str:
    """Return where a daemon listens: NEARFIELD_RUNTIME_DIR, else XDG_RUNTIME_DIR where one of this user does, else /run."""
    named = os.environ.get("NEARFIELD_RUNTIME_DIR")
    if named:
        return f"{named}/control.sock"
    own = os.environ.get("XDG_RUNTIME_DIR")
    if own and os.geteuid() != 0 and pathlib.Path(own, "nearfield", "control.sock").exists():
        return f"{own}/nearfield/control.sock"
    return "/run/nearfield/control.sock"


def request(path: str, command: str, timeout_s: float = 2.0) -> dict[str, Any]:
    """Send one request and return its result.

    Raises
    ------
    NearfieldError
        With the daemon's message and exit code; NoInputError where nobody serves, IoError where no reply came in time.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(path)
            connection.sendall(json.dumps({"id": 1, "command": command}).encode() + b"\n")
            reply = b""
            while not reply.endswith(b"\n") and len(reply) < _LONGEST_BYTES:
                piece = connection.recv(1 << 16)
                if not piece:
                    break
                reply += piece
        except TimeoutError as error:
            raise IoError(f"{path}: expected a reply within {timeout_s:g} s, found none", 74) from error
        except OSError as error:
            raise NoInputError(f"{path}: expected a daemon that serves there, found none: {error.strerror}", 66) from error
    try:
        said = json.loads(reply)
        if said["ok"]:
            return dict(said["result"])
        raise error_of(str(said["error"]["message"]), int(said["error"]["exit_code"]))
    except (ValueError, KeyError, TypeError) as error:
        raise IoError(f"{path}: expected a reply of a daemon, found {reply[:80]!r}", 74) from error
