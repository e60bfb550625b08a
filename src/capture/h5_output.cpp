#include "capture/h5_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>

#include "nearfield/error.hpp"

namespace nearfield::h5 {
namespace {

/// Values in a chunk of a growing dataset, about: large enough for few chunks, small enough for short files and for
/// HDF5's cache of 1 MiB.
constexpr hsize_t kChunkValues = hsize_t{1} << 16;

hsize_t product(const hsize_t* first, const hsize_t* last) {
  return std::accumulate(first, last, hsize_t{1}, std::multiplies<>());
}

hsize_t values_per_index(const Shape& shape) {
  return shape.empty() ? 1 : product(shape.data() + 1, shape.data() + shape.size());
}

[[noreturn]] void throw_system_error(const std::filesystem::path& path, std::string_view what) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

/// A rename would replace a device or a link to it, so that only regular files may be overwritten.
void require_replaceable(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw IoError(fmt::format("{}: found {}, expected a new or a regular file", path.string(),
                              S_ISDIR(status.st_mode) ? "a directory" : "a special file"));
  }
}

/// Keeps other writers away for as long as the descriptor is open. HDF5's own lock would keep readers away too.
void lock(int descriptor, const std::filesystem::path& path) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_OFD_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES)) {
    throw IoError(fmt::format("{}: cannot be written: another program is writing it", path.string()));
  }
}

}  // namespace

void OutputDataset::write_bytes(Element element, std::uint64_t first, const void* values, std::uint64_t count) {
  quiet();
  if (count == 0) {
    return;
  }
  if (count % values_per_index(shape_) != 0) {
    throw Error(ExitCode::kInternal, fmt::format("{}: {} values do not fill {}", name_, count, text_of(shape_)));
  }
  const hsize_t indices = count / values_per_index(shape_);
  if (storage_ == Storage::kGrowing && first + indices > shape_.front()) {
    shape_.front() = first + indices;
    file_->require(H5Dset_extent(dataset_.id(), shape_.data()) >= 0, name_);
  }
  const Space file_space(H5Dget_space(dataset_.id()));
  Shape start(shape_.size(), 0);
  Shape block = shape_;
  if (!shape_.empty()) {
    start.front() = first;
    block.front() = indices;
    H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr);
  }
  const Space memory_space(H5Screate_simple(static_cast<int>(block.size()), block.data(), nullptr));
  const Type type = memory_type(element);
  const herr_t status = H5Dwrite(dataset_.id(), type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, values);
  file_->require(status >= 0, name_);
}

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path), partial_path_(path) {
  quiet();
  require_replaceable(path_);
  partial_path_ += ".partial";
  require_replaceable(partial_path_);
  descriptor_ = ::open(partial_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw_system_error(partial_path_, "cannot be created");
  }
  try {
    lock(descriptor_, partial_path_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  const Properties access = file_access();
  file_ = File(H5Fcreate(partial_path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()));
  if (!file_.valid()) {
    const std::string reason = last_error();
    ::unlink(partial_path_.c_str());
    ::close(descriptor_);
    throw IoError(fmt::format("{}: cannot be created: {}", partial_path_.string(), reason));
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) {
    return;
  }
  file_.close();
  if (!keep_partial_ && owns_partial()) {
    ::unlink(partial_path_.c_str());
  }
  ::close(descriptor_);
}

void OutputFile::require(bool ok, std::string_view what) const {
  if (!ok) {
    throw IoError(fmt::format("{}: cannot write {}: {}", partial_path_.string(), what, last_error()));
  }
}

void OutputFile::create_group(const std::string& name) {
  quiet();
  const Object group(H5Gcreate2(file_.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  require(group.valid(), name);
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, const Type& type,
                                 const void* value) {
  quiet();
  const std::string place = fmt::format("attribute {} of {}", name, object);
  const Object owner(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT));
  require(owner.valid(), place);
  const Space scalar(H5Screate(H5S_SCALAR));
  const Attribute attribute(H5Acreate2(owner.id(), name.c_str(), type.id(), scalar.id(), H5P_DEFAULT, H5P_DEFAULT));
  require(attribute.valid(), place);
  require(H5Awrite(attribute.id(), type.id(), value) >= 0, place);
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, std::string_view value) {
  const std::string text(value);
  const char* start = text.c_str();
  write_attribute(object, name, text_type(H5T_CSET_UTF8), static_cast<const void*>(&start));
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  write_attribute(object, name, memory_type(Element::kInt64), static_cast<const void*>(&value));
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, double value) {
  write_attribute(object, name, memory_type(Element::kFloat64), static_cast<const void*>(&value));
}

OutputDataset OutputFile::create_dataset(const std::string& name, Element element, const Shape& shape,
                                         Storage storage) {
  quiet();
  if (storage == Storage::kInPlace && std::find(shape.begin(), shape.end(), hsize_t{0}) != shape.end()) {
    throw Error(ExitCode::kInternal, fmt::format("{}: {}: {} holds no values", path_.string(), name, text_of(shape)));
  }
  const Properties creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.id(), false);
  Shape largest = shape;
  if (storage == Storage::kGrowing) {
    largest.front() = H5S_UNLIMITED;
    Shape chunk = shape;
    chunk.front() = std::max<hsize_t>(1, kChunkValues / values_per_index(shape));
    H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
  } else {
    H5Pset_layout(creation.id(), H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
  }
  const Space space(shape.empty() ? H5Screate(H5S_SCALAR)
                                  : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), largest.data()));
  const Type type = memory_type(element);
  OutputDataset result;
  result.dataset_ =
      Dataset(H5Dcreate2(file_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
  require(result.dataset_.valid(), name);
  result.file_ = this;
  result.name_ = name;
  result.shape_ = shape;
  result.storage_ = storage;
  return result;
}

void OutputFile::flush() {
  quiet();
  require(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) >= 0, "the file");
}

void OutputFile::finish() {
  flush();
  require(file_.close(), "the end of the file");
  if (!owns_partial()) {
    throw IoError(fmt::format("{}: was removed or replaced while it was written", partial_path_.string()));
  }
  if (::fsync(descriptor_) != 0) {
    throw_system_error(partial_path_, "cannot be written");
  }
  if (::rename(partial_path_.c_str(), path_.c_str()) != 0) {
    throw_system_error(path_, "cannot be given its name");
  }
  ::close(std::exchange(descriptor_, -1));
}

bool OutputFile::owns_partial() const {
  struct stat own {};
  struct stat found {};
  return ::fstat(descriptor_, &own) == 0 && ::stat(partial_path_.c_str(), &found) == 0 && own.st_dev == found.st_dev &&
         own.st_ino == found.st_ino;
}

}  // namespace nearfield::h5
