#include "health/spectra_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfield::health {
namespace {

using Complex = std::complex<double>;

constexpr std::size_t kNeighbours = 16;
/// Half the side of the square whose median is the expected power, and the step between such squares.
constexpr int kMedianReach = 4;
constexpr int kMedianStep = 4;
/// Times what is expected. C has an exponential distribution where noise decides; its median times 30 is passed once in
/// 10^9. R is a mean over frames and stays within a few times. Without a field in common a noise that repeats itself is
/// all there is, and R may have one degree of freedom: one microphone in 10^11 is above 100 of its medians.
constexpr double kCoherentLimit = 30.0;
constexpr double kIncoherentLimit = 10.0;
constexpr double kIncoherentLimitWithoutField = 100.0;
/// |1 - g| that healthy microphones may have: 2.3 dB up, 3.1 dB down, 17 degrees.
constexpr double kGainTolerance = 0.3;
/// A microphone this far below the noise of those round it is not alive: 90 dB, as noise that repeats itself in every
/// window is 30 dB below its median in one of sixty healthy microphones.
constexpr double kSilence = 1e-9;
constexpr double kDeadGain = 0.15;
constexpr double kWeakAngle = 0.5;
/// A gain of a half would have been seen.
constexpr double kVisible = 0.25;
/// Of two swapped microphones, times what is expected where they belong.
constexpr double kSwapLimit = 9.0;
/// How far round an outlier others wait: it spoils their predictions.
constexpr int kSpoiltReach = 2;
constexpr int kMostRounds = 30;
/// Share of the local power that is negligible: 3 % of the pressure.
constexpr double kHarmless = 1e-3;
/// Times the predicted variance, of the local power: what a prediction may miss by 2.4 standard deviations of the prior
/// alone. Inside an array it is less than kHarmless; at corners, where the neighbours extrapolate, a tonal field
/// without noise misses many times what it misses inside. From 9 on no healthy corner is accused, but one that lost 6
/// dB is missed.
constexpr double kExtrapolation = 6.0;
/// Times the median of the predicted variances: from here on neighbours extrapolate.
constexpr double kInside = 2.0;
/// Of microphones with unlike gains: the most of |1 - g|^2 over its median. Where the field changes it is in R, too.
constexpr double kMismatchLimit = 20.0;
constexpr double kTiny = std::numeric_limits<double>::min();

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Complex wide(std::complex<float> value) { return Complex(value); }

bool is_finite(std::complex<float> value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

}  // namespace

std::string_view name_of(Condition condition) {
  constexpr std::string_view kNames[] = {"ok", "unknown", "dead", "stuck", "noisy", "weak", "mismatched", "swapped"};
  return kNames[static_cast<std::size_t>(condition)];
}

SpectraJudge::SpectraJudge(const ArrayGeometry& geometry, const std::vector<double>& wavenumbers_rad_per_m,
                           double standoff_m)
    : geometry_(geometry),
      channels_(static_cast<std::size_t>(geometry.channels())),
      frequencies_(wavenumbers_rad_per_m.size()),
      predictions_(frequencies_ * channels_),
      usable_(channels_, 1),
      predicted_with_(channels_, 1),
      broken_(channels_, 0),
      stale_(channels_, 1),
      sums_(frequencies_ * channels_),
      floors_(frequencies_ * channels_),
      extrapolated_(frequencies_ * channels_),
      typical_whole_(frequencies_),
      mismatch2_(frequencies_) {
  for (const double wavenumber : wavenumbers_rad_per_m) {
    covariances_.emplace_back(geometry, wavenumber, standoff_m);
  }
  find_extrapolated();
}

/// From the whole array: where neighbours are bad, a microphone inside is judged as before.
void SpectraJudge::find_extrapolated() {
  std::vector<double> variances(channels_);
  for (std::size_t f = 0; f < frequencies_; ++f) {
    for (std::size_t i = 0; i < channels_; ++i) {
      const auto channel = static_cast<int>(i);
      const std::vector<int> nearest = nearest_usable(geometry_, usable_, channel, kNeighbours);
      extrapolated_[at(f, i)] = predict_microphone(covariances_[f], channel, nearest).variance;
    }
    std::copy_n(extrapolated_.begin() + static_cast<std::ptrdiff_t>(f * channels_), channels_, variances.begin());
    const double inside = kInside * median(variances);
    for (std::size_t i = 0; i < channels_; ++i) {
      double& share = extrapolated_[at(f, i)];
      share = share > inside ? kExtrapolation * share : 0.0;
    }
  }
}

std::vector<Condition> SpectraJudge::judge(std::span<const std::complex<float>> spectra,
                                           std::span<const std::uint8_t> excluded,
                                           std::span<const std::uint8_t> suspects) {
  frames_ = spectra.size() / (frequencies_ * channels_);
  excluded_.assign(excluded.begin(), excluded.end());
  for (std::size_t i = 0; i < channels_; ++i) {
    usable_[i] = static_cast<std::uint8_t>(excluded[i] == 0 && suspects[i] == 0);
  }
  leave_out_broken(spectra);
  std::fill(stale_.begin(), stale_.end(), 1);
  update_predictions();
  weigh_frames(spectra);
  for (int round = 0; round < kMostRounds; ++round) {
    update_predictions();
    update_sums(spectra);
    const std::vector<std::size_t> outliers = new_outliers();
    if (outliers.empty()) {
      break;
    }
    for (const std::size_t channel : outliers) {
      usable_[channel] = 0;
    }
  }
  std::vector<Condition> conditions(channels_, Condition::kOk);
  for (std::size_t i = 0; i < channels_; ++i) {
    conditions[i] = excluded_[i] != 0 ? Condition::kUnknown : condition_of(i);
  }
  find_swapped(spectra, conditions);
  return conditions;
}

void SpectraJudge::leave_out_broken(std::span<const std::complex<float>> spectra) {
  std::fill(broken_.begin(), broken_.end(), 0);
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    if (!is_finite(spectra[i])) {
      broken_[i % channels_] = 1;
      usable_[i % channels_] = 0;
    }
  }
}

/// Predictions from the microphones that are usable now; sums of those that change are stale.
void SpectraJudge::update_predictions() {
  std::vector<std::size_t> back;
  for (std::size_t i = 0; i < channels_; ++i) {
    if (usable_[i] != 0 && predicted_with_[i] == 0) {
      back.push_back(i);
    }
  }
  const auto columns = static_cast<std::size_t>(geometry_.columns);
  const auto distance2 = [&](std::size_t a, std::size_t b) {
    const std::size_t row_a = a / columns;
    const std::size_t row_b = b / columns;
    const double y_m = geometry_.y_m(static_cast<double>(row_a)) - geometry_.y_m(static_cast<double>(row_b));
    const double x_m =
        geometry_.x_m(static_cast<double>(a % columns)) - geometry_.x_m(static_cast<double>(b % columns));
    return x_m * x_m + y_m * y_m;
  };
  for (std::size_t i = 0; i < channels_; ++i) {
    const std::vector<int>& from = predictions_[at(0, i)].channels;
    const bool has_lost = from.size() < kNeighbours || std::any_of(from.begin(), from.end(), [&](int neighbour) {
                            return usable_[static_cast<std::size_t>(neighbour)] == 0;
                          });
    const bool may_gain = !from.empty() && std::any_of(back.begin(), back.end(), [&](std::size_t other) {
      return distance2(i, other) <= distance2(i, static_cast<std::size_t>(from.back()));
    });
    if (has_lost || may_gain) {
      const std::vector<int> nearest = nearest_usable(geometry_, usable_, static_cast<int>(i), kNeighbours);
      if (nearest != from) {
        for (std::size_t f = 0; f < frequencies_; ++f) {
          predictions_[at(f, i)] = predict_microphone(covariances_[f], static_cast<int>(i), nearest);
        }
        stale_[i] = 1;
      }
    }
  }
  predicted_with_ = usable_;
}

/// Weights of the frames: the least of their median residuals over each one's own; 1 where nothing is left.
void SpectraJudge::weigh_frames(std::span<const std::complex<float>> spectra) {
  constexpr std::size_t kEnough = 256;
  const std::size_t step = std::max<std::size_t>(channels_ / kEnough, 1);
  std::vector<double> residuals;
  weights_.assign(frames_ * frequencies_, 1.0);
  for (std::size_t f = 0; f < frequencies_; ++f) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t frame = 0; frame < frames_; ++frame) {
      const auto one = spectra.subspan(frame * frequencies_ * channels_, frequencies_ * channels_);
      residuals.clear();
      for (std::size_t i = 0; i < channels_; i += step) {
        if (usable_[i] != 0) {
          residuals.push_back(std::norm(wide(one[at(f, i)]) - predicted(one, f, i)) / predictions_[at(f, i)].variance);
        }
      }
      const double residual = residuals.empty() ? 0.0 : median(residuals);
      weights_[frame * frequencies_ + f] = residual;
      least = residual > 0.0 ? std::min(least, residual) : least;
    }
    for (std::size_t frame = 0; frame < frames_; ++frame) {
      double& weight = weights_[frame * frequencies_ + f];
      weight = weight > 0.0 ? least / weight : 1.0;
    }
  }
}

/// Sums that are stale, and all floors.
void SpectraJudge::update_sums(std::span<const std::complex<float>> spectra) {
  for (std::size_t i = 0; i < channels_; ++i) {
    if (stale_[i] != 0) {
      for (std::size_t f = 0; f < frequencies_; ++f) {
        sum_up(spectra, f, i);
      }
      stale_[i] = 0;
    }
  }
  find_floors();
}

Complex SpectraJudge::predicted(std::span<const std::complex<float>> frame, std::size_t frequency,
                                std::size_t channel) const {
  const MicrophonePrediction& prediction = predictions_[at(frequency, channel)];
  const std::complex<float>* field = frame.data() + frequency * channels_;
  Complex sum = 0.0;
  for (std::size_t n = 0; n < prediction.channels.size(); ++n) {
    sum += prediction.weights[n] * wide(field[prediction.channels[n]]);
  }
  return sum;
}

void SpectraJudge::sum_up(std::span<const std::complex<float>> spectra, std::size_t frequency, std::size_t channel) {
  Sums& sums = sums_[at(frequency, channel)];
  sums = {};
  if (broken_[channel] != 0) {
    return;
  }
  Complex cross = 0.0;
  for (std::size_t frame = 0; frame < frames_; ++frame) {
    const auto one = spectra.subspan(frame * frequencies_ * channels_, frequencies_ * channels_);
    const Complex y = wide(one[at(frequency, channel)]);
    const Complex p = predicted(one, frequency, channel);
    const double weight = weights_[frame * frequencies_ + frequency];
    sums.y += weight * std::norm(y);
    sums.p += weight * std::norm(p);
    sums.whole += weight * std::norm(y - p);
    cross += weight * y * std::conj(p);
  }
  const auto frames = static_cast<double>(frames_);
  sums.gain = cross / std::max(sums.p, kTiny);
  sums.incoherent =
      std::max(sums.y - std::norm(sums.gain) * sums.p, 0.0) / (frames - 1.0) / std::max(1.0, std::norm(sums.gain));
  sums.y /= frames;
  sums.p /= frames;
  sums.whole /= frames;
  sums.coherent = std::norm(1.0 - sums.gain) * sums.p;
}

/// Medians over squares, of what is left after the predicted variance is divided out.
void SpectraJudge::find_floors() {
  const int rows = geometry_.rows;
  const int columns = geometry_.columns;
  std::vector<double> coherent;
  std::vector<double> incoherent;
  std::vector<double> whole;
  std::vector<double> power;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    for (std::size_t i = 0; i < channels_; ++i) {
      whole.push_back(sums_[at(f, i)].whole / predictions_[at(f, i)].variance);
    }
    typical_whole_[f] = median(whole);
    for (std::size_t i = 0; i < channels_; ++i) {
      coherent.push_back(std::norm(1.0 - sums_[at(f, i)].gain));
    }
    mismatch2_[f] = median(coherent);
    for (int row = 0; row < rows; row += kMedianStep) {
      for (int column = 0; column < columns; column += kMedianStep) {
        const int middle_row = row + kMedianStep / 2;
        const int middle_column = column + kMedianStep / 2;
        // Grown until a quarter of a full square's microphones is there.
        for (int reach = kMedianReach;; ++reach) {
          coherent.clear();
          incoherent.clear();
          whole.clear();
          power.clear();
          for (int r = std::max(middle_row - reach, 0); r <= std::min(middle_row + reach, rows - 1); ++r) {
            for (int c = std::max(middle_column - reach, 0); c <= std::min(middle_column + reach, columns - 1); ++c) {
              const auto channel = static_cast<std::size_t>(r * columns + c);
              if (usable_[channel] != 0) {
                const double variance = predictions_[at(f, channel)].variance;
                coherent.push_back(sums_[at(f, channel)].coherent / variance);
                incoherent.push_back(sums_[at(f, channel)].incoherent / variance);
                whole.push_back(sums_[at(f, channel)].whole / variance);
                power.push_back(sums_[at(f, channel)].p);
              }
            }
          }
          constexpr std::size_t kEnough = 20;
          if (coherent.size() >= kEnough || reach > std::max(rows, columns)) {
            break;
          }
        }
        const Floors floors = coherent.empty() ? Floors{}
                                               : Floors{.coherent = median(coherent),
                                                        .incoherent = median(incoherent),
                                                        .whole = median(whole),
                                                        .power = median(power)};
        for (int r = row; r < std::min(row + kMedianStep, rows); ++r) {
          for (int c = column; c < std::min(column + kMedianStep, columns); ++c) {
            const auto channel = static_cast<std::size_t>(r * columns + c);
            const double variance = predictions_[at(f, channel)].variance;
            floors_[at(f, channel)] = {.coherent = floors.coherent * variance,
                                       .incoherent = floors.incoherent * variance,
                                       .whole = floors.whole * variance,
                                       .power = floors.power};
          }
        }
      }
    }
  }
}

/// Whether neighbours have so much of a field in common that the loss of a microphone would show.
bool SpectraJudge::has_common_field(const Floors& floors) { return floors.power > kCoherentLimit * floors.coherent; }

SpectraJudge::Scores SpectraJudge::scores(std::size_t channel) const {
  Scores worst;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    const Sums& sums = sums_[at(f, channel)];
    const Floors& floors = floors_[at(f, channel)];
    const double unlike = kMismatchLimit * mismatch2_[f] * floors.power;
    const double harmless = std::max(kHarmless, extrapolated_[at(f, channel)]) * floors.power;
    const double coherent =
        std::max({kCoherentLimit * floors.coherent, kGainTolerance * kGainTolerance * sums.p, harmless, unlike, kTiny});
    const bool is_common = has_common_field(floors);
    const double limit = is_common ? kIncoherentLimit : kIncoherentLimitWithoutField;
    const double incoherent = std::max(limit * floors.incoherent, kHarmless * floors.power) + unlike + kTiny;
    worst.coherent = is_common ? std::max(worst.coherent, sums.coherent / coherent) : worst.coherent;
    worst.incoherent = std::max(worst.incoherent, sums.incoherent / incoherent);
  }
  return worst;
}

std::vector<std::size_t> SpectraJudge::new_outliers() const {
  std::vector<double> rank(channels_, 0.0);
  for (std::size_t i = 0; i < channels_; ++i) {
    const Scores score = usable_[i] != 0 ? scores(i) : Scores{};
    if (std::max(score.coherent, score.incoherent) > 1.0) {
      for (std::size_t f = 0; f < frequencies_; ++f) {
        const double expected = std::max(typical_whole_[f] * predictions_[at(f, i)].variance, kTiny);
        rank[i] = std::max(rank[i], sums_[at(f, i)].whole / expected);
      }
    }
  }
  std::vector<std::size_t> outliers;
  const int rows = geometry_.rows;
  const int columns = geometry_.columns;
  for (std::size_t i = 0; i < channels_; ++i) {
    const int row = static_cast<int>(i) / columns;
    const int column = static_cast<int>(i) % columns;
    bool is_worst = rank[i] > 0.0;
    for (int r = std::max(row - kSpoiltReach, 0); is_worst && r <= std::min(row + kSpoiltReach, rows - 1); ++r) {
      for (int c = std::max(column - kSpoiltReach, 0); c <= std::min(column + kSpoiltReach, columns - 1); ++c) {
        is_worst = is_worst && rank[i] >= rank[static_cast<std::size_t>(r * columns + c)];
      }
    }
    if (is_worst) {
      outliers.push_back(i);
    }
  }
  return outliers;
}

bool SpectraJudge::is_silent(std::size_t channel) const {
  for (std::size_t f = 0; f < frequencies_; ++f) {
    if (!(sums_[at(f, channel)].y < kSilence * floors_[at(f, channel)].incoherent)) {
      return false;
    }
  }
  return true;
}

bool SpectraJudge::says_something(std::size_t channel) const {
  for (std::size_t f = 0; f < frequencies_; ++f) {
    if (kVisible * sums_[at(f, channel)].p > kCoherentLimit * floors_[at(f, channel)].coherent) {
      return true;
    }
  }
  return false;
}

Condition SpectraJudge::condition_of(std::size_t channel) const {
  if (broken_[channel] != 0 || is_silent(channel)) {
    return Condition::kDead;
  }
  const Scores score = scores(channel);
  if (usable_[channel] != 0 || std::max(score.coherent, score.incoherent) <= 1.0) {
    return says_something(channel) ? Condition::kOk : Condition::kUnknown;
  }
  if (score.incoherent > 1.0) {
    return Condition::kNoisy;
  }
  std::size_t clearest = 0;
  double largest = -1.0;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    const double ratio = sums_[at(f, channel)].coherent / std::max(floors_[at(f, channel)].coherent, kTiny);
    if (ratio > largest) {
      largest = ratio;
      clearest = f;
    }
  }
  const Complex gain = sums_[at(clearest, channel)].gain;
  if (std::abs(gain) < kDeadGain) {
    return Condition::kDead;
  }
  return std::abs(gain) < 1.0 && std::abs(std::arg(gain)) < kWeakAngle ? Condition::kWeak : Condition::kMismatched;
}

/// How far what `channel` has is from what is predicted for `place`; at most 1 where it could belong there.
double SpectraJudge::mismatch(std::span<const std::complex<float>> spectra, std::size_t channel,
                              std::size_t place) const {
  double worst = 0.0;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    double sum = 0.0;
    for (std::size_t frame = 0; frame < frames_; ++frame) {
      const auto one = spectra.subspan(frame * frequencies_ * channels_, frequencies_ * channels_);
      sum += weights_[frame * frequencies_ + f] * std::norm(wide(one[at(f, channel)]) - predicted(one, f, place));
    }
    const double expected =
        std::max(kSwapLimit * floors_[at(f, place)].whole, kGainTolerance * kGainTolerance * sums_[at(f, place)].p);
    worst = std::max(worst, sum / static_cast<double>(frames_) / std::max(expected, kTiny));
  }
  return worst;
}

void SpectraJudge::find_swapped(std::span<const std::complex<float>> spectra,
                                std::vector<Condition>& conditions) const {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < channels_; ++i) {
    // In a field that changes, what belongs elsewhere passes for noise.
    const Condition found = conditions[i];
    if (found == Condition::kWeak || found == Condition::kMismatched || found == Condition::kNoisy) {
      candidates.push_back(i);
    }
  }
  for (std::size_t a = 0; a < candidates.size(); ++a) {
    for (std::size_t b = a + 1; b < candidates.size(); ++b) {
      const std::size_t one = candidates[a];
      const std::size_t other = candidates[b];
      const bool are_free = conditions[one] != Condition::kSwapped && conditions[other] != Condition::kSwapped;
      if (are_free && mismatch(spectra, one, other) <= 1.0 && mismatch(spectra, other, one) <= 1.0) {
        conditions[one] = Condition::kSwapped;
        conditions[other] = Condition::kSwapped;
      }
    }
  }
}

}  // namespace nearfield::health
