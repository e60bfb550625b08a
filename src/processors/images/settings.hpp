#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// Settings of an additional imager. The standoff is the array's, holography.standoff_m.
class ImageKindSettings : public KindSettings {
 public:
  explicit ImageKindSettings(ImagerKind imager) { images.imager = imager; }
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override {
    return std::make_unique<ImageKindSettings>(*this);
  }
  void describe(schema::Section& section) override;
  void check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
             std::vector<Contradiction>& found) const override;

  [[nodiscard]] double frame_bytes(const Settings& settings) const override;

  HolographySettings images;
  bool searches = false;  ///< false: search_every_frames and prior are not used
};

}  // namespace nearfield
