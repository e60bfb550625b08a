#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// Imagers that remember frames forget them by hop numbers: what comes out does not depend on where a run began.
namespace nearfield {
namespace {

using ComplexF = std::complex<float>;
using test::Complex;

constexpr std::size_t kFrames = 150;

struct Way {
  const char* name;
  ImagerKind imager;
  test::Path path;
  int side = 10;  ///< microphones
};
constexpr Way kWays[] = {{"pnah_stage_by_stage", ImagerKind::kPnah, test::kPaths[0]},
                         {"pnah_fused", ImagerKind::kPnah, test::kPaths[1]},
                         {"pnah_fused_as_on_a_gpu", ImagerKind::kPnah, test::kPaths[2]},
                         {"pnah_fused_as_on_a_gpu_of_8_x_8", ImagerKind::kPnah, test::kPaths[2], 8},
                         {"sonah", ImagerKind::kSonah, {"", "auto", false}},
                         {"sonah_as_on_a_gpu", ImagerKind::kSonah, {"", "auto", true}}};

ImagePlan plan_of(const Way& way, int batch) {
  ImagePlan plan;
  plan.geometry = {.rows = way.side, .columns = way.side, .pitch_x_m = 0.03, .pitch_y_m = 0.03};
  plan.holography.imager = way.imager;
  plan.holography.filter.cutoff_rule = CutoffRule::kAuto;
  plan.holography.search_every_frames = 0;
  plan.frequencies_hz = {500.0, 1900.0};
  plan.cutoff_rad_per_m = resolve_cutoffs(plan.holography, plan.medium, plan.geometry, plan.frequencies_hz);
  plan.fft = way.path.fft;
  plan.batch = batch;
  return plan;
}

/// [frame]: a source whose level goes up and down by more and by less than 6 dB, in noise that does so too.
std::vector<std::vector<ComplexF>> unsteady_frames(const ImagePlan& plan) {
  std::mt19937 generator(17U);
  std::vector<std::vector<ComplexF>> frames;
  for (std::size_t i = 0; i < kFrames; ++i) {
    const double t = static_cast<double>(i);
    const double gain = std::exp(1.2 * std::sin(0.13 * t) + 0.3 * std::sin(1.7 * t));
    const double snr_db = 28.0 + 14.0 * std::sin(0.071 * t);
    std::vector<Complex> spectra;
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      const test::Monopole source{.x_m = 0.03 * std::sin(0.02 * t), .y_m = 0.01, .z_m = -0.03};
      auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.standoff_m);
      test::add_noise(field, snr_db, generator);
      for (const Complex value : field) {
        spectra.push_back(gain * value);
      }
    }
    frames.push_back(test::narrow(spectra));
  }
  return frames;
}

struct Outcome {
  std::vector<ComplexF> images;
  std::vector<FilterReport> reports;
};

bool is_same(const Outcome& a, const Outcome& b) {
  return a.images.size() == b.images.size() && a.reports.size() == b.reports.size() &&
         std::memcmp(a.images.data(), b.images.data(), a.images.size() * sizeof(ComplexF)) == 0 &&
         std::memcmp(a.reports.data(), b.reports.data(), a.reports.size() * sizeof(FilterReport)) == 0;
}

/// An imager on the device.
class OnDevice {
 public:
  OnDevice(const Way& way, int batch)
      : plain_(way.path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt),
        device_(test::device_of(way.path)),
        plan_(plan_of(way, batch)),
        imager_(make_imager(device_, plan_)),
        spectra_(device_.allocate<ComplexF>(plan_.holograms() * static_cast<std::size_t>(plan_.geometry.channels()),
                                            "test")),
        status_(device_.allocate<std::uint32_t>(static_cast<std::size_t>(batch) * kStatusWords, "test")) {
    device_.enqueue_fill(status_, 0U, "test");
    device_.enqueue_fill(spectra_, ComplexF(), "test");
  }
  /// Frames `first` to `end` - 1, each of its own hop; one of `incomplete` lacks bits. [frame - first].
  std::vector<Outcome> image(const std::vector<std::vector<ComplexF>>& frames, std::size_t first, std::size_t end,
                             const std::vector<std::size_t>& incomplete = {}) {
    std::vector<Outcome> found;
    while (first < end) {
      const std::size_t count = std::min(static_cast<std::size_t>(plan_.batch), end - first);
      std::vector<ComplexF> together;
      FrameHops hops{.first = first};
      for (std::size_t i = first; i < first + count; ++i) {
        together.insert(together.end(), frames[i].begin(), frames[i].end());
        const bool lacks = std::find(incomplete.begin(), incomplete.end(), i) != incomplete.end();
        if (!incomplete.empty()) {
          hops.incomplete.push_back(lacks ? 1 : 0);
        }
      }
      device_.enqueue_write(spectra_, 0, std::span<const ComplexF>(together), "test");
      imager_->set_hops(hops);
      imager_->enqueue(spectra_, status_, count);
      imager_->enqueue_fetch(count);
      device_.wait();
      const std::size_t pixels = imager_->host_images().size() / static_cast<std::size_t>(plan_.batch);
      const std::size_t reports = plan_.frequencies_hz.size();
      for (std::size_t i = 0; i < count; ++i) {
        const auto images = imager_->host_images().subspan(i * pixels, pixels);
        const auto figures = imager_->host_reports().subspan(i * reports, reports);
        found.push_back({{images.begin(), images.end()}, {figures.begin(), figures.end()}});
      }
      first += count;
    }
    return found;
  }
  void forget() { imager_->forget(); }

 private:
  std::optional<test::PlainWorkGroups> plain_;
  ocl::Device device_;
  ImagePlan plan_;
  std::unique_ptr<Imager> imager_;
  ComplexBuffer spectra_;
  StatusBuffer status_;
};

class Memory : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().imager == ImagerKind::kPnah && GetParam().path.as_gpu && !test::has_fused_groups()) {
      GTEST_SKIP() << test::kNoFusedGroups;
    }
  }
  const std::vector<std::vector<ComplexF>> frames_ = unsteady_frames(plan_of(GetParam(), 1));
};
INSTANTIATE_TEST_SUITE_P(, Memory, testing::ValuesIn(kWays), [](const auto& way) { return way.param.name; });

TEST_P(Memory, EndsAfterItsHopsWhereverARunBegan) {
  const std::vector<Outcome> whole = OnDevice(GetParam(), 1).image(frames_, 0, kFrames);
  std::size_t differing = 0;
  for (const std::size_t begin : {std::size_t{7}, std::size_t{44}, std::size_t{60}}) {
    const std::vector<Outcome> part = OnDevice(GetParam(), 1).image(frames_, begin, kFrames);
    for (std::size_t i = begin; i < kFrames; ++i) {
      const bool same = is_same(part[i - begin], whole[i]);
      if (i + 1 >= begin + kMemoryHops) {
        EXPECT_TRUE(same) << "frame " << i << " of a run from " << begin << " on";
      }
      differing += same ? 0 : 1;
    }
  }
  EXPECT_GT(differing, 10U) << "the frames remember nothing, so that this test shows nothing";
}

TEST_P(Memory, OfABatchIsThatOfItsFramesOneByOne) {
  const std::vector<Outcome> one_by_one = OnDevice(GetParam(), 1).image(frames_, 0, kFrames);
  for (const int batch : {4, 7}) {
    const std::vector<Outcome> together = OnDevice(GetParam(), batch).image(frames_, 0, kFrames);
    for (std::size_t i = 0; i < kFrames; ++i) {
      EXPECT_TRUE(is_same(together[i], one_by_one[i])) << "frame " << i << " in batches of " << batch;
    }
  }
}

// What is silence in the place of lost bits teaches nothing: whatever it holds, the frames after it are the same.
TEST_P(Memory, HasNoFramesThatLackBits) {
  std::vector<std::vector<ComplexF>> spoiled = frames_;
  for (const std::size_t frame : {std::size_t{40}, std::size_t{41}, std::size_t{75}}) {
    spoiled[frame] = std::vector<ComplexF>(frames_[frame].rbegin(), frames_[frame].rend());
    spoiled[frame][3] *= 30.0F;
  }
  for (const int batch : {1, 4}) {
    const std::vector<Outcome> first = OnDevice(GetParam(), batch).image(frames_, 0, kFrames, {40, 41, 75});
    const std::vector<Outcome> other = OnDevice(GetParam(), batch).image(spoiled, 0, kFrames, {40, 41, 75});
    for (std::size_t i = 0; i < kFrames; ++i) {
      EXPECT_EQ(is_same(first[i], other[i]), i != 40 && i != 41 && i != 75) << "frame " << i << ", batch " << batch;
    }
  }
}

TEST_P(Memory, IsEmptyAfterForget) {
  OnDevice run(GetParam(), 1);
  (void)run.image(frames_, 0, 50);
  run.forget();
  const std::vector<Outcome> again = run.image(frames_, 50, 70);
  const std::vector<Outcome> anew = OnDevice(GetParam(), 1).image(frames_, 50, 70);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_TRUE(is_same(again[i], anew[i])) << i;
  }
}

// Over hand-overs from one memory to the other, jumps of the level and frames that lack bits.
TEST_P(Memory, AgreesWithReference) {
  const ImagePlan plan = plan_of(GetParam(), 4);
  const std::vector<Outcome> found = OnDevice(GetParam(), 4).image(frames_, 5, kFrames, {40, 75});
  const std::unique_ptr<reference::Imager> reference = imager_entry(GetParam().imager).make_reference(plan);
  for (std::size_t i = 5; i < kFrames; ++i) {
    reference->set_hop(i, i != 40 && i != 75);
    const reference::Images expected = reference->image(test::widen(frames_[i]));
    EXPECT_LE(test::relative_l2(test::widen(found[i - 5].images), expected.images), 1e-3) << "frame " << i;
    for (std::size_t f = 0; f < expected.reports.size(); ++f) {
      const float cutoff = expected.reports[f].cutoff_rad_per_m;
      EXPECT_NEAR(found[i - 5].reports[f].cutoff_rad_per_m, cutoff, 2e-3F * cutoff) << "frame " << i;
      EXPECT_NEAR(found[i - 5].reports[f].noise_pa, expected.reports[f].noise_pa, 2e-3F * expected.reports[f].noise_pa)
          << "frame " << i;
    }
  }
}

TEST(MemoryPlace, KeepsHalvesApartAtAnyHop) {
  EXPECT_EQ(memory_place(0).half, 0);
  EXPECT_EQ(memory_place(59).half, 1);
  EXPECT_EQ(memory_place(59).age, 29);
  constexpr std::uint64_t kFar = std::uint64_t{1} << 58U;  // of a stream that has run for longer than any clock counts
  EXPECT_EQ(memory_place(kFar).half % 2, static_cast<std::int32_t>(kFar / kMemoryHalf % 2));
  EXPECT_EQ(memory_place(kFar).age, static_cast<std::int32_t>(kFar % kMemoryHalf));
  EXPECT_GE(memory_place(kFar).half, 0);
}

}  // namespace
}  // namespace nearfield
