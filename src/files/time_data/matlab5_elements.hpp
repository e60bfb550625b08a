#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/time_data/byte_file.hpp"
#include "files/time_data/matlab_variables.hpp"

/// MAT-files of level 5 ("MAT-File Format", The MathWorks). Not for use outside this folder.
namespace nearfield::time_data {

/// Bytes of a variable, in their order, from the file itself or inflated.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Throws DataError where there are fewer.
  virtual void read(std::span<std::byte> bytes) = 0;
  void skip(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t position() const { return position_; }

 protected:
  void count(std::uint64_t bytes) { position_ += bytes; }

 private:
  std::uint64_t position_ = 0;
};

/// How numbers are stored: MATLAB keeps a matrix of doubles in fewer bytes where its values allow.
struct StoredNumbers {
  std::uint32_t type = 0;  ///< mi..., such as 9 for double
  std::uint64_t bytes = 0;
};
std::size_t bytes_of_stored(std::uint32_t type);
float stored_number(const std::byte* bytes, std::uint32_t type, bool is_reversed);

/// A variable of the file, and where its numbers are.
struct Matlab5Variable {
  Variable variable;
  bool is_compressed = false;
  std::uint64_t offset = 0;  ///< of its element's content, in the file
  std::uint64_t bytes = 0;
  StoredNumbers numbers;             ///< of real numbers alone
  std::uint64_t numbers_offset = 0;  ///< in the variable's own bytes, inflated where compressed
};

/// All variables, in the order of the file; names and sizes are read, and the values of scalars.
std::vector<Matlab5Variable> read_matlab5_variables(const ByteFile& file, bool is_reversed);
/// The bytes of a variable's content, from the first on.
std::unique_ptr<ByteStream> open_variable(const ByteFile& file, const Matlab5Variable& variable);

}  // namespace nearfield::time_data
