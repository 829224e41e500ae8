# SPDX-License-Identifier: LGPL-2.1-or-later
# carvectl on a terminal: progress, colour, width, pager, Ctrl-C, and polkit's agent. On host mixed.
. "$(dirname "$0")/expect.sh"
export TERM=xterm SHELL=/bin/bash

plain=0000:05:00.0
escape=$'\033'

# On a terminal of its own, so wide and high; what it shows is in $scratch/said.
on_terminal() { # COLUMNS ROWS COMMAND-LINE
        script -qec "stty cols $1 rows $2; $3" /dev/null >"$scratch/said" 2>&1 </dev/null
}

has() { # PATTERN…
        local pattern

        for pattern in "$@"; do
                grep -qE -- "$pattern" "$scratch/said" || { echo "'$pattern' is not in:"; cat -v "$scratch/said"; }
        done
}

has_not() { # PATTERN…
        local pattern

        for pattern in "$@"; do
                ! grep -aqE -- "$pattern" "$scratch/said" || { echo "'$pattern' is in:"; cat -v "$scratch/said"; }
        done
}

# The longest line, as the terminal would show it.
longest() {
        sed -E "s/$escape\[[0-9;]*[mK]//g; s/\r$//; s/.*\r//" "$scratch/said" | wc -L
}

a_step_has_a_line_with_a_spinner_and_seconds() {
        carved-simctl delay '*/0000:05:00.0/sriov_numvfs' 700ms op=write >/dev/null
        on_terminal 120 30 "carvectl enable $plain" || echo "exit code $?"
        has "⠋|⠙|⠸|⠴|⠦|⠧|⠇|⠏" "step 2 of 4: Set the number of VFs" "$escape\[32m✓$escape\[0m step 4 of 4: Wait for 8 VFs" '  0\.[4-9] s'
        # The line that moves is wiped each time, and drawn more than once in that step.
        [ "$(tr '\r' '\n' <"$scratch/said" | grep -c "$escape\[K.*step 2 of 4")" -ge 3 ] || cat -v "$scratch/said"
        [ "$(grep -c '✓' "$scratch/said")" -eq 4 ] || cat -v "$scratch/said"
}

it_is_quiet_when_told_to() {
        on_terminal 120 30 "carvectl -q disable $plain" || echo "exit code $?"
        [ ! -s "$scratch/said" ] || cat -v "$scratch/said"
}

a_failure_is_marked_where_it_was() {
        carved-simctl fail '*/0000:05:00.0/sriov_numvfs' EIO op=write >/dev/null
        ! on_terminal 120 30 "carvectl enable $plain" || echo "it did not fail"
        has "$escape\[1;31m✗$escape\[0m step 2 of 4" "$escape\[1;31mcarvectl:$escape\[0m " '^→ '
}

without_utf8_it_is_ascii() {
        LC_ALL=C on_terminal 120 30 "carvectl; carvectl enable $plain; carvectl disable $plain; carvectl show 99" || true
        has '^ok step 4 of 4|ok.* step 4 of 4' '`-' '^-> '
        LC_ALL=C has_not '[^ -~[:cntrl:]]'
}

colour_is_for_terminals_that_want_it() {
        on_terminal 120 30 carvectl
        has "$escape\[32mrunning" "$escape\[1m0000:08:00.0"
        NO_COLOR=1 on_terminal 120 30 "carvectl; carvectl list gpus; carvectl show 99" || true
        has_not "$escape"
        TERM=dumb on_terminal 120 30 carvectl
        has_not "$escape"
        carvectl >"$scratch/said"
        has_not "$escape"
        SYSTEMD_COLORS=0 on_terminal 120 30 carvectl
        has_not "$escape"
}

lines_are_cut_on_a_terminal_and_nowhere_else() {
        local columns

        for columns in 80 60 40; do
                on_terminal $columns 99 "carvectl; carvectl list gpus; carvectl types T4; carvectl explain 1:c8:0.0 A2-4Q; carvectl show T4"
                [ "$(longest)" -le $columns ] || { echo "$(longest) columns on $columns"; cat "$scratch/said"; }
        done
        has '…'
        on_terminal 60 99 "carvectl list gpus --full"
        has 'to be passed through whole'
        on_terminal 60 99 "carvectl list gpus | cat"
        has 'to be passed through whole'
        has_not '…'
}

the_line_that_moves_fits() {
        carved-simctl delay '*/0000:05:00.0/sriov_numvfs' 300ms op=write >/dev/null
        on_terminal 40 30 "carvectl enable $plain" || echo "exit code $?"
        # Up to each wipe: what is there is never wider than the terminal.
        tr '\r' '\n' <"$scratch/said" | sed -E "s/$escape\[[0-9;]*[mK]//g" | grep -aE '^(⠋|⠙|⠸|⠴|⠦|⠧|⠇|⠏)' >"$scratch/moving"
        [ "$(wc -L <"$scratch/moving")" -le 40 ] && [ -s "$scratch/moving" ] || cat "$scratch/moving"
        carvectl disable $plain -q
}

what_is_long_goes_through_a_pager() {
        printf '#!/bin/sh\necho paged >&2\nexec cat\n' >"$scratch/pager"
        chmod +x "$scratch/pager"
        SYSTEMD_PAGER=$scratch/pager on_terminal 120 10 "carvectl types T4"
        has '^paged' '17 types listed'
        SYSTEMD_PAGER=$scratch/pager on_terminal 120 10 "carvectl types T4 --no-pager"
        has_not '^paged'
        SYSTEMD_PAGER=$scratch/pager on_terminal 120 40 "carvectl types T4"
        has_not '^paged'
        SYSTEMD_PAGER=/nonexistent on_terminal 120 10 "carvectl types T4"
        has '17 types listed'
}

ctrl_c_says_what_goes_on() {
        local status=0

        carved-simctl delay '*/0000:05:00.0/sriov_numvfs' 1500ms op=write >/dev/null
        mkfifo "$scratch/keys"
        : >"$scratch/said"
        script -qfec "carvectl enable $plain" /dev/null <"$scratch/keys" >"$scratch/said" 2>&1 &
        pid=$!
        exec 9>"$scratch/keys"
        until_said 'step 2 of 4'
        printf '\003' >&9
        wait "$pid" || status=$?
        exec 9>&-
        [ $status -eq 130 ] || echo "exit code $status"
        has 'Interrupted. job/[0-9]+ goes on without carvectl: Switching VFs of GPU 0000:05:00.0 on' 'carvectl wait job/[0-9]+'
        has_not '✗'
        carvectl wait "$(grep -aom1 'job/[0-9]*' "$scratch/said")"
        carvectl disable $plain -q
}

# ---- polkit ----

# Says how it was called, that it is ready, and when it is told to end.
fake_agent() {
        mkdir -p "$scratch/bin"
        cat >"$scratch/bin/pkttyagent" <<'X'
#!/bin/bash
trap 'echo ended >>"${0%/*}/agent"; exit 0' TERM
echo "$@" >>"${0%/*}/agent"
eval "exec $2>&-"
read -r -t 20 <>"${0%/*}/never" || true
X
        mkfifo -m 666 "$scratch/bin/never"
        chmod a+rx "$scratch/bin" "$scratch/bin/pkttyagent"
        chmod a+rx "$scratch"
        : >"$scratch/bin/agent"
        chmod a+w "$scratch/bin/agent"
}

an_agent_is_there_for_who_may_be_asked() {
        local nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'

        fake_agent
        PATH=$scratch/bin:$PATH on_terminal 120 30 "$nobody carvectl enable $plain" || true
        has '(root|authenticat|Access denied)' '^→ .*as root'
        said_agent '^--notify-fd [0-9]+ --fallback$' '^ended$'
        PATH=$scratch/bin:$PATH on_terminal 120 30 "$nobody carvectl --no-ask-password enable $plain" || true
        PATH=$scratch/bin:$PATH on_terminal 120 30 "$nobody carvectl enable $plain --dry-run; $nobody carvectl" || true
        PATH=$scratch/bin:$PATH on_terminal 120 30 "$nobody carvectl enable $plain </dev/null" || true
        PATH=$scratch/bin:$PATH on_terminal 120 30 "carvectl enable $plain; carvectl disable $plain" || true
        [ ! -s "$scratch/bin/agent" ] || { echo "an agent where none is wanted:"; cat "$scratch/bin/agent"; }
}

said_agent() { # PATTERN…
        local pattern

        for pattern in "$@"; do
                grep -qE -- "$pattern" "$scratch/bin/agent" || { echo "the agent: '$pattern' is not in:"; cat "$scratch/bin/agent"; }
        done
        : >"$scratch/bin/agent"
}

for each in a_step_has_a_line_with_a_spinner_and_seconds it_is_quiet_when_told_to a_failure_is_marked_where_it_was \
        without_utf8_it_is_ascii colour_is_for_terminals_that_want_it lines_are_cut_on_a_terminal_and_nowhere_else \
        the_line_that_moves_fits what_is_long_goes_through_a_pager ctrl_c_says_what_goes_on \
        an_agent_is_there_for_who_may_be_asked; do
        promise "${each//_/ }" "$each"
done
end
