#include <cmath>
#include <cstring>
#include <numbers>

#include "files/file_test_support.hpp"
#include "files/sample_levels.hpp"

// Files are read to their last sample or refused, and their values have their unit.
namespace nearfield {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof(Number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(Number));
  return bytes;
}

/// 16-bit WAV of 4 channels at 48 kHz, `samples` of them, whose chunks RIFF and data state these sizes.
std::string wav(std::size_t samples, std::uint32_t riff_bytes, std::uint32_t data_bytes,
                const std::string& behind = "") {
  std::string bytes = "RIFF" + bytes_of(riff_bytes) + "WAVEfmt " + bytes_of(std::uint32_t{16}) +
                      bytes_of(std::uint16_t{1}) + bytes_of(std::uint16_t{4}) + bytes_of(std::uint32_t{48000}) +
                      bytes_of(std::uint32_t{48000 * 8}) + bytes_of(std::uint16_t{8}) + bytes_of(std::uint16_t{16}) +
                      "data" + bytes_of(data_bytes);
  for (std::size_t i = 0; i < 4 * samples; ++i) {
    bytes += bytes_of(static_cast<std::int16_t>(1 + i % 1000));
  }
  return bytes + behind;
}

constexpr std::size_t kSamples = 3000;
constexpr std::uint32_t kDataBytes = kSamples * 8;

std::uint64_t samples_in(const std::filesystem::path& path) { return TimeDataReader(path).samples(); }

TEST(WholeFiles, WavOfAPipeIsReadToItsEnd) {
  const TempFolder folder;
  for (const std::uint32_t size : {0xFFFFFFFFU, 0U, 0x7FFFF000U, 0x80000000U, 0x7FFFFFFFU, 0xFFFFFFDBU}) {
    SCOPED_TRACE(size);
    write_text(folder / "p.wav", wav(kSamples, 0xFFFFFFFFU, size));
    const TimeDataReader reader(folder / "p.wav");
    EXPECT_EQ(reader.samples(), kSamples);
    EXPECT_THAT(reader.note(), HasSubstr("all up to the end of the file are read"));
    std::vector<float> last(4);
    reader.read(kSamples - 1, last);
    EXPECT_EQ(last[3], 1000.0F / 32768.0F);
  }
  const std::string list = "LIST" + bytes_of(std::uint32_t{14}) + "INFOISFT" + bytes_of(std::uint32_t{2}) + "ab";
  for (const std::uint32_t size : {0xFFFFFFFFU, 0U}) {
    for (const std::string& behind : {list, "bext" + bytes_of(std::uint32_t{3}) + "LIS" + list}) {
      write_text(folder / "p.wav", wav(kSamples, 0xFFFFFFFFU, size, behind));
      EXPECT_EQ(samples_in(folder / "p.wav"), kSamples) << "its chunks are no samples";
      EXPECT_THAT(TimeDataReader(folder / "p.wav").note(), HasSubstr("all up to the chunks at the end of the file"));
    }
  }
  write_text(folder / "p.wav",
             wav(kSamples, 0xFFFFFFFFU, 0xFFFFFFFFU, "LIST" + bytes_of(std::uint32_t{99}) + "1234567"));
  EXPECT_EQ(samples_in(folder / "p.wav"), kSamples + 1) << "no chunk: it would end behind the file";
  write_text(folder / "p.wav", wav(0, 36, 0));
  EXPECT_THAT(error_of([&] { (void)samples_in(folder / "p.wav"); }), HasSubstr("expected at least one sample"));
}

TEST(WholeFiles, WavWhoseSizeIsTooSmallIsRefused) {
  const TempFolder folder;
  for (const std::uint32_t riff : {36 + kDataBytes, 36 + kDataBytes / 2}) {
    write_text(folder / "h.wav", wav(kSamples, riff, kDataBytes / 2));
    EXPECT_THAT(error_of([&] { (void)samples_in(folder / "h.wav"); }),
                AllOf(HasSubstr("12000 bytes and behind them 12000 that are no chunks"),
                      HasSubstr("expected a size that reaches to the last sample")));
  }
}

TEST(WholeFiles, WavMayHaveChunksTagsAndPaddingBehindItsSamples) {
  const TempFolder folder;
  const std::string list = "LIST" + bytes_of(std::uint32_t{5}) + "abcde";
  for (const std::string& behind :
       {std::string(), list + '\0', list, "bext" + bytes_of(std::uint32_t{0}) + list, std::string(5000, '\0'),
        "TAG" + std::string(125, 'x'), "APETAGEX" + std::string(201, 'x'), list + list, list + '\0' + list}) {
    write_text(folder / "c.wav", wav(kSamples, 36 + kDataBytes, kDataBytes, behind));
    EXPECT_EQ(samples_in(folder / "c.wav"), kSamples);
    EXPECT_THAT(TimeDataReader(folder / "c.wav").note(), IsEmpty());
  }
}

// As libsndfile leaves it beyond 4 GiB; the file is sparse.
TEST(WholeFiles, WavWhoseSizeHasWrappedIsReadWhole) {
  const TempFolder folder;
  const std::uint64_t bytes = (std::uint64_t{1} << 32U) + kDataBytes;
  write_text(folder / "w.wav", wav(1, 36 + kDataBytes, kDataBytes));
  std::filesystem::resize_file(folder / "w.wav", 44 + bytes);
  EXPECT_EQ(samples_in(folder / "w.wav"), bytes / 8);
  EXPECT_THAT(TimeDataReader(folder / "w.wav").note(), HasSubstr("has wrapped at 4 GiB"));
}

std::string rf64(std::uint64_t data_bytes) {
  std::string bytes = wav(kSamples, 0xFFFFFFFFU, 0xFFFFFFFFU);
  bytes.replace(0, 4, "RF64");
  bytes.insert(12, "ds64" + bytes_of(std::uint32_t{28}) + bytes_of(data_bytes + 72) + bytes_of(data_bytes) +
                       bytes_of(std::uint64_t{0}) + bytes_of(std::uint32_t{0}));
  return bytes;
}

TEST(WholeFiles, Rf64IsReadWholeOrRefused) {
  const TempFolder folder;
  write_text(folder / "r.wav", rf64(kDataBytes));
  EXPECT_EQ(samples_in(folder / "r.wav"), kSamples);
  write_text(folder / "r.wav", rf64(0));  // as it is before its writer ends
  EXPECT_EQ(samples_in(folder / "r.wav"), kSamples);
  EXPECT_THAT(TimeDataReader(folder / "r.wav").note(), HasSubstr("all up to the end of the file are read"));
  write_text(folder / "r.wav", rf64(kDataBytes / 2));
  EXPECT_THAT(error_of([&] { (void)samples_in(folder / "r.wav"); }), HasSubstr("that are no chunks"));
  write_text(folder / "r.wav", rf64(kDataBytes + 8));
  EXPECT_THAT(error_of([&] { (void)samples_in(folder / "r.wav"); }), HasSubstr("the file is truncated"));
}

/// Text functions of nodes 1 to 4, each of 12 values of which `stated` are stated.
std::string universal(int stated, const std::string& unit = "Pa", const std::string& start = "") {
  std::string text = start;
  for (int node = 1; node <= 4; ++node) {
    text += "    -1\n    58\nNONE\nNONE\nNONE\nNONE\nNONE\n";
    text += "    1         1    0         0       NONE" + std::string(9, ' ') + std::to_string(node) +
            "   3       NONE         0   0\n";
    text += "         2" + std::string(stated < 10 ? 9 : 8, ' ') + std::to_string(stated) +
            "         1  0.00000E+00  1.00000E-03  0.00000E+00\n";
    text += "        17    0    0    0                 NONE                    s\n";
    text += "        15    0    0    0                 NONE" + std::string(21 - unit.size(), ' ') + unit + "\n";
    text += "         0    0    0    0                 NONE                 NONE\n";
    text += "         0    0    0    0                 NONE                 NONE\n";
    for (int line = 0; line < 2; ++line) {
      for (int i = 0; i < 6; ++i) {
        text += "  1.50000E+00";
      }
      text += "\n";
    }
    text += "    -1\n";
  }
  return text;
}

TEST(WholeFiles, UniversalFunctionsAreReadWholeOrRefused) {
  const TempFolder folder;
  write_text(folder / "u.uff", universal(12));
  EXPECT_EQ(samples_in(folder / "u.uff"), 12U);
  write_text(folder / "u.uff", universal(6));
  EXPECT_THAT(error_of([&] { (void)samples_in(folder / "u.uff"); }),
              HasSubstr("behind the values whose number is stated"));
  write_text(folder / "u.uff", universal(12, "Pa", "\n   \n"));
  EXPECT_EQ(samples_in(folder / "u.uff"), 12U) << "blank lines before the first dataset";
}

TEST(WholeFiles, UnitsOfPressureAreKnownEverywhere) {
  const TempFolder folder;
  for (const auto& [unit, pascal] : {std::pair<std::string, double>{"Pa", 1.0},
                                     {"mPa", 1e-3},
                                     {"\u00b5Pa", 1e-6},
                                     {"\u03bcPa", 1e-6},
                                     {"kPa", 1e3},
                                     {"Pascal", 1.0},
                                     {"N/m^2", 1.0},
                                     {"hPa", 1e2}}) {
    SCOPED_TRACE(unit);
    write_text(folder / "u.uff", universal(12, unit));
    write_time_data(folder / "t.h5", 48000.0, 4, std::vector<float>(48, 1.5F));
    edit(folder / "t.h5", [&, &name = unit](hid_t file) { put_fixed_text(file, "/time_data", "units", name); });
    for (const char* name : {"u.uff", "t.h5"}) {
      const TimeDataReader reader(folder / name);
      EXPECT_TRUE(reader.states_pascal());
      std::vector<float> values(4);
      reader.read(3, values);
      EXPECT_FLOAT_EQ(values[2], static_cast<float>(1.5 * pascal));
    }
  }
  write_text(folder / "u.uff", universal(12, "V"));
  edit(folder / "t.h5", [](hid_t file) { put_fixed_text(file, "/time_data", "units", "V"); });
  EXPECT_FALSE(TimeDataReader(folder / "u.uff").states_pascal());
  EXPECT_FALSE(TimeDataReader(folder / "t.h5").states_pascal());
}

TEST(WholeFiles, UnitsOfSpectraAreThoseOfTheFile) {
  const TempFolder folder;
  const auto first_of = [&](const std::string& unit) {
    write_spectra(folder / "s.h5", {.measurement = small_measurement(),
                                    .frames = 1,
                                    .frequencies_hz = {500.0},
                                    .spectra = std::vector<std::complex<float>>(15, {2.0F, 0.0F})});
    edit(folder / "s.h5", [&](hid_t file) { put_fixed_text(file, "/spectra", "units", unit); });
    return read_spectra(folder / "s.h5").spectra.front().real();
  };
  EXPECT_EQ(first_of("Pa"), 2.0F);
  EXPECT_EQ(first_of("Pa/N"), 2.0F);
  EXPECT_EQ(first_of("N/m^2"), 2.0F);
  EXPECT_EQ(first_of("mPa"), 2e-3F);
  EXPECT_EQ(first_of("kPa/N"), 2e3F);
  EXPECT_EQ(first_of("Pa/(m/s)"), 2.0F);
  EXPECT_EQ(first_of("mPa/(m/s^2)"), 2e-3F);
  EXPECT_THAT(text_of(facts_of_file(folder / "s.h5")), HasSubstr(" Pa/(m/s^2) rms over all values"));
  EXPECT_EQ(first_of("N/m^2/N"), 2.0F);
  EXPECT_THAT(text_of(facts_of_file(folder / "s.h5")), HasSubstr(" Pa/N rms over all values"));
  EXPECT_THAT(error_of([&] { (void)first_of("m/s/Pa"); }), HasSubstr("expected a unit of pressure"));
  EXPECT_THAT(error_of([&] { (void)first_of("V"); }),
              HasSubstr("/spectra, attribute units: found \"V\", expected a unit of pressure"));
}

std::string padded(std::string bytes) { return bytes.append((8 - bytes.size() % 8) % 8, '\0'); }

/// A MATLAB file of level 5 with p [16][4] of the class, each value `value`, and fs.
template <class Number>
std::string matlab5(std::uint32_t class_number, std::uint32_t type, Number value) {
  const auto element = [](std::uint32_t kind, const std::string& content) {
    return padded(bytes_of(kind) + bytes_of(static_cast<std::uint32_t>(content.size())) + content);
  };
  const auto matrix = [&](std::uint32_t of_class, std::int32_t rows, std::int32_t columns, const std::string& name,
                          std::uint32_t kind, const std::string& numbers) {
    return element(14, element(6, bytes_of(of_class) + bytes_of(std::uint32_t{0})) +
                           element(5, bytes_of(rows) + bytes_of(columns)) + element(1, name) + element(kind, numbers));
  };
  std::string numbers;
  for (int i = 0; i < 64; ++i) {
    numbers += bytes_of(value);
  }
  std::string head = "MATLAB 5.0 MAT-file";
  head.resize(124, ' ');
  return head + bytes_of(std::uint16_t{0x0100}) + "IM" + matrix(class_number, 16, 4, "p", type, numbers) +
         matrix(6, 1, 1, "fs", 9, bytes_of(48000.0));
}

float first_in(const std::filesystem::path& path, const std::string& bytes) {
  write_text(path, bytes);
  std::vector<float> values(4);
  TimeDataReader(path).read(0, values);
  return values[0];
}

// As of WAV files: array.pascal_per_unit is the pascal of full scale.
TEST(WholeFiles, IntegersOfMatlabAreFractionsOfFullScale) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "m.mat";
  EXPECT_EQ(first_in(path, matlab5<std::int8_t>(8, 1, -64)), -0.5F);
  EXPECT_EQ(first_in(path, matlab5<std::uint8_t>(9, 2, 64)), -0.5F);
  EXPECT_EQ(first_in(path, matlab5<std::int16_t>(10, 3, 16384)), 0.5F);
  EXPECT_EQ(first_in(path, matlab5<std::uint16_t>(11, 4, 49152)), 0.5F);
  EXPECT_EQ(first_in(path, matlab5<std::int32_t>(12, 5, 1 << 30)), 0.5F);
  EXPECT_EQ(first_in(path, matlab5<double>(6, 9, 2.5)), 2.5F);
  EXPECT_EQ(first_in(path, matlab5<std::int16_t>(6, 3, 25)), 25.0F) << "doubles that MATLAB stores in two bytes";
  EXPECT_THAT(TimeDataReader(path).format(), HasSubstr("matrix p (double)"));
  write_text(path, matlab5<double>(6, 9, 2.5) + std::string(16, 'x'));
  EXPECT_THAT(error_of([&] { (void)samples_in(path); }), HasSubstr("truncated"));
  write_text(path, matlab5<double>(6, 9, 2.5) + bytes_of(std::uint32_t{99}) + bytes_of(std::uint32_t{0}));
  EXPECT_THAT(error_of([&] { (void)samples_in(path); }), HasSubstr("an element of type 99"));
}

TEST(WholeFiles, IntegersOfMatlab73AreFractionsOfFullScale) {
  const TempFolder folder;
  create_empty(folder / "hdf5");
  const std::vector<std::int16_t> values(64, 16384);
  const std::vector<double> floats(64, 2.5);
  const double rate_hz = 48000.0;
  const auto in_matlab = [&](const char* class_name, hid_t type, const void* data) {
    h5::quiet();
    const std::filesystem::path path = folder / "m.mat";
    const h5::Properties creation(H5Pcreate(H5P_FILE_CREATE));
    H5Pset_userblock(creation.id(), 512);
    h5::File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), H5P_DEFAULT));
    put_dataset(file.id(), "/p", type, {4, 16}, data);
    put_dataset(file.id(), "/fs", H5T_NATIVE_DOUBLE, {1, 1}, &rate_hz);
    if (class_name != nullptr) {
      put_fixed_text(file.id(), "/p", "MATLAB_class", class_name);
    }
    file.close();
    std::fstream head(path, std::ios::in | std::ios::out | std::ios::binary);
    head << "MATLAB 7.3 MAT-file";
    head.close();
    std::vector<float> found(4);
    TimeDataReader(path).read(0, found);
    return found[0];
  };
  EXPECT_EQ(in_matlab("int16", H5T_NATIVE_INT16, values.data()), 0.5F);
  EXPECT_EQ(in_matlab(nullptr, H5T_NATIVE_INT16, values.data()), 0.5F);
  EXPECT_EQ(in_matlab("double", H5T_NATIVE_DOUBLE, floats.data()), 2.5F);
}

// netCDF keeps 9.97e36, or the attribute's number, where nothing was written.
TEST(WholeFiles, FillValuesOfNetcdfAreNotANumber) {
  const TempFolder folder;
  std::vector<float> values(48, 0.5F);
  values[5] = 9.9692099683868690e+36F;
  values[6] = -999.0F;
  write_time_data(folder / "t.h5", 48000.0, 4, values);
  const auto found = [&](std::size_t at) {
    std::vector<float> all(48);
    TimeDataReader(folder / "t.h5").read(0, all);
    return all[at];
  };
  EXPECT_TRUE(std::isnan(found(5)));
  EXPECT_EQ(found(6), -999.0F);
  const float fill = -999.0F;
  edit(folder / "t.h5",
       [&](hid_t file) { put_attribute(file, "/time_data", "_FillValue", H5T_NATIVE_FLOAT, &fill, {1}); });
  EXPECT_TRUE(std::isnan(found(6)));
  EXPECT_TRUE(std::isnan(found(5)));
  EXPECT_EQ(found(7), 0.5F);
}

TEST(UnknownFormats, AreNamedWithTheWayOut) {
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"MDF     4.10    ", "nearfield.read_mdf4"},
      {std::string("\x93NUMPY\x01\x00", 8), "an array of NumPy"},
      {"TDSm" + std::string(20, '\x0e'), "it is TDMS"},
      {"t,mic1,mic2\n0,1,2\n", "it is text, such as CSV"},
      {bytes_of(std::int32_t{0}) + bytes_of(std::int32_t{100}) + bytes_of(std::int32_t{4}) + bytes_of(std::int32_t{0}) +
           bytes_of(std::int32_t{2}) + "p",
       "MATLAB file of level 4: save it with -v6, -v7 or -v7.3"},
      {"", "it is empty"},
      {"fLaC" + std::string(60, '\1'), "nearfield encode"}};
  for (const auto& [bytes, hint] : kinds) {
    SCOPED_TRACE(hint);
    write_text(folder / "f", bytes);
    EXPECT_THAT(
        error_of([&] { (void)text_of(facts_of_file(folder / "f")); }),
        AllOf(HasSubstr("that are not HDF5, expected an HDF5 file, or for time data WAV, RF64, a universal file"),
              HasSubstr(hint)));
  }
}

/// A tone of 1 Pa rms at 4 microphones, the second half as loud.
std::vector<float> tone() {
  std::vector<float> samples(4 * 4800);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t sample = i / 4;
    const auto t = static_cast<double>(sample);
    samples[i] = static_cast<float>((i % 4 == 1 ? 0.5 : 1.0) * std::numbers::sqrt2 * std::sin(0.1308996938 * t) + 0.25);
  }
  return samples;
}

TEST(SampleLevels, AreThoseOfATone) {
  const TempFolder folder;
  std::vector<float> samples = tone();
  samples[4 * 100 + 2] = std::numeric_limits<float>::quiet_NaN();
  write_time_data(folder / "t.h5", 48000.0, 4, samples);
  const TimeDataReader reader(folder / "t.h5");
  const SampleLevels levels = levels_of(reader, 1U << 20U);
  ASSERT_EQ(levels.channels.size(), 4U);
  EXPECT_TRUE(levels.is_whole);
  EXPECT_NEAR(levels.channels[0].rms, 1.0, 1e-4);  // of a window that is no whole number of periods
  EXPECT_NEAR(levels.channels[1].rms, 0.5, 1e-4);
  EXPECT_NEAR(levels.channels[0].mean, 0.25, 1e-3);
  EXPECT_NEAR(levels.channels[0].peak, 0.25 + std::numbers::sqrt2, 1e-3);
  EXPECT_EQ(levels.channels[2].non_finite, 1U);
  EXPECT_EQ(levels.channels[0].clipped, 0U);
  EXPECT_NEAR(level_db(levels.channels[0].rms), 93.98, 0.01);
  EXPECT_THAT(text_of(levels, true), HasSubstr("94.0 dB re 20 uPa rms"));
  EXPECT_THAT(doubt_about(levels), IsEmpty());
  const SampleLevels spread = levels_of(reader, 6400);
  EXPECT_FALSE(spread.is_whole);
  EXPECT_NEAR(spread.channels[1].rms, 0.5, 0.02);
}

TEST(SampleLevels, AnOnlyPieceIsTheMiddleAndLimitsAreCounted) {
  std::vector<std::uint64_t> places;
  const auto read = [&](std::uint64_t first, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t place = first + i / 2;
      places.push_back(place);
      values[i] = static_cast<float>(place);
    }
  };
  const SampledChannels ramp{.channels = 2, .samples = 1000, .read = read, .limit = 507.0};
  const SampleLevels levels = levels_of(ramp, 20, 1);
  EXPECT_EQ(levels.samples, 10U);
  EXPECT_EQ(places.front(), 495U);
  EXPECT_EQ(places.back(), 504U);
  EXPECT_EQ(levels.channels[1].at_limit, 0U);
  EXPECT_EQ(levels_of(ramp, 2000).channels[0].at_limit, 493U);
}

TEST(SampleLevels, ClippedSamplesAreCounted) {
  const TempFolder folder;
  std::vector<float> samples = tone();
  std::size_t clipped = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i % 4 == 3 && samples[i] > 1.0F) {
      ++clipped;
    }
    samples[i] = i % 4 == 3 ? std::min(samples[i], 1.0F) : 0.5F * samples[i];
  }
  write_time_data(folder / "t.h5", 48000.0, 4, samples);
  const SampleLevels levels = levels_of(TimeDataReader(folder / "t.h5"), 1U << 20U);
  EXPECT_EQ(levels.channels[3].clipped, clipped);
  EXPECT_EQ(levels.channels[0].clipped, 0U);
  EXPECT_THAT(text_of(facts_of_file(folder / "t.h5")),
              HasSubstr(std::to_string(clipped) + " samples of 1 channels stay at"));
}

/// 4 channels in 16 bits of a sine of 50 Hz at 48 kHz, limited to `most` counts.
std::string sine_of_16_bits(double amplitude, double most) {
  std::string bytes = wav(0, 36 + 8 * 48000, 8 * 48000);
  for (int i = 0; i < 48000; ++i) {
    const double value = std::clamp(amplitude * std::sin(2.0 * std::numbers::pi * 50.0 * i / 48000.0), -most, most);
    for (int channel = 0; channel < 4; ++channel) {
      bytes += bytes_of(static_cast<std::int16_t>(std::lround(channel == 2 ? value : 0.5 * value)));
    }
  }
  return bytes;
}

// Equal samples on top of a slow wave are steps of the converter, in integers and in floats that were integers.
TEST(SampleLevels, TheTopOfASlowWaveIsNotClipped) {
  const TempFolder folder;
  for (const auto& [amplitude, most, is_clipped] :
       {std::tuple{2920.0, 32767.0, false}, {32760.0, 32767.0, false}, {60000.0, 32767.0, true}}) {
    write_text(folder / "i.wav", sine_of_16_bits(amplitude, most));
    const TimeDataReader integers(folder / "i.wav");
    std::vector<float> samples(4 * integers.samples());
    integers.read(0, samples);
    write_time_data(folder / "f.h5", 48000.0, 4, samples);
    const SampleLevels of_integers = levels_of(integers, 1U << 20U);
    const SampleLevels of_floats = levels_of(TimeDataReader(folder / "f.h5"), 1U << 20U);
    EXPECT_EQ(of_integers.channels[2].clipped > 0, is_clipped) << amplitude;
    EXPECT_EQ(of_integers.channels[0].clipped, 0U) << "at half of full scale, which integers do not stop at";
    EXPECT_EQ(of_floats.channels[2].clipped > 0, is_clipped) << amplitude;
    EXPECT_EQ(of_floats.channels[0].clipped > 0, is_clipped) << "of floats each channel has its own extreme";
  }
}

TEST(SampleLevels, WhatCannotBePascalIsNamed) {
  const TempFolder folder;
  std::vector<float> samples = tone();
  samples[4 * 77 + 2] = 1e14F;
  write_time_data(folder / "t.h5", 48000.0, 4, samples);
  EXPECT_THAT(
      doubt_about(levels_of(TimeDataReader(folder / "t.h5"), 1U << 20U)),
      HasSubstr("value 77 of channel 2 of the file: found a pressure of 1e+14 Pa, expected at most 200 dB re 20 uPa"));
  EXPECT_THAT(text_of(facts_of_file(folder / "t.h5")), HasSubstr("1e+14 Pa"));
  samples = tone();
  for (float& sample : samples) {
    sample *= 1e-5F;
  }
  write_time_data(folder / "t.h5", 48000.0, 4, samples);
  EXPECT_THAT(doubt_about(levels_of(TimeDataReader(folder / "t.h5"), 1U << 20U)), HasSubstr("-6.0 dB re 20 uPa rms"));
  for (const auto& [value, said] : {std::pair{0.0F, "are constant"}, {std::nanf(""), "are NaN or infinite"}}) {
    write_time_data(folder / "t.h5", 48000.0, 4, std::vector<float>(4 * 100, value));
    EXPECT_THAT(doubt_about(levels_of(TimeDataReader(folder / "t.h5"), 1U << 20U)), HasSubstr(said));
  }
}

}  // namespace
}  // namespace nearfield
