#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "processors/srp_phat/plan.hpp"
#include "processors/srp_phat/significance.hpp"

namespace nearfield {

/// What a window's spectra say of one maximum.
struct SrpMaximum {
  far_field::Position place;   ///< after its refinement; NaN where there is none
  double beam_power = 0.0;     ///< sum over bins of |sum_m P e|^2, Pa^2
  std::vector<double> powers;  ///< p at the points round it, kCurvatureFraction of a step apart
  /// [bin], as the window's, of what remained of it when the maximum was found; empty: nothing was peeled off before.
  std::vector<double> remaining_powers = {};
};

/// What a window's spectra say, whoever computed it.
struct SrpWindow {
  double microphones = 0.0;         ///< that were used
  std::vector<double> bin_powers;   ///< [bin], sum over microphones of |P|^2
  std::vector<double> bin_spreads;  ///< [bin], variance over microphones of |P|^2, over the square of its mean
  std::vector<SrpMaximum> maxima;   ///< [source]
};

/// A row of the table of sources. Places are m from the array's centre, or directions of length 1.
struct SrpSource {
  std::uint32_t id = 0;  ///< of its track; 0: none
  std::uint32_t state = 0;
  far_field::Position place;
  far_field::Position velocity;  ///< 1/s
  far_field::Position variance;  ///< of the place, along x, y and z
  double sigma_major = 0.0;      ///< standard deviation along the directions of refinement: the largest one
  double sigma_minor = 0.0;      ///< and the smallest one
  double confidence = 0.0;       ///< mean coherence of all pairs of microphones
  double significance = 0.0;
  double level_db = 0.0;
  std::uint64_t first_bit_time = 0;  ///< of the window in which it was seen
};

inline constexpr std::uint32_t kSourceCandidate = 1;
inline constexpr std::uint32_t kSourceConfirmed = 2;
inline constexpr std::uint32_t kSourceCoasting = 4;
inline constexpr std::size_t kMostSourceRows = 16;

/// The powers of the bins in which a maximum was found.
std::span<const double> bin_powers_of(const SrpWindow& window, const SrpMaximum& maximum);

/// What the numerators of p are divided by, of spectra with these powers [bin]; NaN with too few microphones.
double scale_of(const SrpPlan& plan, double microphones, std::span<const double> bin_powers);

/// A maximum's place, moved to the top of the peak through the values round it, by at most the last round's spacing.
far_field::Position top_of(const SrpPlan& plan, const SrpMaximum& maximum);

/// Whether what all channels share may be a maximum of the window: straight ahead, coherent, and equally loud in all
/// microphones. A source far away straight ahead is no different. Of what remains of a window this is not known.
bool seems_common(const SrpPlan& plan, const SrpWindow& window);

/// The table's description.
Product sources_product(const SrpPlan& plan);
/// The table of one frame, of sources_product()'s size; at most kMostSourceRows rows.
void write_sources(const SrpPlan& plan, std::span<const SrpSource> sources, std::span<std::byte> table);

/// The maxima of a window as sources without tracks, those that are there.
std::vector<SrpSource> sources_of(const SrpPlan& plan, const SrpSignificance& significance, const SrpWindow& window);

}  // namespace nearfield
