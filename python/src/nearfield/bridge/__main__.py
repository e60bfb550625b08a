"""Command line: ``python3 -m nearfield.bridge``, which ``nearfield bridge`` runs."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import pathlib
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from nearfield._command import exit_code_of
from nearfield.bridge import to_mqtt, to_redis
from nearfield.bridge._broker import Redis, check_url
from nearfield.bridge._control import default_socket
from nearfield.bridge.entries import PREFIX, Keys, checked_name
from nearfield.bridge.store import Store
from nearfield.errors import ConfigError, NoInputError, UsageError

_ENVIRONMENT = """environment:
  NEARFIELD_REDIS_URL, NEARFIELD_MQTT_URL     redis://, rediss:// (TLS), unix://; mqtt://, mqtts:// (TLS)
  NEARFIELD_REDIS_USER, NEARFIELD_REDIS_PASSWORD, NEARFIELD_REDIS_PASSWORD_FILE, NEARFIELD_REDIS_CA_FILE,
  NEARFIELD_REDIS_CERT_FILE, NEARFIELD_REDIS_KEY_FILE; the first four as NEARFIELD_MQTT_... too
  systemd's credentials redis.password and mqtt.password
"""


class Parser(argparse.ArgumentParser):
    """Wrong command lines end with 64, as those of the programs do."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message}\n")
        sys.exit(64)


def _rate(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    if value == "all":
        return name, to_redis.ALL_HZ
    try:
        hz = float(value)
    except ValueError:
        hz = math.nan
    if not 0.001 <= hz <= 10_000.0:
        raise UsageError(f"--hz: expected [PROCESSOR=]RATE, a rate of 0.001 to 10000 or all, found {text}", 64)
    return name, hz


def _products(text: str) -> tuple[str, tuple[str, ...]]:
    name, equal, value = text.partition("=")
    if not equal or not name or not all(value.split(",")):
        raise UsageError(f"--products: expected PROCESSOR=PRODUCT,PRODUCT..., found {text}", 64)
    return name, tuple(value.split(","))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    top = Parser(prog="nearfield bridge", description="Results of a running nearfieldd to a broker, and from there into files",
                 epilog=_ENVIRONMENT, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)  # fmt: skip
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, allow_abbrev=False)

    redis = command("redis", "Frames, states and alarms into Redis Streams, until Ctrl-C")
    mqtt = command("mqtt", "States and alarms to MQTT, until Ctrl-C")
    for one in (redis, mqtt):
        one.add_argument("--array", required=True, metavar="NAME", help="name of this array at the site")
        one.add_argument("--control", metavar="PATH", help="control socket of the daemon")
        one.add_argument("--prefix", default=PREFIX, help="begin of keys or topics (nearfield)")
    redis.add_argument("--socket", metavar="PATH", help="frames' socket of the daemon")
    redis.add_argument("--hz", action="append", default=[], metavar="[PROCESSOR=]RATE",
                       help="frames a second at most (10), of one processor or of all; all: every frame")  # fmt: skip
    redis.add_argument("--products", action="append", default=[], metavar="PROCESSOR=NAME,...", help="these products alone")
    redis.add_argument("--length", type=int, default=256, help="entries that a stream of frames is cut to (256)")
    redis.add_argument("--redis", default="", metavar="URL", help="in place of NEARFIELD_REDIS_URL")
    mqtt.add_argument("--mqtt", default="", metavar="URL", help="in place of NEARFIELD_MQTT_URL")
    mqtt.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="from one state to the next (1)")
    store = command("store", "Frames of Redis Streams into HDF5 files, by a consumer group, until Ctrl-C")
    store.add_argument("folder", metavar="FOLDER", help="where files and what was reached go")
    store.add_argument("arrays", nargs="*", metavar="ARRAY", help="these arrays; none: all")
    store.add_argument("--group", default="store", help="consumer group (store)")
    store.add_argument("--prefix", default=PREFIX, help="begin of keys (nearfield)")
    store.add_argument("--file-seconds", type=float, default=60.0, metavar="SECONDS", help="a file is written so often (60)")
    store.add_argument("--redis", default="", metavar="URL", help="in place of NEARFIELD_REDIS_URL")
    return top


def stop_at_signals() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _run(words: Sequence[str] | None) -> int:
    options = parser().parse_args(words)
    if options.command == "mqtt":
        url = check_url(options.mqtt, "--mqtt") or os.environ.get("NEARFIELD_MQTT_URL", "mqtt://127.0.0.1")
        if not options.every >= 0.1:
            raise UsageError(f"--every: expected 0.1 s or more, found {options.every}", 64)
        to_mqtt.run(checked_name(options.array, "--array"), options.control or default_socket(), url, options.prefix, options.every,
                    stop_at_signals())  # fmt: skip
        return 0
    broker = Redis(check_url(options.redis, "--redis"))
    if options.command == "redis":
        keys = Keys(checked_name(options.array, "--array"), options.prefix)
        rates = dict(_rate(text) for text in options.hz)
        products = dict(_products(text) for text in options.products)
        if not 1 <= options.length <= 1_000_000:
            raise UsageError(f"--length: expected 1 to 1000000 entries, found {options.length}", 64)
        broker.connect()  # raises for wrong settings at once; an absent broker is waited for
        to_redis.run(to_redis.Options(keys, options.socket, options.control or default_socket(), rates, products, options.length),
                     broker.connect, stop_at_signals())  # fmt: skip
        return 0
    folder = pathlib.Path(options.folder)
    if not folder.is_dir():
        raise NoInputError(f"{folder}: expected a folder, found none", 66)
    if not options.file_seconds > 0.0:
        raise ConfigError(f"--file-seconds: expected > 0, found {options.file_seconds}", 64)
    store = Store(folder, options.arrays, broker.connect, group=options.group, prefix=options.prefix, file_s=options.file_seconds)
    try:
        store.run(stop_at_signals())
    finally:
        print(json.dumps(store.counts()), flush=True)
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.INFO)
    return exit_code_of(lambda: _run(words), "nearfield: bridge")


if __name__ == "__main__":
    sys.exit(main())
