"""Many arrays at a site: where they stand, what several of them see, and one page that shows all (docs/use/site.md)."""

from nearfield.site.places import Place, Site, rotation_of
from nearfield.site.triangulation import Position, Ray, TriangulationError, locate, triangulate

__all__ = ["Place", "Position", "Ray", "Site", "TriangulationError", "locate", "rotation_of", "triangulate"]
