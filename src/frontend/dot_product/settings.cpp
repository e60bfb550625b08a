#include "frontend/dot_product/settings.hpp"

#include <fmt/format.h>

#include "config/schema/front_end_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {

std::string_view name_of(DotKernel kernel) {
  switch (kernel) {
    case DotKernel::kAuto:
      return "auto";
    case DotKernel::kPlain:
      return "plain";
    case DotKernel::kMirrored:
      return "mirrored";
    case DotKernel::kFourOutput:
      return "four_output";
    case DotKernel::kTiled:
      return "tiled";
    case DotKernel::kGemm:
      return "gemm";
  }
  return "?";
}

namespace schema {
namespace {

void describe_dot_product(Section& section, FrontEndSettings& settings) {
  section.add("dot_kernel", settings.own.edit<DotProductSettings>().kernel,
              choice<DotKernel>({{DotKernel::kAuto, "measured once, then kept"},
                                 {DotKernel::kPlain, ""},
                                 {DotKernel::kMirrored, ""},
                                 {DotKernel::kFourOutput, ""},
                                 {DotKernel::kTiled, ""},
                                 {DotKernel::kGemm, ""}}),
              "kernel of dot_product");
}

/// Reports a named `dot_kernel` together with the sliding DFT, which has a kernel of its own.
void check_kernel(const FrontEndSettings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found) {
  const DotKernel kernel = settings.own.get<DotProductSettings>().kernel;
  if (is_settled("front_end.incremental") && is_settled("front_end.dot_kernel") &&
      settings.incremental == Incremental::kAlways && kernel != DotKernel::kAuto) {
    found.push_back({"front_end.dot_kernel", "",
                     fmt::format("expected auto with incremental: always, as all these kernels take whole windows, "
                                 "found {}",
                                 name_of(kernel))});
  }
}

}  // namespace

FrontEndKind dot_product_kind() {
  return {.name = "dot_product",
          .meaning = "filter and decimate, then one dot product a frequency",
          .takes_samples = true,
          .sums_hops = true,
          .any_frequency = "dot_product",
          .is_on_bins = [](const FrontEndSettings&) { return false; },
          .describe = describe_dot_product,
          .check = check_kernel};
}

}  // namespace schema
}  // namespace nearfield
