#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "control/doctor/diagnosis.hpp"

namespace nearfield::control {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kVendorsVariable = "OCL_ICD_VENDORS";
constexpr const char* kVendorsFolder = "/etc/OpenCL/vendors";

/// Location in ocl-icd's sense: a folder of files, one such file, or a library itself.
std::string vendors_place() {
  const char* const own = std::getenv(kVendorsVariable);
  return own != nullptr && *own != '\0' ? own : kVendorsFolder;
}

std::string why_not_loaded(const std::string& library) {
  // Never closed: drivers start threads when they are loaded.
  if (dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) {
    return "";
  }
  const char* const reason = dlerror();
  return reason == nullptr ? "it can't be loaded" : reason;
}

json vendor_of_file(const fs::path& file) {
  std::ifstream text(file);
  std::string library;
  std::getline(text, library);
  library.erase(std::find_if(library.begin(), library.end(), [](char c) { return c == '\r' || c == ' '; }),
                library.end());
  const std::string problem = library.empty() ? "it names no library" : why_not_loaded(library);
  return {{"file", file.string()}, {"library", library}, {"problem", problem}};
}

}  // namespace

std::string look_at_drivers() {
  const fs::path place = vendors_place();
  json vendors = json::array();
  std::error_code error;
  if (fs::is_directory(place, error)) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
      if (entry.path().extension() == ".icd") {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      vendors.push_back(vendor_of_file(file));
    }
  } else if (place.extension() == ".icd") {
    if (fs::exists(place, error)) {
      vendors.push_back(vendor_of_file(place));
    }
  } else if (place != kVendorsFolder) {
    const std::string problem = fs::exists(place, error) || place.parent_path().empty()
                                    ? why_not_loaded(place)
                                    : "there is neither such a folder nor such a library";
    vendors.push_back({{"file", kVendorsVariable}, {"library", place.string()}, {"problem", problem}});
  }
  const json seen = {{"place", place.string()},
                     {"is_of_variable", place != kVendorsFolder},
                     {"loader", why_not_loaded("libOpenCL.so.1")},
                     {"vendors", vendors}};
  return seen.dump(-1, ' ', false, json::error_handler_t::replace);
}

Diagnosis drivers_diagnosis(const json& seen, const LimitedRun::Outcome& outcome) {
  Diagnosis result{
      .name = "drivers", .found = "", .needed = "OpenCL's loader, and a driver that can be loaded", .mend = ""};
  if (!seen.is_object()) {
    result.state = Diagnosis::State::kFail;
    const bool is_of_driver = outcome.end != LimitedRun::End::kDone;  // drivers never cause our exit codes
    result.found = fmt::format("the process that loads the drivers {}{}", outcome.ending(),
                               is_of_driver ? ", as a driver can cause it" : " and wrote nothing");
    result.mend = is_of_driver ? fmt::format("move the files of {} away one after the other", kVendorsFolder)
                               : fmt::format("make {} and its files readable to this user", kVendorsFolder);
    return result;
  }
  std::size_t loaded = 0;
  for (const json& vendor : seen.at("vendors")) {
    const auto problem = vendor.at("problem").get<std::string>();
    loaded += problem.empty() ? 1U : 0U;
    result.found += fmt::format("{}{}: {}{}", result.found.empty() ? "" : "\n", vendor.at("file").get<std::string>(),
                                vendor.at("library").get<std::string>(), problem.empty() ? "" : ", " + problem);
  }
  if (const auto loader = seen.at("loader").get<std::string>(); !loader.empty()) {
    result.state = Diagnosis::State::kFail;
    result.found += (result.found.empty() ? "" : "\n") + loader;
    result.mend = "apt-get install ocl-icd-libopencl1";
  } else if (loaded == 0) {
    result.state = Diagnosis::State::kFail;
    result.found =
        result.found.empty() ? fmt::format("no driver in {}", seen.at("place").get<std::string>()) : result.found;
    result.mend = seen.at("is_of_variable").get<bool>()
                      ? fmt::format("unset {}", kVendorsVariable)
                      : "apt-get install pocl-opencl-icd, or the OpenCL driver of the GPU's vendor";
  } else if (loaded < seen.at("vendors").size()) {
    result.state = Diagnosis::State::kWarn;
    result.mend = "install the libraries that are missing, or remove the files that name them";
  }
  return result;
}

}  // namespace nearfield::control
