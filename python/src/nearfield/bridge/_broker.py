"""Address and user of a broker: from the environment, a file, or systemd's credentials, never from a command line."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import random
import stat
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from nearfield.errors import ConfigError, NoInputError, UsageError

TIMEOUT_S = 2.0  # timeout of one call: a broker that hangs costs pictures, and no more of the bridge's time


def password_of(service: str) -> str | None:
    """Return the password of ``redis`` or ``mqtt``.

    From NEARFIELD_REDIS_PASSWORD, the file that NEARFIELD_REDIS_PASSWORD_FILE names, or systemd's credential
    ``redis.password``; None where there is none.

    Raises
    ------
    ConfigError
        Where a file may be read by others, or is empty.
    NoInputError
        Where a named file is missing.
    """
    upper = f"NEARFIELD_{service.upper()}_PASSWORD"
    if upper in os.environ:
        return os.environ[upper]
    name = os.environ.get(f"{upper}_FILE")
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    if name is None and folder is not None and (pathlib.Path(folder) / f"{service}.password").is_file():
        name = str(pathlib.Path(folder) / f"{service}.password")
    if name is None:
        return None
    try:
        mode = os.stat(name).st_mode
        text = pathlib.Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise NoInputError(f"{upper}_FILE: expected a file that can be read, found {name}: {error.strerror}", 66) from error
    if stat.S_IMODE(mode) & 0o007:
        raise ConfigError(f"{name}: expected a password that others cannot read (mode 0600 or 0640), found {stat.S_IMODE(mode):04o}", 78)
    password = text.split("\n", 1)[0].strip()
    if not password:
        raise ConfigError(f"{name}: expected a password in the first line, found none", 78)
    return password


def check_url(url: str, option: str) -> str:
    """Return a URL of a command line; refuse one with a password, which every user of the machine could read there."""
    if urllib.parse.urlsplit(url).password is not None:
        raise UsageError(f"{option}: expected a URL without a password, which all users of this machine see; "
                         "see NEARFIELD_REDIS_PASSWORD_FILE", 64)  # fmt: skip
    return url


@functools.cache
def _client_kind() -> Any:
    """Return the class of clients: redis.Redis, of which a reply that no broker would give is a RedisError like any other."""
    import redis
    from redis.client import Pipeline

    def asked(call: Callable[..., Any], pool: Any, *words: Any, **options: Any) -> Any:
        try:
            return call(*words, **options)
        except redis.RedisError:
            raise
        except Exception as error:  # such as RecursionError, UnicodeDecodeError, TypeError
            pool.disconnect()  # nobody knows where in the stream of bytes the next reply begins
            raise redis.InvalidResponse(f"expected a reply of a broker, found another ({type(error).__name__}: {error})"[:200]) from error

    class CheckedPipeline(Pipeline):  # type: ignore[misc, unused-ignore]
        def execute(self, *words: Any, **options: Any) -> Any:
            return asked(super().execute, self.connection_pool, *words, **options)

    class CheckedRedis(redis.Redis):  # type: ignore[misc, unused-ignore]
        def execute_command(self, *words: Any, **options: Any) -> Any:
            return asked(super().execute_command, self.connection_pool, *words, **options)

        def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
            return CheckedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)

    return CheckedRedis


@dataclasses.dataclass(frozen=True)
class Redis:
    """A Redis server.

    Parameters
    ----------
    url : str
        ``redis://host:port/db``, ``rediss://`` with TLS, ``unix:///path``; default NEARFIELD_REDIS_URL, else this host's.
    """

    url: str = ""

    def connect(self, timeout_s: float = TIMEOUT_S) -> Any:
        """Return a client, ``redis.Redis``; it connects at its first call."""
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ModuleNotFoundError as error:
            raise NoInputError("expected the Python package redis (Debian: python3-redis), found none", 66) from error
        url = self.url or os.environ.get("NEARFIELD_REDIS_URL", "redis://127.0.0.1:6379/0")
        options: dict[str, Any] = {"socket_timeout": timeout_s, "retry": Retry(NoBackoff(), 0)}
        if not url.startswith("unix:"):
            options["socket_connect_timeout"] = timeout_s
            options["socket_keepalive"] = True
        if int(redis.__version__.split(".")[0]) >= 5:
            options["protocol"] = 2  # replies of one form in all versions of the client
        if url.startswith("rediss:"):
            options["ssl_cert_reqs"] = "required"
            for option, name in (("ssl_ca_certs", "CA"), ("ssl_certfile", "CERT"), ("ssl_keyfile", "KEY")):
                if f"NEARFIELD_REDIS_{name}_FILE" in os.environ:
                    options[option] = os.environ[f"NEARFIELD_REDIS_{name}_FILE"]
        if "NEARFIELD_REDIS_USER" in os.environ:
            options["username"] = os.environ["NEARFIELD_REDIS_USER"]
        password = password_of("redis")
        if password is not None:
            options["password"] = password
        try:
            client: Any = _client_kind().from_url(url, **options)
        except ValueError as error:
            raise ConfigError(f"NEARFIELD_REDIS_URL: expected redis://, rediss:// or unix://, found {url.split('@')[-1]}: {error}", 78) from error
        return client


class Backoff:
    """When to try again: after 0.1 s, then twice as long each time up to 5 s, each up to a half shorter by chance."""

    def __init__(self, longest_s: float = 5.0) -> None:
        self._longest_s = longest_s
        self._wait_s = 0.0
        self._until_s = 0.0

    @property
    def has_failed(self) -> bool:
        """True if the last try failed."""
        return self._wait_s > 0.0

    def failed(self) -> None:
        """Note a failure."""
        self._wait_s = min(self._longest_s, max(0.1, 2.0 * self._wait_s))
        self._until_s = time.monotonic() + self._wait_s * (1.0 - 0.5 * random.random())  # noqa: S311

    def worked(self) -> None:
        """Note a success."""
        self._wait_s = self._until_s = 0.0

    def left_s(self) -> float:
        """Return the time until the next try; 0: now."""
        return max(0.0, self._until_s - time.monotonic())
