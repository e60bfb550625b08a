#pragma once
#include <complex>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/common/scenes.hpp"
#include "bench/common/variants.hpp"
#include "bench/errors/errors_offset.hpp"
#include "bench/errors/errors_spectra.hpp"
#include "cl/device.hpp"
#include "nearfield/metrics.hpp"
#include "nearfield/settings.hpp"

/// `nearfield bench errors`: how far every front end's holograms are from the nominal chain's and from the true
/// field's, on scenes that stand for the thesis's four datasets.
namespace nearfield::bench {

struct ErrorBenchOptions {
  DeviceSettings device;
  std::filesystem::path scenes;               ///< folder of bench_*.yaml; empty: those in the program
  std::vector<double> levels_dbfs = {-32.0};  ///< of the scenes, rms over the aperture
  std::vector<int> orders = {2, 4};           ///< of the modulators
  /// Scenes whose label or file name holds one of these; "spectra" and "offset" for these parts. Empty: everything.
  std::vector<std::string> only;
  ArrayGeometry spectra_array;  ///< of the part "spectra"
  bool with_slow = false;
  bool with_curve = true;  ///< Walsh coefficients against error, where there is a walsh_fourier
  std::function<void(const std::string&)> progress;
};

using Image = std::vector<std::complex<float>>;  ///< [row][column]

/// One front end on one scene.
struct ErrorRow {
  Variant variant;
  std::string problem = {};      ///< why there are no figures; else empty
  ImageMetrics to_nominal = {};  ///< the nominal chain's hologram as reference
  ImageMetrics to_truth = {};    ///< the hologram of the exact aperture pressure as reference
  double spectral_error = 0.0;   ///< |P - P_true| / |P_true| over the aperture, relative L2
  std::uint32_t flags = 0;       ///< of the frame
  Image image = {};              ///< on the source plane, Pa
};

struct SceneErrors {
  ThesisScene scene;
  int order = 2;
  double level_dbfs = 0.0;
  ArrayGeometry geometry;
  std::vector<ErrorRow> rows;    ///< by variant
  Image truth;                   ///< the hologram of the exact aperture pressure, Pa
  double peak_full_scale = 0.0;  ///< highest input of a modulator
};

/// Errors of walsh_fourier's fast variant by the number of coefficients; 0 stands for all.
struct WalshCurve {
  std::string scene;
  std::vector<int> coefficients;
  std::vector<double> rmsre;           ///< against the true field's hologram
  std::vector<double> spectral_error;  ///< against the true aperture pressure
};

struct ErrorReport {
  ocl::DeviceInfo device;
  std::vector<SceneErrors> scenes;
  std::vector<WalshCurve> curves;
  std::vector<SpectralError> spectra;
  std::vector<OffsetLeakage> offset;
};

/// The thesis's own settings: cut-off 50 rad/m, slope 0.3, one frequency, the source plane; all else default.
Settings thesis_settings(double frequency_hz);

/// Throws ConfigError, DeviceError, IoError.
ErrorReport bench_errors(const ErrorBenchOptions& options);

/// What the thesis states for a variant on a scene: RMSRE and NSAD, percent; NaN when nothing.
struct ThesisErrors {
  double rmsre;
  double nsad;
};
ThesisErrors thesis_errors(const Variant& variant, const ThesisScene& scene);

std::string to_table(const ErrorReport& report);
std::string to_json_text(const ErrorReport& report);
/// A line for each figure: part, modulators' order, level, frequency, variant, quantity, value.
std::string to_csv(const ErrorReport& report);

}  // namespace nearfield::bench
