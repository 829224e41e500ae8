# SPDX-License-Identifier: LGPL-2.1-or-later
# A driver that fails or takes its time: each refusal is told with the kernel's own word, and nothing half done stays.

a_create_that_fails_leaves_nothing() { # promise
        local said

        enable
        knob create_errno 5
        said=$(refused KernelRefused create nvidia-746 $UUID)
        [[ $said == *"Input/output error"* ]] || die "it does not say why: $said"
        is mdevs "$(mdevs)" ""
        refused NoSuchVgpu vgpu $UUID
        is "what is kept" "$(grep -l $UUID -r /var/lib/carved || true)" ""
        knob create_errno 0
        create nvidia-746 $UUID
}

vfs_that_can_t_be_had_leave_the_card_as_it_was() { # promise
        knob sriov_errno 5
        refused KernelRefused enable
        is sriov_numvfs "$(numvfs)" 0
        is driver "$(basename "$(readlink "$(pf)/driver")")" nvidia
        is "what is kept" "$(ls /var/lib/carved/gpus 2>/dev/null || true)" ""
        knob sriov_errno 0
        enable
        is sriov_numvfs "$(numvfs)" 16
}

a_client_of_the_driver_is_waited_for_and_then_named() { # promise
        knob unbind_busy 1
        refused InUse enable
        is sriov_numvfs "$(numvfs)" 0
        is driver "$(basename "$(readlink "$(pf)/driver")")" nvidia
        knob unbind_busy 0
        enable
}

# sriov-manage stops in its middle, and leaves the card without driver.
a_card_that_its_driver_does_not_take_back_is_told_of_and_mended() { # promise
        local said

        knob only "$(basename "$(pf)")"
        knob probe_errno 19
        knob times 1
        said=$(refused KernelRefused enable)
        say "$said"
        is driver "$(basename "$(readlink "$(pf)/driver")")" nvidia
        is sriov_numvfs "$(numvfs)" 0
        enable
        is sriov_numvfs "$(numvfs)" 16
}

a_slow_removal_is_waited_for() { # promise
        enable
        create nvidia-746 $UUID
        knob remove_delay_ms 4000
        destroy $UUID
        is mdevs "$(mdevs)" ""
}

types_that_come_late_are_waited_for() { # promise
        knob types_delay_ms 3000
        enable
        test -d "$(pf)/virtfn15/mdev_supported_types/nvidia-746"
        create nvidia-746 $UUID
}

# With VFs for 30 s under way, everyone is answered, and the other card can be carved. (Not its VFs: this kernel switches those
# of one card at a time, under the lock for adding and removing PCI devices.)
a_slow_switch_stops_nobody_else() { # promise with 2 cards
        local start worst=0 now job

        is cards "$(gpus | wc -l)" 2
        enable "" "$(gpu 1)"
        knob only "$(basename "$(pf)")"
        knob sriov_delay_ms 30000
        start=$SECONDS
        job=$(call "$(gpu)" Sriov.EnableVfs 16 "{'no-block': <true>}" | paths)
        for _ in $(seq 5); do
                now=${EPOCHREALTIME/./}
                get "$(gpu)" Gpu State >/dev/null
                now=$(((${EPOCHREALTIME/./} - now) / 1000))
                [ $now -le $worst ] || worst=$now
        done
        say "the slowest of five answers, three starts of busctl each: $worst ms"
        call "$(gpu 1)" VgpuHost.CreateVgpu nvidia-746 "{'uuid': <'$UUID'>}"
        destroy $UUID
        is state "$(get "$job" Job State)" running
        [ $((SECONDS - start)) -lt 30 ] || die "it took too long to tell"
        eventually 90 is_sixteen
        is "VFs of the other" "$(get "$(gpu 1)" Sriov NumVfs)" 16
}

is_sixteen() {
        [ "$(get "$(gpu)" Sriov NumVfs)" = 16 ]
}

# The worker sits in the kernel and can't be killed. A new daemon is there at once, shows the card as stalled, and goes on when the
# kernel does.
a_worker_in_the_kernel_outlives_its_daemon() { # promise
        local worker

        enable
        knob create_delay_ms 25000
        call "$(gpu)" VgpuHost.CreateVgpu nvidia-746 "{'uuid': <'$UUID'>, 'no-block': <true>}"
        eventually 10 has_stuck_worker
        worker=$(stuck_worker)
        systemctl kill -s KILL --kill-whom=main carved
        eventually 30 systemctl is-active carved
        test -e "/proc/$worker"
        grep -q '^State:.*D' "/proc/$worker/status"
        timeout 5 busctl get-property org.carved1 /org/carved1 org.carved1.Manager State
        knob create_delay_ms 0
        eventually 60 test ! -e "/proc/$worker"
        # It was never answered: there wholly, or not at all, and somebody's.
        eventually 30 is_settled
}

stuck_worker() {
        local pid

        for pid in $(pgrep -x carved-worker); do
                if grep -q '^State:.*D' "/proc/$pid/status" 2>/dev/null; then
                        echo "$pid"
                fi
        done
}

has_stuck_worker() {
        [ -n "$(stuck_worker)" ]
}

is_settled() {
        [ "$(mdevs | wc -w)" = "$(busctl --list tree org.carved1 | grep -c /vgpu/)" ] &&
                [ -z "$(ls /var/lib/carved/journal)" ] && [ "$(get "$(gpu)" Gpu State)" != busy ]
}

a_daemon_that_hangs_is_replaced_by_the_watchdog() { # promise
        local pid

        mkdir -p /run/systemd/system/carved.service.d
        printf '[Service]\nWatchdogSec=2\n' >/run/systemd/system/carved.service.d/watchdog.conf
        systemctl daemon-reload
        systemctl restart carved
        enable
        create nvidia-746 $UUID
        pid=$(systemctl show -P MainPID carved)
        kill -STOP "$pid"
        eventually 30 is_another "$pid"
        eventually 30 systemctl is-active carved
        eventually 30 is_ours
        journalctl -b -u carved | grep 'Watchdog timeout'
}

is_another() { # PID
        local now

        now=$(systemctl show -P MainPID carved)
        [ "$now" != "$1" ] && [ "$now" != 0 ]
}
