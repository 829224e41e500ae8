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

# One that must not succeed. busctl prints why, and its exit code is not 0.
refused() { # TITLE PATTERN COMMAND
        title "$1"
        ! run "$3" || failed "it was not refused"
        has "$2"
}

uuid=dd6772a8-7db8-4e96-9a73-f94c389d9bc3
other=5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11

# The names that the commands below are shown with.
export c=org.carved1
export a2=/org/carved1/gpu/0000_08_00_0 l40s=/org/carved1/gpu/0000_26_00_0 t4=/org/carved1/gpu/0000_3b_00_0
export vgpu=$a2/vf/0/vgpu/${uuid//-/_}
printf '\033[36m$ c=%s a2=%s\n  l40s=%s t4=%s\n  vgpu=$a2/vf/0/vgpu/%s\033[0m\n' "$c" "$a2" "$l40s" "$t4" "${uuid//-/_}"

show "Seven GPUs after a cold boot, as lspci sees them:" "08:00.0 .*A2" \
        'lspci -D | grep -v bridge'
show "carved explains why the A2 can't have a vGPU yet:" '"vfs-off"' \
        'busctl get-property $c $a2 $c.Gpu Reasons'

show "What would it take? A dry run changes nothing; its job has the plan." 'job/[0-9]' \
        "busctl call \$c \$a2 \$c.Sriov EnableVfs 'ua{sv}' 0 1 dry-run b true"
job=$(cut -d'"' -f2 <<<"$out")
show "The plan, in words:" 'sriov-manage -e 0000:08:00.0' \
        "busctl get-property \$c $job \$c.Job Plan"
show "Nothing has changed:" '^u 0$' \
        'busctl get-property $c $a2 $c.Sriov NumVfs'

show "Now do it, on two cards. It takes its time on real ones, so busctl is told to wait. (0: all VFs; 0: no options)" 'job/' \
        "busctl --timeout=10min call \$c \$a2 \$c.Sriov EnableVfs 'ua{sv}' 0 0 &&
  busctl --timeout=10min call \$c \$l40s \$c.Sriov EnableVfs 'ua{sv}' 0 0"
show "lspci counts the A2 and its 16 VFs, the L40S and its 32:" '^17 33$' \
        'echo $(lspci -s 08: | wc -l) $(lspci -s 26: | wc -l)'

show "A vGPU of 4 GB on the A2, under a UUID of our own, so that the call can be repeated without harm:" "$vgpu" \
        "busctl --timeout=10min call \$c \$a2 \$c.VgpuHost CreateVgpu 'sa{sv}' A2-4Q 1 uuid s $uuid"
show "The same call again: it is there, and stays one." "$vgpu" \
        "busctl --timeout=10min call \$c \$a2 \$c.VgpuHost CreateVgpu 'sa{sv}' A2-4Q 1 uuid s $uuid"
show "8 GB on the L40S, which has no mediated devices, by the same call:" "$l40s/vf/0/vgpu/${other//-/_}" \
        "busctl --timeout=10min call \$c \$l40s \$c.VgpuHost CreateVgpu 'sa{sv}' L40S-8Q 1 uuid s $other"
show "And on the T4, which has no VFs: straight on the card, with a label. carved chooses the UUID." "$t4/vgpu/" \
        "busctl --timeout=10min call \$c \$t4 \$c.VgpuHost CreateVgpu 'sa{sv}' T4-4Q 1 labels 'a{ss}' 1 team ml"
show "mdevctl sees the two that are mediated devices:" "$uuid 0000:08:00.4 nvidia-746" \
        'mdevctl list'
show "The third is a VF with a type, in sysfs:" '^[1-9][0-9]*$' \
        'cat /sys/bus/pci/devices/0000:26:00.0/virtfn0/nvidia/current_vgpu_type'

refused "Another size on the A2? The driver would say EIO. carved says why, and what can be had instead:" \
        "fixes the card to its own size, 4096 MiB; to be had are NVIDIA A2-4Q" \
        "busctl --timeout=10min call \$c \$a2 \$c.VgpuHost CreateVgpu 'sa{sv}' A2-8Q 0"
show "A virtual machine opens the vGPU (carved-simctl plays it) …" '^[0-9]+$' \
        "carved-simctl hold $uuid"
refused "… and now nobody takes it away:" 'in use by process [0-9]+ \(qemu-sim\)' \
        "busctl --timeout=10min call \$c \$vgpu \$c.Vgpu Destroy 'a{sv}' 0"
refused "Nor the VFs below it, not even when told that the vGPUs may go:" 'in use by process [0-9]+ \(qemu-sim\)' \
        "busctl --timeout=10min call \$c \$a2 \$c.Sriov DisableVfs 'a{sv}' 1 destroy-vgpus b true"
show "What such a machine has in its libvirt XML:" "uuid='$uuid'" \
        "printf \"\$(busctl call \$c \$vgpu \$c.Vgpu GetLibvirtXml 'a{sv}' 0 | cut -d'\"' -f2)\""

show "When it has ended, the vGPU can go …" 'job/' \
        "carved-simctl release $uuid && busctl --timeout=10min call \$c \$vgpu \$c.Vgpu Destroy 'a{sv}' 0"
show "… and the card takes the other size:" "$a2/vf/0/vgpu/" \
        "busctl --timeout=10min call \$c \$a2 \$c.VgpuHost CreateVgpu 'sa{sv}' A2-8Q 0"
show "All of it in one tree: GPU, VF, vGPU, and the jobs of the last minute. (Most of the free VFs are left out here.)" \
        "$t4/vgpu/" \
        "busctl tree \$c | grep -vE 'vf/([2-9]|[1-9][0-9])\$'"
has "$a2/vf/0/vgpu/"
has "$l40s/vf/0/vgpu/${other//-/_}"

show "All that was asked for is on disk, for each card; all of it is as it was wanted:" '"synced"' \
        'busctl call $c /org/carved1 $c.Manager ListStored'
show "The same of the A2 alone:" '"synced"' \
        'busctl get-property $c $a2 $c.Gpu SyncState'

show "Now the host is rebooted. The tree as it was is kept beside, without jobs …" '^[1-9][0-9]+ objects$' \
        'busctl tree --list $c | grep -v /job >/run/before; echo $(wc -l </run/before) objects'
mdevctl list | sort >/run/mdevs
show "… and this is what is left after a boot without carved: no VFs, no vGPUs." '^0 VFs, 0 mediated devices$' \
        'carved-simctl daemon stop && carved-simctl reboot &&
  echo $(cat /sys/bus/pci/devices/0000:08:00.0/sriov_numvfs) VFs, $(ls /sys/bus/mdev/devices | wc -l) mediated devices'
show "carved starts, as it does at boot. It is ready when all is made again:" '^ready' \
        'carved-simctl daemon start && carved-simctl daemon status'
show "Is it? No line is missing, and none is new: the same VFs, the same vGPUs on them, under the same UUIDs." '^all is back$' \
        'busctl tree --list $c | grep -v /job | diff /run/before - && echo all is back'
show "And what mdevctl sees is the same as well:" '^the same$' \
        'mdevctl list | sort | diff /run/mdevs - && echo the same'
show "The A2 is as it is wanted:" '"synced"' \
        'busctl get-property $c $a2 $c.Gpu SyncState'

printf '\nBy hand: build-demo/sim/carved-sim --host mixed   (then the same commands; carved-simctl --help)\n'
