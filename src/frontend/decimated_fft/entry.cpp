#include "frontend/decimated_fft/decimated_fft.hpp"
#include "frontend/samples/sample_front_end_reference.hpp"
#include "frontend/samples/work.hpp"

namespace nearfield {
namespace {

WorkModel work_of_decimated_fft(const FrontEndPlan& plan) {
  const work::FrontEndSizes s(plan);
  WorkModel model = work::decimator(s);
  const double samples = s.windows * s.window * s.microphones;
  model.push_back({.stage = "front_end/decimated_fft/window_lines",
                   .bytes = 2.0 * s.windows * s.window * s.microphones * work::kFloat,
                   .operations = samples});
  model.push_back(work::line_transforms("front_end/decimated_fft/clfft", s));
  model.push_back({.stage = "front_end/decimated_fft/pick_bins",
                   .bytes = 2.0 * s.spectra_bytes(),
                   .operations = work::kComplexMultiply * s.holograms() * s.microphones});
  return model;
}

constexpr FrontEndVariant kDecimatedFftVariants[] = {{.name = "decimated_fft", .thesis = "nominal"}};

}  // namespace

FrontEndEntry decimated_fft_entry() {
  return {.kind = "decimated_fft",
          .make = make_decimated_fft,
          .make_reference = reference::make<reference::SampleFrontEnd>,
          .work = work_of_decimated_fft,
          .cuts_samples = true,
          .variants = kDecimatedFftVariants};
}

}  // namespace nearfield
