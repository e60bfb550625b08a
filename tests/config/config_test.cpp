#include "config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "config/written_file.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Lines = std::vector<std::string>;

Settings load_text(const std::string& text, const Lines& overrides = {}) {
  return load_settings(WrittenFile(text).path(), overrides);
}

Lines errors_of(const std::string& text, const Lines& overrides = {}) {
  return error_lines(text, [&](const std::string& path) { (void)load_settings(path, overrides); });
}

TEST(Config, DefaultsAreTheContracts) {
  for (const Settings& settings : {load_settings("", {}), load_text("")}) {
    EXPECT_EQ(settings.array.geometry, (ArrayGeometry{32, 32, 0.02, 0.02}));
    EXPECT_EQ(settings.array.sensitivity_dbfs, -26.0);
    EXPECT_EQ(settings.front_end.window_samples, 1024);
    EXPECT_EQ(settings.holography.planes_m, std::vector<double>{0.0});
    EXPECT_EQ(settings.holography.extrapolation.method, Extrapolation::kPlpbp);
    EXPECT_EQ(settings.holography.filter.cutoff_rule, CutoffRule::kAuto);
    EXPECT_THAT(settings.explicit_keys, IsEmpty());
  }
}

TEST(Config, ReadsEveryKey) {
  const Settings settings = load_text(
      "version: 1\n"
      "array: {rows: 12, columns: 20, pitch_x_m: 0.01, pitch_y_m: 0.015, layout: row-major, sensitivity_dbfs: -30.5,\n"
      "        dead_channels: [3, 239], calibration: /c.h5}\n"
      "medium: {sound_speed_m_s: 340, density_kg_m3: 1.3}\n"
      "front_end: {kind: decimated_fft, window: none, decimation: 32, window_samples: 1050, hop_samples: 7,\n"
      "            frequencies_hz: [500, 100.5, 900]}\n"
      "holography: {standoff_m: 0.04, planes_m: [-0.01, 0.039], quantity: normal_velocity, upsample: 3,\n"
      "             extrapolation: {method: lpbp, order: 5, factor: 2.5},\n"
      "             filter: {kind: tikhonov, cutoff_rad_per_m: [50, 60, 70], dynamic_range_db: 25, slope: 0.2,\n"
      "                      tikhonov_lambda: 1e-2}}\n"
      "device: {platform: Portable Computing, index: 2, fft: clfft}\n");
  EXPECT_EQ(settings.array.geometry, (ArrayGeometry{12, 20, 0.01, 0.015}));
  EXPECT_EQ(settings.array.layout, WireLayout::kRowMajor);
  EXPECT_EQ(settings.array.sensitivity_dbfs, -30.5);
  EXPECT_THAT(settings.array.dead_channels, ElementsAre(3, 239));
  EXPECT_EQ(settings.array.calibration_path, "/c.h5");
  EXPECT_EQ(settings.medium.sound_speed_m_s, 340.0);
  EXPECT_EQ(settings.medium.density_kg_m3, 1.3);
  EXPECT_EQ(settings.front_end.window, WindowKind::kNone);
  EXPECT_EQ(settings.front_end.window_samples, 1050);
  EXPECT_EQ(settings.front_end.hop_samples, 7);
  EXPECT_THAT(settings.front_end.frequencies_hz, ElementsAre(500.0, 100.5, 900.0));
  EXPECT_EQ(settings.holography.standoff_m, 0.04);
  EXPECT_THAT(settings.holography.planes_m, ElementsAre(-0.01, 0.039));
  EXPECT_EQ(settings.holography.quantity, Quantity::kNormalVelocity);
  EXPECT_EQ(settings.holography.upsample, 3);
  EXPECT_EQ(settings.holography.extrapolation.method, Extrapolation::kLpbp);
  EXPECT_EQ(settings.holography.extrapolation.order, 5);
  EXPECT_EQ(settings.holography.extrapolation.factor, 2.5);
  EXPECT_EQ(settings.holography.filter.kind, FilterKind::kTikhonov);
  EXPECT_EQ(settings.holography.filter.cutoff_rule, CutoffRule::kGiven);
  EXPECT_THAT(settings.holography.filter.cutoff_rad_per_m, ElementsAre(50.0, 60.0, 70.0));
  EXPECT_EQ(settings.holography.filter.dynamic_range_db, 25.0);
  EXPECT_EQ(settings.holography.filter.slope, 0.2);
  EXPECT_EQ(settings.holography.filter.tikhonov_lambda, 1e-2);
  EXPECT_EQ(settings.device.platform, "Portable Computing");
  EXPECT_EQ(settings.device.index, 2);
  EXPECT_EQ(settings.device.fft, "clfft");
  EXPECT_EQ(settings.explicit_keys.size(), 31U);
}

TEST(Config, MasksWhatIsCertainUnlessToldOtherwise) {
  EXPECT_EQ(load_text("").array.health.mask, HealthMask::kCertain);
  const std::map<std::string, HealthMask> words = {
      {"certain", HealthMask::kCertain}, {"all", HealthMask::kAll},      {"none", HealthMask::kNone},
      {"true", HealthMask::kCertain},    {"True", HealthMask::kCertain}, {"TRUE", HealthMask::kCertain},
      {"false", HealthMask::kNone},      {"False", HealthMask::kNone},   {"FALSE", HealthMask::kNone}};
  for (const auto& [word, mask] : words) {
    EXPECT_EQ(load_text("array: {health: {mask: " + word + "}}\n").array.health.mask, mask) << word;
  }
  EXPECT_THAT(errors_of("array: {health: {mask: some}}\n"),
              ElementsAre(HasSubstr("array.health.mask: expected one of certain, all, none, found \"some\"")));
}

TEST(Config, RemembersWhatTheUserGave) {
  const Settings settings = load_text("array: {rows: 32, calibration: null}\nholography: {filter: {slope: 0.1}}\n",
                                      {"front_end.frequencies_hz=[100, 200]"});
  EXPECT_THAT(settings.explicit_keys, UnorderedElementsAre("array.rows", "array.calibration", "holography.filter.slope",
                                                           "front_end.frequencies_hz"));
}

TEST(Config, OverridesWinTheLastMost) {
  const Settings settings = load_text(
      "holography: {standoff_m: 0.1, filter: {cutoff_rad_per_m: 100}}\n",
      {"holography.standoff_m=0.2", "holography.standoff_m=0.3", "holography.filter={slope: 0.4}",
       "holography.filter.cutoff_rad_per_m=dynamic_range", "holography.planes_m=[0.01, 0.02]", "device.platform=a=b"});
  EXPECT_EQ(settings.holography.standoff_m, 0.3);
  EXPECT_EQ(settings.holography.filter.slope, 0.4);
  EXPECT_EQ(settings.holography.filter.cutoff_rule, CutoffRule::kDynamicRange);
  EXPECT_THAT(settings.holography.filter.cutoff_rad_per_m, IsEmpty());
  EXPECT_THAT(settings.holography.planes_m, ElementsAre(0.01, 0.02));
  EXPECT_EQ(settings.device.platform, "a=b");
}

// The last word counts, as for other settings; a typo is no silence.
TEST(Config, NullTakesAProcessorAway) {
  const std::string yaml = "processors: {far: {kind: beamform}, ear: {kind: listen}}\n";
  const auto names = [&](const std::vector<std::string>& overrides) {
    std::vector<std::string> found;
    for (const ProcessorSettings& processor : load_text(yaml, overrides).processors) {
      found.push_back(processor.name + ' ' + processor.kind);
    }
    return found;
  };
  EXPECT_THAT(names({"processors.far=null"}), ElementsAre("ear listen"));
  EXPECT_THAT(names({"processors.meters.kind=levels", "processors.meters=null"}),
              ElementsAre("far beamform", "ear listen"));
  EXPECT_THAT(names({"processors.far=null", "processors.far.kind=spectrum"}),
              ElementsAre("ear listen", "far spectrum"));
  EXPECT_THAT(errors_of(yaml, {"processors.fa=null"}),
              ElementsAre("given by set: processors.fa: expected a processor to take away, found none of this name"));
  EXPECT_THAT(names(lasting({"processors.far=null"})), ElementsAre("ear listen"));
  EXPECT_THAT(names(lasting({"processors.far=null", "processors.gone=null"})), ElementsAre("ear listen"))
      << "a file that was saved since has neither";
  EXPECT_THAT(errors_of(yaml, {"front_end=null"}),
              ElementsAre("given by set: front_end: expected a mapping, found nothing"));
}

// A weighting that would do nothing, or weight what it is not of, is no silence.
TEST(Config, RefusesAWeightingOfNoSound) {
  const auto errors = [](std::vector<std::string> overrides) {
    overrides.emplace_back("front_end.weighting=a");
    return errors_of("", overrides);
  };
  EXPECT_THAT(errors({}), ElementsAre(HasSubstr("front_end.weighting: expected z without bands")));
  EXPECT_THAT(errors({"front_end.octave=[2000]"}), IsEmpty());
  const auto of_velocity = HasSubstr("quantity: normal_velocity, as weightings are of pressure and intensity, found a");
  EXPECT_THAT(errors({"front_end.octave=[2000]", "holography.quantity=normal_velocity"}), ElementsAre(of_velocity));
  EXPECT_THAT(errors({"front_end.octave=[2000]", "processors.v.kind=pnah", "processors.v.quantity=normal_velocity"}),
              ElementsAre(of_velocity));
  EXPECT_THAT(errors({"processors.far.kind=beamform", "processors.far.average.kind=linear",
                      "processors.far.bands.octave=[2000]", "holography.quantity=normal_velocity"}),
              IsEmpty());
  EXPECT_THAT(errors({"front_end.octave=[1000]", "holography.imager=none", "processors.s.kind=spectrum"}),
              ElementsAre(HasSubstr("front_end.octave: expected none with holography.imager: none")));
}

TEST(Config, RefusesBadOverrides) {
  const auto error = [](const std::string& text) { return errors_of("", {text}); };
  for (const std::string bad : {"", "=1", "array.rows", "array..rows=1", ".rows=1", "a.=1", "a.b.c.d.e.f.g.h.i=1"}) {
    EXPECT_THAT(
        error(bad),
        ElementsAre("given by set: expected KEY=VALUE, such as holography.standoff_m=0.03, found \"" + bad + "\""));
  }
  EXPECT_THAT(error("array.rows=many"),
              ElementsAre("given by set: array.rows: expected an integer from 1 to 64, found \"many\""));
  EXPECT_THAT(error("array.rows="),
              ElementsAre("given by set: array.rows: expected an integer from 1 to 64, found nothing"));
  EXPECT_THAT(error("array.row=3"), ElementsAre("given by set: array.row: unknown key; did you mean array.rows?"));
  EXPECT_THAT(error("array=3"), ElementsAre(HasSubstr("given by set: array: expected a mapping")));
  EXPECT_THAT(error("holography.planes_m=[0, 1"),
              ElementsAre(HasSubstr("given by set: holography.planes_m: expected YAML, found a syntax error")));
  EXPECT_THAT(error("holography.planes_m=[0, 0.05]"), IsEmpty());  // the capture may stand farther off
  EXPECT_THAT(error("holography={planes_m: [0, 0.05], standoff_m: 0.05}"),
              ElementsAre(HasSubstr("given by set: holography.planes_m[1]: expected a plane")));
}

struct BadSetting {
  std::string yaml;
  std::string message;  ///< part of it
};

TEST(Config, RefusesValuesOutOfRange) {
  const std::vector<BadSetting> cases = {
      {"version: 2", "version: expected 1, found \"2\""},
      {"array: {rows: 0}", "array.rows: expected an integer from 1 to 64, found \"0\""},
      {"array: {columns: 65}", "array.columns: expected an integer from 1 to 64, found \"65\""},
      {"array: {pitch_x_m: 0}", "array.pitch_x_m: expected a length > 0 m, found \"0\""},
      {"array: {pitch_y_m: 1e-9}", "array.pitch_y_m: expected a length from 1e-06 to 100 m, found \"1e-9\""},
      {"array: {layout: spiral}", "array.layout: expected one of sorama-cam, row-major, found \"spiral\""},
      {"array: {sensitivity_dbfs: 1000}", "array.sensitivity_dbfs: expected a level"},
      {"array: {dead_channels: [0, -1]}", "array.dead_channels[1]: expected an integer from 0 to 4095, found \"-1\""},
      {"array: {calibration: [a]}", "array.calibration: expected a text, found a list of 1"},
      {"array: {calibration: ''}", "array.calibration: expected a path or null, found the text \"\""},
      {"medium: {sound_speed_m_s: 0}", "medium.sound_speed_m_s: expected a speed"},
      {"medium: {density_kg_m3: -1}", "medium.density_kg_m3: expected a density"},
      {"front_end: {kind: fft}",
       "front_end.kind: expected one of decimated_fft, dot_product, popcount, walsh_fourier, found \"fft\""},
      {"front_end: {window: hamming}", "front_end.window: expected one of hann, none, found \"hamming\""},
      {"front_end: {decimation: 16}", "front_end.decimation: expected 32 or 64, found \"16\""},
      {"front_end: {window_samples: 15}", "front_end.window_samples: expected an integer from 16 to 65536"},
      {"front_end: {window_samples: 65537}", "front_end.window_samples: expected an integer from 16 to 65536"},
      {"front_end: {window_samples: 1023}", "expected a product of powers of 2, 3, 5 and 7 (the next one is 1024)"},
      {"front_end: {hop_samples: 0}", "front_end.hop_samples: expected an integer >= 1, found \"0\""},
      {"front_end: {hop_samples: 2147483648}", "front_end.hop_samples: expected an integer >= 1"},
      {"front_end: {frequencies_hz: []}", "front_end.frequencies_hz: expected 1 to 1000 frequencies, found an empty"},
      {"front_end: {frequencies_hz: [1, 0]}", "front_end.frequencies_hz[1]: expected a frequency > 0 Hz, found \"0\""},
      {"front_end: {frequencies_hz: [1, 2, 1.0]}",
       "front_end.frequencies_hz[2]: expected each frequency once, found 1"},
      {"holography: {standoff_m: 3 cm}", "holography.standoff_m: expected a length > 0 m, found \"3 cm\""},
      {"holography: {planes_m: []}", "holography.planes_m: expected 1 to 64 planes, found an empty list"},
      {"holography: {planes_m: [.nan]}", "holography.planes_m[0]: expected a position from -100 to 100 m"},
      {"holography: {quantity: intensity}",
       "expected one of pressure, normal_velocity, displacement, active_intensity, found \"intensity\""},
      {"front_end: {bands_hz: 500}",
       "front_end.bands_hz: expected a list of pairs, each [a frequency >= 0 Hz, a frequency >= 0 Hz], found \"500\""},
      {"front_end: {bands_hz: [[0, 500], [500, 1000, 2000]]}",
       "front_end.bands_hz[1]: expected a pair [a frequency >= 0 Hz, a frequency >= 0 Hz], found a list of 3"},
      {"front_end: {bands_hz: [[-1, 5]]}", "front_end.bands_hz[0]: expected a pair"},
      {"holography: {points: 3}", "holography.points: expected a list of mappings, found \"3\""},
      {"holography: {points: [{x_m: 0.1}]}",
       "holography.points[0].y_m: expected a position from -100 to 100 m, found nothing"},
      {"holography: {points: [{x_m: 0, y_m: 1 cm}]}",
       "holography.points[0].y_m: expected a position from -100 to 100 m, found \"1 cm\""},
      {"holography: {points: [{x_m: 0, y_m: 0}, {x_m: 0.29, y_m: -0.32}], standoff_m: 1}\narray: {rows: 32, columns: "
       "32, pitch_x_m: 0.02, pitch_y_m: 0.02}",
       "holography.points[1]: expected a point of the aperture, x from -0.31 to 0.31 m and y from -0.31 to 0.31 m, "
       "found x 0.29 m, y -0.32 m"},
      {"{front_end: {bands_hz: [[0, 500]], frequencies_hz: [700, 800]}, holography: {filter: {cutoff_rad_per_m: [80, "
       "90]}}}",
       "expected one cut-off, or a rule, beside front_end.bands_hz, found a list of 2"},
      {"holography: {upsample: 9}", "holography.upsample: expected an integer from 1 to 8, found \"9\""},
      {"holography: {search_every_frames: -1}",
       "holography.search_every_frames: expected an integer >= 0, found \"-1\""},
      {"holography: {search_every: 5}",
       "holography.search_every: unknown key; did you mean holography.search_every_frames?"},
      {"holography: {extrapolation: {method: burg}}", "expected one of plpbp, lpbp, edge, zero, found \"burg\""},
      {"holography: {extrapolation: {order: 63}}", "extrapolation.order: expected an integer from 1 to 62"},
      {"holography: {extrapolation: {factor: 0.5}}", "extrapolation.factor: expected a factor from 1 to 8"},
      {"holography: {filter: {kind: hann}}", "filter.kind: expected one of cos, tikhonov, none, found \"hann\""},
      {"holography: {filter: {slope: 0}}", "filter.slope: expected a slope > 0, at most 2, found \"0\""},
      {"holography: {filter: {tikhonov_lambda: -1}}", "filter.tikhonov_lambda: expected a number of 1e-30 to 1e6"},
      {"holography: {filter: {dynamic_range_db: 0}}", "filter.dynamic_range_db: expected a range > 0 dB"},
      {"holography: {filter: {cutoff_rad_per_m: 0}}",
       "expected a wavenumber > 0 rad/m (or auto, search or dynamic_range), or"},
      {"holography: {filter: {cutoff_rad_per_m: []}}",
       "expected a wavenumber > 0 rad/m, a list with one per frequency"},
      {"device: {platform: ''}", "device.platform: expected auto or a part of a platform's name"},
      {"device: {index: -1}", "device.index: expected an integer from 0 to 1023, found \"-1\""},
      {"device: {fft: fftw}", "device.fft: expected one of auto, clfft, fused, found \"fftw\""},
      {"- 1", "expected a mapping"},
      {"array: 5", "array: expected a mapping"},
  };
  for (const BadSetting& bad : cases) {
    EXPECT_THAT(errors_of(bad.yaml), ElementsAre(AllOf(testing::StartsWith("lab.yaml:1:"), HasSubstr(bad.message))))
        << bad.yaml;
  }
}

TEST(Config, TakesWordsForTheCutoff) {
  const std::vector<std::pair<std::string, CutoffRule>> words = {
      {"auto", CutoffRule::kAuto}, {"search", CutoffRule::kSearch}, {"dynamic_range", CutoffRule::kDynamicRange}};
  for (const auto& [word, rule] : words) {
    const WrittenFile file("holography: {filter: {cutoff_rad_per_m: " + word + "}}\n");
    const FilterSettings filter = load_settings(file.path(), {}).holography.filter;
    EXPECT_EQ(filter.cutoff_rule, rule) << word;
    EXPECT_THAT(filter.cutoff_rad_per_m, IsEmpty());
  }
  EXPECT_THAT(errors_of("holography: {filter: {cutoff_rad_per_m: best}}"),
              ElementsAre(HasSubstr("expected a wavenumber > 0 rad/m (or auto, search or dynamic_range)")));
}

TEST(Config, PointsAtTheDocumentThatGaveAValueLast) {
  const std::string file = "holography:\n  standoff_m: 0.03\n  planes_m: [0, 0.04]\n";
  EXPECT_THAT(errors_of(file), ElementsAre(HasSubstr("lab.yaml:3:17: holography.planes_m[1]: expected a plane")));
  EXPECT_THAT(errors_of(file, {"holography.planes_m=0.05"}),
              ElementsAre(HasSubstr("given by set: holography.planes_m[0]: expected a plane")));
}

TEST(Config, BatchesSpanAtMostOneWindow) {
  EXPECT_THAT(errors_of("front_end: {hop_samples: 300}\ndevice: {batch: 4}\n"), ::testing::IsEmpty());
  EXPECT_THAT(
      errors_of("front_end: {hop_samples: 300}\ndevice: {batch: 5}\n"),
      ElementsAre("lab.yaml:2:17: device.batch: expected at most 4, whose frames span one window (1024 samples at "
                  "a hop of 300), found 5"));
}

TEST(Config, ReportsEveryProblemAtOnce) {
  EXPECT_THAT(errors_of("array:\n  rows: 32.0\n  colums: 8\nholography:\n  stand_off_m: 1\n  standoff_m: 0.05\n"
                        "  planes_m: [0.06]\nfront_end: {hop_samples: 1e3}\n",
                        {"medium.density_kg_m3=air", "nonsense"}),
              ElementsAre("lab.yaml:2:9: array.rows: expected an integer from 1 to 64, found \"32.0\"",
                          "lab.yaml:3:3: array.colums: unknown key; did you mean array.columns?",
                          "lab.yaml:8:26: front_end.hop_samples: expected an integer >= 1, found \"1e3\"",
                          "lab.yaml:5:3: holography.stand_off_m: unknown key; did you mean holography.standoff_m?",
                          HasSubstr("given by set: medium.density_kg_m3: expected a density"),
                          HasSubstr("given by set: expected KEY=VALUE"),
                          HasSubstr("lab.yaml:7:14: holography.planes_m[0]: expected a plane from -0.05 m")));
}

TEST(Config, RefusesContradictionsBetweenGivenKeys) {
  const std::vector<BadSetting> cases = {
      {"array: {rows: 8, columns: 8, layout: sorama-cam}", "array.layout: sorama-cam expects 32 x 32 microphones"},
      {"array: {rows: 8, columns: 8, dead_channels: [64]}", "array.dead_channels[0]: expected a channel"},
      {"array: {rows: 3}", "holography.extrapolation.method: plpbp expects at least 4 rows of microphones, found 3"},
      {"array: {columns: 1}", "holography.extrapolation.method: plpbp expects at least 4 columns of microphones"},
      {"holography: {standoff_m: 0.03, planes_m: [0, 0.03]}", "holography.planes_m[1]: expected a plane"},
      {"holography: {standoff_m: 0.03, planes_m: [-0.031]}", "holography.planes_m[0]: expected a plane"},
      {"{front_end: {frequencies_hz: [500, 900]}, holography: {filter: {cutoff_rad_per_m: [1, 2, 3]}}}",
       "expected one cut-off, or one for each of 2 frequencies"},
  };
  for (const BadSetting& bad : cases) {
    EXPECT_THAT(errors_of(bad.yaml), ElementsAre(HasSubstr(bad.message))) << bad.yaml;
  }
  EXPECT_THAT(errors_of("array: {rows: 8, columns: 8}"), IsEmpty());
  EXPECT_THAT(errors_of("array: {dead_channels: [2000]}"), IsEmpty());
  EXPECT_THAT(errors_of("array: {rows: 1, columns: 2}\nholography: {extrapolation: {method: edge}}"), IsEmpty());
  EXPECT_THAT(errors_of("holography: {standoff_m: 0.03, planes_m: [-0.03, 0.0299]}"), IsEmpty());
}

TEST(Config, DoesNotBlameTheDefaultOfAWrongKey) {
  EXPECT_THAT(errors_of("front_end: {frequencies_hz: [1, 2, x]}\nholography: {filter: {cutoff_rad_per_m: [1, 2, 3]}}"),
              ElementsAre(HasSubstr("front_end.frequencies_hz[2]: expected a frequency")));
}

TEST(Config, FindsTheCalibrationBesideTheFile) {
  const WrittenFile file("array: {calibration: gains/c.h5}\n");
  EXPECT_EQ(load_settings(file.path(), {}).array.calibration_path, (file.folder() / "gains/c.h5").string());
  EXPECT_EQ(load_settings(file.path(), {"array.calibration=c.h5"}).array.calibration_path,
            (std::filesystem::current_path() / "c.h5").string());
  EXPECT_EQ(load_settings(file.path(), {"array.calibration=null"}).array.calibration_path, "");
}

TEST(Config, PassesSyntaxErrorsAndMissingFilesOn) {
  EXPECT_THAT(errors_of("array: {rows: [}\n", {"x"}),
              ElementsAre(HasSubstr("lab.yaml:1:16: expected YAML, found a syntax error"), HasSubstr("KEY=VALUE")));
  EXPECT_THROW(load_settings("/nowhere/lab.yaml", {}), NoInputError);
  EXPECT_THROW(load_settings("/dev/zero", {}), NoInputError) << "nor is a pipe waited for";
}

TEST(Config, LetsNothingButItsOwnErrorsOut) {
  const std::string whole = to_yaml(Settings{});
  std::mt19937 random(99);
  int refused = 0;
  for (int draw = 0; draw < 2000; ++draw) {
    std::string bytes = whole;
    for (int change = 0; change <= draw % 4; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    }
    EXPECT_NO_THROW(refused += errors_of(bytes).empty() ? 0 : 1) << testing::PrintToString(bytes);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace nearfield
