#include "frontend/dot_product/dot_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "cl/gemm.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kDotStage = "front_end/dot_product";
constexpr std::size_t kReduceGroup = 256;
constexpr std::size_t kLanes = 32;
constexpr std::size_t kSlices = 8;
constexpr std::size_t kItemChannels = 2;
constexpr std::size_t kMaxBlock = 8;
constexpr std::size_t kSumGroup = 64;
constexpr std::size_t kCheckRows = 64;
/// Reductions of one channel a work-group were beaten by a GEMM from n = 44 on in the thesis (section 7.2). On CPUs,
/// where a barrier is a pass over the whole group, they are 15 times slower than the others from n = 1 on.
constexpr std::size_t kMaxReducedFrequencies = 64;
/// Beyond, partial sums take longer to write and read than the samples.
constexpr std::size_t kMaxPartialBlocks = 128;

using Spectra = ocl::Buffer<std::complex<float>>;
using Status = ocl::Buffer<std::uint32_t>;

std::complex<float> narrow(std::complex<double> value) {
  return {static_cast<float>(value.real()), static_cast<float>(value.imag())};
}

ocl::Defines defines_of(const DotWork& work) {
  ocl::Defines defines = work.source->defines();
  defines["FREQUENCIES"] = fmt::format("{}", work.frequencies());
  return defines;
}

/// Frequencies that one work-item of dot_tiled takes: the least power of two from 2 on that spans them.
std::size_t block_of(std::size_t frequencies) {
  std::size_t block = 2;
  while (block < frequencies && block < kMaxBlock) {
    block *= 2;
  }
  return block;
}

std::size_t outputs_of(DotKernel kernel) {
  return kernel == DotKernel::kFourOutput ? 4 : (kernel == DotKernel::kMirrored ? 2 : 1);
}

/// plain, mirrored and four_output.
class ReduceStage : public DotStage {
 public:
  ReduceStage(const ocl::Device& device, const DotWork& work, const DotVariant& variant)
      : channels_(work.channels), group_(std::min(kReduceGroup, std::bit_floor(device.info().max_work_group_size))) {
    ocl::Defines defines = defines_of(work);
    defines["GROUP"] = fmt::format("{}", group_);
    defines["OUTPUTS"] = fmt::format("{}", outputs_of(variant.kernel));
    defines["COMPUTED"] = variant.computes_twiddles ? "1" : "0";
    kernel_ = device.build(kDotStage, "frontend/dot_reduce.cl", defines).kernel("dot_reduce");
    if (variant.computes_twiddles) {
      set_formulas(device, work);
    } else {
      set_table(device, work);
    }
    kernel_.set("samples", work.source->samples().samples())
        .set("is_alive", work.source->is_alive())
        .set("coefficients", coefficients_)
        .set("slots", work.source->samples().span().slots());
    per_window_ = kernel_.arguments("first_slot", "spectra", "status");
  }
  void enqueue(std::uint32_t first_slot, const Spectra& spectra, const Status& status) override {
    kernel_.set(per_window_, first_slot, spectra, status);
    kernel_.enqueue({.global_0 = group_ * channels_, .local_0 = group_});
  }

 private:
  void set_table(const ocl::Device& device, const DotWork& work) {
    std::vector<std::complex<float>> values;
    for (std::size_t f = 0; f < work.frequencies(); ++f) {
      for (std::size_t t = 0; t < work.window.size(); ++t) {
        values.push_back(narrow(work.coefficient(f, t)));
      }
    }
    coefficients_ = device.upload<std::complex<float>>(values, kDotStage);
  }
  void set_formulas(const ocl::Device& device, const DotWork& work) {
    std::vector<std::uint64_t> steps;
    std::vector<std::complex<float>> terms;
    for (std::size_t f = 0; f < work.frequencies(); ++f) {
      const AnalysisVector& vector = work.vectors[f];
      steps.push_back(static_cast<std::uint64_t>(std::ldexp(vector.radians_per_step / (2.0 * std::numbers::pi), 64)));
      for (const std::complex<double>& term : {vector.forward, vector.image, vector.constant}) {
        terms.push_back(narrow(work.scales[f] * term));
      }
    }
    window_ = device.upload<float>(std::vector<float>(work.window.begin(), work.window.end()), kDotStage);
    steps_ = device.upload<std::uint64_t>(steps, kDotStage);
    coefficients_ = device.upload<std::complex<float>>(terms, kDotStage);
    kernel_.set("window", window_).set("steps", steps_);
  }
  std::size_t channels_;
  std::size_t group_;
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [frequency][t], or [frequency][3]
  ocl::Buffer<float> window_;
  ocl::Buffer<std::uint64_t> steps_;
  ocl::Kernel kernel_;
  ocl::Arguments<3> per_window_;
};

/// Adds the planes of partial sums up to spectra.
class PlaneSums {
 public:
  PlaneSums(const ocl::Device& device, const DotWork& work, const ocl::Program& program, std::size_t parts)
      : planes_(device.allocate<float>(parts * 2 * work.frequencies() * work.channels, kDotStage)),
        launch_{
            .global_0 = ocl::round_up(work.channels, kSumGroup), .local_0 = kSumGroup, .global_1 = work.frequencies()},
        kernel_(program.kernel("sum_parts")),
        to_spectra_(kernel_.arguments("spectra")) {
    kernel_.set("planes", planes_).set("parts", static_cast<std::uint32_t>(parts));
  }
  [[nodiscard]] const ocl::Buffer<float>& planes() const { return planes_; }
  void enqueue(const Spectra& spectra) {
    kernel_.set(to_spectra_, spectra);
    kernel_.enqueue(launch_);
  }

 private:
  ocl::Buffer<float> planes_;
  ocl::Launch launch_;
  ocl::Kernel kernel_;
  ocl::Arguments<1> to_spectra_;
};

ocl::Program tiled_program(const ocl::Device& device, const DotWork& work) {
  ocl::Defines defines = defines_of(work);
  defines["BLOCK"] = fmt::format("{}", block_of(work.frequencies()));
  defines["ITEM_CHANNELS"] = fmt::format("{}", kItemChannels);
  defines["LANES"] = fmt::format("{}", kLanes);
  defines["SLICES"] = fmt::format("{}", kSlices);
  defines["ROWS"] = fmt::format("{}", kCheckRows);
  return device.build(kDotStage, "frontend/dot_tiled.cl", defines);
}

class TiledStage : public DotStage {
 public:
  TiledStage(const ocl::Device& device, const DotWork& work, const DotVariant& variant)
      : block_(block_of(work.frequencies())),
        parts_(static_cast<std::size_t>(variant.parts)),
        coefficients_(device.upload<std::complex<float>>(blocked(work), kDotStage)),
        program_(tiled_program(device, work)),
        kernel_(program_.kernel("dot_tiled")),
        per_window_(kernel_.arguments("first_slot", "spectra", "status")),
        sums_(device, work, program_, parts_),
        launch_{.global_0 = kLanes * (ocl::round_up(work.channels, kLanes * kItemChannels) / (kLanes * kItemChannels)),
                .local_0 = kLanes,
                .global_1 = kSlices * parts_,
                .local_1 = kSlices,
                .global_2 = ocl::round_up(work.frequencies(), block_) / block_} {
    kernel_.set("samples", work.source->samples().samples())
        .set("is_alive", work.source->is_alive())
        .set("coefficients", coefficients_)
        .set("planes", sums_.planes())
        .set("parts", static_cast<std::uint32_t>(parts_))
        .set("slots", work.source->samples().span().slots());
  }
  void enqueue(std::uint32_t first_slot, const Spectra& spectra, const Status& status) override {
    kernel_.set(per_window_, first_slot, spectra, status);
    kernel_.enqueue(launch_);
    if (parts_ > 1) {
      sums_.enqueue(spectra);
    }
  }

 private:
  [[nodiscard]] std::vector<std::complex<float>> blocked(const DotWork& work) const {
    std::vector<std::complex<float>> values;
    for (std::size_t first = 0; first < work.frequencies(); first += block_) {
      for (std::size_t t = 0; t < work.window.size(); ++t) {
        for (std::size_t f = first; f < first + block_; ++f) {
          values.push_back(f < work.frequencies() ? narrow(work.coefficient(f, t)) : std::complex<float>());
        }
      }
    }
    return values;
  }
  std::size_t block_;
  std::size_t parts_;
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [block][t][frequency in block]
  ocl::Program program_;
  ocl::Kernel kernel_;
  ocl::Arguments<3> per_window_;
  PlaneSums sums_;
  ocl::Launch launch_;
};

/// A real product: real and imaginary parts of the coefficients are rows of their own.
class GemmStage : public DotStage {
 public:
  GemmStage(const ocl::Device& device, const DotWork& work)
      : source_(work.source),
        window_samples_(work.window.size()),
        rows_(device.upload<float>(rows_of(work), kDotStage)),
        gemm_(device, 2 * work.frequencies(), work.channels, window_samples_, std::string(kDotStage)),
        program_(tiled_program(device, work)),
        check_(program_.kernel("check_window")),
        per_window_(check_.arguments("first_slot", "status")),
        sums_(device, work, program_, 1),
        check_launch_{
            .global_0 = ocl::round_up(work.channels, kSumGroup), .local_0 = kSumGroup, .global_1 = kCheckRows} {
    check_.set("samples", source_->samples().samples())
        .set("is_alive", source_->is_alive())
        .set("slots", source_->samples().span().slots());
  }
  void enqueue(std::uint32_t first_slot, const Spectra& spectra, const Status& status) override {
    const std::size_t before_wrap = std::min(window_samples_, source_->samples().span().capacity() - first_slot);
    const ocl::Buffer<float>& samples = source_->samples().samples();
    gemm_.enqueue(rows_, samples, sums_.planes(), {.first_row_of_b = first_slot, .inner = before_wrap});
    if (before_wrap < window_samples_) {
      gemm_.enqueue(rows_, samples, sums_.planes(),
                    {.first_column_of_a = before_wrap, .inner = window_samples_ - before_wrap, .accumulate = true});
    }
    if (source_->history_words() > 0) {  // pascal cannot clip
      check_.set(per_window_, first_slot, status);
      check_.enqueue(check_launch_);
    }
    sums_.enqueue(spectra);
  }

 private:
  static std::vector<float> rows_of(const DotWork& work) {
    const std::size_t length = work.window.size();
    std::vector<float> rows(2 * work.frequencies() * length);
    for (std::size_t f = 0; f < work.frequencies(); ++f) {
      for (std::size_t t = 0; t < length; ++t) {
        const std::complex<float> value = narrow(work.coefficient(f, t));
        rows[2 * f * length + t] = value.real();
        rows[(2 * f + 1) * length + t] = value.imag();
      }
    }
    return rows;
  }
  const SampleSource* source_;
  std::size_t window_samples_;
  ocl::Buffer<float> rows_;  ///< [2 frequency + (0 real, 1 imaginary)][t]
  ocl::RealGemm gemm_;
  ocl::Program program_;
  ocl::Kernel check_;
  ocl::Arguments<2> per_window_;
  PlaneSums sums_;
  ocl::Launch check_launch_;
};

}  // namespace

std::string name_of(const DotVariant& variant) {
  std::string name(name_of(variant.kernel));
  switch (variant.kernel) {
    case DotKernel::kTiled:
      return variant.parts == 1 ? name : fmt::format("{} in {} parts", name, variant.parts);
    case DotKernel::kPlain:
    case DotKernel::kMirrored:
    case DotKernel::kFourOutput:
      return fmt::format("{}, twiddles {}", name, variant.computes_twiddles ? "computed" : "fetched");
    default:
      return name;
  }
}

std::complex<double> DotWork::coefficient(std::size_t frequency, std::size_t t) const {
  return scales[frequency] * window[t] * vectors[frequency].without_window(static_cast<double>(t));
}

std::unique_ptr<DotStage> make_dot_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant) {
  switch (variant.kernel) {
    case DotKernel::kPlain:
    case DotKernel::kMirrored:
    case DotKernel::kFourOutput:
      return std::make_unique<ReduceStage>(device, work, variant);
    case DotKernel::kTiled:
      return std::make_unique<TiledStage>(device, work, variant);
    case DotKernel::kGemm:
      return std::make_unique<GemmStage>(device, work);
    case DotKernel::kAuto:
      break;
  }
  throw Error(ExitCode::kInternal, fmt::format("{}: a variant is not named", kDotStage));
}

std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work) {
  std::vector<DotVariant> variants;
  const std::size_t blocks = ocl::round_up(work.frequencies(), kMaxBlock) / kMaxBlock;
  for (const std::size_t parts : {1U, 4U, 16U, 64U}) {
    const bool fits = parts * kSlices <= work.window.size() && parts * blocks <= kMaxPartialBlocks;
    if (parts == 1 || (device.info().is_gpu && fits)) {
      variants.push_back({.kernel = DotKernel::kTiled, .parts = static_cast<int>(parts)});
    }
  }
  variants.push_back({.kernel = DotKernel::kGemm});
  if (device.info().is_gpu && work.frequencies() <= kMaxReducedFrequencies) {
    for (const DotKernel kernel : {DotKernel::kFourOutput, DotKernel::kMirrored, DotKernel::kPlain}) {
      if (work.frequencies() < outputs_of(kernel)) {
        continue;
      }
      variants.push_back({.kernel = kernel, .computes_twiddles = true});
      variants.push_back({.kernel = kernel, .computes_twiddles = false});
    }
  }
  return variants;
}

}  // namespace nearfield
