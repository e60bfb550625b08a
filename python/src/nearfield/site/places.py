"""A site file: where arrays stand, how they are turned, and where their streams are."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from nearfield.bridge.entries import checked_name
from nearfield.errors import ConfigError, NearfieldError, NoInputError
from nearfield.site.triangulation import Numbers, Ray

_KEYS = {"name", "position_m", "yaw_deg", "pitch_deg", "roll_deg", "rotation", "stream", "page"}


def rotation_of(yaw_deg: float, pitch_deg: float, roll_deg: float) -> Numbers:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), [3, 3]: vectors of the array's axes to those of the site."""
    (cy, sy), (cp, sp), (cr, sr) = ((math.cos(math.radians(a)), math.sin(math.radians(a))) for a in (yaw_deg, pitch_deg, roll_deg))
    about_z = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    about_y = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
    return np.asarray(about_z @ about_y @ about_x, np.float64)


@dataclasses.dataclass(frozen=True)
class Place:
    """An array of a site.

    Attributes
    ----------
    name : str
    position_m : numpy.ndarray
        [3], of the array's centre.
    rotation : numpy.ndarray
        [3, 3]: its columns are the array's axes x (right), y (down) and z (from the field towards the array) in the site's frame.
    stream, page : str
        The array's name at the broker (its own name by default), and the address of its live page, "" where it is not known.
    """

    name: str
    position_m: Numbers
    rotation: Numbers
    stream: str
    page: str = ""

    def ray(self, direction: Any, sigma_rad: float) -> Ray:
        """Return a direction of this array, on the axes of its images, as a ray of the site."""
        along = np.asarray(direction, np.float64)
        return Ray(self.name, self.position_m, self.rotation @ (along / np.linalg.norm(along)), sigma_rad)

    def rays(self, sources: Any, *, standoff_m: float | None = None, least_confidence: float = 0.0) -> list[Ray]:
        """Return the rays of a table ``sources`` of ``srp_phat``.

        Parameters
        ----------
        sources : structured array, or mapping of column to array
            Columns x, y, z, sigma_major and confidence. Of ``distance_m: inf`` x, y and z are a unit vector; else they are a place in
            m on the axes of images, whose z counts from the surface, not from the array.
        standoff_m : float, optional
            The array's own z on these axes, ``holography.standoff_m``; None: the table has unit vectors.
        least_confidence : float
            Rows below it are left out.
        """
        rays = []
        for x, y, z, sigma, confidence in zip(*(np.asarray(sources[name], np.float64) for name in
                                                ("x", "y", "z", "sigma_major", "confidence")), strict=True):  # fmt: skip
            if confidence < least_confidence or not np.isfinite([x, y, z, sigma]).all():
                continue
            to_source = np.array([x, y, z - (standoff_m or 0.0)])
            rays.append(self.ray(to_source, max(1e-6, float(sigma / np.linalg.norm(to_source)))))
        return rays


def _numbers(value: Any, shape: tuple[int, ...], where: str) -> Numbers:
    try:
        numbers = np.array(value, np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ConfigError(f"{where}: expected {' x '.join(map(str, shape))} finite numbers, found {value!r}", 78)
    return numbers


def _place(entry: Any, where: str) -> Place:
    if not isinstance(entry, Mapping) or "name" not in entry or "position_m" not in entry:
        raise ConfigError(f"{where}: expected a mapping with name and position_m, found {entry!r}", 78)
    unknown = sorted(set(map(str, entry)) - _KEYS)
    if unknown:
        raise ConfigError(f"{where}.{unknown[0]}: unknown key; expected {', '.join(sorted(_KEYS))}", 78)
    try:
        name = checked_name(str(entry["name"]), f"{where}.name")
        stream = checked_name(str(entry.get("stream", name)), f"{where}.stream")
    except NearfieldError as error:
        raise ConfigError(error.message, 78) from error
    angles = [float(_numbers(entry.get(key, 0.0), (), f"{where}.{key}")) for key in ("yaw_deg", "pitch_deg", "roll_deg")]
    rotation = rotation_of(*angles)
    if "rotation" in entry:
        if any(key in entry for key in ("yaw_deg", "pitch_deg", "roll_deg")):
            raise ConfigError(f"{where}.rotation: expected a matrix or angles, found both", 78)
        rotation = _numbers(entry["rotation"], (3, 3), f"{where}.rotation")
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6) or np.linalg.det(rotation) < 0.0:
            raise ConfigError(f"{where}.rotation: expected a rotation, whose transpose is its inverse and whose determinant is 1, "
                              f"found {entry['rotation']!r}", 78)  # fmt: skip
    page = str(entry.get("page", ""))
    if page and not page.startswith(("http://", "https://")):
        raise ConfigError(f"{where}.page: expected http:// or https://, found {page!r}", 78)
    return Place(name, _numbers(entry["position_m"], (3,), f"{where}.position_m"), rotation, stream, page)


class Site:
    """Arrays of a site, by name.

    Parameters
    ----------
    places : sequence of Place
    """

    def __init__(self, places: list[Place]) -> None:
        self.places = {place.name: place for place in places}

    def __getitem__(self, name: str) -> Place:
        return self.places[name]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Site:
        """Read a site file.

        Raises
        ------
        NoInputError
            Where it is missing.
        ConfigError
            With file and key, of what is wrong in it.
        """
        try:
            import yaml
        except ModuleNotFoundError as error:
            raise NoInputError("expected the Python package yaml (Debian: python3-yaml), found none", 66) from error
        name = os.fspath(path)
        try:
            content = yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise NoInputError(f"{name}: expected a site file, found none that can be read: {error}", 66) from error
        except yaml.YAMLError as error:
            raise ConfigError(f"{name}: expected YAML: {error}", 78) from error
        if not isinstance(content, Mapping) or set(content) != {"arrays"} or not isinstance(content["arrays"], list):
            raise ConfigError(f"{name}: expected the key arrays with a list, found {type(content).__name__}", 78)
        places = [_place(entry, f"{name}: arrays[{i}]") for i, entry in enumerate(content["arrays"])]
        if len({place.name for place in places}) != len(places) or not places:
            raise ConfigError(f"{name}: arrays: expected one or more, each name once, found {[place.name for place in places]}", 78)
        return cls(places)
