#include "frontend/popcount/settings.hpp"

#include "config/schema/front_end_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {

std::string_view name_of(WordTransform transform) { return transform == WordTransform::kDot ? "dot" : "fft"; }

namespace schema {
namespace {

constexpr int kHighestMoment = 2;

void describe_popcount(Section& front_end, FrontEndSettings& settings) {
  auto& popcount = settings.own.edit<PopcountSettings>();
  Section& section = front_end.section("popcount");
  section.add("order", popcount.order, integer(0, kHighestMoment),
              "highest moment of a word's bits; 0 is plain averaging");
  section.add(
      "transform", popcount.transform,
      choice<WordTransform>({{WordTransform::kDot, "any frequency"}, {WordTransform::kFft, "bins of the window"}}),
      "from words to spectra");
}

}  // namespace

FrontEndKind popcount_kind() {
  return {.name = "popcount",
          .meaning = "moments of 32-bit words",
          .sums_hops = true,
          .any_frequency = "popcount with transform dot",
          .is_on_bins =
              [](const FrontEndSettings& settings) {
                return settings.own.get<PopcountSettings>().transform == WordTransform::kFft;
              },
          .describe = describe_popcount};
}

}  // namespace schema
}  // namespace nearfield
