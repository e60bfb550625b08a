#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/frame.hpp"

namespace nearfield {

/// What frames begin with.
struct Beginning {
  std::size_t processor = 0;  ///< as Frame::processor
  std::uint64_t epoch = 1;    ///< of the configuration
  std::uint64_t frames = 0;   ///< that are to come; 0: not known, as of a live stream
  /// Where a file's `time` has its zero, as Frame::timestamp_ns: a recording's start. Without it the first frame.
  std::optional<std::int64_t> time_zero_ns{};
  std::uint32_t microphones = 0;  ///< that the processor could use; 0: not known
  std::vector<int> masked{};      ///< those that the settings mask, ascending
};

/// Microphones that are masked because they were found bad, beside those of the settings, until the next change.
struct MaskChange {
  std::uint64_t first_bit_time = 0;  ///< of the first window that is computed so, as Frame::first_bit_time
  std::vector<int> channels;         ///< ascending; empty: all are used
  friend bool operator==(const MaskChange&, const MaskChange&) = default;
};

/// What is wrong with a mask of an array of so many microphones; empty when nothing is.
std::string flaw_of_mask(const MaskChange& change, int microphones);

/// Takes what processors make: a file, pictures, a ring for controllers, a socket. begin() is called for every
/// processor before the first frame of any, and again with each new epoch, whose sizes and axes may differ. With a live
/// stream write() waits for no reader, no disk and no network.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;
  /// May throw; then the epoch before continues.
  virtual void begin(const ResultHeader& header, const Beginning& beginning) = 0;
  /// Takes a frame over; its products hold only during the call.
  virtual void write(const Frame& frame) = 0;
  /// Before the frames of the window with which it takes effect. With a live stream it waits as little as write().
  virtual void mask(const MaskChange& /*change*/) {}
  /// After the last frame of a recording; not called where it is left early.
  virtual void finish() {}
};

}  // namespace nearfield
