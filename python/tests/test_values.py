"""What NumPy lets pass and is no number, or no pressure: masks, real spectra, integers."""

import pathlib
import re

import numpy as np
import pytest
import xarray as xr
from conftest import CONFIG, PITCH_M, RATE_HZ, STANDOFF_M, monopole, samples_of

import nearfield
from nearfield import _values

pytestmark = pytest.mark.versions

COMMON = {"pitch_m": PITCH_M, "standoff_m": STANDOFF_M, "frequencies_hz": [1000.0], "reference": True,
          "options": {"holography": {"filter": {"cutoff_rad_per_m": 60.0}}}}  # fmt: skip
FILL = 9.96921e36  # netCDF4's


def _masked(field, under):
    hidden = np.zeros(field.shape, bool)
    hidden.reshape(*field.shape[:-2], -1)[..., 27] = True
    values = np.where(hidden, under, field)
    return np.ma.masked_array(values, hidden), np.where(hidden, np.nan, field)


@pytest.mark.parametrize("under", [1e3, FILL])
@pytest.mark.parametrize("imager", [nearfield.pnah, nearfield.sonah])
def test_what_a_mask_hides_is_not_measured(imager, under):
    masked, with_nan = _masked(monopole(1000.0, 0.1, 0.0)[None], under)
    np.testing.assert_array_equal(imager(masked, **COMMON), imager(with_nan, **COMMON))


def test_masks_of_lists_and_of_time_data_count(folder):
    samples = samples_of(monopole(1000.0, 0.1, 0.0), 1000.0, 1200)
    hidden = np.zeros(samples.shape, bool)
    hidden[:, 27] = True
    masked = np.ma.masked_array(np.where(hidden, FILL, samples).astype(np.float32), hidden)
    with_nan = np.where(hidden, np.nan, samples)
    np.testing.assert_array_equal(nearfield.pnah(masked, sample_rate_hz=RATE_HZ, **COMMON),
                                  nearfield.pnah(with_nan, sample_rate_hz=RATE_HZ, **COMMON))  # fmt: skip
    nearfield.write_time_data(folder / "m.h5", masked, RATE_HZ)
    with nearfield.open_capture(folder / "m.h5") as written:
        np.testing.assert_array_equal(written.time_data, with_nan.astype(np.float32))
    assert np.isnan(_values.plain([masked[0], masked[1]])[:, 27]).all()
    assert np.isnan(_values.plain(np.ma.masked_array([1, 2], [False, True]))[1])


def test_real_spectra_are_refused():
    levels = abs(monopole(1000.0, 0.1, 0.0))[None]
    for image in (nearfield.pnah, nearfield.sonah):
        with pytest.raises(TypeError, match="expected complex phasors"):
            image(levels, **COMMON)
    with (
        nearfield.Engine({key: CONFIG[key] for key in ("array", "holography")}, "spectra", channels=64, frequencies_hz=[1000.0], reference=True) as engine,
        pytest.raises(TypeError, match="expected complex phasors"),
    ):
        engine.push(levels)


def test_integers_are_no_pascal(folder):
    counts = (1000 * samples_of(monopole(1000.0, 0.1, 0.0), 1000.0, 1200)).astype(np.int16)
    with pytest.raises(TypeError, match="expected floats in Pa, found int16"):
        nearfield.pnah(counts, sample_rate_hz=RATE_HZ, **COMMON)
    with pytest.raises(TypeError, match="expected floats in Pa, found int16"):
        nearfield.write_time_data(folder / "m.h5", counts, RATE_HZ)
    with pytest.raises(TypeError, match="expected floats in Pa, found int16"):
        nearfield.write_time_data(folder / "m.h5", list(counts), RATE_HZ)
    with pytest.raises(TypeError, match="expected floats in Pa, found int16"):
        nearfield.write_time_data(folder / "m.h5", [tuple(row) for row in counts[:20]], RATE_HZ)
    nearfield.write_time_data(folder / "m.h5", [[1, 2], [3, 4]], RATE_HZ)


def test_the_program_knows_the_same_units_of_pressure():
    source = pathlib.Path(__file__).parents[2] / "src" / "files" / "pressure_units.cpp"
    units = re.findall(r'\{"([^"]+)",\s*([0-9.e-]+)\}', source.read_text())
    assert {unit.encode().decode("unicode_escape"): float(pascal) for unit, pascal in units} == _values.PASCAL_PER_UNIT


def test_units_of_time_data_count(folder):
    samples = xr.DataArray(np.full((4, 2), 1500.0), dims=("sample", "channel"), attrs={"units": "mPa", "sample_rate_hz": RATE_HZ})
    nearfield.write_time_data(folder / "m.h5", samples)
    with nearfield.open_capture(folder / "m.h5") as written:
        np.testing.assert_allclose(written.time_data, 1.5)
    with pytest.raises(ValueError, match="found V"):
        nearfield.write_time_data(folder / "m.h5", samples.assign_attrs(units="V"))
    with pytest.raises(ValueError, match="expected a rate above 0 Hz"):
        nearfield.write_time_data(folder / "m.h5", samples, 0.0)
