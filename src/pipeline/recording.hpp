#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "files/sample_levels.hpp"
#include "nearfield/output.hpp"
#include "pipeline/input.hpp"

namespace nearfield {

/// An open recording of any kind, with the settings of its run; feeds an engine window by window.
class Recording {
 public:
  virtual ~Recording() = default;
  [[nodiscard]] virtual const InputInfo& info() const = 0;
  [[nodiscard]] virtual const EnginePlan& plan() const = 0;
  /// The settings that it changed besides its own geometry, one message each.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  /// Levels of its microphones, where it holds samples over time; read when it is called.
  [[nodiscard]] virtual std::optional<SampleLevels> levels() const { return std::nullopt; }
  /// What was masked as its bits were recorded; null where it does not say.
  [[nodiscard]] virtual const std::vector<MaskChange>* masks() const { return nullptr; }
  /// Feeds what `windows` windows, a hop apart and the first from `first_sample` on, still need, and begins them: a
  /// batch of the engine, which must have room for one in flight.
  virtual void begin(std::uint64_t first_sample, std::size_t windows, Engine& engine) = 0;
  /// Waits for the batch that was begun first of those in flight. Its statuses hold until the next call.
  virtual std::span<const WindowStatus> finish(Engine& engine) = 0;
  /// Both in one.
  std::span<const WindowStatus> compute(std::uint64_t first_sample, std::size_t windows, Engine& engine) {
    begin(first_sample, windows, engine);
    return finish(engine);
  }
  /// Bit-times of these samples that the file does not have; of what the windows are made of that are in flight or were
  /// finished last.
  [[nodiscard]] virtual std::uint64_t missing_bits(const SampleSpan& /*span*/) const { return 0; }
  /// Bits [bit-time][word] from a sample on, silence where they are missing; where plan().input is bits.
  virtual void read_bits(std::uint64_t /*first_sample*/, std::span<std::uint32_t> /*words*/) {}
};

/// Recognises the file's kind and reconciles it with the settings. Throws NoInputError, DataError or ConfigError.
std::unique_ptr<Recording> open_recording(const std::filesystem::path& path, const Settings& settings);

/// Microphones of which each sample that was looked at is 0, row * columns + column, ascending; none where all are.
/// Throws DataError where they and array.dead_channels leave fewer than array.fewest_valid_share.
std::vector<int> silent_microphones(const Recording& recording, const std::optional<SampleLevels>& levels);

}  // namespace nearfield
