#pragma once
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.hpp"

/// Streams of changing bits, and whether the images made of them are right.
namespace nearfield::bench {

/// Bits of an endless stream that repeats itself: a few hundred hops, at least four windows.
class BitPool {
 public:
  explicit BitPool(const EnginePlan& plan);
  /// Samples after which the stream repeats itself, a whole number of hops.
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::size_t words_per_sample() const { return words_per_sample_; }
  /// Wire words [bit-time][word] of the samples from `first` on, as many as `wire` holds.
  void copy(std::uint64_t first, std::span<std::uint32_t> wire, Copying copying = Copying::kCached) const;

 private:
  std::size_t words_per_sample_;
  std::uint64_t samples_;
  std::vector<std::uint32_t> bits_;
};

/// A frame that was kept to be looked at later.
struct KeptFrame {
  std::uint64_t first_sample = 0;
  std::vector<std::complex<float>> images;  ///< [plane][frequency][row][column]
};

/// Distance of kept frames from the reference engine's.
struct ImageCheck {
  std::size_t frames = 0;
  std::size_t windows = 0;     ///< different ones among these: the stream repeats itself
  double worst = 0.0;          ///< relative L2; infinite when an image is not finite
  std::uint64_t worst_at = 0;  ///< first sample of that frame
};
inline constexpr double kMostDifference = 1e-3;

struct SustainedRun {
  int batch = 1;
  std::size_t in_flight = 1;  ///< batches, as the engine allows
  double seconds = 0.0;
  std::uint64_t frames = 0;
  double frames_per_s = 0.0;
  double holograms_per_s = 0.0;
  double times_real_time = 0.0;  ///< frames a second over those that the microphones' stream has
  double slowest_s = 0.0;        ///< longest launch, from its bits' copy to the sum over its images
  std::uint64_t checksum = 0;    ///< over all images
  std::uint64_t repeated = 0;    ///< launches whose images were those of the launch before
  ImageCheck check = {};
  /// Why it is not to be believed; empty when it is.
  [[nodiscard]] std::string problem() const;
};

/// Frames between kept ones: about a thousand, at most, and such that there are at most some sixty different windows.
std::uint64_t keep_every(std::uint64_t pool_hops);

/// The sum of a launch's images as 64-bit words, each by exclusive or with a number of its place. Large ones by
/// threads.
std::uint64_t checksum_of(std::span<const std::complex<float>> images);

/// The plan of these settings, for bits.
EnginePlan bits_plan(const Settings& settings, std::size_t batches_in_flight = 1);
/// Samples that an engine takes in one push.
std::uint64_t most_pushed(const Engine& engine, const Settings& settings);

struct StreamOptions {
  double seconds = 0.0;     ///< one launch at least
  std::uint64_t every = 1;  ///< the first frame and each so many after it are kept
  std::function<void(KeptFrame)> keep;
};
/// Feeds the pool's stream as fast as the engine takes it, with as many batches in flight as it allows.
SustainedRun run_stream(Engine& engine, const EnginePlan& plan, const BitPool& pool, const StreamOptions& options);

/// Images the kept frames' bits again by the reference engine.
ImageCheck check_frames(const EnginePlan& plan, const BitPool& pool, const std::vector<KeptFrame>& kept);

}  // namespace nearfield::bench
