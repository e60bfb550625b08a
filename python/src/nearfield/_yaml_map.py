"""Settings in YAML files of the package's own commands, with lines in messages; unknown keys and those that stand there twice are refused."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Sequence
from typing import Any, NoReturn

from nearfield._results import missing
from nearfield.errors import ConfigError, NoInputError


def number_of(word: str) -> float:
    """Return a number, NaN of anything else."""
    try:
        return float(word)
    except ValueError:
        return math.nan


class YamlMap:
    """Keys of a YAML file, or of a section in it."""

    def __init__(self, file: str, key: str, node: Any, known: Sequence[str]) -> None:
        import yaml

        self.file, self.key, self._at = file, key, _at(node)
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{file}:{self._at}{key or 'the file'}: expected keys with values, found {_words(node)}", 78)
        self._values: dict[str, Any] = {}  # nodes
        self._lines: dict[str, str] = {}
        for name, value in node.value:
            if name.value not in known:
                raise ConfigError(f"{file}:{_at(name)}{self._path(str(name.value))}: unknown key; expected {', '.join(known)}", 78)
            if name.value in self._values:
                raise ConfigError(f"{file}:{_at(name)}{self._path(name.value)}: expected once, found again", 78)
            self._values[name.value] = value
            self._lines[name.value] = _at(name)

    @classmethod
    def of_file(cls, name: str, command: str, known: Sequence[str]) -> YamlMap:
        with missing("yaml", "python3-yaml", command):
            import yaml
        try:
            node = yaml.compose(pathlib.Path(name).read_text(encoding="utf-8"), yaml.SafeLoader)
        except OSError as error:
            raise NoInputError(f"{name}: {(error.strerror or str(error)).lower()}", 66) from error
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            at = getattr(error, "problem_mark", None)
            where = f":{at.line + 1}" if at else ""
            raise ConfigError(f"{name}{where}: expected YAML, found {getattr(error, 'problem', None) or 'another file'}", 78) from error
        return cls(name, "", node, known)

    def _path(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name

    def fail(self, name: str, expected: str, found: str) -> NoReturn:
        raise ConfigError(f"{self.file}:{self._lines.get(name, self._at)}{self._path(name)}: expected {expected}, found {found}", 78)

    def has(self, name: str) -> bool:
        return name in self._values

    def _node(self, name: str, expected: str) -> Any:
        if name not in self._values:
            self.fail(name, expected, "none")
        return self._values[name]

    def map(self, name: str, known: Sequence[str]) -> YamlMap:
        return YamlMap(self.file, self._path(name), self._node(name, "a section"), known)

    def maps(self, name: str, known: Sequence[str]) -> list[YamlMap]:
        return [YamlMap(self.file, f"{self._path(name)}[{i}]", node, known) for i, node in enumerate(self._list(name, "a list"))]

    def _list(self, name: str, expected: str) -> list[Any]:
        node = self._node(name, expected)
        if node.id != "sequence":
            self.fail(name, expected, _words(node))
        found: list[Any] = node.value
        return found

    def text(self, name: str) -> str:
        node = self._node(name, "a path")
        if node.id != "scalar" or not node.value:
            self.fail(name, "a path", _words(node))
        return str(node.value)

    def _checked(self, name: str, node: Any, limits: tuple[float, float], expected: str, is_whole: bool) -> float:
        value = number_of(node.value) if node.id == "scalar" and node.style is None else math.nan
        if not (limits[0] <= value <= limits[1] and math.isfinite(value)) or (is_whole and value != round(value)):
            self.fail(name, expected, _words(node))
        return value

    def number(self, name: str, least: float, most: float, expected: str, *, is_whole: bool = False, default: float | None = None) -> float:
        if default is not None and not self.has(name):
            return default
        return self._checked(name, self._node(name, expected), (least, most), expected, is_whole)

    def numbers(self, name: str, least: float, most: float, expected: str, *, is_whole: bool = False) -> tuple[float, ...]:
        return tuple(self._checked(name, node, (least, most), expected, is_whole) for node in self._list(name, f"a list of {expected}"))

    def channels(self, name: str) -> tuple[int, ...]:
        """Return channels of a file, each once; none where the key is not there."""
        if not self.has(name):
            return ()
        found = tuple(map(int, self.numbers(name, 0, 65535, "channels, whole numbers from 0 to 65535", is_whole=True)))
        if not found or len(set(found)) < len(found):
            self.fail(name, "channels, each once", str(list(found)))
        return found


def _at(node: Any) -> str:
    return f"{node.start_mark.line + 1 if node is not None else 1}: "


def _words(node: Any) -> str:
    if node is None:
        return "nothing"
    return f'"{node.value}"' if node.id == "scalar" else {"sequence": "a list", "mapping": "keys"}[node.id]
