#include "capture/nfr_convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nearfield/error.hpp"

namespace nearfield::nfr {
namespace {

constexpr std::uint64_t kBitTimesAtOnce = 65536;

struct Limits {
  std::uint64_t first;
  std::uint64_t end;
};

/// What the range leaves of first to end - 1.
Limits clip(const Reader& reader, const ConvertRange& range, std::uint64_t first, std::uint64_t end,
            std::string_view what) {
  const Limits limits{.first = std::max(first, range.from.value_or(first)),
                      .end = std::min(end, range.to.value_or(end))};
  if (limits.first >= limits.end) {
    throw DataError(fmt::format("{}: nothing to convert: it holds {} {} to {}, asked for are {} to {}", reader.name(),
                                what, first, end, range.from.value_or(first), range.to.value_or(end)));
  }
  return limits;
}

void tell(const ShareDone& done, std::uint64_t part, std::uint64_t whole) {
  if (done) {
    done(static_cast<double>(part) / static_cast<double>(whole));
  }
}

const EpochSummary& epoch_to_convert(const Reader& reader, std::optional<std::uint64_t> wanted) {
  std::vector<std::uint64_t> known;
  const EpochSummary* only = nullptr;
  for (const EpochSummary& epoch : reader.epochs()) {
    if (epoch.images == 0) {  // its settings alone were recorded
      continue;
    }
    if (wanted && epoch.epoch == *wanted) {
      return epoch;
    }
    known.push_back(epoch.epoch);
    only = &epoch;
  }
  if (known.empty()) {
    throw DataError(fmt::format("{}: nothing to convert: it holds no images", reader.name()));
  }
  if (wanted) {
    throw DataError(
        fmt::format("{}: epoch {} is not in it; it holds {}", reader.name(), *wanted, fmt::join(known, ", ")));
  }
  if (known.size() > 1) {
    throw DataError(
        fmt::format("{}: it holds images of the epochs {}, which may differ in size; expected one "
                    "to be chosen",
                    reader.name(), fmt::join(known, ", ")));
  }
  return *only;
}

}  // namespace

ConvertedBits convert_bits(Reader& reader, const std::filesystem::path& output, const ConvertRange& range,
                           const ShareDone& done) {
  const BitsSummary& bits = reader.summary().bits;
  if (bits.records == 0) {
    throw DataError(fmt::format("{}: nothing to convert: it holds no bits", reader.name()));
  }
  const Limits limits = clip(reader, range, bits.first_bit_time, bits.end_bit_time, "bit-times");
  if (limits.end > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw DataError(fmt::format("bit-time {}: expected one below 2^63", limits.end));
  }
  reader.require_plausible_span(limits.first, limits.end);
  CaptureInfo info = reader.capture_info();
  const double skipped_s = static_cast<double>(limits.first - bits.first_bit_time) / info.sample_rate_hz;
  info.start_time_ns += std::llround(skipped_s * 1e9);
  info.first_bit_time = limits.first;
  CaptureWriter writer(output, info);
  std::vector<MissingRun> missing;
  std::vector<std::uint32_t> words;
  for (std::uint64_t at = limits.first; at < limits.end;) {
    const std::uint64_t count = std::min(kBitTimesAtOnce, limits.end - at);
    words.resize(count * reader.words_per_bit_time());
    reader.read_bits(at, words, missing);
    writer.append(words);
    at += count;
    tell(done, at - limits.first, limits.end - limits.first);
  }
  ConvertedBits result{.bit_times = limits.end - limits.first, .missing_bit_times = 0, .runs = missing.size()};
  for (MissingRun& run : missing) {
    run.first_bit_time -= limits.first;
    result.missing_bit_times += run.bit_times;
  }
  writer.write_missing(missing);
  writer.finish();
  return result;
}

ConvertedImages convert_images(const Reader& reader, const std::filesystem::path& output,
                               std::optional<std::uint64_t> epoch, const ConvertRange& range, const ShareDone& done) {
  const EpochSummary& chosen = epoch_to_convert(reader, epoch);
  const Limits limits = clip(reader, range, 0, chosen.images, "images");
  ImagesWriter writer(output, chosen.header, limits.end - limits.first);
  ConvertedImages result;
  result.damaged = for_each_image(reader, chosen, limits.first, limits.end, [&](ImageFrame& frame) {
    frame.radiated_power_w = radiated_power_w(chosen.header, frame.images);
    writer.write(frame);
    ++result.images;
    tell(done, result.images, limits.end - limits.first);
  });
  writer.finish();
  return result;
}

}  // namespace nearfield::nfr
