#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "config/live_samples.hpp"
#include "control/doctor/diagnosis.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/files.hpp"

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
  const json seen = {{"place", place.string()}, {"is_of_variable", place != kVendorsFolder}, {"vendors", vendors}};
  return seen.dump(-1, ' ', false, json::error_handler_t::replace);
}

Diagnosis drivers_diagnosis(const json& seen, const LimitedRun::Outcome& outcome) {
  Diagnosis result{.name = "drivers", .found = "", .needed = "a driver of OpenCL that can be loaded", .mend = ""};
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
  if (loaded == 0) {
    result.state = Diagnosis::State::kFail;
    result.found =
        result.found.empty() ? fmt::format("no driver in {}", seen.at("place").get<std::string>()) : result.found;
    result.mend =
        seen.at("is_of_variable").get<bool>()
            ? fmt::format("install what it names, or unset {}", kVendorsVariable)
            : "apt-get install pocl-opencl-icd, or the OpenCL driver of the GPU's vendor; in the Python that has "
              "Nearfield's wheel, pip install intel-opencl-rt intel-cmplr-lib-rt";
  } else if (loaded < seen.at("vendors").size()) {
    result.state = Diagnosis::State::kWarn;
    result.mend = "install the libraries that are missing, or remove the files that name them";
  }
  return result;
}

namespace {

constexpr double kMegabyte = 1e6;
constexpr double kLeastRecording_s = 60.0;

/// A file that is removed with its descriptor, even if this process crashes.
FileDescriptor nameless_file(const std::string& folder) {
  constexpr mode_t kOwn = 0600;
  FileDescriptor file(open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwn));
  if (!file.valid() && (errno == EOPNOTSUPP || errno == EISDIR)) {  // the file system does not support O_TMPFILE
    std::string name = folder + "/doctor-XXXXXX";
    file = FileDescriptor(mkostemp(name.data(), O_CLOEXEC));
    if (file.valid()) {
      unlink(name.c_str());
    }
  }
  return file;
}

}  // namespace

double recorded_bytes_per_s(const Settings& settings) {
  using What = DaemonSettings::RecordWhat;
  const DaemonSettings::Recording& recording = settings.daemon->recording;
  const bool keeps_bits = recording.what != What::kImages;
  const bool keeps_frames = recording.what != What::kBits;
  return (keeps_bits ? wire_bytes_per_s(settings) : 0.0) + (keeps_frames ? frames_bytes_per_s(settings) : 0.0);
}

std::string look_at_disk(const std::string& folder) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;
  constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
  constexpr double kMost_s = 1.0;
  std::signal(SIGXFSZ, SIG_IGN);
  struct statvfs space {};
  const bool is_known = statvfs(folder.c_str(), &space) == 0;
  json seen = {
      {"free_bytes", is_known ? static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize) : 0.0},
      {"problem", ""}};
  const FileDescriptor file = nameless_file(folder);
  int error = file.valid() ? 0 : errno;
  const std::string block(kBlockBytes, 'n');
  std::size_t written = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto passed_s = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (error == 0 && written < kMostBytes && passed_s() < kMost_s) {
    const ssize_t count = write(file.get(), block.data(), block.size());
    error = count < 0 ? errno : 0;
    written += count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  if (error == 0 && fdatasync(file.get()) != 0) {
    error = errno;
  }
  seen["written_bytes"] = written;
  seen["seconds"] = passed_s();
  if (error != 0) {
    seen["problem"] = std::strerror(error);
  }
  return seen.dump();
}

Diagnosis disk_diagnosis(const Settings& settings, const json& seen, const std::vector<Finding>& findings) {
  const std::string& folder = settings.daemon->recording.directory;
  const double needed = recorded_bytes_per_s(settings);
  Diagnosis result =
      diagnosis_of("disk", findings, folder.empty() ? "daemon.recording.directory is off" : "",
                   fmt::format("a folder that takes {:.1f} MB/s, and a minute of that free space", needed / kMegabyte));
  if (folder.empty() || result.state != Diagnosis::State::kOk) {
    return result;
  }
  const bool is_armed = settings.daemon->recording.trigger != DaemonSettings::Trigger::kNone;
  if (!seen.is_object()) {
    result.state = Diagnosis::State::kFail;
    result.found = fmt::format("{}: a write did not end within the time limit", folder);
    result.mend = "set daemon.recording.directory to a folder on another disk";
    return result;
  }
  if (const auto problem = seen.at("problem").get<std::string>(); !problem.empty()) {
    result.state = Diagnosis::State::kFail;
    result.found = fmt::format("{}: a write of {:.1f} MB failed: {}", folder,
                               seen.at("written_bytes").get<double>() / kMegabyte, problem);
    result.mend =
        fmt::format("df -h {}; remove recordings there, or set daemon.recording.directory to another folder", folder);
    return result;
  }
  const double rate = seen.at("written_bytes").get<double>() / seen.at("seconds").get<double>();
  const double free_bytes = seen.at("free_bytes").get<double>();
  result.found = fmt::format("{}: {:.0f} MB/s, {:.1f} GB free", folder, rate / kMegabyte, free_bytes / kMegabyte / 1e3);
  const Diagnosis::State lack = is_armed ? Diagnosis::State::kFail : Diagnosis::State::kWarn;
  if (rate < needed) {
    result.state = lack;
    result.mend = "set daemon.recording.directory to a faster disk, or daemon.recording.what to images";
  } else if (free_bytes < needed * kLeastRecording_s) {
    result.state = lack;
    result.mend = fmt::format("remove recordings in {}, or set daemon.recording.directory to another folder", folder);
  }
  return result;
}

}  // namespace nearfield::control
