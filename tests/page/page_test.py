#!/usr/bin/env python3
"""The live page over real sockets (docs/reference/page_protocol.md): who is admitted, credit, and what clients that misbehave cost others.

    page_test.py BIN

BIN holds nearfieldd and nearfield. One daemon serves all tests, from a simulated source of 8 x 8 microphones; a test that ends it starts
another one. Needs Debian's python3-websockets.
"""
import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import websockets

PATIENCE_S = 60
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
MAGIC = 0x4950464E

SCENE = """
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major, sensitivity_dbfs: -26}
standoff_m: 0.03
duration_s: 0.02
seed: 1
sigma_delta: {order: 2}
sources:
  - {kind: plate, frequency_hz: 1464.84375, width_m: 0.4, height_m: 0.3, modes: [{m: 3, n: 2, velocity_m_s: 0.01}]}
"""

CONFIGURATION = """
version: 1
array: {rows: 8, columns: 8, layout: row-major}
front_end: {window_samples: 128, hop_samples: 256, frequencies_hz: [1464.84375, 2929.6875]}
holography: {extrapolation: {order: 4}}
daemon:
  source: {kind: simulate, scene: scene.yaml}
  publish: {ring: {socket: frames.sock}}
  control: {socket: control.sock}
  recording: {directory: .}
  deadlines: {frame_ms: 60000}
  metrics: {address: '127.0.0.1:0'}
  page: {address: '127.0.0.1:0', allowed_hosts: [array.lab], allowed_origins: ['https://desk.lab'], camera: /dev/null}
"""


class Daemon:
    def __init__(self, folder, *settings):
        self.folder = folder
        for name in ("run", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "scene.yaml").write_text(SCENE)
        (folder / "nearfieldd.yaml").write_text(CONFIGURATION)
        self.log_path = folder / "log"
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen([BIN / "nearfieldd", "-c", folder / "nearfieldd.yaml", *settings], stderr=log,
                                            env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(folder / "run"), "TMPDIR": str(folder / "tmp")})
        match = wait_for(lambda: re.search(r"page at (http://[^;,]*/)", self.log()), "a page", self)
        self.url = match[1]
        self.port = int(self.url.split(":")[-1].strip("/"))
        self.metrics_port = int(re.search(r"metrics at port (\d+)", self.log())[1])
        wait_for(lambda: "frames a second on" in self.log(), "frames", self)
        self.token = (folder / "control.sock.page_token").read_text().strip()

    @property
    def cookie(self):
        return f"nearfield_token_{self.port}={self.token}"

    def log(self):
        return self.log_path.read_text()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)


def wait_for(found, what, daemon):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if result := found():
            return result
        if daemon.process.poll() is not None:
            break
        time.sleep(0.01)
    raise AssertionError(f"expected {what}, found none:\n{daemon.log()}")


class Client:
    """A page of /stream."""

    def __init__(self, stream):
        self.stream = stream

    async def send(self, **message):
        await self.stream.send(json.dumps(message))

    async def receive(self, timeout=PATIENCE_S):
        message = await asyncio.wait_for(self.stream.recv(), timeout)
        return json.loads(message) if isinstance(message, str) else Picture(message)

    async def until(self, kind, holds=lambda message: True):
        while True:
            message = await self.receive()
            if message["kind"] == kind and holds(message):
                return message

    async def subscribe(self, number=1, **more):
        await self.until("hello", lambda hello: "surface" in hello["processors"])
        await self.send(op="subscribe", id=number, processor="surface", product="images", **more)
        return await self.until("layout")

    async def ask(self, **message):
        """The reply to a message with one, or the message "error"."""
        await self.send(id="a", **message)
        while True:
            answer = await self.receive()
            if answer["kind"] in ("control", "error") and answer["id"] == "a":
                return answer.get("reply", answer)

    async def call(self, request):
        await self.send(op="control", id="c", request=request)
        return (await self.until("control", lambda answer: answer["id"] == "c"))["reply"]


class Picture:
    """A binary message, taken apart."""

    def __init__(self, message):
        self.magic, self.id, head_bytes, parts, self.mono_ns = struct.unpack_from("<IIIIq", message)
        self.number = struct.unpack_from("<Q", message, 24)[0] // 2
        self.capture_mono_ns, = struct.unpack_from("<q", message, 24 + 56)
        self.epoch, = struct.unpack_from("<Q", message, 24 + 112)
        self.parts = []
        at = 24 + head_bytes
        for _ in range(parts):
            product, rows, size, reserved = struct.unpack_from("<IIII", message, at)
            assert reserved == 0
            self.parts.append((product, rows, message[at + 16:at + 16 + size]))
            at += 16 + (size + 7) // 8 * 8
        assert at == len(message), "the parts fill the message"

    def __getitem__(self, key):
        return {"kind": "picture"}[key]


@contextlib.asynccontextmanager
async def connected(daemon, **headers):
    named = "additional_headers" if int(websockets.__version__.split(".")[0]) >= 14 else "extra_headers"
    async with websockets.connect(f"ws://127.0.0.1:{daemon.port}/stream", max_size=None, compression=None, **{named: headers}) as stream:
        yield Client(stream)


def get(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    response.text = response.read().decode("utf-8", "replace")
    connection.close()
    return response


def upgrade(daemon, **headers):
    """The answer's status to a WebSocket's first request."""
    return get(daemon.port, "/stream", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Version="13",
               Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **headers).status


class PageTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.daemon = Daemon(pathlib.Path(cls.folder.name))

    @classmethod
    def tearDownClass(cls):
        code = cls.daemon.stop()
        log = cls.daemon.log()
        has_token = (pathlib.Path(cls.folder.name) / "control.sock.page_token").exists()
        cls.folder.cleanup()
        assert code == 0, log
        assert not has_token, "the token goes with the daemon"

    # --- HTTP ---

    def test_files_have_types_tags_and_the_headers_that_protect(self):
        for path, kind in [("/", "text/html"), ("/index.html", "text/html"), ("/lib/dygraph.min.js", "text/javascript"),
                           ("/lib/dygraph.css", "text/css"), ("/colours.json", "application/json")]:
            answer = get(self.daemon.port, path)
            self.assertEqual(answer.status, 200, path)
            self.assertIn(kind, answer.headers["Content-Type"])
            self.assertIn("default-src 'self'", answer.headers["Content-Security-Policy"])
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(answer.headers["X-Frame-Options"], "DENY")
            self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
            again = get(self.daemon.port, path, If_None_Match=answer.headers["ETag"])
            self.assertEqual((again.status, again.text), (304, ""), path)
            head = get(self.daemon.port, path, method="HEAD")
            self.assertEqual((head.status, head.text), (200, ""))
            self.assertEqual(int(head.headers["Content-Length"]), len(answer.text.encode()))

    def test_colours_are_three_tables(self):
        tables = json.loads(get(self.daemon.port, "/colours.json").text)
        self.assertEqual(sorted(tables), ["magnitude", "phase", "signed"])
        for table in tables.values():
            self.assertEqual([len(table), {len(colour) for colour in table}], [256, {3}])
        self.assertEqual(tables["phase"][0], tables["phase"][-1], "a phase is cyclic")

    def test_other_paths_and_methods(self):
        self.assertEqual(get(self.daemon.port, "/../etc/passwd").status, 404)
        self.assertEqual(get(self.daemon.port, "/metrics").status, 404, "metrics have an address of their own")
        self.assertEqual(get(self.daemon.port, "/", method="POST").status, 405)
        self.assertEqual(get(self.daemon.port, "/", method="DELETE").status, 405)

    def test_another_host_is_sent_away(self):
        answer = get(self.daemon.port, "/", Host="evil.example")
        self.assertEqual(answer.status, 421)
        self.assertIn("daemon.page.allowed_hosts", answer.text)
        self.assertEqual(get(self.daemon.port, "/", Host="array.lab:80").status, 200)
        self.assertEqual(upgrade(self.daemon, Host="evil.example", Origin="http://evil.example"), 421)

    def test_metrics_are_for_no_other_site_either(self):
        for host in ("evil.example", "localhost.evil.example:9187", "127.0.0.1.evil.example"):
            answer = get(self.daemon.metrics_port, "/metrics", Host=host)
            self.assertEqual(answer.status, 421, host)
            self.assertNotIn("nearfield_frames_total", answer.text)
        for host in ("localhost:9187", "127.0.0.1", "192.168.7.5:9187", "[fe80::1]:9187", "array.lab"):
            answer = get(self.daemon.metrics_port, "/metrics", Host=host)
            self.assertEqual(answer.status, 200, host)
            self.assertIn("nearfield_frames_total", answer.text)
        self.assertEqual(get(self.daemon.metrics_port, "/stream").status, 404)

    def test_every_answer_may_be_framed_and_based_nowhere(self):
        for path in ("/", "/main.js", "/nothing", f"/?token={self.daemon.token}"):
            policy = get(self.daemon.port, path).headers["Content-Security-Policy"]
            for part in ("default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
                self.assertIn(part, policy, path)
        self.assertIn("frame-ancestors 'none'", get(self.daemon.metrics_port, "/metrics").headers["Content-Security-Policy"])

    def test_another_origin_is_sent_away(self):
        own = f"http://127.0.0.1:{self.daemon.port}"
        self.assertEqual(upgrade(self.daemon, Origin="http://evil.example"), 403)
        self.assertEqual(upgrade(self.daemon, Origin="http://127.0.0.1:1"), 403, "another program's page on this machine")
        self.assertEqual(upgrade(self.daemon, Origin="null"), 403)
        self.assertEqual(upgrade(self.daemon, Origin=own), 101)
        self.assertEqual(upgrade(self.daemon, Origin="https://desk.lab"), 101)

    def test_the_token_becomes_a_cookie_once(self):
        answer = get(self.daemon.port, f"/?token={self.daemon.token}")
        self.assertEqual((answer.status, answer.headers["Location"]), (303, "/"))
        self.assertEqual(answer.headers["Set-Cookie"],
                         f"{self.daemon.cookie}; HttpOnly; SameSite=Strict; Path=/")
        tunnel = get(self.daemon.port, f"/?token={self.daemon.token}", Host="localhost:8000")
        self.assertEqual(tunnel.headers["Set-Cookie"],
                         f"nearfield_token_8000={self.daemon.token}; HttpOnly; SameSite=Strict; Path=/")
        proxy = get(self.daemon.port, f"/?token={self.daemon.token}", Host="array.lab")
        self.assertTrue(proxy.headers["Set-Cookie"].startswith(f"nearfield_token={self.daemon.token};"))
        for wrong in ["x", self.daemon.token[:-1], self.daemon.token + "0", ""]:
            answer = get(self.daemon.port, f"/?token={wrong}")
            self.assertEqual((answer.status, answer.headers["Set-Cookie"]), (403, None), wrong)

    def test_the_tokens_file_is_the_daemons_alone(self):
        path = self.daemon.folder / "control.sock.page_token"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertNotIn(self.daemon.token, self.daemon.log())
        url = subprocess.run([BIN / "nearfield", "ctl", "--socket", self.daemon.folder / "control.sock", "page"],
                             capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(url, f"{self.daemon.url}?token={self.daemon.token}")

    def run_beside(self, *settings):
        """A second daemon in the first one's folder, which ends after a frame: its exit code and log."""
        sets = [word for setting in settings for word in ("--set", setting)]
        result = subprocess.run([BIN / "nearfieldd", "-c", self.daemon.folder / "nearfieldd.yaml", "--frames", "1", *sets],
                                capture_output=True, text=True, timeout=PATIENCE_S)
        return result.returncode, result.stderr

    def test_another_daemon_leaves_the_token_as_it_is(self):
        path = self.daemon.folder / "control.sock.page_token"
        own_ring = f"daemon.publish.ring.socket={self.daemon.folder}/other_frames.sock"
        own_control = f"daemon.control.socket={self.daemon.folder}/other.sock"
        for settings, expected in [
                ([own_control], 0),  # a page and a token of its own
                ([f"daemon.page.address=127.0.0.1:{self.daemon.port}"], 74),
                ([own_control, f"daemon.page.address=127.0.0.1:{self.daemon.port}"], 74),
                ([], 74)]:  # the control socket is taken
            code, log = self.run_beside(own_ring, "daemon.metrics.address=off", *settings)
            self.assertEqual(code, expected, f"{settings}\n{log}")
            self.assertEqual(path.read_text().strip(), self.daemon.token, settings)
            self.assertFalse((self.daemon.folder / "other.sock.page_token").exists(), settings)

    def test_a_header_that_is_too_long_is_refused(self):
        self.assertEqual(get(self.daemon.port, "/", X="x" * 9000).status, 431)
        self.assertEqual(get(self.daemon.port, "/", X="x" * 200_000).status, 431)
        self.assertEqual(get(self.daemon.port, "/").status, 200)

    def test_what_is_no_request_is_refused(self):
        for text in [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"]:
            with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=PATIENCE_S) as client:
                client.sendall(text)
                self.assertTrue(client.recv(64).startswith(b"HTTP/1.1 400"), text)

    # --- the stream ---

    async def test_hello_comes_first_and_states_follow(self):
        async with connected(self.daemon) as client:
            hello = await client.receive()
            self.assertEqual((hello["kind"], hello["writable"], hello["protocol"]), ("hello", False, 1))
            state = await client.until("state", lambda state: state["status"] and "surface" in state["ring"])
            self.assertEqual(state["ring"]["surface"]["state"], "live")
            self.assertEqual(state["status"]["page"]["url"], self.daemon.url)
            first, second = [int((await client.until("state"))["mono_ns"]) for _ in range(2)]
            self.assertGreater(second, first)

    async def test_the_clock_answers(self):
        async with connected(self.daemon) as client:
            before = time.monotonic_ns()
            await client.send(op="clock", page_ms=12.5)
            answer = await client.until("clock")
            self.assertEqual(answer["page_ms"], 12.5)
            self.assertTrue(before <= int(answer["mono_ns"]) <= time.monotonic_ns())

    async def test_a_picture_is_the_slice_that_was_selected(self):
        async with connected(self.daemon) as client:
            layout = await client.subscribe(select={"z": 0, "frequency": 1})
            axes = {axis["name"]: axis for axis in layout["axes"]}
            self.assertEqual(axes["frequency"]["values"], [1464.84375, 2929.6875])
            names = [product["name"] for product in layout["products"]]
            picture = await client.until("picture")
            self.assertEqual((picture.magic, picture.id), (MAGIC, 1))
            self.assertEqual(names[picture.parts[0][0]], "images")
            self.assertEqual(len(picture.parts[0][2]), 8 * 8 * 8, "8 x 8 complex64")
            figures = {names[part[0]]: part for part in picture.parts[1:]}
            self.assertEqual(set(figures), {product["name"] for product in layout["products"]
                                            if product["form"] == "figure"}, "all figures go along")
            self.assertEqual(len(figures["cutoff_rad_per_m"][2]), 4 * 2, "of both frequencies")
            self.assertLessEqual(picture.capture_mono_ns, picture.mono_ns)

    async def test_slices_are_those_of_the_whole(self):
        # Both subscriptions are served from one frame where their numbers agree, which happens soon.
        async with connected(self.daemon) as client:
            await client.subscribe(1)
            await client.send(op="subscribe", id=2, processor="surface", product="images", select={"frequency": 1, "y": 3})
            newest = {}
            for _ in range(400):
                picture = await client.until("picture")
                newest[picture.id] = picture
                if len(newest) == 2 and newest[1].number == newest[2].number:
                    break
                await client.send(op="next", id=picture.id)
            else:
                self.fail("no frame came in both forms")
            whole = newest[1].parts[0][2]  # [frequency][z][y][x] of 8 bytes
            begin = 8 * (1 * 64 + 3 * 8)
            self.assertEqual(newest[2].parts[0][2], whole[begin:begin + 64])

    async def test_without_credit_there_is_no_second_picture(self):
        async with connected(self.daemon) as client:
            await client.subscribe()
            first = await client.until("picture")
            kinds = [(await client.receive())["kind"] for _ in range(3)]
            self.assertEqual(set(kinds), {"state"}, "a second and a half without a picture")
            await client.send(op="next", id=1)
            second = await client.until("picture")
            self.assertGreater(second.number, first.number + 10, "the newest, and not the one behind the first")

    async def test_credits_do_not_add_up(self):
        async with connected(self.daemon) as client:
            await client.subscribe(most_hz=1)
            await client.until("picture")
            for _ in range(5):  # all of them are read before the second picture is due
                await client.send(op="next", id=1)
            await client.until("picture")
            kinds = [(await client.receive())["kind"] for _ in range(4)]
            self.assertEqual(set(kinds), {"state"}, "a third picture would be due after a second")

    async def test_most_hz_holds(self):
        async with connected(self.daemon) as client:
            await client.subscribe(most_hz=5)
            sent = []
            for _ in range(4):
                sent.append((await client.until("picture")).mono_ns)
                await client.send(op="next", id=1)
            gaps = [later - earlier for earlier, later in zip(sent, sent[1:])]
            self.assertGreaterEqual(min(gaps), 0.2e9)

    async def test_what_cannot_be_served_is_said(self):
        async with connected(self.daemon) as client:
            await client.until("hello", lambda hello: "surface" in hello["processors"])
            good = {"op": "subscribe", "id": 7, "processor": "surface", "product": "images", "select": {}}
            for change, words in [({"processor": "none"}, "processor"), ({"product": "none"}, "product"),
                                  ({"select": {"w": 0}}, "select"), ({"select": {"frequency": 2}}, "select.frequency"),
                                  ({"select": {"z": -1}}, "select.z"), ({"select": 3}, "select"), ({"id": 0}, "id"),
                                  ({"id": "1"}, "id"), ({"most_hz": 0}, "most_hz"), ({"op": "dance"}, "op")]:
                await client.send(**{**good, **change})
                error = await client.until("error")
                self.assertIn(words, error["message"])
            for text in ["", "{", "[]", "7", '{"op":1}', "[" * 50_000]:
                await client.stream.send(text)
                await client.until("error")
            await client.stream.send(b"\x00\x01")
            await client.until("error")
            await client.send(**good)
            self.assertEqual((await client.until("layout"))["id"], 7, "after all of that it is served")

    async def test_reading_needs_no_token_and_changing_does(self):
        async with connected(self.daemon) as client:
            config = (await client.call({"command": "config"}))["result"]
            self.assertIn("yaml", config)
            self.assertEqual(config["microphones_m"], [[round(0.02 * (column - 3.5), 6), round(0.02 * (row - 3.5), 6), 0.0] for row in range(8) for column in range(8)])
            row = next(line for line in (DOCS / "reference/control.md").read_text().splitlines() if line.startswith("| `command` |"))
            commands = set(re.findall(r"`(\w+)`", row)) - {"command"}
            reading = {"status", "config", "recordings", "events"}
            self.assertLess(reading, commands)
            for command in sorted(reading):
                self.assertTrue((await client.call({"command": command}))["ok"], command)
            for request in [*({"command": command} for command in sorted(commands - reading)),
                            {"command": "set", "settings": ["holography.filter=none"]}, {}, [], "stop",
                            {"command": ["status"]}, {"command": "nothing"}]:
                reply = await client.call(request)
                self.assertEqual((reply["ok"], reply["error"]["exit_code"]), (False, 77), request)
        wrong = self.daemon.cookie[:-1]
        async with connected(self.daemon, Cookie=wrong) as client:
            self.assertFalse((await client.receive())["writable"])
            self.assertEqual((await client.call({"command": "stop"}))["error"]["exit_code"], 77)

    async def test_cookies_of_other_ports_beside_the_own_one(self):
        """A browser sends those of all daemons that a host has."""
        others = f"nearfield_token_1=x; nearfield_token={self.daemon.token}"
        async with connected(self.daemon, Cookie=others) as client:
            self.assertFalse((await client.receive())["writable"], "tokens of other ports")
        async with connected(self.daemon, Cookie=f"{others}; {self.daemon.cookie}") as client:
            self.assertTrue((await client.receive())["writable"])

    async def test_with_the_token_settings_change_and_the_new_ring_is_found(self):
        async with connected(self.daemon, Cookie=self.daemon.cookie) as client:
            self.assertTrue((await client.receive())["writable"])
            layout = await client.subscribe()
            refused = await client.call({"command": "set", "settings": ["holography.nothing=1"]})
            self.assertEqual((refused["ok"], refused["error"]["exit_code"]), (False, 78))
            await client.send(op="control", id="s",
                              request={"command": "set", "settings": ["holography.planes_m=[0, 0.01]"]})
            other = await client.until("layout", lambda message: message["ring_id"] != layout["ring_id"])
            self.assertEqual({axis["name"]: len(axis["values"]) for axis in other["axes"]}["z"], 2)
            await client.send(op="next", id=1)
            picture = await client.until("picture", lambda picture: picture.epoch > 1)
            self.assertEqual(len(picture.parts[0][2]), 2 * 2 * 64 * 8)

    async def test_a_camera_that_is_none_is_said_once(self):
        async with connected(self.daemon) as client:
            self.assertTrue((await client.until("hello"))["camera"])
            await client.send(op="camera")
            self.assertEqual((await client.until("camera"))["message"], "daemon.page.camera: /dev/null is no camera of Video4Linux")
            for _ in range(6):  # it is opened again each second while somebody waits
                self.assertNotEqual((await client.receive())["kind"], "camera")
        self.assertEqual(self.daemon.log().count("/dev/null is no camera"), 1)

    async def test_a_message_that_is_too_long_ends_its_client(self):
        async with connected(self.daemon) as client:
            await client.stream.send("x" * 70_000)
            with self.assertRaises(websockets.ConnectionClosed) as ended:
                while True:
                    await client.receive()
            self.assertEqual(ended.exception.code, 1009)

    async def test_clients_that_never_read_delay_nobody(self):
        """They ask for everything and read nothing, so that the kernel's buffers fill."""
        request = ("GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode()

        def frame(message):
            text = json.dumps(message).encode()
            size = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + struct.pack(">H", len(text))
            return b"\x81" + size + b"\0\0\0\0" + text

        def resident_kb():
            text = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
            return int(re.search(r"VmRSS:\s+(\d+)", text)[1])

        silent = []
        try:
            before_kb = resident_kb()
            for _ in range(8):
                client = socket.create_connection(("127.0.0.1", self.daemon.port))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.setblocking(False)
                silent.append(client)
                flood = request + frame({"op": "control", "id": 1, "request": {"command": "config"}}) * 2000
                with contextlib.suppress(BlockingIOError):
                    while flood:
                        flood = flood[client.send(flood):]
            async with connected(self.daemon) as client:
                await client.subscribe()
                for _ in range(60):
                    await client.until("picture")
                    await client.send(op="next", id=1)
            self.assertLess(resident_kb() - before_kb, 32_768, "what waits for a client is bounded")
        finally:
            for client in silent:
                client.close()

    async def test_a_client_too_many_is_sent_away(self):
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(64):
                await stack.enter_async_context(connected(self.daemon))
            self.assertEqual(upgrade(self.daemon), 503)
            self.assertEqual(get(self.daemon.port, "/").status, 200)

    async def test_who_has_the_token_has_a_place(self):
        async with contextlib.AsyncExitStack() as stack:
            strangers = [await stack.enter_async_context(connected(self.daemon)) for _ in range(64)]
            self.assertEqual(upgrade(self.daemon, Cookie=self.daemon.cookie, Origin="http://evil.example"), 403)
            owners = [await stack.enter_async_context(connected(self.daemon, Cookie=self.daemon.cookie)) for _ in range(2)]
            for owner in owners:
                self.assertTrue((await owner.until("hello"))["writable"])
            for oldest in strangers[:2]:
                with self.assertRaises(websockets.ConnectionClosed):
                    while True:
                        await oldest.receive()
            await strangers[2].until("state")
            await strangers[63].until("state")
            self.assertEqual(upgrade(self.daemon), 503)

    async def test_warnings_of_a_change_are_in_the_answer(self):
        async with connected(self.daemon, Cookie=self.daemon.cookie) as client:
            result = (await client.call({"command": "set", "settings": ["front_end.frequencies_hz=[1007.08, 12000]"]}))["result"]
            self.assertTrue(any("the microphones are too far apart for this frequency" in warning for warning in result["warnings"]), result)
        printed = subprocess.run([BIN / "nearfield", "ctl", "--socket", self.daemon.folder / "control.sock", "set", "medium.density_kg_m3=1.19"],
                                 capture_output=True, text=True, check=True).stdout
        self.assertRegex(printed, r"(?m)^epoch \d+ is in effect$")
        self.assertRegex(printed, r"(?m)^warning: .*the microphones are too far apart for this frequency")
        async with connected(self.daemon, Cookie=self.daemon.cookie) as client:
            result = (await client.call({"command": "set", "settings": ["front_end.frequencies_hz=[1007.08, 2014.16]", "medium.density_kg_m3=1.2"]}))["result"]
            self.assertFalse(any("too far apart" in warning for warning in result["warnings"]), result)

    async def test_no_answer_has_the_text_of_a_file(self):
        """Who may use the control socket must not read by it what the daemon's user alone may read."""
        keys = ("array.positions={}", "holography.surface={}", "holography.operators.sources={}",
                "processors={{far: {{kind: beamform, grid: {{kind: points, points: {}}}}}}}")
        texts = ("root:TOPSECRET:20228:0:99999:7:::\n", "x_m,y_m,z_m\nTOPSECRET\n", "<Root><pos Name='TOPSECRET' x='TOPSECRET'/></Root>\n")
        async with connected(self.daemon, Cookie=self.daemon.cookie) as client:
            for i, text in enumerate(texts):
                path = self.daemon.folder / f"secret{i}"
                path.write_text(text)
                for key in keys:
                    more = ["holography.imager=operators"] if "operators" in key else []
                    reply = await client.call({"command": "set", "settings": [key.format(path), *more]})
                    self.assertFalse(reply["ok"], (key, text))
                    self.assertIn(str(path), reply["error"]["message"])
                    self.assertIn("other text", reply["error"]["message"], (key, text))
                    self.assertNotIn("TOPSECRET", json.dumps(reply), key)
        told = subprocess.run([BIN / "nearfieldd", "-c", self.daemon.folder / "nearfieldd.yaml", "--check", "--set",
                               f"array.positions={self.daemon.folder / 'secret0'}"], capture_output=True, text=True)
        self.assertIn("TOPSECRET", told.stderr, "who may read the file is told what is in it")
        self.assertNotIn("TOPSECRET", self.daemon.log())


class ProcessTest(unittest.IsolatedAsyncioTestCase):
    """`nearfield page` beside a daemon that comes and goes."""

    async def test_a_daemon_that_ends_and_comes_back(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            page = subprocess.Popen([BIN / "nearfield", "page", "--address", "127.0.0.1:0", "--socket",
                                     folder / "frames.sock", "--control", folder / "control.sock"],
                                    stdout=subprocess.PIPE, text=True)
            self.addCleanup(page.stdout.close)
            try:
                page.port = int(page.stdout.readline().strip().strip("/").split(":")[-1])
                async with connected(page) as client:
                    state = await client.until("state", lambda state: "ring_error" in state and "status_error" in state)
                    self.assertEqual((state["ring"], state["status"]), ({}, None))
                    daemon = Daemon(folder)
                    layout = await client.subscribe()
                    await client.until("picture")
                    self.assertEqual((await client.call({"command": "stop"}))["error"]["exit_code"], 77)
                    self.assertIn("no camera", (await client.ask(op="camera"))["message"])
                    self.assertEqual(daemon.stop(), 0)
                    await client.until("state", lambda state: state["ring"]["surface"]["state"] in ("retired", "gone"))
                    daemon = Daemon(folder)
                    again = await client.until("layout")
                    self.assertNotEqual(again["ring_id"], layout["ring_id"])
                    await client.send(op="next", id=1)
                    await client.until("picture")
                    self.assertEqual(daemon.stop(), 0)
                page.send_signal(signal.SIGTERM)
                self.assertEqual(page.wait(timeout=PATIENCE_S), 0)
            finally:
                page.kill()
                page.wait()


class FakeControl:
    """A control socket which answers `status` at once, and other requests, one after another, when it is let go."""

    def __init__(self, path):
        self.path, self.seen, self.go = path, [], threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError), client.makefile("rw") as stream:
            request = json.loads(stream.readline())
            if request["command"] != "status":
                self.seen.append(request["note"])
                self.go.wait()
            stream.write(json.dumps({"ok": True, "result": request}) + "\n")

    def close(self):
        self.path.unlink()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class QueueTest(unittest.IsolatedAsyncioTestCase):
    """What waits for a daemon that is slow, and what is left of one that has gone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.control = FakeControl(pathlib.Path(folder.name) / "control.sock")
        self.addCleanup(self.control.go.set)
        process = subprocess.Popen([BIN / "nearfield", "page", "--address", "127.0.0.1:0", "--socket",
                                    pathlib.Path(folder.name) / "frames.sock", "--control", self.control.path],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait, timeout=PATIENCE_S)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.port = int(process.stdout.readline().strip().strip("/").split(":")[-1])

    async def ask(self, client, note):
        await client.send(op="control", id=note, request={"command": "config", "note": note})

    async def test_requests_of_all_clients_are_bounded_and_go_with_them(self):
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connected(self)) for _ in range(9)]
            await self.ask(clients[0], "first")
            while self.control.seen != ["first"]:
                await clients[0].until("state")
            errors = 0
            for i, client in enumerate(clients):
                asked = 8 - (i == 0)
                for k in range(asked):
                    await self.ask(client, f"{i} {k}")
                await client.send(op="clock", page_ms=0)  # whose answer comes behind those of the requests
                while (message := await client.receive())["kind"] != "clock":
                    errors += message["kind"] == "error"
            self.assertEqual(errors, 9 * 8 - 1 - 64, "one is under way and 64 wait")
        async with connected(self) as client:
            await client.until("hello")
            is_refused = True
            while is_refused:  # until the server has seen that the others are gone
                await self.ask(client, "last")
                await client.send(op="clock", page_ms=0)
                is_refused = False
                while (message := await client.receive())["kind"] != "clock":
                    is_refused |= message["kind"] == "error"
            self.control.go.set()
            reply = await client.until("control")
            self.assertEqual(reply["reply"]["result"]["note"], "last")
            self.assertEqual([note for note in self.control.seen if note not in ("first", "last")], [],
                             "nothing of clients that have gone")

    async def test_a_daemons_status_does_not_outlast_its_clients(self):
        async with connected(self) as client:
            await client.until("state", lambda state: state["status"])
        self.control.close()
        async with connected(self) as client:
            state = await client.until("state")
            self.assertIsNone(state["status"])
            await client.until("state", lambda state: "status_error" in state)


class RefusalTest(unittest.TestCase):
    """Of configurations that would let anybody in."""

    def refused(self, *settings, configuration=CONFIGURATION):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "scene.yaml").write_text(SCENE)
            (folder / "nearfieldd.yaml").write_text(configuration)
            (folder / "control.sock.page_token").mkdir()  # so that no random token can be written
            (folder / "token").write_text("0123456789abcdef\n")
            os.chmod(folder / "token", 0o644)
            sets = [word for setting in settings for word in ("--set", setting.replace("FOLDER", name))]
            result = subprocess.run([BIN / "nearfieldd", "-c", folder / "nearfieldd.yaml", "--frames", "1", *sets],
                                    capture_output=True, text=True, timeout=PATIENCE_S)
            return result.returncode, result.stderr

    def test_an_address_that_others_reach_needs_a_token(self):
        code, text = self.refused("daemon.page.address=0.0.0.0:0")
        self.assertEqual(code, 78)
        self.assertIn("daemon.page.token_file", text)

    def test_a_token_that_others_can_read_is_none(self):
        code, text = self.refused("daemon.page.token_file=FOLDER/token")
        self.assertEqual(code, 78)
        self.assertIn("0644", text)

    def test_a_token_that_cannot_be_written_stops_no_daemon_that_has_the_default_address(self):
        code, text = self.refused()
        self.assertEqual(code, 74, text)
        self.assertIn("control.sock.page_token", text)
        default = "".join(line for line in CONFIGURATION.splitlines(True) if "  page:" not in line)
        code, text = self.refused(configuration=default)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, "control.sock.page_token.*the page is read-only|no page is served")

    def test_a_port_that_was_named_and_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            code, text = self.refused(f"daemon.page.address=127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(code, 74)
        self.assertIn("daemon.page.address", text)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
