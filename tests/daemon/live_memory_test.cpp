#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "config/schema/front_end_kinds.hpp"
#include "daemon/live_rig.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "recording/recorder.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/recordings.hpp"

/// Live frames against those of one replay of the whole stream, to the last bit: wherever the stream was joined, after
/// hops that were shed and after another configuration, once memory is full again.
namespace nearfield::daemon {
namespace {

constexpr std::uint64_t kHops = 200;
constexpr std::uint64_t kBitTimes = kWindowBits + kHops * kHopBits;
constexpr std::uint64_t kMemory = 60;  // hops

struct Way {
  std::string name;
  std::string front_end;
  ImagerKind imager = ImagerKind::kPnah;
  std::string fft = "auto";
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const schema::FrontEndKind& kind : schema::front_end_kinds()) {
    all.push_back({.name = std::string(kind.name), .front_end = std::string(kind.name)});
  }
  all.push_back({.name = "stage_by_stage", .front_end = "popcount", .fft = "clfft"});
  all.push_back({.name = "sonah", .front_end = "popcount", .imager = ImagerKind::kSonah});
  return all;
}

Settings settings_of(const Way& way) {
  Settings settings = test::small_settings();
  settings.array.health.enabled = false;
  settings.front_end.kind = way.front_end;
  settings.holography.imager = way.imager;
  settings.holography.search_every_frames = 0;
  settings.device.fft = way.fft;
  return settings;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

class LiveMemory : public testing::TestWithParam<Way> {
 protected:
  LiveMemory() {
    CaptureInfo info;
    info.measurement = {.geometry = test::small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
    info.layout = WireLayout::kRowMajor;
    info.words_per_bit_time = test::kSmallWords;
    CaptureWriter writer(folder_ / "whole.h5", info);
    writer.append(bits_);
    writer.finish();
    for (const ImageFrame& frame : test::replayed(folder_ / "whole.h5", settings_)) {
      whole_.emplace(frame.first_sample, frame);
    }
  }
  void feed(Rig& rig, std::uint64_t first, std::uint64_t end, std::int64_t now_ns = monotonic_ns()) const {
    const auto words =
        std::span(bits_).subspan(first * test::kSmallWords, (end - first) * std::uint64_t{test::kSmallWords});
    rig.ring.store(first, std::as_bytes(words), now_ns);
  }
  /// Frames whose memory is full must be the whole replay's, and the others begin at the given hops, 60 each.
  void expect_whole(const Rig& rig, const std::vector<std::uint64_t>& begins) const {
    std::size_t compared = 0;
    for (const test::KeptFrame& kept : rig.sink.frames) {
      const std::uint64_t hop = kept.frame.first_bit_time / kHopBits;
      ASSERT_EQ(kept.frame.first_bit_time % kHopBits, 0U);
      const bool is_filling = std::any_of(begins.begin(), begins.end(),
                                          [&](std::uint64_t begin) { return begin <= hop && hop < begin + kMemory; });
      EXPECT_EQ((kept.frame.flags & kFlagMemoryNotFull) != 0, is_filling) << "hop " << hop;
      if (!is_filling) {
        const ImageFrame& expected = whole_.at(kept.frame.first_bit_time);
        EXPECT_TRUE(same_bytes(kept.images, expected.images)) << "hop " << hop;
        EXPECT_TRUE(same_bytes(kept.values.cutoff_rad_per_m, expected.cutoff_rad_per_m)) << "hop " << hop;
        EXPECT_TRUE(same_bytes(kept.values.noise_pa, expected.noise_pa)) << "hop " << hop;
        EXPECT_TRUE(same_bytes(kept.values.error_estimate, expected.error_estimate)) << "hop " << hop;
        ++compared;
      }
    }
    EXPECT_GT(compared, 30U);
  }
  const std::vector<std::uint32_t> bits_ = test::unsteady_bits(kBitTimes, kHopBits);
  const Settings settings_ = settings_of(GetParam());
  const test::TemporaryFolder folder_;
  std::map<std::uint64_t, ImageFrame> whole_;  ///< by first bit-time
};
INSTANTIATE_TEST_SUITE_P(, LiveMemory, testing::ValuesIn(ways()), [](const auto& way) { return way.param.name; });

TEST_P(LiveMemory, AStreamFromItsBeginningIsTheReplay) {
  Rig rig(settings_, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  feed(rig, 0, kBitTimes);
  rig.run();
  EXPECT_EQ(rig.sink.frames.size(), kHops + 1);
  expect_whole(rig, {});
}

TEST_P(LiveMemory, AStreamThatIsJoinedLateIsTheReplayOnceMemoryIsFull) {
  constexpr std::uint64_t kFirst = 20'011;  // within a word
  Rig rig(settings_, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, kFirst);
  feed(rig, kFirst, kBitTimes);
  rig.run();
  EXPECT_EQ(rig.sink.frames.front().frame.first_bit_time, (kFirst + kHopBits - 1) / kHopBits * kHopBits);
  expect_whole(rig, {kFirst / kHopBits + 1});
}

// Bits that came long ago are late, whatever this machine's speed: hops are shed. The hops that follow wait for
// nothing.
TEST_P(LiveMemory, HopsThatWereShedAreForgottenAfterTheMemory) {
  constexpr std::int64_t kLongAgoNs = 1'000'000'000;
  constexpr std::uint64_t kLate = 90;
  Rig rig(settings_);
  rig.ring.begin_stream(3, 0);
  feed(rig, 0, kLate * kHopBits + kWindowBits, monotonic_ns() - kLongAgoNs);
  rig.run();
  for (std::uint64_t hop = kLate + 1; hop <= kHops; ++hop) {
    feed(rig, (hop - 1) * kHopBits + kWindowBits, hop * kHopBits + kWindowBits);
    rig.run();
  }
  std::vector<std::uint64_t> begins;
  for (const test::KeptFrame& kept : rig.sink.frames) {
    if (kept.frame.shed_hops > 0) {
      begins.push_back(kept.frame.first_bit_time / kHopBits);
    }
  }
  ASSERT_FALSE(begins.empty());
  ASSERT_LE(begins.back(), kLate);
  expect_whole(rig, begins);
}

TEST_P(LiveMemory, AnotherConfigurationBeginsItsMemoryAnew) {
  constexpr std::uint64_t kSwap = 101 * kHopBits + kWindowBits + 77;
  Settings before = settings_;
  before.holography.quantity = Quantity::kNormalVelocity;
  before.front_end.window_samples = 64;
  before.front_end.hop_samples = 40;
  Rig rig(before, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  feed(rig, 0, kSwap);
  rig.run();
  rig.swap(make_epoch(settings_, patient_input(), 2));
  rig.sink.frames.clear();
  feed(rig, kSwap, kBitTimes);
  rig.run();
  const std::uint64_t begin = rig.sink.frames.front().frame.first_bit_time / kHopBits;
  EXPECT_GE(begin, 101U);
  EXPECT_LE(begin, 110U);
  expect_whole(rig, {begin});
}

class LiveMasks : public ::testing::TestWithParam<ImagerKind> {};

// A microphone is masked while a stream is recorded, another one beside it later, and then none: a replay of the bits
// masks them at the same windows, whole or in part. pnah predicts them from neighbours, sonah from all others.
TEST_P(LiveMasks, AreRecordedAndAReplayOfTheBitsHasThem) {
  Settings settings = settings_of({.name = "", .front_end = "popcount"});
  settings.holography.imager = GetParam();
  settings.array.health.enabled = true;
  settings.front_end.frequencies_hz = {1464.84375};
  const std::vector<std::uint32_t> bits = test::unsteady_bits(kBitTimes, kHopBits);
  const test::TemporaryFolder folder;
  std::vector<test::KeptFrame> live;
  std::string path;
  {
    RecorderOptions options;
    options.info.measurement = {.geometry = test::small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
    options.path = folder / "live.nfr";
    options.images = false;
    options.settings.pre_trigger_s = 0.0;
    Recorder recorder(options);
    recorder.start();
    recorder.wait_for_requests();
    Rig rig(settings, 1U << 18U, patient_input());
    rig.publisher.set(Publisher::Priority::kRecorder, &recorder);
    rig.publisher.set_bits(&recorder);
    rig.publisher.begin(*rig.engine.epoch().engine, 1);
    rig.ring.begin_stream(3, 0);
    std::uint64_t fed = 0;
    const auto feed_hops = [&](std::uint64_t hops) {
      const std::uint64_t end = std::min(kBitTimes, fed + hops * kHopBits);
      const auto words =
          std::span(bits).subspan(fed * test::kSmallWords, (end - fed) * std::uint64_t{test::kSmallWords});
      rig.ring.store(fed, std::as_bytes(words), monotonic_ns());
      rig.run();
      fed = end;
    };
    const std::vector<ArrayPlan> plans = rig.engine.epoch().engine->array_plans();
    ASSERT_EQ(plans.front().fills_from_all, GetParam() == ImagerKind::kSonah);
    feed_hops(70);
    rig.engine.use(make_masks(plans, {19}), 1);
    feed_hops(51);
    rig.engine.use(make_masks(plans, {19, 20}), 1);
    feed_hops(40);
    rig.engine.use(make_masks(plans, {}), 1);
    feed_hops(kHops);
    live = rig.sink.frames;
    recorder.stop();
    recorder.wait_for_requests();
    path = recorder.status().path;
  }
  ASSERT_EQ(live.size(), kHops + 1);
  EXPECT_EQ(live.at(100).frame.valid_microphones, 63U);
  const nfr::Reader reader{std::filesystem::path(path)};
  ASSERT_EQ(reader.masks().size(), 4U) << "none as it begins, and three changes";
  EXPECT_EQ(reader.masks()[0], MaskChange());
  EXPECT_EQ(reader.masks()[2].channels, std::vector<int>({19, 20}));
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{90}, std::uint64_t{170}}) {
    const std::vector<ImageFrame> replayed = test::replayed(path, settings, {.first = first, .end = {}});
    ASSERT_EQ(replayed.size(), live.size() - first);
    for (std::size_t i = 0; i < replayed.size(); ++i) {
      ASSERT_EQ(replayed[i].first_sample, live[i + first].frame.first_bit_time);
      EXPECT_TRUE(same_bytes(replayed[i].images, live[i + first].images)) << "hop " << i + first << " from " << first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Imagers, LiveMasks, ::testing::Values(ImagerKind::kPnah, ImagerKind::kSonah),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace nearfield::daemon
