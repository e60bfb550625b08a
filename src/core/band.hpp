#pragma once

namespace nearfield {

/// Frequencies from `low_hz` to below `high_hz`.
struct Band {
  double low_hz = 0.0;
  double high_hz = 0.0;
  friend bool operator==(const Band&, const Band&) = default;
};

}  // namespace nearfield
