#include "imaging/operators/operator_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <string>

#include "core/error.hpp"
#include "imaging/operators/folded_places.hpp"
#include "imaging/operators/operator_space.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {
namespace {

/// Copies in host memory: tables of all frequencies, arrays that are written to the device and, with PoCL, those on the
/// device.
constexpr double kCopies = 3.0;

/// Setting that takes most memory if the model of a single frequency does not fit.
std::string setting_of_size(const ImagePlan& plan) {
  if (plan.surface) {
    return plan.section + "surface";
  }
  if (plan.holography.upsample > 1) {
    return plan.section + "upsample";
  }
  return source_setting(plan);
}

}  // namespace

OperatorMemory operator_memory(const ImagePlan& plan, std::size_t sources) {
  const auto microphones = static_cast<double>(plan.geometry.channels());
  const Folding folding = folding_of(plan);
  const auto classes = static_cast<double>(folding.classes());
  const auto samples = static_cast<double>(folding.microphones.samples());
  const auto places = static_cast<double>(image_places(plan).planes() * folding.pixels.samples());
  constexpr double kSquares = 5.0;  // matrices of one class: covariance, factor, its kept part, Gram, its eigenvectors
  constexpr double kOfBasis = 2.0;  // modes and their factors, while one basis is made
  const auto shares = static_cast<double>(shares_behind(plan).size());
  const double bases =
      searches_points(plan) ? static_cast<double>(plan.frequencies_hz.size()) * shares + kOfBasis : 0.0;
  const SourceTable of_sources{.values = static_cast<std::size_t>(plan.geometry.channels()),
                               .planes = 1,
                               .pixels = image_places(plan).pixels * plan.images_per_frequency()};
  const double sources_bytes = searches_points(plan) ? sizeof(float) * static_cast<double>(of_sources.size()) : 0.0;
  const auto highest = std::max_element(plan.frequencies_hz.begin(), plan.frequencies_hz.end());
  const SourcesBehind behind =
      plan.separates() ? sources_behind(plan, static_cast<std::size_t>(highest - plan.frequencies_hz.begin()))
                       : SourcesBehind();
  const double sides = plan.separates() ? 2.0 : 1.0;
  // Transfers are of the sources of one kind at a time: of all of them, then folded where there are classes.
  const auto most_sources = static_cast<double>(std::max({sources, behind.places_m.size(), behind.directions.size()}));
  const double transfers = (classes > 1.0 ? 2.0 : 1.0) * most_sources * (samples + places);
  const double covariances = sides * classes * samples * (samples + places);
  const double models = classes * samples * (samples + sides * places);
  return {.tables_bytes = static_cast<double>(plan.frequencies_hz.size()) *
                          (shares * sizeof(std::complex<float>) * models + sources_bytes),
          .search_bytes = sizeof(std::complex<double>) * bases * microphones * microphones,
          .model_bytes = sizeof(std::complex<double>) *
                         (covariances + std::max(transfers, models + kSquares * samples * samples))};
}

void require_memory(const ImagePlan& plan, const OperatorMemory& need, const OperatorRoom& room) {
  const auto frequencies = static_cast<double>(plan.frequencies_hz.size());
  const auto refuse = [&](bool of_one, double need_bytes, double room_bytes, const char* where) {
    constexpr double kMegabyte = 1e6;
    throw ConfigError(fmt::format(
        "{}: expected pixels, planes, sources, microphones and frequencies whose models fit into the {:.4g} MB of {}, "
        "found {} pixels, {} planes, {} sources, {} microphones and {} frequencies, which may take {:.4g} MB; {}",
        of_one ? setting_of_size(plan) : "front_end.frequencies_hz", room_bytes / kMegabyte, where,
        image_places(plan).pixels, image_places(plan).planes(), prior_sources(plan).size(), plan.geometry.channels(),
        plan.frequencies_hz.size(), need_bytes / kMegabyte,
        of_one ? "image fewer pixels or planes, or of fewer sources, as a single frequency needs too much"
               : "image fewer frequencies, pixels or planes"));
  };
  if (need.tables_bytes > room.device_bytes) {
    refuse(need.tables_bytes > frequencies * room.device_bytes, need.tables_bytes, room.device_bytes,
           "the device's memory");
  }
  // A search begins when all models are made.
  const double host_bytes = kCopies * need.tables_bytes + std::max(need.search_bytes, need.model_bytes);
  if (host_bytes > room.free_bytes) {
    refuse(kCopies * need.tables_bytes / frequencies + need.model_bytes > room.free_bytes, host_bytes, room.free_bytes,
           "memory that is free here");
  }
}

std::size_t models_together(const OperatorMemory& need, std::size_t frequencies, std::size_t processors,
                            double free_bytes) {
  const auto most = static_cast<double>(std::max<std::size_t>(1, std::min(frequencies, processors)));
  const double fit = (free_bytes - kCopies * need.tables_bytes) / need.model_bytes;
  return static_cast<std::size_t>(std::clamp(fit, 1.0, most));
}

}  // namespace nearfield
