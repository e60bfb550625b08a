#pragma once
#include <array>
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
  std::complex<double> velocity_m_s;  ///< normal velocity, peak
};

/// Triangles of a binary or ASCII STL file, all of one velocity, coordinates times `scale`; or of a CSV file with the
/// columns x1_m, y1_m, z1_m, x2_m, ... z3_m, velocity_m_s and, if any, phase_rad, in this order, an optional line of
/// names and comments from # on. Triangles without area are left out. Throws NoInputError when the file cannot be read,
/// and DataError with place, found and expected.
std::vector<Triangle> read_stl(const std::filesystem::path& path, double scale, std::complex<double> velocity_m_s);
std::vector<Triangle> read_triangles(const std::filesystem::path& path, double scale);

/// A surface of triangles as point sources of volume velocity v dS on scrambled Sobol points, equally many per area:
/// p = sum j w rho Q e^{-jkr}/(4 pi r), twice that in a rigid baffle at z = 0 (Rayleigh's integral, exact for plane
/// surfaces on it). For free surfaces it is the radiation of such sources into free space: diffraction around a body is
/// not modelled.
struct Mesh {
  static constexpr std::size_t kScrambles = 8;

  std::string name;              ///< name of the file
  std::vector<Monopole> points;  ///< [scramble][point], each with a kScrambles-th of the volume velocity
  Point centre{};                ///< centroid of the area
  Point low{};                   ///< lower corner of the bounding box, least x, y and z
  Point high{};
  double spacing_m = 0.0;  ///< sqrt(area / points of a scramble): nearer than twice that the sum is not a valid field
};

/// `points` is the number per scramble, a power of two.
Mesh make_mesh(const std::string& name, const std::vector<Triangle>& triangles, const Point& place,
               std::uint32_t points, bool baffled, std::uint64_t seed);

/// NaN in the mesh's bounding box and nearer than twice the spacing to it.
FieldValue mesh_field(const Mesh& mesh, const Tonal& tonal, const Point& point);

/// Standard error of the field's pressure at `places` over that pressure, both rms over the places, from the scatter of
/// the scrambles.
double mesh_error(const Mesh& mesh, const Tonal& tonal, const std::vector<Point>& places);

/// Points of Sobol's sequence in the unit square (I. M. Sobol', USSR Comput. Math. Math. Phys. 7, 1967; P. Bratley,
/// B. L. Fox, ACM Trans. Math. Softw. 14, 1988): of its first 2^m points each elementary rectangle of area 2^-m holds
/// exactly one, up to m = 32. Scrambled by nested random permutations of digits (A. B. Owen, "Randomly permuted
/// (t,m,s)-nets and (t,s)-sequences", 1995), which preserve this and make each point uniform: means over different
/// scrambles are independent, and their scatter is the error.
class ScrambledSobol {
 public:
  ScrambledSobol(std::uint64_t seed, std::uint64_t scramble) : seed_(seed), scramble_(scramble) {}

  /// Point number `index`, each coordinate in [0, 1).
  [[nodiscard]] std::array<double, 2> point(std::uint32_t index) const;

 private:
  std::uint64_t seed_;
  std::uint64_t scramble_;
};

}  // namespace nearfield
