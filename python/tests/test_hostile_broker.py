"""What whoever may write to a broker, or stands in for it, can do to what reads there: be counted, and nothing else."""

import contextlib
import json
import socket
import threading
import time

import numpy as np
import pytest
import xarray as xr
from broker_support import RedisServer, until
from test_bridge import client_of, frame, layout
from test_site_page import asked, served

import nearfield
from nearfield import bridge
from nearfield.bridge import entries, to_redis
from nearfield.bridge.store import Store
from nearfield.site.server import Watch

KEYS = bridge.Keys("left")
HEADER = entries.header_of("left", layout(), ("spectrum", "sources"))
IDENTITY = entries.identity_of(HEADER)
TOO_LARGE = "1" + "0" * 30


@pytest.fixture
def broker(tmp_path):
    server = RedisServer(tmp_path)
    yield server
    server.end()


def fields_of(number, rows=1, **others):
    return entries.fields_of(frame(number, rows, 10**18 + number), IDENTITY, "r", number, None) | others


def header_with(**changes):
    return json.dumps(json.loads(HEADER) | changes)


def axis_of(**changes):
    return header_with(axes=[json.loads(HEADER)["axes"][0] | changes])


def product_of(**changes):
    spectrum, sources = json.loads(HEADER)["products"]
    return header_with(products=[spectrum | changes, sources])


def column_of(**changes):
    spectrum, sources = json.loads(HEADER)["products"]
    return header_with(products=[spectrum, sources | {"columns": [sources["columns"][0] | changes, sources["columns"][1]]}])


# Fields of an entry that each are no frame of ours.
ENTRIES = {
    "header is no UTF-8": {"header": b"\xff\xfe"}, "header of another": {"header": "00"}, "header of many bytes": {"header": "a" * 100_000},
    "n of 31 digits": {"n": TOO_LARGE}, "n < 0": {"n": -5}, "n = 0": {"n": 0}, "n of 5,000 digits": {"n": "9" * 5000}, "n in words": {"n": "many"},
    "n beyond sums": {"n": 2**63}, "stamp of 23 digits": {"tai_ns": 10**22}, "stamp beyond 64 bits": {"tai_ns": 9_300_000_000_000_000_000},
    "stamp below 64 bits": {"tai_ns": -(10**19)}, "stamp is not-a-time": {"tai_ns": -(2**63), "tai_offset_s": 0},
    "stamp is past datetime64 as UTC": {"tai_ns": 2**63 - 1, "tai_offset_s": -1000}, "stamp of 1678": {"tai_ns": -(9 * 10**18)},
    "flags of 41 bits": {"flags": 2**40}, "flags < 0": {"flags": -1}, "offset": {"tai_offset_s": 10**12}, "hop < 0": {"hop": -1},
    "bit": {"bit": 2**64}, "stream": {"stream": 2**32}, "epoch": {"epoch": 2**64}, "missing": {"missing": -1}, "valid": {"valid": 2**33},
    "delay": {"delay_ns": 10**19}, "clock": {"clock_error_ns": 10**19}, "run is no UTF-8": {"run": b"\xff"}, "run of many bytes": {"run": "r" * 1_000_000},
    "run with a line": {"run": "r\nERROR: all is lost"}, "product cut": {".spectrum": b"\0" * 15}, "table cut": {".sources": b"\0" * 7},
    "no product": {".spectrum": b""}, "nothing": None,
}  # fmt: skip

HEADERS = {
    "deep": "[" * 200_000, "deep object": '{"axes":' * 5000, "no UTF-8": b"\xff", "empty": b"", "a number": "1", "null": "null",
    "axis beyond a double": axis_of(values=[0]).replace("[0]", "[1" + "0" * 400 + "]"), "axis of texts": axis_of(values=["a", "b"]),
    "axis of nothing": axis_of(values=[]), "axis of three indices": axis_of(values=[[[1.0]]]), "axis ragged": axis_of(values=[[1], [1, 2]]),
    "axis named a path": axis_of(name="../x"), "axis without a name": axis_of(name=""), "axis named by a number": axis_of(name=3),
    "unit is a list": axis_of(unit=[1]), "unit with a zero": axis_of(unit="H\0z"), "unit is half a character": axis_of(unit="\ud800"),
    "unit of a book": axis_of(unit="m" * 1000), "product with a slash": product_of(name="a/b"), "product named time": product_of(name="time"),
    "product named as a stamp": product_of(name="flags"), "product named as a column": product_of(name="sources_x"),
    "product named as its axis": product_of(name="frequencies_hz"), "product twice": product_of(name="sources"), "quantity": product_of(quantity=None),
    "axis twice": header_with(axes=json.loads(HEADER)["axes"] * 2), "form": product_of(form="cube"), "type of objects": product_of(type="|O"),
    "axes unknown": product_of(axes=["frequency", "beyond"]), "columns of an array": product_of(columns=[{"name": "x", "unit": "", "type": "<f4"}]),
    "column with a zero": column_of(name="x\0"), "column twice": column_of(name="id"), "no products": header_with(products=[]),
    "processor is a list": header_with(processor=[]), "format": header_with(format=2), "axes is a number": header_with(axes=1),
}  # fmt: skip


def state_with(**changes):
    return json.dumps({"processors": ["finder"], "state": "running", "tai_ns": time.time_ns(), "tai_offset_s": 0} | changes)


STATES = {
    "deep": "[" * 100_000, "deep inside": state_with(x=0).replace('"x": 0', '"x": ' + "[" * 900 + "]" * 900), "stamp": '{"tai_ns":1e400,"tai_offset_s":0}',
    "digits": state_with(tai_ns=0).replace('"tai_ns": 0', '"tai_ns": ' + "9" * 500), "offset": state_with(tai_offset_s=10**30),
    "stamp in words": state_with(tai_ns="now"), "stamp is true": state_with(tai_ns=True), "no UTF-8": b"\xff\xff", "array": "[]",
    "not a number": state_with(x=0).replace('"x": 0', '"x": NaN'), "endless": state_with(x=0).replace('"x": 0', '"x": 1e999'),
    "rate is a text": state_with(frame_rate_hz="fast", hop_rate_hz=1.0), "one rate": state_with(frame_rate_hz=1.0), "limits": state_with(limits=5),
    "a limit": state_with(limits=["x"]), "clock": state_with(clock={}), "clock is a text": state_with(clock="exact"), "page": state_with(page=["a"]),
    "bits": state_with(bit_times=[1]), "processors": state_with(processors=3), "state": state_with(state={"a": 1}), "long": state_with(text="x" * 2_000_000),
}  # fmt: skip


@contextlib.contextmanager
def storing(folder, server, **options):
    stop = threading.Event()
    one = Store(folder, ["left"], lambda: client_of(server), file_s=0.1, **options)
    raised = []

    def run():
        try:
            one.run(stop)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield one
    finally:
        stop.set()
        thread.join(20.0)
    assert not raised, raised


def has_all(client):
    newest = client.xinfo_stream(KEYS.frames("finder"))["last-generated-id"]
    return [(of["last-delivered-id"], of["pending"]) for of in client.xinfo_groups(KEYS.frames("finder"))] == [(newest, 0)]


def stored(folder):
    files = [xr.open_dataset(path, engine="h5netcdf") for path in sorted(folder.glob("left.finder.*.h5"))]
    return sorted(np.concatenate([data.n.values for data in files]).astype(np.int64).tolist())


def test_a_poisoned_entry_is_counted_and_passed_over(broker, tmp_path):
    client = client_of(broker)
    client.set(KEYS.header(IDENTITY), HEADER)
    client.xadd(KEYS.state, {"json": state_with()})
    good, bad = 0, 0
    for changes in ENTRIES.values():
        client.xadd(KEYS.frames("finder"), {"x": "y"} if changes is None else fields_of(good + 1, **changes))
        good, bad = good + 1, bad + 1
        client.xadd(KEYS.frames("finder"), fields_of(good))
        with pytest.raises(nearfield.DataError):
            fields = {key if isinstance(key, bytes) else key.encode(): value if isinstance(value, bytes) else str(value).encode()
                      for key, value in (fields_of(good, **changes) if changes is not None else {"x": "y"}).items()}
            entries.frame_of("left", b"1-1", fields, bridge.reader.Headers(client, KEYS)[fields.get(b"header", b"")])
    for name, text in HEADERS.items():  # names of headers are ids here
        client.set(KEYS.header(name), text)
        client.xadd(KEYS.frames("finder"), fields_of(good + 1, header=name))
        good, bad = good + 1, bad + 1
        client.xadd(KEYS.frames("finder"), fields_of(good))
        with pytest.raises(nearfield.DataError):
            entries.layout_of_header(text)
            pytest.fail(name)
    for text in STATES.values():
        client.xadd(KEYS.state, {"json": text})
    client.xadd(KEYS.state, {"json": state_with()})
    with storing(tmp_path, broker) as store:
        until(lambda: has_all(client), "a store that has all")
        client.xadd(KEYS.state, {"json": STATES["deep"]})
        client.xadd(KEYS.frames("finder"), fields_of(good + 1))
        until(lambda: store.counts().get("left.finder", {}).get("stored") == good + 1, "a store that goes on under a broken state")
    assert store.counts()["left.finder"] == {"stored": good + 1, "lost": 0, "damaged": bad}
    assert stored(tmp_path) == list(range(1, good + 2))
    with storing(tmp_path, broker):  # at its next start nothing of it comes again
        client.xadd(KEYS.state, {"json": state_with()})
        client.xadd(KEYS.frames("finder"), fields_of(good + 2))
        until(lambda: stored(tmp_path)[-1] == good + 2, "a store that goes on after its next start")
    assert stored(tmp_path) == list(range(1, good + 3))
    assert [one.n for one in bridge.Reader("left", "finder", client=client).newest(5)] == [good - 1, good, good + 1, good + 2]


def test_forged_numbers_and_extreme_stamps_keep_no_frame_out_of_the_files(broker, tmp_path):
    client = client_of(broker)
    client.set(KEYS.header(IDENTITY), HEADER)
    client.xadd(KEYS.state, {"json": state_with()})
    for run in range(1100):  # sums of what they say was lost are beyond 64 bits
        client.xadd(KEYS.frames("finder"), fields_of(run) | {"n": 2**53, "run": f"forged{run}"})
    client.xadd(KEYS.frames("finder"), fields_of(1))
    client.xadd(KEYS.frames("finder"), fields_of(2, n=2**53))  # in the name of the bridge itself
    client.xadd(KEYS.frames("finder"), fields_of(3, tai_ns=2**63 - 10**14, tai_offset_s=0))
    client.xadd(KEYS.frames("finder"), fields_of(4, tai_ns=0, tai_offset_s=37))
    client.xadd(KEYS.frames("finder"), fields_of(5, rows=100_000))  # which a file would pad all others to
    client.xadd(KEYS.frames("finder"), fields_of(6))
    with storing(tmp_path, broker, file_bytes=4_000_000) as store:
        until(lambda: has_all(client), "a store that has all")
    counts = store.counts()["left.finder"]
    assert (counts["stored"], counts["damaged"]) == (1106, 0)
    assert [n for n in stored(tmp_path) if n < 2**53] == [1, 3, 4, 5, 6]
    assert len(stored(tmp_path)) == 1106  # no file took the place of another that begins with the same stamp
    assert all(path.stat().st_size < 4_500_000 for path in tmp_path.glob("*.h5"))


REPLIES = [b":1\r\n", b"+\xff\r\n", b"*1\r\n" * 20_000, b"$-1\r\n", b"*-1\r\n", b"-ERR no\r\n", b"-\xff\xfe\r\n", b"$3\r\nabc\r\n", b"*2\r\n:1\r\n:2\r\n",
           b"*1\r\n*2\r\n$1\r\na\r\n:1\r\n", b"*1\r\n*2\r\n$1\r\na\r\n*1\r\n*2\r\n:7\r\n:8\r\n", b"?\r\n", b"$x\r\n", b"\0" * 100, b"*1\r\n*1\r\n*0\r\n"]  # fmt: skip


@contextlib.contextmanager
def hostile(reply):
    """A broker that says the same to whatever it is asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked_of_it = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

        def answer(connection):
            with connection, contextlib.suppress(OSError):
                while connection.recv(1 << 16):
                    asked_of_it.append(1)
                    time.sleep(0.005)
                    connection.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0", asked_of_it


def test_replies_that_no_broker_gives_end_nothing(tmp_path):
    raised = []

    def kept(reply, run, *words):
        try:
            run(*words)
        except BaseException as error:
            raised.append((reply, error))

    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        threads, questions, ports = [], [], []
        for reply in REPLIES:
            url, asked_of_it = stack.enter_context(hostile(reply))
            connect = bridge.Redis(url).connect
            questions.append(asked_of_it)
            ports.append(stack.enter_context(served(Watch(connect))))
            options = to_redis.Options(KEYS, None, str(tmp_path / "none.sock"), {}, {})
            threads += [threading.Thread(target=kept, args=(reply, Store(tmp_path, ["left"], connect).run, stop)),
                        threading.Thread(target=kept, args=(reply, to_redis.run, options, connect, stop))]
        for thread in threads:
            thread.start()
        for reply, asked_of_it, port in zip(REPLIES, questions, ports, strict=True):
            until(lambda asked_of_it=asked_of_it: len(asked_of_it) > 1, "questions")
            assert isinstance(json.loads(asked(port, "/state.json")[1])["arrays"], list), reply
            assert asked(port, "/picture/left")[0].status in (204, 404, 503), reply
        stop.set()
        for thread in threads:
            thread.join(20.0)
    assert not raised
    assert not list(tmp_path.iterdir())


def test_a_broken_state_is_that_array_s_alone(broker):
    client = client_of(broker)
    client.sadd(entries.arrays_key(), "left", "right")

    def refused(text):
        raise AssertionError(text)

    watch = Watch(lambda: client)
    with served(watch) as port:
        for name, text in STATES.items():
            client.xadd(KEYS.state, {"json": text})
            client.xadd(bridge.Keys("right").state, {"json": state_with()})
            watch._asked_s = -1e9  # states are kept for half a second
            answer, body = asked(port, "/state.json")
            assert answer.status == 200, name
            left, right = json.loads(body, parse_constant=refused)["arrays"]
            assert right["state"] == "running" and right["is_live"], name
            assert left["state"] == "no news" and "left: expected a state" in left["text"], name


def test_a_picture_comes_once_the_state_names_its_processor_again(broker):
    client = client_of(broker)
    client.sadd(entries.arrays_key(), "left")
    client.set(KEYS.header(IDENTITY), HEADER)
    client.xadd(KEYS.state, {"json": state_with(processors=["forged"])})
    watch = Watch(lambda: client)
    assert watch.picture("left", "") is None
    client.xadd(KEYS.state, {"json": state_with()})
    client.xadd(KEYS.frames("finder"), fields_of(1))
    watch.picture("left", "")
    assert watch._readers["left"].processor == "finder"


def test_half_requests_make_room(broker):
    client = client_of(broker)
    client.sadd(entries.arrays_key(), "left")
    with served(Watch(lambda: client)) as port, contextlib.ExitStack() as stack:
        for _ in range(150):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            half.sendall(b"GET /state.json HTTP/1.1\r\nHost: local")
        for _ in range(5):
            begun_s = time.monotonic()
            assert asked(port, "/state.json")[0].status == 200
            assert time.monotonic() - begun_s < 5.0


def test_two_names_of_one_request_are_refused(broker):
    client = client_of(broker)
    with served(Watch(lambda: client)) as port:
        for hosts, status in ((("localhost", "evil.example"), 400), (("evil.example", "localhost"), 400), ((), 400), (("localhost",), 200)):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                lines = [b"GET / HTTP/1.1", *(f"Host: {host}".encode() for host in hosts), b"Connection: close", b"", b""]
                connection.sendall(b"\r\n".join(lines))
                assert int(connection.recv(1 << 16).split()[1]) == status, hosts
