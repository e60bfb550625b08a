#include "imaging/sources/sonah_space.hpp"

#include <algorithm>

#include "imaging/sources/usable_weights.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

Eigen::ArrayXd all_powers(const SonahModel& model) {
  Eigen::ArrayXd powers(kParities * model.samples);
  for (std::size_t c = 0; c < kParities; ++c) {
    powers.segment(static_cast<Index>(c) * model.samples, model.samples) = model.powers[c].array();
  }
  return powers;
}

}  // namespace

SonahSpace::SonahSpace(const ImagePlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan),
      k_(plan.wavenumber(frequency)),
      model_(&model),
      powers_(all_powers(model)),
      modes_(plan, frequency, model),
      points_(plan, frequency, model),
      waves_(plan, frequency, model) {}

std::size_t SonahSpace::most_sources() const {
  constexpr int kFewestMicrophones = 8;
  const bool is_small = std::min(plan_.geometry.rows, plan_.geometry.columns) < kFewestMicrophones;
  return is_small ? 0 : most_sources_of(plan_.geometry.channels());
}

void SonahSpace::use(const MicrophoneMask* mask) {
  modes_.use(mask);
  left_out_.clear();
  if (mask != nullptr && mask->channels.size() <= static_cast<std::size_t>(kMostLeftOut)) {
    left_out_.assign(mask->channels.begin(), mask->channels.end());
  }
}

Eigen::MatrixXd SonahSpace::unit_fields(const std::vector<std::int32_t>& channels) const {
  Eigen::MatrixXd fields(powers_.size(), static_cast<Index>(channels.size()));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    std::vector<Complex> unit(static_cast<std::size_t>(plan_.geometry.channels()));
    unit[static_cast<std::size_t>(channels[i])] = 1.0;
    fields.col(static_cast<Index>(i)) = modes_.of_field(unit).real();
  }
  return fields;
}

Eigen::VectorXcd SonahSpace::of_field(std::span<const Complex> field) const { return modes_.of_field(field); }

Eigen::MatrixXcd SonahSpace::fields(const Sources& sources) const { return modes_.fields(sources); }

std::vector<Eigen::MatrixXcd> SonahSpace::slopes(const Sources& sources) const { return modes_.slopes(sources); }

std::vector<Candidate> SonahSpace::strongest(const Eigen::VectorXcd& white, int step, double prior) {
  return {points_.strongest(white, step, prior), waves_.strongest(white, step, prior)};
}

double SonahSpace::move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  if (auto* wave = std::get_if<PlaneWave>(&source)) {
    return waves_.move(*wave, by);
  }
  return points_.bounds().move(std::get<PointSource>(source), by);
}

std::optional<PointSource> SonahSpace::disc_of(const PointSource& point) const {
  return plan_.surface ? std::nullopt : std::optional(points_.bounds().disc_of(point));
}

PointSource SonahSpace::point_of(const PointSource& disc) const { return points_.bounds().point_of(disc); }

std::size_t SonahSpace::planes() const { return plan_.surface ? 1 : plan_.holography.planes_m.size(); }

Eigen::MatrixXcd SonahSpace::image_of_modes(const Eigen::MatrixXcd& white) const {
  return nearfield::image_of_modes(plan_, *model_, white);
}

Eigen::VectorXcd SonahSpace::image_of(const FieldSource& source, std::size_t plane) const {
  return source_image(plan_, k_, source, plan_.surface ? 0.0 : plan_.holography.planes_m[plane]);
}

}  // namespace nearfield
