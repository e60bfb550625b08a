#pragma once
#include <Eigen/Dense>
#include <complex>
#include <vector>

#include "imaging/priors/prior_models.hpp"
#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/search.hpp"

/// Model of statistically optimised holography on a surface (docs/how/sonah.md), as far as it differs from that on
/// planes.
namespace nearfield {

/// Covariance of the plan's quantity at places of its surface with the pressure at the microphones, from a table of
/// Chebyshev series over the distance along the array, in pieces, and over the height. The table deviates from the
/// integrals by less than 1e-9 of the largest covariance (tests/imaging/surface_test.cpp).
class SurfaceCovariance {
 public:
  SurfaceCovariance(const ImagePlan& plan, double k, const std::vector<PriorRing>& rings);
  /// (pixel - first, microphone), 0 for pixels off the surface.
  [[nodiscard]] Eigen::MatrixXcd of_pixels(Eigen::Index first, Eigen::Index count) const;

 private:
  /// Coefficients of all pieces, (piece and order of the distance, order of the height).
  using Series = Eigen::MatrixXcd;
  ImagePlan plan_;
  bool is_velocity_;
  Eigen::Index pieces_ = 1;
  double piece_m_ = 0.0;
  double middle_m_ = 0.0;       ///< height
  double half_height_m_ = 0.0;  ///< from there to the lowest and to the highest place
  Series along_z_;              ///< pressure, or the quantity along z
  Series along_array_;          ///< the quantity away from the microphone, along the array
};

/// Fills the part of the model that depends on the surface: images, image_powers, shown and prior_powers; requires its
/// modes. projections: the model's, in double precision, as weak modes need them; microphone: the prior's power there,
/// which becomes 1.
void add_surface_images(SonahModel& model, const std::array<Eigen::MatrixXd, kParities>& projections,
                        const ImagePlan& plan, double k, const std::vector<PriorRing>& rings, double microphone);

/// The plan's quantity of a plane wave at each pixel, for amplitude 1 at the microphones; 0 for pixels off the surface.
Eigen::VectorXcd wave_on_surface(const ImagePlan& plan, double k, const PlaneWave& wave);

/// Factor from pressure to the plan's quantity along a normal, for e^{j (kx x + ky y - kz z)}.
std::complex<double> quantity_along(const ImagePlan& plan, const Eigen::Vector3d& normal, double kx, double ky,
                                    std::complex<double> kz, double k);

}  // namespace nearfield
