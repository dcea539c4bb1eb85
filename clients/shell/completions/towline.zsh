#compdef towline towline-get
# Completion for towline and towline-get in zsh: copy this to a directory of $fpath as _towline.

_towline() {
    case $service in
    towline-get)
        _arguments -S \
            '(-o --output -d --directory)'{-o,--output}'[the finished file]:file:_files' \
            '(-o --output -d --directory)'{-d,--directory}'[where the files go]:directory:_files -/' \
            '*'{-i,--input-file}'[download the URLs in this file too]:file:_files' \
            '*'{-H,--header}'[send this header]:header:(Accept\: Authorization\: Cookie\: Referer\: User-Agent\:)' \
            '--forget[drop what is kept of these downloads]' \
            '--checksum[the digest that the file must have]:digest:(sha256\: sha512\: sha1\: md5\:)' \
            '--app[name of the application; each has its own downloads]:name:' \
            '--proxy-from-environment[use http_proxy, https_proxy, all_proxy and no_proxy]' \
            '--setup[first install what is missing and build what has changed]' \
            '(-q --quiet)'{-q,--quiet}'[say nothing but errors]' \
            '(- *)'{-V,--version}'[print the version and exit]' \
            '(- *)'{-h,--help}'[print help and exit]' \
            '*:URL:_urls'
        ;;
    *)
        _arguments \
            "--app[name of the application; each has its own downloads]:name:" \
            '--state-dir[where the state is stored]:directory:_files -/' \
            '*--root[write files in this directory only]:directory:_files -/' \
            '--framing[framing of messages]:framing:(auto line header)' \
            '--on-host-exit[what to do with unfinished downloads when the host exits]:what:(finish suspend)' \
            '--resume-on-start[resume interrupted downloads at start]' \
            "--clientProcessId[process id of the host]:process:_pids" \
            '--proxy-from-environment[use http_proxy, https_proxy, all_proxy and no_proxy]' \
            '--allow-network-state[accept a state directory on a network file system]' \
            '--tls-key-log[append the keys that decrypt TLS connections]:file:_files' \
            '--log-level[level of the log on standard error]:level:(error warn info debug)' \
            '--log-format[format of the log]:format:(text json)' \
            '--stdio[accepted for editors; has no effect]' \
            '(- *)--print-openrpc[print the OpenRPC document and exit]' \
            '(- *)--version[print the version and exit]' \
            '(- *)--help[print help and exit]'
        ;;
    esac
}

_towline "$@"
