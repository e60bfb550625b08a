#include "files/hdf5/h5.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <csignal>
#include <exception>

#include "core/system/limited_run.hpp"

#ifndef H5_HAVE_THREADSAFE
#error "expected an HDF5 library with a lock for all threads (H5_HAVE_THREADSAFE), as Debian's: sources read on threads"
#endif
namespace nearfield::h5 {
namespace {

bool keep_library_from_closing_at_exit() { return H5dont_atexit() >= 0; }

/// Disables links to other files.
bool stay_in_the_file() { return H5Lunregister(H5L_TYPE_EXTERNAL) >= 0; }

bool stop_printing() { return H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0; }

hid_t native_type(Element element) {
  switch (element) {
    case Element::kFloat32:
    case Element::kComplex64:
      return H5T_NATIVE_FLOAT;
    case Element::kFloat64:
      return H5T_NATIVE_DOUBLE;
    case Element::kUint32:
      return H5T_NATIVE_UINT32;
    case Element::kUint64:
      return H5T_NATIVE_UINT64;
    case Element::kInt64:
      return H5T_NATIVE_INT64;
  }
  return H5I_INVALID_HID;
}

struct Reason {
  std::string innermost;
  std::string system;
};

/// Extracts the system's message, which HDF5 keeps only inside its own: "... errno = 28, error message = 'No space left
/// on device', ...".
std::string system_message_in(std::string_view text) {
  constexpr std::string_view kStart = "error message = '";
  const std::size_t start = text.find(kStart);
  if (start == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(start + kStart.size());
  return std::string(rest.substr(0, rest.find('\'')));
}

herr_t collect_reason(unsigned /*depth*/, const H5E_error2_t* error, void* target) {
  Reason& reason = *static_cast<Reason*>(target);
  const std::string_view text = error->desc == nullptr ? "" : error->desc;
  if (reason.innermost.empty()) {
    reason.innermost = text;
  }
  if (reason.system.empty()) {
    reason.system = system_message_in(text);
  }
  return 0;
}

}  // namespace

void quiet() {
  static const bool kKept = keep_library_from_closing_at_exit();
  static const bool kStays = stay_in_the_file();
  static_cast<void>(kStays);
  thread_local const bool kStopped = stop_printing();
  static_cast<void>(kKept);
  static_cast<void>(kStopped);
}

std::string text_of(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Type memory_type(Element element, const PartNames& parts) {
  quiet();
  if (element != Element::kComplex64) {
    return Type(H5Tcopy(native_type(element)));
  }
  Type complex(H5Tcreate(H5T_COMPOUND, sizeof(std::complex<float>)));
  H5Tinsert(complex.id(), parts.first, 0, H5T_NATIVE_FLOAT);
  H5Tinsert(complex.id(), parts.second, sizeof(float), H5T_NATIVE_FLOAT);
  return complex;
}

Type text_type(H5T_cset_t character_set, std::size_t bytes) {
  quiet();
  Type text(H5Tcopy(H5T_C_S1));
  H5Tset_size(text.id(), bytes);
  H5Tset_strpad(text.id(), bytes == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
  H5Tset_cset(text.id(), character_set);
  return text;
}

std::string last_error() {
  Reason reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_reason, &reason);
  if (!reason.system.empty()) {
    return reason.system;
  }
  return reason.innermost.empty() ? "HDF5 gives no reason" : reason.innermost;
}

Properties file_access() {
  quiet();
  Properties properties(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fclose_degree(properties.id(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(properties.id(), false, true);
  H5Pset_sieve_buf_size(properties.id(), 0);
  return properties;
}

namespace {

constexpr rlim_t kMostProcessor_s = 2;
constexpr double kTimeout_s = 30.0;
constexpr char kTextFollows = 't';  ///< first byte of a child's output that is a text

/// Called in the child: a crash ends it at once without a core dump or handler.
void prepare_for_the_worst() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) {
    std::signal(signal, SIG_DFL);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit processor{kMostProcessor_s, kMostProcessor_s};
  setrlimit(RLIMIT_CPU, &processor);
}

struct Call {
  std::function<std::string()> work;
  LimitedRun::Outcome outcome{};
  std::exception_ptr error = nullptr;
};

herr_t call_back(unsigned /*depth*/, const H5E_error2_t* /*error*/, void* data) {
  auto& call = *static_cast<Call*>(data);
  try {
    call.outcome = LimitedRun(call.work, kTimeout_s).wait();
  } catch (...) {  // not through HDF5
    call.error = std::current_exception();
  }
  return 0;
}

/// HDF5 has one lock for all threads. If another thread holds it during a fork, it is never released in the child. So
/// this thread takes it: walking an error stack with one entry calls back inside the lock, which is recursive.
void make_call_inside_the_lock(Call& call) {
  const hid_t list = H5Ecreate_stack();
  H5Epush2(list, "", "", 0, H5E_ERR_CLS, H5E_NONE_MAJOR, H5E_NONE_MINOR, " ");
  H5Ewalk2(list, H5E_WALK_UPWARD, call_back, &call);
  H5Eclose_stack(list);
}

}  // namespace

std::optional<std::string> text_from_child(const std::function<std::optional<std::string>()>& read,
                                           std::size_t most_bytes) {
  quiet();
  Call call{.work = [&] {
    prepare_for_the_worst();
    const std::optional<std::string> text = read();
    return text && text->size() <= most_bytes ? kTextFollows + *text : "";
  }};
  make_call_inside_the_lock(call);
  if (call.error) {
    std::rethrow_exception(call.error);
  }
  const LimitedRun::Outcome& outcome = call.outcome;
  const bool has_text = outcome.end == LimitedRun::End::kDone && outcome.exit_code == 0 && !outcome.output.empty();
  return has_text ? std::optional(outcome.output.substr(1)) : std::nullopt;
}

}  // namespace nearfield::h5
