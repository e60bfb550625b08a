#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cl/fft.hpp"
#include "imaging/pnah/auto_cutoff.hpp"
#include "imaging/pnah/cutoff_search.hpp"
#include "imaging/priors/microphones.hpp"
#include "imaging/shared/imager.hpp"

namespace nearfield {

/// ROWS, COLUMNS, PADDED_ROWS, PADDED_COLUMNS, BEFORE_ROWS, BEFORE_COLUMNS.
ocl::Defines padding_defines(const ImagePlan& plan);
/// Window: 1 over the measured samples, half a cosine to zero over the padding; the outermost sample is 0. [padded]
std::vector<float> tukey_window(const PaddedAxis& axis);

struct TransferLayout {
  int stride;    ///< columns, at least PADDED_COLUMNS; the rest is 0
  double scale;  ///< factor of all values
};
/// Macros of kernels/imaging/propagate.cl.
ocl::Defines propagator_defines(const ImagePlan& plan);
/// Filter times propagator on the padded grid.
class TransferTable {
 public:
  /// Builds it with the plan's cut-offs. Waits.
  TransferTable(const ocl::Device& device, const ImagePlan& plan, const TransferLayout& layout);
  /// Rebuilds it with the cut-offs and slopes of `filters` [frequency]. Waits.
  void build(std::span<const FilterReport> filters);
  /// [plane][field][frequency][padded row][stride]
  [[nodiscard]] const ComplexBuffer& values() const { return values_; }

 private:
  ocl::Device device_;
  ocl::Buffer<float> wavenumbers_;
  ocl::Buffer<float> cutoffs_;
  ocl::Buffer<float> slopes_;
  ocl::Buffer<float> distances_;
  ComplexBuffer values_;
  ocl::Kernel build_;
  ocl::Launch launch_;
};

struct MaskBuffers;

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
