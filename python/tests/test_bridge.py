"""Frames of a running nearfieldd through Redis Streams: into xarray, into files, and what a broker that dies costs."""

import json
import os
import subprocess
import sys
import threading

import broker_support
import numpy as np
import pytest
import xarray as xr
from broker_support import Bridge, RedisServer, until

import nearfield
from nearfield import bridge, tai
from nearfield._layout import Axis, Column, Layout, Product
from nearfield.bridge import entries
from nearfield.bridge.__main__ import main
from nearfield.ring import Frame


@pytest.fixture
def broker(tmp_path):
    server = RedisServer(tmp_path)
    yield server
    server.end()


def client_of(server):
    return bridge.Redis(server.url).connect()


def bridge_of(live, server, *words):
    return Bridge("redis", "--array", "left", "--socket", live / "frames.sock", "--control", live / "control.sock", *words,
                  NEARFIELD_REDIS_URL=server.url)


def newest(client, processor="surface"):
    return bridge.Reader("left", processor, client=client).latest()


def layout():
    row = (Column("x", "m", np.dtype("<f4"), 0), Column("id", "", np.dtype("<u4"), 0))
    axis = Axis("frequency", "Hz", np.array([500.0, 1000.0]))
    return Layout("finder", (axis,), (Product("spectrum", "pressure", "Pa", 0, np.dtype("<c8"), (axis,), (), 0),
                                      Product("sources", "", "", 2, np.dtype("<f4"), (), row, 16)))


def frame(hop, rows, capture_tai_ns=10**18, of=None):
    of = layout() if of is None else of
    table = np.zeros(rows, [("x", "<f4"), ("id", "<u4")])
    table["x"], table["id"] = np.arange(rows) + 0.5, 7
    return Frame(products={"spectrum": np.array([hop + 1j, 2], np.complex64), "sources": table}, layout=of, number=hop, sequence=hop,
                 first_bit_time=hop * 512, stream_id=9, epoch=1, missing_bit_times=0, shed_hops=0, valid_microphones=64, flags=4,
                 capture_tai_ns=capture_tai_ns, age_s=0.0, group_delay_ns=5)


def written(one, n, run="r", clock=None):
    """The frame of an entry as a broker hands it out."""
    header = entries.header_of("left", one.layout, tuple(one.products))
    fields = entries.fields_of(one, entries.identity_of(header), run, n, clock)
    as_bytes = {name.encode(): value if isinstance(value, bytes) else str(value).encode() for name, value in fields.items()}
    return as_bytes, entries.layout_of_header(header)


@pytest.mark.versions
def test_entries_are_read_back_as_they_were():
    fields, of_header = written(frame(3, 2), 1, clock=tai.ClockState(True, 0.0015, 0.0, 37))
    back = entries.frame_of("left", b"5-0", fields, of_header)
    np.testing.assert_array_equal(back["spectrum"], np.array([3 + 1j, 2], np.complex64))
    np.testing.assert_array_equal(back["sources"]["x"], [0.5, 1.5])
    np.testing.assert_array_equal(of_header.axes[0].values, [500.0, 1000.0])
    assert (back.sequence, back.flags, back.group_delay_ns, back.tai_offset_s, back.clock_error_ns) == (3, 4, 5, 37, 1_500_000)
    assert back.utc_ns == 10**18 - 37 * 10**9
    both = bridge.dataset_of([back, entries.frame_of("left", b"6-0", written(frame(4, 1), 2)[0], of_header)])
    assert both.spectrum.dims == ("time", "frequencies_hz")
    np.testing.assert_array_equal(both.sources_rows, [2, 1])
    np.testing.assert_array_equal(both.sources_x, [[0.5, 1.5], [0.5, 0.0]])
    del fields[b".sources"]
    with pytest.raises(nearfield.DataError, match="5-0"):
        entries.frame_of("left", b"5-0", fields, of_header)
    with pytest.raises(nearfield.DataError, match="format 1"):
        entries.layout_of_header("{}")


def test_what_others_wrote_into_the_broker_is_refused_in_words(broker):
    client = client_of(broker)
    keys = bridge.Keys("left")
    client.sadd(entries.arrays_key(), "left", "../../etc", "a b", b"\xff")
    assert bridge.arrays(client) == ["left"]
    for text in ("", "[]", '{"tai_ns": "now"}', '{"tai_ns": 1, "tai_offset_s": 0, "processors": 3}'):
        client.xadd(keys.state, {"json": text})
        with pytest.raises(nearfield.DataError, match="left: expected a state"):
            bridge.newest_state(client, keys)
    client.xadd(keys.state, {"json": '{"tai_ns": 1, "tai_offset_s": 0, "processors": ["a/b", "finder"]}'})
    assert bridge.newest_state(client, keys)["processors"] == ["finder"]
    header = json.loads(entries.header_of("left", layout(), ("spectrum", "sources")))
    for change in ({"format": 2}, {"axes": []}, {"products": [header["products"][0] | {"type": "|O"}]}, {"products": 3}):
        client.set(keys.header("00"), json.dumps(header | change))
        client.xadd(keys.frames("finder"), {"header": "00"})
        with pytest.raises(nearfield.DataError, match="header"):
            bridge.Reader("left", client=client).latest()


def test_old_frames_and_those_of_the_future_are_not_live():
    fields, of_header = written(frame(3, 0, capture_tai_ns=10**18), 1, clock=tai.ClockState(True, 0.0, 0.0, 37))
    back = entries.frame_of("left", "5-0", fields, of_header)
    utc_ns = 10**18 - 37 * 10**9
    assert back.is_live(1.0, utc_ns + 900_000_000)
    assert not back.is_live(1.0, utc_ns + 1_100_000_000)
    assert not back.is_live(1.0, utc_ns - 1_100_000_000)


@pytest.mark.versions
def test_a_daemon_s_frames_come_as_xarray(live, broker):
    client = client_of(broker)
    child = bridge_of(live, broker, "--hz", "all", "--length", "64")
    try:
        until(lambda: client.xlen(bridge.Keys("left").frames("surface")) > 40, "frames in the broker")
        images = bridge.read("left", count=20, client=client)
        assert images.images.dims == ("time", "planes_m", "frequencies_hz", "y_m", "x_m")
        assert images.images.dtype == np.complex64 and images.images.attrs["units"] == "Pa"
        np.testing.assert_allclose(images.x_m, (np.arange(8) - 3.5) * 0.02, atol=1e-12)
        assert (np.diff(images.n.values.astype(np.int64)) == 1).all()  # every frame; hops that the daemon shed have none
        assert (np.diff(images.sequence.values.astype(np.int64)) >= 1).all()
        assert bridge.arrays(client) == ["left"]
        with nearfield.Ring(live / "frames.sock") as ring:
            of_ring = ring.next(10.0)
            kept = until(lambda: [f for f in bridge.Reader("left", client=client).newest(64) if f.sequence == of_ring.sequence], "the ring's frame")
        np.testing.assert_array_equal(kept[0]["images"], of_ring["images"])
        assert kept[0].capture_tai_ns == of_ring.capture_tai_ns and kept[0].group_delay_ns == of_ring.group_delay_ns > 0
        assert newest(client).is_live(2.0)
        assert set(bridge.Reader("left", "rows", client=client).latest().products) == {"spectrum", "microphone"}
        state = until(lambda: bridge.newest_state(client, bridge.Keys("left")), "a state")
        assert state["state"] == "running" and state["processors"] == ["surface", "rows"] and state["is_live"]
        until(lambda: client.xlen(bridge.Keys("left").frames("surface")) <= 64 + 128, "a stream that is cut")
    finally:
        code, _, said = child.end()
    assert code == 0, said
    until(lambda: not newest(client).is_live(0.5), "frames that are no longer live")
    assert newest(client) is not None


def test_a_broker_that_is_killed_costs_frames_and_never_the_daemon(live, broker, tmp_path):
    (tmp_path / "store").mkdir()
    before = broker_support.status(live / "control.sock")
    client = client_of(broker)
    child = bridge_of(live, broker, "--hz", "40", "--length", "100000", "--products", "surface=images")
    store = Bridge("store", tmp_path / "store", "--file-seconds", "0.5", NEARFIELD_REDIS_URL=broker.url)
    files = tmp_path / "store"
    try:
        until(lambda: list(files.glob("left.surface.*.h5")), "a file of the store")
        run = newest(client).run
        broker.kill()
        lost_from = broker_support.status(live / "control.sock")["frames"]
        until(lambda: broker_support.status(live / "control.sock")["frames"] > lost_from + 30, "a daemon that goes on")
        broker.start()
        until(lambda: client.xlen(bridge.Keys("left").frames("surface")) > 20, "frames after the broker's return")
        back = newest(client)
        assert back.run == run and back.is_live(2.0)
        dropped = until(lambda: bridge.newest_state(client, bridge.Keys("left")), "a state")["bridge"]["processors"]["surface"]["dropped"]
        assert dropped > 0
        # A store that is killed and started again: what it had been handed and not written comes again.
        store.process.kill()
        store.end()
        at = newest(client).n
        until(lambda: newest(client).n > at + 20, "frames without a store")
        store = Bridge("store", files, "--file-seconds", "0.5", NEARFIELD_REDIS_URL=broker.url)
        progress = files / "left.surface.progress.json"
        until(lambda: json.loads(progress.read_text())["runs"].get(run, 0) > at + 20, "a store that has caught up")
    finally:
        code, _, said = child.end()
        store_code, output, store_said = store.end()
    assert code == 0, said
    assert store_code == 0, store_said
    counts = json.loads(output)["left.surface"]
    stored = [xr.open_dataset(path, engine="h5netcdf") for path in sorted(files.glob("left.surface.*.h5"))]
    numbers = np.concatenate([data.n.values for data in stored]).astype(np.int64)
    assert len(numbers) == len(set(numbers)) == counts["stored"]
    assert (np.diff(numbers) > 0).all()
    assert int((np.diff(numbers) - 1).sum()) == counts["lost"] >= dropped > 0
    assert stored[0].images.dtype == np.complex64 and stored[0].images.dims[0] == "time"
    # No hop of the daemon is lost without overload's having dropped it, which a machine that others use cannot promise not to:
    # site_soak.py expects none.
    after = broker_support.status(live / "control.sock")
    assert after["frames"] > before["frames"] and after["epoch"] == before["epoch"]
    assert not list(files.glob("*.partial"))


@pytest.mark.versions
def test_a_store_that_was_away_too_long_says_what_it_lost(broker, tmp_path):
    client = client_of(broker)
    keys = bridge.Keys("left")
    header = entries.header_of("left", layout(), ("spectrum", "sources"))
    client.set(keys.header(entries.identity_of(header)), header)
    client.xadd(keys.state, {"json": json.dumps({"processors": ["finder"], "tai_ns": 0, "tai_offset_s": 0})})

    def add(numbers, run="r"):
        for n in numbers:
            client.xadd(keys.frames("finder"), entries.fields_of(frame(n, 1, 10**18 + n), entries.identity_of(header), run, n, None), maxlen=50,
                        approximate=False)

    def store():
        stop = threading.Event()
        one = bridge.Store(tmp_path, ["left"], lambda: client_of(broker), file_s=0.1)
        thread = threading.Thread(target=one.run, args=(stop,))
        thread.start()
        until(has_all, "a store that has all")
        stop.set()
        thread.join(20.0)
        return one.counts()["left.finder"]

    def has_all():
        newest = client.xinfo_stream(keys.frames("finder"))["last-generated-id"]
        return [(of["last-delivered-id"], of["pending"]) for of in client.xinfo_groups(keys.frames("finder"))] == [(newest, 0)]

    add(range(1, 31))
    assert store() == {"stored": 30, "lost": 0, "damaged": 0}
    add(range(31, 131))  # of which the stream keeps 50
    assert store() == {"stored": 80, "lost": 50, "damaged": 0}
    add(range(4, 6), run="s")  # the bridge was started again and its first three frames are gone
    client.xadd(keys.frames("finder"), {"header": entries.identity_of(header), "n": 6})
    assert store() == {"stored": 82, "lost": 53, "damaged": 1}


def test_a_full_disk_ends_the_store_and_acknowledges_nothing(broker, tmp_path, monkeypatch):
    client = client_of(broker)
    keys = bridge.Keys("left")
    header = entries.header_of("left", layout(), ("spectrum", "sources"))
    client.set(keys.header(entries.identity_of(header)), header)
    client.xadd(keys.state, {"json": json.dumps({"processors": ["finder"], "tai_ns": 0, "tai_offset_s": 0})})
    for n in range(1, 11):
        client.xadd(keys.frames("finder"), entries.fields_of(frame(n, 1, 10**18 + n), entries.identity_of(header), "r", n, None))
    real = os.statvfs(tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((*real[:4], 10, *real[5:])))
    with pytest.raises(nearfield.IoError, match="room for"):
        bridge.Store(tmp_path, ["left"], lambda: client_of(broker), file_s=0.1).run(threading.Event())
    assert client.xinfo_groups(keys.frames("finder"))[0]["pending"] == 10
    assert not list(tmp_path.glob("left*"))


def test_passwords_stand_on_no_command_line_and_in_no_open_file(tmp_path, capsys):
    def said(*words, **environment):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                code = main(["redis", "--array", "left", *words])
            except SystemExit as end:
                code = end.code
        return code, capsys.readouterr().err

    code, text = said("--redis", "redis://user:secret@host")
    assert code == 64 and "secret" not in text and "without a password" in text
    secret = tmp_path / "password"
    secret.write_text("secret\n")
    secret.chmod(0o644)
    code, text = said(NEARFIELD_REDIS_PASSWORD_FILE=str(secret))
    assert code == 78 and "0600" in text
    assert said(NEARFIELD_REDIS_PASSWORD_FILE=str(tmp_path / "none"))[0] == 66
    assert said("--array", "a/b")[0] == 64
    assert said("--hz", "fast")[0] == 64
    assert said("--no-such-option")[0] == 64
    assert said(NEARFIELD_REDIS_URL="ftp://host")[0] == 78


def test_a_bridge_s_user_may_be_permitted_its_own_array_alone(tmp_path, live):
    rules = "user left on >secret ~nearfield:{left}:* ~nearfield:arrays +xadd +xrevrange +set +sadd +ping"
    (tmp_path / "redis.password").write_text("secret\n")
    (tmp_path / "redis.password").chmod(0o600)
    (tmp_path / "users.acl").write_text(f"{rules}\nuser default on >admin ~* +@all\n")
    server = RedisServer(tmp_path, "--aclfile", tmp_path / "users.acl")
    child = None
    try:
        os_environment = {"NEARFIELD_REDIS_URL": server.url, "NEARFIELD_REDIS_USER": "left", "CREDENTIALS_DIRECTORY": str(tmp_path)}
        child = Bridge("redis", "--array", "left", "--socket", live / "frames.sock", "--control", live / "control.sock", **os_environment)
        import redis

        admin = redis.Redis(unix_socket_path=str(server.socket), username="default", password="admin")  # noqa: S106
        until(lambda: admin.xlen("nearfield:{left}:frames:surface") > 3, "frames by a user of one array")
        with pytest.raises(redis.RedisError):
            redis.Redis(unix_socket_path=str(server.socket), username="left", password="secret").xlen("nearfield:{right}:state")  # noqa: S106
    finally:
        if child is not None:
            assert child.end()[0] == 0
        server.end()


def test_events_of_limits_are_alarms_once_each(live, broker):
    client = client_of(broker)
    control = live / "control.sock"
    ctl = ["ctl", "--socket", control, "set"]
    alarms = bridge.Keys("left").alarms

    def heard():
        return [(event["name"], event["event"]) for event in (json.loads(fields[b"json"]) for _, fields in client.xrange(alarms))]

    child = bridge_of(live, broker, "--hz", "1")
    try:
        nearfield.run(*ctl, "daemon.limits.loud.above=1e-9")
        until(lambda: heard() == [("loud", "begin")], "the begin of an alarm")
        nearfield.run(*ctl, "daemon.limits.loud.above=1e9")
        until(lambda: ("loud", "end") in heard(), "the end of an alarm")
    finally:
        assert child.end()[0] == 0
    before = heard()
    again = bridge_of(live, broker, "--hz", "1")
    try:
        states = client.xlen(bridge.Keys("left").state)
        until(lambda: client.xlen(bridge.Keys("left").state) > states + 1, "two states of a second bridge")
    finally:
        assert again.end()[0] == 0
    assert heard() == before


def test_the_program_starts_the_bridge_where_the_package_is(tmp_path):
    def said(python, *words, **environment):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        if python:
            (folder / "python3").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
            (folder / "python3").chmod(0o755)
        done = subprocess.run([nearfield.program(), "bridge", *words], text=True, capture_output=True, check=False, timeout=60,
                              env={"PATH": str(folder)} | environment)
        return done.returncode, done.stdout + done.stderr

    code, text = said(sys.executable, "--help", PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    assert code == 0 and "NEARFIELD_REDIS_URL" in text
    code, text = said(sys.executable, "redis", "--array", "a/b", PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    assert code == 64 and "a/b" in text
    code, text = said(f"{sys.executable} -I -S", "redis", "--array", "left")  # no package of anybody
    assert code == 66 and "python3-nearfield" in text
    code, text = said("", "redis", "--array", "left")
    assert code == 66 and "python3" in text


def certificate(folder, name, *options):
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt", *options]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def test_tls_wants_a_certificate_that_the_named_authority_signed(tmp_path, monkeypatch):
    import redis

    certificate(tmp_path, "broker")
    certificate(tmp_path, "stranger")
    port = broker_support.free_port()
    server = RedisServer(tmp_path, "--tls-port", port, "--tls-cert-file", tmp_path / "broker.crt", "--tls-key-file", tmp_path / "broker.key",
                         "--tls-ca-cert-file", tmp_path / "broker.crt", "--tls-auth-clients", "no")
    try:
        monkeypatch.setenv("NEARFIELD_REDIS_URL", f"rediss://127.0.0.1:{port}/0")
        monkeypatch.setenv("NEARFIELD_REDIS_CA_FILE", str(tmp_path / "broker.crt"))
        assert bridge.Redis().connect().ping()
        for authority in (str(tmp_path / "stranger.crt"), None):
            if authority is None:
                monkeypatch.delenv("NEARFIELD_REDIS_CA_FILE")
            else:
                monkeypatch.setenv("NEARFIELD_REDIS_CA_FILE", authority)
            with pytest.raises(redis.ConnectionError, match="(?i)certificate"):
                bridge.Redis().connect().ping()
    finally:
        server.end()


def test_a_daemon_s_status_has_the_clock(live):
    clock = broker_support.status(live / "control.sock")["clock"]
    own = tai.clock()
    assert clock["synchronised"] == own.is_synchronised and clock["tai_offset_s"] == own.tai_offset_s
    assert clock["text"] == "" and clock["most_error_s"] >= 0.0
