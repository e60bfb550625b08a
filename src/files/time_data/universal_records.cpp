#include "files/time_data/universal_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace nearfield::time_data {
namespace {

constexpr std::string_view kSeparator = "    -1";
constexpr int kFunctions = 58;
constexpr int kNodes = 15;
constexpr int kUnits = 164;

std::string_view trimmed_view(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// One pass over the file.
class RecordScan {
 public:
  explicit RecordScan(const ByteFile& file) : file_(file), lines_(file, 0) {}
  UniversalRecords run() {
    while (std::optional<std::string_view> line = lines_.next()) {
      if (trimmed_view(*line).empty()) {
        continue;  // after the last dataset
      }
      if (!is_separator(*line)) {
        throw wrong(fmt::format("\"{}\"", shown(*line)), "-1, which begins a dataset");
      }
      read_dataset();
    }
    for (auto& [node, place] : found_.nodes) {  // scale now: dataset 164 may follow the nodes
      place = {.x_m = place.x_m / units_per_m_, .y_m = place.y_m / units_per_m_, .z_m = place.z_m / units_per_m_};
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] DataError wrong(std::string_view found, std::string_view expected) const {
    return file_.wrong(place_.empty() ? fmt::format("byte {}", lines_.offset()) : place_, found, expected);
  }
  std::string need_line(std::string_view what) {
    const std::optional<std::string_view> line = lines_.next();
    if (!line) {
      throw wrong("the end of the file, which is truncated", what);
    }
    return std::string(*line);
  }
  /// Integer in a field of fixed width; blank is 0.
  std::int64_t integer_in(std::string_view line, std::size_t begin, std::size_t width) const {
    const std::string_view field = trimmed_view(begin < line.size() ? line.substr(begin, width) : std::string_view());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (!field.empty() && (error != std::errc() || stop != field.data() + field.size())) {
      throw wrong(fmt::format("\"{}\"", shown(field)),
                  fmt::format("an integer in the columns {} to {}", begin + 1, begin + width));
    }
    return value;
  }

  void read_dataset() {
    place_.clear();
    const std::string head = need_line("the number of a dataset");
    constexpr std::size_t kNumberWidth = 6;
    const std::int64_t number = integer_in(head, 0, kNumberWidth);
    const bool is_binary = head.size() > kNumberWidth && (head[kNumberWidth] == 'b' || head[kNumberWidth] == 'B');
    if (number == kFunctions) {
      read_function(head, is_binary);
      end_function();
      return;
    }
    if (is_binary) {
      throw wrong(fmt::format("a binary dataset {}", number), "none but 58b");
    } else if (number == kUnits) {
      read_units();
    } else if (number == kNodes) {
      read_nodes();
      return;
    }
    skip_to_separator();
  }
  /// Rejects more values than stated, whose samples would be lost.
  void end_function() {
    for (std::string line = need_line("-1, which ends a dataset"); !is_separator(line);
         line = need_line("-1, which ends a dataset")) {
      if (line.find_first_not_of(std::string_view(" \0", 2)) != std::string::npos) {
        throw wrong(fmt::format("\"{}\" behind the values whose number is stated", shown(line)),
                    "-1, which ends a dataset");
      }
    }
  }
  void skip_to_separator() {
    while (!is_separator(need_line("-1, which ends a dataset"))) {
    }
  }

  /// Reads label, coordinate systems of position and motion, colour, x, y and z.
  void read_node(const std::string& line) {
    constexpr std::size_t kWidth = 10;
    constexpr std::size_t kNumbersFrom = 4 * kWidth;
    const std::int64_t node = integer_in(line, 0, kWidth);
    const std::int64_t system = integer_in(line, kWidth, kWidth);
    std::string_view text = std::string_view(line).substr(std::min(kNumbersFrom, line.size()));
    std::array<double, 3> place{};
    for (double& coordinate : place) {
      const std::optional<double> value = next_number(text, file_, place_);
      if (!value) {
        throw wrong(fmt::format("\"{}\"", shown(line)), "three coordinates");
      }
      coordinate = *value;
    }
    if (system == 0 || system == 1) {
      found_.nodes.insert_or_assign(node, MicrophonePosition{.x_m = place[0], .y_m = place[1], .z_m = place[2]});
    }
  }

  /// One line per node, up to the dataset's end.
  void read_nodes() {
    constexpr std::size_t kMostNodes = std::size_t{1} << 20U;
    place_ = "dataset 15";
    for (std::string line = need_line("nodes"); !is_separator(line); line = need_line("nodes")) {
      try {
        read_node(line);
      } catch (const DataError&) {  // the samples are usable if the settings give the positions
        if (found_.nodes_flaw.empty()) {
          found_.nodes_flaw = fmt::format(
              "dataset 15: expected lines of a node and three coordinates behind column 40, found \"{}\"", shown(line));
        }
      }
      if (found_.nodes.size() > kMostNodes) {
        throw wrong(fmt::format("more than {} nodes", kMostNodes), "fewer");
      }
    }
  }

  /// Reads the factors by which the file's values are divided to get SI.
  void read_units() {
    place_ = "dataset 164";
    (void)need_line("the units' name");
    const std::string line = need_line("factors of length and force");
    std::string_view text = line;
    const double length = next_number(text, file_, place_).value_or(0.0);
    const double force = next_number(text, file_, place_).value_or(0.0);
    if (!(length > 0.0) || !(force > 0.0) || !std::isfinite(length) || !std::isfinite(force)) {
      throw wrong(fmt::format("{:g} and {:g}", length, force), "factors of length and force above 0");
    }
    found_.pascal_per_pressure = length * length / force;
    units_per_m_ = length;
  }

  void read_function(const std::string& head, bool is_binary) {
    place_ = fmt::format("dataset 58, function {} of the file", found_.functions.size() + 1);
    constexpr int kIdLines = 5;
    for (int i = 0; i < kIdLines; ++i) {
      (void)need_line("five lines of text");
    }
    Function function;
    read_identification(function);
    const std::int64_t kind = read_abscissa(function);
    read_axes(function);
    function.place = place_;
    function.data.is_binary = is_binary;
    constexpr std::int64_t kRealDouble = 4;
    function.data.is_double = kind == kRealDouble;
    function.data.offset = lines_.offset();
    if (is_binary) {
      skip_binary(head, function);
    } else {
      skip_text(function);
    }
    constexpr std::size_t kMostFunctions = 65536;
    if (found_.functions.size() >= kMostFunctions) {
      throw wrong(fmt::format("more than {} functions", kMostFunctions), "fewer");
    }
    found_.functions.push_back(std::move(function));
  }
  void read_identification(Function& function) {
    const std::string line = need_line("type, node and direction of a function");
    function.type = static_cast<int>(integer_in(line, 0, 5));
    function.node = integer_in(line, 41, 10);
    function.direction = static_cast<int>(integer_in(line, 51, 4));
  }
  /// Returns the kind of the ordinate's values.
  std::int64_t read_abscissa(Function& function) {
    const std::string line = need_line("number and spacing of values");
    const std::int64_t kind = integer_in(line, 0, 10);
    const std::int64_t values = integer_in(line, 10, 10);
    const bool is_even = integer_in(line, 20, 10) == 1;
    constexpr std::int64_t kRealSingle = 2;
    constexpr std::int64_t kRealDouble = 4;
    if (kind != kRealSingle && kind != kRealDouble) {
      throw wrong(fmt::format("values of kind {}", kind), "real ones, kind 2 or 4: pressures over time");
    }
    if (!is_even) {
      throw wrong("uneven spacing of time", "even spacing, 1 in column 30");
    }
    if (values < 1) {
      throw wrong(fmt::format("{} values", values), "one at least");
    }
    constexpr std::size_t kNumbersFrom = 30;
    std::string_view text = std::string_view(line).substr(std::min(kNumbersFrom, line.size()));
    function.values = static_cast<std::uint64_t>(values);
    function.start = next_number(text, file_, place_).value_or(0.0);
    function.spacing = next_number(text, file_, place_).value_or(0.0);
    if (!(function.spacing > 0.0) || !std::isfinite(function.spacing) || !std::isfinite(function.start)) {
      throw wrong(fmt::format("a spacing of {:g} between values", function.spacing), "one above 0");
    }
    return kind;
  }
  /// Label in columns 48 to 67.
  static std::string unit_of_axis(std::string_view line) {
    constexpr std::size_t kFrom = 47;
    constexpr std::size_t kWidth = 20;
    return std::string(trimmed_view(line.size() > kFrom ? line.substr(kFrom, kWidth) : std::string_view()));
  }
  void read_axes(Function& function) {
    const std::string abscissa = need_line("the abscissa's kind");
    function.abscissa_kind = static_cast<int>(integer_in(abscissa, 0, 10));
    function.abscissa_unit = unit_of_axis(abscissa);
    const std::string ordinate = need_line("the ordinate's kind");
    function.ordinate_kind = static_cast<int>(integer_in(ordinate, 0, 10));
    function.unit = unit_of_axis(ordinate);
    (void)need_line("the denominator's kind");
    (void)need_line("the z axis's kind");
  }

  void skip_binary(const std::string& head, Function& function) {
    // "58b", then the byte order, the number format, the lines of text, the bytes that follow.
    constexpr std::size_t kFieldsFrom = 7;
    std::string_view text = std::string_view(head).substr(std::min(kFieldsFrom, head.size()));
    const double order = next_number(text, file_, place_).value_or(0.0);
    const double form = next_number(text, file_, place_).value_or(0.0);
    constexpr double kLittle = 1.0;
    constexpr double kBig = 2.0;
    constexpr double kIeee = 2.0;
    if ((order != kLittle && order != kBig) || form != kIeee) {
      throw wrong(fmt::format("byte order {:g} and form of numbers {:g}", order, form),
                  "1 or 2 (little or big endian) and 2 (IEEE 754)");
    }
    function.data.is_reversed = (order == kLittle) != (std::endian::native == std::endian::little);
    const std::uint64_t bytes = function.values * (function.data.is_double ? sizeof(double) : sizeof(float));
    const std::uint64_t left = file_.size_bytes() - function.data.offset;
    if (bytes > left) {
      throw wrong(fmt::format("{} bytes to the end of the file, which is truncated", left),
                  fmt::format("{} bytes of values", bytes));
    }
    lines_.go_to(function.data.offset + bytes);
    end_line_of_binary();
  }
  /// Skips the line end that some writers put after the values.
  void end_line_of_binary() {
    const std::string next = file_.text(lines_.offset(), 2);
    if (next.starts_with('\n') || next == "\r\n") {
      lines_.go_to(lines_.offset() + (next.front() == '\n' ? 1 : 2));
    }
  }
  void skip_text(Function& function) {
    const std::uint64_t per_line = values_per_line(function.data.is_double);
    const std::uint64_t lines = (function.values + per_line - 1) / per_line;
    for (std::uint64_t line = 0; line < lines; ++line) {
      if (line % kLinesToMark == 0) {
        function.data.marks.push_back(lines_.offset());
      }
      const std::optional<std::string_view> text = lines_.next();
      if (!text || is_separator(*text)) {
        throw wrong(fmt::format("{} lines of values", line), fmt::format("{}", lines));
      }
    }
  }

  const ByteFile& file_;
  LineReader lines_;
  UniversalRecords found_;
  double units_per_m_ = 1.0;
  std::string place_;
};

}  // namespace

bool is_separator(std::string_view line) { return trimmed_view(line) == "-1" && line.starts_with(kSeparator); }

std::string shown(std::string_view line) {
  constexpr std::size_t kMost = 40;
  std::string text(line.substr(0, kMost));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return text;
}

std::optional<double> next_number(std::string_view& text, const ByteFile& file, const std::string& place) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) {
    text = {};
    return std::nullopt;
  }
  text.remove_prefix(first + (text[first] == '+' ? 1 : 0));
  std::string field(text.substr(0, text.find(' ')));
  std::replace_if(
      field.begin(), field.end(), [](char c) { return c == 'D' || c == 'd'; }, 'E');
  double value = 0.0;
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc()) {
    constexpr std::size_t kMost = 20;
    throw file.wrong(place, fmt::format("\"{}\"", field.substr(0, kMost)), "a number");
  }
  text.remove_prefix(static_cast<std::size_t>(stop - field.data()));
  return value;
}

UniversalRecords read_universal_records(const ByteFile& file) { return RecordScan(file).run(); }

}  // namespace nearfield::time_data
