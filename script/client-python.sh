# shellcheck shell=bash
# Sourced by the scripts that run clients of other projects. The versions are fixed, because others send other requests.

# client_python FOLDER PACKAGE…: installs packages in a virtual environment, unless it has them, and sets `python` to its Python.
client_python() {
    local home=$1
    shift
    # shellcheck disable=SC2034
    python=$home/bin/python
    [ "$(cat "$home/installed" 2>/dev/null)" != "$*" ] || return 0
    say "installing for Python: $*"
    rm -rf "$home"
    python3 -m venv "$home"
    persistently "$home/bin/pip" install --disable-pip-version-check "$@" || die "pip could not install $*: is there a network?"
    echo "$*" >"$home/installed"
}

door_python() { client_python "$PWD/.build/door-clients" ollama==0.6.3 openai==3.54.0 anthropic==2.12.0; }

# These two need other versions of the package openai, and hundreds of megabytes: each has a folder in the cache.
client_cache=${XDG_CACHE_HOME:-$HOME/.cache}/chatterd/clients
# LiteLLM imports the package mcp for tools, but does not require it.
litellm_python() { client_python "$client_cache/litellm" litellm==1.106.2 mcp==2.3.0; }
llm_python() { client_python "$client_cache/llm" llm==0.36 llm-ollama==0.19.1 ollama==0.6.3; }
