#include "version/version.hpp"

#include <fmt/format.h>

#include "cl/loader.hpp"
#include "version/commit.hpp"

namespace nearfield {

std::string_view version() { return kVersion; }

std::string_view commit() { return kCommit; }

std::string version_text(std::string_view program) {
  return fmt::format("{} {}\ncommit {}\nOpenCL 1.2 and later; loader: {}\nApache License 2.0", program, version(),
                     commit(), ocl::loader_name());
}

}  // namespace nearfield
