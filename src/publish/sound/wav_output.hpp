#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/output.hpp"
#include "publish/sound/beam_files.hpp"

namespace nearfield {

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
