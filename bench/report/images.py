"""Complex images out of a report, and panels of them in a picture."""

import base64

from plots import colours, make_figure, save

INCH = 0.01  # a pixel


def decoded(text):
    """The values of an image: base64 of complex64, little endian."""
    import numpy
    return numpy.frombuffer(base64.b64decode(text), dtype="<c8").astype(complex)


class Sheet:
    """A picture of panels, placed in pixels from its top left."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.figure = make_figure(width * INCH, height * INCH)

    def text(self, x, y, text, size=8, bold=False):
        """`y`: of the text's middle."""
        self.figure.text(x / self.width, 1.0 - y / self.height, text, fontsize=size, fontweight="bold" if bold else "normal",
                         verticalalignment="center")

    def panel(self, x, y, width, height, shares):
        """`shares` [row][column] from 0 to 1, NaN where there is nothing; row 0 is at the top."""
        axes = self.figure.add_axes((x / self.width, 1.0 - (y + height) / self.height, width / self.width, height / self.height))
        axes.imshow(shares, cmap=colours(), vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    def scale(self, x, y, low, high):
        """The colours, with what their ends stand for."""
        import numpy
        self.figure.text(x / self.width, 1.0 - y / self.height, low, fontsize=8, verticalalignment="center",
                         horizontalalignment="right")
        self.panel(x + 8, y - 5, 120, 10, numpy.linspace(0.0, 1.0, 120)[numpy.newaxis, :])
        self.text(x + 136, y, high)

    def write(self, path):
        save(self.figure, path)
