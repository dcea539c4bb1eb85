# shellcheck shell=bash
# What towline-get shows of its downloads: bars on a terminal, lines elsewhere. Sourced by it, and reads its arrays.
# shellcheck disable=SC2154  # they are set there

# Seconds between two lines about one download that has not moved by a tenth.
progress_line_seconds=10

progress_mode=lines
progress_columns=80 progress_rows=24
# Lines of the bars that stand above the cursor, and whether the terminal has changed its size.
progress_drawn=0 progress_resized=yes
progress_ellipsis='~'
progress_spinner=0
declare -a line_seconds=() line_tenths=()
# Names cut or filled to a width, by width and name: it takes a process to measure some of them.
declare -A progress_fitted=()

# The result of the format functions: no process for each number.
text=''

progress_setup() {
    if [[ $quiet == yes ]]; then
        progress_mode=none
    elif [[ -t 2 && ${TERM:-dumb} != dumb ]]; then
        progress_mode=bars
        trap 'progress_resized=yes' WINCH
    fi
    case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in *[Uu][Tt][Ff]-8 | *[Uu][Tt][Ff]8) progress_ellipsis='…' ;; esac
}

# Prints a line that stays, above the bars.
say() {
    progress_erase
    printf '%s\n' "${1//[[:cntrl:]]/?}" >&2 || true
}

note() { [[ $progress_mode == none ]] || say "$1"; }

progress_erase() {
    ((progress_drawn)) || return 0
    printf '\r\e[%dA\e[J' "$progress_drawn" >&2 || true
    progress_drawn=0
}

# Puts the rate into `text` and `speed`: the average until the service has measured it, empty if nothing was received.
shown_rate() {
    local average now
    speed=${rate[$1]} text=''
    if ((${speed:-0} == 0)); then
        average_rate "$1"
        # A stall is one after that.
        if [[ -z $speed ]] || ((received[$1] == 0)) || ((now - began_ms[$1] < 2000)); then speed=$average; fi
    fi
    if [[ -n $speed ]]; then format_bytes "$speed" && text+=/s; fi
}

# Shows where the downloads are.
progress_show() {
    case $progress_mode in
    bars) progress_draw ;;
    lines) progress_lines ;;
    esac
}

progress_lines() {
    local i tenth line total speed
    for i in "${!urls[@]}"; do
        [[ -z ${outcome[i]} && ${state[i]} == active ]] || continue
        ((${received[i]:-0} > 0)) || continue
        tenth=$((${total_bytes[i]:-0} > 0 ? received[i] * 10 / total_bytes[i] : 0))
        if [[ -z ${line_seconds[i]:-} ]]; then
            line_seconds[i]=$SECONDS line_tenths[i]=$tenth
            continue
        fi
        # A tenth may take milliseconds; a line a second is enough.
        ((SECONDS > line_seconds[i])) || continue
        ((tenth > line_tenths[i] || SECONDS >= line_seconds[i] + progress_line_seconds)) || continue
        line_seconds[i]=$SECONDS line_tenths[i]=$tenth
        format_bytes "${received[i]}" && line=$text
        if ((${total_bytes[i]:-0} > 0)); then
            format_bytes "${total_bytes[i]}" && total=$text
            line+=" of $total, $((received[i] * 100 / total_bytes[i]))%"
        fi
        shown_rate "$i"
        [[ -z $text ]] || line+=", $text"
        if [[ -n ${eta[i]} ]]; then format_duration "${eta[i]}" && line+=", $text left"; fi
        say "${names[i]}: $line"
    done
}

progress_draw() {
    local i frame='' lines=0 room total_rate=0 finished=0 failed=0 speed hidden=0
    if [[ $progress_resized == yes ]]; then
        progress_measure
        # Only the terminal knows where the old lines are now; the new ones are drawn below them.
        progress_resized=no progress_drawn=0 progress_fitted=()
    fi
    room=$((progress_rows > 3 ? progress_rows - 2 : 1))
    for i in "${!urls[@]}"; do
        case ${outcome[i]} in
        finished) ((++finished)) ;;
        failed) ((++failed)) ;;
        *)
            shown_rate "$i"
            ((total_rate += ${speed:-0})) || true
            if [[ ${state[i]} == queued ]] || ((lines >= room)); then
                ((++hidden))
            else
                progress_bar "$i"
                frame+=$text$'\e[K\n'
                ((++lines))
            fi
            ;;
        esac
    done
    if ((${#urls[@]} > 1 && lines > 0)); then
        text="$finished of ${#urls[@]} finished"
        ((failed == 0)) || text+=", $failed failed"
        ((hidden == 0)) || text+=", $hidden more"
        room=$text
        if ((total_rate)); then format_bytes "$total_rate" && room+=", $text/s"; fi
        frame+=${room:0:progress_columns-1}$'\e[K\n'
        ((++lines))
    fi
    ((progress_drawn + lines > 0)) || return 0
    ((progress_drawn == 0)) || frame=$'\r\e['"${progress_drawn}A$frame"
    ((++progress_spinner))
    # In one piece, and what is left of a longer frame goes.
    printf '%s\e[J' "$frame" >&2 || true
    progress_drawn=$lines
}

progress_measure() {
    local size rows='' columns=''
    size=$(calm stty size <&2 2>/dev/null) || size=''
    read -r rows columns <<<"$size" || true
    progress_rows=${rows:-24} progress_columns=${columns:-80}
    # A terminal that does not know its size says 0.
    ((progress_rows > 0)) || progress_rows=24
    ((progress_columns > 0)) || progress_columns=80
}

# Puts the line about one download into `text`; it leaves the last column free, where terminals differ.
progress_bar() {
    local i=$1 width=$((progress_columns - 1)) right='' bar=0 name_width percent='' amount total=${total_bytes[$1]:-0}
    local done=${received[$1]:-0} speed
    ((width >= 8)) || width=8
    format_bytes "$done" && amount=$text
    if ((total > 0)); then
        ((done <= total)) || done=$total
        printf -v percent '%3d%%' $((done * 100 / total))
        format_bytes "$total" && amount+="/$text"
    fi
    case ${state[i]}/${phase[i]} in
    active/verifying | active/finalizing) right="$percent ${phase[i]}" ;;
    active/*)
        if ((width < 30)); then
            right=${percent:-$amount}
        else
            right=$percent
            if [[ -z $percent ]]; then right=$amount; elif ((width >= 85)); then printf -v right '%s %19s' "$percent" "$amount"; fi
            shown_rate "$i"
            printf -v right '%s %12s' "$right" "$text"
            text=''
            if [[ -n ${eta[i]} ]]; then format_duration "${eta[i]}"; fi
            if ((width >= 38)); then printf -v right '%s %8s' "$right" "$text"; fi
            ((width < 60)) || bar=1
        fi
        ;;
    paused/* | queued/*) right=${state[i]} ;;
    *) right="${state[i]}${message[i]:+: ${message[i]}}" ;;
    esac
    [[ ${elsewhere[i]} != yes ]] || right+=' (another process)'
    if ((bar)); then
        name_width=$((width / 4))
        ((name_width >= 14)) || name_width=14
        ((name_width <= 32)) || name_width=32
        bar=$((width - name_width - ${#right} - 4))
        ((bar >= 5)) || bar=0
    fi
    if ((bar == 0)); then
        ((${#right} <= width * 2 / 3)) || ((width < 60)) || right=${right:0:width*2/3}
        name_width=$((width - ${#right} - 1))
        if ((name_width < 6)); then
            name_width=6
            right=${right:0:width-7}
        fi
    fi
    fit "${names[i]}" "$name_width"
    if ((bar)); then
        local name=$text
        draw_bar "$bar" "$done" "$total"
        text="$name [$text] $right"
    else
        text+=" $right"
    fi
}

draw_bar() {
    local width=$1 done=$2 total=$3 filled
    printf -v text '%*s' "$width" ''
    if ((total > 0)); then
        filled=$((done * width / total))
        local full=${text// /=}
        text=${full:0:filled}
        ((filled == width)) || text+='>'
        printf -v text '%-*s' "$width" "$text"
    else
        filled=$((progress_spinner % (width - 2)))
        text="${text:0:filled}<=>${text:filled+3}"
    fi
}

# Cuts or fills $1 to $2 columns.
fit() {
    local width=$2 name=${1//[![:print:]]/?} columns
    local key="$2 $1"
    if [[ -n ${progress_fitted[$key]:-} ]]; then
        text=${progress_fitted[$key]}
        return
    fi
    columns=${#name}
    if [[ $name == *[![:ascii:]]* ]]; then columns=$(calm wc -L <<<"$name"); fi
    if ((columns > width)); then
        while ((columns > width - 1)) && [[ -n $name ]]; do
            name=${name%?}
            columns=${#name}
            if [[ $name == *[![:ascii:]]* ]]; then columns=$(calm wc -L <<<"$name"); fi
        done
        name+=$progress_ellipsis
        ((++columns))
    fi
    while ((columns++ < width)); do name+=' '; done
    text=$name
    progress_fitted[$key]=$name
}

format_bytes() {
    local tenths=$(($1 * 10)) unit
    for unit in B KiB MiB GiB TiB PiB; do
        ((tenths >= 10235)) || break
        tenths=$(((tenths + 512) / 1024))
    done
    if [[ $unit == B ]]; then text="$1 B"; else text="$((tenths / 10)).$((tenths % 10)) $unit"; fi
}

# Of milliseconds.
format_duration() {
    local seconds=$((($1 + 999) / 1000))
    if ((seconds >= 360000)); then
        text="$((seconds / 86400)) days"
    elif ((seconds >= 3600)); then
        printf -v text '%d:%02d:%02d' $((seconds / 3600)) $((seconds / 60 % 60)) $((seconds % 60))
    else
        printf -v text '%d:%02d' $((seconds / 60)) $((seconds % 60))
    fi
}
