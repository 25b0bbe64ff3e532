#include "CEdit.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

// A pasted text that a short mark stands for in the line.
struct paste {
  char *mark, *text;
  struct paste *next;
};

struct cedit {
  EditLine *line;
  History *history;
  const char *prompt;
  char *text;
  struct paste *pastes;
  int paste_count;
  int interrupted;
  struct winsize size;
};

// A terminal in this mode puts pasted text between two marks (xterm, "bracketed paste").
static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
static const char paste_begin[] = "\033[200~", paste_end[] = "\033[201~";
// The limit of a pasted text, in bytes. The rest of a longer one is discarded.
static const size_t paste_limit = 1 << 20;
// A longer text would not survive a look into the history, which keeps 1,023 characters of the line, nor a small window.
static const size_t shown_limit = 500;
// Stands for a line end in the line: libedit cannot edit lines that are higher than the window.
static const char line_mark[] = "\xE2\x8F\x8E";
static const char replacement[] = "\xEF\xBF\xBD";
// The time after which a control character in an unfinished paste was typed, in milliseconds.
static const int typing_pause = 200;

// The state of the terminal before the first line, which it has again when the process ends or stops.
static struct termios original;
static int has_original, uses_paste;

static void write_all(const char *text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) return;
}

static void restore(void) {
  if (uses_paste) write_all(paste_off);
  if (has_original) tcsetattr(STDIN_FILENO, TCSANOW, &original);
}

// Between two lines nothing that is typed is shown, as it would stand in the middle of an answer, and nothing is cut into lines: the next line
// begins with it.
static void set_quiet(int is_quiet) {
  struct termios state;
  if (!has_original || tcgetattr(STDIN_FILENO, &state) != 0) return;
  state.c_lflag = is_quiet ? state.c_lflag & ~(tcflag_t)(ECHO | ICANON) : state.c_lflag | ECHO | ICANON;
  tcsetattr(STDIN_FILENO, TCSANOW, &state);
}

// Gives the terminal back before the default action of a signal. While a line is edited, libedit's handler runs before this one.
static void end_or_stop(int signal_number) {
  int error = errno;
  struct termios state;
  int has_state = tcgetattr(STDIN_FILENO, &state) == 0;
  restore();
  struct sigaction action = {.sa_handler = SIG_DFL}, old;
  sigaction(signal_number, &action, &old);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  raise(signal_number);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  // It has continued after a stop.
  sigaction(signal_number, &old, NULL);
  if (has_state) tcsetattr(STDIN_FILENO, TCSANOW, &state);
  if (uses_paste) write_all(paste_on);
  errno = error;
}

static void handle_signals(void) {
  static const int signals[] = {SIGTERM, SIGHUP, SIGTSTP};
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
    struct sigaction action = {.sa_handler = end_or_stop, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    // A signal that is ignored stays so, as for programs that run with nohup.
    if (sigaction(signals[index], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(signals[index], &action, NULL);
  }
}

static char *prompt(EditLine *line) {
  cedit *editor = NULL;
  el_get(line, EL_CLIENTDATA, &editor);
  // libedit does not change the text, but its type has no const.
  return (char *)(editor && editor->prompt ? editor->prompt : "");
}

static unsigned char interrupt(EditLine *line, int character) {
  (void)character;
  cedit *editor = NULL;
  el_get(line, EL_CLIENTDATA, &editor);
  if (editor) editor->interrupted = 1;
  return CC_EOF;
}

static unsigned char suspend(EditLine *line, int character) {
  (void)character;
  // libedit's own handler works once in a line only.
  el_set(line, EL_PREP_TERM, 0);
  struct sigaction action = {.sa_handler = end_or_stop}, old;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTSTP, &action, &old);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &old, NULL);
  el_set(line, EL_PREP_TERM, 1);
  return CC_REDISPLAY;
}

static struct winsize size_of_window(void) {
  struct winsize size = {0};
  ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
  return size;
}

// Reads a character. If the window has changed meanwhile, the line is written again: libedit only notes the new size.
static int get_character(EditLine *line, wchar_t *character) {
  cedit *editor = NULL;
  el_get(line, EL_CLIENTDATA, &editor);
  mbstate_t state;
  memset(&state, 0, sizeof state);
  for (;;) {
    char byte;
    ssize_t count = read(STDIN_FILENO, &byte, 1);
    int error = errno;
    // A change interrupts the call only if no character came at the same time.
    struct winsize size = size_of_window();
    if (size.ws_col != editor->size.ws_col || size.ws_row != editor->size.ws_row) {
      editor->size = size;
      el_resize(line);
      fputs("\r\033[J", stdout);
      el_set(line, EL_REFRESH);
    }
    if (count < 0 && error == EINTR) continue;
    if (count <= 0) return (int)count;
    size_t length = mbrtowc(character, &byte, 1, &state);
    if (length == (size_t)-2) continue;
    if (length == (size_t)-1) *character = 0xFFFD;
    return 1;
  }
}

// --- Texts

struct bytes {
  char *start;
  size_t count, capacity;
  int has_failed;
};

static void append(struct bytes *text, const char *start, size_t count) {
  if (text->has_failed) return;
  if (text->count + count + 1 > text->capacity) {
    size_t capacity = 2 * text->capacity + count + 256;
    char *larger = realloc(text->start, capacity);
    if (!larger) {
      text->has_failed = 1;
      return;
    }
    text->start = larger;
    text->capacity = capacity;
  }
  memcpy(text->start + text->count, start, count);
  text->count += count;
  text->start[text->count] = 0;
}

// Replaces each occurrence of a text. Returns a new text; NULL without memory.
static char *replacing(const char *text, const char *old, const char *new) {
  struct bytes result = {0};
  append(&result, "", 0);
  size_t length = strlen(old);
  for (const char *found; (found = strstr(text, old)); text = found + length) {
    append(&result, text, (size_t)(found - text));
    append(&result, new, strlen(new));
  }
  append(&result, text, strlen(text));
  if (!result.has_failed) return result.start;
  free(result.start);
  return NULL;
}

// The valid characters of a text, with U+FFFD for each other byte; NULL without memory. A character that is cut off at the end is left out.
static char *valid(const struct bytes *text) {
  struct bytes result = {0};
  append(&result, "", 0);
  mbstate_t state;
  memset(&state, 0, sizeof state);
  for (size_t at = 0; at < text->count;) {
    wchar_t character;
    size_t length = mbrtowc(&character, text->start + at, text->count - at, &state);
    if (length == (size_t)-2) break;
    if (length == (size_t)-1 || length == 0) {
      append(&result, replacement, sizeof replacement - 1);
      memset(&state, 0, sizeof state);
      length = 1;
    } else {
      append(&result, text->start + at, length);
    }
    at += length;
  }
  if (!result.has_failed) return result.start;
  free(result.start);
  return NULL;
}

static size_t count_of(const char *text, char byte) {
  size_t count = 0;
  for (; *text; text++) count += *text == byte;
  return count;
}

// A text as it stands in the line: itself, with marks for its line ends, or a mark for all of it if it is long. The result is valid until the
// line is read; NULL without memory.
static char *shown(cedit *editor, const char *text) {
  struct winsize size = size_of_window();
  size_t half = (size_t)size.ws_row * size.ws_col / 2;
  size_t limit = half > 0 && half < shown_limit ? half : shown_limit;
  if (strlen(text) <= limit && !strstr(text, line_mark)) return replacing(text, "\n", line_mark);
  char mark[64];
  snprintf(mark, sizeof mark, "[text %d: %zu lines]", ++editor->paste_count, count_of(text, '\n') + 1);
  struct paste *paste = calloc(1, sizeof *paste);
  if (!paste) return NULL;
  paste->mark = strdup(mark);
  paste->text = strdup(text);
  paste->next = editor->pastes;
  editor->pastes = paste;
  return paste->mark && paste->text ? strdup(mark) : NULL;
}

static void forget_pastes(cedit *editor) {
  while (editor->pastes) {
    struct paste *paste = editor->pastes;
    editor->pastes = paste->next;
    free(paste->mark);
    free(paste->text);
    free(paste);
  }
  editor->paste_count = 0;
}

// --- Paste

// Appends a byte of a pasted text. The line ends are line feeds, and of other control characters only tabs are kept. The terminal driver
// exchanges carriage returns and line feeds while a line is edited.
static void keep(struct bytes *text, char byte, char last) {
  if (byte == '\r' && last == '\n') return;
  if (byte == '\r') byte = '\n';
  int is_kept = byte == '\n' || byte == '\t' || ((unsigned char)byte >= ' ' && byte != 0x7F);
  if (is_kept && text->count < paste_limit) append(text, &byte, 1);
}

// Reads a pasted text up to its mark; without its last line ends. Returns 0 if Ctrl-C was typed, or at the end of the input.
static int read_paste(struct bytes *text) {
  size_t matched = 0;
  char last = 0, byte;
  for (;;) {
    ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    if (byte == paste_end[matched]) {
      if (++matched == sizeof paste_end - 1) break;
      continue;
    }
    // What looked like the mark is text, but for its escape character.
    for (size_t index = 1; index < matched; index++) keep(text, paste_end[index], 0);
    matched = byte == paste_end[0];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (byte == 3 && poll(&input, 1, typing_pause) == 0) return 0;
    if (!matched) keep(text, byte, last);
    last = byte;
  }
  while (text->count > 0 && text->start[text->count - 1] == '\n') text->start[--text->count] = 0;
  return 1;
}

// Inserts the text between two marks into the line, so that its line ends do not end the line.
static unsigned char paste(EditLine *line, int character) {
  (void)character;
  cedit *editor = NULL;
  el_get(line, EL_CLIENTDATA, &editor);
  struct bytes text = {0};
  int is_whole = read_paste(&text);
  char *clean = is_whole && !text.has_failed ? valid(&text) : NULL;
  char *inserted = clean ? shown(editor, clean) : NULL;
  int failure = !inserted || (*inserted && el_insertstr(line, inserted) != 0);
  free(text.start);
  free(clean);
  free(inserted);
  if (!is_whole) {
    editor->interrupted = 1;
    return CC_EOF;
  }
  return failure ? CC_ERROR : CC_REFRESH;
}

// --- The editor

cedit *cedit_create(const char *program, int limit) {
  setlocale(LC_CTYPE, "");
  if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
  cedit *editor = calloc(1, sizeof *editor);
  if (!editor) return NULL;
  editor->history = history_init();
  editor->line = el_init(program, stdin, stdout, stderr);
  if (!editor->history || !editor->line) {
    cedit_free(editor);
    return NULL;
  }
  HistEvent event;
  history(editor->history, &event, H_SETSIZE, limit);
  history(editor->history, &event, H_SETUNIQUE, 1);
  el_set(editor->line, EL_CLIENTDATA, editor);
  el_set(editor->line, EL_PROMPT, prompt);
  el_set(editor->line, EL_EDITOR, "emacs");
  el_set(editor->line, EL_HIST, history, editor->history);
  // Handles a changed size of the terminal, and its state when the process is stopped and continued.
  el_set(editor->line, EL_SIGNAL, 1);
  el_set(editor->line, EL_GETCFN, get_character);
  el_source(editor->line, NULL);
  // While a line is edited, Ctrl-C is a key and no signal, and so is Ctrl-Z.
  el_set(editor->line, EL_SETTY, "-d", "-isig", NULL);
  el_set(editor->line, EL_ADDFN, "chatter-interrupt", "Discards the line", interrupt);
  el_set(editor->line, EL_BIND, "^C", "chatter-interrupt", NULL);
  el_set(editor->line, EL_ADDFN, "chatter-suspend", "Stops the process", suspend);
  el_set(editor->line, EL_BIND, "^Z", "chatter-suspend", NULL);
  has_original = tcgetattr(STDIN_FILENO, &original) == 0;
  const char *keys = NULL, *terminal = getenv("TERM");
  int edits = 0;
  el_get(editor->line, EL_EDITOR, &keys);
  el_get(editor->line, EL_EDITMODE, &edits);
  // In vi's key map the mark's escape character changes the mode.
  uses_paste = has_original && isatty(STDOUT_FILENO) && edits && keys && strcmp(keys, "emacs") == 0 && terminal &&
               strcmp(terminal, "dumb") != 0;
  if (uses_paste) {
    el_set(editor->line, EL_ADDFN, "chatter-paste", "Inserts a pasted text", paste);
    el_set(editor->line, EL_BIND, paste_begin, "chatter-paste", NULL);
  }
  if (has_original) {
    atexit(restore);
    handle_signals();
  }
  return editor;
}

void cedit_free(cedit *editor) {
  if (!editor) return;
  if (editor->line) el_end(editor->line);
  if (editor->history) history_end(editor->history);
  forget_pastes(editor);
  free(editor->text);
  free(editor);
}

// The pasted text whose mark is at the start of a text, or NULL.
static const struct paste *paste_at(const cedit *editor, const char *text) {
  for (const struct paste *paste = editor->pastes; paste; paste = paste->next) {
    if (strncmp(text, paste->mark, strlen(paste->mark)) == 0) return paste;
  }
  return NULL;
}

// The line as it was meant: its marks are texts again. A pasted text is not searched for marks, and may contain the same words. NULL without
// memory.
static char *meant(const cedit *editor, const char *line) {
  struct bytes result = {0};
  append(&result, "", 0);
  while (*line) {
    const struct paste *paste = *line == '[' ? paste_at(editor, line) : NULL;
    if (paste) {
      append(&result, paste->text, strlen(paste->text));
      line += strlen(paste->mark);
    } else if (strncmp(line, line_mark, sizeof line_mark - 1) == 0) {
      append(&result, "\n", 1);
      line += sizeof line_mark - 1;
    } else {
      append(&result, line++, 1);
    }
  }
  if (!result.has_failed) return result.start;
  free(result.start);
  return NULL;
}

int cedit_read(cedit *editor, const char *text, const char *initial, const char **line, size_t *length) {
  editor->prompt = text;
  editor->interrupted = 0;
  set_quiet(0);
  // Before the prompt is written, so that all that is typed at it is edited.
  el_set(editor->line, EL_PREP_TERM, 1);
  if (uses_paste) write_all(paste_on);
  editor->size = size_of_window();
  if (*initial) {
    char *first = shown(editor, initial);
    if (first) el_push(editor->line, first);
    free(first);
  }
  int count = 0;
  const char *read = el_gets(editor->line, &count);
  set_quiet(1);
  editor->prompt = NULL;
  int outcome = editor->interrupted ? cedit_interrupted : !read || count <= 0 ? cedit_end : cedit_line;
  if (outcome == cedit_line) {
    free(editor->text);
    char *typed = strdup(read);
    if (typed) typed[strcspn(typed, "\r\n")] = 0;
    editor->text = typed ? meant(editor, typed) : NULL;
    free(typed);
    if (!editor->text) outcome = cedit_end;
  }
  forget_pastes(editor);
  if (outcome != cedit_line) return outcome;
  *line = editor->text;
  *length = strlen(editor->text);
  return cedit_line;
}

void cedit_remember(cedit *editor, const char *line) {
  if (strlen(line) > shown_limit || strstr(line, line_mark)) return;
  char *shown = replacing(line, "\n", line_mark);
  HistEvent event;
  if (shown) history(editor->history, &event, H_ENTER, shown);
  free(shown);
}

int cedit_load(cedit *editor, const char *path) {
  HistEvent event;
  return history(editor->history, &event, H_LOAD, path) < 0 ? -1 : 0;
}

int cedit_save(cedit *editor, const char *path) {
  HistEvent event;
  return history(editor->history, &event, H_SAVE, path) < 0 ? -1 : 0;
}
