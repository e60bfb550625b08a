#include "frontend/dot_product/dot_product.hpp"
#include "frontend/dot_product/settings.hpp"
#include "frontend/samples/sample_front_end_reference.hpp"
#include "frontend/samples/work.hpp"

namespace nearfield {
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
