#include "frontend/walsh_fourier/settings.hpp"

#include <limits>

#include "config/schema/front_end_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {

std::string_view name_of(WalshVariant variant) {
  switch (variant) {
    case WalshVariant::kPrecomputed:
      return "precomputed";
    case WalshVariant::kComputed:
      return "computed";
    case WalshVariant::kFast:
      return "fast";
  }
  return "?";
}

namespace schema {
namespace {

void describe_walsh_fourier(Section& front_end, FrontEndSettings& settings) {
  auto& walsh = settings.own.edit<WalshFourierSettings>();
  Section& section = front_end.section("walsh_fourier");
  section.add("variant", walsh.variant,
              choice<WalshVariant>({{WalshVariant::kPrecomputed, "functions from a table, as the thesis has them"},
                                    {WalshVariant::kComputed, "functions computed where they are used"},
                                    {WalshVariant::kFast, "the fast Walsh transform"}}),
              "where Walsh coefficients come from");
  section.add("coefficients", walsh.coefficients, integer(0, std::numeric_limits<int>::max()),
              "largest Walsh coefficients kept for each frequency (the thesis: 40; fast takes the same time for 6 x "
              "window_samples of them); 0: all, or those above threshold");
  section.add("threshold", walsh.threshold, number({"a threshold of", 0.0, 2.0}),
              "with coefficients 0: the least |a - jb| of a coefficient that is kept");
}

}  // namespace

FrontEndKind walsh_fourier_kind() {
  return {.name = "walsh_fourier", .meaning = "Walsh functions", .describe = describe_walsh_fourier};
}

}  // namespace schema
}  // namespace nearfield
