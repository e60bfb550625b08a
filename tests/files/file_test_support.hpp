#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5.hpp"

namespace nearfield::test {

/// A folder of its own that goes away with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nearfield-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    ::chmod(path_.c_str(), 0755);
  }
  ~TempFolder() {
    ::chmod(path_.c_str(), 0755);
    std::filesystem::remove_all(path_);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// "data: <message>" and the like of what `action` throws, "" when it throws nothing.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const NoInputError& error) {
    return std::string("no input: ") + error.what();
  } catch (const IoError& error) {
    return std::string("io: ") + error.what();
  } catch (const DataError& error) {
    return std::string("data: ") + error.what();
  } catch (const Error& error) {
    return std::string("other: ") + error.what();
  }
  return "";
}

struct ChildResult {
  std::string error;    ///< as error_of
  std::string printed;  ///< on standard error
  bool ended_well = false;
};

/// Runs `action` in a child process, which then ends the ordinary way, exit handlers and all.
inline ChildResult in_child(const std::function<void()>& action) {
  const TempFolder folder;
  ::chmod(folder.path().c_str(), 0777);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    if (std::freopen((folder / "stderr").c_str(), "w", stderr) == nullptr) {
      ::_exit(2);
    }
    const std::string error = error_of(action);
    constexpr rlim_t kEnough = 1 << 20;
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, std::max(limit.rlim_cur, kEnough));
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_text(folder / "error", error);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {text_in(folder / "error"), text_in(folder / "stderr"), WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

/// From here on no file of this process may grow beyond `bytes`: to a writer that is as good as a full disk.
inline void limit_file_size(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

/// File permissions do not bind root: tests of them go on as another user.
inline void become_ordinary_user() {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) {
    ::_exit(3);
  }
  ::prctl(PR_SET_DUMPABLE, 1);  // the leak sanitizer looks at the process from outside
}

/// Opens an HDF5 file for changes that no writer of ours would make.
inline void edit(const std::filesystem::path& path, const std::function<void(hid_t file)>& change) {
  const h5::Properties access = h5::file_access();
  h5::File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()));
  ASSERT_TRUE(file.valid());
  change(file.id());
  ASSERT_TRUE(file.close());
}

/// Creates a file with nothing in it.
inline void create_empty(const std::filesystem::path& path) {
  h5::quiet();
  h5::File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  ASSERT_TRUE(file.valid());
}

inline void put_attribute(hid_t file, const char* object, const char* name, hid_t type, const void* value,
                          const h5::Shape& shape = {}) {
  if (H5Aexists_by_name(file, object, name, H5P_DEFAULT) > 0) {
    H5Adelete_by_name(file, object, name, H5P_DEFAULT);
  }
  const h5::Object owner(H5Oopen(file, object, H5P_DEFAULT));
  const h5::Space space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
  const h5::Attribute attribute(H5Acreate2(owner.id(), name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT));
  ASSERT_GE(H5Awrite(attribute.id(), type, value), 0);
}

/// A string of fixed length, as C and Matlab programs write it.
inline void put_fixed_text(hid_t file, const char* object, const char* name, const std::string& text,
                           H5T_str_t padding = H5T_STR_NULLPAD) {
  const h5::Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.id(), text.size());
  H5Tset_strpad(type.id(), padding);
  put_attribute(file, object, name, type.id(), text.data());
}

inline void put_real(hid_t file, const char* object, const char* name, double value) {
  put_attribute(file, object, name, H5T_NATIVE_DOUBLE, &value);
}

inline void put_integer(hid_t file, const char* object, const char* name, std::int64_t value) {
  put_attribute(file, object, name, H5T_NATIVE_INT64, &value);
}

/// Replaces a dataset. Without values its content is what HDF5 fills in.
inline void put_dataset(hid_t file, const char* name, hid_t type, const h5::Shape& shape,
                        const void* values = nullptr) {
  if (H5Lexists(file, name, H5P_DEFAULT) > 0) {
    H5Ldelete(file, name, H5P_DEFAULT);
  }
  const h5::Space space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
  const h5::Dataset dataset(H5Dcreate2(file, name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  ASSERT_TRUE(dataset.valid());
  if (values != nullptr) {
    ASSERT_GE(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  }
}

/// One way to spoil a good file, and what the message must say of it.
struct Spoiling {
  std::string name;
  std::function<void(hid_t file)> change;
  std::vector<std::string> said;
};

/// Each spoiling, made to a fresh copy of `good`, must give a DataError that names the file and says the rest.
inline void expect_refused(const std::filesystem::path& good, const std::vector<Spoiling>& spoilings,
                           const std::function<void(const std::filesystem::path&)>& read) {
  const std::filesystem::path bad = good.parent_path() / "bad.h5";
  ASSERT_EQ(error_of([&] { read(good); }), "");
  for (const Spoiling& spoiling : spoilings) {
    SCOPED_TRACE(spoiling.name);
    std::filesystem::copy_file(good, bad, std::filesystem::copy_options::overwrite_existing);
    edit(bad, spoiling.change);
    const std::string error = error_of([&] { read(bad); });
    EXPECT_THAT(error, testing::StartsWith("data: " + bad.string() + ": "));
    for (const std::string& part : spoiling.said) {
      EXPECT_THAT(error, testing::HasSubstr(part));
    }
  }
}

inline std::vector<std::complex<float>> random_complex(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<std::complex<float>> values(count);
  for (auto& value : values) {
    value = {normal(generator), normal(generator)};
  }
  return values;
}

inline std::vector<std::uint32_t> random_words(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::uint32_t> words(count);
  for (auto& word : words) {
    word = static_cast<std::uint32_t>(generator());
  }
  return words;
}

/// A small array whose sides and pitches all differ.
inline MeasurementGeometry small_measurement() {
  return {.geometry = {.rows = 3, .columns = 5, .pitch_x_m = 0.02, .pitch_y_m = 0.015},
          .standoff_m = 0.03,
          .sensitivity_dbfs = -26.0};
}

}  // namespace nearfield::test
