#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace nearfield {

/// How many of an array's microphones frames are made of, and what the others take with them.
struct MicrophoneUse {
  std::uint32_t fewest_used = 0;  ///< in a frame
  std::uint32_t most_used = 0;    ///< in a frame
  std::uint32_t microphones = 0;
  std::vector<int> masked;           ///< in some frame: dead, without a gain, or found bad; ascending
  float missing_information = 0.0F;  ///< the most in a frame, Frame::missing_information
};

/// "62 of 64 used; 2 masked (11, 12), 4 % of the information missing"
std::string text_of(const MicrophoneUse& use);

}  // namespace nearfield
