#include "frontend/front_end_reference.hpp"

#include <fmt/format.h>

#include <array>

#include "frontend/popcount/popcount_reference.hpp"
#include "frontend/samples/sample_front_end_reference.hpp"
#include "frontend/walsh_fourier/walsh_fourier_reference.hpp"
#include "nearfield/error.hpp"

namespace nearfield::reference {
namespace {

template <class Kind>
std::unique_ptr<FrontEnd> make(const FrontEndPlan& plan) {
  return std::make_unique<Kind>(plan);
}

struct Entry {
  FrontEndKind kind;
  std::unique_ptr<FrontEnd> (*make)(const FrontEndPlan& plan);
};

/// One line for each line of nearfield::front_end_table().
constexpr std::array<Entry, 4> kTable = {{
    {FrontEndKind::kDecimatedFft, make<SampleFrontEnd>},
    {FrontEndKind::kDotProduct, make<SampleFrontEnd>},
    {FrontEndKind::kPopcount, make<PopcountFrontEnd>},
    {FrontEndKind::kWalshFourier, make<WalshFourierFrontEnd>},
}};

}  // namespace

std::unique_ptr<FrontEnd> make_front_end(const FrontEndPlan& plan) {
  for (const Entry& entry : kTable) {
    if (entry.kind == plan.settings.kind) {
      return entry.make(plan);
    }
  }
  throw Error(ExitCode::kInternal,
              fmt::format("front_end.kind: {} is not in the reference's table", name_of(plan.settings.kind)));
}

}  // namespace nearfield::reference
