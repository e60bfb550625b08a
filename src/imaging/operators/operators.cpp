#include "imaging/operators/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <typeinfo>
#include <utility>

#include "core/system/host.hpp"
#include "imaging/operators/operator_memory.hpp"
#include "imaging/operators/operator_space.hpp"
#include "imaging/operators/operators_reference.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/shared/image_surface.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/noise_steps.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kOperatorsStage = "imaging/operators";
constexpr std::size_t kOperatorBlock = 32;
constexpr std::size_t kOperatorGroup = 256;  ///< on GPUs
constexpr std::size_t kFoldedLanes = 8;      ///< folded pixels of a group on GPUs: more groups than with 32
/// Local memory beside the modes, and for sums of each class of pixels.
constexpr std::size_t kBesideModesBytes = 12288;
constexpr std::size_t kOfClassBytes = 2304;

std::size_t in_blocks(std::size_t count) { return (count + kOperatorBlock - 1) / kOperatorBlock; }

/// [class][block of modes][sample][re, im][32]
void append_operator_modes(std::vector<float>& to, const OperatorTables& tables, std::size_t class_modes) {
  for (std::size_t parity = 0; parity < tables.ranks.size(); ++parity) {
    const std::complex<float>* const of_class = tables.modes.data() + tables.first_of(parity) * tables.samples;
    for (std::size_t first = 0; first < class_modes; first += kOperatorBlock) {
      for (std::size_t sample = 0; sample < tables.samples; ++sample) {
        for (int part = 0; part < 2; ++part) {
          for (std::size_t mode = first; mode < first + kOperatorBlock; ++mode) {
            const std::complex<float> value =
                mode < tables.ranks[parity] ? of_class[mode * tables.samples + sample] : std::complex<float>();
            to.push_back(part == 0 ? value.real() : value.imag());
          }
        }
      }
    }
  }
}

/// [block of folded pixels][class][mode][re, im][lanes]
void append_operator_factors(std::vector<float>& to, const OperatorTables& tables, std::size_t plane,
                             std::size_t class_modes, std::size_t lanes) {
  const std::complex<float>* const of_plane = tables.factors.data() + plane * tables.rank() * tables.pixels;
  for (std::size_t first = 0; first < tables.pixels; first += lanes) {
    for (std::size_t parity = 0; parity < tables.ranks.size(); ++parity) {
      const std::complex<float>* const of_class = of_plane + tables.first_of(parity) * tables.pixels;
      for (std::size_t mode = 0; mode < class_modes; ++mode) {
        for (int part = 0; part < 2; ++part) {
          for (std::size_t pixel = first; pixel < first + lanes; ++pixel) {
            const std::complex<float> value = mode < tables.ranks[parity] && pixel < tables.pixels
                                                  ? of_class[mode * tables.pixels + pixel]
                                                  : std::complex<float>();
            to.push_back(part == 0 ? value.real() : value.imag());
          }
        }
      }
    }
  }
}

/// [class][mode]
void append_padded(std::vector<float>& to, const std::vector<float>& values, const OperatorTables& tables,
                   std::size_t class_modes) {
  for (std::size_t parity = 0; parity < tables.ranks.size(); ++parity) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(tables.first_of(parity));
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(tables.ranks[parity]));
    to.resize(to.size() + class_modes - tables.ranks[parity], 0.0F);
  }
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// [sample][view]; a view whose place stands before is -1 if `once` is set.
std::vector<std::int32_t> views_of(const FoldedPlaces& places, bool once) {
  std::vector<std::int32_t> views;
  for (std::size_t sample = 0; sample < places.samples(); ++sample) {
    for (std::size_t view = 0; view < places.classes(); ++view) {
      views.push_back(once && places.is_repeated(sample, view) ? -1 : places.at(sample, view));
    }
  }
  return views;
}

}  // namespace

std::string obstacle_to_operators(const ocl::DeviceInfo& device, const ImagePlan& plan) {
  if (plan.holography.quantity == Quantity::kActiveIntensity) {
    return "active_intensity";
  }
  const std::size_t microphones = used_microphones(plan).size();
  if (microphones == 0) {
    return "an array whose microphones are all masked";
  }
  const Folding folding = folding_of(plan);
  const std::size_t modes = folding.classes() * kOperatorBlock * in_blocks(folding.microphones.samples());
  const std::size_t bytes = 2 * sizeof(float) * modes + kBesideModesBytes + kOfClassBytes * folding.classes();
  if (bytes > device.local_memory_bytes) {
    return fmt::format("{} microphones in {} bytes of local memory; it needs {}", microphones,
                       device.local_memory_bytes, bytes);
  }
  return "";
}

Operators::Operators(const ocl::Device& device, const ImagePlan& plan)
    : Operators(device, plan, [&] {
        require_memory(plan, operator_memory(plan, prior_sources(plan).size()),
                       {.device_bytes = static_cast<double>(device.info().global_memory_bytes),
                        .free_bytes = available_memory_bytes()});
        return make_operator_tables(plan, OperatorCache::of_user());
      }()) {}

Operators::Operators(const ocl::Device& device, const ImagePlan& plan, std::vector<OperatorTables> tables)
    : Imager(device, plan),
      plan_(plan),
      frequencies_(plan.frequencies_hz.size()),
      planes_(plan.images_per_frequency()),
      shares_(shares_behind(plan).size()),
      folding_(tables.front().ranks.size() > 1 ? folding_of(plan) : unfolded(plan)),
      pixels_(image_places(plan).pixels),
      source_table_{.values = to_size(plan.geometry.channels()), .planes = planes_, .pixels = pixels_},
      group_(device.info().is_gpu ? kOperatorGroup : 1),
      pixel_lanes_(group_ > 1 && folding_.classes() > 1 ? kFoldedLanes : kOperatorBlock),
      device_(device),
      arena_(std::string(kOperatorsStage)),
      microphones_(device, plan),
      always_conditions_(!plan.input_is_finite || !plan.gains.empty()),
      conditions_(always_conditions_ || !plan.dead_channels.empty()) {
  std::size_t most = 1;
  std::size_t most_of_class = 1;
  for (const OperatorTables& one : tables) {
    most = std::max(most, one.rank());
    most_of_class = std::max<std::size_t>(most_of_class, *std::max_element(one.ranks.begin(), one.ranks.end()));
  }
  class_modes_ = kOperatorBlock * in_blocks(most_of_class);
  description_ =
      fmt::format("dense operators{}, at most {} modes of {} microphones, groups of {}{}",
                  folding_.classes() > 1 ? " of four parity classes" : "", most, used_microphones(plan).size(), group_,
                  plan.separates() ? ", waves from behind told apart" : "");
  allocate(tables);
  build();
  if (searches_points(plan)) {
    search_tables_ = std::make_shared<const std::vector<OperatorTables>>(tables_of_search(std::move(tables)));
  }
}

void Operators::allocate(const std::vector<OperatorTables>& tables) {
  std::vector<float> modes;
  std::vector<float> powers;
  std::vector<float> image_powers;
  std::vector<float> log_sums;
  std::vector<float> noises;
  std::vector<float> errors;
  std::vector<float> factors;
  const std::size_t all_modes = folding_.classes() * class_modes_;
  modes.reserve(tables.size() * all_modes * folding_.microphones.samples() * 2);
  factors.reserve(tables.size() * planes_ * pixel_blocks() * all_modes * 2 * pixel_lanes_);
  for (int step = 0; step < kNoiseSteps; ++step) {
    noises.push_back(static_cast<float>(noise_step(step)));
  }
  for (const OperatorTables& one : tables) {
    append_operator_modes(modes, one, class_modes_);
    append_padded(powers, one.powers, one, class_modes_);
    append_padded(image_powers, one.image_powers, one, class_modes_);
    append(log_sums, one.log_sums);
    append(errors, one.errors);
  }
  for (std::size_t plane = 0; plane < planes_; ++plane) {
    for (const OperatorTables& one : tables) {
      append_operator_factors(factors, one, plane, class_modes_, pixel_lanes_);
    }
  }
  const std::vector<std::int32_t> folds = views_of(folding_.microphones, false);
  const std::vector<std::int32_t> views = views_of(folding_.pixels, true);
  std::vector<float> scales;
  for (std::size_t sample = 0; sample < folding_.microphones.samples(); ++sample) {
    scales.push_back(
        static_cast<float>(std::sqrt(folding_.microphones.count(sample)) / static_cast<double>(folding_.classes())));
  }
  std::vector<std::uint8_t> on_surface(pixels_, 1);
  for (std::size_t pixel = 0; plan_.surface && pixel < pixels_; ++pixel) {
    on_surface[pixel] = plan_.surface->has(pixel) ? 1 : 0;
  }
  const std::size_t steps = shares_ * to_size(kNoiseSteps);
  const std::vector<std::int32_t> memories(2 * frequencies_ * 2 * (steps + 3), 0);
  arena_.reserve<float>("MODES", modes.size());
  arena_.reserve<std::int32_t>("FOLDS", folds.size());
  arena_.reserve<float>("SCALES", scales.size());
  arena_.reserve<std::complex<float>>("COEFFICIENTS", plan_.holograms() * shares_ * all_modes);
  arena_.reserve<float>("RESTS", plan_.holograms() * shares_ * rest_blocks());
  arena_.reserve<float>("POWERS", powers.size());
  arena_.reserve<float>("IMAGE_POWERS", image_powers.size());
  arena_.reserve<float>("LOG_SUMS", log_sums.size());
  arena_.reserve<float>("NOISES", noises.size());
  arena_.reserve<float>("ERRORS", errors.size());
  arena_.reserve<float>("FACTORS", factors.size());
  arena_.reserve<std::int32_t>("VIEWS", views.size());
  arena_.reserve<std::uint8_t>("ON_SURFACE", on_surface.size());
  arena_.reserve<float>("PRIORS", plan_.holograms() * steps);
  arena_.reserve<std::int32_t>("NOISE_RECORDS", plan_.holograms() * (steps + 2));
  arena_.reserve<std::int32_t>("MEMORIES", memories.size());
  IncompleteFrames::reserve(arena_, plan_);
  const bool may_have_sources = searches_points(plan_);
  arena_.reserve<std::complex<float>>("AMPLITUDES", plan_.holograms() * to_size(kMostWaves));
  arena_.reserve<float>("WAVES", may_have_sources ? frequencies_ * source_table_.size() : 1);
  arena_.allocate(device_);
  waves_ = arena_.part<float>(device_, "WAVES");
  device_.enqueue_fill(waves_, 0.0F, kOperatorsStage);
  if (may_have_sources) {
    residuals_ = device_.allocate<std::complex<float>>(plan_.holograms() * source_table_.values, kOperatorsStage);
  }
  const auto put = [&]<class T>(const std::string& name, const std::vector<T>& values) {
    (void)arena_.part<T>(device_, name, values);
  };
  put("MODES", modes);
  put("FOLDS", folds);
  put("SCALES", scales);
  put("POWERS", powers);
  put("IMAGE_POWERS", image_powers);
  put("LOG_SUMS", log_sums);
  put("NOISES", noises);
  put("ERRORS", errors);
  put("FACTORS", factors);
  put("VIEWS", views);
  put("ON_SURFACE", on_surface);
  memories_ = arena_.part<std::int32_t>(device_, "MEMORIES", memories);
  incomplete_.fill(device_, arena_, plan_);
}

std::size_t Operators::rest_blocks() const { return folding_.classes() * in_blocks(folding_.microphones.samples()); }

std::size_t Operators::pixel_blocks() const { return (folding_.pixels.samples() + pixel_lanes_ - 1) / pixel_lanes_; }

void Operators::build() {
  ocl::Defines defines = {{"MICROPHONES", std::to_string(plan_.geometry.channels())},
                          {"USED", std::to_string(used_microphones(plan_).size())},
                          {"CLASSES", std::to_string(folding_.classes())},
                          {"SAMPLES", std::to_string(folding_.microphones.samples())},
                          {"CLASS_MODES", std::to_string(class_modes_)},
                          {"PIXELS", std::to_string(pixels_)},
                          {"FOLDED_PIXELS", std::to_string(folding_.pixels.samples())},
                          {"PIXEL_LANES", std::to_string(pixel_lanes_)},
                          {"PLANES", std::to_string(planes_)},
                          {"SHARES", std::to_string(shares_)},
                          {"GRID", std::to_string(shares_ * to_size(kNoiseSteps))},
                          {"HALF", std::to_string(kMemoryHalf)},
                          {"HAS_WAVES", searches_points(plan_) ? "1" : "0"},
                          {"MOST_WAVES", std::to_string(kMostWaves)},
                          {"WAVE_HEADER", std::to_string(SourceTable::kHeader)},
                          {"GROUP", std::to_string(group_)}};
  defines.merge(arena_.defines());
  const ocl::Program program = device_.build(kOperatorsStage, "imaging/operators.cl", defines);
  if (searches_points(plan_)) {
    to_sources_ = program.kernel("operators_sources");
    sources_are_new_ = true;
    to_sources_.set("arena", arena_.whole())
        .set("residuals", residuals_)
        .set("frequencies", static_cast<std::int32_t>(frequencies_));
    fitted_ = to_sources_.arguments("spectra");
  }
  to_modes_ = program.kernel("operators_modes");
  to_rests_ = program.kernel("operators_rests");
  to_noise_ = program.kernel("operators_noise");
  to_images_ = program.kernel("operators_images");
  const auto frequencies = static_cast<std::int32_t>(frequencies_);
  to_modes_.set("arena", arena_.whole()).set("frequencies", frequencies);
  measured_ = to_modes_.arguments("spectra");
  to_rests_.set("arena", arena_.whole()).set("frequencies", frequencies);
  explained_ = to_rests_.arguments("spectra");
  to_noise_.set("arena", arena_.whole()).set("frequencies", frequencies);
  to_images_.set("arena", arena_.whole()).set("frequencies", frequencies);
  image_results_ = to_images_.arguments("images", "reports", "taken");
  set_results();
  of_frames_ = to_images_.arguments("frames", "turn", "half_number", "age", "status");
}

void Operators::set_results() { to_images_.set(image_results_, images(), reports(), taken_status()); }

void Operators::use(const MicrophoneMask& mask) {
  microphones_.use(mask);
  conditions_ = always_conditions_ || !mask.channels.empty();
}

void Operators::adopt(const std::shared_ptr<const Findings>& findings) {
  const std::vector<FoundWaves>& found = findings_as<WaveFindings>(findings).waves;
  const bool is_of_sonah = std::any_of(found.begin(), found.end(), [](const FoundWaves& of) { return of.prior; });
  if (search_tables_ == nullptr || is_of_sonah) {
    throw std::bad_cast();
  }
  require_fit(found, frequencies_, source_table_);
  device_.wait();  // for kernels that may still read the previous findings
  for (std::size_t f = 0; f < frequencies_; ++f) {
    const bool had_sources = findings_ != nullptr && findings_as<WaveFindings>(findings_).waves[f].has_sources();
    if (had_sources || found.at(f).has_sources()) {
      device_.enqueue_write(waves_, f * source_table_.size(), std::span(found[f].table), kOperatorsStage);
    }
  }
  findings_ = findings;
  has_sources_ = std::any_of(found.begin(), found.end(), [](const FoundWaves& of) { return of.has_sources(); });
}

std::unique_ptr<Search> Operators::make_search() const {
  if (search_tables_ == nullptr) {
    return nullptr;
  }
  return defer_search([plan = plan_, tables = search_tables_] { return std::make_unique<PointSearch>(plan, tables); });
}

void Operators::enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) {
  if (conditions_) {
    microphones_.enqueue(spectra, status);
  }
  const ComplexBuffer& usable = conditions_ ? microphones_.conditioned() : spectra;
  const std::size_t holograms = frames * frequencies_;
  const auto launch = [&](std::size_t blocks, std::size_t images) {
    return ocl::Launch{.global_0 = group_ * blocks, .local_0 = group_, .global_1 = images};
  };
  // The first frame runs it without any source, as sonah's first frame does its own: its residuals are not read then.
  if (has_sources_ || std::exchange(sources_are_new_, false)) {
    to_sources_.set(fitted_, usable);
    to_sources_.enqueue(launch(1, holograms));
  }
  const ComplexBuffer& measured = has_sources_ ? residuals_ : usable;
  to_modes_.set(measured_, measured);
  to_modes_.enqueue(launch(shares_ * folding_.classes() * in_blocks(class_modes_), holograms));
  to_rests_.set(explained_, measured);
  to_rests_.enqueue(launch(shares_ * rest_blocks(), holograms));
  to_noise_.enqueue(launch(1, holograms));
  // Frames that are enqueued once more, as after a search, are remembered once.
  turn_ = last_first_ == hops().first ? 1 - turn_ : turn_;
  last_first_ = hops().first;
  incomplete_.enqueue(device_, hops());
  const MemoryPlace place = memory_place(hops().first);
  to_images_.set(of_frames_, static_cast<std::int32_t>(frames), turn_, place.half, place.age, status);
  to_images_.enqueue(launch(pixel_blocks(), holograms * planes_));
  turn_ = 1 - turn_;
  pass_hops(frames);
}

ImagerEntry operators_imager() {
  return {.kind = ImagerKind::kOperators,
          .obstacle = obstacle_to_operators,
          .make = [](const ocl::Device& device, const ImagePlan& plan) -> std::unique_ptr<Imager> {
            return std::make_unique<Operators>(device, plan);
          },
          .make_reference = reference::make_operators};
}

}  // namespace nearfield
