#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "files/files.hpp"
#include "files/results_file.hpp"

namespace nearfield {

struct ImagesWriter::State {
  ImagesHeader header;
  ResultsWriter results;
};

ImagesWriter::ImagesWriter(const std::filesystem::path& path, const ImagesHeader& header, std::uint64_t frames)
    : state_(new State{.header = header, .results = ResultsWriter(path)}) {
  state_->results.begin(result_header(header), {.frames = frames});
}
ImagesWriter::~ImagesWriter() = default;

void ImagesWriter::write(const ImageFrame& frame) {
  const std::vector<std::span<const std::byte>> products = products_of(state_->header, frame);
  Frame results;
  results.first_bit_time = frame.first_sample;
  results.timestamp_ns = frame.timestamp_ns;
  results.flags = frame.flags;
  results.missing_bit_times = frame.missing_bits;
  results.products = products;
  state_->results.write(results);
}

void ImagesWriter::finish() { state_->results.finish(); }

struct ImagesReader::State {
  ResultsReader results;
  ImagesHeader header;
  ResultHeader complete;  ///< full header of results; the file may lack some of its figures

  State(ResultsReader reader, const std::filesystem::path& path) : results(std::move(reader)) {
    if (!results.images_header(0)) {
      throw DataError(fmt::format("{}: /: found results of \"{}\", expected images or points", path.string(),
                                  results.header(0).processor));
    }
    header = *results.images_header(0);
    complete = result_header(header);
  }
};

ImagesReader::ImagesReader(const std::filesystem::path& path)
    : state_(std::make_unique<State>(ResultsReader(path), path)) {}
ImagesReader::~ImagesReader() = default;
ImagesReader::ImagesReader(ImagesReader&&) noexcept = default;
ImagesReader& ImagesReader::operator=(ImagesReader&&) noexcept = default;

const ImagesHeader& ImagesReader::header() const { return state_->header; }
std::uint64_t ImagesReader::frames() const { return state_->results.frames(0); }

ImageFrame ImagesReader::read(std::uint64_t index) const {
  const ResultHeader& complete = state_->complete;
  const ResultHeader& held = state_->results.header(0);
  const ResultFrame read = state_->results.read(0, index);
  std::vector<std::vector<float>> unknown(complete.products.size());  // NaN for figures that the file lacks
  std::vector<std::span<const std::byte>> products;
  for (std::size_t i = 0; i < complete.products.size(); ++i) {
    const Product* const found = held.product(complete.products[i].name);
    if (found != nullptr) {
      products.push_back(read.frame.products[static_cast<std::size_t>(found - held.products.data())]);
    } else {
      unknown[i].assign(complete.values(complete.products[i]), std::numeric_limits<float>::quiet_NaN());
      products.push_back(std::as_bytes(std::span(unknown[i])));
    }
  }
  Frame frame = read.frame;
  frame.products = products;
  return image_frame_of(state_->header, frame);
}

}  // namespace nearfield
