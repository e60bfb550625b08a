#include "frontend/dot_product/dot_product.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <numbers>

#include "frontend/common/analysis.hpp"
#include "frontend/dot_product/settings.hpp"
#include "frontend/dot_product/sliding_dot.hpp"
#include "frontend/samples/decimated_samples.hpp"
#include "frontend/samples/samples_reference.hpp"

namespace nearfield {
namespace {

/// Below this number, whole windows of 1024 samples take less time than the sliding DFT on an H100: 15 against 21 us at
/// n = 5, 21 against 20 at 30 (docs/reference/front_ends.md).
constexpr std::size_t kFewestSlidingOnGpu = 25;
constexpr int kMeasuredBatches = 5;
constexpr int kRunsPerBatch = 8;
/// Slow windows are measured in shorter batches, so that a plan with many frequencies takes only seconds.
constexpr double kBatchLength_s = 0.05;
/// A candidate whose single run takes this many times as long as the best so far, and at least kChance_s, is not
/// measured further.
constexpr double kHopeless = 8.0;
constexpr double kChance_s = 1e-3;

DotWork work_of(const FrontEndPlan& plan, const SampleSource& source) {
  DotWork work;
  work.source = &source;
  work.channels = static_cast<std::size_t>(plan.geometry.channels());
  work.window = window_values(plan.settings.window, plan.settings.window_samples);
  for (const double frequency_hz : plan.settings.frequencies_hz) {
    const double radians = 2.0 * std::numbers::pi * frequency_hz / plan.sample_rate_hz;
    work.vectors.push_back(analysis_vector(plan.settings.window, work.window.size(), radians, plan.settings.remove_dc));
    work.scales.push_back(source.scale_pa(frequency_hz));
  }
  return work;
}

/// Times one stage on the present contents of the ring.
class Stopwatch {
 public:
  Stopwatch(const ocl::Device& device, const DotWork& work)
      : device_(&device),
        spectra_(device.allocate<std::complex<float>>(work.frequencies() * work.channels, kDotStage)),
        status_(device.allocate<std::uint32_t>(4, kDotStage)) {
    device.enqueue_fill(status_, std::uint32_t{0}, kDotStage);
  }
  /// Seconds per run of the fastest batch.
  double measure(DotStage& stage, double best_s) {
    (void)batch(stage, 1);  // some drivers compile at the first launch
    double shortest_s = batch(stage, 1);
    const bool is_hopeless = shortest_s > std::max(kHopeless * best_s, kChance_s);
    const int runs = std::clamp(static_cast<int>(kBatchLength_s / shortest_s), 1, kRunsPerBatch);
    for (int i = 0; i < kMeasuredBatches && !is_hopeless; ++i) {
      shortest_s = std::min(shortest_s, batch(stage, runs));
    }
    return shortest_s;
  }

 private:
  double batch(DotStage& stage, int runs) {
    device_->wait();
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < runs; ++run) {
      stage.enqueue(0, spectra_, status_);
    }
    device_->wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
  }
  const ocl::Device* device_;
  ocl::Buffer<std::complex<float>> spectra_;
  ocl::Buffer<std::uint32_t> status_;
};

}  // namespace

DotProduct::DotProduct(const ocl::Device& device, const FrontEndPlan& plan, const DotVariant& variant)
    : frequencies_hz_(plan.settings.frequencies_hz),
      source_(device, plan, std::string(kDotStage)),
      work_(work_of(plan, source_)),
      variant_(variant),
      stage_(make_dot_stage(device, work_, variant)) {}

DotProduct::DotProduct(const ocl::Device& device, const FrontEndPlan& plan)
    : frequencies_hz_(plan.settings.frequencies_hz),
      source_(device, plan, std::string(kDotStage)),
      work_(work_of(plan, source_)),
      variant_{.kernel = plan.settings.own.get<DotProductSettings>().kernel} {
  if (variant_.kernel == DotKernel::kAuto) {
    choose(device);
  } else {
    stage_ = make_dot_stage(device, work_, variant_);
  }
}

void DotProduct::choose(const ocl::Device& device) {
  const std::vector<DotVariant> candidates = dot_candidates(device, work_);
  ocl::ChoiceQuestion question{.stage = std::string(kDotStage),
                               .kernels = kDotKernelFiles,
                               .sizes = work_.defines(),
                               .ways = {},
                               .by_rule = candidate_by_rule(device, work_, candidates)};
  std::transform(candidates.begin(), candidates.end(), std::back_inserter(question.ways),
                 [](const DotVariant& variant) { return name_of(variant); });
  const ocl::Choice choice = ocl::choose_once(device, question, [&] { return measure(device, candidates); });
  origin_ = choice.origin;
  variant_ = candidates.at(choice.way);
  stage_ = make_dot_stage(device, work_, variant_);
}

/// Index of the fastest candidate; nullopt if all fail.
std::optional<std::size_t> DotProduct::measure(const ocl::Device& device, const std::vector<DotVariant>& candidates) {
  Stopwatch stopwatch(device, work_);
  double best_s = std::numeric_limits<double>::infinity();
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    try {
      const std::unique_ptr<DotStage> stage = make_dot_stage(device, work_, candidates[i]);
      const double seconds_s = stopwatch.measure(*stage, best_s);
      spdlog::debug("{}: {} takes {:.3f} ms a window", kDotStage, name_of(candidates[i]), 1e3 * seconds_s);
      measurements_.push_back({candidates[i], seconds_s});
      if (seconds_s < best_s) {
        best_s = seconds_s;
        best = i;
      }
    } catch (const DeviceError&) {
      continue;  // left out of measurements()
    }
  }
  return best;
}

void DotProduct::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                                 const ocl::Buffer<std::uint32_t>& status) {
  const std::uint32_t first_slot = source_.window_slot(first_sample_index);
  source_.check_outputs(frequencies_hz_.size(), spectra, status);
  stage_->enqueue(first_slot, spectra, status);
}

std::string DotProduct::description() const { return fmt::format("dot_product ({})", name_of(variant_)); }

std::unique_ptr<FrontEnd> make_dot_product(const ocl::Device& device, const FrontEndPlan& plan) {
  const Incremental incremental = plan.settings.incremental;
  const bool whole_is_faster = device.info().is_gpu && plan.settings.frequencies_hz.size() < kFewestSlidingOnGpu;
  const bool pays = incremental == Incremental::kAuto && plan.input_is_bits && !whole_is_faster &&
                    plan.settings.own.get<DotProductSettings>().kernel == DotKernel::kAuto &&
                    is_worth_sliding(SlidingDot::sliding_plan(plan), device.info());
  if (pays || incremental == Incremental::kAlways) {
    return std::make_unique<SlidingDot>(device, plan);
  }
  return std::make_unique<DotProduct>(device, plan);
}

namespace {

std::string obstacle_of_dot_product(const FrontEndPlan& plan) {
  if (plan.settings.incremental == Incremental::kAlways && !plan.input_is_bits) {
    return "front_end.incremental: the sliding DFT takes bits, whose full scale is known, found samples in "
           "pascal; expected auto or never";
  }
  return "";
}

/// Sums of the hop's samples times complex exponentials, rotated to the stream's time.
StageWork block_sums(const work::FrontEndSizes& s) {
  const double block_samples = s.kept_words / s.blocks;
  return {.stage = "front_end/dot_product/sample_block_sums",
          .bytes = s.kept_words * s.microphones * work::kFloat + block_samples * s.terms * work::kComplex +
                   s.blocks * s.block_bytes(),
          .operations = s.kept_words * s.microphones * s.terms * 4.0 +
                        s.blocks * s.microphones * s.terms * work::kComplexMultiply};
}

/// Decimated samples times one complex vector per frequency.
StageWork dots(std::string_view stage, const work::FrontEndSizes& s) {
  return {.stage = stage,
          .bytes = s.windows * s.window * s.microphones * work::kFloat + s.spectra_bytes(),
          .operations = 4.0 * s.windows * s.window * s.microphones * s.frequencies};
}

/// Dot products as a product with a matrix, which is read too.
StageWork matrix_dots(const work::FrontEndSizes& s) {
  StageWork product = dots("front_end/dot_product/gemm", s);
  product.bytes += s.frequencies * s.window * work::kComplex;
  return product;
}

WorkModel work_of_dot_product(const FrontEndPlan& plan) {
  const work::FrontEndSizes s(plan);
  WorkModel model = work::decimator(s);
  model.push_back(block_sums(s));
  model.push_back(work::slide("front_end/dot_product/slide", s));
  model.push_back(dots("front_end/dot_product/dot_reduce", s));
  model.push_back(dots("front_end/dot_product/dot_tiled", s));
  model.push_back(matrix_dots(s));
  return model;
}

template <DotKernel kernel>
void with_kernel(FrontEndSettings& settings) {
  settings.own.edit<DotProductSettings>().kernel = kernel;
}

/// Method of the thesis: every frame sums its whole window.
void dot_product_of_whole_windows(FrontEndSettings& settings) {
  with_kernel<DotKernel::kAuto>(settings);
  settings.incremental = Incremental::kNever;
}

constexpr FrontEndVariant kDotProductVariants[] = {
    {.name = "dot_product", .apply = with_kernel<DotKernel::kAuto>},
    {.name = "dot_product, whole windows", .apply = dot_product_of_whole_windows, .thesis = "n dot products"},
    {.name = "dot_product plain",
     .use = VariantUse::kKernels,
     .apply = with_kernel<DotKernel::kPlain>,
     .thesis = "n dot products, odd n"},
    {.name = "dot_product mirrored",
     .use = VariantUse::kKernels,
     .apply = with_kernel<DotKernel::kMirrored>,
     .thesis = "n dot products, even n"},
    {.name = "dot_product four_output",
     .use = VariantUse::kKernels,
     .apply = with_kernel<DotKernel::kFourOutput>,
     .thesis = "n dot products, multiples of 4"},
    {.name = "dot_product tiled", .use = VariantUse::kKernels, .apply = with_kernel<DotKernel::kTiled>},
    {.name = "dot_product gemm",
     .use = VariantUse::kKernels,
     .apply = with_kernel<DotKernel::kGemm>,
     .thesis = "cBLAS"},
};

}  // namespace

FrontEndEntry dot_product_entry() {
  return {.kind = "dot_product",
          .make = make_dot_product,
          .make_reference = reference::make<reference::SampleFrontEnd>,
          .obstacle = obstacle_of_dot_product,
          .work = work_of_dot_product,
          .cuts_samples = true,
          .variants = kDotProductVariants};
}

}  // namespace nearfield
