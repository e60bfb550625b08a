#include "imaging/imager.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kResultsStage = "imaging/results";
/// Where part of a buffer may begin on any device.
constexpr std::size_t kPartBytes = 4096;

std::size_t image_values(const PnahPlan& plan) {
  return plan.holography.planes_m.size() * plan.holograms() *
         static_cast<std::size_t>(plan.image_rows() * plan.image_columns());
}

}  // namespace

Imager::Imager(const ocl::Device& device, const PnahPlan& plan)
    : device_(device), batch_(static_cast<std::size_t>(plan.batch)) {
  const std::size_t status_words = batch_ * kStatusWords;
  const std::vector<FilterReport> reports = constant_reports(plan);
  auto images = device.allocate_shared<std::complex<float>>(image_values(plan), kResultsStage);
  auto status = device.allocate_shared<std::uint32_t>(status_words, kResultsStage);
  auto shared_reports = device.allocate_shared<FilterReport>(reports.size(), kResultsStage);
  if (images && status && shared_reports) {
    share(std::move(*images), std::move(*status), std::move(*shared_reports));
  } else {
    allocate(image_values(plan), status_words, reports.size());
  }
  device.enqueue_write(reports_, 0, std::span(reports), kResultsStage);
  device.wait();
}

void Imager::adopt(const std::shared_ptr<const Findings>& /*findings*/) {}

std::unique_ptr<Search> Imager::make_search() const { return nullptr; }

void Imager::set_reports(std::span<const FilterReport> filters) {
  std::vector<FilterReport> reports;
  for (std::size_t frame = 0; frame < batch_; ++frame) {
    reports.insert(reports.end(), filters.begin(), filters.end());
  }
  device_.enqueue_write(reports_, 0, std::span<const FilterReport>(reports), kResultsStage);
  device_.wait();
}

void Imager::share(ocl::SharedBuffer<std::complex<float>> images, ocl::SharedBuffer<std::uint32_t> status,
                   ocl::SharedBuffer<FilterReport> reports) {
  images_ = std::move(images.on_device);
  taken_status_ = std::move(status.on_device);
  image_memory_ = std::move(images.on_host);
  status_memory_ = std::move(status.on_host);
  host_images_ = image_memory_.values();
  host_status_ = status_memory_.values();
  reports_ = std::move(reports.on_device);
  report_memory_ = std::move(reports.on_host);
  host_reports_ = report_memory_.values();
}

void Imager::allocate(std::size_t image_values, std::size_t status_words, std::size_t reports) {
  const std::size_t first_report =
      ocl::round_up(status_words * sizeof(std::uint32_t), kPartBytes) / sizeof(std::complex<float>);
  const std::size_t first_image =
      first_report + ocl::round_up(reports * sizeof(FilterReport), kPartBytes) / sizeof(std::complex<float>);
  results_ = device_.allocate<std::complex<float>>(first_image + image_values, kResultsStage);
  images_ = device_.part_of<std::complex<float>>(results_, first_image, image_values, kResultsStage);
  taken_status_ = device_.part_of<std::uint32_t>(results_, 0, status_words, kResultsStage);
  reports_ = device_.part_of<FilterReport>(results_, first_report, reports, kResultsStage);
  image_memory_ = device_.allocate_host<std::complex<float>>(results_.size(), kResultsStage);
  host_images_ = image_memory_.values().subspan(first_image);
  const void* status = image_memory_.values().data();
  host_status_ = {static_cast<const std::uint32_t*>(status), status_words};
  const void* first = image_memory_.values().subspan(first_report).data();
  host_reports_ = {static_cast<const FilterReport*>(first), reports};
}

void Imager::enqueue_fetch(std::size_t frames) const {
  if (results_.size() > 0) {
    const std::size_t first_image = results_.size() - images_.size();
    device_.enqueue_read(results_, image_memory_.values().first(first_image + images_.size() / batch_ * frames),
                         kResultsStage);
  }
}

}  // namespace nearfield
