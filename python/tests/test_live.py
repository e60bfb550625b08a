"""Ring and feed of a running nearfieldd, which plays a capture again and again."""

import os
import pathlib

import numpy as np
import pytest

import nearfield
from nearfield import _library, feed

pytestmark = pytest.mark.versions


def test_frames_are_arrays_with_coordinates(live):
    with nearfield.Ring(live / "frames.sock", check_crc=True) as ring:
        frame = ring.next(30.0)
        assert frame["images"].shape == (1, 1, 8, 8)
        assert frame["images"].dtype == np.complex64
        assert float(abs(frame["images"]).max()) > 0.0
        after = ring.next(30.0)
        assert after.number == frame.number + 1 + after.skipped
        assert after.age_s >= 0.0
        dataset = after.to_xarray()
        assert dataset.images.dims == ("planes_m", "frequencies_hz", "y_m", "x_m")
        assert dataset.images.attrs["units"] == "Pa"
        np.testing.assert_allclose(dataset.x_m, (np.arange(8) - 3.5) * 0.02, atol=1e-12)
        assert ring.latest().number >= after.number
        assert ring.latest(max_age_s=0.0) is None


def test_products_and_processors_are_chosen_by_name(live):
    with nearfield.Ring(live / "frames.sock", "rows", ["spectrum"]) as ring:
        assert ring.layout.processor == "rows"
        assert ring.layout.memory_hops == 0
        frame = ring.next(30.0)
        assert set(frame.products) == {"spectrum"}
        assert frame["spectrum"].shape == (1, 129)
        with pytest.raises(nearfield.RingError, match="product"):
            ring.select(["none"])
    with pytest.raises(nearfield.RingError, match="closed"):
        ring.latest()


class SlowRing:
    """The library, where no frame comes within the first waits."""

    def __init__(self, library, waits):
        self.library, self.left, self.waits_ns = library, waits, []

    def __getattr__(self, name):
        return getattr(self.library, name)

    def nf_ring_read_next(self, ring, longest_ns, frame, skipped):
        self.waits_ns.append(longest_ns)
        self.left -= 1
        return 3 if self.left >= 0 else self.library.nf_ring_read_next(ring, 30 * 10**9, frame, skipped)


def test_a_wait_in_the_library_is_short_so_that_an_interrupt_is_seen(live):
    with nearfield.Ring(live / "frames.sock") as ring:
        ring._library = slow = SlowRing(ring._library, 3)
        assert ring.next() is not None
        assert slow.waits_ns == [200_000_000] * 4
        slow.left = 1
        assert ring.next(0.0) is None
        assert slow.waits_ns[4:] == [0]
        slow.left = 1
        assert ring.next(30.0) is not None


def test_keys_of_a_feed_belong_together():
    with pytest.raises(ValueError, match="found no public_key, secret_key"):
        nearfield.Feed("ipc:///nowhere", server_key="k" * 40)


def test_a_socket_that_nobody_serves_is_an_error(tmp_path):
    with pytest.raises(nearfield.RingError) as caught:
        nearfield.Ring(tmp_path / "none.sock")
    assert caught.value.status == 8


def test_a_feed_has_the_frames_of_the_ring(live):
    with nearfield.Feed(f"ipc://{live}/feed") as subscriber, nearfield.Ring(live / "frames.sock") as ring:
        frame = subscriber.next(30.0)
        assert frame.layout.processor == "surface"
        assert frame.to_xarray().images.dims == ("planes_m", "frequencies_hz", "y_m", "x_m")
        assert [product.name for product in frame.layout.products] == [product.name for product in ring.layout.products]
        newest = ring.next(30.0)
        of_feed = subscriber.next(30.0)
        while of_feed.sequence != newest.sequence:  # either may pass over frames
            if of_feed.sequence < newest.sequence:
                of_feed = subscriber.next(30.0)
            else:
                newest = ring.next(30.0)
        np.testing.assert_array_equal(of_feed.products["images"], newest["images"])
        assert of_feed.first_bit_time == newest.first_bit_time


def test_messages_that_are_no_frames_are_refused():
    for message in (b"", b"NFFRING1", b"NFFRING1" + bytes(300), os.urandom(400)):
        with pytest.raises(ValueError, match="format 3"):
            feed.parse(message)


def test_recordings_are_opened(live):
    control = ["ctl", "--socket", live / "control.sock"]
    nearfield.run(*control, "freeze", "-o", live / "frozen.nfr")
    bits = nearfield.open_recording(live / "frozen.nfr", what="bits")
    assert bits.bitstream.dims == ("bit_time", "word")
    with pytest.raises(nearfield.NearfieldError):
        nearfield.open_recording(live / "frozen.nfr")
    nearfield.run(*control, "record", "start", "--images", "--name", "series")
    with nearfield.Ring(live / "frames.sock", "rows") as ring:
        for _ in range(6):
            assert ring.next(30.0) is not None
    nearfield.run(*control, "record", "stop")
    series = nearfield.open_recording(live / "series.nfr")
    assert series.images.dims == ("time", "planes_m", "frequencies_hz", "y_m", "x_m")
    assert series.sizes["time"] > 0
    assert nearfield.open_recording(live / "series.nfr", "rows").spectrum.dims[::2] == ("time", "frequencies_hz")


def test_the_headers_declare_what_the_libraries_have():
    for library, header, prefix in ((_library.ring(), "nearfield_ring.h", "nf_ring"), (_library.engine(), "nearfield/nearfield.h", "nf_engine")):
        text = (pathlib.Path(nearfield.__file__).parent / "include" / header).read_text()
        names = {word for word in _library.declarations(text).replace("(", " ( ").split() if word.startswith(prefix)}
        calls = {name for name in names if f"{name}(" in text}
        assert len(calls) > 10
        for name in calls:
            assert getattr(library, name)
