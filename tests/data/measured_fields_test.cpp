#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "core/metrics.hpp"
#include "files/files.hpp"
#include "frontend/front_end.hpp"
#include "imaging/shared/imager.hpp"
#include "support/command.hpp"
#include "support/fields.hpp"
#include "support/h5_values.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"
#include "support/places.hpp"

/// Measured and finite-element fields with their truth, which are not part of the repository (see CMakeLists.txt).
namespace nearfield {
namespace {

using ComplexF = std::complex<float>;
using test::read_values;

/// One cut-off and slope for every mode of a shell: the best over violin_shell_2 among those that
/// FixedFilter.IsTheBestOverTheOtherShell searches.
constexpr double kShellCutoff_rad_per_m = 130.0;
constexpr double kShellSlope = 0.05;

std::string filter_options(double cutoff_rad_per_m, double slope) {
  return fmt::format(" --set holography.filter.cutoff_rad_per_m={} --set holography.filter.slope={}", cutoff_rad_per_m,
                     slope);
}

std::string data(const std::string& name) { return std::string(NEARFIELD_DATA_DIR) + "/" + name; }

/// Normal velocity on the surface through the command line; [frequency][row][column].
std::vector<ComplexF> replayed_velocity(const std::string& input, const std::string& settings,
                                        const test::TemporaryFolder& folder) {
  const std::string output = folder / "images.h5";
  const auto result = test::run_nearfield("replay " + input + " -o " + output +
                                          " --set holography.quantity=normal_velocity " + settings);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return ImagesReader(output).read(0).images;
}

std::vector<ComplexF> one_image(const std::vector<ComplexF>& images, std::size_t index, std::size_t pixels) {
  const auto first = images.begin() + static_cast<std::ptrdiff_t>(index * pixels);
  return {first, first + static_cast<std::ptrdiff_t>(pixels)};
}

std::vector<ComplexF> where(const std::vector<ComplexF>& values, const std::vector<unsigned char>& valid) {
  std::vector<ComplexF> kept;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (valid[i] != 0) {
      kept.push_back(values[i]);
    }
  }
  return kept;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

/// NCC of every mode of a shell, or every so many, over the pixels that lie on it. images: of these modes.
std::vector<double> ncc_of_shell(const std::string& name, const std::vector<ComplexF>& images, std::size_t every = 1) {
  const auto truth = read_values<ComplexF>(data(name), "/truth/normal_velocity");
  const auto valid = read_values<unsigned char>(data(name), "/truth/valid");
  std::vector<double> ncc;
  for (std::size_t mode = 0; mode < truth.size() / valid.size(); mode += every) {
    ncc.push_back(compare_images(where(one_image(truth, mode, valid.size()), valid),
                                 where(one_image(images, mode / every, valid.size()), valid))
                      .ncc);
  }
  return ncc;
}

std::vector<double> shell_ncc(const std::string& name, double cutoff_rad_per_m, double slope,
                              const test::TemporaryFolder& folder) {
  return ncc_of_shell(name, replayed_velocity(data(name), filter_options(cutoff_rad_per_m, slope), folder));
}

// No cut-off is given: the default rule (30 dB over the standoff) does not use the truth. 0.86 is the gate;
// an independent float64 script reaches 0.87 with a fixed cut-off.
TEST(FreePlate, NormalVelocityAt548Hz) {
  const test::TemporaryFolder folder;
  const auto images = replayed_velocity(data("plate_free_548hz.h5"), "", folder);
  const auto truth = read_values<ComplexF>(data("plate_free_548hz.h5"), "/truth/normal_velocity");
  const double ncc = compare_images(truth, images).ncc;
  std::printf("plate_free_548hz: NCC %.4f\n", ncc);
  EXPECT_GE(ncc, 0.86);
}

TEST(ViolinShell, NormalVelocityWithTheOtherShellsCutoff) {
  const test::TemporaryFolder folder;
  const auto ncc = shell_ncc("violin_shell_1.h5", kShellCutoff_rad_per_m, kShellSlope, folder);
  std::printf("violin_shell_1: median NCC %.4f over %zu modes, least %.3f\n", median(ncc), ncc.size(),
              *std::min_element(ncc.begin(), ncc.end()));
  EXPECT_GE(median(ncc), 0.86);
}

/// Every so many of the spectra of a data file, as a file of one window.
SpectraFile some_spectra(const std::string& name, std::size_t every) {
  SpectraFile file = read_spectra(data(name));
  const auto channels = static_cast<std::size_t>(file.measurement.geometry.channels());
  const SpectraFile all = file;
  file.frequencies_hz.clear();
  file.spectra.clear();
  for (std::size_t mode = 0; mode < all.frequencies_hz.size(); mode += every) {
    const std::vector<ComplexF> one = one_image(all.spectra, mode, channels);
    file.frequencies_hz.push_back(all.frequencies_hz[mode]);
    file.spectra.insert(file.spectra.end(), one.begin(), one.end());
  }
  return file;
}

/// White noise so far below the mean power of each of the spectra.
void add_noise(SpectraFile& file, double snr_db) {
  const auto channels = static_cast<std::size_t>(file.measurement.geometry.channels());
  std::mt19937 generator(1U);
  for (std::size_t first = 0; first < file.spectra.size(); first += channels) {
    const auto begin = file.spectra.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<test::Complex> field(begin, begin + static_cast<std::ptrdiff_t>(channels));
    test::add_noise(field, snr_db, generator);
    std::transform(field.begin(), field.end(), begin, [](const test::Complex& value) { return ComplexF(value); });
  }
}

struct ShellGate {
  const char* name;
  double ncc;                       ///< median of all modes
  std::optional<double> noisy_ncc;  ///< with noise 30 dB down; where not, the plane is tried in its place
};

// The shells arch by 10.8 mm under microphones at 31.2 mm. Nothing is set but quantity, imager and the file of heights;
// a script apart from this, with another prior and half of the microphones, found 0.933 and 0.917, 0.913 and 0.906 with
// noise. Noise and the image of the plane are tried on one shell each, as every image takes the models of its modes.
void expect_shells_on_their_surface(const std::string& imager_name, std::size_t every) {
  const std::string imager = " --set holography.imager=" + imager_name;
  for (const ShellGate& gate : {ShellGate{"violin_shell_1", 0.925, {}}, ShellGate{"violin_shell_2", 0.91, 0.895}}) {
    const test::TemporaryFolder folder;
    const std::string file = std::string(gate.name) + ".h5";
    const std::string on_surface = imager + " --set holography.surface=" + data(std::string(gate.name) + "_surface.h5");
    const auto median_of = [&](const SpectraFile& spectra, const std::string& settings) {
      write_spectra(folder / "spectra.h5", spectra);
      return median(ncc_of_shell(file, replayed_velocity(folder / "spectra.h5", settings, folder), every));
    };
    SpectraFile spectra = some_spectra(file, every);
    const double bent = median_of(spectra, on_surface);
    std::printf("%s, %s: median NCC of %zu modes %.4f on its surface", gate.name, imager_name.c_str(),
                spectra.frequencies_hz.size(), bent);
    EXPECT_GE(bent, gate.ncc) << gate.name;
    if (gate.noisy_ncc) {
      add_noise(spectra, 30.0);
      const double noisy = median_of(spectra, on_surface);
      std::printf(", %.4f with noise at -30 dB\n", noisy);
      EXPECT_GE(noisy, *gate.noisy_ncc) << gate.name;
    } else {
      const double flat = median_of(spectra, imager);
      std::printf(", %.4f on the plane\n", flat);
      EXPECT_GE(bent, flat + 0.03) << gate.name;
    }
  }
}

// Of every fourth mode, as its priors take three seconds each, and of every second by operators.
TEST(ViolinShell, NormalVelocityOnItsSurface) { expect_shells_on_their_surface("sonah", 4); }

TEST(ViolinShell, NormalVelocityOnItsSurfaceByOperators) { expect_shells_on_their_surface("operators", 2); }

TEST(FixedFilter, IsTheBestOverTheOtherShell) {
  struct Trial {
    double ncc = 0.0;
    double cutoff_rad_per_m = 0.0;
    double slope = 0.0;
  };
  const test::TemporaryFolder folder;
  Trial best;
  for (const double slope : {0.05, 0.1, 0.2}) {
    for (const double cutoff_rad_per_m : {80.0, 100.0, 110.0, 120.0, 130.0, 150.0}) {
      const double ncc = median(shell_ncc("violin_shell_2.h5", cutoff_rad_per_m, slope, folder));
      best = ncc > best.ncc ? Trial{ncc, cutoff_rad_per_m, slope} : best;
    }
  }
  std::printf("violin_shell_2: best median NCC %.4f at %.0f rad/m, slope %.2f\n", best.ncc, best.cutoff_rad_per_m,
              best.slope);
  EXPECT_EQ(best.cutoff_rad_per_m, kShellCutoff_rad_per_m);
  EXPECT_EQ(best.slope, kShellSlope);
}

/// Bilinear between pixels, linear beyond the outermost ones.
ComplexF at_point(const std::vector<ComplexF>& image, const ArrayGeometry& geometry, double x_m, double y_m) {
  const double column = x_m / geometry.pitch_x_m + (geometry.columns - 1) / 2.0;
  const double row = y_m / geometry.pitch_y_m + (geometry.rows - 1) / 2.0;
  const int c = std::clamp(static_cast<int>(std::floor(column)), 0, geometry.columns - 2);
  const int r = std::clamp(static_cast<int>(std::floor(row)), 0, geometry.rows - 2);
  const auto u = static_cast<float>(column - c);
  const auto v = static_cast<float>(row - r);
  const auto pixel = [&](int y, int x) { return image[static_cast<std::size_t>(y * geometry.columns + x)]; };
  return (1.0F - v) * ((1.0F - u) * pixel(r, c) + u * pixel(r, c + 1)) +
         v * ((1.0F - u) * pixel(r + 1, c) + u * pixel(r + 1, c + 1));
}

const std::string kViolin = data("violin_measured.h5");
/// Between k and the coarse array's pi/pitch of 53 and 62 rad/m; one for all frequencies.
const std::string kViolinFilter = " --set holography.filter.cutoff_rad_per_m=40 --set holography.filter.slope=0.1 ";

std::vector<double> violin_ncc(const std::vector<std::vector<ComplexF>>& images, const ArrayGeometry& geometry) {
  const auto truth = read_values<ComplexF>(kViolin, "/truth/normal_velocity_points");
  const auto points = read_values<double>(kViolin, "/truth/points_xy_m");
  const std::size_t count = points.size() / 2;
  std::vector<double> ncc;
  for (std::size_t f = 0; f < images.size(); ++f) {
    std::vector<ComplexF> found;
    for (std::size_t i = 0; i < count; ++i) {
      found.push_back(at_point(images[f], geometry, points[2 * i], points[2 * i + 1]));
    }
    ncc.push_back(compare_images(one_image(truth, f, count), found).ncc);
  }
  return ncc;
}

/// The violin's spectra as bits: a segment per frequency, on the bin grid, -20 dBFS.
class ViolinAsBits : public testing::Test {
 protected:
  void SetUp() override {
    const auto result = test::run_nearfield("encode " + kViolin + " -o " + capture_ +
                                            " --segment-per-frequency --bin-grid --level-dbfs -20");
    ASSERT_EQ(result.exit_code, 0) << result.output;
    segments_ = CaptureReader(capture_).segments().value();
  }
  test::TemporaryFolder folder_;
  std::string capture_ = folder_ / "violin_bits.h5";
  Segments segments_;
};

// The front end gives the measured spectra back, in their own unit; 2 % is the limit, modulator noise at -20
// dBFS rms leaves far less.
TEST_F(ViolinAsBits, FrontEndGivesTheMeasuredSpectra) {
  const SpectraFile measured = read_spectra(kViolin);
  const CaptureReader reader(capture_);
  const CaptureInfo& info = reader.info();
  const std::size_t channels = 64;
  double worst = 0.0;
  ocl::Device device = ocl::Device::open({});
  FrontEndPlan plan{.geometry = info.measurement.geometry,
                    .layout = info.layout,
                    .sensitivity_dbfs = info.measurement.sensitivity_dbfs,
                    .sample_rate_hz = info.sample_rate_hz / kBitsPerWord,
                    .input_is_bits = true,
                    .settings = {},
                    .dead_channels = {}};
  plan.settings.frequencies_hz = segments_.frequencies_hz;
  const auto front_end = make_front_end(device, plan);
  const auto spectra = device.allocate<ComplexF>(channels * segments_.frequencies_hz.size(), "test");
  const auto status = device.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  for (std::size_t f = 0; f < segments_.frequencies_hz.size(); ++f) {
    const std::uint64_t settle = 64;
    const std::uint64_t first = segments_.first_bit_time[f] / kBitsPerWord + settle;
    const std::uint64_t from = first - front_end->history_words();
    std::vector<std::uint32_t> words((first + 1024 - from) * kBitsPerWord *
                                     static_cast<std::uint64_t>(info.words_per_bit_time));
    reader.read(from * kBitsPerWord, words);
    front_end->enqueue_bits(from, words);
    front_end->enqueue_spectra(first, spectra, status);
    device.wait();
    auto found = one_image(device.download(spectra, "test"), f, channels);
    // The encoded phasors refer to bit-time 0.
    const double turn = -2.0 * std::numbers::pi * segments_.frequencies_hz[f] *
                        static_cast<double>(first * kBitsPerWord) / info.sample_rate_hz;
    for (ComplexF& value : found) {
      value *= ComplexF(std::polar(1.0, turn));
    }
    const double error = test::relative_l2(found, one_image(measured.spectra, f, channels));
    std::printf("violin bits, %.1f Hz as %.1f Hz: spectra differ by %.3f %%\n", measured.frequencies_hz[f],
                segments_.frequencies_hz[f], 100.0 * error);
    worst = std::max(worst, error);
  }
  EXPECT_LE(worst, 0.02);
}

// The measured violin at the 27 places where its velocity was measured, which operators image themselves. It is a guard
// below what was found, 0.56: the microphones are further apart than their standoff, and eleven modes have an interval
// of some 0.2. A fixed cut-off and an interpolation between pixels have 0.59.
TEST(ViolinByOperators, NormalVelocityAtTheMeasuredPoints) {
  const test::TemporaryFolder folder;
  const auto truth = read_values<ComplexF>(kViolin, "/truth/normal_velocity_points");
  const auto points = read_values<double>(kViolin, "/truth/points_xy_m");
  const std::size_t count = points.size() / 2;
  const std::string file = folder / "points.csv";
  std::ofstream csv(file);
  for (std::size_t i = 0; i < count; ++i) {
    csv << fmt::format("{},{},0\n", points[2 * i], points[2 * i + 1]);
  }
  csv.close();
  const auto images =
      replayed_velocity(kViolin, " --set holography.imager=operators --set holography.surface=" + file, folder);
  std::vector<double> ncc;
  for (std::size_t f = 0; f < images.size() / count; ++f) {
    ncc.push_back(compare_images(one_image(truth, f, count), one_image(images, f, count)).ncc);
  }
  std::printf("violin, operators: median NCC %.3f over %zu modes\n", median(ncc), ncc.size());
  ASSERT_EQ(ncc.size(), 11U);
  EXPECT_GE(median(ncc), 0.53);
}

// The measured violin, from spectra and from bits. With the best cut-off for each frequency an independent script
// reaches a median of 0.67; with this one cut-off for all a float64 script of ours gets 0.591.
TEST_F(ViolinAsBits, NormalVelocityAtTheMeasuredPoints) {
  const ArrayGeometry geometry = read_spectra(kViolin).measurement.geometry;
  const auto images = replayed_velocity(kViolin, kViolinFilter, folder_);
  std::vector<std::vector<ComplexF>> from_spectra;
  std::vector<std::vector<ComplexF>> from_bits;
  for (std::size_t f = 0; f < segments_.frequencies_hz.size(); ++f) {
    from_spectra.push_back(one_image(images, f, 64));
    const std::string settings =
        kViolinFilter + " --set front_end.hop_samples=" + std::to_string(segments_.bit_times[f] / kBitsPerWord) +
        " --set front_end.frequencies_hz=" + std::to_string(segments_.frequencies_hz[f]) + " --frames " +
        std::to_string(f) + ":" + std::to_string(f + 1);
    from_bits.push_back(replayed_velocity(capture_, settings, folder_));
  }
  const auto ncc_spectra = violin_ncc(from_spectra, geometry);
  const auto ncc_bits = violin_ncc(from_bits, geometry);
  for (std::size_t f = 0; f < ncc_bits.size(); ++f) {
    std::printf("violin, %.1f Hz: NCC %.3f from spectra, %.3f from bits\n", segments_.frequencies_hz[f], ncc_spectra[f],
                ncc_bits[f]);
    // Bits are on the grid of 45.8 Hz: up to 23 Hz off, which moves k by up to 13 % of itself and no mode.
    EXPECT_NEAR(ncc_bits[f], ncc_spectra[f], 0.05);
  }
  std::printf("violin: median NCC %.3f from spectra, %.3f from bits\n", median(ncc_spectra), median(ncc_bits));
  EXPECT_GE(median(ncc_spectra), 0.57);
  EXPECT_GE(median(ncc_bits), 0.57);
}

}  // namespace
}  // namespace nearfield
