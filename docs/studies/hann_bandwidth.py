"""What a moving Hann window does to a tone whose amplitude or phase changes: delay and bandwidth, for docs/use/controller.md.

A modulation at f Hz of the tone comes out multiplied by sum w[n] exp(-j 2 pi f n / fs) / sum w[n].
"""
import math

import numpy as np

FS_HZ = 1.5e6 / 32


def response(samples, f_hz):
    n = np.arange(samples)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * n / samples)
    return abs(np.sum(window * np.exp(-2j * np.pi * f_hz * n / FS_HZ))) / np.sum(window)


def edge_hz(samples, fall_db):
    low, high = 0.0, 2 * FS_HZ / samples
    for _ in range(60):
        middle = 0.5 * (low + high)
        if 20 * math.log10(response(samples, middle)) > -fall_db:
            low = middle
        else:
            high = middle
    return low


for samples in (1024, 512, 256, 128):
    delay_s = samples / 2 / FS_HZ
    print(f"| {samples} | {2e3 * delay_s:.2f} ms | {1e3 * delay_s:.2f} ms | {edge_hz(samples, 3):.0f} Hz "
          f"| {edge_hz(samples, 6):.0f} Hz | {1 / (8 * delay_s):.0f} Hz | {2 * FS_HZ / samples:.0f} Hz |")
