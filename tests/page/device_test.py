#!/usr/bin/env python3
"""The camera at the array's computer, from nearfieldd's calls of Video4Linux to a client of the page: frames, and why there are none.

    device_test.py BIN

BIN holds nearfieldd. The camera is fake_camera.c, which is compiled here and preloaded into the daemon. Needs Debian's python3-websockets.
"""
import asyncio
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import page_test

HERE = pathlib.Path(__file__).resolve().parent
MAGIC = 0x4143464E
FRAMES = [b"\xff\xd8\xff\xe0" + bytes([i]) * (1000 + 37 * i) + b"\xff\xd9" for i in range(7)]
REFUSALS = {
    "gone": "is not there: expected a camera such as /dev/video0, which is plugged in",
    "denied": "may not be opened: expected a user of the device's group, video",
    "metadata": "streams no video; another number of the same camera may: see v4l2-ctl --list-devices",
    "nojpeg": "has no JPEG: expected a camera that compresses its frames, found YUYV 4:2:2",
    "busy": "is in use by another program",
}


class DeviceTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "frames.mjpeg").write_bytes(b"".join(FRAMES))
        self.camera = self.folder / "video0"
        library = self.folder / "fake_camera.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, HERE / "fake_camera.c", "-ldl"], check=True)
        self.state("fine")
        os.environ.update(LD_PRELOAD=str(library), FAKE_CAMERA=str(self.camera), FAKE_FRAMES=str(self.folder / "frames.mjpeg"), FAKE_STATE=str(self.folder / "state"))
        try:
            self.daemon = page_test.Daemon(self.folder, "--set", f"daemon.page.camera={self.camera}")
        finally:
            del os.environ["LD_PRELOAD"]
        self.addCleanup(self.end)

    def end(self):
        self.assertEqual(self.daemon.stop(), 0)

    def state(self, word):
        (self.folder / "state.new").write_text(word)
        (self.folder / "state.new").rename(self.folder / "state")

    async def frame(self, client):
        """The next frame: its JPEG, and when it was taken, ns."""
        await client.stream.send('{"op": "camera"}')
        while True:
            message = await client.stream.recv()
            if isinstance(message, bytes):
                magic, head_bytes, captured_ns = struct.unpack_from("<IIq", message)
                self.assertEqual((magic, head_bytes), (MAGIC, 16))
                return message[16:], captured_ns

    async def test_frames_come_as_the_camera_made_them_and_while_they_are_asked_for(self):
        async with page_test.connected(self.daemon) as client:
            await client.until("state")
            self.assertNotIn("fake camera: opened", self.daemon.log())
            before_ns = 0
            for _ in range(20):
                jpeg, captured_ns = await self.frame(client)
                self.assertIn(jpeg, FRAMES)
                self.assertGreater(captured_ns, before_ns)
                self.assertLess(time.monotonic_ns() - captured_ns, 5e9)
                before_ns = captured_ns
            await asyncio.to_thread(page_test.wait_for, lambda: "fake camera: closed" in self.daemon.log(), "a camera that nobody watches to be closed", self.daemon)
            await self.frame(client)
        self.assertEqual(self.daemon.log().count("fake camera: opened"), 2)

    async def test_why_there_are_no_frames_is_said_and_they_come_back(self):
        async with page_test.connected(self.daemon) as client:
            await self.frame(client)
            self.state("unplugged")
            await client.stream.send('{"op": "camera"}')
            for state, words in {"unplugged": "was unplugged, or has failed; it is opened again when it comes back", **REFUSALS}.items():
                self.state(state)
                await self.trouble(client, f"daemon.page.camera: {self.camera} {words}")
            self.state("fine")
            await self.trouble(client, "")
            await self.frame(client)
            self.state("silent")
            await client.stream.send('{"op": "camera"}')
            await self.trouble(client, "daemon.page.camera: the camera gives no frames")

    async def trouble(self, client, expected):
        """Waits until the server says this of the camera, through frames that are on their way."""
        while True:
            message = await client.stream.recv()
            if isinstance(message, bytes):
                await client.stream.send('{"op": "camera"}')
            elif f'"message":"{expected}"' in message and '"kind":"camera"' in message:
                return


if __name__ == "__main__":
    page_test.BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
