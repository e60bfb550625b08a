#include "imaging/sonah/sonah.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/system/host.hpp"
#include "imaging/image_surface.hpp"
#include "imaging/imager_reference.hpp"
#include "imaging/pnah/stages.hpp"
#include "imaging/sonah/prior_fill.hpp"
#include "imaging/sonah/wave_search.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;

constexpr std::string_view kSonahStage = "imaging/sonah";
constexpr int kBlock = 32;
constexpr std::size_t kGpuGroup = 256;
/// Local memory beside the modes: sums, parts of sums, pixels.
constexpr std::size_t kOtherLocalBytes = 8192;

int blocks_of(int count) { return (count + kBlock - 1) / kBlock; }

int half(int count) { return (count + 1) / 2; }

std::size_t group_of(const ocl::DeviceInfo& device) { return device.is_gpu ? kGpuGroup : 1; }

/// Modes that any frequency makes images of, in whole blocks.
int kept_modes(const std::vector<SonahModel>& models) {
  Eigen::Index most = 1;
  for (const SonahModel& model : models) {
    for (const Eigen::VectorXd& powers : model.powers) {
      most = std::max(most, (powers.array() >= kNegligibleMode).count());
    }
  }
  return kBlock * blocks_of(static_cast<int>(most));
}

/// [class][block of modes][sample][32]
void append_projections(std::vector<float>& to, const SonahModel& model) {
  for (const Eigen::MatrixXd& projection : model.projections) {
    for (int block = 0; block < blocks_of(model.samples); ++block) {
      for (int sample = 0; sample < model.samples; ++sample) {
        for (int mode = kBlock * block; mode < kBlock * (block + 1); ++mode) {
          to.push_back(mode < model.samples ? static_cast<float>(projection(sample, mode)) : 0.0F);
        }
      }
    }
  }
}

/// [block of pixels][class][mode][re, im][32]
void append_factors(std::vector<float>& to, const std::array<Eigen::MatrixXcd, kParities>& images, int kept) {
  const int pixels = static_cast<int>(images[0].rows());
  for (int block = 0; block < blocks_of(pixels); ++block) {
    for (const Eigen::MatrixXcd& image : images) {
      for (int mode = 0; mode < kept; ++mode) {
        for (int part = 0; part < 2; ++part) {
          for (int pixel = kBlock * block; pixel < kBlock * (block + 1); ++pixel) {
            const std::complex<double> value =
                pixel < pixels && mode < image.cols() ? image(pixel, mode) : std::complex<double>();
            to.push_back(static_cast<float>(part == 0 ? value.real() : value.imag()));
          }
        }
      }
    }
  }
}

/// [class][kept]
void append_modes(std::vector<float>& to, const std::array<Eigen::VectorXd, kParities>& values, int kept) {
  for (const Eigen::VectorXd& of_class : values) {
    for (int mode = 0; mode < kept; ++mode) {
      to.push_back(mode < of_class.size() ? static_cast<float>(of_class(mode)) : 0.0F);
    }
  }
}

/// ln of the determinant of the measurement's covariance for each step of noise. Modes that a class does not have,
/// because the array has an odd number of rows or columns, are no modes.
void append_log_sums(std::vector<float>& to, const SonahModel& model, int channels) {
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double noise = noise_step(step);
    double sum = 0.0;
    int modes = 0;
    for (const Eigen::VectorXd& powers : model.powers) {
      for (const double power : powers) {
        sum += std::log(power + noise);
        ++modes;
      }
    }
    to.push_back(static_cast<float>(sum - (modes - channels) * std::log(noise)));
  }
}

/// Expected squared error of an image of the first plane where the prior's power is 1, as it is published.
void append_errors(std::vector<float>& to, const SonahModel& model, double calibration) {
  for (int step = 0; step < kNoiseSteps; ++step) {
    double error = model.prior_powers.front();
    for (int parity = 0; parity < kParities; ++parity) {
      const std::size_t c = static_cast<std::size_t>(parity);
      error -= (model.image_powers.front()[c].array() / (model.powers[c].array() + noise_step(step))).sum();
    }
    to.push_back(static_cast<float>(calibration * calibration * std::max(error, 0.0)));
  }
}

/// What grows with the plan, bytes.
struct SonahMemory {
  double host = 0.0;  ///< the models of all frequencies in double precision, what is kept for masks, and the arrays
                      ///< that are written
  double device =
      0.0;  ///< those arrays, predictions of masked microphones, and the tables of plane waves and point sources
};

/// Where no mode is negligible.
SonahMemory memory_of_sonah(const PnahPlan& plan, const WaveTable& table) {
  const MirroredSizes sizes = mirrored_sizes(plan);
  const auto planes = static_cast<double>(table.planes);
  const auto frequencies = static_cast<double>(plan.frequencies_hz.size());
  const auto samples = static_cast<double>(sizes.samples);
  const auto pixels = static_cast<double>(sizes.pixels);
  const auto modes = static_cast<double>(table.modes);
  const auto whole_blocks = static_cast<double>(kBlock * blocks_of(sizes.pixels));
  const double projections = sizeof(float) * samples * modes;
  const double factors = sizeof(ComplexF) * planes * whole_blocks * modes;
  const bool has_waves = plan.holography.search_every_frames > 0;
  const double waves = has_waves ? sizeof(float) * static_cast<double>(table.size()) : 0.0;
  const auto microphones = static_cast<double>(plan.geometry.channels());
  const double fill =
      plan.fills_from_all ? sizeof(float) * static_cast<double>(mask_capacity(plan)) * microphones : 0.0;
  const double model =
      kParities * samples * (sizeof(double) * samples + sizeof(std::complex<double>) * planes * pixels);
  const double kept = plan.fills_from_all ? std::min(frequencies * kParities * sizeof(double) * samples * samples,
                                                     static_cast<double>(kKeptInverseBytes))
                                          : 0.0;
  return {.host = frequencies * (model + projections + factors) + kept,
          .device = frequencies * (projections + factors + waves + fill)};
}

void require_memory_for_sonah(const ocl::DeviceInfo& device, const PnahPlan& plan, const WaveTable& table) {
  const SonahMemory need = memory_of_sonah(plan, table);
  const auto require = [&](double bytes, double room_bytes, const char* where) {
    constexpr double kMegabyte = 1e6;
    if (bytes > room_bytes) {
      throw ConfigError(
          fmt::format("{}: expected pixels, planes, microphones and frequencies whose models fit into the {:.4g} MB of "
                      "{}, found {} "
                      "pixels, {} planes, {} microphones and {} frequencies, which take {:.4g} MB; lower "
                      "holography.upsample or image "
                      "fewer frequencies",
                      plan.surface ? "holography.surface" : "front_end.frequencies_hz", room_bytes / kMegabyte, where,
                      plan.surface ? plan.surface->pixels() : to_size(plan.image_rows() * plan.image_columns()),
                      table.planes, plan.geometry.channels(), plan.frequencies_hz.size(), bytes / kMegabyte));
    }
  };
  require(need.device, static_cast<double>(device.global_memory_bytes), "the device's memory");
  require(need.host + (device.is_gpu ? 0.0 : need.device), available_memory_bytes(), "memory that is free here");
}

}  // namespace

std::string obstacle_to_sonah(const ocl::DeviceInfo& device, const PnahPlan& plan) {
  if (plan.holography.quantity == Quantity::kActiveIntensity) {
    return "active_intensity";
  }
  const std::size_t samples = to_size(half(plan.geometry.rows) * half(plan.geometry.columns));
  const std::size_t bytes = 2 * sizeof(float) * kParities * ocl::round_up(samples, kBlock) + kOtherLocalBytes;
  if (bytes > device.local_memory_bytes) {
    return fmt::format("{} x {} microphones in {} bytes of local memory; it needs {}", plan.geometry.rows,
                       plan.geometry.columns, device.local_memory_bytes, bytes);
  }
  return "";
}

Sonah::Sonah(const ocl::Device& device, const PnahPlan& plan)
    : Imager(device, plan),
      frequencies_(plan.frequencies_hz.size()),
      planes_(plan.holography.planes_m.size()),
      device_(device),
      plan_(plan),
      arena_(std::string(kSonahStage)),
      microphones_(device, plan),
      always_conditions_(!plan.input_is_finite || !plan.gains.empty()),
      conditions_(always_conditions_ || !plan.dead_channels.empty()),
      group_(group_of(device.info())) {
  modes_ = kBlock * blocks_of(mirrored_sizes(plan).samples);
  table_ = {.modes = to_size(kParities * modes_),
            .planes = planes_,
            .pixels = to_size(plan.image_rows()) * to_size(plan.image_columns())};
  require_memory_for_sonah(device.info(), plan, table_);
  std::vector<SonahModel> models = make_sonah_models(plan);
  kept_ = kept_modes(models);
  pixel_blocks_ = blocks_of(models.front().pixel_rows * models.front().pixel_columns);
  description_ = fmt::format("statistically optimised, {} of {} modes, groups of {}", kParities * kept_,
                             plan.geometry.channels(), group_);
  allocate(device, plan, models);
  build(device, plan);
  if (plan.holography.search_every_frames > 0) {
    for (SonahModel& model : models) {
      model.images.resize(1);
    }
    models_ = std::make_shared<const std::vector<SonahModel>>(std::move(models));
  }
}

void Sonah::allocate(const ocl::Device& device, const PnahPlan& plan, const std::vector<SonahModel>& models) {
  std::vector<float> projections;
  std::vector<float> powers;
  std::vector<float> image_powers;
  std::vector<float> log_sums;
  std::vector<float> errors;
  std::vector<float> cutoffs;
  std::vector<float> factors;
  for (const SonahModel& model : models) {
    append_projections(projections, model);
    append_modes(powers, model.powers, kept_);
    append_modes(image_powers, model.image_powers.front(), kept_);
    append_log_sums(log_sums, model, plan.geometry.channels());
    append_errors(errors, model, plan.error_calibration());
    cutoffs.insert(cutoffs.end(), model.cutoffs_rad_per_m.begin(), model.cutoffs_rad_per_m.end());
  }
  factors.reserve(models.size() * planes_ * to_size(kParities * kept_) * to_size(2 * kBlock * pixel_blocks_));
  for (std::size_t plane = 0; plane < planes_; ++plane) {
    for (const SonahModel& model : models) {
      append_factors(factors, model.images[plane], kept_);
    }
  }
  arena_.reserve<float>("PROJECTIONS", projections.size());
  arena_.reserve<ComplexF>("COEFFICIENTS", plan.holograms() * to_size(kParities * modes_));
  arena_.reserve<float>("POWERS", powers.size());
  arena_.reserve<float>("IMAGE_POWERS", image_powers.size());
  arena_.reserve<float>("LOG_SUMS", log_sums.size());
  arena_.reserve<float>("ERRORS", errors.size());
  arena_.reserve<float>("CUTOFFS", cutoffs.size());
  arena_.reserve<float>("FACTORS", factors.size());
  std::vector<std::uint8_t> on_surface;
  for (std::size_t pixel = 0; plan.surface && pixel < plan.surface->pixels(); ++pixel) {
    on_surface.push_back(plan.surface->has(pixel) ? 1 : 0);
  }
  arena_.reserve<std::uint8_t>("ON_SURFACE", on_surface.size());
  arena_.reserve<float>("PRIORS", plan.holograms() * kNoiseSteps);
  arena_.reserve<std::int32_t>("NOISE_RECORDS", plan.holograms() * (kNoiseSteps + 2));
  const std::vector<std::int32_t> memories(2 * frequencies_ * 2 * (kNoiseSteps + 3), 0);
  arena_.reserve<std::int32_t>("MEMORIES", memories.size());
  incomplete_.reserve(arena_, plan);
  const bool has_waves = plan.holography.search_every_frames > 0;
  arena_.reserve<float>("WAVES", has_waves ? frequencies_ * table_.size() : 1);
  arena_.allocate(device);
  waves_ = arena_.part<float>(device, "WAVES");
  device.enqueue_fill(waves_, 0.0F, kSonahStage);
  const auto put = [&]<class T>(const std::string& name, const std::vector<T>& values) {
    (void)arena_.part<T>(device, name, values);
  };
  put("PROJECTIONS", projections);
  put("POWERS", powers);
  put("IMAGE_POWERS", image_powers);
  put("LOG_SUMS", log_sums);
  put("ERRORS", errors);
  put("CUTOFFS", cutoffs);
  put("FACTORS", factors);
  if (plan.surface) {
    put("ON_SURFACE", on_surface);
  }
  memories_ = arena_.part<std::int32_t>(device, "MEMORIES", memories);
  incomplete_.fill(device, arena_, plan);
}

void Sonah::build(const ocl::Device& device, const PnahPlan& plan) {
  ocl::Defines defines = {{"ROWS", std::to_string(plan.geometry.rows)},
                          {"COLUMNS", std::to_string(plan.geometry.columns)},
                          {"MODES", std::to_string(modes_)},
                          {"KEPT", std::to_string(kept_)},
                          {"PLANES", std::to_string(planes_)},
                          {"UPSAMPLE", std::to_string(plan.holography.upsample)},
                          {"GRID", std::to_string(kNoiseSteps)},
                          {"LEAST_NOISE", float_define(noise_step(0))},
                          {"NOISE_RATIO", float_define(noise_step(1) / noise_step(0))},
                          {"HALF", std::to_string(kMemoryHalf)},
                          {"HAS_WAVES", plan.holography.search_every_frames > 0 ? "1" : "0"},
                          {"MOST_WAVES", std::to_string(kMostWaves)},
                          {"WAVE_HEADER", std::to_string(WaveTable::kHeader)},
                          {"GROUP", std::to_string(group_)}};
  if (plan.surface) {
    defines["SURFACE_PIXELS"] = std::to_string(plan.surface->pixels());
  }
  defines.merge(arena_.defines());
  const ocl::Program program = device.build(kSonahStage, "imaging/sonah.cl", defines);
  to_modes_ = program.kernel("sonah_modes");
  to_noise_ = program.kernel("sonah_noise");
  to_images_ = program.kernel("sonah_images");
  const auto frequencies = static_cast<std::int32_t>(frequencies_);
  to_modes_.set("arena", arena_.whole()).set("frequencies", frequencies);
  measured_ = to_modes_.arguments("spectra");
  to_noise_.set("arena", arena_.whole()).set("frequencies", frequencies);
  to_images_.set("arena", arena_.whole())
      .set("images", images())
      .set("reports", reports())
      .set("taken", taken_status())
      .set("frequencies", frequencies);
  of_frames_ = to_images_.arguments("frames", "turn", "half_number", "age", "status");
}

void Sonah::use(const MicrophoneMask& mask) {
  microphones_.use(mask);
  conditions_ = always_conditions_ || !mask.channels.empty();
}

void Sonah::adopt(const std::shared_ptr<const Findings>& findings) {
  device_.wait();  // for kernels that may still read the previous findings
  const std::vector<FoundWaves>& found = findings_as<WaveFindings>(findings).waves;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    const std::vector<float>& table = found.at(f).table;
    const bool had_sources = findings_ != nullptr && findings_as<WaveFindings>(findings_).waves[f].has_sources();
    if (had_sources || found[f].has_sources()) {
      device_.enqueue_write(waves_, f * table_.size(), std::span(table), kSonahStage);
    }
  }
  findings_ = findings;
}

std::unique_ptr<Search> Sonah::make_search() const {
  return models_ == nullptr ? nullptr : std::make_unique<WaveSearch>(plan_, models_);
}

void Sonah::enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) {
  if (conditions_) {
    microphones_.enqueue(spectra, status);
  }
  to_modes_.set(measured_, conditions_ ? microphones_.conditioned() : spectra);
  to_modes_.enqueue({.global_0 = group_ * to_size(kParities * modes_ / kBlock),
                     .local_0 = group_,
                     .global_1 = frames * frequencies_});
  to_noise_.enqueue({.global_0 = group_, .local_0 = group_, .global_1 = frames * frequencies_});
  // The same frames once more, as after a search, are remembered once.
  turn_ = last_first_ == hops().first ? 1 - turn_ : turn_;
  last_first_ = hops().first;
  incomplete_.enqueue(device_, hops());
  const MemoryPlace place = memory_place(hops().first);
  to_images_.set(of_frames_, static_cast<std::int32_t>(frames), turn_, place.half, place.age, status);
  to_images_.enqueue(
      {.global_0 = group_ * to_size(pixel_blocks_), .local_0 = group_, .global_1 = frames * planes_ * frequencies_});
  turn_ = 1 - turn_;
  pass_hops(frames);
}

ImagerEntry sonah_imager() {
  return {.kind = ImagerKind::kSonah,
          .obstacle = obstacle_to_sonah,
          .make = [](const ocl::Device& device, const PnahPlan& plan) -> std::unique_ptr<Imager> {
            return std::make_unique<Sonah>(device, plan);
          },
          .make_reference = reference::make_sonah};
}

}  // namespace nearfield
