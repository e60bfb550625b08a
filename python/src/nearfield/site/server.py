"""The site page: one page of all arrays, on loopback, by Python's own HTTP server."""

from __future__ import annotations

import contextlib
import http.server
import json
import logging
import pathlib
import re
import socket
import struct
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nearfield._layout import TABLE, Product
from nearfield.bridge.entries import PREFIX, BridgedFrame, Keys
from nearfield.bridge.reader import Reader, arrays, newest_state
from nearfield.errors import NearfieldError
from nearfield.site.places import Site

_LOG = logging.getLogger("nearfield.site")
_ASSETS = {
    "/": ("index.html", "text/html; charset=utf-8"), "/index.html": ("index.html", "text/html; charset=utf-8"),
    "/site.js": ("site.js", "text/javascript; charset=utf-8"), "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"), "/colours.json": ("colours.json", "application/json"),
}  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-cache",
}  # fmt: skip
_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_MOST_CONNECTIONS = 64
_STATE_LIFE_S = 0.5


def picture_of(frame: BridgedFrame) -> bytes | None:
    """Return the picture of a frame's first array over y and x: a head and one byte a pixel; None where it has none.

    Of planes and frequencies the first; complex values by their magnitude, real ones that have a sign about 0.
    """
    product = next((one for one in frame.layout.products if one.form != TABLE and len(one.shape) >= 2 and one.name in frame.products
                    and one.axes[-1].values.ndim == 1 and min(one.shape[-2:]) > 1), None)  # fmt: skip
    if product is None:
        return None
    values = np.abs(frame[product.name]) if np.iscomplexobj(frame[product.name]) else np.asarray(frame[product.name], np.float64)
    plane = values.reshape(-1, *product.shape[-2:])[0]
    finite = np.where(np.isfinite(plane), plane, 0.0)
    has_sign = bool((finite < 0.0).any())
    most = float(np.abs(finite).max()) or 1.0
    share = (finite / most + 1.0) / 2.0 if has_sign else finite / most
    head = json.dumps({
        "rows": product.shape[-2], "columns": product.shape[-1], "most": most, "unit": product.unit, "product": product.name,
        "processor": frame.layout.processor, "colours": "signed" if has_sign else "magnitude", "place": _place(product),
        "hop": frame.sequence, "flags": frame.flags, "entry": frame.entry_id, "age_s": frame.age_s(),
    }).encode()  # fmt: skip
    return struct.pack("<I", len(head)) + head + np.rint(255.0 * share).astype(np.uint8).tobytes()


def _place(product: Product) -> str:
    words = []
    for axis in product.axes[:-2]:
        if axis.values.ndim == 1 and len(axis.values) and np.isfinite(axis.values[0]):
            words.append(f"{axis.values[0]:.4g} {axis.unit}")
    return ", ".join(words)


class Watch:
    """Broker as the page sees it; states are asked for twice a second at most, however many browsers look.

    Parameters
    ----------
    connect : callable
        Makes a client.
    site : Site, optional
        Its arrays are shown, those alone, and their pages linked; default: all that the broker has.
    """

    def __init__(self, connect: Callable[[], Any], prefix: str = PREFIX, site: Site | None = None) -> None:
        self._client = connect()
        self._prefix, self._site = prefix, site
        self._lock = threading.Lock()  # guards the members below
        self._states: dict[str, Any] = {"broker": "not asked yet", "arrays": []}
        self._asked_s = -1e9
        self._readers: dict[str, Reader] = {}

    def names(self) -> dict[str, str]:
        """Return the names of arrays at the broker, and under which each is shown."""
        if self._site is not None:
            return {place.stream: place.name for place in self._site.places.values()}
        return {name: name for name in arrays(self._client, self._prefix)}

    def states(self) -> dict[str, Any]:
        """Return all arrays' states; where the broker is away, its last ones without ``is_live``, and why."""
        import redis

        with self._lock:
            if time.monotonic() - self._asked_s < _STATE_LIFE_S:
                return self._states
            try:
                found = []
                for stream, name in self.names().items():
                    state = self._state(stream)
                    page = self._site[name].page if self._site is not None else ""
                    found.append(state | {"array": name, "page": page or state.get("page")})
                self._states = {"broker": "", "arrays": found}
            except redis.RedisError as error:
                self._states = {"broker": str(error), "arrays": [state | {"is_live": False} for state in self._states["arrays"]]}
            self._asked_s = time.monotonic()
            return self._states

    def _state(self, stream: str) -> dict[str, Any]:
        none = {"state": "no news", "is_live": False, "text": ""}
        try:
            return newest_state(self._client, Keys(stream, self._prefix)) or none
        except NearfieldError as error:
            return none | {"text": error.message}

    def picture(self, name: str, after: str) -> bytes | None:
        """Return an array's newest picture; None where there is none after that entry.

        Raises
        ------
        KeyError
            Where no array has this name.
        """
        streams = {shown: stream for stream, shown in self.names().items()}
        with self._lock:
            reader = self._readers.get(name)
        if reader is None:
            reader = Reader(streams[name], client=self._client, prefix=self._prefix)
            with self._lock:
                self._readers[name] = reader
        elif name not in streams:
            raise KeyError(name)
        frame = reader.latest()
        if frame is None:  # its processor may be another one by now
            with self._lock:
                self._readers.pop(name, None)
        return None if frame is None or frame.entry_id == after else picture_of(frame)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: SiteServer
    protocol_version = "HTTP/1.1"
    server_version = "nearfield-site"
    sys_version = ""
    timeout = 10.0

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        with self.server.answering(self.connection):
            try:
                found = self._found()
            except Exception:  # a defect, which is answered and logged, and does not leave the browser without an answer
                _LOG.exception("%s", self.path[:100])
                found = 500, "text/plain; charset=utf-8", b"a defect of this server; its log says more\n"
            self._write_answer(*found, with_body=with_body)

    def _write_answer(self, status: int, kind: str, body: bytes, *, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _found(self) -> tuple[int, str, bytes]:
        text = "text/plain; charset=utf-8"
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1:
            return 400, text, b"expected one header Host\n"
        if re.sub(r":\d+$", "", hosts[0]) not in self.server.hosts:
            return 421, text, b"this name is not served; see --allowed-host\n"
        url = urllib.parse.urlsplit(self.path)
        if url.path in _ASSETS:
            name, kind = _ASSETS[url.path]
            return 200, kind, (pathlib.Path(__file__).parent / "page" / name).read_bytes()
        if url.path == "/state.json":
            return 200, "application/json", json.dumps(self.server.watch.states()).encode()
        if url.path.startswith("/picture/"):
            return self._picture(urllib.parse.unquote(url.path.removeprefix("/picture/")), urllib.parse.parse_qs(url.query))
        return 404, text, b"not found\n"

    def _picture(self, name: str, query: dict[str, list[str]]) -> tuple[int, str, bytes]:
        import redis

        text = "text/plain; charset=utf-8"
        try:
            picture = self.server.watch.picture(name, query.get("after", [""])[0])
        except KeyError:
            return 404, text, b"no such array\n"
        except NearfieldError as error:
            _LOG.debug("%s: %s", name, error.message)
            return 204, text, b""
        except redis.RedisError:
            return 503, text, b"the broker does not answer\n"
        return (204, text, b"") if picture is None else (200, "application/octet-stream", picture)

    def log_message(self, format: str, *args: Any) -> None:
        _LOG.debug(format, *args)


class SiteServer(http.server.ThreadingHTTPServer):
    """Serves the page; a thread a connection, 64 at most, each with 10 s for a request.

    Where all places are taken, the connection goes that has waited longest for a whole request.

    Parameters
    ----------
    address : tuple of str and int
        Loopback; the page has no encryption and no password.
    watch : Watch
    allowed_hosts : tuple of str
        Names beside localhost by which a browser may ask (header Host), such as those of a proxy.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128  # beside 5, the default, a few clients at once would have a second's wait for each other

    def __init__(self, address: tuple[str, int], watch: Watch, allowed_hosts: tuple[str, ...] = ()) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)
        self.watch = watch
        self.hosts = (*_HOSTS, *allowed_hosts)
        self._lock = threading.Lock()  # guards the members below
        self._waiting: dict[Any, None] = {}  # connections without a whole request, the one that has waited longest first
        self._answering: set[Any] = set()

    @property
    def url(self) -> str:
        """URL of the page."""
        host = f"[{self.server_address[0]!s}]" if self.address_family == socket.AF_INET6 else self.server_address[0]
        return f"http://{host!s}:{self.server_address[1]}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._waiting) + len(self._answering) >= _MOST_CONNECTIONS and not self._end_longest_waiting():
                self.shutdown_request(request)
                return
            self._waiting[request] = None
        super().process_request(request, client_address)

    def _end_longest_waiting(self) -> bool:
        """Make room: the thread of that connection then reads its end."""
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        del self._waiting[oldest]
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
        return True

    @contextlib.contextmanager
    def answering(self, request: Any) -> Iterator[None]:
        """Keep a connection's place while it is answered."""
        with self._lock:
            self._waiting.pop(request, None)
            self._answering.add(request)
        try:
            yield
        finally:
            with self._lock:
                self._answering.discard(request)
                self._waiting[request] = None

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._waiting.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _LOG.debug("a client went away", exc_info=True)
