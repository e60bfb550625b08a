#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/product.hpp"
#include "publish/pictures/picture.hpp"

/// Conversion of any product's values to levels, and to positions on a colour scale.
namespace nearfield {

/// Values of one map, as magnitudes if they are complex, and the ends of its scale.
struct ScaledValues {
  std::vector<double> values;
  double least = 0.0;  ///< least finite value; 0 if there is none
  double most = 0.0;   ///< largest finite value, at least 0
  LevelRule rule;
  bool are_levels = false;
  double low = 0.0;  ///< ends of the scale, dB or the product's unit
  double high = 0.0;

  /// Position on the scale, 0 to 1 inside it; NaN remains NaN.
  [[nodiscard]] double position(double value) const;
  /// Number of finite values above the scale.
  [[nodiscard]] std::size_t above() const;
};

/// With `options.decibels` the scale reaches from `options.floor_db` below its top up to that: the largest value, or
/// `options.fixed_maximum`. Otherwise, and for real lengths in m, it begins at 0, or at the least value or
/// `options.fixed_minimum` if these are negative.
ScaledValues scaled_values(const Product& product, std::vector<double> values, const PictureOptions& options);

}  // namespace nearfield

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
