# SPDX-License-Identifier: LGPL-2.1-or-later
# carved-killer on a shell that writes three files: what is not to be trusted can't test others. $1: carved-killer.
. "$(dirname "$0")/../meta/tap.sh"

killer=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CARVED_KILLER_DIR=$dir/killer CARVED_PROGRAM=/bin/sh

# Runs `$2` to plan `$1`; its exit code.
run() {
        rm -rf "$dir"/*
        mkdir -p "$dir/killer" "$dir/out"
        echo "$1" >"$dir/killer/plan"
        (cd "$dir/out" && exec "$killer" -c "$2") 2>/dev/null
}

three='echo 1 >a; echo 2 >b; echo 3 >c'

# "TEXT": the files that have something in them, and how it ended.
leaves() {
        local expect=$1 status=0 got

        run "$2" "${3:-$three}" || status=$?
        got="$(cd "$dir/out" && find . -type f -size +0 | sort | tr -d './\n') $status"
        [ "$got" = "$expect" ] || { echo "'$got' instead of '$expect'; counted:" && cat "$dir/killer/log"; }
}

logs() {
        run "$1" "$three"
        cut -d' ' -f2-4 "$dir/killer/log" | sort | uniq -c | tr -s ' \n' ' ' | grep -qx "$2" || cat "$dir/killer/log"
}

works=' calls write'
promise "what is counted is written down, and nothing happens" logs "count" " 3 daemon file openat 3 daemon file write "
promise "who, what and where can be chosen" leaves "abc 0" "at 1 before kill daemon by worker"
promise "another place does not count" leaves "abc 0" "at 1 before kill daemon below $dir/ou"
promise "before the second write: one file" leaves "a 137" "at 2 before kill daemon$works"
promise "after the second write: two" leaves "ab 137" "at 2 after kill daemon$works"
promise "before the first: none" leaves " 137" "at 1 before kill self$works"
promise "beyond the last: all, and its own exit code" leaves "abc 7" "at 4 before kill daemon$works" "$three; exit 7"
promise "a call can fail, once" leaves "ac 0" "at 2 fail ENOSPC$works"
promise "and those after it" leaves "a 1" "at 2 fail EIO always$works"
promise "a file that can't be made" leaves "ac 0" "at 2 fail ENOSPC calls openat"

half() {
        run "at 1 fail short" "$1"
        [ "$(cat "$dir/out/a")" = "$2" ] && grep -qx fired "$dir/killer/log" || cat "$dir/out/a" "$dir/killer/log"
}
promise "a write can be short; who goes on writes the rest" half 'printf 12345678 >a' "12345678"

# Forks are workers; they outlive the daemon, and what they write is written.
lives_on() {
        run "at 1 before kill daemon by worker$works" '(echo 1 >a; echo 2 >b) & wait'
        for _ in $(seq 100); do
                [ -s "$dir/out/b" ] && return
                sleep 0.05
        done
        ls "$dir/out" && cat "$dir/killer/log"
}
promise "a worker outlives its daemon, and goes on" lives_on
promise "unless all are meant" leaves " 137" "at 1 before kill all by worker$works" '(echo 1 >a; echo 2 >b) & wait'
promise "a worker alone: the daemon sees it" leaves "c 0" "at 1 before kill self by worker$works" '(echo 1 >a) & wait; echo 3 >c'
promise "programs that it runs do not count" leaves "a 0" "at 1 before kill all by worker" 'sh -c "echo 1 >a" & wait'

signals() {
        local pid status=0

        rm -rf "$dir"/* && mkdir -p "$dir/killer"
        "$killer" -c 'trap "exit 9" TERM; while :; do sleep 0.1; done' 2>/dev/null &
        pid=$!
        sleep 0.3
        kill "$pid"
        wait "$pid" || status=$?
        [ $status -eq 9 ] || echo "$status"
}
promise "a signal reaches it" signals
end
