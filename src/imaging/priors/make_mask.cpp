#include "imaging/priors/make_mask.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "core/field_prediction.hpp"
#include "imaging/priors/prior_fill.hpp"
#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/each_frequency.hpp"

namespace nearfield {
namespace {

using Eigen::Index;

/// Most microphones per side of a block; a model of 32 x 32 takes a tenth of a second.
constexpr int kMostSide = 32;
constexpr std::size_t kMostNodes = 3;
/// Number of arrays with cached blocks; with 32 x 32 microphones each takes 19 MB.
constexpr std::size_t kKeptArrays = 2;
using ClassMatrices = std::array<Eigen::MatrixXd, kParities>;

/// Matrices of a block of microphones at one frequency that no mask changes, by parity classes over half the rows and
/// columns.
struct BlockInformation {
  ClassMatrices inverses;  ///< W = (C + n)^-1
  ClassMatrices images;    ///< W B^H B W
  double whole = 0.0;      ///< I
};

BlockInformation make_block(const ImagePlan& plan, std::size_t frequency) {
  BlockInformation block;
  const SonahModel model = make_sonah_model(plan, frequency);
  for (std::size_t c = 0; c < kParities; ++c) {
    const Eigen::ArrayXd gains = 1.0 / (model.powers[c].array() + kFillNoise);
    Eigen::MatrixXd projections(model.samples, gains.size());
    for (Index mode = 0; mode < projections.cols(); ++mode) {
      for (Index sample = 0; sample < projections.rows(); ++sample) {
        projections(sample, mode) = static_cast<double>(model.projections[c].at(sample, mode));
      }
    }
    const Eigen::MatrixXd to_modes = gains.matrix().asDiagonal() * projections.transpose();
    const Eigen::MatrixXcd of_samples =
        model.images.front()[c].times(Eigen::MatrixXcd(to_modes.cast<std::complex<double>>()));
    const Eigen::MatrixXcd shown = model.shown.cast<std::complex<double>>().asDiagonal() * of_samples;
    block.inverses[c] = projections * to_modes;
    block.images[c] = (of_samples.adjoint() * shown).real();
    block.whole += (model.image_powers.front()[c].array() * gains).sum();
  }
  return block;
}

/// Axis of an array in equal pieces of at most kMostSide microphones; the last one may overlap with the one before.
struct CutAxis {
  explicit CutAxis(int count)
      : microphones(count), pieces((count + kMostSide - 1) / kMostSide), length((count + pieces - 1) / pieces) {}
  [[nodiscard]] int piece_of(int index) const { return index / length; }
  [[nodiscard]] int index_in_piece(int index) const {
    return index - std::min(piece_of(index) * length, microphones - length);
  }
  int microphones;
  int pieces;
  int length;
};

/// Computed frequencies: all, or as many as kMostNodes evenly from the lowest to the highest.
std::vector<double> nodes_of(const std::vector<double>& frequencies_hz) {
  if (frequencies_hz.size() <= kMostNodes) {
    std::vector<double> nodes_hz = frequencies_hz;
    std::sort(nodes_hz.begin(), nodes_hz.end());
    return nodes_hz;
  }
  const auto [low, high] = std::minmax_element(frequencies_hz.begin(), frequencies_hz.end());
  std::vector<double> nodes_hz;
  for (std::size_t i = 0; i < kMostNodes; ++i) {
    nodes_hz.push_back(*low + (*high - *low) * static_cast<double>(i) / static_cast<double>(kMostNodes - 1));
  }
  return nodes_hz;
}

/// Plan of a block of this array's microphones, at the computed frequencies.
ImagePlan block_plan(const ArrayPlan& plan) {
  ImagePlan block;
  block.geometry.rows = CutAxis(plan.geometry.rows).length;
  block.geometry.columns = CutAxis(plan.geometry.columns).length;
  block.geometry.pitch_x_m = plan.geometry.pitch_x_m;
  block.geometry.pitch_y_m = plan.geometry.pitch_y_m;
  block.medium = plan.medium;
  block.standoff_m = plan.standoff_m;
  block.frequencies_hz = nodes_of(plan.frequencies_hz);
  block.holography.quantity = *plan.imaged;
  block.holography.planes_m = {0.0};
  block.holography.upsample = 1;
  return block;
}

using Blocks = std::vector<BlockInformation>;  // [node]

/// Cache of the blocks of the arrays used last. Any number of threads may call it.
class KeptBlocks {
 public:
  std::shared_ptr<const Blocks> of(const ImagePlan& plan) {
    const Key key{plan.holography.quantity, plan.geometry.rows,  plan.geometry.columns, plan.geometry.pitch_x_m,
                  plan.geometry.pitch_y_m,  plan.frequencies_hz, plan.standoff_m,       plan.medium.sound_speed_m_s};
    {
      const std::scoped_lock lock(mutex_);
      const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one.first == key; });
      if (found != kept_.end()) {
        kept_.splice(kept_.begin(), kept_, found);
        return kept_.front().second;
      }
    }
    auto blocks = std::make_shared<Blocks>(plan.frequencies_hz.size());
    for_each_frequency(blocks->size(), std::thread::hardware_concurrency(),
                       [&](std::size_t f) { (*blocks)[f] = make_block(plan, f); });
    const std::scoped_lock lock(mutex_);
    kept_.emplace_front(key, blocks);
    if (kept_.size() > kKeptArrays) {
      kept_.pop_back();
    }
    return blocks;
  }

 private:
  using Key = std::tuple<Quantity, int, int, double, double, std::vector<double>, double, double>;
  std::mutex mutex_;                                               // guards kept_
  std::list<std::pair<Key, std::shared_ptr<const Blocks>>> kept_;  ///< most recently used first
};

KeptBlocks& kept_blocks() {
  static KeptBlocks kept;
  return kept;
}

/// Part of a block's I that is lost with the microphones at these positions, trace((W_mm)^-1 (W B^H B W)_mm).
double lost_of(const BlockInformation& block, const ArrayGeometry& geometry, const std::vector<Index>& missing) {
  const auto count = static_cast<Index>(missing.size());
  const auto at_missing = [&](const ClassMatrices& classes) {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(count, count);
    for (std::size_t c = 0; c < kParities; ++c) {
      std::vector<FoldedPlace> places;
      for (const Index channel : missing) {
        places.push_back(folded_place(geometry, channel, c));
      }
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < count; ++j) {
          const FoldedPlace& to = places[static_cast<std::size_t>(i)];
          const FoldedPlace& from = places[static_cast<std::size_t>(j)];
          sum(i, j) += to.weight * from.weight * classes[c](to.sample, from.sample);
        }
      }
    }
    return sum;
  };
  return at_missing(block.inverses).llt().solve(at_missing(block.images)).trace();
}

/// Missing microphones of each block that lacks any, as indices within the block.
std::vector<std::vector<Index>> missing_of_blocks(const ArrayGeometry& geometry,
                                                  std::span<const std::int32_t> missing) {
  const CutAxis rows(geometry.rows);
  const CutAxis columns(geometry.columns);
  std::vector<std::vector<Index>> of_blocks(static_cast<std::size_t>(rows.pieces * columns.pieces));
  for (const std::int32_t channel : missing) {
    const int row = channel / geometry.columns;
    const int column = channel % geometry.columns;
    of_blocks[static_cast<std::size_t>(rows.piece_of(row) * columns.pieces + columns.piece_of(column))].push_back(
        Index{rows.index_in_piece(row)} * columns.length + columns.index_in_piece(column));
  }
  return of_blocks;
}

/// Interpolates linearly between nodes, which ascend.
float between_nodes(const std::vector<double>& nodes_hz, const std::vector<double>& shares, double frequency_hz) {
  const auto above = std::lower_bound(nodes_hz.begin(), nodes_hz.end(), frequency_hz);
  const auto high = std::min(static_cast<std::size_t>(above - nodes_hz.begin()), nodes_hz.size() - 1);
  const std::size_t low = high > 0 ? high - 1 : 0;
  const double span_hz = nodes_hz[high] - nodes_hz[low];
  const double weight = span_hz > 0.0 ? std::clamp((frequency_hz - nodes_hz[low]) / span_hz, 0.0, 1.0) : 1.0;
  return static_cast<float>(std::clamp(shares[low] + weight * (shares[high] - shares[low]), 0.0, 1.0));
}

}  // namespace

MissingInformation missing_information(const ArrayPlan& plan, std::span<const std::int32_t> missing) {
  MissingInformation found;
  if (missing.empty() || !plan.imaged) {
    return found;
  }
  const ArrayGeometry& geometry = plan.geometry;
  if (!geometry.is_grid()) {
    const float part = static_cast<float>(missing.size()) / static_cast<float>(geometry.channels());
    found.of_frequency.assign(plan.frequencies_hz.size(), part);
    return found;
  }
  const ImagePlan block = block_plan(plan);
  const std::shared_ptr<const Blocks> blocks = kept_blocks().of(block);
  const std::vector<std::vector<Index>> of_blocks = missing_of_blocks(geometry, missing);
  std::vector<double> shares;  // [node]
  for (const BlockInformation& node : *blocks) {
    double lost = 0.0;
    for (const std::vector<Index>& of_block : of_blocks) {
      lost += of_block.empty() ? 0.0 : lost_of(node, block.geometry, of_block);
    }
    shares.push_back(lost / (node.whole * static_cast<double>(of_blocks.size())));
  }
  for (const double frequency_hz : plan.frequencies_hz) {
    found.of_frequency.push_back(between_nodes(block.frequencies_hz, shares, frequency_hz));
  }
  return found;
}

double missing_with(double missing, int unknown, int used) {
  const double part = used > 0 ? std::min(static_cast<double>(unknown) / used, 1.0) : 0.0;
  return 1.0 - (1.0 - missing) * (1.0 - part);
}

float error_with_missing(float error, double missing, double of_sources) {
  if (!(missing > 0.0) || !(error < 1.0F)) {
    return error;
  }
  if (missing >= 1.0) {
    return 1.0F;
  }
  const double wrong = std::pow(static_cast<double>(error), 2);
  const double lost = std::max(1.0 - wrong - of_sources, 0.0) * missing / (1.0 - missing);
  return static_cast<float>(std::sqrt((wrong + lost) / (1.0 + lost)));
}

MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels) {
  const std::size_t frequencies = plan.frequencies_hz.size();
  MicrophoneMask mask;
  std::set<int> all(plan.dead_channels.begin(), plan.dead_channels.end());
  all.insert(channels.begin(), channels.end());
  mask.channels.assign(all.begin(), all.end());
  mask.neighbours.assign(all.size() * kFillNeighbours, 0);
  mask.weights.assign(all.size() * frequencies * kFillNeighbours, 0.0F);
  std::vector<std::uint8_t> usable(static_cast<std::size_t>(plan.geometry.channels()), 1);
  for (const std::int32_t channel : mask.channels) {
    usable[static_cast<std::size_t>(channel)] = 0;
  }
  // The imager of irregular arrays leaves the plan's dead microphones out of its model: nothing reads a prediction of
  // these, whose covariances would be an integral for each pair of microphones.
  const auto is_left_out = [&](std::int32_t channel) {
    return !plan.geometry.is_grid() &&
           std::find(plan.dead_channels.begin(), plan.dead_channels.end(), channel) != plan.dead_channels.end();
  };
  std::vector<FieldCovariance> covariances;
  if (!all.empty()) {
    for (std::size_t f = 0; f < frequencies; ++f) {
      covariances.emplace_back(plan.geometry, plan.wavenumber(f), plan.standoff_m);
    }
  }
  for (std::size_t i = 0; i < mask.channels.size(); ++i) {
    if (is_left_out(mask.channels[i])) {
      continue;
    }
    const std::vector<int> from = nearest_usable(plan.geometry, usable, mask.channels[i], kFillNeighbours);
    if (from.empty()) {
      continue;
    }
    const auto neighbours = mask.neighbours.begin() + static_cast<std::ptrdiff_t>(i * kFillNeighbours);
    std::fill_n(neighbours, kFillNeighbours, from.front());
    std::copy(from.begin(), from.end(), neighbours);
    for (std::size_t f = 0; f < frequencies; ++f) {
      const MicrophonePrediction prediction = predict_microphone(covariances[f], mask.channels[i], from);
      std::transform(prediction.weights.begin(), prediction.weights.end(),
                     mask.weights.begin() + static_cast<std::ptrdiff_t>((i * frequencies + f) * kFillNeighbours),
                     [](double weight) { return static_cast<float>(weight); });
    }
  }
  if (plan.fills_from_all && mask.channels.empty()) {
    forget_prior_fills(plan);
  } else if (plan.fills_from_all) {
    mask.prior_weights = prior_fill(plan, mask.channels);
  }
  mask.missing = missing_information(plan, mask.channels);
  return mask;
}

}  // namespace nearfield
