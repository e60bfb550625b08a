#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "engine/engine.hpp"
#include "files/sample_levels.hpp"
#include "pipeline/input.hpp"

namespace nearfield {

/// An open recording of any kind, with the settings of its run; feeds an engine window by window.
class Recording {
 public:
  virtual ~Recording() = default;
  [[nodiscard]] virtual const InputInfo& info() const = 0;
  [[nodiscard]] virtual const EnginePlan& plan() const = 0;
  /// Settings that it changed besides its own geometry, one message each.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  /// Levels of its microphones, where it holds samples over time; read when it is called.
  [[nodiscard]] virtual std::optional<SampleLevels> levels() const { return std::nullopt; }
  /// Masks in effect while its bits were recorded; null where it does not say.
  [[nodiscard]] virtual const std::vector<MaskChange>* masks() const { return nullptr; }
  /// Feeds the samples that `windows` windows, a hop apart and the first from `first_sample` on, still need, and begins
  /// them: one batch of the engine, which must accept another in flight.
  virtual Batch begin(std::uint64_t first_sample, std::size_t windows, Engine& engine) = 0;
  /// begin(), and the engine's finish().
  FinishedBatch compute(std::uint64_t first_sample, std::size_t windows, Engine& engine) {
    return engine.finish(begin(first_sample, windows, engine));
  }
  /// Number of bit-times of these samples that the file lacks; valid for windows of the two batches begun last.
  [[nodiscard]] virtual std::uint64_t missing_bits(const SampleSpan& /*span*/) const { return 0; }
  /// Bits [bit-time][word] from a sample on, silence where they are missing; only where plan().input is bits.
  virtual void read_bits(std::uint64_t /*first_sample*/, std::span<std::uint32_t> /*words*/) {}
};

/// Recognises the file's kind and reconciles it with the settings. Throws NoInputError, DataError or ConfigError.
std::unique_ptr<Recording> open_recording(const std::filesystem::path& path, const Settings& settings);

/// Microphones with only zeros in the examined samples, row * columns + column, ascending; empty where all are silent.
/// Throws DataError where they and array.dead_channels leave fewer than array.fewest_valid_share.
std::vector<int> silent_microphones(const Recording& recording, const std::optional<SampleLevels>& levels);

}  // namespace nearfield
