#pragma once
#include <hdf5.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The HDF5 C API behind owners that cannot leak. Raw identifiers stay in src/files/hdf5/h5*.
namespace nearfield::h5 {

/// Stops HDF5 from printing its errors in this thread and from closing files at exit, where it crashes (1.10.8) if a
/// file could not be closed before, and from following links to other files, which may be pipes or devices. Called
/// before any other HDF5 call; cheap after the first time.
void quiet();

/// Owns one HDF5 identifier.
template <herr_t (*kClose)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) noexcept : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      close();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  [[nodiscard]] hid_t id() const noexcept { return id_; }
  [[nodiscard]] bool valid() const noexcept { return id_ >= 0; }
  /// False when HDF5 could not close it, such as on a full disk; the identifier is given up either way.
  bool close() noexcept {
    if (!valid()) {
      return true;
    }
    quiet();
    return kClose(std::exchange(id_, H5I_INVALID_HID)) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

using File = Handle<H5Fclose>;
using Object = Handle<H5Oclose>;
using Dataset = Handle<H5Dclose>;
using Type = Handle<H5Tclose>;
using Space = Handle<H5Sclose>;
using Attribute = Handle<H5Aclose>;
using Properties = Handle<H5Pclose>;

/// Lengths of a dataset's axes, slowest first.
using Shape = std::vector<hsize_t>;

/// "scalar" or such as "(1, 11, 8, 8)".
std::string text_of(const Shape& shape);

/// Type of a dataset's values in memory.
enum class Element { kFloat32, kFloat64, kComplex64, kUint32, kUint64, kInt64 };

template <typename T>
constexpr Element element_of();
template <>
constexpr Element element_of<float>() {
  return Element::kFloat32;
}
template <>
constexpr Element element_of<double>() {
  return Element::kFloat64;
}
template <>
constexpr Element element_of<std::complex<float>>() {
  return Element::kComplex64;
}
template <>
constexpr Element element_of<std::uint32_t>() {
  return Element::kUint32;
}
template <>
constexpr Element element_of<std::uint64_t>() {
  return Element::kUint64;
}
template <>
constexpr Element element_of<std::int64_t>() {
  return Element::kInt64;
}

/// Names of a complex number's parts in a compound.
using PartNames = std::pair<const char*, const char*>;
inline constexpr PartNames kPartNames{"r", "i"};

/// HDF5 type of an element in memory, and of new datasets.
Type memory_type(Element element, const PartNames& parts = kPartNames);

/// String in the given character set, of fixed length unless H5T_VARIABLE.
Type text_type(H5T_cset_t character_set, std::size_t bytes = H5T_VARIABLE);

/// Reason of the HDF5 call that just failed: the system's message (such as "No space left on device") where the system
/// refused, else HDF5's innermost one.
std::string last_error();

/// Property list of a file: everything is closed with the file; no lock is taken, so that a growing recording can be
/// read; raw data goes to the system at once, so that it survives a kill.
Properties file_access();

/// Calls `read`, which calls HDF5, in a child process with this one's open files, and returns its result. Returns
/// nothing when the child crashes, uses more than two seconds of processor time, or has not ended after half a minute:
/// libhdf5 1.10.8 does both on damaged strings of variable length. Texts longer than `most_bytes` also give nothing.
/// May be called on any thread. Throws IoError when no child can be created.
std::optional<std::string> text_from_child(const std::function<std::optional<std::string>()>& read,
                                           std::size_t most_bytes);

}  // namespace nearfield::h5
