"""A server with known fields for the tests of the live page: what nearfieldd's page server sends, without a daemon.

It serves the page's files as they lie in src/page/assets, and pictures on request (one for each credit). A test changes
its members while it runs: `is_live`, `flags`, `status`, `is_writable` ... It is no model of the daemon: the real server
is tested with the page in server_test.py.
"""

import asyncio
import http
import json
import math
import pathlib
import struct
import threading
import time

import numpy as np
import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.http11 import Response

MAGIC = 0x4950464E
FRAME_MAGIC = 0x4143464E
HEAD_BYTES = 128
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
CSP = ("default-src 'self'; img-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
       "frame-ancestors 'none'")

ROWS, COLUMNS = 32, 32
PITCH_M = 0.02
LEVELS_HZ = 46875 / 4096
FREQUENCIES_HZ = [503.54, 1007.08, 2014.16]
PLANES_M = [0.0, 0.01]


def colours():
    """Three tables that a test can tell apart; the daemon's own are made by formula."""
    steps = range(256)
    turn = [2 * math.pi * i / 255 for i in steps]
    return {
        "magnitude": [[i, int(255 * (i / 255) ** 2), int(80 + 120 * math.sin(math.pi * i / 255))] for i in steps],
        "phase": [[int(127.5 + 100 * math.cos(a)), int(127.5 + 100 * math.cos(a - 2.1)), int(127.5 + 100 * math.cos(a + 2.1))] for a in turn],
        "signed": [[min(255, 2 * i), 255 - abs(2 * i - 255), min(255, 510 - 2 * i)] for i in steps],
    }


def axis_m(count):
    return ((np.arange(count) - (count - 1) / 2) * PITCH_M).tolist()


def field(frequency, plane, turn=0.0):
    """Pressure [row][column], Pa: at x the phase 10 x (rad/m), a bump of 1 Pa beside (0.1, -0.1) m, and half of it at other planes."""
    y, x = np.meshgrid(axis_m(ROWS), axis_m(COLUMNS), indexing="ij")
    bump = np.exp(-((x - 0.11) ** 2 + (y + 0.09) ** 2) / 0.02)
    magnitude = (0.02 + bump) * (frequency + 1) / (plane + 1)
    return (magnitude * np.exp(1j * (10 * x + turn))).astype(np.complex64)


def images_layout():
    return {
        "processor": "surface",
        "axes": [
            {"name": "z", "unit": "m", "components": 1, "values": PLANES_M},
            {"name": "frequency", "unit": "Hz", "components": 1, "values": FREQUENCIES_HZ},
            {"name": "y", "unit": "m", "components": 1, "values": axis_m(ROWS)},
            {"name": "x", "unit": "m", "components": 1, "values": axis_m(COLUMNS)},
        ],
        "products": [
            product("images", "pressure", "Pa", axes=["z", "frequency", "y", "x"]),
            product("error_estimate", "relative error", "1", form="figure", kind="float32", axes=["frequency"]),
        ],
    }


def far_layout():
    values = np.linspace(-1.0, 1.0, 41).tolist()
    columns = [("id", "uint32"), ("x", "float32"), ("y", "float32"), ("z", "float32"), ("confidence", "float32"), ("level_db", "float32")]
    return {
        "processor": "far",
        "axes": [
            {"name": "y", "unit": "m", "components": 1, "values": np.linspace(-0.6, 0.6, 25).tolist()},
            {"name": "x", "unit": "m", "components": 1, "values": values},
        ],
        "products": [
            product("map", "mean square pressure", "Pa^2", kind="float32", axes=["y", "x"]),
            {**product("sources", "places of sources", "m", form="table"), "most_rows": 8,
             "columns": [{"name": name, "unit": "m", "type": kind} for name, kind in columns]},
        ],
    }


def directions_layout():
    """far_layout with a map over angles, and directions in its table."""
    layout = far_layout()
    layout["axes"] = [
        {"name": "elevation", "unit": "deg", "components": 1, "values": np.linspace(-60.0, 60.0, 25).tolist()},
        {"name": "azimuth", "unit": "deg", "components": 1, "values": np.linspace(-80.0, 80.0, 41).tolist()},
    ]
    layout["products"][0]["axes"] = ["elevation", "azimuth"]
    for column in layout["products"][1]["columns"]:
        if column["name"] in ("x", "y", "z"):
            column["unit"] = "1"
    return layout


def spectrum_layout():
    return {
        "processor": "here",
        "axes": [
            {"name": "point", "unit": "m", "components": 2, "values": [0.0, 0.0]},
            {"name": "frequency", "unit": "Hz", "components": 1, "values": np.linspace(0, 23437.5, 513).tolist()},
        ],
        "products": [product("spectrum", "amplitude of pressure", "Pa", kind="float32", axes=["point", "frequency"])],
    }


def levels_layout(channels=16, centres_hz=()):
    """What a processor of kind levels gives; centres of third octaves."""
    half = 10 ** 0.05
    axes = [{"name": "microphone", "unit": "1", "components": 1, "values": list(range(channels))}]
    products = [product("level", "mean square pressure", "Pa^2", kind="float32", axes=["microphone"])]
    if centres_hz:
        exact = [1000 * 10 ** (round(10 * math.log10(centre / 1000)) / 10) for centre in centres_hz]
        axes.append({"name": "band", "unit": "Hz", "components": 2, "values": [limit for centre in exact for limit in (centre / half, centre * half)]})
        products.append(product("bands", "mean square pressure", "Pa^2", kind="float32", axes=["band", "microphone"]))
    products += [product("peak", "largest magnitude of pressure", "Pa", kind="float32", axes=["microphone"]),
                 product("offset", "mean pressure", "Pa", kind="float32", axes=["microphone"])]
    return {"processor": "meters", "axes": axes, "products": products}


def product(name, quantity, unit, form="array", kind="complex64", axes=()):
    return {"name": name, "quantity": quantity, "unit": unit, "form": form, "type": kind, "axes": list(axes), "columns": [], "most_rows": 0}


def microphone(channel, cause):
    """Of the daemon's status."""
    return {"channel": channel, "row": channel // COLUMNS, "column": channel % COLUMNS, "cause": cause}


def padded(data):
    return data + bytes(-len(data) % 8)


def part(index, rows, data):
    return struct.pack("<IIII", index, rows, len(data), 0) + padded(data)


class FakeServer:
    """Serves on a port of 127.0.0.1 that the system chooses, until close()."""

    def __init__(self, assets, dygraphs="/usr/share/javascript/dygraphs"):
        self.assets = pathlib.Path(assets)
        self.dygraphs = pathlib.Path(dygraphs)
        self.layouts = {layout["processor"]: layout for layout in (images_layout(), far_layout(), spectrum_layout())}
        self.is_live = True        # frames come
        self.is_daemon_there = True
        self.is_writable = True
        self.late_s = 0.0          # frames are this old when they are sent
        self.clock_ahead_s = 0.0   # what the answers of the clock are ahead of the machine's
        self.amplitude = 1.0       # factor of all fields
        self.source = (0.4, -0.2, -1.0)  # x, y, z of the source that far finds
        self.flags = 0
        self.missing = 0
        self.turn = 0.0            # phase of all fields, radians
        self.rate_hz = 1465.0      # of all processors: pictures come no faster
        self.requests = []         # control requests of the page
        self.recording = {"state": "idle", "bytes": 0, "text": "idle", "trigger": "none", "level": 1.0, "quiet_s": 1.0, "pause_s": 5.0,
                          "pre_trigger_s": 1.0, "began_by": None, "recordings": 0,
                          "level_of": {"processor": "surface", "quantity": "pressure", "unit": "Pa"}}
        self.microphones = {"watched": True, "microphones": 1024, "masked": 2, "missing_information": 0.0038, "masked_channels": [microphone(5, "dead"), microphone(9, "configuration")],
                            "bad": [microphone(5, "dead"), microphone(300, "loud")]}
        self.microphones_m = [[x, y, 0.0] for y in axis_m(ROWS) for x in axis_m(COLUMNS)]
        self.yaml = f"version: 1\narray:\n  rows: {ROWS}\n  columns: {COLUMNS}\n  sensitivity_dbfs: -26\nfront_end:\n  kind: popcount\n"
        self.levels = None         # (number of the frame) -> {product: values} of the processor meters, LEVELS_HZ times a second
        self.answers = {}          # results of control requests, by their commands
        self.events = []           # of limits
        self.frames = []           # JPEG of a camera at the array, which are sent again and again; empty: it has none
        self.camera_trouble = ""   # why that camera gives none
        self.frames_sent = 0
        self.sent = 0              # pictures of surface
        self.clients = set()
        self.began = time.monotonic()
        self._sequence = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def close(self):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()

    def disconnect(self):
        """Closes all connections, as a daemon that ends."""
        for client in list(self.clients):
            asyncio.run_coroutine_threadsafe(client.socket.close(), self._loop).result(5)

    def status(self):
        input_state = "running" if self.is_live else "no input"
        times = {"median": 0.4, "p99": 0.9, "p999": 1.2, "max": 2.5}
        return {
            "state": input_state, "version": "0.1.0", "source": "udp", "device": "pthread", "front_end": "popcount",
            "uptime_s": time.monotonic() - self.began, "epoch": 1, "frames": self._sequence, "frame_rate_hz": self.rate_hz,
            "hop_rate_hz": 1464.8, "age_ms": times, "interval_ms": times, "stages_ms": {"front_end": times, "imager": times},
            "bit_times": {"received": 15000000, "missing": 0, "expected": 15000000}, "counted_in": "bit-times",
            "shed_hops": 0, "losses": {}, "queues": {},
            "microphones": self.microphones,
            "recording": self.recording,
            "limits": [{"name": "engine", "state": "above", "value": 91.5, "since": "2026-11-23T15:00:00Z", "events": len(self.events)}],
        }

    # --- what runs on the server's thread ---

    def _run(self):
        self._loop.run_until_complete(self._serve())

    async def _serve(self):
        self._stop = asyncio.Event()
        async with websockets.asyncio.server.serve(self._connected, "127.0.0.1", 0, process_request=self._file, compression=None) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    def _file(self, _connection, request):
        path = request.path.split("?")[0]
        if path == "/stream":
            return None
        if path == "/colours.json":
            return self._answer(json.dumps(colours()).encode(), "application/json")
        if path == "/lib/dygraph.min.js":
            return self._answer((self.dygraphs / "dygraph.min.js").read_bytes(), TYPES[".js"])
        if path == "/lib/dygraph.css":
            return self._answer((self.dygraphs / "dygraph.min.css").read_bytes(), TYPES[".css"])
        file = self.assets / ("index.html" if path == "/" else path.lstrip("/"))
        if file.parent != self.assets or not file.is_file():
            return self._answer(b"no such page", "text/plain", http.HTTPStatus.NOT_FOUND)
        return self._answer(file.read_bytes(), TYPES[file.suffix])

    @staticmethod
    def _answer(body, kind, status=http.HTTPStatus.OK):
        headers = Headers({"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close",
                           "Content-Security-Policy": CSP, "Cache-Control": "no-cache"})
        return Response(status.value, status.phrase, headers, body)

    async def _connected(self, socket):
        client = _Client(self, socket)
        self.clients.add(client)
        try:
            await client.serve()
        except websockets.exceptions.ConnectionClosed:
            pass
        finally:
            self.clients.discard(client)

    def answer(self, request):
        self.requests.append(request)
        command = request.get("command")
        if not self.is_writable and command not in ("status", "config", "recordings", "events"):
            return {"ok": False, "error": {"exit_code": 77, "message": "expected a token"}}
        if command == "status":
            return {"ok": True, "result": self.status()}
        if command == "config":
            return {"ok": True, "result": {"yaml": self.yaml, "microphones_m": self.microphones_m}}
        if command in self.answers:
            return {"ok": True, "result": self.answers[command]}
        if command == "recordings":
            recording = {"bytes": 12000000, "began": 1795446037000000000, "began_by": "the level 0.5", "state": "complete", "notes": "door open", "seconds": 4.2}
            return {"ok": True, "result": {"recordings": [{"name": name, "path": f"/tmp/{name}", **recording} for name in ("first.nfr", "it's.nfr")]}}
        if command == "events":
            return {"ok": True, "result": {"events": self.events, "dropped": 0}}
        return {"ok": True, "result": {"message": f"{command} done"}}

    def picture(self, subscription):
        """The newest picture of a subscription, as a message."""
        self._sequence += 1
        layout = self.layouts[subscription["processor"]]
        names = [one["name"] for one in layout["products"]]
        index = names.index(subscription["product"])
        rows = 0
        number, capture_s = 1, None
        if subscription["processor"] == "meters":
            number = subscription["number"]
            capture_s = self.began + number / LEVELS_HZ
            data = np.asarray(self.levels(number)[subscription["product"]], np.float32).tobytes()
        elif subscription["product"] == "images":
            select = subscription["select"]
            self.sent += 1
            data = (np.float32(self.amplitude) * field(select["frequency"], select["z"], self.turn)).tobytes()
        elif subscription["product"] == "velocity":
            data = (np.complex64(1e-3) * field(0, 0)).tobytes()
        elif subscription["product"] == "map":
            y, x = np.meshgrid(layout["axes"][0]["values"], layout["axes"][1]["values"], indexing="ij")
            data = (1e-4 * np.exp(-((x - 0.4) ** 2 + (y + 0.2) ** 2) / 0.03) + 1e-7).astype(np.float32).tobytes()
        elif subscription["product"] == "sources":
            rows = 1
            columns = [np.uint32([7]), *(np.float32([value]) for value in (*self.source, 0.83, 54.0))]
            data = b"".join(padded(column.tobytes()) for column in columns)
        else:
            bins = np.arange(513)
            data = (1e-4 + 0.1 * np.exp(-((bins - 44) ** 2) / 4)).astype(np.float32).tobytes()
        now = time.monotonic_ns()
        capture = now - int((self.late_s + 0.002) * 1e9)
        if capture_s is not None:
            capture = int(1e9 * capture_s)
        head = struct.pack("<QIIQQQIIQqqqqIIQQQQ", 2 * number, 0, 0, self._sequence, 0, 4096, 8192, 1, 0, capture, time.time_ns() + 37_000_000_000, now,
                           time.time_ns() + 37_000_000_000, self.flags, ROWS * COLUMNS - 2, self.missing, 0, 1, 0)
        assert len(head) == HEAD_BYTES
        parts = [part(index, rows, data)]
        parts += [part(i, 0, np.float32([0.02, 0.03, 0.05]).tobytes()) for i, one in enumerate(layout["products"]) if one["form"] == "figure"]
        return struct.pack("<IIIIq", MAGIC, subscription["id"], HEAD_BYTES, len(parts), now) + head + b"".join(parts)


class _Client:
    def __init__(self, server, socket):
        self.server = server
        self.socket = socket
        self.subscriptions = {}
        self.camera = None

    async def serve(self):
        await self.hello()
        tasks = [asyncio.create_task(self.send_states()), asyncio.create_task(self.send_pictures())]
        try:
            async for text in self.socket:
                await self.take(json.loads(text))
        finally:
            for task in [*tasks, *([self.camera] if self.camera else [])]:
                task.cancel()

    async def send(self, message):
        await self.socket.send(json.dumps(message))

    async def hello(self):
        await self.send({"kind": "hello", "version": "0.1.0", "writable": self.server.is_writable, "processors": list(self.server.layouts),
                         "protocol": 1, "camera": bool(self.server.frames)})

    async def take(self, message):
        if message["op"] == "subscribe":
            await self.subscribe(message)
        elif message["op"] == "unsubscribe":
            self.subscriptions.pop(message["id"], None)
        elif message["op"] == "next":
            if message["id"] in self.subscriptions:
                self.subscriptions[message["id"]]["credit"] = 1
        elif message["op"] == "clock":
            await self.send({"kind": "clock", "page_ms": message["page_ms"], "mono_ns": str(time.monotonic_ns() + int(1e9 * self.server.clock_ahead_s))})
        elif message["op"] == "camera":
            self.camera = asyncio.create_task(self.send_frame())
        elif message["op"] == "control":
            await self.send({"kind": "control", "id": message["id"], "reply": self.server.answer(message["request"])})

    async def subscribe(self, message):
        layout = self.server.layouts.get(message["processor"])
        if layout is None:
            await self.send({"kind": "error", "id": message["id"], "message": f"there is no processor {message['processor']}"})
            return
        name = message.get("product") or layout["products"][0]["name"]
        select = message.get("select", {})
        if name == "images":
            select = {"z": 0, "frequency": 0, **select}
        sizes = {axis["name"]: len(axis["values"]) // axis["components"] for axis in layout["axes"]}
        beyond = [axis for axis, entry in select.items() if entry >= sizes.get(axis, 0)]
        if beyond:
            await self.send({"kind": "error", "id": message["id"], "message": f"expected an entry of {beyond[0]}"})
            return
        await self.send({"kind": "layout", "id": message["id"], "ring_id": "1", "epoch": "1", "bit_rate_hz": 1500000, "phase_reference": "window",
                         "select": select, **layout})
        self.subscriptions[message["id"]] = {"id": message["id"], "processor": message["processor"], "product": name, "select": select,
                                             "least_s": 1 / message.get("most_hz", 60), "sent": 0.0, "credit": 1}

    async def send_frame(self):
        while self.server.camera_trouble:
            await self.send({"kind": "camera", "message": self.server.camera_trouble})
            await asyncio.sleep(0.2)
        await asyncio.sleep(0.03)
        captured_ns = time.monotonic_ns() + int(1e9 * self.server.clock_ahead_s) - 50_000_000
        await self.socket.send(struct.pack("<IIq", FRAME_MAGIC, 16, captured_ns) + self.server.frames[self.server.frames_sent % len(self.server.frames)])
        self.server.frames_sent += 1

    async def send_pictures(self):
        while True:
            await asyncio.sleep(0.004)
            if not (self.server.is_live and self.server.is_daemon_there):
                continue
            now = time.monotonic()
            for subscription in list(self.subscriptions.values()):
                if subscription["processor"] == "meters":
                    number = int((now - self.server.began) * LEVELS_HZ)
                    if number == subscription.get("number"):
                        continue
                    if subscription["credit"]:
                        subscription["number"] = number
                if subscription["credit"] and now - subscription["sent"] >= max(subscription["least_s"], 1 / self.server.rate_hz):
                    subscription["credit"] = 0
                    subscription["sent"] = now
                    await self.socket.send(self.server.picture(subscription))

    async def send_states(self):
        while True:
            is_there = self.server.is_daemon_there
            ring = {name: {"state": "live" if is_there else "gone", "text": "" if is_there else "the daemon has ended", "age_ms": 1.0, "number": "1",
                           "rate_hz": self.server.rate_hz} for name in self.server.layouts}
            status = self.server.status() if is_there else None
            await self.send({"kind": "state", "mono_ns": str(time.monotonic_ns()), "ring": ring, "status": status, "status_error": "no daemon answers"})
            await asyncio.sleep(0.2)
