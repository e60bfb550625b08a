#include "processors/beamform/history/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/das_path.hpp"
#include "processors/beamform/history/decomposition.hpp"
#include "processors/beamform/history/history_maps.hpp"
#include "processors/beamform/publisher.hpp"
#include "processors/beamform/snapshots.hpp"

namespace nearfield::history {
namespace {

/// Plan of the beams for the products of history.cl: always formulation IV, whatever the maps have.
BeamformPlan plan_of_beams(BeamformPlan plan) {
  plan.settings.steering.formulation = far_field::Formulation::kTrueLocation;
  return plan;
}

/// A map that has begun.
struct Begun {
  int first_slot = 0;
  int held = 0;
  double effective = 0.0;
};

class History : public Processor {
 public:
  History(const ocl::Device& device, const BeamformPlan& plan)
      : Processor(header_of(plan)),
        device_(device),
        plan_(plan),
        das_(device_, plan_of_beams(plan_), das::pixel_stride(plan_)),
        maps_(device_, plan_, das_),
        products_row_(device_.allocate_host<std::complex<float>>(batch() * maps_.row_values(), das::kStage)),
        snapshots_on_host_(device_.allocate_host<std::complex<float>>(
            plan_.settings.removes_own_noise() ? batch() * snapshot_values() : 1, das::kStage)),
        products_(plan_.frequencies() * slots() * slots()),
        snapshots_(plan_.settings.removes_own_noise() ? slots() * snapshot_values() : 0),
        losses_(LossesOfHistory(plan_.history)),
        publisher_(device_, plan_, das_, maps_.published()) {
    use(make_mask(plan_.array, {}));
    maps_.run_once();
    forget();
  }
  void enqueue(const BatchInput& input) override {
    if (!rows_.empty()) {
      if (!has_waited_) {
        device_.wait();
      }
      absorb();
    }
    das_.enqueue_microphones(input.spectra, input.status, input.windows);
    losses_.begin();
    for (std::size_t window = 0; window < input.windows; ++window) {
      enqueue_window(window);
      publisher_.give_to(window);
    }
    has_waited_ = false;
  }
  WindowProducts products(const WindowToRead& of) override {
    has_waited_ = true;
    absorb();
    losses_.stamp(of);
    if (of.is_last) {
      publish_last(of.window);
    }
    return {.products = publisher_.products(of.window), .missing_bit_times = losses_.missing_bit_times(of.window)};
  }
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t /*place*/) const override {
    return das_.host_status();
  }
  void use(const MicrophoneMask& mask) final {
    das_.use(mask);
    const std::span<const float> shading = das_.shading();
    weight_sum_ = std::accumulate(shading.begin(), shading.end(), 0.0);
    microphones_ = static_cast<std::size_t>(
        std::count_if(shading.begin(), shading.end(), [](float weight) { return weight > 0.0F; }));
    maps_.use_norms(weight_sum_);
    publisher_.use(mask);
    drop_snapshots();
  }
  void forget() final {
    drop_snapshots();
    losses_.held().forget();
    maps_.enqueue_nothing();
    publisher_.publish(0.0);
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} of {} snapshots, {}", name_of(plan_.settings.method), plan_.history.snapshots_of_map(),
                       das_.description());
  }

 private:
  /// Brings the published maps up to this window; maps that were begun are not affected.
  void publish_last(std::size_t window) {
    if (!plan_.history.has_enough()) {
      return;
    }
    const int held = plan_.history.held();
    const Begun last{
        .first_slot = plan_.history.first_slot(), .held = held, .effective = plan_.snapshots.effective_of(held)};
    if (plan_.history.lag() > 0) {
      maps_.enqueue_upload(decompose(plan_.settings, products_of(last), plan_.frequencies()));
    }
    maps_.enqueue_map(last.first_slot, last.held);
    publisher_.publish(last.effective);
    publisher_.give_to(window);
    losses_.publish_held(window);
    device_.wait();
  }
  [[nodiscard]] std::size_t batch() const { return static_cast<std::size_t>(plan_.batch); }
  [[nodiscard]] std::size_t slots() const { return static_cast<std::size_t>(plan_.history.slots()); }
  [[nodiscard]] std::size_t snapshot_values() const { return plan_.frequencies() * plan_.channels(); }
  /// Drops the snapshots: those of another mask have other norms.
  void drop_snapshots() {
    plan_.history.forget();
    losses_.held().drop_snapshots();
    begun_.reset();
    abandon_decomposition();
    rows_.clear();
  }
  /// A future of std::async blocks in its destructor. Keep this one: its thread may go on, because it has copies of all
  /// that it reads.
  void abandon_decomposition() {
    std::erase_if(abandoned_, [](const std::future<Decomposition>& one) {
      return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (decomposition_.valid()) {
      abandoned_.push_back(std::move(decomposition_));
    }
  }
  void enqueue_window(std::size_t window) {
    const HistorySchedule::Step step = plan_.history.next();
    losses_.next(step);
    if (!step.is_snapshot) {
      return;
    }
    const bool is_late = plan_.history.lag() > 0;
    if (step.publishes && is_late) {
      enqueue_map();
    }
    const auto slot = static_cast<std::size_t>(plan_.history.slot());
    das_.enqueue_maps(window, 1, slot);
    if (is_late) {  // otherwise no map needs products
      const std::size_t place = rows_.size() * maps_.row_values();
      maps_.enqueue_products(window, slot);
      device_.enqueue_read(maps_.row(), products_row_.values().subspan(place, maps_.row_values()), das::kStage);
      if (!snapshots_.empty()) {
        maps_.enqueue_snapshot_read(
            slot, snapshots_on_host_.values().subspan(rows_.size() * snapshot_values(), snapshot_values()));
      }
      rows_.push_back(slot);
    }
    if (step.begins) {
      const int held = plan_.history.held();
      begun_ = Begun{
          .first_slot = plan_.history.first_slot(), .held = held, .effective = plan_.snapshots.effective_of(held)};
      is_decomposing_ = false;
    }
    if (step.publishes && !is_late) {
      enqueue_map();
    }
  }
  void enqueue_map() {
    if (plan_.history.lag() > 0) {
      if (!is_decomposing_) {  // begun by a window of the same batch
        device_.wait();
        absorb();
      }
      maps_.enqueue_upload(decomposition_.get());
    }
    maps_.enqueue_map(begun_->first_slot, begun_->held);
    publisher_.publish(begun_->effective);
  }
  /// Adds the products read back so far, and starts decomposing the begun map on its own thread.
  void absorb() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto row = products_row_.values().subspan(i * maps_.row_values(), maps_.row_values());
      for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
        std::complex<double>* const matrix = products_.data() + f * slots() * slots();
        for (std::size_t other = 0; other < slots(); ++other) {
          const std::complex<double> product(row[f * slots() + other]);
          matrix[other * slots() + rows_[i]] = product;
          matrix[rows_[i] * slots() + other] = std::conj(product);
        }
      }
    }
    for (std::size_t i = 0; i < rows_.size() && !snapshots_.empty(); ++i) {
      std::copy_n(snapshots_on_host_.values().begin() + static_cast<std::ptrdiff_t>(i * snapshot_values()),
                  snapshot_values(), snapshots_.begin() + static_cast<std::ptrdiff_t>(rows_[i] * snapshot_values()));
    }
    rows_.clear();
    if (begun_ && !is_decomposing_ && plan_.history.lag() > 0) {
      is_decomposing_ = true;
      decomposition_ = std::async(std::launch::async, [settings = plan_.settings, products = products_of(*begun_),
                                                       frequencies = plan_.frequencies()] {
        return decompose(settings, products, frequencies);
      });
    }
  }
  [[nodiscard]] SnapshotProducts products_of(const Begun& begun) const {
    const auto held = static_cast<std::size_t>(begun.held);
    const auto first = static_cast<std::size_t>(begun.first_slot);
    SnapshotProducts products{.held = held, .microphones = microphones_, .weight_sum = weight_sum_, .of_columns = {}};
    products.channels = plan_.channels();
    for (std::size_t f = 0; f < plan_.frequencies() && !snapshots_.empty(); ++f) {
      for (std::size_t i = 0; i < held; ++i) {
        const std::size_t slot = (first + i) % slots();
        const auto column =
            snapshots_.begin() + static_cast<std::ptrdiff_t>((slot * plan_.frequencies() + f) * plan_.channels());
        products.columns.insert(products.columns.end(), column, column + static_cast<std::ptrdiff_t>(plan_.channels()));
      }
    }
    for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
      for (std::size_t i = 0; i < held; ++i) {
        for (std::size_t j = 0; j < held; ++j) {
          products.of_columns.push_back(
              products_[(f * slots() + (first + i) % slots()) * slots() + (first + j) % slots()]);
        }
      }
    }
    return products;
  }

  ocl::Device device_;
  BeamformPlan plan_;
  das::Maps das_;
  HistoryMaps maps_;
  ocl::HostBuffer<std::complex<float>> products_row_;       ///< [snapshot of an enqueue()][frequency][slot]
  ocl::HostBuffer<std::complex<float>> snapshots_on_host_;  ///< [snapshot of an enqueue()][frequency][channel]
  std::vector<std::size_t> rows_;                           ///< slots of the rows that absorb() takes next
  std::vector<std::complex<double>> products_;              ///< [frequency][slot][slot]
  /// [slot][frequency][channel], only with removal of microphones' own noise.
  std::vector<std::complex<float>> snapshots_;
  StampedLosses<LossesOfHistory> losses_;
  double weight_sum_ = 0.0;
  std::size_t microphones_ = 0;
  std::optional<Begun> begun_;
  bool is_decomposing_ = false;
  bool has_waited_ = false;
  std::future<Decomposition> decomposition_;
  std::vector<std::future<Decomposition>> abandoned_;  ///< for dropped snapshots
  das::Publisher publisher_;
};

}  // namespace

std::unique_ptr<Processor> make(const ocl::Device& device, const BeamformPlan& plan) {
  return std::make_unique<History>(device, plan);
}

}  // namespace nearfield::history
