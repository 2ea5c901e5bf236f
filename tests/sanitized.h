/* Whether the test is compiled with a sanitizer, by gcc or by clang. */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED_ADDRESS = 1, SANITIZED_THREAD = 0 };
#elif defined __SANITIZE_THREAD__
enum { SANITIZED_ADDRESS = 0, SANITIZED_THREAD = 1 };
#elif defined __has_feature
enum {
    SANITIZED_ADDRESS = __has_feature(address_sanitizer),
    SANITIZED_THREAD = __has_feature(thread_sanitizer)
};
#else
enum { SANITIZED_ADDRESS = 0, SANITIZED_THREAD = 0 };
#endif
enum { SANITIZED = SANITIZED_ADDRESS || SANITIZED_THREAD };

#endif
