#include "imaging/pnah/pnah_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/frame.hpp"
#include "imaging/pnah/cutoff_search.hpp"

namespace nearfield::reference {
namespace {

constexpr Complex kJ{0.0, 1.0};
/// White noise added to the error power of every Burg stage, relative to the first (kernels/imaging/predictor.cl).
constexpr double kBurgFloor = 3e-4;
constexpr double kRunaway = 1e6;

using Line = std::vector<Complex>;

/// The padded line: `line` continued on both sides by a predictor, or by zeros when `a` is empty.
Line extend(const Line& line, const std::vector<Complex>& a, const PaddedAxis& axis) {
  Line padded(static_cast<std::size_t>(axis.padded));
  std::copy(line.begin(), line.end(), padded.begin() + axis.before);
  const int order = static_cast<int>(a.size()) - 1;
  for (int n = axis.before + axis.measured; n < axis.padded; ++n) {
    for (int i = 1; i <= order; ++i) {
      padded[static_cast<std::size_t>(n)] -= a[static_cast<std::size_t>(i)] * padded[static_cast<std::size_t>(n - i)];
    }
  }
  for (int n = axis.before - 1; n >= 0; --n) {
    for (int i = 1; i <= order; ++i) {
      padded[static_cast<std::size_t>(n)] -=
          std::conj(a[static_cast<std::size_t>(i)]) * padded[static_cast<std::size_t>(n + i)];
    }
  }
  return padded;
}

/// True when a predicted sample is not finite or exceeds `limit`.
bool runs_away(const Line& padded, double limit) {
  return std::any_of(padded.begin(), padded.end(), [&](Complex v) { return !(std::abs(v) <= limit); });
}

double largest_magnitude(const Line& line) {
  double largest = 0.0;
  for (const Complex value : line) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

/// A pooled predictor is unstable when it turns a unit impulse at some microphone into more than kRunaway.
bool impulse_runs_away(const std::vector<Complex>& a, const PaddedAxis& axis) {
  for (int n = 0; n < axis.measured; ++n) {
    Line impulse(static_cast<std::size_t>(axis.measured));
    impulse[static_cast<std::size_t>(n)] = 1.0;
    if (runs_away(extend(impulse, a, axis), kRunaway)) {
      return true;
    }
  }
  return false;
}

Line row_of(const Field& field, int row) {
  const auto first = field.values.begin() + row * field.columns;
  return {first, first + field.columns};
}

Field transposed(const Field& field) {
  Field result(field.columns, field.rows);
  for (int row = 0; row < field.rows; ++row) {
    for (int column = 0; column < field.columns; ++column) {
      result.at(column, row) = field.at(row, column);
    }
  }
  return result;
}

/// Extends each row by its own predictor.
Field extend_each_row(const Field& field, int order, const PaddedAxis& axis, bool& fell_back) {
  Field result(field.rows, axis.padded);
  for (int row = 0; row < field.rows; ++row) {
    const Line line = row_of(field, row);
    const std::vector<Complex> a = burg({line}, order);
    Line padded = extend(line, a, axis);
    if (a.empty() || runs_away(padded, kRunaway * largest_magnitude(line))) {
      padded = extend(line, {}, axis);
      fell_back = true;
    }
    std::copy(padded.begin(), padded.end(), result.values.begin() + row * axis.padded);
  }
  return result;
}

/// The predictor pooled over all rows of the field; empty (zero padding) when it can't be used.
std::vector<Complex> pooled_predictor(const Field& field, int order, const PaddedAxis& axis, bool& fell_back) {
  std::vector<Line> lines;
  for (int row = 0; row < field.rows; ++row) {
    lines.push_back(row_of(field, row));
  }
  std::vector<Complex> a = burg(lines, order);
  if (a.empty() || impulse_runs_away(a, axis)) {
    fell_back = true;
    return {};
  }
  return a;
}

Field extend_rows_with(const Field& field, const std::vector<Complex>& a, const PaddedAxis& axis) {
  Field result(field.rows, axis.padded);
  for (int row = 0; row < field.rows; ++row) {
    const Line padded = extend(row_of(field, row), a, axis);
    std::copy(padded.begin(), padded.end(), result.values.begin() + row * axis.padded);
  }
  return result;
}

Field replicate_edges(const Field& field, const PaddedAxis& rows, const PaddedAxis& columns) {
  Field result(rows.padded, columns.padded);
  for (int row = 0; row < rows.padded; ++row) {
    for (int column = 0; column < columns.padded; ++column) {
      result.at(row, column) = field.at(std::clamp(row - rows.before, 0, rows.measured - 1),
                                        std::clamp(column - columns.before, 0, columns.measured - 1));
    }
  }
  return result;
}

double tukey(int n, const PaddedAxis& axis) {
  const int after = axis.padded - axis.measured - axis.before;
  const int last = axis.before + axis.measured - 1;
  if (n < axis.before) {
    return 0.5 * (1.0 + std::cos(std::numbers::pi * (axis.before - n) / axis.before));
  }
  if (n > last) {
    return 0.5 * (1.0 + std::cos(std::numbers::pi * (n - last) / after));
  }
  return 1.0;
}

double filter_gain(double kr, double decay, std::size_t frequency, const ImagePlan& plan) {
  const FilterSettings& filter = plan.holography.filter;
  if (filter.kind == FilterKind::kNone) {
    return 1.0;
  }
  if (filter.kind == FilterKind::kTikhonov) {
    return decay * decay / (decay * decay + filter.tikhonov_lambda);
  }
  const double slope = plan.slopes.empty() ? filter.slope : plan.slopes[frequency];
  const double relative = 1.0 - kr / plan.cutoff_rad_per_m[frequency];
  return relative >= 0.0 ? 1.0 - 0.5 * std::exp(-relative / slope) : 0.5 * std::exp(relative / slope);
}

int signed_bin(int index, int size) { return index < (size + 1) / 2 ? index : index - size; }

/// Transforms every row by the sum of the formula.
Field transform_rows(const Field& field, double sign) {
  std::vector<Complex> turn(static_cast<std::size_t>(field.columns));
  for (int i = 0; i < field.columns; ++i) {
    turn[static_cast<std::size_t>(i)] = std::polar(1.0, sign * 2.0 * std::numbers::pi * i / field.columns);
  }
  Field result(field.rows, field.columns);
  for (int row = 0; row < field.rows; ++row) {
    for (int bin = 0; bin < field.columns; ++bin) {
      Complex sum = 0.0;
      for (int column = 0; column < field.columns; ++column) {
        sum += field.at(row, column) * turn[static_cast<std::size_t>(bin * column % field.columns)];
      }
      result.at(row, bin) = sum;
    }
  }
  return result;
}

/// Re(p v*)/2, the mean power through a unit of area towards the array.
Field active_intensity(const Field& spectrum, double plane_m, std::size_t frequency, ImagePlan plan) {
  plan.holography.quantity = Quantity::kPressure;
  const Field pressure = back_propagate(spectrum, plane_m, frequency, plan);
  plan.holography.quantity = Quantity::kNormalVelocity;
  const Field velocity = back_propagate(spectrum, plane_m, frequency, plan);
  Field intensity(pressure.rows, pressure.columns);
  for (std::size_t i = 0; i < intensity.values.size(); ++i) {
    intensity.values[i] = 0.5 * (pressure.values[i] * std::conj(velocity.values[i])).real();
  }
  return intensity;
}

}  // namespace

std::vector<Complex> burg(const std::vector<std::vector<Complex>>& lines, int order) {
  std::vector<Line> forward = lines;
  std::vector<Line> backward = lines;
  std::vector<Complex> a = {1.0};
  double energy = 0.0;
  for (int m = 1; m <= order; ++m) {
    Complex numerator = 0.0;
    double denominator = 0.0;
    for (std::size_t l = 0; l < lines.size(); ++l) {
      for (std::size_t n = static_cast<std::size_t>(m); n < lines[l].size(); ++n) {
        numerator += forward[l][n] * std::conj(backward[l][n - 1]);
        denominator += std::norm(forward[l][n]) + std::norm(backward[l][n - 1]);
      }
    }
    if (m == 1) {
      energy = denominator;
      if (!(energy > 0.0) || !std::isfinite(energy)) {
        return {};
      }
    }
    const Complex k = -2.0 * numerator / (denominator + kBurgFloor * energy);
    std::vector<Complex> next(a.size() + 1, 0.0);
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = (i < a.size() ? a[i] : 0.0) + k * (i > 0 ? std::conj(a[a.size() - i]) : 0.0);
    }
    a = next;
    for (std::size_t l = 0; l < lines.size(); ++l) {
      const Line old_forward = forward[l];
      const Line old_backward = backward[l];
      for (std::size_t n = static_cast<std::size_t>(m); n < lines[l].size(); ++n) {
        forward[l][n] = old_forward[n] + k * old_backward[n - 1];
        backward[l][n] = old_backward[n - 1] + std::conj(k) * old_forward[n];
      }
    }
  }
  return a;
}

Field extrapolate(const Field& aperture, const ImagePlan& plan, bool& fell_back) {
  const PaddedAxis rows = plan.rows();
  const PaddedAxis columns = plan.columns();
  const int order_x = usable_order(plan.holography.extrapolation.order, aperture.columns);
  const int order_y = usable_order(plan.holography.extrapolation.order, aperture.rows);
  switch (plan.holography.extrapolation.method) {
    case Extrapolation::kEdge:
      return replicate_edges(aperture, rows, columns);
    case Extrapolation::kZero:
      return transposed(extend_rows_with(transposed(extend_rows_with(aperture, {}, columns)), {}, rows));
    case Extrapolation::kLpbp: {
      const Field wide = extend_each_row(aperture, order_x, columns, fell_back);
      return transposed(extend_each_row(transposed(wide), order_y, rows, fell_back));
    }
    case Extrapolation::kPlpbp:
      break;
  }
  const std::vector<Complex> a_x = pooled_predictor(aperture, order_x, columns, fell_back);
  const std::vector<Complex> a_y = pooled_predictor(transposed(aperture), order_y, rows, fell_back);
  return transposed(extend_rows_with(transposed(extend_rows_with(aperture, a_x, columns)), a_y, rows));
}

Field taper(const Field& padded, const ImagePlan& plan) {
  Field result = padded;
  for (int row = 0; row < padded.rows; ++row) {
    for (int column = 0; column < padded.columns; ++column) {
      result.at(row, column) *= tukey(row, plan.rows()) * tukey(column, plan.columns());
    }
  }
  return result;
}

Field transform(const Field& field, double sign) {
  return transposed(transform_rows(transposed(transform_rows(field, sign)), sign));
}

Complex transfer(double kx, double ky, double distance_m, std::size_t frequency, const ImagePlan& plan) {
  const double k = plan.wavenumber(frequency);
  const double kr = std::hypot(kx, ky);
  const Complex kz = kr <= k ? Complex(std::sqrt(k * k - kr * kr), 0.0) : Complex(0.0, -std::sqrt(kr * kr - k * k));
  const double decay = std::exp(kz.imag() * distance_m);
  Complex value = filter_gain(kr, decay, frequency, plan) * std::exp(kJ * kz * distance_m);
  const Complex admittance = kz / (plan.medium.density_kg_m3 * plan.medium.sound_speed_m_s * k);
  if (plan.holography.quantity == Quantity::kNormalVelocity) {
    value *= admittance;
  } else if (plan.holography.quantity == Quantity::kDisplacement) {
    value *= admittance / (kJ * 2.0 * std::numbers::pi * plan.frequencies_hz[frequency]);
  }
  return value;
}

Field back_propagate(const Field& spectrum, double plane_m, std::size_t frequency, const ImagePlan& plan) {
  if (plan.holography.quantity == Quantity::kActiveIntensity) {
    return active_intensity(spectrum, plane_m, frequency, plan);
  }
  const int u = plan.holography.upsample;
  const double distance_m = plan.standoff_m - plane_m;
  const double step_x = 2.0 * std::numbers::pi / (spectrum.columns * plan.geometry.pitch_x_m);
  const double step_y = 2.0 * std::numbers::pi / (spectrum.rows * plan.geometry.pitch_y_m);
  Field fine(u * spectrum.rows, u * spectrum.columns);
  for (int row = 0; row < fine.rows; ++row) {
    for (int column = 0; column < fine.columns; ++column) {
      const int bin_y = signed_bin(row, fine.rows);
      const int bin_x = signed_bin(column, fine.columns);
      if (2 * std::abs(bin_y) > spectrum.rows || 2 * std::abs(bin_x) > spectrum.columns) {
        continue;
      }
      const double share = (u > 1 && 2 * std::abs(bin_y) == spectrum.rows ? 0.5 : 1.0) *
                           (u > 1 && 2 * std::abs(bin_x) == spectrum.columns ? 0.5 : 1.0);
      const Complex coarse =
          spectrum.at((bin_y + spectrum.rows) % spectrum.rows, (bin_x + spectrum.columns) % spectrum.columns);
      fine.at(row, column) = share * coarse * transfer(step_x * bin_x, step_y * bin_y, distance_m, frequency, plan);
    }
  }
  const Field field = transform(fine, 1.0);
  Field image(plan.image_rows(), plan.image_columns());
  const double scale = 1.0 / (static_cast<double>(spectrum.rows) * spectrum.columns);
  for (int row = 0; row < image.rows; ++row) {
    for (int column = 0; column < image.columns; ++column) {
      image.at(row, column) = scale * field.at(u * plan.rows().before + row, u * plan.columns().before + column);
    }
  }
  return image;
}

namespace {

/// Measures and settles each frequency's cut-off, into `plan` and the reports.
void apply_measured_cutoffs(const std::vector<Field>& apertures, ImagePlan& plan, std::vector<CutoffState>& states,
                            const FrameHop& hop, std::vector<FilterReport>& reports) {
  states.resize(apertures.size());
  plan.slopes.resize(apertures.size());
  for (std::size_t f = 0; f < apertures.size(); ++f) {
    const MeasuredSpectrum measured = measure_spectrum(apertures[f], f, plan);
    states[f] = settle(states[f], measured, plan, hop);
    reports[f] = {.cutoff_rad_per_m = static_cast<float>(states[f].cutoff_rad_per_m),
                  .slope = static_cast<float>(states[f].slope),
                  .noise_pa = static_cast<float>(std::sqrt(states[f].noise_pa2)),
                  .error_estimate = static_cast<float>(estimate_error(measured, states[f], f, plan))};
  }
  for (std::size_t f = 0; f < apertures.size(); ++f) {
    plan.cutoff_rad_per_m[f] = states[f].cutoff_rad_per_m;
    plan.slopes[f] = states[f].slope;
  }
}

}  // namespace

Images pnah(std::span<const Complex> spectra, const ImagePlan& plan, std::vector<CutoffState>& states,
            const FrameHop& hop) {
  const ConditionedSpectra conditioned = condition_microphones(spectra, plan);
  ImagePlan filtered = plan;
  Images out;
  out.reports = constant_reports(plan);
  out.reports.resize(plan.frequencies_hz.size());
  if (plan.measures_cutoff()) {
    apply_measured_cutoffs(conditioned.fields, filtered, states, hop, out.reports);
  }
  bool fell_back = false;
  std::vector<Field> k_space;
  for (const Field& field : conditioned.fields) {
    k_space.push_back(transform(taper(extrapolate(field, plan, fell_back), plan), -1.0));
  }
  out.non_finite_channels = conditioned.non_finite_channels;
  out.flags = conditioned.flags | plan.constant_flags() | (fell_back ? kFlagExtrapolationFellBack : 0U);
  for (const double plane_m : plan.holography.planes_m) {
    for (std::size_t f = 0; f < k_space.size(); ++f) {
      const Field image = back_propagate(k_space[f], plane_m, f, filtered);
      out.images.insert(out.images.end(), image.values.begin(), image.values.end());
    }
  }
  return out;
}

Images pnah(std::span<const Complex> spectra, const ImagePlan& plan) {
  std::vector<CutoffState> none;
  return pnah(spectra, plan, none, FrameHop());
}

namespace {

class PnahProcessor : public Imager {
 public:
  explicit PnahProcessor(const ImagePlan& plan) : plan_(plan), masked_plan_(plan) {}
  Images image(std::span<const Complex> spectra) override {
    Images images = pnah(spectra, masked_plan_, cutoffs_, take_hop());
    if (!filters_.empty()) {
      images.reports = filters_;
    }
    return images;
  }
  void use(const MicrophoneMask& mask) override {
    masked_plan_.dead_channels.assign(mask.channels.begin(), mask.channels.end());
  }
  void forget() override { cutoffs_.clear(); }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    filters_ = findings_as<FilterFindings>(findings).filters;
    masked_plan_.slopes.resize(filters_.size());
    for (std::size_t f = 0; f < filters_.size(); ++f) {
      masked_plan_.cutoff_rad_per_m[f] = static_cast<double>(filters_[f].cutoff_rad_per_m);
      masked_plan_.slopes[f] = static_cast<double>(filters_[f].slope);
    }
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override { return make_cutoff_search(plan_); }

 private:
  ImagePlan plan_;
  ImagePlan masked_plan_;              ///< plan_ with the mask and the filters in effect
  std::vector<CutoffState> cutoffs_;   ///< [frequency]
  std::vector<FilterReport> filters_;  ///< [frequency], from a search; empty before the first result
};

}  // namespace

std::unique_ptr<Imager> make_pnah(const ImagePlan& plan) { return std::make_unique<PnahProcessor>(plan); }

}  // namespace nearfield::reference
