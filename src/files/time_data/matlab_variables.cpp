#include "files/time_data/matlab_variables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace nearfield::time_data {
namespace {

constexpr std::uint64_t kFewestChannels = 4;  ///< least for imaging; excludes lists of positions
constexpr std::uint64_t kLongerBy = 2;

/// Lower case, without underscores.
constexpr std::array<std::string_view, 9> kRates = {
    "fs",           "samplerate",        "sampleratehz", "samplefrequency", "samplefreq",
    "samplingrate", "samplingfrequency", "srate",        "samplingfreq"};
constexpr std::array<std::string_view, 7> kSamples = {"timedata", "pressure", "p", "data", "samples", "signals", "x"};

std::string plain(const std::string& name) {
  std::string result;
  for (const char letter : name) {
    if (letter != '_') {
      result.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
    }
  }
  return result;
}

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), plain(name)) != names.end();
}

std::string text_of(const std::vector<Variable>& variables) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> texts;
  for (const Variable& variable : variables) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("and {} more", variables.size() - kMost));
      break;
    }
    texts.push_back(fmt::format("{} ({}{}{})", variable.name, fmt::join(variable.lengths, " x "),
                                variable.lengths.empty() ? "" : " ", variable.class_name));
  }
  return texts.empty() ? "no variables" : fmt::format("{}", fmt::join(texts, ", "));
}

bool may_be_samples(const Variable& variable) {
  return variable.is_real_number && variable.lengths.size() == 2 &&
         std::min(variable.lengths[0], variable.lengths[1]) >= kFewestChannels;
}

std::size_t choose_samples(const std::vector<Variable>& variables, const std::string& path) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (may_be_samples(variables[i])) {
      all.push_back(i);
      if (is_one_of(kSamples, variables[i].name)) {
        named.push_back(i);
      }
    }
  }
  if (all.size() == 1) {
    return all.front();
  }
  if (named.size() == 1) {
    return named.front();
  }
  throw DataError(fmt::format(
      "{}: found {}, expected one real matrix of samples with four channels or more, or one of several that is named "
      "time_data, pressure, p, data, samples, signals or x",
      path, text_of(variables)));
}

double choose_rate(const std::vector<Variable>& variables, const std::string& path) {
  std::optional<double> rate_hz;
  bool is_unique = true;
  for (const Variable& variable : variables) {
    if (variable.value && is_one_of(kRates, variable.name)) {
      is_unique = is_unique && (!rate_hz || *rate_hz == *variable.value);
      rate_hz = variable.value;
    }
  }
  if (!rate_hz || !is_unique) {
    throw DataError(fmt::format(
        "{}: found {}, expected one number of Hz that is named fs, sample_rate, sample_freq, SampleFrequency or alike",
        path, text_of(variables)));
  }
  if (!(*rate_hz > 0.0) || !std::isfinite(*rate_hz)) {
    throw DataError(fmt::format("{}: found a sample rate of {:g} Hz, expected one above 0", path, *rate_hz));
  }
  return *rate_hz;
}

}  // namespace

FullScale full_scale_of(const std::string& class_name) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kBits{
      {{"int8", 8}, {"int16", 16}, {"int32", 32}, {"int64", 64}}};
  for (const auto& [name, bits] : kBits) {
    const bool is_unsigned = class_name == fmt::format("u{}", name);
    if (is_unsigned || class_name == name) {
      return {.scale = std::ldexp(1.0, 1 - bits), .offset = is_unsigned ? -1.0 : 0.0};
    }
  }
  return {};
}

ChosenVariables choose_variables(const std::vector<Variable>& variables, const std::string& path) {
  ChosenVariables chosen{.samples = choose_samples(variables, path), .sample_rate_hz = choose_rate(variables, path)};
  const Variable& matrix = variables[chosen.samples];
  const std::uint64_t rows = matrix.lengths[0];
  const std::uint64_t columns = matrix.lengths[1];
  chosen.sample_count = std::max(rows, columns);
  chosen.channels = std::min(rows, columns);
  chosen.are_channels_columns = rows > columns;
  if (chosen.sample_count / kLongerBy < chosen.channels ||
      chosen.channels > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw DataError(fmt::format(
        "{}: {}: found {} x {} values, expected a side for time at least {} times as long as that for channels", path,
        matrix.name, rows, columns, kLongerBy));
  }
  return chosen;
}

}  // namespace nearfield::time_data
