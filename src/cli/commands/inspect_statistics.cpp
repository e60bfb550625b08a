#include "cli/commands/inspect_statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/text.hpp"

namespace nearfield::cli {
namespace {

using nlohmann::json;

struct RemarkWords {
  const char* name;   ///< in JSON
  const char* words;  ///< in text
};

RemarkWords words_of(SignalRemark remark) {
  constexpr std::array<RemarkWords, kSignalRemarks> kWords = {{
      {"overloaded", "overloaded"},
      {"not_finite", "not finite"},
      {"silent", "silent"},
      {"constant", "constant"},
      {"huge", "above 1000 Pa (integers, or another unit?)"},
      {"offset", "with a large offset"},
      {"loud", "more than 30 dB above the median"},
      {"soft", "more than 30 dB below the median"},
  }};
  return kWords.at(static_cast<std::size_t>(remark));
}

const char* level_words(SignalUnit unit) {
  constexpr std::array kWords = {"dB re 20 uPa", "dB re full scale", "dB re 1 of its unit"};
  return kWords.at(static_cast<std::size_t>(unit));
}

std::string value_text(double value, SignalUnit unit) {
  constexpr std::array kWords = {" Pa", " of full scale", ""};
  return fmt::format("{:.3g}{}", value, kWords.at(static_cast<std::size_t>(unit)));
}

std::string name_of_microphone(const MicrophoneStatistics& all, std::size_t index) {
  const int channel = all.microphones[index].level.channel_of_file;
  if (!all.geometry) {
    return fmt::format("channel {} of the file", channel);
  }
  const int microphone = all.microphone(index);
  return text_of_microphone(*all.geometry, microphone) +
         (all.is_bits || microphone == channel ? "" : fmt::format(", channel {} of the file", channel));
}

std::string short_name(const MicrophoneStatistics& all, std::size_t index) {
  return all.geometry ? fmt::format("microphone {}", all.microphone(index))
                      : fmt::format("channel {}", all.microphones[index].level.channel_of_file);
}

std::string line_of(const MicrophoneStatistics& all, std::size_t index) {
  const MicrophoneStatistic& one = all.microphones[index];
  const ChannelLevel& level = one.level;
  std::vector<std::string> parts;
  if (level.rms > 0.0) {
    parts.push_back(fmt::format("{:.1f} dB", all.level_db(level.rms)));
    parts.push_back(fmt::format("peak {}", value_text(level.peak, all.unit)));
  }
  if (level.samples > level.non_finite && level.peak > 0.0) {
    parts.push_back(fmt::format("offset {}", value_text(level.mean, all.unit)));
  }
  if (one.line_hz > 0.0) {
    parts.push_back(fmt::format("line {:.1f} dB at {:.5g} Hz", all.level_db(one.line_rms), one.line_hz));
  }
  for (const SignalRemark remark : one.remarks) {
    std::string words = words_of(remark).words;
    if (remark == SignalRemark::kOverloaded) {
      words = fmt::format("{} samples overloaded ({})", one.overloaded,
                          text_of_percent(static_cast<double>(one.overloaded) / static_cast<double>(level.samples)));
    } else if (remark == SignalRemark::kNotFinite) {
      words = fmt::format("{} of {} samples not finite", level.non_finite, level.samples);
    }
    parts.push_back(words);
  }
  return fmt::format("{}: {}", name_of_microphone(all, index), fmt::join(parts, ", "));
}

std::string extent_text(const MicrophoneStatistics& all) {
  const std::string missing =
      all.missing == 0 ? "" : fmt::format(", without {} samples that were not received", all.missing);
  return all.is_whole ? fmt::format("of all {:.4g} s{}", all.recorded_s, missing)
                      : fmt::format("of {:.4g} s in {} piece{} spread over {:.4g} s{}", all.examined_s, all.pieces,
                                    all.pieces == 1 ? "" : "s", all.recorded_s, missing);
}

std::string levels_text(const MicrophoneStatistics& all) {
  if (all.median_rms == 0.0) {
    return fmt::format("no microphone has a signal; {}", extent_text(all));
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.microphones.size(); ++i) {
    if (all.microphones[i].level.rms > 0.0) {
      order.push_back(i);
    }
  }
  const auto [softest, loudest] = std::minmax_element(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return all.microphones[a].level.rms < all.microphones[b].level.rms;
  });
  return fmt::format("median {:.1f} {} rms, {:.1f} ({}) to {:.1f} ({}); {}", all.level_db(all.median_rms),
                     level_words(all.unit), all.level_db(all.microphones[*softest].level.rms),
                     short_name(all, *softest), all.level_db(all.microphones[*loudest].level.rms),
                     short_name(all, *loudest), extent_text(all));
}

std::string remarks_text(const MicrophoneStatistics& all) {
  std::vector<std::string> parts;
  if (all.median_rms > 0.0) {
    const auto offset = [](const MicrophoneStatistic& one) {
      return one.level.rms > 0.0 ? std::abs(one.level.mean) : -1.0;
    };
    const auto largest = std::max_element(all.microphones.begin(), all.microphones.end(),
                                          [&](const auto& a, const auto& b) { return offset(a) < offset(b); });
    parts.push_back(fmt::format("largest offset {} ({})", value_text(largest->level.mean, all.unit),
                                short_name(all, static_cast<std::size_t>(largest - all.microphones.begin()))));
  }
  for (int i = 0; i < kSignalRemarks; ++i) {
    const auto remark = static_cast<SignalRemark>(i);
    const auto count = std::count_if(all.microphones.begin(), all.microphones.end(), [&](const auto& one) {
      return std::find(one.remarks.begin(), one.remarks.end(), remark) != one.remarks.end();
    });
    if (count > 0 || remark == SignalRemark::kOverloaded) {
      parts.push_back(fmt::format("{} {}", count, words_of(remark).words));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json json_of(const MicrophoneStatistics& all, std::size_t index) {
  const MicrophoneStatistic& one = all.microphones[index];
  const ChannelLevel& level = one.level;
  json remarks = json::array();
  for (const SignalRemark remark : one.remarks) {
    remarks.push_back(words_of(remark).name);
  }
  json bands_db = json::array();
  for (const double rms : one.bands_rms) {
    bands_db.push_back(number(all.level_db(rms)));
  }
  const bool is_known = level.samples > level.non_finite;
  json object{{"channel", all.microphone(index)},
              {"channel_of_file", level.channel_of_file},
              {"level_db", number(all.level_db(level.rms))},
              {"peak", is_known ? json(level.peak) : json(nullptr)},
              {"offset", is_known ? json(level.mean) : json(nullptr)},
              {"overloaded", one.overloaded},
              {"not_finite", level.non_finite},
              {"samples", level.samples},
              {"line", nullptr},
              {"third_octaves_db", std::move(bands_db)},
              {"remarks", std::move(remarks)}};
  if (one.line_hz > 0.0) {
    object["line"] = {{"frequency_hz", one.line_hz}, {"level_db", number(all.level_db(one.line_rms))}};
  }
  return object;
}

}  // namespace

std::vector<FileFact> facts_of(const MicrophoneStatistics& statistics, bool shows_all) {
  constexpr std::size_t kMostShown = 12;
  std::vector<FileFact> facts = {{"statistics", levels_text(statistics)}, {"", remarks_text(statistics)}};
  const std::vector<MicrophoneStatistic>& all = statistics.microphones;
  const bool are_alike =
      std::all_of(all.begin(), all.end(), [&](const auto& one) { return one.remarks == all[0].remarks; });
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (shows_all || (!are_alike && !all[i].remarks.empty())) {
      shown.push_back(i);
    }
  }
  const std::size_t count = shows_all ? shown.size() : std::min(shown.size(), kMostShown);
  for (std::size_t i = 0; i < count; ++i) {
    facts.push_back({"", line_of(statistics, shown[i])});
  }
  if (count < shown.size()) {
    facts.push_back({"", fmt::format("and {} more, which --microphones prints", shown.size() - count)});
  }
  return facts;
}

json json_of(const MicrophoneStatistics& statistics) {
  constexpr std::array kUnits = {"Pa", "full scale", "its own"};
  json centres_hz = json::array();
  for (const int number : statistics.centres) {
    centres_hz.push_back(nominal_centre_hz(number));
  }
  json microphones = json::array();
  for (std::size_t i = 0; i < statistics.microphones.size(); ++i) {
    microphones.push_back(json_of(statistics, i));
  }
  return {{"unit", kUnits.at(static_cast<std::size_t>(statistics.unit))},
          {"levels", level_words(statistics.unit)},
          {"whole", statistics.is_whole},
          {"pieces", statistics.pieces},
          {"examined_s", statistics.examined_s},
          {"recorded_s", statistics.recorded_s},
          {"missing_samples", statistics.missing},
          {"median_db", number(statistics.level_db(statistics.median_rms))},
          {"bin_hz", statistics.bin_hz},
          {"third_octaves_hz", std::move(centres_hz)},
          {"microphones", std::move(microphones)}};
}

}  // namespace nearfield::cli
