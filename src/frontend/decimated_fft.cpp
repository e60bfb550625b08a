#include "frontend/decimated_fft.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "frontend/spectral_bins.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kStage = "front_end/decimated_fft";
constexpr std::size_t kTile = 32;
constexpr std::size_t kTileStep = 8;
constexpr std::size_t kPickGroup = 64;
/// Fraction of full scale from which on a sample counts as clipped.
constexpr double kClipLevel = 0.95;

std::vector<std::uint32_t> alive_channels(const FrontEndPlan& plan) {
  std::vector<std::uint32_t> alive(static_cast<std::size_t>(plan.geometry.channels()), 1U);
  for (const int channel : plan.dead_channels) {
    alive[static_cast<std::size_t>(channel)] = 0U;
  }
  return alive;
}

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

}  // namespace

DecimatedFft::BitPath::BitPath(const ocl::Device& device, const FrontEndPlan& plan, SampleRing& samples,
                               std::size_t max_words)
    : bits(device, plan.layout, plan.geometry, max_words + 1, max_words), decimator(device, bits, samples, max_words) {}

DecimatedFft::DecimatedFft(const ocl::Device& device, const FrontEndPlan& plan)
    : device_(device),
      channels_(static_cast<std::size_t>(plan.geometry.channels())),
      window_samples_(static_cast<std::size_t>(plan.settings.window_samples)),
      max_append_(window_samples_ + (plan.input_is_bits ? kDecimatorHistoryWords : 0)),
      bins_(nearest_bins(plan.settings.frequencies_hz, plan.sample_rate_hz, plan.settings.window_samples)),
      actual_frequencies_hz_(bin_frequencies(bins_, plan)),
      samples_(device, plan.geometry.channels(), window_samples_ + max_append_),
      bit_path_(plan.input_is_bits ? std::make_unique<BitPath>(device, plan, samples_, max_append_) : nullptr),
      fft_(device, plan.settings.window_samples, plan.geometry.channels(), std::string(kStage)),
      is_alive_(device.upload<std::uint32_t>(alive_channels(plan), kStage)),
      lines_(device.allocate<float>(channels_ * window_samples_, kStage)),
      line_bins_(device.allocate<std::complex<float>>(channels_ * (window_samples_ / 2 + 1), kStage)),
      bad_in_(device.allocate<std::uint32_t>(channels_, kStage)),
      wanted_(device.upload<std::uint32_t>(bins_, kStage)) {
  const std::vector<double> window = window_values(plan.settings.window, plan.settings.window_samples);
  window_ = device.upload<float>(to_float(window), kStage);
  scale_ = device.upload<std::complex<float>>(scales(plan, std::accumulate(window.begin(), window.end(), 0.0)), kStage);
  device.enqueue_fill(bad_in_, frame_, kStage);
  build_kernels(plan);
}

/// Pascal per unit of the FFT's sum. A window's first bit is 31 bit-times older than its first sample's newest bit, to
/// which the response refers: y[m] = H e^{jw(32m + 31)} for x[n] = e^{jwn}.
std::vector<std::complex<float>> DecimatedFft::scales(const FrontEndPlan& plan, double window_sum) const {
  std::vector<std::complex<float>> values;
  for (const double frequency_hz : actual_frequencies_hz_) {
    std::complex<double> scale = 2.0 / window_sum;
    if (bit_path_ != nullptr) {
      const double bit_rate_hz = plan.sample_rate_hz * kDecimation;
      const double radians_to_newest = 2.0 * std::numbers::pi * frequency_hz / bit_rate_hz * (kDecimation - 1);
      const std::complex<double> response = bit_path_->decimator.design().response(frequency_hz, bit_rate_hz);
      scale *= full_scale_pa(plan.sensitivity_dbfs) / (response * std::polar(1.0, radians_to_newest));
    }
    values.emplace_back(scale);
  }
  return values;
}

void DecimatedFft::build_kernels(const FrontEndPlan& plan) {
  const ocl::Program program =
      device_.build(kStage, {"frontend/decimated_fft.cl"},
                    {{"CHANNELS", fmt::format("{}", channels_)},
                     {"WINDOW", fmt::format("{}", window_samples_)},
                     {"CHECK_CLIPPING", plan.input_is_bits ? "1" : "0"},
                     {"CLIP_LEVEL", fmt::format("{}f", kClipLevel)},
                     {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))}});
  window_lines_ = program.kernel("window_lines");
  pick_bins_ = program.kernel("pick_bins");
  // Status and spectra are the caller's and are set per call.
  window_lines_.set(samples_.samples(), window_, is_alive_, lines_);
  window_lines_.set_at(5, bad_in_);
  window_lines_.set_at(7, samples_.span().slots());
  pick_bins_.set(line_bins_, wanted_, scale_);
  pick_bins_.set_at(4, bad_in_);
}

std::uint64_t DecimatedFft::history_words() const { return bit_path_ != nullptr ? kDecimatorHistoryWords : 0; }

void DecimatedFft::enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  if (bit_path_ == nullptr) {
    FrontEnd::enqueue_bits(first_word, wire);
    return;
  }
  const std::size_t word_size = kBitsPerWord * bit_path_->bits.wire_words_per_bit_time();
  while (!wire.empty()) {
    const std::span<const std::uint32_t> block = wire.first(std::min(wire.size(), max_append_ * word_size));
    const bool continues = bit_path_->bits.enqueue_append(first_word, block);
    const std::size_t words = block.size() / word_size;
    bit_path_->decimator.enqueue(first_word, words, continues);
    first_word += words;
    wire = wire.subspan(block.size());
  }
}

void DecimatedFft::enqueue_samples(std::uint64_t first_sample, std::span<const float> values) {
  if (bit_path_ != nullptr) {
    FrontEnd::enqueue_samples(first_sample, values);
    return;
  }
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(values.size(), max_append_ * channels_));
    samples_.enqueue_append(first_sample, block);
    first_sample += block.size() / channels_;
    values = values.subspan(block.size());
  }
}

void DecimatedFft::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                                   const ocl::Buffer<std::uint32_t>& status) {
  const RingSpan& span = samples_.span();
  if (!span.holds(first_sample_index, window_samples_)) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: window of {} samples at {} is not among the samples {} to {} that the ring holds",
                            kStage, window_samples_, first_sample_index, span.begin(), span.end()));
  }
  if (spectra.size() < channels_ * bins_.size() || status.size() < kStatusWords) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected room for {} spectra values and {} status words, found {} and {}", kStage,
                            channels_ * bins_.size(), kStatusWords, spectra.size(), status.size()));
  }
  ++frame_;
  window_lines_.set_at(4, status);
  window_lines_.set_at(6, span.slot_of(first_sample_index));
  window_lines_.set_at(8, frame_);
  window_lines_.enqueue({.global_0 = ocl::round_up(channels_, kTile),
                         .local_0 = kTile,
                         .global_1 = ocl::round_up(window_samples_, kTile) / kTile * kTileStep,
                         .local_1 = kTileStep});
  fft_.enqueue(lines_, line_bins_);
  pick_bins_.set_at(3, spectra);
  pick_bins_.set_at(5, frame_);
  pick_bins_.enqueue({.global_0 = ocl::round_up(channels_, kPickGroup),
                      .local_0 = kPickGroup,
                      .global_1 = bins_.size(),
                      .local_1 = 1});
}

std::unique_ptr<FrontEnd> make_decimated_fft(const ocl::Device& device, const FrontEndPlan& plan) {
  return std::make_unique<DecimatedFft>(device, plan);
}

}  // namespace nearfield
