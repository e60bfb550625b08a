#include "bench/fidelity/fidelity_imaging.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/config.hpp"
#include "engine/recording_search.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/shared/imager.hpp"
#include "nearfield/frame.hpp"
#include "simulate/bit_synthesizer.hpp"

namespace nearfield::bench {
namespace {

constexpr int kCutoffs = 40;
/// Images of a scan that are made together: what keeps a launch's buffers below some 100 MB.
constexpr std::size_t kScannedTogether = 240;

std::vector<double> cutoffs_for(const ArrayGeometry& geometry) {
  const double most = std::numbers::pi / std::max(geometry.pitch_x_m, geometry.pitch_y_m);
  std::vector<double> cutoffs;
  for (int i = 0; i < kCutoffs; ++i) {
    cutoffs.push_back(most * std::pow(10.0, static_cast<double>(i) / (kCutoffs - 1) - 1.0));
  }
  return cutoffs;
}

/// Neighbouring frequencies of a field.
struct FrequencyRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// An imager that makes the images of some frequencies with several cut-offs at a time: to the imager they are so many
/// frequencies, [frequency][cut-off].
class CutoffImager {
 public:
  CutoffImager(const ocl::Device& device, const TrueField& field, const Settings& settings,
               const FrequencyRange& frequencies, const std::vector<double>& cutoffs)
      : device_(device),
        pixels_(field.channels()),
        cutoffs_(cutoffs.size()),
        plan_(plan_of(field, settings, frequencies, cutoffs)),
        processor_(make_imager(device, plan_)),
        spectra_(device.allocate<std::complex<float>>(plan_.holograms() * pixels_, "bench/spectra")),
        status_(device.allocate<std::uint32_t>(kStatusWords, "bench/status")) {
    device.enqueue_fill(status_, std::uint32_t{0}, "bench/status");
  }
  /// `apertures` [frequency][row][column]; images [frequency][cut-off][row][column], until the next call.
  std::span<const std::complex<float>> image(std::span<const std::complex<float>> apertures) {
    repeated_.clear();
    for (std::size_t first = 0; first < apertures.size(); first += pixels_) {
      const auto aperture = apertures.subspan(first, pixels_);
      for (std::size_t i = 0; i < cutoffs_; ++i) {
        repeated_.insert(repeated_.end(), aperture.begin(), aperture.end());
      }
    }
    device_.enqueue_write<std::complex<float>>(spectra_, 0, repeated_, "bench/spectra");
    processor_->enqueue(spectra_, status_);
    processor_->enqueue_fetch();
    device_.wait();
    return processor_->host_images();
  }

 private:
  static ImagePlan plan_of(const TrueField& field, const Settings& settings, const FrequencyRange& frequencies,
                           const std::vector<double>& cutoffs) {
    ImagePlan plan;
    plan.geometry = field.geometry;
    plan.medium = field.medium;
    plan.holography = plan_for(field, settings, InputForm::kSpectra, 1).settings.holography;
    plan.standoff_m = plan.holography.standoff_m;
    for (std::size_t f = frequencies.first; f < frequencies.first + frequencies.count; ++f) {
      plan.frequencies_hz.insert(plan.frequencies_hz.end(), cutoffs.size(), field.frequencies_hz[f]);
      plan.cutoff_rad_per_m.insert(plan.cutoff_rad_per_m.end(), cutoffs.begin(), cutoffs.end());
    }
    return plan;
  }
  ocl::Device device_;
  std::size_t pixels_;
  std::size_t cutoffs_;
  ImagePlan plan_;
  std::unique_ptr<Imager> processor_;
  ComplexBuffer spectra_;
  StatusBuffer status_;
  Values repeated_;
};

/// Fills the scan's distances of some frequencies.
void scan_range(const ocl::Device& device, const TrueField& field, const Settings& settings,
                const FrequencyRange& range, std::span<const std::complex<float>> frames, const Distance& distance,
                CutoffScan& scan) {
  const std::size_t cutoffs = scan.cutoff_rad_per_m.size();
  const std::size_t pixels = field.channels();
  const double share = static_cast<double>(field.aperture.size()) / static_cast<double>(frames.size());
  CutoffImager imager(device, field, settings, range, scan.cutoff_rad_per_m);
  for (std::size_t frame = 0; frame < frames.size(); frame += field.aperture.size()) {
    const auto images = imager.image(frames.subspan(frame + range.first * pixels, range.count * pixels));
    for (std::size_t i = 0; i < range.count * cutoffs; ++i) {
      const std::size_t f = range.first + i / cutoffs;
      scan.distance[f][i % cutoffs] +=
          share * distance(frame / field.aperture.size(), f, images.subspan(i * pixels, pixels));
    }
  }
}

}  // namespace

const std::vector<NamedSettings>& extrapolations() {
  static const std::vector<NamedSettings> kTable = {{"plpbp", {"holography.extrapolation.method=plpbp"}},
                                                    {"lpbp", {"holography.extrapolation.method=lpbp"}},
                                                    {"edge", {"holography.extrapolation.method=edge"}},
                                                    {"zero", {"holography.extrapolation.method=zero"}}};
  return kTable;
}

const std::vector<NamedSettings>& filters() {
  static const std::vector<NamedSettings> kTable = {
      {"cos, dynamic_range", {"holography.filter.cutoff_rad_per_m=dynamic_range"}},
      {std::string(kMeasuredFilter), {"holography.filter.cutoff_rad_per_m=auto"}},
      {std::string(kSearchedFilter), {"holography.filter.cutoff_rad_per_m=search"}},
      {"tikhonov", {"holography.filter.kind=tikhonov"}}};
  return kTable;
}

const std::string& main_extrapolation() { return extrapolations().front().name; }

const std::vector<NamedSettings>& other_imagers() {
  static const std::vector<NamedSettings> kTable = {{std::string(kSonahImager), {"holography.imager=sonah"}}};
  return kTable;
}

Settings settings_of(const NamedSettings& extrapolation, const NamedSettings& filter) {
  std::vector<std::string> overrides = {"holography.imager=pnah"};
  overrides.insert(overrides.end(), extrapolation.overrides.begin(), extrapolation.overrides.end());
  overrides.insert(overrides.end(), filter.overrides.begin(), filter.overrides.end());
  return load_settings("", overrides);
}

bool is_default(const Settings& settings) {
  const Settings defaults;
  return to_yaml(settings) == to_yaml(defaults);
}

EnginePlan plan_for(const TrueField& field, Settings settings, InputForm input, int batch) {
  settings.array.geometry = field.geometry;
  settings.array.layout = default_layout(field.geometry);
  settings.medium = field.medium;
  settings.front_end.frequencies_hz = field.frequencies_hz;
  settings.holography.standoff_m = field.standoff_m;
  settings.holography.planes_m = {0.0};
  settings.holography.quantity = field.quantity;
  settings.device.batch = batch;
  return {.settings = settings,
          .input = input,
          .sample_rate_hz = kBitRateHz / kBitsPerWord,
          .spectra_hz = field.frequencies_hz};
}

void take_images(Engine& engine, std::size_t windows, Imaged& imaged) {
  ImageFrame frame = empty_frame(images_header(engine));
  for (std::size_t window = 0; window < windows; ++window) {
    engine.fill(window, frame);
    const auto pixels = static_cast<std::ptrdiff_t>(frame.images.size() / frame.slope.size());
    for (std::size_t f = 0; f < frame.slope.size(); ++f) {
      const auto first = frame.images.begin() + static_cast<std::ptrdiff_t>(f) * pixels;
      imaged.images.emplace_back(first, first + pixels);
      imaged.cutoff_rad_per_m.push_back(static_cast<double>(frame.cutoff_rad_per_m[f]));
      imaged.slope.push_back(static_cast<double>(frame.slope[f]));
      imaged.error_estimate.push_back(static_cast<double>(frame.error_estimate[f]));
    }
  }
}

Imaged image_frames(const ocl::Device& device, const TrueField& field, const Settings& settings,
                    std::span<const std::complex<float>> frames) {
  const std::size_t count = frames.size() / field.aperture.size();
  EnginePlan plan = plan_for(field, settings, InputForm::kSpectra, static_cast<int>(count));
  std::unique_ptr<Engine> engine = make_engine(device, plan);
  Imaged imaged;
  if (engine->make_search() == nullptr) {
    engine->compute_spectra(frames);
    take_images(*engine, count, imaged);
    return imaged;
  }
  // Each frame is a draw of its own: searched for itself.
  plan = plan_for(field, settings, InputForm::kSpectra, 1);
  plan.settings.holography.search_every_frames = 1;
  engine = make_engine(device, plan);
  RecordingSearch search(*engine);
  for (std::size_t i = 0; i < count; ++i) {
    search.restart();
    search.look(i, engine->compute_spectra(frames.subspan(i * field.aperture.size(), field.aperture.size())));
    take_images(*engine, 1, imaged);
  }
  return imaged;
}

std::size_t CutoffScan::best(std::size_t frequency) const {
  const std::vector<double>& all = distance[frequency];
  return static_cast<std::size_t>(std::min_element(all.begin(), all.end()) - all.begin());
}

CutoffScan scan_cutoffs(const ocl::Device& device, const TrueField& field, const Settings& settings, double slope,
                        std::span<const std::complex<float>> frames, const Distance& distance) {
  CutoffScan scan{.slope = slope, .cutoff_rad_per_m = cutoffs_for(field.geometry), .distance = {}};
  const Settings given = with_cutoffs(settings, slope, {});
  const std::size_t frequencies = field.frequencies_hz.size();
  const std::size_t together = std::max<std::size_t>(kScannedTogether / kCutoffs, 1);
  scan.distance.assign(frequencies, std::vector<double>(kCutoffs, 0.0));
  for (std::size_t first = 0; first < frequencies; first += together) {
    const FrequencyRange range{first, std::min(together, frequencies - first)};
    scan_range(device, field, given, range, frames, distance, scan);
  }
  return scan;
}

Settings with_cutoffs(Settings settings, double slope, const std::vector<double>& cutoff_rad_per_m) {
  settings.holography.filter.kind = FilterKind::kCos;
  settings.holography.filter.cutoff_rule = CutoffRule::kGiven;
  settings.holography.filter.cutoff_rad_per_m = cutoff_rad_per_m;
  settings.holography.filter.slope = slope;
  return settings;
}

}  // namespace nearfield::bench
