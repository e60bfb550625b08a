#include "api/stream_engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/config.hpp"
#include "config/words.hpp"
#include "core/error.hpp"
#include "engine/sample_input.hpp"
#include "imaging/priors/make_mask.hpp"

namespace nearfield::api {
namespace {

/// Supplies given arrays to an engine of this array.
class GivenFiles : public ArrayFiles {
 public:
  GivenFiles(GivenArrays arrays, ArrayGeometry geometry, double standoff_m)
      : arrays_(std::move(arrays)), geometry_(std::move(geometry)), standoff_m_(standoff_m) {}
  [[nodiscard]] Calibration calibration(const std::filesystem::path& path) const override;
  [[nodiscard]] Templates templates(const std::filesystem::path& path) const override;
  [[nodiscard]] bool is_given(const std::filesystem::path& points) const override;
  [[nodiscard]] std::vector<double> points(const std::filesystem::path& path, std::size_t most,
                                           const std::string& key) const override;

 private:
  GivenArrays arrays_;
  ArrayGeometry geometry_;
  double standoff_m_;
};

template <class Value>
const Value& given(const std::map<std::string, Value>& values, const std::filesystem::path& path, const char* call) {
  const auto found = values.find(path.string());
  if (found == values.end()) {
    throw NoInputError(
        fmt::format("{}: expected an array of this name, given by {}(), found none", path.string(), call));
  }
  return found->second;
}

void require_values(std::size_t found, std::size_t frequencies, const ArrayGeometry& geometry, std::size_t places,
                    const std::filesystem::path& path) {
  const std::size_t expected = frequencies * places * static_cast<std::size_t>(geometry.channels());
  if (found != expected) {
    throw ConfigError(fmt::format("{}: expected {} values for the {} microphones of the configuration, found {}",
                                  path.string(), expected, text_of_size(geometry), found));
  }
}

Calibration GivenFiles::calibration(const std::filesystem::path& path) const {
  const GivenCalibration& found = given(arrays_.calibrations, path, "nf_engine_give_calibration");
  require_values(found.gains.size(), found.frequencies_hz.size(), geometry_, 1, path);
  return {.geometry = geometry_, .frequencies_hz = found.frequencies_hz, .gains = found.gains};
}

Templates GivenFiles::templates(const std::filesystem::path& path) const {
  constexpr std::size_t kCoordinates = 3;
  const GivenTemplates& found = given(arrays_.templates, path, "nf_engine_give_templates");
  require_values(found.a.size(), found.frequencies_hz.size(), geometry_, found.positions_m.size() / kCoordinates, path);
  return {.measurement = {.geometry = geometry_, .standoff_m = standoff_m_},
          .frequencies_hz = found.frequencies_hz,
          .positions_m = found.positions_m,
          .a = found.a,
          .coherence = found.coherence,
          .of_microphones = {}};
}

bool GivenFiles::is_given(const std::filesystem::path& points) const {
  return arrays_.points.contains(points.string());
}

std::vector<double> GivenFiles::points(const std::filesystem::path& path, std::size_t /*most*/,
                                       const std::string& /*key*/) const {
  return given(arrays_.points, path, "nf_engine_give_points");
}

constexpr std::uint64_t kAlignment = 8;

}  // namespace

std::string name_in_settings(const std::string& name) {
  return std::filesystem::absolute(name).lexically_normal().string();
}

LayoutView::LayoutView(ResultHeader header, int every_hops) : header_(std::move(header)) {
  for (const Axis& axis : header_.axes) {
    axes_.push_back({.name = axis.name.c_str(),
                     .unit = axis.unit.c_str(),
                     .size = static_cast<std::uint32_t>(axis.size()),
                     .components = static_cast<std::uint32_t>(axis.components),
                     .values = axis.values.data()});
  }
  for (const Product& product : header_.products) {
    products_.push_back(view_of(product));
  }
  layout_ = {.processor = header_.processor.c_str(),
             .kind = header_.kind.c_str(),
             .device = header_.device.c_str(),
             .front_end = header_.front_end.c_str(),
             .config = header_.config.c_str(),
             .every_hops = static_cast<std::uint32_t>(every_hops),
             .axis_count = static_cast<std::uint32_t>(axes_.size()),
             .product_count = static_cast<std::uint32_t>(products_.size()),
             .reserved = 0,
             .axes = axes_.data(),
             .products = products_.data()};
}

nf_product LayoutView::view_of(const Product& product) {
  std::vector<const nf_axis*>& axes = axes_of_products_.emplace_back();
  for (const std::string& name : product.axes) {
    axes.push_back(&axes_.at(static_cast<std::size_t>(header_.axis(name) - header_.axes.data())));
  }
  std::vector<nf_column>& columns = columns_of_products_.emplace_back();
  std::uint64_t offset = kAlignment;  // after the number of rows
  for (const Column& column : product.columns) {
    columns.push_back({.name = column.name.c_str(),
                       .unit = column.unit.c_str(),
                       .type = static_cast<std::uint32_t>(column.type),
                       .offset = offset});
    offset += (product.most_rows * bytes_of(column.type) + kAlignment - 1) / kAlignment * kAlignment;
  }
  const bool is_table = product.form == Product::Form::kTable;
  return {.name = product.name.c_str(),
          .quantity = product.quantity.c_str(),
          .unit = product.unit.c_str(),
          .form = static_cast<std::uint32_t>(product.form),
          .type = static_cast<std::uint32_t>(product.type),
          .axis_count = static_cast<std::uint32_t>(axes.size()),
          .axes = axes.data(),
          .values = is_table ? 0 : header_.values(product),
          .column_count = static_cast<std::uint32_t>(columns.size()),
          .columns = columns.data(),
          .most_rows = product.most_rows};
}

namespace {

constexpr const char* kConfiguration = "configuration";

std::string_view name_of(InputForm form) {
  switch (form) {
    case InputForm::kBits:
      return "bits";
    case InputForm::kSamples:
      return "samples";
    case InputForm::kSpectra:
      break;
  }
  return "spectra";
}

/// Spectra are in rows and columns, so that no other order of microphones is possible.
void require_own_order(const Settings& settings) {
  if (settings.array.geometry.is_reordered()) {
    throw ConfigError(
        "array.positions: expected spectra [row][column] of a grid to have their positions in the order of rows and "
        "columns, found another order");
  }
}

/// The pushed frequencies are the imaged ones.
void take_frequencies(Settings& settings, const std::vector<double>& frequencies_hz) {
  constexpr const char* kKey = "front_end.frequencies_hz";
  std::vector<double>& wanted_hz = settings.front_end.frequencies_hz;
  if (settings.explicit_keys.contains(kKey) && wanted_hz != frequencies_hz) {
    throw ConfigError(fmt::format("{}: expected those of the spectra, {} Hz, or no such setting, found {} Hz", kKey,
                                  fmt::join(frequencies_hz, ", "), fmt::join(wanted_hz, ", ")));
  }
  wanted_hz = frequencies_hz;
}

EnginePlan plan_of(const std::string& yaml, const InputOfProgram& input, const GivenArrays& arrays) {
  EnginePlan plan;
  plan.input = input.form;
  plan.settings = parse_settings(yaml, kConfiguration, arrays.positions_m);
  Settings& settings = plan.settings;
  if (!settings.array.channels.empty()) {
    throw ConfigError(
        fmt::format("array.channels: expected [], as a program gives a channel for each microphone, found "
                    "[{}]",
                    fmt::join(settings.array.channels, ", ")));
  }
  if (input.form == InputForm::kBits) {
    plan.sample_rate_hz = settings.array.clock_hz / kBitsPerWord;
    validate(settings, settings.array.clock_hz / settings.front_end.decimation);
    settings = in_words(settings);
  } else {
    require_channels(settings, input.channels, std::string(name_of(input.form)));
    (void)pascal_per_unit_for(settings, "nf_engine_push_" + std::string(name_of(input.form)), true);  // always in Pa
    plan.sample_rate_hz = input.sample_rate_hz;
    plan.spectra_hz = input.frequencies_hz;
    if (input.form == InputForm::kSamples) {
      (void)take_samples(settings);
    } else {
      take_row_order(settings);
      require_own_order(settings);
      take_frequencies(settings, input.frequencies_hz);
    }
    validate(settings, input.sample_rate_hz);
  }
  plan.files = std::make_shared<const GivenFiles>(arrays, settings.array.geometry, settings.holography.standoff_m);
  return plan;
}

std::string lines_of(const Engine& engine) {
  const MicrophoneUse use = microphone_use(engine);
  std::string lines = use.masked.empty() ? "" : "microphones: " + text_of(use);
  for (const auto& texts : {plan_warnings(engine), plan_notes(engine)}) {
    for (const std::string& text : texts) {
      lines += (lines.empty() ? "" : "\n") + text;
    }
  }
  return lines;
}

std::size_t words_of(const EnginePlan& plan) {
  return plan.input != InputForm::kBits
             ? 1U
             : static_cast<std::size_t>(kBitsPerWord *
                                        words_per_bit_time(plan.settings.array.layout, plan.settings.array.geometry));
}

}  // namespace

StreamEngine::StreamEngine(const std::string& yaml, const InputOfProgram& input, const GivenArrays& arrays)
    : StreamEngine(plan_of(yaml, input, arrays), input.engine) {}

StreamEngine::StreamEngine(EnginePlan plan, EngineKind kind)
    : plan_(std::move(plan)),
      engine_(make_engine(kind, plan_)),
      remarks_(lines_of(*engine_)),
      feeder_(plan_.settings.front_end),
      watched_spectra_(engine_->spectra_values()),
      mask_(*engine_),
      hop_samples_(
          plan_.input == InputForm::kSpectra ? 1U : static_cast<std::uint64_t>(plan_.settings.front_end.hop_samples)),
      window_samples_(plan_.input == InputForm::kSpectra
                          ? 1U
                          : static_cast<std::uint64_t>(plan_.settings.front_end.window_samples)),
      bits_per_sample_(plan_.input == InputForm::kBits ? kBitsPerWord : 1),
      bits_(words_of(plan_)),
      samples_(static_cast<std::size_t>(plan_.settings.array.geometry.channels())),
      spectra_(plan_.input == InputForm::kSpectra ? engine_->spectra_values() : 1U) {
  for (std::size_t p = 0; p < engine_->processors(); ++p) {
    layouts_.emplace_back(engine_->header(p), engine_->every_hops(p));
  }
  watch_.emplace(*engine_, plan_);
  search_.emplace(*engine_);
}

void StreamEngine::require(InputForm form) const {
  if (form != plan_.input) {
    throw UsageError(
        fmt::format("expected {}, as nf_engine_start() was told, found {}", name_of(plan_.input), name_of(form)));
  }
}

void StreamEngine::push_bits(std::span<const std::uint32_t> words) {
  require(InputForm::kBits);
  const std::size_t words_per_bit = bits_.per_sample() / kBitsPerWord;
  if (words.size() % words_per_bit != 0) {
    throw UsageError(fmt::format("expected whole bit-times of {} words, found {} words", words_per_bit, words.size()));
  }
  bits_.push(words);
}

void StreamEngine::push_samples(std::span<const float> samples) {
  require(InputForm::kSamples);
  if (samples.size() % samples_.per_sample() != 0) {
    throw UsageError(
        fmt::format("expected whole samples of {} channels, found {} values", samples_.per_sample(), samples.size()));
  }
  samples_.push(samples);
}

void StreamEngine::push_spectra(std::span<const std::complex<float>> spectra) {
  require(InputForm::kSpectra);
  if (spectra.size() % spectra_.per_sample() != 0) {
    throw UsageError(fmt::format("expected whole windows of {} frequencies of {} channels, found {} values",
                                 plan_.spectra_hz.size(), plan_.settings.array.geometry.channels(), spectra.size()));
  }
  spectra_.push(spectra);
}

FinishedBatch StreamEngine::compute(std::uint64_t first_sample) {
  if (plan_.input == InputForm::kSpectra) {
    return engine_->compute_spectra(spectra_.samples(window_, window_ + 1), window_);
  }
  const SampleSpan feed = feeder_.next(first_sample, 1, *engine_);
  if (plan_.input == InputForm::kBits) {
    const std::span<const std::uint32_t> pushed = bits_.samples(feed.first, feed.end);
    const std::span<std::uint32_t> room = engine_->room_for_bits(pushed.size());
    std::copy(pushed.begin(), pushed.end(), room.begin());
    engine_->push_bits(feed.first, room);
  } else {
    engine_->push_samples(feed.first, samples_.samples(feed.first, feed.end));
  }
  return engine_->compute({.first_sample = first_sample});
}

bool StreamEngine::compute_next() {
  const std::uint64_t first_sample = first_of(window_);
  const std::uint64_t pushed = std::max({bits_.end(), samples_.end(), spectra_.end()});
  if (pushed < first_sample + window_samples_) {
    return false;
  }
  mask_.use(masks_, first_sample);
  search_->begin(window_);
  batch_ = compute(first_sample);
  search_->look(batch_);
  engine_->compute_late(batch_);
  in_hand_ = 0;
  const int channels = plan_.settings.array.geometry.channels();
  const int non_finite = batch_.statuses().front().non_finite_microphones;
  if (too_many_are_not_finite(non_finite, channels)) {
    const std::uint64_t window = window_;
    in_hand_ = engine_->processors();
    is_broken_ = false;  // the next window can continue
    throw DataError(fmt::format("window {}: {} of {} microphones are not finite; expected at most a tenth", window,
                                non_finite, channels));
  }
  const int used = static_cast<int>(microphone_use(*engine_).most_used) - non_finite;
  if (const std::string flaw = flaw_of_valid(plan_.settings.array, used); !flaw.empty()) {
    in_hand_ = engine_->processors();
    is_broken_ = false;  // the next window can continue
    throw DataError(fmt::format("window {}: {}", window_, flaw));
  }
  return true;
}

void StreamEngine::leave_window() {
  if (watch_->is_due(first_of(window_))) {
    engine_->read_spectra(batch_, 0, watched_spectra_);
    if (std::optional<MicrophoneWatch::Found> found = watch_->add(first_of(window_), watched_spectra_)) {
      masks_.add(found->from_sample, std::move(found->channels));
    }
  }
  in_hand_.reset();
  ++window_;
  masks_.forget_before(first_of(window_));
  if (plan_.input == InputForm::kSpectra) {
    spectra_.drop_before(window_);
    return;
  }
  const std::uint64_t needed = feeder_.begin_of(first_of(window_), *engine_);
  bits_.drop_before(plan_.input == InputForm::kBits ? needed : 0);
  samples_.drop_before(plan_.input == InputForm::kSamples ? needed : 0);
}

nf_engine_frame StreamEngine::frame_of(std::size_t processor) {
  const std::uint64_t first = engine_->window_of(processor, first_of(window_)).first * bits_per_sample_;
  const FrameProducts read =
      engine_->read(batch_, processor, 0, FrameStamp{.sequence = window_, .first_bit_time = first});
  products_.clear();
  for (const std::span<const std::byte>& product : read.products) {
    products_.push_back(product.data());
  }
  return {.processor = static_cast<std::uint32_t>(processor),
          .flags = read.flags,
          .sequence = window_,
          .first_sample = first,
          .valid_microphones = read.valid_microphones,
          .missing_information = read.missing_information,
          .products = products_.data()};
}

std::optional<nf_engine_frame> StreamEngine::next() {
  if (is_broken_) {
    throw UsageError("expected nf_engine_restart(), as an error ended the stream, found nf_engine_next()");
  }
  is_broken_ = true;  // if the next line throws, part of a window may have been computed
  const std::optional<nf_engine_frame> frame = find_next();
  is_broken_ = false;
  return frame;
}

std::optional<nf_engine_frame> StreamEngine::find_next() {
  while (true) {
    if (!in_hand_ && !compute_next()) {
      return std::nullopt;
    }
    while (*in_hand_ < engine_->processors()) {
      const std::size_t processor = (*in_hand_)++;
      if (engine_->is_due(processor, window_) && engine_->has_products(batch_, processor, 0)) {
        return frame_of(processor);
      }
    }
    leave_window();
  }
}

void StreamEngine::restart() {
  is_broken_ = true;
  engine_->forget();
  masks_ = MaskSchedule();
  mask_.forget();
  mask_.use(masks_, 0);
  bits_.clear();
  samples_.clear();
  spectra_.clear();
  feeder_.use(plan_.settings.front_end);
  feeder_.begin(0);
  window_ = 0;
  in_hand_.reset();
  watch_.emplace(*engine_, plan_);
  search_.emplace(*engine_);
  is_broken_ = false;
}

}  // namespace nearfield::api
