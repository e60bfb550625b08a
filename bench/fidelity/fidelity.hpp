#pragma once
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bench/fidelity/fidelity_calibration.hpp"
#include "bench/fidelity/fidelity_fields.hpp"
#include "bench/fidelity/fidelity_figures.hpp"
#include "bench/fidelity/fidelity_imaging.hpp"
#include "cl/device.hpp"

/// `nearfield bench fidelity`: how close images come to the true field, for every extrapolation and filter, on closed
/// forms, simulated bits and fields measured or computed elsewhere.
namespace nearfield::bench {

/// Parts of the benchmark.
inline constexpr std::string_view kCasesPart = "cases";          ///< the eight cases at 3 cm
inline constexpr std::string_view kStandoffsPart = "standoffs";  ///< the same at 2 and 5 cm
inline constexpr std::string_view kScenesPart = "scenes";        ///< pistons and plates of config/scenes
inline constexpr std::string_view kBitsPart = "bits";            ///< the eight cases from bits
inline constexpr std::string_view kDataPart = "data";            ///< files with a truth
inline constexpr std::string_view kKindsPart = "kinds";          ///< random scenes by kind, at ratios of their own
inline constexpr std::string_view kFidelityParts[] = {kCasesPart, kStandoffsPart, kScenesPart,
                                                      kBitsPart,  kKindsPart,     kDataPart};

/// Rows whose cut-off was chosen with the truth in hand.
inline constexpr std::string_view kBestCutoff = "cos, best fixed cut-off";
inline constexpr std::string_view kBestCutoffAndSlope = "cos, best cut-off and slope";
inline constexpr std::string_view kBestForAll = "cos, best one for all";
inline constexpr std::string_view kBestLambda = "tikhonov, best lambda";

/// Files of the data folder.
inline constexpr std::string_view kDataFiles[] = {"plate_free_548hz.h5", "violin_shell_1.h5", "violin_shell_2.h5",
                                                  "violin_measured.h5"};

struct FidelityOptions {
  DeviceSettings device;
  std::filesystem::path data;  ///< folder of kDataFiles; files that are not there are left out, loudly
  int draws = 20;              ///< of noise
  int bit_draws = 4;           ///< of noise and modulators
  int scenes = 2;              ///< of each kind
  std::vector<double> snrs_db = {40.0, 30.0};
  std::vector<std::string> parts;   ///< of kFidelityParts; empty: all
  std::vector<std::string> fields;  ///< those whose name holds one of these; empty: all
  std::function<void(const std::string&)> progress;
};

/// A field imaged with one extrapolation and one filter.
struct FidelityRow {
  std::string extrapolation;  ///< or kNoExtrapolation
  std::string filter;         ///< or the name of an imager that has none
  bool is_default = false;
  bool knows_truth = false;
  Settings settings = {};
  std::vector<MeanFigures> figures = {};      ///< [frequency]
  std::vector<double> cutoff_rad_per_m = {};  ///< [frequency], mean over the draws
  std::vector<double> slope = {};             ///< [frequency], the same
  std::vector<double> lambda = {};            ///< [frequency], of kBestLambda only
  std::vector<Values> first_image = {};       ///< [frequency], of the first draw

  /// Whether it has the default extrapolation, or needs none.
  [[nodiscard]] bool is_main() const;
};

/// A field at one signal-to-noise ratio.
struct FieldResult {
  std::string part;
  TrueField field;
  double snr_db = std::numeric_limits<double>::infinity();  ///< infinite: nothing added
  int draws = 1;
  std::vector<FidelityRow> rows;
  CutoffScan scan;  ///< with the default extrapolation and slope

  /// Null when there is none.
  [[nodiscard]] const FidelityRow* row(std::string_view extrapolation, std::string_view filter) const;
};

/// Adds a row kAutomaticImager: that of the imager which `holography.imager: auto` takes for this field.
void add_automatic(FieldResult& result);

struct FidelityReport {
  ocl::DeviceInfo device;
  int draws = 0;
  int bit_draws = 0;
  int scenes = 0;
  std::vector<FieldResult> results;
  std::vector<KindResult> kinds;
  std::vector<std::string> left_out;  ///< what was not measured and why, one sentence each
};

/// Throws UsageError for parts and fields that are not, DataError, NoInputError and DeviceError.
FidelityReport bench_fidelity(const FidelityOptions& options);

/// Of at least one value.
double median(std::vector<double> values);

/// Fills a row's figures from its images.
void fill_row(const TrueField& field, Imaged imaged, FidelityRow& row);

/// From bits of fourth-order modulators with microphone noise that gives the signal-to-noise ratio, by `popcount` of
/// order 1: the rows of `from_spectra` that have the default extrapolation, with the best cut-offs found there.
FieldResult from_bits(const ocl::Device& device, const FieldResult& from_spectra, int draws);

/// All that the page and its pictures show.
std::string to_json_text(const FidelityReport& report);

}  // namespace nearfield::bench
