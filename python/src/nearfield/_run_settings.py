"""A run's settings as text, beside their defaults."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from nearfield._results import Results
from nearfield._runs import program

# Settings of the daemon that results depend on; its others are its host's: sockets, folders, users.
_OF_SAMPLES = ("daemon.source.payload", "daemon.source.sample_rate_hz", "daemon.source.format")


@dataclasses.dataclass(frozen=True)
class Setting:
    key: str
    value: str
    default: str | None  # None for a key that this version does not have
    unit: str
    meaning: str


def settings_of(results: Results) -> dict[str, str]:
    """Return a run's settings by their dotted names, without those of the daemon that no result depends on."""
    leaves = _leaves(results.settings("summary"))
    return {key: value for key, value in leaves if key != "version" and (not key.startswith("daemon.") or key in _OF_SAMPLES)}


def changed_settings(results: Results) -> list[Setting]:
    """Return the settings that differ from the defaults of the program ``nearfield``, and the kind of each further processor."""
    described = {one["key"]: one for one in json.loads(program("settings", "--json"))}
    settings = settings_of(results)
    changed = []
    for key, value in settings.items():
        one = described.get(_described_as(key, settings))
        default = None if one is None else _text_of(one["default"])
        is_kind = key.startswith("processors.") and key.endswith(".kind")
        if value != default or is_kind:
            changed.append(Setting(key, value, default, one["unit"] if one else "", one["meaning"] if one else ""))
    return changed


def _described_as(key: str, settings: Mapping[str, str]) -> str:
    """Return the key by which the program describes it: a processor has the name of its kind."""
    words = key.split(".")
    if words[0] == "processors" and len(words) > 2:
        words[1] = settings.get(f"processors.{words[1]}.kind", words[1])
    return ".".join(words)


def _leaves(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _text_of(value)


def _text_of(value: Any) -> str:
    """Return one line that is the same of YAML's texts and of JSON's values."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text_of, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_text_of(one)}' for name, one in value.items())}}}"
    with contextlib.suppress(ValueError):
        return f"{float(value):.10g}"
    return str(value)
