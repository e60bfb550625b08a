#include "frontend/walsh_fourier/walsh_summation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nearfield {
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

/// The widest tile whose multiples pad the pairs least.
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
  ocl::Buffer<std::complex<float>> partial_;  ///< [block][pair][channel][2]
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
