#include "imaging/operators/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
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
/// Local memory beside the modes: sums, parts of sums, pixels.
constexpr std::size_t kBesideModesBytes = 8192;

std::size_t in_blocks(std::size_t count) { return (count + kOperatorBlock - 1) / kOperatorBlock; }

/// [block of modes][microphone][re, im][32]
void append_operator_modes(std::vector<float>& to, const OperatorTables& tables, std::size_t modes) {
  for (std::size_t first = 0; first < modes; first += kOperatorBlock) {
    for (std::size_t microphone = 0; microphone < tables.microphones; ++microphone) {
      for (int part = 0; part < 2; ++part) {
        for (std::size_t mode = first; mode < first + kOperatorBlock; ++mode) {
          const std::complex<float> value =
              mode < tables.rank() ? tables.modes[mode * tables.microphones + microphone] : std::complex<float>();
          to.push_back(part == 0 ? value.real() : value.imag());
        }
      }
    }
  }
}

/// [block of pixels][mode][re, im][32]
void append_operator_factors(std::vector<float>& to, const OperatorTables& tables, std::size_t plane,
                             std::size_t modes) {
  const std::complex<float>* const of_plane = tables.factors.data() + plane * tables.rank() * tables.pixels;
  for (std::size_t first = 0; first < tables.pixels; first += kOperatorBlock) {
    for (std::size_t mode = 0; mode < modes; ++mode) {
      for (int part = 0; part < 2; ++part) {
        for (std::size_t pixel = first; pixel < first + kOperatorBlock; ++pixel) {
          const std::complex<float> value = mode < tables.rank() && pixel < tables.pixels
                                                ? of_plane[mode * tables.pixels + pixel]
                                                : std::complex<float>();
          to.push_back(part == 0 ? value.real() : value.imag());
        }
      }
    }
  }
}

void append_padded(std::vector<float>& to, const std::vector<float>& values, std::size_t count) {
  to.insert(to.end(), values.begin(), values.end());
  to.resize(to.size() + count - values.size(), 0.0F);
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
  const std::size_t bytes = 2 * sizeof(float) * kOperatorBlock * in_blocks(microphones) + kBesideModesBytes;
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
      pixels_(tables.front().pixels),
      source_table_{.values = tables.front().microphones, .planes = planes_, .pixels = pixels_},
      group_(device.info().is_gpu ? kOperatorGroup : 1),
      device_(device),
      arena_(std::string(kOperatorsStage)),
      microphones_(device, plan),
      always_conditions_(!plan.input_is_finite || !plan.gains.empty()),
      conditions_(always_conditions_ || !plan.dead_channels.empty()) {
  std::size_t most = 1;
  for (const OperatorTables& one : tables) {
    most = std::max(most, one.rank());
  }
  modes_ = kOperatorBlock * in_blocks(most);
  description_ =
      fmt::format("dense operators, at most {} modes of {} microphones, groups of {}{}", most,
                  used_microphones(plan).size(), group_, plan.separates() ? ", waves from behind told apart" : "");
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
  modes.reserve(tables.size() * modes_ * tables.front().microphones * 2);
  factors.reserve(tables.size() * planes_ * in_blocks(pixels_) * modes_ * 2 * kOperatorBlock);
  for (int step = 0; step < kNoiseSteps; ++step) {
    noises.push_back(static_cast<float>(noise_step(step)));
  }
  for (const OperatorTables& one : tables) {
    append_operator_modes(modes, one, modes_);
    append_padded(powers, one.powers, modes_);
    append_padded(image_powers, one.image_powers, modes_);
    append_padded(log_sums, one.log_sums, one.log_sums.size());
    append_padded(errors, one.errors, one.errors.size());
  }
  for (std::size_t plane = 0; plane < planes_; ++plane) {
    for (const OperatorTables& one : tables) {
      append_operator_factors(factors, one, plane, modes_);
    }
  }
  std::vector<std::uint8_t> used(tables.front().microphones, 0);
  for (const int channel : used_microphones(plan_)) {
    used[to_size(channel)] = 1;
  }
  std::vector<std::uint8_t> on_surface(pixels_, 1);
  for (std::size_t pixel = 0; plan_.surface && pixel < pixels_; ++pixel) {
    on_surface[pixel] = plan_.surface->has(pixel) ? 1 : 0;
  }
  const std::size_t steps = shares_ * to_size(kNoiseSteps);
  const std::vector<std::int32_t> memories(2 * frequencies_ * 2 * (steps + 3), 0);
  arena_.reserve<float>("MODES", modes.size());
  arena_.reserve<std::uint8_t>("USED", used.size());
  arena_.reserve<std::complex<float>>("COEFFICIENTS", plan_.holograms() * shares_ * modes_);
  arena_.reserve<float>("RESTS", plan_.holograms() * shares_ * in_blocks(used.size()));
  arena_.reserve<float>("POWERS", powers.size());
  arena_.reserve<float>("IMAGE_POWERS", image_powers.size());
  arena_.reserve<float>("LOG_SUMS", log_sums.size());
  arena_.reserve<float>("NOISES", noises.size());
  arena_.reserve<float>("ERRORS", errors.size());
  arena_.reserve<float>("FACTORS", factors.size());
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
    residuals_ = device_.allocate<std::complex<float>>(plan_.holograms() * used.size(), kOperatorsStage);
  }
  const auto put = [&]<class T>(const std::string& name, const std::vector<T>& values) {
    (void)arena_.part<T>(device_, name, values);
  };
  put("MODES", modes);
  put("USED", used);
  put("POWERS", powers);
  put("IMAGE_POWERS", image_powers);
  put("LOG_SUMS", log_sums);
  put("NOISES", noises);
  put("ERRORS", errors);
  put("FACTORS", factors);
  put("ON_SURFACE", on_surface);
  memories_ = arena_.part<std::int32_t>(device_, "MEMORIES", memories);
  incomplete_.fill(device_, arena_, plan_);
}

void Operators::build() {
  ocl::Defines defines = {{"MICROPHONES", std::to_string(plan_.geometry.channels())},
                          {"USED", std::to_string(used_microphones(plan_).size())},
                          {"MODES", std::to_string(modes_)},
                          {"PIXELS", std::to_string(pixels_)},
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
  to_modes_.enqueue(launch(shares_ * in_blocks(modes_), holograms));
  to_rests_.set(explained_, measured);
  to_rests_.enqueue(launch(shares_ * in_blocks(to_size(plan_.geometry.channels())), holograms));
  to_noise_.enqueue(launch(1, holograms));
  // Frames that are enqueued once more, as after a search, are remembered once.
  turn_ = last_first_ == hops().first ? 1 - turn_ : turn_;
  last_first_ = hops().first;
  incomplete_.enqueue(device_, hops());
  const MemoryPlace place = memory_place(hops().first);
  to_images_.set(of_frames_, static_cast<std::int32_t>(frames), turn_, place.half, place.age, status);
  to_images_.enqueue(launch(in_blocks(pixels_), holograms * planes_));
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
