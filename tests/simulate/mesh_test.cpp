#include "simulate/mesh/mesh.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>
#include <set>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "simulate/scene.hpp"
#include "simulate/temporary_folder.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::TemporaryFolder;
using ::testing::HasSubstr;

constexpr double kRadius = 0.05;

/// A disc at z = 0 as a fan of so many triangles, its area made that of the disc.
std::vector<Triangle> disc(int pieces, double velocity_m_s) {
  const double step = 2 * std::numbers::pi / pieces;
  const double radius = kRadius * std::sqrt(step / std::sin(step));
  std::vector<Triangle> triangles;
  for (int i = 0; i < pieces; ++i) {
    triangles.push_back({{0, 0, 0},
                         {radius * std::cos(i * step), radius * std::sin(i * step), 0},
                         {radius * std::cos((i + 1) * step), radius * std::sin((i + 1) * step), 0},
                         velocity_m_s});
  }
  return triangles;
}

std::vector<Point> places_before() {
  std::vector<Point> places;
  for (int i = 0; i < 64; ++i) {
    const int row = i / 8;
    places.push_back({0.02 * (i % 8 - 3.5), 0.02 * (row - 3.5), 0.03});
  }
  return places;
}

double relative_error(const std::vector<Monopole>& points, double weight, const Tonal& tonal) {
  double error = 0.0;
  double power = 0.0;
  for (const Point& place : places_before()) {
    Complex found = 0.0;
    for (const Monopole& point : points) {
      found += weight * monopole_field(point, tonal, place).pressure_pa;
    }
    const Complex expected = piston_field({0, 0, kRadius, 0.01}, tonal, place).pressure_pa;
    error += std::norm(found - expected);
    power += std::norm(expected);
  }
  return std::sqrt(error / power);
}

// Each elementary rectangle of area 2^-m holds exactly one of the first 2^m points, scrambled or not.
TEST(ScrambledSobol, IsANet) {
  constexpr unsigned kM = 8;
  for (std::uint64_t scramble = 0; scramble < 8; ++scramble) {
    const ScrambledSobol sobol(3, scramble);
    for (unsigned first = 0; first <= kM; ++first) {
      std::set<std::pair<int, int>> cells;
      for (std::uint32_t i = 0; i < (1U << kM); ++i) {
        const auto point = sobol.point(i);
        cells.insert({static_cast<int>(std::ldexp(point[0], static_cast<int>(first))),
                      static_cast<int>(std::ldexp(point[1], static_cast<int>(kM - first)))});
      }
      EXPECT_EQ(cells.size(), 1U << kM) << first;
    }
  }
}

TEST(ScrambledSobol, ScramblesDiffer) {
  EXPECT_NE(ScrambledSobol(3, 0).point(5), ScrambledSobol(3, 1).point(5));
  EXPECT_NE(ScrambledSobol(3, 0).point(5), ScrambledSobol(4, 0).point(5));
  EXPECT_EQ(ScrambledSobol(3, 0).point(5), ScrambledSobol(3, 0).point(5));
}

// A baffled disc at 2 kHz, 3 cm before it, against Schoch's line integral. 256 points of one scramble do far better
// than 256 random ones; the mean of the 8 scrambles of the mesh, of 4096 points each, reaches the fan's own error.
TEST(Mesh, ADiscIsAPiston) {
  const Tonal tonal{2000.0, {}};
  const Mesh few = make_mesh("disc", disc(360, 0.01), {}, 256, true, 1);
  double sobol = 0.0;
  for (std::size_t i = 0; i < Mesh::kScrambles; ++i) {
    const std::vector<Monopole> part(few.points.begin() + static_cast<std::ptrdiff_t>(256 * i),
                                     few.points.begin() + static_cast<std::ptrdiff_t>(256 * (i + 1)));
    sobol += std::pow(relative_error(part, Mesh::kScrambles, tonal), 2) / Mesh::kScrambles;
  }
  RandomStream random(1, 1);
  double monte_carlo = 0.0;
  for (int draw = 0; draw < 8; ++draw) {
    std::vector<Monopole> part;
    for (int i = 0; i < 256; ++i) {
      const double r = kRadius * std::sqrt((random.uniform() + 1) / 2);
      const double angle = std::numbers::pi * random.uniform();
      part.push_back(
          {{r * std::cos(angle), r * std::sin(angle), 0}, 0.01 * std::numbers::pi * kRadius * kRadius / 256, true});
    }
    monte_carlo += std::pow(relative_error(part, 1.0, tonal), 2) / 8;
  }
  RecordProperty("sobol_256", std::to_string(std::sqrt(sobol)));
  RecordProperty("monte_carlo_256", std::to_string(std::sqrt(monte_carlo)));
  EXPECT_LT(std::sqrt(sobol), std::sqrt(monte_carlo) / 8);
  const Mesh many = make_mesh("disc", disc(360, 0.01), {}, 4096, true, 1);
  EXPECT_LT(relative_error(many.points, 1.0, tonal), 2e-4);
}

// The standard error that the scrambles tell is the true one, within what eight of them can tell.
TEST(Mesh, TellsItsError) {
  const Tonal tonal{2000.0, {}};
  double told = 0.0;
  double found = 0.0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Mesh mesh = make_mesh("disc", disc(360, 0.01), {}, 128, true, seed);
    told += std::pow(mesh_error(mesh, tonal, places_before()), 2);
    found += std::pow(relative_error(mesh.points, 1.0, tonal), 2);
  }
  EXPECT_GT(std::sqrt(told / found), 0.6);
  EXPECT_LT(std::sqrt(told / found), 1.6);
}

TEST(Mesh, HasItsPlaceAndItsSize) {
  const Mesh mesh = make_mesh("disc", disc(32, 0.01), {0.1, -0.2, -0.3}, 64, false, 1);
  EXPECT_EQ(mesh.points.size(), 512U);
  EXPECT_NEAR(mesh.centre.x_m, 0.1, 1e-12);
  EXPECT_NEAR(mesh.centre.z_m, -0.3, 1e-12);
  EXPECT_NEAR(mesh.high.z_m, -0.3, 1e-12);
  Complex volume = 0.0;
  for (const Monopole& point : mesh.points) {
    volume += point.volume_velocity_m3_s;
    EXPECT_NEAR(point.position.z_m, -0.3, 1e-12);
  }
  EXPECT_NEAR(volume.real(), 0.01 * std::numbers::pi * kRadius * kRadius, 1e-12);
  EXPECT_NEAR(mesh.spacing_m, std::sqrt(std::numbers::pi / 64) * kRadius, 1e-12);
  EXPECT_TRUE(std::isnan(mesh_field(mesh, {500.0, {}}, {0.1, -0.2, -0.29}).pressure_pa.real()));
  EXPECT_FALSE(std::isnan(mesh_field(mesh, {500.0, {}}, {0, 0, 0}).pressure_pa.real()));
}

std::string binary_stl(const std::vector<Triangle>& triangles) {
  std::string text(80, ' ');
  const auto append = [&](const auto& value) {
    text.append(reinterpret_cast<const char*>(&value),
                sizeof(value));  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  };
  append(static_cast<std::uint32_t>(triangles.size()));
  for (const Triangle& triangle : triangles) {
    for (const Point& point : {Point{}, triangle.a, triangle.b, triangle.c}) {
      append(static_cast<float>(point.x_m));
      append(static_cast<float>(point.y_m));
      append(static_cast<float>(point.z_m));
    }
    append(std::uint16_t{0});
  }
  return text;
}

void put(const std::filesystem::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

TEST(MeshFile, BinaryAndTextAndCsvAreTheSame) {
  const TemporaryFolder folder;
  put(folder / "b.stl", binary_stl({{{1, 2, 0}, {3, 2, 0}, {1, 4, -1}, 0.0}, {{1, 2, 0}, {1, 2, 0}, {1, 4, -1}, 0.0}}));
  put(folder / "t.stl",
      "solid x\nfacet normal 0 0 1\nouter loop\nvertex 1 2 0\nvertex 3 2 0\nvertex 1 4 "
      "-1\nendloop\nendfacet\nendsolid\n");
  put(folder / "c.csv",
      "x1_m,y1_m,z1_m,x2_m,y2_m,z2_m,x3_m,y3_m,z3_m,velocity_m_s,phase_rad\n# one\n"
      "1, 2, 0, 3, 2, 0, 1, 4, -1, 0.5, 1.5\n");
  const Complex velocity = std::polar(0.5, 1.5);
  for (const std::vector<Triangle>& found :
       {read_stl(folder / "b.stl", 0.001, velocity), read_stl(folder / "t.stl", 0.001, velocity),
        read_triangles(folder / "c.csv", 0.001)}) {
    ASSERT_EQ(found.size(), 1U) << "a piece without an area is none";
    EXPECT_DOUBLE_EQ(found[0].b.x_m, 0.003);
    EXPECT_DOUBLE_EQ(found[0].c.y_m, 0.004);
    EXPECT_DOUBLE_EQ(found[0].c.z_m, -0.001);
    EXPECT_LT(std::abs(found[0].velocity_m_s - velocity), 1e-15);
  }
}

TEST(MeshFile, RefusesWhatIsNone) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& name, const std::string& text) -> std::string {
    put(folder / name, text);
    try {
      (void)(name.back() == 'v' ? read_triangles(folder / name, 1.0) : read_stl(folder / name, 1.0, 1.0));
    } catch (const DataError& error) {
      return error.what();
    }
    return "no refusal";
  };
  EXPECT_THAT(refusal("a.stl", "no mesh"), HasSubstr("expected STL, 84 bytes and 50 a triangle"));
  EXPECT_THAT(refusal("a.stl", binary_stl(disc(3, 0.0)) + "x"), HasSubstr("expected STL"));
  EXPECT_THAT(refusal("a.stl", binary_stl({})), HasSubstr("expected triangles with an area, found none"));
  EXPECT_THAT(refusal("a.stl", "solid\nvertex 1 2 0\nvertex 1 x 0\n"),
              HasSubstr("expected three numbers after vertex"));
  EXPECT_THAT(refusal("a.stl", "solid\nvertex 1 2 0\nvertex 1 3 0\n"),
              HasSubstr("expected three corners a triangle, found 2"));
  EXPECT_THAT(refusal("a.stl", "solid\nvertex 1 2 0\nvertex 1 3 0\nvertex 1 3e9 0\n"),
              HasSubstr("expected corners within"));
  EXPECT_THAT(refusal("a.csv", "1,2,3\n"), HasSubstr("a.csv:1: expected three corners"));
  EXPECT_THAT(refusal("a.csv", "0,0,0,1,0,0,0,1,nan,1\n"), HasSubstr("a.csv:1: expected three corners"));
  EXPECT_THAT(refusal("a.csv", ""), HasSubstr("found none"));
  EXPECT_THROW((void)read_stl(folder / "none.stl", 1.0, 1.0), NoInputError);
}

std::string scene_with(const std::string& source) {
  return "version: 1\narray: {rows: 3, columns: 3}\nstandoff_m: 0.05\nsources:\n  - {kind: mesh, frequency_hz: 1000, " +
         source + "}\n";
}

TEST(LoadScene, Meshes) {
  const TemporaryFolder folder;
  put(folder / "disc.stl", binary_stl(disc(64, 0.0)));
  put(folder / "scene.yaml", scene_with("file: disc.stl, velocity_m_s: 0.01, points: 1024, baffled: true"));
  const Scene scene = load_scene(folder / "scene.yaml");
  const Truth truth = truth_of(scene);
  for (std::size_t i = 0; i < 9; ++i) {
    const Complex expected =
        piston_field({0, 0, kRadius, 0.01}, {1000.0, scene.medium}, microphones_of(scene)[i]).pressure_pa;
    EXPECT_LT(std::abs(Complex(truth.aperture_pressure[i]) - expected), 2e-3 * std::abs(expected));
    EXPECT_TRUE(std::isnan(truth.pressure[i].real())) << "at z = 0, on the mesh and just beside it";
  }
  EXPECT_EQ(truth.sources->names, "mesh 1000 Hz");
  const SimulationReport report = simulate_capture(scene, folder / "c.h5");
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_THAT(report.notes[0], HasSubstr("disc.stl at 1000 Hz: 8 x 1024 points, standard error 0.0"));
}

// A rigid wall behind a small mesh: the field of the mesh and of its mirror image, here made by hand.
TEST(TruthOf, AMeshIsMirroredByWalls) {
  Scene scene;
  scene.measurement = {{2, 3, 0.1, 0.1}, 0.05, 0.0};
  const std::vector<Triangle> triangles = disc(16, 0.01);
  scene.tones = {{800.0, make_mesh("disc", triangles, {0.1, 0, -0.3}, 256, false, 1)}};
  const std::vector<std::complex<float>> free = aperture_pressure_of(scene);
  scene.room.walls[2][0] = Wall{-0.5, 1.0};
  const std::vector<std::complex<float>> found = aperture_pressure_of(scene);
  scene.room = {};
  scene.tones = {{800.0, make_mesh("disc", triangles, {0.1, 0, -0.7}, 256, false, 1)}};
  const std::vector<std::complex<float>> image = aperture_pressure_of(scene);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Complex expected = Complex(free[i]) + Complex(image[i]);
    EXPECT_LT(std::abs(Complex(found[i]) - expected), 1e-6 * std::abs(expected));
  }
}

TEST(LoadScene, RefusesWrongMeshes) {
  const TemporaryFolder folder;
  put(folder / "disc.stl", binary_stl(disc(64, 0.0)));
  put(folder / "a.csv", "0,0,0,1,0,0,0,1,0,1\n");
  const auto refusal = [&](const std::string& source) -> std::string {
    put(folder / "scene.yaml", scene_with(source));
    try {
      (void)load_scene(folder / "scene.yaml");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no refusal";
  };
  EXPECT_THAT(refusal("velocity_m_s: 1"), HasSubstr("sources[0].file: expected the path of an STL or CSV file"));
  EXPECT_THAT(refusal("file: disc.stl"), HasSubstr("sources[0].velocity_m_s"));
  EXPECT_THAT(refusal("file: a.csv, velocity_m_s: 1"), HasSubstr("no velocity beside a CSV file"));
  EXPECT_THAT(refusal("file: disc.stl, velocity_m_s: 1, points: 1000"),
              HasSubstr("sources[0].points: expected a power of two"));
  EXPECT_THAT(refusal("file: disc.stl, velocity_m_s: 1, scale: 100, points: 64"),
              HasSubstr("more points for microphones so near"));
  EXPECT_THAT(refusal("file: disc.stl, velocity_m_s: 1, path: [{t_s: 0, x_m: 0, y_m: 0, z_m: -1}]"),
              HasSubstr("a path of monopoles, noise and recordings alone"));
}

}  // namespace
}  // namespace nearfield
