#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "files/time_data/byte_file.hpp"

/// Finds the samples and their rate among the variables of a MATLAB file of any version; reads the variables of level 5
/// ("MAT-File Format", The MathWorks). Not for use outside this folder.
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

/// Sequential bytes of a variable, from the file itself or inflated.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Throws DataError if there are fewer bytes.
  virtual void read(std::span<std::byte> bytes) = 0;
  void skip(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t position() const { return position_; }

 protected:
  void count(std::uint64_t bytes) { position_ += bytes; }

 private:
  std::uint64_t position_ = 0;
};

/// Storage of numbers: MATLAB stores a matrix of doubles in fewer bytes where its values allow.
struct StoredNumbers {
  std::uint32_t type = 0;  ///< mi..., such as 9 for double
  std::uint64_t bytes = 0;
};
std::size_t bytes_of_stored(std::uint32_t type);
float stored_number(const std::byte* bytes, std::uint32_t type, bool is_reversed);

/// A variable of the file and the location of its numbers.
struct Matlab5Variable {
  Variable variable;
  bool is_compressed = false;
  std::uint64_t offset = 0;  ///< offset of its element's content in the file
  std::uint64_t bytes = 0;
  StoredNumbers numbers;             ///< only for real numbers
  std::uint64_t numbers_offset = 0;  ///< in the variable's own bytes, after inflating if compressed
};

/// All variables in file order; reads names and sizes, and the values of scalars.
std::vector<Matlab5Variable> read_matlab5_variables(const ByteFile& file, bool is_reversed);
/// Stream of a variable's content, from its first byte.
std::unique_ptr<ByteStream> open_variable(const ByteFile& file, const Matlab5Variable& variable);

}  // namespace nearfield::time_data
