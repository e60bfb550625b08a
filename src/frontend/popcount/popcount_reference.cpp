#include "frontend/popcount/popcount_reference.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.hpp"
#include "frontend/common/analysis_reference.hpp"
#include "frontend/popcount/popcount.hpp"
#include "frontend/popcount/settings.hpp"

namespace nearfield::reference {
namespace {

using Complex = std::complex<double>;

/// Solves A x = b.
std::vector<Complex> solve(const Eigen::MatrixXd& a, const std::vector<Complex>& b) {
  const Eigen::VectorXcd right = Eigen::Map<const Eigen::VectorXcd>(b.data(), static_cast<Eigen::Index>(b.size()));
  const Eigen::VectorXcd x = a.cast<Complex>().partialPivLu().solve(right);
  return {x.begin(), x.end()};
}

double weight_at(WindowKind window, std::size_t t, std::size_t bits) {
  const double sine = std::sin(std::numbers::pi * static_cast<double>(t) / static_cast<double>(bits));
  return window == WindowKind::kHann ? sine * sine : 1.0;
}

/// -15.5/16 .. 15.5/16
double place_in_word(std::size_t i) { return (static_cast<double>(i) - 15.5) / 16.0; }

/// Coefficients [word * powers + power] of the word moments sum_i u_i^power s_i.
std::vector<Complex> fitted(const std::vector<Complex>& d, std::size_t powers) {
  const auto count = static_cast<Eigen::Index>(powers);
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(count, count);
  for (Eigen::Index r = 0; r < count; ++r) {
    for (Eigen::Index s = 0; s < count; ++s) {
      for (std::size_t i = 0; i < kWordBits; ++i) {
        normal(r, s) += std::pow(place_in_word(i), static_cast<double>(r + s));
      }
    }
  }
  std::vector<Complex> coefficients;
  for (std::size_t first = 0; first < d.size(); first += kWordBits) {
    std::vector<Complex> right(powers, 0.0);
    for (std::size_t r = 0; r < powers; ++r) {
      for (std::size_t i = 0; i < kWordBits; ++i) {
        right[r] += std::pow(place_in_word(i), static_cast<double>(r)) * d[first + i];
      }
    }
    const std::vector<Complex> solution = solve(normal, right);
    coefficients.insert(coefficients.end(), solution.begin(), solution.end());
  }
  return coefficients;
}

/// Divides by half the response to e^{jwt}.
void normalise(std::vector<Complex>& coefficients, std::size_t powers, double radians_per_bit) {
  Complex response = 0.0;
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    const std::size_t first = k / powers * kWordBits;
    for (std::size_t i = 0; i < kWordBits; ++i) {
      const double power = std::pow(place_in_word(i), static_cast<double>(k % powers));
      response += coefficients[k] * power * std::polar(1.0, radians_per_bit * static_cast<double>(first + i));
    }
  }
  for (Complex& coefficient : coefficients) {
    coefficient *= 2.0 / response;
  }
}

}  // namespace

std::vector<std::complex<double>> analysis_of_bits(WindowKind window, std::size_t bits, double radians_per_bit,
                                                   bool remove_dc) {
  Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
  const auto basis = [&](std::size_t t) {
    const double phase = radians_per_bit * static_cast<double>(t);
    return Eigen::Vector3d(std::cos(phase), std::sin(phase), 1.0);
  };
  for (std::size_t t = 0; t < bits; ++t) {
    const Eigen::Vector3d phi = basis(t);
    normal += weight_at(window, t, bits) * phi * phi.transpose();
  }
  // x = Re A cos - Im A sin + constant: the inverse's first row gives Re A, its second one -Im A. All are real, so that
  // one solution with the right-hand side (1, -j, 0) gives d = w (X cos + Y sin + Z).
  const std::vector<Complex> fit =
      remove_dc ? solve(normal, {1.0, Complex(0.0, -1.0), 0.0})
                : std::vector<Complex>{2.0 / normal(2, 2), Complex(0.0, -2.0) / normal(2, 2), 0.0};
  std::vector<Complex> d(bits);
  for (std::size_t t = 0; t < bits; ++t) {
    const Eigen::Vector3d phi = basis(t);
    d[t] = weight_at(window, t, bits) * (fit[0] * phi[0] + fit[1] * phi[1] + fit[2] * phi[2]);
  }
  return d;
}

PopcountFrontEnd::PopcountFrontEnd(const FrontEndPlan& plan)
    : plan_(plan), channels_(static_cast<std::size_t>(plan.geometry.channels())), wire_words_(0), powers_(0) {
  validate(plan);
  if (const std::string obstacle = popcount_obstacle(plan); !obstacle.empty()) {
    throw ConfigError(obstacle);
  }
  wire_words_ = static_cast<std::size_t>(words_per_bit_time(plan.layout, plan.geometry));
  powers_ = static_cast<std::size_t>(plan.settings.own.get<PopcountSettings>().order) + 1;
  const FrontEndSettings& settings = plan.settings;
  for (const double frequency_hz : settings.frequencies_hz) {
    const double actual_hz = settings.own.get<PopcountSettings>().transform == WordTransform::kFft
                                 ? snapped_frequency_hz(frequency_hz, plan.sample_rate_hz, settings.window_samples)
                                 : frequency_hz;
    const double radians = 2.0 * std::numbers::pi * actual_hz / (plan.sample_rate_hz * kBitsPerWord);
    const auto bits = static_cast<std::size_t>(settings.window_samples) * kWordBits;
    std::vector<Complex> coefficients =
        fitted(analysis_of_bits(settings.window, bits, radians, settings.remove_dc), powers_);
    normalise(coefficients, powers_, radians);
    actual_frequencies_hz_.push_back(actual_hz);
    coefficients_.push_back(std::move(coefficients));
  }
}

void PopcountFrontEnd::push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kWordBits * wire_words_;
  if (wire.size() % word_size != 0) {
    throw Error(ExitCode::kInternal,
                fmt::format("reference front end: {} wire words do not fit the plan", wire.size()));
  }
  const std::size_t words = wire.size() / word_size;
  make_room(first_word, words);
  const std::vector<int> wire_bits = wire_bit_of_channel(plan_.layout, plan_.geometry);
  const std::size_t first_bit = (first_word - begin_) * kWordBits;
  for (std::size_t time = 0; time < words * kWordBits; ++time) {
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      const auto wire_bit = static_cast<std::size_t>(wire_bits[channel]);
      const bool is_one = ((wire[time * wire_words_ + wire_bit / kWordBits] >> (wire_bit % kWordBits)) & 1U) != 0;
      signs_[(first_bit + time) * channels_ + channel] = is_one ? std::int8_t{1} : std::int8_t{-1};
    }
  }
}

void PopcountFrontEnd::push_samples(std::uint64_t /*first_sample*/, std::span<const float> values) {
  throw Error(ExitCode::kInternal, fmt::format("reference front end: {} values do not fit the plan", values.size()));
}

/// Appends room for new words to signs_, and removes words that are too old or lie before a gap.
void PopcountFrontEnd::make_room(std::uint64_t first_word, std::size_t words) {
  const auto keep = 2 * static_cast<std::uint64_t>(plan_.settings.window_samples);
  if (begin_ == end_ || first_word != end_) {
    signs_.clear();
    begin_ = first_word;
  } else if (end_ - begin_ > 2 * keep) {
    signs_.erase(signs_.begin(), signs_.end() - static_cast<std::ptrdiff_t>(keep * kWordBits * channels_));
    begin_ = end_ - keep;
  }
  end_ = first_word + words;
  signs_.resize((end_ - begin_) * kWordBits * channels_);
}

/// [word][power][channel] of a window.
std::vector<double> PopcountFrontEnd::moments(std::size_t first_bit) const {
  const auto words = static_cast<std::size_t>(plan_.settings.window_samples);
  std::vector<double> sums(words * powers_ * channels_, 0.0);
  for (std::size_t t = 0; t < words * kWordBits; ++t) {
    const std::int8_t* row = signs_.data() + (first_bit + t) * channels_;
    for (std::size_t power = 0; power < powers_; ++power) {
      const double factor = std::pow(place_in_word(t % kWordBits), static_cast<double>(power));
      double* sum = sums.data() + (t / kWordBits * powers_ + power) * channels_;
      for (std::size_t channel = 0; channel < channels_; ++channel) {
        sum[channel] += factor * row[channel];
      }
    }
  }
  return sums;
}

std::vector<std::complex<double>> PopcountFrontEnd::spectra(std::uint64_t first_sample_index) {
  const auto window = static_cast<std::uint64_t>(plan_.settings.window_samples);
  if (first_sample_index < begin_ || first_sample_index + window > end_) {
    throw Error(ExitCode::kInternal, fmt::format("reference front end: window at {} is not among the words {} to {}",
                                                 first_sample_index, begin_, end_));
  }
  const std::size_t first_bit = (first_sample_index - begin_) * kWordBits;
  find_clipping(first_bit);
  const std::vector<double> of_words = moments(first_bit);
  const double full_scale_pa = std::sqrt(2.0) / std::pow(10.0, plan_.sensitivity_dbfs / 20.0);
  std::vector<Complex> values;
  for (const std::vector<Complex>& coefficients : coefficients_) {
    std::vector<Complex> sums(channels_, 0.0);
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      for (std::size_t channel = 0; channel < channels_; ++channel) {
        sums[channel] += full_scale_pa * coefficients[k] * of_words[k * channels_ + channel];
      }
    }
    values.insert(values.end(), sums.begin(), sums.end());
  }
  return values;
}

void PopcountFrontEnd::find_clipping(std::size_t first_bit) {
  constexpr std::size_t kBlockBits = kClipBlockWords * kWordBits;
  clipped_ = false;
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    const bool dead = std::count(plan_.dead_channels.begin(), plan_.dead_channels.end(), static_cast<int>(channel)) > 0;
    const std::size_t bits = static_cast<std::size_t>(plan_.settings.window_samples) * kWordBits;
    for (std::size_t first = 0; !dead && first + kBlockBits <= bits; first += kBlockBits) {
      int sum = 0;
      for (std::size_t i = 0; i < kBlockBits; ++i) {
        sum += signs_[(first_bit + first + i) * channels_ + channel];
      }
      clipped_ = clipped_ || std::abs(sum) >= kClipLevel * kBlockBits;
    }
  }
}

}  // namespace nearfield::reference
