#pragma once
#include <nearfield_ring.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "publish/sound/beam_files.hpp"

namespace nearfield::cli {

/// The largest magnitude of a frame's images as a level, such as "93.2 dB re 20 µPa"; empty if it has no images or all
/// are 0.
std::string level_of_images(const nf_ring_layout& layout, const nf_frame& frame);

/// Counts of a tap so far.
struct TapCounts {
  std::uint64_t frames = 0;
  std::uint64_t skipped = 0;            ///< skipped by this reader
  std::uint64_t shed_hops = 0;          ///< shed by the daemon
  std::uint64_t missing_bit_times = 0;  ///< largest number in any frame
};

/// A line about the time since the previous line: frames per second, ages, losses, level. On a terminal it is replaced
/// four times a second; elsewhere a new line is written every second.
class TapLiveLine {
 public:
  /// `on`: false with -q, or if stdout is in use.
  explicit TapLiveLine(bool on);
  /// Ends the current line on a terminal.
  ~TapLiveLine();
  TapLiveLine(const TapLiveLine&) = delete;
  TapLiveLine& operator=(const TapLiveLine&) = delete;
  /// True if print() is due.
  [[nodiscard]] bool is_due() const;
  /// Prints a line. `ages_ns`: of each frame so far, from its last bit's arrival to its reading; `level`: the newest's.
  void print(const TapCounts& counts, const std::vector<std::int64_t>& ages_ns, const std::string& level);

 private:
  bool on_;
  bool redraws_;
  bool is_drawn_ = false;
  std::int64_t start_ns_;
  std::int64_t printed_ns_;
  TapCounts before_;
  std::size_t ages_before_ = 0;
};

/// A text file that is written line by line, or none.
class TextFile {
 public:
  /// An empty path: no output; -: standard output. Throws IoError.
  TextFile(std::string path, const char* titles);
  [[nodiscard]] std::FILE* get() const { return file_.get(); }
  /// Throws IoError if not everything could be written.
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Writes one line per frame, comma-separated, with the column names in the first line.
class FrameLog {
 public:
  explicit FrameLog(const std::string& path);
  void add(const nf_frame& frame, std::uint64_t skipped);
  void finish() { file_.finish(); }

 private:
  TextFile file_;
};

/// Writes one line for each plane, frequency and point of a frame; otherwise like FrameLog.
class PointLog {
 public:
  explicit PointLog(const std::string& path);
  void add(const nf_ring_layout& layout, const nf_frame& frame);
  void finish() { file_.finish(); }

 private:
  TextFile file_;
};

/// Writes the beams of a ring's frames as sound files, or nothing.
class TapSound {
 public:
  /// Writes into this folder; empty: no files. Throws NoInputError if the ring has no beams.
  TapSound(std::string folder, double gain_db, const nf_ring* ring);
  /// Adds the frame that was read last. Throws DataError if the daemon's configuration has changed the beams; the files
  /// are finished then.
  void add(const nf_ring* ring, const nf_frame& frame);
  /// Empty if nothing was written.
  SoundReport finish();

 private:
  std::unique_ptr<BeamFiles> files_;
  std::string folder_;
  std::uint64_t ring_id_ = 0;               ///< ring whose layout has been checked
  std::optional<std::uint32_t> stream_id_;  ///< stream of the previous frame
  std::optional<std::uint64_t> epoch_;      ///< number of the daemon's configuration at the previous frame
  std::uint64_t changes_ = 0;               ///< changes of the configuration so far
  std::uint64_t frames_with_losses_ = 0;
};

}  // namespace nearfield::cli
