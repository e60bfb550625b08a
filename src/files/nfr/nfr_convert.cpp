#include "files/nfr/nfr_convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "files/results_file.hpp"

namespace nearfield::nfr {
namespace {

constexpr std::uint64_t kWordsAtOnce = std::uint64_t{1} << 21U;

struct Limits {
  std::uint64_t first;
  std::uint64_t end;
};

/// Intersects the range with first to end - 1.
Limits clip(const Reader& reader, const ConvertRange& range, std::uint64_t first, std::uint64_t end,
            std::string_view what) {
  const Limits limits{.first = std::max(first, range.from.value_or(first)),
                      .end = std::min(end, range.to.value_or(end))};
  if (limits.first >= limits.end) {
    throw DataError(fmt::format("{}: nothing to convert: it holds {} {} to {}, requested are {} to {}", reader.name(),
                                what, first, end, range.from.value_or(first), range.to.value_or(end)));
  }
  return limits;
}

void report(const ShareDone& done, std::uint64_t part, std::uint64_t whole) {
  if (done) {
    done(static_cast<double>(part) / static_cast<double>(whole));
  }
}

/// Epochs of the chosen processor, or of the first one with frames in the chosen epoch.
std::vector<const EpochSummary*> epochs_to_choose_from(const Reader& reader, const FramesChoice& choice) {
  const std::optional<std::string>& processor = choice.processor;
  std::vector<const EpochSummary*> epochs;
  for (const EpochSummary& epoch : reader.epochs()) {
    if (epoch.frames > 0) {  // skip: only its settings were recorded
      epochs.push_back(&epoch);
    }
  }
  if (epochs.empty()) {
    throw DataError(fmt::format("{}: nothing to convert: it holds no images", reader.name()));
  }
  const auto is_chosen = [&](const EpochSummary* epoch) { return !choice.epoch || epoch->epoch == *choice.epoch; };
  const bool has_chosen = std::any_of(epochs.begin(), epochs.end(), is_chosen);
  std::size_t first = std::numeric_limits<std::size_t>::max();
  std::set<std::string> names;
  for (const EpochSummary* epoch : epochs) {
    first = !has_chosen || is_chosen(epoch) ? std::min(first, epoch->processor) : first;
    names.insert(epoch->header.processor);
  }
  if (processor && !names.contains(*processor)) {
    throw DataError(fmt::format("{}: no frames of a processor \"{}\" are in it; it holds frames of {}", reader.name(),
                                *processor, fmt::join(names, ", ")));
  }
  std::erase_if(epochs, [&](const EpochSummary* epoch) {
    return processor ? epoch->header.processor != *processor : epoch->processor != first;
  });
  return epochs;
}

const EpochSummary& epoch_to_convert(const Reader& reader, const FramesChoice& choice) {
  const std::vector<const EpochSummary*> epochs = epochs_to_choose_from(reader, choice);
  std::vector<std::uint64_t> known;
  for (const EpochSummary* epoch : epochs) {
    if (choice.epoch && epoch->epoch == *choice.epoch) {
      return *epoch;
    }
    known.push_back(epoch->epoch);
  }
  if (choice.epoch) {
    throw DataError(
        fmt::format("{}: epoch {} is not in it; it holds {}", reader.name(), *choice.epoch, fmt::join(known, ", ")));
  }
  if (known.size() > 1) {
    throw DataError(
        fmt::format("{}: it holds images of the epochs {}, which may differ in size; expected one "
                    "to be chosen",
                    reader.name(), fmt::join(known, ", ")));
  }
  return *epochs.front();
}

/// Takes the words of a recording piece by piece.
class WordsOutput {
 public:
  virtual ~WordsOutput() = default;
  virtual void append(std::span<const std::uint32_t> words) = 0;
  virtual void finish(std::span<const MissingRun> missing) = 0;
};

class CaptureOutput : public WordsOutput {
 public:
  CaptureOutput(const std::filesystem::path& path, const CaptureInfo& info) : writer_(path, info) {}
  void append(std::span<const std::uint32_t> words) override { writer_.append(words); }
  void finish(std::span<const MissingRun> missing) override {
    writer_.write_missing(missing);
    writer_.finish();
  }

 private:
  CaptureWriter writer_;
};

/// Acoular's time data, which has no place for what is missing: it stays silence.
class SamplesOutput : public WordsOutput {
 public:
  SamplesOutput(const std::filesystem::path& path, const FileInfo& info)
      : writer_(path, info.sample_rate_hz, info.measurement.geometry, info.pascal_per_unit ? "Pa" : "1"),
        pascal_per_unit_(info.pascal_per_unit.value_or(1.0)) {}
  void append(std::span<const std::uint32_t> words) override {
    values_.resize(words.size());
    std::transform(words.begin(), words.end(), values_.begin(), [this](std::uint32_t word) {
      return static_cast<float>(static_cast<double>(std::bit_cast<float>(word)) * pascal_per_unit_);
    });
    writer_.append(values_);
  }
  void finish(std::span<const MissingRun> /*missing*/) override { writer_.finish(); }

 private:
  TimeDataWriter writer_;
  double pascal_per_unit_;
  std::vector<float> values_;
};

}  // namespace

ConvertedBits convert_bits(Reader& reader, const std::filesystem::path& output, const ConvertRange& range,
                           const ShareDone& done, bool correctable) {
  const BitsSummary& bits = reader.summary().bits;
  if (bits.records == 0) {
    throw DataError(fmt::format("{}: nothing to convert: it holds no bits", reader.name()));
  }
  const Limits limits = clip(reader, range, bits.first_bit_time, bits.end_bit_time, reader.info().elements());
  if (limits.end > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw DataError(fmt::format("bit-time {}: expected one below 2^63", limits.end));
  }
  reader.require_plausible_span(limits.first, limits.end);
  CaptureInfo info = reader.capture_info();
  const double skipped_s = static_cast<double>(limits.first - bits.first_bit_time) / info.sample_rate_hz;
  info.start_time_ns += std::llround(skipped_s * 1e9);
  info.first_bit_time = limits.first;
  info.measurement.correctable = correctable;
  std::unique_ptr<WordsOutput> writer;
  if (reader.info().holds_samples) {
    writer = std::make_unique<SamplesOutput>(output, reader.info());
  } else {
    writer = std::make_unique<CaptureOutput>(output, info);
  }
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kWordsAtOnce / reader.words_per_bit_time());
  std::vector<MissingRun> missing;
  std::vector<std::uint32_t> words;
  for (std::uint64_t at = limits.first; at < limits.end;) {
    const std::uint64_t count = std::min(at_once, limits.end - at);
    words.resize(count * reader.words_per_bit_time());
    reader.read_bits(at, words, missing);
    writer->append(words);
    at += count;
    report(done, at - limits.first, limits.end - limits.first);
  }
  ConvertedBits result{.bit_times = limits.end - limits.first, .missing_bit_times = 0, .runs = missing.size()};
  for (MissingRun& run : missing) {
    run.first_bit_time -= limits.first;
    result.missing_bit_times += run.bit_times;
  }
  writer->finish(missing);
  return result;
}

ConvertedFrames convert_frames(const Reader& reader, const std::filesystem::path& output, const FramesChoice& choice,
                               const ConvertRange& range, const ShareDone& done) {
  const EpochSummary& chosen = epoch_to_convert(reader, choice);
  const Limits limits = clip(reader, range, 0, chosen.frames, "images");
  ResultsWriter writer(output);
  Beginning beginning{.epoch = chosen.epoch, .frames = limits.end - limits.first};
  if (reader.summary().bits.records > 0) {
    beginning.time_zero_ns = reader.capture_info().start_time_ns;  // same as in a replay
  }
  writer.begin(chosen.header, beginning);
  ConvertedFrames result;
  result.damaged = for_each_frame(reader, chosen, limits.first, limits.end, [&](const Frame& frame) {
    Frame first = frame;  // becomes the file's only processor
    first.processor = 0;
    writer.write(first);
    ++result.frames;
    report(done, result.frames, limits.end - limits.first);
  });
  writer.finish();
  return result;
}

}  // namespace nearfield::nfr
