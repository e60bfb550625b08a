#pragma once
#include <memory>
#include <vector>

#include "core/band.hpp"
#include "core/settings.hpp"

namespace nearfield {

class LevelsSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override { return std::make_unique<LevelsSettings>(*this); }
  void describe(schema::Section& section) override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;
  /// Octaves, then third octaves.
  [[nodiscard]] std::vector<Band> bands_hz() const;

  int window_samples = 4096;
  Weighting weighting = Weighting::kA;
  std::vector<double> octave_hz = {};        ///< centres
  std::vector<double> third_octave_hz = {};  ///< likewise
};

}  // namespace nearfield
