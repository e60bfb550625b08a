#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "publish/pictures/picture.hpp"
#include "publish/pictures/value_scale.hpp"

/// The scales of the pictures of a run.
namespace nearfield {

struct ScaleChoice {
  PictureOptions options = {};
  /// Top of the scale of sound pressures and their mean squares, dB re 20 uPa; other quantities use their own maximum.
  std::optional<double> top_db = {};
  /// Uses the largest value so far of the same map as top, so that pictures of a run compare; with negative values, the
  /// least one so far is the bottom.
  bool is_held = false;
  /// With is_held: uses the values of the same map in all frames, which are read before one is drawn.
  bool is_common = false;
};

/// Chooses the ends of each picture's scale, and keeps those that are held.
class PictureScale {
 public:
  explicit PictureScale(const ScaleChoice& choice) : choice_(choice) {}
  /// `name` is the picture's, whose first part up to '_' identifies the frame; `values` are magnitudes.
  PictureOptions options_for(const std::string& name, const LevelRule& rule, std::span<const double> values);
  [[nodiscard]] const ScaleChoice& choice() const { return choice_; }

 private:
  ScaleChoice choice_;
  struct Held {
    double most = 0.0;
    double least = 0.0;
  };
  std::map<std::string, Held> held_;  ///< by the picture's name without its frame
};

}  // namespace nearfield
