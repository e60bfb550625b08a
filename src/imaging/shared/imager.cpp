#include "imaging/shared/imager.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kResultsStage = "imaging/results";
/// Alignment at which part of a buffer may begin on any device.
constexpr std::size_t kPartBytes = 4096;

std::size_t image_values(const ImagePlan& plan) {
  return plan.images_per_frequency() * plan.holograms() *
         static_cast<std::size_t>(plan.image_rows() * plan.image_columns());
}

}  // namespace

Imager::Imager(const ocl::Device& device, const ImagePlan& plan)
    : device_(device), batch_(static_cast<std::size_t>(plan.batch)) {
  if (plan.batches_in_flight < 1) {
    throw Error(ExitCode::kInternal,
                fmt::format("expected at least one batch in flight, found {}", plan.batches_in_flight));
  }
  const auto places = static_cast<std::size_t>(plan.batches_in_flight);
  const std::size_t values = image_values(plan);
  const std::size_t status_words = batch_ * kStatusWords;
  const std::vector<FilterReport> reports = constant_reports(plan);
  while (results_.size() < places && share(values, status_words, reports.size())) {
  }
  if (results_.size() < places) {
    results_.clear();
    allocate(places, values, status_words, reports.size());
  }
  write_reports(reports);
}

void Imager::adopt(const std::shared_ptr<const Findings>& /*findings*/) {}

std::unique_ptr<Search> Imager::make_search() const { return nullptr; }

void Imager::set_reports(std::span<const FilterReport> filters) {
  std::vector<FilterReport> reports;
  for (std::size_t frame = 0; frame < batch_; ++frame) {
    reports.insert(reports.end(), filters.begin(), filters.end());
  }
  write_reports(reports);
}

/// Writes the reports to all places. Waits.
void Imager::write_reports(std::span<const FilterReport> reports) {
  const std::size_t buffers = transferred_.size() > 0 ? 1 : results_.size();
  for (std::size_t place = 0; place < buffers; ++place) {
    device_.enqueue_write(results_[place].reports, 0, reports, kResultsStage);
  }
  device_.wait();
}

void Imager::use_results(std::size_t place) {
  if (place >= results_.size()) {
    throw Error(ExitCode::kInternal,
                fmt::format("imager: expected one of {} places for results, found number {}", results_.size(), place));
  }
  if (place != place_) {
    place_ = place;
    set_results();
  }
}

bool Imager::share(std::size_t image_values, std::size_t status_words, std::size_t reports) {
  auto images = device_.allocate_shared<std::complex<float>>(image_values, kResultsStage);
  auto status = device_.allocate_shared<std::uint32_t>(status_words, kResultsStage);
  auto shared_reports = device_.allocate_shared<FilterReport>(reports, kResultsStage);
  if (!images || !status || !shared_reports) {
    return false;
  }
  Results& results = results_.emplace_back();
  results.images = std::move(images->on_device);
  results.taken_status = std::move(status->on_device);
  results.reports = std::move(shared_reports->on_device);
  results.image_memory = std::move(images->on_host);
  results.status_memory = std::move(status->on_host);
  results.report_memory = std::move(shared_reports->on_host);
  results.host_images = results.image_memory.values();
  results.host_status = results.status_memory.values();
  results.host_reports = results.report_memory.values();
  return true;
}

void Imager::allocate(std::size_t places, std::size_t image_values, std::size_t status_words, std::size_t reports) {
  const std::size_t first_report =
      ocl::round_up(status_words * sizeof(std::uint32_t), kPartBytes) / sizeof(std::complex<float>);
  const std::size_t first_image =
      first_report + ocl::round_up(reports * sizeof(FilterReport), kPartBytes) / sizeof(std::complex<float>);
  transferred_ = device_.allocate<std::complex<float>>(first_image + image_values, kResultsStage);
  results_.resize(places);
  for (Results& results : results_) {
    results.image_memory = device_.allocate_host<std::complex<float>>(transferred_.size(), kResultsStage);
    results.host_images = results.image_memory.values().subspan(first_image);
    const void* status = results.image_memory.values().data();
    results.host_status = {static_cast<const std::uint32_t*>(status), status_words};
    const void* first = results.image_memory.values().subspan(first_report).data();
    results.host_reports = {static_cast<const FilterReport*>(first), reports};
  }
  Results& first = results_.front();
  first.images = device_.part_of<std::complex<float>>(transferred_, first_image, image_values, kResultsStage);
  first.taken_status = device_.part_of<std::uint32_t>(transferred_, 0, status_words, kResultsStage);
  first.reports = device_.part_of<FilterReport>(transferred_, first_report, reports, kResultsStage);
}

void Imager::enqueue_fetch(std::size_t frames) const {
  if (transferred_.size() > 0) {
    const std::size_t first_image = transferred_.size() - images().size();
    device_.enqueue_read(transferred_,
                         results_[place_].image_memory.values().first(first_image + images().size() / batch_ * frames),
                         kResultsStage);
  }
}

}  // namespace nearfield
