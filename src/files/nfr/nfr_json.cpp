#include "files/nfr/nfr_json.hpp"

#include <array>
#include <vector>

#include "files/format.hpp"

namespace nearfield::nfr {

Json json_of(const ArrayGeometry& geometry) {
  Json object = {{"rows", geometry.rows},
                 {"columns", geometry.columns},
                 {"pitch_x_m", geometry.pitch_x_m},
                 {"pitch_y_m", geometry.pitch_y_m}};
  if (geometry.placement) {
    Json positions = Json::array();
    for (const MicrophonePosition& position : kept_positions_m(geometry)) {
      positions.push_back({position.x_m, position.y_m, position.z_m});
    }
    object["positions_m"] = std::move(positions);
  }
  return object;
}

ArrayGeometry geometry_of(const Json& object) {
  if (!object.contains("positions_m")) {
    return {.rows = integer_at<int>(object, "rows"),
            .columns = integer_at<int>(object, "columns"),
            .pitch_x_m = object.at("pitch_x_m").get<double>(),
            .pitch_y_m = object.at("pitch_y_m").get<double>()};
  }
  std::vector<MicrophonePosition> positions_m;
  for (const auto& [x_m, y_m, z_m] : object.at("positions_m").get<std::vector<std::array<double, 3>>>()) {
    positions_m.push_back({x_m, y_m, z_m});
  }
  if (const std::string flaw = flaw_of_positions(positions_m); !flaw.empty()) {
    throw DataError("positions_m: " + flaw);
  }
  return geometry_of_kept(positions_m);
}

}  // namespace nearfield::nfr
