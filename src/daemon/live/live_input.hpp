#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "engine/engine.hpp"
#include "files/files.hpp"
#include "stream/source.hpp"

namespace nearfield::daemon {

/// Input of an engine from a source. A sample is the unit of windows: 32 bit-times, or one decimated sample.
struct LiveInput {
  InputForm form = InputForm::kBits;
  double element_rate_hz = kBitRateHz;
  std::string rate_from = {};    ///< name of the setting or input that defines the rate, for messages
  double pascal_per_unit = 1.0;  ///< factor for samples, which arrive in units of the settings
  std::size_t words_per_element = 0;
  std::uint64_t elements_per_sample = kBitsPerWord;
  std::optional<CaptureInfo> capture;                ///< the array of a file or a scene, from its attributes
  std::vector<MicrophonePosition> positions_m = {};  ///< for samples whose file states them, [channel]
  std::string name;                                  ///< name in messages
  bool waits = false;                                ///< the source waits for the engine: nothing is ever shed

  [[nodiscard]] std::uint64_t words_per_sample() const { return elements_per_sample * words_per_element; }
};

/// The source that the settings describe. Throws ConfigError when the layout does not fit the array.
SourceSettings source_settings(const Settings& settings);
/// Describes the input from `source`. Throws what the readers of files throw.
LiveInput live_input(const Settings& settings, const Source& source);
/// Plan of an engine for the input, with the array that it describes. Throws ConfigError.
EnginePlan live_plan(const Settings& settings, const LiveInput& input);

}  // namespace nearfield::daemon
