#include "imaging/imager_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "imaging/imager_paths.hpp"
#include "imaging/priors/make_mask.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// What holds for every kind of processor, whatever it does: a new line of the table is tested here without a new test.
namespace nearfield {
namespace {

ImagePlan plan_of(ImagerKind kind) {
  ImagePlan plan;
  plan.geometry = {.rows = 12, .columns = 16, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  plan.frequencies_hz = {700.0, 1200.0};
  plan.holography.imager = kind;
  plan.holography.filter.cutoff_rule = CutoffRule::kDynamicRange;
  plan.cutoff_rad_per_m = resolve_cutoffs(plan.holography, plan.medium, plan.geometry, plan.frequencies_hz);
  return plan;
}

std::vector<test::Complex> field_of(const ImagePlan& plan) {
  const test::Monopole source{.x_m = 0.021, .y_m = -0.013, .z_m = -0.04};
  std::mt19937 generator(7U);
  std::vector<test::Complex> spectra;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.standoff_m);
    test::add_noise(field, 40.0, generator);
    spectra.insert(spectra.end(), field.begin(), field.end());
  }
  return spectra;
}

TEST(ImagerTable, HasOneEntryAKind) {
  std::set<ImagerKind> kinds;
  for (const ImagerEntry& entry : imager_table()) {
    EXPECT_TRUE(kinds.insert(entry.kind).second) << name_of(entry.kind);
    EXPECT_NE(entry.kind, ImagerKind::kAuto) << "auto is a rule that chooses one, no kind";
    EXPECT_EQ(imager_entry(entry.kind).kind, entry.kind);
  }
  EXPECT_TRUE(kinds.contains(ImagerKind::kPnah));
  EXPECT_TRUE(kinds.contains(ImagerKind::kSonah));
  EXPECT_THROW((void)imager_entry(ImagerKind::kAuto), Error);
}

// float32 against double: 1e-4 is the bound that each kind's own tests hold over many more shapes.
TEST(ImagerTable, DeviceAndReferenceAgreeWithAndWithoutAMask) {
  for (const ImagerEntry& entry : imager_table()) {
    SCOPED_TRACE(name_of(entry.kind));
    const ImagePlan plan = plan_of(entry.kind);
    ASSERT_EQ(entry.obstacle(test::device().info(), plan), "");
    const std::vector<test::Complex> spectra = field_of(plan);
    const auto input = test::device().upload<std::complex<float>>(test::narrow(spectra), "test");
    const auto status = test::device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test");
    const std::unique_ptr<Imager> processor = entry.make(test::device(), plan);
    const std::unique_ptr<reference::Imager> reference = entry.make_reference(plan);
    for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>({5, 100})}) {
      const MicrophoneMask mask = make_mask(plan, masked);
      processor->use(mask);
      reference->use(mask);
      processor->enqueue(input, status);
      processor->enqueue_fetch();
      test::device().wait();
      const reference::Images expected = reference->image(test::widen(test::narrow(spectra)));
      const std::vector<std::complex<float>> found(processor->host_images().begin(), processor->host_images().end());
      EXPECT_LE(test::relative_l2(found, expected.images), 1e-4);
      EXPECT_EQ(processor->host_status()[0], expected.flags);
      EXPECT_EQ(processor->host_reports().size(), expected.reports.size());
    }
  }
}

struct OtherFindings : Findings {};

TEST(ImagerTable, FindingsOfAnotherKindAreRefused) {
  for (const ImagerEntry& entry : imager_table()) {
    SCOPED_TRACE(name_of(entry.kind));
    ImagePlan plan = plan_of(entry.kind);
    plan.holography.filter.cutoff_rule = CutoffRule::kSearch;
    const auto other = std::make_shared<OtherFindings>();
    EXPECT_THROW(entry.make(test::device(), plan)->adopt(other), std::bad_cast);
    EXPECT_THROW(entry.make_reference(plan)->adopt(other), std::bad_cast);
  }
}

}  // namespace
}  // namespace nearfield
