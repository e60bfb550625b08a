#include "processors/levels/settings.hpp"

#include "config/schema/front_end_kinds.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {
namespace {

constexpr int kFewestLevelSamples = 64;
constexpr double kFigures = 3.0;  // a microphone's level, peak and offset

}  // namespace

std::vector<Band> LevelsSettings::bands_hz() const {
  std::vector<Band> bands = octave_bands(OctavePart::kOctave, octave_hz);
  const std::vector<Band> thirds = octave_bands(OctavePart::kThird, third_octave_hz);
  bands.insert(bands.end(), thirds.begin(), thirds.end());
  return bands;
}

void LevelsSettings::describe(schema::Section& section) {
  section.add("window_samples", window_samples, schema::fft_length(kFewestLevelSamples),
              "length of the window, which ends where the run's window ends");
  section.add("weighting", weighting, schema::weightings(), "of levels and bands");
  section.add("octave", octave_hz, schema::octave_centres(OctavePart::kOctave), "levels of these octaves as well");
  section.add("third_octave", third_octave_hz, schema::octave_centres(OctavePart::kThird), "and of third octaves");
}

double LevelsSettings::frame_bytes(const Settings& settings) const {
  const double values = kFigures + static_cast<double>(octave_hz.size() + third_octave_hz.size());
  return static_cast<double>(settings.array.geometry.channels()) * values * sizeof(float);
}

namespace schema {

ProcessorKind levels_kind() {
  return {.name = "levels",
          .meaning = "sound levels, peaks and offsets of all microphones",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<LevelsSettings>(); },
          .needs = [](const KindSettings& own, const RunOfProcessor&) -> ProcessorNeeds {
            return {.spectra = false, .sample_window = dynamic_cast<const LevelsSettings&>(own).window_samples};
          }};
}

}  // namespace schema
}  // namespace nearfield
