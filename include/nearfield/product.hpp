#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

/// The name of a run's first processor where the settings give it none.
inline constexpr std::string_view kFirstProcessor = "surface";

/// Numbers of an array, or of a table's column; the values are those of files and of the ring.
enum class ElementType : std::uint32_t { kComplex64 = 0, kFloat32 = 1, kFloat64 = 2, kUint32 = 3, kUint64 = 4 };

/// "complex64", "float32", "float64", "uint32" or "uint64".
std::string_view name_of(ElementType type);
std::optional<ElementType> element_type_of(std::string_view name);
std::size_t bytes_of(ElementType type);

/// What one index of an array counts, and where its entries lie.
struct Axis {
  std::string name;            ///< "frequency", "z", "y", "x", "azimuth", "microphone", "point", "band", ...
  std::string unit;            ///< of the values; "1" for plain numbers
  std::vector<double> values;  ///< [entry][component]
  std::size_t components = 1;  ///< numbers an entry: 2 for a point's x and y, and for a band's lower and upper limit

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
  /// kFigure: an array that describes the others, such as a cut-off; people read its numbers, and no picture is
  /// drawn of it.
  enum class Form : std::uint32_t { kArray = 0, kFigure = 1, kTable = 2 };

  std::string name;  ///< "images", "cutoff_rad_per_m"; letters, digits and '_', unique in its header
  std::string quantity;
  std::string unit;
  Form form = Form::kArray;
  ElementType type = ElementType::kComplex64;  ///< of an array
  std::vector<std::string> axes = {};          ///< of an array, names of the header's axes, slowest first
  std::vector<Column> columns = {};            ///< of a table
  std::uint64_t most_rows = 0;                 ///< of a table

  friend bool operator==(const Product&, const Product&) = default;
};

/// "array", "figure" or "table".
std::string_view name_of(Product::Form form);
std::optional<Product::Form> product_form_of(std::string_view name);

/// ResultHeader::memory_hops where averages have no end, or tracks or searches go on.
inline constexpr std::int64_t kUnboundedMemory = -1;

/// What all frames of a processor share.
struct ResultHeader {
  std::string processor;  ///< its name, unique in a run
  std::string kind;       ///< "pnah", "sonah", ...
  std::string config;     ///< the YAML as run
  std::string device;
  std::string front_end;
  std::vector<Axis> axes;
  std::vector<Product> products;
  /// Hops before its own that a frame may depend on: 0 where it depends on its window alone, kUnboundedMemory where on
  /// all; nothing where it is not said, as in files of earlier versions.
  std::optional<std::int64_t> memory_hops = {};

  /// Null where there is none of this name.
  [[nodiscard]] const Axis* axis(std::string_view name) const;
  [[nodiscard]] const Product* product(std::string_view name) const;
  /// Of an array: the product of its axes' sizes. The header must have them all.
  [[nodiscard]] std::size_t values(const Product& product) const;
  /// Of a frame: an array's values, fastest axis last; a table's number of rows as a uint64, then its columns behind
  /// each other, each with room for most_rows values and padded to 8 bytes.
  [[nodiscard]] std::size_t bytes(const Product& product) const;
  /// Whether frames of both lie in memory alike and mean the same: axes and products are equal.
  [[nodiscard]] bool has_layout_of(const ResultHeader& other) const;
};

/// Where a frame's products lie behind each other, each at a multiple of 8 bytes.
struct ProductPlaces {
  struct Place {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  std::vector<Place> places;  ///< [product]
  std::size_t bytes = 0;      ///< of all, a multiple of 8
};
ProductPlaces places_of(const ResultHeader& header);

/// What keeps this from being a header, in words: a name twice or not of letters, digits and '_', an axis that is not
/// there or has no entry, a table without columns or rows, a frame of more than 2 GiB. Empty where nothing does.
std::string flaw_of(const ResultHeader& header);

/// The values of a product in a frame, as they lie in memory. The bytes must be aligned for T.
template <class T>
std::span<const T> values_of(std::span<const std::byte> product) {
  return {reinterpret_cast<const T*>(product.data()), product.size() / sizeof(T)};
}

}  // namespace nearfield
