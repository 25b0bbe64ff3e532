#ifndef CEDIT_H
#define CEDIT_H

#include <stddef.h>

/// A line editor with a history, over libedit's histedit(3). Its functions with variable arguments cannot be called from Swift.
/// All of these functions are called on the first thread of the process, which gets the signals of the terminal.
typedef struct cedit cedit;

/// The outcome of reading a line.
enum {
  cedit_line = 1,
  cedit_end = 0,
  cedit_interrupted = -1,
};

/// Creates the editor of the terminal at standard input and output, with a history of `limit` lines; NULL without memory. Also
/// selects a locale for UTF-8 if that of the environment has another encoding.
cedit *cedit_create(const char *program, int limit);

/// Releases the editor.
void cedit_free(cedit *editor);

/// Reads a line. `initial` is text that can be edited, empty if there is none. The line is valid until the next call, and has no line
/// end, but for those of `initial` and of pasted text, which is at most 1 MiB. In the terminal a line end is shown as U+23CE, and a text of more
/// than 500 bytes as a mark; neither is in the result. Between two calls the terminal shows nothing that is typed. Returns `cedit_line`,
/// `cedit_end` after Ctrl-D or at the end of the input, or `cedit_interrupted` after Ctrl-C.
int cedit_read(cedit *editor, const char *prompt, const char *initial, const char **line, size_t *length);

/// Appends a line to the history, unless it has more than 500 bytes.
void cedit_remember(cedit *editor, const char *line);

/// Reads or writes the history. Return 0, or -1 if the file cannot be used.
int cedit_load(cedit *editor, const char *path);
int cedit_save(cedit *editor, const char *path);

#endif
