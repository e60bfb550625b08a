#include "files/file_test_support.hpp"
#include "files/hdf5/h5_input.hpp"
#include "files/hdf5/h5_output.hpp"
#include "support/images.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace nearfield {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Writer {
  std::string name;
  std::function<void(const std::filesystem::path&)> write;
};

CaptureInfo capture_info() {
  CaptureInfo info;
  info.measurement = small_measurement();
  info.layout = WireLayout::kRowMajor;
  return info;
}

void write_capture(const std::filesystem::path& path) {
  CaptureWriter writer(path, capture_info());
  for (unsigned part = 0; part < 20; ++part) {
    writer.append(random_words(100'000, part));
  }
  writer.finish();
}

/// Small enough to fail only when it is finished.
void write_short_capture(const std::filesystem::path& path) {
  CaptureWriter writer(path, capture_info());
  writer.append(random_words(50'000, 1));
  writer.finish();
}

void write_images(const std::filesystem::path& path) {
  ImagesHeader header{.quantity = "pressure",
                      .unit = "Pa",
                      .config = {},
                      .device = {},
                      .front_end = {},
                      .frequencies_hz = {500.0},
                      .planes_m = {0.0},
                      .x_m = {},
                      .y_m = {}};
  header.x_m.resize(64);
  header.y_m.resize(64);
  ImagesWriter writer(path, header, 10);
  ImageFrame frame;
  frame.cutoff_rad_per_m = frame.slope = frame.noise_pa = frame.error_estimate = {1.0F};
  frame.images = random_complex(header.values_per_frame(), 1);
  writer.write(frame);
  writer.finish();
}

/// All writers, each with more than 64 KiB.
const std::vector<Writer>& writers() {
  constexpr std::size_t kFrames = 1000;
  static const std::vector<Writer> kTable{
      {"capture", write_capture},
      {"short capture", write_short_capture},
      {"images", write_images},
      {"time data",
       [](const std::filesystem::path& path) { write_time_data(path, 48000.0, 1, std::vector<float>(100'000)); }},
      {"spectra",
       [](const std::filesystem::path& path) {
         write_spectra(path, {.measurement = small_measurement(),
                              .frames = kFrames,
                              .frequencies_hz = {500.0},
                              .spectra = random_complex(kFrames * 15, 1)});
       }},
      {"calibration", [](const std::filesystem::path& path) {
         write_calibration(path, {.geometry = small_measurement().geometry,
                                  .frequencies_hz = std::vector<double>(kFrames, 500.0),
                                  .gains = random_complex(kFrames * 15, 1)});
       }}};
  return kTable;
}

TEST(Output, EveryWriterWrites) {
  const TempFolder folder;
  for (const Writer& writer : writers()) {
    EXPECT_EQ(error_of([&] { writer.write(folder / "out.h5"); }), "") << writer.name;
    EXPECT_THAT(folder.names(), ElementsAre("out.h5")) << writer.name;
  }
}

TEST(Output, FullDisk) {
  const TempFolder folder;
  write_text(folder / "out.h5", "an older file");
  for (const Writer& writer : writers()) {
    for (const rlim_t limit : {0U, 1000U, 65'536U}) {
      SCOPED_TRACE(writer.name + " " + std::to_string(limit));
      const ChildResult result = in_child([&] {
        limit_file_size(limit);
        writer.write(folder / "out.h5");
      });
      EXPECT_THAT(result.error, testing::StartsWith("io: " + (folder / "out.h5.partial").string() + ": cannot "));
      EXPECT_THAT(result.error, testing::EndsWith(": File too large"));
      EXPECT_EQ(result.printed, "");
      EXPECT_TRUE(result.ended_well);
      EXPECT_THAT(folder.names(), ElementsAre("out.h5"));
      EXPECT_EQ(text_in(folder / "out.h5"), "an older file");
    }
  }
}

/// HDF5 1.10 loses the memory of a file that it could not close, some 300 kB; that cannot be had back from outside.
void allow_leaks() {
#if defined(__SANITIZE_ADDRESS__)
  h5::quiet();
  H5garbage_collect();  // or memory from before this call would be used again, and missed
  __lsan_disable();
#endif
}

// HDF5 crashes in calls that come after a file could not be closed, unless it is kept from it.
TEST(Output, ProcessGoesOnAfterAFullDisk) {
  const TempFolder folder;
  const ChildResult result = in_child([&] {
    allow_leaks();
    for (const Writer& writer : writers()) {
      limit_file_size(65'536);
      EXPECT_NE(error_of([&] { writer.write(folder / "out.h5"); }), "");
      limit_file_size(RLIM_INFINITY);
      const std::string error = error_of([&] { writer.write(folder / "out.h5"); });
      if (!error.empty()) {
        throw Error(ExitCode::kInternal, writer.name + ": " + error);
      }
      (void)detect_file_kind(folder / "out.h5");
    }
  });
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.printed, "");
  EXPECT_TRUE(result.ended_well);
}

TEST(Output, MissingFolder) {
  const TempFolder folder;
  for (const Writer& writer : writers()) {
    const std::string error = error_of([&] { writer.write(folder / "none" / "out.h5"); });
    EXPECT_EQ(error,
              "io: " + (folder / "none").string() + "/out.h5.partial: cannot be created: No such file or directory")
        << writer.name;
  }
}

TEST(Output, ReadOnlyFolder) {
  const TempFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  for (const Writer& writer : writers()) {
    const ChildResult result = in_child([&] {
      become_ordinary_user();
      writer.write(folder / "out.h5");
    });
    EXPECT_EQ(result.error, "io: " + (folder / "out.h5.partial").string() + ": cannot be created: Permission denied")
        << writer.name;
    EXPECT_EQ(result.printed, "");
    EXPECT_TRUE(result.ended_well);
  }
}

TEST(Output, FolderInTheWay) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "out.h5");
  for (const Writer& writer : writers()) {
    EXPECT_EQ(error_of([&] { writer.write(folder / "out.h5"); }),
              "io: " + (folder / "out.h5").string() + ": found a directory, expected a new or a regular file");
  }
  EXPECT_THAT(folder.names(), ElementsAre("out.h5"));
}

// A rename would put a file in the place of /dev/null.
TEST(Output, DevicesAreNotReplaced) {
  EXPECT_THAT(error_of([] { write_short_capture("/dev/null"); }), HasSubstr("/dev/null: found a special file"));
}

TEST(Output, OldFileStaysUntilFinished) {
  const TempFolder folder;
  write_text(folder / "out.h5", "an older file");
  {
    CaptureWriter writer(folder / "out.h5", capture_info());
    writer.append(random_words(10, 1));
    EXPECT_EQ(text_in(folder / "out.h5"), "an older file");
    writer.finish();
  }
  EXPECT_EQ(CaptureReader(folder / "out.h5").info().bit_times, 10U);
}

TEST(Output, SecondWriterIsRefused) {
  const TempFolder folder;
  CaptureWriter writer(folder / "out.h5", capture_info());
  writer.append(random_words(10, 1));
  EXPECT_EQ(error_of([&] { write_short_capture(folder / "out.h5"); }),
            "io: " + (folder / "out.h5.partial").string() + ": cannot be written: another program is writing it");
  writer.finish();
  EXPECT_EQ(CaptureReader(folder / "out.h5").info().bit_times, 10U);
}

// HDF5 creates files by their names, which a link may have taken meanwhile: the file is created by its descriptor.
TEST(Output, LinksInThePlaceOfThePartialFileAreRefused) {
  const TempFolder folder;
  write_text(folder / "precious", "root's");
  std::filesystem::create_symlink(folder / "precious", folder / "out.h5.partial");
  for (const Writer& writer : writers()) {
    EXPECT_EQ(error_of([&] { writer.write(folder / "out.h5"); }),
              "io: " + (folder / "out.h5.partial").string() + ": found a link, expected a new or a regular file")
        << writer.name;
  }
  EXPECT_EQ(text_in(folder / "precious"), "root's");
  EXPECT_THAT(folder.names(), ElementsAre("out.h5.partial", "precious"));
}

/// Adds the attributes that are strings of variable length, which HDF5 keeps in a heap of the file.
herr_t add_texts_in_heap(hid_t object, const char* name, const H5A_info_t* /*info*/, void* found) {
  const h5::Attribute attribute(H5Aopen(object, name, H5P_DEFAULT));
  const h5::Type type(H5Aget_type(attribute.id()));
  if (H5Tis_variable_str(type.id()) > 0) {
    static_cast<std::vector<std::string>*>(found)->emplace_back(name);
  }
  return 0;
}

// References of dimension scales are in the heap, but no reader of this project reads these.
TEST(Output, NoTextIsInTheHeap) {
  const TempFolder folder;
  for (const Writer& writer : writers()) {
    writer.write(folder / "out.h5");
    std::vector<std::string> found;
    std::size_t objects = 0;
    auto visit = [&](hid_t object) {
      ++objects;
      H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_texts_in_heap, &found);
    };
    using Visit = decltype(visit);
    edit(folder / "out.h5", [&](hid_t file) {
      const auto each = [](hid_t root, const char* name, const auto* /*info*/, void* data) -> herr_t {
        const h5::Object object(H5Oopen(root, name, H5P_DEFAULT));
        (*static_cast<Visit*>(data))(object.id());
        return 0;
      };
      H5Ovisit1(file, H5_INDEX_NAME, H5_ITER_INC, each, &visit);
    });
    EXPECT_GE(objects, 2U) << writer.name;
    EXPECT_THAT(found, IsEmpty()) << writer.name;
  }
}

// An attribute has room for 64 KiB.
TEST(Output, LongTextsComeBackTheSame) {
  const TempFolder folder;
  for (const std::size_t bytes : {0U, 1U, 32'768U, 32'769U, 200'000U}) {
    const std::string text(bytes, 'x');
    {
      h5::OutputFile file(folder / "out.h5");
      file.write_attribute("/", "config", text);
      file.finish();
    }
    EXPECT_EQ(h5::InputFile(folder / "out.h5").text_attribute("/", "config"), text) << bytes;
  }
}

TEST(Output, RemovedPartialIsNoticed) {
  const TempFolder folder;
  CaptureWriter writer(folder / "out.h5", capture_info());
  writer.append(random_words(10, 1));
  std::filesystem::remove(folder / "out.h5.partial");
  EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("was removed or replaced while it was written"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace nearfield
