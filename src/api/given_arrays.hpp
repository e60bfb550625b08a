#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/array_files.hpp"

namespace nearfield::api {

/// Gains and templates as a program gives them; their array is the configuration's, which is known only later.
struct GivenCalibration {
  std::vector<double> frequencies_hz;
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]
};
struct GivenTemplates {
  std::vector<double> frequencies_hz;
  std::vector<double> positions_m;     ///< [template][x, y, z]
  std::vector<std::complex<float>> a;  ///< [frequency][template][channel]
  std::vector<float> coherence;        ///< [frequency][template]
};

/// Arrays by the names that a configuration has in place of paths.
struct GivenArrays {
  std::vector<MicrophonePosition> positions_m;
  std::map<std::string, GivenCalibration> calibrations;
  std::map<std::string, GivenTemplates> templates;
  std::map<std::string, std::vector<double>> points;  ///< [point][x, y, z]
};

/// The form of a relative path in the settings.
std::string name_in_settings(const std::string& name);

/// Supplies given arrays to an engine of this array.
class GivenFiles : public ArrayFiles {
 public:
  GivenFiles(GivenArrays arrays, ArrayGeometry geometry, double standoff_m)
      : arrays_(std::move(arrays)), geometry_(std::move(geometry)), standoff_m_(standoff_m) {}
  [[nodiscard]] Calibration calibration(const std::filesystem::path& path) const override;
  [[nodiscard]] Templates templates(const std::filesystem::path& path) const override;
  [[nodiscard]] bool is_given(const std::filesystem::path& points) const override;
  [[nodiscard]] std::vector<double> points(const std::filesystem::path& path, std::size_t most,
                                           const std::string& key) const override;

 private:
  GivenArrays arrays_;
  ArrayGeometry geometry_;
  double standoff_m_;
};

}  // namespace nearfield::api
