#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/error.hpp"

/// Which variables of a MATLAB file are the samples and their rate, whatever the file's version. Not for use outside
/// this folder.
namespace nearfield::time_data {

/// A variable at the top of the file.
struct Variable {
  std::string name;
  std::string class_name;              ///< MATLAB's, such as "double" or "struct"
  std::vector<std::uint64_t> lengths;  ///< as MATLAB says them
  bool is_real_number = false;         ///< numeric and not complex
  std::optional<double> value = {};    ///< of a scalar
};

/// Of integers, by the class of their variable, value * scale + offset is the fraction of full scale, as of WAV files:
/// unsigned ones have their zero in the middle.
struct FullScale {
  double scale = 1.0;
  double offset = 0.0;
  [[nodiscard]] float of(float value) const {
    return scale == 1.0 ? value : static_cast<float>(static_cast<double>(value) * scale + offset);
  }
};
/// Of a class such as "int16"; as it is of all that are no integers.
FullScale full_scale_of(const std::string& class_name);

/// The chosen ones, by their places in the list.
struct ChosenVariables {
  std::size_t samples = 0;
  double sample_rate_hz = 0.0;
  /// The matrix is [sample][channel], as MATLAB says it; else [channel][sample].
  bool are_channels_columns = false;
  std::uint64_t sample_count = 0;
  std::uint64_t channels = 0;
};

/// The samples are the one real matrix with at least four rows and columns, of which the longer side, at least twice
/// the other one, is time; of several the one with a usual name. The rate is a scalar with a usual name. Throws
/// DataError, with all that was found, where either is not there once.
ChosenVariables choose_variables(const std::vector<Variable>& variables, const std::string& path);

}  // namespace nearfield::time_data
