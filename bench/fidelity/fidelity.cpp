#include "bench/fidelity/fidelity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "nearfield/error.hpp"
#include "nearfield/metrics.hpp"

namespace nearfield::bench {
namespace {

constexpr double kStandoff_m = 0.03;
constexpr double kOtherStandoffs_m[] = {0.02, 0.05};
constexpr double kKindSnrs_db[] = {40.0, 25.0};
constexpr double kUsualSlope = 0.1;
constexpr double kOtherSlopes[] = {0.05, 0.2};
constexpr double kLambdas[] = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1};

/// How a part is measured.
struct PartRules {
  std::string_view part;
  bool every_extrapolation = true;
  bool by_ncc = false;        ///< what is best: the largest NCC, else the least relative L2
  bool best_for_all = false;  ///< also one cut-off for all frequencies
  bool best_lambda = false;   ///< also tikhonov's best
};

/// What this version can do.
struct Usable {
  std::vector<NamedSettings> filters;
  std::vector<NamedSettings> other_imagers;
};

/// One field, imaged in every way.
class FieldBench {
 public:
  FieldBench(const ocl::Device& device, const Usable& usable, const PartRules& rules, FieldResult& result)
      : device_(device), usable_(usable), rules_(rules), result_(result) {
    const TrueField& field = result.field;
    frames_ = std::isfinite(result.snr_db) ? noisy_draws(field, result.snr_db, result.draws) : field.aperture;
  }

  void run() {
    for (const NamedSettings& extrapolation : extrapolations()) {
      const bool is_first = &extrapolation == &extrapolations().front();
      if (!is_first && !rules_.every_extrapolation) {
        continue;
      }
      for (const NamedSettings& filter : usable_.filters) {
        if (!is_first && filter.name == kSearchedFilter) {
          continue;  // takes a tenth of a second for each image
        }
        result_.rows.push_back(row_of(extrapolation.name, filter.name, settings_of(extrapolation, filter)));
      }
      add_best(extrapolation.name, settings_of(extrapolation, {}), is_first);
    }
    for (const NamedSettings& imager : usable_.other_imagers) {
      result_.rows.push_back(row_of(std::string(kNoExtrapolation), imager.name, settings_of(imager, {})));
    }
    add_automatic(result_);
  }

 private:
  [[nodiscard]] FidelityRow row_of(const std::string& extrapolation, std::string_view filter,
                                   const Settings& settings) const {
    FidelityRow row{.extrapolation = extrapolation,
                    .filter = std::string(filter),
                    .is_default = is_default(settings),
                    .knows_truth = false,
                    .settings = settings};
    fill_row(result_.field, image_frames(device_, result_.field, settings, frames_), row);
    return row;
  }
  [[nodiscard]] double distance(std::size_t frequency, std::span<const std::complex<float>> image) const {
    const TrueField& field = result_.field;
    const ImageMetrics metrics = compare_images(known_truth(field, frequency), where_true(field, image));
    return rules_.by_ncc ? 1.0 - metrics.ncc : metrics.relative_l2;
  }
  [[nodiscard]] CutoffScan scan(const Settings& settings, double slope) const {
    return scan_cutoffs(device_, result_.field, settings, slope, frames_,
                        [this](std::size_t, std::size_t frequency, auto image) { return distance(frequency, image); });
  }
  void add_known(const std::string& extrapolation, std::string_view filter, const Settings& settings, double slope,
                 const std::vector<double>& cutoffs) {
    FidelityRow row = row_of(extrapolation, filter, with_cutoffs(settings, slope, cutoffs));
    row.is_default = false;
    row.knows_truth = true;
    result_.rows.push_back(std::move(row));
  }
  /// Rows with the best cut-offs; slopes other than the usual one with the first extrapolation only, the default.
  void add_best(const std::string& extrapolation, const Settings& settings, bool is_first) {
    std::vector<CutoffScan> scans = {scan(settings, kUsualSlope)};
    add_known(extrapolation, kBestCutoff, settings, scans[0].slope, best_cutoffs(scans[0]));
    if (is_first) {
      result_.scan = scans[0];
      for (const double slope : kOtherSlopes) {
        scans.push_back(scan(settings, slope));
      }
      add_best_slopes(extrapolation, settings, scans);
    }
    if (rules_.best_lambda && is_first) {
      add_best_lambda(extrapolation, settings);
    }
    if (rules_.best_for_all) {
      add_best_for_all(extrapolation, settings, scans);
    }
  }
  [[nodiscard]] static std::vector<double> best_cutoffs(const CutoffScan& scan) {
    std::vector<double> cutoffs;
    for (std::size_t f = 0; f < scan.distance.size(); ++f) {
      cutoffs.push_back(scan.cutoff_rad_per_m[scan.best(f)]);
    }
    return cutoffs;
  }
  /// Each frequency from the slope that suits it.
  void add_best_slopes(const std::string& extrapolation, const Settings& settings,
                       const std::vector<CutoffScan>& scans) {
    FidelityRow best = *result_.row(extrapolation, kBestCutoff);
    best.filter = kBestCutoffAndSlope;
    for (std::size_t i = 1; i < scans.size(); ++i) {
      const FidelityRow row =
          row_of(extrapolation, kBestCutoff, with_cutoffs(settings, scans[i].slope, best_cutoffs(scans[i])));
      for (std::size_t f = 0; f < best.figures.size(); ++f) {
        const auto is_least = [&](const CutoffScan& other) {
          return scans[i].distance[f][scans[i].best(f)] <= other.distance[f][other.best(f)];
        };
        if (std::all_of(scans.begin(), scans.end(), is_least)) {
          take_frequency(row, f, best);
        }
      }
    }
    result_.rows.push_back(std::move(best));
  }
  static void take_frequency(const FidelityRow& from, std::size_t f, FidelityRow& to) {
    to.figures[f] = from.figures[f];
    to.cutoff_rad_per_m[f] = from.cutoff_rad_per_m[f];
    to.slope[f] = from.slope[f];
    to.first_image[f] = from.first_image[f];
  }
  void add_best_lambda(const std::string& extrapolation, Settings settings) {
    settings.holography.filter.kind = FilterKind::kTikhonov;
    FidelityRow best;
    for (const double lambda : kLambdas) {
      settings.holography.filter.tikhonov_lambda = lambda;
      const FidelityRow row = row_of(extrapolation, kBestLambda, settings);
      if (best.figures.empty()) {
        best = row;
        best.lambda.assign(row.figures.size(), lambda);
      }
      for (std::size_t f = 0; f < row.figures.size(); ++f) {
        if (row.figures[f].mean.relative_l2 < best.figures[f].mean.relative_l2) {
          take_frequency(row, f, best);
          best.lambda[f] = lambda;
        }
      }
    }
    best.is_default = false;
    best.knows_truth = true;
    result_.rows.push_back(std::move(best));
  }
  /// The cut-off and slope with the least median distance over the frequencies.
  void add_best_for_all(const std::string& extrapolation, const Settings& settings,
                        const std::vector<CutoffScan>& scans) {
    double slope = 0.0;
    double cutoff = 0.0;
    double least = std::numeric_limits<double>::infinity();
    for (const CutoffScan& one : scans) {
      for (std::size_t i = 0; i < one.cutoff_rad_per_m.size(); ++i) {
        std::vector<double> distances;
        for (const std::vector<double>& of_frequency : one.distance) {
          distances.push_back(of_frequency[i]);
        }
        if (const double found = median(distances); found < least) {
          least = found;
          slope = one.slope;
          cutoff = one.cutoff_rad_per_m[i];
        }
      }
    }
    add_known(extrapolation, kBestForAll, settings, slope, {cutoff});
  }

  const ocl::Device& device_;
  const Usable& usable_;
  PartRules rules_;
  FieldResult& result_;
  Values frames_;  ///< [draw][frequency][row][column]
};

/// The whole benchmark, part by part.
class FidelityBench {
 public:
  explicit FidelityBench(const FidelityOptions& options)
      : options_(options), device_(ocl::Device::open(options.device)) {
    report_.device = device_.info();
    report_.draws = options.draws;
    report_.bit_draws = options.bit_draws;
    report_.scenes = options.scenes;
    require_known_parts();
    take_usable(filters(), usable_.filters);
    take_usable(other_imagers(), usable_.other_imagers);
  }
  FidelityReport run() {
    if (wants_part(kCasesPart) || wants_part(kBitsPart)) {
      run_noisy({.part = kCasesPart, .best_lambda = true}, closed_form_fields(kStandoff_m));
    }
    if (wants_part(kBitsPart)) {
      run_bits();
    }
    if (wants_part(kStandoffsPart)) {
      for (const double standoff_m : kOtherStandoffs_m) {
        run_noisy({.part = kStandoffsPart, .every_extrapolation = false}, closed_form_fields(standoff_m));
      }
    }
    if (wants_part(kScenesPart)) {
      run_noisy({.part = kScenesPart, .every_extrapolation = false}, scene_fields());
    }
    if (wants_part(kKindsPart)) {
      run_kinds();
    }
    if (wants_part(kDataPart)) {
      run_data();
    }
    if (report_.results.empty() && report_.kinds.empty() && !options_.fields.empty()) {
      throw UsageError(
          fmt::format("--fields: expected a part of a field's name, found \"{}\"", fmt::join(options_.fields, ",")));
    }
    return std::move(report_);
  }

 private:
  void take_usable(const std::vector<NamedSettings>& all, std::vector<NamedSettings>& usable) {
    for (const NamedSettings& one : all) {
      try {
        settings_of(one, {});
        usable.push_back(one);
      } catch (const ConfigError&) {
        leave_out(fmt::format("`{}`: this version has no such setting", one.name));
      }
    }
  }
  void require_known_parts() const {
    for (const std::string& part : options_.parts) {
      if (std::find(std::begin(kFidelityParts), std::end(kFidelityParts), part) == std::end(kFidelityParts)) {
        throw UsageError(
            fmt::format("--parts: expected some of {}, found \"{}\"", fmt::join(kFidelityParts, ", "), part));
      }
    }
  }
  [[nodiscard]] bool wants_part(std::string_view part) const {
    return options_.parts.empty() ||
           std::find(options_.parts.begin(), options_.parts.end(), part) != options_.parts.end();
  }
  [[nodiscard]] bool wants_field(const std::string& name) const {
    return options_.fields.empty() ||
           std::any_of(options_.fields.begin(), options_.fields.end(),
                       [&](const std::string& part) { return name.find(part) != std::string::npos; });
  }
  void leave_out(std::string what) { report_.left_out.push_back(std::move(what)); }
  void say(const std::string& what) const {
    if (options_.progress) {
      options_.progress(what);
    }
  }
  void run_field(const PartRules& rules, FieldResult result) {
    say(fmt::format("{}: {}, {:.0f} mm{}", rules.part, result.field.name, 1e3 * result.field.standoff_m,
                    std::isfinite(result.snr_db) ? fmt::format(", {:.0f} dB", result.snr_db) : ""));
    result.part = rules.part;
    FieldBench(device_, usable_, rules, result).run();
    report_.results.push_back(std::move(result));
  }
  void run_noisy(const PartRules& rules, const std::vector<TrueField>& fields) {
    for (const double snr_db : options_.snrs_db) {
      for (const TrueField& field : fields) {
        if (wants_field(field.name)) {
          run_field(rules,
                    {.part = {}, .field = field, .snr_db = snr_db, .draws = options_.draws, .rows = {}, .scan = {}});
        }
      }
    }
  }
  void run_bits() {
    const std::size_t count = report_.results.size();
    for (std::size_t i = 0; i < count; ++i) {
      const FieldResult& from_spectra = report_.results[i];
      say(fmt::format("{}: {}, {:.0f} dB", kBitsPart, from_spectra.field.name, from_spectra.snr_db));
      FieldResult result = from_bits(device_, from_spectra, options_.bit_draws);
      report_.results.push_back(std::move(result));
    }
  }
  void run_kinds() {
    for (const SceneKind& kind : scene_kinds(options_.scenes)) {
      for (const double snr_db : kKindSnrs_db) {
        if (wants_field(kind.name)) {
          say(fmt::format("{}: {}, {:.0f} dB", kKindsPart, kind.name, snr_db));
          report_.kinds.push_back(measure_kind(device_, kind, snr_db));
        }
      }
    }
  }
  void run_data() {
    for (const std::string_view file : kDataFiles) {
      if (!wants_field(std::string(file))) {
        continue;
      }
      const std::filesystem::path path = options_.data / file;
      if (options_.data.empty() || !std::filesystem::exists(path)) {
        leave_out(fmt::format("`{}`: {} is not there", file, path.string()));
        continue;
      }
      const PartRules rules{.part = kDataPart, .by_ncc = true, .best_for_all = true};
      run_field(rules, {.part = {}, .field = measured_field(path), .rows = {}, .scan = {}});
    }
  }

  const FidelityOptions& options_;
  ocl::Device device_;
  Usable usable_;
  FidelityReport report_;
};

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

void fill_row(const TrueField& field, Imaged imaged, FidelityRow& row) {
  const std::size_t frequencies = field.frequencies_hz.size();
  const std::size_t draws = imaged.images.size() / frequencies;
  for (std::size_t f = 0; f < frequencies; ++f) {
    std::vector<Figures> figures;
    double cutoffs = 0.0;
    double slopes = 0.0;
    for (std::size_t i = f; i < imaged.images.size(); i += frequencies) {
      figures.push_back(figures_of(field, f, imaged.images[i]));
      cutoffs += imaged.cutoff_rad_per_m[i];
      slopes += imaged.slope[i];
    }
    row.figures.push_back(mean_of(figures));
    row.cutoff_rad_per_m.push_back(cutoffs / static_cast<double>(draws));
    row.slope.push_back(slopes / static_cast<double>(draws));
    row.first_image.push_back(std::move(imaged.images[f]));
  }
}

void add_automatic(FieldResult& result) {
  HolographySettings holography;
  holography.imager = ImagerKind::kAuto;
  holography.standoff_m = result.field.standoff_m;
  holography.quantity = result.field.quantity;
  const ImagerConditions conditions{.geometry = result.field.geometry,
                                    .frequencies = result.field.frequencies_hz.size()};
  const bool is_sonah = resolve_imager(holography, conditions) == ImagerKind::kSonah;
  const FidelityRow* same =
      is_sonah ? result.row(kNoExtrapolation, kSonahImager) : result.row(main_extrapolation(), kMeasuredFilter);
  if (same != nullptr) {
    FidelityRow row = *same;
    row.extrapolation = kNoExtrapolation;
    row.filter = kAutomaticImager;
    row.settings.holography.imager = ImagerKind::kAuto;
    row.is_default = is_default(row.settings);
    result.rows.push_back(std::move(row));
  }
}

bool FidelityRow::is_main() const { return extrapolation == main_extrapolation() || extrapolation == kNoExtrapolation; }

const FidelityRow* FieldResult::row(std::string_view extrapolation, std::string_view filter) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const FidelityRow& one) {
    return one.extrapolation == extrapolation && one.filter == filter;
  });
  return found == rows.end() ? nullptr : &*found;
}

FidelityReport bench_fidelity(const FidelityOptions& options) { return FidelityBench(options).run(); }

}  // namespace nearfield::bench
