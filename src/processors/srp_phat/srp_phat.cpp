#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "cl/device.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/far_field/array.hpp"
#include "processors/far_field/subset.hpp"
#include "processors/srp_phat/cut.hpp"
#include "processors/srp_phat/tables.hpp"
#include "processors/srp_phat/tracks.hpp"

namespace nearfield {
namespace {

using far_field::Float4;

constexpr std::string_view kStage = "processors/srp_phat";
constexpr std::size_t kGroup = 256;
/// Channels per work-group of kernel srp_microphones.
constexpr std::size_t kChannelsOfGroup = 32;

/// Steered response power in either domain, its maxima and the sources over time.
class SrpPhat : public Processor {
 public:
  SrpPhat(const ocl::Device& device, const SrpPlan& plan, const std::optional<SrpCut>& cut)
      : Processor(header_of(plan)),
        device_(device),
        plan_(plan),
        history_(plan_),
        points_(refinement_points(plan_)),
        groups_((plan_.pixels() + kGroup - 1) / kGroup),
        cut_(cut ? *cut : SrpCut::for_device(device_.info(), plan_)),
        results_size_(2 + 3 * plan_.bins.size() + plan_.sources() * cut_.source_results() +
                      peeled_sources() * plan_.bins.size()),
        program_(device_.build(kStage, "processors/srp_phat.cl", srp::defines_of(device_.info(), plan_, cut_))),
        microphones_(program_.kernel("srp_microphones")),
        weights_(program_.kernel("srp_weights")),
        floor_(program_.kernel("srp_floor")),
        powers_kernel_(program_.kernel("srp_fd")),
        map_kernel_(program_.kernel("srp_map")),
        maximum_(program_.kernel("srp_maximum")),
        found_(program_.kernel("srp_found")),
        refine_(program_.kernel("srp_refine")),
        of_microphones_(microphones_.arguments("spectra")),
        of_weights_(weights_.arguments("spectra", "status")),
        of_floor_(floor_.arguments("windows")),
        of_map_(map_kernel_.arguments("map")),
        of_maximum_(maximum_.arguments("map", "found")),
        of_found_(found_.arguments("source")),
        of_refine_(refine_.arguments("first_source", "round", "fraction")),
        gains_(device_.upload<std::complex<float>>(far_field::gain_table(plan_.array), kStage)),
        bins_(device_.upload<std::int32_t>(srp::bins_of(plan_), kStage)),
        pixels_(device_.upload<Float4>(srp::pixels_of(plan_), kStage)),
        positions_(device_.upload<Float4>(srp::positions_of(plan_, cut_), kStage)),
        waves_(device_.upload<float>(srp::waves_of(plan_, cut_), kStage)),
        pairs_(device_.upload<std::int32_t>(srp::pair_table(plan_), kStage)),
        used_by_mask_on_host_(plan_.channels()),
        used_by_mask_(device_.allocate<std::uint32_t>(plan_.channels(), kStage)),
        floors_(device_.allocate<float>(plan_.bins.size(), kStage)),
        used_(device_.allocate<std::uint32_t>(batch() * plan_.channels(), kStage)),
        pressures_(device_.allocate<std::complex<float>>(batch() * cut_.phases(), kStage)),
        phases_(device_.allocate<std::complex<float>>(batch() * cut_.phases(), kStage)),
        powers_(device_.allocate<float>(batch() * power_parts() * cut_.pixel_stride, kStage)),
        rounds_(device_.allocate<float>(batch() * plan_.sources() * kRefinementRounds * cut_.round_results(), kStage)),
        best_values_(device_.allocate<float>(batch() * groups_, kStage)),
        best_indices_(device_.allocate<std::int32_t>(batch() * groups_, kStage)),
        maps_(device_.allocate<float>(batch() * plan_.pixels(), kStage)),
        maps_on_host_(device_.allocate_host<float>(plan_.settings.keep_map ? maps_.size() : 1, kStage)),
        results_(device_.allocate<float>(batch() * results_size_, kStage)),
        results_on_host_(device_.allocate_host<float>(results_.size(), kStage)),
        taken_(device_.allocate<std::uint32_t>(batch() * kStatusWords, kStage)),
        status_on_host_(device_.allocate_host<std::uint32_t>(taken_.size(), kStage)),
        tables_(batch(), std::vector<std::byte>(header().bytes(header().products[0]))),
        is_made_(batch()) {
    bind();
    forget_floors();
    if (plan_.is_time) {
      lags_.emplace(device_, plan_, cut_, LagSizes(device_.info(), plan_, cut_), program_,
                    SrpLags::Buffers{pixels_, positions_, pairs_, phases_, powers_});
    }
    if (plan_.peels()) {
      allocate_remainder();
    }
    device_.enqueue_fill(pressures_, std::complex<float>(), kStage);
    device_.enqueue_fill(phases_, std::complex<float>(), kStage);
    window_.bin_powers.resize(plan_.bins.size());
    window_.bin_spreads.resize(plan_.bins.size());
    window_.maxima.resize(plan_.sources());
    for (SrpMaximum& maximum : window_.maxima) {
      maximum.powers.resize(points_);
      maximum.remaining_powers.resize(plan_.peels() && &maximum != window_.maxima.data() ? plan_.bins.size() : 0);
    }
    use(make_mask(plan_.array, {}));
  }
  void enqueue(const BatchInput& input) override {
    const std::size_t windows = input.windows;
    std::fill(is_made_.begin(), is_made_.end(), false);
    microphones_.set(of_microphones_, input.spectra);
    microphones_.enqueue({.global_0 = ocl::round_up(plan_.channels(), kChannelsOfGroup) / kChannelsOfGroup * kGroup,
                          .local_0 = kGroup,
                          .global_1 = windows});
    weights_.set(of_weights_, input.spectra, input.status);
    weights_.enqueue({.global_0 = plan_.bins.size() * kGroup, .local_0 = kGroup, .global_1 = windows});
    if (plan_.settings.weights == SrpWeights::kSnr) {
      floor_.set(of_floor_, static_cast<cl_int>(windows));
      floor_.enqueue({.global_0 = plan_.bins.size() * kGroup, .local_0 = kGroup});
    }
    enqueue_map(maps_, windows);
    if (plan_.peels()) {
      enqueue_peeled_search(windows);
    } else {
      for (std::size_t source = 0; source < plan_.sources(); ++source) {
        enqueue_search(maps_, source, windows);
      }
      enqueue_refinement(0, plan_.sources(), windows);
    }
    device_.enqueue_read(taken_, status_on_host_.values().first(windows * kStatusWords), kStage);
    device_.enqueue_read(results_, results_on_host_.values().first(windows * results_size_), kStage);
    if (plan_.settings.keep_map) {
      device_.enqueue_read(maps_, maps_on_host_.values().first(windows * plan_.pixels()), kStage);
    }
  }
  /// Makes the table on the first call for a window.
  WindowProducts products(const WindowToRead& of) override {
    const std::size_t window = of.window;
    if (!is_made_[window]) {
      read_results(window);
      history_.add(window_, of.stamp, tables_[window]);
      status_on_host_.values()[window * kStatusWords] |= seems_common(plan_, window_) ? kFlagCommonToAll : 0U;
      is_made_[window] = true;
    }
    products_[0] = tables_[window];
    if (plan_.settings.keep_map) {
      products_[1] = std::as_bytes(maps_on_host_.values().subspan(window * plan_.pixels(), plan_.pixels()));
    }
    return {.products = std::span(products_).first(header().products.size())};
  }
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t /*place*/) const override {
    return status_on_host_.values();
  }
  void use(const MicrophoneMask& mask) final {
    std::fill(used_by_mask_on_host_.begin(), used_by_mask_on_host_.end(), 1U);
    for (const std::int32_t channel : mask.channels) {
      used_by_mask_on_host_[static_cast<std::size_t>(channel)] = 0U;
    }
    device_.enqueue_write(used_by_mask_, 0, std::span<const std::uint32_t>(used_by_mask_on_host_), kStage);
    device_.wait();
  }
  void forget() override {
    history_.forget();
    forget_floors();
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}, {} pixels, {} microphones, {} bins",
                       plan_.is_time ? fmt::format("srp_td of {} pairs", plan_.pairs.size()) : "srp_fd", plan_.pixels(),
                       plan_.channels(), plan_.bins.size());
  }

 private:
  [[nodiscard]] std::size_t batch() const { return static_cast<std::size_t>(plan_.batch); }
  /// Number of sources that are removed from the spectra.
  [[nodiscard]] std::size_t peeled_sources() const { return plan_.peels() ? plan_.sources() - 1 : 0; }
  void forget_floors() {
    constexpr float kNone = -1.0F;
    device_.enqueue_fill(floors_, kNone, kStage);
  }
  [[nodiscard]] std::size_t power_parts() const {
    return plan_.is_time ? LagSizes(device_.info(), plan_, cut_).parts : cut_.parts;
  }
  /// Sets the constant arguments.
  void bind() {
    microphones_.set("used_by_mask", used_by_mask_).set("bins", bins_).set("used", used_);
    weights_.set("gains", gains_).set("bins", bins_).set("pairs", pairs_).set("used", used_).set("taken", taken_);
    weights_.set("pressures", pressures_).set("phases", phases_).set("results", results_);
    floor_.set("phases", phases_).set("results", results_).set("floors", floors_);
    powers_kernel_.set("pixels", pixels_).set("positions", positions_).set("waves_per_m", waves_);
    powers_kernel_.set("phases", phases_).set("powers", powers_);
    map_kernel_.set("powers", powers_).set("results", results_);
    map_kernel_.set("best_values", best_values_).set("best_indices", best_indices_);
    maximum_.set("pixels", pixels_).set("results", results_);
    maximum_.set("best_values", best_values_).set("best_indices", best_indices_);
    found_.set("pixels", pixels_).set("best_values", best_values_).set("best_indices", best_indices_);
    found_.set("results", results_);
    refine_.set("positions", positions_).set("waves_per_m", waves_).set("phases", phases_);
    refine_.set("pressures", pressures_).set("results", results_).set("rounds", rounds_);
  }
  void allocate_remainder() {
    peel_ = program_.kernel("srp_peel");
    of_peel_ = peel_.arguments("source");
    peeled_ = device_.allocate<std::complex<float>>(batch() * peeled_sources() * cut_.phases(), kStage);
    remaining_maps_ = device_.allocate<float>(batch() * plan_.pixels(), kStage);
    peel_.set("positions", positions_).set("waves_per_m", waves_).set("pressures", pressures_);
    peel_.set("phases", phases_).set("results", results_).set("peeled", peeled_);
  }
  void enqueue_map(ocl::Buffer<float>& map, std::size_t windows) {
    if (lags_) {
      lags_->enqueue(windows);
    } else {
      powers_kernel_.enqueue(
          {.global_0 = cut_.map_items(), .local_0 = cut_.group, .global_1 = cut_.parts, .global_2 = windows});
    }
    map_kernel_.set(of_map_, map);
    map_kernel_.enqueue({.global_0 = groups_ * kGroup, .local_0 = kGroup, .global_1 = windows});
  }
  /// Searches one source after the other, each in the remainder of the earlier ones.
  void enqueue_peeled_search(std::size_t windows) {
    for (std::size_t source = 0; source < plan_.sources(); ++source) {
      if (source > 0) {
        peel_.set(of_peel_, static_cast<cl_int>(source - 1));
        peel_.enqueue({.global_0 = plan_.bins.size() * kGroup, .local_0 = kGroup, .global_1 = windows});
        enqueue_map(remaining_maps_, windows);
      }
      enqueue_search(source == 0 ? maps_ : remaining_maps_, source, windows);
      enqueue_refinement(source, 1, windows);
    }
  }
  void enqueue_search(const ocl::Buffer<float>& map, std::size_t source, std::size_t windows) {
    if (source > 0) {
      maximum_.set(of_maximum_, map, static_cast<cl_int>(source));
      maximum_.enqueue({.global_0 = groups_ * kGroup, .local_0 = kGroup, .global_1 = windows});
    }
    found_.set(of_found_, static_cast<cl_int>(source));
    found_.enqueue({.global_0 = kGroup, .local_0 = kGroup, .global_1 = windows});
  }
  /// Each launch finds the best point of the previous one; the last one also finds the beam's power.
  void enqueue_refinement(std::size_t first_source, std::size_t sources, std::size_t windows) {
    const int rounds = plan_.dimensions > 0 ? kRefinementRounds : 0;
    for (int round = 0; round <= rounds; ++round) {
      const bool is_last = round == rounds;
      const double fraction = is_last ? kCurvatureFraction : std::ldexp(1.0, -round - 1);
      refine_.set(of_refine_, static_cast<cl_int>(first_source), static_cast<cl_int>(round),
                  static_cast<float>(fraction));
      refine_.enqueue({.global_0 = cut_.point_group * (cut_.point_vectors + (is_last ? 1 : 0)),
                       .local_0 = cut_.point_group,
                       .global_1 = cut_.tiles * sources,
                       .global_2 = windows});
    }
  }
  /// Fills window_.
  void read_results(std::size_t window) {
    const std::span<const float> results = results_on_host_.values().subspan(window * results_size_, results_size_);
    window_.microphones = static_cast<double>(results[0]);
    std::copy_n(results.begin() + 2, plan_.bins.size(), window_.bin_powers.begin());
    std::size_t at = 2 + plan_.bins.size();
    for (double& spread : window_.bin_spreads) {
      spread = std::max(window_.microphones * static_cast<double>(results[at++]) - 1.0, 0.0);
    }
    at += plan_.bins.size();
    std::size_t remainders = at + plan_.sources() * cut_.source_results();
    for (SrpMaximum& maximum : window_.maxima) {
      for (double& power : maximum.remaining_powers) {
        power = static_cast<double>(results[remainders++]);
      }
      const double scale = scale_of(plan_, window_.microphones, bin_powers_of(window_, maximum));
      read_maximum(results.subspan(at, cut_.source_results()), scale, maximum);
      at += cut_.source_results();
    }
  }
  void read_maximum(std::span<const float> results, double scale, SrpMaximum& maximum) const {
    maximum.place = {static_cast<double>(results[5]), static_cast<double>(results[6]), static_cast<double>(results[7])};
    const std::span<const float> levels = results.subspan(SrpCut::kSourceHead, cut_.tiles);
    maximum.beam_power = std::accumulate(levels.begin(), levels.end(), 0.0);
    std::fill(maximum.powers.begin(), maximum.powers.end(), 0.0);
    for (std::size_t tile = 0; tile < cut_.tiles; ++tile) {
      const std::span<const float> of_tile =
          results.subspan(SrpCut::kSourceHead + cut_.tiles + tile * cut_.points, points_);
      for (std::size_t point = 0; point < points_; ++point) {
        maximum.powers[point] += static_cast<double>(of_tile[point]) / scale;
      }
    }
  }

  ocl::Device device_;
  SrpPlan plan_;
  SrpHistory history_;
  std::size_t points_;  ///< number in refinement
  std::size_t groups_;  ///< groups of pixels
  SrpCut cut_;
  std::size_t results_size_;  ///< results of a window
  ocl::Program program_;
  ocl::Kernel microphones_;
  ocl::Kernel weights_;
  ocl::Kernel floor_;
  ocl::Kernel powers_kernel_;
  ocl::Kernel map_kernel_;
  ocl::Kernel maximum_;
  ocl::Kernel found_;
  ocl::Kernel refine_;
  ocl::Arguments<1> of_microphones_;
  ocl::Arguments<2> of_weights_;
  ocl::Arguments<1> of_floor_;
  ocl::Arguments<1> of_map_;
  ocl::Arguments<2> of_maximum_;
  ocl::Arguments<1> of_found_;
  ocl::Arguments<3> of_refine_;
  ocl::Buffer<std::complex<float>> gains_;
  ocl::Buffer<std::int32_t> bins_;
  ocl::Buffer<Float4> pixels_;
  ocl::Buffer<Float4> positions_;
  ocl::Buffer<float> waves_;
  ocl::Buffer<std::int32_t> pairs_;
  std::vector<std::uint32_t> used_by_mask_on_host_;
  ocl::Buffer<std::uint32_t> used_by_mask_;
  ocl::Buffer<float> floors_;
  ocl::Buffer<std::uint32_t> used_;
  ocl::Buffer<std::complex<float>> pressures_;
  ocl::Buffer<std::complex<float>> phases_;
  ocl::Buffer<float> powers_;
  std::optional<SrpLags> lags_;  ///< only in the time domain
  ocl::Buffer<float> rounds_;
  ocl::Buffer<float> best_values_;
  ocl::Buffer<std::int32_t> best_indices_;
  ocl::Buffer<float> maps_;
  ocl::HostBuffer<float> maps_on_host_;  ///< [window][pixel]
  // Used to peel sources:
  ocl::Kernel peel_;
  ocl::Arguments<1> of_peel_;
  ocl::Buffer<std::complex<float>> peeled_;
  ocl::Buffer<float> remaining_maps_;  ///< layout of maps_
  ocl::Buffer<float> results_;
  ocl::HostBuffer<float> results_on_host_;  ///< layout of the kernel
  ocl::Buffer<std::uint32_t> taken_;
  ocl::HostBuffer<std::uint32_t> status_on_host_;
  SrpWindow window_;                            ///< window in use
  std::vector<std::vector<std::byte>> tables_;  ///< [window]
  std::vector<bool> is_made_;                   ///< [window], whether its table is made
  std::array<std::span<const std::byte>, 2> products_;
};

std::optional<SubsetSettings> subset_of_srp(const ProcessorPlan& plan) {
  return dynamic_cast<const SrpPhatSettings&>(*plan.own).subset;
}

}  // namespace

std::unique_ptr<Processor> make_srp_phat(const ocl::Device& device, const ProcessorPlan& plan, const SrpCut& cut) {
  return std::make_unique<SrpPhat>(device, SrpPlan(plan), cut);
}

ProcessorEntry srp_phat_entry() {
  return {.kind = "srp_phat",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return far_field::on_subset(device, plan, subset_of_srp(plan),
                                        [](const ocl::Device& on, const ProcessorPlan& part) {
                                          return std::make_unique<SrpPhat>(on, SrpPlan(part), std::nullopt);
                                        });
          },
          .make_reference = [](const ProcessorPlan& plan) -> std::unique_ptr<reference::Processor> {
            return far_field::on_subset_reference(plan, subset_of_srp(plan), make_srp_phat_reference);
          },
          .remarks = [](const ProcessorPlan& plan) { return far_field::remarks_of(plan, subset_of_srp(plan)); },
          .work =
              [](const ProcessorPlan& plan) {
                return work_of(SrpPlan(far_field::PlanOfSubset(plan, subset_of_srp(plan)).plan));
              }};
}

}  // namespace nearfield
