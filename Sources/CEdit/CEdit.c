#include "CEdit.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

struct cedit {
  EditLine *line;
  History *history;
  const char *prompt;
  // Text of the caller that the next paste inserts, in place of what the terminal sends; NULL if there is none.
  const char *initial;
  char *text;
  int interrupted;
  struct winsize size;
};

// A terminal in this mode puts pasted text between two marks (xterm, "bracketed paste").
static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
static const char paste_begin[] = "\033[200~", paste_end[] = "\033[201~";
// The limit of a pasted text, in bytes. The rest of a longer one is discarded.
static const size_t paste_limit = 1 << 20;

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
  (void)line;
  (void)character;
  // libedit's handler restores the terminal, and edits the line again when the process continues.
  raise(SIGTSTP);
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
    if (size.ws_col != editor->size.ws_col) {
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

struct bytes {
  char *start;
  size_t count, capacity;
};

// Appends a byte; returns 0 without memory.
static int append(struct bytes *text, char byte) {
  if (text->count + 1 >= text->capacity) {
    size_t capacity = text->capacity ? 2 * text->capacity : 4096;
    char *start = realloc(text->start, capacity);
    if (!start) return 0;
    text->start = start;
    text->capacity = capacity;
  }
  text->start[text->count++] = byte;
  text->start[text->count] = 0;
  return 1;
}

// Appends a byte of a pasted text. The line ends are line feeds, and of other control characters only tabs are kept.
static int keep(struct bytes *text, char byte) {
  if (byte == '\r') byte = '\n';
  int is_kept = byte == '\n' || byte == '\t' || ((unsigned char)byte >= ' ' && byte != 0x7F);
  return !is_kept || text->count >= paste_limit || append(text, byte);
}

// Reads a pasted text up to its mark; without its last line ends.
static void read_paste(struct bytes *text) {
  size_t matched = 0;
  char byte;
  for (;;) {
    ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    if (byte == paste_end[matched]) {
      if (++matched == sizeof paste_end - 1) break;
      continue;
    }
    // What looked like the mark is text, but for its escape character.
    for (size_t index = 1; index < matched; index++) {
      if (!keep(text, paste_end[index])) return;
    }
    matched = byte == paste_end[0];
    if (!matched && !keep(text, byte)) return;
  }
  while (text->count > 0 && text->start[text->count - 1] == '\n') text->count--;
  if (text->start) text->start[text->count] = 0;
}

// Inserts the text between two marks into the line, so that its line ends do not end the line.
static unsigned char paste(EditLine *line, int character) {
  (void)character;
  cedit *editor = NULL;
  el_get(line, EL_CLIENTDATA, &editor);
  if (editor && editor->initial) {
    int failure = el_insertstr(line, editor->initial);
    editor->initial = NULL;
    return failure ? CC_ERROR : CC_REFRESH;
  }
  struct bytes text = {0};
  read_paste(&text);
  int failure = text.count > 0 ? el_insertstr(line, text.start) : 0;
  free(text.start);
  return failure ? CC_ERROR : CC_REFRESH;
}

// The state of the terminal before the first line, which it has again when the process exits.
static struct termios original;

static void restore(void) { tcsetattr(STDIN_FILENO, TCSANOW, &original); }

// While no line is edited, what is typed is not shown: it would stand in the middle of an answer. The next line begins with it.
static void set_echo(int is_on) {
  struct termios state;
  if (tcgetattr(STDIN_FILENO, &state) != 0) return;
  state.c_lflag = is_on ? state.c_lflag | ECHO : state.c_lflag & ~(tcflag_t)ECHO;
  tcsetattr(STDIN_FILENO, TCSANOW, &state);
}

// Sends a control sequence to the terminal, if there is one.
static void control(const char *sequence) {
  if (!isatty(STDOUT_FILENO)) return;
  fputs(sequence, stdout);
  fflush(stdout);
}

cedit *cedit_create(const char *program, int limit) {
  setlocale(LC_CTYPE, "");
  if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
  cedit *editor = calloc(1, sizeof *editor);
  if (!editor) return NULL;
  if (tcgetattr(STDIN_FILENO, &original) == 0) atexit(restore);
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
  el_set(editor->line, EL_ADDFN, "chatter-paste", "Inserts a pasted text", paste);
  el_set(editor->line, EL_BIND, paste_begin, "chatter-paste", NULL);
  return editor;
}

void cedit_free(cedit *editor) {
  if (!editor) return;
  if (editor->line) el_end(editor->line);
  if (editor->history) history_end(editor->history);
  free(editor->text);
  free(editor);
}

int cedit_read(cedit *editor, const char *text, const char *initial, const char **line, size_t *length) {
  editor->prompt = text;
  editor->interrupted = 0;
  set_echo(1);
  // Before the prompt is written, so that all that is typed at it is edited.
  el_set(editor->line, EL_PREP_TERM, 1);
  editor->size = size_of_window();
  editor->initial = *initial ? initial : NULL;
  if (editor->initial) el_push(editor->line, paste_begin);
  control(paste_on);
  int count = 0;
  const char *read = el_gets(editor->line, &count);
  control(paste_off);
  set_echo(0);
  editor->prompt = editor->initial = NULL;
  if (editor->interrupted) return cedit_interrupted;
  if (!read || count <= 0) return cedit_end;
  size_t size = (size_t)count;
  while (size > 0 && (read[size - 1] == '\n' || read[size - 1] == '\r')) size--;
  free(editor->text);
  editor->text = strndup(read, size);
  if (!editor->text) return cedit_end;
  *line = editor->text;
  *length = strlen(editor->text);
  return cedit_line;
}

void cedit_remember(cedit *editor, const char *line) {
  HistEvent event;
  history(editor->history, &event, H_ENTER, line);
}

int cedit_load(cedit *editor, const char *path) {
  HistEvent event;
  return history(editor->history, &event, H_LOAD, path) < 0 ? -1 : 0;
}

int cedit_save(cedit *editor, const char *path) {
  HistEvent event;
  return history(editor->history, &event, H_SAVE, path) < 0 ? -1 : 0;
}
