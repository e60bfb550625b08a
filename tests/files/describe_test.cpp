#include <cmath>
#include <functional>
#include <limits>

#include "files/file_test_support.hpp"
#include "files/files.hpp"
#include "support/images.hpp"
#include "support/two_processors.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

/// The facts of a description, without the first line, which names a file of the test's own.
std::string facts_of(const std::filesystem::path& path) {
  const std::string text = text_of(facts_of_file(path));
  EXPECT_THAT(text, testing::StartsWith("file          " + path.string() + " ("));
  return text.substr(text.find('\n') + 1);
}

CaptureInfo capture_info() {
  CaptureInfo info;
  info.measurement = small_measurement();
  info.layout = WireLayout::kRowMajor;
  info.start_time_ns = 1'000'000'000'000'000'042;
  return info;
}

TEST(Describe, Capture) {
  const TempFolder folder;
  {
    CaptureWriter writer(folder / "bits.h5", capture_info());
    writer.append(random_words(15'000, 1));
    writer.finish();
  }
  EXPECT_EQ(detect_file_kind(folder / "bits.h5"), FileKind::kCapture);
  EXPECT_EQ(facts_of(folder / "bits.h5"),
            "kind          capture\n"
            "array         3 x 5 microphones (rows x columns)\n"
            "pitch         20 mm in x, 15 mm in y\n"
            "aperture      80 mm x 30 mm (x x y, centre to centre)\n"
            "standoff      30 mm\n"
            "layout        row-major, 1 words a bit-time\n"
            "sensitivity   -26 dBFS at 1 Pa rms (full scale 28.22 Pa peak)\n"
            "bit rate      1500000 Hz\n"
            "bit-times     15000\n"
            "duration      0.01 s\n"
            "start         2001-09-09 01:46:40.000000042 TAI\n"
            "segments      none\n"
            "truth         none\n");
}

TEST(Describe, CaptureWithTruthAndSegments) {
  const TempFolder folder;
  {
    CaptureInfo info = capture_info();
    info.start_time_ns = 0;
    CaptureWriter writer(folder / "bits.h5", info);
    writer.append(random_words(100, 1));
    writer.write_truth({.frequencies_hz = {1007.08, 500.0},
                        .pressure = random_complex(30, 1),
                        .normal_velocity = random_complex(30, 1),
                        .aperture_pressure = {}});
    writer.write_segments({.first_bit_time = {0, 60}, .bit_times = {60, 40}, .frequencies_hz = {500.0, 250.0}});
    writer.finish();
  }
  const std::string facts = facts_of(folder / "bits.h5");
  EXPECT_THAT(facts, HasSubstr("start         not stated\n"));
  EXPECT_THAT(facts, HasSubstr("segments      2 of 40 to 60 bit-times, 500, 250 Hz (2)\n"));
  EXPECT_THAT(facts, HasSubstr("truth         pressure, normal velocity at 1007.08, 500 Hz (2)\n"));
}

TEST(Describe, TimeData) {
  const TempFolder folder;
  write_time_data(folder / "time.h5", 48000.0, 2, std::vector<float>(9600));
  EXPECT_EQ(detect_file_kind(folder / "time.h5"), FileKind::kTimeData);
  EXPECT_EQ(facts_of(folder / "time.h5"),
            "kind          time data\n"
            "format        HDF5, as Acoular writes it\n"
            "channels      2\n"
            "sample rate   48000 Hz\n"
            "samples       4800\n"
            "duration      0.1 s\n"
            "unit          Pa\n"
            "array         not stated (comes from the configuration)\n"
            "levels        loudest channel 0 of the file: silent, peak 0 Pa; median silent\n"
            "              all 4800 samples of all channels that were looked at are constant, expected a sound\n");
}

// A tachometer beside the microphones is not looked at.
TEST(Describe, TimeDataOfTheChosenChannels) {
  const TempFolder folder;
  std::vector<float> samples;
  for (int i = 0; i < 4800; ++i) {
    const float tone = std::sin(0.1F * static_cast<float>(i));
    samples.insert(samples.end(), {tone, i % 100 < 50 ? 50.0F : 0.0F, 2.0F * tone});
  }
  write_time_data(folder / "time.h5", 48000.0, 3, samples);
  const std::string text = text_of(facts_of_file(folder / "time.h5", {}, {2, 0}));
  EXPECT_THAT(text, HasSubstr("channels      2, as array.channels chooses them\n"));
  EXPECT_THAT(text, HasSubstr("loudest channel 2 of the file: 97.0 dB re 20 uPa rms"));
  EXPECT_THAT(text, Not(HasSubstr("clipped?")));
}

// What rounding leaves of a mean of 0 was "1.38778e-17".
TEST(Describe, PlacesAreWithoutTheRoundingOfTheirMean) {
  const TempFolder folder;
  write_calibration(folder / "k.h5", {.geometry = geometry_of({{0.1, 0.1, 0.1}, {0.2, 0.7, 0.1}, {0.6, 0.3, 0.1}}),
                                      .frequencies_hz = {500.0},
                                      .gains = std::vector<std::complex<float>>(3, 1.0F)});
  EXPECT_THAT(text_of(facts_of_file(folder / "k.h5")), HasSubstr(" m in y, 0 to 0 m in z\n"));
}

TEST(Describe, Spectra) {
  const TempFolder folder;
  SpectraFile file{.measurement = small_measurement(), .frames = 1, .frequencies_hz = {}, .spectra = {}};
  for (int index = 1; index <= 20; ++index) {
    file.frequencies_hz.push_back(100.0 * index);
  }
  file.spectra.assign(20 * 15, {3.0F, -4.0F});
  file.spectra[7] = {std::nanf(""), 0.0F};
  write_spectra(folder / "spectra.h5", file);
  EXPECT_EQ(detect_file_kind(folder / "spectra.h5"), FileKind::kSpectra);
  const std::string facts = facts_of(folder / "spectra.h5");
  EXPECT_THAT(facts, HasSubstr("frames        1\n"));
  EXPECT_THAT(facts, HasSubstr("frequencies   100 to 2000 Hz (20)\n"));
  EXPECT_THAT(facts, HasSubstr("pressure      5 Pa rms over all values, largest 5 Pa (peak amplitudes)\n"));
  EXPECT_THAT(facts, HasSubstr("not finite    1 of 300 values\n"));
  EXPECT_THAT(facts, HasSubstr("truth         none\n"));
}

TEST(Describe, SpectraInAUnitOfTheirOwn) {
  const TempFolder folder;
  write_spectra(folder / "spectra.h5", {.measurement = small_measurement(),
                                        .frames = 1,
                                        .frequencies_hz = {100.0},
                                        .spectra = std::vector<std::complex<float>>(15, {3.0F, -4.0F})});
  edit(folder / "spectra.h5", [](hid_t file) { put_fixed_text(file, "/spectra", "unit", "Pa/N"); });
  EXPECT_THAT(facts_of(folder / "spectra.h5"),
              HasSubstr("pressure      5 Pa/N rms over all values, largest 5 Pa/N (peak amplitudes)\n"));
}

TEST(Describe, Calibration) {
  const TempFolder folder;
  std::vector<std::complex<float>> gains(15, {1.0F, 0.0F});
  gains[3] = {0.0F, 10.0F};
  write_calibration(folder / "gains.h5",
                    {.geometry = small_measurement().geometry, .frequencies_hz = {500.0}, .gains = gains});
  EXPECT_EQ(detect_file_kind(folder / "gains.h5"), FileKind::kCalibration);
  const std::string facts = facts_of(folder / "gains.h5");
  EXPECT_THAT(facts, HasSubstr("gain          0 to 20 dB\n"));
  EXPECT_THAT(facts, HasSubstr("phase         0 to 90 degrees\n"));
}

/// Levels show a wrong unit; the diagonal of a right matrix has mean squares.
TEST(Describe, CrossSpectra) {
  const TempFolder folder;
  const auto facts_with = [&](float of_last) {
    const std::filesystem::path path = folder / "csm.h5";
    std::filesystem::remove(path);
    CrossSpectraWriter writer(path, {.geometry = small_measurement().geometry,
                                     .frequencies_hz = {500.0, 1000.0},
                                     .snapshots = 8,
                                     .sample_rate_hz = 48000.0,
                                     .window_samples = 1024,
                                     .step_samples = 512});
    std::vector<std::complex<float>> matrix(15UL * 15UL, 1e6F);  // what lies off the diagonal does not count
    for (std::size_t i = 0; i < 15; ++i) {
      matrix[i * 16] = 4e-6F;  // 40 dB
    }
    writer.append(matrix);
    matrix[7 * 16] = 4.0F;  // 100 dB
    matrix[14 * 16] = of_last;
    writer.append(matrix);
    writer.finish();
    return facts_of(path);
  };
  EXPECT_THAT(facts_with(4e-6F),
              testing::AllOf(HasSubstr("levels        loudest microphone 7: 100.0 dB re 20 uPa rms at "
                                       "1000 Hz; median 40.0 dB re 20 uPa\n"),
                             Not(HasSubstr("negative"))));
  for (const float wrong : {-4e6F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(facts_with(wrong),
                testing::AllOf(HasSubstr("loudest microphone 7: 100.0 dB"),
                               HasSubstr("1 of 30 elements of the diagonals are negative or not finite")));
  }
}

TEST(Describe, Templates) {
  const TempFolder folder;
  Templates templates = {.measurement = small_measurement(),
                         .frequencies_hz = {500.0, 1000.0},
                         .positions_m = {-0.1, 0.0, -0.4, 0.3, 0.2, -0.5},
                         .a = std::vector<std::complex<float>>(2 * 2 * 15, {0.0F, 2.0F}),
                         .coherence = {1.0F, 0.95F, 0.5F, 0.99F},
                         .of_microphones = std::vector<float>(2 * 2 * 15, 1.0F),
                         .reference_channel = 3};
  std::fill_n(templates.a.begin(), 15, 1.0F);
  for (std::size_t first = 0; first < templates.a.size(); first += 15) {
    templates.a[first + 7] = 0.0F;
  }
  write_templates(folder / "templates.h5", templates);
  EXPECT_EQ(detect_file_kind(folder / "templates.h5"), FileKind::kTemplates);
  EXPECT_EQ(facts_of(folder / "templates.h5"),
            "kind          templates\n"
            "array         3 x 5 microphones (rows x columns)\n"
            "pitch         20 mm in x, 15 mm in y\n"
            "aperture      80 mm x 30 mm (x x y, centre to centre)\n"
            "standoff      30 mm\n"
            "templates     2 places, 15 microphones each\n"
            "reference     microphone 3\n"
            "places        -0.1 to 0.3 m in x, 0 to 0.2 m in y, -0.5 to -0.4 m in z\n"
            "frequencies   500, 1000 Hz (2)\n"
            "norm          0.9661 to 1.932, rms over microphones, of 1 at the array's centre\n"
            "silent        1 of 15 microphones, in all templates\n"
            "coherence     0.5 to 1; 1 of 4 below 0.9, which steering leaves out\n");
  EXPECT_THROW((void)read_calibration(folder / "templates.h5"), DataError);
}

// A template that its coherence leaves out may be 0 over 0, as one of silence is; any other has values.
TEST(TemplatesFile, RefusesWhatIsNotFinite) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const TempFolder folder;
  const Templates whole = {.measurement = small_measurement(),
                           .frequencies_hz = {500.0, 1000.0},
                           .positions_m = {-0.1, 0.0, -0.4, 0.3, 0.2, -0.5},
                           .a = std::vector<std::complex<float>>(2 * 2 * 15, {1.0F, 2.0F}),
                           .coherence = {1.0F, 0.95F, 0.5F, 0.99F},
                           .of_microphones = {}};
  const auto refusal_with = [&](const std::function<void(Templates&)>& change) -> std::string {
    Templates templates = whole;
    templates.of_microphones.assign(templates.a.size(), 1.0F);
    change(templates);
    write_templates(folder / "templates.h5", templates);
    try {
      (void)read_templates(folder / "templates.h5");
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_with([](Templates&) {}), "");
  EXPECT_EQ(refusal_with([](Templates& t) { t.a[2 * 15 + 4] = kNone; }), "") << "left out";
  EXPECT_THAT(refusal_with([](Templates& t) { t.a[3 * 15 + 4] = kNone; }), HasSubstr("/templates[1][1][4]"));
  EXPECT_THAT(refusal_with([](Templates& t) {
                t.a[7] = {0.0F, std::numeric_limits<float>::infinity()};
              }),
              HasSubstr("/templates[0][0][7]"));
  EXPECT_THAT(refusal_with([](Templates& t) { t.coherence[1] = kNone; }), HasSubstr("/coherence[0][1]"));
}

TEST(Describe, Images) {
  const TempFolder folder;
  const ImagesHeader header{.quantity = "pressure",
                            .unit = "Pa",
                            .config = "version: 1\narray: {}\n",
                            .device = "a device",
                            .front_end = "decimated_fft",
                            .frequencies_hz = {500.0, 1000.0},
                            .planes_m = {0.0, 0.01},
                            .x_m = {-0.01, 0.01},
                            .y_m = {-0.03, 0.0, 0.03}};
  ImagesWriter writer(folder / "images.h5", header, 5);
  for (unsigned number = 0; number < 4; ++number) {
    ImageFrame frame;
    frame.first_sample = 1024ULL * number;
    frame.timestamp_ns = 1'000'000'000'000'000'000 + 500'000 * static_cast<std::int64_t>(number);
    frame.flags = number == 0 ? 0U : (kFlagMaskedMicrophones | (number == 3 ? kFlagMissingBits : 0U));
    frame.missing_bits = number == 3 ? 64 : 0;
    frame.cutoff_rad_per_m = {150.0F, 200.0F};
    frame.slope = {0.1F, 0.1F};
    frame.noise_pa = {std::nanf(""), std::nanf("")};
    frame.error_estimate = {0.02F, 0.05F};
    frame.images = random_complex(header.values_per_frame(), number);
    writer.write(frame);
  }
  writer.finish();
  EXPECT_EQ(detect_file_kind(folder / "images.h5"), FileKind::kImages);
  EXPECT_EQ(facts_of(folder / "images.h5"),
            "kind          images\n"
            "quantity      pressure in Pa\n"
            "front end     decimated_fft\n"
            "device        a device\n"
            "frames        4 of 5\n"
            "first sample  0 to 3072\n"
            "start         2001-09-09 01:46:40.000000000 TAI\n"
            "frame rate    2000 Hz in the mean over 0.0015 s\n"
            "frequencies   500, 1000 Hz (2)\n"
            "planes        0 mm to 10 mm, 2 planes (z, 0 is the surface)\n"
            "x             -10 mm to 10 mm, 2 columns\n"
            "y             -30 mm to 30 mm, 3 rows\n"
            "cut-off       150 to 200 rad/m\n"
            "slope         0.1\n"
            "noise         none\n"
            "error         2 to 5 % of the image's rms, as expected\n"
            "flags         dead or masked microphones interpolated on 3 of 4 frames\n"
            "              missing bits on 1 of 4 frames\n"
            "              1 of 4 frames have no flag\n"
            "missing bits  64 at most in a frame\n"
            "config        2 lines of YAML in the attribute config\n");
}

TEST(Describe, CountsAreSaidInWords) {
  const TempFolder folder;
  ImagesHeader header{.quantity = "pressure",
                      .unit = "Pa",
                      .config = "version: 1\n",
                      .device = "a device",
                      .front_end = "decimated_fft",
                      .frequencies_hz = {500.0},
                      .planes_m = {0.0},
                      .x_m = {-0.01, 0.01},
                      .y_m = {0.0}};
  ImagesWriter writer(folder / "images.h5", header, 1);
  ImageFrame frame;
  frame.flags = kFlagMaskedMicrophones;
  frame.cutoff_rad_per_m = frame.slope = frame.noise_pa = {std::nanf("")};
  frame.error_estimate = {0.142F};
  frame.images = random_complex(header.values_per_frame(), 1);
  writer.write(frame);
  writer.finish();
  const std::string facts = facts_of(folder / "images.h5");
  EXPECT_THAT(facts, testing::HasSubstr("plane z       0 mm\n"));
  EXPECT_THAT(facts, testing::HasSubstr("error         14.2 % of the image's rms, as expected\n"));
  EXPECT_THAT(facts, testing::HasSubstr("flags         dead or masked microphones interpolated on the one frame\n"));
}

TEST(Describe, ImagesAndAnotherProcessor) {
  const TempFolder folder;
  write_two_processors_to(folder / "r.h5", 17);
  const std::string facts = facts_of(folder / "r.h5");
  EXPECT_THAT(facts, testing::StartsWith("kind          images\n"
                                         "processor     surface (pnah)\n"
                                         "quantity      pressure in Pa\n"));
  EXPECT_THAT(facts,
              testing::EndsWith("config        1 lines of YAML in the attribute config\n"
                                "processor     row_power (mean_power)\n"
                                "              front end popcount, device another device\n"
                                "              memory all hops before a frame\n"
                                "              3 frames\n"
                                "              frequency: 500, 1000 Hz (2)\n"
                                "              y: -0.01, 0.01 m (2)\n"
                                "              azimuth: -90, 0, 90 deg (3)\n"
                                "              row_power: mean power of a row over frequency, y: 1 to 12 Pa^2\n"
                                "              beam: pressure over frequency, azimuth, complex, magnitudes: 0 "
                                "to 5 Pa\n"
                                "              found: sources, table of 0 to 2 rows, at most 3: id 7 to 8; seen "
                                "2 to 1.1e+12; level 0.5 to 3 Pa; x_m -0.02 to 0.03 m\n"
                                "              first sample 0 to 16384, start not stated\n"
                                "              frame rate 125 Hz in the mean over 0.016 s\n"
                                "              flags clipped microphones on 1 of 3 frames, 2 of 3 frames have no "
                                "flag\n"
                                "              missing bits 2 at most in a frame\n"));
}

TEST(Describe, ResultsThatAreNoImages) {
  const TempFolder folder;
  {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(row_power_header(), {.frames = 2});
    ResultFrame frame = row_power_frame(0);
    frame.frame.processor = 0;
    writer.write(frame.frame);
    writer.finish();
  }
  const std::string facts = facts_of(folder / "r.h5");
  EXPECT_THAT(facts, testing::StartsWith("kind          images\nprocessor     row_power (mean_power)\n"));
  EXPECT_THAT(facts, HasSubstr("              1 of 2 frames\n"));
  EXPECT_THAT(facts, testing::EndsWith("config        1 lines of YAML in the attribute config\n"));
}

}  // namespace
}  // namespace nearfield
