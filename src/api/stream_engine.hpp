#pragma once
#include <complex>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/microphones.hpp"
#include "core/product.hpp"
#include "engine/engine.hpp"
#include "engine/feeder.hpp"
#include "engine/microphone_watch.hpp"
#include "engine/recording_search.hpp"
#include "nearfield/nearfield.h"

namespace nearfield::api {

/// Gains and templates as a program gives them; their array is the configuration's, which is known only later.
struct GivenCalibration {
  std::vector<double> frequencies_hz;
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]
};
struct GivenTemplates {
  std::vector<double> frequencies_hz;
  std::vector<double> positions_m;     ///< [template][x, y, z]
  std::vector<std::complex<float>> a;  ///< [frequency][template][channel]
  std::vector<float> coherence;        ///< [frequency][template]
};

/// Arrays by the names that a configuration has in place of paths.
struct GivenArrays {
  std::vector<MicrophonePosition> positions_m;
  std::map<std::string, GivenCalibration> calibrations;
  std::map<std::string, GivenTemplates> templates;
  std::map<std::string, std::vector<double>> points;  ///< [point][x, y, z]
};

/// The form of a relative path in the settings.
std::string name_in_settings(const std::string& name);

/// A ResultHeader as structures of the C header; their pointers refer to this object.
class LayoutView {
 public:
  LayoutView(ResultHeader header, int every_hops);
  LayoutView(const LayoutView&) = delete;
  LayoutView& operator=(const LayoutView&) = delete;
  [[nodiscard]] const nf_engine_layout& layout() const { return layout_; }
  [[nodiscard]] const ResultHeader& header() const { return header_; }

 private:
  [[nodiscard]] nf_product view_of(const Product& product);

  ResultHeader header_;
  std::vector<nf_axis> axes_;
  std::vector<nf_product> products_;
  std::deque<std::vector<const nf_axis*>> axes_of_products_;
  std::deque<std::vector<nf_column>> columns_of_products_;
  nf_engine_layout layout_{};
};

/// Pushed values of a stream that windows still need.
template <class Value>
class Pending {
 public:
  explicit Pending(std::size_t per_sample) : per_sample_(per_sample) {}
  [[nodiscard]] std::size_t per_sample() const { return per_sample_; }
  /// End of the last whole sample.
  [[nodiscard]] std::uint64_t end() const { return first_ + (values_.size() - begin_) / per_sample_; }
  void push(std::span<const Value> values) { values_.insert(values_.end(), values.begin(), values.end()); }
  /// Samples first to end - 1, which must be available.
  [[nodiscard]] std::span<const Value> samples(std::uint64_t first, std::uint64_t end) const {
    return std::span<const Value>(values_).subspan(begin_ + (first - first_) * per_sample_,
                                                   (end - first) * per_sample_);
  }
  /// Discards the samples before `sample`.
  void drop_before(std::uint64_t sample) {
    const std::uint64_t dropped = std::min(std::max(sample, first_), end()) - first_;
    first_ += dropped;
    begin_ += dropped * per_sample_;
    if (begin_ > values_.size() / 2) {  // each value is moved at most once on average
      values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
  }
  void clear() {
    values_.clear();
    begin_ = 0;
    first_ = 0;
  }

 private:
  std::size_t per_sample_;
  std::vector<Value> values_;
  std::size_t begin_ = 0;    ///< index in values_ of sample first_
  std::uint64_t first_ = 0;  ///< number in the stream
};

/// Arguments of nf_engine_start() as C++ types.
struct InputOfProgram {
  InputForm form = InputForm::kBits;
  EngineKind engine = EngineKind::kOpencl;
  int channels = 0;  ///< samples and spectra
  double sample_rate_hz = 0.0;
  std::vector<double> frequencies_hz;  ///< spectra only
};

/// An engine that a program feeds with a stream, and that returns frame after frame.
class StreamEngine {
 public:
  /// Throws Error.
  StreamEngine(const std::string& yaml, const InputOfProgram& input, const GivenArrays& arrays);

  [[nodiscard]] const std::deque<LayoutView>& layouts() const { return layouts_; }
  [[nodiscard]] const std::string& remarks() const { return remarks_; }
  /// Throw UsageError if the engine has another form of input, or values are not whole samples.
  void push_bits(std::span<const std::uint32_t> words);
  void push_samples(std::span<const float> samples);
  void push_spectra(std::span<const std::complex<float>> spectra);
  /// The next frame; empty if more input is needed. Its products are valid until the next call. Throws UsageError after
  /// an error that left part of a window computed, until restart().
  std::optional<nf_engine_frame> next();
  void restart();

 private:
  StreamEngine(EnginePlan plan, EngineKind kind);
  void require(InputForm form) const;
  [[nodiscard]] std::uint64_t first_of(std::uint64_t window) const { return window * hop_samples_; }
  /// True if the next window has been pushed; computes it and starts with its first processor.
  bool compute_next();
  FinishedBatch compute(std::uint64_t first_sample);
  /// Finishes a window whose frames were all returned.
  void leave_window();
  std::optional<nf_engine_frame> find_next();
  nf_engine_frame frame_of(std::size_t processor);

  EnginePlan plan_;
  std::unique_ptr<Engine> engine_;
  std::deque<LayoutView> layouts_;
  std::string remarks_;
  Feeder feeder_;
  std::optional<MicrophoneWatch> watch_;
  std::vector<std::complex<float>> watched_spectra_;
  MaskSchedule masks_;
  ScheduledMask mask_;
  std::optional<RecordingSearch> search_;
  std::uint64_t hop_samples_;
  std::uint64_t window_samples_;
  std::uint64_t bits_per_sample_ = 1;
  Pending<std::uint32_t> bits_;
  Pending<float> samples_;
  Pending<std::complex<float>> spectra_;
  std::uint64_t window_ = 0;            ///< the current window, or the next one
  FinishedBatch batch_;                 ///< the current window, once it is computed
  std::optional<std::size_t> in_hand_;  ///< the next processor of the current window
  bool is_broken_ = false;              ///< an error left part of a window computed
  std::vector<const void*> products_;   ///< products of the frame returned last
};

}  // namespace nearfield::api
