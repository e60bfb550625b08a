#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>

#include "imaging/eight_cases.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/operators/operators.hpp"
#include "imaging/shared/image_surface.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// Operators of microphones and images at any places.
namespace nearfield {
namespace {

using test::Complex;
using test::DeviceImages;

constexpr double kStandoff_m = 0.03;

ImageSurface points_of(const std::vector<Eigen::Vector3d>& places_m, const std::vector<Eigen::Vector3d>& normals) {
  return {.rows = 1,
          .columns = static_cast<int>(places_m.size()),
          .places_m = places_m,
          .normals = normals,
          .is_points = true};
}

/// Of microphones at places on the axes of images.
ArrayGeometry irregular(const std::vector<Eigen::Vector3d>& places_m) {
  std::vector<MicrophonePosition> positions;
  for (const Eigen::Vector3d& place : places_m) {
    positions.push_back({place.x(), place.y(), place.z() - kStandoff_m});
  }
  return irregular_geometry_of(positions);
}

// E6. 700 of 32 x 32 microphones, each up to 5 mm beside its place on the grid, which is known: at most 1.3 times the
// error of sonah with all of them on the grid.
TEST(OperatorsAtAnyPlaces, TheEightCasesByAnIrregularArray) {
  ImagePlan all;
  all.geometry = {.rows = 32, .columns = 32, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  all.holography.imager = ImagerKind::kSonah;
  all.frequencies_hz = test::kThreeFrequencies;
  all.cutoff_rad_per_m.assign(3, 70.0);
  std::mt19937 generator(21U);
  std::vector<int> kept(1024);
  for (int i = 0; i < 1024; ++i) {
    kept[static_cast<std::size_t>(i)] = i;
  }
  std::shuffle(kept.begin(), kept.end(), generator);
  kept.resize(700);
  std::uniform_real_distribution<double> offset_m(-0.005, 0.005);
  std::vector<Eigen::Vector3d> places_m;
  for (const int channel : kept) {
    const MicrophonePosition at = all.geometry.position_m(channel);
    places_m.emplace_back(at.x_m + offset_m(generator), at.y_m + offset_m(generator),
                          kStandoff_m + offset_m(generator));
  }
  ImagePlan some = all;
  some.holography.imager = ImagerKind::kOperators;
  some.geometry = irregular(places_m);
  std::vector<Eigen::Vector3d> pixels;
  for (int channel = 0; channel < 1024; ++channel) {
    pixels.emplace_back(all.geometry.position_m(channel).x_m, all.geometry.position_m(channel).y_m, 0.0);
  }
  some.surface = std::make_shared<const ImageSurface>(
      points_of(pixels, std::vector<Eigen::Vector3d>(pixels.size(), Eigen::Vector3d(0.0, 0.0, 1.0))));
  constexpr double kSnr_db = 40.0;
  std::vector<Complex> spectra;
  for (std::size_t i = 0; i < test::kCases; ++i) {
    const double k = some.wavenumber(i % 3);
    std::vector<Complex> field;
    if (i < 6) {
      field = test::monopole_field(i < 3 ? test::Monopole{.x_m = 0.013, .y_m = -0.021, .z_m = -0.03}
                                         : test::Monopole{.x_m = 0.26, .y_m = 0.19, .z_m = -0.03},
                                   k, some.geometry, kStandoff_m);
    } else {
      for (const Eigen::Vector3d& place : places_m) {
        field.push_back(test::pattern(k, place.x(), place.y(), place.z()));
      }
    }
    test::add_noise(field, kSnr_db, generator);
    spectra.insert(spectra.end(), field.begin(), field.end());
  }
  const auto mean = [&](const ImagePlan& plan, const std::vector<Complex>& measured) {
    const std::unique_ptr<Imager> imager = make_imager(test::device(), plan);
    double sum = 0.0;
    for (const double error : test::case_errors(test::image_cases(*imager, measured).images, 1, all)) {
      sum += error / static_cast<double>(test::kCases);
    }
    return sum;
  };
  const double regular = mean(all, test::noisy_cases(kSnr_db, all, generator));
  const double found = mean(some, spectra);
  std::printf("E6, %.0f dB: mean error %.2f %% of 700 irregular microphones, %.2f %% of sonah with all\n", kSnr_db,
              100.0 * found, 100.0 * regular);
  EXPECT_LE(found, 1.3 * regular);
}

/// Evenly over a sphere of radius 1: the golden spiral.
std::vector<Eigen::Vector3d> directions(int count) {
  std::vector<Eigen::Vector3d> found;
  for (int i = 0; i < count; ++i) {
    const double z = 1.0 - (2.0 * i + 1.0) / count;
    const double angle = std::numbers::pi * (3.0 - std::sqrt(5.0)) * i;
    const double r = std::sqrt(1.0 - z * z);
    found.emplace_back(r * std::cos(angle), r * std::sin(angle), z);
  }
  return found;
}

/// h_n of the second kind, for waves that go out with e^{+jwt}.
Complex hankel(int n, double x) {
  return {std::sph_bessel(static_cast<unsigned>(n), x), -std::sph_neumann(static_cast<unsigned>(n), x)};
}

Complex hankel_slope(int n, double x) {
  return n == 0 ? -hankel(1, x) : hankel(n - 1, x) - (n + 1.0) / x * hankel(n, x);
}

/// A sphere that radiates (Williams 1999, section 6.7): normal velocity sum A_nm Y_nm on it, and outside of it
/// p = -j rho c sum A_nm h_n(kr) / h_n'(ka) Y_nm.
class RadiatingSphere {
 public:
  RadiatingSphere(double radius_m, double k, const MediumSettings& medium, unsigned seed, int highest_degree = 5)
      : radius_m_(radius_m), k_(k), medium_(medium), highest_degree_(highest_degree) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    for (int n = 0; n <= highest_degree_; ++n) {
      for (int m = -n; m <= n; ++m) {
        const double re = normal(generator);
        amplitudes_.push_back(std::exp(-0.35 * n) * Complex(re, normal(generator)));
      }
    }
  }
  [[nodiscard]] Complex velocity(const Eigen::Vector3d& direction) const {
    return sum(direction, [](int) { return Complex(1.0); });
  }
  [[nodiscard]] Complex pressure(const Eigen::Vector3d& place_m) const {
    const double r_m = place_m.norm();
    return Complex(0.0, -medium_.density_kg_m3 * medium_.sound_speed_m_s) *
           sum(place_m / r_m, [&](int n) { return hankel(n, k_ * r_m) / hankel_slope(n, k_ * radius_m_); });
  }

 private:
  template <class Radial>
  [[nodiscard]] Complex sum(const Eigen::Vector3d& direction, const Radial& radial) const {
    const double theta = std::acos(std::clamp(direction.z(), -1.0, 1.0));
    const double phi = std::atan2(direction.y(), direction.x());
    Complex total;
    std::size_t i = 0;
    for (int n = 0; n <= highest_degree_; ++n) {
      const Complex of_degree = radial(n);
      for (int m = -n; m <= n; ++m) {
        const auto order = static_cast<unsigned>(std::abs(m));
        total += amplitudes_[i++] * of_degree * std::sph_legendre(static_cast<unsigned>(n), order, theta) *
                 std::polar(1.0, m * phi);
      }
    }
    return total;
  }
  double radius_m_;
  double k_;
  MediumSettings medium_;
  int highest_degree_;
  std::vector<Complex> amplitudes_;
};

struct SphereCase {
  double frequency_hz;
  double errors[3];      ///< of all round at 60, 40, 30 dB, by a script apart from this
  double cap_errors[3];  ///< of a cap
};

class EverySphere : public testing::TestWithParam<SphereCase> {};

struct SphereResult {
  double error = 0.0;
  double ratio = 0.0;  ///< expected over true error
};

/// A sphere, with the places round its middle.
struct SphereSizes {
  double radius_m = 0.10;
  double microphones_m = 0.13;
  double sources_m = 0.06;
  int microphones = 400;
  int sources = 450;
  int highest_degree = 5;
};

/// Microphones and pixels within these angles of the axis towards z.
SphereResult image_sphere(double frequency_hz, double snr_db, double microphones_to_rad, double pixels_to_rad,
                          const SphereSizes& sizes = {}) {
  const auto within = [](const std::vector<Eigen::Vector3d>& all, double most_rad, double radius_m) {
    std::vector<Eigen::Vector3d> kept;
    for (const Eigen::Vector3d& one : all) {
      if (std::acos(one.z()) <= most_rad) {
        kept.push_back(radius_m * one);
      }
    }
    return kept;
  };
  const std::vector<Eigen::Vector3d> microphones =
      within(directions(sizes.microphones), microphones_to_rad, sizes.microphones_m);
  const std::vector<Eigen::Vector3d> normals = within(directions(600), pixels_to_rad, 1.0);
  std::vector<Eigen::Vector3d> pixels;
  for (const Eigen::Vector3d& normal : normals) {
    pixels.push_back(sizes.radius_m * normal);
  }
  ImagePlan plan;
  plan.holography.imager = ImagerKind::kOperators;
  plan.holography.quantity = Quantity::kNormalVelocity;
  plan.frequencies_hz = {frequency_hz};
  plan.cutoff_rad_per_m = {70.0};
  plan.geometry = irregular(microphones);
  plan.surface = std::make_shared<const ImageSurface>(points_of(pixels, normals));
  plan.sources = std::make_shared<const OperatorSources>(
      OperatorSources{.places_m = within(directions(sizes.sources), std::numbers::pi, sizes.sources_m)});
  constexpr int kDraws = 4;
  SphereResult result;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    const RadiatingSphere sphere(sizes.radius_m, plan.wavenumber(0), plan.medium, 100 + draw, sizes.highest_degree);
    std::vector<Complex> field;
    std::vector<Complex> truth;
    for (const Eigen::Vector3d& place : microphones) {
      field.push_back(sphere.pressure(place));
    }
    for (const Eigen::Vector3d& normal : normals) {
      truth.push_back(sphere.velocity(normal));
    }
    std::mt19937 generator(draw);
    test::add_noise(field, snr_db, generator);
    const DeviceImages found = test::run_on_device(plan, test::narrow(field));
    const double error = test::relative_l2(found.images, truth);
    result.error += error / kDraws;
    result.ratio += static_cast<double>(found.reports[0].error_estimate) / error / kDraws;
  }
  return result;
}

// E4 and E5: at most 1.3 times what the script found.
TEST_P(EverySphere, IsImagedAllRoundAndFromACap) {
  const SphereCase& c = GetParam();
  constexpr double kSnrs_db[] = {60.0, 40.0, 30.0};
  for (std::size_t i = 0; i < 3; ++i) {
    const SphereResult round = image_sphere(c.frequency_hz, kSnrs_db[i], std::numbers::pi, std::numbers::pi);
    const SphereResult cap = image_sphere(c.frequency_hz, kSnrs_db[i], std::numbers::pi / 3.0, std::numbers::pi / 4.0);
    std::printf("E4, %.0f Hz, %.0f dB: error %.2f %%, expected over true %.2f; E5: %.2f %%, %.2f\n", c.frequency_hz,
                kSnrs_db[i], 100.0 * round.error, round.ratio, 100.0 * cap.error, cap.ratio);
    EXPECT_LE(round.error, 1.3 * c.errors[i]);
    EXPECT_LE(cap.error, 1.3 * c.cap_errors[i]);
    EXPECT_GE(round.ratio, 0.7);
    // At 60 dB it was 4.5 to 6.8 where the scale of all modes stood for that of the weakest ones: these spheres end at
    // degree 5, and the prior does not.
    EXPECT_LE(round.ratio, 3.0);
    EXPECT_GE(cap.ratio, 0.7);
    EXPECT_LE(cap.ratio, 3.0);
  }
}

// Modes that are 60 dB and more below the others are what this sphere is known by: where they were left out, as with a
// tolerance of 1e-6, the error was 15 and 16 %. A script with all modes and the noise that is most probable had 2.4 and
// 8.1 % of the same kind of field; draws of four differ by a tenth.
TEST(OperatorsAtAnyPlaces, ResolveAllThatTheDataHold) {
  const SphereSizes sizes{.radius_m = 0.097,
                          .microphones_m = 0.137,
                          .sources_m = 0.0582,
                          .microphones = 485,
                          .sources = 700,
                          .highest_degree = 7};
  for (const auto& [snr_db, most] : {std::pair(60.0, 0.024), std::pair(40.0, 0.089)}) {
    const SphereResult found = image_sphere(500.0, snr_db, std::numbers::pi, std::numbers::pi, sizes);
    std::printf("%.0f dB: error %.2f %%, expected over true %.2f\n", snr_db, 100.0 * found.error, found.ratio);
    EXPECT_LE(found.error, most);
    EXPECT_GE(found.ratio, 0.7);
    EXPECT_LE(found.ratio, 3.0);
  }
}

INSTANTIATE_TEST_SUITE_P(OperatorsAtAnyPlaces, EverySphere,
                         testing::Values(SphereCase{500.0, {0.026, 0.074, 0.121}, {0.040, 0.099, 0.145}},
                                         SphereCase{2000.0, {0.017, 0.047, 0.067}, {0.023, 0.060, 0.091}},
                                         SphereCase{4000.0, {0.009, 0.020, 0.030}, {0.005, 0.011, 0.018}}));

}  // namespace
}  // namespace nearfield
