#pragma once
#include <string>
#include <string_view>

namespace nearfield {

/// Version of the tree from which this program was built, as git describes it: "1.2.0" at the tag v1.2.0,
/// "1.2.0+7.g0123456789ab" seven commits later, "1.3.0~7.g0123456789ab" before the first tag of the version that
/// CMakeLists.txt names; it ends in ".dirty" if tracked files were changed. Outside git it is the version of
/// CMakeLists.txt. Versions of Debian's packages are the same text, which sorts in the order of the tree's history.
std::string_view version();

/// Twelve digits of the commit, with "-dirty" if tracked files were changed; "unknown" outside git.
std::string_view commit();

/// The output of `PROGRAM --version`, without the last newline: version, commit, OpenCL and its loader, licence.
std::string version_text(std::string_view program);

}  // namespace nearfield
