#include "daemon/live/input_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <random>

#include "core/daemon_settings.hpp"

namespace nearfield::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kChannels = 16;
constexpr std::int64_t kSecondNs = 1'000'000'000;
using Words = std::vector<std::uint32_t>;

Settings settings_of_samples(std::optional<double> pascal_per_unit = {}) {
  Settings settings;
  settings.array.geometry = {.rows = 4, .columns = 4, .pitch_x_m = 0.04, .pitch_y_m = 0.04};
  settings.array.pascal_per_unit = pascal_per_unit;
  settings.daemon->source.kind = DaemonSettings::SourceKind::kPipe;
  settings.daemon->source.payload = DaemonSettings::Payload::kSamples;
  settings.daemon->source.path = "pipe-that-is-not-there";
  return settings;
}

LiveInput input_of_samples(const Settings& settings) {
  LiveInput input;
  input.form = InputForm::kSamples;
  input.elements_per_sample = 1;
  input.words_per_element = kChannels;
  input.element_rate_hz = 46'875.0;
  input.rate_from = "array.clock_hz / front_end.decimation";
  input.pascal_per_unit = settings.array.pascal_per_unit.value_or(1.0);
  return input;
}

/// Sound of a tenth of full scale: a tone with noise, [value], in -1 to 1.
std::vector<double> sound(std::size_t values = 4096) {
  std::vector<double> result;
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0.0, 0.005);
  for (std::size_t i = 0; i < values; ++i) {
    const std::size_t sample = i / kChannels;
    result.push_back(0.1 * std::sin(2.0 * std::numbers::pi * static_cast<double>(sample) / 37.3) + noise(random));
  }
  return result;
}

Words as_float32(const std::vector<double>& values, double scale = 1.0) {
  Words words;
  for (const double value : values) {
    words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(scale * value)));
  }
  return words;
}

/// What a pipe of other numbers holds, word by word.
Words as_int32(const std::vector<double>& values) {
  Words words;
  for (const double value : values) {
    words.push_back(std::bit_cast<std::uint32_t>(static_cast<std::int32_t>(std::lround(value * 0x1p31))));
  }
  return words;
}
Words as_int16(const std::vector<double>& values) {
  Words words;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    const auto of = [&](std::size_t j) {
      return static_cast<std::uint32_t>(
          static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(values[j] * 0x1p15))));
    };
    words.push_back(of(i) | of(i + 1) << 16U);
  }
  return words;
}
Words as_float64(const std::vector<double>& values) {
  Words words;
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32U));
  }
  return words;
}
Words big_endian(Words words) {
  for (std::uint32_t& word : words) {
    word = (word >> 24U) | (word >> 8U & 0xFF00U) | (word << 8U & 0xFF0000U) | (word << 24U);
  }
  return words;
}
std::vector<double> rounded(std::vector<double> values, double full_scale) {
  for (double& value : values) {
    value = std::round(value * full_scale) / full_scale;
  }
  return values;
}

/// The lines of the log after a second of such values.
std::string lines_of(const Words& words, std::optional<double> pascal_per_unit = {}) {
  const Settings settings = settings_of_samples(pascal_per_unit);
  InputWatch watch(settings, input_of_samples(settings));
  (void)watch.look(std::nullopt, kSecondNs);
  for (int piece = 0; piece < 64; ++piece) {
    watch.count(words);
  }
  std::string text;
  for (const InputWatch::Line& line : watch.look(std::nullopt, 2 * kSecondNs)) {
    text += line.text + "\n";
  }
  EXPECT_EQ(watch.doubts(), !text.empty());
  EXPECT_EQ(watch.status().at("doubts").size(), text.empty() ? 0U : 1U);
  EXPECT_TRUE(watch.look(std::nullopt, 3 * kSecondNs).empty()) << "once";
  return text;
}

TEST(InputWatch, DoubtsNoPressures) {
  EXPECT_EQ(lines_of(as_float32(sound())), "");
  EXPECT_EQ(lines_of(as_float32(sound(), 1e-6)), "");
  EXPECT_EQ(lines_of(as_float32(sound(), 1e4)), "");
  EXPECT_EQ(lines_of(as_float32(rounded(sound(), 0x1p15)), 10.0), "");
  EXPECT_EQ(lines_of(as_float32(rounded(sound(), 0x1p15), 31.7)), "") << "scaled by who has sent them";
}

TEST(InputWatch, NamesNumbersThatAreNoFloat32) {
  for (const double level : {1.0, 0.01, 9.0}) {
    std::vector<double> values = sound();
    for (double& value : values) {
      value *= level;
    }
    const auto doubts = AllOf(HasSubstr("the values are no float32"), HasSubstr("arecord -f FLOAT_LE"));
    EXPECT_THAT(lines_of(as_int32(values)), doubts) << level;
    EXPECT_THAT(lines_of(as_int16(values)), doubts) << level;
    EXPECT_THAT(lines_of(as_float64(values)), doubts) << level;
    EXPECT_THAT(lines_of(big_endian(as_float32(values))), doubts) << level;
    EXPECT_THAT(lines_of(as_int32(values), 10.0), doubts) << "whatever the unit";
  }
}

TEST(InputWatch, NamesStreamsWithoutASound) {
  EXPECT_THAT(lines_of(Words(4096, 0)), HasSubstr("every value is 0"));
  EXPECT_THAT(lines_of(Words(4096, 0x7FC00000U)), HasSubstr("no microphone is finite"));
  // One microphone of sixteen that is not finite is health's; one that is silent is named.
  Words words = as_float32(sound());
  for (std::size_t i = 3; i < words.size(); i += kChannels) {
    words[i] = 0x7FC00000U;
  }
  EXPECT_EQ(lines_of(words), "");
  words = as_float32(sound());
  for (std::size_t i = 3; i < words.size(); i += kChannels) {
    words[i] = 0;
  }
  EXPECT_THAT(lines_of(words), HasSubstr("1 of 16 microphones deliver nothing but 0, channel 3 of the input"));
}

TEST(InputWatch, NamesFullScaleThatIsTakenForPascal) {
  EXPECT_THAT(lines_of(as_float32(rounded(sound(), 0x1p15))), HasSubstr("multiples of 1/32768 within -1 to 1"));
  EXPECT_THAT(lines_of(as_float32(rounded(sound(), 0x1p23))), HasSubstr("multiples of 1/8388608 within -1 to 1"));
  EXPECT_THAT(lines_of(as_float32(rounded(sound(), 0x1p15), 0x1p15)), HasSubstr("whole numbers"));
  EXPECT_EQ(lines_of(as_float32(rounded(sound(), 0x1p15)), 1.0), "") << "pascal, as the settings say";
}

// 48,000 a second of a stream that is announced with 46,875, with the setting that is right.
TEST(InputWatch, NamesAnotherRateAndTheSettingForIt) {
  const Settings settings = settings_of_samples(1.0);
  InputWatch watch(settings, input_of_samples(settings));
  std::string text;
  for (int i = 1; i < 500 && text.empty(); ++i) {
    const std::int64_t now_ns = 5 * kSecondNs + std::int64_t{i} * 20'000'000;
    for (const InputWatch::Line& line :
         watch.look(NewestElement{.stream = 1, .elements = static_cast<std::uint64_t>(960 * i), .arrived_ns = now_ns},
                    now_ns)) {
      text += line.text;
    }
  }
  EXPECT_THAT(text, AllOf(HasSubstr("samples come about 48000 times a second, announced are 46875"),
                          HasSubstr("array.clock_hz / front_end.decimation"),
                          HasSubstr("1000 Hz is taken for one of 976.56 Hz"),
                          HasSubstr("set daemon.source.sample_rate_hz: 48000")));
  EXPECT_NEAR(watch.status().at("measured_rate_hz").get<double>(), 48'000.0, 1.0);
  // Of a new stream nothing is known yet, so the doubt stays.
  const std::int64_t later_ns = 60 * kSecondNs;
  EXPECT_TRUE(watch.look(NewestElement{.stream = 2, .elements = 960, .arrived_ns = later_ns}, later_ns).empty());
  EXPECT_TRUE(watch.doubts());
  EXPECT_TRUE(watch.status().at("measured_rate_hz").is_null());
}

// A channel less: 16 of 15 come.
TEST(InputWatch, NamesAnotherNumberOfChannels) {
  const Settings settings = settings_of_samples(1.0);
  LiveInput input = input_of_samples(settings);
  input.element_rate_hz = 48'000.0;
  InputWatch watch(settings, input);
  std::string text;
  for (int i = 1; i < 500 && text.empty(); ++i) {
    const std::int64_t now_ns = 5 * kSecondNs + std::int64_t{i} * 20'000'000;
    for (const InputWatch::Line& line :
         watch.look(NewestElement{.stream = 1, .elements = static_cast<std::uint64_t>(900 * i), .arrived_ns = now_ns},
                    now_ns)) {
      text += line.text;
    }
  }
  EXPECT_THAT(text, HasSubstr("or a sample has 15 channels, where the settings have 16"));
}

}  // namespace
}  // namespace nearfield::daemon
