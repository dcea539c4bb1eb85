# shellcheck shell=bash
# Completion for towline and towline-get in bash: source this, or copy it to /usr/share/bash-completion/completions/
# as towline, with a link towline-get to it.

# Fills COMPREPLY with what of the words in $1 begins with the word at the cursor.
_towline_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }

_towline_paths() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$word")
}

_towline_complete() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --state-dir | --root) _towline_paths -d ;;
    --tls-key-log) _towline_paths -f ;;
    --framing) _towline_words 'auto line header' ;;
    --on-host-exit) _towline_words 'finish suspend' ;;
    --log-level) _towline_words 'error warn info debug' ;;
    --log-format) _towline_words 'text json' ;;
    --clientProcessId) mapfile -t COMPREPLY < <(compgen -W "$(ps -A -o pid= 2>/dev/null)" -- "$word") ;;
    --app) ;;
    *)
        _towline_words '--app --state-dir --root --framing --on-host-exit --resume-on-start --clientProcessId
            --proxy-from-environment --allow-network-state --tls-key-log --log-level --log-format --stdio
            --print-openrpc --version --help'
        ;;
    esac
}

_towline_get_complete() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    -o | --output | -i | --input-file) _towline_paths -f ;;
    -H | --header)
        compopt -o nospace 2>/dev/null
        _towline_words 'Accept: Authorization: Cookie: Referer: User-Agent:'
        ;;
    -d | --directory) _towline_paths -d ;;
    --checksum)
        compopt -o nospace 2>/dev/null
        _towline_words 'sha256: sha512: sha1: md5:'
        ;;
    --app) ;;
    *)
        if [[ $word == -* ]]; then
            _towline_words '-o --output -d --directory -i --input-file -H --header --checksum --forget --app
                --proxy-from-environment --setup -q --quiet -V --version -h --help'
        fi
        ;;
    esac
}

complete -F _towline_complete towline
complete -F _towline_get_complete towline-get
