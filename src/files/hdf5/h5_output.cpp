#include "files/hdf5/h5_output.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/error.hpp"

namespace nearfield::h5 {
namespace {

/// Approximate number of values in a chunk of a growing dataset: large enough for few chunks, small enough for short
/// files and for HDF5's cache of 1 MiB.
constexpr hsize_t kChunkValues = hsize_t{1} << 16;

/// Approximate bytes per piece: the amount that xarray and Dask read at once, and few enough pieces for runs of hours.
constexpr hsize_t kPieceBytes = hsize_t{1} << 20;

/// Longer texts are of variable length: an object's header holds attributes of at most 64 KiB.
constexpr std::size_t kMostFixedText = 32768;

hsize_t product(const hsize_t* first, const hsize_t* last) {
  return std::accumulate(first, last, hsize_t{1}, std::multiplies<>());
}

/// Indices of the slowest axis per piece. Pieces have equal sizes, so that the last one has hardly an unused index.
hsize_t indices_of_piece(hsize_t indices, hsize_t bytes_per_index) {
  const hsize_t most = std::max<hsize_t>(1, kPieceBytes / std::max<hsize_t>(1, bytes_per_index));
  const hsize_t pieces = (indices + most - 1) / most;
  return (indices + pieces - 1) / pieces;
}

hsize_t values_per_index(const Shape& shape) {
  return shape.empty() ? 1 : product(shape.data() + 1, shape.data() + shape.size());
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

OutputFile::OutputFile(const std::filesystem::path& path) : partial_(path) {
  quiet();
  const Properties access = file_access();
  // Open by descriptor: another process may have replaced the file of that name meanwhile.
  file_ = File(H5Fcreate(partial_.path_by_descriptor().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()));
  if (!file_.valid()) {
    throw IoError(fmt::format("{}: cannot be created: {}", partial_.partial_path().string(), last_error()));
  }
}

void OutputFile::require(bool ok, std::string_view what) const {
  if (!ok) {
    throw IoError(fmt::format("{}: cannot write {}: {}", partial_.partial_path().string(), what, last_error()));
  }
}

void OutputFile::create_group(const std::string& name) {
  quiet();
  const Object group(H5Gcreate2(file_.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  require(group.valid(), name);
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, const Type& type,
                                 const Space& space, const void* value) {
  quiet();
  const std::string place = fmt::format("attribute {} of {}", name, object);
  const Object owner(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT));
  require(owner.valid(), place);
  if (H5Aexists(owner.id(), name.c_str()) > 0) {
    require(H5Adelete(owner.id(), name.c_str()) >= 0, place);
  }
  const Attribute attribute(H5Acreate2(owner.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT));
  require(attribute.valid(), place);
  require(H5Awrite(attribute.id(), type.id(), value) >= 0, place);
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, std::string_view value) {
  const std::string text(value.empty() ? std::string_view("\0", 1) : value);  // HDF5 has no type of length 0
  if (text.size() > kMostFixedText) {
    const char* start = text.c_str();
    write_attribute(object, name, text_type(H5T_CSET_UTF8), Space(H5Screate(H5S_SCALAR)),
                    static_cast<const void*>(&start));
    return;
  }
  write_attribute(object, name, text_type(H5T_CSET_UTF8, text.size()), Space(H5Screate(H5S_SCALAR)),
                  static_cast<const void*>(text.data()));
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  write_attribute(object, name, memory_type(Element::kInt64), Space(H5Screate(H5S_SCALAR)),
                  static_cast<const void*>(&value));
}

void OutputFile::write_attribute(const std::string& object, const std::string& name, double value) {
  write_attribute(object, name, memory_type(Element::kFloat64), Space(H5Screate(H5S_SCALAR)),
                  static_cast<const void*>(&value));
}

void OutputFile::write_attribute(const std::string& object, const std::string& name,
                                 std::span<const std::uint32_t> values) {
  const hsize_t length = values.size();
  write_attribute(object, name, memory_type(Element::kUint32), Space(H5Screate_simple(1, &length, nullptr)),
                  static_cast<const void*>(values.data()));
}

bool OutputFile::has(const std::string& place) const {
  quiet();
  return H5Lexists(file_.id(), place.c_str(), H5P_DEFAULT) > 0;
}

Dataset OutputFile::open(const std::string& place) const {
  Dataset dataset(H5Dopen2(file_.id(), place.c_str(), H5P_DEFAULT));
  require(dataset.valid(), place);
  return dataset;
}

Type OutputFile::file_type(Element element) {
  if (element != Element::kComplex64) {
    return memory_type(element);
  }
  if (has(kComplexType)) {
    return Type(H5Topen2(file_.id(), kComplexType, H5P_DEFAULT));
  }
  Type type = memory_type(element);
  const herr_t status = H5Tcommit2(file_.id(), kComplexType, type.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  require(status >= 0, kComplexType);
  return type;
}

void OutputFile::make_scale(const std::string& place) {
  const Dataset dataset = open(place);
  require(H5DSset_scale(dataset.id(), place.substr(place.rfind('/') + 1).c_str()) >= 0, place);
}

void OutputFile::create_dimension(const std::string& place, hsize_t length) {
  quiet();
  const Properties creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.id(), false);
  H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_LATE);
  const Space space(H5Screate_simple(1, &length, nullptr));
  const Type type = memory_type(Element::kFloat32);
  const Dataset dataset(
      H5Dcreate2(file_.id(), place.c_str(), type.id(), space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
  require(dataset.valid(), place);
  // Text by which netCDF's library and h5netcdf recognise a dimension without values.
  const std::string name = fmt::format("This is a netCDF dimension but not a netCDF variable.{:10}", length);
  require(H5DSset_scale(dataset.id(), name.c_str()) >= 0, place);
}

void OutputFile::attach_scales(const std::string& place, const std::vector<std::string>& scales) {
  const Dataset dataset = open(place);
  for (std::size_t axis = 0; axis < scales.size(); ++axis) {
    if (!scales[axis].empty()) {
      const Dataset scale = open(scales[axis]);
      require(H5DSattach_scale(dataset.id(), scale.id(), static_cast<unsigned>(axis)) >= 0,
              fmt::format("{} as a scale of {}", scales[axis], place));
    }
  }
}

OutputDataset OutputFile::create_dataset(const std::string& name, Element element, const Shape& shape,
                                         Storage storage) {
  quiet();
  if (storage != Storage::kGrowing && std::find(shape.begin(), shape.end(), hsize_t{0}) != shape.end()) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: {}: {} holds no values", partial_.path().string(), name, text_of(shape)));
  }
  const Properties creation(H5Pcreate(H5P_DATASET_CREATE));
  const Properties access(H5Pcreate(H5P_DATASET_ACCESS));
  H5Pset_obj_track_times(creation.id(), false);
  Shape largest = shape;
  if (storage == Storage::kGrowing) {
    largest.front() = H5S_UNLIMITED;
    Shape chunk = shape;
    chunk.front() = std::max<hsize_t>(1, kChunkValues / values_per_index(shape));
    H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
  } else {
    const Type memory = memory_type(element);
    const hsize_t piece =
        shape.empty() ? 1 : indices_of_piece(shape.front(), values_per_index(shape) * H5Tget_size(memory.id()));
    if (storage == Storage::kPieces && !shape.empty() && piece < shape.front()) {
      Shape chunk = shape;
      chunk.front() = piece;
      H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
      // Bypass the library's chunk cache, so that values survive a kill.
      H5Pset_chunk_cache(access.id(), 0, 0, 1.0);
    } else {
      H5Pset_layout(creation.id(), H5D_CONTIGUOUS);
    }
    H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
  }
  const Space space(shape.empty() ? H5Screate(H5S_SCALAR)
                                  : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), largest.data()));
  const Type type = file_type(element);
  OutputDataset result;
  result.dataset_ =
      Dataset(H5Dcreate2(file_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, creation.id(), access.id()));
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
  partial_.finish_on_disk();
}

}  // namespace nearfield::h5
