# Completion for towline and towline-get in fish: copy this to ~/.config/fish/completions/ as towline.fish, with a link
# towline-get.fish to it.

complete -c towline -f
complete -c towline -l app -x -d "Name of the application; each has its own downloads"
complete -c towline -l state-dir -x -a '(__fish_complete_directories)' -d 'Where the state is stored'
complete -c towline -l root -x -a '(__fish_complete_directories)' -d 'Write files in this directory only'
complete -c towline -l framing -x -a 'auto line header' -d 'Framing of messages'
complete -c towline -l on-host-exit -x -a 'finish suspend' -d 'What to do with unfinished downloads when the host exits'
complete -c towline -l resume-on-start -d 'Resume interrupted downloads at start'
complete -c towline -l clientProcessId -x -a '(__fish_complete_pids)' -d 'Process id of the host'
complete -c towline -l proxy-from-environment -d 'Use http_proxy, https_proxy, all_proxy and no_proxy'
complete -c towline -l allow-network-state -d 'Accept a state directory on a network file system'
complete -c towline -l tls-key-log -r -F -d 'Append the keys that decrypt TLS connections'
complete -c towline -l log-level -x -a 'error warn info debug' -d 'Level of the log on standard error'
complete -c towline -l log-format -x -a 'text json' -d 'Format of the log'
complete -c towline -l stdio -d 'Accepted for editors; has no effect'
complete -c towline -l print-openrpc -d 'Print the OpenRPC document and exit'
complete -c towline -l version -d 'Print the version and exit'
complete -c towline -l help -d 'Print help and exit'

complete -c towline-get -f
complete -c towline-get -s o -l output -r -F -d 'The finished file'
complete -c towline-get -s d -l directory -x -a '(__fish_complete_directories)' -d 'Where the files go'
complete -c towline-get -s i -l input-file -r -F -d 'Download the URLs in this file too'
complete -c towline-get -s H -l header -x -a 'Accept: Authorization: Cookie: Referer: User-Agent:' -d 'Send this header'
complete -c towline-get -l forget -d 'Drop what is kept of these downloads'
complete -c towline-get -l checksum -x -a 'sha256: sha512: sha1: md5:' -d 'The digest that the file must have'
complete -c towline-get -l app -x -d 'Name of the application; each has its own downloads'
complete -c towline-get -l proxy-from-environment -d 'Use http_proxy, https_proxy, all_proxy and no_proxy'
complete -c towline-get -l setup -d 'First install what is missing and build what has changed'
complete -c towline-get -s q -l quiet -d 'Say nothing but errors'
complete -c towline-get -s V -l version -d 'Print the version and exit'
complete -c towline-get -s h -l help -d 'Print help and exit'
