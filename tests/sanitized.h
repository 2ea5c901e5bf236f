/* Whether the test is compiled with a sanitizer, by gcc or by clang: 0 or 1, for the preprocessor, too. */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined __SANITIZE_ADDRESS__
#define SANITIZED_ADDRESS 1
#elif defined __SANITIZE_THREAD__
#define SANITIZED_THREAD 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED_ADDRESS 1
#elif __has_feature(thread_sanitizer)
#define SANITIZED_THREAD 1
#endif
#endif
#ifndef SANITIZED_ADDRESS
#define SANITIZED_ADDRESS 0
#endif
#ifndef SANITIZED_THREAD
#define SANITIZED_THREAD 0
#endif
#define SANITIZED (SANITIZED_ADDRESS || SANITIZED_THREAD)

#endif
