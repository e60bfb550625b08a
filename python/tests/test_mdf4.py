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
    with pytest.raises(ValueError, match="mic1: expected Pa.*found the unit V"):
        nearfield.read_mdf4(folder / "m.mf4")


def _read(folder, values, times_s, unit="Pa", names=("mic0", "mic1"), invalid=None, **options):
    signals = [asammdf.Signal(values, times_s, unit=unit, name=name, invalidation_bits=invalid) for name in names]
    with asammdf.MDF(version="4.10") as file:
        for signal in signals:
            file.append([signal])
        file.save(folder / "u.mf4", overwrite=True)
    return nearfield.read_mdf4(folder / "u.mf4", **options)


@pytest.mark.parametrize(("unit", "pascal"), [("Pascal", 1.0), ("mPa", 1e-3), ("N/m^2", 1.0), ("kPa", 1e3), ("hPa", 1e2)])
def test_units_of_pressure_are_known(folder, unit, pascal):
    found = _read(folder, np.full(64, 2.5), np.arange(64) / RATE_HZ, unit)
    np.testing.assert_allclose(found.values, 2.5 * pascal, rtol=1e-6)
    with pytest.raises(ValueError, match="expected none beside"):
        _read(folder, np.full(64, 2.5), np.arange(64) / RATE_HZ, unit, pascal_per_unit=20.0)


def test_no_unit_is_taken_as_pascal(folder):
    times_s = np.arange(64) / RATE_HZ
    with pytest.raises(ValueError, match="or pascal_per_unit, found no unit"):
        _read(folder, np.full(64, 2.5), times_s, "")
    np.testing.assert_allclose(_read(folder, np.full(64, 2.5), times_s, "V", pascal_per_unit=20.0), 50.0)
    # Integers are fractions of full scale, as those of WAV files are.
    np.testing.assert_allclose(_read(folder, np.full(64, 16384, np.int16), times_s, "", pascal_per_unit=20.0), 10.0)
    np.testing.assert_allclose(_read(folder, np.full(64, 64, np.uint8), times_s, "", pascal_per_unit=20.0), -10.0)


@pytest.mark.parametrize("step_s", [1e-6, 1e-7])
@pytest.mark.parametrize("start_s", [0.0, 1000.0, 1.7e9])
def test_rounded_and_absolute_stamps_are_even(folder, step_s, start_s):
    times_s = start_s + np.round(np.arange(51200) / 51200.0 / step_s) * step_s
    assert _read(folder, np.zeros(51200), times_s).attrs["sample_rate_hz"] == pytest.approx(51200.0, rel=2e-6)
    without_one = np.delete(times_s, 17)
    with pytest.raises(ValueError, match="expected samples at even times"):
        _read(folder, np.zeros(51199), without_one)


def test_invalid_samples_are_nan(folder):
    invalid = np.arange(64) == 5
    found = _read(folder, np.full(64, 2.5), np.arange(64) / RATE_HZ, invalid=invalid)
    np.testing.assert_array_equal(np.isnan(found[:, 0]), invalid)


def test_channels_of_one_name_are_refused(folder):
    with pytest.raises(ValueError, match="mic0: expected one channel of this name, found 2"):
        _read(folder, np.zeros(64), np.arange(64) / RATE_HZ, names=("mic0", "mic0"))
