# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs on and off, vGPUs made and destroyed, as mdevs of an A2 that the kernel itself reads as one.

a_card_is_found_with_the_kernel_s_own_numbers() { # promise
        local path

        path=$(gpu)
        test -e "/sys/bus/pci/drivers/nvidia/$(get "$path" Gpu Address)"
        is vendor "$(printf '0x%04x' "$(get "$path" Gpu VendorId)")" "$(cat "$(pf)/vendor")"
        is device "$(printf '0x%04x' "$(get "$path" Gpu DeviceId)")" "$(cat "$(pf)/device")"
        is driver "$(get "$path" Gpu Driver)" nvidia
        is total "$(get "$path" Sriov TotalVfs)" 16
        is state "$(get /org/carved1 Manager State)" running
}

sixteen_vfs_come_with_types_and_go() { # promise
        enable
        is sriov_numvfs "$(numvfs)" 16
        is NumVfs "$(get "$(gpu)" Sriov NumVfs)" 16
        is Framework "$(get "$(gpu)" Gpu Framework)" mdev
        is "VFs on the bus" "$(busctl --list tree org.carved1 | grep -c /vf/)" 16
        is "parents" "$(ls /sys/class/mdev_bus | wc -l)" 16
        is "types" "$(busctl --json=short get-property org.carved1 "$(gpu)" org.carved1.Gpu Types | jq '.data | length')" \
                "$(ls "$(pf)/virtfn0/mdev_supported_types" | wc -l)"
        disable
        is sriov_numvfs "$(numvfs)" 0
        is "VFs on the bus" "$(busctl --list tree org.carved1 | grep -c /vf/ || true)" 0
        is driver "$(basename "$(readlink "$(pf)/driver")")" nvidia
}

a_vgpu_is_there_for_mdevctl_and_for_the_kernel() { # promise
        local path

        enable
        create nvidia-746 $UUID
        path=$(vgpu $UUID)
        is state "$(shown $UUID)" "active carved"
        is type "$(basename "$(readlink $MDEVS/$UUID/mdev_type)")" nvidia-746
        mdevctl list | grep "^$UUID .* nvidia-746"
        is node "$(get "$path" Vgpu DeviceNode)" "/dev/vfio/$(basename "$(readlink $MDEVS/$UUID/iommu_group)")"
        test -c "$(get "$path" Vgpu DeviceNode)"
        destroy $UUID
        is mdevs "$(mdevs)" ""
        is "mdevctl's list" "$(mdevctl list)" ""
        refused NoSuchVgpu vgpu $UUID
}

a_full_card_says_so_and_what_is_left() { # promise
        local i

        enable
        for i in 1 2 3 4; do
                create nvidia-746 "aaaaaaaa-0000-4000-8000-00000000000$i"
        done
        refused NoCapacity create nvidia-746 $UUID
        refused TypeNotAvailable create nvidia-742 $UUID
        is mdevs "$(mdevs | wc -w)" 4
}

what_is_there_is_not_made_twice() { # promise
        enable
        create nvidia-746 $UUID
        create nvidia-746 $UUID # what is so already is success
        refused Exists create nvidia-754 $UUID
        refused NoSuchType create nvidia-9999 $OTHER
        is mdevs "$(mdevs)" "$UUID "
}

vfs_with_vgpus_stay_unless_these_may_go() { # promise
        enable
        create nvidia-746 $UUID
        refused Conflict disable
        is sriov_numvfs "$(numvfs)" 16
        disable_all
        is sriov_numvfs "$(numvfs)" 0
        is mdevs "$(mdevs)" ""
}

parameters_reach_the_driver() { # promise
        enable
        create nvidia-746 $UUID "'params': <'frame_rate_limiter=0'>"
        is params "$(cat $MDEVS/$UUID/nvidia/vgpu_params)" frame_rate_limiter=0
        call "$(vgpu $UUID)" Vgpu.SetParams 'disable_vnc=1' '{}'
        is params "$(cat $MDEVS/$UUID/nvidia/vgpu_params)" disable_vnc=1
}

what_others_make_and_remove_is_seen_by_events() { # promise
        enable
        mdevctl start -u $UUID -p "$(basename "$(readlink "$(pf)/virtfn3")")" --type nvidia-746
        eventually 20 is_shown_foreign
        refused NotOurs destroy $UUID
        mdevctl stop -u $UUID
        eventually 20 refused NoSuchVgpu vgpu $UUID
}

is_shown_foreign() {
        [ "$(shown $UUID)" = "active foreign" ]
}

a_restart_of_the_daemon_touches_nothing() { # promise
        local before

        enable
        create nvidia-746 $UUID
        before=$(stat -c %i $MDEVS/$UUID/)
        systemctl restart carved
        is inode "$(stat -c %i $MDEVS/$UUID/)" "$before"
        is state "$(shown $UUID)" "active carved"
        is sriov_numvfs "$(numvfs)" 16
}

a_killed_daemon_is_started_again_and_knows_all() { # promise
        enable
        create nvidia-746 $UUID
        systemctl kill -s KILL carved
        eventually 30 systemctl is-active carved
        eventually 30 is_ours
        is mdevs "$(mdevs)" "$UUID "
}

a_driver_that_is_loaded_again_gets_everything_back() { # promise
        enable
        create nvidia-746 $UUID
        create nvidia-754 $OTHER
        unload_driver
        is mdevs "$(mdevs)" ""
        load_driver mode=mdev
        eventually 60 is_back
        is mdevs "$(mdevs)" "$OTHER $UUID "
}

is_back() {
        [ "$(shown $UUID)" = "active carved" ] && [ "$(shown $OTHER)" = "active carved" ]
}

a_vgpu_for_now_is_kept_in_run_only() { # promise
        enable
        create nvidia-746 $UUID "'persist': <false>"
        is Persistent "$(get "$(vgpu $UUID)" Vgpu Persistent)" false
        is "what is kept" "$(grep -l $UUID -r /var/lib/carved || true)" ""
        grep -q $UUID -r /run/carved/gpus
}
