# SPDX-License-Identifier: LGPL-2.1-or-later
# carvectl with a carved that hangs, dies, starts again, refuses, or is not there. On host mixed.
. "$(dirname "$0")/expect.sh"

plain=0000:05:00.0
slow() { # SECONDS
        carved-simctl delay '*/0000:05:00.0/sriov_numvfs' "$1" op=write >"$scratch/rule"
}

nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'

anybody_may_look() {
        expect 0 '^carved: running, 7 GPUs' '0000:26:00.0  L40S' -- $nobody carvectl
        expect 0 '"Address":"0000:05:00.0"' -- $nobody carvectl list gpus --json=short
        expect 0 '^1\. ' -- $nobody carvectl enable $plain --dry-run
}

but_not_change() {
        local verb

        for verb in "enable $plain" "create T4-4Q" "resync $plain" "adopt $plain"; do
                expect 1 '^carvectl: .*(root|authenticat|Access denied)' '^→ .*as root' -- $nobody carvectl $verb
        done
        expect 0 '^0 vGPUs' -- carvectl list
}

a_job_is_followed_to_its_end() {
        slow 3s
        expect 0 '^step 1 of 4: Keep' '^step 4 of 4: Wait' -- carvectl enable $plain
        expect 0 '^0000:05:01.0 ' -- carvectl list vfs
        expect 0 -- carvectl disable $plain
}

who_interrupts_is_told_what_goes_on() {
        slow 3s
        start '^step 2 of 4' carvectl enable $plain
        kill -INT "$pid"
        ends 130 '^carvectl: Interrupted. job/[0-9]+ goes on without carvectl: Switching VFs of GPU 0000:05:00.0 on' \
                '^→ Follow it: carvectl wait job/'
        expect 0 -- carvectl wait "$(grep -om1 'job/[0-9]*' "$scratch/said")"
        expect 0 '8/8' -- carvectl list gpus
        expect 0 -- carvectl disable $plain
}

who_repeats_joins() {
        slow 3s
        start '^step 2 of 4' carvectl enable $plain
        carvectl enable $plain >"$scratch/second" 2>&1
        ends 0
        grep -q '^step 4 of 4' "$scratch/second" || cat "$scratch/second"
        [ "$(carvectl list jobs --no-legend | grep -c 'enable-vfs.*running')" -eq 0 ]
        expect 0 -- carvectl disable $plain
}

a_job_can_be_cancelled() {
        slow 3s
        start '^step 2 of 4' carvectl enable $plain
        expect 0 -- carvectl cancel "$(carvectl list jobs --no-legend | sed -n 's/ .*running.*//p')"
        ends_cancelled
        expect 0 '0/8' -- carvectl list gpus
}

ends_cancelled() {
        local status=0

        wait "$pid" || status=$?
        [ $status -eq 1 ] || echo "exit code $status"
}

# Not before its last word: what it asked for may still be under way.
a_card_that_hangs_is_told() {
        mkdir -p /etc/carved
        printf '[Manager]\nStepTimeoutSec=1\n' >/etc/carved/carved.conf
        carved-simctl daemon stop && carved-simctl daemon start
        slow 3s
        expect 1 'does not answer|hangs' '^→ Wait: ' -- carvectl enable $plain
        timeout 20 bash -c "until carvectl list gpus --no-legend | grep -q '$plain.*0/8.*ready'; do :; done" || carvectl
        rm /etc/carved/carved.conf
        carved-simctl daemon stop && carved-simctl daemon start
}

a_carved_that_hangs_is_told_before_long() {
        kill -STOP "$(carved-simctl daemon pid)"
        expect 1 '^carvectl: carved does not answer$' '^→ .*systemctl status carved' -- env SYSTEMD_BUS_TIMEOUT=500ms carvectl
        expect 1 'did not come to pass within 0.5 seconds: carved does not answer' -- carvectl wait --timeout=0.5
        kill -CONT "$(carved-simctl daemon pid)"
        expect 0 '^carved: running' -- carvectl
}

also_when_it_had_begun_to_work() {
        slow 5s
        start '^step 2 of 4' env SYSTEMD_BUS_TIMEOUT=1 carvectl enable $plain
        kill -STOP "$(carved-simctl daemon pid)"
        ends 1 '^carvectl: carved does not answer any more: Switching VFs'
        kill -CONT "$(carved-simctl daemon pid)"
        expect 0 -- carvectl enable $plain
        expect 0 -- carvectl disable $plain
}

a_carved_that_dies_is_told() {
        slow 3s
        start '^step 2 of 4' carvectl enable $plain
        carved-simctl daemon kill
        ends 1 '^carvectl: carved ended while job/[0-9]+ was under way: Switching VFs' '^→ What was under way is finished or undone'
        expect 1 '^carvectl: carved is not running' '^→ Start it: systemctl start carved' -- carvectl
        expect 1 '^carvectl: carved is not running' -- carvectl create T4-4Q
}

who_waits_waits_over_a_restart() {
        carved-simctl settle # its worker may still be inside the kernel
        carvectl wait >"$scratch/said" 2>&1 &
        pid=$!
        carved-simctl daemon start
        ends 0
        expect 0 '^carved: running' -- carvectl
        expect 0 '0/8' -- carvectl list gpus
}

a_monitor_goes_on_over_a_restart() {
        carvectl monitor >"$scratch/people" 2>&1 </dev/null &
        people=$!
        timeout 20 bash -c 'until grep -q Watching "$1"; do sleep 0.02; done' until "$scratch/people"
        carvectl monitor --json=short >"$scratch/said" 2>&1 </dev/null &
        pid=$!
        until_said Watching
        carved-simctl daemon stop
        carved-simctl daemon start
        carvectl create T4-4Q --uuid dd6772a8-7db8-4e96-9a73-f94c389d9bc3 -q >/dev/null
        until_said '"Event":"gone"'
        until_said '"Event":"back"'
        until_said '"Event":"added","Path":"[^"]*dd6772a8_7db8'
        until_said '"Event":"finished"'
        kill -INT "$pid"
        ends 0
        carvectl destroy dd67 -q
        # Behind those that it has to say: it is gone when the last is there.
        timeout 20 bash -c 'until grep -q "removed  *gpu/0000_3b_00_0/vgpu/dd6772a8" "$1"; do sleep 0.02; done' until "$scratch/people"
        kill -TERM "$people"
        wait "$people" || echo "for people: exit code $?"
        for pattern in ' gone +/org/carved1  carved has left the bus' ' back +/org/carved1  carved is on the bus' \
                ' added +gpu/0000_3b_00_0/vgpu/dd6772a8_[0-9a-f_]*  GRID T4-4Q active' ' changed +gpu/0000_3b_00_0 .*State=' \
                ' finished +job/[0-9]+  done'; do
                grep -qE -- "$pattern" "$scratch/people" || { echo "'$pattern' is not in:"; cat "$scratch/people"; }
        done
        tail -n +2 "$scratch/said" | jq -e . >/dev/null || cat "$scratch/said"
}

a_bus_that_is_not_there_is_told() {
        expect 1 '^carvectl: There is no way to the system bus' '^→ ' -- \
                env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent carvectl
        expect 0 '^carvectl [0-9]' -- env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent carvectl --version
        expect 0 '^carvectl \[OPTION' -- env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent carvectl help
}

# ---- creating many ----

many_go_where_there_is_room_for_them() {
        expect 0 -- carvectl enable 08:00.0 1:c8:0.0
        expect 0 -- carvectl create A2-4Q --on 08:00.0
        expect 0 -- carvectl create A2-4Q -n 3 -q # all on the other, which has room for four
        [ "$(carvectl list --no-legend | grep -c 0001:c8:00.0)" -eq 3 ] || carvectl
        expect 0 -- carvectl create A2-4Q -n 4 -q # three are left there, one here
        [ "$(carvectl list --no-legend | grep -c 0000:08:00.0)" -eq 4 ] || carvectl
        expect 1 "can't be had on any GPU now; 0000:08:00.0: .*; 0001:c8:00.0: " -- carvectl create A2-4Q
        expect 0 -- carvectl disable 8:0.0 1:c8:0.0 --destroy-vgpus
}

all_of_them_or_none() {
        expect 0 -- carvectl enable 08:00.0
        expect 0 -- carvectl create A2-4Q --uuid dd6772a8-7db8-4e96-9a73-f94c389d9bc3
        carved-simctl fail '*/create' EIO nth=3 >"$scratch/rule"
        # The first is there already, and stays; the next two are made, and go again.
        expect 1 'The 2 made before it were destroyed again$' -- \
                carvectl create A2-4Q -n 4 --uuid dd6772a8-7db8-4e96-9a73-f94c389d9bc3
        expect 0 dd6772a8 '^1 vGPU listed' -- carvectl list
        [ "$(ls /sys/bus/mdev/devices)" = dd6772a8-7db8-4e96-9a73-f94c389d9bc3 ] || ls /sys/bus/mdev/devices
        expect 0 -- carvectl disable 08:00.0 --destroy-vgpus
}

# ---- another host ----

# An ssh that goes nowhere: what sd-bus would start there, it starts here.
fake_ssh() {
        mkdir -p "$scratch/bin"
        cat >"$scratch/bin/ssh" <<'X'
#!/bin/sh
echo "$@" >"${0%/*}/asked"
exec systemd-stdio-bridge -p "$DBUS_SYSTEM_BUS_ADDRESS"
X
        chmod +x "$scratch/bin/ssh"
}

another_host_is_carved_over_ssh() {
        fake_ssh
        expect 0 '^carved on root@gpu7: running' -- env PATH="$scratch/bin:$PATH" carvectl -H root@gpu7
        grep -q 'root@gpu7 systemd-stdio-bridge' "$scratch/bin/asked" || cat "$scratch/bin/asked"
        expect 0 '^step 1 of 1' -- env PATH="$scratch/bin:$PATH" \
                carvectl --host=root@gpu7 create T4-4Q --uuid dd6772a8-7db8-4e96-9a73-f94c389d9bc3
        expect 0 -- env PATH="$scratch/bin:$PATH" carvectl destroy -H root@gpu7 dd67
}

a_host_without_a_way_is_told() {
        printf '#!/bin/sh\nexit 255\n' >"$scratch/bin/ssh"
        expect 1 'gpu7|bus went away' '^→ ' -- env PATH="$scratch/bin:$PATH" carvectl -H root@gpu7
}

# ---- what is in a report ----

a_report_has_all_and_nothing_secret() {
        carvectl create T4-4Q --uuid dd6772a8-7db8-4e96-9a73-f94c389d9bc3 --label who=Alice --params secret=1 -q >/dev/null
        expect 0 '"carved' 'dd6772a8' '"Kernel"' '"Stored"' '\(left out\)' -- carvectl report
        jq -e '.Objects | length > 7' "$scratch/said" >/dev/null || echo "objects are missing"
        grep -nE "Alice|secret=1|$(hostname)" "$scratch/said"
        expect 0 -- carvectl destroy dd67
        carved-simctl daemon stop
        expect 0 '"Error" : "carved is not running' -- carvectl report
        carved-simctl daemon start
}

for each in anybody_may_look but_not_change a_job_is_followed_to_its_end who_interrupts_is_told_what_goes_on who_repeats_joins \
        a_job_can_be_cancelled a_card_that_hangs_is_told a_carved_that_hangs_is_told_before_long also_when_it_had_begun_to_work \
        a_carved_that_dies_is_told who_waits_waits_over_a_restart a_monitor_goes_on_over_a_restart \
        a_bus_that_is_not_there_is_told many_go_where_there_is_room_for_them all_of_them_or_none another_host_is_carved_over_ssh \
        a_host_without_a_way_is_told a_report_has_all_and_nothing_secret; do
        promise "${each//_/ }" "$each"
done
end
