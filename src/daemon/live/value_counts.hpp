#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace nearfield::daemon {

/// Counts of live samples by kind of number (zero, tiny, whole, not finite, ...), over some values of each piece. The
/// engine's thread counts; any thread reads.
class ValueCounts {
 public:
  /// Steps of integers: whole numbers, and full scale as a fraction of 16, 24 and 32 bits.
  static constexpr std::array<float, 4> kSteps = {1.0F, 0x1p-15F, 0x1p-23F, 0x1p-31F};
  struct Counts {
    std::uint64_t values = 0;
    std::uint64_t zero = 0;
    std::uint64_t non_finite = 0;
    std::uint64_t tiny = 0;        ///< not 0, but no sound either: typical of integers and doubles read as float32
    std::uint64_t huge = 0;        ///< likewise
    std::uint64_t beyond_one = 0;  ///< magnitudes above 1
    /// [step] values small enough for float32 to have values between two multiples of the step: multiples, and others.
    std::array<std::uint64_t, kSteps.size()> multiples{};
    std::array<std::uint64_t, kSteps.size()> others{};
  };

  /// For one thread.
  void count(std::span<const std::uint32_t> words);
  [[nodiscard]] Counts counts() const;

 private:
  static constexpr std::size_t kNumbers = sizeof(Counts) / sizeof(std::uint64_t);

  Counts counts_;                                              ///< used by the thread that counts
  std::array<std::atomic<std::uint64_t>, kNumbers> shared_{};  ///< copy of counts_, member by member
  std::size_t turn_ = 0;
};

/// Counts of `now` minus those of `before`.
[[nodiscard]] ValueCounts::Counts difference(const ValueCounts::Counts& now, const ValueCounts::Counts& before);

}  // namespace nearfield::daemon
