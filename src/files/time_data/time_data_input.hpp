#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/geometry.hpp"

/// Formats of time data, used only by TimeDataReader.
namespace nearfield::time_data {

/// Description of a file of samples.
struct Description {
  std::string format;  ///< name in words
  double sample_rate_hz = 0.0;
  std::uint64_t samples = 0;
  int channels = 0;
  /// Pascal per unit of its values; nothing where the file does not state it.
  std::optional<double> pascal_per_unit = {};
  /// Positions of the microphones, [channel], on the file's own axes; empty where the file does not state them.
  std::vector<MicrophonePosition> positions_m = {};
  /// Fault in the stated positions, which are then ignored.
  std::string positions_flaw = {};
  /// Describes the interpretation where the file contradicts itself and only one reading is possible; else empty.
  std::string note = {};
  bool are_integers = false;  ///< true: read as fractions of full scale
};

/// An open file of samples. Its constructor throws NoInputError, and DataError for any damage except in compressed
/// samples, which read() finds.
class Input {
 public:
  virtual ~Input() = default;
  [[nodiscard]] virtual const Description& description() const = 0;
  /// Reads samples [first, first + values.size() / channels) as [sample][channel], in the file's unit. The caller has
  /// checked that they exist.
  virtual void read(std::uint64_t first_sample, std::span<float> values) = 0;
};

/// Reads a file that stores each channel's samples together, in large pieces, and keeps one: windows of a replay
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

/// Formats, identified by a file's first bytes.
enum class Format { kNone, kWav, kUniversal, kMatlab5, kMatlab73 };
/// Returns kNone also if the file cannot be read.
Format format_of(const std::filesystem::path& path);

/// True for a WAV file with samples that open_wav() refuses, such as mu-law. Throws NoInputError or DataError.
bool has_unknown_samples(const std::filesystem::path& path);
std::unique_ptr<Input> open_wav(const std::filesystem::path& path);
/// Opens these channels only, unless empty: functions of another kind may accompany those of microphones.
std::unique_ptr<Input> open_universal(const std::filesystem::path& path, const std::vector<int>& channels);
std::unique_ptr<Input> open_matlab5(const std::filesystem::path& path);
std::unique_ptr<Input> open_matlab73(const std::filesystem::path& path);
/// Opens the samples of a recording (.nfr).
std::unique_ptr<Input> open_recorded(const std::filesystem::path& path);
/// Opens Acoular's HDF5.
std::unique_ptr<Input> open_acoular(const std::filesystem::path& path);

}  // namespace nearfield::time_data
