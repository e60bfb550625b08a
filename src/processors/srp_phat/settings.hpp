#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/settings.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

/// How spectra are weighed before they are summed.
enum class SrpWeights {
  kPhat,  ///< each microphone and bin by its phase alone
  kNone,  ///< as they are
  kSnr,   ///< by the phase alone, of those bins that are louder than their floor
};
std::string_view name_of(SrpWeights weights);

/// Where powers are summed.
enum class SrpDomain { kAuto, kFrequency, kTime };
std::string_view name_of(SrpDomain domain);

/// Between the lags of a pair of microphones.
enum class LagInterpolation { kNearest, kLinear };
std::string_view name_of(LagInterpolation interpolation);

/// Of microphones, in the time domain. All of them where neither is given.
struct PairChoice {
  int longest = 0;                       ///< so many of those farthest apart; 0: no such choice
  std::vector<std::array<int, 2>> list;  ///< these
};

/// Whose lags are computed.
inline constexpr std::size_t kMostPairs = 8192;

struct TrackSettings {
  bool enabled = true;
  std::vector<int> confirm = {3, 5};  ///< frames with a source, of the last ones
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
