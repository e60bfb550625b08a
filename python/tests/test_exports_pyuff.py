"""Universal files as pyuff reads them; Debian has no pyuff, so that these run with PyPI's alone."""

import h5py
import numpy as np
import pyuff

from nearfield.exports import export


def test_pyuff_reads_the_same_values(images, tmp_path):
    (path,) = export(images, tmp_path / "all.uff", frames=2)
    file = pyuff.UFF(str(path))
    assert list(file.get_set_types()) == [151, 164, 15] + [58] * 128
    program, units, nodes, *functions = file.read_sets()
    assert (program["db_app"].strip(), units["units_description"].strip(), units["length"]) == ("Nearfield", "SI: Meter (newton)", 1.0)
    with h5py.File(images) as truth:
        values, x_m, y_m = truth["images"][:2, 0, 0].reshape(-1), truth["x_m"][:], truth["y_m"][:]
    np.testing.assert_allclose(nodes["x"], np.tile(x_m, 8), rtol=5e-6)  # six digits
    np.testing.assert_allclose(nodes["y"], np.repeat(y_m, 8), rtol=5e-6)
    assert {function["func_type"] for function in functions} == {12}
    assert [(function["load_case_id"], function["rsp_node"]) for function in functions] == [(f, n) for f in (0, 1) for n in range(1, 65)]
    np.testing.assert_array_equal([function["data"][0] for function in functions], values)
    np.testing.assert_allclose([function["x"][0] for function in functions], 1007.08, rtol=1e-6)
