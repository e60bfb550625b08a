#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "imaging/shared/search.hpp"

namespace nearfield {
namespace {

/// Counts what is asked of it.
struct Calls {
  int made = 0;
  int restarts = 0;
  std::vector<std::uint64_t> searches = {};
};

class CountedSearch : public Search {
 public:
  explicit CountedSearch(Calls& calls) : calls_(&calls) { ++calls_->made; }
  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& /*mask*/,
                                         std::uint64_t number) override {
    calls_->searches.push_back(number);
    return spectra.empty() ? nullptr : std::make_shared<const Findings>();
  }
  void restart() override { ++calls_->restarts; }

 private:
  Calls* calls_;
};

TEST(DeferredSearch, IsMadeOnceByItsFirstSearch) {
  Calls calls;
  const auto deferred = defer_search([&calls] { return std::make_unique<CountedSearch>(calls); });
  deferred->restart();
  EXPECT_EQ(calls.made, 0);
  EXPECT_EQ(deferred->search({}, {}, 3), nullptr);
  const std::vector<std::complex<float>> spectra(1);
  EXPECT_NE(deferred->search(spectra, {}, 4), nullptr);
  deferred->restart();
  EXPECT_EQ(calls.made, 1);
  EXPECT_EQ(calls.restarts, 1);
  EXPECT_EQ(calls.searches, (std::vector<std::uint64_t>{3, 4}));
}

TEST(DeferredSearch, IsTriedAgainWhereItCouldNotBeMade) {
  Calls calls;
  int tries = 0;
  const auto deferred = defer_search([&]() -> std::unique_ptr<Search> {
    if (++tries == 1) {
      throw std::runtime_error("no memory");
    }
    return std::make_unique<CountedSearch>(calls);
  });
  EXPECT_THROW((void)deferred->search({}, {}, 0), std::runtime_error);
  (void)deferred->search({}, {}, 1);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(calls.searches, std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace nearfield
