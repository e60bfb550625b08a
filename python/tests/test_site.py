"""Time across arrays, and sources that two arrays see."""

import dataclasses
import math
import time

import numpy as np
import pytest

import nearfield
from nearfield import site, tai

# --- clocks -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Stamp:
    capture_tai_ns: int
    tai_offset_s: int = 0
    group_delay_ns: int = 0
    clock_error_ns: int = 100_000


def series(begin_ms, step_ms, count, **others):
    return [Stamp(round(1e6 * (begin_ms + step_ms * i)), **others) for i in range(count)]


def test_the_kernel_says_how_good_the_clock_is():
    state = tai.clock()
    assert state.most_error_s >= 0.0
    assert state.tai_offset_s == tai.tai_offset_s()
    assert (state.error_ns == -1) == (not state.is_synchronised)
    assert abs(tai.utc_ns(time.clock_gettime_ns(time.CLOCK_TAI), state.tai_offset_s) - time.time_ns()) < 10**9


def test_frames_of_one_instant_are_put_together():
    found = tai.align({"a": series(0, 10, 50), "b": series(3, 20, 25)[::-1]}, 0.006)
    assert len(found) == 25
    for one in found:
        assert one.frames["b"].capture_tai_ns - one.frames["a"].capture_tai_ns == 3_000_000
        assert one.spread_s == pytest.approx(0.003)
        assert one.error_s == pytest.approx(0.003 + 2 * (0.001 + 0.0001))
    assert tai.align({"a": series(0, 10, 50), "b": series(5, 10, 50)}, 0.006) == []


def test_windows_centres_count_and_offsets_of_tai():
    told = series(37_000, 10, 20, tai_offset_s=37)
    untold = series(8, 10, 20, group_delay_ns=8_000_000)
    found = tai.align({"a": told, "b": untold}, 0.0025)
    assert len(found) == 20 and all(one.spread_s == 0.0 for one in found)
    assert found[0].utc_ns == 0


def test_each_frame_is_used_once():
    found = tai.align({"a": series(0, 1, 10), "b": series(0, 4, 12)}, 0.01)
    used = [id(one.frames["b"]) for one in found]
    assert len(used) == len(set(used))


def test_clocks_that_are_worse_than_the_bound_are_refused():
    good = series(0, 10, 5)
    with pytest.raises(tai.ClockError, match="bounds of a 1.100 ms, b 21.000 ms"):
        tai.align({"a": good, "b": series(0, 10, 5, clock_error_ns=20_000_000)}, 0.01)
    with pytest.raises(tai.ClockError, match="b: expected frames of a synchronised clock"):
        tai.align({"a": good, "b": series(0, 10, 5, clock_error_ns=-1)}, 0.01)
    assert len(tai.align({"a": good, "b": series(0, 10, 5, clock_error_ns=-1)}, 0.01, assumed_error_s=0.0)) == 5
    with pytest.raises(ValueError, match="two arrays"):
        tai.align({"a": good}, 0.01)


# --- triangulation ----------------------------------------------------------------------------------------------------


def ray(origin, target, sigma=0.01, off=(0.0, 0.0, 0.0)):
    direction = np.subtract(target, origin) / np.linalg.norm(np.subtract(target, origin)) + off
    return site.Ray("a", np.array(origin, float), direction / np.linalg.norm(direction), sigma)


def test_two_rays_at_right_angles_have_the_covariance_of_theory():
    found = site.triangulate([ray([0, 0, 0], [0, 0, 2.0]), ray([3.0, 0, 2.0], [0, 0, 2.0], 0.02)])
    np.testing.assert_allclose(found.position_m, [0, 0, 2.0], atol=1e-9)
    # Across a ray of length r: sigma r. x is seen by the first alone, z by the second, y by both.
    x, z = (0.01 * 2.0) ** 2, (0.02 * 3.0) ** 2
    np.testing.assert_allclose(found.covariance_m2, np.diag([x, x * z / (x + z), z]), atol=1e-12)
    assert found.residual_m < 1e-9 and found.degrees_of_freedom == 1


def test_errors_of_draws_are_as_the_covariance_says():
    random = np.random.default_rng(5)
    origins = [[0, 0, 0], [4.0, 0, 1.0], [1.0, 3.0, -1.0]]
    truth, sigma = np.array([1.0, 0.5, 2.5]), 0.005
    squares, chi2 = [], []
    for _ in range(400):
        rays = []
        for origin in origins:
            exact = ray(origin, truth).direction
            noise = random.normal(0.0, sigma, 3)
            rays.append(ray(origin, truth, sigma, noise - exact * (noise @ exact)))
        found = site.triangulate(rays)
        error = found.position_m - truth
        squares.append(error @ np.linalg.solve(found.covariance_m2, error))
        chi2.append(found.chi2)
    # Means of 400 chi-squared numbers with 3 degrees of freedom: 3 within four times sqrt(6/400).
    assert abs(np.mean(squares) - 3.0) < 4.0 * math.sqrt(6.0 / 400.0)
    assert abs(np.mean(chi2) - 3.0) < 4.0 * math.sqrt(6.0 / 400.0)


def test_what_determines_no_position_is_refused():
    with pytest.raises(site.TriangulationError, match="nearly parallel"):
        site.triangulate([ray([0, 0, 0], [0, 0, 50.0]), ray([1.0, 0, 0], [0, 0, 50.0])])
    with pytest.raises(site.TriangulationError, match="nearly parallel"):
        site.triangulate([ray([0, 0, 0], [0, 0, 1.0]), ray([0, 0, 3.0], [0, 0, 1.0])])
    with pytest.raises(site.TriangulationError, match="behind"):
        site.triangulate([ray([0, 0, 0], [-1, 0, 1.0]), ray([1.0, 0, 0], [2.0, 0, 1.0])])
    with pytest.raises(ValueError, match="two rays"):
        site.triangulate([ray([0, 0, 0], [0, 0, 1.0])])


def test_a_measured_distance_counts():
    far = [ray([0, 0, 0], [0, 0, 2.0], 0.1), ray([3.0, 0, 2.0], [0, 0, 2.0], 0.1)]
    near = [dataclasses.replace(far[0], distance_m=2.0, sigma_distance_m=0.001), far[1]]
    assert site.triangulate(near).covariance_m2[2, 2] < 1.1e-6 < site.triangulate(far).covariance_m2[2, 2]


def test_rays_of_several_sources_are_told_apart():
    truth = [np.array([0.3, 0.0, 2.0]), np.array([-0.6, 0.8, 3.0])]
    origins = {"a": [0, 0, 0], "b": [3.0, 0, 2.0], "c": [0.0, 3.0, 2.0]}
    seen = {name: [ray(origin, one, 0.002) for one in truth] for name, origin in origins.items()}
    seen["a"] += [ray(origins["a"], [5.0, 5.0, 5.0], 0.002)]  # what it alone sees
    found = site.locate(seen)
    assert len(found) == 2
    for one in found:
        assert min(np.linalg.norm(one.position_m - source) for source in truth) < 1e-6
        assert len(one.arrays) == 3


# --- site files -------------------------------------------------------------------------------------------------------

SITE = """arrays:
  - {name: front, position_m: [0, 0, 1.0]}
  - {name: side, position_m: [1.5, 0, -0.5], pitch_deg: 90, stream: side-2, page: "http://127.0.0.1:7232/"}
"""


def test_site_files_are_read(tmp_path):
    (tmp_path / "site.yaml").write_text(SITE)
    read = site.Site.read(tmp_path / "site.yaml")
    assert list(read.places) == ["front", "side"] and read["side"].stream == "side-2"
    # Its field is before it, towards -z of its own axes: at pitch 90 degrees that is -x of the site.
    np.testing.assert_allclose(read["side"].ray([0, 0, -1.0], 0.1).direction, [-1.0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(site.rotation_of(30, 0, 0)[:, 0], [math.cos(math.pi / 6), 0.5, 0])


@pytest.mark.parametrize(("text", "found"), [
    ("arrays: []", "one or more"), ("array: 3", "key arrays"), ("arrays: [{name: a}]", r"arrays\[0\].*position_m"),
    ("arrays: [{name: a, position_m: [0, 0]}]", "position_m: expected 3 finite"), ("arrays: [{name: a, position_m: [0, 0, .nan]}]", "finite"),
    ("arrays: [{name: 'a b', position_m: [0, 0, 0]}]", r"arrays\[0\].name"), ("arrays: [{name: a, position_m: [0, 0, 0], yaw: 3}]", "yaw: unknown key"),
    ("arrays: [{name: a, position_m: [0, 0, 0], rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}]", "expected a rotation"),
    ("arrays: [{name: a, position_m: [0, 0, 0], page: 'javascript:alert(1)'}]", "page: expected http"), ("{", "YAML"),
])  # fmt: skip
def test_wrong_site_files_are_refused_with_their_key(tmp_path, text, found):
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(nearfield.ConfigError, match=found):
        site.Site.read(tmp_path / "site.yaml")


# --- with real maps ---------------------------------------------------------------------------------------------------

SOURCE = """version: 1
array: {{rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}}
standoff_m: 1.0
duration_s: 0.12
seed: {seed}
sources: [{{kind: noise, rms_at_1m_pa: 1.0, band_hz: [500, 4000], x_m: {x}, y_m: {y}, z_m: {z}}}]
microphones: {{snr_db: 0}}
"""
FINDER = {
    "array": {"rows": 8, "columns": 8, "pitch_x_m": 0.04, "pitch_y_m": 0.04, "layout": "row-major"},
    "holography": {"standoff_m": 1.0},
    "processors": {"where": {"kind": "srp_phat", "band_hz": [500, 4000], "sources": 1, "keep_map": False,
                             "grid": {"kind": "angles", "distance_m": "inf", "azimuth_deg": [-45, 45], "elevation_deg": [-45, 45], "step_deg": 3}}},
}


def test_two_arrays_at_right_angles_find_a_source(tmp_path):
    """srp_phat's directions of two recordings of one source, through a site file, against its true position."""
    (tmp_path / "site.yaml").write_text(SITE)
    places = site.Site.read(tmp_path / "site.yaml")
    truth = np.array([0.35, -0.25, -0.9])
    seen = {}
    for seed, (name, place) in enumerate(places.places.items()):
        local = place.rotation.T @ (truth - place.position_m)
        assert local[2] < -0.5  # it lies before the array
        scene = tmp_path / f"{name}.yaml"
        scene.write_text(SOURCE.format(seed=seed + 1, x=local[0], y=local[1], z=1.0 + local[2]))
        nearfield.run("simulate", scene, "-o", tmp_path / f"{name}.h5", "--as", "samples")
        nearfield.replay(tmp_path / f"{name}.h5", tmp_path / f"{name}_images.h5", config=FINDER, frames=slice(0, 1)).close()
        table = nearfield.open_images(tmp_path / f"{name}_images.h5", "where", "sources")
        print(table)
        seen[name] = place.rays({column: table[column].values.reshape(-1) for column in ("x", "y", "z", "sigma_major", "confidence")},
                                least_confidence=0.05)
    found, = site.locate(seen)
    error_m = np.linalg.norm(found.position_m - truth)
    # Both rays' errors, each at most three times its standard deviation and the sphericity that a plane wave's steering neglects.
    print("error", error_m, "sigma", found.sigma_m, "chi2", found.chi2)
    assert error_m < 4.0 * math.sqrt(np.trace(found.covariance_m2))
    assert error_m < 0.03
    assert found.arrays == ("front", "side")
