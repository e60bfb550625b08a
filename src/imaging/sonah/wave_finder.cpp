#include "imaging/sonah/wave_finder.hpp"

#include <cmath>
#include <memory>

#include "imaging/noise_steps.hpp"
#include "imaging/sonah/sonah_space.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

constexpr Index kWaveBlock = 32;

/// Each class in whole blocks. (class and mode, source)
Eigen::MatrixXcd padded(const Eigen::MatrixXcd& modes, Index samples) {
  const Index of_class = (samples + kWaveBlock - 1) / kWaveBlock * kWaveBlock;
  Eigen::MatrixXcd out = Eigen::MatrixXcd::Zero(kParities * of_class, modes.cols());
  for (Index c = 0; c < kParities; ++c) {
    out.middleRows(c * of_class, samples) = modes.middleRows(c * samples, samples);
  }
  return out;
}

}  // namespace

WaveFinder::WaveFinder(const PnahPlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan), model_(&model), finder_(std::make_unique<SonahSpace>(plan, frequency, model)) {}

FoundWaves WaveFinder::find(std::span<const Complex> field, std::uint64_t number, const MicrophoneMask* mask) {
  finder_.find(field, number, mask);
  return with_table();
}

FoundWaves WaveFinder::find_from(Sources sources, std::span<const Complex> field, const MicrophoneMask* mask) {
  finder_.find_from(std::move(sources), field, mask);
  return with_table();
}

FoundWaves WaveFinder::with_table() {
  FoundWaves found = finder_.found();
  const SourceFit& fit = finder_.fit();
  const bool is_any = !sources().empty();
  found.table =
      make_source_table(finder_, is_any ? padded(amplitude_factors(fit), model_->samples) : Eigen::MatrixXcd(),
                        is_any ? padded(fit.modes, model_->samples) : Eigen::MatrixXcd());
  sources_error_ = static_cast<double>(found.table[1]);
  return found;
}

FieldEstimate WaveFinder::estimate() const {
  const SourceSpace& space = finder_.space();
  const SourceFit& fit = finder_.fit();
  const Eigen::ArrayXd weights = 1.0 / (space.powers() + fit.residual_noise);
  Eigen::VectorXcd image =
      space.image_of_modes(finder_.weights().weigh(step_of_noise(fit.residual_noise), fit.residual));
  FieldEstimate out;
  out.noise_pa = std::sqrt(fit.prior * fit.residual_noise);
  double left = model_->prior_powers.front();
  for (std::size_t c = 0; c < kParities; ++c) {
    left -= (model_->image_powers.front()[c].array() *
             weights.segment(static_cast<Index>(c) * model_->samples, model_->samples))
                .sum();
  }
  const double calibration = plan_.error_calibration();
  out.squared_error = fit.prior * (calibration * calibration * left + sources_error_);
  for (std::size_t i = 0; i < sources().size(); ++i) {
    image += fit.amplitudes(static_cast<Index>(i)) * space.image_of(sources()[i], 0);
  }
  const Eigen::Map<const Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> rows(
      image.data(), plan_.image_rows(), plan_.image_columns());
  out.image = rows;
  return out;
}

}  // namespace nearfield
