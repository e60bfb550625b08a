#include <atomic>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <thread>

#include "files/file_test_support.hpp"
#include "files/hdf5/h5.hpp"
#include "support/images.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::StartsWith;

struct Reader {
  std::string name;
  std::function<void(const std::filesystem::path&)> read;
};

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kTable{
      {"capture", [](const std::filesystem::path& path) { const CaptureReader reader(path); }},
      {"time data", [](const std::filesystem::path& path) { const TimeDataReader reader(path); }},
      {"spectra", [](const std::filesystem::path& path) { (void)read_spectra(path); }},
      {"images", [](const std::filesystem::path& path) { const ImagesReader reader(path); }},
      {"calibration", [](const std::filesystem::path& path) { (void)read_calibration(path); }},
      {"detect_file_kind", [](const std::filesystem::path& path) { (void)detect_file_kind(path); }},
      {"facts_of_file", [](const std::filesystem::path& path) { (void)text_of(facts_of_file(path)); }}};
  return kTable;
}

void expect_errors(const std::filesystem::path& path, const std::string& start, const std::string& part) {
  for (const Reader& reader : readers()) {
    SCOPED_TRACE(reader.name);
    const std::string error = error_of([&] { reader.read(path); });
    EXPECT_THAT(error, StartsWith(start + ": " + path.string() + ": "));
    EXPECT_THAT(error, HasSubstr(part));
  }
}

void write_good_spectra(const std::filesystem::path& path) {
  write_spectra(path, {.measurement = small_measurement(),
                       .frames = 100,
                       .frequencies_hz = {500.0},
                       .spectra = random_complex(1500, 1)});
}

TEST(Input, MissingFile) {
  const TempFolder folder;
  expect_errors(folder / "none.h5", "no input", "cannot be read: No such file or directory");
}

TEST(Input, Directory) {
  const TempFolder folder;
  expect_errors(folder.path(), "no input", "found a directory, expected an HDF5 file");
}

TEST(Input, SpecialFile) { expect_errors("/dev/null", "no input", "found a special file, expected an HDF5 file"); }

TEST(Input, NoPermission) {
  const TempFolder folder;
  write_good_spectra(folder / "secret.h5");
  ::chmod((folder / "secret.h5").c_str(), 0000);
  const ChildResult result = in_child([&] {
    become_ordinary_user();
    (void)read_spectra(folder / "secret.h5");
  });
  EXPECT_EQ(result.error, "no input: " + (folder / "secret.h5").string() + ": cannot be read: Permission denied");
  EXPECT_TRUE(result.ended_well);
}

TEST(Input, NotHdf5) {
  const TempFolder folder;
  write_text(folder / "text.h5", "version: 1\n");
  expect_errors(folder / "text.h5", "data", "found 11 bytes that are not HDF5, expected an HDF5 file");
  write_text(folder / "empty.h5", "");
  expect_errors(folder / "empty.h5", "data", "found 0 bytes that are not HDF5");
}

TEST(Input, Truncated) {
  const TempFolder folder;
  write_good_spectra(folder / "cut.h5");
  for (std::uintmax_t size = std::filesystem::file_size(folder / "cut.h5") - 1; size > 0; size /= 2) {
    SCOPED_TRACE(size);
    std::filesystem::resize_file(folder / "cut.h5", size);
    expect_errors(folder / "cut.h5", "data", "expected ");
  }
}

TEST(Input, TruncatedSaysSo) {
  const TempFolder folder;
  write_good_spectra(folder / "cut.h5");
  std::filesystem::resize_file(folder / "cut.h5", std::filesystem::file_size(folder / "cut.h5") / 2);
  expect_errors(folder / "cut.h5", "data", "found a damaged or truncated HDF5 file (truncated file: eof = ");
}

// A number that no longer fits its checksum, in the middle of the data.
TEST(Input, DamagedData) {
  const TempFolder folder;
  write_good_spectra(folder / "bad.h5");
  const std::vector<std::complex<float>> values(1500, {1.2345F, 5.4321F});
  edit(folder / "bad.h5", [&](hid_t file) {
    H5Ldelete(file, "/spectra", H5P_DEFAULT);
    const h5::Shape shape{100, 1, 3, 5};
    const h5::Properties creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(creation.id(), 4, shape.data());
    H5Pset_fletcher32(creation.id());
    const h5::Space space(H5Screate_simple(4, shape.data(), nullptr));
    const h5::Type type = h5::memory_type(h5::Element::kComplex64);
    const h5::Dataset data(
        H5Dcreate2(file, "/spectra", type.id(), space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(data.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  });
  std::string bytes = text_in(folder / "bad.h5");
  const std::string value(reinterpret_cast<const char*>(values.data()), sizeof(values.front()));
  const std::size_t place = bytes.find(value);
  ASSERT_NE(place, std::string::npos);
  bytes[place] = static_cast<char>(~bytes[place]);
  write_text(folder / "bad.h5", bytes);
  EXPECT_THAT(error_of([&] { (void)read_spectra(folder / "bad.h5"); }),
              StartsWith("data: " + (folder / "bad.h5").string() + ": /spectra: damaged: "));
}

TEST(Input, OtherHdf5) {
  const TempFolder folder;
  create_empty(folder / "other.h5");
  expect_errors(folder / "other.h5", "data",
                "found neither an attribute format nor a dataset /time_data, expected one of Nearfield's files");
}

TEST(Input, OtherKindIsNamed) {
  const TempFolder folder;
  write_good_spectra(folder / "spectra.h5");
  const std::string start = "data: " + (folder / "spectra.h5").string();
  EXPECT_EQ(error_of([&] { const CaptureReader reader(folder / "spectra.h5"); }),
            start + ": found spectra, expected capture");
  EXPECT_EQ(error_of([&] { const ImagesReader reader(folder / "spectra.h5"); }),
            start + ": found spectra, expected images");
  EXPECT_EQ(error_of([&] { const TimeDataReader reader(folder / "spectra.h5"); }),
            start + ": found spectra, expected time data");
}

// As h5py and older versions of Nearfield write them.
void move_format_to_the_heap(const std::filesystem::path& path) {
  edit(path, [](hid_t file) {
    const char* text = "nearfield-spectra";
    put_attribute(file, "/", "format", h5::text_type(H5T_CSET_UTF8).id(), &text);
  });
}

TEST(Input, TextsOfVariableLengthAreRead) {
  const TempFolder folder;
  write_good_spectra(folder / "heap.h5");
  move_format_to_the_heap(folder / "heap.h5");
  EXPECT_NE(text_in(folder / "heap.h5").find("GCOL"), std::string::npos);
  EXPECT_EQ(read_spectra(folder / "heap.h5").frames, 100U);
}

// libhdf5 1.10.8 crashes on most of these lengths of an object in the global heap.
TEST(Input, DamagedTextsOfVariableLengthEndNoProcess) {
  const TempFolder folder;
  write_good_spectra(folder / "good.h5");
  move_format_to_the_heap(folder / "good.h5");
  const std::string good = text_in(folder / "good.h5");
  const std::size_t heap = good.find("GCOL");
  ASSERT_NE(heap, std::string::npos);
  for (const std::uint64_t length : {std::uint64_t{1} << 62U, std::uint64_t{0x1000000}, std::uint64_t{3}}) {
    SCOPED_TRACE(length);
    std::string bytes = good;
    std::memcpy(bytes.data() + heap + 24, &length, sizeof length);
    write_text(folder / "bad.h5", bytes);
    const ChildResult result = in_child([&] { (void)read_spectra(folder / "bad.h5"); });
    EXPECT_TRUE(result.ended_well);
    EXPECT_THAT(result.error, testing::AnyOf("", StartsWith("data: " + (folder / "bad.h5").string())));
  }
}

TEST(TextFromChild, ComesOnlyFromAChildThatEndsWell) {
  constexpr std::size_t kMost = 100'000;
  const std::string text(70'000, 'x');  // more than a pipe holds
  EXPECT_EQ(h5::text_from_child([&] { return std::string(text); }, kMost), text);
  EXPECT_EQ(h5::text_from_child([] { return ""; }, kMost), "");
  EXPECT_EQ(h5::text_from_child([&] { return std::string(text); }, 1000), std::nullopt) << "too long";
  EXPECT_EQ(h5::text_from_child([] { return std::nullopt; }, kMost), std::nullopt);
  EXPECT_EQ(h5::text_from_child([]() -> std::string { throw std::runtime_error("no"); }, kMost), std::nullopt);
  EXPECT_EQ(h5::text_from_child(
                []() -> std::string {
                  std::raise(SIGSEGV);
                  return "behind a crash";
                },
                kMost),
            std::nullopt);
  EXPECT_EQ(h5::text_from_child(
                []() -> std::string {
                  for (volatile bool forever = true; forever;) {
                  }
                  return "behind a loop";
                },
                kMost),
            std::nullopt);
}

// The library has one lock: a child that is made while another thread is inside would wait for it for ever.
TEST(TextFromChild, ReadsWhileOtherThreadsUseTheLibrary) {
  const TempFolder folder;
  write_good_spectra(folder / "heap.h5");
  move_format_to_the_heap(folder / "heap.h5");
  write_good_spectra(folder / "other.h5");
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) {
      (void)read_spectra(folder / "other.h5");
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(error_of([&] { (void)read_spectra(folder / "heap.h5"); }), "") << i;
  }
  stop = true;
  other.join();
}

hid_t link_goes_nowhere(const char* /*link*/, hid_t /*group*/, const void* /*value*/, std::size_t /*bytes*/,
                        hid_t /*access*/, hid_t /*transfer*/) {
  return H5I_INVALID_HID;
}

/// The library's own class of links to other files is taken away by h5::quiet().
void link_to(hid_t file, const char* link, const std::string& path, const std::string& object) {
  const H5L_class_t links{.version = H5L_LINK_CLASS_T_VERS,
                          .id = H5L_TYPE_EXTERNAL,
                          .comment = nullptr,
                          .create_func = nullptr,
                          .move_func = nullptr,
                          .copy_func = nullptr,
                          .trav_func = link_goes_nowhere,
                          .del_func = nullptr,
                          .query_func = nullptr};
  ASSERT_GE(H5Lregister(&links), 0);
  const std::string value = '\0' + path + '\0' + object + '\0';
  ASSERT_GE(H5Lcreate_ud(file, link, H5L_TYPE_EXTERNAL, value.data(), value.size(), H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Lunregister(H5L_TYPE_EXTERNAL);
}

// The library would open whatever they name: a pipe, for which it would wait for ever.
TEST(Input, LinksToOtherFilesAreNotFollowed) {
  const TempFolder folder;
  write_good_spectra(folder / "spectra.h5");
  ASSERT_EQ(::mkfifo((folder / "pipe.h5").c_str(), 0600), 0);
  edit(folder / "spectra.h5", [&](hid_t file) {
    H5Ldelete(file, "/spectra", H5P_DEFAULT);
    link_to(file, "/spectra", folder / "pipe.h5", "/spectra");
  });
  EXPECT_THAT(error_of([&] { (void)read_spectra(folder / "spectra.h5"); }),
              testing::EndsWith("/spectra: found a link to another file, expected an object of this one"));
  write_good_spectra(folder / "spectra.h5");
  edit(folder / "spectra.h5", [&](hid_t file) {
    H5Ldelete(file, "/spectra", H5P_DEFAULT);
    link_to(file, "/away", folder / "pipe.h5", "/");
    H5Lcreate_soft("/away/spectra", file, "/spectra", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_THAT(error_of([&] { (void)read_spectra(folder / "spectra.h5"); }), HasSubstr("/spectra: found nothing"));
}

TEST(Input, ValuesInOtherFilesAreRefused) {
  const TempFolder folder;
  write_good_spectra(folder / "good.h5");
  const h5::Shape shape{100, 1, 3, 5};
  for (const bool is_virtual : {false, true}) {
    std::filesystem::copy_file(folder / "good.h5", folder / "bad.h5",
                               std::filesystem::copy_options::overwrite_existing);
    edit(folder / "bad.h5", [&](hid_t file) {
      H5Ldelete(file, "/spectra", H5P_DEFAULT);
      const h5::Properties creation(H5Pcreate(H5P_DATASET_CREATE));
      const h5::Space space(H5Screate_simple(4, shape.data(), nullptr));
      const herr_t set = is_virtual ? H5Pset_virtual(creation.id(), space.id(), "/dev/zero", "/spectra", space.id())
                                    : H5Pset_external(creation.id(), "/dev/zero", 0, 1500 * 8);
      ASSERT_GE(set, 0);
      const h5::Type type = h5::memory_type(h5::Element::kComplex64);
      const h5::Dataset data(
          H5Dcreate2(file, "/spectra", type.id(), space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
      ASSERT_TRUE(data.valid());
    });
    EXPECT_THAT(error_of([&] { (void)read_spectra(folder / "bad.h5"); }),
                testing::EndsWith("/spectra: found values in another file, expected values in this one"));
  }
}

TEST(Input, NothingIsPrinted) {
  const TempFolder folder;
  write_text(folder / "text.h5", "version: 1\n");
  write_good_spectra(folder / "spectra.h5");
  const ChildResult result = in_child([&] {
    for (const Reader& reader : readers()) {
      (void)error_of([&] { reader.read(folder / "text.h5"); });
      (void)error_of([&] { reader.read(folder / "spectra.h5"); });
    }
  });
  EXPECT_EQ(result.printed, "");
  EXPECT_TRUE(result.ended_well);
}

}  // namespace
}  // namespace nearfield
