# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by promise, in the guest: carved as its users see it, by busctl, and the kernel's own files as witnesses.

UUID=dd6772a8-7db8-4e96-9a73-f94c389d9bc3
OTHER=5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11
KNOBS=/sys/module/nvidia/parameters
MDEVS=/sys/bus/mdev/devices

say() {
        echo "· $*"
}

die() {
        echo "✗ $*" >&2
        return 1
}

is() { # WHAT GOT WANTED
        [ "$2" = "$3" ] || die "$1 is '$2', not '$3'"
}

# ---- the bus ----

# As text, without the signature.
get() { # PATH INTERFACE PROPERTY
        busctl --json=short get-property org.carved1 "$1" "org.carved1.$2" "$3" | jq -r '.data'
}

# By gdbus, which tells the name of an error. Arguments in GVariant's text form; so is what comes back.
call() { # PATH INTERFACE.METHOD [ARGUMENT…]
        local path=$1 method=$2

        shift 2
        gdbus call --system --timeout 150 --dest org.carved1 --object-path "$path" --method "org.carved1.$method" -- "$@"
}

# Object paths in what comes back.
paths() {
        grep -o "/org/carved1[^']*"
}

# It is refused, with this error; what it says goes to stdout.
refused() { # ERROR COMMAND…
        local error=$1 said status=0

        shift
        said=$("$@" 2>&1) || status=$?
        [ $status -ne 0 ] || die "'$*' was not refused"
        [[ $said == *"org.carved1.Error.$error:"* ]] || die "'$*' was refused, but not by $error: $said"
        echo "$said"
}

gpus() {
        busctl --list tree org.carved1 | grep -E '^/org/carved1/gpu/[^/]+$'
}

gpu() { # [N]
        gpus | sed -n "$((${1:-0} + 1))p"
}

# ---- carving ----

# All VFs that the card has, or so many.
enable() { # [COUNT [GPU]]
        local card=${2:-$(gpu)}

        call "$card" Sriov.EnableVfs "${1:-$(get "$card" Sriov TotalVfs)}" '{}'
}

disable() { # [GPU]
        call "${1:-$(gpu)}" Sriov.DisableVfs '{}'
}

disable_all() { # [GPU]
        call "${1:-$(gpu)}" Sriov.DisableVfs "{'destroy-vgpus': <true>}"
}

create() { # TYPE UUID [MORE OPTIONS]
        call "$(gpu)" VgpuHost.CreateVgpu "$1" "{'uuid': <'$2'>${3:+, $3}}"
}

vgpu() { # UUID
        call /org/carved1 Manager.GetVgpu "$1" | paths
}

destroy() { # UUID
        call "$(vgpu "$1")" Vgpu.Destroy '{}'
}

# State and origin of a vGPU as carved has it.
shown() { # UUID
        local path

        path=$(vgpu "$1")
        echo "$(get "$path" Vgpu State) $(get "$path" Vgpu Origin)"
}

# The first of them is there, and carved's.
is_ours() {
        [ "$(shown $UUID)" = "active carved" ]
}

# ---- witnesses ----

pf() { # [N]: its directory
        local path

        path=$(gpu "${1:-0}")
        echo "/sys/bus/pci/devices/$(get "$path" Gpu Address)"
}

numvfs() {
        cat "$(pf)/sriov_numvfs"
}

mdevs() {
        ls $MDEVS 2>/dev/null | sort | tr '\n' ' '
}

# ---- users ----

# A process that has the device open as a guest has, until let_go or the end of the promise.
hold() { # UUID or ADDRESS
        local fd word

        exec {fd}< <(exec /root/vm/hold "$1")
        holder=$!
        read -r word <&"$fd" || die "$1 can't be held"
        is "$1" "$word" held
}

let_go() {
        kill "$holder"
        tail --pid="$holder" -f /dev/null
}

# ---- the host ----

knob() { # NAME VALUE
        echo "$2" >"$KNOBS/$1"
}

load_driver() { # [PARAMETER…]
        modprobe nvidia "$@"
        udevadm settle
}

unload_driver() {
        # They hold each other: the one for vGPUs goes first.
        [ ! -e /sys/module/nvidia_vgpu_vfio ] || modprobe -r nvidia-vgpu-vfio
        modprobe -r nvidia
        udevadm settle
}

# The guest is fresh: carved runs, and waits for cards.
prepare_host() { # MODE
        load_driver "mode=$1"
        eventually 30 gpu
}

prepare() {
        prepare_host mdev
}

# What this line tells comes true within so many seconds.
eventually() { # SECONDS COMMAND…
        local end=$((SECONDS + $1))

        shift
        until "$@" >/dev/null 2>&1; do
                [ $SECONDS -lt $end ] || die "not in time: $*"
                sleep 0.2 # between two questions, not instead of one
        done
}
