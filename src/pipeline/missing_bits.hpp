#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "files/files.hpp"

namespace nearfield {

/// Bit-times that never came, asked for by windows that only move forward. The runs are ascending.
class MissingBits {
 public:
  std::vector<MissingRun>& runs() { return runs_; }
  /// How many lie in [first, end); no later call may begin before `first`.
  std::uint64_t count(std::uint64_t first, std::uint64_t end) {
    while (passed_ < runs_.size() && runs_[passed_].first_bit_time + runs_[passed_].bit_times <= first) {
      ++passed_;
    }
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(passed_ > kKept ? passed_ : 0));
    passed_ = passed_ > kKept ? 0 : passed_;
    std::uint64_t missing = 0;
    for (std::size_t i = passed_; i < runs_.size() && runs_[i].first_bit_time < end; ++i) {
      missing += std::min(end, runs_[i].first_bit_time + runs_[i].bit_times) - std::max(first, runs_[i].first_bit_time);
    }
    return missing;
  }

 private:
  static constexpr std::size_t kKept = 1024;  ///< runs behind the window before they are thrown away
  std::vector<MissingRun> runs_;
  std::size_t passed_ = 0;
};

}  // namespace nearfield
