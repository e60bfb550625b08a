#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "core/images.hpp"
#include "core/settings.hpp"
#include "imaging/shared/array_plan.hpp"

namespace nearfield {

struct ImageSurface;
struct OperatorSources;

/// One axis of the aperture and of its padded grid.
struct PaddedAxis {
  int measured = 0;
  int padded = 0;  ///< a length that the FFT supports, at least factor * measured
  int before = 0;  ///< padding in front of the aperture; (padded - measured) / 2
  double pitch_m = 0.0;
};

PaddedAxis pad_axis(int measured, double factor, double pitch_m);

/// Microphones along an axis in the measured spectrum: the largest length that the FFT supports.
int spectrum_length(int microphones);

/// Predictor order for a line of this length: at most length - 2.
int usable_order(int order, int length);

/// Largest number of hops on which a frame depends if an imager remembers frames: of two memories, each restarts
/// every kMemoryHops hops, half of that after the other one, and the older one is in use.
inline constexpr int kMemoryHops = 60;
inline constexpr int kMemoryHalf = kMemoryHops / 2;
/// A frame's search used spectra at most two of its intervals before the frame, and starts with the findings of up to 7
/// (kSearchMemory - 1) earlier ones.
inline constexpr int kSearchesOfMemory = 9;

/// The plan of near-field holography.
struct ImagePlan : ArrayPlan {
  /// Settings of images. Their standoff is not used: the array's is. Plans of processors name the chosen imager.
  HolographySettings holography{.imager = ImagerKind::kPnah};
  std::vector<double> cutoff_rad_per_m;  ///< [frequency]
  std::vector<double> slopes;            ///< [frequency]; empty: the filter's, for all
  std::string fft = "auto";              ///< "auto" | "clfft" | "fused", as DeviceSettings::fft
  bool input_is_finite = false;          ///< true for bits: spectra are never NaN or infinite
  int batch = 1;                         ///< frames imaged together
  int batches_in_flight = 1;             ///< batches whose results are kept on the host at a time: 1 or 2
  std::shared_ptr<const ImageSurface> surface = nullptr;     ///< imaged in place of planes; null: planes
  std::shared_ptr<const OperatorSources> sources = nullptr;  ///< sources of the prior of operators; null: a flat sheet
  bool searches = true;                                      ///< false: it is imaged without the findings of a search
  std::string section = "holography.";  ///< section of the configuration with the settings `holography`

  [[nodiscard]] PaddedAxis rows() const;
  [[nodiscard]] PaddedAxis columns() const;
  /// Number of spectra imaged together: all frequencies of all frames of a batch.
  [[nodiscard]] std::size_t holograms() const { return static_cast<std::size_t>(batch) * frequencies_hz.size(); }
  /// Number of fields propagated to each plane: pressure and velocity for intensity, else one.
  [[nodiscard]] std::size_t fields_per_plane() const {
    return holography.quantity == Quantity::kActiveIntensity ? 2 : 1;
  }
  /// Number of fields per frame and frequency, over all planes.
  [[nodiscard]] std::size_t fields() const { return holography.planes_m.size() * fields_per_plane(); }
  /// True if what comes from behind the array is told apart: by the setting, or for `auto` where the microphones stand
  /// in two or three planes before planes without a wall.
  [[nodiscard]] bool separates() const;
  /// Number of images per frequency: one on each plane, and as many of what comes from behind if it is told apart.
  [[nodiscard]] std::size_t images_per_frequency() const { return holography.planes_m.size() * (separates() ? 2 : 1); }
  /// Grid of images on planes, and of heights.
  [[nodiscard]] ImageGrid grid() const { return image_grid(geometry, holography.upsample); }
  /// Rows of the surface, if there is one, else of the grid.
  [[nodiscard]] int image_rows() const;
  [[nodiscard]] int image_columns() const;
  /// True if each frame's cut-off is measured from its spectrum; `cutoff_rad_per_m` is the upper limit then. Requires a
  /// `cos` filter and four microphones per side; without these, auto is dynamic_range.
  [[nodiscard]] bool measures_cutoff() const;
  /// True if cut-offs and slopes are searched in the background; `cutoff_rad_per_m` is used until the first result.
  [[nodiscard]] bool searches_cutoff() const;
  /// Hops from one search to the next, SearchSchedule::every(); 0: no search.
  [[nodiscard]] int search_every_hops() const;
  /// ResultHeader::memory_hops of its images.
  [[nodiscard]] std::int64_t memory_hops() const;
  /// Factor of the expected error that follows from formulas before it is published: the ratio of true to expected
  /// errors that remains over kinds of scenes set apart for this (docs/results/fidelity.md).
  [[nodiscard]] double error_calibration() const;
  /// Distance from the microphones to the lowest plane, or to the lowest place of the surface.
  [[nodiscard]] double largest_distance_m() const;
};

/// Conditions that select the imager for kAuto, besides the settings of images.
struct ImagerConditions {
  const ArrayGeometry& geometry;
  std::size_t frequencies = 1;
  std::string_view fft = "auto";  ///< DeviceSettings::fft
};

/// The imager that is used. For kAuto it is sonah, which is nearer to the truth for most kinds of fields, if no pitch
/// is far above the standoff; for a surface that is no plane, and if a prior is set. It is pnah for active intensity,
/// which sonah does not support; if settings that only pnah reads (extrapolation, filter, transforms) differ from their
/// defaults; and if sonah would make more than kMostAutoModels models, for which its start takes long. For microphones
/// on no regular grid it is operators, the only imager that supports them.
ImagerKind resolve_imager(const HolographySettings& holography, const ImagerConditions& conditions);
/// The imager for the plan's own standoff.
ImagerKind resolve_imager(const ImagePlan& plan);
/// Largest number of frequencies times planes. A model of 32 x 32 microphones takes a processor core 0.1 s and a device
/// 3 MB.
inline constexpr std::size_t kMostAutoModels = 200;

/// Cut-off of each frequency by the settings' rule: as given, or the wavenumber at which an evanescent wave loses
/// `dynamic_range_db` over the standoff, kc = sqrt(k^2 + (D ln 10 / (20 zh))^2), at most pi / the larger pitch but
/// never below k.
std::vector<double> resolve_cutoffs(const HolographySettings& holography, const MediumSettings& medium,
                                    const ArrayGeometry& geometry, const std::vector<double>& frequencies_hz);

/// Part of the images' filter reports that the settings determine, [frame][frequency]: cut-off and slope if the
/// settings give them.
std::vector<FilterReport> constant_reports(const ImagePlan& plan);

/// Checks the settings that depend on each other. Throws ConfigError.
void validate(const ImagePlan& plan);

/// True if point sources are searched beside the prior of this plan: the prior is a sheet of sources that the plan
/// itself lays, with 48 to 512 used microphones.
bool searches_points(const ImagePlan& plan);

/// Reason why a plan of operators that asks for a search has none: the number of its microphones. Empty if it has one,
/// or does not ask.
std::string reason_for_no_points(const ImagePlan& plan);

}  // namespace nearfield
