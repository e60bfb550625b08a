#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "engine/search_schedule.hpp"
#include "imaging/search.hpp"

namespace nearfield {

/// An imager's searches in the order of their numbers: knows which remember all that those of any other run
/// of the stream do. Used by one thread at a time.
class SearchChain {
 public:
  struct Found {
    std::shared_ptr<const Findings> findings;  ///< null: what was found before stays
    std::uint64_t number = SearchSchedule::kNoNumber;
  };
  SearchChain(std::shared_ptr<Search> search, SearchSchedule schedule)
      : search_(std::move(search)), schedule_(schedule) {}
  /// Of a window that is whole. spectra, mask: as of Search::search().
  Found look(std::uint64_t hop, std::span<const std::complex<float>> spectra, const MicrophoneMask& mask);
  /// Of a window at which a search would have looked, had it been whole.
  Found pass_over(std::uint64_t hop);
  /// The next look does not follow on those before.
  void restart() { first_ = SearchSchedule::kNoNumber; }

 private:
  std::uint64_t known_number(std::uint64_t hop);

  std::shared_ptr<Search> search_;
  SearchSchedule schedule_;
  std::uint64_t first_ = SearchSchedule::kNoNumber;  ///< from this search on, none was left out
};

}  // namespace nearfield
