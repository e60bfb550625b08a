"""The site page over HTTP, and states and alarms over MQTT."""

import contextlib
import http.client
import json
import pathlib
import socket
import struct
import subprocess
import threading

import broker_support
import numpy as np
import pytest
from broker_support import Bridge, RedisServer, until

import nearfield
from nearfield import bridge, site
from nearfield.bridge import entries
from nearfield.bridge.to_mqtt import client_of
from nearfield.site.__main__ import main
from nearfield.site.server import SiteServer, Watch


@contextlib.contextmanager
def served(watch, *hosts):
    server = SiteServer(("127.0.0.1", 0), watch, hosts)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(port, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer, answer.read()


def test_the_page_shows_an_array_and_never_an_old_picture_as_live(live, tmp_path):
    broker = RedisServer(tmp_path)
    child = Bridge("redis", "--array", "left", "--socket", live / "frames.sock", "--control", live / "control.sock", "--hz", "20",
                   NEARFIELD_REDIS_URL=broker.url)
    try:
        client = bridge.Redis(broker.url).connect()
        with served(Watch(lambda: client), "site.example") as port:
            state = until(lambda: [one for one in json.loads(asked(port, "/state.json")[1])["arrays"] if one["is_live"]], "a live array")[0]
            assert state["array"] == "left" and state["state"] == "running" and "page" in state
            answer, body = until(lambda: (got := asked(port, "/picture/left"))[0].status == 200 and got, "a picture")
            length, = struct.unpack_from("<I", body)
            head = json.loads(body[4 : 4 + length])
            assert (head["rows"], head["columns"], head["unit"], head["processor"]) == (8, 8, "Pa", "surface")
            assert 0.0 <= head["age_s"] < 5.0
            pixels = np.frombuffer(body, np.uint8, 64, 4 + length).reshape(8, 8)
            of_broker = next(one for one in bridge.Reader("left", client=client).newest(200) if one.entry_id == head["entry"])
            magnitude = np.abs(of_broker["images"][0, 0])
            np.testing.assert_allclose(pixels / 255.0 * head["most"], magnitude, atol=head["most"] / 500)
            for path, kind in (("/", "text/html"), ("/icon.svg", "image/svg+xml"), ("/site.js", "text/javascript"), ("/colours.json", "application/json")):
                answer, body = asked(port, path)
                assert answer.status == 200 and answer.headers["Content-Type"].startswith(kind) and body
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                assert b"//" not in body.replace(b"// ", b"").replace(b"http://www.w3.org", b"").replace(b"?:\\/\\/", b"")  # no foreign host
            assert asked(port, "/", "HEAD")[1] == b""
            assert asked(port, "/", host="evil.example")[0].status == 421
            assert asked(port, "/", host="site.example:8080")[0].status == 200
            assert asked(port, "/../server.py")[0].status == 404
            assert asked(port, "/picture/none")[0].status == 404
            assert asked(port, "/", "POST")[0].status == 501
            assert child.end()[0] == 0
            until(lambda: not json.loads(asked(port, "/state.json")[1])["arrays"][0]["is_live"], "an array without news")
            entry = head["entry"]
            answer, body = until(lambda: (got := asked(port, "/picture/left"))[0].status == 200 and got, "the last picture")
            last = json.loads(body[4 : 4 + struct.unpack_from("<I", body)[0]])
            assert last["entry"] >= entry
            assert last["age_s"] > 2.0  # which the page shows as old
            assert asked(port, f"/picture/left?after={last['entry']}")[0].status == 204
            broker.kill()
            said = until(lambda: (got := json.loads(asked(port, "/state.json")[1]))["broker"] and got, "the broker's absence in words")
            assert [one["is_live"] for one in said["arrays"]] == [False]
            assert asked(port, "/picture/left")[0].status == 503
    finally:
        child.end()
        broker.end()


def test_a_site_file_says_which_arrays_are_shown(tmp_path):
    broker = RedisServer(tmp_path)
    try:
        client = bridge.Redis(broker.url).connect()
        (tmp_path / "site.yaml").write_text("arrays: [{name: hall, stream: left, position_m: [0, 0, 0], page: 'https://hall.example/'}]\n")
        client.sadd(entries.arrays_key(), "left", "other")
        with served(Watch(lambda: client, site=site.Site.read(tmp_path / "site.yaml"))) as port:
            states = json.loads(asked(port, "/state.json")[1])["arrays"]
            assert [(one["array"], one["is_live"], one["page"]) for one in states] == [("hall", False, "https://hall.example/")]
            assert asked(port, "/picture/hall")[0].status == 204
    finally:
        broker.end()


def test_its_colours_are_those_of_the_live_page(live):
    port = broker_support.free_port()
    page = subprocess.Popen([nearfield.program(), "page", "--socket", live / "frames.sock", "--control", live / "control.sock",
                             "--address", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
    try:
        assert page.stdout.readline().startswith("http://")
        of_daemon = json.loads(asked(port, "/colours.json")[1])
    finally:
        page.terminate()
        page.communicate(timeout=20)
    assert of_daemon == json.loads((pathlib.Path(site.__file__).parent / "page/colours.json").read_text())


def test_the_page_stays_on_this_machine(capsys):
    for address in ("0.0.0.0:7240", "127.0.0.1", "here:80", "127.0.0.1:99999"):
        assert main(["--address", address]) == 64
        assert "loopback" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["--address", f"127.0.0.1:{taken.getsockname()[1]}"]) == 74




@pytest.mark.versions
def test_states_and_alarms_go_to_mqtt(live, tmp_path):
    port = broker_support.free_port()
    (tmp_path / "mosquitto.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
    broker = subprocess.Popen([broker_support.program("mosquitto"), "-c", tmp_path / "mosquitto.conf"], stderr=subprocess.DEVNULL)
    heard = []
    child = None
    subscriber = client_of("listener")
    subscriber.on_message = lambda _client, _data, message: heard.append((message.topic, message.payload.decode(), message.retain))
    subscriber.on_connect = lambda client, *_: client.subscribe("nearfield/#", qos=1)
    subscribed = threading.Event()  # what is published before is said later, as retained
    subscriber.on_subscribe = lambda *_: subscribed.set()
    try:
        subscriber.connect_async("127.0.0.1", port)
        subscriber.loop_start()
        assert subscribed.wait(20.0), "expected the broker to take a subscription"
        child = Bridge("mqtt", "--array", "left", "--control", live / "control.sock", "--every", "0.2", NEARFIELD_MQTT_URL=f"mqtt://127.0.0.1:{port}")
        payload = until(lambda: next((text for topic, text, _ in heard if topic == "nearfield/left/state"), None), "a state")
        assert json.loads(payload)["state"] == "running" and json.loads(payload)["array"] == "left"
        until(lambda: ("nearfield/left/connection", "online", False) in heard, "the bridge's word that it is there")
        child.process.kill()  # the broker then says its last will, to who comes later too
        until(lambda: ("nearfield/left/connection", "offline", False) in heard, "the last will")
        child.end()
        late = []
        second = client_of("late")
        second.on_message = lambda _client, _data, message: late.append((message.topic, message.payload.decode(), message.retain))
        second.on_connect = lambda client, *_: client.subscribe("nearfield/#", qos=1)
        second.connect("127.0.0.1", port)
        second.loop_start()
        until(lambda: ("nearfield/left/connection", "offline", True) in late, "the retained will")
        second.disconnect()
        second.loop_stop()
    finally:
        if child is not None:
            child.end()
        subscriber.disconnect()
        subscriber.loop_stop()
        broker.kill()
        broker.wait()


@pytest.mark.parametrize("url", ["http://host", "mqtt://"])
def test_a_wrong_address_of_a_broker_is_refused(url, capsys):
    from nearfield.bridge.__main__ import main as bridge_main

    assert bridge_main(["mqtt", "--array", "left", "--mqtt", url]) == 78
    assert "NEARFIELD_MQTT_URL" in capsys.readouterr().err
