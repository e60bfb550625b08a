#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "processors/srp_phat_support.hpp"

/// The search of maxima on the device, on maps that are planted.
namespace nearfield {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// srp_maximum and srp_found alone, of maps of a size.
class Search {
 public:
  explicit Search(std::size_t pixels)
      : pixels_(pixels),
        program_(test::srp_device().build("test", "processors/srp_phat.cl",
                                          {{"PIXELS", std::to_string(pixels)}, {"DIMENSIONS", "0"}, {"POINTS", "1"}})),
        maximum_(program_.kernel("srp_maximum")),
        found_(program_.kernel("srp_found")),
        groups_((pixels + 255) / 256),
        places_(test::srp_device().upload<float>(std::vector<float>(4 * pixels), "test")),
        map_(test::srp_device().allocate<float>(pixels, "test")),
        results_(test::srp_device().allocate<float>(kResults, "test")),
        best_values_(test::srp_device().allocate<float>(groups_, "test")),
        best_indices_(test::srp_device().allocate<std::int32_t>(groups_, "test")) {
    maximum_.set_all(places_, map_, results_, best_values_, best_indices_, cl_int{0});
    found_.set_all(places_, best_values_, best_indices_, results_, cl_int{0});
  }
  /// The pixel of the maximum; -1: none.
  std::int64_t operator()(const std::vector<float>& map) {
    const ocl::Device& device = test::srp_device();
    device.enqueue_write(map_, 0, std::span<const float>(map), "test");
    maximum_.enqueue({.global_0 = groups_ * 256, .local_0 = 256});
    found_.enqueue({.global_0 = 256, .local_0 = 256});
    device.wait();
    return static_cast<std::int64_t>(device.download(results_, "test")[kIndex]);
  }
  [[nodiscard]] std::size_t pixels() const { return pixels_; }

 private:
  static constexpr std::size_t kIndex = 2 + 3 + 4;  // before it: microphones, pairs, three values of one bin, a place
  static constexpr std::size_t kResults = 2 + 3 + 8 + 1 + 2;  // refinement has two points an item
  std::size_t pixels_;
  ocl::Program program_;
  ocl::Kernel maximum_;
  ocl::Kernel found_;
  std::size_t groups_;
  ocl::Buffer<float> places_;
  ocl::Buffer<float> map_;
  ocl::Buffer<float> results_;
  ocl::Buffer<float> best_values_;
  ocl::Buffer<std::int32_t> best_indices_;
};

/// The first of the largest values that are numbers; -1: none.
std::int64_t first_maximum(const std::vector<float>& map) {
  std::int64_t best = -1;
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (!std::isnan(map[i]) && (best < 0 || map[i] > map[static_cast<std::size_t>(best)])) {
      best = static_cast<std::int64_t>(i);
    }
  }
  return best;
}

class SrpSearch : public testing::TestWithParam<std::size_t> {};

// B5: planted at both ends and at the edges of groups, with ties, with NaN, at any size.
TEST_P(SrpSearch, LooksAtEveryPixel) {
  Search search(GetParam());
  const std::size_t last = search.pixels() - 1;
  std::mt19937 generator(static_cast<unsigned>(search.pixels()));
  std::uniform_real_distribution<float> values(0.0F, 0.9F);
  std::vector<float> map(search.pixels());
  std::generate(map.begin(), map.end(), [&] { return values(generator); });
  const std::vector<float> noise = map;
  for (const std::size_t wished : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257},
                                   last / 256 * 256, last / 256 * 256 - 1, last - 1, last}) {
    const std::size_t planted = std::min(wished, last);
    map = noise;
    map[planted] = 1.0F;
    EXPECT_EQ(search(map), static_cast<std::int64_t>(planted));
    map[last] = 1.0F;  // a tie
    EXPECT_EQ(search(map), static_cast<std::int64_t>(planted));
    map[planted] = kNan;
    EXPECT_EQ(search(map), first_maximum(map)) << planted;
  }
  std::fill(map.begin(), map.end(), kNan);
  EXPECT_EQ(search(map), -1);
  map[last] = -1.0F;
  EXPECT_EQ(search(map), static_cast<std::int64_t>(last));
  std::fill(map.begin(), map.end(), 0.25F);
  EXPECT_EQ(search(map), 0);
}

// B5: 10,010 maps of all sizes. Every other one has a maximum at an end or at the edge of a group.
TEST_P(SrpSearch, FindsTheFirstMaximumOfRandomMaps) {
  Search search(GetParam());
  const std::size_t last = search.pixels() - 1;
  std::mt19937 generator(static_cast<unsigned>(search.pixels()) + 1);
  // Few levels, so that there are ties; one of them is NaN.
  std::uniform_int_distribution<int> levels(0, 40);
  std::uniform_int_distribution<std::size_t> edges(0, last / 256);
  const int maps = search.pixels() > 10000 ? 5 : 2000;
  for (int i = 0; i < maps; ++i) {
    std::vector<float> map(search.pixels());
    std::generate(map.begin(), map.end(), [&] {
      const int level = levels(generator);
      return level == 40 ? kNan : static_cast<float>(level);
    });
    if (i % 2 == 1) {
      const std::size_t edge = 256 * edges(generator);
      const std::array<std::size_t, 4> places = {0, edge, edge > 0 ? edge - 1 : 0, last};
      map[places.at(static_cast<std::size_t>(i / 2) % places.size())] = 41.0F;
    }
    ASSERT_EQ(search(map), first_maximum(map)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SrpSearch,
                         testing::Values(std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257},
                                         std::size_t{3888}, std::size_t{97200}, std::size_t{388800}));

// The map's own maximum, found while it is computed, is the same as that of a search over what it wrote.
TEST(SrpSearchOfTheMap, IsItsFirstMaximum) {
  for (const int columns : {1, 16, 17, 51}) {
    test::SrpSetup setup(4, 4, 20, 3);
    setup.own.grid.x_m = {-0.5, -0.5 + 0.02 * (columns - 1) + 1e-6};
    setup.own.grid.y_m = {-0.3, 0.02};
    std::mt19937 generator(static_cast<unsigned>(columns));
    const std::vector<test::Complex> spectra = setup.noise(generator);
    const test::SrpFrame frame = test::SrpOnDevice(setup).look(spectra);
    const far_field::Position best = setup.places().grid.pixels[static_cast<std::size_t>(first_maximum(frame.map))];
    ASSERT_EQ(frame.rows.size(), 1U);
    // Refinement goes at most 2 (1/2 + 1/4 + 1/8 + 1/16) + 1/16 steps away.
    EXPECT_NEAR(frame.rows[0][test::kX], best.x, 2.0 * 0.02);
    EXPECT_NEAR(frame.rows[0][test::kY], best.y, 2.0 * 0.02);
  }
}

// The first one's flank is no source, though it is larger than the second one.
TEST(SrpSearchOfTheMap, FindsSeveralSourcesApart) {
  test::SrpSetup setup(10, 10, 80, 40);
  setup.look_far(30.0, 3.0);
  setup.own.sources = 2;
  setup.own.separation_deg = 5.0;
  const auto direction = [](double x, double y) { return far_field::Position{x, y, -std::sqrt(1.0 - x * x - y * y)}; };
  const far_field::Position one = direction(0.4, 0.1);
  const far_field::Position two = direction(-0.3, -0.25);
  std::mt19937 generator(12);
  std::vector<test::Complex> spectra = setup.source(one, generator);
  const std::vector<test::Complex> other = setup.source(two, generator);
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    spectra[i] += 0.8 * other[i];
  }
  test::SrpSetup without_separation = setup;
  without_separation.own.separation_deg = 0.0;  // the first one is not found again
  for (const test::SrpFrame& frame :
       {test::SrpReference(setup).look(spectra), test::SrpOnDevice(setup).look(spectra),
        test::SrpReference(without_separation).look(spectra), test::SrpOnDevice(without_separation).look(spectra)}) {
    ASSERT_EQ(frame.rows.size(), 2U);
    double farthest = 0.0;
    for (const far_field::Position& source : {one, two}) {
      double nearest = 2.0;
      for (const std::vector<double>& row : frame.rows) {
        nearest = std::min(nearest, distance(source, {row[test::kX], row[test::kY], row[test::kZ]}));
      }
      farthest = std::max(farthest, nearest);
    }
    EXPECT_LT(farthest, 0.01);  // they move each other's maximum by side lobes
    EXPECT_GT(frame.rows[0][test::kConfidence], frame.rows[1][test::kConfidence]);
  }
}

// A full circle's last column is the first one's neighbour: no flank of a source at the seam is another source.
TEST(SrpSearchOfTheMap, GoesRoundAFullCircle) {
  test::SrpSetup setup(8, 8, 80, 20);
  far_field::GridSettings& grid = setup.own.grid;
  grid.kind = far_field::GridKind::kSphere;
  grid.azimuth_deg = {0.0, 360.0};
  grid.elevation_deg = {20.0, 60.0};
  grid.step_deg = 5.0;
  grid.radius_m = {1.0};
  setup.own.sources = 2;
  setup.own.separation_deg = 0.0;
  const SrpPlan plan = setup.places();
  const far_field::Position source = plan.grid.pixels[4 * plan.columns];
  std::mt19937 generator(13);
  const std::vector<test::Complex> spectra = setup.source(source, generator);
  for (const test::SrpFrame& frame :
       {test::SrpReference(setup).look(spectra), test::SrpOnDevice(setup).look(spectra)}) {
    ASSERT_EQ(frame.rows.size(), 2U);
    const std::vector<double>& other = frame.rows[1];
    const double z_m = other[test::kZ] - setup.array.standoff_m;
    EXPECT_GT(distance(source, {other[test::kX], other[test::kY], z_m}), 0.3);
  }
}

}  // namespace
}  // namespace nearfield
