#include "frontend/walsh_fourier/walsh_summation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "core/error.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

/// Magnitudes closer than this, relative to the largest, are ties; it is above the rounding errors of sums of 2^20
/// terms.
constexpr double kTie = 1e-12;
/// Least |forward|^2 - |image|^2 of tone_response() that determines amplitude and phase; 4 when all terms are kept.
constexpr double kLeastDeterminant = 1e-6;

/// Indexes by falling magnitude, runs of ties by rising index.
std::vector<std::uint32_t> by_magnitude(const std::vector<double>& magnitudes, double tie) {
  std::vector<std::uint32_t> order(magnitudes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return magnitudes[a] > magnitudes[b]; });
  for (auto begin = order.begin(); begin != order.end();) {
    auto end = begin + 1;
    while (end != order.end() && magnitudes[*(end - 1)] - magnitudes[*end] <= tie) {
      ++end;
    }
    std::sort(begin, end);
    begin = end;
  }
  return order;
}

}  // namespace

unsigned log2_of(std::size_t power_of_two) { return static_cast<unsigned>(std::bit_width(power_of_two) - 1); }

std::uint32_t walsh_mask(std::uint32_t sequency, unsigned log2_length) {
  const std::uint32_t gray = sequency ^ (sequency >> 1U);
  std::uint32_t mask = 0;
  for (unsigned bit = 0; bit < log2_length; ++bit) {
    mask |= ((gray >> bit) & 1U) << (log2_length - 1U - bit);
  }
  return mask;
}

std::uint32_t walsh_word(std::uint32_t mask) {
  std::uint32_t word = 0;
  for (std::uint32_t bit = 0; bit < kBitsPerWord; ++bit) {
    word |= (static_cast<std::uint32_t>(std::popcount(mask & bit)) & 1U) << bit;
  }
  return word;
}

void fast_walsh_hadamard(std::span<Complex> values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((i & half) == 0) {
        const Complex first = values[i];
        values[i] = first + values[i + half];
        values[i + half] = first - values[i + half];
      }
    }
  }
}

std::vector<Complex> walsh_weights(const AnalysisVector& analysis, WindowKind window, std::size_t length) {
  std::vector<Complex> values(length);
  const std::vector<double> shape = window_values(window, static_cast<int>(length));
  for (std::size_t t = 0; t < length; ++t) {
    values[t] = shape[t] * analysis.without_window(static_cast<double>(t));
  }
  fast_walsh_hadamard(values);
  const unsigned log2 = log2_of(length);
  std::vector<Complex> weights(length);
  for (std::size_t m = 0; m < length; ++m) {
    weights[m] = values[walsh_mask(static_cast<std::uint32_t>(m), log2)];
  }
  return weights;
}

int in_word_order(const WalshFourierSettings& settings, std::size_t length) {
  if (settings.variant == WalshVariant::kFast && settings.coefficients > 0) {
    const std::size_t words = length / kBitsPerWord;
    const auto wanted = static_cast<std::size_t>(settings.coefficients);
    if (wanted <= 16 * words) {
      return wanted <= 6 * words ? 1 : 2;
    }
  }
  return std::bit_width(static_cast<unsigned>(kBitsPerWord)) - 1;
}

std::vector<WalshTerm> keep_terms(const std::vector<Complex>& weights, const WalshFourierSettings& settings) {
  std::vector<double> magnitudes(weights.size());
  std::transform(weights.begin(), weights.end(), magnitudes.begin(), [](Complex weight) { return std::abs(weight); });
  const double tie = kTie * *std::max_element(magnitudes.begin(), magnitudes.end());
  std::vector<std::uint32_t> kept = by_magnitude(magnitudes, tie);
  const unsigned log2 = log2_of(weights.size());
  const int order = in_word_order(settings, weights.size());
  std::erase_if(kept, [&](std::uint32_t m) {
    return std::popcount(walsh_mask(m, log2) & static_cast<std::uint32_t>(kBitsPerWord - 1)) > order;
  });
  if (settings.coefficients > 0) {
    kept.resize(std::min(kept.size(), static_cast<std::size_t>(settings.coefficients)));
  } else {
    std::erase_if(kept, [&](std::uint32_t m) { return magnitudes[m] < settings.threshold - tie; });
  }
  std::sort(kept.begin(), kept.end());
  std::vector<WalshTerm> terms;
  for (const std::uint32_t m : kept) {
    terms.push_back({.function = m, .weight = weights[m] / static_cast<double>(weights.size())});
  }
  return terms;
}

ToneResponse tone_response(const std::vector<WalshTerm>& terms, std::size_t length, double radians_per_bit) {
  // The transform of e^{-jwt}; that of e^{jwt} is its conjugate.
  const AnalysisVector tone{.forward = 1.0, .image = 0.0, .constant = 0.0, .radians_per_step = radians_per_bit};
  const std::vector<Complex> image = walsh_weights(tone, WindowKind::kNone, length);
  ToneResponse response{};
  for (const WalshTerm& term : terms) {
    response.forward += term.weight * std::conj(image[term.function]);
    response.image += term.weight * image[term.function];
  }
  return response;
}

std::vector<WalshTerm> walsh_terms(const WalshFourierSettings& settings, WindowKind window, bool remove_dc,
                                   std::size_t length, double radians_per_bit) {
  const AnalysisVector analysis = analysis_vector(window, length, radians_per_bit, remove_dc);
  std::vector<WalshTerm> terms = keep_terms(walsh_weights(analysis, window, length), settings);
  // y = (P A + Q conj(A)) / 2 for a tone of phasor A, hence A = 2 (conj(P) y - Q conj(y)) / (|P|^2 - |Q|^2), and
  // conj(y) has the conjugate weights, for Walsh coefficients are real.
  const auto [forward, image] = tone_response(terms, length, radians_per_bit);
  const double determinant = std::norm(forward) - std::norm(image);
  if (!(determinant > kLeastDeterminant)) {
    throw ConfigError(fmt::format(
        "front_end.walsh_fourier: expected enough coefficients, or a low enough threshold, to determine a tone's "
        "amplitude and phase, found {} kept (coefficients {}, threshold {})",
        terms.size(), settings.coefficients, settings.threshold));
  }
  for (WalshTerm& term : terms) {
    term.weight = 2.0 * (std::conj(forward) * term.weight - image * std::conj(term.weight)) / determinant;
  }
  return terms;
}

namespace {

constexpr std::size_t kSummationGroup = 64;
constexpr std::size_t kMostBlockWords = 16;
constexpr std::size_t kMostPairTile = 8;             ///< 32 sums per work-item
constexpr std::uint32_t kInWord = kBitsPerWord - 1;  ///< bits of walsh_mask() that act within a word

/// Every in-word pattern kept for any frequency.
std::vector<std::uint32_t> patterns_of(const WalshSum& sum) {
  std::set<std::uint32_t> kept;
  for (const std::vector<WalshTerm>& terms : sum.terms) {
    for (const WalshTerm& term : terms) {
      kept.insert(walsh_mask(term.function, log2_of(sum.bits)) & kInWord);
    }
  }
  return {kept.begin(), kept.end()};
}

/// Narrowest tile that holds all pairs of frequencies in the fewest tiles.
std::size_t pair_tile(std::size_t frequencies) {
  const std::size_t pairs = (frequencies + 1) / 2;
  const std::size_t tiles = (pairs + kMostPairTile - 1) / kMostPairTile;
  return (pairs + tiles - 1) / tiles;
}

class FoldedSummation final : public WalshSummation {
 public:
  FoldedSummation(const ocl::Device& device, const BitRing& ring, const WalshSum& sum)
      : channels_(sum.channels),
        pair_tile_(pair_tile(sum.terms.size())),
        pairs_(ocl::round_up((sum.terms.size() + 1) / 2, pair_tile_)) {
    const std::vector<std::uint32_t> patterns = patterns_of(sum);
    std::vector<std::uint32_t> masks;
    for (const std::uint32_t pattern : patterns) {
      masks.push_back(walsh_word(pattern));
    }
    const std::size_t words = sum.bits / kBitsPerWord;
    const std::size_t block = std::min(kMostBlockWords, words);
    blocks_ = words / block;
    masks_ = device.upload<std::uint32_t>(masks, kWalshStage);
    weights_ = device.upload<std::complex<float>>(interleaved_weights(sum, patterns), kWalshStage);
    partial_ = device.allocate<std::complex<float>>(blocks_ * 2 * pairs_ * channels_, kWalshStage);
    ocl::Defines defines = sum.defines();
    defines["PATTERNS"] = fmt::format("{}", patterns.size());
    defines["PAIRS"] = fmt::format("{}", pairs_);
    defines["PAIR_TILE"] = fmt::format("{}", pair_tile_);
    defines["BLOCK"] = fmt::format("{}", block);
    const ocl::Program program = device.build(kWalshStage, "frontend/walsh_fourier/walsh_fourier.cl", defines);
    folded_sums_ = program.kernel("folded_sums");
    folded_sums_.set("packed", ring.packed())
        .set("mask", masks_)
        .set("weight", weights_)
        .set("partial", partial_)
        .set("slots", ring.span().slots());
    first_slot_ = folded_sums_.arguments("first_slot");
    gather_ = program.kernel("gather");
    gather_.set("partial", partial_);
    to_spectra_ = gather_.arguments("spectra");
  }

  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra) override {
    folded_sums_.set(first_slot_, first_slot);
    folded_sums_.enqueue({.global_0 = ocl::round_up(channels_, kSummationGroup),
                          .local_0 = kSummationGroup,
                          .global_1 = blocks_,
                          .global_2 = pairs_ / pair_tile_});
    gather_.set(to_spectra_, spectra);
    gather_.enqueue(
        {.global_0 = ocl::round_up(channels_, kSummationGroup), .local_0 = kSummationGroup, .global_1 = pairs_});
  }

 private:
  /// [word][pattern][frequency], frequencies padded with 0 to the pairs.
  [[nodiscard]] std::vector<std::complex<float>> interleaved_weights(const WalshSum& sum,
                                                                     const std::vector<std::uint32_t>& patterns) const {
    const std::size_t words = sum.bits / kBitsPerWord;
    std::vector<std::complex<float>> values(words * patterns.size() * 2 * pairs_);
    for (std::size_t f = 0; f < sum.terms.size(); ++f) {
      const std::vector<std::complex<double>> folded = folded_weights(sum.terms[f], patterns, sum.bits);
      for (std::size_t i = 0; i < folded.size(); ++i) {
        const std::size_t pattern = i / words;
        const std::size_t word = i % words;
        values[(word * patterns.size() + pattern) * 2 * pairs_ + f] = std::complex<float>(folded[i]);
      }
    }
    return values;
  }

  std::size_t channels_;
  std::size_t pair_tile_;
  std::size_t pairs_;
  std::size_t blocks_ = 0;
  ocl::Buffer<std::uint32_t> masks_;          ///< [pattern]
  ocl::Buffer<std::complex<float>> weights_;  ///< [word][pattern][frequency]
  ocl::Buffer<std::complex<float>> partial_;  ///< [block][pair][channel][frequency of the pair]
  ocl::Kernel folded_sums_;
  ocl::Arguments<1> first_slot_;
  ocl::Kernel gather_;
  ocl::Arguments<1> to_spectra_;
};

}  // namespace

ocl::Defines WalshSum::defines() const {
  return {{"CHANNELS", fmt::format("{}", channels)},
          {"LOG2_BITS", fmt::format("{}", log2_of(bits))},
          {"FREQUENCIES", fmt::format("{}", terms.size())}};
}

std::vector<std::complex<double>> folded_weights(const std::vector<WalshTerm>& terms,
                                                 const std::vector<std::uint32_t>& patterns, std::size_t bits) {
  const std::size_t words = bits / kBitsPerWord;
  std::vector<std::complex<double>> values(patterns.size() * words);
  for (const WalshTerm& term : terms) {
    const std::uint32_t mask = walsh_mask(term.function, log2_of(bits));
    const auto pattern = std::lower_bound(patterns.begin(), patterns.end(), mask & kInWord) - patterns.begin();
    values[static_cast<std::size_t>(pattern) * words + mask / kBitsPerWord] = term.weight;
  }
  for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    fast_walsh_hadamard(std::span(values).subspan(pattern * words, words));
  }
  return values;
}

std::unique_ptr<WalshSummation> make_folded_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum) {
  return std::make_unique<FoldedSummation>(device, ring, sum);
}

}  // namespace nearfield
