#include "cli/commands/tap_live_line.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>

#include "core/level.hpp"
#include "core/system/terminal.hpp"

namespace nearfield::cli {
namespace {

constexpr std::int64_t kLineNs = 1'000'000'000;
constexpr std::int64_t kRedrawNs = 250'000'000;
constexpr double kMsPerNs = 1e-6;

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
  const double passed_s = 1e-9 * static_cast<double>(now_ns - printed_ns_);
  const auto new_ages = ages_ns.begin() + static_cast<std::ptrdiff_t>(std::min(ages_before_, ages_ns.size()));
  std::string line = fmt::format(
      "{:.0f} s: {:.1f} frames a second{}; skipped {}, shed {}", 1e-9 * static_cast<double>(now_ns - start_ns_),
      static_cast<double>(counts.frames - before_.frames) / passed_s, text_of_ages({new_ages, ages_ns.end()}),
      counts.skipped - before_.skipped, counts.shed_hops - before_.shed_hops);
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

}  // namespace nearfield::cli
