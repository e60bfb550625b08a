#include "imaging/shared/search.hpp"

#include <utility>

namespace nearfield {
namespace {

class DeferredSearch : public Search {
 public:
  explicit DeferredSearch(MakeSearch make) : make_(std::move(make)) {}

  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask,
                                         std::uint64_t number) override {
    if (made_ == nullptr) {
      made_ = make_();
      make_ = nullptr;  // releases the data it owns
    }
    return made_->search(spectra, mask, number);
  }
  void restart() override {
    if (made_ != nullptr) {
      made_->restart();
    }
  }

 private:
  MakeSearch make_;
  std::unique_ptr<Search> made_;
};

}  // namespace

std::unique_ptr<Search> defer_search(MakeSearch make) { return std::make_unique<DeferredSearch>(std::move(make)); }

}  // namespace nearfield
