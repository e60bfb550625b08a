#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "cl/program_cache.hpp"
#include "imaging/operators/operator_tables.hpp"
#include "imaging/operators/prior.hpp"
#include "support/command.hpp"
#include "support/environment.hpp"

namespace nearfield {
namespace {

/// No test of this program reads or writes the user's own models. CACHE_DIRECTORY, as NEARFIELD_CACHE_DIR would have
/// PoCL compile each program twice (docs/use/program_cache.md).
class OwnCache : public testing::Environment {
 public:
  void SetUp() override {
    folder_.emplace();
    of_user_.emplace("NEARFIELD_CACHE_DIR", std::nullopt);
    of_service_.emplace("CACHE_DIRECTORY", folder_->path());
  }
  void TearDown() override {
    of_service_.reset();
    of_user_.reset();
    folder_.reset();
  }

 private:
  std::optional<test::TemporaryFolder> folder_;
  std::optional<test::Variable> of_user_;
  std::optional<test::Variable> of_service_;
};

const testing::Environment* const kOwnCache = testing::AddGlobalTestEnvironment(new OwnCache);

ImagePlan small_plan() {
  ImagePlan plan;
  plan.geometry = {.rows = 6, .columns = 6, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  plan.holography.imager = ImagerKind::kOperators;
  plan.frequencies_hz = {700.0, 1100.0, 1500.0, 1900.0};
  plan.cutoff_rad_per_m.assign(plan.frequencies_hz.size(), 70.0);
  return plan;
}

std::size_t count_stored(const ImagePlan& plan, const OperatorCache& cache) {
  const std::vector<Eigen::Vector3d> sources = prior_sources(plan);
  std::size_t count = 0;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    bool was_stored = false;
    (void)cache.tables(plan, sources, f, was_stored);
    count += was_stored ? 1 : 0;
  }
  return count;
}

std::uintmax_t bytes_in(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += entry.file_size();
  }
  return bytes;
}

TEST(OperatorCache, OfTestsIsNotTheUsers) {
  ASSERT_NE(kOwnCache, nullptr);
  const std::filesystem::path folder = ocl::cache_folder();
  EXPECT_EQ(folder.parent_path(), std::filesystem::temp_directory_path());
  const ImagePlan plan = small_plan();
  EXPECT_EQ(count_stored(plan, OperatorCache::of_user()), 0U);
  EXPECT_EQ(count_stored(plan, OperatorCache::of_user()), 4U);
  EXPECT_GT(bytes_in(folder / "operators"), 0U);
}

// Room for two models and a half of four: a second start reads two, where a cache that lets the oldest go has the two
// last ones, and has let them go before it comes to them.
TEST(OperatorCache, APlanOfMoreThanTheRoomKeepsItsFirstModels) {
  const ImagePlan plan = small_plan();
  const test::TemporaryFolder all;
  EXPECT_EQ(count_stored(plan, OperatorCache(all.path())), 0U);
  const std::uint64_t room = bytes_in(all.path()) * 5 / 8;
  const test::TemporaryFolder folder;
  EXPECT_EQ(count_stored(plan, OperatorCache(folder.path(), room)), 0U);
  const std::uintmax_t kept = bytes_in(folder.path());
  EXPECT_LE(kept, room);
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(count_stored(plan, OperatorCache(folder.path(), room)), 2U) << start;
  }
  EXPECT_EQ(bytes_in(folder.path()), kept);
}

// Models of another plan go, which was used longest ago.
TEST(OperatorCache, AnotherPlanTakesTheRoomOfTheOldest) {
  ImagePlan plan = small_plan();
  const test::TemporaryFolder folder;
  EXPECT_EQ(count_stored(plan, OperatorCache(folder.path())), 0U);
  const std::uint64_t room = bytes_in(folder.path()) * 5 / 4;
  plan.geometry.pitch_x_m = 0.021;
  EXPECT_EQ(count_stored(plan, OperatorCache(folder.path(), room)), 0U);
  EXPECT_EQ(count_stored(plan, OperatorCache(folder.path(), room)), 4U);
}

}  // namespace
}  // namespace nearfield
