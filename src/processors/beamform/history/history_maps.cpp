#include "processors/beamform/history/history_maps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace nearfield::history {
namespace {

constexpr std::size_t kHistoryGroup = 64;
constexpr std::size_t kStateOfClean = 8;

std::size_t size_of(int value) { return static_cast<std::size_t>(value); }

/// Value of the kernels' METHOD.
int number_of(Method method) {
  switch (method) {
    case Method::kFunctional:
      return 0;
    case Method::kCapon:
      return 1;
    case Method::kMusic:
      return 2;
    case Method::kOrthogonal:
      return 3;
    case Method::kDas:
    case Method::kCleanSc:
      break;
  }
  return 4;
}

void check_memory(const BeamformPlan& plan) {
  const double values = static_cast<double>(plan.history.slots()) * static_cast<double>(plan.frequencies()) *
                        static_cast<double>(das::pixel_stride(plan) + plan.channels());
  if (values * sizeof(std::complex<float>) >= far_field::kMostFrameBytes) {
    throw ConfigError(fmt::format(
        "processors.{}.average.snapshots: expected snapshots whose beams need less than 2 GiB, found {} of {} pixels "
        "at {} frequencies",
        plan.name, plan.history.slots(), plan.pixels(), plan.frequencies()));
  }
}

ocl::Defines defines_of_history(const BeamformPlan& plan, const ocl::DeviceInfo& device, std::size_t map_group) {
  check_memory(plan);
  ocl::Defines defines = das::shared_defines(plan, device);
  const BeamformSettings& settings = plan.settings;
  const bool has_true_level = settings.steering.formulation == far_field::Formulation::kTrueLevel;
  defines["METHOD"] = std::to_string(number_of(settings.method));
  defines["SNAPSHOTS"] = std::to_string(plan.history.snapshots_of_map());
  defines["SLOTS"] = std::to_string(plan.history.slots());
  defines["MODES"] = std::to_string(modes_of(settings));
  defines["EXPONENT"] = far_field::literal(settings.functional_exponent);
  defines["TRUE_LEVEL"] = has_true_level ? "1" : "0";
  defines["MAP_GROUP"] = std::to_string(map_group);
  defines["LOOP_GAIN"] = far_field::literal(settings.clean.loop_gain);
  defines["STOP"] = far_field::literal(std::pow(10.0, -settings.clean.stop_db / 10.0));
  return defines;
}

}  // namespace

HistoryMaps::HistoryMaps(const ocl::Device& device, const BeamformPlan& plan, das::Maps& beams)
    : device_(device),
      plan_(plan),
      map_group_(device.info().is_gpu ? kHistoryGroup : 1),
      program_(device_.build(das::kStage, "processors/beamform/history.cl",
                             defines_of_history(plan_, device_.info(), map_group_))),
      products_(program_.kernel("history_products")),
      levels_of_norms_(program_.kernel("history_levels")),
      products_arguments_(products_.arguments("window", "slot")),
      levels_argument_(levels_of_norms_.arguments("weight_sum")),
      columns_(device_.allocate<std::complex<float>>(
          size_of(plan_.history.slots()) * plan_.frequencies() * das::pixel_stride(plan_), das::kStage)),
      snapshots_(device_.allocate<std::complex<float>>(
          size_of(plan_.history.slots()) * plan_.frequencies() * plan_.channels(), das::kStage)),
      row_(device_.allocate<std::complex<float>>(plan_.frequencies() * size_of(plan_.history.slots()), das::kStage)),
      levels_(device_.allocate<float>(das::pixel_stride(plan_), das::kStage)),
      published_(device_.allocate<float>(plan_.frequencies() * plan_.pixels(), das::kStage)) {
  beams.write_to(columns_);
  device_.enqueue_fill(snapshots_, std::complex<float>(), das::kStage);  // products with empty slots are not used
  products_.set("pressures", beams.input().pressures).set("weights", beams.weights()).set("snapshots", snapshots_);
  products_.set("products", row_);
  levels_of_norms_.set("pixels", beams.input().pixels).set("norms", beams.norms()).set("levels", levels_);
  if (plan_.settings.method == Method::kCleanSc) {
    make_clean(defines_of_history(plan_, device_.info(), map_group_));
  } else {
    make_modes();
  }
}

void HistoryMaps::make_modes() {
  const std::size_t all_modes = plan_.frequencies() * modes();
  vectors_ = device_.allocate<std::complex<float>>(all_modes * size_of(plan_.history.snapshots_of_map()), das::kStage);
  coefficients_ = device_.allocate<float>(all_modes, das::kStage);
  loadings_ = device_.allocate<float>(plan_.frequencies(), das::kStage);
  if (plan_.settings.method == Method::kOrthogonal) {
    places_ = device_.allocate<std::int32_t>(all_modes, das::kStage);
    peaks_ = program_.kernel("history_peaks");
    peaks_.set("columns", columns_).set("vectors", vectors_).set("places", places_);
    peaks_arguments_ = peaks_.arguments("first_slot", "held");
    map_ = program_.kernel("history_place");
    map_.set("places", places_).set("modes", static_cast<cl_int>(modes()));
    place_arguments_ = map_.arguments("first_slot");
  } else {
    map_ = program_.kernel("history_map");
    map_.set("vectors", vectors_).set("loadings", loadings_);
    map_arguments_ = map_.arguments("first_slot", "held", "modes");
  }
  map_.set("columns", columns_).set("coefficients", coefficients_).set("levels", levels_).set("published", published_);
}

void HistoryMaps::make_clean(const ocl::Defines& defines) {
  const std::size_t snapshots = size_of(plan_.history.snapshots_of_map());
  const std::size_t groups = das::pixel_stride(plan_) / kHistoryGroup;
  left_ = device_.allocate<float>(plan_.frequencies() * das::pixel_stride(plan_), das::kStage);
  best_values_ = device_.allocate<float>(plan_.frequencies() * groups, das::kStage);
  best_indices_ = device_.allocate<std::int32_t>(plan_.frequencies() * groups, das::kStage);
  rests_ = device_.allocate<std::complex<float>>(plan_.frequencies() * snapshots * snapshots, das::kStage);
  last_ = device_.allocate<std::complex<float>>(plan_.frequencies() * snapshots, das::kStage);
  state_ = device_.allocate<float>(plan_.frequencies() * kStateOfClean, das::kStage);
  const ocl::Program program = device_.build(das::kStage, "processors/beamform/history_clean.cl", defines);
  const bool has_signals = plan_.settings.removes_own_noise();
  if (has_signals) {
    vectors_ = device_.allocate<std::complex<float>>(plan_.frequencies() * snapshots * snapshots, das::kStage);
    coefficients_ = device_.allocate<float>(plan_.frequencies() * snapshots, das::kStage);
    loadings_ = device_.allocate<float>(plan_.frequencies(), das::kStage);
    signals_ =
        device_.allocate<std::complex<float>>(snapshots * plan_.frequencies() * das::pixel_stride(plan_), das::kStage);
    make_signals_ = program.kernel("clean_signals");
    make_signals_.set("columns", columns_).set("vectors", vectors_).set("signals", signals_);
    signals_arguments_ = make_signals_.arguments("first_slot", "held");
  }
  remove_ = program.kernel("clean_remove");
  find_ = program.kernel("clean_find");
  for (ocl::Kernel* const kernel : {&remove_, &find_}) {
    kernel->set("columns", has_signals ? signals_ : columns_)
        .set("levels", levels_)
        .set("left", left_)
        .set("last", last_)
        .set("state", state_);
    kernel->set("best_values", best_values_).set("best_indices", best_indices_).set("published", published_);
  }
  find_.set("rests", rests_);
  remove_arguments_ = remove_.arguments("first_slot", "held", "step");
  find_arguments_ = find_.arguments("first_slot", "held", "step");
}

void HistoryMaps::enqueue_products(std::size_t window, std::size_t slot) {
  products_.set(products_arguments_, static_cast<cl_int>(window), static_cast<cl_int>(slot));
  products_.enqueue({.global_0 = kHistoryGroup * size_of(plan_.history.slots()),
                     .local_0 = kHistoryGroup,
                     .global_1 = plan_.frequencies()});
}

void HistoryMaps::enqueue_upload(Decomposition decomposition) {
  uploaded_ = std::move(decomposition);
  device_.enqueue_write(vectors_, 0, std::span<const std::complex<float>>(uploaded_.vectors), das::kStage);
  device_.enqueue_write(coefficients_, 0, std::span<const float>(uploaded_.coefficients), das::kStage);
  device_.enqueue_write(loadings_, 0, std::span<const float>(uploaded_.loadings), das::kStage);
}

void HistoryMaps::enqueue_map(int first_slot, int held) {
  if (plan_.settings.method == Method::kCleanSc && plan_.settings.removes_own_noise()) {
    enqueue_signals(first_slot, held, plan_.settings.clean.iterations);
  } else if (plan_.settings.method == Method::kCleanSc) {
    enqueue_clean(first_slot, held, plan_.settings.clean.iterations);
  } else {
    enqueue_modes(first_slot, held);
  }
}

void HistoryMaps::enqueue_modes(int first_slot, int held) {
  if (plan_.settings.method == Method::kOrthogonal) {
    peaks_.set(peaks_arguments_, static_cast<cl_int>(first_slot), static_cast<cl_int>(held));
    peaks_.enqueue({.global_0 = kHistoryGroup * modes(), .local_0 = kHistoryGroup, .global_1 = plan_.frequencies()});
    map_.set(place_arguments_, static_cast<cl_int>(first_slot));
    map_.enqueue({.global_0 = ocl::round_up(plan_.pixels(), kHistoryGroup),
                  .local_0 = kHistoryGroup,
                  .global_1 = plan_.frequencies()});
    return;
  }
  const std::size_t used = std::min(modes(), size_of(held));
  map_.set(map_arguments_, static_cast<cl_int>(first_slot), static_cast<cl_int>(held), static_cast<cl_int>(used));
  map_.enqueue({.global_0 = das::pixel_stride(plan_) / size_of(das::lanes_of(device_.info())),
                .local_0 = map_group_,
                .global_1 = plan_.frequencies()});
}

/// Makes the uploaded signals, which replace the snapshots.
void HistoryMaps::enqueue_signals(int first_slot, int held, int iterations) {
  make_signals_.set(signals_arguments_, static_cast<cl_int>(first_slot), static_cast<cl_int>(held));
  make_signals_.enqueue({.global_0 = das::pixel_stride(plan_),
                         .local_0 = kHistoryGroup,
                         .global_1 = plan_.frequencies(),
                         .global_2 = uploaded_.signals});
  enqueue_clean(0, static_cast<int>(uploaded_.signals), iterations);
}

void HistoryMaps::enqueue_clean(int first_slot, int held, int iterations) {
  for (int step = 0; step < iterations; ++step) {
    const auto cl_step = static_cast<cl_int>(step);
    remove_.set(remove_arguments_, static_cast<cl_int>(first_slot), static_cast<cl_int>(held), cl_step);
    remove_.enqueue({.global_0 = das::pixel_stride(plan_), .local_0 = kHistoryGroup, .global_1 = plan_.frequencies()});
    find_.set(find_arguments_, static_cast<cl_int>(first_slot), static_cast<cl_int>(held), cl_step);
    find_.enqueue({.global_0 = kHistoryGroup, .local_0 = kHistoryGroup, .global_1 = plan_.frequencies()});
  }
}

void HistoryMaps::enqueue_nothing() {
  device_.enqueue_fill(published_, std::numeric_limits<float>::quiet_NaN(), das::kStage);
}

void HistoryMaps::run_once() {
  const int held = plan_.history.snapshots_of_map();
  device_.enqueue_fill(columns_, std::complex<float>(), das::kStage);
  if (plan_.settings.method == Method::kCleanSc && plan_.settings.removes_own_noise()) {
    const std::size_t all_signals = plan_.frequencies() * size_of(held);
    enqueue_upload({.vectors = std::vector<std::complex<float>>(all_signals * size_of(held)),
                    .coefficients = std::vector<float>(all_signals),
                    .loadings = std::vector<float>(plan_.frequencies()),
                    .signals = size_of(held)});
    enqueue_signals(0, held, 1);
  } else if (plan_.settings.method == Method::kCleanSc) {
    enqueue_clean(0, held, 1);
  } else {
    const std::size_t all_modes = plan_.frequencies() * modes();
    enqueue_upload({.vectors = std::vector<std::complex<float>>(all_modes * size_of(held)),
                    .coefficients = std::vector<float>(all_modes),
                    .loadings = std::vector<float>(plan_.frequencies())});
    enqueue_modes(0, held);
  }
  device_.wait();
}

void HistoryMaps::use_norms(double weight_sum) {
  levels_of_norms_.set(levels_argument_, static_cast<float>(weight_sum));
  levels_of_norms_.enqueue({.global_0 = das::pixel_stride(plan_), .local_0 = kHistoryGroup});
  device_.wait();
}

}  // namespace nearfield::history
