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
            '--app[keep these downloads apart from those of other names]:name:' \
            '--proxy-from-environment[use the proxies of http_proxy, https_proxy, all_proxy, no_proxy]' \
            '--setup[first install what is missing and build what has changed]' \
            '(-q --quiet)'{-q,--quiet}'[say nothing but errors]' \
            '(- *)'{-V,--version}'[print the version and exit]' \
            '(- *)'{-h,--help}'[print help and exit]' \
            '*:URL:_urls'
        ;;
    *)
        _arguments \
            "--app[keep this application's downloads apart]:name:" \
            '--state-dir[where records are kept]:directory:_files -/' \
            '*--root[write files in this directory only]:directory:_files -/' \
            '--framing[how messages are framed]:framing:(auto line header)' \
            '--on-host-exit[what becomes of running downloads when the host goes]:what:(finish suspend)' \
            '--resume-on-start[go on with interrupted downloads at once]' \
            "--clientProcessId[treat the end of this process as the host's end]:process:_pids" \
            '--proxy-from-environment[use the proxies of http_proxy, https_proxy, all_proxy, no_proxy]' \
            '--allow-network-state[accept a state directory on a network file system]' \
            '--tls-key-log[write what decrypts the TLS connections]:file:_files' \
            '--log-level[what goes to standard error]:level:(error warn info debug)' \
            '--log-format[how it is written]:format:(text json)' \
            '--stdio[accepted for editors; always so]' \
            '(- *)--print-openrpc[print the OpenRPC document and exit]' \
            '(- *)--version[print the version and exit]' \
            '(- *)--help[print help and exit]'
        ;;
    esac
}

_towline "$@"
