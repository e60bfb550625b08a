#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "files/files.hpp"
#include "files/pressure_units.hpp"
#include "files/time_data/time_data_input.hpp"
#include "files/time_data/universal_records.hpp"

namespace nearfield::time_data {
namespace {

/// Sample rate of a spacing. Times are written with six digits: a whole rate in Hz within their rounding is taken as
/// exact.
double rate_of(double spacing_s) {
  constexpr double kRounding = 5e-6;
  const double rate_hz = 1.0 / spacing_s;
  const double whole_hz = std::round(rate_hz);
  return whole_hz >= 1.0 && std::abs(rate_hz - whole_hz) <= kRounding * rate_hz ? whole_hz : rate_hz;
}

bool is_time_response(const Function& function) {
  constexpr int kGeneral = 0;
  constexpr int kTimeResponse = 1;
  constexpr int kUnknown = 0;
  constexpr int kTime = 17;
  return (function.type == kTimeResponse && function.abscissa_kind == kUnknown) ||
         ((function.type == kTimeResponse || function.type == kGeneral) && function.abscissa_kind == kTime);
}

bool is_no_label(std::string_view unit) { return unit.empty() || unit == "NONE" || unit == "None" || unit == "none"; }

/// Seconds per unit of the abscissa; nothing for unknown units.
std::optional<double> seconds_per_unit(std::string_view unit) {
  if (is_no_label(unit) || unit == "s") {
    return 1.0;
  }
  if (unit == "ms") {
    return 1e-3;
  }
  if (unit == "us" || unit == "\u00b5s" || unit == "\xb5s") {
    return 1e-6;
  }
  return std::nullopt;
}

/// From the label of the ordinate's unit, else from dataset 164 where the values are pressures.
std::optional<double> pascal_per_unit_of(const Function& function, std::optional<double> pascal_per_pressure) {
  const std::string& unit = function.unit;
  if (const std::optional<double> stated = pascal_per_unit_named(unit)) {
    return stated;
  }
  constexpr int kPressure = 15;
  return function.ordinate_kind == kPressure && is_no_label(unit) ? pascal_per_pressure : std::nullopt;
}

/// Positions of the functions' nodes; empty where they share one, or where one has no position.
std::vector<MicrophonePosition> positions_of(const std::vector<Function>& functions,
                                             const std::map<std::int64_t, MicrophonePosition>& nodes) {
  if (functions.size() > 1 && functions.front().node == functions.back().node) {
    return {};
  }
  std::vector<MicrophonePosition> positions_m;
  for (const Function& function : functions) {
    const auto found = nodes.find(function.node);
    if (found == nodes.end()) {
      return {};
    }
    positions_m.push_back(found->second);
  }
  return positions_m;
}

class UniversalFile : public ChannelMajorInput {
 public:
  UniversalFile(const std::filesystem::path& path, const std::vector<int>& channels) : file_(path) {
    UniversalRecords records = read_universal_records(file_);
    functions_ = std::move(records.functions);
    if (functions_.empty()) {
      throw file_.wrong("datasets", "none of number 58", "a function 58 or 58b for each microphone");
    }
    if (!channels.empty()) {
      order_by_nodes();
      choose(ChannelChoice(channels, static_cast<int>(functions_.size()), path.string()));
    }
    for (const Function& function : functions_) {
      require_like_the_first(function);
    }
    if (channels.empty()) {
      order_by_nodes();
    }
    const Function& first = functions_.front();
    description_ = {.format = fmt::format("universal file, datasets {}", first.data.is_binary ? "58b" : "58"),
                    .sample_rate_hz = rate_of(first.spacing * seconds_per_unit(first.abscissa_unit).value()),
                    .samples = first.values,
                    .channels = static_cast<int>(functions_.size()),
                    .pascal_per_unit = pascal_per_unit_of(first, records.pascal_per_pressure),
                    .positions_m = positions_of(functions_, records.nodes),
                    .positions_flaw = records.nodes_flaw};
  }
  [[nodiscard]] const Description& description() const override { return description_; }

 protected:
  void read_piece(std::uint64_t first_sample, std::uint64_t samples, std::span<float> piece) override {
    for (std::size_t channel = 0; channel < functions_.size(); ++channel) {
      const auto values = piece.subspan(channel * samples, samples);
      if (functions_[channel].data.is_binary) {
        read_binary(functions_[channel], first_sample, values);
      } else {
        read_text(functions_[channel], first_sample, values);
      }
    }
  }

 private:
  void require_like_the_first(const Function& function) const {
    const Function& first = functions_.front();
    if (!is_time_response(function)) {
      throw file_.wrong(
          function.place,
          fmt::format("function type {} over an abscissa of type {}", function.type, function.abscissa_kind),
          "time responses, type 1, over time, type 17 (or 0), alone");
    }
    if (!seconds_per_unit(function.abscissa_unit)) {
      throw file_.wrong(function.place, fmt::format("the abscissa's unit \"{}\"", shown(function.abscissa_unit)),
                        "s, ms or us, or NONE for seconds");
    }
    if (function.values != first.values || function.spacing != first.spacing || function.start != first.start ||
        function.abscissa_unit != first.abscissa_unit) {
      const auto axis = [](const Function& one) {
        return fmt::format("{} values every {:g} {} from {:g} on", one.values, one.spacing,
                           is_no_label(one.abscissa_unit) ? "s" : shown(one.abscissa_unit), one.start);
      };
      throw file_.wrong(function.place, axis(function), axis(first) + ", as the first function has");
    }
    if (function.unit != first.unit || function.ordinate_kind != first.ordinate_kind) {
      throw file_.wrong(
          function.place, fmt::format("the unit \"{}\"", function.unit),
          fmt::format("\"{}\", as the first function has, or array.channels without this one", first.unit));
    }
  }
  /// Keeps the chosen channels: others, such as a tachometer's, may have another unit, rate or length.
  void choose(const ChannelChoice& choice) {
    std::vector<Function> chosen;
    for (const int channel : choice.channels()) {
      chosen.push_back(std::move(functions_[static_cast<std::size_t>(channel)]));
    }
    functions_ = std::move(chosen);
  }
  /// Sorts by node where each function has its own; else keeps their order.
  void order_by_nodes() {
    std::set<std::int64_t> nodes;
    for (const Function& function : functions_) {
      nodes.insert(function.node);
    }
    if (nodes.size() == functions_.size()) {
      std::sort(functions_.begin(), functions_.end(),
                [](const Function& a, const Function& b) { return a.node < b.node; });
    } else if (nodes.size() > 1) {
      throw file_.wrong("datasets 58", fmt::format("{} functions at {} nodes", functions_.size(), nodes.size()),
                        "a response node for each function, or one for all of them");
    }
  }
  template <class Number>
  void read_numbers(const Function& function, std::uint64_t first_sample, std::span<float> values) {
    buffer_.resize(values.size() * sizeof(Number));
    file_.read(function.data.offset + first_sample * sizeof(Number), buffer_, function.place);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(number_at<Number>(buffer_.data() + i * sizeof(Number), function.data.is_reversed));
    }
  }
  void read_binary(const Function& function, std::uint64_t first_sample, std::span<float> values) {
    if (function.data.is_double) {
      read_numbers<double>(function, first_sample, values);
    } else {
      read_numbers<float>(function, first_sample, values);
    }
  }
  void read_text(const Function& function, std::uint64_t first_sample, std::span<float> values) {
    const std::uint64_t per_mark = kLinesToMark * values_per_line(function.data.is_double);
    std::uint64_t sample = first_sample / per_mark * per_mark;
    LineReader lines(file_, function.data.marks.at(first_sample / per_mark));
    const std::uint64_t end = first_sample + values.size();
    while (sample < end) {
      const std::optional<std::string_view> line = lines.next();
      if (!line) {
        throw file_.wrong(function.place, "the end of the file", "more values");
      }
      std::string_view text = *line;
      const std::uint64_t line_end = std::min(sample + values_per_line(function.data.is_double), function.values);
      for (; sample < line_end; ++sample) {
        const std::optional<double> value = next_number(text, file_, function.place);
        if (!value) {
          throw file_.wrong(function.place, "a line with fewer values", "full lines but for the last");
        }
        if (sample >= first_sample && sample < end) {
          values[sample - first_sample] = static_cast<float>(*value);
        }
      }
    }
  }

  ByteFile file_;
  std::vector<Function> functions_;  ///< one per channel
  Description description_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<Input> open_universal(const std::filesystem::path& path, const std::vector<int>& channels) {
  return std::make_unique<UniversalFile>(path, channels);
}

}  // namespace nearfield::time_data
