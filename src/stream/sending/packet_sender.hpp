#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "stream/sending/fault_injector.hpp"
#include "stream/sources/playback.hpp"

namespace nearfield {

struct SendSettings {
  std::string to{};  ///< HOST:PORT
  std::uint32_t stream_id = 1;
  std::uint64_t first_element = 0;
  std::size_t elements_per_packet = 0;  ///< 0: 256, or as many as fit a packet if fewer
  bool crc = true;
  double rate = 1.0;        ///< times real time
  bool fast = false;        ///< without pacing: a receiver may well lose some
  bool loop = false;        ///< begins again at the end
  double duration_s = 0.0;  ///< stream time to send; 0: all, or until stopped if it loops
  FaultRates faults{};
};

struct SendReport {
  std::uint64_t elements = 0;   ///< elements of the source that were cut into packets
  std::uint64_t datagrams = 0;  ///< passed to the kernel
  std::uint64_t bytes = 0;
  std::uint64_t refused = 0;  ///< times that the other host reported a closed port
  double elapsed_s = 0.0;
  FaultCounts faults;
};

/// Sends a playback as packets "NFB1" over UDP, in real time by absolute deadlines, each packet when its last element
/// is due (as many as fit into 50 us together), until it ends or `stop` returns true. Throws ConfigError on wrong
/// settings and IoError.
SendReport send_packets(const Playback& playback, const SendSettings& settings, const std::function<bool()>& stop);

}  // namespace nearfield
