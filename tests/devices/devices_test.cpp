#include "engine/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "devices/two_devices.hpp"
#include "engine/engine.hpp"
#include "engine/feeder.hpp"
#include "engine/staging.hpp"
#include "support/images.hpp"

/// Processors on devices of their own, and taps that processors share.
namespace nearfield {
namespace {

using test::device_name;
using test::two_device_settings;
using test::with_processors;
using testing::StartsWith;

constexpr std::size_t kWordsPerSample = 32 * 2;  // 64 microphones at 32 bit-times

/// The products of a processor of one window.
struct Kept {
  std::size_t processor = 0;
  std::uint64_t window = 0;
  std::uint32_t flags = 0;
  std::uint32_t valid_microphones = 0;
  std::vector<std::vector<std::byte>> products = {};
  bool operator==(const Kept&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Kept& kept) {
    out << fmt::format("\nprocessor {}, window {}, flags {}, {} microphones:", kept.processor, kept.window, kept.flags,
                       kept.valid_microphones);
    for (const std::vector<std::byte>& product : kept.products) {
      std::vector<float> values(std::min<std::size_t>(product.size() / sizeof(float), 8));
      std::memcpy(values.data(), product.data(), values.size() * sizeof(float));
      out << fmt::format(" {}", fmt::join(values, ", "));
    }
    return out;
  }
};

std::unique_ptr<Engine> engine_of(const Settings& settings, EngineKind kind = EngineKind::kOpencl) {
  EnginePlan plan;
  plan.settings = settings;
  plan.sample_rate_hz = 46875.0;
  return make_engine(kind, plan);
}

/// Windows from `first` on, each a hop after the one before, as a live engine feeds them. Late processors are begun
/// behind a batch and kept when the next one is there.
void run(Engine& engine, const Settings& settings, Feeder& feeder, std::uint64_t first, std::size_t count,
         std::vector<Kept>& kept) {
  const auto hop = static_cast<std::uint64_t>(settings.front_end.hop_samples);
  const auto batch = static_cast<std::size_t>(settings.device.batch);
  const auto window_samples = static_cast<std::uint64_t>(settings.front_end.window_samples);
  for (std::size_t done = 0; done < count; done += batch) {
    const std::uint64_t number = first + done;
    const SampleSpan span = feeder.next(number * hop, batch, engine);
    for (std::uint64_t fed = span.first; fed < span.end;) {
      const std::uint64_t samples = std::min(span.end - fed, window_samples);
      const std::span<std::uint32_t> room = engine.room_for_bits(samples * kWordsPerSample);
      for (std::size_t i = 0; i < room.size(); ++i) {
        room[i] = test::scrambled_bits(fed * kWordsPerSample + i);
      }
      engine.push_bits(fed, room);
      fed += samples;
    }
    const FinishedBatch computed = engine.compute({.first_sample = number * hop, .windows = batch});
    const auto keep = [&](std::size_t p) {
      for (std::size_t i = 0; i < batch; ++i) {
        if ((number + i) % static_cast<std::uint64_t>(engine.every_hops(p)) == 0 &&
            engine.has_products(computed, p, i)) {
          const FrameProducts read = engine.read(computed, p, i);
          kept.push_back(
              {.processor = p, .window = number + i, .flags = read.flags, .valid_microphones = read.valid_microphones});
          for (const std::span<const std::byte> product : read.products) {
            kept.back().products.emplace_back(product.begin(), product.end());
          }
        }
      }
    };
    std::vector<std::size_t> due;
    for (std::size_t p = 0; p < engine.processors(); ++p) {
      if (!engine.is_late(p)) {
        keep(p);
      } else if (number % static_cast<std::uint64_t>(engine.every_hops(p)) == 0) {
        due.push_back(p);
      }
    }
    engine.begin_late(computed, due);
    engine.finish_late();
    std::ranges::for_each(due, keep);
  }
}

/// With a gap in its middle, and at the end two microphones masked.
std::vector<Kept> run_of(const Settings& settings, EngineKind kind = EngineKind::kOpencl) {
  const std::unique_ptr<Engine> engine = engine_of(settings, kind);
  Feeder feeder(settings.front_end);
  feeder.begin(0);
  std::vector<Kept> kept;
  run(*engine, settings, feeder, 0, 18, kept);
  run(*engine, settings, feeder, 60, 12, kept);
  engine->use(make_masks(engine->array_plans(), {3, 17}));
  run(*engine, settings, feeder, 72, 6, kept);
  return kept;
}

/// A processor's settings, and what of the run's matters for it.
struct Elsewhere {
  const char* name;
  std::vector<std::string> lines;
  Incremental incremental = Incremental::kAuto;
  int batch = 1;
  friend std::ostream& operator<<(std::ostream& out, const Elsewhere& one) { return out << one.name; }
};

class DevicesTest : public testing::TestWithParam<Elsewhere> {};
INSTANTIATE_TEST_SUITE_P(
    , DevicesTest,
    testing::Values(Elsewhere{"rows_at_every_hop", {"kind=row_power"}},
                    // Spectra that are wanted more seldom are those of whole windows.
                    Elsewhere{"rows_late", {"kind=row_power", "every_hops=3"}, Incremental::kNever},
                    Elsewhere{"images_in_batches",
                              {"kind=pnah", "planes_m=[0.01]", "filter.cutoff_rad_per_m=dynamic_range"},
                              Incremental::kNever,
                              3},
                    Elsewhere{"longer_and_late",
                              {"kind=row_power", "every_hops=2", "front_end.kind=decimated_fft",
                               "front_end.window_samples=256"}}),
    [](const auto& one) { return one.param.name; });

// Same bits, same kernels, same arithmetic: bit for bit what it makes on the run's device, and the first processor
// makes what it makes alone.
TEST_P(DevicesTest, ElsewhereAProcessorMakesTheSame) {
  std::vector<std::string> here;
  for (const std::string& line : GetParam().lines) {
    here.push_back("processors.far." + line);
  }
  std::vector<std::string> there = here;
  there.emplace_back("processors.far.device=0");
  Settings settings = two_device_settings();
  settings.front_end.incremental = GetParam().incremental;
  settings.device.batch = GetParam().batch;
  const std::unique_ptr<Engine> engine = engine_of(with_processors(settings, there));
  EXPECT_THAT(engine->header(0).device, StartsWith(device_name(1)));
  EXPECT_THAT(engine->header(1).device, StartsWith(device_name(0)));
  const std::vector<Kept> found = run_of(with_processors(settings, there));
  const std::vector<Kept> expected = run_of(with_processors(settings, here));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], expected[i]);
  }
  const auto is_far = [](const Kept& kept) { return kept.processor == 1; };
  EXPECT_GE(std::count_if(found.begin(), found.end(), is_far), 11);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [&](const Kept& kept) { return is_far(kept) && kept.valid_microphones == 62; }));
}

// The double-precision engine works on the host, whatever device is named.
TEST(Devices, TheReferencePassesThemOver) {
  const Settings settings =
      with_processors(two_device_settings(), {"processors.far.kind=row_power", "processors.far.device=nowhere"});
  EXPECT_EQ(engine_of(settings, EngineKind::kReference)->header(1).device, "reference (double precision on the host)");
}

// One front end computes for all processors of a device whose settings for it are equal. array_plans() has one entry a
// tap.
TEST(Devices, EqualFrontEndsOfADeviceAreOne) {
  const auto taps_of = [](std::vector<std::string> lines, const std::vector<std::string>& more = {}) {
    lines.insert(lines.end(), more.begin(), more.end());
    return engine_of(with_processors(two_device_settings(), lines))->array_plans().size();
  };
  const std::vector<std::string> own = {"processors.a.kind=row_power", "processors.a.front_end.window_samples=256",
                                        "processors.b.kind=row_power", "processors.b.front_end.window_samples=256"};
  EXPECT_EQ(taps_of(own), 2U);
  EXPECT_EQ(taps_of(own, {"processors.b.device=0"}), 3U);
  EXPECT_EQ(taps_of(own, {"processors.a.device=0", "processors.b.device=0"}), 2U);
  EXPECT_EQ(taps_of(own, {"processors.b.every_hops=2"}), 3U) << "one slides its sums, one takes whole windows";
  EXPECT_EQ(taps_of(own, {"processors.a.front_end.kind=decimated_fft", "processors.b.front_end.kind=decimated_fft",
                          "processors.b.every_hops=2"}),
            2U);
  EXPECT_EQ(taps_of({"processors.a.kind=row_power", "processors.a.device=1"}), 1U) << "the run's device";
}

// Two processors of different cadences on one late tap, and one at every hop and a late one on one prompt tap: each
// makes what it makes with a tap of its own.
TEST(Devices, ASharedTapChangesNothing) {
  const auto lines_of = [](const std::string& name, int every) {
    return std::vector<std::string>{
        "processors." + name + ".kind=row_power", fmt::format("processors.{}.every_hops={}", name, every),
        "processors." + name + ".front_end.kind=decimated_fft", "processors." + name + ".front_end.window_samples=256"};
  };
  for (const auto& [first, second] : {std::pair(2, 3), std::pair(1, 3)}) {
    std::vector<std::string> both = lines_of("a", first);
    const std::vector<std::string> more = lines_of("b", second);
    both.insert(both.end(), more.begin(), more.end());
    ASSERT_EQ(engine_of(with_processors(two_device_settings(), both))->array_plans().size(), 2U);
    const std::vector<Kept> found = run_of(with_processors(two_device_settings(), both));
    for (const auto& [processor, every] : {std::pair(std::size_t{1}, first), std::pair(std::size_t{2}, second)}) {
      std::vector<Kept> of_one;
      std::copy_if(found.begin(), found.end(), std::back_inserter(of_one),
                   [number = processor](const Kept& kept) { return kept.processor == number; });
      std::vector<Kept> alone = run_of(with_processors(two_device_settings(), lines_of("a", every)));
      std::erase_if(alone, [](const Kept& kept) { return kept.processor != 1; });
      std::for_each(alone.begin(), alone.end(), [number = processor](Kept& kept) { kept.processor = number; });
      EXPECT_EQ(of_one, alone) << first << ", " << second << ": " << processor;
    }
  }
}

std::vector<Kept> of_processor(std::vector<Kept> kept, std::size_t processor) {
  std::erase_if(kept, [&](const Kept& one) { return one.processor != processor; });
  return kept;
}

// The run's sliding sums and a late processor's longer FFT cut their windows from the same decimated samples: each
// makes what it makes from its own, behind a gap too.
TEST(Devices, SharedSamplesChangeNothing) {
  const std::vector<std::string> far = {"processors.far.kind=row_power", "processors.far.every_hops=3",
                                        "processors.far.front_end.kind=decimated_fft",
                                        "processors.far.front_end.window_samples=256"};
  const Settings popcount = two_device_settings();
  Settings sums = popcount;
  sums.front_end.kind = "dot_product";
  sums.front_end.incremental = Incremental::kAlways;
  const std::vector<Kept> found = run_of(with_processors(sums, far));
  EXPECT_EQ(of_processor(found, 0), run_of(sums));
  EXPECT_EQ(of_processor(found, 1), of_processor(run_of(with_processors(popcount, far)), 1));
}

TEST(Devices, OneThatIsNotThereIsNamed) {
  for (const auto& [device, expected] :
       {std::pair(std::string("nowhere"),
                  "\"nowhere\": no OpenCL device matches \"nowhere\"; found \"" + device_name(0)),
        std::pair(device_name(0) + ":7", fmt::format("\"{}:7\": expected 0 to 0, found 7", device_name(0)))}) {
    const Settings settings = with_processors(
        two_device_settings(), {"processors.far.kind=row_power", fmt::format("processors.far.device=\"{}\"", device)});
    try {
      (void)engine_of(settings);
      ADD_FAILURE() << "expected a refusal of " << device;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), StartsWith(fmt::format("processors.far.device: {}", expected)));
    }
  }
  EXPECT_THROW((void)load_settings("", {"processors.far.kind=row_power", "processors.far.device=a:b"}), ConfigError);
}

// Indexes count among the devices of the run's platform; names that lead to one device are one.
TEST(Devices, ADeviceIsTheSameWhateverItIsCalled) {
  Settings settings = two_device_settings();
  settings.device.platform = "auto";
  const Settings with = with_processors(
      settings, {"processors.a.kind=row_power", "processors.a.device=0", "processors.b.kind=row_power",
                 fmt::format("processors.b.device=\"{}\"", device_name(0)), "processors.c.kind=row_power",
                 fmt::format("processors.c.device=\"{}\"", device_name(1))});
  const DeviceInfos devices = find_devices(ocl::find_device(with.device), with);
  EXPECT_EQ(devices.of_processors, (std::vector<std::size_t>{1, 1, 0}));
  ASSERT_EQ(devices.all.size(), 2U);
  EXPECT_THAT(devices.all[1].name, StartsWith(device_name(0)));
}

// A device that no prompt frame works on may be as far behind as it likes: frames come all the same, and its products
// are those of a device that was in time.
TEST(Devices, NoFrameWaitsForADeviceApart) {
  const std::vector<std::string> lines = {"processors.far.kind=row_power", "processors.far.every_hops=10",
                                          "processors.far.front_end.kind=decimated_fft",
                                          "processors.far.front_end.window_samples=192"};
  const Settings settings = test::held_settings(lines);
  EnginePlan plan;
  plan.settings = settings;
  plan.sample_rate_hz = 46875.0;
  test::HeldEngine held = test::held_engine(plan);
  Engine& engine = *held.engine;
  const std::unique_ptr<Engine> in_time = engine_of(settings);
  const auto hop = static_cast<std::uint64_t>(settings.front_end.hop_samples);
  std::vector<Feeder> feeders(2, Feeder(settings.front_end));
  std::ranges::for_each(feeders, [](Feeder& feeder) { feeder.begin(0); });
  const auto feed = [&](Engine& fed, Feeder& by, std::uint64_t number) {
    const SampleSpan span = by.next(number * hop, 1, fed);
    const std::span<std::uint32_t> room = fed.room_for_bits((span.end - span.first) * kWordsPerSample);
    for (std::size_t i = 0; i < room.size(); ++i) {
      room[i] = test::scrambled_bits(span.first * kWordsPerSample + i);
    }
    fed.push_bits(span.first, room);
    return fed.compute({.first_sample = number * hop});
  };
  const auto due_at = [](std::uint64_t number) { return std::vector<std::size_t>(number == 8 ? 1 : 0, 1); };
  // The engine in time comes first: with PoCL the first launch of a kernel waits for its device (cl/shared_code.hpp).
  FinishedBatch far_in_time;
  std::vector<decltype(images_in(*in_time, far_in_time))> images_in_time;
  for (std::uint64_t number = 0; number < 10; ++number) {
    const FinishedBatch batch = feed(*in_time, feeders[1], number);
    in_time->begin_late(batch, due_at(number));
    if (number == 8) {
      far_in_time = batch;
      in_time->finish_late();
      EXPECT_FALSE(in_time->is_under_way(1));
    }
    images_in_time.push_back(images_in(*in_time, batch));
  }
  FinishedBatch far;
  for (std::uint64_t number = 0; number < 10; ++number) {
    const FinishedBatch batch = feed(engine, feeders[0], number);
    engine.begin_late(batch, due_at(number));
    far = number == 8 ? batch : far;
    EXPECT_EQ(engine.is_under_way(1), number >= 8);
    EXPECT_EQ(images_in(engine, batch), images_in_time[number]);
  }
  held.held->let_go();
  engine.finish_late();
  EXPECT_FALSE(engine.is_under_way(1));
  const FrameProducts read = engine.read(far, 1, 0);
  const FrameProducts read_in_time = in_time->read(far_in_time, 1, 0);
  const Products found = read.products;
  const Products expected = read_in_time.products;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(found[i], expected[i]));
  }
  EXPECT_EQ(read.flags, read_in_time.flags);
  EXPECT_EQ(read.valid_microphones, 64U);
}

// Bits that are copied for it keep their place until the device has fetched them.
TEST(Devices, PacedStagingKeepsWhatIsNotFetched) {
  const Settings settings = two_device_settings();
  const ocl::Device device = ocl::Device::open(settings.device);
  constexpr std::size_t kHalf = 64;
  PacedStaging staging(device, kHalf, "test");
  const ocl::Buffer<std::uint32_t> fetched = device.allocate<std::uint32_t>(3 * kHalf, "test");
  test::HeldDevice held(device);
  std::vector<std::uint32_t> expected;
  const auto fetch = [&](std::size_t first, std::size_t count) {
    std::vector<std::uint32_t> piece(count);
    for (std::size_t i = 0; i < count; ++i) {
      piece[i] = test::scrambled_bits(first + i);
    }
    expected.insert(expected.end(), piece.begin(), piece.end());
    device.enqueue_write(fetched, first, staging.keep(piece), "test");
    std::fill(piece.begin(), piece.end(), 0U);
  };
  fetch(0, 40);
  fetch(40, 24);
  fetch(64, 1);
  fetch(65, 63);
  device.flush();
  held.let_go();
  fetch(128, 64);  // waits for the first half
  EXPECT_EQ(device.download(fetched, "test"), expected);
  EXPECT_THROW((void)staging.keep(std::vector<std::uint32_t>(kHalf + 1)), Error);
}

}  // namespace
}  // namespace nearfield
