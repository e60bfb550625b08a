#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace nearfield {

/// Number of an array's microphones that frames use, and the information lost with the others.
struct MicrophoneUse {
  std::uint32_t fewest_used = 0;  ///< in any frame
  std::uint32_t most_used = 0;    ///< in any frame
  std::uint32_t microphones = 0;
  std::vector<int> masked;           ///< in at least one frame: dead, without a gain, or found bad; ascending
  float missing_information = 0.0F;  ///< maximum over the frames, Frame::missing_information
};

/// "62 of 64 used; 2 masked (11, 12), 4 % of the information missing"
std::string text_of(const MicrophoneUse& use);

}  // namespace nearfield
