#include "frontend/walsh_fourier/walsh_summation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

namespace nearfield {
namespace {

constexpr std::string_view kWalshSummationStage = "front_end/walsh_fourier";
constexpr std::string_view kKernels = "frontend/walsh_fourier.cl";
constexpr std::size_t kSummationLanes = 32;
constexpr std::size_t kSummationSlices = 8;
constexpr std::size_t kFunctionTile = 4;
constexpr std::size_t kSummationGroup = 64;
constexpr std::size_t kMostBlockWords = 16;
constexpr std::size_t kMostPairTile = 8;             ///< 32 sums a work-item
constexpr std::uint32_t kInWord = kBitsPerWord - 1;  ///< bits of walsh_mask() that act within a word

unsigned log2_of(std::size_t power_of_two) { return static_cast<unsigned>(std::bit_width(power_of_two) - 1); }

/// 32 values of (-1)^popcount(mask & i) from `first_bit` on, bit 1 = -1.
std::uint32_t walsh_word(std::uint32_t mask, std::uint32_t first_bit) {
  std::uint32_t word = 0;
  for (std::uint32_t bit = 0; bit < kBitsPerWord; ++bit) {
    word |= (static_cast<std::uint32_t>(std::popcount(mask & (first_bit + bit))) & 1U) << bit;
  }
  return word;
}

ocl::Defines common_defines(const WalshSum& sum) {
  return {{"CHANNELS", fmt::format("{}", sum.channels)},
          {"LOG2_BITS", fmt::format("{}", log2_of(sum.bits))},
          {"FREQUENCIES", fmt::format("{}", sum.terms.size())}};
}

/// Every function that some frequency keeps, in rising order, padded with the first one to a multiple of the tile.
std::vector<std::uint32_t> functions_of(const WalshSum& sum) {
  std::set<std::uint32_t> kept;
  for (const std::vector<WalshTerm>& terms : sum.terms) {
    for (const WalshTerm& term : terms) {
      kept.insert(term.function);
    }
  }
  std::vector<std::uint32_t> functions(kept.begin(), kept.end());
  functions.resize(ocl::round_up(functions.size(), kFunctionTile), functions.front());
  return functions;
}

/// [word][function].
std::vector<std::uint32_t> function_words(const std::vector<std::uint32_t>& functions, std::size_t bits) {
  const std::size_t words = bits / kBitsPerWord;
  std::vector<std::uint32_t> values(words * functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::uint32_t mask = walsh_mask(functions[i], log2_of(bits));
    const std::uint32_t first = walsh_word(mask, 0);
    for (std::size_t word = 0; word < words; ++word) {
      const int flips = std::popcount((mask / kBitsPerWord) & static_cast<std::uint32_t>(word));
      values[word * functions.size() + i] = flips % 2 != 0 ? ~first : first;
    }
  }
  return values;
}

class DirectSummation final : public WalshSummation {
 public:
  DirectSummation(const ocl::Device& device, const BitRing& ring, const WalshSum& sum, bool precomputed)
      : channels_(sum.channels), frequencies_(sum.terms.size()) {
    const std::vector<std::uint32_t> functions = functions_of(sum);
    functions_ = functions.size();
    walsh_ = device.upload<std::uint32_t>(precomputed ? function_words(functions, sum.bits) : functions,
                                          kWalshSummationStage);
    sums_ = device.allocate<std::int32_t>(functions_ * channels_, kWalshSummationStage);
    upload_terms(device, sum, functions);
    ocl::Defines defines = common_defines(sum);
    defines["FUNCTIONS"] = fmt::format("{}", functions_);
    defines["PRECOMPUTED"] = precomputed ? "1" : "0";
    const ocl::Program program = device.build(kWalshSummationStage, kKernels, defines);
    walsh_sums_ = program.kernel("walsh_sums");
    walsh_sums_.set("packed", ring.packed()).set("walsh", walsh_).set("sums", sums_).set("slots", ring.span().slots());
    first_slot_ = walsh_sums_.arguments("first_slot");
    combine_ = program.kernel("combine");
    combine_.set("sums", sums_).set("first_term", first_term_).set("term", term_).set("term_weight", term_weight_);
    to_spectra_ = combine_.arguments("spectra");
  }

  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra) override {
    walsh_sums_.set(first_slot_, first_slot);
    walsh_sums_.enqueue({.global_0 = ocl::round_up(channels_, kSummationLanes),
                         .local_0 = kSummationLanes,
                         .global_1 = kSummationSlices,
                         .local_1 = kSummationSlices,
                         .global_2 = functions_ / kFunctionTile});
    combine_.set(to_spectra_, spectra);
    combine_.enqueue({.global_0 = ocl::round_up(channels_, kSummationLanes),
                      .local_0 = kSummationLanes,
                      .global_1 = kSummationSlices,
                      .local_1 = kSummationSlices,
                      .global_2 = frequencies_});
  }

 private:
  void upload_terms(const ocl::Device& device, const WalshSum& sum, const std::vector<std::uint32_t>& functions) {
    std::vector<std::uint32_t> first = {0U};
    std::vector<std::uint32_t> places;
    std::vector<std::complex<float>> weights;
    // The padding breaks the order, so it is left out of the search.
    const auto end = std::find_if(functions.begin() + 1, functions.end(),
                                  [&](std::uint32_t function) { return function == functions.front(); });
    for (const std::vector<WalshTerm>& terms : sum.terms) {
      for (const WalshTerm& term : terms) {
        places.push_back(
            static_cast<std::uint32_t>(std::lower_bound(functions.begin(), end, term.function) - functions.begin()));
        weights.emplace_back(term.weight);
      }
      first.push_back(static_cast<std::uint32_t>(places.size()));
    }
    first_term_ = device.upload<std::uint32_t>(first, kWalshSummationStage);
    term_ = device.upload<std::uint32_t>(places, kWalshSummationStage);
    term_weight_ = device.upload<std::complex<float>>(weights, kWalshSummationStage);
  }

  std::size_t channels_;
  std::size_t frequencies_;
  std::size_t functions_ = 0;                     ///< padded
  ocl::Buffer<std::uint32_t> walsh_;              ///< [word][function] or [function]
  ocl::Buffer<std::int32_t> sums_;                ///< [function][channel]
  ocl::Buffer<std::uint32_t> first_term_;         ///< [frequency + 1]
  ocl::Buffer<std::uint32_t> term_;               ///< [term]
  ocl::Buffer<std::complex<float>> term_weight_;  ///< [term]
  ocl::Kernel walsh_sums_;
  ocl::Arguments<1> first_slot_;
  ocl::Kernel combine_;
  ocl::Arguments<1> to_spectra_;
};

/// Every in-word pattern that some frequency keeps.
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
      masks.push_back(walsh_word(pattern, 0));
    }
    const std::size_t words = sum.bits / kBitsPerWord;
    const std::size_t block = std::min(kMostBlockWords, words);
    blocks_ = words / block;
    masks_ = device.upload<std::uint32_t>(masks, kWalshSummationStage);
    weights_ = device.upload<std::complex<float>>(interleaved_weights(sum, patterns), kWalshSummationStage);
    partial_ = device.allocate<std::complex<float>>(blocks_ * 2 * pairs_ * channels_, kWalshSummationStage);
    ocl::Defines defines = common_defines(sum);
    defines["PATTERNS"] = fmt::format("{}", patterns.size());
    defines["PAIRS"] = fmt::format("{}", pairs_);
    defines["PAIR_TILE"] = fmt::format("{}", pair_tile_);
    defines["BLOCK"] = fmt::format("{}", block);
    const ocl::Program program = device.build(kWalshSummationStage, kKernels, defines);
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

std::unique_ptr<WalshSummation> make_direct_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum, bool precomputed) {
  return std::make_unique<DirectSummation>(device, ring, sum, precomputed);
}

std::unique_ptr<WalshSummation> make_folded_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum) {
  return std::make_unique<FoldedSummation>(device, ring, sum);
}

}  // namespace nearfield
