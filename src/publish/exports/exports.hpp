#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/results_file.hpp"

/// Results as files of other programs.
namespace nearfield {

/// Choice of what is exported of an images file.
struct ExportChoice {
  std::string processor;  ///< empty: the first that has such a product
  std::string product;    ///< empty: the first array with places
  std::uint64_t first_frame = 0;
  std::uint64_t end_frame = std::numeric_limits<std::uint64_t>::max();  ///< one behind the last
  std::optional<double> frequency_hz;                                   ///< the entry within 0.5 Hz
  std::optional<double> plane_m;  ///< z, or the distance of a product over distances; the entry within half a step
  std::optional<double> x_m;      ///< likewise
  std::optional<double> y_m;      ///< likewise
};

/// A pixel or a point, in the axes of images.
struct ExportPlace {
  double x_m = 0.0;
  double y_m = 0.0;
  std::optional<double> z_m;                       ///< nothing where the product does not say it
  std::size_t offset = 0;                          ///< offset of its value, added to ExportEntry::offset
  std::array<double, 3> normal = {0.0, 0.0, 0.0};  ///< surface normal; 0 for a pixel beside the surface
};

/// One entry of each axis that is not of the places: a frequency, a band, or nothing where there is no such axis.
struct ExportEntry {
  std::vector<std::size_t> indices;  ///< [outer axis]
  std::size_t offset = 0;
};

class ExportSource {
 public:
  /// Throws UsageError where the file has not what was chosen, with what it has; DataError, which names the file, where
  /// it has no array with places at all. The reader must outlive it.
  ExportSource(const ResultsReader& reader, const ExportChoice& choice, const std::string& file);

  [[nodiscard]] const ResultHeader& header() const { return reader_->header(processor_); }
  [[nodiscard]] const Product& product() const { return header().products[product_]; }
  [[nodiscard]] bool is_complex() const { return product().type == ElementType::kComplex64; }
  /// "images of surface".
  [[nodiscard]] std::string name() const;

  /// The axes of the places, z or distance, y and x, or z and point, slowest first, with the chosen entries.
  [[nodiscard]] const std::vector<Axis>& space_axes() const { return space_axes_; }
  /// All others, slowest first, with the chosen entries.
  [[nodiscard]] const std::vector<Axis>& outer_axes() const { return outer_axes_; }
  /// Over the axes of the places, the last one fastest.
  [[nodiscard]] const std::vector<ExportPlace>& places() const { return places_; }
  /// True if the places lie on a curved surface; they then have its normals.
  [[nodiscard]] bool is_on_surface() const { return is_on_surface_; }
  /// Over the other axes, the last one fastest; one entry where there are none.
  [[nodiscard]] const std::vector<ExportEntry>& entries() const { return entries_; }

  [[nodiscard]] std::uint64_t first_frame() const { return first_frame_; }
  [[nodiscard]] std::uint64_t end_frame() const { return end_frame_; }
  /// Covers all frames of the file.
  [[nodiscard]] const ResultStamps& stamps() const { return stamps_; }
  /// All values of a frame, the product's whole array: that of an entry and a place is at the sum of their offsets. The
  /// imaginary part of real values is 0.
  [[nodiscard]] std::vector<std::complex<double>> values(std::uint64_t frame) const;

 private:
  void choose_product(const ExportChoice& choice, const std::string& file);
  void choose_frames(const ExportChoice& choice);
  void choose_entries(const ExportChoice& choice);
  void lay_out();
  void lay_on_surface();

  struct Chosen {
    Axis axis;                         ///< with the chosen entries
    std::vector<std::size_t> offsets;  ///< [chosen entry], of the array
  };

  const ResultsReader* reader_;
  std::size_t processor_ = 0;
  std::size_t product_ = 0;
  bool is_on_surface_ = false;
  std::uint64_t first_frame_ = 0;
  std::uint64_t end_frame_ = 0;
  ResultStamps stamps_;
  std::vector<Chosen> chosen_;  ///< [axis of the product]
  std::vector<Axis> space_axes_;
  std::vector<Axis> outer_axes_;
  std::vector<ExportPlace> places_;
  std::vector<ExportEntry> entries_;
};

struct ExportFormat {
  const char* name;            ///< the word of --format
  const char* ending;          ///< extension of the file's name, with its point
  const char* holds;           ///< in words
  const char* surface_ending;  ///< extension for curved surfaces; most formats have one ending for all
  /// Writes the file whole or not at all. Throws IoError. Null where the Python package writes the format, by
  /// nearfield.exports, from the HDF5 file of export_h5().
  void (*write)(const std::filesystem::path& path, const ExportSource& source);
};

/// All formats; help, messages and docs/use/export.md walk it.
std::span<const ExportFormat> export_formats();

inline constexpr std::string_view kStandardOutput = "-";

/// By the format's name, or where that is empty by the path's ending; CSV for standard output. Throws UsageError with
/// the formats there are.
const ExportFormat& export_format(std::string_view name, std::string_view path);

/// A line for each frame, entry and place: place, frequency (or what else the product has), real and imaginary part,
/// magnitude, phase, level.
void export_csv(const std::filesystem::path& path, const ExportSource& source);

/// An HDF5 file of real datasets, `re` and `im`, with their axes.
void export_h5(const std::filesystem::path& path, const ExportSource& source);

}  // namespace nearfield
