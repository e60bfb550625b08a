#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "frontend/walsh_fourier/walsh_summation.hpp"

namespace nearfield::thesis {
namespace {

constexpr std::size_t kSummationLanes = 32;
constexpr std::size_t kSummationSlices = 8;
constexpr std::size_t kFunctionTile = 4;

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
    const std::uint32_t first = walsh_word(mask);
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
    walsh_ = device.upload<std::uint32_t>(precomputed ? function_words(functions, sum.bits) : functions, kWalshStage);
    sums_ = device.allocate<std::int32_t>(functions_ * channels_, kWalshStage);
    upload_terms(device, sum, functions);
    ocl::Defines defines = sum.defines();
    defines["FUNCTIONS"] = fmt::format("{}", functions_);
    defines["PRECOMPUTED"] = precomputed ? "1" : "0";
    const ocl::Program program = device.build(kWalshStage, "frontend/walsh_fourier/thesis/direct_sums.cl", defines);
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
    // The padding is not sorted, so it is left out of the search.
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
    first_term_ = device.upload<std::uint32_t>(first, kWalshStage);
    term_ = device.upload<std::uint32_t>(places, kWalshStage);
    term_weight_ = device.upload<std::complex<float>>(weights, kWalshStage);
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

}  // namespace

std::unique_ptr<WalshSummation> make_direct_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum, bool precomputed) {
  return std::make_unique<DirectSummation>(device, ring, sum, precomputed);
}

}  // namespace nearfield::thesis
