#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nearfield/product.hpp"

namespace nearfield {

/// How a processor's frames have beams: the product `beams`, float32 in pascal over the axes beam and sample.
struct BeamLayout {
  std::size_t product = 0;  ///< its index
  std::size_t beams = 0;
  std::size_t samples = 0;  ///< of a frame, those since the frame before
  double rate_hz = 0.0;
  std::vector<double> places = {};  ///< the axis `focus`: x, y and z of each beam, m; empty where there is none
  friend bool operator==(const BeamLayout&, const BeamLayout&) = default;
};
/// Nothing where the processor makes no beams.
std::optional<BeamLayout> beams_of(const ResultHeader& header);

/// What became of a processor's beams, in sentences.
struct SoundReport {
  std::vector<std::string> files;
  std::vector<std::string> warnings;
};

/// The beams of a processor as sound files, one a beam: 32-bit floats, in pascal unless a gain is set.
///
/// Samples that never came, and those without a value, are zeros and counted. A leap of more than ten minutes, and one
/// backwards, is a new beginning, whose samples follow at once.
class BeamFiles {
 public:
  /// Creates FOLDER/PROCESSOR-0.wav, FOLDER/PROCESSOR-1.wav and so on, which have their names once they are finished;
  /// the folder too. Throws IoError, as all below.
  BeamFiles(const std::filesystem::path& folder, const std::string& processor, const BeamLayout& layout,
            double gain_db);
  BeamFiles(const BeamFiles&) = delete;
  BeamFiles& operator=(const BeamFiles&) = delete;
  ~BeamFiles();

  /// A frame's values [beam][sample]; `first_sample` counts decimated samples from any beginning that all frames share.
  void add(std::uint64_t first_sample, std::span<const float> values);
  /// What add() brings next does not follow on what came before, whatever its number.
  void begin_anew();
  SoundReport finish();
  [[nodiscard]] const BeamLayout& layout() const { return layout_; }

 private:
  struct File;
  void write_zeros(std::uint64_t samples);
  void write(std::size_t beam, std::span<const float> values);

  std::string name_;  ///< FOLDER/PROCESSOR
  BeamLayout layout_;
  double gain_db_;
  std::vector<std::unique_ptr<File>> files_;  ///< [beam]
  std::vector<float> block_;
  std::optional<std::uint64_t> next_;  ///< number of the sample that follows on those that came
  std::uint64_t samples_ = 0;          ///< written of each beam
  std::uint64_t missing_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t beginnings_ = 0;
  std::uint64_t without_value_ = 0;  ///< of all beams
};

}  // namespace nearfield
