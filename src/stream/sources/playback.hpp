#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/files.hpp"
#include "simulate/scene.hpp"
#include "stream/packets/packet.hpp"
#include "stream/source.hpp"

namespace nearfield {

/// Elements to be played, once or in a loop: a capture's bits, time data's samples, or a scene's bits. Up to
/// kWholeBytes are held in memory; a longer file is read in parts, and then nothing else may use HDF5 at the same time,
/// which is not thread-safe.
class Playback {
 public:
  static constexpr std::uint64_t kWholeBytes = std::uint64_t{1} << 29U;

  /// Opens a capture or time data, by its content, whose array.channels are `channels`. Throws NoInputError, DataError,
  /// and ConfigError unless the unit is given for exactly those files that do not state it.
  static Playback of_file(const std::filesystem::path& path, std::optional<double> pascal_per_unit = {},
                          const std::vector<int>& channels = {});
  /// Renders a scene, see loop_bit_times(). Throws NoInputError, ConfigError or DataError.
  static Playback of_scene(const std::filesystem::path& path, const TrackLoader& load_track = {});
  /// Opens a scene if the name ends in .yaml or .yml, otherwise a file.
  static Playback of(const std::filesystem::path& path, const TrackLoader& load_track = {},
                     std::optional<double> pascal_per_unit = {});

  [[nodiscard]] PayloadKind kind() const { return kind_; }
  [[nodiscard]] std::uint64_t elements() const { return elements_; }
  [[nodiscard]] std::size_t words_per_element() const { return words_per_element_; }
  /// Elements per second.
  [[nodiscard]] double rate_hz() const { return rate_hz_; }
  /// Nullopt for time data.
  [[nodiscard]] const std::optional<CaptureInfo>& capture() const { return capture_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// Copies elements from `first` on, modulo the length, as [element][word].
  void read(std::uint64_t first, std::span<std::uint32_t> words) const;

 private:
  Playback() = default;
  void open_capture(const std::filesystem::path& path);
  void open_time_data(const std::filesystem::path& path, std::optional<double> pascal_per_unit,
                      const std::vector<int>& channels);
  void hold_whole();
  void read_file(std::uint64_t first, std::span<std::uint32_t> words) const;

  PayloadKind kind_ = PayloadKind::kBits;
  std::uint64_t elements_ = 0;
  std::size_t words_per_element_ = 0;
  double rate_hz_ = 0.0;
  std::optional<CaptureInfo> capture_;
  std::vector<std::string> warnings_;
  std::vector<std::uint32_t> words_;  ///< [element][word], all or empty
  std::optional<CaptureReader> capture_reader_;
  std::optional<TimeDataReader> time_data_reader_;
};

/// Length to render of a scene that is played in a loop: its whole duration if it changes, else the length of 2^17 to
/// 2^18 bit-times (0.09 to 0.17 s), a multiple of 64, at which its tones have the least phase jump. Multiples of 32768
/// bit-times have none for the frequencies of a 1024-sample window's bins.
std::uint64_t loop_bit_times(const Scene& scene);
/// Largest phase jump of a tone at that seam, radians.
double seam_jump_rad(const Scene& scene, std::uint64_t bit_times);

/// Keeps a rate by absolute deadlines: a delay does not shift later deadlines.
class Pacer {
 public:
  /// Starts now.
  explicit Pacer(double rate_hz);
  /// Sleeps until `count` elements are due, `count` / rate after the start; false after 20 ms if that is still ahead.
  [[nodiscard]] bool wait_for(std::uint64_t count) const;
  /// Sets the thread's timer slack to the minimum, so that the kernel does not prolong its sleeps (by 50 us, by
  /// default).
  static void sleep_precisely();

 private:
  double rate_hz_;
  std::int64_t start_ns_;
};

/// Plays a file, in real time or as fast as the reader takes it, once or in a loop; or a scene in a loop in real time,
/// like a live array. One stream with id 1 from element 0 on; its clock continues over the seam of a loop. Throws
/// ConfigError for a scene with recorded tracks.
std::unique_ptr<Source> make_playback_source(const SourceSettings& settings);

/// Checks a scene that a source renders itself. Throws ConfigError if it has recorded tracks, and what load_scene()
/// throws.
void require_scene_without_tracks(const std::string& path);

}  // namespace nearfield
