#include "nearfield/array_files.hpp"

#include <fmt/format.h>

#include "nearfield/error.hpp"

namespace nearfield {

SurfaceData ArrayFiles::surface(const std::filesystem::path& path, const std::string& key) const {
  throw ConfigError(fmt::format("{}: expected a CSV file where no HDF5 files are read, found {}", key, path.string()));
}

}  // namespace nearfield
