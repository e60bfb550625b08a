#include <cmath>
#include <limits>

#include "core/images.hpp"
#include "files/file_test_support.hpp"
#include "files/files.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Complex = std::complex<float>;

SpectraFile small_spectra() {
  SpectraFile file;
  file.measurement = small_measurement();
  file.measurement.sensitivity_dbfs = 0.0;
  file.frames = 2;
  file.frequencies_hz = {2014.16, 1007.08};  // in no order
  file.spectra = random_complex(2 * 2 * 15, 3);
  return file;
}

void expect_same(const SpectraFile& found, const SpectraFile& expected) {
  EXPECT_EQ(found.measurement.geometry, expected.measurement.geometry);
  EXPECT_EQ(found.measurement.standoff_m, expected.measurement.standoff_m);
  EXPECT_EQ(found.frames, expected.frames);
  EXPECT_EQ(found.frequencies_hz, expected.frequencies_hz);
  EXPECT_EQ(found.spectra, expected.spectra);
}

TEST(Spectra, RoundTripIsExact) {
  const TempFolder folder;
  const SpectraFile file = small_spectra();
  write_spectra(folder / "spectra.h5", file);
  expect_same(read_spectra(folder / "spectra.h5"), file);
  EXPECT_THAT(folder.names(), ElementsAre("spectra.h5"));
}

// The truth that others write may be without frequencies of its own: it is at those of the spectra.
TEST(Spectra, HaveATruthWhereOneIsWritten) {
  const TempFolder folder;
  const std::string path = folder / "spectra.h5";
  const SpectraFile file = small_spectra();
  write_spectra(path, file);
  EXPECT_EQ(read_spectra_truth(path), std::nullopt);
  const Truth truth{.frequencies_hz = {1007.08},
                    .pressure = random_complex(15, 4),
                    .normal_velocity = {},
                    .aperture_pressure = random_complex(15, 5),
                    .sources = {}};
  write_spectra(path, file, truth);
  expect_same(read_spectra(path), file);
  const std::optional<Truth> found = read_spectra_truth(path);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->frequencies_hz, truth.frequencies_hz);
  EXPECT_EQ(found->pressure, truth.pressure);
  EXPECT_EQ(found->normal_velocity, truth.normal_velocity);
  EXPECT_EQ(found->aperture_pressure, truth.aperture_pressure);
  write_spectra(path, file,
                Truth{.frequencies_hz = file.frequencies_hz,
                      .pressure = {},
                      .normal_velocity = random_complex(30, 6),
                      .aperture_pressure = {},
                      .sources = {}});
  const std::vector<Complex> velocity = read_spectra_truth(path)->normal_velocity;
  edit(path, [](hid_t id) { H5Ldelete(id, "/truth/frequencies_hz", H5P_DEFAULT); });
  EXPECT_EQ(read_spectra_truth(path)->frequencies_hz, file.frequencies_hz);
  EXPECT_EQ(read_spectra_truth(path)->normal_velocity, velocity);
}

// Of an irregular array true fields are on the grid of its images, and at its microphones.
TEST(Spectra, OfAnIrregularArrayHaveATruthOnTheGridOfItsImages) {
  const TempFolder folder;
  const std::string path = folder / "spectra.h5";
  SpectraFile file;
  file.measurement.geometry = geometry_of({{0.0, 0.0, 0.0}, {0.11, 0.02, 0.01}, {0.03, 0.07, -0.01}});
  file.measurement.standoff_m = 0.03;
  file.frames = 1;
  file.frequencies_hz = {500.0};
  file.spectra = random_complex(3, 7);
  const std::size_t pixels = image_grid(file.measurement.geometry).pixels();
  ASSERT_NE(pixels, 3U);
  const Truth truth{.frequencies_hz = {500.0},
                    .pressure = random_complex(pixels, 8),
                    .normal_velocity = random_complex(pixels, 9),
                    .aperture_pressure = random_complex(3, 10),
                    .sources = {}};
  write_spectra(path, file, truth);
  expect_same(read_spectra(path), file);
  const std::optional<Truth> found = read_spectra_truth(path);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->pressure, truth.pressure);
  EXPECT_EQ(found->normal_velocity, truth.normal_velocity);
  EXPECT_EQ(found->aperture_pressure, truth.aperture_pressure);
}

TEST(Spectra, NonFiniteValuesAreKept) {
  const TempFolder folder;
  SpectraFile file = small_spectra();
  file.spectra[4] = {std::nanf(""), 1.0F};
  file.spectra[5] = {0.0F, -std::numeric_limits<float>::infinity()};
  write_spectra(folder / "spectra.h5", file);
  const SpectraFile found = read_spectra(folder / "spectra.h5");
  EXPECT_TRUE(std::isnan(found.spectra[4].real()));
  EXPECT_EQ(found.spectra[5], file.spectra[5]);
}

// Parts of another width, order or name, and frequencies that a script wrote as integers.
TEST(Spectra, ComplexNumbersOfOtherProgramsAreUnderstood) {
  struct Pair {
    double second, first;
  };
  const TempFolder folder;
  SpectraFile expected = small_spectra();
  expected.frequencies_hz = {2000.0, 1000.0};
  std::vector<Pair> pairs;
  for (const Complex& value : expected.spectra) {
    pairs.push_back({static_cast<double>(value.imag()), static_cast<double>(value.real())});
  }
  const std::vector<std::int64_t> frequencies_hz{2000, 1000};
  for (const h5::PartNames& names : {h5::PartNames{"r", "i"}, {"real", "imag"}, {"re", "im"}}) {
    SCOPED_TRACE(names.first);
    write_spectra(folder / "spectra.h5", small_spectra());
    edit(folder / "spectra.h5", [&](hid_t file) {
      const h5::Type type(H5Tcreate(H5T_COMPOUND, sizeof(Pair)));
      H5Tinsert(type.id(), names.second, offsetof(Pair, second), H5T_NATIVE_DOUBLE);
      H5Tinsert(type.id(), names.first, offsetof(Pair, first), H5T_NATIVE_DOUBLE);
      put_dataset(file, "/spectra", type.id(), {2, 2, 3, 5}, pairs.data());
      put_dataset(file, "/frequencies_hz", H5T_NATIVE_INT64, {2}, frequencies_hz.data());
      H5Adelete(file, "version");  // scripts need not state one
    });
    expect_same(read_spectra(folder / "spectra.h5"), expected);
  }
}

// Compressed data may be larger than its file.
TEST(Spectra, CompressedDataIsRead) {
  const TempFolder folder;
  SpectraFile file = small_spectra();
  file.frames = 5000;
  file.spectra.assign(5000 * 2 * 15, Complex(1.0F, -2.0F));
  write_spectra(folder / "spectra.h5", small_spectra());
  edit(folder / "spectra.h5", [&](hid_t id) {
    H5Ldelete(id, "/spectra", H5P_DEFAULT);
    const h5::Shape shape{5000, 2, 3, 5};
    const h5::Properties creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(creation.id(), 4, shape.data());
    H5Pset_deflate(creation.id(), 9);
    const h5::Space space(H5Screate_simple(4, shape.data(), nullptr));
    const h5::Type type = h5::memory_type(h5::Element::kComplex64);
    const h5::Dataset data(H5Dcreate2(id, "/spectra", type.id(), space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(data.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, file.spectra.data()), 0);
  });
  ASSERT_LT(std::filesystem::file_size(folder / "spectra.h5"), file.spectra.size() * sizeof(Complex));
  expect_same(read_spectra(folder / "spectra.h5"), file);
}

TEST(Spectra, IllFilesAreRefused) {
  const TempFolder folder;
  write_spectra(folder / "good.h5", small_spectra());
  const h5::Type complex = h5::memory_type(h5::Element::kComplex64);
  const auto put = [&](const h5::Shape& shape) {
    return [&, shape](hid_t f) { put_dataset(f, "/spectra", complex.id(), shape); };
  };
  const std::vector<double> bad_frequencies{1000.0, std::nan("")};
  expect_refused(
      folder / "good.h5",
      {{"no spectra", [](hid_t f) { H5Ldelete(f, "/spectra", H5P_DEFAULT); }, {"/spectra: found nothing"}},
       {"rank", put({2, 2, 15}), {"/spectra: found rank 3 (2, 2, 15), expected rank 4 [frames, 2 frequencies"}},
       {"no frames", put({0, 2, 3, 5}), {"/spectra: found (0, 2, 3, 5), that is 0 frames, expected at least 1"}},
       {"frequencies", put({2, 3, 3, 5}), {"/spectra: found (2, 3, 3, 5), that is 3 frequencies"}},
       {"rows", put({2, 2, 5, 3}), {"that is 5 rows, expected [frames, 2 frequencies, 3 rows, 5 columns]"}},
       {"columns", put({2, 2, 3, 4}), {"that is 4 columns"}},
       {"absurd", put({hsize_t{1} << 40U, 2, 3, 5}), {"/spectra: found (1099511627776, 2, 3, 5) values of 8 bytes"}},
       {"real numbers",
        [](hid_t f) {
          put_dataset(f, "/spectra", H5T_NATIVE_FLOAT, {2, 2, 3, 5});
        },
        {"/spectra: found float32, expected complex: compound {r, i} of float32"}},
       {"other compound",
        [](hid_t f) {
          const h5::Type type(H5Tcreate(H5T_COMPOUND, 8));
          H5Tinsert(type.id(), "x", 0, H5T_NATIVE_FLOAT);
          H5Tinsert(type.id(), "y", 4, H5T_NATIVE_FLOAT);
          put_dataset(f, "/spectra", type.id(), {2, 2, 3, 5});
        },
        {"/spectra: found compound {x, y}, expected complex"}},
       {"integer parts",
        [](hid_t f) {
          const h5::Type type(H5Tcreate(H5T_COMPOUND, 8));
          H5Tinsert(type.id(), "r", 0, H5T_NATIVE_INT32);
          H5Tinsert(type.id(), "i", 4, H5T_NATIVE_INT32);
          put_dataset(f, "/spectra", type.id(), {2, 2, 3, 5});
        },
        {"/spectra: found compound {r, i}, expected complex"}},
       {"no frequencies",
        [](hid_t f) { H5Ldelete(f, "/frequencies_hz", H5P_DEFAULT); },
        {"/frequencies_hz: found nothing"}},
       {"scalar frequency",
        [](hid_t f) { put_dataset(f, "/frequencies_hz", H5T_NATIVE_DOUBLE, {}); },
        {"/frequencies_hz: found rank 0 scalar, expected rank 1 [frequencies]"}},
       {"NaN frequency",
        [&](hid_t f) { put_dataset(f, "/frequencies_hz", H5T_NATIVE_DOUBLE, {2}, bad_frequencies.data()); },
        {"/frequencies_hz[1]: found nan, expected a finite frequency above 0 Hz"}},
       {"text frequencies",
        [](hid_t f) { put_dataset(f, "/frequencies_hz", H5T_C_S1, {2}); },
        {"/frequencies_hz: found string, expected float64"}},
       {"version", [](hid_t f) { put_integer(f, "/", "version", 7); }, {"attribute version: found 7"}},
       {"standoff",
        [](hid_t f) { H5Adelete_by_name(f, "/geometry", "standoff_m", H5P_DEFAULT); },
        {"attribute standoff_m: found nothing"}}},
      [](const std::filesystem::path& path) { (void)read_spectra(path); });
}

TEST(Spectra, WriterChecksItsSizes) {
  const TempFolder folder;
  SpectraFile file = small_spectra();
  file.spectra.pop_back();
  EXPECT_THAT(error_of([&] { write_spectra(folder / "spectra.h5", file); }), HasSubstr("59 values, expected 60"));
  file = small_spectra();
  file.frames = 0;
  file.spectra.clear();
  EXPECT_THAT(error_of([&] { write_spectra(folder / "spectra.h5", file); }), HasSubstr("holds no values"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

Calibration small_calibration() {
  return {.geometry = small_measurement().geometry, .frequencies_hz = {500.0, 1000.0}, .gains = random_complex(30, 5)};
}

TEST(Calibration, RoundTripIsExact) {
  const TempFolder folder;
  const Calibration calibration = small_calibration();
  write_calibration(folder / "gains.h5", calibration);
  const Calibration found = read_calibration(folder / "gains.h5");
  EXPECT_EQ(found.geometry, calibration.geometry);
  EXPECT_EQ(found.frequencies_hz, calibration.frequencies_hz);
  EXPECT_EQ(found.gains, calibration.gains);
}

TEST(Calibration, IllFilesAreRefused) {
  const TempFolder folder;
  write_calibration(folder / "good.h5", small_calibration());
  const std::vector<double> falling{500.0, 500.0};
  expect_refused(folder / "good.h5",
                 {{"frequencies in disorder",
                   [&](hid_t f) { put_dataset(f, "/frequencies_hz", H5T_NATIVE_DOUBLE, {2}, falling.data()); },
                   {"/frequencies_hz[1]: found 500 after 500, expected ascending frequencies"}},
                  {"gains' rank",
                   [](hid_t f) {
                     put_dataset(f, "/gains", h5::memory_type(h5::Element::kComplex64).id(), {3, 5});
                   },
                   {"/gains: found rank 2 (3, 5), expected rank 3 [2 frequencies, 3 rows, 5 columns]"}},
                  {"no gains", [](hid_t f) { H5Ldelete(f, "/gains", H5P_DEFAULT); }, {"/gains: found nothing"}}},
                 [](const std::filesystem::path& path) { (void)read_calibration(path); });
}

}  // namespace
}  // namespace nearfield
