#include "imaging/sonah/sonah.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "core/error.hpp"
#include "core/system/host.hpp"
#include "imaging/priors/prior_fill.hpp"
#include "imaging/shared/image_surface.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sonah/prior_finder.hpp"
#include "imaging/sonah/sonah_reference.hpp"

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;

constexpr std::string_view kSonahStage = "imaging/sonah";
constexpr int kBlock = 32;
constexpr std::size_t kGpuGroup = 256;
/// Local memory per group of a GPU, in place of the modes: eight sums per item.
constexpr std::size_t kSumsLocalBytes = 8 * kGpuGroup * sizeof(ComplexF);
/// Additional local memory: sums, parts of sums, pixels.
constexpr std::size_t kOtherLocalBytes = 8192;

int blocks_of(int count) { return (count + kBlock - 1) / kBlock; }

int half(int count) { return (count + 1) / 2; }

std::size_t group_of(const ocl::DeviceInfo& device) { return device.is_gpu ? kGpuGroup : 1; }

constexpr const char* kFactors = "FACTORS";

/// Arrays of the arena with the same number of values per frequency.
using NamedFloats = std::vector<std::pair<const char*, const std::vector<float>*>>;
using NamedIntegers = std::vector<std::pair<const char*, const std::vector<std::int32_t>*>>;

NamedFloats floats_of(const SonahArrays& arrays) {
  return {{"PROJECTIONS", &arrays.projections}, {"SLOT_POWERS", &arrays.slot_powers},
          {"LIST_POWERS", &arrays.list_powers}, {"IMAGE_POWERS", &arrays.image_powers},
          {"LOG_SUMS", &arrays.log_sums},       {"ERRORS", &arrays.errors},
          {"CUTOFFS", &arrays.cutoffs}};
}

NamedIntegers integers_of(const SonahArrays& arrays) {
  return {{"SLOT_MODES", &arrays.slot_modes}, {"STARTS", &arrays.starts}, {"LIST_MODES", &arrays.list_modes}};
}

/// Work distribution of a plan: on GPUs every processor has at least two groups even for a single frame. A batch's
/// frames are summed in the same order, so that they are equal to the last bit.
SonahCut cut_of(const ocl::DeviceInfo& device, const ImagePlan& plan) {
  if (!device.is_gpu) {
    return {.part_blocks = 8, .pair_part_blocks = 4, .pixel_lanes = kBlock};
  }
  const MirroredSizes sizes = mirrored_sizes(plan);
  const std::size_t pixels = to_size(sizes.pixels) / (is_square(plan.geometry) && !plan.surface ? 2 : 1);
  const std::size_t images = plan.frequencies_hz.size() * plan.holography.planes_m.size();
  int lanes = kBlock;
  while (lanes > 4 && (pixels / to_size(lanes) + 1) * images < to_size(2) * device.compute_units) {
    lanes /= 2;
  }
  return {.part_blocks = 1, .pair_part_blocks = 1, .pixel_lanes = lanes};
}

/// Memory that grows with the plan, in bytes.
struct SonahMemory {
  double host = 0.0;    ///< models of all frequencies and priors, cache for masks, and arrays to be written
  double device = 0.0;  ///< arrays, predictions of masked microphones, tables of plane waves and point sources
};

/// Assumes that no mode is negligible.
SonahMemory memory_of_sonah(const ImagePlan& plan, const SourceTable& table) {
  const MirroredSizes sizes = mirrored_sizes(plan);
  const auto planes = static_cast<double>(table.planes);
  const auto frequencies = static_cast<double>(plan.frequencies_hz.size());
  const auto samples = static_cast<double>(sizes.samples);
  const auto modes = static_cast<double>(table.values);
  const auto whole_blocks = static_cast<double>(kBlock * blocks_of(sizes.pixels));
  const double projections = sizeof(float) * samples * modes;
  const double factors = sizeof(ComplexF) * planes * whole_blocks * modes;
  const bool has_waves = plan.holography.search_every_frames > 0;
  const double waves = has_waves ? sizeof(float) * static_cast<double>(table.size()) : 0.0;
  const auto microphones = static_cast<double>(plan.geometry.channels());
  const double fill =
      plan.fills_from_all ? sizeof(float) * static_cast<double>(mask_capacity(plan)) * microphones : 0.0;
  const double models = static_cast<double>(candidate_priors(plan).size());
  const double kept = plan.fills_from_all ? std::min(frequencies * kParities * sizeof(double) * samples * samples,
                                                     static_cast<double>(kKeptInverseBytes))
                                          : 0.0;
  // Predictions for the mask in use and, with tables, for the findings in use and their replacement.
  const double fills = has_waves ? 3.0 * fill + 2.0 * waves : fill;
  return {.host = frequencies * (models * model_bytes(plan) + projections + factors + fills) + kept,
          .device = frequencies * (projections + factors + waves + fill)};
}

void require_memory_for_sonah(const ocl::DeviceInfo& device, const ImagePlan& plan, const SourceTable& table) {
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

std::string obstacle_to_sonah(const ocl::DeviceInfo& device, const ImagePlan& plan) {
  if (plan.holography.quantity == Quantity::kActiveIntensity) {
    return "active_intensity";
  }
  const std::size_t samples = to_size(half(plan.geometry.rows) * half(plan.geometry.columns));
  const std::size_t bytes =
      std::max(2 * sizeof(float) * kParities * ocl::round_up(samples, kBlock), kSumsLocalBytes) + kOtherLocalBytes;
  if (bytes > device.local_memory_bytes) {
    return fmt::format("{} x {} microphones in {} bytes of local memory; it needs {}", plan.geometry.rows,
                       plan.geometry.columns, device.local_memory_bytes, bytes);
  }
  return "";
}

Sonah::Sonah(const ocl::Device& device, const ImagePlan& plan)
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
  table_ = {.values = to_size(kParities * modes_),
            .planes = planes_,
            .pixels = to_size(plan.image_rows()) * to_size(plan.image_columns())};
  require_memory_for_sonah(device.info(), plan, table_);
  std::vector<PriorModels> candidates = make_candidate_models(plan);
  cut_ = cut_of(device.info(), plan);
  for (const PriorModels& candidate : candidates) {
    SonahArrays::reserve(plan, candidate.of_frequency, room_);
  }
  in_force_.resize(frequencies_, 0);
  const SonahArrays arrays(plan, candidates.front().of_frequency, cut_, room_);
  mode_parts_ = to_size(arrays.mode_parts);
  pixel_blocks_ = to_size(arrays.pixel_blocks);
  description_ = fmt::format("statistically optimised, {} of {} modes, groups of {}", arrays.kept,
                             plan.geometry.channels(), group_);
  allocate(device, plan, arrays);
  build(device, plan, arrays);
  if (plan.holography.search_every_frames > 0) {
    if (candidates.size() == 1) {  // Searches use the first plane alone; another prior would need all of them.
      for (SonahModel& model : candidates.front().of_frequency) {
        model.images.resize(1);
      }
    }
    candidates_ = std::make_shared<const std::vector<PriorModels>>(std::move(candidates));
  }
}

void Sonah::allocate(const ocl::Device& device, const ImagePlan& plan, const SonahArrays& arrays) {
  const NamedFloats floats = floats_of(arrays);
  const NamedIntegers integers = integers_of(arrays);
  for (const auto& [name, values] : floats) {
    arena_.reserve<float>(name, values->size());
  }
  for (const auto& [name, values] : integers) {
    arena_.reserve<std::int32_t>(name, values->size());
  }
  arena_.reserve<float>(kFactors, arrays.factors.size());
  arena_.reserve<float>("NOISES", arrays.noises.size());
  arena_.reserve<ComplexF>("COEFFICIENTS", plan.holograms() * to_size(kParities * modes_));
  arena_.reserve<float>("SHARES", plan.holograms() * mode_parts_ * kNoiseSteps);
  arena_.reserve<ComplexF>("AMPLITUDES", plan.holograms() * to_size(kMostWaves));
  std::vector<std::uint8_t> on_surface;
  for (std::size_t pixel = 0; plan.surface && pixel < plan.surface->pixels(); ++pixel) {
    on_surface.push_back(plan.surface->has(pixel) ? 1 : 0);
  }
  arena_.reserve<std::uint8_t>("ON_SURFACE", on_surface.size());
  arena_.reserve<std::int32_t>("NOISE_RECORDS", plan.holograms() * (kNoiseSteps + 2));
  const std::vector<std::int32_t> memories(2 * frequencies_ * 2 * (kNoiseSteps + 3), 0);
  arena_.reserve<std::int32_t>("MEMORIES", memories.size());
  incomplete_.reserve(arena_, plan);
  const bool has_waves = plan.holography.search_every_frames > 0;
  arena_.reserve<float>("WAVES", has_waves ? frequencies_ * table_.size() : 1);
  arena_.allocate(device);
  // Padding modes of the last block of a class are read, with factors of 0, and never written.
  device.enqueue_fill(arena_.part<ComplexF>(device, "COEFFICIENTS"), ComplexF(), kSonahStage);
  waves_ = arena_.part<float>(device, "WAVES");
  device.enqueue_fill(waves_, 0.0F, kSonahStage);
  for (const auto& [name, values] : floats) {
    (void)arena_.part<float>(device, name, *values);
  }
  for (const auto& [name, values] : integers) {
    (void)arena_.part<std::int32_t>(device, name, *values);
  }
  (void)arena_.part<float>(device, kFactors, arrays.factors);
  (void)arena_.part<float>(device, "NOISES", arrays.noises);
  if (plan.surface) {
    (void)arena_.part<std::uint8_t>(device, "ON_SURFACE", on_surface);
  }
  memories_ = arena_.part<std::int32_t>(device, "MEMORIES", memories);
  incomplete_.fill(device, arena_, plan);
}

void Sonah::build(const ocl::Device& device, const ImagePlan& plan, const SonahArrays& arrays) {
  ocl::Defines defines = {{"ROWS", std::to_string(plan.geometry.rows)},
                          {"COLUMNS", std::to_string(plan.geometry.columns)},
                          {"MODES", std::to_string(modes_)},
                          {"SQUARE", arrays.square ? "1" : "0"},
                          {"KEPT", std::to_string(arrays.kept)},
                          {"ROWS_OF_ALL", std::to_string(arrays.rows)},
                          {"PART_BLOCKS", std::to_string(cut_.part_blocks)},
                          {"PAIR_PART_BLOCKS", std::to_string(cut_.pair_part_blocks)},
                          {"PIXEL_LANES", std::to_string(cut_.pixel_lanes)},
                          {"PLANES", std::to_string(planes_)},
                          {"UPSAMPLE", std::to_string(plan.holography.upsample)},
                          {"GRID", std::to_string(kNoiseSteps)},
                          {"HALF", std::to_string(kMemoryHalf)},
                          {"HAS_WAVES", plan.holography.search_every_frames > 0 ? "1" : "0"},
                          {"MOST_WAVES", std::to_string(kMostWaves)},
                          {"WAVE_HEADER", std::to_string(SourceTable::kHeader)},
                          {"GROUP", std::to_string(group_)}};
  if (plan.surface) {
    defines["SURFACE_PIXELS"] = std::to_string(plan.surface->pixels());
  }
  defines.merge(arena_.defines());
  const ocl::Program program = device.build(kSonahStage, "imaging/sonah.cl", defines);
  to_modes_ = program.kernel("sonah_modes");
  if (plan.holography.search_every_frames > 0) {
    to_waves_ = program.kernel("sonah_waves");
    waves_are_new_ = true;
    to_waves_.set("arena", arena_.whole()).set("frequencies", static_cast<std::int32_t>(frequencies_));
  }
  to_noise_ = program.kernel("sonah_noise");
  to_images_ = program.kernel("sonah_images");
  const auto frequencies = static_cast<std::int32_t>(frequencies_);
  to_modes_.set("arena", arena_.whole()).set("frequencies", frequencies);
  measured_ = to_modes_.arguments("spectra");
  to_noise_.set("arena", arena_.whole()).set("frequencies", frequencies);
  to_images_.set("arena", arena_.whole()).set("frequencies", frequencies);
  image_results_ = to_images_.arguments("images", "reports", "taken");
  set_results();
  of_frames_ = to_images_.arguments("frames", "turn", "half_number", "age", "status");
}

void Sonah::set_results() { to_images_.set(image_results_, images(), reports(), taken_status()); }

void Sonah::use(const MicrophoneMask& mask) {
  microphones_.use(mask);
  conditions_ = always_conditions_ || !mask.channels.empty();
  for (std::size_t f = 0; findings_ != nullptr && f < frequencies_; ++f) {
    const FoundWaves& found = findings_as<WaveFindings>(findings_).waves[f];
    if (!found.filling.masked.empty()) {
      use_sources(f, found);
    }
  }
}

/// Writes the table of a frequency's sources, with the matching prediction of masked microphones: only with that one is
/// the residual of the sources' own field 0.
void Sonah::use_sources(std::size_t frequency, const FoundWaves& found) {
  const ResidualFilling& filling = found.filling;
  const bool suits = filling.is_for(microphones_.masked());
  device_.enqueue_write(waves_, frequency * table_.size(), std::span(suits ? filling.table : found.table), kSonahStage);
  microphones_.enqueue_fill(frequency, suits ? std::span(filling.weights) : std::span<const float>());
}

/// Writes the device's arrays of a frequency's model; the kernels that read the previous ones have ended.
void Sonah::use_prior(std::size_t frequency, const FoundWaves& found) {
  const FieldPrior prior = found.prior.value();
  const auto is_of_prior = [&](const PriorModels& candidate) { return candidate.prior == prior; };
  const auto models = std::find_if(candidates_->begin(), candidates_->end(), is_of_prior);
  if (models == candidates_->end()) {
    throw Error(ExitCode::kInternal, fmt::format("{} is no candidate of this imager's search", name_of(prior)));
  }
  const auto candidate = static_cast<std::size_t>(models - candidates_->begin());
  if (in_force_[frequency] == candidate) {
    return;
  }
  // The search of an imager on another device, or of the reference, has no arrays for this device.
  const std::shared_ptr<const SonahArrays> of_prior =
      found.arrays && found.arrays->cut() == cut_
          ? found.arrays
          : std::make_shared<const SonahArrays>(plan_, std::span(models->of_frequency).subspan(frequency, 1), cut_,
                                                room_, frequency);
  const SonahArrays& arrays = *of_prior;
  const auto write = [&](const char* name, const auto& values, const SonahSlice& slice) {
    using Value = std::remove_cvref_t<decltype(values.front())>;
    device_.enqueue_write(arena_.part<Value>(device_, name), slice.to,
                          std::span(values).subspan(slice.from, slice.count), kSonahStage);
  };
  for (const auto& [name, values] : floats_of(arrays)) {
    write(name, *values, arrays.slice_of(frequency, values->size()));
  }
  for (const auto& [name, values] : integers_of(arrays)) {
    write(name, *values, arrays.slice_of(frequency, values->size()));
  }
  for (std::size_t plane = 0; plane < planes_; ++plane) {
    write(kFactors, arrays.factors, arrays.factors_of(frequency, plane));
  }
  if (of_prior != found.arrays) {
    device_.wait();  // The arrays being written have no other owner; those of findings are kept by findings_.
  }
  in_force_[frequency] = candidate;
}

void Sonah::adopt(const std::shared_ptr<const Findings>& findings) {
  device_.wait();  // for kernels that may still read the previous findings
  const std::vector<FoundWaves>& found = findings_as<WaveFindings>(findings).waves;
  if (std::any_of(found.begin(), found.end(), [](const FoundWaves& of) { return !of.prior; })) {
    throw std::bad_cast();
  }
  require_fit(found, frequencies_, table_);
  const std::shared_ptr<const Findings> before = std::exchange(findings_, findings);
  for (std::size_t f = 0; f < frequencies_; ++f) {
    if (candidates_ != nullptr && candidates_->size() > 1) {
      use_prior(f, found.at(f));
    }
    const bool had_sources = before != nullptr && findings_as<WaveFindings>(before).waves[f].has_sources();
    if (had_sources || found[f].has_sources()) {
      use_sources(f, found[f]);
    }
  }
  has_waves_ = std::any_of(found.begin(), found.end(), [](const FoundWaves& of) { return of.has_sources(); });
}

std::unique_ptr<Search> Sonah::make_search() const {
  if (candidates_ == nullptr) {
    return nullptr;
  }
  return defer_search([plan = std::make_shared<const ImagePlan>(plan_), candidates = candidates_, cut = cut_,
                       room = std::make_shared<const SonahRoom>(room_)] {
    return std::make_unique<WaveSearch>(*plan, candidates, [=](std::size_t candidate, std::size_t frequency) {
      const std::span<const SonahModel> models = (*candidates)[candidate].of_frequency;
      return std::make_shared<const SonahArrays>(*plan, models.subspan(frequency, 1), cut, *room, frequency);
    });
  });
}

void Sonah::enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) {
  if (conditions_) {
    microphones_.enqueue(spectra, status);
  }
  to_modes_.set(measured_, conditions_ ? microphones_.conditioned() : spectra);
  to_modes_.enqueue({.global_0 = group_ * mode_parts_, .local_0 = group_, .global_1 = frames * frequencies_});
  // The first frame runs the kernel without any wave, which changes nothing: some drivers compile at the first launch,
  // and a live stream that finds a wave must not wait for that.
  if (has_waves_ || std::exchange(waves_are_new_, false)) {
    to_waves_.enqueue({.global_0 = group_, .local_0 = group_, .global_1 = frames * frequencies_});
  }
  if (frames > 1) {  // the records of the earlier frames
    to_noise_.enqueue({.global_0 = group_, .local_0 = group_, .global_1 = frames * frequencies_});
  }
  // Frames that are enqueued once more, as after a search, are remembered once.
  turn_ = last_first_ == hops().first ? 1 - turn_ : turn_;
  last_first_ = hops().first;
  incomplete_.enqueue(device_, hops());
  const MemoryPlace place = memory_place(hops().first);
  to_images_.set(of_frames_, static_cast<std::int32_t>(frames), turn_, place.half, place.age, status);
  to_images_.enqueue(
      {.global_0 = group_ * pixel_blocks_, .local_0 = group_, .global_1 = frames * planes_ * frequencies_});
  turn_ = 1 - turn_;
  pass_hops(frames);
}

ImagerEntry sonah_imager() {
  return {.kind = ImagerKind::kSonah,
          .obstacle = obstacle_to_sonah,
          .make = [](const ocl::Device& device, const ImagePlan& plan) -> std::unique_ptr<Imager> {
            return std::make_unique<Sonah>(device, plan);
          },
          .make_reference = reference::make_sonah};
}

}  // namespace nearfield
