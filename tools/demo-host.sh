# SPDX-License-Identifier: LGPL-2.1-or-later
# What ./demo does on the simulated host. Each command is shown before it is run, and can be repeated by hand.
set -eu

show() {
        printf '\n\033[1m# %s\033[0m\n' "$1"
        shift
        printf '\033[36m$ %s\033[0m\n' "$*"
        bash -c "$*"
}

# carved follows by events, in its own time: a tenth of a second after the last one. Here we wait for what it shows.
until_shown() {
        for _ in $(seq 100); do
                busctl tree --list org.carved1 | grep -q "$1" && return
                sleep 0.1
        done
        echo "carved does not show $1" >&2
        exit 1
}

gpu=/org/carved1/gpu/0000_08_00_0
uuid=dd6772a8-7db8-4e96-9a73-f94c389d9bc3

show "Seven GPUs after a cold boot, as lspci sees them:" \
        "lspci -D | grep -v bridge"
show "carved explains why the A2 can't have a vGPU yet:" \
        "busctl get-property org.carved1 $gpu org.carved1.Gpu Reasons"
show "NVIDIA's own tool switches its VFs on …" \
        "/usr/lib/nvidia/sriov-manage -e 0000:08:00.0 && carved-simctl settle"
until_shown "$gpu/vf/15"
show "… and mdevctl makes a vGPU of 4 GB on the first of them:" \
        "mdevctl start -u $uuid -p 0000:08:00.4 --type nvidia-746 && mdevctl list"
until_shown "$gpu/vf/0/vgpu/"

printf '\n\033[1m# All of it in one tree, GPU, VF, vGPU, on the system bus:\033[0m\n'
show "The tree" \
        "busctl tree org.carved1"
show "What is left on the card, now that sizes are fixed:" \
        "busctl get-property org.carved1 $gpu org.carved1.Gpu Available"
show "Where a vGPU is:" \
        "busctl call org.carved1 /org/carved1 org.carved1.Manager GetVgpu s $uuid"
show "What a virtual machine needs to know of it:" \
        "busctl get-property org.carved1 $gpu/vf/0/vgpu/$(echo $uuid | tr - _) org.carved1.Vgpu TypeName DeviceNode LibvirtName"

printf '\nBy hand: build-demo/sim/carved-sim --host mixed   (then the same commands; carved-simctl --help)\n'
