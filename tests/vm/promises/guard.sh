# SPDX-License-Identifier: LGPL-2.1-or-later
# What keeps others out of carved, and carved out of everything else: the unit's sandbox, polkit, and the journal that tells who did
# what. All other promises run under the same unit.

prepare() {
        prepare_host "${MODE:-mdev}"
}

carved_pid() {
        systemctl show -P MainPID carved
}

# As in carved.service: DAC_OVERRIDE, NET_ADMIN, SYS_MODULE, SYS_PTRACE, SYS_ADMIN.
POWERS=0000000000291002

the_sandbox_is_in_force() { # promise
        local pid

        pid=$(carved_pid)
        is powers "$(sed -n 's/^CapEff:\t//p' "/proc/$pid/status")" $POWERS
        is bounds "$(sed -n 's/^CapBnd:\t//p' "/proc/$pid/status")" $POWERS
        is "new privileges" "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$pid/status")" 1
        is "system calls" "$(sed -n 's/^Seccomp:\t//p' "/proc/$pid/status")" 2
        for path in /etc /usr /var/lib /boot /root /home; do
                ! nsenter -t "$pid" -m touch "$path/carved-was-here" 2>/dev/null || die "$path can be written"
        done
        nsenter -t "$pid" -m touch /var/lib/carved/here /run/carved/here
        rm /var/lib/carved/here /run/carved/here
        is exposure "$(systemd-analyze security carved --threshold=40 >/dev/null && echo little)" little
}

vfio_is_loaded_when_it_is_needed() { # promise
        unload_driver
        prepare_host plain
        modprobe -r vfio-pci 2>/dev/null || true
        test ! -e /sys/module/vfio_pci
        enable 2
        create vf $UUID
        test -e /sys/module/vfio_pci
        is state "$(shown $UUID)" "active carved"
}

is_used_by() { # USER
        [[ $(call "$(vgpu $UUID)" Vgpu.GetUsers '{}') == *"$1"* ]]
}

as_nobody() {
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
}

# As libvirt has it: the node is the guest's user's, and so is the process.
a_guest_of_another_user_is_seen_and_spared() { # promise
        local node said

        enable
        create nvidia-746 $UUID
        node=$(get "$(vgpu $UUID)" Vgpu DeviceNode)
        chown nobody "$node"
        chmod 600 "$node"
        setpriv --reuid=nobody --regid=nogroup --clear-groups bash -c 'exec 3<>"$0" && exec sleep 1000' "$node" &
        eventually 20 is_used_by "$!, 'sleep'"
        said=$(refused InUse destroy $UUID)
        [[ $said == *"$! (sleep)"* ]] || die "it does not say who: $said"
        kill $!
        tail --pid=$! -f /dev/null
        destroy $UUID
        is mdevs "$(mdevs)" ""
}

# gdbus says nothing of being ready for a password.
polkit_decides_for_others() { # promise
        local said

        enable
        ! said=$(as_nobody gdbus call --system --dest org.carved1 --object-path "$(gpu)" \
                --method org.carved1.VgpuHost.CreateVgpu -- nvidia-746 "{'uuid': <'$UUID'>}" 2>&1) || die "nobody could"
        [[ $said == *InteractiveAuthorizationRequired* ]] || die "$said"
        is mdevs "$(mdevs)" ""
        cat >/etc/polkit-1/rules.d/50-carved.rules <<'RULE'
polkit.addRule(function(action, subject) {
        if (action.id == "org.carved1.manage-vgpus" && action.lookup("verb") == "create-vgpu" && subject.user == "nobody")
                return polkit.Result.YES;
});
RULE
        eventually 20 as_nobody gdbus call --system --timeout 60 --dest org.carved1 --object-path "$(gpu)" \
                --method org.carved1.VgpuHost.CreateVgpu -- nvidia-746 "{'uuid': <'$UUID'>}"
        is mdevs "$(mdevs)" "$UUID "
        ! said=$(as_nobody gdbus call --system --dest org.carved1 --object-path "$(vgpu $UUID)" \
                --method org.carved1.Vgpu.Destroy -- '{}' 2>&1) || die "nobody could"
        [[ $said == *InteractiveAuthorizationRequired* ]] || die "$said"
}

field() { # NAME
        journalctl -b -u carved --output=json MESSAGE_ID=0a811543db44463b983c89aece1760e4 CARVED_VERB=create-vgpu | jq -r ".$1"
}

the_journal_tells_who_did_what() { # promise
        journalctl --update-catalog
        enable
        systemd-run --quiet --wait --unit=carving gdbus call --system --timeout 150 --dest org.carved1 --object-path "$(gpu)" \
                --method org.carved1.VgpuHost.CreateVgpu -- nvidia-746 "{'uuid': <'$UUID'>}"
        journalctl --sync
        is GPU "$(field CARVED_GPU)" "$(get "$(gpu)" Gpu Address)"
        is vGPU "$(field CARVED_VGPU)" $UUID
        is uid "$(field CARVED_UID)" 0
        is unit "$(field CARVED_UNIT)" carving.service
        is result "$(field CARVED_RESULT)" "done"
        [[ $(field CARVED_JOB) -gt 0 && $(field CARVED_PID) -gt 0 ]]
        journalctl -b -x -u carved CARVED_VGPU=$UUID | grep -q "Subject: create-vgpu is done on GPU"
}
