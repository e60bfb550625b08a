#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "files/files.hpp"

namespace nearfield {

/// Missing bit-times, in ascending runs.
class MissingBits {
 public:
  std::vector<MissingRun>& runs() { return runs_; }
  /// Number of missing bit-times in [first, end), which must not begin before the bits that forget_before() dropped.
  [[nodiscard]] std::uint64_t count(std::uint64_t first, std::uint64_t end) const {
    std::uint64_t missing = 0;
    for (std::size_t i = passed_; i < runs_.size() && runs_[i].first_bit_time < end; ++i) {
      const std::uint64_t begin = std::max(first, runs_[i].first_bit_time);
      const std::uint64_t run_end = std::min(end, runs_[i].first_bit_time + runs_[i].bit_times);
      missing += run_end > begin ? run_end - begin : 0;
    }
    return missing;
  }
  /// Drops all runs before this bit-time; later calls do not refer to them.
  void forget_before(std::uint64_t first) {
    while (passed_ < runs_.size() && runs_[passed_].first_bit_time + runs_[passed_].bit_times <= first) {
      ++passed_;
    }
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(passed_ > kKept ? passed_ : 0));
    passed_ = passed_ > kKept ? 0 : passed_;
  }

 private:
  static constexpr std::size_t kKept = 1024;  ///< dropped runs before their memory is reused
  std::vector<MissingRun> runs_;
  std::size_t passed_ = 0;
};

}  // namespace nearfield
