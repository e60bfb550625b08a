"""A controller on the host of a running nearfieldd: it acts on each frame that is whole and young, and whose error is known and small.

    controller.py [SOCKET [FRAMES [MOST_ERROR]]]

SOCKET "" or none is that of a daemon without options; FRAMES 1000 and MOST_ERROR 0.3 by default.
"""

import sys
import time

import numpy as np

import nearfield

OLDEST_S = 5.0  # a machine's own limit is shorter
FLAGS_THAT_FORBID = 4 | 16 | 32  # missing bits, microphones that are not finite, clipping

if len(sys.argv) > 4 or any(argument.startswith("-") for argument in sys.argv[1:]):
    sys.exit(__doc__)


def reopen(ring):
    """Until the daemon is there again: it restarts within seconds."""
    while True:
        try:
            return ring.reopen()
        except nearfield.RingError:
            time.sleep(0.02)


socket = sys.argv[1] if len(sys.argv) > 1 else None
frames = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
most_error = float(sys.argv[3]) if len(sys.argv) > 3 else 0.3  # expected relative error of an image
weights = None
with nearfield.Ring(socket, products=["images", "error_estimate"]) as ring:
    for _ in range(frames):
        try:
            frame = ring.next(timeout_s=1.0)
        except nearfield.RingEnded:
            print("no action")
            reopen(ring)
            weights = None  # the layout may be another one
            continue
        if frame is None or frame.age_s > OLDEST_S or frame.flags & FLAGS_THAT_FORBID:
            print("no action")
            continue
        if not frame["error_estimate"][0] <= most_error:  # NaN where it is not known: comparisons with NaN are false
            print("no action")
            continue
        image = frame["images"][0, 0]
        weights = np.ones(image.shape) / image.size if weights is None else weights
        print(f"frame {frame.sequence}: {np.sum(weights * image):.3g}, {1e3 * frame.age_s:.1f} ms old")
