#include "processors/beamform/published_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace nearfield::reference {

void Array::use(const MicrophoneMask& mask) {
  std::fill(masked_.begin(), masked_.end(), false);
  for (const std::int32_t channel : mask.channels) {
    masked_[static_cast<std::size_t>(channel)] = true;
  }
}

Outcome Array::choose(std::span<const Complex> spectra) {
  Outcome outcome;
  used_.clear();
  for (std::size_t m = 0; m < plan_->channels(); ++m) {
    bool is_finite = true;
    for (std::size_t f = 0; f < plan_->frequencies(); ++f) {
      const Complex value = spectra[f * plan_->channels() + m];
      is_finite =
          is_finite && std::abs(value.real()) < kLargestPressure_pa && std::abs(value.imag()) < kLargestPressure_pa;
    }
    if (masked_[m]) {
      outcome.flags |= kFlagMaskedMicrophones;
    } else if (!is_finite) {
      outcome.flags |= kFlagNonFiniteInput;
      ++outcome.non_finite_microphones;
    } else {
      used_.push_back(m);
    }
  }
  if (used_.size() < static_cast<std::size_t>(kFewestMicrophones)) {
    outcome.flags |= kFlagMaskedMicrophones;
    used_.clear();
  }
  return outcome;
}

std::vector<std::size_t> Array::unmasked() const {
  std::vector<std::size_t> channels;
  for (std::size_t m = 0; m < masked_.size(); ++m) {
    if (!masked_[m]) {
      channels.push_back(m);
    }
  }
  return channels.size() < static_cast<std::size_t>(kFewestMicrophones) ? std::vector<std::size_t>() : channels;
}

Complex Array::pressure(std::span<const Complex> spectra, std::size_t frequency, std::size_t channel) const {
  const std::size_t i = frequency * plan_->channels() + channel;
  return plan_->array.gains.empty() ? spectra[i] : Complex(plan_->array.gains[i]) * spectra[i];
}

std::vector<Complex> Array::steer(const std::vector<std::size_t>& channels, std::size_t pixel_index,
                                  std::size_t frequency) const {
  std::vector<Complex> steering;
  if (plan_->is_measured()) {
    const std::size_t first = (frequency * plan_->pixels() + pixel_index) * plan_->channels();
    for (const std::size_t m : channels) {
      steering.push_back(Complex(plan_->templates[first + m]));
    }
    return steering;
  }
  const far_field::Position& pixel = plan_->grid.pixels[pixel_index];
  const double k = 2.0 * std::numbers::pi * plan_->waves_per_m(frequency);
  const double reference_m = plan_->settings.steering.reference_m;
  for (const std::size_t m : channels) {
    const far_field::Position& microphone = plan_->microphones[m];
    if (plan_->is_plane_wave) {
      steering.push_back(std::polar(1.0, k * dot(pixel, microphone)));
      continue;
    }
    const double r = distance(pixel, microphone);
    const double r_0 = reference_m > 0.0 ? reference_m : norm(pixel);
    const double magnitude = r < kNearest_m ? std::numeric_limits<double>::quiet_NaN() : r_0 / r;
    steering.push_back(magnitude * Complex(std::cos(k * (r - r_0)), -std::sin(k * (r - r_0))));
  }
  return steering;
}

namespace {

using far_field::Formulation;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Mean squares, Pa^2.
double power_of(float value) { return static_cast<double>(value); }
double power_of(std::complex<float> value) { return 0.5 * std::norm(Complex(value)); }

/// Response of functional beamforming to one source, whose matrix of cross-spectra has one mode: its level times
/// share^exponent.
double functional_answer(const BeamformPlan& plan, const std::vector<std::size_t>& channels,
                         const std::vector<Complex>& at, const std::vector<Complex>& source) {
  Complex inner = 0.0;
  double length = 0.0;
  double length_of_source = 0.0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double g = plan.shading[channels[i]];
    inner += g * std::conj(at[i]) * source[i];
    length += g * std::norm(at[i]);
    length_of_source += g * std::norm(source[i]);
  }
  const double share = std::norm(inner) / (length * length_of_source);
  const bool has_true_level = plan.settings.steering.formulation == Formulation::kTrueLevel;
  return std::pow(share, plan.settings.functional_exponent) / (has_true_level ? length : 1.0);
}

double answer_of(const BeamformPlan& plan, const std::vector<std::size_t>& channels, const std::vector<Complex>& at,
                 const std::vector<Complex>& source) {
  switch (plan.settings.method) {
    case Method::kDas:
      return das_power(plan, channels, at, source);
    case Method::kFunctional:
      return functional_answer(plan, channels, at, source);
    default:  // a source is one pixel
      return 0.0;
  }
}

/// Sum over a sector's pixels of the array's response to a source in its centre, relative to the response in the
/// centre.
double answers_of(const BeamformPlan& plan, const Array& array, std::size_t frequency, std::size_t plane,
                  const SectorPixels& sector) {
  if (plan.settings.method == Method::kOrthogonal || plan.settings.method == Method::kCleanSc) {
    return 1.0;
  }
  const std::vector<std::size_t> channels = array.unmasked();
  if (channels.empty()) {
    return kNoValue;
  }
  const std::size_t first = plane * plan.plane_pixels();
  const std::vector<Complex> source = array.steer(channels, first + sector.centre, frequency);
  double sum = 0.0;
  for (std::size_t row = sector.first_row; row < sector.first_row + sector.rows; ++row) {
    for (std::size_t column = sector.first_column; column < sector.first_column + sector.columns; ++column) {
      const std::size_t pixel = first + row * plan.grid.axes.back().size() + column;
      const double answer = answer_of(plan, channels, array.steer(channels, pixel, frequency), source);
      sum += std::isnan(answer) ? 0.0 : answer;
    }
  }
  return sum / answer_of(plan, channels, source, source);
}

}  // namespace

std::vector<Complex> weights_of(const BeamformPlan& plan, const std::vector<std::size_t>& channels,
                                const std::vector<Complex>& steering) {
  double sum_g = 0.0;
  double sum_g_a2 = 0.0;
  double microphones = 0.0;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const bool counts = steering[i] != 0.0;  // a template has 0 for a microphone that was dead
    microphones += counts ? 1.0 : 0.0;
    sum_g += counts ? plan.shading[channels[i]] : 0.0;
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    sum_g_a2 += plan.shading[channels[i]] * microphones / sum_g * std::norm(steering[i]);
  }
  std::vector<Complex> weights(channels.size());
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const double g = plan.shading[channels[i]] * microphones / sum_g;  // sum over microphones equals their number
    const Complex a = steering[i];
    if (a == 0.0) {
      continue;
    }
    switch (plan.settings.steering.formulation) {
      case Formulation::kClassic:
        weights[i] = g * a / (microphones * std::abs(a));
        break;
      case Formulation::kInverse:
        weights[i] = g * a / (microphones * std::norm(a));
        break;
      case Formulation::kTrueLevel:
        weights[i] = g * a / sum_g_a2;
        break;
      case Formulation::kTrueLocation:
        weights[i] = g * a / std::sqrt(microphones * sum_g_a2);
        break;
    }
  }
  return weights;
}

double das_power(const BeamformPlan& plan, const std::vector<std::size_t>& channels, const std::vector<Complex>& at,
                 const std::vector<Complex>& source) {
  const std::vector<Complex> h = weights_of(plan, channels, at);
  Complex beam = 0.0;            // h^H of the source
  Complex of_itself = 0.0;       // h^H of a source at the pixel
  double diagonal = 0.0;         // sum |h|^2 of the source
  double diagonal_source = 0.0;  // sum |h|^2 of a source at the pixel
  for (std::size_t i = 0; i < h.size(); ++i) {
    beam += std::conj(h[i]) * source[i];
    of_itself += std::conj(h[i]) * at[i];
    diagonal += std::norm(h[i]) * std::norm(source[i]);
    diagonal_source += std::norm(h[i]) * std::norm(at[i]);
  }
  if (!plan.settings.removes_diagonal()) {
    return std::norm(beam);
  }
  const double s = std::norm(of_itself);
  const double power = s / (s - diagonal_source) * (std::norm(beam) - diagonal);
  return power < 0.0 ? 0.0 : power;
}

template <class Value>
void Published<Value>::use(const Array& array, const MicrophoneMask& mask) {
  side_m_ = aperture_side_m(*plan_, mask);
  answers_.clear();
  for (std::size_t f = 0; f < plan_->frequencies() && !plan_->sectors.empty(); ++f) {
    for (std::size_t plane = 0; plane < plan_->planes(); ++plane) {
      for (const SectorPixels& sector : plan_->sectors) {
        answers_.push_back(answers_of(*plan_, array, f, plane, sector));
      }
    }
  }
}

template <class Value>
OwnedProducts Published<Value>::products(const std::vector<Value>& maps, float effective) {
  maps_.clear();
  focus_m_.clear();
  sectors_.clear();
  for (std::size_t map = 0; map < published_.size(); ++map) {
    std::vector<Value> sums;
    for (std::size_t pixel = 0; pixel < plan_->pixels(); ++pixel) {
      if constexpr (std::is_same_v<Value, float>) {
        double sum = 0.0;
        for (const BandBin& bin : published_.sums[map]) {
          sum += bin.weight * static_cast<double>(maps[bin.frequency * plan_->pixels() + pixel]);
        }
        sums.push_back(static_cast<float>(sum));
      } else {
        sums.push_back(maps[published_.sums[map].front().frequency * plan_->pixels() + pixel]);
      }
    }
    append_map(sums, published_.lowest_hz[map]);
  }
  append_sectors(maps);
  const std::vector<float> effective_of_maps(published_.size(), effective);
  OwnedProducts products;
  for (const std::span<const std::byte> product : products_of<Value>(
           *plan_, {.maps = maps_, .focus_m = focus_m_, .sectors = sectors_, .effective = effective_of_maps})) {
    products.push_back(to_bytes(product));
  }
  return products;
}

template <class Value>
void Published<Value>::append_map(const std::vector<Value>& map, double lowest_hz) {
  if (!plan_->has_focus()) {
    maps_.insert(maps_.end(), map.begin(), map.end());
    return;
  }
  const double wavelength_m = plan_->array.medium.sound_speed_m_s / lowest_hz;
  for (std::size_t pixel = 0; pixel < plan_->plane_pixels(); ++pixel) {
    std::size_t place = 0;
    double most = kNoValue;
    for (std::size_t plane = 0; plane < plan_->planes(); ++plane) {
      const double power = power_of(map[plane * plan_->plane_pixels() + pixel]);
      if (power > most || (std::isnan(most) && !std::isnan(power))) {
        most = power;
        place = plane;
      }
    }
    maps_.push_back(map[place * plan_->plane_pixels() + pixel]);
    const double distance_m = plan_->distances_m[place];
    const double ratio = distance_m / side_m_;
    const bool is_trusted = most > 0.0 && 2.0 * wavelength_m * ratio * ratio < distance_m / 2.0;
    focus_m_.push_back(static_cast<float>(is_trusted ? distance_m : kNoValue));
  }
}

template <class Value>
double Published<Value>::sector_power(const Value* plane, const SectorPixels& sector) const {
  double sum = 0.0;
  bool has_any = false;
  for (std::size_t row = sector.first_row; row < sector.first_row + sector.rows; ++row) {
    for (std::size_t column = sector.first_column; column < sector.first_column + sector.columns; ++column) {
      const double power = power_of(plane[row * plan_->grid.axes.back().size() + column]);
      has_any = has_any || !std::isnan(power);
      sum += std::isnan(power) ? 0.0 : power;
    }
  }
  return has_any ? sum : kNoValue;
}

template <class Value>
void Published<Value>::append_sectors(const std::vector<Value>& maps) {
  for (std::size_t map = 0; map < published_.size(); ++map) {
    for (std::size_t plane = 0; plane < plan_->planes(); ++plane) {
      for (std::size_t sector = 0; sector < plan_->sectors.size(); ++sector) {
        double sum = 0.0;
        for (const BandBin& bin : published_.sums[map]) {
          const std::size_t f = bin.frequency;
          const Value* const first = maps.data() + f * plan_->pixels() + plane * plan_->plane_pixels();
          const double answer = answers_[(f * plan_->planes() + plane) * plan_->sectors.size() + sector];
          sum += bin.weight * sector_power(first, plan_->sectors[sector]) / answer;
        }
        sectors_.push_back(static_cast<float>(sum));
      }
    }
  }
}

template class Published<float>;
template class Published<std::complex<float>>;

}  // namespace nearfield::reference
