#include "daemon/live/input_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/live_samples.hpp"
#include "core/daemon_settings.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::int64_t kJudgedEveryNs = 1'000'000'000;
constexpr std::uint64_t kFewestValues = 256;
/// Share of values that no sound has as floats: far above that of a damaged microphone, far below that of integers.
constexpr double kShareOfNonsense = 0.01;
/// Rates of converters and clocks of one-bit microphones: a measured rate is attributed to one within a part in a
/// thousand.
constexpr std::array kUsualRates_hz = {
    8000.0,  11025.0, 12000.0, 16000.0, 22050.0, 24000.0,  25600.0,  32000.0,  44100.0,  46875.0,  48000.0, 50000.0,
    51200.0, 64000.0, 65536.0, 88200.0, 96000.0, 102400.0, 128e3,    131072.0, 192000.0, 204800.0, 256e3,   1.024e6,
    1.28e6,  1.5e6,   1.536e6, 2.048e6, 2.4e6,   2.5e6,    2.8224e6, 3e6,      3.072e6,  4.8e6};
constexpr double kUsualWithin = 0.002;

double usual_rate_hz(double measured_hz) {
  for (const double rate_hz : kUsualRates_hz) {
    if (std::abs(measured_hz / rate_hz - 1.0) < kUsualWithin) {
      return rate_hz;
    }
  }
  constexpr double kDigits = 1e3;
  const double unit_hz = std::pow(10.0, std::floor(std::log10(measured_hz))) / kDigits;
  return std::round(measured_hz / unit_hz) * unit_hz;
}

/// True for a file opened as a pipe, which arrives as fast as it is read.
bool is_regular_file(const std::string& path) {
  struct stat found {};
  const int result = path == "-" ? fstat(STDIN_FILENO, &found) : stat(path.c_str(), &found);
  return result == 0 && S_ISREG(found.st_mode);
}

std::string text_of(const Settings& settings, const LiveInput& input) {
  if (is_bare(settings.daemon->source)) {
    return nearfield::text_of(live_input_facts(settings));
  }
  return fmt::format("{:.10g} samples a second ({})",
                     input.element_rate_hz / static_cast<double>(input.elements_per_sample), input.rate_from);
}

}  // namespace

InputWatch::InputWatch(const Settings& settings, const LiveInput& input)
    : input_(input),
      channels_(static_cast<int>(input.words_per_element)),
      is_unit_given_(!takes_live_samples(settings.daemon->source) || settings.array.pascal_per_unit.has_value()),
      is_pipe_(settings.daemon->source.kind == DaemonSettings::SourceKind::kPipe),
      has_rate_(is_bare(settings.daemon->source) && !(is_pipe_ && is_regular_file(settings.daemon->source.path))),
      text_(text_of(settings, input)),
      channels_of_input_(settings.array.channels),
      values_(input.form == InputForm::kSamples ? input.words_per_element : 0),
      rate_(input.element_rate_hz) {}

std::vector<InputWatch::Line> InputWatch::look(const std::optional<NewestElement>& newest, std::int64_t now_ns) {
  std::vector<Line> lines;
  if (has_rate_ && newest) {
    rate_.add(newest->stream, newest->elements, newest->arrived_ns);
    {
      const std::lock_guard lock(mutex_);
      measured_hz_ = rate_.measured_hz();
      long_term_hz_ = rate_.long_term_hz();
    }
    judge(Doubt::kRate, doubt_of_rate(), lines);
  }
  const ValueCounts::Counts counts = values_.counts();
  if (now_ns - judged_ns_ >= kJudgedEveryNs && counts.values - judged_.values >= kFewestValues) {
    const ValueCounts::Counts news = difference(counts, judged_);
    const std::string numbers = doubt_of_numbers(news);
    judge(Doubt::kNumbers, numbers, lines);
    const std::vector<std::size_t> silent = values_.take_silent();
    judge(Doubt::kSilence,
          news.zero == news.values ? "every value is 0: are the microphones muted, or not connected?"
                                   : text_of_silent(silent),
          lines);
    if (numbers.empty() && !is_unit_given_) {
      judge(Doubt::kUnit, doubt_of_unit(counts), lines);  // all, since few small values tell the unit
    }
    judged_ = counts;
    judged_ns_ = now_ns;
  }
  return lines;
}

/// Adds a line if the doubt has begun or ended. `found` is empty if there is no doubt, and nullopt if the input cannot
/// tell: then the doubt remains.
void InputWatch::judge(Doubt doubt, std::optional<std::string> found, std::vector<Line>& lines) {
  if (!found) {
    return;
  }
  std::string& text = *found;
  const std::lock_guard lock(mutex_);
  std::string& before = in_doubt_[static_cast<std::size_t>(doubt)];
  if (text.empty() != before.empty()) {
    lines.push_back({.is_doubt = !text.empty(), .text = text.empty() ? "no longer: " + before : text});
    before = std::move(text);
  }
  doubts_.store(std::any_of(in_doubt_.begin(), in_doubt_.end(), [](const std::string& one) { return !one.empty(); }),
                std::memory_order_relaxed);
}

std::string InputWatch::text_of_silent(const std::vector<std::size_t>& silent) const {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const std::size_t channel : std::span(silent).first(std::min(silent.size(), kMostNamed))) {
    names.push_back(
        std::to_string(channel < channels_of_input_.size() ? channels_of_input_[channel] : static_cast<int>(channel)));
  }
  return silent.empty()
             ? ""
             : fmt::format(
                   "{} of {} microphones deliver nothing but 0, channel {}{} of the input: are they "
                   "connected?",
                   silent.size(), channels_, fmt::join(names, ", "), silent.size() > names.size() ? ", ..." : "");
}

std::optional<std::string> InputWatch::doubt_of_rate() const {
  if (!rate_.measured_hz()) {
    return std::nullopt;
  }
  if (!rate_.differs()) {
    return "";
  }
  const double measured_hz = *rate_.measured_hz();
  const double usual_hz = usual_rate_hz(measured_hz);
  const bool is_samples = input_.form == InputForm::kSamples;
  constexpr double kTone_hz = 1000.0;
  std::string text = fmt::format(
      "{} come about {:.10g} times a second, announced are {:.10g} ({}): a tone of {:.0f} Hz is taken for one of "
      "{:.5g} Hz; set {}: {:.10g}",
      is_samples ? "samples" : "bit-times", usual_hz, input_.element_rate_hz,
      is_samples ? input_.rate_from : "array.clock_hz", kTone_hz, kTone_hz * input_.element_rate_hz / measured_hz,
      is_samples ? "daemon.source.sample_rate_hz" : "array.clock_hz", usual_hz);
  const double channels = channels_ * measured_hz / input_.element_rate_hz;
  constexpr double kWithin = 0.003;
  if (is_pipe_ && is_samples && std::round(channels) >= 1.0 &&
      std::abs(channels / std::round(channels) - 1.0) < kWithin) {
    text +=
        fmt::format("; or a sample has {:.0f} channels, where the settings have {}", std::round(channels), channels_);
  }
  return text;
}

std::string InputWatch::doubt_of_numbers(const ValueCounts::Counts& counts) {
  const auto values = static_cast<double>(counts.values);
  constexpr std::string_view kMend =
      "expected float32, little-endian: `arecord -f FLOAT_LE`, `sox ... -t raw -e floating-point -b 32 -L -`, NumPy's "
      "astype(\"<f4\"); or say what a pipe carries, as daemon.source.format: s16";
  if (static_cast<double>(counts.tiny) > kShareOfNonsense * values &&
      static_cast<double>(counts.huge + counts.non_finite) > kShareOfNonsense * values) {
    return fmt::format(
        "the values are no float32: {:.0f} % are below 1e-18 and {:.0f} % above 1e12 or not finite, as integers of 16 "
        "or 32 bits, float64 and big-endian values look; {}",
        100.0 * static_cast<double>(counts.tiny) / values,
        100.0 * static_cast<double>(counts.huge + counts.non_finite) / values, kMend);
  }
  if (counts.non_finite == counts.values) {
    return fmt::format("no microphone is finite: every value is NaN or infinite; {}", kMend);
  }
  return "";
}

std::optional<std::string> InputWatch::doubt_of_unit(const ValueCounts::Counts& counts) {
  for (std::size_t i = 0; i < ValueCounts::kSteps.size(); ++i) {
    const bool is_whole = ValueCounts::kSteps[i] == 1.0F;
    if (counts.others[i] > 0 || counts.multiples[i] < kFewestValues || (!is_whole && counts.beyond_one > 0)) {
      continue;
    }
    return fmt::format(
        "the values are {}, and taken as pascal; set array.pascal_per_unit to the pascal of a value 1, or to 1 where "
        "they are pascal",
        is_whole ? "whole numbers, as a converter's are"
                 : fmt::format("multiples of 1/{:.0f} within -1 to 1, full scale of a converter",
                               1.0 / static_cast<double>(ValueCounts::kSteps[i])));
  }
  const std::uint64_t others = counts.others.front() + counts.others.back();
  return others > 0 ? std::optional<std::string>("") : std::nullopt;
}

nlohmann::json InputWatch::status() const {
  const std::lock_guard lock(mutex_);
  nlohmann::json doubts = nlohmann::json::array();
  for (const std::string& doubt : in_doubt_) {
    if (!doubt.empty()) {
      doubts.push_back(doubt);
    }
  }
  const bool is_samples = input_.form == InputForm::kSamples;
  const auto per_sample = static_cast<double>(input_.elements_per_sample);
  constexpr double kPpm = 1e6;
  const nlohmann::json drift_ppm =
      long_term_hz_ ? nlohmann::json((*long_term_hz_ / input_.element_rate_hz - 1.0) * kPpm) : nlohmann::json();
  return {{"text", text_},
          {"sample_rate_hz", input_.element_rate_hz / per_sample},
          {"rate_from", input_.rate_from},
          {"measured_rate_hz", measured_hz_ ? nlohmann::json(*measured_hz_ / per_sample) : nlohmann::json()},
          {"drift_ppm", drift_ppm},
          {"pascal_per_unit", is_samples && is_unit_given_ ? nlohmann::json(input_.pascal_per_unit) : nlohmann::json()},
          {"doubts", doubts}};
}

}  // namespace nearfield::daemon
