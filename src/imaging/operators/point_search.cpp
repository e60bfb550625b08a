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
  PointFinder(const ImagePlan& plan, std::size_t frequency, const OperatorTables& tables)
      : PointFinder(std::make_unique<OperatorSpace>(plan, frequency, tables)) {}

  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask& mask) override {
    finder_.find(field, number, &mask);
    FoundWaves found = finder_.found();
    found.prior = std::nullopt;
    const bool is_any = !finder_.sources().empty();
    const auto at_microphones = [&](const Eigen::MatrixXcd& modes) {
      return is_any ? space_->at_microphones(modes) : Eigen::MatrixXcd();
    };
    // Amplitudes are sums over modes of factors times y, the product of conjugate modes and the field.
    const Eigen::MatrixXcd factors = is_any ? amplitude_factors(finder_.fit()).conjugate() : Eigen::MatrixXcd();
    found.table = make_source_table(finder_, at_microphones(factors).conjugate(), at_microphones(finder_.fit().modes));
    return found;
  }

  void restart() override { finder_.restart(); }

 private:
  explicit PointFinder(std::unique_ptr<OperatorSpace> space) : space_(space.get()), finder_(std::move(space)) {}

  const OperatorSpace* space_;  ///< space of finder_
  SourceFinder finder_;
};

std::vector<std::unique_ptr<FrequencyFinder>> finders_of(const ImagePlan& plan,
                                                         const std::vector<OperatorTables>& tables) {
  std::vector<std::unique_ptr<FrequencyFinder>> finders;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    finders.push_back(std::make_unique<PointFinder>(plan, f, tables[f]));
  }
  return finders;
}

}  // namespace

PointSearch::PointSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<OperatorTables>>& tables)
    : SourceSearch(plan, finders_of(plan, *tables), tables) {}

std::vector<OperatorTables> tables_of_search(std::vector<OperatorTables> tables) {
  for (OperatorTables& one : tables) {
    one.factors.resize(one.rank() * one.pixels);
    one.factors.shrink_to_fit();
  }
  return tables;
}

}  // namespace nearfield
