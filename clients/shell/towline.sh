# shellcheck shell=bash
# Towline for bash (4.4 or newer) and jq: source this file, open the service, call it, read its events.
#
# One file, and wait for it:
#
#     source clients/shell/towline.sh
#     towline_open
#     trap towline_close EXIT
#     towline_start https://example.org/archive.tar directory="$HOME/Downloads"
#     if towline_wait "$TOWLINE_ID"; then
#         echo "finished: ${TOWLINE_ANSWER[path]}"
#     else
#         echo "failed: ${TOWLINE_ANSWER[error.message]}" >&2
#     fi
#
# Several files, and what happens to them, as it happens:
#
#     show() { echo "${TOWLINE_EVENT[id]} ${TOWLINE_EVENT[method]} ${TOWLINE_EVENT[receivedBytes]}"; }
#     ids=()
#     while read -r url; do
#         towline_start "$url" directory=/srv/mirror && ids+=("$TOWLINE_ID")
#     done <urls.txt
#     towline_follow show "${ids[@]}"
#
# Pause all, resume one, cancel it; any method by its name:
#
#     towline_pause --all
#     towline_resume "$id"
#     towline_cancel "$id" deletePartial:=false
#     towline_call configure maxActive:=2 defaults.retry.maxAttempts:=3
#     towline_list states:='["failed"]' && jq -r '.downloads[].url' <<<"$TOWLINE_RESULT"
#
# Functions
#     towline_open [--binary FILE] [option of towline]…   starts the service; `towline --help` lists its options
#     towline_close [suspend|finish|cancel]               ends it; what is unfinished stays for later (suspend)
#     towline_start URL [param]…                          sets TOWLINE_ID; the working directory, if no other is given
#     towline_get ID
#     towline_pause|towline_resume|towline_cancel ID…|--all [param]…
#     towline_remove ID [param]…
#     towline_wait ID…|--all [param]…                     0 if all of them completed
#     towline_list [param]…                               all pages as one, unless limit or cursor is given
#     towline_call METHOD [param]…                        any method of the protocol
#     towline_send METHOD [param]…                        keeps a request for towline_flush; sets TOWLINE_REQUEST, its number
#     towline_flush                                       writes what was kept, in one piece, and does not wait
#     towline_event [SECONDS]                             the next event; 1 if there is none in time, 2 if the service ended
#     towline_follow FUNCTION ID…                         calls FUNCTION after each event until all of them have ended
#
# A param is name=text or name:=json; a dot reaches into an object: checksum.algorithm=sha256. In place of all of them
# one JSON object may stand. The answer to towline_send is read by towline_event, as the method `answer`: [request] is its
# number, [outcome] ok or error, and the rest is as in TOWLINE_ANSWER.
# path= and directory= are taken from the script's working directory.
#
# Every function returns 0 when it worked, 1 when the service refused (or a download did not complete), 2 when
# the service has ended or could not be started, 64 when it was called wrongly. They set
#     TOWLINE_RESULT       the answer's result, as JSON
#     TOWLINE_ANSWER       the same, flat: [id] [state] [receivedBytes] [error.kind] [created] …; null is empty
#     TOWLINE_ERROR        the answer's error as JSON; empty when it worked
#     TOWLINE_ERROR_KIND   its kind, such as destinationConflict; serviceEnded when there is no service any more
#     TOWLINE_ERROR_MESSAGE
#     TOWLINE_EVENT        by towline_event: [method] changed, progress or eventsLost; [id] and the download's members
#     TOWLINE_EVENT_JSON   its params, as JSON
#     TOWLINE_PID          the service's process; TOWLINE_STATUS its exit status once it has ended
# The flat values have control characters replaced by `?`. Where that changed [path], say, [path.json] has it as JSON.
# TOWLINE_FIELDS, set before towline_open, names the members to read (such as `id state error.kind`): the others and the
# JSON are left out then, lists excepted, which is several times as fast for hundreds of downloads.
#
# Call them in the script's own shell, never in $(…), a pipe or ( … ): what they set would be lost there. One service
# at a time in a shell; any number of scripts at once. Children of the script hold its descriptors: close them in those
# that outlive it (the service ends with the script all the same). Ctrl-C does not reach the service by itself: it ends
# when the script does.

# shellcheck disable=SC2034  # most of what is set here is read by who sources it
# Other shells stop at the first lines, which they understand.
# shellcheck disable=SC2317  # when executed, not sourced
if [ -z "${BASH_VERSION:-}" ] || [ "$(printf '%d%02d' "${BASH_VERSINFO[@]:0:2}")" -lt 404 ]; then
    echo 'towline.sh: bash 4.4 or newer is needed' >&2
    return 64 2>/dev/null || exit 64
fi

declare -g TOWLINE_RESULT='' TOWLINE_ERROR='' TOWLINE_ERROR_KIND='' TOWLINE_ERROR_MESSAGE=''
declare -g TOWLINE_ID='' TOWLINE_REQUEST='' TOWLINE_PID='' TOWLINE_STATUS='' TOWLINE_EVENT_JSON='' TOWLINE_EVENTS_LOST=''
declare -gA TOWLINE_ANSWER=() TOWLINE_EVENT=()

# Events that wait for towline_event, at most; then the oldest go and TOWLINE_EVENTS_LOST is set: list again.
declare -g TOWLINE_QUEUE_LIMIT=${TOWLINE_QUEUE_LIMIT:-10000}

declare -g _towline_in='' _towline_out='' _towline_job='' _towline_shell=''
declare -g _towline_last_id=0 _towline_line=''
declare -ga _towline_queue=() _towline_fields=()
# What towline_send has kept, the requests whose answers arrive as events, and the process that writes.
declare -g _towline_batch='' _towline_writer=''
declare -gA _towline_asked=()
declare -g _towline_text=''
# Text in UTF-8 without control characters, byte by byte.
declare -g _towline_utf8=$'^([ -~]|[\302-\337][\200-\277]|\340[\240-\277][\200-\277]|[\341-\354\356\357][\200-\277]{2}|'
_towline_utf8+=$'\355[\200-\237][\200-\277]|\360[\220-\277][\200-\277]{2}|[\361-\363][\200-\277]{3}|\364[\200-\217][\200-\277]{2})*$'
declare -g _towline_head=0 _towline_tail=0 _towline_marks=0
# The newest progress event of each download that waits in the queue, and the mark of its place there.
declare -gA _towline_progress=() _towline_progress_mark=()

# Turns each message into one line that bash takes apart without a process: fields separated by U+001F, which JSON
# text never contains: kind, id or method, ok or error or the download's id, the JSON, then name=value pairs.
# shellcheck disable=SC2016  # jq's variables
declare -gr _towline_filter='
    def controls: "[\u0000-\u001f\u007f-\u009f]";
    def shown($key): if . == null then "\($key)=" elif type != "string" then "\($key)=\(tojson)"
        elif test(controls) then "\($key)=\(gsub(controls; "?"))", "\($key).json=\(tojson)" else "\($key)=\(.)" end;
    def scalar: type != "object" and type != "array";
    def flat: to_entries[] | select(.key != "metadata") | .key as $key | .value
        | if type == "object" then to_entries[] | .key as $inner | .value | select(scalar) | shown("\($key).\($inner)")
          else select(scalar) | shown($key) end;
    def kept: . as $all | $keep[] as $path | ($all | getpath($path))? | select(. != null and scalar) | shown($path | join("."));
    def pairs: if type != "object" then [] elif $keep == [] then [flat] else [kept] end;
    def text: if $keep == [] or (type == "object" and has("downloads")) then tojson else "" end;
    select(type == "object")
    | if has("method") then
        (.params // {}) as $params
        | ["event", .method, ($params.id // $params.download.id // ""), ($params | text)]
          + (if has("id") then ["request=" + (.id | tojson)] else [] end)
          + ($params | del(.download) | pairs) + ($params.download | pairs)
      elif has("error") then
        ["answer", (.id | tojson), "error", (.error | text)]
        + (.error | {code, message} + (.data // {}) | pairs)
      else
        ["answer", (.id | tojson), "ok", (.result | text)]
        + (.result | if type == "object" then (del(.download) | pairs) + (.download | pairs) else [] end)
      end
    | join("\u001f")'

# Prints the binary: the named one, $TOWLINE, the release build of the repository this file is in, the one that was
# installed with it (PREFIX/share/towline), or that in PATH.
towline_find() {
    local here=${BASH_SOURCE[0]} candidate
    [[ $here == */* ]] || here=./$here
    for candidate in "${1:-}" "${TOWLINE:-}"; do
        [[ -n $candidate ]] || continue
        # A binary that was named is used or missed; another one in its place would be a surprise.
        type -P -- "$candidate" && return 0
        return 1
    done
    here=$(cd -P -- "${here%/*}/../.." && pwd)
    for candidate in "$here/.build-release/release/towline" "$here/bin/towline"; do
        [[ -x $candidate ]] || continue
        printf '%s\n' "$candidate"
        return 0
    done
    type -P towline
}

towline_open() {
    local binary='' status=0 stderr fds=() name keep=''
    _towline_reset
    [[ -z $_towline_in ]] || _towline_misuse 'towline_open: the service is open already' || return
    if [[ ${1:-} == --binary ]]; then
        (($# > 1)) || { _towline_misuse 'towline_open: --binary needs a file' || return; }
        binary=$2
        shift 2
    fi
    type -P jq >/dev/null || { _towline_fail serviceEnded 'jq is not installed (Debian package jq)' && return 2; }
    binary=$(towline_find "$binary") ||
        { _towline_fail serviceEnded "there is no towline binary${TOWLINE:+ at $TOWLINE}" && return 2; }
    # What every request needs, too.
    for name in ${TOWLINE_FIELDS:+id processId code kind message timedOut nextCursor $TOWLINE_FIELDS}; do
        keep+=",[\"${name//./\",\"}\"]"
    done
    _towline_batch='' _towline_writer='' _towline_asked=()
    _towline_queue=() _towline_head=0 _towline_tail=0 _towline_last_id=0
    _towline_progress=() _towline_progress_mark=() TOWLINE_EVENTS_LOST='' TOWLINE_STATUS='' TOWLINE_PID=''
    # Ctrl-C at a terminal reaches the whole process group: here the script decides what becomes of it.
    coproc _towline_process {
        trap '' INT
        # Nor does what ends the whole group end this before the service has: the one below says how that ended.
        trap : TERM HUP
        set +e
        read -r _
        # Bash's own word about a killed process is not for the script's readers.
        exec {stderr}>&2 2>/dev/null
        "$binary" "$@" 2>&"$stderr" {stderr}>&- |
            (trap '' TERM HUP && exec jq -r --unbuffered --argjson keep "[${keep:1}]" "$_towline_filter" 2>&"$stderr" {stderr}>&-)
        exit "${PIPESTATUS[0]}"
    }
    # Copies: bash closes its own when the process ends, and what was not read yet is lost with them. The process waits
    # for the first line until they are made.
    fds=("${_towline_process[@]}")
    exec {_towline_in}>&"${fds[1]}" {_towline_out}<&"${fds[0]}"
    # shellcheck disable=SC1083  # not literal: bash takes the number from the element
    exec {fds[1]}>&- {fds[0]}<&-
    # shellcheck disable=SC2154  # set by coproc
    _towline_job=$_towline_process_PID _towline_shell=$BASHPID
    _towline_send ''
    towline_call initialize "processId:=$BASHPID" || status=$?
    if ((status)); then
        _towline_disconnect
        return 2
    fi
    TOWLINE_PID=${TOWLINE_ANSWER[processId]:-}
}

towline_close() {
    local mode=${1:-suspend} status=0
    [[ -n $_towline_in && $BASHPID == "$_towline_shell" ]] || return 0
    towline_call shutdown "mode=$mode" || status=$?
    ((status != 1)) || return 1
    if ((status == 0)); then _towline_send '{"jsonrpc":"2.0","method":"exit"}' || true; fi
    _towline_disconnect
    return "$status"
}

towline_start() {
    local url=${1:-} param params=() placed=no
    (($#)) || { _towline_misuse 'towline_start: URL [param]…' || return; }
    shift
    for param; do
        case $param in
        path=[!/]* | directory=[!/]*) param=${param%%=*}=$PWD/${param#*=} && placed=yes ;;
        path=* | directory=*) placed=yes ;;
        esac
        params+=("$param")
    done
    [[ $placed == yes ]] || params+=("directory=$PWD")
    towline_call start "url=$url" "${params[@]}" || return
    TOWLINE_ID=${TOWLINE_ANSWER[id]}
}

towline_get() { _towline_target get "$@"; }
towline_pause() { _towline_target pause "$@"; }
towline_resume() { _towline_target resume "$@"; }
towline_cancel() { _towline_target cancel "$@"; }
towline_remove() { _towline_target remove "$@"; }

towline_wait() {
    local state others=0
    _towline_target wait "$@" || return
    [[ ${TOWLINE_ANSWER[timedOut]} != true ]] || return 1
    if [[ -n ${TOWLINE_ANSWER[state]:-} ]]; then
        [[ ${TOWLINE_ANSWER[state]} == completed ]]
        return
    fi
    for state in queued active waiting paused failed canceled; do
        ((others += ${TOWLINE_ANSWER[counts.$state]:-0})) || true
    done
    ((others == 0))
}

towline_list() {
    local param cursor pages=''
    for param; do
        case $param in limit:=* | limit=* | cursor=*)
            towline_call list "$@"
            return
            ;;
        esac
    done
    towline_call list limit:=100 "$@" || return
    while cursor=${TOWLINE_ANSWER[nextCursor]:-} && [[ -n $cursor ]]; do
        pages+=$TOWLINE_RESULT$'\n'
        towline_call list limit:=100 "cursor=$cursor" "$@" || return
    done
    [[ -n $pages ]] || return 0
    TOWLINE_RESULT=$(jq -cs '.[-1] + {downloads: map(.downloads[]), removed: map((.removed // [])[])}' \
        <<<"$pages$TOWLINE_RESULT")
}

towline_event() {
    local limit=${1-} line mark id pair
    _towline_inside towline_event || return
    while :; do
        while ((_towline_head < _towline_tail)); do
            line=${_towline_queue[_towline_head]}
            unset "_towline_queue[$((_towline_head++))]"
            if [[ $line == mark\ * ]]; then
                read -r _ mark id <<<"$line"
                # Newer ones have a later place.
                [[ ${_towline_progress_mark[$id]:-} == "$mark" ]] || continue
                line=${_towline_progress[$id]}
                unset "_towline_progress[$id]" "_towline_progress_mark[$id]"
            fi
            _towline_split "$line"
            TOWLINE_EVENT=() TOWLINE_EVENT_JSON=${_towline_fields[3]:-}
            for pair in "${_towline_fields[@]:4}"; do TOWLINE_EVENT[${pair%%=*}]=${pair#*=}; done
            TOWLINE_EVENT[method]=${_towline_fields[1]}
            TOWLINE_EVENT[id]=${_towline_fields[2]:-${TOWLINE_EVENT[id]:-}}
            return 0
        done
        _towline_read "$limit" || return
        _towline_split "$_towline_line"
        _towline_enqueue
    done
}

towline_follow() {
    local callback=${1:-} id failures=0 status=0
    local -A unfinished=()
    (($# > 1)) || { _towline_misuse 'towline_follow: FUNCTION ID…' || return; }
    shift
    for id; do unfinished[$id]=1; done
    _towline_drop_ended || return
    while ((${#unfinished[@]})); do
        towline_event || return
        # Before the callback, which may call the service and so read other events.
        id=${TOWLINE_EVENT[id]}
        if [[ ${TOWLINE_EVENT[method]} == changed && -n ${unfinished[${id:-none}]:-} ]]; then
            case ${TOWLINE_EVENT[state]} in
            completed) unset "unfinished[$id]" ;;
            failed | canceled) unset "unfinished[$id]" && ((++failures)) ;;
            esac
        elif [[ ${TOWLINE_EVENT[method]} == eventsLost ]]; then
            _towline_drop_ended || return
        fi
        "$callback" || true
    done
    # Those that ended before this call.
    while towline_event 0 || { status=$? && false; }; do "$callback" || true; done
    ((status != 2 && failures == 0))
}

# Asks which of the caller's `unfinished` have ended.
_towline_drop_ended() {
    local id
    for id in "${!unfinished[@]}"; do
        towline_get "$id" || return
        case ${TOWLINE_ANSWER[state]} in
        completed) unset "unfinished[$id]" ;;
        failed | canceled) unset "unfinished[$id]" && ((++failures)) ;;
        esac
    done
}

towline_send() {
    _towline_reset
    _towline_inside towline_send || return
    _towline_request "$@" || return
    _towline_batch+=$_towline_text$'\n'
    TOWLINE_REQUEST=$_towline_last_id
    _towline_asked[$TOWLINE_REQUEST]=1
}

towline_flush() {
    _towline_inside towline_flush || return
    [[ -n $_towline_batch ]] || return 0
    _towline_written
    # Beside the script, which must read meanwhile: the service does not take requests for ever whose answers nobody reads.
    (trap '' PIPE INT TERM HUP && printf '%s' "$_towline_batch" >&"$_towline_in") 2>/dev/null &
    _towline_writer=$! _towline_batch=''
}

# Sends a request and reads until its answer; events before it are queued.
towline_call() {
    local id pair
    _towline_reset
    _towline_inside towline_call || return
    _towline_request "$@" || return
    id=$_towline_last_id
    _towline_send "$_towline_text" || { _towline_ended && return 2; }
    while :; do
        _towline_read '' || return
        _towline_split "$_towline_line"
        if [[ ${_towline_fields[0]} == event || -n ${_towline_asked[${_towline_fields[1]}]:-} ]]; then
            _towline_enqueue
        # An error without an id means a request that could not be read; this is the only one under way.
        elif [[ ${_towline_fields[1]} == "$id" || ${_towline_fields[1]} == null ]]; then
            break
        fi
    done
    for pair in "${_towline_fields[@]:4}"; do TOWLINE_ANSWER[${pair%%=*}]=${pair#*=}; done
    if [[ ${_towline_fields[2]} == ok ]]; then
        TOWLINE_RESULT=${_towline_fields[3]:-}
        return 0
    fi
    TOWLINE_ERROR=${_towline_fields[3]:-}
    TOWLINE_ERROR_KIND=${TOWLINE_ANSWER[kind]:-}
    TOWLINE_ERROR_MESSAGE=${TOWLINE_ANSWER[message]:-}
    return 1
}

# Puts a request into _towline_text; its number is _towline_last_id.
_towline_request() {
    local method=${1:-} pair head
    shift || { _towline_misuse 'towline_call: METHOD [param]…' || return; }
    head="{\"jsonrpc\":\"2.0\",\"id\":$((++_towline_last_id)),\"method\":\"$method\",\"params\":"
    if (($# == 1)) && [[ $1 == '{'*'}' ]]; then
        _towline_text=$head$1'}'
        return 0
    fi
    for pair; do
        if ! [[ $pair =~ ^[A-Za-z_][A-Za-z0-9_.-]*:?= ]]; then
            _towline_misuse "towline_call: expected name=text or name:=json, found $pair" || return
        fi
    done
    # What is not simple takes a process.
    # shellcheck disable=SC2016  # jq's variables
    if ! _towline_object "$@" && ! _towline_text=$(trap '' INT TERM HUP && jq -cn '
        reduce $ARGS.positional[] as $param ({};
            ($param | index("=")) as $at
            | if $param[$at - 1:$at] == ":"
              then setpath($param[:$at - 1] | split("."); $param[$at + 1:] | fromjson)
              else setpath($param[:$at] | split("."); $param[$at + 1:]) end)' --args "$@"); then
        _towline_misuse "towline_call: what follows := is not JSON, or names overlap: $*" || return
    fi
    _towline_text=$head$_towline_text'}'
}

# Makes an object of params that are simple: no name twice, no dot, no JSON but numbers, words and lists of ids.
_towline_object() {
    local pair name value text=''
    local simple='^(-?(0|[1-9][0-9]{0,14})|true|false|null|\["[A-Za-z0-9._-]*"(,"[A-Za-z0-9._-]*")*\])$'
    for pair; do
        name=${pair%%=*} value=${pair#*=}
        if [[ $name == *: ]]; then
            name=${name%:}
            [[ $value =~ $simple ]] || return 1
        else
            _towline_quote "$value" || return 1
            value=$_towline_text
        fi
        [[ $name != *.* && $text != *",\"$name\":"* ]] || return 1
        text+=",\"$name\":$value"
    done
    _towline_text="{${text:1}}"
}

# Puts a text as JSON into _towline_text; 1 where control characters or bytes beyond UTF-8 make it a case for jq.
_towline_quote() {
    local text=$1 LC_ALL=C
    [[ $text != *[!\ -~]* || $text =~ $_towline_utf8 ]] || return 1
    text=${text//\\/\\\\}
    _towline_text="\"${text//\"/\\\"}\""
}

# Calls a method for the downloads that the words without `=` name.
_towline_target() {
    local method=$1 word ids=() params=()
    shift
    for word; do
        if [[ $word == --all ]]; then
            params+=(all:=true)
        elif [[ $word == *=* ]]; then
            params+=("$word")
        elif [[ $word =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]]; then
            ids+=("$word")
        else
            _towline_misuse "towline_$method: not an id: $word" || return
        fi
    done
    if ((${#ids[@]} == 1)); then
        params+=("id=${ids[0]}")
    elif ((${#ids[@]} > 1)); then
        printf -v word ',"%s"' "${ids[@]}"
        params+=("ids:=[${word:1}]")
    fi
    towline_call "$method" "${params[@]}"
}

# Queues the event in _towline_fields, or the answer to a request of towline_send. Only the newest progress of a download
# stays.
_towline_enqueue() {
    local method=${_towline_fields[1]} id=${_towline_fields[2]}
    if [[ ${_towline_fields[0]} == answer ]]; then
        [[ -n ${_towline_asked[$method]:-} ]] || return 0
        unset "_towline_asked[$method]"
        printf -v _towline_line 'event\x1fanswer\x1f\x1f%s\x1frequest=%s\x1foutcome=%s' \
            "${_towline_line#*$'\x1f'*$'\x1f'*$'\x1f'}" "$method" "$id"
        _towline_queue[_towline_tail++]=$_towline_line
        return 0
    fi
    if [[ ${_towline_fields[4]:-} == request=* ]]; then
        _towline_send "{\"jsonrpc\":\"2.0\",\"id\":${_towline_fields[4]#*=},\"error\":{\"code\":-32601,\"message\":\"not known here\"}}" ||
            true
        return 0
    fi
    if [[ $method == progress && -n $id ]]; then
        _towline_progress[$id]=$_towline_line
        [[ -z ${_towline_progress_mark[$id]:-} ]] || return 0
        _towline_progress_mark[$id]=$((++_towline_marks))
        _towline_queue[_towline_tail++]="mark $_towline_marks $id"
    else
        # It includes what the progress before it reported.
        if [[ -n $id ]]; then unset "_towline_progress[$id]" "_towline_progress_mark[$id]"; fi
        _towline_queue[_towline_tail++]=$_towline_line
    fi
    # Answers are not dropped.
    if ((_towline_tail - _towline_head > TOWLINE_QUEUE_LIMIT)) && [[ ${_towline_queue[_towline_head]} != event?answer* ]]; then
        unset "_towline_queue[$((_towline_head++))]"
        TOWLINE_EVENTS_LOST=yes
    fi
}

# Puts the next message into _towline_line. 1 if there is none within the seconds given, 2 if the service has ended.
#
# A read with a time limit can lose data that arrives just as the time is up, and a trap during one can crash bash. So this
# polls: it sleeps a little until there is something, and then reads the line.
_towline_read() {
    local limit=$1 ms_left=0 ms=5
    if [[ -n $limit ]]; then
        # Seconds, in milliseconds.
        local whole=${limit%%.*} fraction=000
        if [[ $limit == *.* ]]; then fraction=${limit#*.}000; fi
        ms_left=$((10#${whole:-0} * 1000 + 10#${fraction:0:3}))
    fi
    until read -r -t 0 -u "$_towline_out" _; do
        [[ -z $limit ]] || ((ms_left > 0)) || return 1
        _towline_sleep "$ms"
        ((ms_left -= ms)) || true
        # A short sleep keeps answers quick; many of them would be work for nothing.
        ((ms >= 40)) || ms=$((ms * 2))
    done
    if IFS= read -r -u "$_towline_out" _towline_line; then return 0; fi
    _towline_ended
    return 2
}

# Milliseconds, below 1000.
# What kills the whole group does not make bash say so.
_towline_sleep() { local zeros=000 && (trap '' INT TERM HUP && exec sleep "0.${zeros:${#1}}$1") || true; } 2>/dev/null

_towline_split() { IFS=$'\x1f' read -r -a _towline_fields <<<"$1"; }

# Waits until the writer of towline_flush is done, and reads meanwhile.
_towline_written() {
    while [[ -n $_towline_writer ]] && kill -0 "$_towline_writer" 2>/dev/null; do
        if _towline_read 0.005; then
            _towline_split "$_towline_line"
            _towline_enqueue
        fi
        [[ -n $_towline_in ]] || break
    done
    _towline_writer=''
}

# In a subshell: writing to a service that has ended must not end the script.
_towline_send() {
    [[ -z $_towline_writer ]] || _towline_written
    (trap '' PIPE INT TERM HUP && printf '%s\n' "$1" >&"$_towline_in")
} 2>/dev/null

# Lets the service end, and gathers its exit status.
_towline_disconnect() {
    local tries
    [[ -n $_towline_in ]] || return 0
    exec {_towline_in}>&-
    # Its output ends when it has; ten seconds are many times what it needs.
    for ((tries = 0; tries < 500; )); do
        if ! read -r -t 0 -u "$_towline_out" _; then
            _towline_sleep 20
            ((++tries))
            continue
        fi
        IFS= read -r -u "$_towline_out" _towline_line || break
        _towline_split "$_towline_line"
        [[ ${_towline_fields[0]} != event || ${_towline_fields[4]:-} == request=* ]] || _towline_enqueue
    done
    if ((tries == 500)) && [[ -n $TOWLINE_PID ]]; then kill -KILL "$TOWLINE_PID" 2>/dev/null || true; fi
    TOWLINE_STATUS=0
    wait "$_towline_job" 2>/dev/null || TOWLINE_STATUS=$?
    exec {_towline_out}<&-
    _towline_in='' _towline_out='' _towline_job=''
}

_towline_ended() {
    _towline_disconnect
    _towline_fail serviceEnded "the service ended: $(_towline_explain "$TOWLINE_STATUS")"
}

_towline_explain() {
    case $1 in
    70) echo 'an internal error (exit status 70)' ;;
    73) echo 'its state directory cannot be used (exit status 73)' ;;
    78) echo 'its configuration is bad (exit status 78)' ;;
    126 | 127) echo "the binary cannot be run (exit status $1)" ;;
    129 | 1[3-5]? | 16?) echo "signal $(kill -l "$(($1 - 128))") (exit status $1)" ;;
    *) echo "exit status $1" ;;
    esac
}

_towline_inside() {
    if [[ -z $_towline_in ]]; then
        # What was read before it ended can still be had.
        if [[ $1 == towline_event ]] && ((_towline_head < _towline_tail)); then return 0; fi
        [[ -n $TOWLINE_ERROR_KIND ]] || _towline_fail serviceEnded 'the service is not open'
        return 2
    fi
    if [[ $BASHPID != "$_towline_shell" ]]; then
        _towline_misuse "$1: not in a subshell, a pipe or \$(…)" || return
    fi
}

_towline_reset() {
    TOWLINE_RESULT='' TOWLINE_ERROR='' TOWLINE_ERROR_KIND='' TOWLINE_ERROR_MESSAGE='' TOWLINE_ANSWER=()
}

_towline_fail() {
    TOWLINE_ERROR_KIND=$1 TOWLINE_ERROR_MESSAGE=$2
    TOWLINE_ERROR="{\"kind\":\"$1\"}"
}

_towline_misuse() {
    _towline_fail misuse "$1"
    printf '%s\n' "$1" >&2
    return 64
}
