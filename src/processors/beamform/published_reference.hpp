#pragma once
#include <vector>

#include "processors/beamform/plan.hpp"

namespace nearfield::reference {

/// Adds to `to` what is published of maps [frequency][pixel]: those of single frequencies, then the sums of bands.
void append_published(const BeamformPlan& plan, const std::vector<float>& maps, std::vector<float>& to);

/// The products of one window, from what append_published() added, and the effective snapshots [window][frequency].
std::vector<std::span<const std::byte>> products_of_window(const BeamformPlan& plan,
                                                           const std::vector<float>& effective,
                                                           const std::vector<float>& published, std::size_t window);

}  // namespace nearfield::reference
