"""Images files that tests write with h5py, as docs/reference/images_file.md describes them."""

import numpy as np


def put_axes(group, axes):
    datasets = []
    for name, unit, values in axes:
        data = f"{name}_{unit}" if unit.isalpha() else name
        data = {"frequency": "frequencies_hz", "y": "y_m", "x": "x_m", "z": "planes_m"}.get(name, data)
        datasets.append(data)
        group[data] = np.asarray(values, np.float64)
        group[data].attrs.update({"axis": np.bytes_(name), "unit": np.bytes_(unit)})
    group.attrs["axis_datasets"] = np.bytes_(",".join(datasets))


def describe(group, name, **words):
    group[name].attrs.update({key: np.bytes_(value) for key, value in words.items()})
    others = [group.attrs["products"].decode()] if "products" in group.attrs else []
    group.attrs["products"] = np.bytes_(",".join([*others, name]))


def put_array(group, name, quantity, unit, axes, values):
    if np.iscomplexobj(values):
        group.file.require_group("/")
        if "complex64" not in group.file:
            group.file["complex64"] = np.dtype("<c8")
        data = group.create_dataset(name, values.shape, group.file["complex64"])
        data[...] = values.astype(np.complex64)
    else:
        group[name] = values.astype(np.float32)
    describe(group, name, form="array", quantity=quantity, unit=unit, axes=",".join(axes))
