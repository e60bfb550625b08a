"""Positions of sources that several arrays see."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


class TriangulationError(Exception):
    """Rays that determine no position."""


@dataclasses.dataclass(frozen=True)
class Ray:
    """Direction of a source from one array, in the site's frame.

    Attributes
    ----------
    array : str
    origin_m : numpy.ndarray
        [3], the array's centre.
    direction : numpy.ndarray
        [3], unit vector to the source.
    sigma_rad : float
        Standard deviation of the direction, across the ray, in each of both directions.
    distance_m, sigma_distance_m : float, optional
        Where the array measures it (a volume or several planes).
    """

    array: str
    origin_m: Numbers
    direction: Numbers
    sigma_rad: float
    distance_m: float | None = None
    sigma_distance_m: float | None = None


@dataclasses.dataclass(frozen=True)
class Position:
    """A source's position.

    Attributes
    ----------
    position_m : numpy.ndarray
        [3] in the site's frame.
    covariance_m2 : numpy.ndarray
        [3, 3], from the rays' standard deviations.
    residual_m : float
        Root of the mean square distance from the position to the rays.
    chi2, degrees_of_freedom : float, int
        Sum of the squared distances over their variances; about the degrees of freedom where the rays belong together.
    arrays : tuple of str
    """

    position_m: Numbers
    covariance_m2: Numbers
    residual_m: float
    chi2: float
    degrees_of_freedom: int
    arrays: tuple[str, ...]

    @property
    def sigma_m(self) -> float:
        """The largest standard deviation in any direction."""
        return float(math.sqrt(np.linalg.eigvalsh(self.covariance_m2)[-1]))


def _angle_rad(one: Numbers, other: Numbers) -> float:
    """The angle of two lines: of rays that face each other 0, as of parallel ones."""
    return math.atan2(float(np.linalg.norm(np.cross(one, other))), abs(float(one @ other)))


def triangulate(rays: Sequence[Ray], *, least_angle_deg: float = 5.0) -> Position:
    """Return the position with the least sum of squared distances to the rays, each over its variance.

    A ray's distance from x is |(I - d d^T)(x - o)|; its standard deviation sigma r grows with the distance r to the source, so
    that the linear least squares are solved again with the distances that were found, until they stay. The covariance is the
    inverse of their normal matrix (Gauss-Markov).

    Parameters
    ----------
    rays : sequence of Ray
        Two or more.
    least_angle_deg : float
        The largest angle between any two must be at least this.

    Raises
    ------
    TriangulationError
        Where rays are nearly parallel, or meet behind an array.
    ValueError
        Of fewer than two rays, or a standard deviation that is none.
    """
    if len(rays) < 2:
        raise ValueError(f"expected two rays or more, found {len(rays)}")
    for ray in rays:
        if not ray.sigma_rad > 0.0:
            raise ValueError(f"{ray.array}: sigma_rad: expected > 0, found {ray.sigma_rad}")
    widest_deg = math.degrees(max(_angle_rad(a.direction, b.direction) for a, b in itertools.combinations(rays, 2)))
    if widest_deg < least_angle_deg:
        raise TriangulationError(f"expected rays at least {least_angle_deg:g} degrees apart, found {widest_deg:.3g} degrees at most: "
                                 "what is nearly parallel determines no distance")  # fmt: skip
    across = [np.eye(3) - np.outer(ray.direction, ray.direction) for ray in rays]
    distances_m = np.ones(len(rays))
    position = np.full(3, np.inf)
    for _ in range(50):
        normal, right = np.zeros((3, 3)), np.zeros(3)
        for ray, projection, distance_m in zip(rays, across, distances_m, strict=True):
            weighted = projection / (ray.sigma_rad * distance_m) ** 2
            normal += weighted
            right += weighted @ ray.origin_m
            if ray.distance_m is not None and ray.sigma_distance_m:
                along = np.outer(ray.direction, ray.direction) / ray.sigma_distance_m**2
                normal += along
                right += along @ (ray.origin_m + ray.distance_m * ray.direction)
        before, position = position, np.linalg.solve(normal, right)
        distances_m = np.array([max(1e-6, float(np.linalg.norm(position - ray.origin_m))) for ray in rays])
        if np.linalg.norm(position - before) <= 1e-9 * float(distances_m.max()):
            break
    behind = [ray.array for ray in rays if float(ray.direction @ (position - ray.origin_m)) <= 0.0]
    if behind:
        raise TriangulationError(f"expected rays that meet before their arrays, found a position behind {', '.join(behind)}")
    offsets = [float(np.linalg.norm(projection @ (position - ray.origin_m))) for ray, projection in zip(rays, across, strict=True)]
    chi2 = sum((offset / (ray.sigma_rad * r)) ** 2 for offset, ray, r in zip(offsets, rays, distances_m, strict=True))
    freedom = 2 * len(rays) - 3
    for ray, distance_m in zip(rays, distances_m, strict=True):
        if ray.distance_m is not None and ray.sigma_distance_m:
            chi2 += ((distance_m - ray.distance_m) / ray.sigma_distance_m) ** 2
            freedom += 1
    covariance: Numbers = np.asarray(np.linalg.inv(normal), np.float64)
    return Position(position, covariance, math.sqrt(float(np.mean(np.square(offsets)))), chi2, freedom,
                    tuple(ray.array for ray in rays))  # fmt: skip


def locate(seen: Mapping[str, Sequence[Ray]], *, least_angle_deg: float = 5.0, most_chi2_per_degree: float = 10.8) -> list[Position]:
    """Return sources that two or more arrays see, each ray used once.

    All choices of one ray of each of several arrays are tried; those of most arrays come first, of equally many those whose rays
    meet best. A choice whose chi2 is above ``most_chi2_per_degree`` times its degrees of freedom (10.8: one in a thousand, of two
    rays) is no source. Two arrays in one plane with several sources may show ghosts, where rays of different sources meet; a third
    array removes them.

    Raises
    ------
    ValueError
        Where the choices are more than 100,000.
    """
    choices = math.prod(len(rays) + 1 for rays in seen.values())
    if choices > 100_000:
        raise ValueError(f"expected 100000 choices of rays at most, found {choices}")
    found = []
    for of_arrays in itertools.product(*[[None, *rays] for rays in seen.values()]):
        chosen = [ray for ray in of_arrays if ray is not None]
        if len(chosen) < 2:
            continue
        try:
            position = triangulate(chosen, least_angle_deg=least_angle_deg)
        except TriangulationError:
            continue
        if position.chi2 <= most_chi2_per_degree * position.degrees_of_freedom:
            found.append((-len(chosen), position.chi2 / position.degrees_of_freedom, position, chosen))
    found.sort(key=lambda one: one[:2])
    used: list[Any] = []
    positions = []
    for _, _, position, chosen in found:
        if not any(ray is other for ray in chosen for other in used):
            used += chosen
            positions.append(position)
    return positions
