#include "frontend/front_end.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "config/schema/front_end_kinds.hpp"
#include "core/frame.hpp"
#include "core/numerics.hpp"
#include "frontend/common/analysis.hpp"

namespace nearfield {

#define NEARFIELD_FRONT_END(kind) FrontEndEntry kind##_entry();
#include "frontend/kinds.def"
#undef NEARFIELD_FRONT_END

namespace {

void check_window(const FrontEndPlan& plan, std::vector<std::string>& problems) {
  const FrontEndSettings& settings = plan.settings;
  if (!is_fft_length(settings.window_samples) || settings.window_samples < 4) {
    problems.push_back(
        fmt::format("front_end.window_samples: expected 2^a 3^b 5^c 7^d of 4 or more, found {}; the next one is {}",
                    settings.window_samples, next_fft_length(std::max(settings.window_samples, 4))));
  }
  if (settings.hop_samples < 1) {
    problems.push_back(fmt::format("front_end.hop_samples: expected 1 or more, found {}", settings.hop_samples));
  }
  if (plan.input_is_bits && settings.decimation != kBitsPerWord) {
    problems.push_back(fmt::format("front_end.decimation: expected {}, found {}", kBitsPerWord, settings.decimation));
  }
}

/// Requires a valid window and sample rate.
void check_frequencies(const FrontEndPlan& plan, std::vector<std::string>& problems) {
  const int window = plan.settings.window_samples;
  const double bin_hz = plan.sample_rate_hz / window;
  if (plan.settings.frequencies_hz.empty()) {
    problems.emplace_back("front_end.frequencies_hz: expected at least one frequency, found none");
  }
  for (const double frequency_hz : plan.settings.frequencies_hz) {
    if (!is_inner_bin(frequency_hz, plan.sample_rate_hz, window)) {
      problems.push_back(fmt::format(
          "front_end.frequencies_hz: expected {:.6g} to {:.6g} Hz (half a bin from 0 and from half the sample rate of "
          "{:.6g} Hz), found {:.6g}",
          bin_hz / 2.0, plan.sample_rate_hz / 2.0 - bin_hz / 2.0, plan.sample_rate_hz, frequency_hz));
    }
  }
}

}  // namespace

void validate(const FrontEndPlan& plan) {
  std::vector<std::string> problems;
  (void)words_per_bit_time(plan.input_is_bits ? plan.layout : WireLayout::kRowMajor, plan.geometry);
  check_window(plan, problems);
  if (!(plan.sample_rate_hz > 0.0) || !std::isfinite(plan.sample_rate_hz)) {
    problems.push_back(fmt::format("sample rate: expected more than 0 Hz, found {}", plan.sample_rate_hz));
  }
  if (problems.empty()) {
    check_frequencies(plan, problems);
  }
  if (plan.settings.incremental == Incremental::kAlways && !schema::front_end_kind(plan.settings.kind).sums_hops) {
    const auto sums_hops = [](const schema::FrontEndKind& kind) { return kind.sums_hops; };
    problems.push_back(fmt::format("front_end.incremental: {} takes whole windows; expected auto or never, or {}",
                                   plan.settings.kind, schema::names_of_front_ends(sums_hops, " or ")));
  }
  for (const int channel : plan.dead_channels) {
    if (channel < 0 || channel >= plan.geometry.channels()) {
      problems.push_back(
          fmt::format("array.dead_channels: expected 0 to {}, found {}", plan.geometry.channels() - 1, channel));
    }
  }
  if (!problems.empty()) {
    throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
  }
}

void FrontEnd::enqueue_bits(std::uint64_t /*first_word*/, std::span<const std::uint32_t> /*wire*/) {
  throw Error(ExitCode::kInternal, "front_end: fed with bits, expected samples as planned");
}

void FrontEnd::enqueue_samples(std::uint64_t /*first_sample*/, std::span<const float> /*values*/) {
  throw Error(ExitCode::kInternal, "front_end: fed with samples, expected bits as planned");
}

void FrontEnd::enqueue_batch(std::uint64_t first_sample_index, std::size_t windows,
                             const ocl::Buffer<std::complex<float>>& spectra,
                             const ocl::Buffer<std::uint32_t>& status) {
  if (windows == 1) {
    enqueue_spectra(first_sample_index, spectra, status);
    return;
  }
  if (windows < 1 || !one_by_one_) {
    throw Error(ExitCode::kInternal,
                fmt::format("front_end: expected windows up to the plan's batch, found {}", windows));
  }
  const OneByOne& one = *one_by_one_;
  for (std::size_t i = 0; i < windows; ++i) {
    one.device.enqueue_fill(one.status, std::uint32_t{0}, "front_end/batch");
    enqueue_spectra(first_sample_index + i * one.hop_samples, one.spectra, one.status);
    one.device.enqueue_copy(one.spectra, spectra, i * one.spectra.size(), "front_end/batch");
    one.device.enqueue_copy(one.status, status, i * one.status.size(), "front_end/batch");
  }
}

std::span<const FrontEndEntry> front_end_table() {
#define NEARFIELD_FRONT_END(kind) kind##_entry(),
  static const std::array kTable = {
#include "frontend/kinds.def"
  };
#undef NEARFIELD_FRONT_END
  return kTable;
}

const FrontEndEntry& front_end_entry(std::string_view kind) {
  const std::span<const FrontEndEntry> table = front_end_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const FrontEndEntry& e) { return e.kind == kind; });
  if (entry == table.end()) {
    throw ConfigError(fmt::format("front_end.kind: there is no kind \"{}\"", kind));
  }
  return *entry;
}

std::unique_ptr<FrontEnd> make_front_end(const ocl::Device& device, const FrontEndPlan& plan) {
  validate(plan);
  const FrontEndEntry& entry = front_end_entry(plan.settings.kind);
  if (const std::string obstacle = entry.obstacle(plan); !obstacle.empty()) {
    throw ConfigError(obstacle);
  }
  std::unique_ptr<FrontEnd> front_end = entry.make(device, plan);
  front_end->kind_ = entry.kind;
  if (plan.batch > 1) {
    const std::size_t values = static_cast<std::size_t>(plan.geometry.channels()) * plan.settings.frequencies_hz.size();
    front_end->one_by_one_ = {.device = device,
                              .spectra = device.allocate<std::complex<float>>(values, "front_end/batch"),
                              .status = device.allocate<std::uint32_t>(kStatusWords, "front_end/batch"),
                              .hop_samples = static_cast<std::uint64_t>(plan.settings.hop_samples)};
  }
  return front_end;
}

}  // namespace nearfield
