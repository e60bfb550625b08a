#include "simulate/sound_file.hpp"

#include <fmt/format.h>
#include <samplerate.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "nearfield/error.hpp"
#include "nearfield/geometry.hpp"
#include "simulate/interpolator.hpp"

namespace nearfield {
namespace {

/// Up to here the converter goes to an eighth of the bit rate and the interpolator does the rest, which takes an eighth
/// of the time; the interpolator's band is what such a recording can hold.
constexpr double kHighestRateInTwoStepsHz = 96000.0;

}  // namespace

struct SoundFile::State {
  struct Close {
    void operator()(SNDFILE* handle) const { sf_close(handle); }
  };
  std::filesystem::path path;
  SF_INFO info{};
  std::unique_ptr<SNDFILE, Close> file;
};

SoundFile::SoundFile(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw NoInputError(fmt::format("{}: found {}, expected a sound file (encode takes HDF5, too)", path.string(),
                                   std::filesystem::is_directory(status) ? "a directory" : "a special file"));
  }
  state_->file.reset(sf_open(path.string().c_str(), SFM_READ, &state_->info));
  if (!state_->file) {
    throw DataError(
        fmt::format("{}: expected a sound file (encode takes HDF5, too): {}", path.string(), sf_strerror(nullptr)));
  }
  if (state_->info.frames < 1 || state_->info.channels < 1 || state_->info.samplerate < 1) {
    throw DataError(fmt::format("{}: expected samples, found {} of {} channels at {} Hz", path.string(),
                                state_->info.frames, state_->info.channels, state_->info.samplerate));
  }
}

SoundFile::~SoundFile() = default;
SoundFile::SoundFile(SoundFile&&) noexcept = default;
SoundFile& SoundFile::operator=(SoundFile&&) noexcept = default;

double SoundFile::sample_rate_hz() const { return state_->info.samplerate; }
std::uint64_t SoundFile::samples() const { return static_cast<std::uint64_t>(state_->info.frames); }
int SoundFile::channels() const { return state_->info.channels; }

void SoundFile::read(std::uint64_t first_sample, std::span<float> values) const {
  const auto wanted = static_cast<sf_count_t>(values.size()) / state_->info.channels;
  SNDFILE* file = state_->file.get();
  const bool found = sf_seek(file, static_cast<sf_count_t>(first_sample), SEEK_SET) >= 0;
  const sf_count_t read = found ? sf_readf_float(file, values.data(), wanted) : 0;
  if (read != wanted) {
    throw DataError(
        fmt::format("{}: sample {}: expected {} samples, found {}", state_->path.string(), first_sample, wanted, read));
  }
}

struct Resampler::State {
  struct Delete {
    void operator()(SRC_STATE* handle) const { src_delete(handle); }
  };
  std::size_t channels;
  double ratio;
  std::unique_ptr<SRC_STATE, Delete> converter;
  std::optional<Interpolator> interpolator;
  std::vector<float> block;
};

Resampler::Resampler(int channels, double sample_rate_hz) : state_(std::make_unique<State>()) {
  state_->channels = static_cast<std::size_t>(channels);
  state_->ratio = kBitRateHz / sample_rate_hz;
  if (!(state_->ratio >= 1.0) || src_is_valid_ratio(state_->ratio) == 0) {
    throw DataError(fmt::format("sample rate: expected {:.6g} to {:.6g} Hz, found {:.6g} Hz", kBitRateHz / 256,
                                kBitRateHz, sample_rate_hz));
  }
  if (sample_rate_hz <= kHighestRateInTwoStepsHz) {
    state_->ratio /= static_cast<double>(Interpolator::kFactor);
    state_->interpolator.emplace(state_->channels);
  }
  int error = 0;
  state_->converter.reset(src_new(SRC_SINC_BEST_QUALITY, channels, &error));
  if (!state_->converter) {
    throw DataError(fmt::format("{} channels can't be resampled: {}", channels, src_strerror(error)));
  }
}

Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

void Resampler::process(std::span<const float> input, bool last, std::vector<float>& output) {
  constexpr std::size_t kBlockSamples = 4096;
  state_->block.resize(kBlockSamples * state_->channels);
  std::size_t used = 0;
  const std::size_t samples = input.size() / state_->channels;
  SRC_DATA data{};
  do {
    data.data_in = input.data() + used * state_->channels;
    data.input_frames = static_cast<long>(samples - used);
    data.data_out = state_->block.data();
    data.output_frames = static_cast<long>(kBlockSamples);
    data.end_of_input = last ? 1 : 0;
    data.src_ratio = state_->ratio;
    if (const int error = src_process(state_->converter.get(), &data); error != 0) {
      throw DataError(fmt::format("resampling failed: {}", src_strerror(error)));
    }
    used += static_cast<std::size_t>(data.input_frames_used);
    const auto made =
        std::span(state_->block).first(static_cast<std::size_t>(data.output_frames_gen) * state_->channels);
    if (state_->interpolator) {
      state_->interpolator->process(made, output);
    } else {
      output.insert(output.end(), made.begin(), made.end());
    }
  } while (data.output_frames_gen > 0 || data.input_frames_used > 0);
  if (last && state_->interpolator) {
    state_->interpolator->finish(output);
  }
}

}  // namespace nearfield
