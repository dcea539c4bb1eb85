# shellcheck shell=bash
# The downloads of towline-get: what is known of each, and what is done when an event or answer arrives. Sourced by it.
# shellcheck disable=SC2034,SC2154  # the files of towline-get share variables

# One index each in these arrays.

declare -A index_of=()
ids=() names=() state=() reason=() phase=() received=() total_bytes=() rate=() eta=() message=()
elsewhere=() offline_since=() removed=() reported=() revision=()
# When the transfer began, in milliseconds, and what had been received then; 0 until it did.
began_ms=() received_before=()
# Attempt and mode of the last transfer.
transfer=()
# About fifteen seconds without a byte: somebody waits here, and may run the same command again.
retry_attempts=5
# The downloads of the requests that were sent together.
declare -A asked=()
# finished or failed once that is known.
outcome=()
unfinished=0
# Whether events were lost, so that the downloads have to be asked for.
lost=''
# Whether a finished path could not be written.
lost_path=''
# Whether the service has been asked to end, so that what is not finished stays as it is.
ending=''

# Where the files go; the same command in the same place means the same download.
find_place() {
    if [[ -n $output ]]; then
        place_key=path place=$output
        [[ $place == */* ]] || place=./$place
        place=$(calm realpath -m -- "${place%/*}/")/${place##*/}
        [[ $place != //* ]] || place=${place:1}
    else
        if [[ -n $directory ]]; then calm mkdir -p -- "$directory" || die "cannot make $directory"; fi
        place_key=directory place=$(calm realpath -- "${directory:-.}") || die "there is no directory ${directory:-.}"
    fi
    checksum=${checksum,,}
    destination=("$place_key=$place")
    [[ -z $checksum ]] || destination+=("checksum.algorithm=${checksum%%:*}" "checksum.value=${checksum#*:}")
}

# Fills `digests`: of the URL and the destination. One process for all, and none for each.
name_downloads() {
    local folder i
    folder=$(calm mktemp -d "${TMPDIR:-/tmp}/towline-get.XXXXXX") || die 'cannot make a temporary directory'
    for i in "${!urls[@]}"; do printf '%s\0' "${urls[i]}" "${destination[@]}" >"$folder/$i"; done
    mapfile -t digests < <(trap '' INT TERM HUP && cd -- "$folder" && printf '%s\n' "${!urls[@]}" | xargs sha256sum)
    calm rm -rf -- "$folder"
    ((${#digests[@]} == ${#urls[@]})) || die 'sha256sum failed'
}

prepare() {
    local url id name i j
    local -a given digests=()
    name_downloads
    given=("${urls[@]}") urls=()
    for j in "${!given[@]}"; do
        url=${given[j]} id=get-${digests[j]:0:40}
        [[ -z ${index_of[$id]:-} ]] || continue
        i=${#urls[@]}
        urls+=("$url")
        index_of[$id]=$i ids[i]=$id
        name=${output:-${url%%[?#]*}}
        name=${name%/}
        names[i]=${name##*/}
        state[i]=queued reason[i]='' phase[i]='' received[i]=0 total_bytes[i]='' rate[i]='' eta[i]='' message[i]=''
        elsewhere[i]='' offline_since[i]='' removed[i]='' reported[i]='' outcome[i]='' transfer[i]=''
        began_ms[i]=0 received_before[i]=0
    done
    unfinished=${#urls[@]}
}

# Milliseconds of a clock; whole seconds before bash 5.
now_ms() { if [[ -n ${EPOCHREALTIME:-} ]]; then now=$((${EPOCHREALTIME/[.,]/} / 1000)); else now=$((SECONDS * 1000)); fi; }

# Puts what has been received a second since the transfer began into `average`; empty where nothing has. Sets `now`.
average_rate() {
    local bytes=$((received[$1] - received_before[$1]))
    now_ms
    average=''
    ((began_ms[$1] > 0 && bytes > 0)) || return 0
    average=$((bytes * 1000 / (now > began_ms[$1] ? now - began_ms[$1] : 1)))
}

# Puts the exact path out of the flat array whose name is given into `path`.
exact_path() {
    local -n from_array=$1
    path=${from_array[path]:-}
    [[ -n ${from_array[path.json]:-} ]] || return 0
    path=${from_array[path.json]:1:-1}
    path=${path//\\\\/\\x5c}
    printf -v path '%b' "${path//\\\"/\"}"
}

print_path() {
    # With bars and standard output on one terminal, the line about it says it.
    [[ $progress_mode != bars || ! -t 1 ]] || return 0
    # In a subshell: the reader may be gone, and what a failed write leaves in bash's buffer must not be written later.
    (trap '' PIPE INT TERM HUP && printf '%s\n' "$1") || lost_path=yes
} 2>/dev/null

# Reports a finished download and prints its path: $2 is the name of the flat array.
finish() {
    local i=$1 path size now average
    exact_path "$2"
    outcome[i]=finished
    ((--unfinished)) || true
    progress_erase
    print_path "$path"
    format_bytes "${received[i]}" && size=$text
    if [[ ${3:-} == again ]]; then
        note "${names[i]}: was finished before, $size"
        return
    fi
    now_ms
    format_duration $((began_ms[i] > 0 ? now - began_ms[i] : 0))
    size+=" in $text"
    average_rate "$i"
    if [[ -n $average ]]; then
        format_bytes "$average"
        # Not over the edge of a narrow terminal.
        [[ $progress_mode == bars && $((${#names[i]} + ${#size} + ${#text} + 6)) -ge $progress_columns ]] || size+=", $text/s"
    fi
    note "${names[i]}: $size"
}

say_resumed() {
    format_bytes "${received[$1]}"
    ((received[$1] == 0)) || note "${names[$1]}: resumed, $text received before"
}

failed() {
    local i=$1
    outcome[i]=failed
    ((--unfinished)) || true
    local url=${urls[i]}
    # Not the name and password that it may hold.
    if [[ $url =~ ^([^/]*//)[^/?#]*@(.*) ]]; then url=${BASH_REMATCH[1]}${BASH_REMATCH[2]}; fi
    say "$program: $url: $2"
}

# Stores what a Download says: $2 is the name of the flat array.
take() {
    local i=$1 name now
    local -n from=$2
    if [[ -n ${from[state]:-} ]]; then
        state[i]=${from[state]} reason[i]=${from[reason]:-} phase[i]=${from[phase]:-}
        message[i]=${from[error.message]:-}
        elsewhere[i]=''
        if [[ ${from[owner]:-} == other ]]; then elsewhere[i]=yes; fi
        say_restarted "$i" "${from[transfer.mode]:-}" "${from[transfer.why]:-}" "${from[attempt]:-}"
    fi
    revision[i]=${from[revision]:-${revision[i]:-0}}
    received[i]=${from[receivedBytes]:-0} total_bytes[i]=${from[totalBytes]:-}
    rate[i]=${from[bytesPerSecond]:-} eta[i]=${from[etaMs]:-}
    name=${from[path]:-${from[suggestedFileName]:-}}
    [[ -z $name ]] || names[i]=${name##*/}
    if ((began_ms[i] == 0)) && [[ ${state[i]} == active ]]; then
        now_ms
        began_ms[i]=$now received_before[i]=${received[i]}
    fi
    ((received[i] >= received_before[i])) || received_before[i]=${received[i]}
}

# Says why received bytes cannot be used.
say_restarted() {
    local i=$1 why now latest="$4/$2"
    [[ $2 == restarted && $latest != "${transfer[i]}" ]] || { transfer[i]=$latest && return; }
    # What an earlier run saw is not news.
    [[ -n ${transfer[i]} ]] || { transfer[i]=$latest && return; }
    transfer[i]=$latest
    case $3 in
    rangeIgnored) why='the server ignored the range' ;;
    rangeRejected) why='the server refused the range' ;;
    badRangeResponse) why='the server sent another range' ;;
    validatorChanged | totalChanged | overlapDiffers) why='the file on the server has changed' ;;
    noValidator) why='the server sends nothing that identifies the version of the file' ;;
    partialMissing) why='the partial file is missing' ;;
    partialDamaged) why='the partial file was changed' ;;
    encodedResponse) why='the server compresses it' ;;
    checksumMismatch) why='the checksum does not match' ;;
    mirrorChanged) why='another server has another file' ;;
    *) why=${3:-'what was received cannot be used'} ;;
    esac
    note "${names[i]}: starts from zero: $why"
    now_ms
    began_ms[i]=$now received_before[i]=0
}

# Puts the params of start into `params`, or of what else is asked with them.
start_params() {
    local i=$1 url json
    # Text that needs escapes is encoded by jq.
    if _towline_quote "${urls[i]}" && url=$_towline_text && _towline_quote "$place"; then
        json="{\"id\":\"${ids[i]}\",\"url\":$url,\"$place_key\":$_towline_text,\"retry\":{\"maxAttempts\":$retry_attempts}"
        [[ -z $headers ]] || json+=",\"headers\":$headers"
        [[ -z $checksum ]] || json+=",\"checksum\":{\"algorithm\":\"${checksum%%:*}\",\"value\":\"${checksum#*:}\"}"
        params=("$json}")
    else
        params=("id=${ids[i]}" "url=${urls[i]}" "${destination[@]}" "retry.maxAttempts:=$retry_attempts")
        [[ -z $headers ]] || params+=("headers:=$headers")
    fi
}

# Starts all of them in one write; handle_event gets the answers.
begin_all() {
    local i params
    for i in "${!urls[@]}"; do
        if [[ -n $headers ]]; then
            # A download that exists keeps the headers of its first start otherwise.
            towline_send update "{\"id\":\"${ids[i]}\",\"headers\":$headers}" || return
        fi
        start_params "$i"
        towline_send start "${params[@]}" || return
        asked[$TOWLINE_REQUEST]=$i
    done
    towline_flush
}

# Starts a download, takes it over from a process that has ended, or finds it done.
begin() {
    local i=$1 status=0 params
    start_params "$i"
    towline_call start "${params[@]}" || status=$?
    ((status != 2)) || return 2
    begun "$i" "$status"
}

# The answer to start, in TOWLINE_ANSWER.
begun() {
    local i=$1
    if (($2)); then
        refused "$i"
        return
    fi
    local resumed=${TOWLINE_ANSWER[resumed]} created=${TOWLINE_ANSWER[created]}
    take "$i" TOWLINE_ANSWER
    if [[ $created == true ]]; then
        # A bar says it too.
        [[ $progress_mode != lines ]] || say "${names[i]}: started"
    elif [[ $resumed == true ]]; then
        say_resumed "$i"
    elif [[ ${elsewhere[i]} == yes ]]; then
        follow_elsewhere "$i" "${ids[i]}"
    else
        revive "$i"
    fi
}

# Another download has the destination: it may be the same one under another id or link, or in another process.
refused() {
    local i=$1 id=${TOWLINE_ANSWER[id]:-} why=$TOWLINE_ERROR_MESSAGE path
    case $TOWLINE_ERROR_KIND/${TOWLINE_ANSWER[reason]:-} in
    lockedElsewhere/*)
        follow_elsewhere "$i" "$id"
        return
        ;;
    destinationConflict/held | idConflict/*)
        if [[ -z ${index_of[$id]:-} || ${index_of[$id]} == "$i" ]] && same_file "$i" "$id"; then
            renew "$i" "$id"
            return
        fi
        ;;
    destinationConflict/exists)
        path=${TOWLINE_ANSWER[path]}
        ! renew_kept "$i" "$place" || return 0
        why="$path exists; remove it, or name another file with -o"
        ;;
    esac
    failed "$i" "$why"
}

# Puts the URL without its query, fragment, name and password into `text`.
bare_url() {
    text=${1%%[?#]*}
    if [[ $text =~ ^([^/]*//)[^/]*@(.*) ]]; then text=${BASH_REMATCH[1]}${BASH_REMATCH[2]}; fi
}

# Whether a download that is kept has this URL, the query aside, and the checksum given now. Leaves it in TOWLINE_ANSWER.
same_file() {
    local mine
    towline_get "$2" || return 1
    [[ -z $checksum || ${TOWLINE_ANSWER[checksum.value]:-} == "${checksum#*:}" ]] || return 1
    bare_url "${urls[$1]}" && mine=$text
    bare_url "${TOWLINE_ANSWER[url]}"
    [[ $text == "$mine" ]]
}

# Puts the query of the URL $1, with its question mark, into `text`.
query() {
    text=${1%%#*}
    [[ $text == *[?]* ]] && text="?${text#*[?]}" || text=''
}

# Whether the download in TOWLINE_ANSWER has the query that was given now.
same_query() {
    local mine
    query "${urls[$1]}" && mine=$text
    query "${TOWLINE_ANSWER[url]}"
    [[ $text == "$mine" ]]
}

# Puts the id of the download that is kept for the path $2, and has the URL $1 but for its query, into `text`.
find_kept() {
    text=''
    towline_list 'fields:=["url","path","state"]' || return
    # shellcheck disable=SC2016  # jq's variables
    local filter='def bare: sub("[?#].*"; "") | sub("^(?<scheme>[^/]*//)[^/]*@"; .scheme);
        [.downloads[] | select(.path == $path and .state != "canceled" and (.url | bare) == ($url | bare))] | last | .id // ""'
    text=$(trap '' INT TERM HUP && jq -r --arg url "$1" --arg path "$2" "$filter" <<<"$TOWLINE_RESULT")
}

# Resumes what is kept for that path under another link; false if nothing is kept.
renew_kept() {
    local id
    find_kept "${urls[$1]}" "$2" || return 1
    id=$text
    if [[ -z $id || -n ${index_of[$id]:-} ]] || ! same_file "$1" "$id"; then return 1; fi
    if [[ ${TOWLINE_ANSWER[state]} == completed ]]; then
        # Nothing compares the two files: another query may name another file.
        [[ -n $checksum ]] || same_query "$1" || return 1
        is_whole TOWLINE_ANSWER || return 1
        adopt "$1" "$id"
        take "$1" TOWLINE_ANSWER
        finish "$1" TOWLINE_ANSWER again
    else
        renew "$1" "$id"
    fi
}

# Resumes the download in TOWLINE_ANSWER from the URL that was given now.
renew() {
    local i=$1 id=$2
    adopt "$i" "$id"
    if [[ ${TOWLINE_ANSWER[owner]:-} == other ]]; then
        follow_elsewhere "$i" "$id"
        return
    fi
    if ! same_query "$i"; then
        if ! towline_call update "id=$id" "url=${urls[i]}"; then
            [[ -n $TOWLINE_PID && -z $TOWLINE_STATUS ]] || return 2
            if [[ $TOWLINE_ERROR_KIND == lockedElsewhere ]]; then
                follow_elsewhere "$i" "$id"
            else
                failed "$i" "$TOWLINE_ERROR_MESSAGE"
            fi
            return
        fi
        note "${names[i]}: the link is another one, the download the same"
    fi
    if [[ ${TOWLINE_ANSWER[state]} == canceled ]]; then start_over "$i"; else resume "$i"; fi
}

adopt() {
    unset "index_of[${ids[$1]}]"
    ids[$1]=$2
    index_of[$2]=$1
}

follow_elsewhere() {
    [[ $2 == "${ids[$1]}" ]] || adopt "$1" "$2"
    elsewhere[$1]=yes state[$1]=active
    note "${names[$1]}: another process downloads it; waiting for that"
}

resume() {
    local i=$1 status=0
    towline_resume "${ids[i]}" || status=$?
    if ((status == 1)) && [[ $TOWLINE_ERROR_KIND == lockedElsewhere ]]; then
        follow_elsewhere "$i" "${ids[i]}"
    elif ((status == 1)); then
        failed "$i" "$TOWLINE_ERROR_MESSAGE"
    elif ((status == 0)); then
        take "$i" TOWLINE_ANSWER
        say_resumed "$i"
    else
        return 2
    fi
}

# The record was there before and nothing is done for it yet.
revive() {
    local i=$1
    case ${state[i]} in
    completed)
        if is_whole TOWLINE_ANSWER; then
            finish "$i" TOWLINE_ANSWER again
        else
            # The file was deleted or replaced: a new download.
            start_over "$i"
        fi
        ;;
    canceled) start_over "$i" ;;
    failed | paused) resume "$i" ;;
    esac
}

# Whether the file of a completed download still is there, of that size.
is_whole() {
    local path size
    exact_path "$1"
    [[ -f $path ]] && size=$(trap '' INT TERM HUP && stat -L -c %s -- "$path" 2>/dev/null) &&
        [[ $size == "${TOWLINE_ANSWER[receivedBytes]}" ]]
}

start_over() {
    if [[ -n ${removed[$1]} ]]; then
        failed "$1" 'another process keeps changing it'
        return
    fi
    removed[$1]=yes
    towline_remove "${ids[$1]}" || (($? == 1)) || return 2
    begin "$1"
}

# Decides whether a download has ended, after its state was read.
judge() {
    local i=$1
    [[ -z ${outcome[i]} ]] || return 0
    # A suspended download has not failed.
    [[ -z $ending || ${state[i]} == completed ]] || return 0
    case ${state[i]}/${reason[i]} in
    completed/*) finish "$i" "$2" ;;
    failed/*)
        local -n latest=$2
        if [[ ${latest[error.kind]:-} != destinationConflict ]] || ! took_kept "$i" "${latest[suggestedFileName]:-}"; then
            failed "$i" "${message[i]:-failed}"
        fi
        ;;
    canceled/*) failed "$i" 'it was canceled' ;;
    paused/*) [[ ${elsewhere[i]} == yes ]] || failed "$i" 'it was paused; the same command resumes it' ;;
    waiting/needsUrl) failed "$i" "${message[i]:-the URL is no longer good}" ;;
    waiting/diskFull) failed "$i" "the disk is full; free some space, and the same command resumes it" ;;
    waiting/offline) offline_since[i]=${offline_since[i]:-$SECONDS} ;;
    *) offline_since[i]='' ;;
    esac
}

# The name, known now, is that of another download: of the same file by another link, perhaps.
took_kept() {
    local i=$1 own=${ids[$1]}
    [[ -n $2 && $place_key == directory ]] || return 1
    renew_kept "$i" "$place/$2" || return 1
    towline_remove "$own" || true
}

handle_event() {
    local i=${index_of[${TOWLINE_EVENT[id]:-none}]:-} why
    if [[ ${TOWLINE_EVENT[method]} == answer ]]; then
        handle_answer
        return
    fi
    if [[ ${TOWLINE_EVENT[method]} == eventsLost ]]; then lost=yes; fi
    [[ -n $i ]] || return 0
    # A download of another process is checked once a second, and so is whether that process still runs.
    [[ ${elsewhere[i]} != yes ]] || return 0
    # It was sent before an answer that has been read already.
    ((${TOWLINE_EVENT[revision]:-${revision[i]:-0}} >= ${revision[i]:-0})) || return 0
    take "$i" TOWLINE_EVENT
    [[ ${TOWLINE_EVENT[method]} == changed ]] || return 0
    if [[ ${state[i]} == waiting && $progress_mode == lines ]]; then
        why="waiting${message[i]:+: ${message[i]}}"
        [[ $why == "${reported[i]}" ]] || say "${names[i]}: $why"
        reported[i]=$why
    fi
    [[ -z ${outcome[i]} ]] || return 0
    local -A event=()
    local key
    # A copy: a request to the service reads more events.
    for key in "${!TOWLINE_EVENT[@]}"; do event[$key]=${TOWLINE_EVENT[$key]}; done
    judge "$i" event
}

handle_answer() {
    local i=${asked[${TOWLINE_EVENT[request]}]:-} key
    # Not that of update, which may know nothing of the download.
    [[ -n $i && -z $ending ]] || return 0
    TOWLINE_ANSWER=()
    for key in "${!TOWLINE_EVENT[@]}"; do TOWLINE_ANSWER["$key"]=${TOWLINE_EVENT["$key"]}; done
    TOWLINE_ERROR_KIND=${TOWLINE_ANSWER[kind]:-} TOWLINE_ERROR_MESSAGE=${TOWLINE_ANSWER[message]:-}
    if [[ ${TOWLINE_ANSWER[outcome]} == ok ]]; then begun "$i" 0; else begun "$i" 1; fi
}

# Once a second: checks what no event reports.
check_downloads() {
    local i before
    for i in "${!urls[@]}"; do
        [[ -z ${outcome[i]} ]] || continue
        if [[ -n ${offline_since[i]} ]] && ((SECONDS - offline_since[i] > 60)); then
            failed "$i" 'no network; the same command resumes it'
        elif [[ ${elsewhere[i]} == yes ]]; then
            if ! towline_get "${ids[i]}"; then
                [[ -n $TOWLINE_PID && -z $TOWLINE_STATUS ]] || return 2
                begin "$i" || return
                continue
            fi
            before=${received[i]}
            take "$i" TOWLINE_ANSWER
            # What another process receives is in the record; how fast is not.
            rate[i]=$((received[i] > before ? received[i] - before : 0))
            case ${TOWLINE_ANSWER[owner]}/${state[i]} in
            other/*) ;;
            */completed | */canceled) judge "$i" TOWLINE_ANSWER ;;
            # That process has ended: this one resumes it.
            *) begin "$i" || return ;;
            esac
        elif [[ -n $lost ]]; then
            towline_get "${ids[i]}" || { (($? == 1)) || return 2; }
            take "$i" TOWLINE_ANSWER
            judge "$i" TOWLINE_ANSWER
        fi
    done
    lost=''
}
