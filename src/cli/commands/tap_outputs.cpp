#include "cli/commands/tap_outputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <complex>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/product.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"

namespace nearfield::cli {
namespace {

constexpr std::int64_t kLineNs = kNsPerSecond;
constexpr std::int64_t kRedrawNs = 250'000'000;

/// "; age median 0.412 ms, max 1.200 ms"; empty without an age.
std::string text_of_ages(std::vector<std::int64_t> ages_ns) {
  if (ages_ns.empty()) {
    return "";
  }
  std::sort(ages_ns.begin(), ages_ns.end());
  return fmt::format("; age median {:.3f} ms, max {:.3f} ms",
                     kMsPerNs * static_cast<double>(ages_ns[ages_ns.size() / 2]),
                     kMsPerNs * static_cast<double>(ages_ns.back()));
}

/// The longest prefix of a UTF-8 text that fits.
std::string fitting(std::string text, int columns) {
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; };
  int shown = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    shown += continues(text[i]) ? 0 : 1;
    if (shown > columns) {
      text.resize(i);
      break;
    }
  }
  return text;
}

}  // namespace

std::string level_of_images(const nf_ring_layout& layout, const nf_frame& frame) {
  const std::size_t values = std::size_t{layout.planes} * layout.frequencies * layout.rows * layout.columns;
  if (frame.images == nullptr || layout.quantity[0] == '\0' || values == 0) {
    return "";
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < values; ++i) {
    largest = std::max(largest, std::abs(std::complex<double>(static_cast<double>(frame.images[i].re),
                                                              static_cast<double>(frame.images[i].im))));
  }
  if (!(largest > 0.0)) {
    return "";
  }
  Product product;
  product.quantity = layout.quantity;
  product.unit = layout.unit;
  product.type = ElementType::kComplex64;
  const LevelRule rule = level_rule(product);
  return fmt::format("{:.1f} {}", rule.level(largest), rule.unit);
}

TapLiveLine::TapLiveLine(bool on)
    : on_(on && spdlog::should_log(spdlog::level::info)),
      redraws_(can_redraw(STDOUT_FILENO)),
      start_ns_(nf_ring_now_ns()),
      printed_ns_(start_ns_) {}

TapLiveLine::~TapLiveLine() {
  if (is_drawn_) {
    std::fputs("\n", stdout);
  }
}

bool TapLiveLine::is_due() const { return on_ && nf_ring_now_ns() - printed_ns_ >= (redraws_ ? kRedrawNs : kLineNs); }

void TapLiveLine::print(const TapCounts& counts, const std::vector<std::int64_t>& ages_ns, const std::string& level) {
  const std::int64_t now_ns = nf_ring_now_ns();
  const double passed_s = kSecondsPerNs * static_cast<double>(now_ns - printed_ns_);
  const auto new_ages = ages_ns.begin() + static_cast<std::ptrdiff_t>(std::min(ages_before_, ages_ns.size()));
  std::string line = fmt::format("{:.0f} s: {:.1f} frames a second{}; skipped {}, shed {}",
                                 kSecondsPerNs * static_cast<double>(now_ns - start_ns_),
                                 static_cast<double>(counts.frames - before_.frames) / passed_s,
                                 text_of_ages({new_ages, ages_ns.end()}), counts.skipped - before_.skipped,
                                 counts.shed_hops - before_.shed_hops);
  line += counts.missing_bit_times > 0 ? fmt::format(", missing {} bit-times at most", counts.missing_bit_times) : "";
  line += level.empty() ? "" : "; " + level;
  if (redraws_) {
    fmt::print("\r{}\x1b[K", fitting(std::move(line), terminal_size(STDOUT_FILENO).columns - 1));
    is_drawn_ = true;
  } else {
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
  printed_ns_ = now_ns;
  before_ = counts;
  ages_before_ = ages_ns.size();
}

namespace {

constexpr const char* kFrameTitles =
    "sequence,first_bit_time,epoch,flags,missing_bit_times,shed_hops,skipped,capture_mono_ns,publish_mono_ns,"
    "read_mono_ns";
constexpr const char* kPointTitles = "sequence,first_bit_time,capture_tai_ns,flags,plane_m,frequency_hz,x_m,y_m,re,im";

}  // namespace

TextFile::TextFile(std::string path, const char* titles) : path_(std::move(path)) {
  if (path_.empty()) {
    return;
  }
  file_.reset(path_ == "-" ? fdopen(dup(STDOUT_FILENO), "w") : std::fopen(path_.c_str(), "w"));
  if (file_ == nullptr) {
    throw IoError(fmt::format("{}: can't be written: {}", path_, std::strerror(errno)));
  }
  fmt::print(file_.get(), "{}\n", titles);
}

void TextFile::finish() {
  if (file_ != nullptr && std::fflush(file_.get()) != 0) {
    throw IoError(fmt::format("{}: can't be written: {}", path_, std::strerror(errno)));
  }
}

FrameLog::FrameLog(const std::string& path) : file_(path, kFrameTitles) {}

void FrameLog::add(const nf_frame& frame, std::uint64_t skipped) {
  if (file_.get() != nullptr) {
    fmt::print(file_.get(), "{},{},{},{},{},{},{},{},{},{}\n", frame.sequence, frame.first_bit_time, frame.epoch,
               frame.flags, frame.missing_bit_times, frame.shed_hops, skipped, frame.capture_mono_ns,
               frame.publish_mono_ns, frame.read_mono_ns);
  }
}

PointLog::PointLog(const std::string& path) : file_(path, kPointTitles) {}

void PointLog::add(const nf_ring_layout& layout, const nf_frame& frame) {
  if (file_.get() == nullptr || frame.points == nullptr) {
    return;
  }
  const nf_complex* value = frame.points;
  for (std::uint32_t plane = 0; plane < layout.planes; ++plane) {
    for (std::uint32_t f = 0; f < layout.frequencies; ++f) {
      for (std::uint32_t point = 0; point < layout.points; ++point, ++value) {
        fmt::print(file_.get(), "{},{},{},{},{},{},{},{},{},{}\n", frame.sequence, frame.first_bit_time,
                   frame.capture_tai_ns, frame.flags, layout.planes_m[plane], layout.frequencies_hz[f],
                   layout.points_xy_m[2 * point], layout.points_xy_m[2 * point + 1], value->re, value->im);
      }
    }
  }
}

namespace {

/// The ring's description of its products as a header.
ResultHeader header_of(const nf_ring_layout& layout) {
  ResultHeader header;
  header.processor = layout.processor;
  for (std::size_t i = 0; i < layout.axis_count; ++i) {
    const nf_axis& axis = layout.axes[i];
    header.axes.push_back({.name = axis.name,
                           .unit = axis.unit,
                           .values = {axis.values, axis.values + std::size_t{axis.size} * axis.components},
                           .components = axis.components});
  }
  for (std::size_t i = 0; i < layout.product_count; ++i) {
    const nf_product& one = layout.products[i];
    Product product{.name = one.name,
                    .quantity = one.quantity,
                    .unit = one.unit,
                    .form = Product::Form{one.form},
                    .type = ElementType{one.type}};
    for (std::size_t axis = 0; axis < one.axis_count; ++axis) {
      product.axes.emplace_back(one.axes[axis]->name);
    }
    header.products.push_back(std::move(product));
  }
  return header;
}

}  // namespace

TapSound::TapSound(std::string folder, double gain_db, const nf_ring* ring) : folder_(std::move(folder)) {
  if (folder_.empty()) {
    return;
  }
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  const std::optional<BeamLayout> beams = beams_of(header_of(layout));
  if (!beams) {
    throw NoInputError(fmt::format(
        "--wav: expected a processor that makes beams, found {}; --processor names another one", layout.processor));
  }
  ring_id_ = layout.ring_id;
  files_ = std::make_unique<BeamFiles>(folder_, layout.processor, *beams, gain_db);
}

void TapSound::add(const nf_ring* ring, const nf_frame& frame) {
  if (!files_) {
    return;
  }
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  if (layout.ring_id != ring_id_ && beams_of(header_of(layout)) != files_->layout()) {
    const SoundReport kept = std::exchange(files_, nullptr)->finish();
    throw DataError(
        fmt::format("--wav: the daemon's configuration has changed the beams; start the tap again. Until then: {}",
                    fmt::join(kept.files, ", ")));
  }
  ring_id_ = layout.ring_id;
  if (stream_id_ && *stream_id_ != frame.stream_id) {
    files_->begin_anew();
  }
  changes_ += epoch_ && *epoch_ != frame.epoch ? 1U : 0U;
  stream_id_ = frame.stream_id;
  epoch_ = frame.epoch;
  const BeamLayout& beams = files_->layout();
  // bit-times of a sample: 32 for bits, and 1 for a stream of samples, which counts those
  const auto elements_per_sample =
      static_cast<std::uint64_t>(std::max(std::llround(layout.bit_rate_hz / beams.rate_hz), 1LL));
  frames_with_losses_ += frame.missing_bit_times > 0 ? 1U : 0U;
  const auto* const values = static_cast<const float*>(nf_frame_product(ring, &frame, beams.product));
  files_->add(frame.first_bit_time / elements_per_sample, {values, beams.beams * beams.samples});
}

SoundReport TapSound::finish() {
  if (!files_) {
    return {};
  }
  SoundReport report = files_->finish();
  if (frames_with_losses_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: {} frames have bits that never came, which are silence", folder_, frames_with_losses_));
  }
  if (changes_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: the daemon's configuration changed {} times meanwhile; the weights of the beams may have, too",
                    folder_, changes_));
  }
  return report;
}

}  // namespace nearfield::cli
