# SPDX-License-Identifier: LGPL-2.1-or-later
# What ./demo does on the simulated host. Each command is shown before it is run, and can be repeated by hand. Each has a
# pattern that must be in what it prints: a demo that shows something else than it says ends here, and not with 0.
set -eu

failed() {
        printf '\n\033[31mThe demo failed: %s\033[0m\n' "$1" >&2
        exit 1
}

title() {
        printf '\n\033[1m# %s\033[0m\n' "$1"
}

# What it printed stays in $out.
run() { # COMMAND
        local status=0

        printf '\033[36m$ %s\033[0m\n' "$1"
        out=$(bash -o pipefail -c "$1" 2>&1) || status=$?
        printf '%s\n' "$out"
        return $status
}

has() { # PATTERN
        grep -qE -- "$1" <<<"$out" || failed "'$1' is not in what it printed"
}

show() { # TITLE PATTERN COMMAND
        title "$1"
        run "$3" || failed "it ended with $?"
        has "$2"
}

# One that must not succeed: it says why, and what to do.
refused() { # TITLE PATTERN COMMAND
        title "$1"
        ! run "$3" || failed "it was not refused"
        has "$2"
}

uuid=dd6772a8-7db8-4e96-9a73-f94c389d9bc3
other=5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11
export LC_ALL=C.UTF-8

show "Seven GPUs after a cold boot, as lspci sees them:" "08:00.0 .*A2" \
        'lspci -D | grep -v bridge'
show "The same as carved sees them: what each can have, or why nothing." 'SR-IOV is off' \
        carvectl
show "What would it take to have vGPUs on the A2? A dry run changes nothing." 'sriov-manage -e 0000:08:00.0' \
        'carvectl enable 08:00.0 --dry-run'
show "Now do it, on two cards: by its address, in any spelling, and by its model. It takes its time on real ones." 'step 2 of 2' \
        'carvectl enable 8:0.0 L40S'
show "lspci counts the A2 and its 16 VFs, the L40S and its 32:" '^17 33$' \
        'echo $(lspci -s 08: | wc -l) $(lspci -s 26: | wc -l)'

show "A vGPU of 4 GB on the A2, under a UUID of our own, so that the call can be repeated without harm:" "^$uuid" \
        "carvectl create A2-4Q --uuid $uuid --label name=desk"
show "The same call again: it is there, and stays one." "^$uuid" \
        "carvectl create A2-4Q --uuid $uuid"
show "8 GB on the L40S, which has no mediated devices, by the same command:" "^$other" \
        "carvectl create L40S-8Q --uuid $other"
show "And two on the T4, which has no VFs: straight on the card. All are made, or none." '^[0-9a-f]{8}-' \
        'carvectl create T4-4Q -n 2'
show "mdevctl sees the three that are mediated devices:" "$uuid 0000:08:00.4 nvidia-746" \
        'mdevctl list'
show "The other is a VF with a type, in sysfs:" '^[1-9][0-9]*$' \
        'cat /sys/bus/pci/devices/0000:26:00.0/virtfn0/nvidia/current_vgpu_type'

refused "Another size on the A2? The driver would say EIO. carved says why, and what can be had instead:" \
        "fixes the card to its own size, 4096 MiB; to be had are NVIDIA A2-4Q" \
        'carvectl create A2-8Q --on 08:00.0'
show "Longer, and with what to do:" 'instead' \
        'carvectl explain 08:00.0 A2-8Q'
show "A virtual machine opens the vGPU (carved-simctl plays it) …" '^[0-9]+$' \
        "carved-simctl hold $uuid"
refused "… and now nobody takes it away; its label is as good a name as its UUID:" 'in use by process [0-9]+ \(qemu-sim\)' \
        'carvectl destroy desk'
refused "Nor the VFs below it, not even when told that the vGPUs may go:" 'in use by process [0-9]+ \(qemu-sim\)' \
        'carvectl disable 08:00.0 --destroy-vgpus'
show "What such a machine has in its libvirt XML:" "uuid='$uuid'" \
        'carvectl show --xml desk'

show "When it has ended, the vGPU can go …" 'Remove vGPU' \
        "carved-simctl release $uuid && carvectl destroy desk"
show "… and the card takes the other size:" '^[0-9a-f]{8}-' \
        'carvectl create A2-8Q'
show "All of it:" 'NVIDIA A2-8Q' \
        carvectl
has 'NVIDIA L40S-8Q'
has 'GRID T4-4Q'
show "For programs there is JSON, with the names that things have on the bus:" '"Uuid" :' \
        'carvectl list --json=pretty | sed -n 1,12p'

show "All that was asked for is on disk, for each card; all of it is as it was wanted:" 'synced' \
        'carvectl list stored'

show "Now the host is rebooted. What is there is kept beside …" '^4 vGPUs$' \
        'carvectl list --no-legend >/run/before; echo $(wc -l </run/before) vGPUs'
mdevctl list | sort >/run/mdevs
show "… and this is what is left after a boot without carved: no VFs, no vGPUs." '^0 VFs, 0 mediated devices$' \
        'carved-simctl daemon stop && carved-simctl reboot &&
  echo $(cat /sys/bus/pci/devices/0000:08:00.0/sriov_numvfs) VFs, $(ls /sys/bus/mdev/devices | wc -l) mediated devices'
show "carved starts, as it does at boot. It is ready when all is made again:" '^ready' \
        'carved-simctl daemon start && carvectl wait && carved-simctl daemon status'
show "Is it? The same vGPUs, on the same VFs, under the same UUIDs; only nodes may have other numbers." '^all is back$' \
        "diff <(sed 's,/dev/vfio/[0-9]* *,,' /run/before) <(carvectl list --no-legend | sed 's,/dev/vfio/[0-9]* *,,') && echo all is back"
show "And what mdevctl sees is the same as well:" '^the same$' \
        'mdevctl list | sort | diff /run/mdevs - && echo the same'

printf '\nBy hand: PATH=$PWD/build-demo/ctl:$PATH build-demo/sim/carved-sim --host mixed   (then carvectl help; carved-simctl --help)\n'
