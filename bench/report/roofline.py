"""Operations a second over operations a byte, under the two roofs that were measured."""

from plots import Axis, Series, write_plot

GIGA = 1e-9
ROOM = 2.0  # the roofs are drawn over the stages' intensities and this factor beyond


def device_note(report):
    return f"{report['device']['name']}, driver {report['device']['driver']}"


def add_point(series, stage):
    """A stage's point; nothing where its bytes or operations are not known."""
    if stage["bytes"] > 0.0 and stage["operations"] > 0.0:
        series.add(stage["operations"] / stage["bytes"], stage["operations"] / stage["device_s"]["median"] * GIGA)


def write_roofline(path, title, report, stages, notes=()):
    copy, operations = report["ceilings"]["copy_bytes_per_s"], report["ceilings"]["operations_per_s"]
    corner = operations / copy
    intensities = [corner] + [x for series in stages for x in series.x]
    roof = Series("roof: copy, multiply-adds", markers=False)
    for intensity in (min(intensities) / ROOM, corner, max(intensities) * ROOM):
        roof.add(intensity, min(intensity * copy, operations) * GIGA)
    write_plot(path, title, Axis("operations a byte", logarithmic=True), Axis("operations a second [10⁹/s]", logarithmic=True),
               [roof] + stages,
               [device_note(report), "Bytes and operations of the plan, a stage's input and output once; roofs as measured.", *notes])
