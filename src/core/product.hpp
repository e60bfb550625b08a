#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

/// Default name of a run's first processor.
inline constexpr std::string_view kFirstProcessor = "surface";

/// Number type of an array or of a table's column; files and the ring store the numeric values.
enum class ElementType : std::uint32_t { kComplex64 = 0, kFloat32 = 1, kFloat64 = 2, kUint32 = 3, kUint64 = 4 };

/// "complex64", "float32", "float64", "uint32" or "uint64".
std::string_view name_of(ElementType type);
std::optional<ElementType> element_type_of(std::string_view name);
std::size_t bytes_of(ElementType type);

/// One dimension of an array: its name and the coordinates of its entries.
struct Axis {
  std::string name;            ///< "frequency", "z", "y", "x", "azimuth", "microphone", "point", "band", ...
  std::string unit;            ///< unit of the values; "1" for plain numbers
  std::vector<double> values;  ///< [entry][component]
  std::size_t components = 1;  ///< numbers per entry: 2 for a point's x and y, and for a band's lower and upper limit

  [[nodiscard]] std::size_t size() const { return values.size() / components; }
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A column of a table.
struct Column {
  std::string name;
  std::string unit;
  ElementType type = ElementType::kFloat32;
  friend bool operator==(const Column&, const Column&) = default;
};

/// One result of a processor: an array over named axes, or a table of typed columns.
struct Product {
  /// kFigure: an array that describes the others, such as a cut-off; shown as numbers, never drawn as a picture.
  enum class Form : std::uint32_t { kArray = 0, kFigure = 1, kTable = 2 };

  std::string name;  ///< "images", "cutoff_rad_per_m"; letters, digits and '_', unique in its header
  std::string quantity;
  std::string unit;
  Form form = Form::kArray;
  ElementType type = ElementType::kComplex64;  ///< arrays only
  std::vector<std::string> axes = {};          ///< arrays only: names of the header's axes, slowest first
  std::vector<Column> columns = {};            ///< tables only
  std::uint64_t most_rows = 0;                 ///< tables only

  friend bool operator==(const Product&, const Product&) = default;
};

/// "array", "figure" or "table".
std::string_view name_of(Product::Form form);
std::optional<Product::Form> product_form_of(std::string_view name);

/// ResultHeader::memory_hops for endless averages, and for continuing tracks or searches.
inline constexpr std::int64_t kUnboundedMemory = -1;

/// Common description of all frames of a processor.
struct ResultHeader {
  std::string processor;  ///< its name, unique in a run
  std::string kind;       ///< "pnah", "sonah", ...
  std::string config;     ///< the YAML as run
  std::string device;
  std::string front_end;
  std::vector<Axis> axes;
  std::vector<Product> products;
  /// Preceding hops that a frame may depend on: 0 if it depends on its window alone, kUnboundedMemory if on all; empty
  /// if not stated, as in files of earlier versions.
  std::optional<std::int64_t> memory_hops = {};

  /// Null if there is no axis or product of this name.
  [[nodiscard]] const Axis* axis(std::string_view name) const;
  [[nodiscard]] const Product* product(std::string_view name) const;
  /// Number of values of an array: the product of its axes' sizes. The header must have them all.
  [[nodiscard]] std::size_t values(const Product& product) const;
  /// Bytes per frame: an array's values, fastest axis last; a table's number of rows as a uint64, then its columns one
  /// after another, each with space for most_rows values and padded to 8 bytes.
  [[nodiscard]] std::size_t bytes(const Product& product) const;
  /// True if axes and products are equal, so that frames of both have the same layout and meaning.
  [[nodiscard]] bool has_layout_of(const ResultHeader& other) const;
};

/// Offsets of a frame's products in contiguous memory, each a multiple of 8 bytes.
struct ProductPlaces {
  struct Place {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  std::vector<Place> places;  ///< [product]
  std::size_t bytes = 0;      ///< total, a multiple of 8
};
ProductPlaces places_of(const ResultHeader& header);

/// Describes what makes a header invalid: a name twice or not of letters, digits and '_', an axis that is missing or
/// has no entry, a table without columns or rows, a frame of more than 2 GiB. Empty if it is valid.
std::string flaw_of(const ResultHeader& header);

/// The values of a product in a frame, without a copy. The bytes must be aligned for T.
template <class T>
std::span<const T> values_of(std::span<const std::byte> product) {
  return {reinterpret_cast<const T*>(product.data()), product.size() / sizeof(T)};
}

}  // namespace nearfield
