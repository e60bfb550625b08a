#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "imaging/shared/search.hpp"

namespace nearfield {

/// Times of an imager's searches and of their findings, in hop numbers from bit-time 0 of the stream. Search m uses the
/// window of hop m x every, if all its bits are there, starts from that window and that of the search before, and is in
/// effect from hop (m + 1) x every until the next one. So frames do not depend on the duration of a search, nor on the
/// start of a run. The first search of a run uses its first whole window and takes effect at once.
class SearchSchedule {
 public:
  /// Number of a search that another run of the same stream may not have had.
  static constexpr std::uint64_t kNoNumber = std::numeric_limits<std::uint64_t>::max();

  /// `every` 0: search is off.
  explicit SearchSchedule(std::uint64_t every = 0) : every_(every) {}
  [[nodiscard]] std::uint64_t every() const { return every_; }
  [[nodiscard]] bool is_on() const { return every_ > 0; }
  [[nodiscard]] bool looks_at(std::uint64_t hop) const { return is_on() && hop % every_ == 0; }
  [[nodiscard]] std::uint64_t number_of(std::uint64_t hop) const { return hop / every_; }
  [[nodiscard]] std::uint64_t hop_of(std::uint64_t number) const { return number * every_; }
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t number) const { return (number + 1) * every_; }
  /// Search in effect at a hop.
  [[nodiscard]] std::uint64_t holding_at(std::uint64_t hop) const {
    return std::max<std::uint64_t>(hop / every_, 1) - 1;
  }
  /// Number of the `windows` from a hop on before the next hop at which findings change or a search runs.
  [[nodiscard]] std::uint64_t together(std::uint64_t hop, std::uint64_t windows) const {
    return is_on() ? std::min(windows, every_ - hop % every_) : windows;
  }

 private:
  std::uint64_t every_;
};

/// Runs an imager's searches in the order of their numbers, and tracks which of them have the complete memory that they
/// have in any other run of the stream. Used by one thread at a time.
class SearchChain {
 public:
  struct Found {
    std::shared_ptr<const Findings> findings;  ///< null: earlier findings stay in effect
    std::uint64_t number = SearchSchedule::kNoNumber;
  };
  SearchChain(std::shared_ptr<Search> search, SearchSchedule schedule)
      : search_(std::move(search)), schedule_(schedule) {}
  /// Searches a whole window. spectra, mask: as for Search::search().
  Found look(std::uint64_t hop, std::span<const std::complex<float>> spectra, const MicrophoneMask& mask);
  /// Records an incomplete window at which a search was due.
  Found pass_over(std::uint64_t hop);
  /// Marks a gap: the next search does not follow on the earlier ones.
  void restart() { first_ = SearchSchedule::kNoNumber; }

 private:
  std::uint64_t known_number(std::uint64_t hop);

  std::shared_ptr<Search> search_;
  SearchSchedule schedule_;
  std::uint64_t first_ = SearchSchedule::kNoNumber;  ///< no search was left out since this one
};

}  // namespace nearfield
