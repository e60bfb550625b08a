#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "files/files.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform_support.hpp"
#include "processors/far_field/subset.hpp"
#include "support/command.hpp"

/// Steering by templates: maps over the places at which they were measured.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::Position;
using test::Beamformer;
using test::Complex;
using test::DeviceMapper;
using test::difference_of;
using test::ReferenceMapper;
using testing::HasSubstr;

/// Places in the field, from the array's centre.
std::vector<Position> places_of(int columns, int rows, double step_m, double distance_m) {
  std::vector<Position> places;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      places.push_back({(column - (columns - 1) / 2.0) * step_m, (row - (rows - 1) / 2.0) * step_m, -distance_m});
    }
  }
  return places;
}

/// Templates of the fields `field(place)` [frequency][channel] of unit sources, 1 at the array's centre as
/// `nearfield templates` has them: microphone `centre` has r_0/r.
template <class Field>
Templates templates_of(const Beamformer& beamformer, const std::vector<Position>& places, const Field& field,
                       std::size_t centre) {
  Templates templates;
  templates.measurement = {.geometry = beamformer.array.geometry, .standoff_m = beamformer.array.standoff_m};
  templates.frequencies_hz = beamformer.array.frequencies_hz;
  const auto channels = static_cast<std::size_t>(beamformer.array.geometry.channels());
  const std::size_t frequencies = templates.frequencies_hz.size();
  templates.a.resize(frequencies * places.size() * channels);
  templates.coherence.assign(frequencies * places.size(), 1.0F);
  templates.of_microphones.assign(templates.a.size(), 1.0F);
  const Position microphone = far_field::microphones_of(beamformer.array.geometry)[centre];
  for (std::size_t i = 0; i < places.size(); ++i) {
    templates.positions_m.insert(templates.positions_m.end(),
                                 {places[i].x, places[i].y, places[i].z + beamformer.array.standoff_m});
    const std::vector<Complex> values = field(places[i]);
    const double magnitude = norm(places[i]) / distance(places[i], microphone);
    for (std::size_t f = 0; f < frequencies; ++f) {
      for (std::size_t m = 0; m < channels; ++m) {
        templates.a[(f * places.size() + i) * channels + m] =
            std::complex<float>(values[f * channels + m] / values[f * channels + centre] * magnitude);
      }
    }
  }
  return templates;
}

Beamformer measured(int rows, int columns, std::vector<double> frequencies_hz, const std::string& path) {
  Beamformer beamformer(rows, columns, std::move(frequencies_hz));
  beamformer.own.steering.model = far_field::Model::kMeasured;
  beamformer.own.steering.templates_path = path;
  return beamformer;
}

// Templates of monopoles are steering vectors of monopoles, but for their phase at the reference.
TEST(BeamformMeasured, IsTheMonopoleWhereTemplatesAreMonopoles) {
  const test::TemporaryFolder folder;
  const std::vector<Position> places = places_of(4, 3, 0.1, 0.4);
  for (const auto formulation :
       {Formulation::kClassic, Formulation::kInverse, Formulation::kTrueLevel, Formulation::kTrueLocation}) {
    for (const double reference_m : {0.0, 2.0}) {
      Beamformer beamformer = measured(5, 7, {1000.0, 3000.0}, folder / "t.h5");
      write_templates(folder / "t.h5",
                      templates_of(
                          beamformer, places, [&](const Position& place) { return beamformer.monopole(place); }, 17));
      beamformer.own.steering.formulation = formulation;
      beamformer.own.steering.reference_m = reference_m;
      Beamformer of_points = beamformer;
      of_points.own.steering.model = far_field::Model::kMonopole;
      of_points.own.grid.kind = far_field::GridKind::kPlane;
      of_points.own.grid.distance_m = {0.4};
      of_points.own.grid.x_m = {-0.15, 0.15};
      of_points.own.grid.y_m = {-0.1, 0.1};
      of_points.own.grid.step_m = 0.1;
      const std::vector<Complex> field = test::busy_field(beamformer, 3);
      const auto magnitudes = [&](const Beamformer& one) {
        std::vector<double> values;
        for (const std::complex<float> value : ReferenceMapper(one).beams(field)) {
          values.push_back(static_cast<double>(std::abs(value)));
        }
        return values;
      };
      EXPECT_LT(difference_of(magnitudes(beamformer), magnitudes(of_points)), 1e-6) << "float32 in the file";
    }
  }
}

TEST(BeamformMeasured, DeviceEqualsTheReference) {
  const test::TemporaryFolder folder;
  Beamformer made = measured(5, 7, {900.0, 1500.0, 2500.0}, folder / "t.h5");
  Templates templates = templates_of(
      made, places_of(13, 5, 0.05, 0.5), [&](const Position& place) { return made.monopole(place); }, 17);
  const std::size_t channels = 35;
  templates.coherence[1 * 65 + 4] = 0.89F;  // left out at the second frequency of the file
  for (std::size_t i = 0; i < templates.a.size(); i += channels) {
    templates.a[i + 3] = 0.0F;  // a microphone that was dead when they were made
  }
  write_templates(folder / "t.h5", templates);
  for (const auto formulation :
       {Formulation::kClassic, Formulation::kInverse, Formulation::kTrueLevel, Formulation::kTrueLocation}) {
    for (const bool is_averaged : {false, true}) {
      // At a frequency of the file, and between two of them.
      Beamformer beamformer = measured(5, 7, {900.0, 1500.0, 1800.0}, folder / "t.h5");
      beamformer.own.steering.formulation = formulation;
      beamformer.own.steering.shading = far_field::Shading::kHamming;
      beamformer.own.average.kind = is_averaged ? AverageKind::kLinear : AverageKind::kNone;
      beamformer.own.diagonal_removal = is_averaged;
      ReferenceMapper reference(beamformer);
      DeviceMapper device(beamformer);
      EXPECT_THAT(device.description(), HasSubstr("das_measured, 65 templates"));
      EXPECT_THAT(device.description(), HasSubstr("without template 4 at 1500.0 Hz"));
      std::vector<Complex> field = test::busy_field(beamformer, 5);
      const auto compare = [&](const char* what) {
        reference.forget();
        device.forget();
        if (is_averaged) {
          const std::vector<float> expected = reference.powers(field);
          EXPECT_TRUE(std::isnan(expected[65 + 4])) << "left out";
          EXPECT_TRUE(std::isnan(expected[2 * 65 + 4])) << "between two frequencies of which one is left out";
          EXPECT_FALSE(std::isnan(expected[4]));
          EXPECT_LT(difference_of(device.powers(field), expected), 1e-4) << what;
        } else {
          EXPECT_LT(difference_of(device.beams(field), reference.beams(field)), 1e-4) << what;
        }
        EXPECT_EQ(device.flags(), reference.flags()) << what;
      };
      compare("all");
      const MicrophoneMask mask = make_mask(beamformer.array, {0, 8, 34});
      reference.use(mask);
      device.use(mask);
      compare("masked");
      field[11] = {std::numeric_limits<double>::quiet_NaN(), 0.0};
      compare("not finite");
    }
  }
}

/// A monopole beside a wall at x = 0.5 m that reflects 0.9 of its pressure.
std::vector<Complex> beside_wall(const Beamformer& beamformer, const Position& source) {
  std::vector<Complex> field = beamformer.monopole(source);
  const std::vector<Complex> image = beamformer.monopole({1.0 - source.x, source.y, source.z});
  for (std::size_t i = 0; i < field.size(); ++i) {
    field[i] += 0.9 * image[i];
  }
  return field;
}

std::vector<Complex> with_noise(std::vector<Complex> field, std::size_t channels, double snr_db,
                                std::mt19937& generator) {
  for (std::size_t first = 0; first < field.size(); first += channels) {
    double power = 0.0;
    for (std::size_t m = 0; m < channels; ++m) {
      power += std::norm(field[first + m]) / static_cast<double>(channels);
    }
    const double amplitude = std::sqrt(power * std::pow(10.0, -snr_db / 10.0) / 2.0);
    const std::vector<Complex> added = test::noise(channels, generator);
    for (std::size_t m = 0; m < channels; ++m) {
      field[first + m] += amplitude * added[m];
    }
  }
  return field;
}

std::size_t largest_of(const std::vector<std::complex<float>>& map, std::size_t first, std::size_t count) {
  const auto begin = map.begin() + static_cast<std::ptrdiff_t>(first);
  return static_cast<std::size_t>(
      std::max_element(begin, begin + static_cast<std::ptrdiff_t>(count),
                       [](std::complex<float> a, std::complex<float> b) { return std::abs(a) < std::abs(b); }) -
      begin);
}

// 256 microphones 4 cm apart 1 m before 33 x 33 places; templates 40 dB above noise, the live sound 20 dB. Free-field
// steering is misled by the wall.
TEST(BeamformMeasured, FindsPlacesBesideAWallThatFreeFieldSteeringMisses) {
  const test::TemporaryFolder folder;
  std::mt19937 generator(11);
  const std::vector<Position> places = places_of(33, 33, 0.029, 1.0);
  const auto with_pitch = [&](Beamformer beamformer) {
    beamformer.array.geometry.pitch_x_m = beamformer.array.geometry.pitch_y_m = 0.04;
    return beamformer;
  };
  const std::size_t channels = 256;
  Beamformer location = with_pitch(measured(16, 16, {500.0, 1000.0}, folder / "t.h5"));
  const std::size_t centre = 7 * 16 + 7;
  write_templates(folder / "t.h5", templates_of(
                                       location, places,
                                       [&](const Position& place) {
                                         return with_noise(beside_wall(location, place), channels, 40.0, generator);
                                       },
                                       centre));
  location.own.steering.formulation = Formulation::kTrueLocation;
  Beamformer level = location;
  level.own.steering.formulation = Formulation::kTrueLevel;
  Beamformer free = location;
  free.own.steering.model = far_field::Model::kMonopole;
  free.own.steering.templates_path = "";
  free.own.grid.distance_m = {1.0};
  free.own.grid.x_m = free.own.grid.y_m = {-16 * 0.029, 16 * 0.029};
  free.own.grid.step_m = 0.029;
  DeviceMapper location_mapper(location);
  DeviceMapper level_mapper(level);
  DeviceMapper free_mapper(free);
  constexpr int kDraws = 60;
  std::array<int, 2> exact{};
  std::array<int, 2> exact_free{};
  double squares = 0.0;
  std::uniform_int_distribution<std::size_t> any(0, places.size() - 1);
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::size_t truth = any(generator);
    const std::vector<Complex> clean = beside_wall(location, places[truth]);
    const std::vector<Complex> field = with_noise(clean, channels, 20.0, generator);
    const auto map = location_mapper.beams(field);
    const auto levels = level_mapper.beams(field);
    const auto free_map = free_mapper.beams(field);
    for (std::size_t f = 0; f < 2; ++f) {
      const std::size_t found = largest_of(map, f * places.size(), places.size());
      exact.at(f) += found == truth ? 1 : 0;
      exact_free.at(f) += largest_of(free_map, f * places.size(), places.size()) == truth ? 1 : 0;
      const Position microphone = far_field::microphones_of(location.array.geometry)[centre];
      const double expected =
          std::abs(clean[f * channels + centre]) * distance(places[truth], microphone) / norm(places[truth]);
      const double error_db =
          20.0 * std::log10(static_cast<double>(std::abs(levels[f * places.size() + found])) / expected);
      squares += error_db * error_db;
    }
  }
  for (std::size_t f = 0; f < 2; ++f) {
    EXPECT_GE(exact.at(f), 59) << "98 % of 60 places";
    EXPECT_LE(exact_free.at(f), 30) << "what a wall does to free-field steering";
  }
  const double rms_db = std::sqrt(squares / (2.0 * kDraws));
  EXPECT_LE(rms_db, 0.2);
  RecordProperty("exact_500hz", exact[0]);
  RecordProperty("exact_1000hz", exact[1]);
  std::printf("beside a wall: %d and %d of %d exact at 500 and 1000 Hz (free field %d and %d), level %.3f dB rms\n",
              exact[0], exact[1], kDraws, exact_free[0], exact_free[1], rms_db);
}

// Templates of the whole array serve its subsets: as those that were measured with these microphones alone, but for
// their common phase, which is that at the microphone nearest to each one's centre.
TEST(BeamformMeasured, OfTheWholeArrayAreCutToASubset) {
  const test::TemporaryFolder folder;
  const std::vector<Position> places = places_of(4, 3, 0.1, 0.4);
  Beamformer beamformer = measured(6, 8, {1000.0, 3000.0}, folder / "all.h5");
  const auto of_monopoles = [&](const Beamformer& array) {
    return templates_of(
        array, places, [&](const Position& place) { return array.monopole(place); }, 0);
  };
  write_templates(folder / "all.h5", of_monopoles(beamformer));
  for (const SubsetSettings& subset :
       {SubsetSettings{.kind = SubsetSettings::Kind::kGrid, .rows = 3, .columns = 4},
        SubsetSettings{.kind = SubsetSettings::Kind::kChannels, .channels = {1, 5, 12, 22, 30, 41, 47}}}) {
    beamformer.own.steering.subset = subset;
    const far_field::PlanOfSubset of(beamformer.plan(), subset);
    Beamformer part = measured(1, 1, {1000.0, 3000.0}, folder / "part.h5");
    part.array = of.plan.array;
    Templates alone = of_monopoles(beamformer);
    alone.measurement.geometry = part.array.geometry;
    std::vector<std::complex<float>> chosen;
    for (std::size_t first = 0; first < alone.a.size(); first += 48) {
      for (const int channel : of.channels) {
        chosen.push_back(alone.a[first + static_cast<std::size_t>(channel)]);
      }
    }
    alone.a = chosen;
    alone.of_microphones.assign(chosen.size(), 1.0F);
    write_templates(folder / "part.h5", alone);
    const std::vector<Complex> field = test::busy_field(beamformer, 3);
    std::vector<Complex> field_of_part;
    for (std::size_t first = 0; first < field.size(); first += 48) {
      for (const int channel : of.channels) {
        field_of_part.push_back(field[first + static_cast<std::size_t>(channel)]);
      }
    }
    const auto expected = ReferenceMapper(part).beams(field_of_part);
    EXPECT_LT(difference_of(ReferenceMapper(beamformer).beams(field), expected), 1e-6);
    EXPECT_LT(difference_of(DeviceMapper(beamformer).beams(field), expected), 1e-4);
    beamformer.own.steering.templates_path = folder / "part.h5";  // measured with the subset
    EXPECT_LT(difference_of(DeviceMapper(beamformer).beams(field), expected), 1e-4);
    beamformer.own.steering.templates_path = folder / "all.h5";
  }
  Beamformer wider = beamformer;
  wider.array.geometry.pitch_x_m = 0.021;
  try {
    (void)processor_entry("beamform").make_reference(wider.plan());
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("processors.far.steering.file: expected templates of the whole array, or of the 7 "
                          "microphones of the subset, found 6 x 8, 0.02 m x 0.02 m apart in"));
  }
}

// Pixels are the places of the templates: a grid beside them has no effect, and a warning says so.
TEST(BeamformMeasured, WarnsOfAGridThatIsNotUsed) {
  Beamformer beamformer = measured(4, 4, {1000.0}, "t.h5");
  EXPECT_TRUE(processor_entry("beamform").remarks(beamformer.plan()).warnings.empty());
  beamformer.own.grid.step_m = 0.03;
  EXPECT_THAT(
      processor_entry("beamform").remarks(beamformer.plan()).warnings,
      testing::ElementsAre("processors.far: its grid is not used: with steering.model measured its pixels are the "
                           "places of the templates in t.h5"));
  beamformer.own.steering.model = far_field::Model::kMonopole;
  EXPECT_TRUE(processor_entry("beamform").remarks(beamformer.plan()).warnings.empty());
}

TEST(BeamformMeasured, RefusesTemplatesThatDoNotFit) {
  const test::TemporaryFolder folder;
  const Beamformer made = measured(4, 4, {1000.0, 2000.0}, folder / "t.h5");
  write_templates(folder / "t.h5",
                  templates_of(
                      made, places_of(2, 2, 0.1, 0.5), [&](const Position& place) { return made.monopole(place); }, 5));
  const auto refusal_of = [&](const Beamformer& beamformer) -> std::string {
    try {
      (void)beamformer.places();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal_of(measured(4, 5, {1000.0}, folder / "t.h5")),
              HasSubstr("processors.far.steering.file: expected templates of 4 x 5 microphones"));
  Beamformer wider = made;
  wider.array.geometry.pitch_x_m = 0.021;
  EXPECT_THAT(refusal_of(wider), HasSubstr("0.021 m x 0.02 m apart, found 4 x 4, 0.02 m x 0.02 m"));
  EXPECT_THAT(refusal_of(measured(4, 4, {1500.0, 2500.0}, folder / "t.h5")),
              HasSubstr("expected templates at 2500 Hz, found some from 1000 to 2000 Hz"));
  EXPECT_THROW((void)measured(4, 4, {1000.0}, folder / "none.h5").places(), NoInputError);
}

}  // namespace
}  // namespace nearfield
