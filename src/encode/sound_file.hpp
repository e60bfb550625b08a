#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nearfield {

/// A sound file that libsndfile reads, as floats, full scale 1.
class SoundFile {
 public:
  /// Throws NoInputError when the file is missing, DataError when libsndfile doesn't know it or it holds no samples.
  explicit SoundFile(const std::filesystem::path& path);
  ~SoundFile();
  SoundFile(SoundFile&&) noexcept;
  SoundFile& operator=(SoundFile&&) noexcept;
  [[nodiscard]] double sample_rate_hz() const;
  [[nodiscard]] std::uint64_t samples() const;
  [[nodiscard]] int channels() const;
  /// Reads samples [first, first + values.size() / channels()) as [sample][channel]. Throws DataError on failure.
  void read(std::uint64_t first_sample, std::span<float> values) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The first channel of a sound file at the bit rate, full scale 1: the TrackLoader of scenes. Throws what SoundFile
/// and Resampler throw.
std::vector<float> load_track(const std::string& path);

/// Resamples interleaved signals to the bit rate with libsamplerate's best sinc converter (and, up to 96 kHz, an
/// eightfold interpolator after it, since the converter is slow). Sample 0 of the output is simultaneous with sample 0
/// of the input.
class Resampler {
 public:
  /// To `clock_hz`. Throws DataError when the rate is beyond the converter's: 1/256 of the clock to the clock itself.
  Resampler(int channels, double sample_rate_hz, double clock_hz);
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  /// Appends to `output` the result of the next samples of `input` ([sample][channel]); `last` flushes the rest.
  void process(std::span<const float> input, bool last, std::vector<float>& output);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nearfield
