#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

/// Default name of a run's first processor.
inline constexpr std::string_view kFirstProcessor = "surface";

/// Origin of phases: the window's first bit, or bit-time 0, so that phasors of a steady tone stand still.
enum class PhaseReference { kWindow, kStream };
std::string_view name_of(PhaseReference reference);

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
  /// Index in `products`; nothing if there is none of this name.
  [[nodiscard]] std::optional<std::size_t> index(std::string_view name) const;
  /// Values of an axis; empty if there is none of this name.
  [[nodiscard]] const std::vector<double>& coordinates(std::string_view axis) const;
  /// Number of values of an array: the product of its axes' sizes. The header must have them all.
  [[nodiscard]] std::size_t values(const Product& product) const;
  /// Bytes per frame: an array's values, fastest axis last; a table's number of rows as a uint64, then its columns one
  /// after another, each with space for most_rows values and padded to 8 bytes.
  [[nodiscard]] std::size_t bytes(const Product& product) const;
  /// True if axes and products are equal, so that frames of both have the same layout and meaning.
  [[nodiscard]] bool has_layout_of(const ResultHeader& other) const;
};

/// A part of a product that is an array: an index of each of its first axes, slowest first.
struct Selection {
  std::size_t product = 0;  ///< index in ResultHeader::products
  std::vector<std::size_t> indices = {};
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

/// Bytes of the product of this name in a frame of this header; empty where the header has none. Throws
/// std::invalid_argument if the frame's products do not have the number or its bytes not the size that the header says.
std::span<const std::byte> bytes_in(const ResultHeader& header, std::span<const std::span<const std::byte>> products,
                                    std::string_view name);

/// The values of a product in a frame, without a copy. The bytes must be aligned for T.
template <class T>
std::span<const T> values_of(std::span<const std::byte> product) {
  return {reinterpret_cast<const T*>(product.data()), product.size() / sizeof(T)};
}

/// Values of the product of this name; see bytes_in().
template <class T>
std::span<const T> values_in(const ResultHeader& header, std::span<const std::span<const std::byte>> products,
                             std::string_view name) {
  return values_of<T>(bytes_in(header, products, name));
}

/// Converts values to levels: db_per_decade lg(value / reference).
struct LevelRule {
  double db_per_decade = 20.0;
  double reference = 1.0;  ///< in the product's unit
  std::string unit;        ///< "dB re 20 µPa"
  bool is_of_sound_pressure = false;

  [[nodiscard]] double level(double value) const;
  [[nodiscard]] double value(double level_db) const;
};
/// Sound pressures (peak, Pa) and their mean squares (Pa^2) re 20 uPa rms, intensities re 1 pW/m^2, images of
/// velocities and displacements (peak) re 50 nm/s and 1 pm rms, other powers (W, squares, and plain numbers such
/// as a steered response power) with 10 dB a decade re 1, all else with 20 dB a decade re 1.
LevelRule level_rule(const Product& product);

/// Calls use(std::span<const T>) with the values of an array or of a column; T is the C++ type of `type`.
template <class Use>
void with_values(ElementType type, std::span<const std::byte> bytes, const Use& use) {
  switch (type) {
    case ElementType::kComplex64:
      return use(values_of<std::complex<float>>(bytes));
    case ElementType::kFloat32:
      return use(values_of<float>(bytes));
    case ElementType::kFloat64:
      return use(values_of<double>(bytes));
    case ElementType::kUint32:
      return use(values_of<std::uint32_t>(bytes));
    case ElementType::kUint64:
      return use(values_of<std::uint64_t>(bytes));
  }
}

/// Real values as they are, with an imaginary part of 0.
inline std::vector<std::complex<double>> complex_values_of(ElementType type, std::span<const std::byte> bytes) {
  std::vector<std::complex<double>> result;
  with_values(type, bytes, [&]<class T>(std::span<const T> values) {
    result.reserve(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, std::complex<float>>) {
        result.emplace_back(value);
      } else {
        result.emplace_back(static_cast<double>(value), 0.0);
      }
    }
  });
  return result;
}

/// A table's number of rows in a frame.
inline std::uint64_t rows_of(std::span<const std::byte> table) {
  std::uint64_t rows = 0;
  std::memcpy(&rows, table.data(), sizeof rows);
  return rows;
}

/// Offset and size of each column's values in a table's bytes, [column], with space for most_rows values.
inline std::vector<ProductPlaces::Place> column_places(const Product& table) {
  constexpr std::size_t kAlignment = 8;
  std::vector<ProductPlaces::Place> places;
  std::size_t offset = sizeof(std::uint64_t);
  for (const Column& column : table.columns) {
    const std::size_t bytes = table.most_rows * bytes_of(column.type);
    places.push_back({.offset = offset, .bytes = bytes});
    offset += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return places;
}

}  // namespace nearfield
