#include <algorithm>
#include <utility>

#include "frontend/front_end_reference.hpp"
#include "nearfield/error.hpp"
#include "pipeline/engine_parts.hpp"

namespace nearfield {
namespace {

class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EnginePlan& plan)
      : Engine(plan),
        front_end_name_(plan.input == InputForm::kSpectra ? kNoFrontEnd
                                                          : std::string_view(plan.settings.front_end.kind)),
        front_end_(plan.input == InputForm::kSpectra ? nullptr : reference::make_front_end(front_end_plan(plan))),
        hop_samples_(static_cast<std::uint64_t>(plan.settings.front_end.hop_samples)) {
    set_frequencies(front_end_ ? front_end_->actual_frequencies_hz() : plan.spectra_hz);
    for (const Wanted& wanted : wanted_processors()) {
      std::unique_ptr<reference::Processor> made = processor_entry(wanted.kind).make_reference(wanted.plan);
      add_results(made->header(), wanted.every_hops, dynamic_cast<const ImagesOnHost*>(made.get()));
      runs_.push_back({.processor = std::move(made), .flags = {}});
    }
  }
  [[nodiscard]] std::uint64_t history_samples() const override { return front_end_ ? front_end_->history_words() : 0; }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    front_end_->push_bits(first_sample, wire);
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    front_end_->push_samples(first_sample, samples);
  }
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override {
    room_.resize(wire_words);
    return room_;
  }
  std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) override {
    std::vector<std::complex<double>> spectra;
    std::vector<std::uint32_t> flags;
    for (std::size_t i = 0; i < windows; ++i) {
      const std::vector<std::complex<double>> one = front_end_->spectra(first_sample + i * hop_samples_);
      spectra.insert(spectra.end(), one.begin(), one.end());
      flags.push_back(front_end_->clipped() ? kFlagClipped : 0U);
    }
    return compute(std::move(spectra), flags);
  }
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override {
    const std::vector<std::uint32_t> flags(spectra.size() / spectra_values());
    return compute({spectra.begin(), spectra.begin() + static_cast<std::ptrdiff_t>(flags.size() * spectra_values())},
                   flags);
  }
  void begin_late(std::uint32_t due) override {
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (((due & late()) >> p & 1U) != 0) {
        run(p);
      }
    }
  }
  void finish_late() override {}
  [[nodiscard]] Products products(std::size_t processor, std::size_t window) override {
    return runs_.at(processor).processor->products(window);
  }
  [[nodiscard]] std::uint32_t flags(std::size_t processor, std::size_t window) const override {
    return runs_.at(processor).flags.at(window);
  }
  [[nodiscard]] std::string device_name() const override { return "reference (double precision on the host)"; }
  [[nodiscard]] std::string front_end_name() const override { return front_end_name_; }
  [[nodiscard]] std::string imager_name() const override {
    return runs_.empty() ? std::string(kNoProcessor) : "reference";
  }
  void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override {
    const auto first = spectra_.begin() + static_cast<std::ptrdiff_t>(window * spectra.size());
    std::transform(first, first + static_cast<std::ptrdiff_t>(spectra.size()), spectra.begin(),
                   [](const std::complex<double>& value) { return std::complex<float>(value); });
  }
  void use(const MicrophoneMask& mask) override {
    for (const Run& run : runs_) {
      run.processor->use(mask);
    }
    set_mask(mask);
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return runs_.empty() ? nullptr : runs_.front().processor->make_search();
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    if (runs_.empty()) {
      throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
    }
    runs_.front().processor->adopt(findings);
  }
  void image_again() override {
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (!is_late(p)) {
        run(p);
      }
    }
  }

 private:
  struct Run {
    std::unique_ptr<reference::Processor> processor;
    std::vector<std::uint32_t> flags;  ///< [window]
  };
  /// `flags` [window] are the front end's.
  std::span<const WindowStatus> compute(std::vector<std::complex<double>> spectra,
                                        const std::vector<std::uint32_t>& flags) {
    spectra_ = std::move(spectra);
    statuses_.assign(flags.size(), WindowStatus());
    input_flags_ = flags;
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (!is_late(p)) {
        const std::vector<reference::Processor::Outcome> outcomes = run(p);
        for (std::size_t i = 0; p == 0 && i < outcomes.size(); ++i) {
          statuses_[i].non_finite_microphones = outcomes[i].non_finite_microphones;
        }
      }
    }
    for (std::size_t i = 0; i < statuses_.size(); ++i) {
      statuses_[i].flags = runs_.empty() ? flags[i] | array_plan().constant_flags() : runs_.front().flags[i];
    }
    return statuses_;
  }
  /// Computes a processor's products of the windows there are.
  std::vector<reference::Processor::Outcome> run(std::size_t processor) {
    Run& one = runs_[processor];
    one.processor->clear();
    one.flags.clear();
    std::vector<reference::Processor::Outcome> outcomes;
    for (std::size_t i = 0; i < input_flags_.size(); ++i) {
      const auto spectra =
          std::span<const std::complex<double>>(spectra_).subspan(i * spectra_values(), spectra_values());
      outcomes.push_back(one.processor->add(spectra));
      one.flags.push_back(outcomes.back().flags | input_flags_[i] | array_plan().constant_flags());
    }
    return outcomes;
  }
  std::string front_end_name_;
  std::unique_ptr<reference::FrontEnd> front_end_;
  std::vector<Run> runs_;                      ///< [processor]
  std::vector<std::complex<double>> spectra_;  ///< of the last windows
  std::vector<std::uint32_t> input_flags_;     ///< [window]
  std::vector<std::uint32_t> room_;
  std::vector<WindowStatus> statuses_;
  std::uint64_t hop_samples_;
};

}  // namespace

std::unique_ptr<Engine> make_reference_engine(const EnginePlan& plan) {
  return std::make_unique<ReferenceEngine>(plan);
}

}  // namespace nearfield
