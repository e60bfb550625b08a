#pragma once
#include <memory>
#include <vector>

#include "imaging/operators/operator_tables.hpp"
#include "imaging/sources/source_search.hpp"

namespace nearfield {

/// Searches for point sources beside the prior of operators in the spectra of every frequency (docs/how/operators.md).
class PointSearch : public SourceSearch {
 public:
  /// Uses only the first plane's factors of the tables, [frequency].
  PointSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<OperatorTables>>& tables);
};

/// The tables without the factors of further planes.
std::vector<OperatorTables> tables_of_search(std::vector<OperatorTables> tables);

}  // namespace nearfield
