#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"

/// Finds the samples and their rate among the variables of a MATLAB file of any version. Not for use outside this
/// folder.
namespace nearfield::time_data {

/// A top-level variable of the file.
struct Variable {
  std::string name;
  std::string class_name;              ///< MATLAB's class, such as "double" or "struct"
  std::vector<std::uint64_t> lengths;  ///< in MATLAB's order
  bool is_real_number = false;         ///< numeric and not complex
  std::optional<double> value = {};    ///< value of a scalar
};

/// Scaling of integers by the class of their variable: value * scale + offset is the fraction of full scale, as in WAV
/// files: unsigned ones have their zero in the middle.
struct FullScale {
  double scale = 1.0;
  double offset = 0.0;
  [[nodiscard]] float of(float value) const {
    return scale == 1.0 ? value : static_cast<float>(static_cast<double>(value) * scale + offset);
  }
};
/// Scaling for a class such as "int16"; identity for all that are no integers.
FullScale full_scale_of(const std::string& class_name);

/// Indices of the chosen variables in the list.
struct ChosenVariables {
  std::size_t samples = 0;
  double sample_rate_hz = 0.0;
  /// True if the matrix is [sample][channel] in MATLAB; else [channel][sample].
  bool are_channels_columns = false;
  std::uint64_t sample_count = 0;
  std::uint64_t channels = 0;
};

/// Chooses as samples the one real matrix with at least four rows and columns, with time along the longer side, at
/// least twice the other; among several the one with a usual name. The rate is a scalar with a usual name. Throws
/// DataError, listing the variables found, where either does not exist exactly once.
ChosenVariables choose_variables(const std::vector<Variable>& variables, const std::string& path);

}  // namespace nearfield::time_data
