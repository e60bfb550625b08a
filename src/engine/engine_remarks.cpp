#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "engine/engine.hpp"
#include "imaging/shared/image_surface.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/images/settings.hpp"

/// Remarks on an engine's plan for the user, before its first frame.
namespace nearfield {
namespace {

constexpr double kSnapWarning_hz = 0.5;

/// Warns about one image processor, named by `what`.
void warn_of_images(const ImagePlan& images, const std::string& what, std::vector<std::string>& warnings) {
  constexpr double kNearMicrophones = 0.3;  // fraction of the standoff
  if (images.surface && images.standoff_m - images.surface->highest_m() < kNearMicrophones * images.standoff_m) {
    warnings.push_back(fmt::format(
        "{}surface: its highest place, z = {:.4g} m, is nearer to the microphones at {:.4g} m than {} of the "
        "standoff; images there show the noise of single microphones",
        images.section, images.surface->highest_m(), images.standoff_m, kNearMicrophones));
  }
  if (images.holography.imager != ImagerKind::kPnah) {
    return;
  }
  for (std::size_t f = 0; f < images.frequencies_hz.size(); ++f) {
    if (images.holography.filter.kind == FilterKind::kCos && images.cutoff_rad_per_m[f] < images.wavenumber(f)) {
      warnings.push_back(
          fmt::format("{}{:.1f} Hz: the cut-off {:.1f} rad/m lies inside the radiation circle, k = {:.1f} rad/m; "
                      "propagating waves are filtered too",
                      what, images.frequencies_hz[f], images.cutoff_rad_per_m[f], images.wavenumber(f)));
    }
  }
  const ExtrapolationSettings& extrapolation = images.holography.extrapolation;
  const int shortest = std::min(images.geometry.rows, images.geometry.columns);
  if (predicts(extrapolation.method) && usable_order(extrapolation.order, shortest) < extrapolation.order) {
    warnings.push_back(fmt::format(
        "{}extrapolation.order: {} is used along x and {} along y, the most that {} x {} "
        "microphones allow",
        images.section, usable_order(extrapolation.order, images.geometry.columns),
        usable_order(extrapolation.order, images.geometry.rows), images.geometry.rows, images.geometry.columns));
  }
}

}  // namespace

/// Limit per front end; a band may have hundreds of bins.
constexpr int kMostAliasWarnings = 8;

std::vector<std::string> plan_warnings(const Engine& engine) {
  std::vector<std::string> warnings = doubts_of(engine.plan().settings.array.geometry);
  for (const Engine::Tap& tap : engine.taps()) {
    if (tap.owner.empty() && &tap != engine.taps().data()) {
      continue;  // the run's front end on another device
    }
    int aliased = 0;
    const bool is_aliased = (tap.constant_flags & kFlagWavenumberAboveNyquist) != 0;  // alias_wavenumber() searches
    const double alias = is_aliased ? tap.array.alias_wavenumber() : std::numeric_limits<double>::infinity();
    const FrontEndSettings& front_end = tap.plan.settings;
    const std::string section = tap.owner.empty() ? "front_end" : fmt::format("processors.{}.front_end", tap.owner);
    for (std::size_t f = 0; f < tap.frequencies_hz.size(); ++f) {
      const double frequency_hz = tap.frequencies_hz[f];
      if (engine.plan().input != InputForm::kSpectra &&
          std::abs(frequency_hz - front_end.frequencies_hz[f]) > kSnapWarning_hz) {
        warnings.push_back(fmt::format(
            "{}.frequencies_hz[{}]: {} Hz is off the grid of {:.3f} Hz that {} images on (sample rate / "
            "window_samples); {:.3f} Hz, the nearest, is imaged; {}.kind: dot_product images any "
            "frequency",
            section, f, front_end.frequencies_hz[f], engine.plan().sample_rate_hz / front_end.window_samples,
            front_end.kind, frequency_hz, section));
      }
      if (tap.array.wavenumber(f) > alias && ++aliased <= kMostAliasWarnings) {
        warnings.push_back(fmt::format(
            "{:.1f} Hz: k = {:.1f} rad/m lies above {}{:.1f} rad/m; the microphones are too "
            "far apart for this frequency",
            frequency_hz, tap.array.wavenumber(f),
            tap.array.geometry.is_grid() ? "pi/pitch = " : "where the array's pattern has grating lobes, ", alias));
      }
    }
    if (aliased > kMostAliasWarnings) {
      warnings.push_back(
          fmt::format("so they are for {} further frequencies of {}", aliased - kMostAliasWarnings, section));
    }
  }
  for (const Engine::Wanted& wanted : engine.wanted_processors()) {
    const std::vector<std::string> more = processor_entry(wanted.kind).remarks(wanted.plan).warnings;
    warnings.insert(warnings.end(), more.begin(), more.end());
    if (dynamic_cast<const ImageKindSettings*>(wanted.own.get()) != nullptr) {
      warn_of_images(image_plan(wanted.plan), wanted.plan.name == kFirstProcessor ? "" : wanted.plan.name + ": ",
                     warnings);
    }
  }
  return warnings;
}

MicrophoneUse microphone_use(const Engine& engine) {
  const std::vector<std::int32_t>& masked = engine.masked_.front();
  const auto microphones = static_cast<std::uint32_t>(engine.array_plan().geometry.channels());
  const auto used = microphones - static_cast<std::uint32_t>(masked.size());
  return {.fewest_used = used,
          .most_used = used,
          .microphones = microphones,
          .masked = {masked.begin(), masked.end()},
          .missing_information = engine.missing_.front()};
}

std::vector<std::string> plan_notes(const Engine& engine) {
  std::vector<std::string> notes;
  if (std::string origin = text_of_origin(engine.plan().settings.array.geometry); !origin.empty()) {
    notes.push_back(std::move(origin));
  }
  for (const Engine::Wanted& wanted : engine.wanted_processors()) {
    const std::vector<std::string> more = processor_entry(wanted.kind).remarks(wanted.plan).notes;
    notes.insert(notes.end(), more.begin(), more.end());
  }
  for (const Engine::Results& results : engine.results_) {
    for (const Axis& axis : results.header.axes) {
      if (axis.components == 3 && axis.unit == "m" && axis.name != "microphone") {
        notes.push_back(fmt::format("{}: axis {} has {} places, {}", results.header.processor, axis.name, axis.size(),
                                    text_of_extent(axis.values)));
      }
    }
  }
  return notes;
}

}  // namespace nearfield
