#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/frame.hpp"
#include "core/product.hpp"

/// Thresholds on the products of a live stream (docs/use/limits.md).
namespace nearfield::limits {

/// Value of a limit in a frame.
struct Reading {
  double value = 0.0;      ///< in the limit's unit
  bool is_number = false;  ///< false if no value in the frame is a number
  bool has_values = true;  ///< false for a table without a row that counts
};

/// A limit and the values of a product that it watches, determined once for a configuration: a frame costs a pass over
/// these values, without an allocation.
class LimitPlan {
 public:
  /// Contiguous values in an array.
  struct Run {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// Position of a value, in terms of the product's axes, or of a table's columns x, y and z.
  struct Coordinate {
    std::string name;
    std::string unit;
    std::vector<double> values;
  };
  /// The entry of an array, or the row of a table, and a row's x, y and z.
  struct Place {
    std::size_t index = 0;
    std::array<double, 3> row_m{};
  };

  /// `headers` [processor] of the run. Throws ConfigError if the limit names something that its processor does not
  /// have.
  LimitPlan(DaemonSettings::Limit settings, std::span<const ResultHeader* const> headers);

  [[nodiscard]] const DaemonSettings::Limit& settings() const { return settings_; }
  [[nodiscard]] std::size_t processor() const { return processor_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  /// A value above this one exceeds the limit.
  [[nodiscard]] double above() const { return above_; }
  /// A value of at most this one ends the excess.
  [[nodiscard]] double below() const { return below_; }
  /// Number of values of an array, or most_rows of a table.
  [[nodiscard]] std::size_t values() const { return values_; }

  /// Evaluates a frame of its processor. Allocates nothing.
  [[nodiscard]] Reading read(const Frame& frame) const;
  /// Position of the largest value that counts, after read() of the same frame. Allocates nothing.
  [[nodiscard]] Place place_of_largest(const Frame& frame) const;
  [[nodiscard]] std::vector<Coordinate> position(const Place& place) const;
  /// True if both watch the same values in the same way.
  [[nodiscard]] bool is_like(const LimitPlan& other) const;

 private:
  void find_product(std::span<const ResultHeader* const> headers);
  void choose_values();
  void choose_column();
  void set_level();
  [[nodiscard]] std::vector<std::size_t> chosen_of(const Axis& axis) const;
  void require_axes() const;
  [[nodiscard]] Reading read_table(std::span<const std::byte> table, Place* place) const;
  [[nodiscard]] std::string key(const char* name) const;

  DaemonSettings::Limit settings_;
  std::size_t processor_ = 0;
  std::size_t product_ = 0;
  Product description_;
  std::vector<Axis> axes_;  ///< axes of the array, slowest first
  ElementType type_ = ElementType::kComplex64;
  std::string unit_;
  double above_ = 0.0;
  double below_ = 0.0;
  bool is_amplitude_ = true;
  bool is_signed_ = false;  ///< complex values count by their real parts
  std::vector<Run> runs_;
  std::size_t values_ = 0;
  ProductPlaces::Place column_;
  std::array<std::optional<std::size_t>, 3> row_places_;  ///< columns x, y and z of a table
  std::vector<ProductPlaces::Place> column_places_;
};

/// Plans of all limits, in their order. Throws as LimitPlan.
std::vector<LimitPlan> plan_limits(std::span<const DaemonSettings::Limit> limits,
                                   std::span<const ResultHeader* const> headers);

}  // namespace nearfield::limits
