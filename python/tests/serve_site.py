"""The site page over arrays that are not there, for the test in a browser: each line of standard input is JSON of what is shown next.

A line has "broker", and "arrays": name to an object with "state" and "age_s" of its picture, null for no picture.
"""

import json
import sys
import threading
import time

import numpy as np

from nearfield import tai
from nearfield._layout import Axis, Layout, Product
from nearfield.bridge.entries import BridgedFrame
from nearfield.site.server import SiteServer, picture_of


def frame(age_s, entry):
    axes = (Axis("frequency", "Hz", np.array([1000.0])), Axis("y", "m", np.arange(8.0)), Axis("x", "m", np.arange(8.0)))
    product = Product("images", "pressure", "Pa", 0, np.dtype("<c8"), axes, (), 0)
    images = np.zeros((1, 8, 8), np.complex64)
    images[0, 2, 5] = 3j  # the brightest pixel
    return BridgedFrame(array="", products={"images": images}, layout=Layout("surface", axes, (product,)), sequence=1, first_bit_time=0, stream_id=1,
                        epoch=1, flags=0, missing_bit_times=0, valid_microphones=64, capture_tai_ns=tai.now_ns() - round(age_s * 1e9),
                        group_delay_ns=0, tai_offset_s=0, clock_error_ns=-1, run="r", n=1, entry_id=entry)


class Shown:
    """Stands in for the watch of a broker."""

    def __init__(self):
        self.site = {"broker": "", "arrays": {}}

    def states(self):
        return {"broker": self.site["broker"], "arrays": [{"array": name, **one["state"]} for name, one in self.site["arrays"].items()]}

    def picture(self, name, after):
        age_s = self.site["arrays"][name]["age_s"]
        # Young pictures come anew each time; an old one is the same entry again and again.
        entry = f"old{age_s}" if age_s is None or age_s > 1.0 else str(time.monotonic_ns())
        return None if age_s is None or entry == after else picture_of(frame(age_s, entry))


def main():
    shown = Shown()
    server = SiteServer(("127.0.0.1", 0), shown)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.url, flush=True)
    for line in sys.stdin:
        shown.site = json.loads(line)


if __name__ == "__main__":
    main()
