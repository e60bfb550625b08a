#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "engine/engine_parts.hpp"
#include "frontend/front_end_reference.hpp"
#include "frontend/samples/samples_reference.hpp"

namespace nearfield {
namespace {

/// Works on the host in one thread, whatever devices the settings name: it is the reference that their results are
/// compared with, independent of the device.
class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EnginePlan& plan) : Engine(plan), inputs_(taps().size()) {
    for (std::size_t t = 0; t < taps().size(); ++t) {
      inputs_[t].front_end =
          make_front_end_of(taps()[t], [](const FrontEndPlan& p) { return reference::make_front_end(p); });
      if (inputs_[t].front_end) {
        taps()[t].name = taps()[t].plan.settings.kind;
      }
    }
    make_samples();
    for (const Wanted& wanted : wanted_processors()) {
      std::unique_ptr<reference::Processor> made = processor_entry(wanted.kind).make_reference(wanted.plan);
      add_results(wanted, *made);
      runs_.push_back({.processor = std::move(made), .outcomes = {}});
    }
  }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    push(first_sample, wire, words_per_sample(),
         [](auto& to, const Piece<std::uint32_t>& piece) { to.push_bits(piece.first, piece.values); });
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    push(first_sample, in_channel_order(samples), static_cast<std::size_t>(array_plan().geometry.channels()),
         [](auto& to, const Piece<float>& piece) { to.push_samples(piece.first, piece.values); });
  }
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override {
    room_.resize(wire_words);
    return room_;
  }
  [[nodiscard]] bool is_under_way(std::size_t /*processor*/) override { return false; }
  void finish_late() override {}
  [[nodiscard]] std::string description(std::size_t /*processor*/) const override { return "reference"; }

 private:
  [[nodiscard]] std::string device_name_of(std::size_t /*device*/) const override {
    return "reference (double precision on the host)";
  }
  struct Run {
    std::unique_ptr<reference::Processor> processor;
    std::vector<reference::Outcome> outcomes;  ///< [window], without those that its tap lacks
  };
  void enqueue(BatchState& batch) override {
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      if (taps()[t].every_hops == 1) {
        analyse(batch, t);
      }
    }
    run_prompt(batch);
  }
  void enqueue(BatchState& batch, std::span<const std::complex<float>> spectra) override {
    inputs_.front().spectra.assign(spectra.begin(), spectra.end());
    inputs_.front().flags.assign(batch.statuses.size(), 0U);
    batch.taps.front().is_enqueued = true;
    run_prompt(batch);
  }
  void wait_for(BatchState& /*batch*/) override {}
  void enqueue_late(const std::shared_ptr<BatchState>& batch, std::span<const std::size_t> processors) override {
    for (const std::size_t p : processors) {
      if (!batch->taps[tap_of(p)].is_enqueued) {
        analyse(*batch, tap_of(p));
      }
      run(*batch, p);
    }
  }
  void run_again(BatchState& batch, std::size_t processor) override { run(batch, processor); }
  void copy_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override {
    const auto first = inputs_.front().spectra.begin() + static_cast<std::ptrdiff_t>(window * spectra.size());
    std::transform(first, first + static_cast<std::ptrdiff_t>(spectra.size()), spectra.begin(),
                   [](const std::complex<double>& value) { return std::complex<float>(value); });
  }
  [[nodiscard]] std::uint32_t flags(const BatchState& /*batch*/, std::size_t processor,
                                    std::size_t present) const override {
    const Tap& tap = taps()[tap_of(processor)];
    const std::uint32_t of_part = has_subset(processor) ? std::uint32_t{kFlagWavenumberAboveNyquist} : 0U;
    return runs_.at(processor).outcomes.at(present).flags | (tap.constant_flags & ~of_part);
  }
  [[nodiscard]] int non_finite_microphones(const BatchState& /*batch*/, std::size_t processor,
                                           std::size_t present) const override {
    return runs_.at(processor).outcomes.at(present).non_finite_microphones;
  }
  /// A tap's front end and its latest results.
  struct Input {
    std::unique_ptr<reference::FrontEnd> front_end;  ///< null for given spectra
    std::vector<std::complex<double>> spectra;       ///< [window][frequency][channel], without the absent ones
    std::vector<std::uint32_t> flags;                ///< [window], likewise: the front end's
  };
  /// Gives the samples and the front ends their parts of pushed values by `to_part(part, piece)`.
  template <typename Value, typename ToPart>
  void push(std::uint64_t first_sample, std::span<const Value> values, std::size_t per_sample, const ToPart& to_part) {
    const auto push_to = [&](auto& part, std::uint64_t begin) {
      const Piece<Value> piece = piece_from(begin, first_sample, values, per_sample);
      if (part && !piece.values.empty()) {
        to_part(*part, piece);
      }
    };
    push_to(samples_, samples_begin(0));
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      push_to(inputs_[t].front_end, taps()[t].begin);
    }
  }
  /// Makes the samples for processors; front ends have their own.
  void make_samples() {
    const std::vector<Wanted> wanted = wanted_processors();
    if (std::any_of(wanted.begin(), wanted.end(), [](const Wanted& one) { return one.needs.sample_window > 0; })) {
      const std::optional<SampleTap> tap = sample_tap(0);
      samples_.emplace(tap->plan, tap->longest_window);
    }
  }
  /// Computes the spectra of a batch's windows.
  void analyse(BatchState& batch, std::size_t tap) {
    Input& input = inputs_[tap];
    BatchState::Tap& windows = batch.taps[tap];
    windows.is_enqueued = true;
    input.spectra.clear();
    input.flags.assign(windows.present, 0U);
    for (std::size_t i = 0; i < windows.present && input.front_end; ++i) {
      const std::vector<std::complex<double>> one = input.front_end->spectra(window_of(batch, tap, i).first);
      input.spectra.insert(input.spectra.end(), one.begin(), one.end());
      input.flags[i] = input.front_end->clipped() ? kFlagClipped : 0U;
    }
  }
  void run_prompt(BatchState& batch) {
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (!is_late(p)) {
        run(batch, p);
      }
    }
    std::vector<WindowStatus>& statuses = batch.taps.front().statuses;
    std::size_t first = 0;
    while (first < runs_.size() &&
           (is_late(first) || tap_of(first) != 0 || has_subset(first) || sample_window(first) > 0)) {
      ++first;
    }
    const bool has_first = first < runs_.size();
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      statuses[i] = {
          .flags = has_first ? flags(batch, first, i) : inputs_.front().flags[i] | taps().front().constant_flags,
          .non_finite_microphones = has_first ? runs_[first].outcomes[i].non_finite_microphones : 0};
    }
  }
  /// Computes a processor's products of a batch.
  void run(BatchState& batch, std::size_t processor) {
    Run& one = runs_[processor];
    const std::size_t tap = tap_of(processor);
    const BatchState::Tap& windows = batch.taps[tap];
    const std::span<const std::complex<double>> spectra = inputs_[tap].spectra;
    const std::uint64_t samples = sample_window(processor);
    note_begun(batch, processor);
    const FrameHops hops = hops_without(batch, windows.absent);
    std::vector<reference::WindowInput> inputs;
    for (std::size_t i = 0; i < windows.present; ++i) {
      const std::size_t values = spectra.size() / windows.present;
      reference::WindowInput& input = inputs.emplace_back();
      input.spectra = spectra.subspan(i * values, values);
      input.hop = hops.first + i;
      input.is_whole = hops.incomplete.empty() || hops.incomplete[i] == 0;
      if (samples > 0) {
        input.samples = samples_->window(window_of(batch, tap, i).end - samples, samples);
      }
    }
    one.outcomes = one.processor->compute(inputs);
    for (std::size_t i = 0; i < one.outcomes.size(); ++i) {
      one.outcomes[i].flags |= inputs_[tap].flags[i];
    }
  }
  std::optional<reference::DecimatedSamples> samples_;  ///< for processors; none where none needs them
  std::vector<Input> inputs_;                           ///< [tap]
  std::vector<Run> runs_;                               ///< [processor]
  std::vector<std::uint32_t> room_;
};

}  // namespace

std::unique_ptr<Engine> make_reference_engine(const EnginePlan& plan) {
  return std::make_unique<ReferenceEngine>(plan);
}

}  // namespace nearfield
