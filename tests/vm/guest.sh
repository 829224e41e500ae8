# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by lab: one virtual machine, in a directory of its own: its disk, its sockets, its console.

GUEST_GPUS=2
GUEST_VFS=32
GUEST_APPEND='console=ttyS0 quiet loglevel=4 systemd.show_status=false mitigations=off apparmor=0 selinux=0 audit=0
random.trust_cpu=on no_timer_check tsc=reliable'

# An emulated processor beside other work: many times what it takes.
GUEST_BOOT_SECONDS=240
GUEST_ANSWER_SECONDS=60

guest_pid() { # DIRECTORY
        local pid

        [ -e "$1/qemu.pid" ] || return 1
        read -r pid <"$1/qemu.pid"
        [ -e "/proc/$pid/cmdline" ] || return 1
        # The number may be somebody else's by now.
        tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -F "file=$1/disk.qcow2," >/dev/null || return 1
        echo "$pid"
}

# What the machine consists of: a snapshot fits the machine that it was taken of, and no other. And below its disk.
guest_machine() { # DIRECTORY IMAGE IOMMU [SNAPSHOT]
        printf 'image=%s\niommu=%s\nbase=%s\n' "$2" "$3" "${4-$2}" >"$1/machine"
}

gpu_device() { # INDEX
        printf 'nvme,id=gpu%d,serial=GPU%d,bus=rp%d,subsys=sub%d,sriov_max_vfs=%d,max_ioqpairs=%d,msix_qsize=%d' \
                "$1" "$1" "$1" "$1" "$GUEST_VFS" $((2 * GUEST_VFS + 2)) $((GUEST_VFS + 3))
        printf ',sriov_vq_flexible=%d,sriov_vi_flexible=%d\n' $((2 * GUEST_VFS)) "$GUEST_VFS"
}

guest_devices() { # DIRECTORY IOMMU GPUS
        local i

        [ "$2" -eq 0 ] || printf '%s\n' -device intel-iommu
        printf '%s\n' -drive "file=$1/disk.qcow2,format=qcow2,if=none,id=disk,cache=writeback,discard=unmap" \
                -device virtio-blk-pci,drive=disk -device virtio-serial-pci -device virtio-rng-pci \
                -chardev "socket,id=agent,path=$1/agent.sock,server=on,wait=off" \
                -device virtserialport,chardev=agent,name=lab.agent \
                -chardev "file,id=record,path=$1/record,append=on" -device virtserialport,chardev=record,name=lab.record \
                -chardev "file,id=console,path=$1/console.log,append=on" -serial chardev:console \
                -qmp "unix:$1/qmp.sock,server=on,wait=off" \
                -device pvpanic -device isa-debug-exit,iobase=0xf4,iosize=4
        for ((i = 0; i < GUEST_GPUS; i++)); do
                printf '%s\n' -device "pcie-root-port,id=rp$i,chassis=$((i + 1)),slot=$((i + 1)),addr=0x1$i" \
                        -device "nvme-subsys,id=sub$i,nqn=lab$i"
                [ "$i" -ge "$3" ] || printf '%s\n' -device "$(gpu_device "$i")"
        done
}

# Starts QEMU: DIRECTORY GPUS APPEND [STATE]. With a state of the memory it goes on from there.
guest_start() {
        local dir=$1 gpus=$2 append="$GUEST_APPEND $3" state=${4-} image iommu base devices fd

        . "$dir/machine"
        touch "$image" "$(realpath "$image/kernel")" "$base"
        [ "$iommu" -eq 0 ] || append+=' intel_iommu=on iommu=pt'
        mapfile -t devices < <(guest_devices "$dir" "$iommu" "$gpus")
        [ -z "$state" ] || devices+=(-incoming defer)
        rm -f "$dir"/*.sock "$dir/qemu.pid"
        (
                # It lives on: nothing of ours may be kept open by it, the lock least of all.
                for fd in "/proc/$BASHPID/fd"/*; do
                        fd=${fd##*/}
                        [ "$fd" -le 2 ] || eval "exec $fd>&-"
                done
                # Not KVM, even where it is there: without virtualisation in hardware it may be a slow imitation that a
                # stock kernel does not survive.
                exec qemu-system-x86_64 -name "carved-lab-${dir##*/}" -daemonize -pidfile "$dir/qemu.pid" \
                        -no-user-config -nodefaults -display none -machine q35 -cpu Nehalem -smp 2 -m 1024 \
                        -accel tcg,thread=multi,tb-size=512 -rtc base=utc -action panic=exit-failure \
                        -kernel "$image/kernel/vmlinux" -initrd "$image/initrd" -append "${append//$'\n'/ }" \
                        "${devices[@]}" </dev/null >"$dir/qemu.log" 2>&1
        ) || { cat "$dir/qemu.log" >&2; die "QEMU does not start"; }
        [ -z "$state" ] || guest_load "$dir" "$state"
}

guest_disk() { # DIRECTORY BACKING FORMAT
        rm -f "$1/disk.qcow2"
        qemu-img create -q -f qcow2 -F "$3" -b "$2" "$1/disk.qcow2"
}

guest_qmp() { # DIRECTORY COMMAND [EVENT [TEXT]]
        local dir=$1

        shift
        "$programs/qmp" "$dir/qmp.sock" "$GUEST_ANSWER_SECONDS" "$@"
}

guest_hello() { # DIRECTORY SECONDS
        "$programs/agent-client" "$1/agent.sock" "$2" hello
}

guest_run() { # DIRECTORY SECONDS COMMAND…
        local dir=$1 seconds=$2

        shift 2
        "$programs/agent-client" "$dir/agent.sock" "$seconds" run "$@"
}

# After a boot: until nothing more is about to start. It may be `degraded`, which the caller may look into.
guest_settle() { # DIRECTORY
        guest_run "$1" "$GUEST_BOOT_SECONDS" 'systemctl is-system-running --wait' >/dev/null || [ $? -eq 1 ]
}

guest_await() { # DIRECTORY EARLY
        guest_hello "$1" "$GUEST_BOOT_SECONDS" || {
                tail -n 20 "$1/console.log" >&2
                guest_cut "$1"
                die "the guest did not come up; its console is in $1/console.log"
        }
        [ "$2" -eq 1 ] || guest_settle "$1"
}

guest_has_gpu() { # DIRECTORY INDEX
        guest_qmp "$1" '{"execute": "qom-list", "arguments": {"path": "/machine/peripheral"}}' |
                grep -F "\"gpu$2\"" >/dev/null
}

# The bus numbers are the firmware's choice, and it counts the ports.
gpu_address() { # INDEX
        printf '0000:%02x:00.0\n' $(($1 + 1))
}

guest_plug() { # DIRECTORY INDEX
        local arguments

        # driver,key=value,… as JSON
        arguments=$(gpu_device "$2" | sed 's/^\([^,]*\)/"driver": "\1"/; s/,\([a-z_]*\)=\([0-9][0-9]*\)/, "\1": \2/g
                s/,\([a-z_]*\)=\([^,]*\)/, "\1": "\2"/g')
        guest_qmp "$1" "{\"execute\": \"device_add\", \"arguments\": {$arguments}}" >/dev/null
        guest_run "$1" "$GUEST_ANSWER_SECONDS" udevadm wait --settle "/sys/bus/pci/devices/$(gpu_address "$2")"
}

guest_unplug() { # DIRECTORY INDEX
        guest_qmp "$1" "{\"execute\": \"device_del\", \"arguments\": {\"id\": \"gpu$2\"}}" \
                DEVICE_DELETED "\"device\": \"gpu$2\"" >/dev/null
}

# Its memory goes to a file. GPUs can't: QEMU knows no way to save them.
guest_save() { # DIRECTORY STATE
        local i

        for ((i = 0; i < GUEST_GPUS; i++)); do
                ! guest_has_gpu "$1" "$i" || die "a guest with a GPU can't be saved; unplug $i first"
        done
        # What the kernel can read again need not be kept.
        guest_run "$1" "$GUEST_ANSWER_SECONDS" 'sync; echo 3 >/proc/sys/vm/drop_caches'
        # Standing still: one that was saved while it ran panicked in the scheduler when it went on. Not understood.
        guest_qmp "$1" '{"execute": "stop"}' >/dev/null
        guest_migration "$1" migrate "exec:cat >$2" '{"execute": "migrate-set-parameters", "arguments":
                {"max-bandwidth": 10000000000}}'
}

guest_load() { # DIRECTORY STATE
        guest_migration "$1" migrate-incoming "exec:cat $2"
        guest_go_on "$1"
}

guest_go_on() { # DIRECTORY
        guest_qmp "$1" '{"execute": "cont"}' >/dev/null
}

guest_migration() { # DIRECTORY VERB URI [COMMAND]
        guest_qmp "$1" '{"execute": "migrate-set-capabilities", "arguments": {"capabilities":
                [{"capability": "events", "state": true}]}}' >/dev/null
        [ $# -lt 4 ] || guest_qmp "$1" "$4" >/dev/null
        guest_qmp "$1" "{\"execute\": \"$2\", \"arguments\": {\"uri\": \"$3\"}}" \
                MIGRATION '"status": "completed"' >/dev/null
}

guest_cut() { # DIRECTORY
        local pid

        ! pid=$(guest_pid "$1") || "$programs/end-process" "$pid" 30 kill
        rm -f "$1"/*.sock "$1/qemu.pid"
}

guest_off() { # DIRECTORY
        local pid

        pid=$(guest_pid "$1")
        guest_run "$1" "$GUEST_ANSWER_SECONDS" systemctl poweroff --no-block
        "$programs/end-process" "$pid" "$GUEST_BOOT_SECONDS" || die "the guest does not go off"
        rm -f "$1"/*.sock "$1/qemu.pid"
}

# The reset button, and a boot.
guest_reset() { # DIRECTORY
        guest_qmp "$1" '{"execute": "system_reset"}' RESET >/dev/null
}

guest_reboot() { # DIRECTORY
        local event

        # First listen, then ask for it.
        exec {event}< <("$programs/qmp" "$1/qmp.sock" "$GUEST_BOOT_SECONDS" '{"execute": "query-status"}' RESET && echo came)
        read -r -u "$event" _ || die "QEMU does not answer"
        guest_run "$1" "$GUEST_ANSWER_SECONDS" systemctl reboot --no-block
        read -r -u "$event" _ || die "the guest does not reboot"
        exec {event}<&-
}

# A guest that has booted and settled, as a stage: its disk and its memory.
snapshot_stage() { # IMAGE IOMMU
        stage_path snapshot "$(hash_of "$* $GUEST_APPEND $(declare -f snapshot_build guest_start guest_devices guest_save guest_migration)")"
}

snapshot_build() { # IMAGE IOMMU DIRECTORY
        local dir=$3

        guest_machine "$dir" "$1" "$2"
        guest_disk "$dir" "$1/disk.raw" raw
        guest_start "$dir" 0 ''
        guest_await "$dir" 0
        kernel_survives "$dir" "$1/kernel"
        guest_save "$dir" "$dir/state"
        guest_cut "$dir"
        rm -f "$dir"/*.sock*
}

# See KERNEL_PINNED.
kernel_survives() { # DIRECTORY KERNEL
        guest_run "$1" "$GUEST_ANSWER_SECONDS" 'set -e; echo 3 >/proc/sys/vm/drop_caches
                dd if=/dev/zero of=/var/tmp/probe bs=1M count=8 conv=fsync status=none; rm /var/tmp/probe
                ! dmesg | grep -E "BUG:|Oops:"' && return 0
        touch "$(realpath "$2").bad"
        echo "This kernel does not survive a write after its caches were dropped"
        return 1
}
