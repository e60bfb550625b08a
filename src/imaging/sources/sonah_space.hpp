#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "imaging/sources/point_grid.hpp"
#include "imaging/sources/source_modes.hpp"
#include "imaging/sources/source_space.hpp"
#include "imaging/sources/wave_finder.hpp"

namespace nearfield {

/// Sources beside sonah's prior: plane waves over K-space, and point sources and discs behind the surface.
class SonahSpace : public SourceSpace {
 public:
  /// `model` must outlive it; its first image plane is used.
  SonahSpace(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  [[nodiscard]] const Eigen::ArrayXd& powers() const override { return powers_; }
  /// Modes of odd classes, which have no centre line.
  [[nodiscard]] Eigen::Index missing() const override { return powers_.size() - plan_.geometry.channels(); }
  [[nodiscard]] std::size_t most_sources() const override;
  void use(const MicrophoneMask* mask) override;
  [[nodiscard]] std::vector<std::int32_t> left_out() const override { return left_out_; }
  [[nodiscard]] Eigen::MatrixXd unit_fields(const std::vector<std::int32_t>& channels) const override;
  [[nodiscard]] Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const override;
  [[nodiscard]] Eigen::MatrixXcd fields(const Sources& sources) const override;
  [[nodiscard]] std::vector<Eigen::MatrixXcd> slopes(const Sources& sources) const override;
  [[nodiscard]] std::vector<Candidate> strongest(const Eigen::VectorXcd& white, int step, double prior) override;
  [[nodiscard]] double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const override;
  /// nullopt on a curved surface, in which no disc lies.
  [[nodiscard]] std::optional<PointSource> disc_of(const PointSource& point) const override;
  [[nodiscard]] PointSource point_of(const PointSource& disc) const override;
  [[nodiscard]] std::size_t planes() const override;
  [[nodiscard]] Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const override;
  [[nodiscard]] Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const override;

 private:
  ImagePlan plan_;
  double k_;
  const SonahModel* model_;
  Eigen::ArrayXd powers_;
  SourceModes modes_;
  PointGrid points_;
  WaveGrid waves_;
  std::vector<std::int32_t> left_out_;
};

}  // namespace nearfield
