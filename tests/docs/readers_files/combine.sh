# Recordings of an array of 8 x 8 microphones at two places before two noises, with three references.
/usr/bin/python3 - <<'PYTHON'
import h5py
import numpy as np
rate_hz, count = 8192.0, 32768
sources_m = np.array([[-0.2, 0.03, -0.03], [0.18, -0.05, -0.03]])
references_m = np.array([[-0.22, 0.08, -0.01], [0.22, -0.1, -0.01], [0.0, 0.15, -0.01]])
y, x = np.meshgrid((np.arange(8) - 3.5) * 0.04, (np.arange(8) - 3.5) * 0.04, indexing="ij")
frequencies_hz = np.fft.rfftfreq(count, 1 / rate_hz)
for seed, (name, at_m) in enumerate({"left": -0.14, "right": 0.14}.items()):
    random = np.random.default_rng(seed)
    noises = np.fft.rfft(random.standard_normal((count, 2)) * [1.0, 0.6], axis=0)
    places_m = [*np.stack([x.ravel() + at_m, y.ravel(), np.full(64, 0.04)], axis=-1), *references_m]
    samples = np.empty((count, len(places_m)), np.float32)
    for i, place_m in enumerate(places_m):
        distances_m = np.linalg.norm(place_m - sources_m, axis=-1)
        samples[:, i] = np.fft.irfft((noises * np.exp(-2j * np.pi / 343 * np.outer(frequencies_hz, distances_m)) / distances_m).sum(axis=1), count)
    samples += 0.001 * samples.std() * random.standard_normal(samples.shape).astype(np.float32)
    with h5py.File(f"{name}.h5", "w") as file:
        file["time_data"] = samples
        file["time_data"].attrs["sample_freq"] = rate_hz
PYTHON
