#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NEARFIELD_TESTS_HAVE_SANITIZER
#endif
#endif

namespace nearfield::test {

/// Whether this program is compiled with a sanitizer whose memory and allocator are its own.
#if defined(NEARFIELD_TESTS_HAVE_SANITIZER) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace nearfield::test
