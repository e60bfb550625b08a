#pragma once
#include <gtest/gtest.h>
#include <sndfile.h>

#include <filesystem>
#include <vector>

namespace nearfield::test {

/// values [sample][channel], written as 32-bit floats.
inline void write_wav(const std::filesystem::path& path, int rate_hz, int channels, const std::vector<float>& values) {
  SF_INFO info{};
  info.samplerate = rate_hz;
  info.channels = channels;
  info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  SNDFILE* file = sf_open(path.string().c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr);
  sf_write_float(file, values.data(), static_cast<sf_count_t>(values.size()));
  sf_close(file);
}

}  // namespace nearfield::test
