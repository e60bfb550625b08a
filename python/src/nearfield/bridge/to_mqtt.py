"""``nearfield bridge mqtt``: states and alarms of a running daemon to MQTT; never pictures, of which MQTT would hand out old ones."""

from __future__ import annotations

import json
import logging
import os
import threading
import urllib.parse
from typing import Any

from nearfield.bridge._broker import password_of
from nearfield.bridge.state import StateSource, event_ids
from nearfield.errors import ConfigError, NoInputError

_LOG = logging.getLogger("nearfield.bridge")
_PORTS = {"mqtt": 1883, "mqtts": 8883}


def client_of(name: str) -> Any:
    """Return a client of paho-mqtt 1.6 or 2."""
    try:
        import paho.mqtt.client as mqtt
    except ModuleNotFoundError as error:
        raise NoInputError("expected the Python package paho.mqtt (Debian: python3-paho-mqtt), found none", 66) from error
    versions: Any = getattr(mqtt, "CallbackAPIVersion", None)
    make: Any = mqtt.Client
    return make(versions.VERSION2, client_id=name) if versions is not None else make(client_id=name)


def run(array: str, control: str, url: str, prefix: str, every_s: float, stop: threading.Event) -> None:
    """Bridge until ``stop`` is set.

    Topics: ``PREFIX/ARRAY/connection``, "online" or, as the last will and at the end, "offline"; ``PREFIX/ARRAY/state``; both are
    retained. ``PREFIX/ARRAY/alarms`` has an event each, at least once.

    Raises
    ------
    ConfigError
        Of a URL that is none.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ConfigError(f"NEARFIELD_MQTT_URL: expected mqtt://HOST or mqtts://HOST, found {url}", 78)
    topic = f"{prefix}/{array}"
    client = client_of(f"nearfield-{array}")
    client.will_set(f"{topic}/connection", "offline", qos=1, retain=True)
    password = password_of("mqtt")
    if "NEARFIELD_MQTT_USER" in os.environ:
        client.username_pw_set(os.environ["NEARFIELD_MQTT_USER"], password)
    if parts.scheme == "mqtts":
        client.tls_set(ca_certs=os.environ.get("NEARFIELD_MQTT_CA_FILE"))

    def connected(of: Any, _data: Any, _flags: Any, reason: Any, *_: Any) -> None:
        if reason == 0 or getattr(reason, "is_failure", True) is False:
            of.publish(f"{topic}/connection", "online", qos=1, retain=True)
        else:
            _LOG.warning("the broker refuses: %s", reason)

    client.on_connect = connected
    client.reconnect_delay_set(1, 10)
    client.max_queued_messages_set(1000)
    client.connect_async(parts.hostname, parts.port or _PORTS[parts.scheme], keepalive=10)
    client.loop_start()
    source = StateSource(array, control)
    newest: tuple[int, int] | None = None
    while not stop.is_set():
        state = source.state()
        if client.is_connected():  # nothing is queued for a broker that is away: it would come back with old states
            client.publish(f"{topic}/state", json.dumps(state), qos=0, retain=True)
        numbered = event_ids(source.events())
        if newest is None:  # the process before sent the events before this start
            newest = numbered[-1][0] if numbered else (0, 0)
        for number, event in numbered:
            if number > newest:
                newest = number
                client.publish(f"{topic}/alarms", json.dumps(event | {"array": array}), qos=1)
        stop.wait(every_s)
    if client.is_connected():  # else the broker has said it already, as the last will
        client.publish(f"{topic}/connection", "offline", qos=1, retain=True).wait_for_publish(2.0)
    client.disconnect()
    client.loop_stop()
