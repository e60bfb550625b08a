#pragma once
#include <span>

#include "encode/encode.hpp"

/// Shared by the two ways of encoding; not for use outside src/encode.
namespace nearfield {

/// The capture being written. Its sensitivity makes `rms_pa` the requested level.
class CaptureTarget {
 public:
  CaptureTarget(const std::filesystem::path& output, const EncodeOptions& options,
                const MeasurementGeometry& measurement, double rms_pa, std::vector<int> dead_channels);
  /// Full scale 1 per pascal.
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] std::uint64_t bit_times() const { return bit_times_; }
  /// Encodes the next bit-times; tones and samples as in BitSynthesizer::generate().
  void append(std::uint64_t bit_times, std::span<const ArrayTone> tones, std::span<const float> samples);
  void write_truth(const Truth& truth) { writer_.write_truth(truth); }
  void write_segments(const Segments& segments) { writer_.write_segments(segments); }
  /// Closes the file. The report lacks the frequencies.
  EncodeReport finish();

 private:
  double scale_;
  double sensitivity_dbfs_;
  std::vector<int> dead_channels_;     ///< dead channels of the input
  std::vector<int> channel_of_input_;  ///< empty if they are in order
  BitSynthesizer synthesizer_;
  CaptureWriter writer_;
  std::uint64_t bit_times_ = 0;
  std::vector<std::uint32_t> words_;
};

/// The marked channels. Throws DataError when they are more than a tenth.
std::vector<int> few_or_throw(const std::string& place, const std::vector<bool>& not_finite);
/// Throws DataError if the rms is not positive and finite.
void require_sound(const std::string& place, double rms_pa);

EncodeReport encode_time_data(const std::filesystem::path& input, const std::filesystem::path& output,
                              const EncodeOptions& options, const ProgressCallback& progress);
EncodeReport encode_sound_file(const std::filesystem::path& input, const std::filesystem::path& output,
                               const EncodeOptions& options, const ProgressCallback& progress);

}  // namespace nearfield
