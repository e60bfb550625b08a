#include "processors/srp_phat/tracks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace nearfield {
namespace {

using far_field::Position;

constexpr double kGate = 9.0;  ///< squared standard deviations
constexpr std::size_t kMostTracks = 16;
constexpr double kGap = 1.5;  ///< multiple of the frame interval that means lost frames
/// Limit, in separations, for two tracks whose sources may share one maximum.
constexpr double kUnresolved = 1.5;
/// Factor of tracks.forget_s for a track that another one hides.
constexpr double kHidden = 4.0;

double angle_between(const Position& one, const Position& other) {
  const double lengths = norm(one) * norm(other);
  return lengths > 0.0 ? std::acos(std::clamp(dot(one, other) / lengths, -1.0, 1.0)) : 0.0;
}

std::array<double, 3> parts(const Position& position) { return {position.x, position.y, position.z}; }

}  // namespace

std::vector<int> cheapest_assignment(const std::vector<std::vector<double>>& costs) {
  const std::size_t rows = costs.size();
  const std::size_t columns = rows == 0 ? 0 : costs[0].size();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Row and column 0 mean "none".
  std::vector<double> row_potential(rows + 1);
  std::vector<double> column_potential(columns + 1);
  std::vector<std::size_t> row_of(columns + 1);
  for (std::size_t row = 1; row <= rows; ++row) {
    std::vector<double> least(columns + 1, kInfinity);
    std::vector<std::size_t> before(columns + 1);
    std::vector<bool> is_done(columns + 1);
    std::size_t column = 0;
    row_of[0] = row;
    do {
      is_done[column] = true;
      double step = kInfinity;
      std::size_t next = 0;
      for (std::size_t c = 1; c <= columns; ++c) {
        if (is_done[c]) {
          continue;
        }
        const double cost = costs[row_of[column] - 1][c - 1] - row_potential[row_of[column]] - column_potential[c];
        if (cost < least[c]) {
          least[c] = cost;
          before[c] = column;
        }
        if (least[c] < step) {
          step = least[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= columns; ++c) {
        if (is_done[c]) {
          row_potential[row_of[c]] += step;
          column_potential[c] -= step;
        } else {
          least[c] -= step;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = before[column]) {
      row_of[column] = row_of[before[column]];
    }
  }
  std::vector<int> column_of(rows, -1);
  for (std::size_t c = 1; c <= columns; ++c) {
    if (row_of[c] != 0) {
      column_of[row_of[c] - 1] = static_cast<int>(c - 1);
    }
  }
  return column_of;
}

SrpTracks::SrpTracks(const SrpPlan& plan)
    : settings_(plan.settings.tracks),
      significance_(plan.settings.significance),
      separation_(plan.settings.separation_deg * std::numbers::pi / 180.0),
      seconds_apart_(plan.hop_s * plan.every_hops),
      window_s_(plan.window_s),
      is_far_(plan.grid.is_far),
      ids_(plan.track_ids) {}

std::span<const SrpSource> SrpTracks::add(std::span<const SrpSource> sources, double seconds) {
  predict(seconds);
  // After lost frames, remove expired tracks before a source can continue them.
  if (seconds > kGap * seconds_apart_) {
    std::erase_if(tracks_, [&](const Track& track) { return track.unseen_s > settings_.forget_s; });
  }
  find_neighbours();
  const std::vector<int> track_of = assign(sources);
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (track_of[s] < 0 && !is_new(sources[s])) {
      continue;
    }
    Track& track = track_of[s] < 0 ? begin(sources[s]) : tracks_[static_cast<std::size_t>(track_of[s])];
    if (track_of[s] >= 0) {
      update(track, sources[s]);
    }
    track.source = static_cast<int>(s);
  }
  find_hidden();
  confirm_and_forget();
  write_rows(sources);
  return rows_;
}

void SrpTracks::write_rows(std::span<const SrpSource> sources) {
  std::vector<bool> is_confirmed(sources.size());
  rows_.clear();
  for (const bool is_seen : {true, false}) {
    for (const Track& track : tracks_) {
      if (track.id != 0 && (track.source >= 0) == is_seen) {
        rows_.push_back(row_of(track));
      }
      if (track.id != 0 && track.source >= 0) {
        is_confirmed[static_cast<std::size_t>(track.source)] = true;
      }
    }
  }
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (!is_confirmed[s]) {
      rows_.push_back(sources[s]);
    }
  }
}

/// False near a track: within the separation a source is that track's with an error, because two maxima are never that
/// near.
bool SrpTracks::is_new(const SrpSource& source) const {
  return source.significance >= significance_ && tracks_.size() < kMostTracks &&
         std::none_of(tracks_.begin(), tracks_.end(),
                      [&](const Track& track) { return is_within_separation(place_of(track), source.place); });
}

bool SrpTracks::is_within_separation(const Position& one, const Position& other) const {
  return angle_between(one, other) <= separation_;
}

Position SrpTracks::place_of(const Track& track) {
  return {track.axes[0].place, track.axes[1].place, track.axes[2].place};
}

void SrpTracks::predict(double seconds) {
  // Spectral density of an acceleration that changes after each window.
  const double density = settings_.manoeuvre_m_s2 * settings_.manoeuvre_m_s2 * window_s_;
  for (Track& track : tracks_) {
    track.neighbour = track.source < 0 ? track.neighbour : 0;  // kept until it is seen again
    track.source = -1;
    track.unseen_s += track.is_hidden ? seconds / kHidden : seconds;
    for (Axis& axis : track.axes) {
      axis.place += seconds * axis.velocity;
      axis.place_variance += seconds * (2.0 * axis.covariance + seconds * axis.velocity_variance) +
                             density * seconds * seconds * seconds / 3.0;
      axis.covariance += seconds * axis.velocity_variance + density * seconds * seconds / 2.0;
      axis.velocity_variance += density * seconds;
    }
    keep_length(track);
  }
}

void SrpTracks::find_neighbours() {
  for (Track& track : tracks_) {
    track.neighbour_variance = 0.0;
    double nearest = kUnresolved * separation_;
    for (const Track& other : tracks_) {
      if (track.id != 0 && other.id != 0 && &other != &track) {
        const double angle = angle_between(place_of(track), place_of(other));
        if (angle <= nearest) {
          nearest = angle;
          track.neighbour = other.id;
        }
        track.neighbour_variance = std::max(track.neighbour_variance, variance_by(other, angle, track));
      }
    }
  }
}

/// Variance of a track's source due to another source. Two maxima are never nearer than the separation: if two sources
/// are, their only maximum lies anywhere between them, because they are alternately louder. Farther apart each shifts
/// the other's maximum, by less and less: the fourth power models two sources 3 dB apart, from one separation to two of
/// them. A side lobe shifts nothing.
double SrpTracks::variance_by(const Track& other, double angle, const Track& track) const {
  constexpr double kUniform = 1.0 / 12.0;
  const double nearness = angle > separation_ ? std::pow(separation_ / angle, 4.0) : 1.0;
  const double coherence = std::max(track.last.confidence, 0.0) + std::max(other.last.confidence, 0.0);
  const double share = coherence > 0.0 ? 2.0 * std::max(other.last.confidence, 0.0) / coherence : 1.0;
  const double moved = separation_ * norm(place_of(track)) * nearness * share;
  return kUniform * moved * moved;
}

/// Marks hidden tracks: a track without a source may have one if its neighbour has one. It is forgotten more slowly.
void SrpTracks::find_hidden() {
  for (Track& track : tracks_) {
    track.is_hidden = track.source < 0 && track.neighbour != 0 &&
                      std::any_of(tracks_.begin(), tracks_.end(),
                                  [&](const Track& other) { return other.id == track.neighbour && other.source >= 0; });
  }
}

/// Normalises directions to length 1.
void SrpTracks::keep_length(Track& track) const {
  const double length =
      is_far_ ? far_field::norm({track.axes[0].place, track.axes[1].place, track.axes[2].place}) : 1.0;
  for (Axis& axis : track.axes) {
    axis.place /= length > 0.0 ? length : 1.0;
  }
}

SrpTracks::Fit SrpTracks::fit_of(const Track& track, const SrpSource& source) {
  Fit fit;
  for (std::size_t i = 0; i < 3; ++i) {
    const double innovation = parts(source.place).at(i) - track.axes.at(i).place;
    const double variance = parts(source.variance).at(i) + track.neighbour_variance + track.axes.at(i).place_variance;
    if (variance > 0.0) {
      fit.squares += innovation * innovation / variance;
      fit.log_variance += std::log(variance);
    }
  }
  return fit;
}

/// The most likely assignment of as many sources as possible. The cost of a pair is -2 ln of the density of their
/// distance, up to a constant, so that a track that has been unseen for long, with a wide density, takes no source from
/// a track with a known position, even if that one's gate is missed. A track with a neighbour must be near its expected
/// position: distant maxima are side lobes of both.
std::vector<int> SrpTracks::assign(std::span<const SrpSource> sources) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> costs(sources.size(), std::vector<double>(tracks_.size(), kNever));
  double least = kNever;
  double most = -kNever;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    double outside = kNever;  // lowest cost of the tracks whose gates the source misses
    for (std::size_t t = 0; t < tracks_.size() && sources[s].significance >= significance_; ++t) {
      const Fit fit = fit_of(tracks_[t], sources[s]);
      const bool is_near = tracks_[t].neighbour == 0 || is_within_separation(place_of(tracks_[t]), sources[s].place);
      double& cost = fit.squares < kGate ? costs[s][t] : outside;
      cost = is_near ? std::min(cost, fit.squares + fit.log_variance) : cost;
    }
    for (double& cost : costs[s]) {
      cost = cost < outside ? cost : kNever;
      least = std::min(least, cost);
      most = std::isinf(cost) ? most : std::max(most, cost);
    }
  }
  // Shift costs to start at 0; then add, for each source, a column for no track, which costs more than all other pairs
  // can save.
  const double none = most > least ? static_cast<double>(sources.size()) * (most - least) + 1.0 : 1.0;
  for (std::vector<double>& row : costs) {
    for (double& cost : row) {
      cost = std::isinf(cost) ? 2.0 * none : cost - least;
    }
    row.resize(tracks_.size() + sources.size(), none);
  }
  std::vector<int> track_of = cheapest_assignment(costs);
  for (int& track : track_of) {
    track = track < static_cast<int>(tracks_.size()) ? track : -1;
  }
  return track_of;
}

/// Overlapping windows have the same errors: all within half a window count as one.
void SrpTracks::update(Track& track, const SrpSource& source) const {
  const double together = seconds_apart_ > 0.0 ? std::max(window_s_ / 2.0 / seconds_apart_, 1.0) : 1.0;
  for (std::size_t i = 0; i < 3; ++i) {
    Axis& axis = track.axes.at(i);
    const double variance = axis.place_variance + track.neighbour_variance + together * parts(source.variance).at(i);
    if (variance <= 0.0) {
      continue;  // the grid lacks this direction
    }
    const double innovation = parts(source.place).at(i) - axis.place;
    const double of_place = axis.place_variance / variance;
    const double of_velocity = axis.covariance / variance;
    axis.place += of_place * innovation;
    axis.velocity += of_velocity * innovation;
    axis.velocity_variance -= of_velocity * axis.covariance;
    axis.covariance -= of_place * axis.covariance;
    axis.place_variance -= of_place * axis.place_variance;
  }
  keep_length(track);
  track.last = source;
  track.unseen_s = 0.0;
}

SrpTracks::Track& SrpTracks::begin(const SrpSource& source) {
  Track track;
  const double fastest = settings_.manoeuvre_m_s2 * settings_.forget_s;
  for (std::size_t i = 0; i < 3; ++i) {
    track.axes.at(i).place = parts(source.place).at(i);
    track.axes.at(i).place_variance = parts(source.variance).at(i);
    track.axes.at(i).velocity_variance = fastest * fastest;
  }
  track.last = source;
  return tracks_.emplace_back(std::move(track));
}

void SrpTracks::confirm_and_forget() {
  const auto most = static_cast<std::size_t>(settings_.confirm[1]);
  for (Track& track : tracks_) {
    if (track.id != 0) {
      continue;
    }
    track.seen.push_back(track.source >= 0);
    if (std::count(track.seen.begin(), track.seen.end(), true) >= settings_.confirm[0]) {
      track.id = ids_->next();
    }
  }
  std::erase_if(tracks_, [&](const Track& track) {
    return track.unseen_s > settings_.forget_s || (track.id == 0 && track.seen.size() >= most);
  });
}

SrpSource SrpTracks::row_of(const Track& track) const {
  SrpSource row = track.last;
  row.id = track.id;
  row.state = track.source >= 0 ? kSourceConfirmed : kSourceCoasting;
  row.place = place_of(track);
  row.velocity = {track.axes[0].velocity, track.axes[1].velocity, track.axes[2].velocity};
  std::array<double, 3> sigmas{};
  for (std::size_t i = 0; i < 3; ++i) {
    sigmas.at(i) = std::sqrt(std::max(track.axes.at(i).place_variance, 0.0));
  }
  std::sort(sigmas.begin(), sigmas.end());
  row.sigma_major = sigmas[2];
  row.sigma_minor = sigmas[1];
  return row;
}

}  // namespace nearfield
