#include "imaging/operators/operator_tables.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "cl/program_cache.hpp"
#include "core/system/host.hpp"
#include "imaging/operators/operator_memory.hpp"
#include "imaging/shared/each_frequency.hpp"
#include "imaging/shared/noise_steps.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// Modes of less power relative to a microphone contain only noise: the least noise is 1e-7.
constexpr double kLeastMode = 3e-9;
/// Diagonal elements with a smaller relative difference are equal but for rounding.
constexpr double kEqualPivots = 1e-6;

Index first_of_largest(const Eigen::VectorXd& diagonal) {
  const double least = diagonal.maxCoeff() * (1.0 - kEqualPivots);
  Index pivot = 0;
  while (diagonal(pivot) < least) {
    ++pivot;
  }
  return pivot;
}

/// (microphone, column): its product with its adjoint is the covariance, up to `enough` of the trace.
Eigen::MatrixXcd pivoted_cholesky(const Eigen::MatrixXcd& covariance, double enough) {
  const Index count = covariance.rows();
  Eigen::VectorXd diagonal = covariance.diagonal().real();
  Eigen::MatrixXcd factor(count, count);
  Index rank = 0;
  while (rank < count && diagonal.sum() > enough) {
    const Index pivot = first_of_largest(diagonal);
    if (!(diagonal(pivot) > 0.0)) {
      break;
    }
    auto column = factor.col(rank);
    column = covariance.col(pivot);
    if (rank > 0) {
      column.noalias() -= factor.leftCols(rank) * factor.row(pivot).head(rank).adjoint();
    }
    column /= std::sqrt(diagonal(pivot));
    diagonal = (diagonal - column.cwiseAbs2()).cwiseMax(0.0);
    diagonal(pivot) = 0.0;
    ++rank;
  }
  return factor.leftCols(rank);
}

/// Modes of a covariance, by the pivoted Cholesky factor that leaves at most `enough` of the trace and the eigenvalues
/// of its small Gram matrix (Harbrecht, Peters and Schneider 2012). Of pivots that are equal but for rounding, as on a
/// regular grid, the first is taken, so that the modes do not depend on rounding.
OperatorModes operator_modes(const Eigen::MatrixXcd& covariance, double enough) {
  const Eigen::MatrixXcd factor = pivoted_cholesky(covariance, enough);
  if (factor.cols() == 0) {  // the solver refuses odd fields over a single row, which are 0
    return {.modes = factor, .powers = Eigen::VectorXd(0)};
  }
  Eigen::MatrixXcd gram = Eigen::MatrixXcd::Zero(factor.cols(), factor.cols());
  gram.selfadjointView<Eigen::Lower>().rankUpdate(factor.adjoint());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> solver(gram);  // reads the lower half
  const Eigen::VectorXd powers = solver.eigenvalues().reverse();
  const Index kept = (powers.array() >= kLeastMode).count();
  OperatorModes found{.modes = factor * solver.eigenvectors().rowwise().reverse().leftCols(kept),
                      .powers = powers.head(kept)};
  for (Index mode = 0; mode < kept; ++mode) {
    found.modes.col(mode) /= std::sqrt(found.powers(mode));
  }
  return found;
}

}  // namespace

OperatorModel make_operator_model(const PriorCovariances& prior, double tolerance, double share) {
  OperatorModel model{.classes = {}, .image_power = prior.image_power};
  const auto covariance_of = [&](std::size_t parity) -> Eigen::MatrixXcd {
    const Eigen::MatrixXcd& of_front = prior.front[parity].microphones;
    return share > 0.0 ? of_front + share * prior.behind[parity].microphones : of_front;
  };
  double trace = 0.0;
  for (std::size_t parity = 0; parity < prior.front.size(); ++parity) {
    trace += covariance_of(parity).trace().real();
  }
  const double enough = tolerance * trace / static_cast<double>(prior.front.size());
  for (std::size_t parity = 0; parity < prior.front.size(); ++parity) {
    OperatorClass& of_class = model.classes.emplace_back();
    of_class.at_microphones = operator_modes(covariance_of(parity), enough);
    for (const Eigen::MatrixXcd& image : prior.front[parity].images) {
      of_class.images.emplace_back(image * of_class.at_microphones.modes);
    }
    for (std::size_t plane = 0; !prior.behind.empty() && plane < prior.behind[parity].images.size(); ++plane) {
      of_class.images.emplace_back(share * prior.behind[parity].images[plane] * of_class.at_microphones.modes);
    }
  }
  return model;
}

namespace {

using ComplexF = std::complex<float>;

/// Must change when models get other values.
constexpr std::string_view kModelVersion = "operators 3";
/// Least size of a file on disk beyond its value.
constexpr std::uint64_t kHeaderBytes = 64;

ComplexF narrowed(const std::complex<double>& value) {
  return {static_cast<float>(value.real()), static_cast<float>(value.imag())};
}

/// Writes values one after the other, in this machine's byte order.
class ValueWriter {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* const first = reinterpret_cast<const unsigned char*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof(T));
  }
  template <class T>
  void add_all(const std::vector<T>& values) {
    add<std::uint64_t>(values.size());
    const auto* const first = reinterpret_cast<const unsigned char*>(values.data());
    bytes_.insert(bytes_.end(), first, first + values.size() * sizeof(T));
  }
  void add_all(const std::vector<Eigen::Vector3d>& places) {
    add<std::uint64_t>(places.size());
    for (const Eigen::Vector3d& place : places) {
      for (const double coordinate : place) {
        add(coordinate);
      }
    }
  }
  [[nodiscard]] std::vector<unsigned char> bytes() && { return std::move(bytes_); }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::vector<unsigned char> bytes_;
};

/// Reads the values of ValueWriter; returns false if there are too few bytes.
class ValueReader {
 public:
  explicit ValueReader(std::span<const unsigned char> bytes) : rest_(bytes) {}
  template <class T>
  bool take(T& value) {
    if (rest_.size() < sizeof(T)) {
      return false;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  template <class T>
  bool take_all(std::vector<T>& values) {
    std::uint64_t count = 0;
    if (!take(count) || count > rest_.size() / sizeof(T)) {
      return false;
    }
    values.resize(count);
    std::memcpy(static_cast<void*>(values.data()), rest_.data(), count * sizeof(T));
    rest_ = rest_.subspan(count * sizeof(T));
    return true;
  }
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

 private:
  std::span<const unsigned char> rest_;
};

std::vector<unsigned char> bytes_of(const OperatorTables& tables) {
  ValueWriter writer;
  writer.add_all(tables.ranks);
  writer.add_all(tables.modes);
  writer.add_all(tables.powers);
  writer.add_all(tables.image_powers);
  writer.add_all(tables.log_sums);
  writer.add_all(tables.errors);
  writer.add_all(tables.factors);
  return std::move(writer).bytes();
}

/// Returns nullopt if the sizes of the bytes do not match the plan.
std::optional<OperatorTables> tables_of(std::span<const unsigned char> bytes, const ImagePlan& plan,
                                        const Folding& folding) {
  OperatorTables tables;
  tables.samples = folding.microphones.samples();
  tables.pixels = folding.pixels.samples();
  ValueReader reader(bytes);
  const bool is_whole = reader.take_all(tables.ranks) && reader.take_all(tables.modes) &&
                        reader.take_all(tables.powers) && reader.take_all(tables.image_powers) &&
                        reader.take_all(tables.log_sums) && reader.take_all(tables.errors) &&
                        reader.take_all(tables.factors) && reader.is_at_end();
  const bool fits =
      is_whole && tables.ranks.size() == folding.classes() && tables.first_of(folding.classes()) == tables.rank() &&
      tables.modes.size() == tables.rank() * tables.samples && tables.image_powers.size() == tables.rank() &&
      tables.log_sums.size() == kNoiseSteps && tables.errors.size() == kNoiseSteps * kErrorTerms &&
      tables.factors.size() == tables.rank() * plan.images_per_frequency() * tables.pixels;
  return fits ? std::optional(std::move(tables)) : std::nullopt;
}

/// Error terms of a step of noise, for modes of these powers.
std::array<double, kErrorTerms> error_terms(const Eigen::ArrayXd& powers, const Eigen::ArrayXd& image_powers,
                                            double prior_power, double noise) {
  const Eigen::ArrayXd both = powers + noise;
  const double of_noise = noise * (image_powers / both.square()).sum();
  const double whole = std::max(0.0, prior_power - (image_powers / both).sum());
  const Eigen::ArrayXd weights = noise * noise * powers / both.square().square();
  const double sum = (weights * powers).sum();
  if (!(sum > 0.0)) {  // without modes, no scale other than t is known
    return {whole, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  }
  const Eigen::ArrayXd g = weights / sum;
  return {of_noise,
          std::max(0.0, whole - of_noise),
          1.0 / sum,
          g.sum(),
          (g * powers).square().sum(),
          (g.square() * powers).sum(),
          g.square().sum(),
          0.0};
}

}  // namespace

std::size_t OperatorTables::first_of(std::size_t parity) const {
  return std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(parity), std::size_t{0});
}

OperatorTables make_operator_tables(const ImagePlan& plan, const OperatorModel& model) {
  const FoldedPlaces pixels = (model.classes.size() > 1 ? folding_of(plan) : unfolded(plan)).pixels;
  OperatorTables tables;
  tables.samples = static_cast<std::size_t>(model.classes.front().at_microphones.modes.rows());
  tables.pixels = pixels.samples();
  Eigen::VectorXd powers;
  Eigen::VectorXd image_powers;
  const auto append = [](Eigen::VectorXd& to, const Eigen::VectorXd& values) {
    to.conservativeResize(to.size() + values.size());
    to.tail(values.size()) = values;
  };
  for (const OperatorClass& of_class : model.classes) {
    const Eigen::MatrixXcd& modes = of_class.at_microphones.modes;
    tables.ranks.push_back(static_cast<std::uint64_t>(modes.cols()));
    for (const Complex& value : modes.reshaped()) {
      tables.modes.push_back(narrowed(value));
    }
    append(powers, of_class.at_microphones.powers);
    append(image_powers, of_class.images.front().cwiseAbs2().colwise().sum().transpose());
  }
  for (Index mode = 0; mode < powers.size(); ++mode) {
    tables.powers.push_back(static_cast<float>(powers(mode)));
    tables.image_powers.push_back(static_cast<float>(image_powers(mode)));
  }
  const double outside = static_cast<double>(used_microphones(plan).size()) - static_cast<double>(powers.size());
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double noise = noise_step(step);
    tables.log_sums.push_back(static_cast<float>((powers.array() + noise).log().sum() + outside * std::log(noise)));
    for (const double term : error_terms(powers.array(), image_powers.array(), model.image_power, noise)) {
      tables.errors.push_back(static_cast<float>(term));
    }
  }
  for (std::size_t plane = 0; plane < model.classes.front().images.size(); ++plane) {
    for (const OperatorClass& of_class : model.classes) {
      const Eigen::MatrixXcd factors = pixels.of_views(of_class.images[plane]);
      for (const Complex& value : factors.reshaped()) {
        tables.factors.push_back(narrowed(value));
      }
    }
  }
  return tables;
}

OperatorCache::OperatorCache(const std::filesystem::path& folder, std::uint64_t most_bytes)
    : files_(folder, most_bytes), most_bytes_(most_bytes) {}

bool OperatorCache::takes(std::uint64_t bytes) const {
  if (used_bytes_.fetch_add(bytes) + bytes <= most_bytes_) {
    return true;
  }
  used_bytes_ -= bytes;
  if (files_.is_on() && !has_said_full_.exchange(true)) {
    spdlog::info(
        "operators: the models of all frequencies need more than the {:.3g} GiB that are kept on disk: those "
        "beyond it are made at each start",
        static_cast<double>(most_bytes_) / static_cast<double>(std::uint64_t{1} << 30U));
  }
  return false;
}

OperatorCache OperatorCache::of_user() {
  const std::filesystem::path folder = ocl::cache_folder();
  return OperatorCache(folder.empty() ? folder : folder / "operators");
}

ocl::CacheKey OperatorCache::key_of(const ImagePlan& plan, const std::vector<Eigen::Vector3d>& sources,
                                    std::size_t frequency, double share) {
  const ImagePlaces images = image_places(plan);
  const OperatorSettings& operators = plan.holography.operators;
  ValueWriter writer;
  writer.add_all(microphone_places(plan));
  writer.add_all(used_microphones(plan));
  writer.add_all(images.places_m);
  writer.add_all(images.normals);
  writer.add<std::uint64_t>(images.pixels);
  writer.add_all(sources);
  writer.add<std::uint64_t>(folding_of(plan).classes());
  if (plan.sources && !plan.sources->templates.empty()) {
    const std::vector<std::complex<double>>& all = plan.sources->templates;
    const auto count = static_cast<std::ptrdiff_t>(all.size() / plan.frequencies_hz.size());
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(frequency) * count;
    writer.add_all(std::vector<std::complex<double>>(first, first + count));
  }
  for (const double value : {plan.frequencies_hz[frequency], plan.medium.sound_speed_m_s, plan.medium.density_kg_m3,
                             OperatorSettings::kModesTolerance, kLeastMode, kEqualPivots,
                             operators.wall.y_m.value_or(std::nan("")), operators.wall.reflection}) {
    writer.add(value);
  }
  if (plan.separates()) {
    const SourcesBehind behind = sources_behind(plan, frequency);
    writer.add_all(behind.places_m);
    writer.add_all(behind.directions);
    writer.add(kWavesBehind);
    writer.add(share);
  }
  return ocl::cache_key({kModelVersion, name_of(plan.holography.quantity), writer.text()});
}

std::vector<OperatorTables> OperatorCache::tables(const ImagePlan& plan, const std::vector<Eigen::Vector3d>& sources,
                                                  std::size_t frequency, bool& was_stored) const {
  const Folding folding = folding_of(plan);
  std::optional<PriorCovariances> prior;
  std::vector<OperatorTables> of_shares;
  for (const double share : shares_behind(plan)) {
    const ocl::CacheKey key = key_of(plan, sources, frequency, share);
    const std::optional<std::vector<unsigned char>> stored = files_.load(key);
    std::optional<OperatorTables> found = stored ? tables_of(*stored, plan, folding) : std::nullopt;
    if (found) {
      used_bytes_ += stored->size() + kHeaderBytes;
      of_shares.push_back(std::move(*found));
      continue;
    }
    if (!prior) {
      prior = make_covariances(plan, sources, frequency, folding);
    }
    of_shares.push_back(
        make_operator_tables(plan, make_operator_model(*prior, OperatorSettings::kModesTolerance, share)));
    const std::vector<unsigned char> bytes = bytes_of(of_shares.back());
    if (takes(bytes.size() + kHeaderBytes)) {
      files_.store(key, bytes);
    }
  }
  was_stored = !prior;
  return of_shares;
}

std::vector<OperatorTables> make_operator_tables(const ImagePlan& plan, const OperatorCache& cache) {
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<Eigen::Vector3d> sources = prior_sources(plan);
  const std::size_t frequencies = plan.frequencies_hz.size();
  const std::size_t shares = shares_behind(plan).size();
  std::vector<OperatorTables> tables(frequencies * shares);
  std::atomic<std::size_t> stored = 0;
  const std::size_t together = models_together(operator_memory(plan, sources.size()), frequencies,
                                               std::thread::hardware_concurrency(), available_memory_bytes());
  for_each_frequency(frequencies, together, [&](std::size_t f) {
    bool was_stored = false;
    std::vector<OperatorTables> of_frequency = cache.tables(plan, sources, f, was_stored);
    std::move(of_frequency.begin(), of_frequency.end(), tables.begin() + static_cast<std::ptrdiff_t>(f * shares));
    stored += was_stored ? 1 : 0;
  });
  std::size_t most = 0;
  for (const OperatorTables& one : tables) {
    most = std::max(most, one.rank());
  }
  spdlog::info(
      "operators: models of {} frequencies with {} sources, at most {} modes of {} microphones: {} read, "
      "the others made, in {:.1f} s",
      frequencies, sources.size(), most, used_microphones(plan).size(), stored.load(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return tables;
}

}  // namespace nearfield
