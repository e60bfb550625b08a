#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "engine/engine_parts.hpp"
#include "frontend/front_end_reference.hpp"
#include "frontend/samples/decimated_samples_reference.hpp"

namespace nearfield {
namespace {

/// Works on the host in one thread, whatever devices the settings name: it is the reference that their results are
/// compared with, independent of the device.
class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EnginePlan& plan)
      : Engine(plan),
        hop_samples_(static_cast<std::uint64_t>(plan.settings.front_end.hop_samples)),
        inputs_(taps().size()) {
    for (std::size_t t = 0; t < taps().size(); ++t) {
      make_input(t);
    }
    make_samples();
    for (const Wanted& wanted : wanted_processors()) {
      std::unique_ptr<reference::Processor> made = processor_entry(wanted.kind).make_reference(wanted.plan);
      add_results(wanted, *made);
      runs_.push_back({.processor = std::move(made),
                       .sample_window = static_cast<std::size_t>(wanted.needs.sample_window),
                       .outcomes = {}});
    }
  }
  void seek(std::uint64_t first_window, std::uint64_t origin) override {
    const std::vector<std::uint64_t> begins = begin_taps(first_window, origin);
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      inputs_[t].begin = begins[t];
    }
    samples_begin_ = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      samples_begin_ = taps()[t].wants_samples ? std::min(samples_begin_, begins[t]) : samples_begin_;
    }
  }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    const std::size_t words =
        static_cast<std::size_t>(kBitsPerWord) *
        static_cast<std::size_t>(words_per_bit_time(plan().settings.array.layout, plan().settings.array.geometry));
    if (samples_) {
      const Piece<std::uint32_t> piece = piece_from(samples_begin_, first_sample, wire, words);
      if (!piece.values.empty()) {
        samples_->push_bits(piece.first, piece.values);
      }
    }
    for (Input& input : inputs_) {
      if (const Piece<std::uint32_t> piece = piece_from(input.begin, first_sample, wire, words);
          input.front_end && !piece.values.empty()) {
        input.front_end->push_bits(piece.first, piece.values);
      }
    }
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> pushed) override {
    const std::span<const float> samples = in_channel_order(pushed);
    const auto channels = static_cast<std::size_t>(array_plan().geometry.channels());
    if (samples_) {
      const Piece<float> piece = piece_from(samples_begin_, first_sample, samples, channels);
      if (!piece.values.empty()) {
        samples_->push_samples(piece.first, piece.values);
      }
    }
    for (Input& input : inputs_) {
      if (const Piece<float> piece = piece_from(input.begin, first_sample, samples, channels);
          input.front_end && !piece.values.empty()) {
        input.front_end->push_samples(piece.first, piece.values);
      }
    }
  }
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override {
    room_.resize(wire_words);
    return room_;
  }
  [[nodiscard]] bool is_under_way(std::size_t /*processor*/) override { return false; }
  void finish_late() override {}
  [[nodiscard]] std::string imager_name() const override {
    return runs_.empty() ? std::string(kNoProcessor) : "reference";
  }

 private:
  [[nodiscard]] std::string device_name_of(std::size_t /*device*/) const override {
    return "reference (double precision on the host)";
  }
  struct Run {
    std::unique_ptr<reference::Processor> processor;
    std::size_t sample_window = 0;             ///< decimated samples per window that it works on; 0: none
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
    batch.taps.front().present = batch.statuses.size();
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
  void compute_again(BatchState& batch) override { run(batch, 0); }
  void copy_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override {
    const auto first = inputs_.front().spectra.begin() + static_cast<std::ptrdiff_t>(window * spectra.size());
    std::transform(first, first + static_cast<std::ptrdiff_t>(spectra.size()), spectra.begin(),
                   [](const std::complex<double>& value) { return std::complex<float>(value); });
  }
  [[nodiscard]] std::uint32_t flags(const BatchState& /*batch*/, std::size_t processor,
                                    std::size_t present) const override {
    const Tap& tap = taps()[tap_of(processor)];
    const Run& of = runs_.at(processor);
    const std::uint32_t of_part = of.processor->subset().empty() ? 0U : std::uint32_t{kFlagWavenumberAboveNyquist};
    return of.outcomes.at(present).flags | (tap.constant_flags & ~of_part);
  }
  [[nodiscard]] int non_finite_microphones(const BatchState& /*batch*/, std::size_t processor,
                                           std::size_t present) const override {
    return runs_.at(processor).outcomes.at(present).non_finite_microphones;
  }
  /// A tap's front end and its latest results.
  struct Input {
    std::unique_ptr<reference::FrontEnd> front_end;  ///< null for given spectra
    std::uint64_t begin = 0;                         ///< pushed samples before this one are not for this tap
    std::vector<std::complex<double>> spectra;       ///< [window][frequency][channel], without the absent ones
    std::vector<std::uint32_t> flags;                ///< [window], likewise: the front end's
  };
  void make_input(std::size_t tap) {
    Tap& description = taps()[tap];
    if (plan().input == InputForm::kSpectra) {
      set_frequencies(description, plan().spectra_hz);
      return;
    }
    if (description.has_front_end) {
      inputs_[tap].front_end =
          make_front_end_of(description, [](const FrontEndPlan& p) { return reference::make_front_end(p); });
      description.name = description.plan.settings.kind;
    }
    finish(description);
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
    windows.present = batch.statuses.size() - std::min(windows.absent, batch.statuses.size());
    windows.is_enqueued = true;
    input.spectra.clear();
    input.flags.assign(windows.present, 0U);
    for (std::size_t i = 0; i < windows.present && input.front_end; ++i) {
      const std::vector<std::complex<double>> one =
          input.front_end->spectra(taps()[tap].first(batch.first_sample + (windows.absent + i) * hop_samples_));
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
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      statuses[i] = {
          .flags = runs_.empty() ? inputs_.front().flags[i] | taps().front().constant_flags : flags(batch, 0, i),
          .non_finite_microphones = runs_.empty() ? 0 : runs_.front().outcomes[i].non_finite_microphones};
    }
  }
  /// Computes a processor's products of a batch.
  void run(BatchState& batch, std::size_t processor) {
    Run& one = runs_[processor];
    const Tap& tap = taps()[tap_of(processor)];
    const BatchState::Tap& windows = batch.taps[tap_of(processor)];
    const std::span<const std::complex<double>> spectra = inputs_[tap_of(processor)].spectra;
    note_begun(batch, processor);
    const FrameHops hops = hops_without(batch, std::min(windows.absent, batch.statuses.size()));
    std::vector<reference::WindowInput> inputs;
    for (std::size_t i = 0; i < windows.present; ++i) {
      const std::size_t values = spectra.size() / windows.present;
      reference::WindowInput& input = inputs.emplace_back();
      input.spectra = spectra.subspan(i * values, values);
      input.hop = hops.first + i;
      input.is_whole = hops.incomplete.empty() || hops.incomplete[i] == 0;
      if (one.sample_window > 0) {
        const std::uint64_t end = tap.first(batch.first_sample + (windows.absent + i) * hop_samples_) +
                                  static_cast<std::uint64_t>(tap.window_samples);
        input.samples = samples_->window(end - one.sample_window, one.sample_window);
      }
    }
    one.outcomes = one.processor->compute(inputs);
    for (std::size_t i = 0; i < one.outcomes.size(); ++i) {
      one.outcomes[i].flags |= inputs_[tap_of(processor)].flags[i];
    }
  }
  std::uint64_t hop_samples_;
  std::optional<reference::DecimatedSamples> samples_;  ///< for processors; none where none needs them
  std::uint64_t samples_begin_ = 0;                     ///< pushed samples before this one are not needed
  std::vector<Input> inputs_;                           ///< [tap]
  std::vector<Run> runs_;                               ///< [processor]
  std::vector<std::uint32_t> room_;
};

}  // namespace

std::unique_ptr<Engine> make_reference_engine(const EnginePlan& plan) {
  return std::make_unique<ReferenceEngine>(plan);
}

}  // namespace nearfield
