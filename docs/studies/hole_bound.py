"""The least error of the image of a monopole behind a hole of 8 x 8 masked microphones (docs/how/sonah.md), by the Cramer-Rao bound of its
amplitude and place, in white noise 40 dB below the mean power of all microphones. With numpy alone.

Run: python3 docs/studies/hole_bound.py
"""
import numpy as np

SPEED, PITCH, STANDOFF = 343.0, 0.02, 0.03
SOURCE = np.array([0.003, -0.004, -0.03])


def field(places, source, k):
    """e^{-jkr} / r. [place]"""
    r = np.linalg.norm(places - source, axis=1)
    return np.exp(-1j * k * r) / r


def tangents(places, k, step_m=1e-6):
    """Of the field by real and imaginary part of the amplitude, which is 1, and by the source's place. (place, unknown)"""
    here = field(places, SOURCE, k)
    moved = [(field(places, SOURCE + step_m * axis, k) - field(places, SOURCE - step_m * axis, k)) / (2 * step_m)
             for axis in np.eye(3)]
    return np.stack([here, 1j * here, *moved], axis=1)


def bound(side, frequency_hz):
    """Relative error of the image, and the standard deviation of the depth in m."""
    k = 2 * np.pi * frequency_hz / SPEED
    axis = (np.arange(side) - (side - 1) / 2) * PITCH
    x, y = (values.ravel() for values in np.meshgrid(axis, axis))
    microphones = np.stack([x, y, np.full(x.size, STANDOFF)], axis=1)
    pixels = microphones * [1, 1, 0]
    inside = np.abs(np.arange(side) - (side - 1) / 2) < 4
    used = ~np.outer(inside, inside).ravel()
    noise = np.mean(np.abs(field(microphones, SOURCE, k)) ** 2) * 1e-4
    seen, imaged = tangents(microphones[used], k), tangents(pixels, k)
    covariance = np.linalg.inv(2 / noise * (seen.conj().T @ seen).real)
    error = np.trace(covariance @ (imaged.conj().T @ imaged).real)
    return np.sqrt(error / np.sum(np.abs(field(pixels, SOURCE, k)) ** 2)), np.sqrt(covariance[4, 4])


for side in (20, 32):
    for frequency_hz in (500, 2000, 4000):
        error, depth_m = bound(side, frequency_hz)
        print(f"{side} x {side}, {frequency_hz} Hz: image {100 * error:.2f} %, depth {1e3 * depth_m:.2f} mm")
