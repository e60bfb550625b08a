#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "core/product.hpp"

namespace nearfield {

/// Layout of beams in a processor's frames: the product `beams`, float32 in pascal over the axes beam and sample.
struct BeamLayout {
  std::size_t product = 0;  ///< index of the product
  std::size_t beams = 0;
  std::size_t samples = 0;  ///< samples per frame, those since the previous one
  double rate_hz = 0.0;
  std::vector<double> places = {};  ///< x, y and z of each beam, m, from the axis `focus`; empty if there is none
  friend bool operator==(const BeamLayout&, const BeamLayout&) = default;
};
/// Nullopt if the processor makes no beams.
std::optional<BeamLayout> beams_of(const ResultHeader& header);

/// Results of a processor's beams, in sentences.
struct SoundReport {
  std::vector<std::string> files;
  std::vector<std::string> warnings;
};

/// Writes the beams of a processor as sound files, one per beam: 32-bit floats, in pascal unless a gain is set.
///
/// Missing samples, and those without a value, are written as zeros and counted. A jump of more than ten minutes, or
/// backwards, is a new beginning, whose samples follow immediately.
class BeamFiles {
 public:
  /// Creates FOLDER/PROCESSOR-0.wav, FOLDER/PROCESSOR-1.wav and so on, which get their names when they are finished;
  /// also the folder. Throws IoError, like all functions below.
  BeamFiles(const std::filesystem::path& folder, const std::string& processor, const BeamLayout& layout,
            double gain_db);
  BeamFiles(const BeamFiles&) = delete;
  BeamFiles& operator=(const BeamFiles&) = delete;
  ~BeamFiles();

  /// Adds a frame's values [beam][sample]; `first_sample` counts decimated samples from any beginning that all frames
  /// share.
  void add(std::uint64_t first_sample, std::span<const float> values);
  /// Starts a new beginning: the next samples do not continue the previous ones, whatever their number.
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
  std::optional<std::uint64_t> next_;  ///< number of the sample that continues the previous ones
  std::uint64_t samples_ = 0;          ///< written per beam
  std::uint64_t missing_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t beginnings_ = 0;
  std::uint64_t without_value_ = 0;  ///< total over all beams
};

/// Writes the beams of every processor that makes some into a folder, in the format of BeamFiles.
class WavOutput : public Output {
 public:
  /// `hop_samples` is that of the run: Frame::sequence counts hops.
  WavOutput(std::filesystem::path folder, int hop_samples, double gain_db);
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  /// Throws ConfigError if no processor makes beams.
  void write(const Frame& frame) override;
  void finish() override;
  /// Report on all files, once they are finished.
  [[nodiscard]] const SoundReport& report() const { return report_; }

 private:
  std::filesystem::path folder_;
  std::uint64_t hop_samples_;
  double gain_db_;
  std::map<std::size_t, std::unique_ptr<BeamFiles>> files_;  ///< by Frame::processor
  std::uint64_t frames_with_losses_ = 0;
  SoundReport report_;
};

}  // namespace nearfield
