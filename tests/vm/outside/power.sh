#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Reboots, the reset button, and power cuts at random moments: all that was answered is there again. The seed is printed;
# VM_CUTS says how many, VM_SEED repeats them.
. "$(dirname "$0")/lab.sh"

VM_SEED=${VM_SEED:-$RANDOM}
RANDOM=$VM_SEED

all_is_there_at_boot() {
        lab boot --from "$VM_LABEL" --gpus 1
        inside 'echo nvidia >/etc/modules-load.d/nvidia.conf; load_driver; eventually 30 gpu; enable; create nvidia-746 $UUID "'"'params': <'a=1'>"'"
                create nvidia-754 $OTHER; create nvidia-746 aaaaaaaa-0000-4000-8000-000000000001 "'"'persist': <false>"'"'
        lab reboot
        is_all_there
}

# What was for now is gone; the unit was ready only when the rest was there.
is_all_there() {
        inside 'eventually 150 gpu; back() { [ "$(mdevs)" = "$OTHER $UUID " ]; }; eventually 90 back
                is state "$(shown $UUID)" "active carved"; is params "$(cat $MDEVS/$UUID/nvidia/vgpu_params)" a=1
                is sriov_numvfs "$(numvfs)" 16'
}

the_reset_button_is_no_different() {
        lab reset
        is_all_there
}

# Nothing that a unit after carved.service asks for is missing when that unit starts.
units_after_carved_find_all_vgpus() {
        inside 'cat >/etc/systemd/system/witness.service <<END
[Unit]
After=carved.service
Requires=carved.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c "ls /sys/bus/mdev/devices >/run/witnessed"
[Install]
WantedBy=multi-user.target
END
                systemctl enable witness'
        lab reboot
        inside 'is "what the unit saw" "$(sort /run/witnessed | tr "\n" " ")" "$OTHER $UUID "'
}

# The power goes at a random moment of the work, counted from its first call.
cut_once() { # NUMBER
        local moment=$((RANDOM % 9000)) seed=$RANDOM record end=$((SECONDS + 60)) verdict status=0

        record=$(lab path)/record
        : >"$record"
        lab run --timeout 120 "/root/vm/load run \"\$(. /root/vm/carved.sh; gpu)\" $seed /dev/virtio-ports/lab.record" >/dev/null 2>&1 &
        until [ -s "$record" ] || [ $SECONDS -ge $end ]; do
                sleep 0.1 # between two questions
        done
        sleep "$((moment / 1000)).$(printf '%03d' $((moment % 1000)))"
        lab cut
        wait $! || true
        test -s "$record"
        lab boot --cold --early --gpus 1
        lab put "$record" /root/record
        verdict=$(inside 'eventually 150 gpu; /root/vm/load check "$(gpu)" /root/record') || status=$?
        echo "· cut $1, $moment ms after the first call: $verdict"
        [ $status -eq 0 ]
        inside 'disable_all >/dev/null'
}

what_was_answered_survives_power_cuts() {
        local i

        lab remove
        lab boot --from "$VM_LABEL" --gpus 1
        inside 'echo nvidia >/etc/modules-load.d/nvidia.conf; load_driver; eventually 30 gpu; sync'
        for i in $(seq "$VM_CUTS"); do
                cut_once "$i"
        done
}

echo "# seed $VM_SEED"
promise all_is_there_at_boot
promise the_reset_button_is_no_different
promise units_after_carved_find_all_vgpus
promise what_was_answered_survives_power_cuts
