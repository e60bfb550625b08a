#include "processors/beamform/published_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace nearfield::reference {
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
void Published<Value>::clear() {
  maps_.clear();
  focus_m_.clear();
  sectors_.clear();
  effective_.clear();
}

template <class Value>
void Published<Value>::append(const std::vector<Value>& maps, float effective) {
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
    effective_.push_back(effective);
  }
  append_sectors(maps);
}

template <class Value>
void Published<Value>::drop_last() {
  const std::size_t maps = published_.size();
  maps_.resize(maps_.size() - maps * plan_->map_pixels());
  focus_m_.resize(plan_->has_focus() ? maps_.size() : 0);
  sectors_.resize(sectors_.size() - maps * plan_->sector_values());
  effective_.resize(effective_.size() - maps);
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

template <class Value>
std::vector<std::span<const std::byte>> Published<Value>::products(std::size_t window) const {
  const std::size_t maps = published_.size();
  const std::size_t values = maps * plan_->map_pixels();
  const std::size_t sectors = maps * plan_->sector_values();
  return products_of<Value>(
      *plan_,
      {.maps = std::span(maps_).subspan(window * values, values),
       .focus_m = plan_->has_focus() ? std::span(focus_m_).subspan(window * values, values) : std::span<const float>(),
       .sectors = std::span(sectors_).subspan(window * sectors, sectors),
       .effective = std::span(effective_).subspan(window * maps, maps)});
}

template class Published<float>;
template class Published<std::complex<float>>;

}  // namespace nearfield::reference
