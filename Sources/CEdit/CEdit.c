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
#include <unistd.h>
#include <wchar.h>

struct cedit {
  EditLine *line;
  History *history;
  const char *prompt;
  char *text;
  int interrupted;
  struct winsize size;
};

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
  // Before the prompt is written, so that all that is typed at it is edited.
  el_set(editor->line, EL_PREP_TERM, 1);
  editor->size = size_of_window();
  if (*initial) el_push(editor->line, initial);
  int count = 0;
  const char *read = el_gets(editor->line, &count);
  editor->prompt = NULL;
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
