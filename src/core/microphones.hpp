#pragma once
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/geometry.hpp"

namespace nearfield {

/// Order of the microphones' bits of one bit-time within 32-bit little-endian words.
enum class WireLayout {
  kSoramaCam,  ///< 32 x 32 only; 16 sub-arrays of 8 x 8, two words each (thesis, appendix B)
  kRowMajor,   ///< channel = row * columns + column, or a line of array.positions, 32 a word, least significant bit
               ///< first
};

/// Marks a wire bit that belongs to no microphone.
inline constexpr int kSpareBit = -1;

std::string_view name_of(WireLayout layout);
/// Throws ConfigError on an unknown name.
WireLayout wire_layout_of(std::string_view name);

/// Number of 32-bit words per bit-time. Throws ConfigError when the layout does not fit the geometry.
int words_per_bit_time(WireLayout layout, const ArrayGeometry& geometry);

/// [word * 32 + bit] -> channel (row * columns + column) or kSpareBit. If positions were given, the layout's channels
/// are in the order of the positions. Throws ConfigError when the layout does not fit the geometry.
std::vector<int> channel_of_wire_bit(WireLayout layout, const ArrayGeometry& geometry);

/// The inverse: [channel] -> word * 32 + bit.
std::vector<int> wire_bit_of_channel(WireLayout layout, const ArrayGeometry& geometry);

/// Value of every word of bit-time t when nothing is known: all ones for odd t, else zero.
constexpr std::uint32_t silence_word(std::uint64_t bit_time) { return (bit_time & 1U) != 0 ? 0xFFFFFFFFU : 0U; }
/// Writes silence over whole bit-times from `first_bit_time` on.
inline void fill_silence(std::uint64_t first_bit_time, std::size_t words_per_bit_time, std::span<std::uint32_t> words) {
  for (; !words.empty(); words = words.subspan(words_per_bit_time)) {
    std::ranges::fill(words.first(words_per_bit_time), silence_word(first_bit_time++));
  }
}

/// Silence of one microphone in a packed word of 32 bit-times, first bit-time in the least significant bit.
inline constexpr std::uint32_t kPackedSilence = 0xAAAAAAAAU;

/// Number of an array's microphones that frames use, and the information lost with the others.
struct MicrophoneUse {
  std::uint32_t fewest_used = 0;  ///< in any frame
  std::uint32_t most_used = 0;    ///< in any frame
  std::uint32_t microphones = 0;
  std::vector<int> masked;           ///< in at least one frame: dead, without a gain, or found bad; ascending
  float missing_information = 0.0F;  ///< maximum over the frames, Frame::missing_information
};

/// "62 of 64 used; 2 masked (11, 12), 4 % of the information missing"
std::string text_of(const MicrophoneUse& use);

/// The geometry of an array as a measurement file states it. Positions that were given one by one are stored in
/// /geometry/positions_m, float64 [channel][3], metres on the axes of images, z from the array's plane, in the order of
/// a capture's channels; spectra and calibrations store them only for arrays that are no regular grid, whose data have
/// one row. `sensitivity_dbfs` is set for captures only; 0 elsewhere.
struct MeasurementGeometry {
  ArrayGeometry geometry;
  double standoff_m = 0.0;
  double sensitivity_dbfs = 0.0;
  /// Pitch and standoff are from options of `encode`, whose input did not contain them: later settings may correct
  /// them. Attribute correctable of /geometry, 1.
  bool correctable = false;
};

/// Complex gains by which measured spectra are multiplied. A gain may be NaN: that microphone has no calibration there.
struct Calibration {
  ArrayGeometry geometry;
  std::vector<double> frequencies_hz;      ///< ascending
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]
  // Quality figures from the tool that made the calibration, [frequency][row][column]; written where present, for
  // people to read.
  std::vector<float> relative_error = {};  ///< standard error of a gain over its magnitude
  std::vector<float> coherence = {};       ///< coherence of the microphone with the known field
};

/// 40 dB: no microphone has a gain farther from 1; such a value is damaged or in another unit.
inline constexpr double kLargestGain = 100.0;
/// 60 dB: the limit for templates, whose source may be a millimetre from one microphone and a metre from the array's
/// centre.
inline constexpr double kLargestTemplate = 1000.0;

/// The first gain that is finite and farther from 1 than kLargestGain, with its place and what was expected; "" where
/// there is none.
std::string flaw_of_gains(const Calibration& calibration);

/// Measured steering vectors: what an array received from a source at each of several places, without the source's own
/// pressure.
struct Templates {
  MeasurementGeometry measurement;     ///< the array that received them; no sensitivity
  std::vector<double> frequencies_hz;  ///< ascending
  std::vector<double> positions_m;     ///< [template][x, y, z], on the axes of images
  std::vector<std::complex<float>> a;  ///< [frequency][template][channel], 1 at the array's centre
  std::vector<float> coherence;        ///< [frequency][template], share of the power that a single source accounts for
  std::vector<float> of_microphones;   ///< [frequency][template][channel], coherence of each microphone with all
  /// The reference channel of all templates: their phase is 0 there, and their magnitude r_0/r. Empty if a file does
  /// not state it.
  std::optional<int> reference_channel = {};

  [[nodiscard]] std::size_t count() const { return positions_m.size() / 3; }
};

/// A template with less coherence contains more noise than signal.
inline constexpr double kLeastTemplateCoherence = 0.9;

/// A surface that images are made on, as a file describes it. Lengths are on the axes of images.
struct SurfaceData {
  bool is_points = false;       ///< else heights over the pixels of the images
  std::size_t rows = 1;         ///< 1 for points
  std::size_t columns = 0;      ///< the number of points for points
  std::vector<double> xyz_m;    ///< points only: [point][x, y, z]
  std::vector<double> z_m;      ///< heights only: [row][column]; NaN where there is no surface
  std::vector<double> normals;  ///< [row][column][x, y, z], of any length but 0; empty: not given
};

/// Loads the arrays that settings name by a path: from files on disk, or from arrays that a program holds. Engines use
/// it while they are constructed, so that they need no library that reads files. Its methods throw NoInputError and
/// DataError.
class ArrayFiles {
 public:
  ArrayFiles() = default;
  ArrayFiles(const ArrayFiles&) = delete;
  ArrayFiles& operator=(const ArrayFiles&) = delete;
  virtual ~ArrayFiles() = default;
  [[nodiscard]] virtual Calibration calibration(const std::filesystem::path& path) const = 0;
  [[nodiscard]] virtual Templates templates(const std::filesystem::path& path) const = 0;
  /// True if a program supplied the points of this name; such points take precedence over a file.
  [[nodiscard]] virtual bool is_given(const std::filesystem::path& /*points*/) const { return false; }
  /// [point][x, y, z] in m; `key` names the setting in messages. Throws ConfigError above `most` points and if there
  /// are none.
  [[nodiscard]] virtual std::vector<double> points(const std::filesystem::path& path, std::size_t most,
                                                   const std::string& key) const = 0;
  /// Heights supplied by a program or read from an HDF5 file. Throws ConfigError if there are none.
  [[nodiscard]] virtual SurfaceData surface(const std::filesystem::path& path, const std::string& key) const;
};

}  // namespace nearfield
