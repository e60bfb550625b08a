#include "files/file_test_support.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CaptureInfo sorama_info() {
  CaptureInfo info;
  info.measurement.standoff_m = 0.031;
  info.measurement.sensitivity_dbfs = -25.5;
  info.sample_rate_hz = 1.6e6;
  info.start_time_ns = 1'793'000'000'123'456'789;
  return info;
}

CaptureInfo small_info() {
  CaptureInfo info;
  info.measurement = small_measurement();
  info.layout = WireLayout::kRowMajor;
  return info;
}

void write_small_capture(const std::filesystem::path& path, std::size_t bit_times = 100) {
  CaptureWriter writer(path, small_info());
  writer.append(random_words(bit_times, 1));
  writer.finish();
}

TEST(Capture, RoundTripIsExact) {
  const TempFolder folder;
  constexpr std::size_t kWords = 32;
  constexpr std::size_t kBitTimes = 5003;  // neither a multiple of the chunks nor of the parts appended
  const auto words = random_words(kBitTimes * kWords, 7);
  {
    CaptureWriter writer(folder / "bits.h5", sorama_info());
    for (std::size_t first = 0; first < kBitTimes; first += 777) {
      const std::size_t count = std::min<std::size_t>(777, kBitTimes - first);
      writer.append(std::span(words).subspan(first * kWords, count * kWords));
    }
    writer.finish();
  }
  const CaptureReader reader(folder / "bits.h5");
  const CaptureInfo& info = reader.info();
  EXPECT_EQ(info.bit_times, kBitTimes);
  EXPECT_EQ(info.words_per_bit_time, 32);
  EXPECT_EQ(info.layout, WireLayout::kSoramaCam);
  EXPECT_EQ(info.measurement.geometry, ArrayGeometry{});
  EXPECT_EQ(info.measurement.standoff_m, 0.031);
  EXPECT_EQ(info.measurement.sensitivity_dbfs, -25.5);
  EXPECT_EQ(info.sample_rate_hz, 1.6e6);
  EXPECT_EQ(info.start_time_ns, 1'793'000'000'123'456'789);
  std::vector<std::uint32_t> all(words.size());
  reader.read(0, all);
  EXPECT_EQ(all, words);
  std::vector<std::uint32_t> part(kWords * 3000);
  reader.read(1999, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), words.begin() + 1999 * kWords));
  EXPECT_FALSE(reader.truth().has_value());
  EXPECT_FALSE(reader.segments().has_value());
  EXPECT_THAT(folder.names(), ElementsAre("bits.h5"));
}

TEST(Capture, TruthAndSegmentsRoundTrip) {
  const TempFolder folder;
  Truth truth{.frequencies_hz = {1007.08, 2014.16},
              .pressure = random_complex(30, 1),
              .normal_velocity = {},
              .aperture_pressure = random_complex(30, 2)};
  const Segments segments{.first_bit_time = {0, 60}, .bit_times = {60, 40}, .frequencies_hz = {500.0, 250.0}};
  {
    CaptureWriter writer(folder / "bits.h5", small_info());
    writer.write_truth(truth);
    writer.append(random_words(100, 1));
    writer.write_segments(segments);
    writer.finish();
  }
  CaptureReader reader(folder / "bits.h5");
  reader = CaptureReader(folder / "bits.h5");
  const auto found = reader.truth();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->frequencies_hz, truth.frequencies_hz);
  EXPECT_EQ(found->pressure, truth.pressure);
  EXPECT_THAT(found->normal_velocity, IsEmpty());
  EXPECT_EQ(found->aperture_pressure, truth.aperture_pressure);
  const auto parts = reader.segments();
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->first_bit_time, segments.first_bit_time);
  EXPECT_EQ(parts->bit_times, segments.bit_times);
  EXPECT_EQ(parts->frequencies_hz, segments.frequencies_hz);
}

TEST(Capture, ReadBeyondTheEndIsRefused) {
  const TempFolder folder;
  write_small_capture(folder / "bits.h5");
  const CaptureReader reader(folder / "bits.h5");
  std::vector<std::uint32_t> words(11);
  EXPECT_EQ(error_of([&] { reader.read(89, words); }), "");
  EXPECT_THAT(error_of([&] { reader.read(90, words); }), HasSubstr("11 values from index 90"));
  EXPECT_THAT(error_of([&] { reader.read(~std::uint64_t{0}, words); }), HasSubstr("data: "));
}

// h5py writes Python's int as int64 and numpy's as they are; other programs write int32, and strings of fixed length.
TEST(Capture, AttributesOfOtherProgramsAreUnderstood) {
  const TempFolder folder;
  write_small_capture(folder / "bits.h5");
  edit(folder / "bits.h5", [](hid_t file) {
    const std::int32_t rows = 3;
    const std::uint8_t columns = 5;
    const std::int16_t version = 1;
    const float pitch_m = 0.25F;
    const std::int32_t rate_hz = 1'500'000;
    put_attribute(file, "/geometry", "rows", H5T_NATIVE_INT32, &rows, {1});
    put_attribute(file, "/geometry", "columns", H5T_NATIVE_UINT8, &columns);
    put_attribute(file, "/", "version", H5T_STD_I16BE, &version);
    const std::int16_t swapped_version = 0x0100;
    put_attribute(file, "/", "version", H5T_STD_I16BE, &swapped_version);
    put_attribute(file, "/geometry", "pitch_x_m", H5T_NATIVE_FLOAT, &pitch_m);
    put_attribute(file, "/bitstream", "sample_rate_hz", H5T_NATIVE_INT32, &rate_hz);
    put_fixed_text(file, "/", "format", "nearfield-capture");
    put_fixed_text(file, "/bitstream", "layout", "row-major   ", H5T_STR_SPACEPAD);
  });
  const CaptureReader reader(folder / "bits.h5");
  EXPECT_EQ(reader.info().measurement.geometry.rows, 3);
  EXPECT_EQ(reader.info().measurement.geometry.columns, 5);
  EXPECT_EQ(reader.info().measurement.geometry.pitch_x_m, 0.25);
  EXPECT_EQ(reader.info().sample_rate_hz, 1.5e6);
  EXPECT_EQ(reader.info().layout, WireLayout::kRowMajor);
}

TEST(Capture, BigEndianBitsAreUnderstood) {
  const TempFolder folder;
  write_small_capture(folder / "bits.h5");
  const std::vector<std::uint32_t> swapped{0x01000000U, 0x00000080U};
  edit(folder / "bits.h5", [&](hid_t file) {
    put_dataset(file, "/bitstream", H5T_STD_U32BE, {2, 1}, swapped.data());
    put_real(file, "/bitstream", "sample_rate_hz", 1.5e6);
    put_integer(file, "/bitstream", "start_time_ns", 0);
    put_fixed_text(file, "/bitstream", "layout", "row-major");
  });
  std::vector<std::uint32_t> words(2);
  CaptureReader(folder / "bits.h5").read(0, words);
  EXPECT_THAT(words, ElementsAre(1U, 0x80000000U));
}

/// Puts another /bitstream in place, with the attributes of a good one.
void put_bitstream(hid_t file, hid_t type, const h5::Shape& shape) {
  put_dataset(file, "/bitstream", type, shape);
  put_real(file, "/bitstream", "sample_rate_hz", 1.5e6);
  put_integer(file, "/bitstream", "start_time_ns", 0);
  put_fixed_text(file, "/bitstream", "layout", "row-major");
}

TEST(Capture, IllFilesAreRefused) {
  const TempFolder folder;
  write_small_capture(folder / "good.h5");
  const double nan = std::nan("");
  expect_refused(
      folder / "good.h5",
      {{"no bitstream", [](hid_t f) { H5Ldelete(f, "/bitstream", H5P_DEFAULT); }, {"/bitstream", "found nothing"}},
       {"group for a dataset",
        [](hid_t f) {
          H5Lmove(f, "/bitstream", f, "/old", H5P_DEFAULT, H5P_DEFAULT);
          const h5::Object group(H5Gcreate2(f, "/bitstream", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
          put_real(f, "/bitstream", "sample_rate_hz", 1.5e6);
          put_integer(f, "/bitstream", "start_time_ns", 0);
          put_fixed_text(f, "/bitstream", "layout", "row-major");
        },
        {"/bitstream", "no readable dataset", "expected a dataset [bit-times, 1 words] of uint32"}},
       {"floats",
        [](hid_t f) {
          put_bitstream(f, H5T_NATIVE_FLOAT, {9, 1});
        },
        {"/bitstream: found float32, expected uint32"}},
       {"signed",
        [](hid_t f) {
          put_bitstream(f, H5T_NATIVE_INT32, {9, 1});
        },
        {"/bitstream: found int32, expected uint32"}},
       {"bytes",
        [](hid_t f) {
          put_bitstream(f, H5T_NATIVE_UINT8, {9, 1});
        },
        {"/bitstream: found uint8, expected uint32"}},
       {"rank 1",
        [](hid_t f) { put_bitstream(f, H5T_NATIVE_UINT32, {9}); },
        {"/bitstream: found rank 1 (9,), expected rank 2"}},
       {"no bit-times",
        [](hid_t f) {
          put_bitstream(f, H5T_NATIVE_UINT32, {0, 1});
        },
        {"/bitstream: found (0, 1), that is 0 bit-times, expected at least 1"}},
       {"words",
        [](hid_t f) {
          put_bitstream(f, H5T_NATIVE_UINT32, {9, 2});
        },
        {"/bitstream: found (9, 2), that is 2 words, expected [bit-times, 1 words]"}},
       {"absurd size",
        [](hid_t f) {
          put_bitstream(f, H5T_NATIVE_UINT32, {hsize_t{1} << 60U, 1});
        },
        {"/bitstream: found (1152921504606846976, 1) values of 4 bytes, expected no more than a file of"}},
       {"layout name",
        [](hid_t f) { put_fixed_text(f, "/bitstream", "layout", "column-major"); },
        {"/bitstream, attribute layout: found \"column-major\", expected sorama-cam or row-major"}},
       {"layout size",
        [](hid_t f) { put_fixed_text(f, "/bitstream", "layout", "sorama-cam"); },
        {"/bitstream, attribute layout: found sorama-cam for 3 x 5 microphones"}},
       {"layout type",
        [](hid_t f) { put_integer(f, "/bitstream", "layout", 1); },
        {"/bitstream, attribute layout: found int64, expected a string"}},
       {"no layout",
        [](hid_t f) { H5Adelete_by_name(f, "/bitstream", "layout", H5P_DEFAULT); },
        {"/bitstream, attribute layout: found nothing"}},
       {"rate",
        [](hid_t f) { put_real(f, "/bitstream", "sample_rate_hz", 0.0); },
        {"sample_rate_hz: found 0, expected"}},
       {"start",
        [](hid_t f) { put_real(f, "/bitstream", "start_time_ns", 1.5); },
        {"start_time_ns: found float64, expected an integer"}},
       {"no geometry",
        [](hid_t f) { H5Ldelete(f, "/geometry", H5P_DEFAULT); },
        {"/geometry: found nothing, expected it with the attribute rows"}},
       {"no rows",
        [](hid_t f) { put_integer(f, "/geometry", "rows", 0); },
        {"/geometry, attribute rows: found 0, expected an integer from 1 to 64"}},
       {"many columns",
        [](hid_t f) { put_integer(f, "/geometry", "columns", 65); },
        {"/geometry, attribute columns: found 65, expected an integer from 1 to 64"}},
       {"negative rows", [](hid_t f) { put_integer(f, "/geometry", "rows", -3); }, {"attribute rows: found -3"}},
       {"list of rows",
        [](hid_t f) {
          const std::array<std::int64_t, 2> rows{3, 3};
          put_attribute(f, "/geometry", "rows", H5T_NATIVE_INT64, rows.data(), {2});
        },
        {"/geometry, attribute rows: found shape (2,), expected an integer from 1 to 64"}},
       {"pitch",
        [](hid_t f) { put_real(f, "/geometry", "pitch_y_m", -0.02); },
        {"pitch_y_m: found -0.02, expected a number above 0"}},
       {"pitch NaN",
        [=](hid_t f) { put_real(f, "/geometry", "pitch_x_m", nan); },
        {"pitch_x_m: found nan, expected a finite number"}},
       {"pitch too small",
        [](hid_t f) { put_real(f, "/geometry", "pitch_x_m", 2.8e-308); },
        {"pitch_x_m: found 2.8e-308, expected a length from 1e-06 to 100 m"}},
       {"pitch text",
        [](hid_t f) { put_fixed_text(f, "/geometry", "pitch_x_m", "2 cm"); },
        {"pitch_x_m: found string, expected a finite number"}},
       {"standoff", [](hid_t f) { put_real(f, "/geometry", "standoff_m", -1.0); }, {"standoff_m: found -1"}},
       {"sensitivity",
        [](hid_t f) { put_real(f, "/geometry", "sensitivity_dbfs", std::numeric_limits<double>::infinity()); },
        {"sensitivity_dbfs: found inf, expected a finite number"}},
       {"version",
        [](hid_t f) { put_integer(f, "/", "version", 2); },
        {": attribute version: found 2, expected an integer from 1 to 1"}},
       {"no version", [](hid_t f) { H5Adelete(f, "version"); }, {": attribute version: found nothing"}},
       {"other format",
        [](hid_t f) { put_fixed_text(f, "/", "format", "nearfield-spectra"); },
        {"found spectra, expected capture"}},
       {"unknown format",
        [](hid_t f) { put_fixed_text(f, "/", "format", "wave"); },
        {": attribute format: found \"wave\", expected nearfield-capture, "}},
       {"no format",
        [](hid_t f) { H5Adelete(f, "format"); },
        {"neither an attribute format nor a dataset /time_data"}}},
      [](const std::filesystem::path& path) { const CaptureReader reader(path); });
}

TEST(Capture, IllTruthAndSegmentsAreRefused) {
  const TempFolder folder;
  {
    CaptureWriter writer(folder / "good.h5", small_info());
    writer.append(random_words(100, 1));
    writer.write_truth(
        {.frequencies_hz = {500.0}, .pressure = random_complex(15, 1), .normal_velocity = {}, .aperture_pressure = {}});
    writer.write_segments({.first_bit_time = {0}, .bit_times = {100}, .frequencies_hz = {500.0}});
    writer.finish();
  }
  const std::uint64_t far = 1;
  const double nothing = 0.0;
  expect_refused(folder / "good.h5",
                 {{"truth's size",
                   [](hid_t f) {
                     put_dataset(f, "/truth/pressure", h5::memory_type(h5::Element::kComplex64).id(), {1, 5, 3});
                   },
                   {"/truth/pressure: found (1, 5, 3), that is 5 rows, expected [1 frequencies, 3 rows, 5 columns]"}},
                  {"truth's frequencies",
                   [&](hid_t f) { put_dataset(f, "/truth/frequencies_hz", H5T_NATIVE_DOUBLE, {1}, &nothing); },
                   {"/truth/frequencies_hz[0]: found 0, expected a finite frequency above 0 Hz"}},
                  {"segment beyond the end",
                   [&](hid_t f) { put_dataset(f, "/segments/first_bit_time", H5T_NATIVE_UINT64, {1}, &far); },
                   {"/segments[0]: found 100 bit-times from 1, expected"}},
                  {"segments of two lengths",
                   [](hid_t f) { put_dataset(f, "/segments/bit_times", H5T_NATIVE_UINT64, {2}); },
                   {"/segments/bit_times: found (2,), that is 2 segments, expected [1 segments]"}}},
                 [](const std::filesystem::path& path) {
                   const CaptureReader reader(path);
                   (void)reader.truth();
                   (void)reader.segments();
                 });
}

TEST(CaptureWriter, UnfinishedLeavesNothing) {
  const TempFolder folder;
  {
    CaptureWriter writer(folder / "bits.h5", small_info());
    writer.append(random_words(100, 1));
    EXPECT_THAT(folder.names(), ElementsAre("bits.h5.partial"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(CaptureWriter, EmptyIsRefused) {
  const TempFolder folder;
  {
    CaptureWriter writer(folder / "bits.h5", small_info());
    EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("holds no bit-times"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(CaptureWriter, PartsOfBitTimesAreRefused) {
  const TempFolder folder;
  CaptureWriter writer(folder / "bits.h5", sorama_info());
  EXPECT_THAT(error_of([&] { writer.append(random_words(33, 1)); }), HasSubstr("33 values do not fill"));
}

TEST(CaptureWriter, LayoutMustFitGeometry) {
  const TempFolder folder;
  CaptureInfo info = small_info();
  info.layout = WireLayout::kSoramaCam;
  EXPECT_THROW(CaptureWriter(folder / "bits.h5", info), ConfigError);
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace nearfield
