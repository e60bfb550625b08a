#include <fmt/format.h>

#include <optional>

#include "core/error.hpp"
#include "files/files.hpp"
#include "publish/comparison/comparison.hpp"

namespace nearfield {
namespace {

struct Files {
  const ResultsReader& reference;
  const ResultsReader& other;
  std::string reference_name;
  std::string other_name;
};

std::optional<std::size_t> processor_named(const ResultsReader& reader, const std::string& name) {
  for (std::size_t processor = 0; processor < reader.processors(); ++processor) {
    if (reader.header(processor).processor == name) {
      return processor;
    }
  }
  return std::nullopt;
}

Comparison compare_images(const std::filesystem::path& reference, const std::filesystem::path& other) {
  const ImagesReader reader_a(reference);
  const ImagesReader reader_b(other);
  FrameComparer comparer(reference.string(), reader_a.header(), other.string(), reader_b.header());
  if (reader_a.frames() == 0) {
    throw DataError(fmt::format("{}: expected at least one frame, found none", reference.string()));
  }
  if (reader_a.frames() != reader_b.frames()) {
    throw DataError(fmt::format("{}: expected {} frames as in {}, found {}", other.string(), reader_a.frames(),
                                reference.string(), reader_b.frames()));
  }
  for (std::uint64_t frame = 0; frame < reader_a.frames(); ++frame) {
    comparer.add(reader_a.read(frame), reader_b.read(frame));
  }
  return comparer.result();
}

/// Adds processors from `first` on, matched by their names.
void add_processors(Comparison& comparison, const Files& files, std::size_t first) {
  for (std::size_t processor = first; processor < files.reference.processors(); ++processor) {
    const std::string& name = files.reference.header(processor).processor;
    if (const std::optional<std::size_t> other = processor_named(files.other, name)) {
      comparison.processors.push_back(compare_processors(files.reference, processor, files.other, *other));
    } else {
      comparison.unpaired_processors.push_back(fmt::format("{}: only in {}", name, files.reference_name));
    }
  }
  for (std::size_t processor = first; processor < files.other.processors(); ++processor) {
    const std::string& name = files.other.header(processor).processor;
    if (!processor_named(files.reference, name)) {
      comparison.unpaired_processors.push_back(fmt::format("{}: only in {}", name, files.other_name));
    }
  }
}

}  // namespace

Comparison compare_image_files(const std::filesystem::path& reference, const std::filesystem::path& other) {
  const ResultsReader reader_a(reference);
  const ResultsReader reader_b(other);
  const Files files{reader_a, reader_b, reference.string(), other.string()};
  const bool are_images = reader_a.images_header(0) || reader_b.images_header(0);
  Comparison comparison;
  if (are_images) {
    comparison = compare_images(reference, other);
  } else {
    comparison.reference = files.reference_name;
    comparison.other = files.other_name;
  }
  add_processors(comparison, files, are_images ? 1 : 0);
  return comparison;
}

}  // namespace nearfield
