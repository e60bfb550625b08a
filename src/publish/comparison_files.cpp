#include <fmt/format.h>

#include "capture/files.hpp"
#include "nearfield/error.hpp"
#include "publish/comparison.hpp"

namespace nearfield {

Comparison compare_image_files(const std::filesystem::path& reference, const std::filesystem::path& other) {
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

}  // namespace nearfield
