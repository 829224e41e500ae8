# SPDX-License-Identifier: LGPL-2.1-or-later
# What carvectl says, word for word: each file of golden/ is a session on a simulated host, commands and all that came of
# them. $1: the build directory; then files. With --write first, they are written anew: read the difference before you
# believe it.
write=
if [ "$1" = --write ]; then
        write=1
        shift
fi
build=$1
shift
export PATH=$build/ctl:$build/sim:$PATH LC_ALL=C.UTF-8 TZ=UTC
unset NO_COLOR SYSTEMD_COLORS SYSTEMD_PAGER SYSTEMD_BUS_TIMEOUT

# Numbers that are another's to choose: processes, times, new UUIDs.
normal() {
        sed -E -e 's/(process|"Pid"( :|:)) ?[0-9]+/\1 PID/g' -e 's/^(Pid|[0-9a-f-]{36}) +[0-9]+ +/\1  PID  /' \
                -e 's/("Started"( :|:)) ?[0-9]+/\1 TIME/g' -e 's/(Started: ).*/\1TIME/' -e 's/("Time"( :|:)) ?[0-9]+/\1 TIME/' \
                -e 's/^[0-9]{2}:[0-9]{2}:[0-9]{2} /TIME /'
}

# Runs each line that begins with "$ ", on the host named in the first.
session() { # FILE
        local host

        host=$(sed -n '1s/^# host //p' "$1")
        sed -n '/^#/!q;p' "$1"
        carved-sim --host "$host" -- bash -c '
                grep "^\\$ " "$1" | while IFS= read -r line; do
                        printf "%s\n" "$line"
                        bash -c "${line#\$ }" 2>&1 </dev/null || echo "[exit code $?]"
                done' session "$1" </dev/null | normal
}

n=0
broken=0
for file in "$@"; do
        n=$((n + 1))
        if [ -n "$write" ]; then
                session "$file" >"$file.new" && mv "$file.new" "$file"
                echo "ok $n - written: ${file##*/}"
        elif difference=$(diff -u "$file" <(session "$file")); then
                echo "ok $n - what carvectl says is as in golden/${file##*/}"
        else
                broken=$((broken + 1))
                echo "not ok $n - what carvectl says is as in golden/${file##*/}"
                printf '%s\n' "$difference" >&2
        fi
done
echo "1..$n"
[ "$broken" -eq 0 ]
