/* The daemon's log: one line an event on stderr, with the journal's <N> prefix when stderr is the
 * journal, else with a time. Control bytes of what came from outside are escaped. Libraries
 * (sketch, parse, keys, store's data path) do not log. Any thread; a line is one write(2). */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

void log_init(enum log_level most);
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
