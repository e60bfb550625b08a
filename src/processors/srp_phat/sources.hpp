#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "processors/srp_phat/plan.hpp"
#include "processors/srp_phat/significance.hpp"

namespace nearfield {

/// Data of one maximum in a window's spectra.
struct SrpMaximum {
  far_field::Position place;  ///< after its refinement; NaN if there is none
  double beam_power = 0.0;    ///< sum over bins of |sum_m P_m e_m|^2, e_m of modulus 1, Pa^2
  /// Steered power, 1 for one coherent source, at 5 points along each axis of the map, kCurvatureFraction of a step
  /// apart, the maximum in their middle.
  std::vector<double> powers;
  /// [bin], bin_powers left after the fields of sources found earlier were subtracted; empty for the first.
  std::vector<double> remaining_powers = {};
};

/// Data of a window's spectra, from the device or the reference.
struct SrpWindow {
  double microphones = 0.0;         ///< number used
  std::vector<double> bin_powers;   ///< [bin], sum over microphones of |P|^2
  std::vector<double> bin_spreads;  ///< [bin], variance over microphones of |P|^2, over the square of its mean
  std::vector<SrpMaximum> maxima;   ///< [source]
};

/// A row of the table of sources. Positions are in m from the array's centre, or directions of length 1.
struct SrpSource {
  std::uint32_t id = 0;     ///< id of its track; 0: none
  std::uint32_t state = 0;  ///< kSourceCandidate, kSourceConfirmed or kSourceCoasting
  far_field::Position place;
  far_field::Position velocity;  ///< m/s, or directions: 1/s
  far_field::Position variance;  ///< variance of the position, along x, y and z
  double sigma_major = 0.0;      ///< standard deviation along the directions of refinement: largest
  double sigma_minor = 0.0;      ///< and smallest
  double confidence = 0.0;       ///< mean coherence of all pairs of microphones
  double significance = 0.0;     ///< -log10 of the probability that noise alone has such a maximum in a window
  double level_db = 0.0;
  std::uint64_t first_bit_time = 0;  ///< start of the window in which it was seen
};

inline constexpr std::uint32_t kSourceCandidate = 1;
inline constexpr std::uint32_t kSourceConfirmed = 2;
inline constexpr std::uint32_t kSourceCoasting = 4;
inline constexpr std::size_t kMostSourceRows = 16;

/// Powers of the bins in which a maximum was found.
std::span<const double> bin_powers_of(const SrpWindow& window, const SrpMaximum& maximum);

/// Divisor that makes steered powers 1 for one coherent source, for spectra with these powers [bin]; NaN with too few
/// microphones.
double scale_of(const SrpPlan& plan, double microphones, std::span<const double> bin_powers);

/// A maximum's position, moved to the top of the peak by the values around it, by at most the last round's spacing.
far_field::Position top_of(const SrpPlan& plan, const SrpMaximum& maximum);

/// True if a signal common to all channels may be the window's maximum: straight ahead, coherent, and equally loud in
/// all microphones. A distant source straight ahead looks the same. Only a window's first maximum is judged.
bool seems_common(const SrpPlan& plan, const SrpWindow& window);

/// The table's description.
Product sources_product(const SrpPlan& plan);
/// Writes the table of one frame, with sources_product()'s size; at most kMostSourceRows rows.
void write_sources(const SrpPlan& plan, std::span<const SrpSource> sources, std::span<std::byte> table);

/// The existing maxima of a window as sources without tracks.
std::vector<SrpSource> sources_of(const SrpPlan& plan, const SrpSignificance& significance, const SrpWindow& window);

}  // namespace nearfield
