#include "imaging/pnah/cutoff_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/system/threads.hpp"
#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// Slopes to try. Flatter ones pass noise, steeper ones ring.
constexpr std::array kSlopes = {0.025, 0.05, 0.1, 0.2, 0.4};
/// Number of cut-offs tried first, from k up to the array's largest wavenumber.
constexpr int kCoarseSteps = 24;
/// Then, for each slope, cut-offs tried on each side of the best one, apart by this factor.
constexpr int kFineSteps = 4;
constexpr double kFineFactor = 1.03;

/// Plan with the lowest plane alone, one pixel per microphone, in the propagated quantity.
ImagePlan plan_of_search(ImagePlan plan) {
  plan.holography.planes_m = {*std::min_element(plan.holography.planes_m.begin(), plan.holography.planes_m.end())};
  plan.holography.upsample = 1;
  if (plan.holography.quantity == Quantity::kActiveIntensity) {
    plan.holography.quantity = Quantity::kPressure;
  }
  plan.holography.filter.kind = FilterKind::kNone;
  plan.batch = 1;
  return plan;
}

double bin_rad_per_m(int bin, const PaddedAxis& axis) {
  const int signed_bin = 2 * bin < axis.padded ? bin : bin - axis.padded;
  return 2.0 * std::numbers::pi * signed_bin / (axis.padded * axis.pitch_m);
}

/// e^{2 pi j k x} / padded for the aperture's samples. (microphone, bin)
Eigen::MatrixXcd inverse_of(const PaddedAxis& axis) {
  Eigen::MatrixXcd out(axis.measured, axis.padded);
  for (int i = 0; i < axis.measured; ++i) {
    for (int bin = 0; bin < axis.padded; ++bin) {
      const double turn = static_cast<double>((axis.before + i) * bin % axis.padded) / axis.padded;
      out(i, bin) = std::polar(1.0 / axis.padded, 2.0 * std::numbers::pi * turn);
    }
  }
  return out;
}

struct Filter {
  double cutoff_rad_per_m = 0.0;
  double slope = 0.0;
  double squared_error = 0.0;
};

}  // namespace

std::unique_ptr<Search> make_cutoff_search(const ImagePlan& plan) {
  return plan.searches_cutoff() ? defer_search([plan] { return std::make_unique<CutoffSearch>(plan); }) : nullptr;
}

CutoffSearch::CutoffSearch(const ImagePlan& plan)
    : plan_(plan_of_search(plan)),
      models_(make_sonah_models(plan_)),
      to_rows_(inverse_of(plan_.rows())),
      to_columns_(inverse_of(plan_.columns()).transpose()),
      kr_rad_per_m_(plan_.rows().padded, plan_.columns().padded) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t f = 0; f < models_.size(); ++f) {
    finders_.emplace_back(plan_, f, models_[f]);
    given_.push_back({.cutoff_rad_per_m = static_cast<float>(plan.cutoff_rad_per_m[f]),
                      .slope = static_cast<float>(plan.holography.filter.slope),
                      .noise_pa = kNone,
                      .error_estimate = kNone});
  }
  if (plan.holography.quantity == Quantity::kActiveIntensity) {
    velocity_plan_ = plan_;
    velocity_plan_.holography.quantity = Quantity::kNormalVelocity;
    velocity_models_ = make_sonah_models(velocity_plan_);
    for (std::size_t f = 0; f < velocity_models_.size(); ++f) {
      velocity_finders_.emplace_back(velocity_plan_, f, velocity_models_[f]);
    }
  }
  for (int y = 0; y < plan_.rows().padded; ++y) {
    for (int x = 0; x < plan_.columns().padded; ++x) {
      kr_rad_per_m_(y, x) = std::hypot(bin_rad_per_m(x, plan_.columns()), bin_rad_per_m(y, plan_.rows()));
    }
  }
}

std::shared_ptr<const Findings> CutoffSearch::search(std::span<const std::complex<float>> spectra,
                                                     const MicrophoneMask& mask, std::uint64_t number) {
  const std::vector<Complex> fields = usable_spectra(spectra, plan_, mask);
  if (fields.empty()) {
    return nullptr;
  }
  const auto channels = static_cast<std::size_t>(plan_.geometry.channels());
  auto findings = std::make_shared<FilterFindings>();
  const auto before = before_.at(number);
  for (std::vector<FilterReport>* filters : {before.settling, before.serving}) {
    *filters = filters->empty() ? given_ : *filters;
  }
  for (std::size_t f = 0; f < finders_.size(); ++f) {
    const std::optional<FilterReport> found =
        search_one(f, std::span(fields).subspan(f * channels, channels), number, mask);
    (*before.settling)[f] = found.value_or((*before.settling)[f]);
    (*before.serving)[f] = found.value_or((*before.serving)[f]);
  }
  findings->filters = *before.serving;
  return findings;
}

void CutoffSearch::restart() {
  before_.clear();
  for (WaveFinder& finder : finders_) {
    finder.restart();
  }
  for (WaveFinder& finder : velocity_finders_) {
    finder.restart();
  }
}

Eigen::MatrixXcd CutoffSearch::propagated(const Eigen::MatrixXcd& spectrum, const ImagePlan& plan,
                                          std::size_t frequency) const {
  const double distance_m = plan.largest_distance_m();
  Eigen::MatrixXcd out(spectrum.rows(), spectrum.cols());
  for (Index y = 0; y < out.rows(); ++y) {
    for (Index x = 0; x < out.cols(); ++x) {
      out(y, x) = spectrum(y, x) * reference::transfer(bin_rad_per_m(static_cast<int>(x), plan.columns()),
                                                       bin_rad_per_m(static_cast<int>(y), plan.rows()), distance_m,
                                                       frequency, plan);
    }
  }
  return out;
}

Eigen::MatrixXcd CutoffSearch::filtered(const Eigen::MatrixXcd& propagated, double cutoff, double slope) const {
  const Eigen::ArrayXXd x = (1.0 - kr_rad_per_m_ / cutoff) / slope;
  const Eigen::ArrayXXd half = 0.5 * (-x.abs()).exp();
  const Eigen::ArrayXXd kept = (x >= 0.0).select(1.0 - half, half);
  return to_rows_ * (propagated.array() * kept).matrix() * to_columns_;
}

/// Expected relative error of Re(p v*)/2. Its mean field is the product of the mean fields, and its variance follows
/// from theirs, taken as evenly spread over the pixels and independent of each other.
double CutoffSearch::intensity_error(const Imaged& pressure, const Imaged& velocity) {
  const auto intensity = [](const Eigen::MatrixXcd& p, const Eigen::MatrixXcd& v) -> Eigen::ArrayXXd {
    return 0.5 * (p.array() * v.array().conjugate()).real();
  };
  const Eigen::ArrayXXd mean = intensity(pressure.estimate.image, velocity.estimate.image);
  const double of_p = pressure.estimate.squared_error;
  const double of_v = velocity.estimate.squared_error;
  const auto pixels = static_cast<double>(mean.size());
  const double variance =
      (pressure.estimate.image.squaredNorm() * of_v + velocity.estimate.image.squaredNorm() * of_p + of_p * of_v) /
      (8.0 * pixels);
  const double bias = (intensity(pressure.image, velocity.image) - mean).square().sum();
  return std::sqrt((bias + variance) / mean.square().sum());
}

/// Returns nullopt if the field contains no information about the filter.
std::optional<FilterReport> CutoffSearch::search_one(std::size_t frequency, std::span<const Complex> field,
                                                     std::uint64_t number, const MicrophoneMask& mask) {
  const PaddedAxis rows = plan_.rows();
  const PaddedAxis columns = plan_.columns();
  (void)finders_[frequency].find(field, number, &mask);
  const FieldEstimate estimate = finders_[frequency].estimate();
  const double energy = estimate.image.squaredNorm();
  if (!(energy > 0.0)) {
    return std::nullopt;  // silence
  }

  reference::Field aperture(rows.measured, columns.measured);
  std::copy(field.begin(), field.end(), aperture.values.begin());
  bool fell_back = false;
  const reference::Field spectrum =
      reference::transform(reference::taper(reference::extrapolate(aperture, plan_, fell_back), plan_), -1.0);
  Eigen::MatrixXcd spectrum_of_field(rows.padded, columns.padded);
  for (int y = 0; y < rows.padded; ++y) {
    for (int x = 0; x < columns.padded; ++x) {
      spectrum_of_field(y, x) = spectrum.at(y, x);
    }
  }
  const Eigen::MatrixXcd at_plane = propagated(spectrum_of_field, plan_, frequency);

  const auto tried = [&](double cutoff, double slope) {
    Stoppable::end_if_stopped();
    return Filter{cutoff, slope, (filtered(at_plane, cutoff, slope) - estimate.image).squaredNorm()};
  };
  const auto better = [](const Filter& a, const Filter& b) { return b.squared_error < a.squared_error ? b : a; };
  const double least = plan_.wavenumber(frequency);
  const double most = std::max(least, std::numbers::pi / std::max(plan_.geometry.pitch_x_m, plan_.geometry.pitch_y_m));
  const double factor = std::pow(most / least, 1.0 / kCoarseSteps);
  Filter best{most, plan_.holography.filter.slope, std::numeric_limits<double>::infinity()};
  best = better(best, tried(best.cutoff_rad_per_m, best.slope));
  for (int step = 0; step < kCoarseSteps; ++step) {
    best = better(best, tried(least * std::pow(factor, step), best.slope));
  }
  const double coarse = best.cutoff_rad_per_m;
  for (const double slope : kSlopes) {
    for (int step = -kFineSteps; step <= kFineSteps; ++step) {
      best = better(best, tried(std::clamp(coarse * std::pow(kFineFactor, step), least, most), slope));
    }
  }
  if (!std::isfinite(best.squared_error)) {
    return std::nullopt;  // so far away that growth exceeds double precision
  }
  double error = std::sqrt((best.squared_error + estimate.squared_error) / energy);
  if (!velocity_finders_.empty()) {
    (void)velocity_finders_[frequency].find(field, number, &mask);
    const Eigen::MatrixXcd velocity = propagated(spectrum_of_field, velocity_plan_, frequency);
    error = intensity_error(
        {filtered(at_plane, best.cutoff_rad_per_m, best.slope), estimate},
        {filtered(velocity, best.cutoff_rad_per_m, best.slope), velocity_finders_[frequency].estimate()});
  }
  return FilterReport{.cutoff_rad_per_m = static_cast<float>(best.cutoff_rad_per_m),
                      .slope = static_cast<float>(best.slope),
                      .noise_pa = static_cast<float>(estimate.noise_pa),
                      .error_estimate = static_cast<float>(error)};
}

}  // namespace nearfield
