#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/geometry.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// Periodic windows, sums of cosines.
enum class SpectrumTaper {
  kFlatTop,  ///< HFT95
  kHann,
};
std::string_view name_of(SpectrumTaper taper);
/// a_k of w[n] = sum_k a_k cos(2 pi k n / N).
std::span<const double> cosine_terms(SpectrumTaper taper);

class SpectrumSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override {
    return std::make_unique<SpectrumSettings>(*this);
  }
  void describe(schema::Section& section) override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;
  /// Points of the settings, or the array's centre.
  [[nodiscard]] std::vector<PlanePoint> places() const;

  std::vector<PlanePoint> points;
  int window_samples = 4096;
  SpectrumTaper taper = SpectrumTaper::kFlatTop;
};

}  // namespace nearfield
