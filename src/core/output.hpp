#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.hpp"

namespace nearfield {

/// Information that precedes the frames of a processor.
struct Beginning {
  std::size_t processor = 0;  ///< index, as in Frame::processor
  std::uint64_t epoch = 1;    ///< number of the configuration
  std::uint64_t frames = 0;   ///< frames to expect; 0: not known, as for a live stream
  /// Zero of a file's `time`, as in Frame::timestamp_ns: a recording's start. Empty: the first frame.
  std::optional<std::int64_t> time_zero_ns{};
  std::uint32_t microphones = 0;  ///< usable by the processor; 0: not known
  std::vector<int> masked{};      ///< masked by the settings, ascending
};

/// Microphones masked because they were found bad, in addition to those of the settings, until the next change.
struct MaskChange {
  std::uint64_t first_bit_time = 0;  ///< first window computed with this mask, as Frame::first_bit_time
  std::vector<int> channels;         ///< ascending; empty: no longer any
  friend bool operator==(const MaskChange&, const MaskChange&) = default;
};

/// Describes what is wrong with a mask for an array of so many microphones; empty if it is valid.
std::string flaw_of_mask(const MaskChange& change, int microphones);

/// Receives the products of processors: a file, pictures, a ring for controllers, a socket. begin() is called for every
/// processor before the first frame of any, and again with each new epoch, whose sizes and axes may differ. For a live
/// stream write() does not block on readers, disk or network.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;
  /// May throw; then the previous epoch continues.
  virtual void begin(const ResultHeader& header, const Beginning& beginning) = 0;
  /// Takes a frame; its products are valid only during the call.
  virtual void write(const Frame& frame) = 0;
  /// Called before the frames of the window in which the mask takes effect. For a live stream it must not block, like
  /// write().
  virtual void mask(const MaskChange& /*change*/) {}
  /// Called after the last frame of a recording; not if the run is aborted.
  virtual void finish() {}
};

}  // namespace nearfield
