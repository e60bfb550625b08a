#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nearfield/geometry.hpp"

/// The formats of time data, for TimeDataReader alone, which the rest of the program uses.
namespace nearfield::time_data {

/// What a file of samples says of itself.
struct Description {
  std::string format;  ///< in words
  double sample_rate_hz = 0.0;
  std::uint64_t samples = 0;
  int channels = 0;
  /// Pascal to one of its values; nothing where the file does not say.
  std::optional<double> pascal_per_unit = {};
  /// Of the microphones, [channel], on the file's own axes; empty where the file does not say.
  std::vector<MicrophonePosition> positions_m = {};
  /// What is wrong with what the file says of them; positions_m does not count then.
  std::string positions_flaw = {};
  /// How it was read where it contradicts itself and only one reading is possible; empty else.
  std::string note = {};
  bool are_integers = false;  ///< that are read as fractions of full scale
};

/// An open file of samples. Its constructor throws NoInputError, and DataError for all but damaged compressed samples,
/// which read() finds.
class Input {
 public:
  virtual ~Input() = default;
  [[nodiscard]] virtual const Description& description() const = 0;
  /// Reads samples [first, first + values.size() / channels) as [sample][channel], in the file's unit. The caller has
  /// checked that they are there.
  virtual void read(std::uint64_t first_sample, std::span<float> values) = 0;
};

/// Reads a file in which each channel's samples lie together in large pieces, of which one is kept: windows of a replay
/// overlap, and are much shorter.
class ChannelMajorInput : public Input {
 public:
  void read(std::uint64_t first_sample, std::span<float> values) final;

 protected:
  /// Reads `samples` samples of all channels as [channel][sample].
  virtual void read_piece(std::uint64_t first_sample, std::uint64_t samples, std::span<float> piece) = 0;

 private:
  void fetch(std::uint64_t first_sample);
  std::vector<float> piece_;
  std::uint64_t first_ = 0;
  std::uint64_t held_ = 0;
};

/// The formats, told apart by a file's first bytes.
enum class Format { kNone, kWav, kUniversal, kMatlab5, kMatlab73 };
/// kNone as well where the file cannot be read.
Format format_of(const std::filesystem::path& path);

/// Of a WAV file: of a kind that open_wav() refuses, such as mu-law. Throws NoInputError or DataError.
bool has_unknown_samples(const std::filesystem::path& path);
std::unique_ptr<Input> open_wav(const std::filesystem::path& path);
/// Of these channels alone, where there are some: functions of another kind may stand beside those of microphones.
std::unique_ptr<Input> open_universal(const std::filesystem::path& path, const std::vector<int>& channels);
std::unique_ptr<Input> open_matlab5(const std::filesystem::path& path);
std::unique_ptr<Input> open_matlab73(const std::filesystem::path& path);
/// Acoular's HDF5.
std::unique_ptr<Input> open_acoular(const std::filesystem::path& path);

}  // namespace nearfield::time_data
