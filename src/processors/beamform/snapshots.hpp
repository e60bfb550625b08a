#pragma once
#include "processors/beamform/settings.hpp"

namespace nearfield {

/// Selects the windows of an average and their weights: windows half a window or more after the last one taken, because
/// nearer ones add no information. A linear average is the mean of a block; until the first block is complete it is the
/// mean of the windows so far. An exponential one weights a snapshot by exp(-age / seconds), from the first one on.
class Snapshots {
 public:
  /// Windows of `window_samples` come `hop_samples` apart; `rate_hz` is 0 if they have no times: then each is a
  /// snapshot, and a block has one.
  Snapshots(const AverageSettings& average, WindowKind window, int window_samples, double hop_samples, double rate_hz);

  struct Step {
    bool is_snapshot = false;
    double keep = 0.0;       ///< factor for the sum so far
    bool publishes = false;  ///< the sum so far becomes the map
  };
  /// Step for the next window.
  Step next();
  /// Resets to the state before the first window.
  void forget();
  /// Effective number of independent snapshots of the map that was published last: (sum w)^2 over the double sum of w_i
  /// w_j rho_ij^2, where rho is the correlation of two windows of white noise. Snapshots without enough microphones are
  /// counted.
  [[nodiscard]] double effective() const { return state_.effective; }
  [[nodiscard]] int windows_apart() const { return windows_apart_; }
  /// Effective number for the mean of `count` snapshots with equal weights.
  [[nodiscard]] double effective_of(int count) const;
  [[nodiscard]] int snapshots_of_block() const { return snapshots_of_block_; }

 private:
  void count(double keep);
  AverageKind kind_;
  int windows_apart_ = 1;
  int snapshots_of_block_ = 1;
  double decay_ = 0.0;        ///< factor per snapshot of an exponential average
  double correlation_ = 0.0;  ///< rho^2 of neighbours
  struct State {
    int since_snapshot = 0;
    int in_block = 0;
    bool has_block = false;
    bool has_any = false;
    double sum = 0.0;         ///< sum of weights
    double squares = 0.0;     ///< sum of squared weights
    double neighbours = 0.0;  ///< sum of products of neighbouring weights
    double effective = 0.0;
  };
  State state_;
};

/// Correlation of the spectra of two windows of white noise, `shift` samples apart.
double correlation_of_windows(WindowKind window, int window_samples, int shift);

}  // namespace nearfield
