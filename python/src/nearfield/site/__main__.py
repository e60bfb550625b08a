"""Command line of the site page: ``python3 -m nearfield.site``."""

from __future__ import annotations

import ipaddress
import logging
import sys
import threading
from collections.abc import Sequence

from nearfield._command import exit_code_of
from nearfield.bridge.__main__ import Parser, stop_at_signals
from nearfield.bridge._broker import Redis, check_url
from nearfield.bridge.entries import PREFIX
from nearfield.errors import IoError, UsageError
from nearfield.site.places import Site
from nearfield.site.server import SiteServer, Watch


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        number = int(port)
    except ValueError:
        address, number = ipaddress.ip_address("0.0.0.0"), -1
    if not address.is_loopback or not 0 <= number <= 65535:
        raise UsageError(f"--address: expected an address of loopback with a port, such as 127.0.0.1:7240, found {text}; "
                         "from other machines the page is reached through a proxy or an SSH tunnel", 64)  # fmt: skip
    return str(address), number


def _run(words: Sequence[str] | None) -> int:
    parser = Parser(prog="python3 -m nearfield.site", description="One page of all arrays of a site, until Ctrl-C", allow_abbrev=False)
    parser.add_argument("--redis", default="", metavar="URL", help="in place of NEARFIELD_REDIS_URL")
    parser.add_argument("--site", metavar="FILE", help="site file: its arrays alone, with links to their pages")
    parser.add_argument("--prefix", default=PREFIX, help="begin of keys (nearfield)")
    parser.add_argument("--address", default="127.0.0.1:7240", metavar="HOST:PORT", help="of loopback (127.0.0.1:7240)")
    parser.add_argument("--allowed-host", action="append", default=[], metavar="NAME", help="that the header Host may have, too")
    options = parser.parse_args(words)
    site = Site.read(options.site) if options.site else None
    watch = Watch(Redis(check_url(options.redis, "--redis")).connect, options.prefix, site)
    address = _address(options.address)
    try:
        server = SiteServer(address, watch, tuple(options.allowed_host))
    except OSError as error:
        raise IoError(f"--address: can't listen at {options.address}: {error.strerror}", 74) from error
    stop = stop_at_signals()
    thread = threading.Thread(target=server.serve_forever, name="nf-site", daemon=True)
    thread.start()
    print(server.url, flush=True)
    while not stop.wait(0.2):
        pass
    server.shutdown()
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Serve, and return the exit code."""
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.INFO)
    return exit_code_of(lambda: _run(words), "nearfield.site")


if __name__ == "__main__":
    sys.exit(main())
