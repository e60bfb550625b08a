#include "api/given_arrays.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace nearfield::api {
namespace {

template <class Value>
const Value& given(const std::map<std::string, Value>& values, const std::filesystem::path& path, const char* call) {
  const auto found = values.find(path.string());
  if (found == values.end()) {
    throw NoInputError(
        fmt::format("{}: expected an array of this name, given by {}(), found none", path.string(), call));
  }
  return found->second;
}

void require_values(std::size_t found, std::size_t frequencies, const ArrayGeometry& geometry, std::size_t places,
                    const std::filesystem::path& path) {
  const std::size_t expected = frequencies * places * static_cast<std::size_t>(geometry.channels());
  if (found != expected) {
    throw ConfigError(fmt::format("{}: expected {} values for the {} microphones of the configuration, found {}",
                                  path.string(), expected, text_of_size(geometry), found));
  }
}

}  // namespace

std::string name_in_settings(const std::string& name) {
  return std::filesystem::absolute(name).lexically_normal().string();
}

Calibration GivenFiles::calibration(const std::filesystem::path& path) const {
  const GivenCalibration& found = given(arrays_.calibrations, path, "nf_engine_give_calibration");
  require_values(found.gains.size(), found.frequencies_hz.size(), geometry_, 1, path);
  return {.geometry = geometry_, .frequencies_hz = found.frequencies_hz, .gains = found.gains};
}

Templates GivenFiles::templates(const std::filesystem::path& path) const {
  constexpr std::size_t kCoordinates = 3;
  const GivenTemplates& found = given(arrays_.templates, path, "nf_engine_give_templates");
  require_values(found.a.size(), found.frequencies_hz.size(), geometry_, found.positions_m.size() / kCoordinates, path);
  return {.measurement = {.geometry = geometry_, .standoff_m = standoff_m_},
          .frequencies_hz = found.frequencies_hz,
          .positions_m = found.positions_m,
          .a = found.a,
          .coherence = found.coherence,
          .of_microphones = {}};
}

bool GivenFiles::is_given(const std::filesystem::path& points) const {
  return arrays_.points.contains(points.string());
}

std::vector<double> GivenFiles::points(const std::filesystem::path& path, std::size_t /*most*/,
                                       const std::string& /*key*/) const {
  return given(arrays_.points, path, "nf_engine_give_points");
}

}  // namespace nearfield::api
