#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/engine_parts.hpp"
#include "frontend/front_end_reference.hpp"
#include "frontend/samples/decimated_samples_reference.hpp"
#include "nearfield/error.hpp"

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
      add_results(made->header(), wanted, made->subset(), dynamic_cast<const ImagesOnHost*>(made.get()));
      runs_.push_back({.processor = std::move(made),
                       .sample_window = static_cast<std::size_t>(wanted.needs.sample_window),
                       .flags = {},
                       .non_finite = {}});
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
  void begin_windows(std::uint64_t first_sample, std::size_t windows) override {
    require_room_in_flight("begin_windows()");
    turn_ordered();
    begin_hops(first_sample / hop_samples_, windows);
    count_absent(first_sample, windows);
    first_sample_ = first_sample;
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      if (taps()[t].every_hops == 1) {
        analyse(t, windows);
      }
    }
    compute(windows);
    count_begun();
  }
  std::span<const WindowStatus> finish_windows() override {
    count_finished();
    return statuses_;
  }
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override {
    require_idle("compute_spectra()");
    const std::size_t windows = spectra.size() / spectra_values();
    Input& input = inputs_.front();
    input.spectra.assign(spectra.begin(), spectra.begin() + static_cast<std::ptrdiff_t>(windows * spectra_values()));
    input.flags.assign(windows, 0U);
    begin_hops(next_hop(), windows);
    compute(windows);
    return statuses_;
  }
  void begin_late(std::uint32_t due) override {
    std::vector<bool> is_analysed(taps().size());
    for (std::size_t t = 0; t < taps().size(); ++t) {
      is_analysed[t] = taps()[t].every_hops == 1;
    }
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (((due & late()) >> p & 1U) != 0) {
        const std::size_t tap = tap_of(p);
        if (!is_analysed[tap]) {
          analyse(tap, statuses_.size());
          is_analysed[tap] = true;
        }
        run(p);
      }
    }
  }
  void finish_late() override {}
  void stamp(std::size_t processor, std::size_t window, const FrameStamp& stamp) override {
    runs_.at(processor).processor->stamp(window - runs_[processor].absent, stamp);
  }
  void publish_last(std::size_t processor, std::size_t window) override {
    runs_.at(processor).processor->publish_last(window - runs_[processor].absent);
  }
  [[nodiscard]] std::uint64_t missing_bit_times(std::size_t processor, std::size_t window) const override {
    return runs_.at(processor).processor->missing_bit_times(window - runs_[processor].absent);
  }
  [[nodiscard]] Products products(std::size_t processor, std::size_t window) override {
    return runs_.at(processor).processor->products(window - runs_[processor].absent);
  }
  [[nodiscard]] std::uint32_t flags(std::size_t processor, std::size_t window) const override {
    return runs_.at(processor).flags.at(window - runs_[processor].absent) | memory_flag(processor, window) |
           information_flag(processor, window);
  }
  [[nodiscard]] std::string imager_name() const override {
    return runs_.empty() ? std::string(kNoProcessor) : "reference";
  }
  void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override {
    const auto first = inputs_.front().spectra.begin() + static_cast<std::ptrdiff_t>(window * spectra.size());
    std::transform(first, first + static_cast<std::ptrdiff_t>(spectra.size()), spectra.begin(),
                   [](const std::complex<double>& value) { return std::complex<float>(value); });
  }
  void use(const Masks& masks) override {
    require_idle("use()");
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      runs_[p].processor->use(masks.at(tap_of(p)));
    }
    set_masks(masks);
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return runs_.empty() ? nullptr : runs_.front().processor->make_search();
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    require_idle("adopt()");
    if (runs_.empty()) {
      throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
    }
    runs_.front().processor->adopt(findings);
  }
  void forget_unbounded() override {
    require_idle("forget_unbounded()");
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (header(p).memory_hops.value_or(kUnboundedMemory) == kUnboundedMemory) {
        runs_[p].processor->forget();
      }
    }
  }
  void forget() override {
    require_idle("forget()");
    forget_hops();
    for (const Run& run : runs_) {
      run.processor->forget();
    }
  }
  void image_again() override {
    require_idle("image_again()");
    if (!runs_.empty()) {
      run(0);
    }
  }

 private:
  [[nodiscard]] std::string device_name_of(std::size_t /*device*/) const override {
    return "reference (double precision on the host)";
  }
  struct Run {
    std::unique_ptr<reference::Processor> processor;
    std::size_t sample_window = 0;     ///< decimated samples per window that it works on; 0: none
    std::vector<std::uint32_t> flags;  ///< [window]
    std::vector<int> non_finite;       ///< [window]
    std::size_t absent = 0;            ///< leading windows that its tap lacks; omitted in the vectors above
  };
  [[nodiscard]] int non_finite_microphones(std::size_t processor, std::size_t window) const override {
    return runs_.at(processor).non_finite.at(window - runs_[processor].absent);
  }
  /// A tap's front end and its latest results.
  struct Input {
    std::unique_ptr<reference::FrontEnd> front_end;  ///< null for given spectra
    std::uint64_t begin = 0;                         ///< pushed samples before this one are not for this tap
    std::vector<std::complex<double>> spectra;       ///< [window][frequency][channel], without the absent ones
    std::vector<std::uint32_t> flags;                ///< [window], likewise
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
  /// Computes the spectra of the windows that were begun last.
  void analyse(std::size_t tap, std::size_t windows) {
    Input& input = inputs_[tap];
    input.spectra.clear();
    input.flags.clear();
    for (std::size_t i = taps()[tap].absent; i < windows; ++i) {
      if (!input.front_end) {
        input.flags.push_back(0U);
        continue;
      }
      const std::vector<std::complex<double>> one =
          input.front_end->spectra(taps()[tap].first(first_sample_ + i * hop_samples_));
      input.spectra.insert(input.spectra.end(), one.begin(), one.end());
      input.flags.push_back(input.front_end->clipped() ? kFlagClipped : 0U);
    }
  }
  void compute(std::size_t windows) {
    statuses_.assign(windows, WindowStatus());
    const std::vector<std::uint32_t>& flags = inputs_.front().flags;
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (!is_late(p)) {
        const std::vector<reference::Processor::Outcome> outcomes = run(p);
        for (std::size_t i = 0; p == 0 && i < outcomes.size(); ++i) {
          statuses_[i].non_finite_microphones = outcomes[i].non_finite_microphones;
        }
      }
    }
    for (std::size_t i = 0; i < statuses_.size(); ++i) {
      statuses_[i].flags =
          runs_.empty() ? flags[i] | taps().front().constant_flags : runs_.front().flags[i] | memory_flag(0, i);
    }
  }
  /// Computes a processor's products of the current windows.
  std::vector<reference::Processor::Outcome> run(std::size_t processor) {
    Run& one = runs_[processor];
    one.processor->clear();
    one.flags.clear();
    one.non_finite.clear();
    one.absent = taps()[tap_of(processor)].absent;
    std::vector<reference::Processor::Outcome> outcomes;
    const Input& input = inputs_[tap_of(processor)];
    const ArrayPlan& array = taps()[tap_of(processor)].array;
    const std::size_t values = array.frequencies_hz.size() * static_cast<std::size_t>(array.geometry.channels());
    note_memory(processor);
    const FrameHops hops = hops_without(one.absent);
    for (std::size_t i = 0; i < input.flags.size(); ++i) {
      one.processor->set_hop(hops.first + i, hops.incomplete.empty() || hops.incomplete[i] == 0);
      if (one.sample_window > 0) {
        const Tap& tap = taps()[tap_of(processor)];
        const std::uint64_t end =
            tap.first(first_sample_ + (one.absent + i) * hop_samples_) + static_cast<std::uint64_t>(tap.window_samples);
        one.processor->use_samples(samples_->window(end - one.sample_window, one.sample_window));
      }
      outcomes.push_back(one.processor->add(std::span(input.spectra).subspan(i * values, values)));
      one.non_finite.push_back(outcomes.back().non_finite_microphones);
      const std::uint32_t of_part = one.processor->subset().empty() ? 0U : std::uint32_t{kFlagWavenumberAboveNyquist};
      one.flags.push_back(outcomes.back().flags | input.flags[i] |
                          (taps()[tap_of(processor)].constant_flags & ~of_part));
    }
    return outcomes;
  }
  std::uint64_t hop_samples_;
  std::optional<reference::DecimatedSamples> samples_;  ///< for processors; none where none needs them
  std::uint64_t samples_begin_ = 0;                     ///< pushed samples before this one are not needed
  std::vector<Input> inputs_;                           ///< [tap]
  std::vector<Run> runs_;                               ///< [processor]
  std::vector<std::uint32_t> room_;
  std::vector<WindowStatus> statuses_;
  std::uint64_t first_sample_ = 0;  ///< start of the windows computed last
};

}  // namespace

std::unique_ptr<Engine> make_reference_engine(const EnginePlan& plan) {
  return std::make_unique<ReferenceEngine>(plan);
}

}  // namespace nearfield
