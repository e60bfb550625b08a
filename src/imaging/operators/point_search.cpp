#include "imaging/operators/point_search.hpp"

#include <optional>
#include <utility>

#include "imaging/operators/operator_space.hpp"
#include "imaging/sources/source_finder.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {
namespace {

class PointFinder : public FrequencyFinder {
 public:
  /// `tables` must outlive it.
  PointFinder(const PnahPlan& plan, std::size_t frequency, const OperatorTables& tables)
      : plan_(plan), frequency_(frequency), tables_(&tables) {}

  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask& mask) override {
    if (!finder_) {  // a basis of 1024 microphones takes a second: a start does not wait for it
      auto space = std::make_unique<OperatorSpace>(plan_, frequency_, *tables_);
      space_ = space.get();
      finder_.emplace(std::move(space));
    }
    finder_->find(field, number, &mask);
    FoundWaves found = finder_->found();
    found.prior = std::nullopt;
    const bool is_any = !finder_->sources().empty();
    const auto at_microphones = [&](const Eigen::MatrixXcd& modes) {
      return is_any ? space_->at_microphones(modes) : Eigen::MatrixXcd();
    };
    // Amplitudes are sums over modes of factors times y, the product of conjugate modes and the field.
    const Eigen::MatrixXcd factors = is_any ? amplitude_factors(finder_->fit()).conjugate() : Eigen::MatrixXcd();
    found.table =
        make_source_table(*finder_, at_microphones(factors).conjugate(), at_microphones(finder_->fit().modes));
    return found;
  }

  void restart() override {
    if (finder_) {
      finder_->restart();
    }
  }

 private:
  PnahPlan plan_;
  std::size_t frequency_;
  const OperatorTables* tables_;
  const OperatorSpace* space_ = nullptr;  ///< of finder_
  std::optional<SourceFinder> finder_;
};

std::vector<std::unique_ptr<FrequencyFinder>> finders_of(const PnahPlan& plan,
                                                         const std::vector<OperatorTables>& tables) {
  std::vector<std::unique_ptr<FrequencyFinder>> finders;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    finders.push_back(std::make_unique<PointFinder>(plan, f, tables[f]));
  }
  return finders;
}

}  // namespace

PointSearch::PointSearch(const PnahPlan& plan, const std::shared_ptr<const std::vector<OperatorTables>>& tables)
    : SourceSearch(plan, finders_of(plan, *tables), tables) {}

std::vector<OperatorTables> tables_of_search(std::vector<OperatorTables> tables) {
  for (OperatorTables& one : tables) {
    one.factors.resize(one.rank() * one.pixels);
    one.factors.shrink_to_fit();
  }
  return tables;
}

}  // namespace nearfield
