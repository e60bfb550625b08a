#include <memory>
#include <numbers>

#include "cl/fft.hpp"
#include "frontend/common/analysis.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimated_samples.hpp"
#include "frontend/samples/samples_reference.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kDecimatedFftStage = "front_end/decimated_fft";
constexpr std::size_t kTransposeTile = 32;
constexpr std::size_t kTransposeTileStep = 8;
constexpr std::size_t kPickGroup = 64;

std::vector<double> bin_frequencies(const std::vector<std::uint32_t>& bins, const FrontEndPlan& plan) {
  std::vector<double> frequencies_hz;
  for (const std::uint32_t bin : bins) {
    frequencies_hz.push_back(bin * plan.sample_rate_hz / plan.settings.window_samples);
  }
  return frequencies_hz;
}

std::vector<float> to_float(const std::vector<double>& values) {
  std::vector<float> floats;
  for (const double value : values) {
    floats.push_back(static_cast<float>(value));
  }
  return floats;
}

/// Front end `decimated_fft`: the FFT of each channel's window of a SampleSource, of which the wanted bins are kept.
/// Frequencies snap to the nearest bin. With remove_dc, bin 0 and the bin's conjugate are weighted in by the
/// frequency's analysis vector. Spectra are divided by the decimator's complex response.
class DecimatedFft final : public FrontEnd {
 public:
  /// The plan must have passed validate(). Throws DeviceError.
  DecimatedFft(const ocl::Device& device, const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return source_.history_words(); }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override {
    source_.enqueue_bits(first_word, wire);
  }
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values) override {
    source_.enqueue_samples(first_sample, values);
  }
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }

 private:
  [[nodiscard]] std::vector<std::complex<float>> terms(const FrontEndPlan& plan) const;
  void build_kernels();

  ocl::Device device_;
  std::size_t channels_;
  std::size_t window_samples_;
  std::vector<std::uint32_t> bins_;
  std::vector<double> actual_frequencies_hz_;
  SampleSource source_;
  std::uint32_t frame_ = 0;  ///< number of the frame of the last enqueue_spectra()
  ocl::RealFft1d fft_;
  ocl::Buffer<float> window_;                   ///< [n]
  ocl::Buffer<float> lines_;                    ///< [channel][n]
  ocl::Buffer<std::complex<float>> line_bins_;  ///< [channel][bin]
  ocl::Buffer<std::uint32_t> bad_in_;           ///< [channel], number of the last frame with a non-finite sample
  ocl::Buffer<std::uint32_t> wanted_;           ///< [frequency]
  ocl::Buffer<std::complex<float>> terms_;      ///< [frequency][3]
  ocl::Kernel window_lines_;
  ocl::Arguments<3> of_window_;  ///< arguments of window_lines_
  ocl::Kernel pick_bins_;
  ocl::Arguments<2> of_bins_;  ///< arguments of pick_bins_
};

std::unique_ptr<FrontEnd> make_decimated_fft(const ocl::Device& device, const FrontEndPlan& plan) {
  return std::make_unique<DecimatedFft>(device, plan);
}

}  // namespace

DecimatedFft::DecimatedFft(const ocl::Device& device, const FrontEndPlan& plan)
    : device_(device),
      channels_(static_cast<std::size_t>(plan.geometry.channels())),
      window_samples_(static_cast<std::size_t>(plan.settings.window_samples)),
      bins_(nearest_bins(plan.settings.frequencies_hz, plan.sample_rate_hz, plan.settings.window_samples)),
      actual_frequencies_hz_(bin_frequencies(bins_, plan)),
      source_(device, plan, std::string(kDecimatedFftStage)),
      fft_(device, plan.settings.window_samples, plan.geometry.channels(), std::string(kDecimatedFftStage)),
      lines_(device.allocate<float>(channels_ * window_samples_, kDecimatedFftStage)),
      line_bins_(device.allocate<std::complex<float>>(channels_ * (window_samples_ / 2 + 1), kDecimatedFftStage)),
      bad_in_(device.allocate<std::uint32_t>(channels_, kDecimatedFftStage)),
      wanted_(device.upload<std::uint32_t>(bins_, kDecimatedFftStage)) {
  window_ = device.upload<float>(to_float(window_values(plan.settings.window, plan.settings.window_samples)),
                                 kDecimatedFftStage);
  terms_ = device.upload<std::complex<float>>(terms(plan), kDecimatedFftStage);
  device.enqueue_fill(bad_in_, frame_, kDecimatedFftStage);
  build_kernels();
}

/// Forward, image and constant of each frequency's analysis vector for decimated samples. The decimator's gain at 0 Hz
/// is 1, so the samples' offset is that of the bits; the tone's gain is not, so the estimate is scaled as a whole.
std::vector<std::complex<float>> DecimatedFft::terms(const FrontEndPlan& plan) const {
  std::vector<std::complex<float>> values;
  for (const double frequency_hz : actual_frequencies_hz_) {
    const double radians = 2.0 * std::numbers::pi * frequency_hz / plan.sample_rate_hz;
    const AnalysisVector vector =
        analysis_vector(plan.settings.window, window_samples_, radians, plan.settings.remove_dc);
    const std::complex<double> scale = source_.scale_pa(frequency_hz);
    for (const std::complex<double>& term : {vector.forward, vector.image, vector.constant}) {
      values.emplace_back(scale * term);
    }
  }
  return values;
}

void DecimatedFft::build_kernels() {
  const ocl::Program program =
      device_.build(kDecimatedFftStage, "frontend/decimated_fft/decimated_fft.cl", source_.defines());
  window_lines_ = program.kernel("window_lines");
  pick_bins_ = program.kernel("pick_bins");
  window_lines_.set("samples", source_.samples().samples())
      .set("window", window_)
      .set("is_alive", source_.is_alive())
      .set("lines", lines_)
      .set("bad_in", bad_in_)
      .set("slots", source_.samples().span().slots());
  of_window_ = window_lines_.arguments("status", "first_slot", "frame");
  pick_bins_.set("bins", line_bins_).set("wanted", wanted_).set("terms", terms_).set("bad_in", bad_in_);
  of_bins_ = pick_bins_.arguments("spectra", "frame");
}

void DecimatedFft::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                                   const ocl::Buffer<std::uint32_t>& status) {
  const std::uint32_t first_slot = source_.window_slot(first_sample_index);
  source_.check_outputs(bins_.size(), spectra, status);
  ++frame_;
  window_lines_.set(of_window_, status, first_slot, frame_);
  window_lines_.enqueue(
      {.global_0 = ocl::round_up(channels_, kTransposeTile),
       .local_0 = kTransposeTile,
       .global_1 = ocl::round_up(window_samples_, kTransposeTile) / kTransposeTile * kTransposeTileStep,
       .local_1 = kTransposeTileStep});
  fft_.enqueue(lines_, line_bins_);
  pick_bins_.set(of_bins_, spectra, frame_);
  pick_bins_.enqueue({.global_0 = ocl::round_up(channels_, kPickGroup),
                      .local_0 = kPickGroup,
                      .global_1 = bins_.size(),
                      .local_1 = 1});
}

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
