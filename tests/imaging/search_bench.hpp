#pragma once
#include <algorithm>
#include <complex>
#include <functional>
#include <memory>
#include <vector>

#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/sonah/prior_finder.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// What tests of the search for sources beside sonah's prior share.
namespace nearfield::test {

inline constexpr Path kSonahPaths[] = {{"processor", "auto", false}, {"as_on_a_gpu", "auto", true}};

inline ImagePlan plan_of(double frequency_hz, int rows = 32, int columns = 32) {
  ImagePlan plan;
  plan.geometry = {.rows = rows, .columns = columns, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  plan.holography.imager = ImagerKind::kSonah;
  plan.frequencies_hz = {frequency_hz};
  plan.cutoff_rad_per_m = {70.0};
  return plan;
}

inline std::vector<Complex> sum_of(std::vector<Complex> a, const std::vector<Complex>& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
  return a;
}

/// A plan's imager and what searches for it.
class SearchBench {
 public:
  explicit SearchBench(const ImagePlan& plan)
      : sonah_(make_imager(device(), plan)),
        status_(device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test")) {}
  [[nodiscard]] std::unique_ptr<Search> new_search() const { return sonah_->make_search(); }
  /// Without memory of what was searched before; the search keeps its grids.
  [[nodiscard]] std::shared_ptr<const Findings> search(const std::vector<std::complex<float>>& spectra) {
    if (!search_) {
      search_ = new_search();
    }
    search_->restart();
    return search_->search(spectra, {});
  }
  /// Without waves where `found` is null, and without memory of other images.
  std::vector<std::complex<float>> image(const std::vector<std::complex<float>>& spectra,
                                         const std::shared_ptr<const Findings>& found) {
    sonah_->adopt(found ? found : search(std::vector<std::complex<float>>(spectra.size())));
    const auto input = device().upload<std::complex<float>>(spectra, "test");
    sonah_->forget();
    sonah_->enqueue(input, status_);
    return device().download(sonah_->images(), "test");
  }
  double error(const std::vector<std::complex<float>>& spectra, const std::vector<Complex>& truth,
               const std::shared_ptr<const Findings>& found) {
    return relative_l2(image(spectra, found), truth);
  }

 private:
  std::unique_ptr<Imager> sonah_;
  std::unique_ptr<Search> search_;
  StatusBuffer status_;
};

inline std::size_t waves_in(const std::shared_ptr<const Findings>& found) {
  return findings_as<WaveFindings>(found).waves.front().waves.size();
}

inline std::size_t points_in(const std::shared_ptr<const Findings>& found) {
  return findings_as<WaveFindings>(found).waves.front().points.size();
}

}  // namespace nearfield::test
