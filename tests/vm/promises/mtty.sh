# SPDX-License-Identifier: LGPL-2.1-or-later
# The kernel's own sample of an mdev parent, which nobody here wrote: a parent that is no GPU is nobody's business.

prepare() {
        prepare_host mdev
        modprobe mtty
        udevadm settle
}

a_parent_that_is_no_gpu_is_left_alone() { # promise
        mdevctl start -u $OTHER -p mtty --type mtty-1
        udevadm settle
        is cards "$(gpus | wc -l)" "$(ls -d /sys/bus/pci/drivers/nvidia/0000* | wc -l)"
        refused NoSuchVgpu vgpu $OTHER
        enable
        create nvidia-746 $UUID
        is mdevs "$(mdevs)" "$OTHER $UUID "
        disable_all
        is mdevs "$(mdevs)" "$OTHER "
        mdevctl stop -u $OTHER
}

# A UUID is the kernel's name for a device of whatever parent.
a_uuid_that_another_parent_has_is_told_of() { # promise
        enable
        mdevctl start -u $UUID -p mtty --type mtty-1
        refused Exists create nvidia-746 $UUID
        mdevctl stop -u $UUID
        create nvidia-746 $UUID
}
