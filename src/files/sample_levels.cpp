#include "files/sample_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace nearfield {
namespace {

constexpr double kReference_pa = 20e-6;

/// Running sums of one channel, and the run of equal samples at either extreme.
class ChannelSums {
 public:
  void add(float sample, std::uint64_t at, double limit) {
    ++samples_;
    const auto value = static_cast<double>(sample);
    if (!std::isfinite(value)) {
      ++non_finite_;
      top_.run = bottom_.run = 0;
      return;
    }
    if (is_first_) {
      shift_ = value;
      is_first_ = false;
    }
    sum_ += value - shift_;
    squares_ += (value - shift_) * (value - shift_);
    if (std::abs(value) > peak_) {
      peak_ = std::abs(value);
      peak_sample_ = at;
    }
    at_limit_ += std::abs(value) >= limit ? 1U : 0U;
    top_.add(value);
    bottom_.add(-value);
  }
  void end_piece() { top_.run = bottom_.run = 0; }
  /// `full_scale`: set for integers.
  [[nodiscard]] ChannelLevel level(std::optional<double> full_scale) const {
    const auto finite = static_cast<double>(std::max<std::uint64_t>(samples_ - non_finite_, 1));
    const double mean = sum_ / finite;
    const double variance = std::max(0.0, squares_ / finite - mean * mean);
    const std::uint64_t clipped = top_.clipped_samples(full_scale) + bottom_.clipped_samples(full_scale);
    return {.rms = std::sqrt(variance),
            .mean = mean + shift_,
            .peak = peak_,
            .clipped = variance > 0.0 ? clipped : 0,  // a constant does not clip
            .at_limit = at_limit_,
            .non_finite = non_finite_,
            .peak_sample = peak_sample_,
            .samples = samples_};
  }

 private:
  /// Runs of equal samples at the largest value so far.
  struct Extreme {
    double extreme = -std::numeric_limits<double>::infinity();
    double next = extreme;  ///< the second largest value
    std::uint64_t at_extreme = 0;
    std::uint64_t at_next = 0;
    std::uint64_t run = 0;
    std::uint64_t runs = 0;  ///< runs of kClippedRun or more
    std::uint64_t clipped = 0;
    void add(double value) {
      if (value > extreme) {
        next = extreme;
        at_next = at_extreme;
        extreme = value;
        at_extreme = run = 1;
        clipped = runs = 0;
      } else if (value == extreme) {
        ++at_extreme;
        ++run;
        runs += run == kClippedRun ? 1 : 0;
        clipped += run > kClippedRun ? 1 : (run == kClippedRun ? kClippedRun : 0);
      } else {
        run = 0;
        at_next = value > next ? 1 : at_next + (value == next ? 1 : 0);
        next = std::max(next, value);
      }
    }
    /// Equal samples on top of a slow wave are converter steps: the next lower step then has about as many.
    [[nodiscard]] std::uint64_t clipped_samples(std::optional<double> full_scale) const {
      constexpr double kNearFullScale = 0.98;
      constexpr std::uint64_t kFewestRuns = 3;
      constexpr std::uint64_t kMoreThanNext = 8;
      const bool is_limit = full_scale ? extreme >= kNearFullScale * *full_scale : runs >= kFewestRuns;
      return is_limit && at_extreme > kMoreThanNext * at_next ? clipped : 0;
    }
  };
  Extreme top_;
  Extreme bottom_;
  double shift_ = 0.0;  ///< first sample, subtracted for precision
  double sum_ = 0.0;
  double squares_ = 0.0;
  double peak_ = 0.0;
  std::uint64_t peak_sample_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t at_limit_ = 0;
  std::uint64_t non_finite_ = 0;
  bool is_first_ = true;
};

void add_piece(const SampledChannels& source, std::uint64_t first, std::uint64_t count,
               std::vector<ChannelSums>& sums) {
  constexpr std::uint64_t kBlockValues = std::uint64_t{1} << 18U;
  const std::uint64_t channels = sums.size();
  const std::uint64_t block = std::max<std::uint64_t>(1, kBlockValues / channels);
  std::vector<float> values;
  for (std::uint64_t done = 0; done < count; done += block) {
    const std::uint64_t samples = std::min(block, count - done);
    values.resize(static_cast<std::size_t>(samples * channels));
    source.read(first + done, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i % channels].add(values[i], first + done + i / channels, source.limit);
    }
  }
  for (ChannelSums& sum : sums) {
    sum.end_piece();
  }
}

/// rms of the channels with finite samples, ascending.
std::vector<double> rms_of(const SampleLevels& levels) {
  std::vector<double> rms;
  for (const ChannelLevel& channel : levels.channels) {
    if (channel.non_finite < channel.samples) {
      rms.push_back(channel.rms);
    }
  }
  std::sort(rms.begin(), rms.end());
  return rms;
}

}  // namespace

std::size_t SampleLevels::loudest() const {
  const auto is_softer = [](const ChannelLevel& a, const ChannelLevel& b) { return a.rms < b.rms; };
  return static_cast<std::size_t>(std::max_element(channels.begin(), channels.end(), is_softer) - channels.begin());
}

double SampleLevels::median_rms() const {
  const std::vector<double> rms = rms_of(*this);
  return rms.empty() ? 0.0 : rms[rms.size() / 2];
}

SampleLevels levels_of(const SampledChannels& source, std::uint64_t most_values, std::uint64_t pieces) {
  const auto channels = static_cast<std::uint64_t>(source.channels);
  const std::uint64_t all = source.samples;
  std::vector<ChannelSums> sums(channels);
  SampleLevels levels;
  levels.is_whole = all <= std::max<std::uint64_t>(1, most_values / channels);
  if (levels.is_whole) {
    add_piece(source, 0, all, sums);
    levels.samples = all;
  } else {
    const std::uint64_t piece = std::max<std::uint64_t>(1, most_values / channels / pieces);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      add_piece(source, pieces == 1 ? (all - piece) / 2 : (all - piece) / (pieces - 1) * i, piece, sums);
    }
    levels.samples = pieces * piece;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    levels.channels.push_back(sums[i].level(source.full_scale));
    levels.channels.back().channel_of_file =
        source.channels_of_file.empty() ? static_cast<int>(i) : source.channels_of_file.at(i);
  }
  return levels;
}

SampleLevels levels_of(const TimeDataReader& reader, std::uint64_t most_values) {
  SampledChannels source{
      .channels = reader.channels(),
      .samples = reader.samples(),
      .read = [&reader](std::uint64_t first, std::span<float> values) { reader.read(first, values); },
      .full_scale = reader.full_scale()};
  for (int channel = 0; channel < reader.channels(); ++channel) {
    source.channels_of_file.push_back(reader.channel_of_file(channel));
  }
  return levels_of(source, most_values);
}

std::string text_of_silence(const SampleLevels& levels) {
  return levels.is_whole ? "each sample is 0" : "each sample that was looked at is 0";
}

double level_db(double rms_pa) { return 20.0 * std::log10(rms_pa / kReference_pa); }

std::string text_of(const SampleLevels& levels, bool is_pascal) {
  const ChannelLevel& loud = levels.channels[levels.loudest()];
  const auto shown = [&](double rms) {
    return rms == 0.0  ? "silent"
           : is_pascal ? fmt::format("{:.1f} dB re 20 uPa", level_db(rms))
                       : fmt::format("{:.4g} of its unit", rms);
  };
  return fmt::format("loudest channel {} of the file: {}{}, peak {:.4g}{}; median {}{}", loud.channel_of_file,
                     shown(loud.rms), loud.rms > 0.0 ? " rms" : "", loud.peak, is_pascal ? " Pa" : "",
                     shown(levels.median_rms()),
                     levels.is_whole ? "" : fmt::format(" (of {} samples spread over it)", levels.samples));
}

std::string doubt_about(const SampleLevels& levels) {
  const double loudest_pa = levels.channels[levels.loudest()].rms;
  const bool has_finite = std::any_of(levels.channels.begin(), levels.channels.end(),
                                      [](const ChannelLevel& channel) { return channel.non_finite < channel.samples; });
  if (!has_finite || loudest_pa == 0.0) {
    return fmt::format("all {} samples of all channels that were looked at are {}, expected a sound", levels.samples,
                       has_finite ? "constant" : "NaN or infinite");
  }
  for (const ChannelLevel& level : levels.channels) {
    if (level.peak > kReference_pa * std::pow(10.0, kLoudest_db / 20.0)) {
      return fmt::format(
          "value {} of channel {} of the file: found a pressure of {:.4g} Pa, expected at most {:.0f} dB re 20 uPa: is "
          "it "
          "damaged, or the unit wrong (array.pascal_per_unit)?",
          level.peak_sample, level.channel_of_file, level.peak, kLoudest_db);
    }
  }
  if (level_db(loudest_pa) < kSoftest_db) {
    return fmt::format(
        "the loudest channel has {:.1f} dB re 20 uPa rms, expected {:.0f} dB at least: is the unit right "
        "(array.pascal_per_unit)?",
        level_db(loudest_pa), kSoftest_db);
  }
  return "";
}

}  // namespace nearfield
