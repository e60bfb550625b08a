#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cl/fft.hpp"
#include "imaging/pnah/auto_cutoff.hpp"
#include "imaging/pnah/cutoff_search.hpp"
#include "imaging/priors/microphones.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/shared/incomplete_frames.hpp"

namespace nearfield {

struct MaskBuffers;
class TransferTable;

/// Measures each hologram's cut-off if the plan sets cutoff: auto: conditioned -> reports.
class CutoffMeter {
 public:
  CutoffMeter(const ocl::Device& device, const ImagePlan& plan);
  void enqueue(const ComplexBuffer& conditioned, const ReportBuffer& reports, std::size_t frames,
               const FrameHops& hops);
  void forget() const { SpectrumTables::forget(device_, arena_); }

 private:
  ocl::Device device_;
  SpectrumTables tables_;
  ocl::Arena arena_;
  IncompleteFrames incomplete_;
  std::int32_t frequencies_;
  ocl::Kernel measure_;
  ocl::Kernel settle_;
  ocl::Kernel keep_;
  ocl::Launch measure_launch_{};
};

/// Extrapolates and tapers: conditioned -> padded, [frame][frequency][padded row][padded column], Pa.
class Extrapolator {
 public:
  Extrapolator() = default;
  Extrapolator(const Extrapolator&) = delete;
  Extrapolator& operator=(const Extrapolator&) = delete;
  virtual ~Extrapolator() = default;
  virtual void enqueue(const ComplexBuffer& conditioned, const StatusBuffer& status) = 0;
  [[nodiscard]] const ComplexBuffer& padded() const { return padded_; }

 protected:
  ComplexBuffer padded_;
};

std::unique_ptr<Extrapolator> make_extrapolator(const ocl::Device& device, const ImagePlan& plan);

/// Converts the forward transform to the images of all planes: filter, propagator, inverse transform, crop.
class Propagator {
 public:
  Propagator(const ocl::Device& device, const ImagePlan& plan);
  ~Propagator();
  Propagator(const Propagator&) = delete;
  Propagator& operator=(const Propagator&) = delete;
  /// spectrum [frame][frequency][padded row][padded column], unscaled -> images [frame][plane][frequency][row][column].
  /// Moves the status to taken_status. `reports` are read if the cut-off is measured.
  void enqueue(const ComplexBuffer& spectrum, const StatusBuffer& status, const ComplexBuffer& images,
               const StatusBuffer& taken_status, const ReportBuffer& reports);
  /// [plane][field][frequency][padded row][padded column], filter times propagator.
  [[nodiscard]] const ComplexBuffer& transfer() const;
  /// Sets other cut-offs and slopes, [frequency]. Waits.
  void use(std::span<const FilterReport> filters);

 private:
  std::unique_ptr<TransferTable> transfer_;
  ComplexBuffer filtered_;
  std::unique_ptr<ocl::ComplexFft2d> inverse_;
  ocl::Kernel apply_;
  ocl::Kernel crop_;
  ocl::Launch apply_launch_{};
  ocl::Launch crop_launch_{};
  bool is_measured_;  ///< true if the cut-off is measured
};

/// One kernel per stage, transforms by clFFT: supports every plan, in about ten launches.
class StagedPnah : public Imager {
 public:
  StagedPnah(const ocl::Device& device, const ImagePlan& plan);
  /// Always images the whole batch: clFFT's plans have one size.
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) override;
  void use(const MicrophoneMask& mask) override { microphones_.use(mask); }
  void forget() override;
  void adopt(const std::shared_ptr<const Findings>& findings) override;
  [[nodiscard]] std::unique_ptr<Search> make_search() const override { return make_cutoff_search(plan_); }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  ImagePlan plan_;
  std::string description_;
  Microphones microphones_;
  std::optional<CutoffMeter> cutoff_meter_;
  std::unique_ptr<Extrapolator> extrapolator_;
  ocl::ComplexFft2d forward_;
  Propagator propagator_;
};

}  // namespace nearfield
