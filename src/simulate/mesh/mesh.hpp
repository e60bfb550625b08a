#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "simulate/fields.hpp"

namespace nearfield {

/// A flat piece of a vibrating surface.
struct Triangle {
  Point a, b, c;
  std::complex<double> velocity_m_s;  ///< normal to it, peak
};

/// Triangles of a binary or ASCII STL file, all of one velocity, places times `scale`; or of a CSV file with the
/// columns x1_m, y1_m, z1_m, x2_m, ... z3_m, velocity_m_s and, if any, phase_rad, in this order, an optional line of
/// names and comments from # on. Pieces without an area are left out. Throws NoInputError when the file cannot be read,
/// and DataError with place, found and expected.
std::vector<Triangle> read_stl(const std::filesystem::path& path, double scale, std::complex<double> velocity_m_s);
std::vector<Triangle> read_triangles(const std::filesystem::path& path, double scale);

/// A surface of triangles as point sources of volume velocity v dS on scrambled Sobol points, equally many per area:
/// p = sum j w rho Q e^{-jkr}/(4 pi r), twice that in a rigid baffle at z = 0 (Rayleigh's integral, exact for plane
/// surfaces on it). Of free surfaces it is what such sources radiate into free space: diffraction around a body is not
/// there.
struct Mesh {
  static constexpr std::size_t kScrambles = 8;

  std::string name;              ///< of the file
  std::vector<Monopole> points;  ///< [scramble][point], of a kScrambles-th of the volume velocity each
  Point centre{};                ///< of area
  Point low{};                   ///< of the box around it, least x, y and z
  Point high{};
  double spacing_m = 0.0;  ///< sqrt(area / points of a scramble): nearer than twice that the sum is no field
};

/// `points` a scramble, a power of two.
Mesh make_mesh(const std::string& name, const std::vector<Triangle>& triangles, const Point& place,
               std::uint32_t points, bool baffled, std::uint64_t seed);

/// NaN in the box around the mesh and nearer than twice the spacing to it.
FieldValue mesh_field(const Mesh& mesh, const Tonal& tonal, const Point& point);

/// Standard error of the field's pressure at `places` over that pressure, both rms over the places, from the scatter of
/// the scrambles.
double mesh_error(const Mesh& mesh, const Tonal& tonal, const std::vector<Point>& places);

}  // namespace nearfield
