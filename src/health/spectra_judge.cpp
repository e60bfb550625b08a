#include "health/spectra_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "health/window_patterns.hpp"

namespace nearfield::health {
namespace {

using Complex = std::complex<double>;

/// Number of patterns judged per frequency: a tone and two more.
constexpr std::size_t kPatterns = 3;
/// Log odds of one pattern below this are common for healthy microphones; they do not add up.
constexpr double kOrdinary = 3.0;
/// Sum of the log odds above kOrdinary from which on a microphone is found bad: 14 in a single pattern.
constexpr double kFound = 11.0;
/// Like kFound, for certainty about a microphone without any part of the field, which is masked by default.
constexpr double kCertain = 20.0;
/// Log odds at which a pattern would reveal a fault, and at which a known fault would be detected again.
constexpr double kVisible = 12.0;
constexpr double kTelling = 6.0;
/// Log odds against a fault from each frequency without a finding at which a gain of one half would be visible.
constexpr double kContradiction = 4.0;
constexpr double kFitting = 2.0;
/// Minimum deviation assumed of a fault when checking whether it would be detected again.
constexpr double kLeastDeviation = 0.3;
/// Power of a microphone's own fluctuations over that of the tone: 80 dB below.
constexpr double kOwnFluctuation = 1e-8;
/// Factor on the noise around a microphone, which its prediction contains too.
constexpr double kNoiseShare = 2.0;
/// A microphone this far below the noise of all others is silent: 90 dB. Noise must itself be there, 120 dB below the
/// field or more, as a calculated field without noise is 0 on its lines of symmetry.
constexpr double kSilence = 1e-9;
constexpr double kLeastNoise = 1e-12;
constexpr double kDeadGain = 0.15;
constexpr double kWeakAngle = 0.5;
/// Windows with values that are not finite make a microphone faulty if they are at least one in two.
constexpr std::size_t kBrokenShare = 2;
/// Radius within which only the worst outlier is left out per round, since it spoils the others' predictions.
constexpr int kSpoiltReach = 2;
constexpr int kMostRounds = 30;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_finite(std::complex<float> value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

double extraordinary(double log_odds) { return std::max(log_odds - kOrdinary, 0.0); }

}  // namespace

std::string_view name_of(Condition condition) {
  constexpr std::string_view kNames[] = {"ok",   "unknown",    "dead",    "stuck", "noisy",
                                         "weak", "mismatched", "swapped", "copied"};
  return kNames[static_cast<std::size_t>(condition)];
}

SpectraJudge::SpectraJudge(const ArrayGeometry& geometry, const std::vector<double>& wavenumbers_rad_per_m,
                           double standoff_m)
    : geometry_(geometry),
      channels_(static_cast<std::size_t>(geometry.channels())),
      frequencies_(wavenumbers_rad_per_m.size()),
      neighbourhoods_(geometry),
      patterns_(frequencies_),
      left_out_(channels_),
      broken_(channels_),
      silent_(channels_),
      stale_(channels_),
      noise_(frequencies_ * channels_),
      odds_(frequencies_ * channels_),
      total_(channels_) {
  for (const double wavenumber : wavenumbers_rad_per_m) {
    priors_.emplace_back(neighbourhoods_, geometry, wavenumber, standoff_m);
  }
}

std::vector<Finding> SpectraJudge::judge(std::span<const std::complex<float>> spectra, const Known& known) {
  windows_ = spectra.size() / (frequencies_ * channels_);
  std::fill(broken_.begin(), broken_.end(), 0);
  for (std::size_t window = 0; window < windows_; ++window) {
    const auto values = spectra.subspan(window * frequencies_ * channels_, frequencies_ * channels_);
    for (std::size_t i = 0; i < channels_; ++i) {
      bool is_whole = true;
      for (std::size_t f = 0; f < frequencies_; ++f) {
        is_whole = is_whole && is_finite(values[f * channels_ + i]);
      }
      broken_[i] = static_cast<std::uint8_t>(broken_[i] + (is_whole ? 0 : 1));
    }
  }
  for (std::size_t i = 0; i < channels_; ++i) {
    left_out_[i] = static_cast<std::uint8_t>(known.excluded[i] != 0 || known.suspects[i] != 0 || broken_[i] != 0);
  }
  find_patterns(spectra);
  std::fill(stale_.begin(), stale_.end(), 1);
  choose_priors();
  leave_out_outliers(spectra);
  std::vector<Finding> findings(channels_);
  for (std::size_t i = 0; i < channels_; ++i) {
    findings[i] = known.excluded[i] != 0 ? Finding() : finding_of(i, known.deviations[i]);
  }
  find_swapped(findings);
  return findings;
}

void SpectraJudge::find_patterns(std::span<const std::complex<float>> spectra) {
  std::fill(silent_.begin(), silent_.end(), 0);
  std::vector<std::uint8_t> usable(channels_);
  std::transform(left_out_.begin(), left_out_.end(), usable.begin(),
                 [](std::uint8_t out) { return static_cast<std::uint8_t>(out == 0); });
  for (std::size_t f = 0; f < frequencies_; ++f) {
    const std::vector<std::complex<float>> values = weighted(spectra, f);
    patterns_[f].clear();
    WindowPatterns patterns = window_patterns(values, windows_, channels_, usable, kPatterns);
    for (std::vector<Complex>& pattern : patterns.strongest) {
      for (std::size_t i = 0; i < channels_; ++i) {
        pattern[i] = broken_[i] != 0 ? 0.0 : pattern[i];
      }
      patterns_[f].emplace_back(neighbourhoods_, priors_[f], std::move(pattern), !patterns_[f].empty());
    }
    find_noise(f, patterns.noise_power);
    find_silent(values, patterns.noise_power);
  }
  for (std::size_t i = 0; i < channels_; ++i) {
    left_out_[i] = static_cast<std::uint8_t>(left_out_[i] != 0 || silent_[i] == frequencies_);
  }
}

/// One frequency's values [window][channel]. Each window is weighted by the least residual of all windows over its own,
/// the residual being the median of what neighbours do not predict: an event common to all microphones, such as a seam
/// of a repeated recording, then is one window among many and not the strongest pattern.
std::vector<std::complex<float>> SpectraJudge::weighted(std::span<const std::complex<float>> spectra,
                                                        std::size_t frequency) {
  constexpr std::size_t kEnough = 256;
  const std::size_t step = std::max<std::size_t>(channels_ / kEnough, 1);
  std::vector<std::complex<float>> values;
  std::vector<double> residuals(windows_, 0.0);
  std::vector<double> here;
  for (std::size_t window = 0; window < windows_; ++window) {
    const auto field = spectra.subspan((window * frequencies_ + frequency) * channels_, channels_);
    values.insert(values.end(), field.begin(), field.end());
    here.clear();
    for (std::size_t i = 0; i < channels_; i += step) {
      const double* row =
          priors_[frequency].precision(LocalPriors::kStandoff, neighbourhoods_.shape_of(i)).matrix.data();
      const auto members = neighbourhoods_.members(i);
      Complex sum = 0.0;
      bool is_whole = true;
      for (std::size_t m = 0; m < members.size(); ++m) {
        const auto other = static_cast<std::size_t>(members[m]);
        is_whole = is_whole && left_out_[other] == 0;
        sum += row[m] * Complex(field[other]);
      }
      if (is_whole) {
        here.push_back(std::norm(sum) / row[0]);
      }
    }
    residuals[window] = here.empty() ? 0.0 : median(here);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const double residual : residuals) {
    least = residual > 0.0 ? std::min(least, residual) : least;
  }
  for (std::size_t window = 0; window < windows_; ++window) {
    const auto scale = static_cast<float>(residuals[window] > 0.0 ? std::sqrt(least / residuals[window]) : 1.0);
    for (std::size_t i = 0; i < channels_; ++i) {
      values[window * channels_ + i] *= scale;
    }
  }
  return values;
}

void SpectraJudge::find_noise(std::size_t frequency, std::span<const double> noise_power) {
  std::vector<double> around;
  for (std::size_t i = 0; i < channels_; ++i) {
    around.clear();
    for (const int member : neighbourhoods_.members(i).subspan<1>()) {
      const auto other = static_cast<std::size_t>(member);
      if (!noise_power.empty() && left_out_[other] == 0) {
        around.push_back(noise_power[other]);
      }
    }
    noise_[frequency * channels_ + i] = around.empty() ? 0.0 : median(around);
  }
}

void SpectraJudge::find_silent(std::span<const std::complex<float>> values, std::span<const double> noise_power) {
  std::vector<double> powers(channels_, 0.0);
  std::vector<double> noises;
  std::vector<double> all;
  for (std::size_t i = 0; i < channels_; ++i) {
    for (std::size_t window = 0; window < windows_; ++window) {
      powers[i] += std::norm(Complex(values[window * channels_ + i]));
    }
    if (left_out_[i] == 0 && !noise_power.empty()) {
      noises.push_back(noise_power[i]);
      all.push_back(powers[i]);
    }
  }
  if (noises.empty()) {
    return;
  }
  const double noise = median(noises);
  const bool has_noise = noise > kLeastNoise * median(all);
  for (std::size_t i = 0; i < channels_; ++i) {
    silent_[i] = static_cast<std::uint8_t>(silent_[i] + (has_noise && powers[i] < kSilence * noise ? 1 : 0));
  }
}

void SpectraJudge::choose_priors() {
  for (Patterns& patterns : patterns_) {
    for (FieldEvidence& pattern : patterns) {
      pattern.choose_priors(left_out_);
    }
  }
  for (std::size_t i = 0; i < channels_; ++i) {
    if (left_out_[i] != 0) {
      fill(i);
    }
  }
}

void SpectraJudge::fill(std::size_t channel) {
  for (std::size_t f = 0; f < frequencies_; ++f) {
    for (std::size_t k = 0; k < patterns_[f].size(); ++k) {
      patterns_[f][k].fill(channel, found_in(f, k, channel).misfit.value());
    }
  }
}

/// Repeats the choice of patterns and priors without the bad ones, if there are any: the noise of a loud one is a
/// pattern with a share of the tone in it, which would count the tone twice.
void SpectraJudge::leave_out_outliers(std::span<const std::complex<float>> spectra) {
  bool has_chosen_again = false;
  for (int round = 0; round < kMostRounds; ++round) {
    for (std::size_t i = 0; i < channels_; ++i) {
      if (stale_[i] != 0) {
        judge_channel(i);
        stale_[i] = 0;
      }
    }
    std::vector<std::size_t> outliers = new_outliers();
    if (outliers.empty() && (round == 0 || has_chosen_again)) {
      break;
    }
    if (outliers.empty()) {
      has_chosen_again = true;
      find_patterns(spectra);
      choose_priors();
      std::fill(stale_.begin(), stale_.end(), 1);
    }
    for (const std::size_t channel : outliers) {
      left_out_[channel] = 1;
      fill(channel);
      for (const int user : neighbourhoods_.users(channel)) {
        stale_[static_cast<std::size_t>(user)] = 1;
      }
    }
  }
}

/// Noise power of a microphone and of its prediction, and power of its own gain fluctuations.
double SpectraJudge::own_floor(std::size_t frequency, std::size_t channel) const {
  const FieldEvidence& tone = patterns_[frequency].front();
  return kNoiseShare * noise_[frequency * channels_ + channel] +
         kOwnFluctuation * (tone.power_around(channel, left_out_) + std::norm(tone.value(channel)));
}

FieldEvidence::Found SpectraJudge::found_in(std::size_t frequency, std::size_t pattern, std::size_t channel) const {
  return patterns_[frequency][pattern].judge(channel, left_out_, own_floor(frequency, channel));
}

double SpectraJudge::log_odds_of(std::size_t frequency, std::size_t channel, Complex tone) const {
  const FieldEvidence& pattern = patterns_[frequency].front();
  return extraordinary(
      pattern.judge_thoroughly(channel, left_out_, own_floor(frequency, channel)).misfit.log_odds(tone));
}

void SpectraJudge::judge_channel(std::size_t channel) {
  total_[channel] = 0.0;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    double& odds = odds_[f * channels_ + channel];
    odds = 0.0;
    for (std::size_t k = 0; broken_[channel] == 0 && k < patterns_[f].size(); ++k) {
      if (!patterns_[f][k].is_near(channel, left_out_, own_floor(f, channel))) {
        odds += extraordinary(found_in(f, k, channel).log_odds);
      }
    }
    total_[channel] += odds;
  }
  if (total_[channel] >= kFound) {
    total_[channel] -= contradiction(channel);
  }
}

/// Log odds against a fault from the frequencies at which the microphone fits.
double SpectraJudge::contradiction(std::size_t channel) const {
  double sum = 0.0;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    double visible = 0.0;
    double found = odds_[f * channels_ + channel];
    for (std::size_t k = 0; found == 0.0 && k < patterns_[f].size(); ++k) {
      const FieldEvidence::Found here = found_in(f, k, channel);
      visible = std::max(visible, here.misfit.log_odds_of_gain(0.5));
      found = here.log_odds > kFitting ? here.log_odds : 0.0;
    }
    sum += found == 0.0 && visible > kVisible ? kContradiction : 0.0;
  }
  return sum;
}

std::vector<std::size_t> SpectraJudge::new_outliers() const {
  std::vector<std::size_t> outliers;
  const int rows = geometry_.rows;
  const int columns = geometry_.columns;
  const auto rank = [&](std::size_t channel) {
    return left_out_[channel] == 0 && total_[channel] >= kFound ? total_[channel] : 0.0;
  };
  for (std::size_t i = 0; i < channels_; ++i) {
    const int row = static_cast<int>(i) / columns;
    const int column = static_cast<int>(i) % columns;
    const double own = rank(i);
    bool is_worst = own > 0.0;
    for (int r = std::max(row - kSpoiltReach, 0); is_worst && r <= std::min(row + kSpoiltReach, rows - 1); ++r) {
      for (int c = std::max(column - kSpoiltReach, 0); c <= std::min(column + kSpoiltReach, columns - 1); ++c) {
        is_worst = is_worst && own >= rank(static_cast<std::size_t>(r * columns + c));
      }
    }
    if (is_worst) {
      outliers.push_back(i);
    }
  }
  return outliers;
}

/// Finding for a microphone without evidence against it; one that was bad is well only where its fault would be
/// detected.
Finding SpectraJudge::well(std::size_t channel, double deviation) const {
  if (broken_[channel] != 0) {
    return {};
  }
  const double gain = 1.0 - std::clamp(deviation, kLeastDeviation, 1.0);
  bool is_told = deviation == 0.0;
  for (std::size_t f = 0; f < frequencies_ && !is_told; ++f) {
    for (std::size_t k = 0; k < patterns_[f].size() && !is_told; ++k) {
      is_told = found_in(f, k, channel).misfit.log_odds_of_gain(gain) > kTelling;
    }
  }
  return {.condition = is_told && total_[channel] < kTelling ? Condition::kOk : Condition::kUnknown};
}

Finding SpectraJudge::finding_of(std::size_t channel, double deviation) const {
  if (kBrokenShare * broken_[channel] >= windows_ || silent_[channel] == frequencies_) {
    return {.condition = Condition::kDead, .is_certain = true};
  }
  if (total_[channel] < kFound) {
    return well(channel, deviation);
  }
  double rest = 0.0;
  double clearest = -1.0;
  Complex gain = 1.0;
  bool has_no_part = true;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    Complex cross = 0.0;
    double power = 0.0;
    std::vector<FieldEvidence::Found> found;
    for (std::size_t k = 0; k < patterns_[f].size(); ++k) {
      const FieldEvidence::Found& here = found.emplace_back(found_in(f, k, channel));
      const double certainty = here.misfit.certainty();
      cross += certainty * patterns_[f][k].value(channel) * std::conj(here.misfit.value());
      power += certainty * std::norm(here.misfit.value());
    }
    const Complex own = power > 0.0 ? cross / power : 0.0;
    for (std::size_t k = 0; k < patterns_[f].size(); ++k) {
      const Misfit& misfit = found[k].misfit;
      rest += extraordinary(misfit.log_odds(patterns_[f][k].value(channel) + (1.0 - own) * misfit.value()));
      has_no_part = has_no_part && (misfit.log_odds_of_gain(0.0) < kVisible || std::abs(own) < kDeadGain);
    }
    if (odds_[f * channels_ + channel] > clearest) {
      clearest = odds_[f * channels_ + channel];
      gain = own;
    }
  }
  if (rest >= kFound) {
    return {.condition = Condition::kNoisy};
  }
  Finding finding{.condition = Condition::kMismatched, .is_certain = false, .deviation = std::abs(1.0 - gain)};
  if (std::abs(gain) < kDeadGain) {
    finding.condition = Condition::kDead;
    finding.is_certain = has_no_part && total_[channel] >= kCertain;
  } else if (std::abs(gain) < 1.0 && std::abs(std::arg(gain)) < kWeakAngle) {
    finding.condition = Condition::kWeak;
  }
  return finding;
}

/// True if the signal of `channel` matches the prediction for `place`.
bool SpectraJudge::could_stand_at(std::size_t channel, std::size_t place) const {
  double odds = 0.0;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    for (std::size_t k = 0; k < patterns_[f].size() && odds < kTelling; ++k) {
      odds += extraordinary(found_in(f, k, place).misfit.log_odds(patterns_[f][k].value(channel)));
    }
  }
  return odds < kTelling;
}

void SpectraJudge::find_swapped(std::vector<Finding>& findings) const {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < channels_; ++i) {
    // In a changing field a signal from another position resembles noise.
    const Condition found = findings[i].condition;
    if (found == Condition::kWeak || found == Condition::kMismatched || found == Condition::kNoisy) {
      candidates.push_back(i);
    }
  }
  for (std::size_t a = 0; a < candidates.size(); ++a) {
    for (std::size_t b = a + 1; b < candidates.size(); ++b) {
      Finding& one = findings[candidates[a]];
      Finding& other = findings[candidates[b]];
      const bool are_free = one.condition != Condition::kSwapped && other.condition != Condition::kSwapped;
      if (are_free && could_stand_at(candidates[a], candidates[b]) && could_stand_at(candidates[b], candidates[a])) {
        one.condition = Condition::kSwapped;
        other.condition = Condition::kSwapped;
      }
    }
  }
}

}  // namespace nearfield::health
