#include <cmath>
#include <fstream>

#include "files/file_test_support.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<float> kValues{1.0F, -2.0F, 3.5F, 4.0F, 5.0F, -6.25F};

TEST(TimeData, RoundTripIsExact) {
  const TempFolder folder;
  write_time_data(folder / "time.h5", 48000.0, 2, kValues);
  const TimeDataReader reader(folder / "time.h5");
  EXPECT_EQ(reader.sample_rate_hz(), 48000.0);
  EXPECT_EQ(reader.samples(), 3U);
  EXPECT_EQ(reader.channels(), 2);
  std::vector<float> values(4);
  reader.read(1, values);
  EXPECT_THAT(values, ElementsAre(3.5F, 4.0F, 5.0F, -6.25F));
  EXPECT_THAT(error_of([&] { reader.read(2, values); }), HasSubstr("4 values from sample 2"));
  EXPECT_THAT(folder.names(), ElementsAre("time.h5"));
}

// Acoular writes float32; other programs' float64 and a rate written as an integer are as clear.
TEST(TimeData, OtherWidthsAreUnderstood) {
  const TempFolder folder;
  create_empty(folder / "time.h5");
  const std::vector<double> values{0.5, std::nan("")};
  const std::int32_t rate_hz = 51200;
  edit(folder / "time.h5", [&](hid_t file) {
    put_dataset(file, "/time_data", H5T_NATIVE_DOUBLE, {2, 1}, values.data());
    put_attribute(file, "/time_data", "sample_freq", H5T_NATIVE_INT32, &rate_hz);
  });
  TimeDataReader reader(folder / "time.h5");
  const TimeDataReader moved = std::move(reader);
  std::vector<float> found(2);
  moved.read(0, found);
  EXPECT_EQ(moved.sample_rate_hz(), 51200.0);
  EXPECT_EQ(found[0], 0.5F);
  EXPECT_TRUE(std::isnan(found[1]));
}

// array.channels: any of them in any order, in pieces of any length.
TEST(TimeData, OfSomeChannelsHasThoseInTheirOrder) {
  const TempFolder folder;
  constexpr int kThere = 5;
  std::vector<float> all;
  for (int i = 0; i < 300'000 * kThere; ++i) {
    all.push_back(static_cast<float>(i));
  }
  write_time_data(folder / "time.h5", 48000.0, kThere, all);
  const TimeDataReader reader(folder / "time.h5", {3, 0});
  EXPECT_EQ(reader.channels(), 2);
  std::vector<float> values(2U * 299'998);
  reader.read(1, values);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    ASSERT_EQ(values[i], all[(1 + i / 2) * kThere + 3]);
    ASSERT_EQ(values[i + 1], all[(1 + i / 2) * kThere]);
  }
  EXPECT_THAT(error_of([&] { reader.read(299'999, values); }), HasSubstr("300000 samples of 2 channels"));
  EXPECT_THAT(error_of([&] {
                const TimeDataReader bad(folder / "time.h5", {1, 5});
              }),
              HasSubstr("array.channels: expected channels from 0 to 4"));
  EXPECT_THAT(error_of([&] {
                const TimeDataReader bad(folder / "time.h5", {1, 2, 1});
              }),
              HasSubstr("each once, found 1 twice"));
}

TEST(TimeData, IllFilesAreRefused) {
  const TempFolder folder;
  write_time_data(folder / "good.h5", 48000.0, 2, kValues);
  const auto put = [](hid_t type, const h5::Shape& shape) {
    return [=](hid_t f) {
      put_dataset(f, "/time_data", type, shape);
      put_real(f, "/time_data", "sample_freq", 48000.0);
    };
  };
  expect_refused(
      folder / "good.h5",
      {{"integers", put(H5T_NATIVE_INT16, {3, 2}), {"/time_data: found int16, expected float32"}},
       {"rank", put(H5T_NATIVE_FLOAT, {6}), {"/time_data: found rank 1 (6,), expected rank 2 [samples, channels]"}},
       {"transposed",
        [&put](hid_t f) {
          put(H5T_NATIVE_FLOAT, {16, 5000})(f);
          const std::vector<float> values(std::size_t{16} * 5000);
          const hid_t data = H5Dopen2(f, "/time_data", H5P_DEFAULT);
          H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
          H5Dclose(data);
        },
        {"/time_data: found 16 samples of 5000 channels, expected [sample, channel]", "transposed"}},
       {"no samples", put(H5T_NATIVE_FLOAT, {0, 2}), {"/time_data: found (0, 2), that is 0 samples"}},
       {"absurd", put(H5T_NATIVE_FLOAT, {hsize_t{1} << 40U, 1U << 20U}), {"/time_data", "no more than a file of"}},
       {"no rate",
        [](hid_t f) { H5Adelete_by_name(f, "/time_data", "sample_freq", H5P_DEFAULT); },
        {"/time_data, attribute sample_freq: found nothing, expected a finite number"}},
       {"rate", [](hid_t f) { put_real(f, "/time_data", "sample_freq", -1.0); }, {"attribute sample_freq: found -1"}},
       {"another kind",
        [](hid_t f) { put_fixed_text(f, "/", "format", "nearfield-images"); },
        {"found images, expected time data"}}},
      [](const std::filesystem::path& path) { const TimeDataReader reader(path); });
}

TEST(TimeData, WriterChecksItsSizes) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { write_time_data(folder / "time.h5", 48000.0, 4, kValues); }), HasSubstr("expected 4"));
  EXPECT_THAT(error_of([&] { write_time_data(folder / "time.h5", 48000.0, 2, {}); }), HasSubstr("holds no values"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

// Columns 5 and 6, as its reader expects between datasets.
TEST(TimeData, UniversalFilesAreKnownByTheirFirstLine) {
  const TempFolder folder;
  const auto is_known = [&](const std::string& text) {
    std::ofstream(folder / "a.uff") << text;
    return is_time_data_of_others(folder / "a.uff");
  };
  EXPECT_TRUE(is_known("    -1\n    58\n"));
  EXPECT_TRUE(is_known("    -1  \r\n    58\r\n"));
  EXPECT_FALSE(is_known("-1\n    58\n"));
  EXPECT_FALSE(is_known("  -1\n    58\n"));
  EXPECT_FALSE(is_known("    -12\n    58\n"));
  EXPECT_FALSE(is_known("    -1"));
}

}  // namespace
}  // namespace nearfield
