# SPDX-License-Identifier: LGPL-2.1-or-later
# What ./demo does on the simulated host. Each command is shown before it is run, and can be repeated by hand.
set -eu

show() {
        printf '\n\033[1m# %s\033[0m\n' "$1"
        shift
        printf '\033[36m$ %s\033[0m\n' "$*"
        bash -c "$*"
}

show "Seven GPUs after a cold boot, as lspci sees them:" \
        "lspci -D | grep -v bridge"
show "NVIDIA's own tool switches the VFs of the A2 on:" \
        "/usr/lib/nvidia/sriov-manage -e 0000:08:00.0 && carved-simctl settle && lspci -s 08: | wc -l"
show "mdevctl makes a vGPU of 4 GB on the first VF …" \
        "mdevctl start -u dd6772a8-7db8-4e96-9a73-f94c389d9bc3 -p 0000:08:00.4 --type nvidia-746 && mdevctl list"
show "… after which the card has only 4 GB types left, three more at the most:" \
        "cd /sys/bus/pci/devices/0000:08:00.5/mdev_supported_types && grep -l 1 */available_instances | xargs dirname | while read t; do cat \$t/name; done"
show "A virtual machine opens it. Its process is found by the node it holds:" \
        "carved-simctl hold dd6772a8-7db8-4e96-9a73-f94c389d9bc3 | xargs -I{} ls -l /proc/{}/fd | grep -o '/dev/vfio/.*'"
show "The host is rebooted: VFs and vGPUs are volatile." \
        "carved-simctl reboot && cat /sys/bus/pci/devices/0000:08:00.0/sriov_numvfs && ls /sys/bus/mdev/devices | wc -l"
printf '\nTry it by hand: build-demo/sim/carved-sim --no-daemon --host mixed   (carved-simctl --help inside)\n'
