#include "config/words.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "config/config.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr int kLongestWindow = 65536;  ///< the limit of the schema

int scaled(int samples, int factor, int most, const std::string& key) {
  if (samples > most / factor) {
    throw ConfigError(fmt::format("{}: expected at most {} samples with front_end.decimation {}, found {}", key,
                                  most / factor, factor * kBitsPerWord, samples));
  }
  return samples * factor;
}

}  // namespace

Settings in_words(Settings settings) {
  const int factor = settings.front_end.decimation / kBitsPerWord;
  if (factor <= 1) {
    return settings;
  }
  FrontEndSettings& front_end = settings.front_end;
  front_end.window_samples = scaled(front_end.window_samples, factor, kLongestWindow, "front_end.window_samples");
  front_end.hop_samples =
      scaled(front_end.hop_samples, factor, std::numeric_limits<int>::max(), "front_end.hop_samples");
  for (ProcessorSettings& processor : settings.processors) {
    if (needs_of(settings, processor).sample_window > 0) {
      throw ConfigError(
          fmt::format("front_end.decimation: expected 32 with processors.{}, as {} works on decimated samples, "
                      "found {}",
                      processor.name, processor.kind, front_end.decimation));
    }
    if (processor.front_end.window_samples) {
      processor.front_end.window_samples =
          scaled(*processor.front_end.window_samples, factor, kLongestWindow,
                 fmt::format("processors.{}.front_end.window_samples", processor.name));
    }
  }
  front_end.decimation = kBitsPerWord;
  return settings;
}

}  // namespace nearfield
