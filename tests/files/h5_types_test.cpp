#include "files/hdf5/h5_types.hpp"

#include <array>

#include "files/file_test_support.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5_input.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Of 15 microphones at two frequencies.
Calibration some_calibration() {
  Calibration calibration{.geometry = small_measurement().geometry, .frequencies_hz = {500.0, 1000.0}, .gains = {}};
  calibration.gains.assign(30, {0.9F, 0.1F});
  return calibration;
}

Templates some_templates() {
  const MeasurementGeometry measurement = small_measurement();
  return {.measurement = {.geometry = measurement.geometry, .standoff_m = measurement.standoff_m},
          .frequencies_hz = {500.0},
          .positions_m = {0.0, 0.0, -1.0},
          .a = std::vector<std::complex<float>>(15, {1.0F, 0.0F}),
          .coherence = {0.99F},
          .of_microphones = std::vector<float>(15, 0.99F)};
}

h5::Type type_of(hid_t like, const std::function<void(hid_t)>& change) {
  h5::quiet();
  h5::Type type(H5Tcopy(like));
  change(type.id());
  return type;
}

TEST(H5Types, FloatsAreIeeeOfThreeWidths) {
  h5::quiet();
  for (const hid_t good : {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    EXPECT_TRUE(h5::is_ieee_float(good));
  }
  const h5::Type half = type_of(H5T_IEEE_F32LE, [](hid_t type) {  // as h5py makes it
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
  });
  EXPECT_TRUE(h5::is_ieee_float(half.id()));
  EXPECT_EQ(h5::name_of_type(half.id()), "float16");
  EXPECT_FALSE(h5::is_ieee_float(H5T_NATIVE_LDOUBLE));
  EXPECT_FALSE(h5::is_ieee_float(H5T_VAX_F32));
  EXPECT_FALSE(h5::is_ieee_float(H5T_NATIVE_INT32));
  for (const auto& change : {std::function<void(hid_t)>([](hid_t type) { H5Tset_ebias(type, 126); }),
                             std::function<void(hid_t)>([](hid_t type) { H5Tset_norm(type, H5T_NORM_NONE); }),
                             std::function<void(hid_t)>([](hid_t type) { H5Tset_fields(type, 31, 24, 7, 0, 24); }),
                             std::function<void(hid_t)>([](hid_t type) { H5Tset_size(type, 16); })}) {
    const h5::Type odd = type_of(H5T_IEEE_F32LE, change);
    EXPECT_FALSE(h5::is_ieee_float(odd.id()));
    EXPECT_THAT(h5::name_of_type(odd.id()), StartsWith("a float type of "));
  }
}

TEST(H5Types, IntegersHaveOneToEightBytes) {
  h5::quiet();
  for (const hid_t good : {H5T_STD_I8LE, H5T_STD_U16BE, H5T_STD_I32LE, H5T_STD_U64BE}) {
    EXPECT_TRUE(h5::is_sound_integer(good));
  }
  EXPECT_TRUE(h5::is_sound_integer(type_of(H5T_STD_I16LE, [](hid_t type) { H5Tset_precision(type, 12); }).id()));
  EXPECT_FALSE(h5::is_sound_integer(type_of(H5T_STD_I32LE, [](hid_t type) { H5Tset_size(type, 3); }).id()));
  EXPECT_FALSE(h5::is_sound_integer(type_of(H5T_STD_I64LE, [](hid_t type) { H5Tset_size(type, 16); }).id()));
}

TEST(H5Types, OddTypesAreRefusedWithTheirPlace) {
  const TempFolder folder;
  write_calibration(folder / "good.h5", some_calibration());
  const h5::Type biased = type_of(H5T_IEEE_F64LE, [](hid_t type) { H5Tset_ebias(type, 1000); });
  expect_refused(folder / "good.h5",
                 {{"long double",
                   [](hid_t f) { put_dataset(f, "/frequencies_hz", H5T_NATIVE_LDOUBLE, {2}); },
                   {"/frequencies_hz: found a float type of 16 bytes", "expected float64"}},
                  {"another bias",
                   [&](hid_t f) { put_dataset(f, "/frequencies_hz", biased.id(), {2}); },
                   {"/frequencies_hz: found a float type of 8 bytes that is not IEEE 754"}},
                  {"another bias of an attribute",
                   [&](hid_t f) {
                     const double value = 0.02;
                     put_attribute(f, "/geometry", "pitch_x_m", biased.id(), &value);
                   },
                   {"/geometry, attribute pitch_x_m: found a float type of 8 bytes"}}},
                 [](const std::filesystem::path& path) { (void)read_calibration(path); });
}

/// Places of the bytes that describe a type of numbers: class, sign and order, size, and where its parts lie.
std::vector<std::size_t> places_of_types(const std::string& file) {
  using namespace std::string_view_literals;
  constexpr std::size_t kLongest = 20;
  std::vector<std::size_t> places;
  for (const std::string_view begin : {"\x11\x20\x3f\0\x08\0\0\0"sv, "\x11\x20\x1f\0\x04\0\0\0"sv, "\x10\x08\0\0"sv}) {
    for (std::size_t at = file.find(begin); at != std::string::npos; at = file.find(begin, at + 1)) {
      for (std::size_t i = 0; i < kLongest && at + i < file.size(); ++i) {
        places.push_back(at + i);
      }
    }
  }
  return places;
}

// One byte of a float type's size was enough to divide by 0. Damage elsewhere is HDF5's to find, which reads beyond
// some of it: files of others are opened in a process of their own (h5.hpp).
TEST(H5Types, NoDamagedByteEndsTheProcess) {
  const TempFolder folder;
  write_calibration(folder / "calibration.h5", some_calibration());
  write_templates(folder / "templates.h5", some_templates());
  write_time_data(folder / "time.h5", 48000.0, 2, std::vector<float>(64, 0.5F));
  write_spectra(
      folder / "spectra.h5",
      {.measurement = small_measurement(), .frames = 1, .frequencies_hz = {500.0}, .spectra = random_complex(15, 1)});
  for (const char* name : {"calibration.h5", "templates.h5", "time.h5", "spectra.h5"}) {
    const std::string good = text_in(folder / name);
    const std::vector<std::size_t> places = places_of_types(good);
    EXPECT_GE(places.size(), 20U) << name;
    for (const char value : {'\0', '\x04', '\xff'}) {
      SCOPED_TRACE(testing::Message() << name << ", bytes set to " << static_cast<int>(value));
      const ChildResult result = in_child([&] {
        for (const std::size_t place : places) {
          std::string bytes = good;
          bytes[place] = value;
          write_text(folder / "bad.h5", bytes);
          const std::string error = error_of([&] { (void)text_of(facts_of_file(folder / "bad.h5")); });
          if (!error.empty() && !error.starts_with("data: ")) {
            throw std::runtime_error(error);
          }
        }
      });
      EXPECT_TRUE(result.ended_well) << result.printed;
      EXPECT_EQ(result.error, "");
    }
  }
}

TEST(H5Types, FiltersThatAreNotThereAreNamed) {
  const TempFolder folder;
  create_empty(folder / "packed.h5");
  constexpr H5Z_filter_t kLzf = 32000;
  const H5Z_class2_t as_it_is{
      .version = H5Z_CLASS_T_VERS,
      .id = kLzf,
      .encoder_present = 1,
      .decoder_present = 1,
      .name = "lzf",
      .can_apply = nullptr,
      .set_local = nullptr,
      .filter = [](unsigned, std::size_t, const unsigned*, std::size_t bytes, std::size_t*, void**) { return bytes; }};
  ASSERT_GE(H5Zregister(&as_it_is), 0);
  const std::vector<float> values(64, 0.25F);
  edit(folder / "packed.h5", [&](hid_t file) {
    const h5::Shape shape{32, 2};
    const h5::Properties creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(creation.id(), 2, shape.data());
    H5Pset_filter(creation.id(), kLzf, H5Z_FLAG_MANDATORY, 0, nullptr);
    const h5::Space space(H5Screate_simple(2, shape.data(), nullptr));
    const h5::Dataset data(
        H5Dcreate2(file, "/time_data", H5T_NATIVE_FLOAT, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(data.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    put_real(file, "/time_data", "sample_freq", 48000.0);
  });
  H5Zunregister(kLzf);
  std::vector<float> found(64);
  EXPECT_THAT(error_of([&] { TimeDataReader(folder / "packed.h5").read(0, found); }),
              AllOf(HasSubstr("/time_data: found values packed by lzf (filter 32000), which is not installed here"),
                    HasSubstr("h5repack -f GZIP=4 IN OUT")));
}

TEST(H5Types, FilesThatAreStillWrittenAreNamed) {
  const TempFolder folder;
  write_time_data(folder / "time.h5", 48000.0, 2, std::vector<float>(64, 0.5F));
  h5::quiet();
  const h5::Properties access = h5::file_access();
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  h5::File written(H5Fcreate((folder / "swmr.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()));
  ASSERT_GE(H5Fstart_swmr_write(written.id()), 0);
  H5Fflush(written.id(), H5F_SCOPE_GLOBAL);
  std::filesystem::copy_file(folder / "swmr.h5", folder / "copy.h5");
  EXPECT_THAT(error_of([&] { (void)text_of(facts_of_file(folder / "copy.h5")); }),
              HasSubstr("found a file that another program is still writing (SWMR)"));
}

// A damaged exponent passed as a gain of 457 dB: images of 1e21 Pa, without a word.
TEST(H5Types, GainsBeyond40DbAreRefused) {
  const TempFolder folder;
  Calibration calibration = some_calibration();
  const float none = std::numeric_limits<float>::quiet_NaN();
  calibration.gains[3] = {none, none};
  calibration.gains[4] = {0.0F, 100.0F};
  write_calibration(folder / "good.h5", calibration);
  EXPECT_EQ(error_of([&] { (void)read_calibration(folder / "good.h5"); }), "");
  for (const float gain : {2e22F, 101.0F, 0.0099F, 0.0F}) {
    SCOPED_TRACE(gain);
    calibration.gains[17] = {gain, 0.0F};
    write_calibration(folder / "bad.h5", calibration);
    EXPECT_THAT(error_of([&] { (void)read_calibration(folder / "bad.h5"); }),
                AllOf(StartsWith("data: " + (folder / "bad.h5").string() + ": /gains: gain of microphone 2 at 1000 Hz"),
                      HasSubstr("expected 0.01 to 100 (40 dB)")));
  }
}

TEST(H5Types, TemplatesBeyond60DbAreRefused) {
  const TempFolder folder;
  Templates templates = some_templates();
  templates.a[7] = {0.0F, 999.0F};
  write_templates(folder / "good.h5", templates);
  EXPECT_EQ(error_of([&] { (void)read_templates(folder / "good.h5"); }), "");
  templates.a[7] = {0.0F, 1e9F};
  write_templates(folder / "bad.h5", templates);
  EXPECT_THAT(error_of([&] { (void)read_templates(folder / "bad.h5"); }),
              HasSubstr("/templates[0][0][7]: found a magnitude of 1e+09, expected at most 1000 (60 dB)"));
}

}  // namespace
}  // namespace nearfield
