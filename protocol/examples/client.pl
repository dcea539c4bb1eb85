#!/usr/bin/perl
# A client of the protocol in Perl, with core modules only and without threads.
#
#   perl client.pl URL FILE
#
# Starts the download, pauses and resumes it, kills the service, starts another one, goes on, and waits for the end.
# The service is `towline` on the PATH, or what the environment variable TOWLINE names.
use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use File::Spec;
use IPC::Open2 qw(open2);
use JSON::PP;

$SIG{PIPE} = 'IGNORE';    # a service that has gone is an error of print, not our end
$| = 1;
my $json = JSON::PP->new;    # compact, one line
my ($pid, $to, $from, $last_id);

sub launch {
    $pid = open2($from, $to, $ENV{TOWLINE} || 'towline', '--app', 'perl-example');
    $last_id = 0;
}

# The next message; undef when the service has gone. Half a line is what one that was killed leaves.
sub next_message {
    my $line = readline $from;
    return defined $line && $line =~ /\n\z/ ? $json->decode($line) : undef;
}

sub show {
    my ($method, $params) = @_;
    if ($method eq 'progress') {
        printf "%s of %s bytes\n", $params->{receivedBytes}, $params->{totalBytes} // '?';
    } elsif ($method eq 'changed') {
        my $download = $params->{download};
        print join(' ', grep { defined } @$download{qw(state reason phase)}), "\n";
    }
}

# Sends a request and reads until its answer. Dies with a hash: the error of the answer, or {kind => 'gone'}.
sub call {
    my ($method, %params) = @_;
    my $id = ++$last_id;
    print {$to} $json->encode({ jsonrpc => '2.0', id => $id, method => $method, params => \%params }), "\n"
        or die { kind => 'gone' };
    while (my $message = next_message()) {
        if (exists $message->{method}) { show($message->{method}, $message->{params}); next }
        next unless defined $message->{id} && $message->{id} eq $id;
        my $error = $message->{error} or return $message->{result};
        die { kind => $error->{data}{kind}, message => $error->{message} };
    }
    die { kind => 'gone' };
}

# As call, but undef when the download has reached a state meanwhile that does not allow it.
sub call_if_possible {
    my $result = eval { call(@_) };
    die $@ if $@ && $@->{kind} ne 'invalidState';
    return $result;
}

my ($url, $file) = @ARGV == 2 ? @ARGV : die "usage: client.pl URL FILE\n";
my $path = File::Spec->rel2abs($file);
my %start = (id => 'perl-' . md5_hex($url, "\0", $path), url => $url, path => $path, ifExists => 'overwrite');

my $download = eval {
    launch();
    my $started = call('start', %start);
    if ($started->{download}{state} =~ /^(completed|failed|canceled)$/) {    # of an earlier run
        call('remove', id => $start{id});
        $started = call('start', %start);
    }

    # Some bytes first. No request is under way, so that whatever comes is an event.
    while (my $event = next_message()) {
        show($event->{method}, $event->{params});
        my $now = $event->{params}{download} // {};
        last if $event->{method} eq 'progress' && $event->{params}{receivedBytes} > 0;
        last if ($now->{state} // '') =~ /^(waiting|completed|failed|canceled)$/;
    }
    call_if_possible('pause', id => $start{id});
    call_if_possible('resume', id => $start{id});

    print "killing the service\n";
    kill 'KILL', $pid;
    waitpid $pid, 0;
    launch();
    $started = call('start', %start);
    printf "%s with %s bytes\n", $started->{resumed} ? 'going on' : 'found', $started->{download}{receivedBytes};
    return call('wait', id => $start{id}, until => 'settled')->{download};
};
if (!$download) {
    die $@ unless ref $@;
    die 'client.pl: ', $@->{message} // 'the service has gone', "\n";
}
close $to;    # the end of input: the service ends, too
waitpid $pid, 0;
print "$download->{state}: ", $download->{error} ? $download->{error}{message} : $download->{path}, "\n";
exit($download->{state} eq 'completed' ? 0 : 1);
