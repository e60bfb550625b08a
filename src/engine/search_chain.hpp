#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "engine/search_schedule.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield {

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
