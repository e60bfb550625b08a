#pragma once
#include <memory>
#include <string>
#include <vector>

#include "imaging/array_plan.hpp"
#include "nearfield/frame.hpp"
#include "nearfield/image_grid.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

struct ImageSurface;
struct OperatorSources;

/// One axis of the aperture and of its padded grid.
struct PaddedAxis {
  int measured = 0;
  int padded = 0;  ///< a length that the FFT supports, not below factor * measured
  int before = 0;  ///< padding in front of the aperture; (padded - measured) / 2
  double pitch_m = 0.0;
};

PaddedAxis pad_axis(int measured, double factor, double pitch_m);

/// Microphones along an axis whose spectrum is measured: the largest length that the FFT supports.
int spectrum_length(int microphones);

/// The predictor's order that a line of this length allows: at most length - 2.
int usable_order(int order, int length);

/// How many hops a frame depends on at most where an imager remembers frames: of two memories, each begins anew every
/// kMemoryHops hops, half of that after the other one, and serves while it is the older one.
inline constexpr int kMemoryHops = 60;
inline constexpr int kMemoryHalf = kMemoryHops / 2;
/// A frame's search looked at most two of its intervals before the frame, and starts with what others found up to 7
/// (kSearchMemory - 1) before it.
inline constexpr int kSearchesOfMemory = 9;

/// The plan of near-field holography.
struct PnahPlan : ArrayPlan {
  /// But for its standoff, which is the array's. Plans of processors name the imager that was chosen.
  HolographySettings holography{.imager = ImagerKind::kPnah};
  std::vector<double> cutoff_rad_per_m;                      ///< [frequency]
  std::vector<double> slopes;                                ///< [frequency]; empty: the filter's, for all
  std::string fft = "auto";                                  ///< "auto" | "clfft" | "fused", as DeviceSettings::fft
  bool input_is_finite = false;                              ///< spectra are never NaN or infinite: of bits
  int batch = 1;                                             ///< frames that are imaged together
  int batches_in_flight = 1;                                 ///< whose results have room on the host at a time: 1 or 2
  std::shared_ptr<const ImageSurface> surface = nullptr;     ///< that is imaged in place of planes; null: planes
  std::shared_ptr<const OperatorSources> sources = nullptr;  ///< of the prior of operators; null: a flat sheet
  std::string section = "holography.";                       ///< of the configuration: where `holography` is from

  [[nodiscard]] PaddedAxis rows() const;
  [[nodiscard]] PaddedAxis columns() const;
  /// Spectra that are imaged together: of all frames of a batch.
  [[nodiscard]] std::size_t holograms() const { return static_cast<std::size_t>(batch) * frequencies_hz.size(); }
  /// Fields that are propagated to each plane: pressure and velocity for intensity, else one.
  [[nodiscard]] std::size_t fields_per_plane() const {
    return holography.quantity == Quantity::kActiveIntensity ? 2 : 1;
  }
  /// Fields of a frame and frequency, over all planes.
  [[nodiscard]] std::size_t fields() const { return holography.planes_m.size() * fields_per_plane(); }
  /// Of images on planes, and of heights.
  [[nodiscard]] ImageGrid grid() const { return image_grid(geometry, holography.upsample); }
  /// Of the surface, where there is one, else of the grid.
  [[nodiscard]] int image_rows() const;
  [[nodiscard]] int image_columns() const;
  /// Whether each frame's cut-off is measured from its spectrum; `cutoff_rad_per_m` is the upper limit then. It needs a
  /// `cos` filter and four microphones a side; without these, auto is dynamic_range.
  [[nodiscard]] bool measures_cutoff() const;
  /// Whether cut-offs and slopes are searched in the background; `cutoff_rad_per_m` holds until the first result.
  [[nodiscard]] bool searches_cutoff() const;
  /// From one search to the next, SearchSchedule::every(); 0: nothing is searched for.
  [[nodiscard]] int search_every_hops() const;
  /// ResultHeader::memory_hops of its images.
  [[nodiscard]] std::int64_t memory_hops() const;
  /// Whether an expected error of the plan's quantity is published with its images; where not, it is NaN. A filter that
  /// is given has none.
  [[nodiscard]] bool estimates_error() const;
  /// What the expected error that follows from formulas is multiplied by before it is published: the ratio of true to
  /// expected errors that is left over kinds of scenes set apart for this (docs/fidelity.md).
  [[nodiscard]] double error_calibration() const;
  /// From the microphones to the lowest plane, or to the lowest place of the surface.
  [[nodiscard]] double largest_distance_m() const;
};

/// Beside the settings of images what decides which imager kAuto stands for.
struct ImagerConditions {
  const ArrayGeometry& geometry;
  std::size_t frequencies = 1;
  std::string_view fft = "auto";  ///< DeviceSettings::fft
};

/// The imager that is used: for kAuto sonah, which is nearer to the truth wherever neighbouring microphones share much
/// of the near field, that is where no pitch is above the standoff, for a surface that is no plane, and where a prior
/// is set. It is pnah for active intensity, which sonah does not support; where what pnah alone reads (extrapolation,
/// filter, transforms) is set otherwise than by default; and where sonah would make more than kMostAutoModels models,
/// for which its start takes long. Of microphones on no regular grid it is operators, the one imager that takes them.
ImagerKind resolve_imager(const HolographySettings& holography, const ImagerConditions& conditions);
/// The same by the plan's own standoff.
ImagerKind resolve_imager(const PnahPlan& plan);
/// Frequencies times planes. A model of 32 x 32 microphones takes a processor core 0.1 s and a device 3 MB.
inline constexpr std::size_t kMostAutoModels = 200;

/// The cut-off of each frequency after the settings' rule: as given, or where an evanescent wave loses
/// `dynamic_range_db` over the standoff, kc = sqrt(k^2 + (D ln 10 / (20 zh))^2), at most pi / the larger pitch but
/// never below k.
std::vector<double> resolve_cutoffs(const HolographySettings& holography, const MediumSettings& medium,
                                    const ArrayGeometry& geometry, const std::vector<double>& frequencies_hz);

/// What the settings determine of the images' filters, [frame][frequency]: cut-off and slope where the settings give
/// them.
std::vector<FilterReport> constant_reports(const PnahPlan& plan);

/// Checks the settings that depend on each other. Throws ConfigError.
void validate(const PnahPlan& plan);

}  // namespace nearfield
