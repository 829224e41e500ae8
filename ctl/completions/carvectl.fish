# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of carvectl(1) for fish: verbs, options, and what there is on this host.

function __carvectl_ask
    SYSTEMD_BUS_TIMEOUT=2 NO_COLOR=1 carvectl --no-legend --no-pager $argv 2>/dev/null
end

function __carvectl_gpus
    __carvectl_ask list gpus | string replace -r '^(\S+)\s+(.*?)\s\s.*' '$1\t$2'
end

function __carvectl_first
    __carvectl_ask list $argv | string replace -r '^(\S+)\s+.*' '$1'
end

function __carvectl_vgpus
    __carvectl_ask list vgpus | string replace -r '^(\S+)\s+(.*?)\s\s.*' '$1\t$2'
end

# A2-4Q of "NVIDIA A2-4Q", or the id where the name is no name: "vf".
function __carvectl_types
    __carvectl_ask types $argv | awk -F '   *' '{ name = $2; sub(/^[^ ]+ /, "", name); print ($3 ~ /-[0-9]+$/ ? name : $3) "\t" $4 }' | sort -u
end

# The GPU that stands behind "explain".
function __carvectl_explained
    set -l words (commandline -opc)
    set -l i (contains -i explain $words); or return
    test (count $words) -gt $i; and echo $words[(math $i + 1)]
end

set -l verbs tree list show types explain users enable disable create destroy mig adopt resync forget monitor wait cancel log report help
set -l none "not __fish_seen_subcommand_from $verbs"

complete -c carvectl -f
complete -c carvectl -n $none -a tree -d 'The host, at a glance'
complete -c carvectl -n $none -a list -d 'All of a kind'
complete -c carvectl -n $none -a show -d 'Everything about an object'
complete -c carvectl -n $none -a types -d 'vGPU types, and how many more can be had'
complete -c carvectl -n $none -a explain -d 'Can this type be had there?'
complete -c carvectl -n $none -a users -d 'Who has a vGPU open'
complete -c carvectl -n $none -a enable -d 'Switch VFs on'
complete -c carvectl -n $none -a disable -d 'Switch VFs off'
complete -c carvectl -n $none -a create -d 'Make vGPUs'
complete -c carvectl -n $none -a destroy -d 'Destroy vGPUs'
complete -c carvectl -n $none -a mig -d 'Cut a GPU into GPU instances'
complete -c carvectl -n $none -a adopt -d 'Keep what somebody else made'
complete -c carvectl -n $none -a resync -d 'Make a GPU again as it is wanted'
complete -c carvectl -n $none -a forget -d 'Drop what is wanted of a card that is gone'
complete -c carvectl -n $none -a monitor -d 'Print every change'
complete -c carvectl -n $none -a wait -d 'Wait until something is so'
complete -c carvectl -n $none -a cancel -d 'Stop a job'
complete -c carvectl -n $none -a log -d 'What carved did'
complete -c carvectl -n $none -a report -d 'All that a bug report needs'
complete -c carvectl -n $none -a help -d 'About carvectl, or a verb'

complete -c carvectl -n '__fish_seen_subcommand_from help' -a "$verbs"
complete -c carvectl -n '__fish_seen_subcommand_from list' -a 'gpus vfs vgpus types jobs stored'
complete -c carvectl -n '__fish_seen_subcommand_from enable disable types resync adopt show wait log' -a '(__carvectl_gpus)'
complete -c carvectl -n '__fish_seen_subcommand_from show' -a '(__carvectl_first vfs)'
complete -c carvectl -n '__fish_seen_subcommand_from destroy users adopt show wait log' -a '(__carvectl_vgpus)'
complete -c carvectl -n '__fish_seen_subcommand_from cancel show wait log' -a '(__carvectl_first jobs)'
complete -c carvectl -n '__fish_seen_subcommand_from mig; and not __fish_seen_subcommand_from mode apply clear' -a 'show mode apply clear'
complete -c carvectl -n '__fish_seen_subcommand_from mig; and __fish_seen_subcommand_from show mode apply clear' -a '(__carvectl_gpus)'
complete -c carvectl -n '__fish_seen_subcommand_from mode' -a 'on off'
complete -c carvectl -n '__fish_seen_subcommand_from forget' -a '(__carvectl_first stored)'
complete -c carvectl -n '__fish_seen_subcommand_from create' -a '(__carvectl_types)'
complete -c carvectl -n '__fish_seen_subcommand_from explain; and test -z (__carvectl_explained)' -a '(__carvectl_gpus)'
complete -c carvectl -n '__fish_seen_subcommand_from explain; and test -n (__carvectl_explained)' -a '(__carvectl_types (__carvectl_explained))'

complete -c carvectl -n '__fish_seen_subcommand_from enable disable create destroy mig adopt resync' -l dry-run -d 'Only say what would be done'
complete -c carvectl -n '__fish_seen_subcommand_from enable create log' -s n -l number -x -d 'So many'
complete -c carvectl -n '__fish_seen_subcommand_from create' -l on -x -a '(__carvectl_gpus; __carvectl_first vfs)' -d 'There, and nowhere else'
complete -c carvectl -n '__fish_seen_subcommand_from create adopt' -l uuid -x -d 'Its UUID'
complete -c carvectl -n '__fish_seen_subcommand_from create' -l label -x -d 'What people call it'
complete -c carvectl -n '__fish_seen_subcommand_from create' -l params -x -d "Parameters of the vendor's plugin"
complete -c carvectl -n '__fish_seen_subcommand_from enable create' -l transient -d 'Until the next reboot'
complete -c carvectl -n '__fish_seen_subcommand_from disable' -l destroy-vgpus -d 'vGPUs on the VFs may go'
complete -c carvectl -n '__fish_seen_subcommand_from resync' -s a -l all -d 'Every GPU that is not as it is wanted'
complete -c carvectl -n '__fish_seen_subcommand_from show' -l xml -d 'What gives the vGPU to a libvirt domain'
complete -c carvectl -n '__fish_seen_subcommand_from mig' -l replace -d 'GPU instances that are there may go'
complete -c carvectl -n '__fish_seen_subcommand_from wait' -l timeout -x -d 'So many seconds at most'
complete -c carvectl -s H -l host -x -a '(__fish_complete_user_at_hosts)' -d 'Speak to carved on that host'
complete -c carvectl -l json -x -a 'pretty short off' -d JSON
complete -c carvectl -s j -d 'JSON, as it fits'
complete -c carvectl -l no-legend -d 'Tables without head and foot'
complete -c carvectl -l no-pager -d 'Never through a pager'
complete -c carvectl -s l -l full -d 'Lines as long as they are'
complete -c carvectl -s q -l quiet -d 'No progress'
complete -c carvectl -l no-ask-password -d 'Fail rather than ask'
complete -c carvectl -s h -l help -d Help
complete -c carvectl -l version -d Versions
