#pragma once
#include <string>
#include <vector>

#include "bench/fidelity/fidelity_fields.hpp"

/// Random scenes by kind, for `nearfield bench fidelity`: fields that no setting was chosen on, and the expected
/// error's calibration.
namespace nearfield::bench {

/// What the microphones measure of one random scene without noise, and what is true on the surface.
/// [frequency][row][column]
struct KindScene {
  Values aperture;  ///< Pa
  Values pressure;  ///< Pa
  Values velocity;  ///< m/s, along +z
};

/// Random scenes that are alike in all but their draw: 32 x 32 microphones, 2 cm apart.
struct SceneKind {
  std::string name;
  bool is_fitted = false;  ///< constants of the published errors were chosen on this kind
  double standoff_m = 0.03;
  std::vector<double> frequencies_hz;
  std::vector<KindScene> scenes;

  /// One scene as a field of that quantity.
  [[nodiscard]] TrueField field(std::size_t scene, Quantity quantity) const;
};

/// A bending wave that is localised: normal velocity e^{-r^2 / (2 width^2)} e^{-j (kx x + ky y)} around a place on a
/// rigid plane z = 0.
struct WavePacket {
  double x_m = 0.0;
  double y_m = 0.0;
  double width_m = 0.03;
  double kx_rad_per_m = 0.0;
  double ky_rad_per_m = 0.0;
  std::complex<double> velocity_m_s = 1.0;
};
/// The fields of a sum of packets over the microphones' x and y at a height z >= 0, by Fourier's integral over the
/// direction and, inside and outside the radiation circle, over kz, to 1e-7.
struct PacketFields {
  std::vector<std::complex<double>> pressure_pa;  ///< [row][column]
  std::vector<std::complex<double>> velocity_m_s;
};
PacketFields packet_fields(const std::vector<WavePacket>& packets, double frequency_hz, const MediumSettings& medium,
                           const ArrayGeometry& geometry, double z_m);

/// Four kinds that constants were fitted on (one monopole; three at 2 and at 5 cm; wide wave packets), then six that
/// were left out of every choice: wave packets 3 cm wide, pairs of dipoles, seven monopoles 3 cm, 1.5 cm and 6 cm
/// before the microphones, and seven with a plane wave from behind the array, 5 % of the field's rms. `scenes` of each,
/// at 500, 2000 and 4000 Hz, the same every time.
std::vector<SceneKind> scene_kinds(int scenes);

}  // namespace nearfield::bench
