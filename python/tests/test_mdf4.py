"""MDF4 files; Debian has no asammdf, so that these run with PyPI's alone."""

import asammdf
import numpy as np
import pytest
from conftest import RATE_HZ, monopole, samples_of

import nearfield


def test_mdf4_becomes_time_data(folder):
    samples = samples_of(monopole(1007.08, 0.0, 0.0), 1007.08, 64)
    times_s = np.arange(64) / RATE_HZ
    signals = [asammdf.Signal(samples[:, i], times_s, unit="Pa", name=f"mic{i}") for i in range(3)]
    with asammdf.MDF(version="4.10") as file:
        file.append(signals)
        file.save(folder / "m.mf4", overwrite=True)
    found = nearfield.read_mdf4(folder / "m.mf4", ["mic2", "mic0"])
    np.testing.assert_array_equal(found.values, samples[:, [2, 0]])
    assert found.attrs["sample_rate_hz"] == pytest.approx(RATE_HZ)
    assert nearfield.read_mdf4(folder / "m.mf4").sizes["channel"] == 3
    nearfield.write_time_data(folder / "m.h5", found)
    with nearfield.open_capture(folder / "m.h5") as written:
        np.testing.assert_array_equal(written.time_data, found)
    with pytest.raises(ValueError, match="mic9"):
        nearfield.read_mdf4(folder / "m.mf4", ["mic9"])
    signals[1] = asammdf.Signal(samples[:, 1], times_s, unit="V", name="mic1")
    with asammdf.MDF(version="4.10") as file:
        file.append(signals)
        file.save(folder / "m.mf4", overwrite=True)
    with pytest.raises(ValueError, match="expected Pa, found V"):
        nearfield.read_mdf4(folder / "m.mf4")
