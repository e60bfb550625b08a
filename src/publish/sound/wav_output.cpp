#include "publish/sound/wav_output.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace nearfield {

WavOutput::WavOutput(std::filesystem::path folder, int hop_samples, double gain_db)
    : folder_(std::move(folder)), hop_samples_(static_cast<std::uint64_t>(hop_samples)), gain_db_(gain_db) {}

void WavOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  if (const std::optional<BeamLayout> layout = beams_of(header)) {
    files_[beginning.processor] = std::make_unique<BeamFiles>(folder_, header.processor, *layout, gain_db_);
  }
}

void WavOutput::write(const Frame& frame) {
  const auto files = files_.find(frame.processor);
  if (files == files_.end()) {
    return;
  }
  frames_with_losses_ += frame.missing_bit_times > 0 ? 1U : 0U;
  files->second->add(frame.sequence * hop_samples_, values_of<float>(frame.products[files->second->layout().product]));
}

void WavOutput::finish() {
  for (const auto& [processor, files] : files_) {
    SoundReport report = files->finish();
    std::move(report.files.begin(), report.files.end(), std::back_inserter(report_.files));
    std::move(report.warnings.begin(), report.warnings.end(), std::back_inserter(report_.warnings));
  }
  if (files_.empty()) {
    report_.warnings.push_back(fmt::format(
        "{}: no sound files: no frame of these has beams (processors.NAME.kind: listen)", folder_.string()));
  }
  if (frames_with_losses_ > 0) {
    report_.warnings.push_back(fmt::format("{}: {} frames have bits that never came, which are silence",
                                           folder_.string(), frames_with_losses_));
  }
}

}  // namespace nearfield
