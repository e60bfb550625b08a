#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "processors/srp_phat/tracks.hpp"
#include "processors/srp_phat_support.hpp"

/// Tracks of sources whose places are given, and the best assignment.
namespace nearfield {
namespace {

TEST(CheapestAssignment, IsTheBestOfAllPermutations) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> costs(0.0, 10.0);
  for (int trial = 0; trial < 200; ++trial) {
    const auto rows = static_cast<std::size_t>(1 + trial % 5);
    const std::size_t columns = rows + static_cast<std::size_t>(trial % 2);
    std::vector<std::vector<double>> of(rows, std::vector<double>(columns));
    for (auto& row : of) {
      std::generate(row.begin(), row.end(), [&] { return costs(generator); });
    }
    std::vector<std::size_t> order(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      order[i] = i;
    }
    double least = 1e9;
    do {
      double cost = 0.0;
      for (std::size_t row = 0; row < rows; ++row) {
        cost += of[row][order[row]];
      }
      least = std::min(least, cost);
    } while (std::next_permutation(order.begin(), order.end()));
    const std::vector<int> found = cheapest_assignment(of);
    double cost = 0.0;
    std::set<int> columns_used;
    for (std::size_t row = 0; row < rows; ++row) {
      cost += of[row][static_cast<std::size_t>(found[row])];
      columns_used.insert(found[row]);
    }
    EXPECT_EQ(columns_used.size(), rows);
    EXPECT_NEAR(cost, least, 1e-12);
  }
}

/// 1 ms from frame to frame, windows of 20 ms, a plane 1.5 m away.
class SrpTracksTest : public testing::Test {
 protected:
  SrpTracksTest() {
    setup_.own.grid.distance_m = {1.5};
    plan_ = std::make_unique<SrpPlan>(setup_.places());
    restart();
  }
  void restart() {
    plan_->hop_s = 1e-3;
    plan_->window_s = 20e-3;
    plan_->track_ids = std::make_shared<TrackIds>();
    tracks_ = std::make_unique<SrpTracks>(*plan_);
  }
  static SrpSource at(double x, double y, double significance = 20.0) {
    SrpSource source;
    source.state = kSourceCandidate;
    source.place = {x, y, -1.5};
    source.variance = {kSigma * kSigma, kSigma * kSigma, 0.0};
    source.significance = significance;
    return source;
  }
  std::vector<SrpSource> add(const std::vector<SrpSource>& sources) {
    const auto rows = tracks_->add(sources, 1e-3);
    return {rows.begin(), rows.end()};
  }
  static constexpr double kSigma = 0.005;
  test::SrpSetup setup_{4, 4, 20, 5};
  std::unique_ptr<SrpPlan> plan_;
  std::unique_ptr<SrpTracks> tracks_;
};

TEST_F(SrpTracksTest, AreBornOfThreeFramesOfFive) {
  for (const bool is_seen : {true, false, true}) {
    const auto rows = add(is_seen ? std::vector{at(0.1, 0.2)} : std::vector<SrpSource>());
    EXPECT_EQ(rows.size(), is_seen ? 1U : 0U);
    EXPECT_TRUE(rows.empty() || (rows[0].id == 0U && rows[0].state == kSourceCandidate));
  }
  const auto rows = add({at(0.1, 0.2)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, 1U);
  EXPECT_EQ(rows[0].state, kSourceConfirmed);
}

TEST_F(SrpTracksTest, TwoFramesOfFiveAreNone) {
  for (int frame = 0; frame < 20; ++frame) {
    for (const SrpSource& row : add(frame % 5 < 2 ? std::vector{at(0.1, 0.2)} : std::vector<SrpSource>())) {
      EXPECT_EQ(row.id, 0U) << frame;
    }
  }
}

TEST_F(SrpTracksTest, WhatIsNotSignificantIsACandidateForEver) {
  for (int frame = 0; frame < 20; ++frame) {
    const auto rows = add({at(0.1, 0.2, 5.99)});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].id, 0U);
    EXPECT_EQ(rows[0].state, kSourceCandidate);
  }
}

TEST_F(SrpTracksTest, CoastAndDieAndTheirIdsNeverComeAgain) {
  for (int frame = 0; frame < 10; ++frame) {
    (void)add({at(0.0, 0.0)});
  }
  for (int frame = 0; frame < 499; ++frame) {
    const auto rows = add({});
    ASSERT_EQ(rows.size(), 1U) << frame;
    EXPECT_EQ(rows[0].state, kSourceCoasting);
    EXPECT_EQ(rows[0].id, 1U);
  }
  (void)add({});
  (void)add({});
  EXPECT_TRUE(add({}).empty());
  for (int frame = 0; frame < 4; ++frame) {
    (void)add({at(0.0, 0.0)});
  }
  EXPECT_EQ(add({at(0.0, 0.0)}).at(0).id, 2U);
}

// Two metres a second on a circle of 1 m, errors of 5 mm that last half a window.
TEST_F(SrpTracksTest, FollowACircleWithOneId) {
  std::mt19937 generator(4);
  std::normal_distribution<double> errors(0.0, kSigma);
  std::array<double, 2> error{};
  double squares = 0.0;
  double speed_squares = 0.0;
  int count = 0;
  std::set<std::uint32_t> ids;
  for (int frame = 0; frame < 3000; ++frame) {
    const double angle = 2.0 * 1e-3 * frame;
    if (frame % 10 == 0) {
      error = {errors(generator), errors(generator)};
    }
    const auto rows = add({at(std::cos(angle) + error[0], std::sin(angle) + error[1])});
    ASSERT_GE(rows.size(), 1U);
    if (frame >= 300) {
      for (const SrpSource& row : rows) {
        ids.insert(row.id);  // 0 where an error is beyond the gate
      }
      EXPECT_EQ(rows[0].id, 1U);
      squares += std::pow(rows[0].place.x - std::cos(angle), 2.0) + std::pow(rows[0].place.y - std::sin(angle), 2.0);
      speed_squares += std::pow(rows[0].velocity.x + 2.0 * std::sin(angle), 2.0) +
                       std::pow(rows[0].velocity.y - 2.0 * std::cos(angle), 2.0);
      EXPECT_EQ(rows[0].place.z, -1.5);
      ++count;
    }
  }
  ids.erase(0U);
  EXPECT_EQ(ids, std::set<std::uint32_t>{1U});
  // No worse than what is measured, sqrt(2) sigma; and a velocity that is one.
  EXPECT_LT(std::sqrt(squares / count), std::sqrt(2.0) * kSigma);
  EXPECT_LT(std::sqrt(speed_squares / count), 1.0);
}

// Sources that cross at 2 m/s: each track goes straight on.
TEST_F(SrpTracksTest, KeepTheirIdsWhereTheyCross) {
  std::uint32_t right = 0;
  for (int frame = 0; frame < 400; ++frame) {
    const double x = -0.4 + 2e-3 * frame;
    // Neither is always the first.
    const auto rows =
        add(frame % 2 == 0 ? std::vector{at(x, 0.02), at(-x, -0.02)} : std::vector{at(-x, -0.02), at(x, 0.02)});
    if (frame == 100 || frame == 399) {
      ASSERT_EQ(rows.size(), 2U);
      const auto mover =
          std::find_if(rows.begin(), rows.end(), [&](const SrpSource& row) { return row.velocity.x > 0.0; });
      ASSERT_NE(mover, rows.end());
      EXPECT_NEAR(mover->place.x, x, 0.01);
      EXPECT_NEAR(mover->velocity.x, 2.0, 0.3);
      right = frame == 100 ? mover->id : right;
      EXPECT_EQ(mover->id, right);
    }
  }
}

// Sources that pass through the same place, 3 dB apart: nearer than the separation there is one maximum, of the louder
// one and drawn to the other; a side lobe comes in the place of the second. Each track goes straight on.
TEST_F(SrpTracksTest, KeepTheirIdsWhileOneSourceHidesTheOther) {
  const double half_separation_m = 1.5 * std::tan(5.0 * std::numbers::pi / 180.0);
  constexpr double kSpeed = 0.5;
  plan_->hop_s = 10e-3;
  tracks_ = std::make_unique<SrpTracks>(*plan_);
  std::mt19937 generator(5);
  std::normal_distribution<double> errors(0.0, kSigma);
  std::array<std::uint32_t, 2> ids{};
  for (int frame = 0; frame < 200; ++frame) {
    const double x = kSpeed * 10e-3 * (frame - 100);
    const bool is_hidden = std::abs(x) < half_separation_m;
    SrpSource louder = at((is_hidden ? 0.8 : 1.0) * x + errors(generator), errors(generator));
    SrpSource other = is_hidden ? at(-1.2, errors(generator), 9.0) : at(-x + errors(generator), errors(generator));
    louder.confidence = 0.5;
    other.confidence = is_hidden ? 0.01 : 0.3;
    const auto rows = tracks_->add(std::vector{louder, other}, 10e-3);
    if (frame == 30 || frame == 170) {
      for (const std::size_t i : {0U, 1U}) {
        const double place = i == 0 ? x : -x;
        const auto track = std::find_if(rows.begin(), rows.end(), [&](const SrpSource& row) {
          return row.state == kSourceConfirmed && std::abs(row.place.x - place) < 0.05;
        });
        ASSERT_NE(track, rows.end()) << frame;
        ids.at(i) = frame == 30 ? track->id : ids.at(i);
        EXPECT_EQ(track->id, ids.at(i)) << frame;
      }
    }
  }
}

// Neither hides the other where both have fallen silent: their tracks end `forget_s` later, half a second.
TEST_F(SrpTracksTest, OfNeighboursThatFallSilentEndAsOthersDo) {
  for (int frame = 0; frame < 30; ++frame) {
    EXPECT_LE(add({at(-0.15, 0.0), at(0.15, 0.0)}).size(), 2U);
  }
  const double forget_s = plan_->settings.tracks.forget_s;
  EXPECT_EQ(tracks_->add({}, 0.9 * forget_s).size(), 2U);
  EXPECT_EQ(tracks_->add({}, 0.2 * forget_s).size(), 0U);
}

// A track that is not seen for long may be anywhere, but its source is not the one of a track that is seen there, with
// errors that are beyond the gate now and then.
TEST_F(SrpTracksTest, TakeNoSourceFromATrackThatIsSeen) {
  std::mt19937 generator(6);
  std::normal_distribution<double> errors(0.0, kSigma);
  int seen = 0;
  for (int frame = 0; frame < 400; ++frame) {
    std::vector<SrpSource> sources = {at(errors(generator), errors(generator))};
    if (frame < 20) {
      sources.push_back(at(0.6, 0.0));
    }
    for (const SrpSource& row : add(sources)) {
      EXPECT_TRUE(frame <= 20 || row.id != 2U || row.state == kSourceCoasting) << frame;
      seen += row.id == 1U && row.state == kSourceConfirmed ? 1 : 0;
    }
  }
  EXPECT_GT(seen, 380);
}

TEST_F(SrpTracksTest, BeginAnewWithAStreamButForTheirIds) {
  for (int frame = 0; frame < 5; ++frame) {
    (void)add({at(0.1, 0.2)});
  }
  tracks_->forget();
  EXPECT_TRUE(add({}).empty());
  for (int frame = 0; frame < 5; ++frame) {
    (void)add({at(0.1, 0.2)});
  }
  EXPECT_EQ(add({at(0.1, 0.2)}).at(0).id, 2U);
}

// A new configuration of a daemon is planned anew, with the numbers of the run.
TEST_F(SrpTracksTest, OfTheNextConfigurationHaveFurtherIds) {
  for (int frame = 0; frame < 5; ++frame) {
    (void)add({at(0.1, 0.2)});
  }
  EXPECT_EQ(add({at(0.1, 0.2)}).at(0).id, 1U);
  ProcessorPlan next = setup_.plan();
  next.track_ids = plan_->track_ids;
  SrpPlan planned(next);
  planned.hop_s = plan_->hop_s;
  planned.window_s = plan_->window_s;
  tracks_ = std::make_unique<SrpTracks>(planned);
  for (int frame = 0; frame < 5; ++frame) {
    (void)add({at(0.1, 0.2)});
  }
  EXPECT_EQ(add({at(0.1, 0.2)}).at(0).id, 2U);
}

// A source that comes after a second without frames is another one, wherever it is.
TEST_F(SrpTracksTest, DieInAGapLongerThanTheirMemory) {
  for (int frame = 0; frame < 10; ++frame) {
    (void)add({at(0.1, 0.2)});
  }
  const auto after_gap = tracks_->add(std::vector{at(0.6, 0.2)}, 1.0);
  ASSERT_EQ(after_gap.size(), 1U);
  EXPECT_EQ(after_gap[0].id, 0U);
  for (int frame = 0; frame < 5; ++frame) {
    (void)add({at(0.6, 0.2)});
  }
  const auto rows = add({at(0.6, 0.2)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, 2U);
  EXPECT_NEAR(rows[0].velocity.x, 0.0, 1e-9);
}

TEST(SrpTracksFarAway, AreDirectionsOfLengthOneWhileTheyCoast) {
  test::SrpSetup setup(4, 4, 20, 5);
  setup.look_far(60.0, 4.0);
  SrpPlan plan = setup.places();
  plan.hop_s = 1e-3;
  plan.window_s = 20e-3;
  SrpTracks tracks(plan);
  for (int frame = 0; frame < 400; ++frame) {
    const double angle = 2e-3 * frame;
    SrpSource source;
    source.place = {std::sin(angle), 0.0, -std::cos(angle)};
    source.variance = {1e-4, 1e-4, 1e-4};
    source.significance = 20.0;
    const auto rows = tracks.add(frame < 100 ? std::vector{source} : std::vector<SrpSource>(), 1e-3);
    ASSERT_EQ(rows.size(), 1U) << frame;
    EXPECT_NEAR(norm(rows[0].place), 1.0, 1e-12) << frame;
  }
}

TEST_F(SrpTracksTest, KnowFramesThatNeverCame) {
  for (int frame = 0; frame < 100; ++frame) {
    (void)tracks_->add(std::vector{at(0.01 * frame, 0.0)}, 5e-3);
  }
  const auto rows = tracks_->add(std::vector{at(1.0, 0.0)}, 5e-3);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NEAR(rows[0].velocity.x, 2.0, 0.1);
}

}  // namespace
}  // namespace nearfield
