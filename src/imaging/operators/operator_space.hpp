#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "imaging/operators/operator_tables.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/point_grid.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {

/// Point sources and discs beside the prior of operators, each with its image in the wall, if there is one. Its modes
/// are those of the tables, completed without power to a basis of the used microphones.
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
  [[nodiscard]] double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const override;
  /// nullopt on a curved surface, in which no disc lies.
  [[nodiscard]] std::optional<PointSource> disc_of(const PointSource& point) const override;
  [[nodiscard]] PointSource point_of(const PointSource& disc) const override;
  [[nodiscard]] std::size_t planes() const override { return places_.planes(); }
  [[nodiscard]] Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const override;
  [[nodiscard]] Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const override;
  /// Modes as fields of all microphones of the array, 0 at those that are left out. (mode, column) to (microphone,
  /// column)
  [[nodiscard]] Eigen::MatrixXcd at_microphones(const Eigen::MatrixXcd& modes) const;

 private:
  /// Candidates for positions of sources.
  struct Grid {
    std::vector<double> x_m;
    std::vector<double> y_m;
    std::vector<double> z_m;
  };
  void make_grid();
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
  Eigen::MatrixXcd basis_;  ///< (used microphone, mode)
  Eigen::ArrayXd powers_;
  PointBounds bounds_;
  const MicrophoneMask* mask_ = nullptr;
  Grid grid_;
  std::vector<Eigen::MatrixXd> grid_powers_;  ///< g^H (C + n)^{-1} g at every second position. [depth](step, y and x)
};

/// Searches for point sources beside the prior of operators in the spectra of every frequency (docs/how/operators.md).
class PointSearch : public SourceSearch {
 public:
  /// Uses only the first plane's factors of the tables, [frequency].
  PointSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<OperatorTables>>& tables);
};

/// The tables without the factors of further planes.
std::vector<OperatorTables> tables_of_search(std::vector<OperatorTables> tables);

}  // namespace nearfield
