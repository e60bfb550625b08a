#include "imaging/imager_reference.hpp"

#include "imaging/deferred_search.hpp"
#include "imaging/sonah/sonah_model.hpp"
#include "imaging/sonah/sonah_reference.hpp"
#include "imaging/sonah/wave_search.hpp"

namespace nearfield::reference {
namespace {

class PnahProcessor : public Imager {
 public:
  explicit PnahProcessor(const PnahPlan& plan) : plan_(plan), masked_plan_(plan) {}
  PnahImages image(std::span<const Complex> spectra) override {
    PnahImages images = pnah(spectra, masked_plan_, cutoffs_, take_hop());
    if (!filters_.empty()) {
      images.reports = filters_;
    }
    return images;
  }
  void use(const MicrophoneMask& mask) override {
    masked_plan_.dead_channels.assign(mask.channels.begin(), mask.channels.end());
  }
  void forget() override { cutoffs_.clear(); }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    filters_ = findings_as<FilterFindings>(findings).filters;
    masked_plan_.slopes.resize(filters_.size());
    for (std::size_t f = 0; f < filters_.size(); ++f) {
      masked_plan_.cutoff_rad_per_m[f] = static_cast<double>(filters_[f].cutoff_rad_per_m);
      masked_plan_.slopes[f] = static_cast<double>(filters_[f].slope);
    }
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override { return make_cutoff_search(plan_); }

 private:
  PnahPlan plan_;
  PnahPlan masked_plan_;               ///< plan_ with the mask and the filters in effect
  std::vector<CutoffState> cutoffs_;   ///< [frequency]
  std::vector<FilterReport> filters_;  ///< [frequency], from a search; empty before the first result
};

class SonahProcessor : public Imager {
 public:
  explicit SonahProcessor(const PnahPlan& plan) : plan_(plan), masked_plan_(plan), sonah_(plan) {}
  PnahImages image(std::span<const Complex> spectra) override {
    return sonah_.image(spectra, masked_plan_, take_hop());
  }
  void use(const MicrophoneMask& mask) override {
    masked_plan_.dead_channels.assign(mask.channels.begin(), mask.channels.end());
  }
  void forget() override { sonah_.forget(); }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    sonah_.use(findings_as<WaveFindings>(findings));
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    if (plan_.holography.search_every_frames == 0) {
      return nullptr;
    }
    return defer_search([plan = plan_] {
      return std::make_unique<WaveSearch>(
          plan, std::make_shared<const std::vector<PriorModels>>(make_candidate_models(plan)));
    });
  }

 private:
  PnahPlan plan_;
  PnahPlan masked_plan_;  ///< plan_ with the mask in effect
  Sonah sonah_;
};

}  // namespace

std::unique_ptr<Imager> make_pnah(const PnahPlan& plan) { return std::make_unique<PnahProcessor>(plan); }
std::unique_ptr<Imager> make_sonah(const PnahPlan& plan) { return std::make_unique<SonahProcessor>(plan); }

}  // namespace nearfield::reference
