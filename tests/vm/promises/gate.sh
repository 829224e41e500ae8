# SPDX-License-Identifier: LGPL-2.1-or-later
# Nothing that somebody has open is taken away: the kernel is asked at the write, and its lock is held across it. Here the
# kernel's own VFIO decides.

a_vgpu_in_use_is_not_destroyed_and_the_user_is_named() { # promise
        local said

        enable
        create nvidia-746 $UUID
        hold $UUID
        is users "$(call "$(vgpu $UUID)" Vgpu.GetUsers '{}')" "([(uint32 $holder, 'hold')],)"
        said=$(refused InUse destroy $UUID)
        [[ $said == *"$holder (hold)"* ]] || die "it does not say who: $said"
        is mdevs "$(mdevs)" "$UUID "
        let_go
        destroy $UUID
        is mdevs "$(mdevs)" ""
}

who_only_has_the_group_open_counts_too() { # promise
        local node

        enable
        create nvidia-746 $UUID
        node=$(get "$(vgpu $UUID)" Vgpu DeviceNode)
        exec {group}<>"$node"
        refused InUse destroy $UUID
        exec {group}>&-
        destroy $UUID
}

vfs_in_use_are_not_switched_off() { # promise
        enable
        create nvidia-746 $UUID
        hold $UUID
        refused InUse disable_all
        is sriov_numvfs "$(numvfs)" 16
        is mdevs "$(mdevs)" "$UUID "
        is state "$(shown $UUID)" "active carved"
        let_go
        disable_all
        is sriov_numvfs "$(numvfs)" 0
}

parameters_of_a_vgpu_in_use_stay() { # promise
        enable
        create nvidia-746 $UUID "'params': <'a=1'>"
        hold $UUID
        refused InUse call "$(vgpu $UUID)" Vgpu.SetParams 'b=2' '{}'
        is params "$(cat $MDEVS/$UUID/nvidia/vgpu_params)" a=1
        let_go
}

# Whoever is first has it: a guest that starts, or the removal. Never both, and the removal never waits in the kernel.
a_start_and_a_destroy_at_the_same_time() { # promise
        local i word fd pid status won=0 lost=0

        enable
        for i in $(seq 8); do
                create nvidia-746 $UUID >/dev/null
                exec {fd}< <(exec /root/vm/hold $UUID)
                pid=$!
                status=0
                destroy $UUID >/dev/null 2>&1 || status=$?
                read -r word <&"$fd" || word=
                if [ "$word" = held ]; then
                        [ $status -ne 0 ] || die "it was destroyed below its user"
                        test -e $MDEVS/$UUID
                        kill $pid
                        tail --pid=$pid -f /dev/null
                        destroy $UUID >/dev/null
                        lost=$((lost + 1))
                else
                        [ $status -eq 0 ] || die "it is not in use ($word), and was not destroyed"
                        test ! -e $MDEVS/$UUID
                        won=$((won + 1))
                fi
                exec {fd}<&-
        done
        say "destroyed first $won times, opened first $lost times"
}

# The kernel blocks such a write until the user goes, and nothing ends it: this is what the gate is for.
the_kernel_itself_waits_and_carved_does_not_hang_with_it() { # promise
        local writer

        enable
        create nvidia-746 $UUID
        hold $UUID
        echo 1 >$MDEVS/$UUID/remove &
        writer=$!
        eventually 10 grep -q vfio_unregister "/proc/$writer/stack"
        is state "$(get /org/carved1 Manager State)" running
        eventually 20 is_ready_to_talk
        let_go
        wait $writer
        eventually 20 test ! -e $MDEVS/$UUID
}

is_ready_to_talk() {
        timeout 2 busctl get-property org.carved1 "$(gpu)" org.carved1.Gpu State
}
