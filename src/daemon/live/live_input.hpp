#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "files/files.hpp"
#include "nearfield/settings.hpp"
#include "stream/source.hpp"

namespace nearfield::daemon {

/// What a source delivers, as an engine is planned for it. A sample is the step that windows are counted in: 32
/// bit-times, or one decimated sample.
struct LiveInput {
  InputForm form = InputForm::kBits;
  double element_rate_hz = kBitRateHz;
  std::string rate_from = {};    ///< which setting or input says the rate, for people
  double pascal_per_unit = 1.0;  ///< by which samples are multiplied, as they come in units of the settings'
  std::size_t words_per_element = 0;
  std::uint64_t elements_per_sample = kBitsPerWord;
  std::optional<CaptureInfo> capture;                ///< the array of a file or a scene, from its attributes
  std::vector<MicrophonePosition> positions_m = {};  ///< of samples whose file says them, [channel]
  std::string name;                                  ///< as messages call it
  bool waits = false;                                ///< the source waits for the engine: nothing is ever shed

  [[nodiscard]] std::uint64_t words_per_sample() const { return elements_per_sample * words_per_element; }
};

/// The source that the settings describe. Throws ConfigError when the layout does not fit the array.
SourceSettings source_settings(const Settings& settings);
/// What `source` delivers. Throws what the readers of files throw.
LiveInput live_input(const Settings& settings, const Source& source);
/// The plan of an engine for it, with the array that the input describes. Throws ConfigError.
EnginePlan live_plan(const Settings& settings, const LiveInput& input);

}  // namespace nearfield::daemon
