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
