#pragma once
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "files/files.hpp"

/// Texts used in descriptions of files.
namespace nearfield {

class Facts {
 public:
  template <typename... Arguments>
  void add(std::string_view name, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    facts_.push_back({std::string(name), fmt::format(format, std::forward<Arguments>(arguments)...)});
  }
  [[nodiscard]] std::vector<FileFact> take() { return std::move(facts_); }

 private:
  std::vector<FileFact> facts_;
};

/// Range of the finite values among those added.
struct ValueRange {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (std::isfinite(value)) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  [[nodiscard]] bool is_known() const { return least <= most; }
};

/// Replaces control characters by spaces, in text from untrusted sources.
std::string without_controls(std::string_view text);
std::string text_of_bytes(std::uint64_t bytes);
std::string text_of_mm(double length_m);
/// Lists up to a dozen values, else gives their range; their number follows.
std::string text_of_values(const std::vector<double>& values, std::string_view unit);
inline std::string text_of_frequencies(const std::vector<double>& frequencies_hz) {
  return text_of_values(frequencies_hz, "Hz");
}
/// "not stated" for 0, else date and time to the nanosecond. The files count seconds in TAI.
std::string text_of_time(std::int64_t time_ns);
/// "none" where the range is empty.
std::string text_of_range(const ValueRange& range, std::string_view unit);
template <typename T>
std::string text_of_range(const std::vector<T>& values, std::string_view unit) {
  ValueRange range;
  for (const T value : values) {
    range.add(static_cast<double>(value));
  }
  return text_of_range(range, unit);
}

/// Describes each processor in an images file.
void describe_results(Facts& facts, const std::filesystem::path& path);

}  // namespace nearfield
