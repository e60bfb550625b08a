#include "files/hdf5/h5_child.hpp"

#include <sys/resource.h>

#include <csignal>
#include <exception>

#include "core/system/limited_run.hpp"
#include "files/hdf5/h5.hpp"

namespace nearfield::h5 {
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
