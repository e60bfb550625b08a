#include <cmath>

#include "files/file_test_support.hpp"
#include "support/images.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ImagesHeader small_header() {
  ImagesHeader header;
  header.quantity = "normal_velocity";
  header.unit = "m/s";
  header.config = "version: 1\nmedium: {sound_speed_m_s: 343.0}  # \xC2\xB5\n";
  header.device = "a device";
  header.front_end = "decimated_fft";
  header.frequencies_hz = {1000.0, 2000.0, 500.0};
  header.planes_m = {0.0, 0.01};
  header.x_m = {-0.02, -0.01, 0.0, 0.01, 0.02};
  header.y_m = {-0.01, 0.0, 0.01};
  return header;
}

/// A frame that nothing but its number determines.
ImageFrame frame_of(const ImagesHeader& header, unsigned number) {
  ImageFrame frame;
  frame.first_sample = 32ULL * number;
  frame.timestamp_ns = 1'793'000'000'000'000'001 + number;
  frame.flags = number % 2 == 0 ? 0U : kFlagClipped | kFlagMissingBits;
  frame.missing_bits = (std::uint64_t{1} << 40U) + number;
  const float value = static_cast<float>(number);
  frame.cutoff_rad_per_m = {value, 2.0F * value, -value};
  frame.slope = {0.1F, 0.2F, 0.3F + value};
  frame.noise_pa = {1e-6F, 2e-6F, value};
  frame.error_estimate = {0.01F, value, 0.5F};
  frame.images = random_complex(header.values_per_frame(), number);
  return frame;
}

void expect_same(const ImageFrame& found, const ImageFrame& expected) {
  EXPECT_EQ(found.first_sample, expected.first_sample);
  EXPECT_EQ(found.timestamp_ns, expected.timestamp_ns);
  EXPECT_EQ(found.flags, expected.flags);
  EXPECT_EQ(found.missing_bits, expected.missing_bits);
  EXPECT_EQ(found.cutoff_rad_per_m, expected.cutoff_rad_per_m);
  EXPECT_EQ(found.slope, expected.slope);
  EXPECT_EQ(found.noise_pa, expected.noise_pa);
  EXPECT_EQ(found.error_estimate, expected.error_estimate);
  EXPECT_EQ(found.images, expected.images);
}

void write_images(const std::filesystem::path& path, unsigned frames) {
  const ImagesHeader header = small_header();
  ImagesWriter writer(path, header, frames);
  for (unsigned number = 0; number < frames; ++number) {
    writer.write(frame_of(header, number));
  }
  writer.finish();
}

TEST(Images, IntensitiesCarryTheirPower) {
  const TempFolder folder;
  ImagesHeader header = small_header();
  header.quantity = "active_intensity";
  ImageFrame frame = frame_of(header, 1);
  {
    ImagesWriter writer(folder / "images.h5", header, 2);
    EXPECT_THROW(writer.write(frame), Error) << "without it";
    frame.radiated_power_w = radiated_power_w(header, frame.images);
    writer.write(frame);
    writer.finish();
  }
  const ImageFrame found = ImagesReader(folder / "images.h5").read(0);
  EXPECT_EQ(found.radiated_power_w, frame.radiated_power_w);
  ASSERT_EQ(found.radiated_power_w.size(), 6U);
  double sum = 0.0;
  for (std::size_t pixel = 4 * 15; pixel < 5 * 15; ++pixel) {  // plane 1, frequency 1; pixels of 10 x 10 mm
    sum += static_cast<double>(found.images[pixel].real()) * 1e-4;
  }
  EXPECT_NEAR(static_cast<double>(found.radiated_power_w[4]), sum, 1e-6 * std::abs(sum));  // float
  write_images(folder / "velocity.h5", 1);
  EXPECT_THAT(ImagesReader(folder / "velocity.h5").read(0).radiated_power_w, IsEmpty());
  header.x_m = {0.0};
  frame.images.resize(header.values_per_frame());
  EXPECT_TRUE(std::isnan(radiated_power_w(header, frame.images)[0])) << "one column has no width";
}

TEST(Images, RoundTripIsExact) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  write_images(folder / "images.h5", 4);
  EXPECT_THAT(folder.names(), ElementsAre("images.h5"));
  const ImagesReader reader(folder / "images.h5");
  EXPECT_EQ(reader.header().quantity, header.quantity);
  EXPECT_EQ(reader.header().unit, header.unit);
  EXPECT_EQ(reader.header().config, header.config);
  EXPECT_EQ(reader.header().device, header.device);
  EXPECT_EQ(reader.header().front_end, header.front_end);
  EXPECT_EQ(reader.header().frequencies_hz, header.frequencies_hz);
  EXPECT_EQ(reader.header().planes_m, header.planes_m);
  EXPECT_EQ(reader.header().x_m, header.x_m);
  EXPECT_EQ(reader.header().y_m, header.y_m);
  ASSERT_EQ(reader.frames(), 4U);
  for (const unsigned number : {3U, 0U, 2U, 1U}) {
    expect_same(reader.read(number), frame_of(header, number));
  }
  EXPECT_THAT(error_of([&] { (void)reader.read(4); }), HasSubstr("/images: found 4 frames, expected a frame 4"));
}

TEST(Images, UnknownFiguresStayNan) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  {
    ImagesWriter writer(folder / "images.h5", header, 1);
    ImageFrame frame = frame_of(header, 0);
    frame.cutoff_rad_per_m[1] = std::nanf("");
    writer.write(frame);
    writer.finish();
  }
  EXPECT_TRUE(std::isnan(ImagesReader(folder / "images.h5").read(0).cutoff_rad_per_m[1]));
}

// A run that ends early, such as by a signal, still finishes its file.
TEST(Images, FewerFramesThanRoom) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  {
    ImagesWriter writer(folder / "images.h5", header, 1'000'000);
    writer.write(frame_of(header, 0));
    writer.finish();
  }
  const ImagesReader reader(folder / "images.h5");
  EXPECT_EQ(reader.frames(), 1U);
  EXPECT_THAT(error_of([&] { (void)reader.read(1); }), HasSubstr("1 frames"));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "images.h5").c_str(), &status), 0);
  constexpr off_t kTimes = 8 * 1'000'000;                            // are not a number where no frame is
  EXPECT_LT(status.st_blocks * 512 - kTimes, status.st_size / 100);  // frames never written are holes
}

TEST(Images, LongConfigurationIsKept) {
  const TempFolder folder;
  ImagesHeader header = small_header();
  header.config.assign(100'000, 'x');
  {
    ImagesWriter writer(folder / "images.h5", header, 1);
    writer.write(frame_of(header, 0));
    writer.finish();
  }
  EXPECT_EQ(ImagesReader(folder / "images.h5").header().config, header.config);
}

TEST(ImagesWriter, ReadableWhileItGrows) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  const std::filesystem::path partial = folder / "images.h5.partial";
  ImagesWriter writer(folder / "images.h5", header, 5);
  // Read in another process: in this one HDF5 would share what the writer has in memory.
  EXPECT_THAT(in_child([&] { const ImagesReader reader(partial); }).error,
              HasSubstr("/frames_written: found 0 of 5, expected at least one frame"));
  for (unsigned number = 0; number < 3; ++number) {
    writer.write(frame_of(header, number));
    const ChildResult result = in_child([&] {
      const ImagesReader reader(partial);
      const bool right = reader.frames() == number + 1 && reader.read(number).images == frame_of(header, number).images;
      throw Error(ExitCode::kOk, right ? "right" : "wrong");
    });
    EXPECT_EQ(result.error, "other: right");
    EXPECT_EQ(result.printed, "");
  }
}

/// Writes frames until it is killed, and a mark into the pipe after each.
[[noreturn]] void write_until_killed(const std::filesystem::path& path, int pipe_end) {
  const ImagesHeader header = small_header();
  constexpr unsigned kRoom = 1'000'000;
  ImagesWriter writer(path, header, kRoom);
  for (unsigned number = 0; number < kRoom; ++number) {
    writer.write(frame_of(header, number % 50));
    if (::write(pipe_end, "x", 1) != 1) {
      break;
    }
  }
  ::_exit(1);
}

TEST(ImagesWriter, SurvivesAKill) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  for (const std::size_t told : {1U, 2U, 17U, 200U}) {
    SCOPED_TRACE(told);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      write_until_killed(folder / "images.h5", ends[1]);
    }
    std::array<char, 1> mark{};
    for (std::size_t count = 0; count < told; ++count) {
      ASSERT_EQ(::read(ends[0], mark.data(), 1), 1);
    }
    ::kill(child, SIGKILL);  // somewhere within a later frame
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_THAT(folder.names(), ElementsAre("images.h5.partial"));
    const ImagesReader reader(folder / "images.h5.partial");
    ASSERT_GE(reader.frames(), told);
    for (unsigned number = 0; number < reader.frames(); ++number) {
      expect_same(reader.read(number), frame_of(header, number % 50));
    }
  }
}

// What a kill left is no obstacle to the next run.
TEST(ImagesWriter, ReplacesAnOldPartialFile) {
  const TempFolder folder;
  write_text(folder / "images.h5.partial", std::string(1'000'000, 'x'));
  write_images(folder / "images.h5", 2);
  EXPECT_THAT(folder.names(), ElementsAre("images.h5"));
  EXPECT_EQ(ImagesReader(folder / "images.h5").frames(), 2U);
}

TEST(ImagesWriter, UnfinishedKeepsItsFrames) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  { const ImagesWriter writer(folder / "images.h5", header, 3); }
  EXPECT_THAT(folder.names(), IsEmpty());
  {
    ImagesWriter writer(folder / "images.h5", header, 3);
    writer.write(frame_of(header, 0));
    writer.write(frame_of(header, 1));
  }
  EXPECT_THAT(folder.names(), ElementsAre("images.h5.partial"));
  const ImagesReader reader(folder / "images.h5.partial");
  EXPECT_EQ(reader.frames(), 2U);
  expect_same(reader.read(1), frame_of(header, 1));
}

TEST(ImagesWriter, RefusesWrongFrames) {
  const TempFolder folder;
  const ImagesHeader header = small_header();
  EXPECT_THAT(error_of([&] { ImagesWriter(folder / "images.h5", header, 0); }), HasSubstr("holds no values"));
  ImagesWriter writer(folder / "images.h5", header, 1);
  EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("hold no frames"));
  ImageFrame frame = frame_of(header, 0);
  frame.slope.pop_back();
  EXPECT_THAT(error_of([&] { writer.write(frame); }), HasSubstr("slope: found 2 values, expected 3"));
  frame = frame_of(header, 0);
  frame.images.pop_back();
  EXPECT_THAT(error_of([&] { writer.write(frame); }), HasSubstr("images: found 89 values, expected 90"));
  writer.write(frame_of(header, 0));
  EXPECT_THAT(error_of([&] { writer.write(frame_of(header, 1)); }), HasSubstr("no room for a frame beyond 1"));
}

TEST(Images, IllFilesAreRefused) {
  const TempFolder folder;
  write_images(folder / "good.h5", 2);
  const std::uint64_t none = 0;
  const std::vector<double> planes{0.0, std::nan("")};
  const h5::Type complex = h5::memory_type(h5::Element::kComplex64);
  expect_refused(
      folder / "good.h5",
      {{"no images", [](hid_t f) { H5Ldelete(f, "/images", H5P_DEFAULT); }, {"/images: found nothing"}},
       {"images' rank",
        [&](hid_t f) {
          put_dataset(f, "/images", complex.id(), {2, 2, 3, 15});
        },
        {"/images: found rank 4 (2, 2, 3, 15), expected rank 5 [frames, 2 planes, 3 frequencies, 3 rows, 5 columns]"}},
       {"images' rows",
        [&](hid_t f) {
          put_dataset(f, "/images", complex.id(), {2, 2, 3, 4, 5});
        },
        {"/images: found (2, 2, 3, 4, 5), that is 4 rows"}},
       {"no frames",
        [&](hid_t f) {
          put_dataset(f, "/images", complex.id(), {0, 2, 3, 3, 5});
        },
        {"/images: found (0, 2, 3, 3, 5), that is 0 frames"}},
       {"none written",
        [&](hid_t f) { put_dataset(f, "/frames_written", H5T_NATIVE_UINT64, {}, &none); },
        {"/frames_written: found 0 of 2"}},
       {"flags of another length",
        [](hid_t f) { put_dataset(f, "/flags", H5T_NATIVE_UINT32, {3}); },
        {"/flags: found (3,), that is 3 frames, expected [2 frames]"}},
       {"signed times",
        [](hid_t f) { put_dataset(f, "/timestamp_ns", H5T_NATIVE_DOUBLE, {2}); },
        {"/timestamp_ns: found float64, expected int64"}},
       {"noise's rank",
        [](hid_t f) { put_dataset(f, "/noise_pa", H5T_NATIVE_FLOAT, {2}); },
        {"/noise_pa: found rank 1 (2,), expected rank 2 [2 frames, 3 frequencies]"}},
       {"a plane that is no length",
        [&](hid_t f) { put_dataset(f, "/planes_m", H5T_NATIVE_DOUBLE, {2}, planes.data()); },
        {"/planes_m[1]: found nan, expected a finite length"}},
       {"quantity",
        [](hid_t f) { put_fixed_text(f, "/", "quantity", "intensity"); },
        {": attribute quantity: found \"intensity\", expected one of pressure, normal_velocity, displacement, "
         "active_intensity"}},
       {"no device",
        [](hid_t f) { H5Adelete(f, "device"); },
        {": attribute device: found nothing, expected a string"}}},
      [](const std::filesystem::path& path) { const ImagesReader reader(path); });
}

// Images that another program wrote have no counter: all their frames count.
TEST(Images, WithoutACounterAllFramesCount) {
  const TempFolder folder;
  write_images(folder / "images.h5", 3);
  edit(folder / "images.h5", [](hid_t f) { H5Ldelete(f, "/frames_written", H5P_DEFAULT); });
  EXPECT_EQ(ImagesReader(folder / "images.h5").frames(), 3U);
  const std::uint64_t many = 99;
  edit(folder / "images.h5", [&](hid_t f) { put_dataset(f, "/frames_written", H5T_NATIVE_UINT64, {}, &many); });
  EXPECT_EQ(ImagesReader(folder / "images.h5").frames(), 3U);
}

// A full disk in the middle of a run keeps the frames that are whole.
TEST(ImagesWriter, FullDiskKeepsWholeFrames) {
  const TempFolder folder;
  ImagesHeader header = small_header();
  header.x_m.resize(5000);
  const ChildResult result = in_child([&] {
    ImagesWriter writer(folder / "images.h5", header, 3);
    writer.write(frame_of(header, 0));
    limit_file_size(header.values_per_frame() * sizeof(std::complex<float>) * 3 / 2);
    writer.write(frame_of(header, 1));
  });
  const std::string partial = (folder / "images.h5.partial").string();
  EXPECT_EQ(result.error, "io: " + partial + ": cannot write /images: File too large");
  EXPECT_EQ(result.printed, "");
  EXPECT_TRUE(result.ended_well);
  EXPECT_THAT(folder.names(), ElementsAre("images.h5.partial"));
  const ImagesReader reader(partial);
  ASSERT_EQ(reader.frames(), 1U);
  expect_same(reader.read(0), frame_of(header, 0));
}

}  // namespace
}  // namespace nearfield
