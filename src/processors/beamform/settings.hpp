#pragma once
#include <memory>
#include <string>
#include <vector>

#include "nearfield/settings.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

enum class AverageKind { kNone, kLinear, kExponential };
std::string_view name_of(AverageKind kind);

struct AverageSettings {
  AverageKind kind = AverageKind::kNone;
  double seconds = 0.5;
};

class BeamformSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override {
    return std::make_unique<BeamformSettings>(*this);
  }
  void describe(schema::Section& section) override;
  void check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
             std::vector<Contradiction>& found) const override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;
  /// Of a map's values: complex pressures, or powers.
  [[nodiscard]] double value_bytes() const;

  far_field::GridSettings grid;
  far_field::SteeringSettings steering;
  std::string method = "das";
  bool diagonal_removal = false;
  AverageSettings average;
};

}  // namespace nearfield
