#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

/// Weighting of spectra before they are summed.
enum class SrpWeights {
  kPhat,  ///< phase only, for each microphone and bin
  kNone,  ///< unweighted
  kSnr,   ///< phase only, for bins that are louder than their floor
};
std::string_view name_of(SrpWeights weights);

/// Domain in which powers are summed.
enum class SrpDomain { kAuto, kFrequency, kTime };
std::string_view name_of(SrpDomain domain);

/// Interpolation between the lags of a pair of microphones.
enum class LagInterpolation { kNearest, kLinear };
std::string_view name_of(LagInterpolation interpolation);

/// Choice of microphone pairs in the time domain; by default all.
struct PairChoice {
  int longest = 0;                       ///< number of pairs, the farthest apart; 0: no such choice
  std::vector<std::array<int, 2>> list;  ///< pairs of microphones
};

/// Limit of pairs for which lags are computed.
inline constexpr std::size_t kMostPairs = 8192;

struct TrackSettings {
  bool enabled = true;
  std::vector<int> confirm = {3, 5};  ///< {n, m}: at least n of the last m frames have a source
  double forget_s = 0.5;
  double manoeuvre_m_s2 = 20.0;
};

class SrpPhatSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override { return std::make_unique<SrpPhatSettings>(*this); }
  void describe(schema::Section& section) override;
  void check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
             std::vector<Contradiction>& found) const override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;

  far_field::GridSettings grid;
  std::optional<SubsetSettings> subset;
  SrpDomain domain = SrpDomain::kAuto;
  std::vector<double> band_hz = {500.0, 4000.0};
  SrpWeights weights = SrpWeights::kPhat;
  int upsample = 4;
  LagInterpolation interpolation = LagInterpolation::kNearest;
  PairChoice pairs;
  double snr_db = 6.0;
  double floor_rise_db_s = 1.0;
  int sources = 1;
  bool peel = false;
  double separation_deg = 10.0;
  double significance = 6.0;
  bool reject_common = false;
  bool keep_map = true;
  TrackSettings tracks;
};

}  // namespace nearfield
