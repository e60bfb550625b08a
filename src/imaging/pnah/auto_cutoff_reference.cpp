#include <algorithm>
#include <cmath>
#include <numbers>

#include "imaging/pnah/pnah_reference.hpp"

namespace nearfield::reference {
namespace {

/// Inner edge of the noise shell over the largest sampled wavenumber.
constexpr double kShell = 1.05;
/// Power over the noise at the cut-off, for a field that fills the aperture evenly.
constexpr double kOverNoise = 3.0;
/// The largest share of the field's power that the window is assumed to hide.
constexpr double kMostHidden = 4.0;
/// A cut-off moves when it is off by more than this factor.
constexpr double kBand = 1.05;
/// Factor of the level, up or down, at which the state is reset.
constexpr double kJump = 4.0;
/// Relative error from parts beyond the aperture's edges, for a field that fills the aperture evenly at k zh = 1.
constexpr double kTruncated = 0.05;
/// Least power of an intensity over that of pressure times velocity.
constexpr double kLeastActive = 1e-6;
constexpr double kLargestExponent = 80.0;

double bin_of(int index, int size) { return index < (size + 1) / 2 ? index : index - size; }

double hann(int n, int size) { return std::pow(std::sin(std::numbers::pi * (n + 0.5) / size), 2); }

/// Calls `visit` for each bin with its power, kr and its position between the centre (0) and the largest wavenumber
/// along an axis (1).
template <class Visit>
void for_each_bin(const Field& spectrum, const ImagePlan& plan, const Visit& visit) {
  const ArrayGeometry& geometry = plan.geometry;
  for (int row = 0; row < spectrum.rows; ++row) {
    for (int column = 0; column < spectrum.columns; ++column) {
      const double y = 2.0 * bin_of(row, spectrum.rows) / spectrum.rows;
      const double x = 2.0 * bin_of(column, spectrum.columns) / spectrum.columns;
      const double kr =
          std::hypot(std::numbers::pi * y / geometry.pitch_y_m, std::numbers::pi * x / geometry.pitch_x_m);
      visit(std::norm(spectrum.at(row, column)), kr, std::hypot(y, x));
    }
  }
}

/// The aperture, or its largest part whose lengths the FFT supports, under a Hann window, scaled so that white noise
/// keeps its power in every bin of the transform.
Field windowed(const Field& aperture) {
  Field field(spectrum_length(aperture.rows), spectrum_length(aperture.columns));
  double energy = 0.0;
  for (int row = 0; row < field.rows; ++row) {
    for (int column = 0; column < field.columns; ++column) {
      const double weight = hann(row, field.rows) * hann(column, field.columns);
      field.at(row, column) = weight * aperture.at(row, column);
      energy += weight * weight;
    }
  }
  for (Complex& value : field.values) {
    value /= std::sqrt(energy);
  }
  return field;
}

double mean_power(const Field& field) {
  double sum = 0.0;
  for (const Complex value : field.values) {
    sum += std::norm(value);
  }
  return sum / static_cast<double>(field.values.size());
}

/// Noise from the median: white noise's powers are exponentially distributed, so it is ln 2 of their mean.
double shell_noise(const Field& spectrum, const ImagePlan& plan) {
  std::vector<double> powers;
  for_each_bin(spectrum, plan, [&](double power, double /*kr*/, double place) {
    if (place > kShell) {
      powers.push_back(power);
    }
  });
  const auto middle = powers.begin() + static_cast<std::ptrdiff_t>(powers.size() / 2);
  std::nth_element(powers.begin(), middle, powers.end());
  return *middle / std::numbers::ln2;
}

/// Rings a bin wide, each with triangular weights that end at its neighbours.
void fill_rings(const Field& spectrum, const ImagePlan& plan, MeasuredSpectrum& out) {
  const ArrayGeometry& geometry = plan.geometry;
  out.ring_rad_per_m = std::max(2.0 * std::numbers::pi / (spectrum.rows * geometry.pitch_y_m),
                                2.0 * std::numbers::pi / (spectrum.columns * geometry.pitch_x_m));
  const double corner = std::hypot(std::numbers::pi / geometry.pitch_x_m, std::numbers::pi / geometry.pitch_y_m);
  const auto rings = static_cast<std::size_t>(corner / out.ring_rad_per_m) + 2;
  out.rings_pa2.assign(rings, 0.0);
  out.ring_bins.assign(rings, 0.0);
  for_each_bin(spectrum, plan, [&](double power, double kr, double /*place*/) {
    for (std::size_t ring = 0; ring < rings; ++ring) {
      const double weight = std::max(1.0 - std::abs(kr / out.ring_rad_per_m - static_cast<double>(ring)), 0.0);
      out.rings_pa2[ring] += weight * power;
      out.ring_bins[ring] += weight;
    }
  });
  for (std::size_t ring = 0; ring < rings; ++ring) {
    out.rings_pa2[ring] = out.ring_bins[ring] > 0.0 ? out.rings_pa2[ring] / out.ring_bins[ring] : 0.0;
  }
}

/// Finds the radius at which the rings fall below the noise times `over`.
void find_edge(double over, std::size_t last, MeasuredSpectrum& out) {
  const double threshold = out.noise_pa2 * (1.0 + over);
  for (std::size_t ring = last; ring > 0; --ring) {
    const double power = out.rings_pa2[ring];
    if (!(power > threshold)) {
      continue;
    }
    out.edge_rings = static_cast<double>(ring);
    out.edge_pa2 = power - out.noise_pa2;
    if (ring < last) {
      out.edge_rings += std::log(power / threshold) / std::log(power / out.rings_pa2[ring + 1]);
      out.edge_pa2 = threshold - out.noise_pa2;
    }
    return;
  }
}

}  // namespace

MeasuredSpectrum measure_spectrum(const Field& aperture, std::size_t frequency, const ImagePlan& plan) {
  MeasuredSpectrum out;
  const Field field = windowed(aperture);
  const Field spectrum = transform(field, -1.0);
  out.level_pa2 = mean_power(aperture);
  out.noise_pa2 = shell_noise(spectrum, plan);
  fill_rings(spectrum, plan, out);
  const double seen_pa2 = mean_power(spectrum);
  out.hidden = seen_pa2 > 0.0 ? std::min(out.level_pa2 / seen_pa2, kMostHidden) : 1.0;
  const double nyquist = std::numbers::pi / std::max(plan.geometry.pitch_x_m, plan.geometry.pitch_y_m);
  const auto last = static_cast<std::size_t>(std::ceil(nyquist / out.ring_rad_per_m - 1e-6));
  find_edge(kOverNoise / out.hidden, std::min(last, out.rings_pa2.size() - 1), out);
  out.cutoff_rad_per_m = std::max(plan.wavenumber(frequency),
                                  std::min(out.edge_rings * out.ring_rad_per_m, plan.cutoff_rad_per_m[frequency]));
  return out;
}

namespace {

/// Memory number `which`, including this frame.
CutoffMemory remembered(const CutoffMemory& before, int which, std::int64_t half, const MeasuredSpectrum& measured) {
  const std::int64_t begun_half = half % 2 == which ? half : half - 1;
  const bool jumped = measured.level_pa2 > kJump * before.level_pa2 || kJump * measured.level_pa2 < before.level_pa2;
  CutoffMemory after{.begun_half = begun_half,
                     .frames = 1,
                     .cutoff_rad_per_m = measured.cutoff_rad_per_m,
                     .noise_pa2 = measured.noise_pa2,
                     .level_pa2 = measured.level_pa2};
  if (before.frames == 0 || before.begun_half != begun_half || jumped) {
    return after;
  }
  const double off = measured.cutoff_rad_per_m / before.cutoff_rad_per_m;
  after.side = off > kBand ? 1 : off < 1.0 / kBand ? -1 : 0;
  double share = 0.0;  // share of the step to the measured cut-off
  if (after.side != 0) {
    const bool moves = after.side == before.side;
    after.frames = moves ? 1 : before.frames;
    share = moves ? 0.5 : 0.0;
  } else {
    const bool settles = begun_half == half;
    after.frames = before.frames + (settles ? 1 : 0);
    share = settles ? 1.0 / after.frames : 0.0;
  }
  after.cutoff_rad_per_m = before.cutoff_rad_per_m * std::pow(off, share);
  if (before.noise_pa2 > 0.0 && measured.noise_pa2 > 0.0) {
    after.noise_pa2 = before.noise_pa2 * std::pow(measured.noise_pa2 / before.noise_pa2, 0.25);
  }
  return after;
}

}  // namespace

CutoffState settle(const CutoffState& before, const MeasuredSpectrum& measured, const ImagePlan& plan,
                   const FrameHop& hop) {
  const auto half = static_cast<std::int64_t>(hop.hop / kMemoryHalf);
  CutoffState after{.cutoff_rad_per_m = measured.cutoff_rad_per_m,
                    .noise_pa2 = measured.noise_pa2,
                    .level_pa2 = measured.level_pa2,
                    .memories = before.memories};
  if (measured.level_pa2 > 0.0) {
    for (int which = 0; which < 2; ++which) {
      CutoffMemory& memory = after.memories.at(static_cast<std::size_t>(which));
      const CutoffMemory with_frame = remembered(memory, which, half, measured);
      if (half % 2 != which) {
        after.cutoff_rad_per_m = with_frame.cutoff_rad_per_m;
        after.noise_pa2 = with_frame.noise_pa2;
      }
      memory = hop.is_whole ? with_frame : memory;
    }
  }
  after.slope = std::min(plan.holography.filter.slope, 0.5 / (after.cutoff_rad_per_m * plan.largest_distance_m()));
  return after;
}

namespace {

/// Second moments of pressure p and kz p, kz in units of k, over an image's waves.
struct Moments {
  double pressure = 0.0;
  double velocity = 0.0;
  Complex both;  ///< p (kz p)*

  void add(double power, Complex kz) {
    pressure += power;
    velocity += power * std::norm(kz);
    both += power * std::conj(kz);
  }
};

/// The prior's power over K-space at the microphones: monopoles as far behind the surface as the microphones are in
/// front of it (docs/how/sonah.md).
double decayed(double kr, double k, const ImagePlan& plan) {
  const ArrayGeometry& g = plan.geometry;
  const double decay2 = std::max(kr * kr - k * k, 0.0);
  const double side_m = std::sqrt(g.rows * g.pitch_y_m * g.columns * g.pitch_x_m);
  const double rounding = 0.3 * k + 2.0 * std::numbers::pi / side_m;
  return std::exp(-4.0 * plan.standoff_m * std::sqrt(decay2)) / (decay2 + rounding * rounding);
}

/// The relative error of Re(p v*), where p, v and their errors are complex normal: by Isserlis' theorem E (Re a b*)^2
/// is half of E|a|^2 E|b|^2 + |E a b*|^2 + 2 Re (E a b*)^2.
double intensity_error(const Moments& image, const Moments& error) {
  const Complex cross = image.both * error.both;
  const double squared = image.pressure * error.velocity + image.velocity * error.pressure + 2.0 * cross.real() +
                         error.pressure * error.velocity + std::norm(error.both) +
                         2.0 * (error.both * error.both).real();
  const double power = image.pressure * image.velocity + std::norm(image.both) + 2.0 * (image.both * image.both).real();
  return std::sqrt(std::max(squared, 0.0) / std::max(power, kLeastActive * image.pressure * image.velocity));
}

double error_of(Quantity quantity, const Moments& image, const Moments& error) {
  switch (quantity) {
    case Quantity::kPressure:
      return std::sqrt(error.pressure / image.pressure);
    case Quantity::kNormalVelocity:
    case Quantity::kDisplacement:
      return std::sqrt(error.velocity / image.velocity);
    case Quantity::kActiveIntensity:
      return intensity_error(image, error);
  }
  return 1.0;
}

}  // namespace

double estimate_error(const MeasuredSpectrum& measured, const CutoffState& state, std::size_t frequency,
                      const ImagePlan& plan) {
  if (!(measured.edge_rings > 0.0)) {
    return 1.0;
  }
  const double k = plan.wavenumber(frequency);
  const double distance_m = plan.largest_distance_m();
  const double width = measured.ring_rad_per_m;
  const auto growth = [&](double kr) { return std::sqrt(std::max(kr * kr - k * k, 0.0)) * distance_m; };
  const double truncated = kTruncated * kTruncated * measured.hidden * k * plan.standoff_m;
  Moments image;
  Moments error;
  for (std::size_t ring = 0; ring < measured.rings_pa2.size(); ++ring) {
    const double kr = static_cast<double>(ring) * width;
    const double relative = 1.0 - kr / state.cutoff_rad_per_m;
    const double kept =
        relative >= 0.0 ? 1.0 - 0.5 * std::exp(-relative / state.slope) : 0.5 * std::exp(relative / state.slope);
    const double signal = static_cast<double>(ring) > measured.edge_rings
                              ? measured.edge_pa2 * decayed(kr, k, plan) / decayed(measured.edge_rings * width, k, plan)
                              : std::max(measured.rings_pa2[ring] - measured.noise_pa2, 0.0);
    const double gain = measured.ring_bins[ring] *
                        std::exp(std::min(2.0 * (growth(kr) - growth(state.cutoff_rad_per_m)), kLargestExponent));
    const double shown = gain * kept * kept * signal;
    const double wrong =
        gain * (kept * kept * measured.noise_pa2 + std::pow(1.0 - kept, 2) * signal) + truncated * shown;
    const Complex kz = std::conj(std::sqrt(Complex(k * k - kr * kr, 0.0))) / k;
    image.add(shown, kz);
    error.add(wrong, kz);
  }
  return image.pressure > 0.0 && image.velocity > 0.0
             ? plan.error_calibration() * error_of(plan.holography.quantity, image, error)
             : 1.0;
}

}  // namespace nearfield::reference
