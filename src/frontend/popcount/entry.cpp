#include <algorithm>
#include <cmath>

#include "frontend/common/work.hpp"
#include "frontend/popcount/popcount.hpp"
#include "frontend/popcount/popcount_coefficients.hpp"
#include "frontend/popcount/popcount_reference.hpp"
#include "frontend/popcount/settings.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kSlide = "front_end/popcount/slide";
constexpr std::string_view kSlideOfProcessors = "front_end/popcount/slide_vectors";  // name of this stage on processors
/// Operations per word for moments up to each order, kernels/common/moments.cl: population counts, masks, products,
/// additions.
constexpr double kMomentOperations[] = {3.0, 24.0, 64.0};

struct Sizes : work::FrontEndSizes {
  explicit Sizes(const FrontEndPlan& plan) : FrontEndSizes(plan) {
    const auto order =
        static_cast<std::size_t>(std::clamp(plan.settings.own.get<PopcountSettings>().order, 0, kMaxMomentOrder));
    moments = static_cast<double>(order) + 1.0;
    moment_operations = kMomentOperations[order];
  }
  double moments;  ///< moments per word
  double moment_operations;
};

/// Moments of the hop's words, times their coefficients, rotated to the stream's time.
StageWork block_sums(const Sizes& s) {
  const double block_words = s.kept_words / s.blocks;
  return {.stage = "front_end/popcount/block_sums",
          .bytes = s.kept_words * s.lanes * work::kWord + block_words * s.terms * s.moments * work::kComplex +
                   s.blocks * s.block_bytes(),
          .operations = s.kept_words * s.microphones * (s.moment_operations + s.terms * s.moments * 4.0) +
                        s.blocks * s.microphones * s.terms * work::kComplexMultiply};
}

/// Both steps in one launch: the block that enters is not read again.
StageWork advance(const Sizes& s) {
  const StageWork sums = block_sums(s);
  const StageWork move = work::slide(kSlide, s);
  return {.stage = "front_end/popcount/advance",
          .bytes = sums.bytes + move.bytes - s.blocks * s.block_bytes(),
          .operations = sums.operations + move.operations};
}

StageWork word_sums(const Sizes& s) {
  return {.stage = "front_end/popcount/word_sums",
          .bytes = s.windows * s.window * s.microphones * work::kWord +
                   s.window * s.frequencies * s.moments * work::kComplex,
          .operations = s.windows * s.window * s.microphones * (s.moment_operations + s.frequencies * s.moments * 4.0)};
}

/// Slices of the dot path: blocks of 64 words, at most 16 of them.
StageWork sum_slices(const Sizes& s) {
  const double lane_blocks = std::ceil(s.window / 64.0);
  const double slices = std::ceil(lane_blocks / std::ceil(lane_blocks / 16.0));
  return {.stage = "front_end/popcount/sum_slices",
          .bytes = (slices + 1.0) * s.spectra_bytes(),
          .operations = 2.0 * slices * s.holograms() * s.microphones};
}

StageWork moment_lines(const Sizes& s) {
  return {.stage = "front_end/popcount/moment_lines",
          .bytes = s.windows * s.window * s.microphones * (work::kWord + s.moments * work::kFloat),
          .operations = s.windows * s.window * s.microphones * s.moment_operations};
}

StageWork moment_transforms(const Sizes& s) {
  StageWork transforms = work::line_transforms("front_end/popcount/clfft", s);
  transforms.bytes *= s.moments;
  transforms.operations *= s.moments;
  return transforms;
}

WorkModel work_of_popcount(const FrontEndPlan& plan) {
  const Sizes s(plan);
  return {work::corner_turn(s), block_sums(s), work::slide(kSlide, s), work::slide(kSlideOfProcessors, s),
          advance(s),           word_sums(s),  sum_slices(s),          moment_lines(s),
          moment_transforms(s)};
}

template <int order, WordTransform transform>
void popcount_with(FrontEndSettings& settings) {
  settings.own.edit<PopcountSettings>() = {.order = order, .transform = transform};
}

void popcount_of_whole_windows(FrontEndSettings& settings) {
  popcount_with<1, WordTransform::kDot>(settings);
  settings.incremental = Incremental::kNever;
}

/// The thesis averages without a window (section 7.3.2).
void basic_averaging(FrontEndSettings& settings) {
  popcount_with<0, WordTransform::kDot>(settings);
  settings.window = WindowKind::kNone;
}

constexpr FrontEndVariant kPopcountVariants[] = {
    {.name = "popcount 0, no window", .apply = basic_averaging, .thesis = "basic averaging"},
    {.name = "popcount 0", .apply = popcount_with<0, WordTransform::kDot>},
    {.name = "popcount 1", .apply = popcount_with<1, WordTransform::kDot>},
    {.name = "popcount 1, whole windows", .apply = popcount_of_whole_windows},
    {.name = "popcount 2", .apply = popcount_with<2, WordTransform::kDot>},
    {.name = "popcount 1 fft", .apply = popcount_with<1, WordTransform::kFft>},
    {.name = "popcount 2 fft", .apply = popcount_with<2, WordTransform::kFft>},
};

}  // namespace

FrontEndEntry popcount_entry() {
  return {.kind = "popcount",
          .make = make_popcount,
          .make_reference = reference::make<reference::PopcountFrontEnd>,
          .obstacle = popcount_obstacle,
          .work = work_of_popcount,
          .variants = kPopcountVariants};
}

}  // namespace nearfield
