#include "processors/listen/listen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/frame.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/decimator.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/far_field/array.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield {

ListenPlan::ListenPlan(const ProcessorPlan& plan)
    : name(plan.name),
      geometry(plan.array.geometry),
      sound_speed_m_s(plan.array.medium.sound_speed_m_s),
      shading(static_cast<std::size_t>(plan.array.geometry.channels())),
      sample_rate_hz(plan.sample_rate_hz),
      pascal(plan.input_is_finite ? full_scale_pa(plan.settings->array.sensitivity_dbfs) : 1.0),
      is_full_scale(plan.input_is_finite),
      hop_samples(static_cast<std::size_t>(plan.settings->front_end.hop_samples)),
      batch(static_cast<std::size_t>(plan.batch)) {
  const auto& own = dynamic_cast<const ListenSettings&>(*plan.own);
  beams = own.beams;
  reference_m = own.steering.reference_m;
  Settings settings = *plan.settings;
  settings.array.geometry = geometry;
  settings.medium = plan.array.medium;
  sizes = own.sizes(settings, plan.every_hops, sample_rate_hz);
  const far_field::PlanOfSubset of(plan, own.steering.subset);
  has_subset = !of.is_whole();
  channels = of.channels;
  if (!has_subset) {
    channels.resize(shading.size());
    std::iota(channels.begin(), channels.end(), 0);
  }
  const std::vector<double> weights = far_field::array_shading(own.steering, of.plan.array.geometry);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    shading[static_cast<std::size_t>(channels[i])] = weights[i];
  }
}

std::vector<int> ListenPlan::used(const MicrophoneMask& mask) const {
  std::vector<int> remaining = channels;
  std::erase_if(remaining,
                [&](int channel) { return std::binary_search(mask.channels.begin(), mask.channels.end(), channel); });
  return remaining;
}

bool ListenPlan::is_masked(const MicrophoneMask& mask) const { return used(mask).size() < channels.size(); }

double ListenPlan::first_sample_at() const {
  constexpr double kCicDelayBits = kCicOrder * (kCicFactor - 1) / 2.0;
  constexpr double kFirDelayBits = kCicFactor * (kFirTaps - 1) / 2.0;
  // The newest bit of a sample is the last one of its word.
  constexpr double kOfBits = (kDecimation - 1 - kCicDelayBits - kFirDelayBits) / kDecimation;
  return kListenTapsBefore + (is_full_scale ? kOfBits : 0.0);
}

double ListenPlan::latency_s() const {
  return (sizes.window_samples - first_sample_at() - (sizes.new_samples - 1)) / sample_rate_hz;
}

ResultHeader ListenPlan::header() const {
  Axis of_beams{.name = "beam", .unit = "1", .values = {}};
  Axis of_samples{.name = "sample", .unit = "s", .values = {}};
  Axis of_places{.name = "focus", .unit = "m", .values = {}, .components = 3};
  for (std::size_t beam = 0; beam < beams.size(); ++beam) {
    of_beams.values.push_back(static_cast<double>(beam));
    const far_field::Position at = beams[beam].focus();
    of_places.values.insert(of_places.values.end(), {at.x, at.y, at.z});
  }
  for (int n = 0; n < sizes.new_samples; ++n) {
    of_samples.values.push_back((first_sample_at() + n) / sample_rate_hz);
  }
  ResultHeader header;
  header.processor = name;
  header.kind = "listen";
  header.memory_hops = 0;
  header.axes = {std::move(of_beams), std::move(of_samples), std::move(of_places)};
  header.products = {{.name = "beams",
                      .quantity = "pressure",
                      .unit = "Pa",
                      .type = ElementType::kFloat32,
                      .axes = {"beam", "sample"}}};
  far_field::add_places(geometry, header);
  if (has_subset) {
    header.axes.push_back({.name = "channel", .unit = "1", .values = {channels.begin(), channels.end()}});
  }
  return header;
}

namespace {

constexpr std::string_view kListenStage = "processors/listen";
constexpr std::size_t kListenLanes = 64;
/// Samples per work-group; each lane keeps as many sums, and 15 more samples.
constexpr std::size_t kListenOutputs = 8;

/// The kernel's two tables, [beam][channel] and [beam][tap][channel].
struct ListenTables {
  std::vector<std::int32_t> delays;
  std::vector<float> taps;
};

/// Kaiser's window over the 16 samples about a delay, 1 in its middle.
double kaiser_window(double offset) {
  const double share = offset / (kListenTaps / 2.0);
  const double root = std::sqrt(std::max(0.0, (1.0 - share) * (1.0 + share)));
  return std::cyl_bessel_i(0.0, kListenKaiserBeta * root) / std::cyl_bessel_i(0.0, kListenKaiserBeta);
}

double listen_sinc(double x) {
  const double radians = std::numbers::pi * x;
  return std::abs(radians) < 1e-12 ? 1.0 : std::sin(radians) / radians;
}

ListenTables tables_of(const ListenPlan& plan) {
  const std::vector<far_field::Position> microphones = far_field::microphones_of(plan.geometry);
  const std::size_t channels = microphones.size();
  ListenTables tables;
  tables.taps.resize(plan.beams.size() * kListenTaps * channels);
  for (std::size_t b = 0; b < plan.beams.size(); ++b) {
    const ListenBeam& beam = plan.beams[b];
    std::vector<double> paths_m;
    std::transform(microphones.begin(), microphones.end(), std::back_inserter(paths_m),
                   [&](const far_field::Position& one) { return listen_path_m(beam, one); });
    const double nearest_m = *std::min_element(paths_m.begin(), paths_m.end());
    const double reference_m = plan.reference_m > 0.0 ? plan.reference_m : norm(beam.focus());
    for (std::size_t m = 0; m < channels; ++m) {
      const double delay = (paths_m[m] - nearest_m) / plan.sound_speed_m_s * plan.sample_rate_hz;
      const int whole = std::min(static_cast<int>(delay), plan.sizes.delay_samples);
      const double level = beam.is_infinitely_far() ? 1.0 : paths_m[m] / reference_m;
      tables.delays.push_back(whole);
      for (int tap = 0; tap < kListenTaps; ++tap) {
        const double offset = tap - kListenTapsBefore - (delay - whole);
        const double value = plan.pascal * plan.shading[m] * level * listen_sinc(offset) * kaiser_window(offset);
        tables.taps[(b * kListenTaps + static_cast<std::size_t>(tap)) * channels + m] = static_cast<float>(value);
      }
    }
  }
  return tables;
}

ocl::Defines listen_defines(const ListenPlan& plan) {
  return {{"CHANNELS", fmt::format("{}", plan.geometry.channels())},
          {"WINDOW", fmt::format("{}", plan.sizes.window_samples)},
          {"NEW_SAMPLES", fmt::format("{}", plan.sizes.new_samples)},
          {"BEAMS", fmt::format("{}", plan.beams.size())},
          {"TAPS", fmt::format("{}", kListenTaps)},
          {"OUTPUTS", fmt::format("{}", kListenOutputs)},
          {"FEWEST", fmt::format("{}", far_field::kFewestMicrophones)},
          {"HOP", fmt::format("{}", plan.hop_samples)},
          {"STATUS_WORDS", fmt::format("{}", kStatusWords)},
          {"CHECK_CLIPPING", plan.is_full_scale ? "1" : "0"},
          {"CLIP_LEVEL", fmt::format("{}f", kClipLevel)},
          {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))},
          {"FLAG_NON_FINITE", fmt::format("{}u", static_cast<std::uint32_t>(kFlagNonFiniteInput))}};
}

class ListenProcessor : public Processor {
 public:
  ListenProcessor(const ocl::Device& device, const ListenPlan& plan, const MicrophoneMask& mask)
      : Processor(plan.header()),
        device_(device),
        plan_(plan),
        values_(plan_.beams.size() * static_cast<std::size_t>(plan_.sizes.new_samples)),
        used_(device.allocate<std::uint32_t>(plan_.channels.size(), kListenStage)),
        weights_(device.upload<float>(std::vector<float>(plan_.shading.begin(), plan_.shading.end()), kListenStage)),
        beams_(device.allocate<float>(plan_.batch * values_, kListenStage)),
        on_host_(device.allocate_host<float>(beams_.size(), kListenStage)) {
    const ListenTables tables = tables_of(plan_);
    delays_ = device.upload<std::int32_t>(tables.delays, kListenStage);
    taps_ = device.upload<float>(tables.taps, kListenStage);
    const ocl::Program program = device.build(kListenStage, "processors/listen.cl", listen_defines(plan_));
    beam_samples_ = program.kernel("beam_samples");
    beam_samples_.set("used", used_).set("delays", delays_).set("taps", taps_).set("weights", weights_);
    beam_samples_.set("beams", beams_);
    of_beams_ = beam_samples_.arguments("samples", "first_slot", "slots", "count");
    watch_window_ = program.kernel("watch_window");
    watch_window_.set("used", used_);
    of_watch_ = watch_window_.arguments("samples", "status", "first_slot", "slots", "count", "flags");
    use(mask);
  }
  void enqueue(const BatchInput& input) override {
    const SampleView& samples = input.samples;
    const std::size_t groups =
        ocl::round_up(static_cast<std::size_t>(plan_.sizes.new_samples), kListenOutputs) / kListenOutputs;
    beam_samples_.set(of_beams_, *samples.samples, samples.first_slot, samples.slots, count_);
    beam_samples_.enqueue({.global_0 = groups * kListenLanes,
                           .local_0 = kListenLanes,
                           .global_1 = plan_.beams.size(),
                           .global_2 = input.windows});
    watch_window_.set(of_watch_, *samples.samples, input.status, samples.first_slot, samples.slots, count_, flags_);
    watch_window_.enqueue({.global_0 = ocl::round_up(std::max<std::size_t>(count_, 1), kListenLanes),
                           .local_0 = kListenLanes,
                           .global_1 = input.windows});
    device_.enqueue_read(beams_, on_host_.values().first(input.windows * values_), kListenStage);
  }
  WindowProducts products(const WindowToRead& of) override {
    products_ = {std::as_bytes(on_host_.values().subspan(of.window * values_, values_))};
    return {.products = products_};
  }
  void use(const MicrophoneMask& mask) final {
    const std::vector<int> used = plan_.used(mask);
    const std::vector<std::uint32_t> channels(used.begin(), used.end());
    count_ = static_cast<std::uint32_t>(channels.size());
    flags_ = plan_.is_masked(mask) ? std::uint32_t{kFlagMaskedMicrophones} : 0U;
    if (!channels.empty()) {
      device_.enqueue_write(used_, 0, std::span<const std::uint32_t>(channels), kListenStage);
      device_.wait();
    }
  }

 private:
  ocl::Device device_;
  ListenPlan plan_;
  std::size_t values_;  ///< values of a window
  ocl::Buffer<std::uint32_t> used_;
  ocl::Buffer<float> weights_;
  ocl::Buffer<float> beams_;
  ocl::HostBuffer<float> on_host_;
  ocl::Buffer<std::int32_t> delays_;
  ocl::Buffer<float> taps_;
  ocl::Kernel beam_samples_;
  ocl::Arguments<4> of_beams_;
  ocl::Kernel watch_window_;
  ocl::Arguments<6> of_watch_;
  std::uint32_t count_ = 0;  ///< size of used_
  std::uint32_t flags_ = 0;  ///< flags of the mask in effect
  std::array<std::span<const std::byte>, 1> products_;
};

Remarks remarks_of_listen(const ProcessorPlan& plan) {
  Remarks remarks = far_field::remarks_of(plan, dynamic_cast<const ListenSettings&>(*plan.own).steering.subset);
  const ListenPlan of_beams(plan);
  remarks.notes.push_back(fmt::format("processors.{}: {} new samples a frame at {} Hz, {:.2f} ms behind the newest bit",
                                      plan.name, of_beams.sizes.new_samples, of_beams.sample_rate_hz,
                                      1e3 * of_beams.latency_s()));
  return remarks;
}

/// Counts each sample of the window once, and each coefficient once for each sample of a beam.
WorkModel work_of_listen(const ProcessorPlan& plan) {
  const ListenPlan of_beams(plan);
  const double windows = plan.batch;
  const auto microphones = static_cast<double>(of_beams.channels.size());
  const auto beams = static_cast<double>(of_beams.beams.size());
  const double samples = windows * of_beams.sizes.window_samples * microphones;
  const double made = windows * beams * of_beams.sizes.new_samples;
  return {{.stage = "processors/listen/beam_samples",
           .bytes = (samples + beams * microphones * (kListenTaps + 1) + made) * work::kFloat,
           .operations = made * microphones * 2.0 * kListenTaps},
          {.stage = "processors/listen/watch_window", .bytes = samples * work::kFloat, .operations = 2.0 * samples}};
}

}  // namespace

ProcessorEntry listen_entry() {
  return {.kind = "listen",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return std::make_unique<ListenProcessor>(device, ListenPlan(plan), make_mask(plan.array, {}));
          },
          .make_reference = make_listen_reference,
          .remarks = remarks_of_listen,
          .work = work_of_listen};
}

}  // namespace nearfield
