"""How probable a measured field is under sonah's priors and under the prediction from neighbours that pnah continues it by: a choice between the two
imagers that needs no truth. Criteria are Schwarz's, in nepers, the least is the most probable: those of docs/how/sonah.md, without its waves and points.
"""

import functools

import numpy as np
from common import SOUND_SPEED_M_S
from fields import places_m, sides_m
from scipy.special import j0

NOISES = 1e-7 * 1.5 ** np.arange(48)  # over the field's power
ORDERS = (1, 2, 3, 4, 6, 8)


def _criterion(powers, values, parameters):
    """min over n of sum ln(w + n) + N ln t, t the mean of |y|^2 / (w + n), and half ln 2N for each real parameter."""
    variances = np.maximum(powers, 0.0)[:, None] + NOISES
    scales = np.mean(np.abs(values[:, None]) ** 2 / variances, axis=0)
    return np.min(np.sum(np.log(variances), axis=0) + len(values) * np.log(scales)) + 0.5 * np.log(2.0 * len(values)) * parameters


# --- sonah's priors ---------------------------------------------------------------------------------------------------

PRIORS = {"layer": lambda decay, kz, kr, zh, least: np.exp(-2.0 * decay * zh) / (np.abs(kz) ** 2 + least**2),
          "deep_layer": lambda decay, kz, kr, zh, least: np.exp(-4.0 * decay * zh) / (np.abs(kz) ** 2 + least**2),
          "patches": lambda decay, kz, kr, zh, least: np.exp(-((0.85 * zh * decay) ** 2)),
          "bending_waves": lambda decay, kz, kr, zh, least: np.exp(-0.5 * ((kr * zh - 1.7) / 0.5) ** 2),
          "short_bending_waves": lambda decay, kz, kr, zh, least: np.exp(-0.5 * ((kr * zh - 2.0) / 0.4) ** 2)}
LEAST_BENDING_PITCH = 0.8  # over the standoff


@functools.lru_cache(maxsize=4)
def _modes(array, frequency_hz, standoff_m):
    """Eigenvalues and eigenvectors of the microphones' covariance under each prior. `array`: the settings as pairs."""
    (x, y), k = places_m(dict(array)), 2.0 * np.pi * frequency_hz / SOUND_SPEED_M_S
    squares, which = np.unique(np.round((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2, 9), return_inverse=True)
    distances, side_m = np.sqrt(squares), np.sqrt(np.prod(sides_m(dict(array))))
    # Inside the radiation circle over the angle, outside over the decay: kr dkr = k^2 sin cos da = decay ddecay.
    node, weight = np.polynomial.legendre.leggauss(60 + int(k * distances[-1]))
    angle = (node + 1.0) * np.pi / 4.0
    most = 7.5 / standoff_m  # a decay of 65 dB from the surface to the microphones
    outer, outer_weight = np.polynomial.legendre.leggauss(200 + int(most * distances[-1]))
    decay = np.concatenate([0.0 * angle, (outer + 1.0) / 2.0 * most])
    kr = np.concatenate([k * np.sin(angle), np.hypot(k, decay[len(angle):])])
    kz = np.concatenate([k * np.cos(angle), decay[len(angle):]])
    area = np.concatenate([weight * np.pi / 4.0 * k * k * np.sin(angle) * np.cos(angle), outer_weight / 2.0 * most * decay[len(angle):]])
    bessel = j0(np.outer(distances, kr))
    has_bending = max(dict(array)["pitch_x_m"], dict(array)["pitch_y_m"]) >= LEAST_BENDING_PITCH * standoff_m
    modes = []
    for density in (density for name, density in PRIORS.items() if has_bending or "bending" not in name):
        covariance = bessel @ (area * density(decay, kz, kr, standoff_m, 0.3 * k + 2.0 * np.pi / side_m) * np.exp(-2.0 * decay * standoff_m))
        modes.append(np.linalg.eigh((covariance / covariance[0])[which].reshape(len(x), len(x))))
    return modes


def of_priors(field, frequency, pressures):
    """The least criterion of the priors."""
    modes = _modes(tuple(field.array.items()), field.frequencies_hz[frequency], field.standoff_m)
    return min(_criterion(powers, vectors.T @ pressures, 0) for powers, vectors in modes)


# --- prediction -------------------------------------------------------------------------------------------------------

def predictor(lines, order):
    """Burg's, pooled over lines, with pnah's floor."""
    forward, backward, coefficients = lines[:, 1:], lines[:, :-1], np.ones(1, complex)
    floor = 3e-4 * np.sum(np.abs(forward) ** 2 + np.abs(backward) ** 2)
    for _ in range(order):
        reflection = -2.0 * np.sum(forward * backward.conj()) / (np.sum(np.abs(forward) ** 2 + np.abs(backward) ** 2) + floor)
        forward, backward = (forward + reflection * backward)[:, 1:], (backward + reflection.conj() * forward)[:, :-1]
        coefficients = np.append(coefficients, 0.0) + reflection * np.append(coefficients, 0.0)[::-1].conj()
    return coefficients


def _predicted_modes(lines, order):
    """Eigenvalues and eigenvectors of the covariance along lines of a field that a predictor continues for ever."""
    count = lines.shape[1]
    covariance = np.fft.ifft(1.0 / np.abs(np.fft.fft(predictor(lines, order), 4096)) ** 2)
    lags = np.subtract.outer(np.arange(count), np.arange(count))
    return np.linalg.eigh((covariance / covariance[0].real)[lags])


def of_prediction(pressures):
    """The least criterion over orders of the predictors along rows and columns. `pressures` [row][column]."""
    found = []
    for order in (one for one in ORDERS if one <= min(pressures.shape) - 2):
        (along_x, x), (along_y, y) = _predicted_modes(pressures, order), _predicted_modes(pressures.T, order)
        found.append(_criterion(np.outer(along_y, along_x).ravel(), (y.conj().T @ pressures @ x.conj()).ravel(), 4 * order))
    return min(found)


def nepers(field, frame):
    """How much more probable the prediction is than the priors, at each frequency."""
    return [of_priors(field, f, pressures.astype(complex)) - of_prediction(pressures.astype(complex).reshape(field.shape))
            for f, pressures in enumerate(frame)]
