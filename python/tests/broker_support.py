"""Brokers of their own for tests of bridges: children at UNIX sockets or free ports, never the machine's services."""

import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time


def until(condition, what, longest_s=60.0):
    """The first value of condition() that is true; a failure after longest_s."""
    end = time.monotonic() + longest_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"expected {what} within {longest_s} s, found {value!r}"
        time.sleep(0.02)


def program(name):
    found = shutil.which(name, path="/usr/bin:/usr/sbin:/usr/local/bin")
    assert found is not None, f"expected the program {name} of the test packages"
    return found


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class RedisServer:
    """A server without files at a UNIX socket; what it holds is gone when it is killed."""

    def __init__(self, folder, *options):
        self.folder, self.options = pathlib.Path(folder), options
        self.socket = self.folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.process = None
        self.start()

    def start(self):
        words = [program("redis-server"), "--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no", "--dir", self.folder,
                 *self.options]
        with open(self.folder / "redis.log", "ab") as log:
            self.process = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log)

        def answers():
            with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64)[:1] in (b"+", b"-")
            return False

        until(answers, "a Redis that answers")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.kill()


class Bridge:
    """A child ``python3 -m nearfield.bridge``."""

    def __init__(self, *words, **environment):
        import os

        self.process = subprocess.Popen([sys.executable, "-m", "nearfield.bridge", *map(str, words)], env=os.environ | environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        """Ends it as Ctrl-C does; its exit code, what it printed, and what it said."""
        if self.process.poll() is None:
            self.process.terminate()
        output, said = self.process.communicate(timeout=20)
        return self.process.returncode, output, said


def status(control):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20.0)
        connection.connect(str(control))
        connection.sendall(b'{"command":"status"}\n')
        reply = b""
        while not reply.endswith(b"\n"):
            reply += connection.recv(1 << 16)
    return json.loads(reply)["result"]
