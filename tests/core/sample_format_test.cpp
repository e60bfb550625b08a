#include "core/sample_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace nearfield {
namespace {

std::vector<std::byte> bytes_of_words(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> all;
  for (const unsigned byte : bytes) {
    all.push_back(static_cast<std::byte>(byte));
  }
  return all;
}

std::vector<float> converted(SampleFormat format, const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / bytes_of(format));
  to_floats(format, bytes, 1, {}, values);
  return values;
}

TEST(SampleFormat, IntegersAreFractionsOfFullScale) {
  EXPECT_EQ(converted(SampleFormat::kS16, bytes_of_words({0, 0x80, 0xFF, 0x7F, 1, 0, 0xFF, 0xFF})),
            (std::vector<float>{-1.0F, 32767.0F / 32768.0F, 1.0F / 32768.0F, -1.0F / 32768.0F}));
  EXPECT_EQ(converted(SampleFormat::kS24, bytes_of_words({0, 0, 0x80, 0xFF, 0xFF, 0x7F, 1, 0, 0})),
            (std::vector<float>{-1.0F, 8388607.0F / 8388608.0F, 1.0F / 8388608.0F}));
  EXPECT_EQ(converted(SampleFormat::kS32, bytes_of_words({0, 0, 0, 0x80, 0, 0, 0, 0x40, 0, 1, 0, 0})),
            (std::vector<float>{-1.0F, 0.5F, 0x1p-23F}));
  // What the upper byte holds is not said: sign, zeros or anything.
  EXPECT_EQ(converted(SampleFormat::kS24In32, bytes_of_words({0, 0, 0xC0, 0xFF, 0, 0, 0xC0, 0x00, 1, 0, 0, 0x55})),
            (std::vector<float>{-0.5F, -0.5F, 1.0F / 8388608.0F}));
}

TEST(SampleFormat, FloatsStay) {
  const std::array<float, 3> values = {1.5F, -1e30F, 0x1p-149F};
  std::vector<std::byte> bytes(sizeof values);
  std::memcpy(bytes.data(), values.data(), sizeof values);
  EXPECT_EQ(converted(SampleFormat::kF32, bytes), std::vector<float>(values.begin(), values.end()));
}

TEST(SampleFormat, ChosenChannelsComeInTheirOrder) {
  const std::vector<std::byte> bytes = bytes_of_words({0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6});  // 2 samples of 3 channels
  const std::array<int, 2> chosen = {2, 0};
  std::vector<float> values(4);
  to_floats(SampleFormat::kS16, bytes, 3, chosen, values);
  EXPECT_EQ(values, (std::vector<float>{3.0F / 128.0F, 1.0F / 128.0F, 6.0F / 128.0F, 4.0F / 128.0F}));
}

}  // namespace
}  // namespace nearfield
