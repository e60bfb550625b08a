#!/usr/bin/env python3
"""The sender of docs/use/sources.md as it stands there goes on while no daemon listens, before its start and after its end.

sender_test.py SOURCES
"""

import pathlib
import re
import socket
import sys
import types


class Words:
    """Four bit-times of 32 words, as the page's listing uses NumPy's arrays."""

    shape = (4, 32)

    def __len__(self):
        return self.shape[0]

    def astype(self, _):
        return self

    def tobytes(self):
        return bytes(4 * self.shape[0] * self.shape[1])


def listener(port=0):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", port))
    made.settimeout(10.0)
    return made


def first_numbers(daemon, count):
    """The first bit-time of each packet."""
    return [int.from_bytes(daemon.recv(65536)[16:24], "little") for _ in range(count)]


def main():
    page = (pathlib.Path(sys.argv[1]) / "docs/use/sources.md").read_text()
    (block,) = [text for text in re.findall(r"```python\n(.*?)```", page, re.S) if "read_my_hardware" in text]
    # The packets' contents are not judged here, and this test needs nothing that is not Python's own.
    sys.modules["crc32c"] = types.SimpleNamespace(crc32c=lambda data: 0)
    sys.modules["numpy"] = types.ModuleType("numpy")
    daemon = listener()
    port = daemon.getsockname()[1]
    daemon.close()
    assert "7230" in block
    state = {"packets": 0, "daemon": None, "seen": []}

    def read_my_hardware(_):
        """Called before each packet: nobody listens to packets 0 to 4 and 10 to 14."""
        packet = state["packets"]
        if packet in (5, 15):
            state["daemon"] = listener(port)
        elif packet in (10, 20):
            state["seen"] += first_numbers(state["daemon"], 5)
            state["daemon"].close()
        if packet == 20:
            raise StopIteration
        state["packets"] += 1
        return Words()

    try:
        exec(block.replace("7230", str(port)), {"read_my_hardware": read_my_hardware})
    except StopIteration:
        pass
    expected = [4 * packet for packet in (*range(5, 10), *range(15, 20))]
    assert state["seen"] == expected, state["seen"]
    print("ok")


main()
