#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "imaging/operators/folded_places.hpp"
#include "imaging/operators/operator_tables.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/point_grid.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {

/// Bounds of point sources behind the array, where what comes from there is told apart.
class BoundsBehind {
 public:
  explicit BoundsBehind(const ImagePlan& plan);
  [[nodiscard]] bool has(const PointSource& point) const { return point.z_m > top_m_; }
  /// Positions for a matched filter: on planes above the array up to half of its size, in all directions further away.
  [[nodiscard]] std::vector<std::vector<PointSource>> candidates(double k) const;
  /// SourceSpace::move(); a step is a part of the height above the microphones.
  [[nodiscard]] double move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const;

 private:
  double step_m_;    ///< least distance of candidates
  double top_m_;     ///< z of the highest microphone
  double least_m_;   ///< least height above it
  double half_x_m_;  ///< half of the array's width
  double half_y_m_;
};

/// Point sources and discs beside the prior of operators, each with its image in the wall, if there is one; where what
/// comes from behind is told apart, point sources there, too. Its modes are those of the tables, completed without
/// power to a basis of the used microphones.
class OperatorSpace : public SourceSpace {
 public:
  /// `tables` must outlive it; the factors of the first plane are used.
  OperatorSpace(const ImagePlan& plan, std::size_t frequency, const OperatorTables& tables);
  [[nodiscard]] const Eigen::ArrayXd& powers() const override { return powers_; }
  [[nodiscard]] std::size_t most_sources() const override;
  void use(const MicrophoneMask* mask) override;
  [[nodiscard]] Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const override;
  [[nodiscard]] Eigen::MatrixXcd fields(const Sources& sources) const override;
  [[nodiscard]] std::vector<Eigen::MatrixXcd> slopes(const Sources& sources) const override;
  [[nodiscard]] std::vector<Candidate> strongest(const Eigen::VectorXcd& white, int step, double prior) override;
  [[nodiscard]] bool is_behind(const FieldSource& source) const override;
  [[nodiscard]] double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const override;
  /// nullopt on a curved surface, in which no disc lies, and for points behind the array.
  [[nodiscard]] std::optional<PointSource> disc_of(const PointSource& point) const override;
  [[nodiscard]] PointSource point_of(const PointSource& disc) const override;
  /// Images of what comes from behind follow those of the surface.
  [[nodiscard]] std::size_t planes() const override { return plan_.images_per_frequency(); }
  [[nodiscard]] Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const override;
  [[nodiscard]] Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const override;
  /// Modes as fields of all microphones of the array, 0 at those that are left out. (mode, column) to (microphone,
  /// column)
  [[nodiscard]] Eigen::MatrixXcd at_microphones(const Eigen::MatrixXcd& modes) const;

 private:
  /// Candidates for positions of sources, of which the strongest one is proposed.
  struct Layer {
    std::vector<PointSource> places;
    std::vector<PointSource> coarse;        ///< positions at which the filter's power is computed
    std::vector<std::size_t> nearest = {};  ///< index of the coarse position that stands for a place. [place]
  };
  void make_layers();
  void fill_powers();
  /// Fields, or derivatives by a coordinate. [coordinate](used microphone, source)
  [[nodiscard]] std::vector<Eigen::MatrixXcd> fields_of(const Sources& sources,
                                                        std::span<const std::optional<int>> coordinates) const;

  ImagePlan plan_;
  std::size_t frequency_;
  double k_;
  const OperatorTables* tables_;
  std::vector<Eigen::Vector3d> microphones_m_;  ///< [channel]
  std::vector<int> used_;
  ImagePlaces places_;
  ImageGrid nodes_;         ///< grid that defines the array's extent and pitch
  Folding folding_;         ///< folding of the tables
  Eigen::MatrixXcd basis_;  ///< (used microphone, mode)
  Eigen::ArrayXd powers_;
  PointBounds bounds_;
  const MicrophoneMask* mask_ = nullptr;
  std::optional<BoundsBehind> behind_;
  std::vector<Layer> layers_;
  std::vector<Eigen::MatrixXd> coarse_powers_;  ///< g^H (C + n)^{-1} g. [layer](step, coarse position)
};

/// Searches for point sources beside the prior of operators in the spectra of every frequency (docs/how/operators.md).
class PointSearch : public SourceSearch {
 public:
  /// Uses only the first plane's factors of the tables, [frequency][share of shares_behind()]. Of these priors the one
  /// is taken under which the spectra are most probable.
  PointSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<OperatorTables>>& tables);
};

/// The tables without the factors of further planes.
std::vector<OperatorTables> tables_of_search(std::vector<OperatorTables> tables);

}  // namespace nearfield
