#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/geometry.hpp"
#include "files/time_data/byte_file.hpp"

/// Universal files, as written by SDRC's I-DEAS test and its successors: datasets between lines of -1, of which the
/// numbers 58 (functions at nodes), 15 (nodes) and 164 (units) are read here. Not for use outside this folder.
namespace nearfield::time_data {

/// Location of a function's values.
struct FunctionData {
  std::uint64_t offset = 0;  ///< offset of the first value
  bool is_binary = false;
  bool is_reversed = false;  ///< byte order differs from this machine's
  bool is_double = false;
  /// Only for text: offset of each kLinesToMark-th line.
  std::vector<std::uint64_t> marks = {};
};
constexpr std::uint64_t kLinesToMark = 128;

/// Numbers on a line of text.
constexpr std::uint64_t values_per_line(bool is_double) { return is_double ? 4 : 6; }

/// Content of records 6 to 11 of a dataset 58.
struct Function {
  int type = 0;  ///< 1 is a time response
  std::int64_t node = 0;
  int direction = 0;
  std::uint64_t values = 0;
  double spacing = 0.0;  ///< in abscissa_unit
  double start = 0.0;
  int abscissa_kind = 0;  ///< 17 is time
  std::string abscissa_unit;
  int ordinate_kind = 0;  ///< 15 is pressure
  std::string unit;
  std::string place;  ///< for messages: "dataset 58 of node 3"
  FunctionData data;
};

struct UniversalRecords {
  std::vector<Function> functions;  ///< in file order
  /// Pascal per unit of pressure, from dataset 164.
  std::optional<double> pascal_per_pressure;
  /// Nodes of datasets 15 in the global system (0 or 1), by label.
  std::map<std::int64_t, MicrophonePosition> nodes;
  /// Describes the first line of a dataset 15 that cannot be read; empty if all can.
  std::string nodes_flaw;
};

/// True for "-1" in columns 5 and 6, which separates datasets.
bool is_separator(std::string_view line);
/// A line of the file for a message: 40 characters at most, of ASCII.
std::string shown(std::string_view line);

/// Reads the whole file once, in bounded memory, without the values.
UniversalRecords read_universal_records(const ByteFile& file);

/// Next number of a line, which may follow the previous one without spaces; nothing at the line's end. Sets `text` to
/// the rest. Throws DataError where there is anything else.
std::optional<double> next_number(std::string_view& text, const ByteFile& file, const std::string& place);

}  // namespace nearfield::time_data
